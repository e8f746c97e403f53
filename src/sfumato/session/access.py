"""Whom the kernel works for, and with what."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sfumato.core.codec import digest, encode
from sfumato.ledger.branch import Branch
from sfumato.ledger.label import written
from sfumato.noise.rng import Rng, system
from sfumato.relation.node import tables
from sfumato.session.pacing import at_once

if TYPE_CHECKING:
    from sfumato.backends.base import Backend
    from sfumato.ledger import Ledger, Scope
    from sfumato.relation.partition import Slice


@dataclass(frozen=True, slots=True)
class Access:
    """One way to the data.

    Attributes:
        backend: what reads it.
        ledger: what is charged.
        versions: the public label of each table.
        analyst: who asks.
        slice: the part of a partition that is asked, if it is one.
        scope: the envelope that pays, if there is one.
        rng: where noise comes from.
        hold: waits until a reply may be seen; others see what is in the ledger, so it comes first.
    """

    backend: Backend
    ledger: Ledger
    versions: Mapping[str, str]
    analyst: str | None = None
    slice: Slice | None = None
    scope: Scope | None = None
    rng: Rng = field(default_factory=system)
    hold: Callable[[], None] = at_once

    @property
    def within(self) -> dict[str, Any]:
        """Where a charge counts: beside those of other parts, inside of an envelope."""
        found: dict[str, Any] = {} if self.scope is None else {"scope": self.scope}
        if self.slice is not None:
            partition = self.slice.partition
            # The same cut, of the same tables in the same versions; anything else adds up.
            family = digest((partition, *self.labels(tables(partition.node))))
            key = encode(partition.code(self.slice.key)).decode()
            found["part"] = Branch(family, key, partition.width)
        return found

    def labels(self, names: Sequence[str]) -> tuple[str, str]:
        """Return how the ledger names these tables, and their versions."""
        return written(names, [self.versions[name] for name in names])
