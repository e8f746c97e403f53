"""Caps and ranges that are bought: what follows from them is a function of answers, and is paid."""

import sys
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import note
from hypothesis import strategies as st

import sfumato as sf
from sfumato import accounting
from sfumato.accounting.grid import units_up
from sfumato.audit import replay
from sfumato.audit.tape import Tape, tapped_laboratory
from sfumato.core.errors import InternalError, SfumatoError
from sfumato.session.purchase import Cap, Clamp
from sfumato.session.sequel import keep_promise
from sfumato.testing.tables import neighbors, tables

sys.path.insert(0, str(Path(__file__).parent))
from difference import search

sys.path.pop(0)

SCHEMA = sf.Schema(
    name=sf.Text(),
    zone=sf.Category(["A", "B", "C"]),
    age=sf.Integer(-10, 40),
    income=sf.Integer(),
    cents=sf.Real(step="0.01"),
)
UNITS = [
    sf.Unit.row(),
    sf.Unit.by("id", max_rows="auto"),
    sf.Unit.by("id", max_rows="auto", max_groups="auto"),
    sf.Unit.by("id", max_rows=3, max_groups="auto"),
    sf.Unit.by("id", max_rows="auto", neighbors="replace"),
]
OUTPUTS = {
    "n": sf.count(),
    "total": sf.sum(sf.bounds("income")),
    "mean": sf.mean(sf.bounds("cents")),
    "spread": sf.std(sf.bounds("age")),
    "half": sf.median("age"),
    "framed": sf.median("age", interval=True),
    "within": sf.quantile(sf.bounds("income"), [0.1, 0.9]),
    "units": sf.count_distinct("zone"),
}
COSTS = [
    {"epsilon": 200},
    {"epsilon": 3},
    {"epsilon": 40, "delta": "0.01"},
    {"rho": 100},
]


@st.composite
def programs(draw):
    """Draw a question, as what an analyst would type; what is refused, or not found, says so."""
    names = draw(st.lists(st.sampled_from(sorted(OUTPUTS)), min_size=1, max_size=2, unique=True))
    keys = draw(st.sampled_from([None, ["zone"], ["name"]]))
    cost = draw(st.sampled_from(COSTS[2:3] if keys == ["name"] else COSTS))
    steps = draw(st.sampled_from([(), ("age >= 3",)]))

    def program(session):
        table = session.table()
        try:
            if steps:
                table = table.filter(*steps)
            if keys:
                table = table.group_by(*keys, keys=sf.bought() if keys == ["name"] else None)
            question = table.agg(**{name: OUTPUTS[name] for name in names})
            answer = question.release(**cost)
        except sf.errors.ReleaseFailed:
            raise
        except SfumatoError as refusal:
            return type(refusal).__name__, str(refusal)
        return answer.to_arrow().to_pylist(), answer.notes, str(answer.price)

    note(f"{names} by {keys} for {cost}, {steps}")
    return program


def pair(table, other, unit, *, schema=SCHEMA, **options):
    """Open a session over each with one ledger: one key, one budget."""
    budget = options.pop("budget", sf.Budget(10**5, "0.5"))
    declared = {"unit": unit, "schema": schema, "budget": budget, "name": "t", **options}
    first = sf.Session(table, **declared)
    return first, sf.Session(other, ledger=first.ledger, **declared)


@st.composite
def cases(draw):
    """Draw unit, neighbors and a question; the sessions are opened by the check."""
    unit = draw(st.sampled_from(UNITS))
    table = draw(tables(SCHEMA, unit))
    return unit, table, draw(neighbors(table, SCHEMA, unit)), draw(programs())


def same(case):
    unit, table, other, program = case
    found = replay(program, *pair(table, other, unit))
    assert not found.flagged, found
    assert found.unjudged == 0


def test_question_that_buys_does_the_same_on_neighbors():
    search(cases(), same, examples=20, shrink=False)


@pytest.mark.deep
def test_question_that_buys_does_the_same_on_neighbors_in_depth():
    search(cases(), same, seeds=None)


# ---- by hand: ranges and caps that are found -----------------------------------------------------


def town(*people):
    """Write rows as (id, zone, income)."""
    who, zone, income = (list(column) for column in zip(*people, strict=True))
    size = len(people)
    return pa.table(
        {
            "id": pa.array(who, pa.int64()),
            "zone": pa.array(zone, pa.string()),
            "income": pa.array(income, pa.int64()),
            "name": pa.array(["x"] * size, pa.string()),
            "age": pa.array([20] * size, pa.int64()),
            "cents": pa.array([0.5] * size, pa.float64()),
        }
    )


MANY = [(i, "ABC"[i % 3], 900 + i) for i in range(120) for _ in range(1 + i % 3)]
HEAVY = [(500, "A", 10**9)] * 40
AUTO = sf.Unit.by("id", max_rows="auto")
KINDS = {
    "cap": lambda t: t.count(),
    "caps": lambda t: t.group_by("zone").count(),
    "range": lambda t: t.sum(sf.bounds("income")),
    "both": lambda t: t.group_by("zone").agg(n=sf.count(), m=sf.mean(sf.bounds("income"))),
    "quantile": lambda t: t.median(sf.bounds("income")),
    "bought": lambda t: t.group_by("name", keys=sf.bought()).agg(m=sf.sum(sf.bounds("income"))),
}


def asked(kind, **cost):
    def program(session):
        answer = KINDS[kind](session.table()).release(**cost)
        return answer.to_arrow().to_pylist(), answer.notes

    return program


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cost", [{"epsilon": 40, "delta": "1e-4"}], ids=["delta"])
def test_heavy_unit_changes_nothing_but_the_exact_inputs(kind, cost):
    found = replay(asked(kind, **cost), *pair(town(*MANY, *HEAVY), town(*MANY), AUTO))
    assert not found.flagged, found
    assert found.calls >= 2


def test_charge_covers_the_noise_calls_of_both_stages():
    (session, _), tape = pair(town(*MANY), town(*MANY), AUTO), Tape()
    had = session.remaining
    with tapped_laboratory(tape):
        asked("both", epsilon=5)(session)
    spent = [call.mechanism.loss(call.sensitivity) for call in tape.calls]
    assert len(spent) == 5  # a cap, a range, a sum and two counts
    paid = had.epsilon - session.remaining.epsilon
    assert paid == 5
    assert accounting.epsilon(accounting.compose(spent)) <= paid


# ---- mistakes that a replay finds ----------------------------------------------------------------


@pytest.mark.parametrize("kind", ["cap", "range"])
def test_replay_finds_a_sequel_that_looks_at_the_data(monkeypatch, kind):
    """A cap that follows the table, and not the noisy answer about it."""
    first, second = pair(town(*MANY, *HEAVY), town(*MANY), AUTO)
    known = {}

    def peeked(self, part, answer):
        return known["rows"]

    monkeypatch.setattr(Cap, "found", peeked)
    plain = asked(kind, epsilon=40)

    def program(session):
        counted = session._backend.run("SELECT count(*) AS n FROM t", {})["n"][0].as_py()
        known["rows"] = counted // 10
        return plain(session)

    assert replay(program, first, second).flagged


def test_replay_finds_a_range_that_is_read_off(monkeypatch):
    first, second = pair(town(*MANY, *HEAVY), town(*MANY), sf.Unit.by("id", max_rows=3))
    known = {}
    monkeypatch.setattr(Clamp, "found", lambda *_: (Fraction(0), Fraction(known["most"])))

    def program(session):
        found = session._backend.run("SELECT max(income) AS n FROM t", {})["n"][0].as_py()
        known["most"] = found
        return asked("range", epsilon=40)(session)

    assert replay(program, first, second).flagged


def test_parts_beyond_the_promise_are_never_measured(monkeypatch):
    session, _ = pair(town(*MANY), town(*MANY), AUTO)
    from sfumato.session.staged import StagedPlan

    honest = StagedPlan.parts

    def greedy(self, answers):
        return [*honest(self, answers)] * 2

    monkeypatch.setattr(StagedPlan, "parts", greedy)
    had, tape = session.remaining.epsilon, Tape()
    with tapped_laboratory(tape), pytest.raises(sf.errors.NothingFound):
        asked("cap", epsilon=1)(session)
    assert len(tape.calls) == 1
    assert had - session.remaining.epsilon == 1
    assert not session.ledger.closed


# ---- the promise is kept, whatever is found ------------------------------------------------------

FOUND = [
    (1, (Fraction(0), Fraction(1))),
    (7, (Fraction(-3), Fraction(1000))),
    (2**20, (Fraction(-(10**6)), Fraction(10**6))),
]
STATIC = pa.table({name: pa.array([], kind) for name, kind in (
    ("id", pa.int64()), ("zone", pa.string()), ("name", pa.string()), ("age", pa.int64()),
    ("income", pa.int64()), ("cents", pa.float64()),
)})  # fmt: skip
QUESTIONS = {
    "count": lambda t: t.group_by("zone").count(),
    "mean and median": lambda t: t.group_by("zone").agg(
        m=sf.mean(sf.bounds("income")), q=sf.median("age", interval=True)
    ),
    "spread": lambda t: t.agg(v=sf.variance(sf.bounds("age")), n=sf.count()),
    "several quantiles": lambda t: t.group_by("zone").agg(
        q=sf.quantile("age", [0.1, 0.5, 0.9]), low=sf.min("age")
    ),
    "bought": lambda t: t.group_by("name", keys=sf.bought()).agg(n=sf.count(), a=sf.mean("age")),
    "distinct": lambda t: t.group_by("zone").agg(a=sf.count_distinct("name"), n=sf.count()),
    "bought, rest": lambda t: t.group_by("name", keys=sf.bought(other=True)).sum("age"),
}
PROMISING = [
    sf.Unit.by("id", max_rows="auto", max_groups="auto"),
    sf.Unit.by("id", max_rows="auto", max_groups="auto", neighbors="replace"),
    sf.Unit.by("id", max_rows="auto", max_groups=2),
]
GRID = ["1/1000", 1, 50]


def later(monkeypatch, question, cost):
    """Yield the later parts of a plan for each of what could be found."""
    plan = question.explain(**cost)
    for cap, ends in FOUND:
        with monkeypatch.context() as patch:
            patch.setattr(Cap, "found", lambda *_, cap=cap: cap)
            patch.setattr(Clamp, "found", lambda *_, ends=ends: ends)
            yield plan, plan.parts([None] * len(plan.first))


def check_promise(monkeypatch, unit, name, cost):
    session = sf.Session(STATIC, unit=unit, schema=SCHEMA, budget=sf.Budget(10**6, "0.1"))
    try:
        question = QUESTIONS[name](session.table())
        plan = question.explain(**cost)
    except (sf.errors.CostError, sf.errors.RangeError):
        return  # refused before anything is read
    for _, parts in later(monkeypatch, question, cost):
        keep_promise(parts, plan.promised, plan.charge_delta)
    charge = accounting.charge(plan.cost, plan.charge_delta)
    if "epsilon" in cost:
        assert charge.epsilon <= units_up(Fraction(cost["epsilon"]))  # rounded up once
        assert charge.delta <= units_up(Fraction(cost.get("delta", 0)))
    else:
        assert charge.rho <= units_up(Fraction(cost["rho"]))


# ---- what is found can be anything ---------------------------------------------------------------

WIDE = sf.Schema(zone=sf.Category(["A", "B", "C"]), income=sf.Integer(), age=sf.Integer(-10, 40))
ODD = {
    "one value, at an end": (lambda t: t.mean(sf.bounds("age")), [(i, -10, 5) for i in range(400)]),
    "squares beyond integers": (
        lambda t: t.variance(sf.bounds("income")),
        [(i, 20, 2**40 + i) for i in range(400)],
    ),
    "cap times range beyond integers": (
        lambda t: t.sum(sf.bounds("income")),
        [(i % 300, 20, 2**52) for i in range(300 * 2**11)],
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_whatever_is_found_does_not_close_the_data(name):
    make, people = ODD[name]
    who, age, income = (pa.array(column, pa.int64()) for column in zip(*people, strict=True))
    table = pa.table({"id": who, "age": age, "income": income, "zone": pa.array(["A"] * len(who))})
    unit = AUTO if "cap" in name else sf.Unit.by("id", max_rows=1)
    session = sf.Session(table, unit=unit, schema=WIDE, budget=sf.Budget(100), name="t")
    with suppress(sf.errors.NothingFound):
        make(session.table()).release(epsilon=50)
    assert not session.ledger.closed


@pytest.mark.parametrize("name", [name for name in QUESTIONS if "bought" not in name])
def test_promise_is_kept_for_a_pure_price(monkeypatch, name):
    for unit in PROMISING:
        for epsilon in GRID:
            check_promise(monkeypatch, unit, name, {"epsilon": epsilon})


@pytest.mark.parametrize("name", [name for name in QUESTIONS if "bought" not in name])
def test_promise_is_kept_for_a_price_in_rho(monkeypatch, name):
    for unit in PROMISING[:2]:
        for rho in ("1/100000", 20):
            check_promise(monkeypatch, unit, name, {"rho": rho})


@pytest.mark.parametrize("name", QUESTIONS)
def test_promise_is_kept_for_usual_prices_with_delta(monkeypatch, name):
    for epsilon in ("1/3", 1):
        check_promise(monkeypatch, PROMISING[0], name, {"epsilon": epsilon, "delta": "1e-9"})


BEYOND = [
    (50, "1e-5", "count"),
    pytest.param("1/10000", "1e-5", "count"),
    pytest.param("1/1000", "1e-3", "bought"),
]


@pytest.mark.parametrize(("epsilon", "delta", "name"), BEYOND)
def test_promise_is_kept_for_unusual_prices_with_delta(monkeypatch, epsilon, delta, name):
    for unit in PROMISING:
        check_promise(monkeypatch, unit, name, {"epsilon": epsilon, "delta": delta})


@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"rho": 1}], ids=str)
@pytest.mark.parametrize("name", ["bought", "bought, rest"])
def test_bought_groups_without_delta_are_refused_before_caps_are_bought(cost, name):
    session = sf.Session(STATIC, unit=AUTO, schema=SCHEMA, budget=sf.Budget(10, "1e-5"), name="t")
    with pytest.raises(sf.errors.CostError):
        QUESTIONS[name](session.table()).explain(**cost)
    assert session.ledger.history() == []


@pytest.mark.deep
@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("unit", PROMISING, ids=repr)
def test_promise_is_kept_over_the_whole_grid(monkeypatch, name, unit):
    for epsilon in ("1/20", "1/3", 10, *GRID):
        for delta in ("1e-9", "1e-5"):
            check_promise(monkeypatch, unit, name, {"epsilon": epsilon, "delta": delta})


def test_promise_that_is_broken_is_an_internal_error():
    session, _ = pair(town(*MANY), town(*MANY), AUTO)
    plan = session.table().count().explain(epsilon=1)
    more = session.table().count().explain(epsilon=2)
    parts = more.second([_answer(part) for part in more.first]).parts
    keep_promise(parts, more.promised, 0)
    with pytest.raises(InternalError):
        keep_promise(parts, plan.promised, 0)


def _answer(part):
    drawn = part.mechanism.exact([1])
    from sfumato.testing.rng import SeededRng

    return part.release(part.mechanism.sample(drawn, SeededRng(1)), None)
