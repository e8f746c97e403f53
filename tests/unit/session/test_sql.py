"""Questions in SQL: what is computed afterwards never fails, and what fails costs nothing."""

from datetime import date, timedelta
from fractions import Fraction

import pyarrow as pa
import pytest

from sfumato.core.budget import Budget
from sfumato.core.errors import CostError, SfumatoError
from sfumato.core.schema import Category, Date, Integer, Real, Schema, Text
from sfumato.core.unit import Unit
from sfumato.mechanisms import DiscreteGaussian, DiscreteLaplace
from sfumato.session.session import Session

N = range(600)
TRIPS = pa.table(
    {
        "rider": [i % 60 for i in N],
        "zone": ["ABC"[i // 60 % 3] for i in N],
        "hour": [i * 5 % 24 for i in N],
        "fare": [i * 37 % 200 for i in N],
        "tip": [None if i % 5 else i % 7 for i in N],
        "street": [f"street {i % 4}" for i in N],
        "day": [date(2026, 1, 5) + timedelta(days=i % 60) for i in N],
    }
)
SCHEMA = Schema(
    zone=Category(["A", "B", "C"]),
    hour=Integer(0, 23),
    fare=Real(0, 200, step="0.01"),
    tip=Real(0, 10, step=1, nullable=True),
    street=Text(),
    day=Date("2026-01-01", "2026-03-31"),
)


@pytest.fixture
def session():
    """A session that adds no noise: an empty group counts 0 rows exactly."""
    with pytest.MonkeyPatch.context() as patch:
        for mechanism in (DiscreteLaplace, DiscreteGaussian):
            patch.setattr(mechanism, "sample", lambda self, exact, rng: exact)
        with Session(
            TRIPS,
            name="trips",
            unit=Unit.by("rider", max_rows=20),
            schema=SCHEMA,
            budget=Budget(epsilon=10**9, delta="0.1"),
            public={
                "zones": {"id": ["A", "B", "C"], "region": ["north", "north", "south"]},
                "ways": {"start": ["A", "B", "C"], "stop": ["A", "C", "C"]},
            },
        ) as made:
            yield made


def keys(answer, name):
    return list(dict(answer.keys)[name])


@pytest.mark.parametrize(
    ("having", "kept"),
    [
        ("zone > 'A'", ["B", "C"]),
        ("zone < 'C' AND COUNT(*) > 5", ["A", "B"]),
        ("zone <> 'A'", ["B", "C"]),
        ("NOT (zone = 'A')", ["B", "C"]),
        ("zone NOT IN ('A', 'B')", ["C"]),
        ("zone = 'A' OR COUNT(*) > 500", ["A", None]),
        ("zone IS NULL", [None]),
        ("zone IS NOT NULL", ["A", "B", "C"]),
        ("NOT (zone IS NOT NULL AND zone > 'A')", ["A", None]),
    ],
)
def test_condition_on_a_missing_key_is_neither_true_nor_false(session, having, kept):
    text = f"SELECT zone, COUNT(*) AS n FROM trips GROUP BY ROLLUP (zone) HAVING {having}"  # noqa: S608
    assert keys(session.sql(text, epsilon=1000), "zone") == kept


@pytest.mark.parametrize("condition", ["SUM(fare) / COUNT(*) > 5", "COUNT(tip) / COUNT(*) > 0.1"])
def test_group_without_rows_is_dropped_where_a_condition_divides_by_its_count(session, condition):
    answer = session.sql(
        "SELECT street, COUNT(*) AS n FROM trips WHERE street IN ('street 0', 'nowhere') "  # noqa: S608
        f"GROUP BY street HAVING {condition}",
        epsilon=1000,
    )
    assert keys(answer, "street") == ["street 0"]


def test_condition_on_a_quotient_that_is_not_known_keeps_no_group(session):
    text = (
        "SELECT street, COUNT(tip) / COUNT(*) AS r FROM trips WHERE street IN ('a', 'b') "
        "GROUP BY street HAVING r > 0.5"
    )
    answer = session.sql(text, epsilon=1)
    assert keys(answer, "street") == []
    assert "r is not known in any group, so that no condition on it holds" in answer.notes


@pytest.mark.parametrize(
    "number",
    ["AVG(fare) / AVG(fare)", "COUNT(fare) * AVG(fare)", "AVG(fare) + SUM(fare) / COUNT(fare)"],
)
@pytest.mark.parametrize("group", ["zone", "street"])
def test_number_that_is_computed_of_no_group_at_all_fails_no_question(session, number, group):
    """Whether a condition keeps a group depends on noise, and so does which of them are bought."""
    text = f"SELECT {group}, {number} AS x FROM trips GROUP BY {group} HAVING COUNT(*) > 9999"  # noqa: S608
    answer = session.sql(text, epsilon=1000, delta="1e-6")
    assert keys(answer, group) == []
    assert answer["x"].value.tolist() == []


@pytest.mark.parametrize(
    "text",
    [
        "SELECT zone, ROUND(MIN(day), 1) FROM trips GROUP BY zone",
        "SELECT zone, CAST(MIN(day) AS INTEGER) FROM trips GROUP BY zone",
        "SELECT zone, COUNT(*) FROM trips GROUP BY zone HAVING MIN(day) > 5",
        "SELECT zone, COUNT(*) FROM trips GROUP BY zone HAVING zone = 5",
        "SELECT MIN(day) + 1 AS r FROM trips",
        "SELECT SUM(fare) / COUNT(*) AS q FROM trips WITH ERROR 50",
        "SELECT COUNT(*) FROM trips WITH ERROR 50 AT 0%",
        "SELECT COUNT(*) FROM trips LIMIT 0",
    ],
)
def test_what_cannot_be_computed_is_refused_before_paying(session, text):
    cost = {} if " WITH ERROR " in text else {"epsilon": 1}
    before = session.remaining
    with pytest.raises(SfumatoError) as refused:
        session.sql(text, **cost)
    assert session.remaining == before
    assert "^" in refused.value.where


def test_accuracy_is_not_asked_of_what_is_computed(session):
    import sfumato as sf

    with pytest.raises(CostError, match="computed from them"):
        session.explain("SELECT 2 * COUNT(*) AS twice FROM trips", accuracy=sf.within(50))


@pytest.mark.parametrize("other", ["'2026-02-01'", "DATE '2026-02-01'", "?"])
def test_dates_are_compared_as_dates(session, other):
    given = {"parameters": [date(2026, 2, 1)]} if other == "?" else {}
    day = f"SELECT day, COUNT(*) FROM trips GROUP BY day HAVING day < {other}"  # noqa: S608
    assert keys(session.sql(day, epsilon=1, **given), "day")[-1] == "2026-01-31"
    least = f"SELECT zone, MIN(day) AS d FROM trips GROUP BY zone HAVING MIN(day) < {other}"  # noqa: S608
    assert keys(session.sql(least, epsilon=1000, **given), "zone") == ["A", "B", "C"]


@pytest.mark.parametrize(("given", "value"), [(0.5, 1200), (-0.25, -2400), ("3/2", 400)])
def test_parameter_that_is_no_whole_number_divides_as_one(session, given, value):
    given = Fraction(given) if isinstance(given, str) else given
    answer = session.sql("SELECT COUNT(*) / ? AS q FROM trips", parameters=[given], epsilon=1)
    assert answer.measure("q").values == (value,)


def test_text_with_a_nul_behind_it_is_another_text(session):
    text = "SELECT zone, COUNT(*) FROM trips GROUP BY zone HAVING zone = ?"
    assert keys(session.sql(text, parameters=["A\0"], epsilon=1), "zone") == []


def test_missing_keys_come_first_where_that_is_asked(session):
    text = "SELECT zone, COUNT(*) AS n FROM trips GROUP BY ROLLUP (zone) ORDER BY zone"
    assert keys(session.sql(text, epsilon=1), "zone") == ["A", "B", "C", None]
    first = session.sql(f"{text} DESC NULLS FIRST", epsilon=1)
    assert keys(first, "zone") == [None, "C", "B", "A"]


@pytest.mark.parametrize(
    ("rows", "count"),
    [
        ("SELECT zone FROM trips GROUP BY zone, hour", 72),
        ("SELECT hour // 12 AS half FROM trips GROUP BY 1, zone", 6),
        ("SELECT zone || 'x' AS z FROM trips GROUP BY zone", 3),
        ("SELECT DISTINCT zone FROM trips GROUP BY zone, hour", 3),
        ("SELECT DISTINCT COUNT(*) AS n FROM trips GROUP BY rider", 1),
        ("SELECT DISTINCT rider, COUNT(*) AS n FROM trips GROUP BY rider, zone", 120),
    ],
)
def test_groups_in_from_are_those_of_all_that_is_grouped_by(session, rows, count):
    import duckdb

    with duckdb.connect() as engine:
        engine.register("trips", TRIPS)
        assert engine.execute(f"SELECT COUNT(*) FROM ({rows})").fetchone() == (count,)  # noqa: S608
    answer = session.sql(f"SELECT COUNT(*) AS n FROM ({rows})", epsilon=1)  # noqa: S608
    assert answer.measure("n").values == (count,)


def test_column_of_a_public_table_keeps_its_name(session):
    text = "SELECT z.id, COUNT(*) AS n FROM trips t JOIN zones z ON t.zone = z.id GROUP BY z.id"
    assert session.sql(text, epsilon=1).columns[:2] == ("id", "n")


@pytest.mark.parametrize(
    "rows",
    [
        "SELECT rider, COUNT(*) AS fare, fare + 0 AS s FROM trips GROUP BY rider",
        "SELECT rider, MAX(fare) AS fare, fare AS s FROM trips GROUP BY rider",
    ],
)
def test_column_is_not_what_is_made_of_it_under_its_name(session, rows):
    with pytest.raises(SfumatoError, match="'fare' is neither grouped by nor in an aggregate"):
        session.explain(f"SELECT SUM(s) FROM ({rows})", epsilon=1)  # noqa: S608


@pytest.mark.parametrize(
    "having",
    [
        "hour > 5",
        "MAX(hour) > 18",
        "hour > 3 AND MAX(hour) > 15 AND zone = 'A'",
        "MAX(hour) FILTER (WHERE hour < 12) > 6",
    ],
)
@pytest.mark.parametrize("number", ["COUNT(*) AS hour", "COUNT(*) AS zone, COUNT(*) AS hour"])
def test_having_in_from_means_what_the_engine_means(session, number, having):
    import duckdb

    rows = f"SELECT rider, {number}, SUM(fare) AS s FROM trips GROUP BY rider, trips.zone "  # noqa: S608
    text = f"SELECT SUM(s) AS n FROM ({rows} HAVING {having})"  # noqa: S608
    with duckdb.connect() as engine:
        engine.register("trips", TRIPS)
        (expected,) = engine.execute(text).fetchone()
    assert float(session.sql(text, epsilon=1).measure("n").values[0]) == float(expected or 0)


@pytest.mark.parametrize("how", ["", "LEFT"])
@pytest.mark.parametrize(
    "on", ["w.start = t.zone AND w.stop = t.zone", "w.stop = t.zone AND w.start = t.zone"]
)
def test_column_may_have_to_equal_two(session, on, how):
    text = f"SELECT COUNT(w.stop) AS n FROM trips t {how} JOIN ways w ON {on}"  # noqa: S608
    there = sum(zone in "AC" for zone in TRIPS["zone"].to_pylist())
    assert session.sql(text, epsilon=1).measure("n").values == (there,)


def test_columns_of_one_name_are_kept_apart_in_one_join_after_another():
    held = {name: pa.table({"rider": [1, 2, 3], name: [1, 2, 3]}) for name in "abc"}
    with Session(
        held,
        unit={name: Unit.by("rider", max_rows=1) for name in held},
        schema={name: Schema(**{name: Integer(0, 9)}) for name in held},
        budget=Budget(epsilon=1),
    ) as session:
        second, third = (f"(SELECT rider, {name} AS x FROM {name}) {name}" for name in "bc")  # noqa: S608
        assert session.explain(
            f"SELECT COUNT(b.x), COUNT(c.x) FROM a "  # noqa: S608
            f"LEFT JOIN {second} ON a.rider = b.rider AND a.a = b.x "
            f"LEFT JOIN {third} ON a.rider = c.rider AND a.a = c.x",
            epsilon=1,
        )


def test_plan_that_doubles_with_every_name_is_refused_while_it_is_small(session):
    rows = ["a0 AS (SELECT rider, hour FROM trips)"]
    for i in range(1, 13):
        twice = f"SELECT rider, hour FROM a{i - 1} UNION ALL SELECT rider, hour FROM a{i - 1}"  # noqa: S608
        once = f"SELECT rider, MAX(hour) AS hour FROM ({twice}) GROUP BY rider"  # noqa: S608
        rows.append(f"a{i} AS ({twice if i % 6 else once})")
    with pytest.raises(SfumatoError, match="more than 500 steps"):
        session.explain(f"WITH {', '.join(rows)} SELECT COUNT(*) FROM a12", epsilon=1)  # noqa: S608


@pytest.mark.parametrize("count", [25, 26])
def test_tables_of_one_from_are_counted(session, count):
    names = [f"z{i}" for i in range(count - 1)]
    tied = " AND ".join(f"{a}.id = {b}.id" for a, b in zip(names, [*names[1:], "t"], strict=True))
    tied = tied.replace("t.id", "t.zone")
    text = (
        f"SELECT COUNT(*) AS n FROM trips t, {', '.join(f'zones {z}' for z in names)} WHERE {tied}"  # noqa: S608
    )
    if count > 25:
        with pytest.raises(SfumatoError, match="this FROM has 26 tables, and at most 25"):
            session.explain(text, epsilon=1)
    else:
        assert session.sql(text, epsilon=1).measure("n").values == (600,)


def test_unit_is_that_of_one_column():
    other = "(SELECT id, segment FROM customers) c"
    with shop() as session, pytest.raises(SfumatoError, match="equal two columns"):
        session.explain(
            f"SELECT COUNT(*) FROM orders o JOIN {other} "  # noqa: S608
            f"ON o.customer = c.segment AND o.customer = c.id",
            epsilon=1,
        )


SHOP = {
    "customers": pa.table({"id": range(20), "segment": ["new", "old"] * 10}),
    "orders": pa.table(
        {"id": range(80), "customer": [i % 20 for i in range(80)], "total": range(80)}
    ),
    "lines": pa.table({"order": [i % 80 for i in range(160)], "price": [1, 5] * 80}),
}


def shop(cap=4):
    return Session(
        SHOP,
        unit={
            "customers": Unit.by("id", max_rows=1),
            "orders": Unit.by("customer", max_rows=cap),
            "lines": Unit.by("order", max_rows=8),
        },
        links=["orders.customer -> customers.id", "lines.order -> orders.id"],
        schema={
            "customers": Schema(segment=Category(["new", "old"])),
            "orders": Schema(total=Integer(0, 100)),
            "lines": Schema(price=Integer(0, 10)),
        },
        budget=Budget(epsilon=100),
    )


@pytest.mark.parametrize(
    ("columns", "answered"), [("id, total", True), ("*", True), ("total", False)]
)
def test_keys_are_joined_by_where_they_are_selected(columns, answered):
    rows = f"lines l JOIN (SELECT {columns} FROM orders) x ON l.order = x.id"  # noqa: S608
    with shop() as session:
        if answered:
            assert session.explain(f"SELECT COUNT(*) AS n FROM {rows}", epsilon=1)  # noqa: S608
        else:
            with pytest.raises(SfumatoError):
                session.explain(f"SELECT COUNT(*) AS n FROM {rows}", epsilon=1)  # noqa: S608


@pytest.mark.parametrize(
    ("items", "raced"),
    [
        ("COUNT(*) AS n, SUM(total) AS s", ["n", "s"]),
        ("COUNT(*) AS n, COUNT(DISTINCT o.customer) AS units", ["n"]),
        ("COUNT(*) AS n, COUNT(DISTINCT segment) AS segments", []),
        ("COUNT(*) AS n, AVG(total) AS mean", []),
    ],
)
def test_no_race_is_run_beside_a_cap_that_is_bought_anyway(items, raced):
    text = f"SELECT {items} FROM orders o JOIN customers c ON o.customer = c.id"  # noqa: S608
    with shop(cap="auto") as session:
        question = session.explain(text, epsilon=1, delta="1e-6").plan.question
    assert [w.name for w in question.wanted if w.is_race] == raced
