"""The best figures that this version can prove, for a composition that was fixed in advance.

The ledger charges by quick bounds that hold however an analyst chooses the next question
(`sfumato.accounting.curve`). For a plan that was fixed before the first answer more is known, and
the functions here take the least over all methods: added up, by concentrated and by Rényi DP, by
optimal composition, by Gaussian DP and by privacy loss distributions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from sfumato.accounting import curve
from sfumato.accounting.advanced import advanced_epsilon
from sfumato.accounting.convert import zcdp_epsilon
from sfumato.accounting.gaussian_dp import gaussian_dp_delta, gaussian_dp_epsilon, mu_squared
from sfumato.accounting.optimal import is_homogeneous, optimal_delta, optimal_epsilon
from sfumato.accounting.pure import basic_epsilon, own_delta
from sfumato.accounting.renyi import renyi_delta, renyi_epsilon
from sfumato.accounting.zcdp import approximate_rho
from sfumato.core.errors import LossError
from sfumato.core.loss import (
    Approximate,
    Composed,
    GaussianShift,
    LaplaceShift,
    Loss,
    PoissonSampled,
    Pure,
    Worst,
)
from sfumato.core.number import Exactable, failure_probability, nonnegative, show, show_above

Method = Callable[[Loss, Fraction], Fraction]


def epsilon(loss: Loss, delta: Exactable = 0) -> Fraction:
    """Return the least ε for which `loss` is known to be (ε, δ)-DP, by whichever method.

    For a composition that was fixed before its first answer: which losses there are must not
    depend on answers. A figure from here never admits a release whose size was chosen in view of
    earlier ones; a ledger does that by `charge` and `fits`, at a somewhat higher price.

    Guarantee: (ε, δ)-DP under the neighbor relation of the loss.
    Theorem:   [DKMMN06], [CKS20, Cor 13], [KOV15], [BW18, Thm 8]; docs/theory/optimal.md
    Exactness: rounded up, each method as far as it says

    Args:
        loss: what happens.
        delta: δ; 0 unless passed.

    Raises:
        LossError: Gaussian noise without a δ; approximate parts that need more δ; an unknown loss.

    Example:
        >>> epsilon(Pure("0.1") * 10)
        Fraction(1, 1)
        >>> round(float(epsilon(Pure("0.1") * 100, delta="1e-6")), 3)
        4.775
    """
    target = failure_probability(delta)
    bounds: list[Fraction] = []
    refusal: LossError | None = None
    try:
        bounds.append(curve.epsilon(loss, target))
    except LossError as problem:
        refusal = problem  # a Rényi curve, or a δ of parts that are counted too simply
    if target and any(bounds or [1]):
        bounds += _heavy(_EPSILONS, loss, target)
    if type(loss) is Worst and loss.touched == 1:
        bounds.append(max(epsilon(part, target) for part, _ in loss.parts))
    if not bounds and refusal is not None:
        raise refusal
    return min(bounds)


def delta(loss: Loss, epsilon: Exactable) -> Fraction:
    """Return the least δ for which `loss` is known to be (ε, δ)-DP, by whichever method.

    For a composition that was fixed before its first answer, as `epsilon`.

    Guarantee: (ε, δ)-DP under the neighbor relation of the loss; 1 says nothing.
    Theorem:   [DKMMN06], [CKS20, Cor 13], [KOV15], [BW18, Thm 8]; docs/theory/optimal.md
    Exactness: rounded up, each method as far as it says

    Args:
        loss: what happens.
        epsilon: ε, zero or above.

    Raises:
        LossError: an unknown loss.

    Example:
        >>> round(float(delta(Pure(1), epsilon=0)), 4)
        0.4621
    """
    target = nonnegative(epsilon, "epsilon")
    bounds = [curve.delta(loss, target)]
    if bounds[0]:
        bounds += _heavy(_DELTAS, loss, target)
    if type(loss) is Worst and loss.touched == 1:
        bounds.append(max(delta(part, target) for part, _ in loss.parts))
    return min(bounds)


@dataclass(frozen=True, slots=True)
class Comparison:
    """ε of one loss by every method that applies, for people to compare; the least one counts.

    Attributes:
        delta: the δ at which they hold.
        rows: the name of a method, and its ε.
    """

    delta: Fraction
    rows: tuple[tuple[str, Fraction], ...]

    def __getitem__(self, method: str) -> Fraction:
        """Return the ε of one method."""
        return dict(self.rows)[method]

    def __repr__(self) -> str:
        """Print a table, one method a line."""
        width = max(len(name) for name, _ in self.rows)
        head = f"{'at δ = ' + show(self.delta):<{width}}  ε"
        return "\n".join([head, *(f"{name:<{width}}  {show_above(e)}" for name, e in self.rows)])


def compare(loss: Loss, delta: Exactable) -> Comparison:
    """Return ε of a loss by each method, to see what they are worth.

    Methods that do not apply are left out: optimal composition is for equal releases that have an
    ε, Gaussian DP for losses that are stated so. "loss distribution, at least" is the one figure
    that is no guarantee: no method whatever can be below it.

    Guarantee: each figure but the named one is an upper bound.
    Theorem:   [DRV10], [CKS20], [KOV15], [BW18]; docs/theory/optimal.md
    Exactness: rounded up, each method as far as it says

    Args:
        loss: what happens, fixed in advance.
        delta: δ, above 0.

    Raises:
        LossError: no method bounds it at this δ.

    Example:
        >>> compare(Pure("0.1") * 100, delta="1e-6")["advanced"] > 6
        True
    """
    target = failure_probability(delta)
    rows: list[tuple[str, Fraction]] = []
    for name, method in _METHODS:
        try:
            rows.append((name, method(loss, target)))
        except LossError:  # the method is not for this loss
            continue
    rows += _distribution(loss, target)
    if not rows:
        curve.epsilon(loss, target)  # says why
    return Comparison(target, tuple(rows))


def _heavy(
    methods: tuple[Method, Method, Method, Method], loss: Loss, target: Fraction
) -> Iterator[Fraction]:
    """Yield what the slower methods say; a method that is exact for the loss has the last word.

    Args:
        methods: optimal, Gaussian, by loss distributions, Rényi.
        loss: what happens.
        target: δ or ε.
    """
    bare = loss.loss if type(loss) is PoissonSampled else loss
    if type(bare) is GaussianShift and bare.scalar:
        return  # the quick curve is the truth
    optimal, gaussian, distribution, renyi = methods
    if mu_squared(loss) is not None:
        yield gaussian(loss, target)
        return
    if is_homogeneous(loss):
        yield from _tried(optimal, loss, target)
        if all(_is_response(part) for part in _parts(loss)):
            return
    found = list(_tried(distribution, loss, target))
    yield from found
    if not found or not _is_known(loss):
        yield from _tried(renyi, loss, target)


def _tried(method: Method, loss: Loss, target: Fraction) -> Iterator[Fraction]:
    try:
        yield method(loss, target)
    except LossError:  # this method has no bound here; another one has
        return


def _is_response(loss: Loss) -> bool:
    """Say whether randomized response is the worst that a loss allows; so optimal is exact."""
    return type(loss) in (Pure, Approximate) or (type(loss) is LaplaceShift and loss.l1 == 1)


def _is_known(loss: Loss) -> bool:
    """Say whether the worst pair of every part is known: then Rényi has nothing to add."""
    from sfumato.accounting.pld.pairs import pairs

    found = pairs(loss)
    return found is not None and all(choice.tight for choice in found)


def _parts(loss: Loss) -> Iterator[Loss]:
    yield from (part for part, _ in loss.parts) if type(loss) is Composed else (loss,)


def _pld_epsilon(loss: Loss, target: Fraction) -> Fraction:
    from sfumato.accounting.pld import bounds

    found = bounds(loss, target)
    if found is None:
        raise LossError("this loss has no loss distribution. Ask for epsilon(loss, delta).")
    return found.high


def _pld_delta(loss: Loss, target: Fraction) -> Fraction:
    from sfumato.accounting.pld import delta_bounds

    found = delta_bounds(loss, target)
    if found is None:
        raise LossError("this loss has no loss distribution. Ask for delta(loss, epsilon).")
    return found.high


_EPSILONS = (optimal_epsilon, gaussian_dp_epsilon, _pld_epsilon, renyi_epsilon)
_DELTAS = (optimal_delta, gaussian_dp_delta, _pld_delta, renyi_delta)


def _basic(loss: Loss, target: Fraction) -> Fraction:
    cost = basic_epsilon(loss)
    if cost is None or own_delta(loss) > target:
        raise LossError("no ε adds up here. Ask for epsilon(loss, delta).")
    return cost


def _concentrated(loss: Loss, target: Fraction) -> Fraction:
    slack = target - own_delta(loss)
    if slack <= 0:
        raise LossError("no δ is left here. Ask for epsilon(loss, delta).")
    return zcdp_epsilon(approximate_rho(loss), slack)


def _distribution(loss: Loss, target: Fraction) -> Iterator[tuple[str, Fraction]]:
    from sfumato.accounting.pld import bounds

    found = bounds(loss, target) if target else None
    if found is not None:
        yield "loss distribution", found.high
        yield "loss distribution, at least", found.low


_METHODS: tuple[tuple[str, Method], ...] = (
    ("added up", _basic),
    ("advanced", advanced_epsilon),
    ("concentrated", _concentrated),
    ("Rényi", renyi_epsilon),
    ("optimal", optimal_epsilon),
    ("Gaussian", gaussian_dp_epsilon),
)
