"""What a ledger holds: one header, then events. Nothing in them is data but a public answer."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from sfumato.accounting.sums import Charge, Limits
from sfumato.core.budget import Budget
from sfumato.core.codec import canonical, decode
from sfumato.core.errors import CodecError, UnitError
from sfumato.core.loss import Loss
from sfumato.core.unit import Neighbors, Unit
from sfumato.ledger.branch import Branch, Peaks
from sfumato.ledger.tally import Tally

APPLICATION = 0x5346554D  # "SFUM", which `file` shows
FORMAT = 2  # 1 knew neither families of parts nor scopes

# The state that a request is in after an event of this kind. Owners' events have none, and a fault
# has one only if a request caused it.
STATES = {
    "reserved": "reserved",
    "touched": "touched",
    "settled": "settled",
    "given": "settled",
    "abandoned": "abandoned",
    "returned": "returned",
    "fault": "abandoned",
}
# From which state an event may follow; None is a request that was never heard of.
BEFORE: dict[str, tuple[str | None, ...]] = {
    "reserved": (None, "returned"),
    "given": (None, "returned"),
    "touched": ("reserved",),
    "returned": ("reserved",),
    "settled": ("touched",),
    "abandoned": ("touched",),
    "fault": ("touched",),
}
OWNERS = ("raised", "refreshed", "acknowledged", "declared")
SCOPES = ("opened", "freed")


@canonical
@dataclass(frozen=True, slots=True)
class LedgerHeader:
    """What is fixed when a ledger is made, and from which its chain of hashes starts.

    Attributes:
        format: the version of the file format.
        budget: the budget for all analysts together.
        limits: the budget as the filter enforces it, with its δ split once and for all.
        unit: who is protected; also fixes the neighbor relation.
        analysts: (name, budget, limits) of every analyst with a share, by name; may be empty.
        key: the secret that orders rows where a unit is truncated.
        created: microseconds since 1970, UTC.
    """

    format: int
    budget: Budget
    limits: Limits
    unit: Unit
    analysts: tuple[tuple[str, Budget, Limits], ...]
    key: bytes
    created: int

    def __post_init__(self) -> None:
        """Check what decides about admission, because a header is also read from a file."""
        if not isinstance(self.unit, Unit):
            raise UnitError(
                "a ledger protects one unit. Pass Unit.row(), Unit.rows(k) or Unit.by(column, ...)."
            )
        for name, budget, limits in (("", self.budget, self.limits), *self.analysts):
            _expect(str, name), _expect(Budget, budget), _expect(Limits, limits)
        _expect(bytes, self.key)

    @property
    def neighbors(self) -> Neighbors:
        """The neighbor relation of every charge."""
        return self.unit.neighbors

    def __repr__(self) -> str:
        """Show the header without its key."""
        return f"LedgerHeader({self.budget!r}, {self.unit!r}, analysts={len(self.analysts)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One entry of the ledger, as it is stored; properties decode it.

    Attributes:
        seq: its number; the first is 1.
        prev_hash: the hash of the entry before it, or of the header.
        hash: SHA-256 of everything else in the entry.
        kind: reserved, touched, settled, given, abandoned, returned, fault; opened and freed, for
            scopes; or what an owner did: raised, refreshed, acknowledged, declared.
        state: the state in which it leaves its request; None where there is none.
        analyst: who asked; empty if nobody is named.
        request: the id of the request.
        dataset: the dataset that is asked.
        version: the public label of its version.
        plan: the digest of the plan.
        loss_bytes: the loss, canonically encoded.
        charge_bytes: what was added to, or taken back from, the sums; of a scope, its envelope.
        part: the part of the data that is asked, canonically encoded.
        family: the family of that part.
        scope: the entry of the open scope in which it is charged, given back or ended.
        body: the hash of what the request asks for and at which price.
        ref: the entry that it follows up: the reservation, or the answer that was given.
        detail: what an owner changed or declared, the budget of a scope; canonically encoded.
        sums: running sums after it, canonically encoded: of all, and of its analyst; in a scope
            also those of the charges inside, as they enter the one and the other.
        peaks_bytes: if it moves a part's charge, what each of these holds of the part's family.
        answer_hash: SHA-256 of the stored answer.
        time: microseconds since 1970, UTC, by the clock of the machine; nothing rests on it.
    """

    seq: int
    prev_hash: bytes
    hash: bytes
    kind: str
    state: str | None = None
    analyst: str = ""
    request: str | None = None
    dataset: str | None = None
    version: str | None = None
    plan: str | None = None
    loss_bytes: bytes | None = None
    charge_bytes: bytes | None = None
    part: bytes | None = None
    family: str | None = None
    scope: int | None = None
    body: bytes | None = None
    ref: int | None = None
    detail: bytes | None = None
    sums: bytes = b""
    peaks_bytes: bytes | None = None
    answer_hash: bytes | None = None
    time: int = 0

    @property
    def loss(self) -> Loss | None:
        """The loss of a reservation."""
        return None if self.loss_bytes is None else _expect(Loss, decode(self.loss_bytes))

    @property
    def charge(self) -> Charge | None:
        """What the event added to the sums or, if it is a return, took back."""
        return None if self.charge_bytes is None else _expect(Charge, decode(self.charge_bytes))

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """The running sums after it: of all analysts, of its own; of both inside its scope."""
        return _tallies(self.sums)

    @property
    def branch(self) -> Branch | None:
        """The part of the data that is asked."""
        return None if self.part is None else _expect(Branch, decode(self.part))

    @property
    def peaks(self) -> tuple[Peaks, ...]:
        """What each account of `tallies` holds of the part's family; empty if it moves none."""
        return () if self.peaks_bytes is None else _peaks(self.peaks_bytes)

    @property
    def declaration(self) -> Any:
        """What was declared about a dataset."""
        import sfumato.relation.source  # noqa: F401 - sessions declare sources

        return decode(self.detail or b"") if self.kind == "declared" else None

    @property
    def moment(self) -> datetime:
        """When it was written, by the clock of the machine; what no calendar shows is its end."""
        try:
            return datetime.fromtimestamp(self.time / 10**6, UTC)
        except (ValueError, OverflowError, OSError):  # a clock that went wrong
            return (datetime.max if self.time > 0 else datetime.min).replace(tzinfo=UTC)

    def __repr__(self) -> str:
        """Show what happened, shortly."""
        who = f" by {self.analyst!r}" if self.analyst else ""
        about = self.request or self.dataset
        what = f" {about!r}" if about else ""
        return f"<entry {self.seq}: {self.kind}{what}{who}>"


COLUMNS = tuple(field.name for field in fields(Event))


@lru_cache(maxsize=64)  # most entries leave the sums of the one before as they are
def _tallies(sums: bytes) -> tuple[Tally, ...]:
    return tuple(_expect(Tally, tally) for tally in decode(sums))


@lru_cache(maxsize=64)
def _peaks(held: bytes) -> tuple[Peaks, ...]:
    return tuple(_expect(Peaks, peaks) for peaks in decode(held))


def _expect(kind: type[Any], value: Any) -> Any:
    if not isinstance(value, kind):
        raise CodecError(f"a stored {kind.__name__} was expected, and something else was found.")
    return value
