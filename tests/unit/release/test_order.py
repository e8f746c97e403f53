from fractions import Fraction

import numpy as np
import pytest

from sfumato.core.errors import InputError, RangeError, UnknownName
from sfumato.release import law
from sfumato.release.error import Noise

NOISE = Noise("laplace", 4)


def behind(gap, weights, most):
    """P(N1 − N2 <= gap), by adding up."""
    k = np.arange(-most, most + 1)
    joint = weights[:, None] * weights[None, :]
    return joint[(k[:, None] - k[None, :]) <= gap].sum()


def test_order_has_the_probability_that_it_is_right(town):
    answer = town(counts=(300, 305, 320, 305), sums=(1, 2, 3, 4)).sort("n")
    assert answer.keys == (("zone", ("C", "B", "D", "A")),)
    most = law.reach(NOISE, 1e-12)
    weights = law.weights(NOISE, most)
    exact = [behind(gap, weights, most) for gap in (15, 0, 5)]
    found = [float(p) for p in answer.measure("n_order").values]
    assert found[:3] == pytest.approx(exact, abs=3e-5)
    assert found[3] == 1
    assert "not below that of the next" in answer.notes[0]


def test_ascending_order_turns_around(town):
    counts = (300, 305, 320)
    up = town(counts=counts).sort("n", descending=False)
    down = town(counts=counts).sort("n")
    assert up.keys == (("zone", ("A", "B", "C")),)
    assert up.measure("n_order").values[0] == down.measure("n_order").values[1]


def test_first_is_the_largest_with_a_probability(town):
    counts = (320, 310, 305)
    answer = town(counts=counts).sort("n")
    most = law.reach(NOISE, 1e-12)
    weights = law.weights(NOISE, most)
    k = np.arange(-most, most + 1)
    cut = np.concatenate([[0], np.cumsum(weights[::-1])])[::-1]  # P(N >= −most), …

    def at_least(x):
        return cut[np.clip(x + most, 0, 2 * most + 1)]

    exact = float((weights * at_least(k - 10) * at_least(k - 15)).sum())
    assert float(answer.leads("n")) == pytest.approx(exact, abs=2e-6)
    assert answer.notes[1].startswith("the first row has the largest exact n with probability 0.9")
    up = town(counts=counts).sort("n", descending=False)
    assert up.leads("n", descending=False) < 1


def test_first_among_many_or_with_common_noise_is_bounded(town):
    answer = town(counts=(320, 310, 305)).derive(x="n + fare").sort("x")
    assert 0 < answer.leads("x") <= 1
    far = town(counts=(320,) * 3).derive(x="n + n").sort("x")
    assert far.leads("x") == town(counts=(320,) * 3).sort("n").leads("n")
    assert town(counts=(5,), sums=(5,)).sort("n").leads("n") == 1


def test_equal_noise_in_both_cannot_change_the_order(town):
    answer = town().derive(x="n", y="n + 1")
    shifted = answer.derive(z="y - x")
    assert shifted.sort("z").measure("z_order").values == (1, 1, 1)


def test_means_are_compared_by_their_widths(town):
    answer = town().derive(m="fare / n").sort("m")
    assert answer.keys == (("zone", ("A", "B", "C")),)
    assert "as if normal" in answer.notes[-1]
    assert all(Fraction(1, 2) <= p <= 1 for p in answer.measure("m_order").values)
    with pytest.raises(InputError, match="counts and sums only"):
        answer.leads("m")


def test_without_intervals_there_is_an_order_and_no_probability(town, make):
    assert list(town().sort("mean")) == ["n", "fare", "mean"]
    plain = make([3, 5], error=None, keys={"k": ["a", "b"]})
    assert plain.sort("n").keys == (("k", ("b", "a")),)
    assert list(plain.sort("n")) == ["n"]
    text = make(["x", "y"], error=None, keys={"k": ["a", "b"]})
    assert text.sort("n").keys == (("k", ("b", "a")),)
    assert text.sort("n", descending=False).keys == (("k", ("a", "b")),)


def test_head_keeps_the_first_rows(town):
    answer = town().sort("n").head(2)
    assert answer.keys == (("zone", ("A", "B")),)
    assert answer.measure("n").covers == "noise only, before selection"
    assert len(town().head(0)) == 0
    assert len(town().head(99)) == 3
    for wrong in (-1, 1.5, "2", True):
        with pytest.raises(RangeError):
            town().head(wrong)


def test_refusals(town):
    with pytest.raises(UnknownName):
        town().sort("x")
    with pytest.raises(InputError, match="sorted by 'n' already"):
        town().sort("n").sort("n")
    with pytest.raises(InputError, match="no rows"):
        town().total("n").sort("n")
    assert len(town(counts=(), sums=(), keys=(("zone", ()),)).sort("n")) == 0
