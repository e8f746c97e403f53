"""Questions: what they answer, what they share, what they refuse, what they say beforehand."""

from fractions import Fraction

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.errors import (
    CostError,
    ExpressionError,
    InputError,
    InternalError,
    KeysError,
    QueryError,
    SensitivityError,
    UnitError,
    UnknownName,
)
from sfumato.relation import Known, Rows, Total

EXACTLY = 10**4  # ε at which noise of this size is 0, but for a chance of e^-20 or so


def values(release, name):
    return list(release.measure(name).values)


def test_count_answers_every_public_group(town):
    answer = town().table().group_by("zone").count().release(epsilon=EXACTLY)
    assert answer.to_pandas()["zone"].tolist() == ["north", "south", "east"]
    assert values(answer, "n") == [4, 2, 2]  # 'west' is not declared, so it is in no group


def test_count_of_everything_counts_rows_with_missing_values(town):
    answer = town().table().agg(n=sf.count(), known=sf.count("fare")).release(epsilon=EXACTLY)
    assert (values(answer, "n"), values(answer, "known")) == ([9], [7])


def test_count_by_a_column_that_is_called_so_has_another_name():
    schema = sf.Schema(n=sf.Integer(0, 4), n_low=sf.Category(["A", "B"]))
    data = pa.table({"n": [1, 1, 1, 2], "n_low": ["A", "B", "B", "B"]})
    table = sf.Session(data, unit=sf.Unit.row(), schema=schema, budget=sf.Budget(10**6)).table()
    top = table.top("n", 1, keys=[1, 2]).release(epsilon=EXACTLY)
    assert (top.keys, values(top, "n_")) == ((("n", (1,)),), [3])
    assert values(table.top("n_low", 2).release(epsilon=EXACTLY), "n_") == [3, 1]
    assert values(table.histogram("n", [0, 2, 4]).release(epsilon=EXACTLY), "n_") == [3, 1]
    with pytest.raises(InputError, match="agg"):
        table.group_by("n_low").count()


def test_mean_times_the_count_of_its_values_is_its_sum(town):
    asked = {"m": sf.mean("fare"), "n": sf.count(), "known": sf.count("fare"), "s": sf.sum("fare")}
    answer = town().table().group_by("zone").agg(**asked).release(epsilon=1)
    assert (answer["m"] * answer["known"] - answer["s"]).high.tolist() == [0, 0, 0]
    with pytest.raises(InputError, match=r"n=sf.count\('fare'\) of the same answer"):
        answer["m"] * answer["n"]


def test_refusals_name_what_was_called(town):
    schema = sf.Schema(
        income=sf.Real(step="0.1"), name=sf.Text(), day=sf.Date("2026-01-01", "2026-12-31")
    )
    data = {"income": [1.5], "name": ["Ana"], "day": ["2026-01-05"]}
    table = town(pa.table(data), schema=schema).table()
    with pytest.raises(SensitivityError, match=r"^median\('income'\).*median\(sf.bounds"):
        table.median("income")
    with pytest.raises(SensitivityError, match=r"^quantile\('income'\)"):
        table.quantile("income", 0.9)
    with pytest.raises(ExpressionError, match=r"'name' is a text. Count it, or group by it."):
        table.mean(sf.bounds("name"))
    with pytest.raises(ExpressionError, match=r"Leave out sf\.bounds: its ends are known"):
        table.median(sf.bounds("day"))
    with pytest.raises(ExpressionError, match=r"sf\.bounds around a whole expression"):
        table.mean("bounds(income) + 1")


def test_groups_by_numbers_with_fractions_are_said_to_be_small(town):
    schema = sf.Schema(income=sf.Real(0, 9, "0.1"), age=sf.Integer(0, 9))
    data = pa.table({"income": [1.5], "age": [3]})
    table = town(data, schema=schema, delta="1e-4").table()

    def said(column, keys):
        plan = table.group_by(column, keys=keys).count().explain(epsilon=1, delta="1e-6")
        return [note for note in plan.notes if "number with a fraction" in note]

    (note,) = said("income", sf.bought())
    assert "floor(income, 10)" in note
    assert said("age", sf.bought()) == said("income", [1, 2]) == []


def test_sum_clamps_and_leaves_out_what_is_missing(town):
    table = town(epsilon=10**7).table()
    assert values(table.sum("age").release(epsilon=10**5), "age") == [30 * 3 + 41 * 2 + 99 + 0 + 80]
    cents = 125 + 250 + 1000 + 5000 + 700 + 300 + 400  # inf counts as 50, NaN is missing
    assert values(table.sum("fare").release(epsilon=10**6), "fare") == [Fraction(cents, 100)]


def test_mean_is_over_the_rows_in_which_the_value_is_known(town):
    answer = town().table().mean("fare").release(epsilon=10**5)
    (mean,) = values(answer, "fare")
    assert abs(mean - Fraction(7775, 700)) < Fraction(1, 50)


def test_mean_of_a_truth_is_a_share(town):
    answer = town().table().mean("member").release(epsilon=10**5)
    (share,) = values(answer, "member")
    assert abs(share - Fraction(5, 8)) < Fraction(1, 100)


def test_filter_keeps_what_is_true_and_not_what_is_missing(town):
    table = town().table()
    assert values(table.filter("member").count().release(epsilon=EXACTLY), "n") == [5]
    assert values(table.filter("not member").count().release(epsilon=EXACTLY), "n") == [3]
    both = table.filter("age >= 41", "zone <> 'south'").count()
    assert values(both.release(epsilon=EXACTLY), "n") == [2]  # 250 counts as 99; 'west' is missing


def test_computed_columns_can_be_grouped_and_summed(town):
    table = town(epsilon=10**7).table().with_columns(decade="floor(age, 10)", double="fare * 2")
    answer = table.group_by("decade", keys=[30, 40, 90]).count().release(epsilon=EXACTLY)
    assert values(answer, "n") == [3, 2, 1]
    assert values(table.sum("double").release(epsilon=10**6), "double") == [Fraction(15550, 100)]


def test_groups_by_several_columns_are_every_combination(town):
    asked = town().table().group_by("zone", "member").count()
    answer = asked.release(epsilon=EXACTLY).to_pandas()
    assert answer["zone"].tolist() == ["north"] * 2 + ["south"] * 2 + ["east"] * 2
    assert answer["member"].tolist() == [False, True] * 3
    assert answer["n"].tolist() == [0, 4, 2, 0, 0, 1]


def test_groups_can_be_listed(town):
    table = town().table()
    listed = table.group_by("zone", keys=["east", "north"]).count().release(epsilon=EXACTLY)
    assert (listed.to_pandas()["zone"].tolist(), values(listed, "n")) == (["east", "north"], [2, 4])
    named = table.group_by("name", keys=["Ana", "Zoe", "Ünal"]).count().release(epsilon=EXACTLY)
    assert values(named, "n") == [3, 0, 0]
    days = table.group_by("day", keys=["2026-07-01", "2026-01-01"]).count()
    assert values(days.release(epsilon=EXACTLY), "n") == [3, 1]  # 2025 counts as the first day
    both = table.group_by("zone", "age", keys={"age": [30, 41]}).count()
    assert values(both.release(epsilon=EXACTLY), "n") == [2, 0, 1, 1, 0, 1]


def test_rows_of_a_unit_beyond_its_cap_do_not_count(town):
    answer = town(unit=sf.Unit.by("rider", max_rows=2)).table().count().release(epsilon=EXACTLY)
    assert values(answer, "n") == [7]  # three rows of rider 1 are two, no rider is no row
    spread = sf.Unit.by("rider", max_groups=1, max_rows_per_group=1)
    answer = town(unit=spread).table().group_by("zone").count().release(epsilon=EXACTLY)
    assert sum(values(answer, "n")) == 4


def test_caps_on_groups_hold_where_there_are_none(town):
    spread = sf.Unit.by("rider", max_groups=3, max_rows_per_group=1)
    plan = town(unit=spread).table().count().explain(epsilon=EXACTLY)
    assert plan.notes[0].startswith("at most 1 row of one rider counts; ")
    assert plan.parts[0].sensitivity.l1 == 1
    assert values(plan.release(), "n") == [5]


def test_outputs_share_noisy_parts(town):
    table = town().table().group_by("zone")
    asked = table.agg(a=sf.mean("fare"), b=sf.sum("fare"), c=sf.count("fare"), n=sf.count())
    quantities = [type(q.quantity) for q in asked.queries]
    assert sorted(q.__name__ for q in quantities) == ["Known", "Rows", "Total"]
    alone = table.sum("fare")
    assert [q.quantity.center for q in alone.queries] == [0]
    beside = table.agg(total=sf.sum("fare"), n=sf.count("fare"))
    assert [q.quantity.center for q in beside.queries if isinstance(q.quantity, Total)] == [2500]
    never = table.agg(m=sf.mean("fare"), n=sf.count())  # rows are not the rows of the mean
    assert {type(q.quantity) for q in never.queries} == {Rows, Known, Total}


def test_shared_sum_is_the_sum(town):
    asked = town().table().agg(total=sf.sum("fare"), mean=sf.mean("fare"))
    answer = asked.release(epsilon=10**5)
    assert abs(values(answer, "total")[0] - Fraction(7775, 100)) < Fraction(1, 100)


def test_price_is_what_was_asked(town):
    table = town(epsilon=10).table()
    plan = table.group_by("zone").agg(n=sf.count(), m=sf.mean("fare")).explain(epsilon="0.3")
    assert plan.price.epsilon == Fraction(3, 10)
    answer = plan.release()
    assert answer.price.epsilon == Fraction(3, 10)
    assert table.remaining.epsilon == Fraction(97, 10)


def test_price_in_rho_and_with_delta(town):
    session = town(budget=sf.Budget(4, "1e-6"))
    table = session.table().group_by("zone")
    by_rho = table.count().explain(rho="0.01")
    assert by_rho.price.rho <= Fraction(1, 100)
    with_delta = table.agg(n=sf.count(), m=sf.mean("age")).explain(epsilon=1, delta="1e-7")
    assert with_delta.price.epsilon <= 1
    with_delta.release()
    assert session.remaining.epsilon >= 3


def test_gaussian_noise_is_chosen_where_it_is_smaller(town):
    many = sf.Unit.by("rider", max_groups=90, max_rows_per_group=1)
    table = town(unit=many, budget=sf.Budget(4, "1e-6")).table()
    pure = table.group_by("age").count().explain(epsilon=1)
    assert "Laplace" in pure.expected[0].mechanism
    approximate = table.group_by("age").count().explain(epsilon=1, delta="1e-7")
    assert "Gaussian" in approximate.expected[0].mechanism
    assert approximate.expected[0].halfwidth < pure.expected[0].halfwidth / 2
    charge = approximate.release().price
    assert (charge.delta, charge.epsilon <= 1) == (Fraction(1, 10**7), True)


def test_gaussian_release_leaves_the_view_in_epsilon_open(town):
    many = sf.Unit.by("rider", max_groups=90, max_rows_per_group=1)
    session = town(unit=many, budget=sf.Budget(4, "1e-6"))
    session.table().group_by("age").count().release(epsilon=1, delta="1e-7")
    assert session.remaining.epsilon is not None


def test_expected_error_is_the_error_of_the_answer(town):
    plan = (
        town(epsilon=10)
        .table()
        .group_by("zone")
        .agg(n=sf.count(), s=sf.sum("fare"))
        .explain(epsilon=1)
    )
    answer = plan.release()
    for expected in plan.expected:
        estimate = answer[expected.name]
        assert float(max(estimate.high - estimate.value)) == pytest.approx(
            float(expected.halfwidth)
        )
    assert [e.per for e in plan.expected] == [None, None]


def test_error_of_a_mean_is_given_for_a_group_of_a_thousand(town):
    (expected,) = town(epsilon=10).table().mean("fare").explain(epsilon=1).expected
    assert expected.per == 1000
    assert expected.halfwidth <= expected.worst
    assert "1,000" in str(expected)


def test_count_that_no_unit_can_change_is_the_declared_one(town):
    same = sf.Unit.row(neighbors="replace")
    session = town(unit=same, rows=12345)
    answer = session.table().agg(n=sf.count(), age=sf.sum("age")).release(epsilon=1)
    assert values(answer, "n") == [12345]
    assert session.table().count().release(epsilon=1).receipt is None  # nothing was read or paid
    assert session.remaining.epsilon == 10**6 - 1
    with pytest.raises(KeysError, match="rows="):
        town(unit=same).table().count().explain(epsilon=1)
    filtered = town(unit=same, rows=9).table().filter("age > 50").count().explain(epsilon=1)
    assert filtered.parts


def test_explain_reads_nothing(town):
    session = town()

    class Blind:
        dialect = "duckdb"

        def run(self, *_):
            raise AssertionError("data was read")

    session._backend = Blind()
    table = session.table().filter("age > 3").with_columns(x="fare * 2")
    for question in (table.count(), table.group_by("zone").agg(a=sf.mean("x"), b=sf.sum("age"))):
        plan = question.explain(epsilon=1)
        assert repr(plan)
        assert plan.to_dict()
        assert repr(question)
    assert session.ledger.history() == []
    assert repr(table)


def test_plan_shows_cost_error_reasons_and_sql(town):
    table = town(unit=sf.Unit.by("rider", max_rows=2), epsilon=4).table().filter("age < 50")
    text = repr(table.group_by("zone").mean("fare").explain(epsilon=1))
    for piece in (
        "ε = 1",
        "of ε = 4 left",
        "in a group of 1,000",
        "at most 2 rows of one rider count",
        "fare below 0 counts as 0, above 50 as 50",
        "filter age < 50",
        "l0=2, l1=2",
        "GROUP BY",
        "$key",
    ):
        assert piece in text, piece


def test_release_carries_notes_unit_and_receipt(town):
    answer = town(unit=sf.Unit.by("rider", max_rows=2)).table().sum("age").release(epsilon=1)
    assert answer.unit == sf.Unit.by("rider", max_rows=2)
    assert any(note.startswith("at most 2 rows of one rider count; ") for note in answer.notes)
    assert answer.receipt
    assert not answer.durable
    assert sf.Release.from_json(answer.to_json()) == answer


def test_confidence_widens_intervals_of_the_same_answer(town):
    asked = town().table().count()
    wide, narrow = (asked.release(epsilon=1, confidence=c) for c in ("0.99", "0.5"))
    assert wide["n"].value == narrow["n"].value  # one charge, one answer
    assert wide["n"].low < narrow["n"].low


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (lambda t: t.filter("ages > 3"), UnknownName, "Did you mean 'age'"),
        (lambda t: t.filter("age"), ExpressionError, "condition"),
        (lambda t: t.filter(), ExpressionError, "condition"),
        (lambda t: t.filter("rider = 1"), UnitError, "names the unit"),
        (lambda t: t.select("rider"), UnitError, "names the unit"),
        (lambda t: t.with_columns(rider="age"), UnitError, "names the unit"),
        (lambda t: t.with_columns(sfumato_unit="age"), UnitError, "names the unit"),
        (lambda t: t.with_columns(), ExpressionError, "with_columns"),
        (lambda t: t.with_columns(x="NULL"), ExpressionError, "always NULL"),
        (lambda t: t.select(), ExpressionError, "column"),
        (lambda t: t.select("age", "age"), ExpressionError, "'age'"),
        (lambda t: t.group_by(), QueryError, "group_by"),
        (lambda t: t.group_by("zone", "zone"), KeysError, "twice"),
        (lambda t: t.group_by("name"), KeysError, "keys="),
        (lambda t: t.group_by("zone", keys=["west"]), KeysError, "'west'"),
        (lambda t: t.group_by("zone", keys=["east", "east"]), KeysError, "once"),
        (lambda t: t.group_by("zone", keys=[]), KeysError, "at least one"),
        (lambda t: t.group_by("zone", keys="east"), KeysError, "list"),
        (lambda t: t.group_by("zone", "age", keys=["east"]), KeysError, "mapping"),
        (lambda t: t.group_by("zone", keys={"age": [1]}), KeysError, "'age'"),
        (lambda t: t.group_by("age", "fare", "day").count(), KeysError, "groups"),
        (lambda t: t.sum("zone"), ExpressionError, "number"),
        (lambda t: t.mean("name"), ExpressionError, "number"),
        (lambda t: t.sum(""), ExpressionError, "column"),
        (lambda t: t.sum(3), ExpressionError, "text"),
        (lambda t: t.agg(), InputError, "agg"),
        (lambda t: t.agg(n="count"), ExpressionError, "sf.count()"),
        (lambda t: t.group_by("zone").agg(zone=sf.count()), InputError, "'zone'"),
        (lambda t: t.agg(n=sf.count(), n_low=sf.sum("age")), InputError, "'n_low'"),
        (lambda t: t.count().explain(), CostError, "epsilon="),
        (lambda t: t.count().release(0.5), CostError, "epsilon="),
        (lambda t: t.count("rider"), UnitError, "names the unit"),
        (lambda t: t.group_by("rider"), UnitError, "names the unit"),
        (lambda t: t.group_by("floor(age, 10)"), QueryError, "with_columns"),
        (lambda t: t.group_by(3), QueryError, "names of columns"),
        (lambda t: t.agg("n"), ExpressionError, "sf.count()"),
        (lambda t: t.agg(sf.count(), n=sf.count()), InputError, "'n'"),
        (lambda t: t.filter('zone = "north"'), UnknownName, "single quotes"),
        (lambda t: t.count().explain(epsilon=1, rho=1), CostError, "epsilon="),
        (lambda t: t.count().release(epsilon=0), InputError, "epsilon"),
        (lambda t: t.count().release(epsilon=-1), InputError, "epsilon"),
        (lambda t: t.count().release(epsilon=float("nan")), InputError, "epsilon"),
        (lambda t: t.count().release(epsilon=float("inf")), InputError, "epsilon"),
        (lambda t: t.count().release(epsilon=1, confidence=2), InputError, "confidence"),
        (
            lambda t: t.sum("fare * fare * fare * fare * fare * fare * fare * fare"),
            ExpressionError,
            "2^62",
        ),
    ],
)
def test_refusal_names_what_and_how_and_costs_nothing(town, ask, error, words):
    session = town(unit=sf.Unit.by("rider", max_rows=2))
    with pytest.raises(error) as caught:
        ask(session.table())
    assert words in str(caught.value)
    assert session.ledger.history() == []


def test_bought_caps_are_refused_where_they_cannot_be_bought(town):
    with pytest.raises(UnitError, match="max_rows="):
        town(unit=sf.Unit.by("rider", max_rows="auto")).table().distinct()


@pytest.mark.parametrize("rows", [0, 1])
def test_tiny_tables_answer_like_others(town, rows):
    schema = pa.schema([("zone", pa.string()), ("age", pa.int64()), ("fare", pa.float64())])
    data = pa.Table.from_pylist([{"zone": "east", "age": 4, "fare": 1.5}][:rows], schema)
    declared = sf.Schema(
        zone=sf.Category(["north", "east"]), age=sf.Integer(0, 99), fare=sf.Real(0, 50, "0.01")
    )
    session = town(data, schema=declared)
    answer = session.table().group_by("zone").agg(n=sf.count(), m=sf.mean("fare"), s=sf.sum("age"))
    released = answer.release(epsilon=10**5)
    assert values(released, "n") == [0, rows]
    assert values(released, "s") == [0, 4 * rows]
    low, high = released["m"].low, released["m"].high
    assert (low >= 0).all()
    assert (high <= 50).all()


@pytest.mark.parametrize("high", [2**40, 2**61, 2**62])
def test_groups_beyond_all_measure_are_refused(town, high):
    schema = sf.Schema(age=sf.Integer(-high, high), name=sf.Text())
    table = town(schema=schema).table()
    with pytest.raises(KeysError, match="groups"):
        table.group_by("age")
    answer = table.group_by("age", keys=[30, high]).count().release(epsilon=EXACTLY)
    assert values(answer, "n") == [3, 0]


def test_habits_of_other_libraries_work(town):
    table = town().table()
    by_list = table.group_by(["zone", "member"]).agg(sf.count(), sf.sum("age"))
    assert by_list.release(epsilon=10**5).columns[:3] == ("zone", "member", "n")
    same = table.with_columns(self="age + 1").agg(self=sf.sum("self"))
    assert values(same.release(epsilon=10**5), "self") == [30 * 3 + 41 * 2 + 99 + 80 + 9]


def test_odd_names_are_names(town):
    data = pa.table({'a "b"; DROP TABLE x': [1, 2], "größe 尺寸": [1.0, 2.0], "select": ["x", "y"]})
    schema = sf.Schema(
        {
            'a "b"; DROP TABLE x': sf.Integer(0, 9),
            "größe 尺寸": sf.Real(0, 9, 1),
            "select": sf.Category(["x", "y"]),
        }
    )
    table = town(data, schema=schema, name='t"; --').table()
    answer = table.group_by("select").agg(s=sf.sum('"größe 尺寸"'), n=sf.count())
    assert values(answer.release(epsilon=10**4), "s") == [1, 2]
    quoted = table.filter('"a ""b""; DROP TABLE x" = 2').count().release(epsilon=EXACTLY)
    assert values(quoted, "n") == [1]


def test_plan_of_absurd_length_is_refused(town):
    table = town().table()
    with pytest.raises(QueryError, match="steps"):
        for _ in range(1000):
            table = table.filter("age > 1")


def test_query_of_another_unit_is_refused(town):
    with pytest.raises((UnitError, InternalError)):
        query = town().table().count().queries[0]
        query.sensitivity(sf.Unit.rows(3))
