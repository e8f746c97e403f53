"""Scopes: an envelope is set aside, charges inside are paid by it, and the rest is freed."""

from dataclasses import replace
from fractions import Fraction

import pytest

import sfumato as sf
from sfumato.accounting import Charge, charge
from sfumato.core.codec import digest
from sfumato.core.errors import (
    AnalystError,
    BudgetExceeded,
    CostError,
    DataClosed,
    RequestError,
)
from sfumato.core.loss import Approximate, Concentrated, Pure
from sfumato.ledger import Branch, Ledger, Scope

FAMILY = digest("trips by zone")
HALF = Fraction(1, 2)


def left(ledger, analyst=None):
    return ledger.remaining(analyst).epsilon


def test_envelope_is_set_aside_and_the_rest_is_freed(make, ask, path):
    ledger = make()
    scope = ledger.open_scope(sf.Budget("0.5"))
    assert (scope.id, scope.analyst, scope.envelope) == (1, "", charge(Pure(HALF)))
    assert left(ledger) == HALF
    ask(ledger, "in", "0.2", plan="in", scope=scope)
    assert left(ledger) == HALF
    assert ledger.scope_remaining(scope).epsilon == Fraction(3, 10)
    assert Ledger.open(path).scopes() == {scope: ledger.spent("x") + charge(Pure("0.2"))}
    ledger.close_scope(scope)
    assert left(ledger) == Fraction(8, 10)
    assert ledger.scopes() == {}
    assert ledger.verify().ok


def test_charge_inside_must_fit_the_envelope_although_the_budget_has_more(make, ask):
    ledger = make(2)
    scope = ledger.open_scope(sf.Budget("0.5"))
    ask(ledger, "q1", "0.4", plan="a", scope=scope)
    with pytest.raises(BudgetExceeded, match=r"scope's Budget\(epsilon=0\.5\)") as caught:
        ask(ledger, "q2", "0.2", plan="b", scope=scope)
    assert caught.value.asked == charge(Pure("0.2"))
    assert caught.value.left.epsilon == Fraction(1, 10)
    assert caught.value.limit == sf.Budget("0.5")
    ask(ledger, "q2", "0.1", plan="b", scope=scope)
    assert str(ledger.scope_remaining(scope)) == "ε = 0"
    assert left(ledger) == Fraction(3, 2)
    assert ledger.verify().ok


def test_what_is_set_aside_cannot_be_spent_by_others(make, ask):
    ledger = make()
    scope = ledger.open_scope(sf.Budget("0.9"))
    with pytest.raises(BudgetExceeded, match=r"0\.1 of 1 remains"):
        ask(ledger, "out", "0.2", plan="out")
    ask(ledger, "in", "0.9", plan="in", scope=scope)
    ask(ledger, "out", "0.1", plan="out")
    assert left(ledger) == 0
    ledger.close_scope(scope)
    assert left(ledger) == 0


def test_envelope_that_does_not_fit_is_refused(make, ask):
    ledger = make(1, analysts={"ana": sf.Budget("0.8"), "bob": sf.Budget("0.8")})
    with pytest.raises(BudgetExceeded, match=r"this scope costs ε = 0\.9; 0\.8 of 0\.8 remains"):
        ledger.open_scope(sf.Budget("0.9"), "ana")
    assert ledger.history() == []
    ledger.open_scope(sf.Budget("0.7"), "ana")
    assert (left(ledger, "ana"), left(ledger, "bob"), left(ledger)) == (
        Fraction(1, 10),
        Fraction(8, 10),
        Fraction(3, 10),
    )
    with pytest.raises(BudgetExceeded, match="this scope fits your own share, but not"):
        ledger.open_scope(sf.Budget("0.4"), "bob")
    with pytest.raises(AnalystError):
        ledger.open_scope(sf.Budget("0.1"), "eve")
    assert ledger.verify().ok


def test_closed_scope_refuses_and_closing_twice_is_harmless(make, ask):
    ledger = make()
    scope = ledger.open_scope(sf.Budget("0.5"))
    ledger.close_scope(scope)
    head = ledger.head
    ledger.close_scope(scope)
    for use in (lambda: ask(ledger, scope=scope), lambda: ledger.scope_remaining(scope)):
        with pytest.raises(RequestError, match="scope was closed"):
            use()
    assert ledger.head == head
    assert left(ledger) == 1


def test_scope_of_another_ledger_or_analyst_is_refused(make, ask):
    ledger = make(2, analysts={"ana": sf.Budget(1), "bob": sf.Budget(1)})
    hers = ledger.open_scope(sf.Budget("0.5"), "ana")
    other = Ledger.create(None, sf.Budget(1), sf.Unit.row())
    foreign = other.open_scope(sf.Budget("0.5"))
    wider = replace(hers, envelope=Charge(10**18, 10**18))
    for scope in (hers, replace(hers, analyst="bob"), foreign, wider, replace(hers, id=9)):
        with pytest.raises(RequestError, match="belongs to another analyst"):
            ask(ledger, analyst="bob", scope=scope)
    for scope in (foreign, wider, replace(hers, id=9)):
        with pytest.raises(RequestError):
            ledger.close_scope(scope)
    with pytest.raises(RequestError):
        ask(ledger, analyst="ana", scope=wider)
    assert len(ledger.history()) == 1


def test_scope_is_not_opened_on_closed_data_but_can_be_closed(make):
    ledger = make()
    scope = ledger.open_scope(sf.Budget("0.5"))
    ledger.fault()
    with pytest.raises(DataClosed):
        ledger.open_scope(sf.Budget("0.1"))
    ledger.close_scope(scope)
    assert left(ledger) == 1
    assert ledger.verify().ok


@pytest.mark.parametrize("bad", [1, "0.5", None, charge(Pure(1))], ids=repr)
def test_envelope_must_be_a_budget(make, bad):
    with pytest.raises(CostError):
        make().open_scope(bad)


def test_scope_that_was_never_closed_stays_reserved(make, path):
    make().open_scope(sf.Budget("0.7"), "ana")
    ledger = Ledger.open(path)
    assert left(ledger) == Fraction(3, 10)
    (scope,) = ledger.scopes()
    assert (scope.analyst, scope.budget) == ("ana", sf.Budget("0.7"))
    ledger.close_scope(scope)  # by an owner who knows that its process is dead
    assert left(ledger) == 1


def test_budget_is_not_lowered_below_what_scopes_hold(make):
    ledger = make()
    scope = ledger.open_scope(sf.Budget("0.7"))
    with pytest.raises(BudgetExceeded):
        ledger.raise_budget(sf.Budget("0.6"))
    ledger.close_scope(scope)
    ledger.raise_budget(sf.Budget("0.6"))
    assert ledger.verify().ok


ENVELOPES = {
    "pure": (sf.Budget("0.5"), Charge(5 * 10**17, charge(Pure(HALF)).rho)),
    "approximate": (sf.Budget("0.5", "1e-7"), Charge(5 * 10**17, None, 10**11)),
    "concentrated": (sf.Budget(rho="0.01"), Charge(None, 10**16)),
}
INSIDE = {
    "pure": ("ε = 0.5", [Pure("0.5")], [Concentrated("0.001"), Approximate("0.1", "1e-9")]),
    "approximate": (
        "ε = 0.5, with δ = 1e-07",
        [Pure("0.4"), Approximate("0.1", "1e-7")],
        [Concentrated("0.001"), Approximate("0.1", "2e-7"), Pure("0.6")],
    ),
    "concentrated": ("ρ = 0.01", [Concentrated("0.005"), Pure("0.1")], [Concentrated("0.02")]),
}


@pytest.mark.parametrize("kind", ENVELOPES)
def test_envelope_admits_what_keeps_within_all_of_its_figures(make, ask, kind):
    ledger = make(1, delta="1e-6")
    budget, envelope = ENVELOPES[kind]
    says, fits, refused = INSIDE[kind]
    scope = ledger.open_scope(budget)
    assert scope.envelope == envelope
    assert str(ledger.scope_remaining(scope)) == says
    held = ledger.remaining()
    for number, loss in enumerate(refused):
        with pytest.raises(BudgetExceeded, match="scope"):
            ask(ledger, f"no {number}", plan=f"no {number}", loss=loss, scope=scope)
    for number, loss in enumerate(fits):
        ask(ledger, f"yes {number}", plan=f"yes {number}", loss=loss, scope=scope)
        assert ledger.remaining() == held
    ledger.close_scope(scope)
    prices = [charge(loss) for loss in fits]
    epsilons = [price.epsilon for price in prices]
    assert ledger.spent().epsilon == (None if None in epsilons else sum(epsilons))
    assert ledger.spent().rho == sum(price.rho for price in prices)
    assert ledger.verify().ok


def test_envelope_without_a_view_is_admitted_by_the_other_alone(make):
    pure = make()
    with pytest.raises(BudgetExceeded, match="this scope has no ε"):
        pure.open_scope(sf.Budget(rho="0.1"))
    with pytest.raises(BudgetExceeded, match="δ"):
        pure.open_scope(sf.Budget("0.1", "1e-9"))
    both = Ledger.create(None, sf.Budget(1, "1e-6"), sf.Unit.row())
    first = both.open_scope(sf.Budget("0.1", "1e-9"))
    assert both.remaining().rho is None
    with pytest.raises(BudgetExceeded):
        both.open_scope(sf.Budget(rho="1e-6"))
    both.close_scope(first)
    assert both.remaining().rho is not None
    both.open_scope(sf.Budget(rho="1e-6"))


def test_two_scopes_hold_what_each_has_left(make, ask):
    ledger = make(2, analysts={"ana": sf.Budget(1), "bob": sf.Budget(1)})
    hers, his = (ledger.open_scope(sf.Budget("0.5"), name) for name in ("ana", "bob"))
    again = ledger.open_scope(sf.Budget("0.2"), "ana")
    ask(ledger, "q1", "0.3", "ana", "a", scope=hers)
    ask(ledger, "q2", "0.1", "bob", "b", scope=his)
    assert (left(ledger, "ana"), left(ledger, "bob")) == (Fraction(3, 10), HALF)
    assert left(ledger) == Fraction(8, 10)
    ledger.close_scope(hers)
    assert (left(ledger, "ana"), left(ledger)) == (HALF, Fraction(1))
    assert set(ledger.scopes()) == {his, again}
    assert ledger.verify().ok


def test_given_back_charge_counts_back_inside_the_scope(make, ask):
    ledger = make()
    scope = ledger.open_scope(sf.Budget("0.5"))
    first = ask(ledger, "q1", "0.5", plan="a", scope=scope)
    ledger.release_untouched(first)
    assert left(ledger) == HALF
    second = ask(ledger, "q2", "0.4", plan="b", scope=scope)
    ledger.close_scope(scope)
    assert left(ledger) == Fraction(6, 10)
    ledger.release_untouched(second)
    assert left(ledger) == 1
    assert ledger.verify().ok


def test_given_answer_is_paid_by_the_envelope_of_the_share_and_not_of_the_total(make, ask, answer):
    ledger = make(2, analysts={"ana": sf.Budget(1), "bob": sf.Budget("0.5")})
    answer(ledger, "q1", "0.4", analyst="ana", plan="a")
    scope = ledger.open_scope(sf.Budget("0.5"), "bob")
    assert ask(ledger, "q1", "0.4", "bob", "a", scope=scope).answer == b"public"
    assert left(ledger, "bob") == 0
    assert left(ledger) == 2 - Fraction(9, 10)
    with pytest.raises(BudgetExceeded, match="scope"):
        ask(ledger, "q2", "0.2", "bob", "b", scope=scope)
    assert ask(ledger, "again", "0.4", "bob", "a", scope=scope).answer == b"public"  # free
    ledger.close_scope(scope)
    assert left(ledger, "bob") == Fraction(1, 10)
    assert left(ledger) == 2 - Fraction(4, 10)
    assert ledger.verify().ok


def test_stored_answer_needs_no_open_scope(make, ask, answer):
    ledger = make()
    scope = ledger.open_scope(sf.Budget("0.5"))
    answer(ledger, "q1", "0.4", scope=scope)
    ledger.close_scope(scope)
    assert ask(ledger, "q1", "0.4", scope=scope).answer == b"public"
    assert ask(ledger, "q2", "0.4", scope=scope).answer == b"public"
    assert left(ledger) == Fraction(6, 10)


def test_parts_inside_a_scope_cost_its_envelope_the_largest(make, ask):
    ledger = make()
    scope = ledger.open_scope(sf.Budget("0.5"))
    for key in "abc":
        ask(ledger, key, "0.5", plan=key, part=Branch(FAMILY, key), scope=scope)
    with pytest.raises(BudgetExceeded, match="scope"):
        ask(ledger, "d", "0.1", plan="d", part=Branch(FAMILY, "a"), scope=scope)
    assert left(ledger) == HALF
    ledger.close_scope(scope)
    assert left(ledger) == HALF
    ask(ledger, "e", "0.5", plan="e", part=Branch(FAMILY, "e"))
    assert left(ledger) == HALF
    assert ledger.verify().ok


def test_part_that_was_charged_outside_too_is_held_against_the_budget(make, ask):
    """Inside, one part is hidden behind another that costs more outside: the sums can grow."""
    ledger = make()
    ask(ledger, "out", "0.5", plan="out", part=Branch(FAMILY, "b"))
    scope = ledger.open_scope(sf.Budget("0.5"))
    ask(ledger, "in a", "0.5", plan="in a", part=Branch(FAMILY, "a"), scope=scope)
    assert left(ledger) == HALF  # of the parts only b counts, and the envelope is used up
    ask(ledger, "more", "0.5", plan="more")
    with pytest.raises(BudgetExceeded, match="0 of 1 remains"):
        ask(ledger, "in b", "0.5", plan="in b", part=Branch(FAMILY, "b"), scope=scope)
    assert ledger.verify().ok


def test_scope_shows_what_it_is(make):
    shown = repr(make().open_scope(sf.Budget("0.5"), "ana"))
    assert shown.startswith("Scope(id=1, analyst='ana', budget=Budget(epsilon=0.5), envelope=")
    assert Scope.__hash__ is not None
