"""Report noisy max: ties cost nothing, and the value of the largest stays secret."""

from fractions import Fraction
from itertools import product
from math import exp, prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.loss import Pure
from sfumato.testing.rng import SeededRng

M, S = sf.mechanisms, sf.Sensitivity


def largest(values, scale):
    """P(i has the largest sum), uniform among equals."""
    ratio, reach = exp(-1 / scale), int(40 * scale) + 1

    def at(x):
        return (1 - ratio) / (1 + ratio) * ratio ** abs(x)

    def under(x):
        return ratio ** (1 - x) / (1 + ratio) if x <= 0 else 1 - ratio**x / (1 + ratio)

    law = [0.0] * len(values)
    for i, place in product(
        range(len(values)), range(min(values) - reach, max(values) + reach + 1)
    ):
        others = [place - v for j, v in enumerate(values) if j != i]
        for ties in product([False, True], repeat=len(others)):
            rest = prod(at(x) if t else under(x) for t, x in zip(ties, others, strict=True))
            law[i] += at(place - values[i]) * rest / (1 + sum(ties))
    return law


@given(
    st.lists(st.integers(-4, 4), min_size=2, max_size=4),
    st.sampled_from([0.4, 1.0, 2.5]),
    st.data(),
)
@settings(deadline=None, max_examples=60)
def test_one_unit_moves_no_log_odds_further_than_charged(values, scale, data):
    moves = data.draw(st.lists(st.integers(-1, 1), min_size=len(values), max_size=len(values)))
    for change, monotone in ((moves, False), ([abs(m) for m in moves], True)):
        other = [v + m for v, m in zip(values, change, strict=True)]
        claim = exp((1 if monotone else 2) / scale)
        for p, q in zip(largest(values, scale), largest(other, scale), strict=True):
            assert p <= claim * q * (1 + 1e-7)
            assert q <= claim * p * (1 + 1e-7)


def test_loss_is_pure_and_follows_the_relation():
    plain, growing = (M.NoisyMax(["a", "b"], scale=2, monotone=flag) for flag in (False, True))
    assert plain.loss(S(linf=1)) == Pure(1)
    assert growing.loss(S(linf=1)) == Pure(Fraction(1, 2))
    assert growing.loss(S(linf=1, neighbors="replace")) == Pure(1, neighbors="replace")
    assert M.NoisyMax(["a"], scale=2, step="1/2").loss(S(linf="3/5")) == Pure(1)


@pytest.mark.parametrize("cost", [{"epsilon": "1/2"}, {"rho": "1/8"}])
def test_calibration_fits(cost):
    s = S(linf=3)
    made = M.NoisyMax.calibrate(s, candidates=["a", "b"], step="1/4", **cost)
    loss = made.loss(s)
    if "rho" in cost:
        assert Fraction(1, 9) < sf.accounting.rho(loss) <= Fraction(1, 8)
    else:
        assert (loss, made.scale) == (Pure("1/2"), 12)


def test_equal_scores_are_equally_likely():
    made, rng = M.NoisyMax(list(range(40)), scale="1/8"), SeededRng(5)
    exact, seen = made.exact([0] * 40), [0] * 40
    for _ in range(20_000):
        seen[made.sample(exact, rng)] += 1
    assert all(abs(count - 500) < 6.5 * 500**0.5 for count in seen)


def test_wide_noise_and_wide_scores_are_no_trouble():
    made = M.NoisyMax(list(range(50)), scale=2**60)
    assert made([2**63] * 25 + [-(2**63)] * 25) in range(50)
    sharp = M.NoisyMax(["a", "b"], scale="1/1000000")
    assert sharp([2**63, -(2**63)]) == "a"


def test_noise_that_cannot_be_drawn_is_refused():
    for bad in ({"scale": 2**61}, {"scale": 0}, {"scale": 1, "step": 2**40}):
        with pytest.raises(sf.errors.RangeError):
            M.NoisyMax(["a"], **bad)
