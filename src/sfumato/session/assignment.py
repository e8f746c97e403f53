"""A mechanism for each question, so that all of them together keep to a price."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from math import exp, inf, log
from typing import Any, TypeAlias

from sfumato import accounting
from sfumato.accounting.grid import units_down
from sfumato.core.budget import Budget
from sfumato.core.errors import RangeError
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms import DiscreteGaussian, DiscreteLaplace
from sfumato.mechanisms.group import with_delta
from sfumato.mechanisms.selection import selection
from sfumato.relation import Aggregate, Occurrence
from sfumato.relation.node import unit_of
from sfumato.session.part import Asked, Part
from sfumato.session.ranks import Ranks

AdditiveNoise = DiscreteLaplace | DiscreteGaussian
_SURE = Fraction(95, 100)  # where ways to add noise are compared
_LEAST, _LONGEST = 1.01, 2.0**10  # a stretch that is worth it, and one that is enough
_FINE, _TRIES = 2.0**-7, 8  # how far below the longest a stretch may stay; tries to find it
_STEPS = 2**10  # of a stretch between 1 and 2
_WHOLE = Fraction(1)


@dataclass(frozen=True, slots=True)
class Share:
    """A question, and how much of a price is for it.

    Attributes:
        asked: the question.
        portion: of the price.
        counted: of a selection of groups, whether their counts are wanted as well.
        levels: among how many levels of a race it is one; 1 if it is in none.
        moved: how far one unit can move the answer.
    """

    asked: Aggregate | Occurrence | Ranks
    portion: Fraction
    counted: bool = False
    levels: int = 1
    moved: Sensitivity = field(init=False)

    def __post_init__(self) -> None:
        """Compute how far one unit can move the answer, once for all ways that are tried."""
        moved = self.query.sensitivity(unit_of(self.query.node))
        object.__setattr__(self, "moved", moved)

    @property
    def query(self) -> Asked:
        """The question as a table is asked it."""
        return self.asked.bag if isinstance(self.asked, Ranks) else self.asked


@dataclass(frozen=True, slots=True)
class Price:
    """A price, and what is known of its use.

    Attributes:
        target: what all shares may cost.
        confidence: of the intervals that are bought.
        stretch: how much more than the target shares may add up to, because all of them together
            give away less than the sum.
        failures: the δ of one selection of groups.
    """

    target: Budget
    confidence: Fraction
    stretch: Fraction = _WHOLE
    failures: Fraction = Fraction(0)


Way: TypeAlias = Callable[[Sequence[Share], Price], list[Any]]


def best(
    shares: Sequence[Share], target: Budget, confidence: Fraction, *, fixed: bool = False
) -> tuple[str, tuple[Part, ...]]:
    """Return the way to stay within a target that errs least, by name.

    Under pure ε noise is Laplace; with δ or ρ it is Laplace or Gaussian, whichever errs less.

    Args:
        shares: the questions.
        target: what they may cost.
        confidence: of the intervals that are bought.
        fixed: with a δ, also try the law of everything that is lost together, which allows less
            noise for many questions. It holds for plans that are fixed before anything is read.
    """
    name, mechanisms = _ranked(shares, target, confidence, fixed=fixed)[0]
    return name, _parts(shares, mechanisms)


def ways(
    shares: Sequence[Share], target: Budget, confidence: Fraction
) -> list[tuple[str, tuple[Part, ...]]]:
    """Return all ways to stay within a target, by name, the one that errs least first."""
    found = _ranked(shares, target, confidence)
    return [(name, _parts(shares, mechanisms)) for name, mechanisms in found]


def _parts(shares: Sequence[Share], mechanisms: Sequence[Any]) -> tuple[Part, ...]:
    return tuple(Part.of(s.query, m) for s, m in zip(shares, mechanisms, strict=True))


def _ranked(
    shares: Sequence[Share], target: Budget, confidence: Fraction, *, fixed: bool = False
) -> list[tuple[str, list[Any]]]:
    makers: dict[str, Way] = {"ε added up": _by_epsilon} if target.epsilon is not None else {}
    if target.delta or target.rho is not None:
        makers["ρ added up"] = _by_rho
    plans = [
        (name, way(shares, _price(shares, target, confidence, way))) for name, way in makers.items()
    ]
    if fixed and target.delta and target.epsilon is not None:
        for name, way in tuple(makers.items()):
            price = _price(shares, target, confidence, way, halved=True)
            if (found := _stretched(way, shares, price)) is not None:
                plans.append((f"{name.split()[0]} composed", found))
    return sorted(plans, key=lambda plan: sum(map(_size, shares, plan[1])))


def _price(
    shares: Sequence[Share], target: Budget, confidence: Fraction, way: Way, *, halved: bool = False
) -> Price:
    """Set δ aside for groups that appear without reason: half, where the noise needs one too."""
    selections = sum(isinstance(share.asked, Occurrence) for share in shares)
    if not selections:
        return Price(target, confidence)
    part = 2 if halved or way is _by_rho else 1
    return Price(target, confidence, failures=with_delta(target).delta / part / selections)


def _by_epsilon(shares: Sequence[Share], price: Price) -> list[Any]:
    whole = (price.target.epsilon or Fraction(0)) * price.stretch
    found: list[Any] = []
    for share in shares:
        cost, moved = whole * share.portion, share.moved
        if isinstance(share.asked, Ranks):
            found.append(share.asked.mechanism(moved, Budget(cost), price.confidence))
        elif isinstance(share.asked, Occurrence):
            found.append(
                selection(moved, epsilon=cost, delta=price.failures, counted=share.counted)
            )
        else:
            found.append(DiscreteLaplace.calibrate(moved, epsilon=cost))
    return found


def _by_rho(shares: Sequence[Share], price: Price) -> list[Any]:
    target, rho = price.target, price.target.rho
    if rho is None:
        slack = target.delta / 2 if price.failures else target.delta
        rho = accounting.rho_within(target.epsilon or Fraction(0), slack)
    if not rho:
        raise RangeError("this target leaves no ρ at all. Ask for a larger ε or δ.")
    whole = rho * price.stretch
    found: list[Any] = []
    for share in shares:
        cost, moved = whole * share.portion, share.moved
        if isinstance(share.asked, Ranks):
            found.append(share.asked.mechanism(moved, Budget(rho=cost), price.confidence))
        elif isinstance(share.asked, Occurrence):
            found.append(selection(moved, rho=cost, delta=price.failures, counted=share.counted))
        elif target.rho is None and share.portion == price.stretch == 1 and moved.l0 == 1:
            # one cell: calibrated by the exact law
            found.append(
                DiscreteGaussian.calibrate(moved, epsilon=target.epsilon, delta=target.delta)
            )
        else:
            found.append(_noise(moved, cost, laplace=target.rho is not None))
    return found


@lru_cache(maxsize=1024)  # many questions of a batch are moved equally far
def _noise(moved: Sensitivity, rho: Fraction, *, laplace: bool) -> AdditiveNoise:
    found: list[AdditiveNoise] = [DiscreteGaussian.calibrate(moved, rho=rho)]
    if laplace:
        found.append(DiscreteLaplace.calibrate(moved, rho=rho))
    return min(found, key=lambda noise: noise.error(moved).std or inf)


def _stretched(way: Way, shares: Sequence[Share], price: Price) -> list[Any] | None:
    """Return what a way finds if its target is stretched as far as the law of all losses allows.

    None where hardly anything is gained. What is returned was charged itself: that it is about the
    longest stretch is all that rests on the search.
    """
    target, found = price.target, None
    limit, failures = units_down(target.epsilon or Fraction(0)), units_down(target.delta)
    tried: list[tuple[float, float]] = []  # logarithms of a stretch, and of the ε it costs
    low, high, stretch = 0.0, log(_LONGEST), log(_LEAST)
    while len(tried) < _TRIES and high - low > _FINE:
        # In coarse steps, so that it is the same on machines whose floats are not.
        longer = Fraction(int(exp(stretch) * _STEPS), _STEPS)
        mechanisms = way(shares, replace(price, stretch=longer))
        losses = [m.loss(share.moved) for m, share in zip(mechanisms, shares, strict=True)]
        charge = accounting.charge(accounting.compose(losses), target.delta, fixed=True)
        if charge.epsilon is None:
            return None
        if charge.epsilon <= limit and charge.delta <= failures:
            low, found = stretch, mechanisms
        elif found is None:
            return None
        else:
            high = stretch
        tried.append((stretch, log(max(charge.epsilon, 1))))
        stretch = min(max(_aimed(tried, log(max(limit, 1))), low + _FINE / 2), high - _FINE / 2)
    return found


def _aimed(tried: Sequence[tuple[float, float]], goal: float) -> float:
    """Return where the goal is about, on the line through what was tried last."""
    (x, y), (a, b) = tried[-1], tried[-2] if len(tried) > 1 else (0.0, tried[-1][1])
    slope = (y - b) / (x - a) if y != b and x != a else 1.0
    return x + (goal - y) / max(slope, 0.1) - _FINE / 4


def _size(share: Share, mechanism: Any) -> float:
    """Return the logarithm of the error: comparing sums of it, no unit of measure matters.

    Of a selection of groups, that of the size that a group needs to appear, and of its counts if
    they are wanted. A level of a race is lowered by what noise exceeds much more rarely, on one
    side; all levels together count as one question.
    """
    rarely = (1 - _SURE) * (2 if share.levels > 1 else 1) / share.levels
    widths = [mechanism.error(share.moved).halfwidth(1 - rarely)]
    if isinstance(share.asked, Occurrence):
        needed = Fraction(mechanism.enough(_SURE))
        widths = [needed, *widths] if share.counted else [needed]
    logs = [log(w.numerator) - log(w.denominator) if w else -inf for w in widths]
    return sum(logs) / len(logs) / share.levels
