"""Weights, tails and safe continuous laws, against sums over the integers in plain Python."""

from fractions import Fraction

import numpy as np
import pytest

from sfumato.core.errors import InputError, RangeError
from sfumato.release import law
from sfumato.release.error import Noise

KINDS = ["laplace", "gaussian"]
SCALES = ["0.05", "0.3", "0.7", "1", "2.5", "9", "63", "70"]
each_law = pytest.mark.parametrize(
    "noise", [Noise(k, s) for k in KINDS for s in SCALES], ids=lambda n: f"{n.kind}-{n.scale}"
)


def summed(noise):
    """Return whole numbers and their probabilities, by the definition."""
    scale = float(noise.scale)
    k = np.arange(-int(60 * scale) - 9, int(60 * scale) + 10)
    exponent = np.abs(k) / scale if noise.kind == "laplace" else (k / scale) ** 2 / 2
    mass = np.exp(-exponent)
    return k, mass / mass.sum()


def smoothed(noise, t):
    """Return P(N + U > t), the part of each unit cell above t."""
    k, chances = summed(noise)
    return float(chances @ np.clip(k + 0.5 - t, 0, 1))


@each_law
def test_weights_are_the_probabilities(noise):
    k, chances = summed(noise)
    most = int(k[-1]) // 2
    assert law.weights(noise, most) == pytest.approx(chances[np.abs(k) <= most], abs=1e-12)


@each_law
def test_survival_is_the_tail_of_noise_plus_uniform(noise):
    at = np.concatenate([[-7.3, -0.5, -0.2, 0], np.linspace(0.1, 5 * float(noise.scale) + 2, 30)])
    want = np.array([smoothed(noise, t) for t in at])
    assert law.survival(noise, at) == pytest.approx(want, rel=2e-3, abs=1e-12)
    if float(noise.scale) <= 64:
        assert law.survival(noise, at) == pytest.approx(want, rel=1e-9, abs=1e-15)


@each_law
@pytest.mark.parametrize("alpha", [0.3, 0.05, 1e-6])
def test_reach_is_the_least_that_suffices(noise, alpha):
    k, chances = summed(noise)
    reach = law.reach(noise, alpha)
    assert chances[np.abs(k) > reach].sum() <= alpha
    if reach and float(noise.scale) <= 64:
        assert chances[np.abs(k) > reach - 1].sum() > alpha


@each_law
def test_variance_is_never_understated(noise):
    k, chances = summed(noise)
    true = float(chances @ k.astype(float) ** 2)
    assert true * (1 - 1e-9) <= law.variance(noise)
    if noise.kind == "laplace":
        assert law.variance(noise) == pytest.approx(true, rel=1e-6, abs=1e-8)


@each_law
def test_continuous_law_is_never_closer_to_zero(noise):
    at = np.linspace(0, 12 * float(noise.scale) + 3, 2000)
    scale = law.peaked(noise)
    if noise.kind == "laplace":
        safe = np.exp(-at / scale)
    else:
        from scipy.special import ndtr

        safe = 2 * ndtr(-at / scale)
    assert (2 * law.survival(noise, at) <= safe * (1 + 1e-9) + 1e-14).all()
    assert scale <= float(noise.scale) + max(0.75, 0.05 * float(noise.scale))


@pytest.mark.parametrize("kind", KINDS)
def test_scale_of_any_size_is_computed_with(kind):
    tiny, huge = Noise(kind, Fraction(1, 10**400)), Noise(kind, 10**15)
    assert law.reach(tiny, 1e-9) == 0
    assert law.variance(tiny) < 1e-5
    assert 1e15 < law.reach(huge, 0.05) < 4e15
    assert law.survival(huge, np.array([1e15]))[0] == pytest.approx(
        {"laplace": np.exp(-1) / 2, "gaussian": 0.158655}[kind], rel=1e-4
    )


def test_noise_refuses_an_unknown_family_and_a_scale_of_zero():
    with pytest.raises(InputError, match="laplace, gaussian"):
        Noise("cauchy", 1)
    with pytest.raises(RangeError, match="scale"):
        Noise("laplace", 0)


def test_noise_holds_its_scale_exactly():
    assert Noise("gaussian", 0.1).scale == Fraction(1, 10)
