"""Ranges that are bought: octaves, what noisy counts show, and columns without declared bounds."""

from fractions import Fraction
from math import exp

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.errors import InputError, SensitivityError
from sfumato.noise import Gaussian, Laplace, draw
from sfumato.relation import Distinct, Filter, Join, PerUnit, Project, Summary, Truncate, Union
from sfumato.relation.expr import Name, typed
from sfumato.relation.kind import LIMIT, Number
from sfumato.relation.magnitude import magnitude
from sfumato.relation.public import PublicTable
from sfumato.relation.source import Source
from sfumato.release.error import Noise
from sfumato.release.law import reach
from sfumato.session.bounds import (
    Bounds,
    Range,
    found,
    loose,
    octave,
    octaves,
    said,
    threshold,
    unbounded,
    undeclared,
)
from sfumato.sql.expression import parse
from sfumato.testing.rng import SeededRng

FOUR = Noise("laplace", 4)
CENTS = Number(-(10**11), 10**11, Fraction(1, 100))
TABLE = Source(
    "people",
    sf.Schema(
        income=sf.Real(step="0.01"), age=sf.Integer(0, 120), debt=sf.Integer(), ok=sf.Boolean()
    ),
    sf.Unit.by("id", max_rows=5),
)
MANY = 500  # rows that nobody overlooks at a scale of 4


def counts(kind, **held):
    """Return counts of the octaves in which the codes lie: so many for each code."""
    every = octaves(kind)
    noisy = [0] * len(every)
    for code, count in held.items():
        noisy[every.index(magnitude(int(code.replace("n", "-")[1:])) // 4)] = count
    return noisy


def at(codes, kind):
    """Return the exact histogram of codes."""
    every = octaves(kind)
    noisy = np.zeros(len(every), np.int64)
    for code in codes:
        noisy[every.index(magnitude(int(code)) // 4)] += 1
    return noisy


@pytest.mark.parametrize(
    "kind",
    [Number(-LIMIT, LIMIT), Number(0, 1000), Number(-7, 12), Number(5, 5), CENTS],
    ids=str,
)
def test_octaves_are_the_groups_that_the_engine_makes(kind):
    expr = octave(Name("x"), kind)
    made = typed(expr, {"x": kind})
    assert range(made.kind.low, made.kind.high + 1) == octaves(kind)
    near = {s * (2**p + o) for p in range(63) for o in range(-2, 3) for s in (-1, 1)}
    codes = [c for c in {*range(-50, 51), *near} if kind.low <= c <= kind.high]
    with duckdb.connect() as engine:
        engine.execute("CREATE TABLE t (x BIGINT)")
        engine.execute("INSERT INTO t SELECT unnest(CAST(? AS BIGINT[]))", [[*codes, None]])
        rows = engine.execute(f"SELECT x, {made.sql} FROM t").fetchall()  # noqa: S608
    for code, held in rows:
        assert held == (None if code is None else magnitude(code) // 4)
        if code is not None:
            alone = found(counts(kind, **{f"c{code}".replace("-", "n"): MANY}), FOUR, kind, 0.95)
            assert alone.low <= code <= alone.high
            assert alone.high - alone.low <= max(abs(code), 4)


def test_range_ends_with_the_octaves_that_hold_values():
    kind = Number(-1000, 1000)
    assert found(counts(kind, c20=MANY, cn20=MANY), FOUR, kind, 0.95) == Range(-39, 31)
    assert found(counts(kind, c20=MANY), FOUR, kind, 0.95) == Range(16, 31)


def test_range_of_one_side_starts_at_zero_where_it_spans_more_than_an_octave():
    kind = Number(-1000, 1000)
    assert found(counts(kind, c20=MANY, c40=MANY), FOUR, kind, 0.95) == Range(0, 63)
    assert found(counts(kind, cn20=MANY, cn300=MANY), FOUR, kind, 0.95) == Range(-319, 0)
    inside = Number(10, 1000)
    assert found(counts(inside, c20=MANY, c40=MANY), FOUR, inside, 0.95) == Range(10, 63)


def test_range_stays_within_the_kind():
    assert found([MANY], FOUR, Number(5, 5), 0.95) == Range(5, 5)
    assert found([MANY] * len(octaves(Number(-9, 90))), FOUR, Number(-9, 90), 0.95) == Range(-9, 90)


def test_range_grows_over_thin_tails_and_not_over_a_gap():
    kind = Number(0, 10**6)
    sure, likely = threshold(FOUR, kind, 0.95), reach(FOUR, 1 / 8)
    assert likely < sure
    tail = dict.fromkeys(("c70", "c130", "c260"), likely + 1)
    assert found(counts(kind, c1=MANY, c40=MANY, **tail), FOUR, kind, 0.95) == Range(0, 511)
    beyond = {**tail, "c1100": sure}  # a gap lies between, and it is not above the threshold
    assert found(counts(kind, c1=MANY, c40=MANY, **beyond), FOUR, kind, 0.95) == Range(0, 511)
    beyond["c1100"] = sure + 1
    assert found(counts(kind, c1=MANY, c40=MANY, **beyond), FOUR, kind, 0.95) == Range(0, 2047)
    weak = {**tail, "c130": likely}
    assert found(counts(kind, c1=MANY, c40=MANY, **weak), FOUR, kind, 0.95) == Range(0, 127)


def test_nothing_is_found_where_nothing_shows():
    kind = Number(0, 10**6)
    sure = threshold(FOUR, kind, 0.95)
    assert found([sure] * len(octaves(kind)), FOUR, kind, 0.95) is None
    assert found([-MANY] * len(octaves(kind)), FOUR, kind, 0.95) is None


def test_counts_must_be_those_of_the_octaves():
    with pytest.raises(InputError, match="from as many counts"):
        found([1, 2], FOUR, Number(0, 1000), 0.95)


@pytest.mark.parametrize("scale", [1, 4, 100, 12345])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_threshold_is_the_least_that_no_empty_octave_exceeds(scale, confidence):
    octaves_ = len(octaves(CENTS))
    least = threshold(Noise("laplace", scale), CENTS, Fraction(confidence))
    ratio = exp(-1 / scale)
    above, before = (ratio ** (k + 1) / (1 + ratio) * octaves_ for k in (least, least - 1))
    assert above <= (1 - confidence) * (1 + 1e-6)
    assert before > (1 - confidence) * (1 - 1e-6)


@pytest.mark.parametrize(
    "law", [Laplace(Fraction(20)), Gaussian(Fraction(20))], ids=["laplace", "gaussian"]
)
def test_empty_table_shows_nothing_as_often_as_stated(law):
    """The threshold holds by a union bound, so that fewer than 5 % of runs may exceed it.

    With 2,000 runs the share lies below 5 % by more than 6 standard errors less rarely than 10^-9.
    """
    kind, runs = Number(-(10**9), 10**9), 2000
    noise = Noise("laplace" if isinstance(law, Laplace) else "gaussian", 20)
    drawn = draw(law, runs * len(octaves(kind)), SeededRng(5)).reshape(runs, -1)
    wrong = sum(found(row.tolist(), noise, kind, 0.95) is not None for row in drawn)
    assert 0 < wrong < runs * (0.05 + 6 * (0.05 * 0.95 / runs) ** 0.5)


def test_noise_alone_starts_a_range_in_one_of_two_hundred_cases():
    """The product over all octaves, from the exact law, is below what is stated, but not far."""
    for scale in (1, 5, 100):
        noise = Noise("laplace", scale)
        ratio, every = exp(-1 / scale), len(octaves(CENTS))
        above = ratio ** (threshold(noise, CENTS) + 1) / (1 + ratio)
        wrong = 1 - (1 - above) ** every
        assert 0.0015 < wrong <= 0.005
    kind, runs = Number(-(10**9), 10**9), 4000
    drawn = draw(Laplace(Fraction(20)), runs * len(octaves(kind)), SeededRng(5)).reshape(runs, -1)
    wrong = sum(found(row.tolist(), Noise("laplace", 20), kind) is not None for row in drawn)
    assert wrong < runs * (0.005 + 6 * (0.005 / runs) ** 0.5)
    assert "in at most 0.5 % of cases" in said(Noise("laplace", 20), kind)


def test_range_of_one_value_has_a_step_more():
    assert found([0, MANY], FOUR, Number(0, 4)) == Range(3, 4)
    assert found([MANY, 0], FOUR, Number(3, 4)) == Range(3, 4)
    assert found([MANY], FOUR, Number(5, 5)) == Range(5, 5)


def test_outermost_octave_is_not_searched_where_nobody_declared_its_end():
    kind = Number(-(2**53) + 1, 2**53 - 1)
    assert octaves(kind, (True, True)) == octaves(kind)[1:-1]
    counted = counts(kind, c20=MANY)
    assert found([MANY, *counted[1:-1], MANY], FOUR, kind) == Range(kind.low, kind.high)
    assert found(counted[1:-1], FOUR, kind, loose=(True, True)) == Range(16, 31)
    assert threshold(FOUR, kind, loose=(True, True)) <= threshold(FOUR, kind)


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("income", (True, True)),
        ("-debt", (True, True)),
        ("abs(debt)", (False, True)),
        ("abs(debt) * 300", (False, True)),  # twice as wide it could overflow
        ("greatest(debt, 0)", (False, True)),
        ("least(debt, 5)", (True, False)),
        ("age", (False, False)),
        ("clamp(debt, 0, 1e15)", (False, False)),
    ],
)
def test_ends_that_nobody_declared_are_known(text, ends):
    assert loose(parse(text), TABLE) == ends


@pytest.mark.parametrize("dirt", [float("inf"), float("-inf"), 1e300, -1e15])
def test_few_infinities_do_not_become_the_end_of_a_range(dirt):
    values = np.concatenate([np.full(3000, 12.5), np.full(300, dirt)])
    schema, unit = sf.Schema(x=sf.Real(step="0.01")), sf.Unit.row()
    with sf.Session(
        pa.table({"x": values}), unit=unit, schema=schema, budget=sf.Budget(1000)
    ) as session:
        answer = session.table().mean(sf.bounds("x")).release(epsilon=300)
    [note] = [note for note in answer.notes if "was bought" in note]
    assert note == "the range of x was bought: 10.24 to 20.47"
    assert abs(float(answer["x"].value) - 12.5) < 8


def test_range_of_many_incomes_is_about_right():
    rng = SeededRng(11)
    uniform = (rng.words(20_000).astype(np.float64) + 0.5) / 2**64
    incomes = np.exp(10 + np.log(uniform / (1 - uniform)) / 1.7).astype(np.int64)  # log-logistic
    kind = Number(-(10**9), 10**9)
    exact = at(incomes, kind)
    for seed in range(20):
        noisy = exact + draw(Laplace(Fraction(10)), exact.size, SeededRng(seed))
        bought = found(noisy.tolist(), Noise("laplace", 10), kind, 1 - Fraction(1, 10**12))
        assert bought.low == 0
        assert np.mean(incomes > bought.high) < 0.01
        assert bought.high < 4 * incomes.max()


def test_sentence_says_how_many_rows_it_takes():
    text = said(Noise("laplace", 100), CENTS, Fraction(95, 100))
    assert f"about {threshold(Noise('laplace', 100), CENTS, 0.95)} rows" in text
    assert "values beyond it count as its ends" in text


def test_bounds_shows_its_call_and_takes_text():
    assert repr(Bounds("income * 12")) == "sf.bounds('income * 12')"
    assert Bounds("income") == Bounds("income")
    for wrong in (None, 3, ["income"], sf.sum("income")):
        with pytest.raises(InputError, match=r"as text, and this is a .*sf\.bounds\('income'\)"):
            Bounds(wrong)


# ---- columns whose bounds nobody declared ----

FREE = Source(
    "free", sf.Schema(debt=sf.Integer(), age=sf.Integer(0, 120)), sf.Unit.by("id", max_rows=2)
)


def project(node, **columns):
    return Project(node, tuple((name, parse(text)) for name, text in columns.items()))


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("income", "income"),
        ("debt", "debt"),
        ("age", None),
        ("age + debt", "debt"),
        ("-debt", "debt"),
        ("income * 1.1 + 7", "income"),
        ("debt * 512", "debt"),  # twice as wide it could overflow
        ("greatest(debt, 0)", "debt"),
        ("least(greatest(debt, 0), 1000)", None),
        ("clamp(income, 0, 100000)", None),
        ("clamp(debt, 0, 1e15)", None),
        ("clamp(debt, 0, 1e16)", "debt"),  # farther than it is held to
        ("debt % 7", None),
        ("integer(debt > 5)", None),
        ("debt > 5", None),
        ("CASE WHEN debt > 5 THEN age ELSE 0 END", None),
        ("CASE WHEN ok THEN income END", "income"),
        ("divide(age, debt, 0.1)", None),
        ("debt * 0", None),
        ("abs(debt) // 1000", "debt"),
    ],
)
def test_undeclared_column_is_named_where_a_range_rests_on_it(text, column):
    assert undeclared(parse(text), TABLE) == column


def test_undeclared_column_is_followed_through_the_plan():
    made = project(TABLE, age="age", rich="income + 1", tame="clamp(debt, 0, 9)", debt="age")
    assert undeclared(parse("rich"), made) == "income"
    assert undeclared(parse("tame + age"), made) is None
    assert undeclared(parse("debt"), made) is None  # another column by that name
    for node in (
        Filter(made, parse("rich > 5")),
        Truncate(made, (), None, None, 3),
        Distinct(made, True),
    ):
        assert undeclared(parse("rich"), node) == "income"
        assert undeclared(parse("tame"), node) is None
    per_unit = PerUnit(
        TABLE,
        ("debt",),
        (
            ("s", Summary("sum", Name("income"), 5)),
            ("n", Summary("count", Name("income"), 5)),
            ("m", Summary("mean", Name("age"), 5)),
        ),
    )
    found_ = {name: undeclared(Name(name), per_unit) for name in ("debt", "s", "n", "m")}
    assert found_ == {"debt": "debt", "s": "income", "n": None, "m": None}
    both = Union(
        project(TABLE, a="age", b="debt", c="age"), project(FREE, a="debt", b="age", c="age")
    )
    assert [undeclared(Name(name), both) for name in "abc"] == ["debt", "debt", None]


def test_undeclared_column_may_be_the_key_of_a_public_table():
    kind = Number(-(2**53) + 1, 2**53 - 1)
    table = PublicTable("names", (("debt", kind, (1, 2)),), (("w", Number(0, 9), (3, 4)),))
    joined = Join(TABLE, table, "inner")
    assert undeclared(Name("w"), joined) is None
    assert undeclared(parse("w + debt"), joined) == "debt"


def test_declared_bounds_are_never_undeclared_however_wide():
    wide = Source("t", sf.Schema(x=sf.Integer(-(2**53) + 1, 2**53 - 1)), sf.Unit.row())
    assert undeclared(Name("x"), wide) is None


def test_refusal_says_how_to_mend_it():
    problem = unbounded("sum", "income", "income")
    assert isinstance(problem, SensitivityError)
    assert "sum(sf.bounds('income'))" in str(problem)
    assert "clamp(income, 0, 100000)" in str(problem)


def test_column_without_bounds_is_counted_filtered_and_searched():
    cents = np.repeat([5_000, 120_000, 900_000, 10**18], [400, 3_000, 900, 1])
    schema = sf.Schema(income=sf.Real(step="0.01"), debt=sf.Integer())
    data = pa.table({"income": cents / 100, "debt": cents})
    with sf.Session(data, unit=sf.Unit.row(), schema=schema, budget=sf.Budget(10**6)) as session:
        table = session.table()
        rich = table.filter("income >= 1200").count().release(epsilon=1000)
        assert abs(rich["n"].value - 3_901) < 2
        kind = table._scope["income"]
        searched = table.with_columns(o="magnitude(income, 0.01) // 4").group_by("o")
        noisy = searched.agg(n=sf.count()).release(epsilon=1)["n"].value
        assert typed(parse("magnitude(income, 0.01) // 4"), {"income": kind}) == typed(
            octave(Name("income"), kind), {"income": kind}
        )
        almost_sure = 1 - Fraction(1, 10**12)
        bought = found([int(n) for n in noisy], Noise("laplace", 1), kind, almost_sure)
        assert bought.low == 0
        # An empty octave is added one time in sixteen; eight in a row less often than 10^-9.
        assert bought.high in {2**k - 1 for k in range(20, 28)}
