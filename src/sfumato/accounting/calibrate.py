"""The least noise that meets a target."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sfumato.accounting import best, curve
from sfumato.accounting.gaussian_dp import mu as mu_of
from sfumato.accounting.grid import BITS, FINEST, dyadic, index_above, index_below, least
from sfumato.accounting.renyi import renyi as renyi_of
from sfumato.accounting.tradeoff import tradeoff
from sfumato.accounting.zcdp import rho as rho_of
from sfumato.core.errors import CostError, RangeError
from sfumato.core.loss import Loss
from sfumato.core.number import Exactable, failure_probability, open_unit, positive, show

_COARSE = 1 << BITS - 20  # where each step is slow, parameters of 21 significant bits are enough
Pair = tuple[Exactable, Exactable]


def calibrate(  # noqa: PLR0913 - one keyword a family of targets
    loss_of: Callable[[Fraction], Loss],
    *,
    epsilon: Exactable | None = None,
    delta: Exactable = 0,
    rho: Exactable | None = None,
    mu: Exactable | None = None,
    renyi: Pair | None = None,
    advantage: Exactable | None = None,
    tpr: Pair | None = None,
    tight: bool = False,
    low: Exactable,
    high: Exactable,
) -> Fraction:
    """Return the least parameter whose loss is within the target.

    The parameter is noise: the more of it, the less is lost. It is sought among the numbers of 41
    significant bits from `low` to `high`, and of 21 bits where the target is `tight` or a risk.

    The target is of one family: ε (with δ), ρ, μ, a Rényi divergence, or what an attacker who asks
    whether somebody is in the data may achieve.

    Guarantee: the loss at the parameter that is returned, as computed, is within the target.
    Theorem:   docs/theory/zcdp.md
    Exactness: above the least parameter by at most 1 in 2^40, or in 2^20

    Args:
        loss_of: the loss at a parameter, such as ``lambda t: LaplaceShift(t, 1, 1)``.
        epsilon: the target ε, with `delta`; or
        rho: the target ρ; or
        mu: the target μ of Gaussian DP; or
        renyi: an order and the target divergence; or
        advantage: the most by which an attack's true alarms may exceed its false ones; or
        tpr: a false alarm rate, and the most true alarms that an attack may reach at it.
        delta: the target δ; 0 unless passed.
        tight: take the best bound for a plan that is fixed in advance, by whichever method, instead
            of the quick one that a ledger charges; slower.
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
    given = {"epsilon": epsilon, "rho": rho, "mu": mu, "renyi": renyi}
    given |= {"advantage": advantage, "tpr": tpr}
    family, within = _target({k: v for k, v in given.items() if v is not None}, delta, tight)
    smallest, largest = positive(low, "low"), positive(high, "high")
    if smallest > largest:
        raise RangeError(
            f"low = {show(smallest)} is above high = {show(largest)}, so there is nothing to "
            f"choose from. Swap them."
        )
    step = _COARSE if (tight and family == "epsilon") or family in ("advantage", "tpr") else 1
    first, last = -(-index_above(smallest) // step), index_below(largest) // step
    if first > last or not within(loss_of(dyadic(last * step))):
        raise RangeError(
            f"no parameter from {show(smallest)} to {show(largest)} brings the loss within the "
            f"target. Raise high=, or ask for less privacy."
        )
    if within(loss_of(dyadic(first * step))):
        return dyadic(first * step)
    found = least(lambda index: within(loss_of(dyadic(index * step))), first, last)
    return dyadic(found * step)


def _target(
    given: dict[str, Exactable | Pair], delta: Exactable, tight: bool
) -> tuple[str, Callable[[Loss], bool]]:
    """Return the family of the target, and whether a loss is within it."""
    failure = failure_probability(delta)
    quick_only = tight and not given.keys() & {"epsilon", "advantage", "tpr"}
    if len(given) != 1 or (failure and "epsilon" not in given) or quick_only:
        if not tight and given.keys() <= {"epsilon", "rho"}:
            raise CostError(
                "a target is either epsilon= (with delta= if you like) or rho=, one of the two. "
                "Pass epsilon=1, or epsilon=1 with delta='1e-6', or rho='0.5'."
            )
        raise CostError(
            "a target is of one family: epsilon= (with delta= if you like), rho=, mu=, renyi=, "
            "advantage= or tpr=; tight= goes with ε, advantage and tpr only. Pass one of them."
        )
    ((family, asked),) = given.items()
    if family in ("renyi", "tpr"):
        return family, _pair(family, asked, tight)
    bound = open_unit(asked, family) if family == "advantage" else positive(asked, family)
    if family == "epsilon":
        return family, _within_epsilon(bound, failure, tight)
    if family == "rho":
        return family, lambda loss: rho_of(loss) <= bound
    if family == "mu":
        return family, lambda loss: mu_of(loss) <= bound
    return family, lambda loss: tradeoff(loss, tight=tight).advantage <= bound


def _within_epsilon(limit: Fraction, failure: Fraction, tight: bool) -> Callable[[Loss], bool]:
    if tight:
        return lambda loss: best.delta(loss, limit) <= failure  # one figure, not a search for one
    # δ for an ε is quicker to have than ε for a δ, and refuses as much; the latter decides.
    return lambda loss: (
        not (failure and curve.delta(loss, limit) > max(failure, FINEST))
        and curve.epsilon(loss, failure) <= limit
    )


def _pair(family: str, asked: Exactable | Pair, tight: bool) -> Callable[[Loss], bool]:
    if not isinstance(asked, tuple) or len(asked) != 2:
        raise CostError(
            f"{family}= is a pair: an order and a divergence for renyi, as in (8, '0.5'); false "
            f"and true alarm rates for tpr, as in ('0.001', '0.01')."
        )
    at, most = asked
    if family == "renyi":
        bound = positive(most, "divergence")
        return lambda loss: renyi_of(loss, at) <= bound
    rate, share = open_unit(at, "false alarm rate"), open_unit(most, "true alarm rate")
    return lambda loss: tradeoff(loss, tight=tight).tpr(rate) <= share
