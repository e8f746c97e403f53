"""ROLLUP, CUBE, GROUPING SETS: subtotals that add up, of the same rows, with honest intervals."""

from collections import defaultdict
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.relation import Aggregate, Keys, Truncate
from sfumato.relation.node import scope
from sfumato.session.grouping import BOUGHT, SAME_ROWS, Grouping, groupings
from sfumato.testing import SeededRng

SCHEMA = sf.Schema(
    zone=sf.Category(["A", "B", "C"]),
    hour=sf.Integer(0, 3, nullable=True),
    fare=sf.Real(0, 50, step="0.01"),
    name=sf.Text(),
)
ROLLUP = "GROUP BY ROLLUP (zone, hour)"
CUBE = "GROUP BY CUBE (zone, hour)"
SURE = 10**6  # an ε at which noise is 0, but for a probability below 10^-1000


def rides(rows=3000, riders=400, seed=1):
    rng = np.random.default_rng(seed)
    hours = rng.integers(0, 5, rows)
    return pa.table(
        {
            "rider": rng.integers(0, riders, rows),
            "zone": rng.choice(["A", "B", "C", "D"], rows),  # D is in no group
            "hour": pa.array([None if hour == 4 else hour for hour in hours.tolist()], pa.int64()),
            "fare": np.round(rng.gamma(2, 8, rows), 2),
            "name": rng.choice(["x", "y"], rows),
        }
    )


def opened(data=None, unit=None, seed=3):
    session = sf.Session(
        {"trips": rides() if data is None else data},
        unit=unit or sf.Unit.by("rider", max_rows=20),
        schema={"trips": SCHEMA},
        budget=sf.Budget(epsilon=10**9, delta="0.1"),
    )
    session._rng = SeededRng(seed)
    return session


def ask(text, data=None, unit=None, **cost):
    return opened(data, unit).sql(text, **(cost or {"epsilon": 1}))


def planned(text, unit=None, **cost):
    return opened(rides(10), unit).explain(text, **(cost or {"epsilon": 1}))


def rows_of(answer, name):
    """Return the numbers by group."""
    keys = zip(*(values for _, values in answer.keys), strict=True)
    return dict(zip(keys, answer.measure(name).values, strict=True))


def check_adds_up(answer, name):
    """Add up every cell over every column in which it has a value, as far as it has a total."""
    found = rows_of(answer, name)
    checked = 0
    for column in range(len(next(iter(found)))):
        totals = defaultdict(Fraction)
        for key, number in found.items():
            if key[column] is not None:
                totals[*key[:column], None, *key[column + 1 :]] += number
        for key, number in totals.items():
            if key in found:
                checked += 1
                assert found[key] == number
    assert checked


@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}, {"rho": "0.1"}])
@pytest.mark.parametrize("grouped", [ROLLUP, CUBE, "GROUP BY GROUPING SETS ((zone, hour), ())"])
def test_counts_and_sums_add_up_exactly(grouped, cost):
    answer = ask(
        " ".join(["SELECT zone, hour, COUNT(*) n, SUM(fare) s FROM trips", grouped]), **cost
    )
    if "()" in grouped:
        for name in ("n", "s"):
            found = rows_of(answer, name)
            assert found.pop((None, None)) == sum(found.values())
    else:
        check_adds_up(answer, "n")
        check_adds_up(answer, "s")
    for name in ("n", "s"):
        m = answer.measure(name)
        ends = zip(m.low, m.values, m.high, strict=True)
        assert all(low <= value <= high and low < high for low, value, high in ends)


def test_whole_counts_stay_whole_where_that_is_possible():
    text = "SELECT zone, hour, COUNT(*) n FROM trips "
    assert ask(text + ROLLUP).measure("n").kind == "integer"
    cube = ask(text + CUBE, rho="0.1")
    assert cube.measure("n").kind == "rational"
    assert any("have fractions" in note for note in cube.notes)


def test_sum_is_a_whole_number_of_steps():
    answer = ask(" ".join(["SELECT zone, hour, SUM(fare) s FROM trips", ROLLUP]))
    assert all((100 * value).denominator == 1 for value in answer.measure("s").values)


@pytest.mark.parametrize(
    "unit",
    [
        sf.Unit.row(),
        sf.Unit.rows(3, neighbors="replace"),
        sf.Unit.by("rider", max_rows=2),
        sf.Unit.by("rider", max_groups=2, max_rows_per_group=1),
        sf.Unit.by("rider", max_rows=3, max_rows_per_group=1),
    ],
)
def test_exact_totals_are_of_the_rows_that_are_in_the_cells(unit):
    """Without noise nothing has to be moved: the exact numbers add up themselves."""
    session = opened(unit=unit)
    text = "SELECT zone, hour, COUNT(*) n, SUM(fare) s FROM trips "
    answer = session.sql(text + CUBE, epsilon=SURE)
    finest = session.sql(text + "GROUP BY zone, hour", epsilon=SURE)
    for name in ("n", "s"):
        check_adds_up(answer, name)
        cells, found = rows_of(finest, name), rows_of(answer, name)
        assert found[None, None] == sum(cells.values())
        assert all(found[key] == number for key, number in cells.items())


def test_rows_without_a_group_in_some_column_are_in_no_total():
    data = rides()
    answer = ask(
        " ".join(["SELECT zone, hour, COUNT(*) n FROM trips", ROLLUP]),
        data=data,
        unit=sf.Unit.row(),
        epsilon=SURE,
    )
    kept = [
        zone != "D" and hour is not None
        for zone, hour in zip(*(data[c].to_pylist() for c in ("zone", "hour")), strict=True)
    ]
    assert rows_of(answer, "n")[None, None] == sum(kept) < len(kept)
    assert SAME_ROWS in answer.notes


def test_totals_of_two_margins_agree():
    answer = ask("SELECT zone, hour, COUNT(*) n FROM trips GROUP BY GROUPING SETS ((zone), (hour))")
    found = rows_of(answer, "n")
    by_zone = sum(number for (zone, _), number in found.items() if zone is not None)
    assert by_zone == sum(number for (_, hour), number in found.items() if hour is not None)


def test_mean_is_the_sum_over_the_count():
    text = "SELECT zone, COUNT(fare) n, SUM(fare) s, AVG(fare) m, SUM(fare)/COUNT(fare) r "
    answer = ask(text + "FROM trips GROUP BY ROLLUP (zone)", epsilon=100)
    n, s, m, r = (answer.measure(name) for name in ("n", "s", "m", "r"))
    for i in range(len(answer)):
        for each in (m, r):
            half = max(each.high[i] - each.values[i], each.values[i] - each.low[i])
            assert abs(each.values[i] - s.values[i] / n.values[i]) <= half / 20  # its grid
            assert each.low[i] <= each.values[i] <= each.high[i]


def test_numbers_that_do_not_add_up_are_left_alone():
    text = "SELECT zone, COUNT(*) n, COUNT(DISTINCT rider) riders, MEDIAN(fare) med FROM trips "
    answer = ask(text + "GROUP BY ROLLUP (zone)", epsilon=SURE)
    check_adds_up(answer, "n")
    found = rows_of(answer, "riders")
    assert found.pop((None,)) < sum(found.values())
    assert any("need not fit together over groupings: riders, med" in n for n in answer.notes)


def test_trips_per_rider_is_computed_in_each_grouping():
    text = "SELECT zone, COUNT(*) / COUNT(DISTINCT rider) per FROM trips GROUP BY ROLLUP (zone)"
    answer = ask(text, epsilon=300)
    per = answer.measure("per")
    assert len(answer) == 4
    assert all(1 <= float(value) <= 20 for value in per.values)
    assert per.values[3] == max(per.values)  # a rider has more trips in all than in one zone


def test_groups_with_an_unknown_denominator_are_left_out_and_said():
    few = rides(40, riders=40).slice(0, 12)
    text = "SELECT hour, SUM(fare) / COUNT(*) per FROM trips GROUP BY ROLLUP (hour)"
    answer = ask(text, data=few, epsilon=6, unit=sf.Unit.by("rider", max_rows=2))
    assert 0 < len(answer) < 5
    assert any("left out in which a denominator may be 0" in note for note in answer.notes)
    assert answer.measure("per").covers.endswith("before selection")


def test_column_that_is_not_known_anywhere_is_left_out_after_paying():
    text = "SELECT hour, COUNT(*) n, SUM(fare) / COUNT(*) per FROM trips GROUP BY ROLLUP (hour)"
    answer = ask(text, data=rides(40).slice(0, 4), epsilon="0.1")
    assert "per" not in answer
    assert any("per is not known" in note for note in answer.notes)
    check_adds_up(answer, "n")


def test_having_order_and_limit_come_afterwards():
    text = (
        "SELECT zone, hour, COUNT(*) n FROM trips GROUP BY ROLLUP (zone, hour) "
        "HAVING n > 300 ORDER BY n DESC LIMIT 3"
    )
    answer = ask(text, epsilon=10)
    values = answer.measure("n").values
    assert len(values) == 3
    assert list(values) == sorted(values, reverse=True)
    assert answer.keys[0][1][0] is None


def test_order_of_columns_does_not_matter():
    text = "SELECT zone, hour, COUNT(*) n FROM trips GROUP BY GROUPING SETS "
    answer = ask(text + "((hour, zone), (zone), (zone, hour))", epsilon=SURE)
    n = answer.measure("n").values
    pairs = list(zip(*(values for _, values in answer.keys), strict=True))
    twice = defaultdict(set)
    for key, value in zip(pairs, n, strict=True):
        twice[key].add(value)
    assert all(len(found) == 1 for found in twice.values())
    check_adds_up(answer, "n")


def test_bought_groups_are_left_as_they_are():
    text = "SELECT zone, name, COUNT(*) n FROM trips GROUP BY ROLLUP (zone, name)"
    answer = ask(text, epsilon=100, delta="1e-6")
    assert BOUGHT in answer.notes
    assert not any("adds up exactly" in note for note in answer.notes)


def test_same_question_has_the_same_answer():
    session = opened()
    text = " ".join(["SELECT zone, hour, COUNT(*) n, SUM(fare) s FROM trips", CUBE])
    first, left = session.sql(text, epsilon=1), session.remaining
    assert session.sql(text, epsilon=1).measures == first.measures
    assert session.remaining == left


# ---- plans ---------------------------------------------------------------------------------------


def test_rows_are_truncated_once_for_all_groupings():
    unit = sf.Unit.by("rider", max_groups=2, max_rows_per_group=3)
    plan = planned(
        " ".join(["SELECT zone, hour, COUNT(*) n, SUM(fare) s FROM trips", CUBE]),
        unit=unit,
    )
    queries = [part.query for part in plan.plan.parts]
    assert all(isinstance(query, Aggregate) for query in queries)
    [node] = {query.node for query in queries}
    assert isinstance(node, Truncate)
    assert set(node.keys) == {"zone", "hour"}
    moved = {
        query.keys.columns: query.sensitivity(unit) for query in queries if query.extent == (1, 1)
    }
    assert moved["zone", "hour"].linf == 3
    assert moved["zone",].linf == moved[()].linf == 6  # all that is kept may be in one group


def test_question_that_asks_for_nothing_that_adds_up_is_asked_as_ever():
    plan = planned("SELECT zone, COUNT(DISTINCT rider) n FROM trips GROUP BY ROLLUP (zone)")
    assert not any(isinstance(each.question, Grouping) for each in plan.plans)


def test_explain_says_how_far_numbers_err_once_they_add_up():
    plan = planned(
        " ".join(["SELECT zone, hour, COUNT(*) n FROM trips", ROLLUP]), epsilon=1, delta="1e-6"
    )
    assert "after     make n add up over all groupings; free" in repr(plan)


def test_explain_says_what_the_release_will_say():
    text = "SELECT zone, COUNT(*) n, AVG(fare) a, SUM(fare) s FROM trips GROUP BY ROLLUP (zone)"
    plan, answer = planned(text, epsilon=2), ask(text, epsilon=2)
    keys = dict(answer.keys)["zone"]
    told = plan.to_dict()["questions"]
    for each, listed in zip(plan.plans, told, strict=True):
        place = 0 if each.question.keys.columns else keys.index(None)
        expected = {e.name: e for e in each.expected}
        assert [e["halfwidth"] for e in listed["expected"]] == [
            float(e.halfwidth) for e in each.expected
        ]
        for name in ("n", "s"):
            m = answer.measure(name)
            half = float(m.high[place] - m.low[place]) / 2
            assert half <= float(expected[name].halfwidth) <= 1.1 * half + 1
        mean = answer.measure("a")
        half = float(mean.high[place] - mean.low[place]) / 2
        # As in a group of 1,000, and there is about a thousand in a zone.
        size = answer.measure("n").values[place] / 1000
        assert half * size / 2 <= float(expected["a"].worst)
        assert float(expected["a"].halfwidth) <= 2 * half * size


@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}, {"rho": "0.1"}])
@pytest.mark.parametrize("grouped", [ROLLUP, CUBE, "GROUP BY GROUPING SETS ((zone), (hour))"])
def test_no_interval_is_wider_than_that_of_a_question_for_an_even_share(grouped, cost):
    """Compared with each grouping measured by itself, of the same rows, for an even share."""
    text = " ".join(["SELECT zone, hour, COUNT(*) n, SUM(fare) s FROM trips", grouped])
    answer, plan = ask(text, **cost), planned(text, **cost)
    questions = [each.question for each in plan.plans]
    plans = sf.session.batch.Batch(questions[0].session, questions).explain(**cost).plans
    widths = {}
    for each in plans:
        columns = set(each.question.keys.columns)
        widths |= {(frozenset(columns), e.name): e.halfwidth for e in each.expected}
    names = [name for name, _ in answer.keys]
    keys = list(zip(*(values for _, values in answer.keys), strict=True))
    for name in ("n", "s"):
        m = answer.measure(name)
        for i, key in enumerate(keys):
            columns = frozenset(n for n, v in zip(names, key, strict=True) if v is not None)
            assert m.high[i] - m.low[i] <= 2 * widths[columns, name]


# ---- what is made of a grouping, and what is refused ---------------------------------------------


def test_what_is_made_of_a_grouping_is_asked_of_the_same_rows():
    table = opened(rides(10)).table()
    keys = [Keys.of(scope(table._node), by) for by in (["zone", "hour"], ["zone"], [])]
    outputs = {"fare": sf.sum(sf.bounds("fare"))}
    made = groupings(table._session, table._node, keys, outputs)
    found = [each.settled({}, {"fare": (0, 20)}) for each in made]
    found += [each.asking({"n": sf.count("fare")}) for each in made]
    assert all(isinstance(each, Grouping) for each in found)
    assert {each.kept for each in (*made, *found)} == {made[0].kept}
    assert all(query.node == made[0].kept for each in (*made, *found) for query in each.queries)


def test_groupings_with_too_much_in_common_are_refused_before_they_are_paid_for():
    columns = [f"b{i}" for i in range(9)]
    data = pa.table({"rider": [1], **{name: [True] for name in columns}})
    session = sf.Session(
        {"trips": data},
        unit=sf.Unit.by("rider", max_rows=20),
        schema={"trips": sf.Schema({name: sf.Boolean() for name in columns})},
        budget=sf.Budget(epsilon=10),
    )
    sets = ", ".join(f"({', '.join(c for c in columns if c != left_out)})" for left_out in columns)
    asked = "SELECT COUNT(*) AS n FROM trips GROUP BY "
    with pytest.raises(sf.errors.InputError, match="Ask fewer groupings"):
        session.explain(f"{asked} GROUPING SETS ({sets})", epsilon=1)
    rolled = session.sql(f"{asked} ROLLUP ({', '.join(columns)})", epsilon=1)
    assert len(rolled) == 2**10 - 1
