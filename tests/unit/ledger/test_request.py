"""What a request may do from each state, and who pays for what is asked again."""

import threading
from fractions import Fraction

import pytest

import sfumato as sf
from sfumato.core.errors import AnalystError, BudgetExceeded, DataClosed, RequestError
from sfumato.ledger import Event, Ledger, verify
from sfumato.ledger.event import STATES


@pytest.fixture
def reach(ask):
    """Bring a request of 0.1 to a state; return its reservation."""

    def bring(ledger, state, request="q1", plan="plan"):
        if state == "given":
            first = ask(ledger, f"before {request}", plan=plan)
            ledger.touch(first)
            ledger.settle(first, b"stored")
        granted = ask(ledger, request, plan=plan)
        if state == "returned":
            ledger.release_untouched(granted)
        elif state not in ("reserved", "given"):
            ledger.touch(granted)
        if state == "settled":
            ledger.settle(granted, b"stored")
        elif state in ("abandoned", "fault"):
            {"abandoned": ledger.abandon, "fault": ledger.fault}[state](granted)
            ledger.acknowledge()
        assert [event.kind for event in ledger.history() if event.request == request][-1] == state
        return granted

    return bring


@pytest.mark.parametrize("state", STATES)
def test_touch_succeeds_from_reserved_only(make, reach, state):
    ledger = make()
    granted = reach(ledger, state)
    before = ledger.head
    if state == "reserved":
        ledger.touch(granted)
        assert ledger.head != before
    else:
        with pytest.raises(RequestError, match="does not follow"):
            ledger.touch(granted)
        assert ledger.head == before


@pytest.mark.parametrize("state", STATES)
def test_charge_is_given_back_from_reserved_only(make, reach, state):
    ledger = make()
    granted = reach(ledger, state)
    spent = Fraction(0 if state == "returned" else 1, 10)
    assert ledger.remaining().epsilon == 1 - spent
    if state == "reserved":
        ledger.release_untouched(granted)
        assert ledger.remaining().epsilon == 1
    else:
        with pytest.raises(RequestError, match="does not follow"):
            ledger.release_untouched(granted)
        assert ledger.remaining().epsilon == 1 - spent
    assert ledger.verify().ok


def test_touch_is_durable_when_it_returns(make, reach, path):
    granted = reach(make(), "touched")
    other = Ledger.open(path)
    assert [event.kind for event in other.history()] == ["reserved", "touched"]
    with pytest.raises(RequestError):
        other.release_untouched(granted)


def test_many_who_touch_at_once_succeed_once(make, ask, path):
    granted = ask(make())
    start, won = threading.Barrier(8), []

    def touch():
        ledger = Ledger.open(path)
        start.wait()
        try:
            ledger.touch(granted)
            won.append(True)
        except RequestError:
            pass

    threads = [threading.Thread(target=touch) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert won == [True]
    assert verify(path).entries == 2


def test_sums_run_over_every_dataset_and_version(make, ask):
    ledger = make(1, analysts={"ana": sf.Budget("0.6")})
    for number, (dataset, version) in enumerate([("a", "1"), ("a", "2"), ("b", "1")], start=1):
        ask(ledger, f"q{number}", "0.2", "ana", dataset=dataset, version=version)
        assert ledger.remaining().epsilon == 1 - Fraction(number, 5)
    with pytest.raises(BudgetExceeded):
        ask(ledger, "q4", "0.1", "ana", dataset="c")


def test_refresh_returns_nothing_to_anybody(make, ask):
    ledger = make(1, analysts={"ana": sf.Budget("0.5")})
    ask(ledger, "q1", "0.5", "ana")
    ledger.refresh("trips", "2")
    assert ledger.remaining().epsilon == Fraction(1, 2)
    assert ledger.remaining("ana").epsilon == 0
    with pytest.raises(BudgetExceeded):
        ask(ledger, "q2", "0.1", "ana", version="2")


def test_settled_request_is_answered_whatever_has_happened_since(make, ask, answer, path):
    ledger = make(1)
    answer(ledger, "q1", "0.5", content=b"the same")
    ask(ledger, "rest", "0.5", plan="rest")
    ledger.refresh("trips", "2")
    ledger.fault()
    head = ledger.head
    for handle in (ledger, Ledger.open(path)):
        assert ask(handle, "q1", "0.5").answer == b"the same"
    assert ledger.head == head


@pytest.mark.parametrize("failure", ["abandoned", "fault"])
def test_failure_is_constant_and_asking_again_pays_again(make, ask, reach, failure):
    ledger = make()
    said = set()
    for number in range(2):
        reach(ledger, failure, f"q{number}", plan=f"plan {number}")
        for _ in range(2):
            with pytest.raises(RequestError) as caught:
                ask(ledger, f"q{number}", plan=f"plan {number}")
            said.add(str(caught.value))
    assert len(said) == 1
    assert ledger.remaining().epsilon == Fraction(8, 10)
    again = ask(ledger, "anew", plan="plan 0")
    assert again.answer is None
    assert ledger.remaining().epsilon == Fraction(7, 10)
    ledger.touch(again)
    assert ledger.verify().ok


def test_failure_says_the_same_for_both_reasons(make, ask, reach):
    ledger, said = make(), set()
    for failure in ("abandoned", "fault"):
        reach(ledger, failure, failure, plan=failure)
        with pytest.raises(RequestError) as caught:
            ask(ledger, failure, plan=failure)
        said.add(str(caught.value))
    assert len(said) == 1


SHARES = {"ana": sf.Budget(1), "bob": sf.Budget("0.5")}


def test_stored_answer_is_given_although_the_total_is_spent(make, ask, answer):
    ledger = make(1, analysts=SHARES)
    answer(ledger, "q1", "0.4", analyst="ana", content=b"stored")
    ask(ledger, "q2", "0.6", analyst="ana", plan="rest")
    assert ledger.remaining().epsilon == 0
    assert ask(ledger, "mine", "0.4", analyst="bob").answer == b"stored"
    assert ledger.remaining().epsilon == 0
    assert ledger.remaining("bob").epsilon == Fraction(1, 10)
    assert ledger.verify().ok


def test_stored_answer_that_does_not_fit_a_share_changes_nothing(make, ask, answer):
    ledger = make(2, analysts=SHARES)
    answer(ledger, "q1", "0.6", analyst="ana")
    head = ledger.head
    with pytest.raises(BudgetExceeded) as caught:
        ask(ledger, "mine", "0.6", analyst="bob")
    assert "public" not in str(caught.value)
    assert ledger.head == head
    ledger.raise_budget(sf.Budget("0.6"), analyst="bob")
    assert ask(ledger, "mine", "0.6", analyst="bob").answer == b"public"


def test_own_answer_is_repeated_free_although_the_share_is_spent(make, ask, answer):
    ledger = make(2, analysts=SHARES)
    answer(ledger, "q1", "0.5", analyst="bob", content=b"his")
    assert ledger.remaining("bob").epsilon == 0
    assert ask(ledger, "again", "0.5", analyst="bob").answer == b"his"
    assert ledger.verify().ok


def test_of_two_answers_asked_for_at_once_everybody_keeps_their_own(make, ask):
    """The other one is a second look at the data, which their share has not paid for."""
    ledger = make(2, analysts=SHARES)
    both = {who: ask(ledger, "q1", "0.5", analyst=who) for who in SHARES}
    for who, granted in both.items():
        ledger.touch(granted)
        ledger.settle(granted, who.encode())
    for request in ("again", "and again"):
        for who in SHARES:
            assert ask(ledger, request, "0.5", analyst=who).answer == who.encode()
    assert ledger.remaining().epsilon == 1
    assert ledger.remaining("bob").epsilon == 0
    assert ledger.verify().ok


def test_same_id_of_two_analysts_is_two_requests(make, ask, reach, answer):
    ledger = make(2, analysts=SHARES)
    answer(ledger, "q1", "0.4", analyst="ana", content=b"hers")
    given = ask(ledger, "q1", "0.4", analyst="bob")
    assert given.answer == b"hers"  # the same question, so given to him: at his own cost
    assert ledger.remaining("bob").epsilon == Fraction(1, 10)
    failing = ask(ledger, "q2", analyst="ana", plan="hers")
    ledger.touch(failing)
    ledger.abandon(failing)
    assert ask(ledger, "q2", analyst="bob", plan="hers").answer is None


def test_returned_id_is_given_what_somebody_was_answered_meanwhile(make, ask, answer):
    ledger = make(2, analysts=SHARES)
    ledger.release_untouched(ask(ledger, "q1", "0.4", analyst="bob"))
    answer(ledger, "q1", "0.4", analyst="ana", content=b"hers")
    assert ask(ledger, "q1", "0.4", analyst="bob").answer == b"hers"
    assert ledger.remaining().epsilon == Fraction(16, 10)
    assert ledger.remaining("bob").epsilon == Fraction(1, 10)
    assert ledger.verify().ok


def test_what_others_spend_does_not_show_in_a_share(make, ask):
    ledger = make(2, analysts=SHARES)
    before = ledger.remaining("bob")
    ask(ledger, "q1", 1, analyst="ana")
    assert ledger.remaining("bob") == before


@pytest.mark.parametrize("who", [None, "eve"])
def test_unlisted_analyst_is_not_given_stored_answers_either(make, ask, answer, who):
    ledger = make(2, analysts=SHARES)
    answer(ledger, "q1", analyst="ana")
    head = ledger.head
    for request in ("q1", "q2"):
        with pytest.raises(AnalystError):
            ask(ledger, request, analyst=who)
    assert ledger.head == head


@pytest.mark.parametrize("who", [None, "ana"])
def test_shares_given_later_bind_those_who_asked_before(make, ask, answer, who):
    ledger = make(2)
    answer(ledger, "q1", analyst=who)
    ledger.raise_budget(sf.Budget(1), analyst="bob")
    for request in ("q1", "q2"):
        with pytest.raises(AnalystError):
            ask(ledger, request, analyst=who)


def test_gifts_may_sum_to_more_than_the_total_but_questions_may_not(make, ask, answer):
    everybody = {name: sf.Budget(1) for name in ("ana", "bob", "eve")}
    ledger = make(1, analysts=everybody)
    answer(ledger, "q1", 1, analyst="ana", content=b"one answer")
    for name in ("bob", "eve"):
        assert ask(ledger, "q1", 1, analyst=name).answer == b"one answer"
    assert [ledger.remaining(name).epsilon for name in everybody] == [0, 0, 0]
    ledger.raise_budget(sf.Budget(9), analyst="bob")
    with pytest.raises(BudgetExceeded, match="all analysts together"):
        ask(ledger, "q2", "1e-18", analyst="bob", plan="new")
    assert ledger.verify().ok


def test_closed_data_gives_stored_answers_to_nobody_new(make, ask, answer):
    ledger = make(2, analysts=SHARES)
    answer(ledger, "q1", analyst="ana")
    ledger.fault()
    with pytest.raises(DataClosed):
        ask(ledger, "q1", analyst="bob")
    assert ledger.remaining("bob").epsilon == Fraction(1, 2)
    assert ask(ledger, "again", analyst="ana").answer == b"public"
    assert ledger.verify().ok


def test_entry_has_every_column_of_the_design():
    promised = {"seq", "prev_hash", "dataset", "version", "analyst", "plan", "part", "state"}
    promised |= {"loss_bytes", "charge_bytes", "sums", "answer_hash", "time"}
    assert promised <= set(Event.__slots__)


def test_closed_ledger_is_one_file(make, answer, path):
    ledger = make()
    answer(ledger)
    ledger.close()
    assert list(path.parent.iterdir()) == [path]
    assert path.read_bytes()[18:20] == b"\2\2"  # SQLite's mark of a WAL database
