"""A tape of noise calls: records what was asked and answered, and plays the answers back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.audit.distance import Distance
from sfumato.audit.output import canonical
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Neighbors
from sfumato.mechanisms.group import Unlisted
from sfumato.mechanisms.mechanism import Laboratory
from sfumato.mechanisms.occurrence import Groups
from sfumato.mechanisms.ranking import Ranking

_NORMS = ("l0", "l1", "l2_squared", "linf")


@dataclass(frozen=True, slots=True)
class Call:
    """One noise call: which mechanism, for which declared sensitivity, on which exact input.

    The exact input stays in the audit; it is in no message and no repr.
    """

    mechanism: Any
    sensitivity: Sensitivity | None
    exact: Any = field(repr=False)

    @classmethod
    def of(cls, mechanism: Any, exact: Any, sensitivity: Sensitivity | None) -> Call:
        """Note a call as it is now: the program may go on to change its arrays."""
        return cls(mechanism, sensitivity, _noted(mechanism, exact))

    @property
    def parameters(self) -> bytes:
        """The mechanism to the last digit, which its `repr` may round or shorten."""
        if not is_dataclass(self.mechanism):
            return canonical(self.mechanism)
        inside = [getattr(self.mechanism, f.name) for f in fields(self.mechanism)]
        return canonical([type(self.mechanism).__name__, *inside])

    @property
    def is_bag(self) -> bool:
        """Whether the input is rows, of which not even the number is public."""
        return bool(getattr(self.mechanism, "takes_bag", False))

    @property
    def form(self) -> tuple[Any, ...]:
        """What is public about the input: its kind, and of cells and groups of values how many."""
        if isinstance(self.exact, Rows):
            return "values", self.exact.groups
        if isinstance(self.exact, dict):
            return ("groups",)
        return ("bag",) if self.is_bag else ("cells", self.exact.shape)

    def distance(self, other: Call, relation: Neighbors) -> Distance | None:
        """Return how far the exact inputs of two calls lie apart, in the unit of the answer."""
        if isinstance(self.exact, Rows):
            return Distance.of_values(self.exact.rows, other.exact.rows, relation)
        if isinstance(self.exact, dict):
            return Distance.of_groups(self.exact, other.exact, relation)
        if self.is_bag:
            return Distance.of_bags(self.exact, other.exact, relation)
        unit = Fraction(getattr(self.mechanism, "step", 1))
        return Distance.of_cells(self.exact, other.exact, relation, unit)

    def reach(self, declared: Sensitivity) -> dict[str, Fraction | None]:
        """Return how far apart they may lie, in the same unit."""
        own = getattr(self.mechanism, "reach", None)
        if own is None or isinstance(self.exact, Rows):  # values are whole, and differ as they are
            return {name: getattr(declared, name) for name in _NORMS}
        # Rounding to a step can add to a change, so a mechanism states its reach in steps.
        bounds: dict[str, Fraction | None] = own(declared)
        unit = Fraction(1 if self.is_bag else getattr(self.mechanism, "step", 1))
        factor = {"l0": Fraction(1), "l1": unit, "l2_squared": unit * unit, "linf": unit}
        return {n: None if b is None else b * factor[n] for n, b in bounds.items()}


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Rows:
    """Values in groups, as a search among them takes them: sorted by group and value.

    Attributes:
        rows: group and position of each value.
        groups: how many groups there are; public, as they are listed or were released before.
    """

    rows: NDArray[Any]
    groups: int


def _noted(mechanism: Any, exact: Any) -> Any:
    """Copy an exact input in a form in which neighbors can be compared."""
    if isinstance(exact, Ranking):
        # Plain integers, since group and position together may be beyond 64 bits.
        held = np.asarray(exact).astype(np.object_)
        pairs = np.array([divmod(row, exact.points) for row in held.tolist()], np.object_)
        return Rows(pairs.reshape(-1, 2), exact.groups)
    if isinstance(exact, Groups):
        keys = zip(*(column.to_pylist() for column in exact.columns), strict=True)
        return dict(zip(keys, exact.counts.tolist(), strict=True))
    if isinstance(mechanism, Unlisted):
        return dict(exact)
    return np.array(exact)


class Tape:
    """Records noise calls and their answers, or plays answers back."""

    def __init__(self, answers: Sequence[Any] | None = None) -> None:
        """Record, or play `answers` back."""
        self.calls: list[Call] = []
        self.answers: list[Any] = [] if answers is None else list(answers)
        self._playing = answers is not None

    def answer(self, call: Call, draw: Callable[[], Any]) -> Any:
        """Note a call and return its answer: drawn when recording, else the recorded one."""
        self.calls.append(call)
        position = len(self.calls) - 1
        if self._playing and position < len(self.answers):
            return deepcopy(self.answers[position])
        drawn = draw()  # past the end of the recording: a difference, reported as such
        if not self._playing:
            self.answers.append(deepcopy(drawn))  # the program may work on it in place
        return drawn


class TappedMechanism:
    """A mechanism whose draws go through a tape; a curator cannot tell it from the original."""

    def __init__(self, mechanism: Any, tape: Tape) -> None:
        """Wrap a mechanism."""
        self._mechanism, self._tape = mechanism, tape
        self._declared: Sensitivity | None = None

    def loss(self, sensitivity: Sensitivity) -> Any:
        """Note what is declared, and delegate."""
        self._declared = sensitivity
        return self._mechanism.loss(sensitivity)

    def sample(self, exact: Any, rng: Any) -> Any:
        """Note the call and draw or play back."""
        call = Call.of(self._mechanism, exact, self._declared)
        return self._tape.answer(call, lambda: _plain_sample(self._mechanism)(exact, rng))

    def __getattr__(self, name: str) -> Any:
        """Delegate everything else."""
        return getattr(self._mechanism, name)

    def __repr__(self) -> str:
        """Look like the original."""
        return repr(self._mechanism)


class TappedCurator:
    """A curator whose measurements go through a tape, and those of its parts too."""

    def __init__(self, curator: Any, tape: Tape) -> None:
        """Wrap a curator."""
        self._curator, self._tape = curator, tape

    def measure(self, query: Any, mechanism: Any = None, **options: Any) -> Any:
        """Measure through the tape."""
        if mechanism is None:
            return self._curator.measure([(q, self._tapped(m)) for q, m in query], **options)
        return self._curator.measure(query, self._tapped(mechanism), **options)

    def _tapped(self, mechanism: Any) -> Any:
        """Wrap a mechanism, unless its draws go through the tape already.

        A table takes those of the library only, and no other that claims to be one of them.
        """
        tapped = hasattr(getattr(type(mechanism), "sample", None), "plain")
        return mechanism if tapped else TappedMechanism(mechanism, self._tape)

    @contextmanager
    def scope(self, budget: Any) -> Iterator[TappedCurator]:
        """Open a scope and tap it."""
        with self._curator.scope(budget) as inner:
            yield TappedCurator(inner, self._tape)

    def partition(self, column: str, keys: Any) -> Mapping[Any, TappedCurator]:
        """Split, and tap the parts."""
        parts = self._curator.partition(column, keys)
        return {key: TappedCurator(part, self._tape) for key, part in parts.items()}

    def __getattr__(self, name: str) -> Any:
        """Delegate the public facts."""
        return getattr(self._curator, name)


@contextmanager
def tapped_laboratory(tape: Tape) -> Iterator[None]:
    """Send draws of mechanisms that the program calls itself through the tape."""
    registry = set(Laboratory.registry.values())
    # One that inherits from another mechanism is tapped with it; one from a mixin by itself.
    kinds = [kind for kind in registry if kind is _home(kind, registry)]
    originals = [
        (kind, name, vars(kind).get(name)) for kind in kinds for name in ("sample", "loss")
    ]
    declared: dict[int, tuple[Any, Sensitivity]] = {}  # holds the mechanism: ids are reused

    def tap(kind: Any, sample: Any, loss: Any) -> None:
        def tapped_sample(self: Any, exact: Any, rng: Any) -> Any:
            call = Call.of(self, exact, declared.get(id(self), (self, None))[1])
            return tape.answer(call, lambda: sample(self, exact, rng))

        def tapped_loss(self: Any, sensitivity: Sensitivity) -> Any:
            declared[id(self)] = self, sensitivity
            return loss(self, sensitivity)

        tapped_sample.plain = sample  # type: ignore[attr-defined]
        kind.sample, kind.loss = tapped_sample, tapped_loss

    for kind in kinds:
        tap(kind, kind.sample, kind.loss)
    try:
        yield
    finally:
        for kind, name, original in originals:
            if original is None:
                delattr(kind, name)
            else:
                setattr(kind, name, original)


def _home(kind: type, registry: set[type[Laboratory]]) -> type:
    """Return the mechanism that a sampler belongs to: the one that has it, or has mixed it in."""
    owner = next(base for base in kind.__mro__ if "sample" in vars(base))
    return owner if owner in registry else kind


def _plain_sample(mechanism: Any) -> Callable[[Any, Any], Any]:
    """Return the mechanism's own sampler, without the laboratory's tap: one call, one entry."""
    plain = getattr(type(mechanism).sample, "plain", None)
    own: Callable[[Any, Any], Any] = mechanism.sample if plain is None else plain.__get__(mechanism)
    return own
