"""Many quantiles of many groups: their law, their parts, their price and their errors."""

import sys
from collections import Counter
from fractions import Fraction
from math import log, sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.audit.neighbor import inputs
from sfumato.core.errors import DataError, NumberError, RangeError, SensitivityError
from sfumato.core.loss import BoundedRange, Pure
from sfumato.mechanisms import Bag, Quantile, Quantiles, cut
from sfumato.mechanisms.bisection import bisected
from sfumato.mechanisms.ranking import Ranking
from sfumato.noise.uniform import each
from sfumato.testing import SeededRng

sys.path.insert(0, str(Path(__file__).parents[2] / "contracts"))
from quantiles_cases import group_law

sys.path.pop(0)

S = sf.Sensitivity
DECILES = [f"{i}/10" for i in range(1, 10)]
MANY = 30_000
FAR = 5.5  # standard deviations: once in 10^7


def compare(law, drawn):
    """Compare draws, one a row, with the law that was written down (chi-square)."""
    seen = Counter(map(tuple, drawn.tolist()))
    assert seen.keys() <= law.keys()
    common = [x for x in law if law[x] * len(drawn) >= 20]
    observed = np.array([seen.get(x, 0) for x in common])
    expected = np.array([law[x] * len(drawn) for x in common])
    rest = len(drawn) - observed.sum(), max(len(drawn) - expected.sum(), 0.0)
    if rest[1] >= 20:
        observed, expected = np.append(observed, rest[0]), np.append(expected, rest[1])
    else:  # too few to be compared one by one; but not many more than there should be
        assert rest[0] <= rest[1] + FAR * sqrt(rest[1]) + 10
    freedom = observed.size - 1
    assert freedom
    spread = 2 / (9 * freedom)
    statistic = ((observed - expected) ** 2 / expected).sum() / freedom
    assert (statistic ** (1 / 3) - (1 - spread)) / sqrt(spread) < FAR


SEARCHES = [
    (Quantiles(["1/2"], 0, 10, 1, 2, 1), [3, 4, 4, 9, 9, 9]),
    (Quantiles(["1/2"], 0, 10, 1, "1/5", 1), [0] * 30 + [10] * 31),
    (Quantiles(["0.9"], 0, 300, 1, "1/2", 1), [100] * 50 + [101] * 3),
    (Quantiles([("1/2", 2)], 0, 10, 1, 1, 1), [3, 4, 4, 9, 9, 9]),
    (Quantiles(["1/4", "3/4"], 0, 4, 1, 1, 5), [0, 1, 1, 1, 3]),
    (Quantiles(["1/4", "3/4"], 0, 4, 1, 8, 3), [0, 1, 1, 1, 3]),
    (Quantiles(["1/4", "1/2", "3/4"], 0, 3, 1, "3/2", 3), [1] * 40 + [2] * 9),
    (Quantiles([("1/3", "-1/2"), ("1/3", 1), 1, 0], 0, 2, 1, 1, 2), [0, 1, 1, 2]),
    (Quantiles(["1/4", "3/4"], 0, 4, 1, 1, 5), []),
]


@pytest.mark.parametrize(("mechanism", "rows"), SEARCHES)
def test_draws_have_the_law_that_was_stated(mechanism, rows):
    law = group_law(mechanism, tuple(rows))
    compare(law, mechanism.runs(mechanism.exact(rows), MANY, SeededRng(5)))


@pytest.mark.parametrize("beyond", [-4, -2, 0])
@pytest.mark.parametrize(("mechanism", "rows"), SEARCHES[:5])
def test_the_law_does_not_depend_on_the_stretches(monkeypatch, mechanism, rows, beyond):
    # With few levels most is drawn from far out, where weights are only bounded.
    monkeypatch.setattr(cut, "_SURE", beyond)
    law = group_law(mechanism, tuple(rows))
    compare(law, mechanism.runs(mechanism.exact(rows), MANY // 3, SeededRng(6)))


@pytest.mark.parametrize(("mechanism", "rows"), SEARCHES[3:6])
def test_coins_that_floats_do_not_decide_are_exact(monkeypatch, mechanism, rows):
    monkeypatch.setattr(cut, "_SLACK", 1.0)  # now floats decide nothing
    law = group_law(mechanism, tuple(rows))
    compare(law, mechanism.runs(mechanism.exact(rows), 4000, SeededRng(7)))


def test_floats_decide_a_coin_only_where_the_exact_one_agrees(monkeypatch):
    mechanism = Quantiles(["1/4", "3/4"], 0, 10**6, 1, "1/3")
    rows = mechanism.exact(np.arange(0, 10**6, 997))
    fast = mechanism.runs(rows, 50, SeededRng(8))
    accepted = cut._Parts._accepted

    def checked(self, todo, stretch, index, rng):
        before = accepted(self, todo, stretch, index, rng)
        low, high = self._ends(todo, index)
        for i in range(todo.size):
            error = self._error(int(todo[i]), int(low[i]), int(high[i]))
            least, most = (float(bound[i]) for bound in self._errors(low, high, todo))
            assert Fraction(least) <= error <= Fraction(most)
        return before

    monkeypatch.setattr(cut._Parts, "_accepted", checked)
    assert (mechanism.runs(rows, 50, SeededRng(8)) == fast).all()


def test_proposals_are_never_below_the_true_weights():
    mechanism = Quantiles(["1/3"], 0, 400, 1, "3/2")
    rows = mechanism.exact([7] * 20 + [8] * 3 + list(range(50, 400, 9)))
    group, places = np.zeros(1, np.int64), 401 * mechanism.shares
    for whole in (True, False):
        aim = cut.Aim(Fraction(1, 3), Fraction(-2), Fraction(9, 8), whole)
        part = cut._Parts(rows, group, np.array([5]), np.array([places - 9]), aim)
        assert int(part._lengths.sum()) == int(part._last[0] - part._first[0])
        for stretch in np.flatnonzero(part._lengths[0]).tolist():
            first, length = (int(x[0, stretch]) for x in (part._starts, part._lengths))
            for index in {first, first + length // 2, first + length - 1}:
                low, high = part._ends(group, np.array([index]))
                error = part._error(0, int(low[0]), int(high[0]))
                true = np.exp(-float(part._rate * error) - part._top[0]) * length * part._size
                assert true <= part._proposal[0, stretch] * (1 + 1e-12)


rows_of_a_group = st.lists(st.integers(0, 3), max_size=6)
wanted = st.tuples(st.fractions(0, 1, max_denominator=6), st.fractions(-2, 2, max_denominator=2))


@settings(deadline=None, max_examples=60)
@given(
    st.lists(wanted, min_size=1, max_size=3), rows_of_a_group, st.integers(0, 3), st.integers(1, 3)
)
def test_one_row_moves_no_outcome_further_than_charged(targets, rows, row, shares):
    mechanism = Quantiles(targets, 0, 3, 1, 1, shares)
    before, after = (group_law(mechanism, tuple(held)) for held in (rows, [*rows, row]))
    charged = float(sf.accounting.epsilon(mechanism.loss(S(l1=1))))
    assert before.keys() == after.keys()
    assert max(abs(log(before[x] / after[x])) for x in before) <= charged + 1e-9


@given(st.lists(wanted, min_size=1, max_size=9))
def test_targets_relative_to_their_ends_are_the_targets(targets):
    targets = tuple(targets)
    steps = bisected(targets)
    assert sorted(step.place for step in steps) == list(range(len(targets)))
    for n in (0, 7, 1000):
        ranks = {None: (Fraction(0), Fraction(n))}
        for number, step in enumerate(steps):
            q, offset = targets[step.place]
            low = ranks[None][0] if step.low is None else ranks[step.low]
            high = ranks[None][1] if step.high is None else ranks[step.high]
            assert low + step.share * (high - low) + step.offset == q * n + offset
            assert 0 <= step.share <= 1
            ranks[number] = q * n + offset


@pytest.mark.parametrize("many", range(1, 40))
def test_depth_is_that_of_the_bisection(many):
    steps = bisected(tuple((Fraction(i, many + 1), Fraction(0)) for i in range(1, many + 1)))

    def level(number):
        ends = [x for x in (steps[number].low, steps[number].high) if x is not None]
        return 1 + max(map(level, ends), default=0)

    deepest = max(map(level, range(many)))
    assert deepest == Quantiles([f"{i}/{many + 1}" for i in range(1, many + 1)], 0, 9, 1, 1).depth
    assert 2 ** (deepest - 1) <= many < 2**deepest


def test_answers_come_in_the_order_of_the_targets_and_rise_with_them():
    mechanism = Quantiles(["0.9", ("0.5", 3), "0.1", "0.5"], 0, 50, 1, "1/2")
    drawn = mechanism.runs(mechanism.exact(list(range(30))), 500, SeededRng(1))
    assert (np.diff(drawn[:, [2, 3, 1, 0]], axis=1) >= 0).all()
    assert drawn.min() >= 0
    assert drawn.max() <= 50


def test_sharp_choices_are_the_quantiles():
    ages = np.repeat(np.arange(100), 1000)  # many rows of each value, cut wherever targets meet
    sharp = Quantiles(DECILES, 0, 120, 1, 500)
    for _ in range(20):
        found = sharp(ages)
        below, upto = (np.searchsorted(ages, found, side) for side in ("left", "right"))
        ranks = np.arange(1, 10) * 10_000
        assert (below <= ranks + 1).all()
        assert (upto >= ranks - 1).all()


def test_offsets_are_rows():
    values = list(range(1000))
    sharp = Quantiles([("1/2", -100), "1/2", ("1/2", 100), (1, -30), (0, 5)], 0, 999, 1, 200)
    assert np.abs(sharp(values) - [399.5, 499.5, 599.5, 969.5, 4.5]).max() <= 1
    beyond = Quantiles([("1/2", -(10**9)), ("1/2", 10**30)], 0, 999, 1, 200)
    assert np.abs(beyond(values) - [0, 999]).max() <= 1


def test_groups_are_answered_each_by_itself():
    mechanism = Quantiles(["1/4", "3/4"], 0, 999, 1, 100)
    rng = np.random.default_rng(3)
    cells = np.repeat(np.arange(5), 400)
    values = np.clip(cells * 200 + rng.integers(0, 200, 2000), 0, 999)
    order = rng.permutation(2000)
    found = mechanism(Bag(values[order], cells[order], 7))
    assert found.shape == (7, 2)
    for group in range(5):
        alone = np.sort(values[cells == group])
        assert alone[90] <= found[group, 0] <= alone[110]
        assert alone[290] <= found[group, 1] <= alone[310]


def test_order_of_rows_and_form_of_the_sort_change_nothing():
    few = Quantiles(["1/4", "3/4"], 0, 2**61, 2**51, 1)
    rng = np.random.default_rng(4)
    values, cells = rng.integers(0, 2**10, 300) * 2**51, rng.integers(0, 6, 300)
    codes = values // 2**51
    packed = few.exact(Bag(codes, cells, 6))
    shuffled = rng.permutation(300)
    again = few.exact(Bag(codes[shuffled], cells[shuffled], 6))
    assert (np.asarray(packed) == np.asarray(again)).all()
    draws = few.sample(packed, SeededRng(2))
    assert (few.sample(again, SeededRng(2)) == draws).all()

    # Groups times positions beyond 64 bits: values are numbered first.
    fine = Quantiles(["1/4", "3/4"], 0, 2**61, 1, 1)
    wide = fine.exact(Bag(values, cells, 6))
    direct = Ranking(np.clip(values, 0, None), cells * 0, 1, 2**61 + 1, fine.shares)
    assert wide._levels is not None
    assert direct._levels is None
    for position in (0, 2**51, 5 * 2**51 + 1, 2**61, 2**61 + 1):
        for group in range(6):
            under = wide.below(np.array([group]), np.array([position]))[0]
            assert under == ((values < position) & (cells == group)).sum()
    assert sorted(np.asarray(wide).tolist()) == sorted(
        int(c) * (2**61 + 1) + int(v) for c, v in zip(cells, values, strict=True)
    )
    drawn = fine.sample(wide, SeededRng(3))
    assert ((drawn >= 0) & (drawn <= 2**61)).all()
    assert fine(Bag(np.zeros(0, np.int64), np.zeros(0, np.int64), 6)).shape == (6, 2)


@pytest.mark.parametrize("groups", [0, 1, 3])
def test_groups_without_rows_are_answered(groups):
    mechanism = Quantiles(["1/4", "3/4"], 0, 3, 1, 1)
    nobody = np.zeros(0, np.int64)
    assert mechanism(Bag(nobody, nobody, groups)).shape == (groups, 2)
    assert mechanism([]).shape == (2,)


def test_nothing_is_uniform():
    mechanism = Quantiles(["1/2"], 0, 3, 1, 9)
    drawn = mechanism.runs(mechanism.exact([]), 4000, SeededRng(2))
    assert np.abs(np.bincount(drawn[:, 0]) - 1000).max() < 200


@pytest.mark.parametrize(
    "values",
    [
        [1, 2.5, "0.1", 7],
        [float("inf"), -1e308, 0.6, Fraction(1, 3), 2**70],
        np.array([0.1, 0.25, np.inf, -9.0]),
        np.array([3, 1, 2], np.int16),
        np.array([2**63 - 1, -(2**63), 4]),
    ],
    ids=str,
)
def test_values_are_read_as_by_a_single_quantile(values):
    if isinstance(values, list) and "0.1" in values:
        with pytest.raises(DataError, match="missing"):
            Quantiles(["1/2"], 0, 5, "1/4", 1)(values)
        return
    for grid in [(0, 5, "1/4"), (-2, 4, 1), (0, 6, 2)]:
        many, one = Quantiles(["1/2"], *grid, 1), Quantile("1/2", *grid, 1)
        assert np.asarray(many.exact(values)).tolist() == sorted(one.exact(values).tolist())


def test_codes_are_clamped_wherever_the_grid_is():
    codes = np.array([-(2**63), -5, 0, 5, 2**63 - 1])
    for low, high, expected in [
        (-5, 5, [0, 0, 5, 10, 10]),
        (2**62 - 4, 2**62, [0, 0, 0, 0, 4]),
        (-(2**62), -6, [0, 2**62 - 6, 2**62 - 6, 2**62 - 6, 2**62 - 6]),
    ]:
        mechanism = Quantiles(["1/2"], low, high, 1, 1)
        rows = mechanism.exact(Bag(codes, None, 1))
        assert np.asarray(rows).tolist() == expected
        assert low <= mechanism(Bag(codes, None, 1))[0] <= high


def test_grid_points_are_exact():
    tenths = Quantiles(["1/2", 1], "-0.3", "0.3", "0.1", 1)
    assert tenths.grid(np.array([0, 6])).tolist() == [Fraction(-3, 10), Fraction(3, 10)]
    assert tenths.view(np.array([0, 6])).tolist() == [-0.3, 0.3]
    wide = Quantiles(["1/2"], -(2**70), 2**70, 2**20, 1)
    assert wide.view(np.array([[0], [2**51]])).tolist() == [[-(2**70)], [2**70]]
    whole = Quantiles(["1/2"], 10, 20, 5, 1)
    assert whole.view(np.array([2])).dtype == np.int64
    assert whole.grid(np.array([2])).tolist() == [20]


def test_loss_is_counted_in_rows_groups_and_levels():
    mechanism = Quantiles(DECILES, 0, 9, 1, "1/3")
    third = Fraction(1, 3)
    assert mechanism.loss(S(l1=1)) == BoundedRange(third) * 4
    assert mechanism.loss(S(l1=6)) == BoundedRange(2) * 4
    assert mechanism.loss(S(l0=3, linf=2)) == BoundedRange(2 * third) * 12
    assert mechanism.loss(S(l0=3, l1=4, linf=2)) == BoundedRange(4 * third) * 4
    replaced = S(l1=2, neighbors="replace")
    assert mechanism.loss(replaced) == BoundedRange(2 * third, neighbors="replace") * 4
    assert mechanism.loss(S(l0=0, linf=0)) == Pure(0)
    with pytest.raises(SensitivityError, match="l1"):
        mechanism.loss(S(linf=1))


@pytest.mark.parametrize("s", [S(l1=1), S(l1=5), S(l0=4, linf=2), S(l0=4, linf=2, l1=5)], ids=repr)
def test_calibrated_losses_use_up_their_target(s):
    made = {"targets": DECILES, "low": 0, "high": 9, "step": 1}
    pure = Quantiles.calibrate(s, **made, epsilon="0.7")
    assert sf.accounting.epsilon(pure.loss(s)) == Fraction("0.7")
    rho = Quantiles.calibrate(s, **made, rho="0.01")
    spent = sf.accounting.rho(rho.loss(s))
    assert Fraction("0.00999999") < spent <= Fraction("0.01")
    relaxed = Quantiles.calibrate(s, **made, epsilon="0.7", delta="1e-6")
    assert relaxed.rate >= pure.rate
    assert sf.accounting.epsilon(relaxed.loss(s), "1e-6") <= Fraction("0.7")
    if s == S(l0=4, linf=2):
        assert relaxed.rate > pure.rate


def test_error_of_one_choice_is_that_of_the_exponential_mechanism():
    error = Quantiles(["1/2"], 0, 99, 1, 2).error(S(l1=1))
    assert error.halfwidth(Fraction(95, 100)) == -(-log(100 / 0.05) // 2)
    skew = Quantiles(["0.9"], 0, 99, 1, 2).error(S(l1=1))
    assert skew.halfwidth(Fraction(95, 100)) == -(-log(100 / 0.05) * 0.9 // 1)
    assert error.covers == "rank, noise only"


def test_error_does_not_depend_on_the_offsets_and_grows_down_the_bisection():
    wide = Quantiles(DECILES, 0, 99, 1, 2).halfwidths("0.95")
    assert wide[4] == min(wide)
    near, far = (
        Quantiles([("1/2", -r), "1/2", ("1/2", r)], 0, 99, 1, 2).halfwidths("0.9") for r in (1, 999)
    )
    assert near == far
    assert max(wide) == Quantiles(DECILES, 0, 99, 1, 2).error(S(l1=1)).halfwidth(Fraction(19, 20))


@pytest.mark.parametrize(
    "rows",
    [np.arange(0, 10_000, 7), np.repeat([3, 4000, 4001, 9000], 800), np.full(900, 17)],
    ids=["spread", "ties", "one value"],
)
@pytest.mark.parametrize("targets", [DECILES, [("1/2", -60), "1/2", ("1/2", 60)]], ids=len)
def test_rank_errors_stay_within_their_bounds(rows, targets):
    mechanism = Quantiles(targets, 0, 9_999, 1, "1/4")
    drawn = mechanism.runs(mechanism.exact(rows), 400, SeededRng(9))
    ranks = np.array([float(q * rows.size + offset) for q, offset in mechanism.targets])
    below, upto = (np.searchsorted(rows, drawn, side) for side in ("left", "right"))
    error = np.maximum(0, np.maximum(below - ranks, ranks - upto))
    for confidence in ("0.5", "0.9"):
        width = np.array([float(x) for x in mechanism.halfwidths(confidence)])
        beyond = (error > width).sum(axis=0)
        most = 400 * (1 - float(confidence))
        assert (beyond <= most + 5 * sqrt(most)).all()


def test_a_release_names_targets_and_groups():
    mechanism = Quantiles(["1/4", "3/4"], 0, 9, 1, 1)
    one = mechanism.release([1, 2, 3], S(l1=1), name="age")
    assert dict(one.keys) == {"quantile": (Fraction(1, 4), Fraction(3, 4))}
    assert one.columns[:2] == ("quantile", "age")
    bag = Bag(np.array([1, 2, 3]), np.array([0, 1, 1]), 2)
    both = mechanism.release(bag, S(l1=1), keys={"zone": ["A", "B"]})
    assert dict(both.keys)["zone"] == ("A", "A", "B", "B")
    assert dict(mechanism.release(bag, S(l1=1)).keys)["group"] == (0, 0, 1, 1)
    assert [
        name for name, _ in mechanism.release(bag, S(l1=1), keys={"quantile": [1, 2]}).keys
    ] == [
        "quantile",
        "quantile_",
    ]
    shifted = Quantiles(["1/2", ("1/2", "-7/2")], 0, 9, 1, 1).release([1], S(l1=1))
    assert dict(shifted.keys)["quantile"] == ("0.5", "0.5 - 3.5")


def test_nothing_shows_the_rows():
    mechanism = Quantiles(DECILES, 0, 9, 1, 1)
    bag = Bag(np.array([4, 4]), None, 1)
    assert "4" not in repr(bag) + repr(mechanism.exact(bag))
    assert repr(Quantiles([("1/2", -3), 1], 0, 9, 1, 1)) == (
        "Quantiles([(0.5, -3), 1], low=0, high=9, step=1, rate=1)"
    )
    assert "3 more" in repr(Quantiles(["1/2"] * 15, 0, 9, 1, 1))


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: Quantiles([], 0, 9, 1, 1), "at least one"),
        (lambda: Quantiles("1/2", 0, 9, 1, 1), "at least one"),
        (lambda: Quantiles(["1.1"], 0, 9, 1, 1), "between 0 and 1"),
        (lambda: Quantiles([-1], 0, 9, 1, 1), "between 0 and 1"),
        (lambda: Quantiles(["1/3000001"], 0, 9, 1, 1), "six digits"),
        (lambda: Quantiles([("1/2", "1e-9")], 0, 9, 1, 1), "six digits"),
        (lambda: Quantiles(["1/2"], -(2**62), 2**62, 1, 1), "2^62"),
        (lambda: Quantiles(["1/2"], 0, 9, 1, 2**61), "2^60"),
        (lambda: Quantiles(["1/2"], 0, 9, 1, 1, 0), "shares"),
        (lambda: Quantiles(["1/2"], 0, 9, 1, 1, 2**17), "shares"),
    ],
)
def test_ranks_and_grids_that_cannot_be_sought_are_refused(made, message):
    with pytest.raises(RangeError, match=message.replace("^", r"\^")):
        made()


@pytest.mark.parametrize(
    "bag",
    [
        Bag(np.array([1]), np.array([2]), 2),
        Bag(np.array([1]), np.array([-1]), 2),
        Bag(np.array([1]), np.array([0, 0]), 2),
        Bag(np.array([1.5]), None, 1),
        Bag(np.array([1]), None, 2),
    ],
    ids=lambda bag: f"{bag.groups} groups",
)
def test_bags_that_make_no_sense_are_refused(bag):
    with pytest.raises(DataError, match="each with the number of its group"):
        Quantiles(["1/2"], 0, 9, 1, 1).exact(bag)


def test_a_grid_has_ends():
    with pytest.raises(NumberError, match="low = None"):
        Quantiles(["1/2"], None, None, 1, 1)


def test_missing_values_are_refused():
    with pytest.raises(DataError, match="missing"):
        Quantiles(["1/2"], 0, 9, 1, 1)([1, None])


def test_a_very_fine_grid_has_fewer_shares():
    assert Quantiles(["1/2"], 0, 2**50, 1, 1).shares == 2**12 - 1
    assert Quantiles(["1/2"], 0, 2**62 - 1, 1, 1).shares == 1
    drawn = Quantiles(["1/4", "3/4"], 0, 2**62 - 1, 1, 1)([0, 2**62 - 1] * 50)
    assert 0 <= drawn[0] <= drawn[1] <= 2**62 - 1


@pytest.mark.parametrize("rate", ["1e-300", "1e-30", 2**60])
def test_every_rate_can_be_drawn_with(rate):
    mechanism = Quantiles(["1/4", "3/4"], 0, 10**9, 1, rate)
    drawn = mechanism(np.arange(0, 10**9, 10**6))
    assert drawn[0] <= drawn[1]
    if rate == 2**60:
        assert np.abs(drawn - [250 * 10**6, 750 * 10**6]).max() <= 10**6 + 1


@pytest.mark.parametrize("s", [S(l1=1), S(l1=3), S(l0=3, linf=2), S(l1=4, neighbors="replace")])
def test_audits_start_from_inputs_as_far_apart_as_charged(s):
    mechanism = Quantiles(["1/4", "3/4"], 0, 10, 1, 1)
    distances = []
    for pair in inputs(mechanism, s):
        before, after = (Counter(np.asarray(mechanism.exact(x)).tolist()) for x in pair)
        distances.append((before - after).total() + (after - before).total())
        if s.neighbors == "replace":
            assert before.total() == after.total()
    assert max(distances) == s.l1
    assert any(isinstance(a, Bag) for a, _ in inputs(mechanism, s)) == (s.l0 == 3)


def test_uniform_numbers_below_each_bound():
    bounds = np.repeat([1, 2, 3, 2**40 + 1, 2**62], 20_000)
    drawn = each(SeededRng(1), bounds)
    assert (drawn >= 0).all()
    assert (drawn < bounds).all()
    assert np.abs(np.bincount(drawn[40_000:60_000]) - 20_000 / 3).max() < 500
    for start, bound in ((60_000, 2**40 + 1), (80_000, 2**62)):
        mean = (drawn[start : start + 20_000] / bound).mean()
        assert abs(mean - 0.5) < 6 * sqrt(1 / 12 / 20_000)
