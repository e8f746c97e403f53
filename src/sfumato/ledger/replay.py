"""What the entries of a ledger imply, one after the other, and what is wrong with each.

The replay shares no arithmetic with the writing side but the filter's and the envelope of a budget:
states, sums, limits and stored answers are worked out anew from the entries alone.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sfumato.accounting.sums import Charge, Limits
from sfumato.core.codec import decode, encode
from sfumato.core.errors import SfumatoError
from sfumato.ledger.chain import link
from sfumato.ledger.event import BEFORE, OWNERS, SCOPES, STATES, Event
from sfumato.ledger.label import pairs
from sfumato.ledger.recount import TOTAL, Account, Recount
from sfumato.ledger.scope import envelope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sfumato.ledger.event import LedgerHeader


@dataclass(slots=True)
class _Request:
    """Where a request stands. There may be millions: of its entries no more is kept than needed.

    Attributes:
        state: its state.
        body: the hash of what it asks for.
        entry: the number of its reservation.
        held: what would be given back: its charge, its part and its scope.
    """

    state: str | None = None
    body: bytes | None = None
    entry: int | None = None
    held: tuple[bytes | None, bytes | None, int | None] | None = None


@dataclass(slots=True)
class Replay:
    """Everything that the entries so far imply."""

    header: LedgerHeader
    last: bytes
    seq: int = 0
    count: Recount = field(default_factory=Recount)
    widths: dict[str, int] = field(default_factory=dict)  # of families of parts
    declared: dict[str | None, bytes | None] = field(default_factory=dict)
    requests: dict[tuple[str, str], _Request] = field(default_factory=dict)
    answers: dict[int, bytes] = field(default_factory=dict)  # entry of an answer -> its question
    known_to: set[tuple[str, bytes]] = field(default_factory=set)
    versions: set[tuple[str, str]] = field(default_factory=set)
    limits: Limits = field(init=False)
    shares: dict[str, Limits] = field(default_factory=dict)
    closed: bool = False

    def __post_init__(self) -> None:
        """Begin with the limits of the header."""
        self.limits = self.header.limits
        self.shares = {name: limits for name, _, limits in self.header.analysts}

    def step(self, event: Event, answer: bytes | None) -> Iterator[str]:
        """Take one entry in, and yield what is wrong with it."""
        if not (isinstance(event.seq, int) and isinstance(event.hash, bytes)):
            yield "it cannot be read"
            return
        if event.seq != self.seq + 1:
            yield f"entries are missing after {self.seq}"
        if event.prev_hash != self.last:
            yield "it does not follow the entry before it"
        self.seq, self.last = event.seq, event.hash
        try:
            if link(event) != event.hash:
                yield "it was changed after it was written"
            if (event.answer_hash is None) != (answer is None) or (
                answer is not None and hashlib.sha256(answer).digest() != event.answer_hash
            ):
                yield "its answer was changed after it was written"
            if (event.answer_hash is not None) != (event.kind == "settled"):
                yield "an answer belongs to a settled request"
            yield from self._content(event)
            yield from self._sums(event)
        except (SfumatoError, TypeError, ValueError, AttributeError):
            yield "it cannot be read"

    def _sums(self, event: Event) -> Iterator[str]:
        """Check the running sums, which open scopes and families of parts have entered."""
        accounts: list[Account] = [TOTAL, event.analyst]
        if event.scope is not None:
            accounts += [(event.scope, False), (event.scope, True)]
        if event.tallies != tuple(self.count.tally(account) for account in accounts):
            yield "its running sums do not add up"
        branch = event.branch
        if event.family != (branch.family if branch else None):
            yield "it is filed under another family of parts"
        moves = branch is not None and event.charge_bytes is not None
        if event.peaks != tuple(self.count.peaks(a, branch) for a in accounts if moves and branch):
            yield "the sums of its family of parts do not add up"

    def _content(self, event: Event) -> Iterator[str]:
        if event.kind in BEFORE and event.request is not None:
            yield from self._request(event)
        elif event.kind not in (*OWNERS, *SCOPES, "fault"):
            yield "nothing like it can happen"
        if event.kind == "raised":
            yield from self._raise(event)
        if event.kind == "opened":
            yield from self._open(event)
        if event.scope is not None or event.kind == "freed":
            yield from self._within(event)
        if event.kind == "declared":
            if event.dataset is None or self.declared.get(event.dataset) == event.detail:
                yield "it declares nothing new"
            self.declared[event.dataset] = event.detail
            json.loads(event.detail or b"")  # what it means is known to those who declared it
        if event.kind == "refreshed" and (event.dataset, event.version) in self.versions:
            yield "its version label was used before"
        if event.dataset is not None and event.version is not None:
            self.versions.update(pairs(event.dataset, event.version))
        if event.kind in ("fault", "acknowledged"):
            self.closed = event.kind == "fault"

    def _raise(self, event: Event) -> Iterator[str]:
        _, limits = decode(event.detail or b"")
        spent = self.count.tally(event.analyst or TOTAL)
        if not limits.admit(spent.sums(self.header.neighbors)):
            yield "its budget is below what had been spent"
        if event.analyst:
            self.shares[event.analyst] = limits
        else:
            self.limits = limits

    def _request(self, event: Event) -> Iterator[str]:
        request = self.requests.setdefault((event.analyst, event.request or ""), _Request())
        if request.state not in BEFORE[event.kind] or event.state != STATES[event.kind]:
            yield "this step does not follow from where its request stood"
        if request.body not in (None, event.body):
            yield "its request is about something else"
        charged = event.kind in ("reserved", "given") and event.charge_bytes is not None
        if self.closed and (charged or event.kind == "touched"):
            yield "the data was closed"
        if event.kind in ("reserved", "given"):
            yield from self._ask(event, request)
        elif event.ref != request.entry:
            yield "it refers to another reservation"
        elif event.kind == "returned" and request.held is not None:
            yield from self._return(event, *request.held)
        if event.kind not in ("reserved", "given"):
            request.held = None  # it is read, or over: nothing can be given back any more
        if event.kind == "settled" and event.body is not None:
            self.answers[event.seq] = event.body
            self.known_to.add((event.analyst, event.body))
        request.state, request.body = event.state, event.body

    def _return(
        self, event: Event, charge: bytes | None, part: bytes | None, scope: int | None
    ) -> Iterator[str]:
        still_open = scope if scope in self.count.scopes else None
        if event.charge is None or event.charge_bytes != charge:
            yield "it gives back another charge than was made"
        elif (event.part, event.scope) != (part, still_open):
            yield "it gives back to another part or scope than was charged"
        else:
            self._count(event, event.charge, -1)

    def _open(self, event: Event) -> Iterator[str]:
        price = envelope(decode(event.detail or b""), self.header.neighbors)
        if price != event.charge:
            yield "its envelope is not that of its budget"
        if self.closed:
            yield "the data was closed"
        self.count.scopes[event.seq] = (event.analyst, price)
        yield from self._admission(event.analyst)

    def _within(self, event: Event) -> Iterator[str]:
        """Check the scope of an entry, after the entry was counted."""
        scope, charged = event.scope or 0, event.charge_bytes is not None
        known = self.count.scopes.get(scope)
        if known is None or known[0] != event.analyst or not (charged or event.kind == "freed"):
            yield "its scope is not open, or not its own"
        elif event.kind == "freed":
            del self.count.scopes[scope]
        elif event.kind != "returned" and not self.count.fits(scope):
            yield "its scope does not admit it"

    def _count(self, event: Event, charge: Charge, sign: int) -> None:
        """Enter a charge into all accounts that it concerns, or take it back."""
        branch = event.branch
        for own in (True, False) if event.kind != "given" else (True,):
            self.count.add(event.analyst if own else TOTAL, charge, branch, sign)
            if event.scope is not None:
                self.count.add((event.scope, own), charge, branch, sign)

    def _ask(self, event: Event, request: _Request) -> Iterator[str]:
        """Check what is charged for, and that it was admitted."""
        given = event.kind == "given"
        if event.body != _body(event):
            yield "its question is not the one that it is filed under"
        free = given and (event.analyst, event.body) in self.known_to
        if given and self.answers.get(event.ref or 0) != event.body:
            yield "it gives the answer to another question"
        if (event.charge_bytes is None) != free:
            yield "its charge is missing, or was not due"
        request.entry, branch = event.seq, event.branch
        request.held = (event.charge_bytes, event.part, event.scope)
        if branch and self.widths.setdefault(branch.family, branch.width) != branch.width:
            yield "its family of parts had another width"
        if event.loss is None:
            yield "it does not say what is given away"
        elif event.charge is not None:
            if {event.charge.neighbors, event.loss.neighbors} != {self.header.neighbors}:
                yield "its charge holds under another neighbor relation"
            self._count(event, event.charge, 1)
        if event.body is not None and given:
            self.known_to.add((event.analyst, event.body))
        yield from self._admission(event.analyst, total=not given, own=not free)

    def _admission(self, analyst: str, *, total: bool = True, own: bool = True) -> Iterator[str]:
        """Check the sums against the limits of that time."""
        neighbors, share = self.header.neighbors, self.shares.get(analyst)
        if total and not self.limits.admit(self.count.tally(TOTAL).sums(neighbors)):
            yield "the budget does not admit it"
        if self.shares and share is None:
            yield "its analyst has no share"
        if own and share and not share.admit(self.count.tally(analyst).sums(neighbors)):
            yield "its analyst's share does not admit it"


def _body(event: Event) -> bytes | None:
    """Return the hash of what a request asks for; a free gift keeps no charge to check it by."""
    if event.charge_bytes is None:
        return event.body
    asked = (
        event.dataset,
        event.version,
        event.plan,
        event.loss_bytes,
        event.charge_bytes,
        event.part,
    )
    return hashlib.sha256(encode(asked)).digest()
