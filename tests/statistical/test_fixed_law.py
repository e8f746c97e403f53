"""Chi-square tests of the kernels of fixed work against their law.

On push with fixed seeds, so that a pass is a pass for ever; deep with fresh entropy, at a level at
which a false alarm of any of them has a probability below 10^-9.
"""

from fractions import Fraction

import numpy as np
import pytest
from scipy import special, stats

from sfumato.noise import FixedWork, Gaussian, Laplace, draw, system
from sfumato.testing import SeededRng

LEVEL = 1e-11  # of each test, of which there are fewer than a hundred
CELLS = 120
SCALES = ["1/4", "1", "5/2", "40", "63", "64", "100", "12345/7", "1e6", "1e9", "1e14"]
LAWS = [
    *(Laplace(Fraction(scale)) for scale in SCALES),
    *(Gaussian(Fraction(scale)) for scale in SCALES),
    *(Laplace(Fraction(scale), two_sided=False) for scale in ("1/2", "3", "1000", "1e6")),
]


def distribution(law, x):
    """Return P(X <= x) in floats, from closed forms or direct sums."""
    scale = float(law.scale)
    if isinstance(law, Gaussian):
        if scale > 30:  # sum and integral differ by 1/(24·scale²) of the density's curvature
            return special.ndtr((x + 0.5) / scale)
        support = np.arange(-60 * max(1, int(scale)), 60 * max(1, int(scale)) + 1)
        sums = np.cumsum(np.exp(-(support**2) / (2 * scale * scale)))
        places = np.clip(np.searchsorted(support, x, "right") - 1, 0, support.size - 1)
        return sums[places] / sums[-1]
    q = np.exp(-1 / scale)
    if not law.two_sided:
        return -np.expm1(-(x + 1) / scale)
    beyond = np.exp(-np.maximum(x + 1, 0) / scale) / (1 + q)
    return np.where(x >= 0, 1 - beyond, np.exp(np.minimum(x, 0) / scale) / (1 + q))


def statistic(seen, chances):
    """Return the probability of counts that are at least as far from what is expected."""
    expected = chances * seen.sum()
    rare = expected < 20
    seen = np.append(seen[~rare], seen[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    used = expected > 0
    assert not seen[~used].any()
    return stats.chi2.sf(
        ((seen - expected)[used] ** 2 / expected[used]).sum(), max(1, used.sum() - 1)
    )


def check(law, size, rng):
    drawn = draw(law, size, rng).astype(np.float64)
    reach = 6 * float(law.scale)
    ends = np.unique(np.round(np.linspace(-reach if law.two_sided else 0, reach, CELLS)))
    below = distribution(law, ends)
    chances = np.diff(np.concatenate([[0.0], below, [1.0]]))
    seen = np.bincount(np.searchsorted(ends, drawn, "left"), minlength=chances.size)
    assert statistic(seen, chances) > LEVEL
    if law.scale > 1000:  # wide noise has uniform low bits
        low = np.bincount(draw(law, size, rng).astype(np.int64) & 15, minlength=16)
        assert statistic(low, np.full(16, 1 / 16)) > LEVEL


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_noise_of_fixed_work_follows_its_law(law):
    check(law, 200_000, FixedWork(SeededRng(1)))


@pytest.mark.deep
@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_noise_of_fixed_work_follows_its_law_at_full_size(law):
    check(law, 5_000_000, FixedWork(system()))


@pytest.mark.parametrize("factor", ["1/2", "21/20"])
def test_noise_of_another_scale_is_seen(factor):
    law = Laplace(Fraction(1000))
    drawn = draw(Laplace(law.scale * Fraction(factor)), 200_000, FixedWork(SeededRng(2)))
    ends = np.unique(np.round(np.linspace(-6000, 6000, CELLS)))
    chances = np.diff(np.concatenate([[0.0], distribution(law, ends), [1.0]]))
    seen = np.bincount(np.searchsorted(ends, drawn, "left"), minlength=chances.size)
    assert statistic(seen, chances) < LEVEL
