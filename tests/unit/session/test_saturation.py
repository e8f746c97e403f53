"""Totals that are cut at 64 bits: intervals are open there, and hold as often as they say."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.errors import InputError
from sfumato.mechanisms.saturation import add
from sfumato.noise import Gaussian, Laplace, draw
from sfumato.release.error import Noise
from sfumato.release.form import Form
from sfumato.release.law import reach
from sfumato.release.linear import Linear
from sfumato.release.noisy import Noisy
from sfumato.release.saturation import FARTHEST, LARGEST, joined, of_rows, reached
from sfumato.testing.rng import SeededRng

NOISE = Noise("laplace", 10)
CENTS = Fraction(1, 100)
MUCH = 1000  # for ε: what is cut is seen whatever it is, but for a chance below 10^-12
WIDE = 10**12  # in hundredths 184,467 rows at its ends fill a sum about its middle


def rides(hi=WIDE, *, rows=1000, value=3.0, **options):
    """Open a table of equal values, almost all in one of two groups."""
    data = pa.table(
        {
            "x": np.full(rows, value),
            "zone": np.where(np.arange(rows) < 10, "a", "b"),
            "rider": np.arange(rows) // 2,
        }
    )
    schema = sf.Schema(x=sf.Real(-hi, hi, step="0.01"), zone=sf.Category(["a", "b"]))
    unit = options.pop("unit", sf.Unit.row())
    return sf.Session(data, unit=unit, schema=schema, budget=sf.Budget(2**80), **options)


@pytest.fixture
def full():
    """A table whose sums lie beyond 64 bits: half of 2^62 steps in each of 1,000 rows."""
    return rides(2**61 * CENTS, value=float(2**60 * CENTS)).table()


def test_open_within_reach_of_the_end_and_not_before():
    far = reach(NOISE, 1e-12)
    values = [0, LARGEST - far - 1, LARGEST - far, LARGEST, far - LARGEST, far - LARGEST + 1]
    assert reached(values, NOISE, 0.05).high.tolist() == [False, False, True, True, False, False]
    assert reached(values, NOISE, 0.05).low.tolist() == [False, False, False, False, True, False]
    rarely = reach(NOISE, 1e-15)
    assert rarely > far
    assert reached([LARGEST - rarely], NOISE, 1e-15).high.all()


def test_noise_beyond_64_bits_leaves_all_open():
    huge = Noise("laplace", 2**70)
    assert reached([0, LARGEST, -LARGEST], huge, 0.05).high.all()
    assert reached(np.array([0]), huge, 0.05).low.all()


def test_weight_turns_the_open_side():
    marks = joined([(1, [0, LARGEST], NOISE), (-2, [LARGEST, 0], NOISE)], 0.05)
    assert marks.low.tolist() == [True, False]
    assert marks.high.tolist() == [False, True]
    draw = Noisy("d", NOISE, (5, LARGEST, -LARGEST))
    form = Form.linear({"d": -3})
    made = of_rows(Linear.of(form.top, form.constant, 3, {"d": draw}), 0.05)
    assert made.low.tolist() == [False, True, False]
    assert made.high.tolist() == [False, False, True]


@pytest.mark.parametrize("law", [Laplace(Fraction(2**50)), Gaussian(Fraction(2**50))], ids=str)
def test_total_that_was_cut_is_seen_but_for_one_in_a_trillion(law):
    kind = "laplace" if isinstance(law, Laplace) else "gaussian"
    drawn = draw(law, 50_000, SeededRng(3))
    for end in (LARGEST, -LARGEST):
        noisy = add(np.full(drawn.size, end), drawn)
        marks = reached(noisy, Noise(kind, 2**50), 0.05)
        assert (marks.high if end > 0 else marks.low).all()
        assert not (marks.low if end > 0 else marks.high).any()


def test_sum_mean_and_spread_are_open_where_a_total_is_cut(full):
    answer = full.agg(s=sf.sum("x"), m=sf.mean("x"), n=sf.count()).release(epsilon=MUCH)
    truth, end = 2**60 * CENTS, 2**61 * CENTS
    assert answer["s"].low <= 1000 * truth <= answer["s"].high
    assert (answer["m"].low, answer["m"].high) == (-end, end)
    assert answer["n"].high < 2000
    assert any(note.startswith("of s, m the interval is open, and") for note in answer.notes)
    assert sf.Release.from_json(answer.to_json()) == answer
    assert ", ∞] (95 %)" in repr(answer["s"])


@pytest.mark.parametrize("function", ["variance", "std"])
def test_spread_is_the_whole_range_where_squares_are_cut(function):
    table = rides(10**7).table()
    plan = getattr(table, function)("x").explain(epsilon=MUCH)
    assert any("has room for 9 rows at the end of the range" in note for note in plan.notes)
    found = getattr(rides(10**7, value=9e6).table(), function)("x").release(epsilon=MUCH)["x"]
    most = Fraction(10**7) if function == "std" else Fraction(10**14)
    assert (found.low, found.high) == (0, most)


def test_cells_are_open_one_by_one(full):
    answer = full.group_by("zone").agg(s=sf.sum("x"), m=sf.mean("x"), n=sf.count())
    made = rides(2**55 * CENTS, value=float(2**55 * CENTS)).table()
    some = made.group_by("zone").agg(s=sf.sum("x"), m=sf.mean("x")).release(epsilon=MUCH)
    s, m = some.measures
    assert s.high[0] < 2 * 10 * 2**55 * CENTS
    assert s.high[1] >= FARTHEST * CENTS
    assert m.low[0] > 0.9 * 2**55 * CENTS
    assert (m.low[1], m.high[1]) == (-(2**55) * CENTS, 2**55 * CENTS)
    assert any("open in 1 group, and" in note for note in some.notes)
    both = answer.release(epsilon=MUCH)
    assert any("open in 2 groups, and" in note for note in both.notes)


def test_sum_by_unit_is_open_where_it_is_cut():
    unit = sf.Unit.by("rider", max_rows=2)
    ends = (-(2**60) * CENTS, 2**60 * CENTS)
    table = rides(2**60 * CENTS, value=float(2**59 * CENTS), unit=unit).table()
    found = table.agg(s=sf.sum("x", per_unit=ends)).release(epsilon=MUCH)["s"]
    assert found.high >= FARTHEST * CENTS
    assert found.low <= 500 * 2**60 * CENTS


def test_what_is_computed_from_it_is_open_too(full):
    answer = full.group_by("zone").agg(s=sf.sum("x"), m=sf.mean("x"), n=sf.count())
    made = answer.release(epsilon=MUCH)
    truth, end = 2**60 * CENTS, float(2**61 * CENTS)
    for whole in (made.total("s"), made.roll_up("zone", names=["s"])):
        assert whole["s"].low <= 1000 * truth <= whole["s"].high
    pooled = made.roll_up("zone", names=["m"])["m"]
    assert (float(pooled.low), float(pooled.high)) == (-end, end)
    assert (made["s"] / made["n"]).high.tolist() == [np.inf] * 2
    assert (-made["s"]).low[1] <= -float(990 * truth)
    assert ((made["s"] - made["s"]).high == 0).all()  # the same total, whatever it is
    for open_ in (made.at("0.9"), made.simultaneous()):
        assert open_.measure("s").high[1] >= FARTHEST * CENTS
    with pytest.raises(InputError, match="or a total beyond what is computed"):
        made.share("s")
    assert made.sort("s").measure("s_order").values[0] == 0
    with pytest.raises(InputError, match="may lie beyond what is computed"):
        made.consistent(full.sum("x").release(epsilon=MUCH), "s")


@pytest.mark.parametrize("step", ["1e-9", "1e-12"])
def test_open_end_of_fine_steps_is_shown_as_one_everywhere(step):
    """What stands for it, 2^127 steps, is then a number that a coarser sum might have."""
    most = 10**18 * Fraction(step)
    data = pa.table({"x": [float(most)] * 20, "zone": ["a", "b"] * 10})
    schema = sf.Schema(x=sf.Real(0, most, step=step), zone=sf.Category(["a", "b"]))
    with sf.Session(data, unit=sf.Unit.row(), schema=schema, budget=sf.Budget(99)) as session:
        single = session.table().agg(s=sf.sum("x")).release(epsilon=10)
        groups = session.table().group_by("zone").agg(s=sf.sum("x")).release(epsilon=10)
    sums, twice = groups["s"], groups.derive(d="s * 2")
    assert groups.measure("s").high[1] >= FARTHEST * Fraction(step)
    for shown in (repr(single).split("\n")[0], single["s"], single["s"] * 2, 1 - single["s"]):
        assert repr(shown).count("∞") == 1
    for shown in (sums, sums * 2, sums.at("0.9"), sums + 3 * sums, twice["d"]):
        assert repr(shown).count("∞") == 2
    assert repr(twice).count("∞") == 4
    for known in (sums - sums, sums.value[0]):
        assert "∞" not in repr(known)


def test_population_is_open_too():
    end = 2**58 * CENTS
    data = pa.table({"x": np.full(1000, float(end / 2))})
    schema = sf.Schema(x=sf.Real(-end, end, step="0.01"))
    with sf.Session(
        data, unit=sf.Unit.row(), schema=schema, budget=sf.Budget(1000), sampled=True
    ) as session:
        found = session.table().mean("x").release(epsilon=2).population()["x"]
    assert (found.low, found.high) == (-end, end)


def test_plan_says_how_many_rows_a_total_has_room_for():
    for hi, rows in ((WIDE, "92,233 rows"), (10**14, "922 rows"), (2**58 * CENTS, "31 rows")):
        notes = rides(hi).table().mean("x").explain(epsilon=1).notes
        assert sum(f"has room for {rows} at the end of the range" in note for note in notes) == 1
    for ask in (rides(10**9).table().mean("x"), rides().table().count()):
        assert not any("has room" in note for note in ask.explain(epsilon=1).notes)


def test_whole_sum_beyond_64_bits_is_answered():
    """Sum and count fit 64 bits each; put together about the middle they need not."""
    session = sf.Session(
        pa.table({"size": [10**15] * 20_000}),
        unit=sf.Unit.row(),
        schema=sf.Schema(size=sf.Integer(0, 10**15)),
        budget=sf.Budget(2**80),
    )
    asked = session.table().agg(total=sf.sum("size"), mean=sf.mean("size"))
    total = asked.release(epsilon=MUCH)["total"].value
    assert total > 2**63
    assert isinstance(total, int)
