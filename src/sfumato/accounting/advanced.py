"""Advanced composition as it was first proved: for lessons, and for papers that quote it.

It showed that many small losses grow like a square root. Everything since is better: concentrated
and Rényi DP, optimal composition and privacy loss distributions. Nothing in this library rests on
it, and `accounting.epsilon` is never above it.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.accounting.grid import shorten_up
from sfumato.accounting.pure import basic_epsilon, fold, own_delta
from sfumato.core.errors import LossError
from sfumato.core.interval import Interval
from sfumato.core.loss import Loss
from sfumato.core.number import Exactable, failure_probability, show

_STEEP = 1000  # an ε whose e^ε is past all use


def advanced_epsilon(loss: Loss, delta: Exactable) -> Fraction:
    """Return sqrt(2·ln(1/δ')·Σε²) + Σε·(e^ε − 1), rounded up, where δ' is δ less that of the parts.

    Guarantee: (ε, δ)-DP of the composition.
    Theorem:   [DRV10]; docs/theory/optimal.md
    Exactness: rounded up, by at most 1 in 10^20

    Args:
        loss: compositions of parts that have an ε each.
        delta: δ, above that of the approximate parts.

    Raises:
        LossError: a part without an ε, or one beyond 1000; no δ left.

    Example:
        >>> from sfumato.core.loss import Pure
        >>> round(float(advanced_epsilon(Pure("0.1") * 100, delta="1e-6")), 3)
        6.308
    """
    target = failure_probability(delta)
    slack = target - own_delta(loss)
    if slack <= 0:
        raise LossError(
            f"advanced composition needs a δ of its own, and delta = {show(target)} leaves none. "
            f"Pass a larger delta, such as '1e-6'."
        )
    squares, drift = fold(loss, _square), fold(loss, _drift)
    if squares is None or drift is None:
        raise LossError(
            "advanced composition adds up parts that have an ε, of at most 1000. Ask for "
            "accounting.epsilon(loss, delta), which takes any loss."
        )
    spread = (2 * squares * -Interval.of(slack).log()).sqrt()
    return shorten_up(Fraction((spread + drift).high))


def _square(loss: Loss) -> Fraction | None:
    cost = basic_epsilon(loss)
    return None if cost is None or cost > _STEEP else cost * cost


def _drift(loss: Loss) -> Fraction | None:
    cost = basic_epsilon(loss)
    if cost is None or cost > _STEEP:
        return None
    return shorten_up(Fraction((cost * (Interval.of(cost).exp() - 1)).high))
