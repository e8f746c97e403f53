"""The least noise that meets a target."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sfumato.accounting.curve import delta as delta_of
from sfumato.accounting.curve import epsilon as epsilon_of
from sfumato.accounting.grid import FINEST, dyadic, index_above, index_below, least
from sfumato.accounting.zcdp import rho as rho_of
from sfumato.core.errors import CostError, RangeError
from sfumato.core.loss import Loss
from sfumato.core.number import Exactable, failure_probability, positive, show


def calibrate(
    loss_of: Callable[[Fraction], Loss],
    *,
    epsilon: Exactable | None = None,
    delta: Exactable = 0,
    rho: Exactable | None = None,
    low: Exactable,
    high: Exactable,
) -> Fraction:
    """Return the least parameter whose loss is within the target.

    The parameter is noise: the more of it, the less is lost. It is sought among the numbers of 41
    significant bits from `low` to `high`.

    Guarantee: the loss at the parameter that is returned, as computed, is within the target.
    Theorem:   docs/theory/zcdp.md
    Exactness: above the least parameter by at most 1 in 2^40

    Args:
        loss_of: the loss at a parameter, such as ``lambda t: LaplaceShift(t, 1, 1)``.
        epsilon: the target ε, with `delta`; or
        rho: the target ρ.
        delta: the target δ; 0 unless passed.
        low: the least parameter to consider, above 0.
        high: the largest.

    Raises:
        CostError: no target, or targets of two families.
        RangeError: no parameter up to `high` is enough; or a range that is empty.
        LossError: a loss that has no cost in the family of the target.

    Example:
        >>> from sfumato.core.loss import LaplaceShift
        >>> calibrate(lambda t: LaplaceShift(t, 1, 1), epsilon="0.5", low="0.01", high=100)
        Fraction(2, 1)
    """
    within = _target(epsilon, delta, rho)
    smallest, largest = positive(low, "low"), positive(high, "high")
    if smallest > largest:
        raise RangeError(
            f"low = {show(smallest)} is above high = {show(largest)}, so there is nothing to "
            f"choose from. Swap them."
        )
    first, last = index_above(smallest), index_below(largest)
    if first > last or not within(loss_of(dyadic(last))):
        raise RangeError(
            f"no parameter from {show(smallest)} to {show(largest)} brings the loss within the "
            f"target. Raise high=, or ask for less privacy."
        )
    if within(loss_of(dyadic(first))):
        return dyadic(first)
    return dyadic(least(lambda index: within(loss_of(dyadic(index))), first, last))


def _target(
    epsilon: Exactable | None, delta: Exactable, rho: Exactable | None
) -> Callable[[Loss], bool]:
    failure = failure_probability(delta)
    if epsilon is not None and rho is None:
        limit = positive(epsilon, "epsilon")
        # δ for an ε is quicker to have than ε for a δ, and refuses as much; the latter decides.
        return lambda loss: (
            not (failure and delta_of(loss, limit) > max(failure, FINEST))
            and epsilon_of(loss, failure) <= limit
        )
    if rho is not None and epsilon is None and not failure:
        bound = positive(rho, "rho")
        return lambda loss: rho_of(loss) <= bound
    raise CostError(
        "a target is either epsilon= (with delta= if you like) or rho=, one of the two. "
        "Pass epsilon=1, or epsilon=1 with delta='1e-6', or rho='0.5'."
    )
