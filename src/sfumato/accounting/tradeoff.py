"""Trade-off curves: how well anybody can tell two neighbors apart from a release.

An attacker who claims that somebody is in the data errs in two ways: by a false alarm, with
probability α, or by a miss, with probability β. A trade-off curve is the least β that any attack
can reach at each α. What is returned here is below it: nobody does better than it says.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from operator import index
from statistics import NormalDist

from sfumato.accounting import best, curve
from sfumato.accounting.gaussian_dp import below, mu_squared
from sfumato.accounting.pure import basic_epsilon, own_delta
from sfumato.core.errors import RangeError
from sfumato.core.interval import Interval
from sfumato.core.loss import Approximate, Loss, Pure
from sfumato.core.number import Exactable, exact, is_integer, show

_DIGITS = 40
_TINIEST = Fraction(1, 10**12)  # the grid of ε ends where δ is about this
_STEPS, _QUICK_STEPS = 32, 8
_ENDLESS = 400  # digits of e^ε


@dataclass(frozen=True, slots=True)
class Tradeoff:
    """The least errors of any attack, as far as they are known; call it with a false alarm rate.

    Attributes:
        pairs: (ε, δ) under all of which the release is private; each is two lines below the curve.
        mu_squared: μ² where the curve is that of Gaussian DP, which is then known exactly.

    Example:
        >>> curve = tradeoff(Pure(1))
        >>> round(float(curve("0.1")), 4), round(float(curve.advantage), 4)
        (0.7282, 0.4621)
    """

    pairs: tuple[tuple[Fraction, Fraction], ...]
    mu_squared: Fraction | None = None

    def __call__(self, alpha: Exactable) -> Fraction:
        """Return the least miss rate of any attack whose false alarm rate is `alpha`."""
        level = _rate(alpha)
        lines = [line for epsilon, delta in self.pairs for line in _lines(epsilon, delta, level)]
        if self.mu_squared is not None:
            lines.append(_gaussian(self.mu_squared, level))
        return max([*lines, Fraction(0)])

    def tpr(self, fpr: Exactable) -> Fraction:
        """Return the largest share of members that an attack finds at a false alarm rate."""
        return 1 - self(fpr)

    @property
    def advantage(self) -> Fraction:
        """The most by which true alarms exceed false ones, at any rate: membership advantage."""
        bounds = [_advantage(epsilon, delta) for epsilon, delta in self.pairs]
        if self.mu_squared is not None:
            half = Interval.of(self.mu_squared / 4, _DIGITS).sqrt()
            bounds.append(Fraction((2 * below(half) - 1).high) if self.mu_squared else Fraction(0))
        return min([*bounds, Fraction(1)])

    def curve(self, points: int = 101) -> list[tuple[float, float]]:
        """Return points of the curve for a chart: false alarms from 0 to 1, and misses."""
        if not is_integer(points) or index(points) < 2:
            raise RangeError(
                f"points = {points!r} must be a whole number from 2 up: a curve has two ends. "
                f"Pass points=101."
            )
        last = index(points) - 1
        return [(i / last, float(self(Fraction(i, last)))) for i in range(last + 1)]


def tradeoff(loss: Loss, *, tight: bool = True) -> Tradeoff:
    """Return the trade-off curve of a loss, from below.

    Guarantee: every attack that tells neighbors apart, with a false alarm rate α, misses at least a
        share of β(α).
    Theorem:   [DRS22], [WZ10]; docs/theory/tradeoff.md
    Exactness: exact for pure, approximate and Gaussian DP; else the best of some thirty (ε, δ)

    Args:
        loss: what happened, fixed in advance.
        tight: by the best method for each (ε, δ); else by the quick ones that a ledger charges by.

    Raises:
        LossError: an unknown loss.

    Example:
        >>> from sfumato.core.loss import GaussianTradeoff
        >>> risk = tradeoff(GaussianTradeoff(1))
        >>> round(float(risk.advantage), 3), round(float(risk.tpr("0.001")), 3)
        (0.383, 0.018)
    """
    square = mu_squared(loss)
    if square is not None:
        return Tradeoff((), square)
    if type(loss) is Pure:
        return Tradeoff(((loss.epsilon, Fraction(0)),))
    if type(loss) is Approximate:
        return Tradeoff(((loss.epsilon, loss.delta),))
    own, whole = own_delta(loss), basic_epsilon(loss)
    ends = [] if whole is None else [(whole, own)]
    method = best if tight else curve
    farthest = method.epsilon(loss, own + _TINIEST)
    steps = _STEPS if tight else _QUICK_STEPS
    grid = [farthest * (steps - step) / steps for step in range(steps + 1)]
    return Tradeoff((*ends, *((epsilon, method.delta(loss, epsilon)) for epsilon in grid)))


def _lines(epsilon: Fraction, delta: Fraction, alpha: Fraction) -> tuple[Fraction, Fraction]:
    """Return 1 − δ − e^ε·α and e^(−ε)·(1 − δ − α), rounded down."""
    grown = _exp(epsilon)
    if (
        grown.high.is_infinite() or grown.high.adjusted() > _ENDLESS
    ):  # the lines are as good as upright and flat
        return (1 - delta if not alpha else Fraction(0)), Fraction(0)
    left = max(1 - delta - alpha, Fraction(0))
    return 1 - delta - Fraction(grown.high) * alpha, Fraction((left / grown).low)


def _advantage(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return (e^ε − 1 + 2δ)/(e^ε + 1), rounded up."""
    if not epsilon:
        return delta
    return Fraction((1 - (2 - 2 * delta) / (_exp(epsilon) + 1)).high)


def _gaussian(square: Fraction, alpha: Fraction) -> Fraction:
    """Return Φ(Φ⁻¹(1 − α) − μ), rounded down."""
    if alpha in (0, 1):
        return 1 - alpha
    place = _quantile_down(alpha)
    found = below(Interval.of(place, _DIGITS) - Interval.of(square, _DIGITS).sqrt())
    return max(Fraction(found.low), Fraction(0)) if found.low.adjusted() > -400 else Fraction(0)


@lru_cache(maxsize=1024)
def _quantile_down(alpha: Fraction) -> Fraction:
    """Return a number just below Φ⁻¹(1 − α)."""
    level = float(alpha)
    place = Fraction(-NormalDist().inv_cdf(level)) if 0 < level < 1 else Fraction(0)
    step = max(abs(place), Fraction(1)) / 10**12
    # down: a smaller quantile has a larger false alarm rate, so that β is understated
    while below(-Interval.of(place, _DIGITS)).low < alpha:
        place, step = place - step, 2 * step
    return place


@lru_cache(maxsize=1024)
def _exp(epsilon: Fraction) -> Interval:
    return Interval.of(epsilon, _DIGITS).exp()


def _rate(alpha: Exactable) -> Fraction:
    level = exact(alpha, "alpha")
    if not 0 <= level <= 1:
        raise RangeError(
            f"alpha = {show(level)} must lie between 0 and 1: it is the share of false alarms. "
            f"Write '0.001' for one in a thousand."
        )
    return level
