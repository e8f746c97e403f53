"""The one place where data, noise and ledger meet. Read it whole; it is short for that reason.

Nine steps: 1 sensitivity, 2 loss, 3 reserve, 4 mark touched, 5 run the SQL, 6 fill the public
cells, 7 draw, 8 build the releases, 9 settle. Steps 1 and 2 know the plan alone. Step 3 is on the
disk before step 5 reads the first byte, and step 9 before anybody sees an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sfumato import accounting
from sfumato.core.codec import decode, digest, encode
from sfumato.core.errors import InputError, ReleaseFailed, SfumatoError
from sfumato.ledger import Reservation
from sfumato.mechanisms.occurrence import Chosen
from sfumato.release.release import Release
from sfumato.session.access import Access
from sfumato.session.part import Part
from sfumato.session.reader import Reader
from sfumato.session.scan import Scan, scans
from sfumato.session.sequel import Sequel, keep_promise

FAILED = (
    "the release failed after the data had been touched. Its charge stands, because a failure is "
    "an output too, and the data is closed until its owner has seen what failed."
)
UNWRITTEN = (
    "the release failed after the data had been touched, and the ledger did not note it: its disk "
    "fails, or the owner gave the request up. Its charge stands. Let the owner look at both."
)


def measure(
    parts: Sequence[Part],
    access: Access,
    *,
    request: str,
    delta: Any = 0,
    sequel: Sequel | None = None,
    fixed: bool = False,
) -> tuple[Release, ...]:
    """Charge, read, draw, record, and return one release for each part.

    Args:
        parts: what to measure; one charge, and one scan for those about the same cells.
        access: the data, the ledger, the analyst.
        request: the id of the request; the same id is the same request for ever.
        delta: a δ to charge, which gives Gaussian parts an ε.
        sequel: what is measured after the parts, in view of their answers; in the same charge.
        fixed: charge by the law of all losses together; for parts that were fixed beforehand.

    Raises:
        BudgetExceeded: it does not fit; nothing was read.
        ReleaseFailed: something failed after data was touched; constant, whatever it was.
    """
    parts = _own(parts, access)  # 1, 2
    tables = tuple(dict.fromkeys(name for part in parts for name in part.tables))
    ledger = access.ledger
    later = [] if sequel is None else [sequel.promised]
    law = tuple(part.written() for part in parts)
    plan = digest(law if sequel is None else (law, sequel.written()))
    cost = accounting.compose([*(part.loss for part in parts), *later])
    charge = accounting.charge(cost, delta, fixed=fixed and sequel is None)
    first = scans(parts, access.backend.dialect)  # what the plan cannot do, it fails here
    grant = ledger.reserve(  # 3: durable before anything is read
        request, access.analyst, *access.labels(tables), plan, cost, charge, **access.within
    )
    if grant.answer is not None:
        return tuple(decode(grant.answer))
    ledger.touch(grant)  # 4: from here on the charge stands
    try:
        releases = _released(parts, first, access, grant)
        if sequel is not None:
            parts, second = _following(sequel, releases, access, delta)
            releases += _released(parts, second, access, grant)
        answer = encode(releases)
        access.hold()  # whoever looks into the ledger has a stopwatch too
        ledger.settle(grant, answer)  # 9: durable before anybody sees it
    except KeyboardInterrupt:
        problem: BaseException = KeyboardInterrupt()
    except BaseException:  # noqa: BLE001 - whatever it is, it may depend on data
        problem = ReleaseFailed(FAILED)
    else:
        return releases
    if isinstance(problem, ReleaseFailed):
        access.hold()
    try:
        (ledger.fault if isinstance(problem, ReleaseFailed) else ledger.abandon)(grant)
    except SfumatoError:  # not written, or given up by the owner: the request stays paid
        problem = ReleaseFailed(UNWRITTEN) if isinstance(problem, ReleaseFailed) else problem
    raise problem  # outside of the handler, so that neither cause nor values hang on to it


def _own(parts: Sequence[Part], access: Access) -> list[Part]:
    """Compute sensitivity and loss from question and mechanism: nobody's word is taken for them."""
    own = [Part.of(part.query, part.mechanism) for part in parts]
    if access.slice and not all(access.slice.holds(part.query.node) for part in own):
        raise InputError(
            "this question is about more than the part of the table that would pay for it. Ask the "
            "table that partition() returned."
        )
    return own


def _following(
    sequel: Sequel, answers: Sequence[Release], access: Access, delta: Any
) -> tuple[list[Part], list[Scan]]:
    """Plan what follows the first answers; nothing, where it cannot be asked with what they found.

    It sees noisy answers alone, so that what it refuses tells no more than they do.
    """
    try:
        parts = _own(sequel.parts(answers), access)
        keep_promise(parts, sequel.promised, delta)
        return parts, scans(parts, access.backend.dialect)
    except SfumatoError:
        return [], []


def _released(
    parts: Sequence[Part], statements: Sequence[Scan], access: Access, grant: Reservation
) -> tuple[Release, ...]:
    released: dict[int, Release] = {}
    appeared: dict[Any, Chosen] = {}  # bought groups: public once they are drawn
    asked = [part.query for part in parts]
    reader = Reader(access.backend, access.ledger.truncation_key.hex(), asked)
    for scan in statements:
        found = scan.read(reader, appeared.get((scan.node, scan.keys)))  # 5
        for place in scan.places:
            part = parts[place]
            drawn = found.exact(place).drawn(part.mechanism, access.rng)  # 6, 7
            if isinstance(drawn, Chosen):
                found = found.narrowed(drawn)
                appeared[scan.node, scan.keys] = drawn
            release = part.release(drawn, found.cells if part.named else None)  # 8
            released[place] = replace(release, receipt=grant.receipt, durable=grant.durable)
    return tuple(released[place] for place in sorted(released))
