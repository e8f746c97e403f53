"""Ranges and caps that are bought with a question: found or not, paid once, and then free."""

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.errors import CostError, NothingFound, SfumatoError, UnitError
from sfumato.testing.rng import SeededRng

AUTO = sf.Unit.by("id", max_rows="auto")
PERSON = sf.Unit.by("id", max_rows=3)
SCHEMA = sf.Schema(
    zone=sf.Category(["A", "B"]),
    age=sf.Integer(0, 99),
    income=sf.Integer(),
    cents=sf.Real(step="0.01"),
    name=sf.Text(),
)


def people(size=900, each=1, **columns):
    """So many units with so many rows each, who earn a thousand and a bit."""
    made = {
        "id": [i for i in range(size) for _ in range(each)],
        "zone": ["A"] * (size * each),
        "age": [30] * (size * each),
        "income": [1000 + i % 20 for i in range(size * each)],
        "cents": [0.25] * (size * each),
        "name": ["x"] * (size * each),
    }
    return pa.table({**made, **columns})


def opened(data=None, unit=PERSON, **options):
    budget = options.pop("budget", sf.Budget(1000, "1e-3"))
    data = people() if data is None else data
    return sf.Session(
        data, unit=unit, schema=options.pop("schema", SCHEMA), budget=budget, **options
    )


COSTS = [{"epsilon": 20}, {"epsilon": 20, "delta": "1e-6"}, {"rho": 20}]


@pytest.mark.parametrize("cost", COSTS, ids=str)
def test_range_is_found_and_said(cost):
    session = opened()
    had = session.remaining
    answer = session.table().mean(sf.bounds("income")).release(**cost)
    assert abs(answer.to_arrow()["income"].to_pylist()[0] - 1010) <= 40
    [note] = [note for note in answer.notes if "was bought" in note]
    assert "income" in note
    if "epsilon" in cost:
        assert had.epsilon - session.remaining.epsilon == 20


@pytest.mark.parametrize("cost", COSTS, ids=str)
@pytest.mark.parametrize("grouped", [True, False])
def test_caps_are_found_and_said(cost, grouped):
    unit = sf.Unit.by("id", max_rows="auto", max_groups="auto")
    table = opened(people(600, 4), unit).table()
    asked = table.group_by("zone") if grouped else table
    answer = asked.count().release(**cost)
    notes = [note for note in answer.notes if "was bought" in note]
    assert [note.split()[0] for note in notes] == ["max_rows", "max_groups"][: 1 + grouped]
    assert 600 - 60 <= answer.to_arrow()["n"].to_pylist()[0] <= 2400 + 60


def test_one_heavy_unit_does_not_set_the_cap():
    heavy = people(600, 1, id=[0] * 300 + list(range(300)))
    answer = opened(heavy, AUTO).table().count().release(epsilon=20)
    [note] = [note for note in answer.notes if "max_rows" in note and "bought" in note]
    assert int(note.rsplit(" ", 1)[1].replace(",", "")) <= 50


@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}, {"rho": "0.1"}])
@pytest.mark.parametrize("rows", [0, 1])
def test_nothing_found_is_paid_once_and_closes_nothing(cost, rows):
    session = opened(people(rows))
    session._rng = SeededRng(7)  # noise alone may look like a range, one time in twenty
    had, question = session.remaining, session.table().sum(sf.bounds("income"))
    with pytest.raises(NothingFound) as first:
        question.release(**cost)
    left = session.remaining
    assert left != had
    assert not session.ledger.closed
    with pytest.raises(NothingFound) as again:
        question.release(**cost)
    assert str(again.value) == str(first.value)
    assert session.remaining == left
    session.table().count().release(epsilon=1)  # the data is open
    with pytest.raises(NothingFound):
        session.table().sum(sf.bounds("cents")).release(**cost)
    assert session.remaining != left


def test_reason_is_said_where_a_range_is_found_and_cannot_be_used():
    wide = people(income=[10**11 + 10**10 * (i % 9) for i in range(900)])
    with pytest.raises(NothingFound) as refused:
        opened(wide).table().variance(sf.bounds("income")).release(epsilon=100)
    text = str(refused.value)
    assert text.startswith("the range of income was bought: ")
    assert "can grow beyond 2^62 steps" in text
    assert "Too few" not in text
    assert text.endswith("The charge stands, because what was found is an answer too. [E500]")


def test_column_of_one_value_has_a_mean():
    same = people(age=[4] * 900)
    schema = sf.Schema(age=sf.Integer(0, 4))
    answer = opened(same, schema=schema).table().mean(sf.bounds("age")).release(epsilon=300)
    assert "the range of age was bought: 3 to 4" in answer.notes
    assert answer["age"].value == 4 or 3.9 < answer["age"].value < 4.1


@pytest.mark.parametrize(
    ("caps", "grouped", "bought"),
    [
        ({"max_rows": "auto"}, False, []),
        ({"max_rows": "auto"}, True, ["max_rows"]),
        ({"max_rows": "auto", "max_groups": 2}, True, []),
        ({"max_rows": "auto", "max_groups": "auto"}, True, ["max_groups"]),
        ({"max_rows": "auto", "max_groups": "auto"}, False, []),
    ],
)
@pytest.mark.parametrize(
    "output", [sf.sum("age", per_unit=(0, 300)), sf.count_distinct("id")], ids=str
)
def test_caps_are_bought_where_they_are_used(caps, grouped, bought, output):
    table = opened(people(600, 4), sf.Unit.by("id", **caps)).table()
    asked = (table.group_by("zone") if grouped else table).agg(x=output)
    assert [one.title for one in asked.purchases] == bought
    answer = asked.release(epsilon=20)
    truth = 600 if output.function == "count_distinct" else 600 * 4 * 30
    assert abs(answer.measures[0].values[0] - truth) < 2000  # nothing is left out
    beside = (table.group_by("zone") if grouped else table).agg(x=output, n=sf.count())
    both = [cap for cap in ("max_rows", "max_groups") if caps.get(cap) == "auto"]
    assert [one.title for one in beside.purchases] == both[: 1 + grouped]


def test_no_cap_is_told_that_leaves_nothing_out():
    unit = sf.Unit.by("id", max_groups=3, max_rows_per_group=2)
    table = opened(people(10, 4), unit).table()
    assert table.count_distinct("id").explain(epsilon=1).notes == ()
    summed = sf.sum("age", per_unit=(0, 300))
    for output in (summed, sf.count_distinct("id")):
        notes = table.group_by("zone").agg(x=output).explain(epsilon=1).notes
        assert notes[0].startswith("at most 3 groups of one id count; intervals do not cover")
        assert not any("in one group" in note for note in notes)
    notes = table.group_by("zone").agg(n=sf.count(), x=summed).explain(epsilon=1).notes
    assert notes[:3] == (
        'all rows of one id count in "age of one unit"',
        "at most 2 rows in one group of one id count",
        "at most 3 groups of one id count; intervals do not cover what that leaves out",
    )
    one = sf.Unit.by("id", max_groups=1, max_rows_per_group=1)
    notes = opened(people(10, 4), one).table().group_by("zone").count().explain(epsilon=1).notes
    assert notes[0] == "at most 1 row in one group of one id counts"
    assert notes[1].startswith("at most 1 group of one id counts; ")


def test_interval_says_how_many_values_it_takes():
    nobody = opened(people(0)).table().median("age", interval=True)
    plan = nobody.explain(epsilon=1)
    [note] = [note for note in plan.notes if "values or more" in note]
    needs = note.split("in groups of ")[1].split(" ")[0]
    answer = plan.release()
    assert f"(95 %, if there are {needs} values or more)" in repr(answer["age"])
    assert f"age = {answer['age']!r}" in repr(answer)
    assert answer["age"].covers == f"noise only, if there are {needs} values or more"


def test_same_question_is_answered_from_the_ledger():
    session = opened(people(600, 2), AUTO)
    asked = session.table().group_by("zone").agg(n=sf.count(), m=sf.mean(sf.bounds("income")))
    first, left = asked.release(epsilon=20), session.remaining
    again = asked.release(epsilon=20)
    assert again.to_arrow().equals(first.to_arrow())
    assert again.notes == first.notes
    assert session.remaining == left
    renamed = session.table().group_by("zone").agg(k=sf.count(), m=sf.mean(sf.bounds("income")))
    renamed.release(epsilon=20)
    assert session.remaining != left


def test_quantiles_of_other_ranks_are_other_questions():
    session = opened()
    table = session.table()
    table.quantile(sf.bounds("income"), 0.1).release(epsilon=10)
    left = session.remaining
    table.quantile(sf.bounds("income"), 0.2).release(epsilon=10)
    assert session.remaining != left


def test_explain_reads_and_spends_nothing_and_shows_the_split():
    session = opened(unit=AUTO)
    plan = session.table().group_by("zone").sum(sf.bounds("income")).explain(epsilon=1)
    shown = repr(plan)
    assert "max_rows" in shown
    assert "the range of income" in shown
    assert [each["what"] for each in plan.to_dict()["bought"]] == [
        "max_rows",
        "the range of income",
    ]
    assert plan.sql
    assert plan.proof
    assert session.ledger.history() == []
    assert sf.accounting.charge(plan.cost).epsilon == 10**18


REFUSED = [
    (lambda t: t.sum("income"), {"epsilon": 1}),
    (lambda t: t.sum(sf.bounds("name")), {"epsilon": 1}),
    (lambda t: t.sum(sf.bounds("nobody")), {"epsilon": 1}),
    (lambda t: t.sum(sf.bounds("income")), {"epsilon": 0}),
    (lambda t: t.sum(sf.bounds("income")), {}),
    (lambda t: t.sum(sf.bounds("income")), {"epsilon": 1, "rho": 1}),
    (lambda t: t.sum(sf.bounds("income")), {"accuracy": sf.within(10)}),
    (lambda t: t.count(), {"accuracy": sf.within(10)}),
    (lambda t: t.distinct().count(), {"epsilon": 1}),
    (lambda t: t.partition("zone"), {"epsilon": 1}),
    (
        lambda t: t.agg(**{f"x{i}": sf.sum(sf.bounds(f"income + {i}")) for i in range(9)}),
        {"epsilon": 1},
    ),
]


@pytest.mark.parametrize(("ask", "cost"), REFUSED, ids=range(len(REFUSED)))
def test_refusal_reads_and_spends_nothing(ask, cost):
    session = opened(unit=AUTO)
    with pytest.raises(SfumatoError) as refused:
        ask(session.table()).release(**cost)
    assert not isinstance(refused.value, NothingFound)
    assert session.ledger.history() == []


def test_beyond_the_budget_nothing_is_read():
    session = opened(unit=AUTO, budget=sf.Budget(1))
    with pytest.raises(sf.errors.BudgetExceeded):
        session.table().sum(sf.bounds("income")).release(epsilon=2)
    assert session.remaining.epsilon == 1
    session.table().sum(sf.bounds("age")).release(epsilon=1)
    assert session.remaining.epsilon == 0


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf"), None, 1e300])
def test_odd_values_do_not_spoil_a_range(bad):
    odd = [0.25] * 890 + [bad] * 10
    session = opened(people(cents=pa.array(odd, pa.float64())))
    with pytest.raises(CostError):
        session.table().sum(sf.bounds("cents")).release()
    answer = session.table().sum(sf.bounds("cents")).release(epsilon=50)
    assert not session.ledger.closed
    assert answer.to_arrow().num_rows == 1


def test_parts_and_envelopes_pay_for_what_is_bought():
    session = opened()
    had = session.remaining.epsilon
    for part in session.table().partition("zone").values():
        try:
            part.sum(sf.bounds("income")).release(epsilon=20)
        except NothingFound:  # nobody lives there
            assert not session.ledger.closed
    assert had - session.remaining.epsilon == 20 * 2  # a unit may be in both parts
    with session.table().scope(sf.Budget(epsilon=20)) as inside:
        inside.mean(sf.bounds("income")).release(epsilon=20)
        with pytest.raises(sf.errors.BudgetExceeded):
            inside.mean(sf.bounds("age")).release(epsilon=20)


@pytest.mark.parametrize(
    ("column", "ask"),
    [
        ("n", lambda t: t.count()),
        ("N", lambda t: t.count()),
        ("octave", lambda t: t.sum(sf.bounds("income"))),
        ("value", lambda t: t.count_distinct("income")),
    ],
    ids=["n", "N", "octave", "value"],
)
def test_unit_may_be_called_anything(column, ask):
    data = people().rename_columns([column, "zone", "age", "income", "cents", "name"])
    cap = "auto" if column in "nN" else 3
    table = opened(data, sf.Unit.by(column, max_rows=cap)).table()
    try:
        ask(table).explain(epsilon=1)
    except UnitError as refused:
        pytest.fail(str(refused))


RELEASES = {
    "ranges": lambda table: sf.ranges.release(table.values("x"), epsilon=1),
    "dawa": lambda table: sf.ranges.release(table.values("x"), method="dawa", epsilon=1),
    "sketch": lambda table: sf.ranges.release(table.values("x"), method="sketch", epsilon=1),
    "compared ranges": lambda table: sf.ranges.explain(table.values("x"), epsilon=1),
    "map": lambda table: sf.spatial.release(table.points("x", "y"), epsilon=1),
    "private tree": lambda table: sf.spatial.release(
        table.points("x", "y"), method="privtree", epsilon=1
    ),
}


@pytest.mark.parametrize("released", RELEASES.values(), ids=RELEASES)
@pytest.mark.parametrize(
    "caps",
    [{"max_rows": "auto"}, {"max_groups": "auto", "max_rows_per_group": 2}],
    ids=["rows", "groups"],
)
def test_cells_of_which_a_cap_is_to_be_bought_are_refused_before_any_charge(released, caps):
    def riders(**caps):
        rows = {"who": [i // 5 for i in range(1000)], "x": [i % 7 for i in range(1000)]}
        return sf.Session(
            pa.table({**rows, "y": rows["x"]}),
            unit=sf.Unit.by("who", **caps),
            schema=sf.Schema(x=sf.Integer(0, 7), y=sf.Integer(0, 7)),
            budget=sf.Budget(epsilon=100),
        )

    session = riders(**caps)
    before = session.remaining
    with pytest.raises(UnitError, match="Declare a number"):
        released(session.table())
    assert session.remaining == before
    if "max_rows" in caps:  # what the refusal says to do is enough
        noted = session.table().count().release(epsilon=50).notes
        [bought] = [note for note in noted if "max_rows was bought" in note]
        caps = {"max_rows": int(bought.rsplit(" ", 1)[1])}
    else:
        caps = {"max_rows": 20}
    released(riders(**caps).table())
