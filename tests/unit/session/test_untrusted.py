"""Sessions for analysts with a stopwatch: when replies come, and with what noise."""

from fractions import Fraction
from time import monotonic, perf_counter

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.audit import stopwatch
from sfumato.core.errors import (
    BudgetExceeded,
    ContractError,
    DataClosed,
    InputError,
    NumberError,
    RangeError,
    ReleaseFailed,
    SchemaError,
)
from sfumato.noise import FixedWork, fixed
from sfumato.owner.lint import lint
from sfumato.session import session as door
from sfumato.session.contract import Contract
from sfumato.session.pacing import QUANTUM, Pace, pace_of
from sfumato.testing import SeededRng

SECOND = 10**9


class Clock:
    """A clock that stands still but for what is added to it, and for those who sleep."""

    def __init__(self, late=0.0):
        self.now, self.late, self.slept = 5 * SECOND + 17, late, []

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        assert seconds > 0
        self.slept.append(seconds)
        self.now += round((seconds + self.late) * SECOND)

    def pace(self, quantum=1):
        return Pace(quantum, clock=self, sleep=self.sleep)


@pytest.fixture
def timed(town, monkeypatch):
    """Make an untrusted session on a clock of our own, in which measuring takes so long."""

    def open_town(*durations, quantum=1, **options):
        session, clock = town(untrusted=True, **options), Clock()
        session._pace = clock.pace(quantum)
        left, measure = list(durations), door.measure

        def slow(*given, **named):
            clock.now += round(left.pop(0) * SECOND)
            return measure(*given, **named)

        monkeypatch.setattr(door, "measure", slow)
        return session, clock

    return open_town


def taken(clock, action):
    """Return how many seconds an action takes by the clock, and what it returns or raises."""
    start = clock.now
    try:
        found = action()
    except sf.errors.SfumatoError as problem:
        found = problem
    return (clock.now - start) / SECOND, found


def test_replies_come_at_multiples_of_the_quantum(timed):
    session, clock = timed(0.003, 0.875, 0.876, 1.25, 3.0001)
    table = session.table()
    times = [
        taken(clock, lambda age=age: table.filter(f"age > {age}").count().release(epsilon=1))[0]
        for age in range(5)
    ]
    assert times == [1, 1, 2, 2, 4]


@pytest.mark.parametrize("took", [0.003, 0.8])
def test_what_others_see_in_the_ledger_comes_at_its_time_too(timed, monkeypatch, took):
    session, clock = timed(took)
    start, settle, seen = clock.now, session.ledger.settle, []

    def watched(*given):
        seen.append((clock.now - start) / SECOND)
        settle(*given)

    monkeypatch.setattr(session.ledger, "settle", watched)
    session.table().count().release(epsilon=1)
    assert seen == [0.875]


@pytest.mark.parametrize("took", [0.003, 1.5])
def test_who_interrupts_learns_nothing_by_asking_again(timed, monkeypatch, took):
    session, clock = timed(took, 0)
    question = session.table().count()

    def interrupted(_seconds):
        raise KeyboardInterrupt

    with monkeypatch.context() as waiting:
        waiting.setattr(session._pace, "_sleep", interrupted)
        with pytest.raises(KeyboardInterrupt):
            question.release(epsilon=1, request="monday")
    assert [event.kind for event in session.ledger.history()][-1] == "abandoned"
    _, again = taken(clock, lambda: question.release(epsilon=1, request="monday"))
    assert isinstance(again, sf.errors.SfumatoError)


def test_a_stored_answer_takes_as_long_as_a_fresh_one(timed):
    session, clock = timed(0.8, 0.001)
    question = session.table().count()
    fresh, first = taken(clock, lambda: question.release(epsilon=1))
    stored, again = taken(clock, lambda: question.release(epsilon=1))
    assert fresh == stored == 1
    assert first.to_json() == again.to_json()


def test_a_failure_takes_as_long_as_an_answer(timed, monkeypatch):
    session, clock = timed(0.4, 0.001)

    def fails(*_given, **_named):
        clock.now += SECOND // 3
        raise MemoryError

    monkeypatch.setattr(session._backend, "run", fails)
    question = session.table().count()
    time, problem = taken(clock, lambda: question.release(epsilon=1))
    assert time == 1 and isinstance(problem, ReleaseFailed)
    assert problem.__context__ is None and problem.__cause__ is None  # still nothing hangs on to it
    time, problem = taken(clock, lambda: question.release(epsilon=2))
    assert time == 1 and isinstance(problem, DataClosed)


def test_what_the_ledger_refuses_is_held_back_and_what_the_plan_refuses_is_not(timed):
    session, clock = timed(0.2, epsilon=1)
    question = session.table().count()
    time, problem = taken(clock, lambda: question.release(epsilon=2))
    assert time == 1 and isinstance(problem, BudgetExceeded)
    time, problem = taken(clock, lambda: session.table().sum("nothing"))
    assert time == 0 and isinstance(problem, SchemaError)
    time, _ = taken(clock, lambda: repr(question.explain(epsilon=1)))
    assert time == 0


def test_who_interrupts_does_not_wait(timed, monkeypatch):
    session, clock = timed(0.2)

    def interrupted(*_given, **_named):
        raise KeyboardInterrupt

    monkeypatch.setattr(session._backend, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        session.table().count().release(epsilon=1)
    assert clock.slept == []


def test_parts_scopes_and_batches_are_held_back_too(timed):
    session, clock = timed(0.1, 0.2, 0.3)
    table = session.table()
    with table.scope(sf.Budget(epsilon=2)) as inside:
        assert taken(clock, lambda: inside.count().release(epsilon=1))[0] == 1
    part = table.partition("zone", keys=["north", "south"])["north"]
    assert taken(clock, lambda: part.count().release(epsilon=1))[0] == 1
    batch = session.batch([table.count(), table.sum("age")])
    assert taken(clock, lambda: batch.release(epsilon=1))[0] == 1


def test_closing_is_held_back(timed):
    session, clock = timed()
    assert taken(clock, session.close)[0] == 1


def test_a_sleep_that_ends_early_goes_on_and_a_late_one_is_no_reply_before_time():
    clock = Clock()
    clock.sleep = lambda seconds: setattr(
        clock, "now", clock.now + max(1, int(seconds * SECOND / 2))
    )
    start = clock.now
    with clock.pace("0.25").kept():
        pass
    assert clock.now - start == SECOND // 4
    late = Clock(late=0.01)
    start = late.now
    with late.pace().kept():
        late.now += SECOND // 2
    assert late.now - start == pytest.approx(1.01 * SECOND) and len(late.slept) == 1


def test_the_real_clock_is_waited_for():
    start = monotonic()
    with Pace("0.05").kept():
        pass
    assert monotonic() - start >= 0.05


# ---- noise ---------------------------------------------------------------------------------------


class Counted:
    def __init__(self, source):
        self.source, self.requests = source, []

    def words(self, count):
        self.requests.append(count)
        return self.source.words(count)


def test_only_untrusted_sessions_draw_with_fixed_work(town, monkeypatch):
    laws = []
    real = fixed.draw
    monkeypatch.setattr(fixed, "draw", lambda *given: laws.append(given[0]) or real(*given))
    town().table().count().release(epsilon=1)
    assert laws == []
    session = town(untrusted=True, quantum="0.001")
    session.table().group_by("zone").agg(n=sf.count(), fare=sf.sum("fare")).release(epsilon=1)
    assert laws and isinstance(session._rng, FixedWork)


def test_words_drawn_do_not_depend_on_noise_or_data(town):
    other = {"zone": ["south"] * 3, "age": [1, 2, 3], "fare": [1.0, 2.0, None]}
    facts = ("zone", "age", "fare")
    found = []
    for seed in range(12):
        data = pa.table(other) if seed % 2 else pa.table({**other, "age": [99, None, 7]})
        session = town(
            data,
            schema=sf.Schema({name: TOWN[name] for name in facts}),
            untrusted=True,
            quantum="0.001",
        )
        counted = Counted(SeededRng(seed))
        session._rng = FixedWork(counted)
        grouped = session.table().group_by("zone")
        grouped.agg(n=sf.count(), fare=sf.mean("fare")).release(epsilon="0.5")
        found.append(counted.requests)
    assert found[0] and all(each == found[0] for each in found)


TOWN = {
    "zone": sf.Category(["north", "south", "east"]),
    "age": sf.Integer(0, 99, nullable=True),
    "fare": sf.Real(0, 50, step="0.01", nullable=True),
}


# ---- how it is said ------------------------------------------------------------------------------


def test_a_session_is_trusted_unless_it_says_otherwise(town):
    session = town()
    assert session._pace is None and "replies" not in repr(session)
    session = town(untrusted=True, quantum="0.25")
    assert session._pace.quantum == Fraction(1, 4)
    assert "replies every 0.25 s" in repr(session)
    assert town(untrusted=True)._pace.quantum == QUANTUM == 1


@pytest.mark.parametrize("untrusted", ["0.25", 1, None, "yes", np.True_])
def test_untrusted_is_true_or_false(untrusted):
    with pytest.raises(InputError, match="True or False"):
        pace_of(untrusted, None)


def test_a_quantum_needs_somebody_to_keep_it_from():
    with pytest.raises(InputError, match="untrusted=True beside it"):
        pace_of(False, 1)
    for bad in ("0.0009", 0, -1, "3601"):
        with pytest.raises(RangeError, match=r"0\.001 to 3600"):
            Pace(bad)
    for bad in (float("nan"), "x", None):
        with pytest.raises(NumberError, match="a number of seconds"):
            Pace(bad)


CONTRACT = """
[budget]
epsilon = 2
delta = "1e-6"
ledger = "people.ledger"
{session}
[tables.people]
source = "people.csv"
version = "1"
unit = "row"
columns.age = {{ type = "integer", low = 0, high = 120 }}
"""


def contract(session, folder="."):
    return Contract.parse(CONTRACT.format(session=session), folder)


def test_a_contract_says_that_analysts_are_untrusted(tmp_path):
    (tmp_path / "people.csv").write_text("age\n31\n45\n")
    assert contract("").quantum is None
    assert contract("[session]\nuntrusted = false").quantum is None
    assert contract("[session]\nuntrusted = true").quantum == 1
    declared = contract("[session]\nuntrusted = true\nquantum = 0.25", tmp_path)
    assert declared.quantum == Fraction(1, 4) and declared != contract("", tmp_path)
    with sf.connect(contract("[session]\nuntrusted = true\nquantum = '0.01'", tmp_path)) as session:
        assert isinstance(session._rng, FixedWork) and session._pace.quantum == Fraction(1, 100)
        session.table().count().release(epsilon=1)
    with sf.connect(contract("", tmp_path)) as session:
        assert session._pace is None


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("[session]\nuntrusted = 'yes'", "session.untrusted: this is text and must be true or f"),
        ("[session]\nquantum = 1", "session.quantum: .* Write untrusted = true beside it"),
        ("[session]\nuntrusted = true\nquantum = 0", "session.quantum: .* outside 0.001 to 3600"),
        ("[session]\nuntrusted = true\nquantum = 'soon'", "session.quantum: "),
        ("[session]\ntrusted = true", "session.trusted: there is no such key.*untrusted"),
        ("[unit]\nuntrusted = true", r"untrusted belongs in \[session\]"),
    ],
)
def test_a_contract_that_makes_no_sense_is_refused(written, said):
    with pytest.raises(ContractError, match=said):
        contract(written)


def test_a_short_quantum_is_a_warning():
    def rules(session):
        return [finding.rule for finding in lint(contract(session), data=False)]

    assert rules("[session]\nuntrusted = true\nquantum = 0.09") == ["session.short-quantum"]
    assert rules("[session]\nuntrusted = true\nquantum = 0.1") == []
    assert rules("[session]\nuntrusted = true") == []


# ---- with a clock --------------------------------------------------------------------------------


@pytest.mark.deep
def test_a_clock_does_not_tell_a_stored_answer_from_a_fresh_one(town):
    hidden, seen = (
        stopwatch(asker, trials=100, clock=lambda asker=asker: asker.spent)
        for asker in (
            FreshOrStored(town(untrusted=True, quantum="0.2")),
            FreshOrStored(town()),
        )
    )
    assert hidden.epsilon_lower <= 0.05, str(hidden)
    assert seen.flagged  # so that an audit of this size can see it


class FreshOrStored:
    """Asks something new and something old in turn; says which it was.

    Planning is not timed: who asks knows the plan. Both plans are made and shown before.
    """

    def __init__(self, session):
        self.question, self.asked, self.spent = session.table().count(), 0, 0.0
        self.question.release(epsilon="0.001")

    def __call__(self):
        self.asked += 1
        fresh = self.asked % 2
        plan = self.question.explain(epsilon=Fraction(self.asked, 10**9) if fresh else "0.001")
        repr(plan)
        start = perf_counter()
        plan.release()
        self.spent += perf_counter() - start
        return fresh
