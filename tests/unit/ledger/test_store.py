"""One behavior of the ledger each: charges, states, answers, shares, faults."""

import re
from fractions import Fraction

import pytest

import sfumato as sf
from sfumato.accounting import Charge, charge
from sfumato.core.errors import (
    AnalystError,
    BudgetExceeded,
    CodecError,
    DataClosed,
    InputError,
    LossError,
    NeighborsError,
    RequestError,
    UnitError,
)
from sfumato.core.loss import Approximate, Concentrated, GaussianShift, Pure
from sfumato.ledger import Branch, Ledger, verify


def test_reservation_is_charged_before_it_is_touched(make, ask):
    ledger = make()
    granted = ask(ledger, epsilon="0.4")
    assert ledger.remaining().epsilon == Fraction(6, 10)
    assert (granted.entry, granted.answer, granted.durable) == (1, None, True)
    assert granted.receipt == ledger.head


def test_ten_tenths_fit_and_the_eleventh_is_refused(make, ask):
    ledger = make()
    for i in range(10):
        ask(ledger, f"q{i}", "0.1", plan=f"plan {i}")
    with pytest.raises(BudgetExceeded, match=r"0 of 1 remains.*after ledger entry 10\)\. \[E401\]"):
        ask(ledger, "q10", "1e-18", plan="plan 10")
    assert len(ledger.history()) == 10


def test_refusal_of_the_filter_keeps_its_objects(make, ask):
    with pytest.raises(BudgetExceeded) as caught:
        ask(make(), epsilon=2)
    assert caught.value.asked == charge(Pure(2))
    assert caught.value.left.epsilon == 1


def test_request_goes_through_its_states_once(make, answer):
    ledger = make()
    granted = answer(ledger)
    assert [event.kind for event in ledger.history()] == ["reserved", "touched", "settled"]
    for step in (ledger.touch, ledger.abandon, ledger.release_untouched, ledger.fault):
        with pytest.raises(RequestError):
            step(granted)
    assert len(ledger.history()) == 3


@pytest.mark.parametrize("step", ["settle", "abandon", "fault"])
def test_untouched_request_can_neither_settle_nor_fail(make, ask, step):
    ledger = make()
    granted = ask(ledger)
    with pytest.raises(RequestError):
        getattr(ledger, step)(granted, *([b"x"] if step == "settle" else []))


def test_touched_request_cannot_be_given_back(make, ask):
    ledger = make()
    granted = ask(ledger)
    ledger.touch(granted)
    with pytest.raises(RequestError):
        ledger.release_untouched(granted)
    assert ledger.remaining().epsilon == Fraction(9, 10)


def test_settled_request_returns_the_same_bytes_and_pays_once(make, ask, answer):
    ledger = make()
    answer(ledger, content=b"first")
    for _ in range(3):
        assert ask(ledger).answer == b"first"
    assert ledger.remaining().epsilon == Fraction(9, 10)
    assert len(ledger.history()) == 3


def test_settling_twice_is_harmless_with_the_same_answer_only(make, ask):
    ledger = make()
    granted = ask(ledger)
    ledger.touch(granted)
    ledger.settle(granted, b"one")
    ledger.settle(granted, b"one")
    with pytest.raises(RequestError):
        ledger.settle(granted, b"two")
    assert ask(ledger).answer == b"one"
    assert len(ledger.history()) == 3


@pytest.mark.parametrize(
    "change",
    [
        {"plan": "other"},
        {"epsilon": "0.2"},
        {"version": "2"},
        {"dataset": "x"},
        {"part": Branch("0" * 64, "a")},
    ],
)
@pytest.mark.parametrize("after", ["reserve", "settle", "return"])
def test_same_id_with_another_body_is_refused(make, ask, answer, change, after):
    ledger = make()
    granted = answer(ledger) if after == "settle" else ask(ledger)
    if after == "return":
        ledger.release_untouched(granted)
    before = ledger.head
    with pytest.raises(RequestError, match="another question"):
        ask(ledger, **change)
    assert ledger.head == before


def test_repeated_reservation_is_one_charge_and_one_touch(make, ask):
    ledger = make()
    first, second = ask(ledger), ask(ledger)
    assert first == second
    ledger.touch(first)
    with pytest.raises(RequestError):
        ledger.touch(second)
    with pytest.raises(RequestError, match="under way"):
        ask(ledger)
    assert ledger.remaining().epsilon == Fraction(9, 10)


def test_abandoned_request_fails_for_ever_and_keeps_its_charge(make, ask):
    ledger = make()
    granted = ask(ledger)
    ledger.touch(granted)
    ledger.abandon(granted)
    for _ in range(2):
        with pytest.raises(RequestError, match="failed after data"):
            ask(ledger)
    with pytest.raises(RequestError):
        ledger.settle(granted, b"late")
    assert ledger.remaining().epsilon == Fraction(9, 10)
    assert ask(ledger, "q2").answer is None
    assert ledger.remaining().epsilon == Fraction(8, 10)


def test_untouched_reservation_gives_its_charge_back(make, ask):
    ledger = make(delta="1e-6")
    ask(ledger, "kept", "0.1", plan="kept")
    before = ledger.remaining()
    granted = ask(ledger, "q1", loss=GaussianShift(50, 1))  # has no ε: closes that view
    assert ledger.remaining().epsilon is None
    ledger.release_untouched(granted)
    assert ledger.remaining() == before
    with pytest.raises(RequestError):
        ledger.touch(granted)
    again = ask(ledger, "q1", loss=GaussianShift(50, 1))
    assert again.entry == 4
    with pytest.raises(RequestError):
        ledger.touch(granted)  # a reservation of the past, although the id is reserved
    ledger.touch(again)


def test_same_question_under_a_new_id_is_answered_free(make, ask, answer):
    ledger = make()
    answer(ledger, "q1", content=b"stored")
    before = ledger.remaining()
    given = ask(ledger, "q2")
    assert given.answer == b"stored"
    assert ledger.remaining() == before
    assert ask(ledger, "q2").answer == b"stored"
    assert [event.kind for event in ledger.history()][-1] == "given"
    with pytest.raises(RequestError):
        ask(ledger, "q2", plan="other")
    with pytest.raises(RequestError):
        ledger.touch(given)


def test_other_version_is_asked_again(make, ask, answer):
    ledger = make()
    answer(ledger)
    assert ask(ledger, "q2", version="2").answer is None


def test_stored_answer_costs_another_analyst_their_share_only(make, ask, answer):
    shares = {"ana": sf.Budget(1), "bob": sf.Budget("0.5")}
    ledger = make(2, analysts=shares)
    answer(ledger, epsilon="0.4", analyst="ana", content=b"stored")
    assert ask(ledger, "mine", "0.4", analyst="bob").answer == b"stored"
    assert ledger.remaining().epsilon == Fraction(16, 10)
    assert ledger.remaining("bob").epsilon == Fraction(1, 10)
    assert ledger.remaining("ana").epsilon == Fraction(6, 10)
    ask(ledger, "mine again", "0.4", analyst="bob")  # he has it
    assert ledger.remaining("bob").epsilon == Fraction(1, 10)
    assert ledger.verify().ok


def test_stored_answer_is_refused_if_the_share_does_not_admit_it(make, ask, answer):
    ledger = make(2, analysts={"ana": sf.Budget(1), "bob": sf.Budget("0.3")})
    answer(ledger, epsilon="0.4", analyst="ana")
    with pytest.raises(BudgetExceeded):
        ask(ledger, epsilon="0.4", analyst="bob")
    assert ledger.remaining("bob").epsilon == Fraction(3, 10)


def test_reservation_of_another_ledger_is_worth_nothing(make, ask):
    ledger, other = make(), Ledger.create(None, sf.Budget(1), sf.Unit.row())
    ask(ledger)
    foreign = ask(other)  # the same analyst, id, entry and question
    with pytest.raises(RequestError):
        ledger.touch(foreign)
    assert [event.kind for event in ledger.history()] == ["reserved"]


def test_ids_belong_to_their_analyst(make, ask, answer):
    ledger = make(2, analysts={"ana": sf.Budget(1), "bob": sf.Budget(1)})
    answer(ledger, "q1", analyst="ana", plan="hers")
    assert ask(ledger, "q1", analyst="bob", plan="his").answer is None


@pytest.mark.parametrize("who", [None, "eve", "Ana"])
def test_unlisted_analyst_is_refused_where_shares_exist(make, ask, who):
    ledger = make(analysts={"ana": sf.Budget(1)})
    with pytest.raises(AnalystError):
        ask(ledger, analyst=who)
    if who:
        with pytest.raises(AnalystError):
            ledger.remaining(who)
    assert ledger.history() == []


def test_share_without_delta_is_refused_in_its_own_name(make):
    ledger = make(2, delta="1e-6", analysts={"ana": sf.Budget(1), "bob": sf.Budget(1, "1e-6")})
    for loss, said in (
        (
            Approximate(1, "1e-7"),
            "your share has no δ. Ask without one, or let the owner set its ε",
        ),
        (Concentrated("0.01"), "your share counts nothing else"),
        (Pure(2), "Ask for epsilon <= 1, or let the owner raise your share. Nothing was charged"),
    ):
        with pytest.raises(BudgetExceeded, match=re.escape(said)):
            ledger.reserve("q", "ana", "people", "1", "plan", loss)
    ledger.reserve("q", "bob", "people", "1", "plan", Approximate(1, "1e-7"))


def test_total_binds_analysts_together_without_telling_what_others_spent(make, ask):
    ledger = make(1, analysts={"ana": sf.Budget("0.8"), "bob": sf.Budget("0.8")})
    ask(ledger, epsilon="0.7", analyst="ana", plan="hers")
    with pytest.raises(BudgetExceeded, match="all analysts together") as caught:
        ask(ledger, epsilon="0.5", analyst="bob")
    assert caught.value.left is caught.value.limit is None
    assert "0.3" not in str(caught.value)
    assert ledger.remaining("bob").epsilon == Fraction(8, 10)


def test_share_binds_although_the_total_would_admit(make, ask):
    ledger = make(2, analysts={"ana": sf.Budget("0.3")})
    with pytest.raises(BudgetExceeded, match=r"0\.3 of 0\.3 remains"):
        ask(ledger, epsilon="0.4", analyst="ana")


def test_without_shares_an_analyst_sees_the_total(make, ask):
    ledger = make()
    ask(ledger, analyst="ana")
    assert ledger.remaining("bob").epsilon == Fraction(9, 10)


def test_share_can_be_given_later_and_counts_what_was_spent(make, ask):
    ledger = make(2)
    ask(ledger, epsilon="0.5", analyst="ana")
    with pytest.raises(BudgetExceeded, match="below what has been spent"):
        ledger.raise_budget(sf.Budget("0.4"), analyst="ana")
    ledger.raise_budget(sf.Budget("0.6"), analyst="ana")
    assert ledger.remaining("ana").epsilon == Fraction(1, 10)
    with pytest.raises(AnalystError):
        ask(ledger, "q2", analyst="bob")
    assert ledger.verify().ok


def test_raised_budget_admits_more_and_is_remembered(make, ask, path):
    ledger = make(1)
    ask(ledger, epsilon=1)
    with pytest.raises(BudgetExceeded):
        ask(ledger, "q2", epsilon=1, plan="b")
    ledger.raise_budget(sf.Budget(2))
    ask(ledger, "q2", epsilon=1, plan="b")
    with pytest.raises(BudgetExceeded, match="below what has been spent"):
        ledger.raise_budget(sf.Budget("1.9"))
    assert Ledger.open(path).budget == ledger.budget == sf.Budget(2)


def test_refresh_returns_nothing_and_never_reuses_a_label(make, ask):
    ledger = make()
    ask(ledger, version="2026-10")
    ledger.refresh("trips", "2026-11")
    assert ledger.remaining().epsilon == Fraction(9, 10)
    assert (ledger.version("trips"), ledger.version("zones")) == ("2026-11", None)
    for label in ("2026-10", "2026-11"):
        with pytest.raises(RequestError, match="label"):
            ledger.refresh("trips", label)
    ledger.refresh("zones", "2026-10")
    assert ledger.verify().ok


def test_declaration_is_recorded_once_until_another_is_made(make, path):
    ledger = make()
    first, second = {"caps": (5, 20)}, {"caps": (5, 21)}
    for declared in (first, first, second, second, first):
        ledger.declare("trips", declared)
    ledger.declare("zones", first)
    found = Ledger.open(path).declarations("trips")
    assert [event.declaration for event in found] == [first, second, first]
    assert [event.declaration for event in ledger.declarations("zones")] == [first]
    assert ledger.declarations("none") == []
    assert found[0].moment <= found[1].moment
    assert repr(found[0]) == "<entry 1: declared 'trips'>"
    assert ledger.remaining().epsilon == 1
    assert ledger.verify().ok


def test_declaration_without_a_canonical_form_is_refused(make):
    ledger = make()
    with pytest.raises(CodecError):
        ledger.declare("trips", object())
    with pytest.raises(InputError):
        ledger.declare("", 1)
    assert ledger.history() == []


def test_declaration_is_no_version_and_changes_no_sums(make, ask):
    ledger = make()
    ask(ledger, analyst="ana")
    ledger.declare("trips", 1)
    assert ledger.version("trips") is None
    assert ledger.spent("ana").epsilon == ledger.spent().epsilon == 10**17
    assert ledger.history()[0].declaration is None
    ledger.refresh("trips", "2")
    assert ledger.verify().ok


def test_fault_closes_the_data_until_the_owner_has_looked(make, ask, answer):
    ledger = make()
    answer(ledger, "old", plan="old", content=b"stored")
    waiting, failing, running = (ask(ledger, name, plan=name) for name in "abc")
    ledger.touch(failing)
    ledger.touch(running)
    ledger.fault(failing)
    assert ledger.closed
    with pytest.raises(DataClosed):
        ask(ledger, "new", plan="new")
    assert ask(ledger, "again", plan="old").answer == b"stored"
    with pytest.raises(DataClosed):
        ledger.touch(waiting)
    with pytest.raises(RequestError, match="failed after data"):
        ask(ledger, "b", plan="b")
    ledger.settle(running, b"read before the fault")
    assert ask(ledger, "old", plan="old").answer == b"stored"
    ledger.acknowledge()
    ledger.touch(waiting)
    assert ledger.remaining().epsilon == Fraction(6, 10)
    assert ledger.verify().ok


def test_owner_can_close_the_data_and_acknowledging_nothing_writes_nothing(make):
    ledger = make()
    ledger.acknowledge()
    assert ledger.history() == []
    ledger.fault()
    assert ledger.closed
    ledger.acknowledge()
    assert not ledger.closed


def test_pending_requests_can_be_found_after_a_crash(make, ask, answer, path):
    ledger = make()
    answer(ledger, "done", plan="done")
    left, read = ask(ledger, "a", plan="a"), ask(ledger, "b", plan="b")
    ledger.touch(read)
    found = Ledger.open(path)
    assert found.pending() == [left, read]
    found.release_untouched(found.pending()[0])
    found.abandon(read)
    assert found.pending() == []
    assert ledger.remaining().epsilon == Fraction(8, 10)


def test_charge_below_its_loss_is_refused(make, ask):
    ledger = make(delta="1e-6")
    loss, price = Approximate(1, "1e-9"), charge(Approximate(1, "1e-9"))
    for less in (
        Charge(price.epsilon - 1, price.rho, price.delta),
        Charge(price.epsilon, price.rho - 1, price.delta),
        Charge(price.epsilon, price.rho, price.delta - 1),
    ):
        with pytest.raises(LossError, match="below"):
            ask(ledger, loss=loss, charge=less)
    with pytest.raises(LossError, match="below"):
        ask(ledger, loss=Concentrated("0.1"), charge=Charge(10**17, None))
    with pytest.raises(LossError, match="Charge"):
        ask(ledger, loss=loss, charge=1)
    assert ledger.history() == []
    bought = charge(Concentrated("0.01"), "1e-8")
    assert ask(ledger, loss=Concentrated("0.01"), charge=bought).charge == bought


def test_charge_under_another_relation_is_refused(make, ask):
    with pytest.raises(NeighborsError):
        ask(make(), loss=Pure("0.1", neighbors="replace"))
    with pytest.raises(NeighborsError):
        ask(
            Ledger.create(None, sf.Budget(1), sf.Unit.row("replace")),
            loss=Pure("0.1", neighbors="replace"),
            charge=Charge(10**18, 10**18),
        )


@pytest.mark.parametrize("bad", ["", "x" * 1001, "\ud800", "a\0b", None, 3, b"q"])
@pytest.mark.parametrize("field", ["request", "analyst", "dataset", "version", "plan"])
def test_bad_name_is_refused_and_nothing_is_written(make, ask, field, bad):
    ledger = make()
    if field == "analyst" and bad is None:
        return
    with pytest.raises(InputError):
        ask(ledger, **{field: bad})
    assert ledger.history() == []


def test_answer_must_be_bytes(make, ask):
    ledger = make()
    granted = ask(ledger)
    ledger.touch(granted)
    with pytest.raises(InputError):
        ledger.settle(granted, "text")


def test_unit_cannot_change_but_its_caps_can(make, path):
    make(unit=sf.Unit.by("rider", max_rows=20))
    Ledger.open(path, unit=sf.Unit.by("rider", max_rows=5)).close()
    for other in (
        sf.Unit.by("driver", max_rows=20),
        sf.Unit.by("rider", max_rows=20, neighbors="replace"),
        sf.Unit.row(),
    ):
        with pytest.raises(UnitError):
            Ledger.open(path, unit=other)


def test_rows_of_the_unit_cannot_change(make, path):
    make(unit=sf.Unit.rows(3))
    with pytest.raises(UnitError):
        Ledger.open(path, unit=sf.Unit.row())
    with pytest.raises(UnitError):
        Ledger.create(None, sf.Budget(1), "row")


def test_truncation_keys_differ_and_stay(make, path):
    ledger = make()
    other = Ledger.create(None, sf.Budget(1), sf.Unit.row())
    assert len(ledger.truncation_key) == 32
    assert ledger.truncation_key != other.truncation_key
    assert Ledger.open(path).truncation_key == ledger.truncation_key
    assert ledger.truncation_key.hex() not in repr(ledger) + repr(ledger._header)


def test_ledger_in_memory_works_and_says_that_it_is_not_durable(ask, answer):
    ledger = Ledger.create(None, sf.Budget(1), sf.Unit.row())
    assert repr(ledger) == "Ledger(in memory, not durable, Budget(epsilon=1), Unit.row())"
    assert not ledger.durable
    answer(ledger, content=b"x")
    assert ask(ledger).answer == b"x"
    assert not ask(ledger, "q2", plan="b").durable
    assert ledger.verify().ok


def test_history_tells_what_happened_without_answers(make, answer):
    ledger = make()
    answer(ledger, epsilon="0.2", content=b"public but long")
    reserved, _, settled = ledger.history()
    assert reserved.loss == Pure("0.2")
    assert reserved.charge == charge(Pure("0.2"))
    assert (reserved.dataset, reserved.version, reserved.plan) == ("trips", "1", "plan")
    assert settled.ref == reserved.seq
    assert settled.tallies[0].epsilon == 2 * 10**17
    assert reserved.moment <= settled.moment
    assert repr(settled) == "<entry 3: settled 'q1'>"
    assert not hasattr(settled, "answer")


def test_file_verifies_after_everything(make, answer, path):
    ledger = make()
    answer(ledger)
    found = verify(path, ledger.head)
    assert found.ok
    assert str(found) == f"3 entries, all in order; head {ledger.head}"
