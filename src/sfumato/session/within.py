"""A wish for accuracy: how far an answer may be off, instead of what it may cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato import accounting
from sfumato.accounting import Target
from sfumato.core.budget import Budget
from sfumato.core.errors import CostError
from sfumato.core.number import Exactable, open_unit, positive, show
from sfumato.mechanisms import DiscreteGaussian, DiscreteLaplace
from sfumato.relation import Aggregate
from sfumato.relation.kind import Number
from sfumato.relation.node import unit_of
from sfumato.session.part import Part

if TYPE_CHECKING:
    from sfumato.session.planner import Questions
    from sfumato.session.wanted import Wanted

_CONFIDENCE = Fraction(95, 100)
_LAWS = {"laplace": DiscreteLaplace, "gaussian": DiscreteGaussian}


@dataclass(frozen=True, slots=True)
class Within:
    """How far noise may take an answer, and how surely it keeps to that.

    Attributes:
        halfwidth: in the unit of the answer.
        confidence: the probability for each number by itself.
    """

    halfwidth: Fraction
    confidence: Fraction = _CONFIDENCE

    def __repr__(self) -> str:
        """Show the call."""
        return f"within({show(self.halfwidth)}, confidence={show(self.confidence)})"


def within(halfwidth: Exactable, confidence: Exactable = _CONFIDENCE) -> Within:
    """Ask for accuracy instead of a price: noise of at most `halfwidth`, this surely.

    For ``release(accuracy=sf.within(50))``, of counts and sums. What it costs is in `explain`.

    Args:
        halfwidth: how far each number may be off, in its own unit.
        confidence: the probability with which it keeps to that.

    Example:
        >>> within(50)
        within(50, confidence=0.95)
    """
    return Within(positive(halfwidth, "within"), open_unit(confidence, "confidence"))


def wishes(accuracy: Any, wanted: Sequence[Wanted]) -> dict[str, Within]:
    """Return what is wished of each output.

    Args:
        accuracy: one wish for all outputs, or a mapping from output to wish.
        wanted: the outputs.

    Raises:
        CostError: not a wish, one for no output, an output without one, or one that has no error
            that is known beforehand.
    """
    names = [w.name for w in wanted]
    given = accuracy if isinstance(accuracy, Mapping) else dict.fromkeys(names, accuracy)
    for name, wish in given.items():
        if name not in names or not isinstance(wish, Within):
            raise CostError(
                f"accuracy= takes sf.within(50), or one for each output: {{'n': sf.within(50)}}. "
                f"The outputs are: {', '.join(names)}."
            )
    for w in wanted:
        if w.name not in given:
            raise CostError(f"accuracy= says nothing of {w.name!r}. Add sf.within(...) for it.")
        if w.function not in ("count", "sum", "count_distinct"):
            raise CostError(
                f"how far {w.output!r} errs depends on the data, so that no price can be found for "
                f"it beforehand. Ask for a count and a sum so, or set epsilon=."
            )
    return dict(given)


def priced(
    found: Questions, wanted: Sequence[Wanted], asked: Mapping[str, Within], delta: Fraction
) -> tuple[list[Part], Budget]:
    """Choose the most noise that grants all wishes together, and return what it costs.

    Guarantee: the noise of each number is within its half-width, with its confidence.
    Theorem:   see `sfumato.accounting.choose`

    Args:
        found: the questions; sums are measured from 0.
        wanted: the outputs.
        asked: the wish for each.
        delta: δ; 0 allows Laplace noise only.
    """
    unit = unit_of(found.node)
    targets: list[Target] = []
    for query in found.queries:
        if not isinstance(query, Aggregate):
            raise CostError(
                "groups are bought at a price, and how far counts err after it is no wish that can "
                "be granted. Pass keys=[...], or set epsilon= and delta=."
            )
        widths = [
            replace(asked[w.name], halfwidth=asked[w.name].halfwidth / _step(w))
            for w in wanted
            if found.answers(query, w)
        ]
        strict = min(widths, key=lambda wish: wish.halfwidth)  # of those that share a part
        sure = max(wish.confidence for wish in widths)
        if strict.halfwidth < 1:
            raise CostError(
                "an answer moves in whole steps, so that noise cannot be kept below one of them. "
                "Ask for within a step or more."
            )
        targets.append(
            Target(f"part {len(targets)}", strict.halfwidth, query.sensitivity(unit), sure)
        )
    chosen = accounting.choose(targets, delta=delta, neighbors=unit.neighbors)
    parts = [
        Part.of(query, _LAWS[part.mechanism](part.scale))
        for query, part in zip(found.queries, chosen.parts, strict=True)
    ]
    cost = accounting.compose([part.loss for part in parts])
    enforced = accounting.charge(cost, delta)
    return parts, Budget(Fraction(enforced.epsilon or 1, accounting.grid.UNIT), delta)


def _step(wanted: Wanted) -> Fraction:
    return wanted.kind.step if isinstance(wanted.kind, Number) else Fraction(1)
