"""Record and play: run a program on neighbors with the same answers, and compare what it does.

The first run records every noisy answer. In the second run the same answers are played back, so
that whatever the program computes from them is the same too. Any difference that remains was caused
by the data and not by what was released about it: another number of noise calls, another scale or
constant, exact inputs that lie further apart than the declared sensitivity, another result, another
error. The comparison is exact and needs one pair of runs, not thousands. Since it sees the inputs
of every noise call, it can also add up what the calls cost and compare that with what was charged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato import accounting
from sfumato.accounting.grid import UNIT
from sfumato.audit.claim import Claim, Claimable
from sfumato.audit.output import Raised, canonical, outcome, parts
from sfumato.audit.tape import Call, Tape, TappedCurator, tapped_laboratory
from sfumato.core.errors import LossError, SensitivityError
from sfumato.core.loss import Loss
from sfumato.core.number import show
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Neighbors

_VIEWS = ("epsilon", "rho", "delta")


@dataclass(frozen=True, slots=True)
class Replay:
    """What two runs on neighbors had in common.

    Attributes:
        findings: each a sentence on a difference that only the data can explain; empty if none.
        calls: how many noise calls the first run made.
        unjudged: calls for which no sensitivity was declared, so that distances were not judged.
    """

    findings: tuple[str, ...]
    calls: int
    unjudged: int = 0

    @property
    def flagged(self) -> bool:
        """Whether anything was found."""
        return bool(self.findings)

    def __repr__(self) -> str:
        """Write the verdict."""
        if self.findings:
            return "Replay: FLAGGED\n" + "\n".join(f"- {finding}" for finding in self.findings)
        tail = f", {self.unjudged} without a declared sensitivity" if self.unjudged else ""
        return f"Replay: no difference in {self.calls} noise calls{tail}; not a proof"


def replay(
    program: Callable[[Any], Any],
    a: Any,
    b: Any,
    *,
    sensitivity: Sensitivity | None = None,
    claim: Claimable | None = None,
) -> Replay:
    """Run `program` on two neighbors with the same noisy answers and report every difference.

    All noise has to come from mechanisms of the library, or from those that a curator is asked
    with; a program that throws other dice cannot be repeated, which is reported. Draws count in
    full, whether their answers are released or not.

    Args:
        program: takes one input and returns anything that can be compared. The input is a session
            or a curator (anything with `remaining`), or data that the program hands to mechanisms
            itself. On data it is run once more, to see whether it repeats itself.
        a: one input.
        b: its neighbor: one unit added, removed or replaced.
        sensitivity: what is declared for calls that declare nothing themselves, such as
            ``mechanism(values)``.
        claim: what the whole run is said to give away: an ε, a budget, or a loss. A curator is also
            held to what it charged.

    Example:
        >>> from sfumato.mechanisms import DiscreteLaplace
        >>> one = Sensitivity(l1=1)
        >>> def count(rows):
        ...     return DiscreteLaplace(1)(len(rows))
        >>> replay(count, [1, 2], [1, 2, 3], sensitivity=one, claim=1).flagged
        False
        >>> def twice(rows):
        ...     return count(rows), count(rows)
        >>> replay(twice, [1, 2], [1, 2, 3], sensitivity=one, claim=1).findings
        ('the noise calls cost ε = 2 on these neighbors, claimed is ε = 1',)
    """
    recording = Tape()
    first = _run(program, a, recording)
    playing = Tape(recording.answers)
    second = _run(program, b, playing)
    findings = [*_compare(recording.calls, playing.calls, sensitivity)]
    if not first.curated and _run(program, a, Tape(recording.answers)).output != first.output:
        findings.append(
            "the program does not repeat itself on the same input and the same noisy answers: some "
            "of its randomness does not come from a mechanism"
        )
    elif first.output != second.output:
        findings.append(
            f"the {first.kind} of the program differs although every noisy answer was the same"
            if first.kind == second.kind
            else "one neighbor ends in a result, the other in an error"
        )
    # Neighbors may share a ledger; the second then begins where the first ended.
    if first.paid != second.paid if first.had != second.had else first.left != second.left:
        findings.append("the remaining budget differs: the charge depends on the data")
    findings += _cost_findings(recording.calls, playing.calls, sensitivity, claim, first)
    unjudged = sum((call.sensitivity or sensitivity) is None for call in recording.calls)
    return Replay(tuple(findings), len(recording.calls), unjudged)


@dataclass(frozen=True, slots=True)
class _Ending:
    kind: str  # "result" or "error"
    output: tuple[bytes, ...]
    curated: bool
    had: Any
    left: Any

    @property
    def paid(self) -> list[Fraction | None]:
        """What the run took from each view of the budget."""
        views = [(getattr(self.had, n, None), getattr(self.left, n, None)) for n in _VIEWS]
        return [None if had is None or left is None else had - left for had, left in views]


def _run(program: Callable[[Any], Any], data: Any, tape: Tape) -> _Ending:
    curated = hasattr(data, "remaining")  # a session, a table, a laboratory: it pays for itself
    handle = TappedCurator(data, tape) if hasattr(data, "measure") else data
    had = getattr(data, "remaining", None)
    with tapped_laboratory(tape):
        output = outcome(program, handle)
    kind = "error" if isinstance(output, Raised) else "result"
    seen = tuple(canonical(part) for _, part in parts(output))
    return _Ending(kind, seen, curated, had, getattr(data, "remaining", None))


def _compare(
    before: Sequence[Call], after: Sequence[Call], fallback: Sensitivity | None
) -> Iterator[str]:
    if len(before) != len(after):
        yield f"{len(before)} noise calls on one neighbor, {len(after)} on the other"
    for i, (x, y) in enumerate(zip(before, after, strict=False), start=1):
        if x.parameters != y.parameters:
            told = (repr(x.mechanism), repr(y.mechanism))
            yield f"call {i}: " + (
                f"{told[0]} on one neighbor, {told[1]} on the other"
                if told[0] != told[1]
                else f"the parameters of {told[0]} depend on the data"
            )
        if x.sensitivity != y.sensitivity:
            yield f"call {i}: the declared sensitivity depends on the data"
        if x.form != y.form:
            yield f"call {i}: {_forms(x, y)} on the other"
        elif (declared := x.sensitivity or fallback) is not None:
            yield from (f"call {i}: {problem}" for problem in _too_far(x, y, declared))


def _forms(x: Call, y: Call) -> str:
    """Say in what is public about them two inputs differ."""
    (one, *size), (two, *other) = x.form, y.form
    if one != two:
        return f"{one} on one neighbor, {two}"
    what = "groups of values" if one == "values" else "cells"
    return f"{size[0]} {what} on one neighbor, {other[0]}"


def _too_far(x: Call, y: Call, declared: Sensitivity) -> Iterator[str]:
    """Say in which norms the exact inputs lie further apart than declared."""
    distance = x.distance(y, declared.neighbors)
    if distance is None:
        yield "exact inputs differ by something that is not a number"
        return
    if norms := list(distance.beyond(x.reach(declared))):
        yield f"exact inputs differ by more than the declared {', '.join(norms)}"


def _cost_findings(
    before: Sequence[Call],
    after: Sequence[Call],
    fallback: Sensitivity | None,
    claim: Claimable | None,
    ending: _Ending,
) -> Iterator[str]:
    """Add up what the calls cost, and compare it with what was claimed and charged."""
    declared = [s for call in before if (s := call.sensitivity or fallback) is not None]
    relations = {s.neighbors for s in declared} or {Neighbors.ADD_REMOVE}
    if len(relations) > 1:
        yield "calls declare different neighbor relations, so that their costs do not add up"
        return
    spent = _spent(before, after, fallback, relations.pop())
    if claim is not None:
        yield from _beyond_claim(spent, Claim.of(claim))
    yield from _unpaid(spent, ending)


def _spent(
    before: Sequence[Call],
    after: Sequence[Call],
    fallback: Sensitivity | None,
    relation: Neighbors,
) -> Loss:
    """Return what the calls give away about the difference between these two inputs."""
    losses = []
    for x, y in zip(before, after, strict=False):
        distance = None if x.form != y.form else x.distance(y, relation)
        if distance is not None:
            losses.append(_cost(x.mechanism, distance, x.sensitivity or fallback))
    return accounting.compose([loss for loss in losses if loss is not None])


def _cost(mechanism: Any, distance: Any, declared: Sensitivity | None) -> Loss | None:
    """Return the cost of the change that did happen, or of the declared one if that is less."""
    costs: list[Loss] = []
    for moved in (distance, declared):
        try:
            costs += [] if moved is None else [mechanism.loss(moved)]
        except SensitivityError:  # no guarantee under this relation, or a norm is missing
            continue
    # Rounding to a grid is charged beforehand; measured on the grid it would be charged twice.
    return min(costs, key=lambda loss: accounting.charge(loss).rho or 0, default=None)


def _beyond_claim(spent: Loss, claim: Claim) -> Iterator[str]:
    """Say where the calls cost more than was claimed."""
    for epsilon, delta in claim.points:
        at = f" at δ = {show(delta)}" if delta else ""
        try:
            found = accounting.epsilon(spent, delta)
        except LossError:
            yield f"no ε{at} bounds the noise calls, claimed is ε = {show(epsilon)}"
            continue
        if found > epsilon:
            yield (
                f"the noise calls cost ε = {show(found)}{at} on these neighbors, "
                f"claimed is ε = {show(epsilon)}"
            )


def _unpaid(spent: Loss, ending: _Ending) -> Iterator[str]:
    """Say whether a curator charged less than its noise calls cost."""
    price = accounting.charge(spent)
    views = [
        Fraction(cost, UNIT) <= had - left
        for name, cost in (("epsilon", price.epsilon), ("rho", price.rho))
        for had, left in [(getattr(ending.had, name, None), getattr(ending.left, name, None))]
        if cost is not None and had is not None and left is not None
    ]
    if views and not any(views):
        yield "the noise calls cost more than was charged for them"
