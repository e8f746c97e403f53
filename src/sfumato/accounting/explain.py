"""What a privacy loss means: probabilities, words, charts and a page."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sfumato.accounting import risk
from sfumato.accounting.best import epsilon as epsilon_of
from sfumato.accounting.grid import shorten_up
from sfumato.accounting.group import group
from sfumato.accounting.pure import basic_epsilon, own_delta
from sfumato.accounting.tradeoff import Tradeoff, tradeoff
from sfumato.accounting.zcdp import rho_if_any
from sfumato.core.budget import Budget
from sfumato.core.errors import CostError, LossError, RangeError
from sfumato.core.interval import Interval
from sfumato.core.loss import (
    Approximate,
    Concentrated,
    Loss,
    Pure,
)
from sfumato.core.number import Exactable, exact, failure_probability, open_unit, show
from sfumato.core.unit import Neighbors, NeighborsName

if TYPE_CHECKING:
    from pathlib import Path

    import altair as alt

PRIOR = Fraction(1, 100)
RATES = (Fraction(1, 1000), Fraction(1, 100), Fraction(1, 10))
_LONG = 690  # an ε whose factor still has fewer than 300 digits
_USUAL = Fraction(1, 10**6)  # δ for noise that has no ε without one
_MOST = 10**6  # an ε beyond which nobody can want an explanation


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """What a loss lets an attacker find out: bounds in the worst case, in numbers and in words.

    ``print`` it for the words. Probabilities are rounded up.

    Attributes:
        epsilon: ε of one unit.
        delta: δ that goes with it.
        rho: ρ of concentrated DP, where it is known.
        prior: what the attacker believed before, as a probability.
        people: how many units are looked at together; all bounds are for them.
        neighbors: what is to be told apart.
        pair: ε and δ of all of them together; the same as above for one.
        whole: the loss of all of them; None where only the pair is known.
    """

    epsilon: Fraction
    delta: Fraction
    rho: Fraction | None
    prior: Fraction
    people: int
    neighbors: Neighbors
    pair: tuple[Fraction, Fraction]
    whole: Loss | None

    @property
    def curve(self) -> Tradeoff:
        """How well anybody can tell the tables apart: the trade-off curve, computed when asked."""
        return Tradeoff((self.pair,)) if self.whole is None else _tradeoff(self.whole)

    @property
    def odds(self) -> Fraction | None:
        """The factor e^ε by which odds can change, but for δ; None beyond 10^300."""
        cost = self.pair[0]
        if cost > _LONG:
            return None
        return shorten_up(Fraction(Interval.of(cost).exp().high)) if cost else Fraction(1)

    @property
    def posterior(self) -> Fraction:
        """The most that can be believed after a release that has no δ; see `surprise` with one."""
        return risk.posterior(self.prior, self.pair[0])

    @property
    def doubt(self) -> Fraction:
        """The least that can be believed afterwards, rounded down."""
        return 1 - risk.posterior(1 - self.prior, self.pair[0])

    @property
    def advantage(self) -> Fraction:
        """The most by which any test's true positives exceed its false positives."""
        return self.curve.advantage

    @property
    def truth(self) -> Fraction:
        """With what probability a coin survey as private as this tells the truth: e^ε/(1 + e^ε)."""
        return (1 + risk.advantage(self.pair[0])) / 2

    def tpr(self, fpr: Exactable) -> Fraction:
        """Return the most true positives of a test that has so many false positives."""
        return self.curve.tpr(fpr)

    def roc(self, points: int = 101) -> tuple[tuple[Fraction, Fraction], ...]:
        """Return false positive rates, evenly spaced, each with the most true positives."""
        return tuple((rate, self.tpr(rate)) for rate in risk.evenly(points))

    def surprise(self, belief: Exactable = "0.5") -> Fraction:
        """Return the probability with which a belief may grow beyond `belief` because of δ."""
        if self.pair[1] >= 1:  # of a group this large nothing is known
            return Fraction(1)
        return risk.surprise(belief, self.prior, *self.pair)

    def chart(self) -> alt.HConcatChart:
        """Draw what tests can find, and what can be believed afterwards, as an Altair chart."""
        from sfumato.accounting.portrait import chart

        return chart(self)

    def to_html(self, path: str | Path | None = None) -> str | None:
        """Write words, figures and charts as one page that fetches nothing; or return its text."""
        from sfumato.accounting.portrait import page

        return page(self).write(path)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for programs: text that `fractions.Fraction` reads, rounded up."""
        from sfumato.accounting.meaning import document

        return document(self)

    def __str__(self) -> str:
        """Say it in words."""
        from sfumato.accounting.meaning import text

        return text(self)

    __repr__ = __str__


def explain(
    epsilon: Exactable | Loss | Budget | Any = None,
    delta: Exactable = 0,
    *,
    prior: Exactable = PRIOR,
    loss: Loss | None = None,
    rho: Exactable | None = None,
    people: int = 1,
    neighbors: NeighborsName | Neighbors = "add_remove",
) -> Explanation:
    """Say what a privacy loss means, in words and numbers.

    Of a loss more is known than one ε: all bounds then use several points of its curve.

    Guarantee: every figure bounds every mechanism with this loss and every attacker, whatever else
        the attacker knows.
    Theorem:   [KOV15], [WZ10], [DRS22]; docs/theory/risk.md
    Exactness: rounded to the side that overstates the risk

    Args:
        epsilon: ε; or, instead, a loss, a release or a budget.
        delta: δ. For a loss or ρ the δ at which ε is given; 10^-6 if it needs one and none is
            given.
        prior: what an attacker believes beforehand, as a probability.
        loss: a loss, instead of ε.
        rho: ρ of concentrated DP, instead of ε.
        people: how many units are looked at together, as a family.
        neighbors: the relation for which ε holds; a loss brings its own.

    Raises:
        CostError: no loss, or several.
        RangeError: an ε beyond a million; a δ or a prior that is no probability.

    Example:
        >>> said = explain(epsilon=1)
        >>> round(float(said.advantage), 3), round(float(said.posterior), 3)
        (0.462, 0.027)
        >>> print(said)  # doctest: +ELLIPSIS
        ε = 1, with no exception (δ = 0)...
    """
    given, failure = _given(epsilon, delta, loss, rho, neighbors), failure_probability(delta)
    own = own_delta(given)
    if not failure:
        failure = own if basic_epsilon(given) is not None else own + _USUAL
    cost = epsilon_of(given, failure)
    if cost > _MOST:
        raise RangeError(
            f"epsilon = {show(cost)} is beyond a million, which bounds nothing that anybody could "
            f"mean. Pass the ε of one release or of a budget, such as 1."
        )
    k = risk.crowd(people)
    pair, whole = _group(given, cost, failure, k)
    return Explanation(
        epsilon=cost,
        delta=failure,
        rho=None if own else rho_if_any(given),
        prior=open_unit(prior, "prior"),
        people=k,
        neighbors=given.neighbors,
        pair=pair,
        whole=whole,
    )


def _given(
    first: Any,
    delta: Exactable,
    loss: Loss | None,
    rho: Exactable | None,
    neighbors: NeighborsName | Neighbors,
) -> Loss:
    """Return the loss that was meant."""
    relation = Neighbors.parse(neighbors)
    if sum(x is not None for x in (first, loss, rho)) != 1:
        raise CostError(
            "say what to explain, and only one thing: an epsilon= (with delta= if you like), a "
            "rho=, a loss, a release or a budget. Pass explain(epsilon=1)."
        )
    what = loss if loss is not None else getattr(first, "cost", first)
    if isinstance(what, Loss):
        return what
    if isinstance(what, Budget):
        if what.rho is None:
            return _pure(what.epsilon, what.delta, relation)
        rho = what.rho
    elif rho is None:
        return _pure(exact(what, "epsilon"), failure_probability(delta), relation)
    return Concentrated(exact(rho, "rho"), neighbors=relation)


def _pure(epsilon: Fraction | None, delta: Fraction, neighbors: Neighbors) -> Loss:
    cost = epsilon or Fraction(0)
    if delta:
        return Approximate(cost, delta, neighbors=neighbors)
    return Pure(cost, neighbors=neighbors)


def _group(
    loss: Loss, cost: Fraction, failure: Fraction, people: int
) -> tuple[tuple[Fraction, Fraction], Loss | None]:
    """Return (ε, δ) and the loss of a group, by what is known of its loss."""
    pair = risk.spread(cost, failure, people)
    try:
        whole = group(loss, people)
        if type(whole) is Pure or type(whole) is Approximate or own_delta(whole) > failure:
            return pair, whole
        return (epsilon_of(whole, failure), failure), whole
    except LossError:  # nothing is known of the group but by its ε and δ
        return pair, None


@lru_cache(maxsize=256)
def _tradeoff(loss: Loss) -> Tradeoff:
    return tradeoff(loss)
