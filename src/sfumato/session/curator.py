"""What an algorithm may hold: a budgeted handle on data, never data."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar, overload

from sfumato.accounting.sums import Remaining
from sfumato.core.budget import Budget
from sfumato.core.loss import Loss
from sfumato.core.number import Exactable
from sfumato.core.schema import Schema
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Unit
from sfumato.mechanisms.mechanism import Mechanism
from sfumato.noise.rng import Rng
from sfumato.relation.query import Query
from sfumato.release.release import Release

Out = TypeVar("Out")


class Stream(Protocol):
    """An open interaction, charged once: a counter, a sparse vector.

    What a mechanism starts takes exact answers; what a curator opens takes questions, answers them
    itself and passes the exact answers on, so that no algorithm sees them. The answer is a
    mechanism's own: an `Estimate` of a counter, a `Comparison` of a sparse vector.
    """

    def push(self, value: Any) -> Any:
        """Feed one item or one question and return the answer."""


class Continual(Protocol):
    """A mechanism with state: it answers again and again for one charge."""

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return what the whole interaction gives away.

        Its linf is how far one unit can move each answer; other norms are of the query that was
        opened, and say nothing of all questions together.
        """

    def start(self, rng: Rng) -> Stream:
        """Begin an interaction."""


class Curator(Protocol):
    """Measures private data within a budget; tables and the laboratory implement it."""

    @property
    def schema(self) -> Schema:
        """The public facts about the data."""

    @property
    def unit(self) -> Unit:
        """Who is protected."""

    @property
    def remaining(self) -> Remaining:
        """What may still be spent, in both views of the filter."""

    @overload
    def measure(
        self, query: Query, mechanism: Mechanism[Out], *, delta: Exactable = 0
    ) -> Release: ...

    @overload
    def measure(
        self, query: Sequence[tuple[Query, Mechanism[Any]]], *, delta: Exactable = 0
    ) -> Sequence[Release]: ...

    def measure(self, query: Any, mechanism: Any = None, *, delta: Exactable = 0) -> Any:
        """Charge, read, draw and return; a batch in one scan and with one charge.

        With a `delta` noise that is Gaussian has an ε, and is charged with both where that fits;
        otherwise, and without one, it is charged in ρ alone.
        """

    def scope(self, budget: Budget) -> AbstractContextManager[Curator]:
        """Set part of the budget aside; what is not spent inside returns."""

    def partition(self, column: str, keys: Sequence[Hashable]) -> Mapping[Hashable, Curator]:
        """Split by a column into parts that one unit cannot share: they cost as their worst."""

    def open(self, query: Query, mechanism: Continual) -> Stream:
        """Open a continual interaction, charged once."""
