"""What counts prove: exact binomial limits, and the ε and μ that follow from them.

An event that happens in a share p of the releases from one input and in a share q of those from
its neighbor refutes every claim with p > exp(ε)·q + δ or Φ⁻¹(p) − Φ⁻¹(q) > μ. Shares are not known,
only counts, so p is replaced by a lower and q by an upper limit, those of Clopper and Pearson.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, expm1, log

import numpy as np
from numpy.typing import NDArray

# scipy's inverse of the beta function is good to 1e-12 or so; limits are moved outwards by more.
_FLOAT_SLACK = 1e-9
_FACTORS = (1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0)
_SURE_ENOUGH = 0.9  # power from which a factor counts as one that would have been caught


@dataclass(frozen=True, slots=True)
class Limits:
    """A lower limit of one share and an upper limit of another, both right at once.

    Attributes:
        low: lower limit of the share on the side where the event is likelier.
        high: upper limit of the share on the other side.
    """

    low: float
    high: float

    @classmethod
    def of(cls, hits: int, other: int, trials: int, level: float) -> Limits:
        """Bound two shares from `trials` draws each; each bound fails with probability `level`."""
        return cls(lower(hits, trials, level), upper(other, trials, level))

    def epsilon(self, delta: float) -> float:
        """Return the ε below which (ε, δ)-DP is refuted; 0 where nothing is."""
        return max(0.0, log((self.low - delta) / self.high)) if self.low > delta else 0.0

    def mu(self) -> float:
        """Return the μ below which μ-Gaussian DP is refuted; 0 where nothing is."""
        from scipy.special import ndtri

        return max(0.0, float(ndtri(self.low) - ndtri(self.high)))


def lower(hits: int, trials: int, level: float) -> float:
    """Return a limit that lies above the true share with probability `level` at most."""
    from scipy.special import betaincinv

    if not hits:
        return 0.0
    return float(betaincinv(hits, trials - hits + 1, level)) * (1 - _FLOAT_SLACK)  # down


def upper(hits: int, trials: int, level: float) -> float:
    """Return a limit that lies below the true share with probability `level` at most."""
    from scipy.special import betainccinv

    if hits == trials:
        return 1.0
    return min(1.0, float(betainccinv(hits + 1, trials - hits, level)) * (1 + _FLOAT_SLACK))  # up


def ceiling(trials: int, level: float) -> float:
    """Return the largest ε that `trials` can prove: all hits on one side, none on the other."""
    rare = rarest(trials, level)
    return log(1 / rare - 1) if rare < 1 / 2 else 0.0


def rarest(trials: int, level: float) -> float:
    """Return the share below which an event may be missed in all `trials`: about ln(1/level)/n.

    Example:
        >>> round(rarest(200_000, 0.001 / 8) * 200_000)
        9
    """
    return -expm1(log(level) / trials)


def factor_caught(
    claimed: float, trials: int, level: float, *, delta: float = 0.0, gaussian: bool = False
) -> tuple[float, float] | None:
    """Return the smallest factor on ε (or μ) that would have been caught, and how surely.

    The yardstick is the best event of noise that is too small by that factor: Laplace noise on a
    fine grid, with shares 1/2 and exp(−ε)/2, or Gaussian noise, with shares Φ(±μ/2).
    """
    for factor in _FACTORS:
        chance = _power(claimed, factor * claimed, trials, level, delta, gaussian)
        if chance >= _SURE_ENOUGH:
            return factor, chance
    return None


def _power(
    claimed: float, true: float, trials: int, level: float, delta: float, gaussian: bool
) -> float:
    """Return the probability that `trials` prove more than was claimed."""
    from scipy.special import bdtr, bdtrik, betaincinv, ndtr, ndtri

    p, q = (ndtr(true / 2), ndtr(-true / 2)) if gaussian else (0.5, 0.5 * exp(-true))
    quantiles = (np.arange(100) + 0.5) / 100
    hits = np.clip(
        np.rint(trials * p + ndtri(quantiles) * (trials * p * (1 - p)) ** 0.5), 1, trials
    )
    low = betaincinv(hits, trials - hits + 1, level)
    wanted = ndtr(ndtri(low) - claimed) if gaussian else (low - delta) * exp(-claimed)
    wanted = np.clip(wanted, 1e-300, 1 - 1e-16)
    # The upper limit of k hits is below `wanted` iff P(Bin(n, wanted) <= k) < level.
    most = np.floor(bdtrik(level, trials, wanted))
    possible = bdtr(most, trials, wanted) < level
    return float(np.where(possible, bdtr(most, trials, q), 0.0).mean())


def score_limits(
    hits: NDArray[np.int64], other: NDArray[np.int64], trials: int, z: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return Wilson's limits for many events at once: quick, and good enough to choose by."""
    square = z * z
    low = hits + square / 2 - z * np.sqrt(hits * (1 - hits / trials) + square / 4)
    high = other + square / 2 + z * np.sqrt(other * (1 - other / trials) + square / 4)
    return np.maximum(low, 0.0) / (trials + square), high / (trials + square)
