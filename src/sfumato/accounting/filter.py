"""The filter that a ledger enforces: adaptively chosen releases never exceed the budget.

Every release is charged before it reads anything, with ε and ρ and one δ, fixed at that moment.
Under an (ε, δ) budget a charge is admitted if after it *either* Σε <= ε *or* Σρ <= ρ(ε, δ_conv),
and in both cases Σδ <= δ_mech, where δ = δ_mech + δ_conv is split when the budget is made. A pure
budget knows the first condition only, a ρ budget the second. The proof is in
``docs/theory/filter.md``.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from sfumato.accounting.curve import epsilon
from sfumato.accounting.grid import UNIT, coarse_above, units_up
from sfumato.accounting.pure import basic_epsilon, own_delta, unknown
from sfumato.accounting.sums import Charge, Limits, Remaining, Sums, show_down, show_up
from sfumato.accounting.zcdp import approximate_rho, laplace_rho, pure_ratio
from sfumato.core.budget import Budget
from sfumato.core.errors import BudgetExceeded, LossError
from sfumato.core.loss import LaplaceShift, Loss, Pure
from sfumato.core.number import Exactable, failure_probability, show


def charge(loss: Loss, delta: Exactable = 0, *, fixed: bool = False) -> Charge:
    """Return the price of a loss in every view of the filter.

    Guarantee: for neighbors the two laws of the release are ε-close, and ρ-concentrated, outside
        failures of probability δ in all.
    Theorem:   docs/theory/filter.md; of a batch, docs/theory/pld.md as well
    Exactness: each figure is rounded up once to 10^-18

    Args:
        loss: what the release will give away.
        delta: a δ to be charged, which gives Gaussian parts an ε and long compositions a smaller
            one; left at 0, the δ of the loss's approximate parts. It is charged only if it helps.
        fixed: whether all parts were fixed before the first was read, as those of a batch. Then ε
            at that δ may be that of the law of all their losses together.

    Raises:
        LossError: an unknown loss, or a `delta` below that of the approximate parts.

    Example:
        >>> price = charge(Pure("0.1"))
        >>> price.epsilon, price.rho, price.delta
        (100000000000000000, 4995837495787998, 0)
    """
    if type(delta) is int and not delta:
        # The two that ledgers are full of, without a detour through reduced fractions.
        if type(loss) is Pure:
            p, q = pure_ratio(loss.epsilon)
            return Charge(units_up(loss.epsilon), -(-p * UNIT // q), 0, loss.neighbors)
        if type(loss) is LaplaceShift:
            p, q = laplace_rho(loss)
            shift, scale = loss.l1.numerator, loss.scale
            cost = -(-shift * scale.denominator * UNIT // scale.numerator)
            return Charge(cost, -(-p * UNIT // q), 0, loss.neighbors)
    if not isinstance(loss, Loss):
        raise unknown(loss)
    return _charge(loss, failure_probability(delta), fixed)


def fits(spent: Sums, new: Loss | Charge, limit: Budget | Limits) -> bool:
    """Say whether a release may be charged.

    Guarantee: releases admitted one after the other, each chosen in view of all answers before it,
        are together within the budget.
    Theorem:   [RRUV16], [FZ21], [WRRW23]; docs/theory/filter.md
    Exactness: charges are rounded up, limits down

    Args:
        spent: the sums so far.
        new: the loss, or the charge if a δ was chosen for it.
        limit: the budget, or its limits as recorded (quicker, and they never change).

    Raises:
        NeighborsError: a loss under another relation than those before it.

    Example:
        >>> spent = spend(Sums(), Pure("0.9"), Budget(epsilon=1))
        >>> fits(spent, Pure("0.1"), Budget(epsilon=1)), fits(spent, Pure("0.2"), Budget(epsilon=1))
        (True, False)
    """
    price = new if isinstance(new, Charge) else charge(new)
    return Limits.of(limit).admit(spent + price)


def spend(spent: Sums, new: Loss | Charge, limit: Budget | Limits) -> Sums:
    """Return the sums after a release, or refuse it.

    Guarantee: as `fits`.
    Theorem:   [RRUV16], [FZ21], [WRRW23]; docs/theory/filter.md
    Exactness: charges are rounded up, limits down

    Args:
        spent: the sums so far.
        new: the loss, or the charge if a δ was chosen for it.
        limit: the budget, or its limits as recorded (quicker, and they never change).

    Raises:
        BudgetExceeded: it does not fit; carries `asked`, `left` and `limit`.
        NeighborsError: a loss under another relation than those before it.
    """
    price = new if isinstance(new, Charge) else charge(new)
    limits = Limits.of(limit)
    total = spent + price
    if limits.admit(total):
        return total
    left = remaining(spent, limits)
    raise BudgetExceeded(_refusal(price, left, limits), asked=price, left=left, limit=limit)


def remaining(spent: Sums, limit: Budget | Limits) -> Remaining:
    """Return what is left of a budget, in both views.

    Theorem:   docs/theory/filter.md
    Exactness: in units of 10^-18

    Args:
        spent: the sums so far.
        limit: the budget, or its limits as recorded.

    Example:
        >>> print(remaining(Sums() + charge(Pure(1)), Budget(epsilon=4, delta="1e-6")))
        ε = 3 or ρ = 0, with δ = 5e-07
    """
    limits = Limits.of(limit)

    def left(bound: int | None, used: int | None) -> Fraction | None:
        return None if bound is None or used is None else Fraction(max(bound - used, 0), UNIT)

    return Remaining(
        left(limits.epsilon, spent.epsilon),
        left(limits.rho, spent.rho),
        Fraction(max(limits.delta - spent.delta, 0), UNIT),
        Fraction(limits.delta, UNIT),
    )


@lru_cache(maxsize=4096)
def _charge(loss: Loss, delta: Fraction, fixed: bool) -> Charge:
    cost, own = basic_epsilon(loss), own_delta(loss)
    if 0 < delta < own:
        raise LossError(
            f"delta = {show(delta)} is below the δ = {show(own)} of the loss's approximate parts, "
            f"which is charged in any case. Leave delta= out, or pass {show(own)} or more."
        )
    failure = own
    if delta > own:
        better = _composed(loss, delta) if fixed else epsilon(loss, delta)
        if cost is None or better < cost:
            cost, failure = better, delta
    return Charge(
        None if cost is None else units_up(cost),
        units_up(approximate_rho(loss)),
        units_up(failure),
        loss.neighbors,
    )


def _composed(loss: Loss, delta: Fraction) -> Fraction:
    """Return ε of a loss by its distribution, or by the quick bound where that is less.

    What fails where ε is exceeded need not be what fails in approximate parts: their δ comes on
    top, so that one figure holds for both views.
    """
    from sfumato.accounting.pld import bounds

    quick, found = epsilon(loss, delta), bounds(loss, delta - own_delta(loss))
    # To few digits: the last ones are those of floats, and a charge is part of what is asked.
    return quick if found is None else min(quick, coarse_above(found.high))


def _refusal(asked: Charge, left: Remaining, limits: Limits) -> str:
    """Write why a charge does not fit, and what would."""
    fails = f"this release may fail with probability δ = {show_up(asked.delta)}"
    if asked.delta and not limits.delta:
        return f"{fails}; the budget has no δ. Ask without one, or let the owner set its ε and δ."
    if Fraction(asked.delta, UNIT) > left.delta:
        return (
            f"{fails}; {show_down(left.delta)} of {show_down(left.allowed)} remains (the other "
            f"half of the budget's δ pays for turning ρ into ε). "
            f"Ask for delta <= {show_down(left.delta)}, or for a release without δ."
        )
    if asked.epsilon is None and limits.rho is None:
        return (
            "this release has no ε, as with Gaussian noise, and the budget counts nothing else. "
            "Use noise that has one, such as discrete Laplace, or let the owner set its ε and δ."
        )
    costs = [
        f"{name} = {show_up(cost)}; {show_down(rest)} of {show_down(Fraction(bound, UNIT))} remains"
        for name, cost, rest, bound in (
            ("ε", asked.epsilon, left.epsilon, limits.epsilon),
            ("ρ", asked.rho, left.rho, limits.rho),
        )
        if cost is not None and rest is not None and bound is not None
    ]
    if not costs:
        return (
            "this release cannot be added to those before it: some had no ε and some no ρ, so that "
            "neither sum is known. Let the owner open a new budget."
        )
    advice = f"Ask for epsilon <= {show_down(left.largest)}, or let" if left.largest else "Let"
    return f"this release costs {', or '.join(costs)}. {advice} the owner raise the budget."
