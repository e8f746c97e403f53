"""Questions that are asked together: one plan, one charge, and each answer as it would be alone."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.accounting import pld
from sfumato.accounting.grid import UNIT
from sfumato.core.errors import (
    BudgetExceeded,
    CostError,
    InputError,
    NumberError,
    RangeError,
    ReleaseFailed,
    UnknownName,
)
from sfumato.ledger import Ledger

RIDER = sf.Unit.by("rider", max_rows=2)
GROUPS = sf.Unit.by("rider", max_groups=1, max_rows_per_group=1)
SURE = 10**6  # an ε at which noise is 0


def many(town, count=40, **options):
    """Return as many questions, none about the same rows as another."""
    table = town.table()
    return [table.filter(f"age > {age}").group_by("zone").count() for age in range(count)]


# ---- what is charged -----------------------------------------------------------------------------


def test_batch_is_one_charge_and_answers_in_order(town):
    session = town(epsilon=2)
    table = session.table()
    answers = session.batch([table.count(), table.mean("age")]).release(epsilon="0.5")
    assert [answer.measures[0].name for answer in answers] == ["n", "age"]
    kinds = [event.kind for event in session.ledger.history()]
    assert kinds == ["reserved", "touched", "settled"]
    assert session.remaining.epsilon == Fraction(3, 2)
    assert len({answer.receipt for answer in answers}) == 1


def test_named_questions_have_named_answers(town):
    session = town()
    table = session.table()
    asked = {"how many": table.count(), "how old": table.mean("age")}
    answers = session.batch(asked).release(epsilon=1)
    assert list(answers) == ["how many", "how old"]
    assert answers["how old"].measures[0].name == "age"


@pytest.mark.parametrize("unit", [sf.Unit.row(), RIDER, GROUPS], ids=["rows", "rider", "groups"])
def test_answers_are_those_of_the_questions_by_themselves(town, unit):
    def asked(table):
        return [
            table.count(),
            table.group_by("zone").count(),
            table.group_by("zone").agg(n=sf.count(), fare=sf.sum("fare")),
            table.filter("age > 30").mean("age"),
            table.group_by("member").count_distinct("zone"),
            table.median("age"),
        ]

    together = town(unit=unit, epsilon=10 * SURE)
    found = together.batch(asked(together.table())).release(epsilon=SURE)
    assert len(found) == 6
    alone = [
        question.release(epsilon=SURE)
        for question in asked(town(unit=unit, epsilon=10 * SURE).table())
    ]
    if unit == sf.Unit.row():  # which rows of a unit count depends on the columns that are used
        assert [[m.values for m in a.measures] for a in found] == [
            [m.values for m in a.measures] for a in alone
        ]
    else:
        assert [a.columns for a in found] == [a.columns for a in alone]
        assert [a.to_arrow().num_rows for a in found] == [a.to_arrow().num_rows for a in alone]


def test_what_several_need_is_measured_once(town):
    session = town(unit=RIDER)
    zones = session.table().group_by("zone")
    questions = [zones.count(), zones.agg(n=sf.count(), age=sf.mean("age")), zones.sum("age")]
    plan = session.batch(questions).explain(epsilon=1)
    # A count of rows, a count of ages and a sum of ages; the table is truncated once for all.
    assert len(plan.parts) == 3
    assert len({part.query.node for part in plan.parts}) == 1
    assert str(plan).endswith("see .sql, or [0].sql for one question")
    assert plan[0].sql and plan.sql.count("GROUP BY") >= 1
    first, second, third = plan.release()
    assert first["n"].value.tolist() == second["n"].value.tolist()
    assert first["n"] is not second["n"]
    assert third.columns[1] == "age"


def test_shared_draws_are_known_to_be_the_same(town):
    session = town()
    zones = session.table().group_by("zone")
    one, two = session.batch([zones.count(), zones.agg(n=sf.count(), age=sf.mean("age"))]).release(
        epsilon="0.1"
    )
    difference = one["n"] - two["n"]
    assert set(difference.low.tolist()) == set(difference.high.tolist()) == {0}


def test_counts_of_units_keep_the_truncation_that_is_best_for_them(town):
    session = town(unit=RIDER)
    zones = session.table().group_by("zone")
    plan = session.batch([zones.count_distinct("rider"), zones.count()]).explain(epsilon=1)
    alone = zones.count_distinct("rider").explain(epsilon="0.5")
    assert plan.plans[0].parts == alone.parts


def test_weights_share_the_price(town):
    session = town()
    table = session.table()
    asked = [table.count(), table.filter("age > 30").count()]
    plan = session.batch(asked, weights=[3, 1]).explain(epsilon=1)
    costs = [part.price.epsilon for part in plan.parts]
    assert sum(costs) <= 1
    assert costs[0] == pytest.approx(0.75)
    named = session.batch({"a": asked[0], "b": asked[1]}, weights={"b": 1, "a": 3})
    assert named.explain(epsilon=1).parts == plan.parts


def test_weights_share_the_price_of_questions_about_the_same_groups(town):
    session = town()
    zones = session.table().group_by("zone")
    plan = session.batch([zones.count(), zones.sum("age")], weights=[9, 1]).explain(epsilon=1)
    costs = [plan[place].parts[0].price.epsilon for place in (0, 1)]
    assert [round(float(cost), 6) for cost in costs] == [0.9, 0.1]
    both = [zones.count(), zones.agg(n=sf.count(), total=sf.sum("age"))]
    shared = session.batch(both, weights=[1, 9]).explain(epsilon=1)
    assert len(shared.parts) == 2  # the count that both need gets the larger weight
    assert len({part.price.epsilon for part in shared.parts}) == 1


@pytest.mark.parametrize("unit", [sf.Unit.row(), RIDER, GROUPS], ids=["rows", "rider", "groups"])
def test_each_question_has_the_parts_that_its_answer_is_made_of(town, unit):
    session = town(unit=unit)
    table = session.table().group_by("zone")
    asked = [
        table.count(),
        table.sum("age"),
        table.mean("age"),
        table.std("age"),
        table.median("age"),
        table.quantile("age", ["0.1", "0.9"]),
        table.agg(a=sf.max("age"), b=sf.median("age", interval=True)),
        table.count_distinct("member"),
        table.agg(s=sf.sum("fare")),
    ]
    for plan in session.batch(asked).explain(epsilon=1).plans:
        used = {part for recipe in plan.recipes for part in recipe.used}
        assert used == set(plan.parts)


# ---- a δ buys more -------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [sf.Unit.row(), GROUPS], ids=["rows", "groups"])
def test_batch_is_charged_by_the_law_of_its_whole_loss(town, unit):
    session = town(unit=unit, epsilon=10, delta="1e-5")
    plan = session.batch(many(session)).explain(epsilon=1, delta="1e-7")
    assert plan.way.endswith("composed")
    alone = many(session)[0].explain(epsilon=Fraction(1, 40)).expected[0].halfwidth
    added = many(session)[0].explain(rho=sf.accounting.rho_within(1, "1e-7") / 40).expected[0]
    assert plan.plans[0].expected[0].halfwidth < min(alone, added.halfwidth)
    plan.release()
    (entry,) = [event for event in session.ledger.history() if event.charge is not None]
    enclosed = pld.bounds(plan.cost, "1e-7")
    assert enclosed.low <= Fraction(entry.charge.epsilon, UNIT) <= 1
    assert Fraction(entry.charge.epsilon, UNIT) >= enclosed.high  # rounded up
    assert Fraction(entry.charge.delta, UNIT) == Fraction("1e-7")
    assert Fraction(entry.charge.rho, UNIT) >= sum(
        (sf.accounting.rho(part.loss) for part in plan.parts), Fraction(0)
    )


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [("0.1", "0.1"), ("1e-5", "1e-5"), ("1e-9", "1e-6"), (1, "0.9"), (400, "1e-9")],
)
def test_any_price_can_be_planned(town, epsilon, delta):
    session = town(epsilon=1000, delta="0.99")
    table = session.table()
    plan = session.batch([table.count(), table.sum("age")]).explain(epsilon=epsilon, delta=delta)
    assert plan.charge.epsilon <= Fraction(epsilon) * UNIT
    assert plan.price.epsilon == Fraction(plan.charge.epsilon, UNIT)


def test_questions_one_by_one_are_not_charged_so(town):
    session = town(epsilon=100, delta="1e-5")
    questions = many(session, 5)
    for question in questions:
        question.release(epsilon="0.2")
    assert session.ledger.spent().epsilon == UNIT


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": "0.1"}, {"epsilon": 1, "delta": "1e-7"}])
def test_batch_costs_no_more_than_was_said(town, price):
    session = town(epsilon=10, delta="1e-5")
    plan = session.batch(many(session, 12)).explain(**price)
    before = session.ledger.spent()
    plan.release()
    after = session.ledger.spent()
    if "rho" in price:
        assert after.rho - before.rho <= Fraction(price["rho"]) * UNIT
    else:
        assert after.epsilon - before.epsilon <= UNIT
        assert after.delta - before.delta <= Fraction(price.get("delta", 0)) * UNIT
    assert str(plan.charge) in repr(plan)


def test_batch_that_does_not_fit_reads_nothing(town):
    session = town(epsilon=1)
    with pytest.raises(BudgetExceeded):
        session.batch(many(session, 3)).release(epsilon=2)
    assert session.remaining.epsilon == 1


# ---- where it may be asked -----------------------------------------------------------------------


def test_the_same_batch_is_answered_once(town):
    session = town(epsilon=2)
    first = session.batch(many(session, 4)).release(epsilon=1)
    again = session.batch(many(session, 4)).release(epsilon=1)
    assert [a.to_json() for a in first] == [a.to_json() for a in again]
    assert session.remaining.epsilon == 1


def test_the_same_batch_in_another_order_is_answered_once(town):
    session = town(epsilon=2, delta="1e-6")
    table = session.table()
    asked = {"a": table.count(), "b": table.mean("age"), "c": table.median("age")}
    price = {"epsilon": "0.5", "delta": "1e-8"}
    first = session.batch(asked).release(**price)
    again = session.batch(dict(reversed(asked.items()))).release(**price)
    assert {k: a.to_json() for k, a in first.items()} == {k: a.to_json() for k, a in again.items()}
    assert session.remaining.epsilon >= Fraction(3, 2)


def test_session_that_is_closed_is_not_charged(town, tmp_path):
    session = town(epsilon=2, ledger=tmp_path / "ledger")
    batch = session.batch(many(session, 2))
    session.close()
    with pytest.raises(InputError, match="closed"):
        batch.release(epsilon=1)
    with pytest.raises(InputError, match="closed"):
        session.table().count().release(epsilon=1)
    assert Ledger.open(tmp_path / "ledger").remaining().epsilon == 2


def test_caps_that_no_question_uses_need_not_be_bought(town):
    session = town(unit=sf.Unit.by("rider", max_rows="auto"))
    table = session.table()
    asked = [table.count_distinct("rider"), table.sum("fare", per_unit=(0, 100))]
    riders, fares = session.batch(asked).release(epsilon=SURE)
    assert int(riders.measures[0].values[0]) == 5
    assert fares.columns[0] == "fare"


def test_request_id_is_kept(town):
    session = town(epsilon=2)
    session.batch(many(session, 2)).release(epsilon="0.5", request="monday")
    session.batch(many(session, 2)).release(epsilon="0.5", request="monday")
    with pytest.raises(sf.errors.SfumatoError):
        session.batch(many(session, 3)).release(epsilon="0.5", request="monday")
    assert session.remaining.epsilon == Fraction(3, 2)


def test_batch_of_several_tables_is_written_under_all_of_them():
    rows = pa.table({"age": [31, 45, 62]})
    schema = sf.Schema(age=sf.Integer(0, 99))
    session = sf.Session(
        {"here": rows, "there": rows.slice(1)},
        unit=sf.Unit.row(),
        schema={"here": schema, "there": schema},
        budget=sf.Budget(SURE),
    )
    here, there = session.table("here"), session.table("there")
    answers = session.batch([here.count(), there.count()]).release(epsilon=SURE)
    assert [int(answer["n"].value) for answer in answers] == [3, 2]
    card = str(session.certificate(answers[0]))
    assert "here" in card
    assert "there" in card


def test_batch_inside_a_scope_and_of_one_part(town):
    session = town(epsilon=4)
    with session.table().scope(sf.Budget(epsilon=1)) as inside:
        session.batch([inside.count(), inside.mean("age")]).release(epsilon=1)
        with pytest.raises(BudgetExceeded):
            inside.count().release(epsilon="0.1")
        with pytest.raises(BudgetExceeded, match="This needs a δ, and the scope has none"):
            inside.count().release(rho="0.01")
        assert "in a scope of Budget(epsilon=1)" in repr(inside)
        assert "scope" not in repr(session.table())
        with pytest.raises(InputError, match="another part"):
            session.batch([inside.count(), session.table().count()])
    parts = session.table().partition("zone")
    for part in parts.values():
        session.batch([part.count(), part.mean("age")]).release(epsilon=1)
    assert session.remaining.epsilon == 2  # all parts together cost as much as one


def test_bought_groups_are_selected_once_for_all_questions(town):
    rows = pa.table({"name": ["Ana"] * 900 + ["Bob"] * 900, "age": [30] * 1800})
    schema = sf.Schema(name=sf.Text(), age=sf.Integer(0, 99))
    session = town(rows, schema=schema, epsilon=100, delta="1e-3")
    names = session.table().group_by("name", keys=sf.bought())
    plan = session.batch([names.count(), names.mean("age")]).explain(epsilon=20, delta="1e-4")
    one, two = plan.release()
    assert (
        one.to_arrow()["name"].to_pylist() == two.to_arrow()["name"].to_pylist() == ["Ana", "Bob"]
    )
    other = session.table().filter("age > 20").group_by("name", keys=sf.bought())
    both = session.batch([names.count(), other.count()]).explain(epsilon=20, delta="1e-4")
    assert Fraction(both.charge.delta, UNIT) <= Fraction("1e-4")


def test_declared_count_costs_nothing_in_a_batch(town):
    session = town(unit=sf.Unit.row("replace"), epsilon=1, rows=9)
    table = session.table()
    alone = session.batch([table.count()])
    assert "cost      nothing" in repr(alone.explain(epsilon=1))
    assert alone.release(epsilon=1)[0]["n"].value == 9
    answers = session.batch([table.count(), table.mean("age")]).release(epsilon=1)
    assert answers[0]["n"].value == 9
    assert session.remaining.epsilon == 0


def test_explain_is_free_and_shows_every_question(town):
    session = town(epsilon=1)
    table = session.table()
    plan = session.batch({"count": table.count(), "old": table.mean("age")}).explain(epsilon=1)
    text = repr(plan)
    assert "count  n=count()" in text
    assert "old  age=mean('age')" in text
    assert plan.sql.count("SELECT") >= 1
    made = plan.to_dict()
    assert made["measured"] == len(plan.parts)
    assert len(made["questions"]) == 2
    assert session.remaining.epsilon == 1
    answers = plan.release()
    assert any("one of 2 questions" in note for note in answers["old"].notes)


def test_failure_after_touching_keeps_the_charge(town):
    session = town(epsilon=2)
    batch = session.batch(many(session, 3))
    session._backend.close()  # as if the machine had failed: the session does not know
    with pytest.raises(ReleaseFailed):
        batch.release(epsilon=1)
    assert session.remaining.epsilon == 1


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "questions", [[], {}, ["count"], [None], 3, "abc", np.array("abc")], ids=repr
)
def test_what_is_no_question_is_refused(town, questions):
    with pytest.raises(InputError, match="made of questions"):
        town().batch(questions)


@pytest.mark.parametrize("delta", [[1, 2], np.array([1, 2]), "much", None], ids=repr)
def test_delta_that_is_no_probability_is_refused(town, delta):
    session = town()
    before, [question] = session.remaining, many(session, 1)
    for asked in (question, session.batch([question])):
        for step in (asked.explain, asked.release):
            with pytest.raises(InputError, match="delta"):
                step(epsilon=1, delta=delta)
    assert session.remaining == before


def test_questions_may_come_one_by_one(town):
    session = town()
    answers = session.batch(question for question in many(session, 2)).release(epsilon=1)
    assert len(answers) == 2
    page = session.report(releases={"one": answers[0], "two": answers[1]})
    assert "<html" in page


@pytest.mark.parametrize("name", [1, None, ("a", "b"), "\ud800"])
def test_name_that_is_no_text_is_refused(town, name):
    session = town()
    with pytest.raises(InputError, match="names that are not text"):
        session.batch({name: session.table().count(), "1": session.table().mean("age")})


def test_what_is_wrong_is_named(town):
    session = town()
    with pytest.raises(InputError, match=r"question 2 \('b'\) is a Table"):
        session.batch({"a": session.table().count(), "b": session.table()})
    with pytest.raises(InputError, match="'c' is in one of the two only"):
        session.batch({"a": session.table().count()}, weights={"c": 1})
    plan = session.batch({"a": session.table().count()}).explain(epsilon=1)
    with pytest.raises(UnknownName, match="no question 'b'"):
        plan["b"]
    assert plan["a"] is plan.plans[0]
    assert plan.to_dict()["questions"][0]["name"] == "a"


def test_question_of_another_session_is_refused(town):
    with pytest.raises(InputError, match="question 1 is one of another session"):
        town().batch([town().table().count()])


def test_question_that_buys_first_is_refused(town):
    session = town(unit=sf.Unit.by("rider", max_rows="auto"))
    with pytest.raises(InputError, match="question 1 buys its caps"):
        session.batch([session.table().count()])
    bounds = town()
    with pytest.raises(InputError, match="question 2 buys its caps"):
        bounds.batch([bounds.table().count(), bounds.table().sum(sf.bounds("age"))])


@pytest.mark.parametrize(
    "weights", [[1], [1, 2, 3], "12", {"a": 1, "b": 2}, 7], ids=["few", "many", "text", "map", "no"]
)
def test_weights_that_do_not_fit_are_refused(town, weights):
    session = town()
    with pytest.raises(InputError, match="one number for each question"):
        session.batch([session.table().count(), session.table().mean("age")], weights=weights)


@pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf")])
def test_weight_that_is_none_is_refused(town, weight):
    session = town()
    with pytest.raises((RangeError, NumberError), match="weight"):
        session.batch([session.table().count()], weights=[weight])


def test_cost_without_a_name_is_refused(town):
    session = town()
    with pytest.raises(CostError, match="a cost is named"):
        session.batch([session.table().count()]).release(1)
    with pytest.raises(CostError, match="one price for all"):
        session.batch([session.table().count()]).release(accuracy=sf.within(5))
