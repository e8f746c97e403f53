"""The replay's own arithmetic, and what an entry says beside its sums."""

import time

import pytest

import sfumato as sf
from sfumato.accounting.sums import Charge
from sfumato.core.errors import CodecError, UnitError
from sfumato.core.loss import Pure
from sfumato.ledger import Ledger
from sfumato.ledger.event import LedgerHeader
from sfumato.ledger.recount import Recount

NEIGHBORS = Pure(1).neighbors


def price(epsilon, rho, delta=0):
    return Charge(epsilon, rho, delta, NEIGHBORS)


@pytest.mark.parametrize(
    ("envelope", "charges", "fits"),
    [
        (price(5, None), [price(2, 9), price(3, None)], True),
        (price(5, None), [price(2, 9), price(4, None)], False),
        (price(5, None), [price(None, 1)], False),
        (price(None, 5), [price(9, 2), price(None, 3)], True),
        (price(None, 5), [price(9, 2), price(None, 4)], False),
        (price(None, 5), [price(1, None)], False),
        (price(5, 5), [price(5, 6)], False),
        (price(5, 5), [price(6, 5)], False),
        (price(5, 5, 1), [price(5, 5, 1)], True),
        (price(5, 5, 1), [price(1, 1, 2)], False),
    ],
)
def test_charges_fit_an_envelope_in_every_view_that_it_has(envelope, charges, fits):
    count = Recount(scopes={7: ("ana", envelope)})
    for charge in charges:
        count.add((7, True), charge, None, 1)
    assert count.fits(7) is fits


@pytest.mark.parametrize(
    "change",
    [{"key": "text"}, {"budget": 3}, {"limits": None}, {"unit": "row"}, {"analysts": ((1, 2, 3),)}],
)
def test_header_of_other_types_is_refused(change):
    ledger = Ledger.create(None, sf.Budget(epsilon=1), sf.Unit.row())
    with ledger._journal() as journal:
        header, _ = journal.header()
    held = {name: getattr(header, name) for name in LedgerHeader.__dataclass_fields__}
    assert LedgerHeader(**held) == header
    with pytest.raises((CodecError, UnitError)):
        LedgerHeader(**held | change)


def test_entry_says_when_it_was_written():
    before = time.time_ns() // 1000
    ledger = Ledger.create(None, sf.Budget(epsilon=1), sf.Unit.row())
    ledger.reserve("q", None, "trips", "1", "plan", Pure(1), sf.accounting.charge(Pure(1)))
    (entry,) = ledger.history()
    assert before <= entry.time <= time.time_ns() // 1000
