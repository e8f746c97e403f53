"""What an analyst has of a ledger, and which entry charged them for it."""

import pytest

import sfumato as sf
from sfumato.core.loss import Pure
from sfumato.ledger import Ledger
from sfumato.session.holdings import Holdings


@pytest.fixture
def ledger():
    shares = {"ana": sf.Budget(epsilon=9), "bob": sf.Budget(epsilon=9)}
    return Ledger.create(None, sf.Budget(epsilon=9), sf.Unit.row(), analysts=shares)


def reserve(ledger, who, request, plan="p"):
    return ledger.reserve(request, who, "t", "1", plan, Pure("0.5"))


def answered(ledger, who, request, plan="p"):
    granted = reserve(ledger, who, request, plan)
    ledger.touch(granted)
    ledger.settle(granted, b"of another program")
    return granted.entry


def held(ledger, who):
    found = Holdings.of(ledger.history(), who).charged
    return {answer: entry.seq for answer, entry in found.items()}


def test_who_asked_was_charged_by_the_reservation(ledger):
    first = answered(ledger, "ana", "a")
    assert held(ledger, "ana") == held(ledger, None) == {first: first}
    assert held(ledger, "bob") == {}


def test_who_was_given_an_answer_was_charged_when_they_first_were(ledger):
    first = answered(ledger, "ana", "a")
    own = answered(ledger, "bob", "b", "q")
    given = reserve(ledger, "bob", "c").entry
    reserve(ledger, "bob", "d")  # free
    reserve(ledger, "ana", "e")  # free
    assert held(ledger, "bob") == {own: own, first: given}
    assert held(ledger, "ana") == {first: first}
    assert held(ledger, None) == {first: first, own: own}


def test_request_that_came_to_nothing_is_no_charge_for_what_was_given_later(ledger):
    lost = reserve(ledger, "bob", "lost")
    ledger.touch(lost)
    ledger.abandon(lost)
    ledger.release_untouched(reserve(ledger, "bob", "back"))
    first = answered(ledger, "ana", "a")
    given = reserve(ledger, "bob", "b").entry
    assert held(ledger, "bob") == {first: given}


def test_of_two_answers_asked_for_at_once_everybody_has_their_own(ledger):
    hers, his = reserve(ledger, "ana", "a"), reserve(ledger, "bob", "b")
    for granted in (hers, his):
        ledger.touch(granted)
        ledger.settle(granted, granted.analyst.encode())
    assert reserve(ledger, "bob", "c").answer == b"bob"
    assert held(ledger, "bob") == {his.entry: his.entry}
    assert held(ledger, None) == {hers.entry: hers.entry, his.entry: his.entry}
