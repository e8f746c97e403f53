"""The privacy curve of a loss: ε for a δ, and δ for an ε; the least that this version can prove.

Several methods bound the same loss, and the least bound counts: ε added up; concentrated DP, which
is better for many small losses; both, each for a part of the losses; the exact curve of the
discrete Gaussian where there is one scalar of it; the worst part where a unit is in one only. The δ
of approximate parts is taken off first.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import isqrt

from sfumato.accounting.convert import zcdp_delta, zcdp_epsilon
from sfumato.accounting.gaussian import gaussian_delta, gaussian_epsilon
from sfumato.accounting.grid import FINEST
from sfumato.accounting.pure import amplified, basic_epsilon, own_delta, unamplified
from sfumato.accounting.zcdp import approximate_rho, rho_if_any
from sfumato.core.errors import LossError
from sfumato.core.loss import Composed, GaussianShift, Loss, PoissonSampled, Worst
from sfumato.core.number import Exactable, failure_probability, nonnegative, show, show_above


def epsilon(loss: Loss, delta: Exactable = 0) -> Fraction:
    """Return the least ε for which `loss` is known to be (ε, δ)-DP, rounded up.

    Guarantee: (ε, δ)-DP under the neighbor relation of the loss; monotone in δ.
    Theorem:   [DKMMN06], [CKS20, Cor 13]; docs/theory/zcdp.md
    Exactness: rounded up, by at most about 1 in 10^9 of the best method's bound

    Args:
        loss: what happened.
        delta: δ; 0 unless passed.

    Raises:
        LossError: Gaussian noise without a δ; approximate parts that need more δ; an unknown loss.

    Example:
        >>> from sfumato.core.loss import Pure
        >>> epsilon(Pure("0.1") * 10)
        Fraction(1, 1)
        >>> round(float(epsilon(Pure("0.1") * 100, delta="1e-6")), 3)
        5.219
    """
    target = failure_probability(delta)
    own = own_delta(loss)
    if own > target:
        raise LossError(
            f"this loss has approximate parts that fail with probability δ = {show(own)} by "
            f"themselves, above delta = {show(target)}: no ε holds there. "
            f"Pass a delta of {show_above(own)} or more."
        )
    bounds = list(_epsilons(loss, target, target - own))
    if not bounds:
        raise LossError(
            f"this loss has Gaussian or concentrated parts, which no ε bounds with certainty, and "
            f"delta = {show(target)} leaves nothing for them. "
            f"Pass delta=, such as delta='1e-6'" + (", above that δ." if own else ".")
        )
    return min(bounds)


def delta(loss: Loss, epsilon: Exactable) -> Fraction:
    """Return the least δ for which `loss` is known to be (ε, δ)-DP, rounded up; 1 says nothing.

    Guarantee: (ε, δ)-DP under the neighbor relation of the loss.
    Theorem:   [DKMMN06], [CKS20, Cor 13]; docs/theory/zcdp.md
    Exactness: rounded up, by at most about 1 in 10^9 of the best method's bound

    Args:
        loss: what happened.
        epsilon: ε, zero or above.

    Raises:
        LossError: an unknown loss.

    Example:
        >>> from sfumato.core.loss import Concentrated
        >>> round(float(delta(Concentrated("0.5"), epsilon=5)) * 1e6, 3)
        2.896
    """
    target = nonnegative(epsilon, "epsilon")
    return min([*_deltas(loss, target), Fraction(1)])


def _epsilons(loss: Loss, target: Fraction, slack: Fraction) -> Iterator[Fraction]:
    basic = basic_epsilon(loss)
    if basic is not None:
        yield basic
    if not slack:
        return
    cost = rho_if_any(loss)
    if cost is not None:
        yield zcdp_epsilon(cost, slack)
    if basic is None:
        pure, rest = _split(loss)
        if pure and cost is not None:
            yield pure + zcdp_epsilon(approximate_rho(rest), slack)
        if type(rest) is GaussianShift and rest.scalar and slack >= FINEST:
            yield pure + gaussian_epsilon(rest.sigma, _whole(rest), slack)
    if type(loss) is Worst and loss.touched == 1:
        yield max(epsilon(part, target) for part, _ in loss.parts)
    if type(loss) is PoissonSampled:
        if target >= loss.rate:
            yield Fraction(0)  # whoever is not in the sample gives nothing away
        else:
            # δ of the sample is rate·δ of the mechanism, at an ε that is amplified.
            yield amplified(epsilon(loss.loss, target / loss.rate), loss.rate)


def _deltas(loss: Loss, target: Fraction) -> Iterator[Fraction]:
    own, basic = own_delta(loss), basic_epsilon(loss)
    if basic is not None and basic <= target:
        yield own
    cost = rho_if_any(loss)
    if cost is not None:
        yield own + zcdp_delta(cost, target)
    if basic is None:
        pure, rest = _split(loss)
        if 0 < pure <= target and cost is not None:
            yield own + zcdp_delta(approximate_rho(rest), target - pure)
        if type(rest) is GaussianShift and rest.scalar and pure <= target:
            yield own + gaussian_delta(rest.sigma, _whole(rest), target - pure)
    if type(loss) is Worst and loss.touched == 1:
        yield max(delta(part, target) for part, _ in loss.parts)
    if type(loss) is PoissonSampled and loss.rate:
        yield loss.rate * delta(loss.loss, unamplified(target, loss.rate))


def _split(loss: Loss) -> tuple[Fraction, Loss]:
    """Separate Σε of the parts that have an ε from the loss of those that have none."""
    pure, rest = Fraction(0), []
    for part, count in loss.parts if type(loss) is Composed else ((loss, 1),):
        cost = basic_epsilon(part)
        if cost is None:
            rest.append(part * count)
        else:
            pure += cost * count
    return pure, Composed.of(rest)


def _whole(loss: GaussianShift) -> int:
    """Return the largest whole shift of one cell."""
    return isqrt(loss.l2_squared.numerator // loss.l2_squared.denominator)
