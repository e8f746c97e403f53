"""What a plan might have done instead, and how far it would have erred: for `explain`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sfumato.core.errors import SfumatoError
from sfumato.mechanisms.selection import alternatives as selections
from sfumato.relation import Occurrence
from sfumato.session.planner import ways

if TYPE_CHECKING:
    from sfumato.session.plan import Plan


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another way to answer a question at the same price, and what it would give.

    Attributes:
        name: what would be done.
        gives: for each output that differs, how far it would err, in words.
    """

    name: str
    gives: tuple[str, ...]

    def __str__(self) -> str:
        """Write it for people."""
        return f"{self.name}: {', '.join(self.gives)}"


def alternatives(plan: Plan) -> Iterator[Alternative]:
    """Yield what was considered and not taken. Reads nothing."""
    names = ("ε added up", "ρ added up")
    for name, parts in ways(plan.found, plan.target, plan.confidence):
        if parts != plan.parts and name in names:
            yield _compared(plan, replace(plan, parts=parts), f"with {name}")
    plain = plan.question.plain
    if plan.found.asked and set(plain.asked) != set(plan.question.found.asked):
        parts = ways(plain, plan.target, plan.confidence)[0][1]
        yield _compared(plan, replace(plan, found=plain, parts=parts), "with sums from 0")
    yield from _clamped(plan)
    yield from _selected(plan)


def _clamped(plan: Plan) -> Iterator[Alternative]:
    """Compare sums that are clamped unit by unit with those whose rows are capped."""
    from sfumato.session.plan import Plan

    outputs = {w.name: w.output for w in plan.question.wanted}
    if not any(output.per_unit for output in outputs.values()):
        return
    capped = {name: replace(output, per_unit=None) for name, output in outputs.items()}
    try:
        question = plan.question.asking(capped)
        other = Plan.of(question, plan.target, plan.confidence)
    except SfumatoError:  # bounds or caps that only the other way needs
        return
    yield _compared(plan, other, "with rows capped instead of sums")


def _selected(plan: Plan) -> Iterator[Alternative]:
    for part in plan.parts:
        if not isinstance(part.query, Occurrence):
            continue
        if plan.target.epsilon is None:
            continue
        share = plan.target.epsilon / len(plan.parts)
        counted = bool(plan.found.served)
        for each in selections(
            part.sensitivity, epsilon=share, delta=plan.target.delta, counted=counted
        ):
            if type(each.mechanism) is not type(part.mechanism) or each.mechanism != part.mechanism:
                yield Alternative(
                    f"with groups by {each.name}", (f"a group needs about {each.enough} people",)
                )


def _compared(plan: Plan, other: Plan, name: str) -> Alternative:
    pairs = zip(plan.expected, other.expected, strict=True)
    return Alternative(
        name,
        tuple(f"{b.name} {b}" for a, b in pairs if (a.halfwidth, a.worst) != (b.halfwidth, b.worst))
        or ("the same",),
    )
