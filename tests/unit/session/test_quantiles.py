"""Quantiles through a session: values, dates and intervals, in groups and in none."""

from fractions import Fraction

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.errors import ExpressionError, InputError, SfumatoError

PEOPLE = 600
SURE = {"epsilon": 200}  # at this price a search is off by a rank or two, and never by thirty
SCHEMA = sf.Schema(
    zone=sf.Category(["north", "south", "east"]),
    age=sf.Integer(0, 99),
    fare=sf.Real(-5, 50, step="0.25", nullable=True),
    day=sf.Date("2026-01-01", "2026-12-31"),
    at=sf.Timestamp("2026-01-01T00:00", "2026-01-02T00:00", step=60),
    member=sf.Boolean(),
    name=sf.Text(),
)


def rows(size=PEOPLE, **columns):
    """People of every age in the north and of middle age in the south; nobody in the east."""
    made = {
        "zone": ["north" if i % 2 else "south" for i in range(size)],
        "age": [i % 100 if i % 2 else 40 for i in range(size)],
        "fare": [(i % 100) / 4 for i in range(size)],
        "day": [f"2026-03-{1 + i % 9:02}" for i in range(size)],
        "at": [f"2026-01-01T{i % 24:02}:00:00" for i in range(size)],
        "member": [i % 4 == 0 for i in range(size)],
        "name": ["x"] * size,
    }
    return pa.table({**made, **columns})


@pytest.fixture(scope="module")
def table():
    budget = sf.Budget(10**6, "1e-3")
    with sf.Session(rows(), unit=sf.Unit.row(), schema=SCHEMA, budget=budget) as session:
        yield session.table()


def opened(data, **options):
    unit = options.pop("unit", sf.Unit.row())
    schema = options.pop("schema", SCHEMA)
    return sf.Session(data, unit=unit, schema=schema, budget=sf.Budget(10**6, "1e-3"), **options)


def values(answer, name):
    return answer.to_arrow()[name].to_pylist()


def test_quantiles_are_near_the_true_ones(table):
    answer = table.quantile("fare", [0.1, 0.5, 0.9]).release(**SURE)
    assert answer.columns[::2] == ("fare_p10", "fare_p50", "fare_p90")
    found = [values(answer, f"fare_p{p}")[0] for p in (10, 50, 90)]
    assert found == sorted(found)
    assert all(abs(x - p / 4) <= 5 for x, p in zip(found, (10, 50, 90), strict=True))


def test_each_group_has_its_own_and_one_without_rows_has_one_too(table):
    answer = table.group_by("zone").median("age").release(**SURE)
    north, south, east = values(answer, "age")
    assert (abs(north - 50) <= 9, south) == (True, 40)
    assert 0 <= east <= 99  # nobody is there, and nobody can tell
    assert len(set(values(answer, "age_rank_error"))) == 1


def test_interval_in_values_is_bought_on_request(table):
    answer = table.group_by("zone").median("age", interval=True).release(**SURE)
    assert answer.columns == ("zone", "age", "age_low", "age_high")
    ends = (values(answer, f"age{x}") for x in ("_low", "", "_high"))
    assert all(low <= middle <= high for low, middle, high in zip(*ends, strict=True))
    assert values(answer, "age_low")[1] == values(answer, "age_high")[1] == 40


def test_several_intervals_are_each_in_order(table):
    answer = table.quantile("fare", [0.25, 0.75], interval=True).release(**SURE)
    for p in (25, 75):
        low, middle, high = (values(answer, f"fare_p{p}{x}")[0] for x in ("_low", "", "_high"))
        assert low <= middle <= high


def test_least_and_largest_stay_inside_of_the_values(table):
    answer = table.agg(a=sf.min("fare"), b=sf.max("fare"), n=sf.count()).release(**SURE)
    assert 0 <= values(answer, "a")[0] <= 5
    assert 20 <= values(answer, "b")[0] <= 25


def test_days_and_times_come_as_text(table):
    answer = table.agg(d=sf.median("day"), t=sf.quantile("at", 0.5)).release(**SURE)
    assert "2026-03-04" <= values(answer, "d")[0] <= "2026-03-06"
    assert "2026-01-01T10" <= values(answer, "t")[0] <= "2026-01-01T13"


def test_truths_are_ordered_as_numbers(table):
    assert values(table.median("member").release(**SURE), "member") == [0]


def test_same_output_under_two_names_is_sought_once(table):
    plan = table.agg(a=sf.median("age"), b=sf.median("age")).explain(epsilon=1)
    assert len(plan.parts) == 1
    answer = plan.release()
    assert values(answer, "a") == values(answer, "b")


@pytest.mark.parametrize("size", [0, 1, 2])
@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"rho": "0.1"}], ids=str)
def test_tables_of_hardly_any_rows_have_answers(size, cost):
    table = opened(rows(size)).table()
    for ask in (table, table.group_by("zone")):
        answer = ask.agg(
            q=sf.quantile("fare", [0.2, 0.8], interval=True), a=sf.min("age"), b=sf.max("day")
        ).release(**cost)
        assert all(-5 <= x <= 50 for x in values(answer, "q_p20"))


BAD = [float("nan"), float("inf"), float("-inf"), None, 1e300, -1e300]


@pytest.mark.parametrize("bad", BAD, ids=str)
def test_what_is_no_number_does_not_count_and_the_rest_is_clamped(bad):
    fares = pa.array([7.0] * 300 + [bad] * 300, pa.float64())
    answer = opened(rows(600, fare=fares)).table().quantile("fare", 0.25).release(**SURE)
    clamped = {float("inf"): 7, 1e300: 7, float("-inf"): -5, -1e300: -5}
    is_nan = bad != bad  # noqa: PLR0124
    assert values(answer, "fare") == [7 if is_nan else clamped.get(bad, 7)]


def test_constant_is_found_where_there_are_rows(table):
    assert values(table.with_columns(c="5").median("c").release(**SURE), "c") == [5]


def test_constant_is_itself_where_there_are_no_rows(table):
    nobody = table.filter("age > 99").with_columns(c="5")
    found = {values(nobody.median("c").release(epsilon=e), "c")[0] for e in range(1, 31)}
    assert found == {5}  # the other comes with a probability of 1/2, each time


REFUSED = [
    (lambda t: t.median("name"), ExpressionError),
    (lambda t: t.median("zone"), ExpressionError),
    (lambda t: t.median("day", interval=True), ExpressionError),
    (lambda t: t.quantile("age", 0), SfumatoError),
    (lambda t: t.quantile("age", 1), SfumatoError),
    (lambda t: t.quantile("age", []), InputError),
    (lambda t: t.quantile("age", float("nan")), SfumatoError),
    (lambda t: t.quantile("age", "half"), SfumatoError),
    (lambda t: t.quantile("age", [0.5, None]), SfumatoError),
    (lambda t: t.quantile("age", 0.5, interval=1), InputError),
    (lambda t: t.median("nobody"), SfumatoError),
    (lambda t: t.median("age").explain(epsilon=0), SfumatoError),
    (lambda t: t.median("age").explain(epsilon=1, confidence=1), SfumatoError),
    (lambda t: t.quantile("age", "0.1234567").explain(epsilon=1), SfumatoError),
    (lambda t: t.group_by("zone", keys=sf.bought(other=True)).median("age"), SfumatoError),
    (lambda t: t.median("age").explain(accuracy=sf.within(3)), SfumatoError),
]


@pytest.mark.parametrize(("ask", "error"), REFUSED, ids=range(len(REFUSED)))
def test_refusal_reads_and_spends_nothing(table, ask, error):
    before = table.remaining, len(table._session.ledger.history())
    with pytest.raises(error):
        ask(table)
    assert (table.remaining, len(table._session.ledger.history())) == before


def test_explain_reads_and_spends_nothing(table):
    before = len(table._session.ledger.history())
    plan = table.group_by("zone").quantile("age", [0.1, 0.9]).explain(epsilon=1)
    [one, two] = plan.expected
    assert one.ranks
    assert one.halfwidth > 0 < two.halfwidth
    assert "ranks" in repr(plan)
    assert len(table._session.ledger.history()) == before


def test_same_question_is_answered_from_the_ledger(table):
    ask = table.group_by("zone").median("fare", interval=True)
    first, left = ask.release(epsilon="0.37"), table.remaining
    assert ask.release(epsilon="0.37").to_arrow().equals(first.to_arrow())
    assert table.remaining == left
    ask.release(epsilon="0.38")
    assert table.remaining != left


def test_price_is_what_was_set(table):
    for cost in ({"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}):
        plan = table.group_by("zone").agg(q=sf.quantile("age", [0.1, 0.5]), n=sf.count())
        charge = sf.accounting.charge(plan.explain(**cost).cost, cost.get("delta", 0))
        assert charge.epsilon <= 10**18
        assert charge.delta <= 10**12


def test_columns_may_be_called_as_the_statement_calls_its_own():
    """A name that the lowering uses too must not close the data."""
    for name in ("v", "cell", "c0", "k0", "found", "chosen", "b0", "Cell"):
        schema = sf.Schema({name: sf.Integer(0, 9), "g": sf.Text()})
        data = pa.table({name: [3] * 300, "g": ["x"] * 300})
        session = opened(data, schema=schema)
        listed = session.table().group_by("g", keys=["x"]).median(name).release(**SURE)
        bought = session.table().group_by("g", keys=sf.bought()).median(name)
        answer = bought.release(epsilon=200, delta="1e-4")
        assert values(listed, name) == values(answer, name) == [3]


def test_parts_of_a_partition_cost_as_the_worst_of_them():
    session = opened(rows())
    parts = session.table().partition("zone")
    had = session.remaining.epsilon
    for part in parts.values():
        part.median("age").release(epsilon=1)
    assert had - session.remaining.epsilon == 1


def test_envelope_pays_for_quantiles(table):
    with table.scope(sf.Budget(epsilon=1)) as inside:
        inside.agg(q=sf.median("age", interval=True), e=sf.max("age")).release(epsilon=1)
        with pytest.raises(sf.errors.BudgetExceeded):
            inside.min("fare").release(epsilon="0.1")


def test_unit_that_replaces_counts_on_both_sides():
    single = sf.Unit.row("replace")
    one = opened(rows(), unit=single, rows=PEOPLE).table().median("age").explain(epsilon=1)
    two = opened(rows()).table().median("age").explain(epsilon=1)
    assert one.parts[0].sensitivity.l1 == 2 * two.parts[0].sensitivity.l1
    assert one.parts[0].mechanism.rate * 2 == two.parts[0].mechanism.rate


def test_rank_error_holds_as_often_as_it_says():
    """Sixty searches of known ranks: fewer than 40 within would come once in 10^9 at 95 %."""
    table = opened(rows(1000, age=pa.array([i // 10 for i in range(1000)]))).table()
    within = 0
    for i in range(60):
        answer = table.median("age").release(epsilon=Fraction(100 + i, 1000))
        [found], [error] = values(answer, "age"), values(answer, "age_rank_error")
        low, high = 10 * found, 10 * found + 10  # ranks of the rows of that age
        within += low - error <= 500 <= high + error
    assert within >= 40
