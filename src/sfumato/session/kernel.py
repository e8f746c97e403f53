"""The one place where data, noise and ledger meet. Read it whole; it is short for that reason.

Nine steps: 1 sensitivity, 2 loss, 3 reserve, 4 mark touched, 5 run the SQL, 6 fill the public
cells, 7 draw, 8 build the releases, 9 settle. Steps 1 and 2 know the plan alone. Step 3 is on the
disk before step 5 reads the first byte, and step 9 before anybody sees an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sfumato import accounting
from sfumato.core.codec import decode, digest, encode
from sfumato.core.errors import InputError, InternalError, ReleaseFailed, SfumatoError
from sfumato.ledger import Reservation
from sfumato.relation import Keys, Node
from sfumato.relation.lower import lowered, parameters
from sfumato.release.release import Release
from sfumato.session.access import Access
from sfumato.session.exact import Exact
from sfumato.session.part import Part

FAILED = (
    "the release failed after the data had been touched. Its charge stands, because a failure is "
    "an output too, and the data is closed until its owner has seen what failed."
)


def measure(
    parts: Sequence[Part], access: Access, *, request: str, delta: Any = 0
) -> tuple[Release, ...]:
    """Charge, read, draw, record, and return one release for each part.

    Args:
        parts: what to measure; one charge, and one scan for those about the same cells.
        access: the data, the ledger, the analyst.
        request: the id of the request; the same id is the same request for ever.
        delta: a δ to charge, which gives Gaussian parts an ε.

    Raises:
        BudgetExceeded: it does not fit; nothing was read.
        ReleaseFailed: something failed after data was touched; constant, whatever it was.
    """
    # Computed here, from question and mechanism alone: nobody's word is taken for them.
    parts = [Part.of(part.query, part.mechanism) for part in parts]  # 1, 2
    tables, ledger = parts[0].sources, access.ledger
    if any(part.sources != tables for part in parts):
        raise InternalError("one measurement is about the same tables.")
    if access.slice and not all(access.slice.holds(part.query.node) for part in parts):
        raise InputError(
            "this question is about more than the part of the table that would pay for it. Ask the "
            "table that partition() returned."
        )
    plan = digest(tuple(part.written() for part in parts))
    cost = accounting.compose([part.loss for part in parts])
    charge = accounting.charge(cost, delta)
    scans = _scans(parts, access.backend.dialect)  # what the plan cannot do, it fails here
    grant = ledger.reserve(  # 3: durable before anything is read
        request, access.analyst, *access.labels(tables), plan, cost, charge, **access.within
    )
    if grant.answer is not None:
        return tuple(decode(grant.answer))
    ledger.touch(grant)  # 4: from here on the charge stands
    try:
        releases = _released(parts, scans, access, grant)
        ledger.settle(grant, encode(releases))  # 9: durable before anybody sees it
    except KeyboardInterrupt:
        problem: BaseException = KeyboardInterrupt()
    except BaseException:  # noqa: BLE001 - whatever it is, it may depend on data
        problem = ReleaseFailed(FAILED)
    else:
        return releases
    with suppress(SfumatoError):  # if it cannot be written, the request stays touched and paid
        (ledger.fault if isinstance(problem, ReleaseFailed) else ledger.abandon)(grant)
    raise problem  # outside of the handler, so that neither cause nor values hang on to it


class Scan(NamedTuple):
    """One statement, for all parts about the same cells of one relation."""

    sql: str
    node: Node
    keys: Keys
    parts: list[int]


def _scans(parts: Sequence[Part], dialect: str) -> list[Scan]:
    found = []
    for node, keys in dict.fromkeys((part.query.node, part.query.keys) for part in parts):
        same = [i for i, p in enumerate(parts) if (p.query.node, p.query.keys) == (node, keys)]
        found.append(Scan(lowered([parts[i].query for i in same], dialect), node, keys, same))
    return found


def _released(
    parts: Sequence[Part], scans: Sequence[Scan], access: Access, grant: Reservation
) -> tuple[Release, ...]:
    drawn = [  # 7
        part.mechanism.grid(exact.drawn(part.mechanism, access.rng))
        for part, exact in zip(parts, _read(scans, access), strict=True)
    ]
    cells = {keys: keys.table() or None for keys in {part.query.keys for part in parts}}
    return tuple(  # 8
        replace(
            Release.of(
                values=values,
                error=part.error,
                cost=part.loss,
                mechanism=repr(part.mechanism),
                scale=part.mechanism.noise_scale,
                keys=cells[part.query.keys],
                notes=part.told,
                unit=part.sources[0].unit,
                price=part.price,
            ),
            receipt=grant.receipt,
            durable=grant.durable,
        )
        for part, values in zip(parts, drawn, strict=True)
    )


def _read(scans: Sequence[Scan], access: Access) -> list[Exact]:
    """Run the statements (5) and fill the public cells (6)."""
    found: dict[int, Exact] = {}
    for sql, node, keys, parts in scans:
        table = access.backend.run(sql, parameters(node, access.ledger.truncation_key.hex()))
        cells = keys.index([table[f"k{k}"].combine_chunks() for k in range(len(keys.columns))])
        for column, i in enumerate(parts):
            counted = np.from_dlpack(table[f"m{column}"].combine_chunks())  # refuses NULL
            values = np.zeros(len(keys), np.int64)  # a public cell without rows is 0
            values[cells[cells >= 0]] = counted[cells >= 0]
            found[i] = Exact(values if keys.columns else values[0])
    return [found[i] for i in sorted(found)]
