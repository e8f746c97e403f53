# ruff: noqa: S608 - what is written here is asked of made-up tables
"""Without noise an answer is the engine's own answer to the same text, on the same tables.

Riders are not truncated and values lie within bounds, so nothing but the noise, which is taken out,
and the differences named below may stand between the two.
"""

from collections import Counter
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from math import isclose, isnan
from secrets import randbits

import duckdb
import pyarrow as pa
import pytest

from sfumato.core.errors import ExpressionError, KeysError, SensitivityError
from sfumato.mechanisms import DiscreteGaussian, DiscreteLaplace
from sfumato.testing.statements import Writer
from sfumato.testing.town import PUBLIC, Dice, tables, town

EPSILON = 1000
PUSH, SHARD, SHARDS = 150, 400, 10


@pytest.fixture(scope="module")
def exactly():
    """A session that adds no noise, and the engine itself."""
    with pytest.MonkeyPatch.context() as patch, town() as session, duckdb.connect() as engine:
        for mechanism in (DiscreteLaplace, DiscreteGaussian):
            patch.setattr(mechanism, "sample", lambda self, exact, rng: exact)
        for name, table in tables().items():
            engine.register(name, table)
        for name, columns in PUBLIC.items():
            engine.register(name, pa.table(columns))
        yield session, engine


# ---- the differences, each in one place ----------------------------------------------------------


def is_group(key):
    """NULL keys are no group."""
    return all(each is not None for each in key)


def empty(item):
    """Empty groups appear, with 0 for what is counted or summed; of the rest nothing is known."""
    return 0.0 if item.function in ("COUNT", "SUM") else None


def known(item, value):
    """Return what to compare with: a sum of nothing is 0, other numbers of nothing are unknown."""
    if value is None or isnan(float(value)):
        return empty(item)
    return float(value)


def alike(item, value, given, measure, place):
    """Say whether a number is what it should be: exactly, but for the grid of means and spreads."""
    if value is None:
        return True
    if item.function in ("AVG", "RATIO", "VAR_POP", "STDDEV_POP"):
        # Means, ratios, variances and deviations are rounded to a hundredth of their interval.
        grid = float(measure.high[place] - measure.low[place]) / 100
        return abs(given - value) <= grid + 1e-6 * abs(value)
    return isclose(given, value, rel_tol=1e-9, abs_tol=1e-6)


def unknown_quotient(item, answer):
    """Say whether an answer has the parts of a quotient instead: its denominator may be 0."""
    return item.name not in answer and " / COUNT" in item.text


def may_be_missing(written, noted):
    """Groups go in which a denominator may be 0, given its noise: the answer says so."""
    return noted and any(item.function == "RATIO" for item in written.items)


def refused_before_paying(written, problem):
    """Numbers too large to be exact, moved by nobody, or of groups that no list allows."""
    said = ("beyond 2^62", "more than 2^62", "sensitivity is 0")
    listed = "name IN (" in written.where and isinstance(problem, KeysError)
    assert listed or any(each in problem.message for each in said), f"{written}\n{problem}"
    return 0


# ---- the comparison ------------------------------------------------------------------------------


def compare(written, session, engine):
    """Compare an answer with the engine's; return how many numbers were compared."""
    text = str(written)
    try:
        plan = session.explain(text, epsilon=EPSILON)
    except (SensitivityError, ExpressionError, KeysError) as problem:
        return refused_before_paying(written, problem)
    answer = plan.release()
    width = len(written.keys)
    found = {}
    for row in engine.execute(str(written.groups)).fetchall():
        key = tuple(map(plain, row[:width]))
        if is_group(key):
            numbers = zip(written.items, row[width:], strict=True)
            found[key] = [known(item, value) for item, value in numbers]
    full = completed(written, plan, found)
    chosen = {key: row for key, row in full.items() if kept(written, row)}
    keys = [tuple(map(plain, key)) for key in zip(*(v for _, v in answer.keys), strict=True)]
    keys = keys if width else [()]
    measures = [
        None if unknown_quotient(item, answer) else answer.measure(item.name)
        for item in written.items
    ]
    noted = any("left out in which the denominator" in note for note in answer.notes)
    compared = 0
    for place, key in enumerate(keys):
        assert key in full, f"{text}\nhas a group {key} that the engine has not"
        for item, value, measure in zip(written.items, full[key], measures, strict=True):
            if measure is None:
                continue
            given = float(measure.values[place])
            assert alike(item, value, given, measure, place), (
                f"{text}\n{key} {item.name}: {given}, and the engine has {value}"
            )
            compared += value is not None
    assert len(set(keys)) == len(keys), text
    missing = may_be_missing(written, noted)
    if written.limit is None:
        assert set(keys) == set(chosen) or (missing and set(keys) <= set(chosen)), (
            f"{text}\n{Counter(keys) - Counter(chosen)} {Counter(chosen) - Counter(keys)}"
        )
    check_order(written, [full[key] for key in keys], list(chosen.values()), missing, text)
    return compared


def completed(written, plan, found):
    """Return the numbers of every group that a plan has, and of no other."""
    if not written.keys:
        return found
    table = plan.plan.question.keys.table()
    columns = [[plain(each) for each in table[key.name]] for key in written.keys]
    every = list(zip(*columns, strict=True))
    assert set(found) <= set(every), f"{written}\nwould lose {set(found) - set(every)}"
    return {key: found.get(key, [empty(item) for item in written.items]) for key in every}


def kept(written, row):
    """Say whether HAVING keeps a group."""
    if not written.having:
        return True
    condition = written.having.replace(" AND NOT ", " and not ").replace("<>", "!=")
    condition = condition.replace(" = ", " == ")
    names = dict(zip((item.name for item in written.items), row, strict=True))
    return eval(condition, {}, names)  # noqa: S307 - written by this test


def check_order(written, rows, chosen, missing, text):
    """Check that rows are sorted, and the first of all where they are limited."""
    if not written.order:
        return
    ((name, down),) = written.order
    column = [item.name for item in written.items].index(name)
    sorted_by = [row[column] for row in rows]
    assert sorted_by == sorted(sorted_by, reverse=down), text
    if written.limit is not None and not missing:
        wanted = sorted((row[column] for row in chosen), reverse=down)[: written.limit]
        assert sorted_by == wanted, text


def plain(value):
    """Return a key as both sides write it."""
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, date | datetime):
        return value.isoformat()
    if isinstance(value, int | float | Decimal | Fraction):
        return float(value)
    return value


def check(seed, count, exactly):
    writer = Writer(Dice(seed).below)
    return sum(compare(writer.statement(), *exactly) > 0 for _ in range(count))


NOT_THERE = (  # a row that meets nobody has no key of the other table
    "SELECT COUNT(p.zone) FROM trips t LEFT JOIN payments p ON t.rider=p.rider AND t.zone=p.zone",
    "SELECT COUNT(zone) FROM trips LEFT JOIN payments USING (rider, zone)",
    "SELECT COUNT(payments.zone) FROM trips LEFT JOIN payments USING (rider, zone)",
    "SELECT COUNT(zone) FROM trips LEFT JOIN stops USING (zone)",
    "SELECT COUNT(p.rider) FROM trips t LEFT JOIN payments p ON t.rider = p.rider",
    "SELECT COUNT(p.*) FROM trips t LEFT JOIN payments p USING (rider, zone)",
    "SELECT COUNT(z.*) FROM trips LEFT JOIN zones AS z ON zone = z.id",
    "SELECT COUNT(p.rider) FILTER (WHERE t.hour < 9) FROM trips t LEFT JOIN payments p "
    "ON t.rider = p.rider AND t.zone = p.zone",
    "SELECT SUM(n) FROM (SELECT t.rider, COUNT(p.rider) AS n FROM trips t LEFT JOIN payments p "
    "ON t.rider = p.rider GROUP BY t.rider)",
    "SELECT COUNT(z.id) FROM trips LEFT JOIN zones AS z ON zone = z.id",
    "SELECT COUNT(*) FROM trips LEFT JOIN zones AS z ON zone = z.id WHERE z.id IS NULL",
)


@pytest.mark.parametrize("text", NOT_THERE)
def test_key_of_the_other_side_is_missing_where_nobody_was_met(exactly, text):
    session, engine = exactly
    (expected,) = engine.execute(text).fetchone()
    answer = session.sql(text, epsilon=EPSILON)
    (name,) = answer
    assert float(answer.measure(name).values[0]) == float(expected)


WITHOUT_NOISE = [  # what the grammar does not write
    "SELECT VAR_POP(seats_) FROM (SELECT CASE seats WHEN 1 THEN 1 ELSE 3 END AS seats_ FROM trips)",
    "SELECT AVG(m) FROM (SELECT rider, AVG(tip) AS m FROM trips GROUP BY rider)",
    "SELECT SUM(t.fare) FROM trips AS t, payments AS p WHERE t.rider = p.rider AND t.hour < p.hour",
    "SELECT COUNT(*) FROM (SELECT zone FROM trips UNION SELECT zone FROM payments)",
    "SELECT COUNT(*) FROM (SELECT rider, zone FROM trips UNION SELECT rider, zone FROM payments)",
    "SELECT SUM(n) FROM (SELECT rider, zone, COUNT_IF(vip) AS n FROM trips GROUP BY 1, 2)",
    "SELECT COUNT(*) FROM trips WHERE vip IS NOT TRUE AND fare IS DISTINCT FROM tip",
    "SELECT SUM(power(hour, 3) - hour * hour * hour) + COUNT(hour) FROM trips",
    "SELECT COUNT(*) FROM trips WHERE CAST(day AS VARCHAR) LIKE '2026-02-%'",
    "SELECT COUNT(*) FROM trips JOIN stops USING (zone) JOIN zones ON trips.zone = zones.id",
    "SELECT SUM(date_diff('hour', began, TIMESTAMP '2026-04-01')) FROM trips",
    "SELECT COUNT(*) FROM trips WHERE day + INTERVAL 1 MONTH <= DATE '2026-02-28'",
    "SELECT COUNT(*) FROM trips t JOIN (SELECT rider, hour, IF(hour < 9, hour, 0) AS low "
    "FROM payments) p ON t.rider = p.rider AND t.hour = p.low AND t.hour = p.hour",
    "SELECT COUNT(low) FROM trips t LEFT JOIN (SELECT rider, hour, IF(hour < 9, hour, 0) AS low "
    "FROM payments) p ON t.rider = p.rider AND t.hour = p.low AND t.hour = p.hour",
]


@pytest.mark.parametrize("text", WITHOUT_NOISE)
def test_single_numbers_without_noise_are_those_of_the_engine(exactly, text):
    session, engine = exactly
    (expected,) = engine.execute(text).fetchone()
    answer = session.sql(text, epsilon=EPSILON)
    (name,) = answer
    measure = answer.measure(name)
    # A unit's own mean is rounded to the column's step, and a mean of such to its grid.
    slack = 0.5 if "AVG(" in text else 0
    rounded = "AVG(" in text or "VAR_POP(" in text
    grid = float(measure.high[0] - measure.low[0]) / 100 + slack if rounded else 1e-6
    assert abs(float(measure.values[0]) - float(expected)) <= grid


@pytest.mark.parametrize(
    ("function", "rank"),
    [
        ("MEDIAN(fare)", 0.5),
        ("QUANTILE_CONT(fare, 0.9)", 0.9),
        ("PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY fare DESC)", 0.9),
        ("QUANTILE_DISC(fare, 0.25)", 0.25),
        ("MIN(fare)", 0),
        ("MAX(fare)", 1),
    ],
)
@pytest.mark.parametrize("where", ["", " WHERE vip"])
def test_ranks_at_a_high_price_are_those_of_the_engine(exactly, function, rank, where):
    """Quantiles are chosen by rank: at this price, three ranks off have chance e^-1000."""
    session, engine = exactly
    answer = session.sql(f"SELECT {function} AS q FROM trips{where}", epsilon=10**5)
    found = answer.measure("q").values[0]
    below, up_to, count = engine.execute(
        f"SELECT count(*) FILTER (WHERE fare < {float(found)}), "
        f"count(*) FILTER (WHERE fare <= {float(found)}), count(fare) FROM trips{where}"
    ).fetchone()
    assert below - 3 <= rank * count <= up_to + 3


def test_answers_without_noise_are_those_of_the_engine(exactly):
    assert check(1, PUSH, exactly) > 0.8 * PUSH  # the others are refused, or empty


@pytest.mark.deep
@pytest.mark.parametrize("shard", range(SHARDS))
def test_many_answers_without_noise_are_those_of_the_engine(exactly, shard):
    assert check(randbits(60) + shard, SHARD, exactly) > 0.8 * SHARD
