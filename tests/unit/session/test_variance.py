"""Variances and standard deviations through a session: what they are, share, say and refuse."""

from fractions import Fraction

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.errors import ExpressionError
from sfumato.relation import Aggregate, Constant, Keys, Known, Name, Rows, Source, Squares, Total
from sfumato.session.proof import title

ALMOST = 10**6  # ε at which the noise of squares is small, and that of counts still a number
CENTS = [125, 250, 1000, 5000, 700, 300, 400]  # of the town: inf counts as 50, NaN is missing


def variance(numbers):
    mean = Fraction(sum(numbers), len(numbers))
    return sum((x - mean) ** 2 for x in numbers) / len(numbers)


def test_variance_is_that_of_the_rows_in_which_the_value_is_known(town):
    answer = town(epsilon=10**9).table().variance("fare").release(epsilon=ALMOST)
    exact = variance(CENTS) / 100**2
    fare = answer.measure("fare")
    assert abs(fare.values[0] - exact) < Fraction(1, 100)
    # How often the interval holds the truth is a matter of many runs (tests/statistical).
    assert fare.low[0] <= fare.values[0] <= fare.high[0]
    assert fare.high[0] - fare.low[0] < Fraction(1, 100)


def test_standard_deviation_is_its_root(town):
    answer = town(epsilon=10**9).table().std("fare").release(epsilon=ALMOST)
    fare = answer["fare"]
    low, value, high = float(fare.low), float(fare.value), float(fare.high)
    assert low <= value <= high
    assert value**2 == pytest.approx(float(variance(CENTS)) / 100**2, rel=1e-3)


def test_variance_answers_every_group_and_that_of_truths(town):
    table = town(epsilon=10**9).table()
    answer = table.group_by("zone").variance("age").release(epsilon=ALMOST)
    ages = ([30, 30, 0, 20], [30, 41], [41, 99])
    for found, exact in zip(answer.measure("age").values, map(variance, ages), strict=True):
        assert abs(found - exact) < Fraction(1, 100)
    share = table.variance("member").release(epsilon=ALMOST).measure("member").values[0]
    assert abs(share - Fraction(5, 8) * Fraction(3, 8)) < Fraction(1, 1000)


def test_group_without_rows_knows_nothing(town):
    table = town().table().filter("age > 98 and zone = 'north'")
    answer = table.agg(v=sf.variance("fare"), d=sf.std("fare")).release(epsilon=1)
    assert (answer["v"].low, answer["v"].high) == (0, 625)
    assert (answer["d"].low, answer["d"].high) == (0, 25)


def test_outputs_share_noisy_parts(town):
    table = town().table()
    asked = table.agg(
        n=sf.count("fare"),
        s=sf.sum("fare"),
        m=sf.mean("fare"),
        v=sf.variance("fare"),
        d=sf.std("fare"),
    )
    fare = Name("fare")
    assert [q.quantity for q in asked.queries] == [
        Known(fare),
        Total(fare, 2500),
        Squares(fare, 2500),
    ]
    alone = table.std("fare")
    assert [type(q.quantity) for q in alone.queries] == [Known, Total, Squares]
    never = table.agg(n=sf.count(), v=sf.variance("fare"))  # rows are not the rows of the variance
    assert {type(q.quantity) for q in never.queries} == {Rows, Known, Total, Squares}


def test_shared_parts_give_the_same_as_one_alone(town):
    answer = (
        town(epsilon=10**9)
        .table()
        .agg(s=sf.sum("fare"), m=sf.mean("fare"), v=sf.variance("fare"))
        .release(epsilon=ALMOST)
    )
    assert abs(answer.measure("s").values[0] - Fraction(sum(CENTS), 100)) < Fraction(1, 100)
    assert abs(answer.measure("m").values[0] - Fraction(sum(CENTS), 700)) < Fraction(1, 100)
    assert abs(answer.measure("v").values[0] - variance(CENTS) / 100**2) < Fraction(1, 100)


def test_plan_says_what_is_measured_and_what_to_expect(town):
    plan = town(epsilon=10).table().agg(v=sf.variance("fare"), d=sf.std("fare")).explain(epsilon=1)
    text = repr(plan)
    for piece in (
        "the sum of squares of fare - 25, where a row adds 0 to 6,250,000 squared steps",
        "in a group of 1,000",
        "a variance whose interval is the whole range is not known at this price",
    ):
        assert piece in text, piece
    assert plan.notes.count(next(note for note in plan.notes if note.startswith("fare below"))) == 1
    spread, root = plan.expected
    assert spread.per == root.per == 1000
    assert 0 < spread.halfwidth < spread.worst <= 625
    assert 0 < root.halfwidth < root.worst <= 25
    assert plan.price.epsilon == 1
    assert len(plan.parts) == 3


def test_gaussian_parts_make_a_variance_too(town):
    session = town(budget=sf.Budget(10**4, "1e-3"))
    plan = session.table().variance("age").explain(rho="0.01")
    assert "Gaussian" in plan.expected[0].mechanism
    assert plan.release()["age"].low >= 0


def test_squares_are_summed_in_128_bits(town):
    """Each square is below 2^62, and ten of them are not below 2^63."""
    half = 2**31
    schema = sf.Schema(x=sf.Integer(-half, half))
    data = pa.table({"x": [half] * 8 + [-half] * 8})
    session = town(data, schema=schema)
    question = session.table().variance("x")
    assert question.release(epsilon=100)["x"].high <= half**2
    [exact] = session._backend.run(question.sql, {}).to_pylist()
    assert list(exact.values()) == [16, 0, 2**63 - 1]  # the total saturates


@pytest.mark.parametrize("half", [2**31 + 1, 2**40])
def test_range_whose_square_is_too_large_is_refused_with_the_fix(town, half):
    table = town(schema=sf.Schema(age=sf.Integer(-half, half))).table()
    for ask in (table.variance, table.std):
        with pytest.raises(ExpressionError, match="coarser step"):
            ask("age")
    assert table.mean("age")


def test_constant_is_squared_in_64_bits(town):
    session = town()
    node = session.table().count().node
    sql = Aggregate(node, Keys(), Squares(Constant(100_000))).lower("duckdb")
    assert session._backend.run(sql, {}).to_pylist() == [{"m0": 9 * 10**10}]


@pytest.mark.parametrize("text", ["zone", "name", "day"])
def test_variance_needs_a_number(town, text):
    with pytest.raises(ExpressionError, match="needs a number"):
        town().table().variance(text)


@pytest.mark.parametrize(
    ("center", "extent"), [(0, (0, 49)), (5, (4, 144)), (-9, (4, 144)), (-2, (0, 25))]
)
def test_extent_of_squares_is_what_one_row_can_add(center, extent):
    source = Source("t", sf.Schema(x=sf.Integer(-7, 3)), sf.Unit.row())
    query = Aggregate(source, Keys(), Squares(Name("x"), center))
    assert query.extent == extent
    assert query.sensitivity(source.unit).l1 == extent[1]
    assert title(query).startswith("the sum of squares of x")
