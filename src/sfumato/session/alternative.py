"""What a plan might have done instead, and how far it would have erred: for `explain`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sfumato.core.errors import SfumatoError
from sfumato.mechanisms.selection import alternatives as selections
from sfumato.relation import Occurrence
from sfumato.session.assignment import ways

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
    for consider in (_shared_otherwise, _from_zero, _clamped, _selected):
        with suppress(SfumatoError):  # a way that does not exist here is none
            yield from consider(plan)


def _shared_otherwise(plan: Plan) -> Iterator[Alternative]:
    for name, parts in ways(plan.found.shares, plan.target, plan.confidence):
        if parts != plan.parts:
            yield _compared(plan, replace(plan, parts=parts), f"with {name}")


def _from_zero(plan: Plan) -> Iterator[Alternative]:
    plain = plan.question.plain
    if plan.found.asked and set(plain.asked) != set(plan.question.found.asked):
        parts = ways(plain.shares, plan.target, plan.confidence)[0][1]
        yield _compared(plan, replace(plan, found=plain, parts=parts), "with sums from 0")


def _clamped(plan: Plan) -> Iterator[Alternative]:
    """Compare sums that are clamped unit by unit with those whose rows are capped."""
    from sfumato.session.plan import Plan

    outputs = {w.name: w.output for w in plan.question.wanted}
    if not any(output.per_unit for output in outputs.values()):
        return
    capped = {name: replace(output, per_unit=None) for name, output in outputs.items()}
    asked = plan.question.asking(capped)
    if asked.purchases:
        return  # how far it errs depends on what is bought
    other = Plan.of(asked, plan.target, plan.confidence)
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
                    f"with groups by {each.name}", (f"a group needs about {each.enough} units",)
                )


def _compared(plan: Plan, other: Plan, name: str) -> Alternative:
    pairs = zip(plan.expected, other.expected, strict=True)
    return Alternative(
        name,
        tuple(f"{b.name} {b}" for a, b in pairs if (a.halfwidth, a.worst) != (b.halfwidth, b.worst))
        or ("the same",),
    )
