"""The least ε that grants a list of wishes for accuracy; and what a budget can grant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sfumato.accounting.best import epsilon as epsilon_of
from sfumato.accounting.filter import charge
from sfumato.accounting.grid import least_near
from sfumato.accounting.pure import basic_epsilon
from sfumato.accounting.sums import Charge, Limits, Sums
from sfumato.accounting.target import Target
from sfumato.accounting.zcdp import rho as rho_of
from sfumato.core.budget import Budget
from sfumato.core.errors import CostError, InputError, RangeError
from sfumato.core.loss import Composed, Loss
from sfumato.core.number import Exactable, exact, failure_probability, open_unit, show, show_above
from sfumato.core.unit import Neighbors, NeighborsName
from sfumato.release.error import Family
from sfumato.release.format import exact_text, percent, printable

_CONFIDENCE = Fraction(95, 100)
_DELTAS = tuple(Fraction(1, 10**k) for k in (5, 6, 8, 10))
_LARGEST = 2**60  # a half-width beyond which no noise is drawn
_DECADE = 9_000  # factors are sought among the numbers of four decimal digits


@dataclass(frozen=True, slots=True)
class Part:
    """A target with the noise that grants it.

    Attributes:
        target: what was wished.
        mechanism: the kind of noise.
        scale: its scale; σ for Gaussian noise.
        loss: that of one release.
        epsilon: ε of one release; None for Gaussian noise, which has none without a δ.
        rho: ρ of one release.
    """

    target: Target
    mechanism: Family
    scale: Fraction
    loss: Loss
    epsilon: Fraction | None
    rho: Fraction


@dataclass(frozen=True, slots=True, repr=False)
class Choice:
    """What a list of targets costs, in the cheapest way that was found.

    ``print`` it for a table. The figures are for a plan that is fixed beforehand; whether a ledger
    admits the releases one by one is what `fits` says.

    Attributes:
        parts: each target with its noise.
        epsilon: ε of all of them at `delta`; None where the choice was made by ρ.
        delta: δ; None where the choice was made by ρ.
        rho: ρ of all of them.
        ways: the other ways that were considered: names, each with its parts.
        factor: by how much the half-widths were stretched, by `reachable`.
        confidence: of the half-widths, where a target has none of its own.
    """

    parts: tuple[Part, ...]
    epsilon: Fraction | None
    delta: Fraction | None
    rho: Fraction
    ways: tuple[tuple[str, tuple[Part, ...]], ...]
    factor: Fraction = Fraction(1)
    confidence: Fraction = _CONFIDENCE

    @property
    def loss(self) -> Loss:
        """The loss of everything, as `compose` has it."""
        return _loss(self.parts)

    @property
    def budget(self) -> Budget:
        """A budget that this costs, if all of it is released as one plan."""
        if self.epsilon is None or self.delta is None:
            return Budget(rho=self.rho)
        return Budget(self.epsilon, self.delta)

    def fits(self, budget: Budget) -> bool:
        """Say whether a ledger with this budget admits all releases, one after the other."""
        return _admitted(self.parts, Limits.of(budget))

    def what_if(
        self, deltas: Iterable[Exactable] = _DELTAS
    ) -> tuple[tuple[str, tuple[tuple[Fraction, Fraction], ...]], ...]:
        """Return each way with its ε at other δ: pairs (δ, ε), without those that have no ε."""
        wanted = [failure_probability(d) for d in deltas]
        return tuple(
            (name, tuple((d, e) for d in wanted if (e := _epsilon(parts, d)) is not None))
            for name, parts in self.ways
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the choice for programs; numbers are text that `fractions.Fraction` reads."""
        return {
            "format": "sfumato-choice-1",
            "epsilon": _text(self.epsilon),
            "delta": _text(self.delta),
            "rho": _text(self.rho),
            "factor": _text(self.factor),
            "parts": [
                {
                    "name": p.target.name,
                    "within": _text(p.target.within),
                    "confidence": _text(p.target.confidence or self.confidence),
                    "cells": p.target.cells,
                    "times": p.target.times,
                    "mechanism": p.mechanism,
                    "scale": _text(p.scale),
                    "epsilon": _text(p.epsilon),
                    "rho": _text(p.rho),
                }
                for p in self.parts
            ],
            "what_if": [
                {"way": name, "delta": _text(d), "epsilon": _text(e)}
                for name, pairs in self.what_if()
                for d, e in pairs
            ],
        }

    def __str__(self) -> str:
        """Write a table of the parts, the total, and what other δ would cost."""
        return _table(self)

    __repr__ = __str__


def choose(
    targets: Iterable[Target | Exactable],
    *,
    delta: Exactable | None = 0,
    confidence: Exactable = _CONFIDENCE,
    neighbors: NeighborsName | Neighbors = "add_remove",
) -> Choice:
    """Return the cheapest noise that keeps every answer within its half-width.

    Each target gets the most noise that keeps its promise, by the law of the integers that are
    drawn. Without δ only Laplace noise will do, and ε adds up. With one, three ways are compared:
    Laplace noise throughout, Gaussian noise throughout, and for each target that of the lower ρ,
    which is the least that ρ can be.

    Guarantee: the loss of the plan is at most (ε, δ), or ρ; every half-width holds with its
        confidence, for the noise alone.
    Theorem:   [DKMMN06], [BS16]; docs/theory/zcdp.md
    Exactness: scales have six digits and are rounded down, losses are rounded up

    Args:
        targets: what is wished; a number is a half-width for a count.
        delta: δ; 0 unless passed. None asks for the least ρ.
        confidence: with which half-widths hold, where a target says nothing else.
        neighbors: the relation of targets whose sensitivity is a number.

    Raises:
        CostError: without δ, a target that Laplace noise cannot serve.
        NeighborsError: sensitivities under different relations.

    Example:
        >>> cheapest = choose([Target("people", within=50), Target("visits", 200, sensitivity=5)])
        >>> [(part.mechanism, float(part.scale)) for part in cheapest.parts]
        [('laplace', 16.8597), ('laplace', 66.9291)]
        >>> round(float(cheapest.epsilon), 3)
        0.134
    """
    wanted, sure = _wanted(targets), open_unit(confidence, "confidence")
    ways = tuple(_ways(wanted, sure, Neighbors.parse(neighbors)))
    if delta is None:
        best = min((parts for _, parts in ways), key=_rho)
        return Choice(best, None, None, _rho(best), ways, confidence=sure)
    failure = failure_probability(delta)
    prices = [(e, parts) for _, parts in ways if (e := _epsilon(parts, failure)) is not None]
    if not prices:
        raise CostError(
            "a target asks for Gaussian noise, or states no l1 sensitivity for Laplace noise, and "
            "Gaussian noise has no ε without a δ. Pass delta='1e-6', or delta=None for ρ."
        )
    cost, best = min(prices, key=lambda way: way[0])
    return Choice(best, cost, failure, _rho(best), ways, confidence=sure)


def reachable(
    budget: Budget,
    targets: Iterable[Target | Exactable],
    *,
    confidence: Exactable = _CONFIDENCE,
    neighbors: NeighborsName | Neighbors = "add_remove",
) -> Choice:
    """Return the narrowest half-widths, all stretched by one factor, that a budget grants.

    Guarantee: a ledger with this budget admits all releases, one after the other.
    Theorem:   docs/theory/filter.md
    Exactness: the factor has four digits and is rounded up

    Args:
        budget: the limit.
        targets: what is wished; only the proportions count.
        confidence: with which half-widths hold, where a target says nothing else.
        neighbors: the relation of targets whose sensitivity is a number.

    Example:
        >>> granted = reachable(Budget(epsilon=1), [Target("people", 1), Target("visits", 4)])
        >>> [float(part.target.within) for part in granted.parts]
        [4.0, 16.0]
    """
    limits = Limits.of(budget)
    wanted, sure = _wanted(targets), open_unit(confidence, "confidence")
    relation = Neighbors.parse(neighbors)
    widest = max(t.within for t in wanted)

    def granted(factor: Fraction) -> tuple[str, tuple[Part, ...]] | None:
        stretched = [replace(t, within=t.within * factor) for t in wanted]
        ways = _ways(stretched, sure, relation)
        return next((way for way in ways if _admitted(way[1], limits)), None)

    def enough(position: int) -> bool:
        factor = _factor(position)
        if widest * factor < 1:  # narrower makes no difference: noise is whole numbers
            return False
        return widest * factor > _LARGEST or granted(factor) is not None

    factor = _factor(least_near(enough, 0))
    way = granted(factor) if widest * factor <= _LARGEST else None
    if way is None:
        raise RangeError(
            "this budget grants no half-width up to 2^60. Ask for fewer numbers, or raise it."
        )
    parts = way[1]
    failure = budget.delta if budget.rho is None else None
    cost = None if failure is None else _epsilon(parts, failure)
    return Choice(parts, cost, failure, _rho(parts), (way,), factor, sure)


def _wanted(targets: Iterable[Target | Exactable]) -> list[Target]:
    if isinstance(targets, Target | str):
        targets = [targets]
    found = [
        t if isinstance(t, Target) else Target(f"±{show(exact(t, 'within'))}", t) for t in targets
    ]
    if not found:
        raise InputError("there is nothing to choose for. Pass targets, as choose([50, 10]).")
    return found


def _ways(
    targets: list[Target], confidence: Fraction, neighbors: Neighbors
) -> Iterator[tuple[str, tuple[Part, ...]]]:
    """Yield the ways to serve all targets that differ from each other."""
    offers = [{f: _part(t, f, confidence, neighbors) for f in t.families()} for t in targets]
    seen = []
    for name, wish in (
        ("Laplace noise", "laplace"),
        ("noise of the lower ρ", None),
        ("Gaussian noise", "gaussian"),
    ):
        parts = tuple(
            o[wish] if wish in o else min(o.values(), key=lambda p: p.rho) for o in offers
        )
        if parts not in seen:
            seen.append(parts)
            yield name, parts


def _part(target: Target, family: Family, confidence: Fraction, neighbors: Neighbors) -> Part:
    scale = target.noise(family, confidence)
    loss = target.loss(family, scale, neighbors)
    return Part(target, family, scale, loss, basic_epsilon(loss), rho_of(loss))


def _loss(parts: tuple[Part, ...]) -> Loss:
    return Composed.of([part.loss * part.target.times for part in parts])


def _rho(parts: tuple[Part, ...]) -> Fraction:
    return sum((part.rho * part.target.times for part in parts), Fraction(0))


def _epsilon(parts: tuple[Part, ...], delta: Fraction) -> Fraction | None:
    if not delta and any(part.epsilon is None for part in parts):
        return None
    return epsilon_of(_loss(parts), delta)


def _admitted(parts: tuple[Part, ...], limits: Limits) -> bool:
    spent = Sums()
    for part in parts:
        one, times = charge(part.loss), part.target.times
        e, r = (None if figure is None else figure * times for figure in (one.epsilon, one.rho))
        spent += Charge(e, r, one.delta * times, one.neighbors)
    return limits.admit(spent)


def _factor(position: int) -> Fraction:
    power, digits = divmod(position, _DECADE)
    return (1000 + digits) * Fraction(10) ** (power - 3)


def _table(choice: Choice) -> str:
    head = ["", "within", "at", "times", "noise", "scale", "ε each", "ρ each"]
    rows = [head]
    for p in choice.parts:
        sure = percent(p.target.confidence or choice.confidence)
        cells = f", all {p.target.cells:,}" if p.target.cells > 1 else ""
        cost = "" if p.epsilon is None else show_above(p.epsilon, 4)
        rows.append(
            [
                printable(p.target.name),
                f"±{show(p.target.within)}",
                sure + cells,
                f"{p.target.times:,}",
                p.mechanism,
                show(p.scale),
                cost,
                show_above(p.rho, 4),
            ]
        )
    lines = _aligned(rows)
    price = f"ρ = {show_above(choice.rho, 4)}"
    if choice.epsilon is not None and choice.delta is not None:
        at = f" at δ = {show(choice.delta)}" if choice.delta else ""
        price = f"ε = {show_above(choice.epsilon, 4)}{at}, {price}"
    lines.append(f"together: {price}")
    lines += ["at another δ:"]
    for name, pairs in choice.what_if():
        said = ", ".join(f"{show_above(e, 4)} at {show(d)}" for d, e in pairs)
        lines.append(f"  {name}: ε = {said}")
    return "\n".join(lines)


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if i in (0, 4) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _text(number: Fraction | None) -> str | None:
    return None if number is None else exact_text(number)
