"""Every legal conversion between kinds of differential privacy, as one directed graph.

A loss is looked at in all the ways in which it is known; from there `convert` walks to the kind
that is asked for, by the fewest steps. Where no way leads, the error says why, and what does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from sfumato.accounting import best
from sfumato.accounting.gaussian_dp import mu as mu_of
from sfumato.accounting.gaussian_dp import mu_squared, pure_mu
from sfumato.accounting.pure import basic_epsilon, own_delta, unknown
from sfumato.accounting.renyi import divergence_if_any
from sfumato.accounting.tradeoff import Tradeoff, tradeoff
from sfumato.accounting.zcdp import rho, rho_if_any
from sfumato.core.errors import CostError, LossError, RangeError
from sfumato.core.listing import listed
from sfumato.core.loss import (
    Approximate,
    BoundedRange,
    Concentrated,
    GaussianTradeoff,
    Loss,
    Pure,
    Renyi,
)
from sfumato.core.number import Exactable, exact, failure_probability

KINDS = ("pure", "approximate", "bounded_range", "zcdp", "renyi", "gdp", "tradeoff")
_ORDERS = tuple(map(Fraction, (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256)))


@dataclass(frozen=True, slots=True)
class Conversion:
    """One step: what is known of the source proves the target.

    Attributes:
        source: the kind that is known.
        target: the kind that follows.
        rule: the formula.
        reference: where it is proved: a key of the bibliography or a page.
        function: the step itself, on a loss of the source kind.
    """

    source: str
    target: str
    rule: str
    reference: str
    function: Callable[[Loss, Fraction | None, tuple[Fraction, ...]], Loss | Tradeoff]


def convert(
    loss: Loss,
    to: str,
    *,
    delta: Exactable | None = None,
    order: Exactable | Iterable[Exactable] | None = None,
) -> Loss | Tradeoff:
    """Return `loss` as another kind of differential privacy: what can be proved of it there.

    A conversion forgets: going there and back again never lowers a figure.

    Guarantee: every mechanism with the loss has the one that is returned.
    Theorem:   docs/theory/tradeoff.md; each step names its own, see `conversions`
    Exactness: rounded up

    Args:
        loss: what happened; a composition is looked at as a whole.
        to: "pure", "approximate", "bounded_range", "zcdp", "renyi", "gdp" or "tradeoff".
        delta: the δ to fail with, for "approximate" only.
        order: one order above 1, or several, for "renyi" only; a usual few unless passed.

    Raises:
        LossError: no way leads there; the message says why.
        CostError: a `delta` or `order` that is missing, or that the target does not have.
        RangeError: not one of the kinds.

    Example:
        >>> convert(Pure(1), to="bounded_range").epsilon
        Fraction(2, 1)
        >>> round(float(convert(GaussianTradeoff(1), to="approximate", delta="1e-6").epsilon), 4)
        4.8866
    """
    if not isinstance(to, str) or to not in KINDS:
        raise RangeError(f"{to!r} is not a kind of privacy known here. Use one of {_listed()}.")
    if not isinstance(loss, Loss):
        raise unknown(loss)
    failure, orders = _options(to, delta, order)
    known = _known(loss)
    if to in known:
        return known[to](failure, orders)
    for steps in _paths(known, to):
        found: Loss | Tradeoff = known[steps[0].source](None, _ORDERS)
        for step in steps:
            found = step.function(cast("Loss", found), failure, orders)
        return found
    raise LossError(_refusal(known, to))


def conversions() -> tuple[Conversion, ...]:
    """Return every single step that `convert` may take, each with its reference.

    Theorem: docs/theory/tradeoff.md

    Example:
        >>> [step.rule for step in conversions() if step.source == "pure"][:2]
        ['(ε, 0)', 'range 2ε']
    """
    return _STEPS


View = Callable[[Fraction | None, tuple[Fraction, ...]], Loss | Tradeoff]


def _known(loss: Loss) -> dict[str, View]:
    """Return the kinds in which a loss is known as it stands, each with how to have it."""
    relation, own = loss.neighbors, own_delta(loss)
    cost, line = basic_epsilon(loss), rho_if_any(loss)
    known: dict[str, View] = {
        "approximate": lambda failure, _: _approximate(loss, failure),
        "tradeoff": lambda _failure, _orders: tradeoff(loss),
    }
    if own:
        return known
    if cost is not None:
        known["pure"] = lambda _failure, _orders: Pure(cost, neighbors=relation)
    if type(loss) is BoundedRange:
        known["bounded_range"] = lambda _failure, _orders: loss
    if line is not None:
        known["zcdp"] = lambda _failure, _orders: Concentrated(rho(loss), neighbors=relation)
    if divergence_if_any(loss, Fraction(1025, 1024)) is not None:
        known["renyi"] = lambda _, orders: _renyi(loss, orders)
    if mu_squared(loss, pure=True) is not None:
        known["gdp"] = lambda _failure, _orders: GaussianTradeoff(mu_of(loss), neighbors=relation)
    return known


def _approximate(loss: Loss, failure: Fraction | None) -> Loss:
    target = cast("Fraction", failure)
    return Approximate(best.epsilon(loss, target), target, neighbors=loss.neighbors)


def _renyi(loss: Loss, orders: tuple[Fraction, ...]) -> Loss:
    found = [(order, divergence_if_any(loss, order)) for order in orders]
    curve = tuple((order, bound) for order, bound in found if bound is not None)
    if not curve:
        raise LossError(
            "a part of this loss is known at smaller Rényi orders only. Ask for an order within "
            "its curve."
        )
    return Renyi(curve, neighbors=loss.neighbors)


def _as_gdp(loss: Loss) -> Loss:
    return GaussianTradeoff(pure_mu(cast("Pure", loss).epsilon), neighbors=loss.neighbors)


_STEPS = (
    Conversion(
        "pure", "approximate", "(ε, 0)", "[DKMMN06]", lambda x, failure, _: _approximate(x, failure)
    ),
    Conversion(
        "pure",
        "bounded_range",
        "range 2ε",
        "[DR19]",
        lambda x, _f, _o: BoundedRange(2 * cast("Pure", x).epsilon, neighbors=x.neighbors),
    ),
    Conversion(
        "pure",
        "zcdp",
        "ρ = ε·tanh(ε/2)",
        "[BS16]; docs/theory/zcdp.md",
        lambda x, _f, _o: Concentrated(rho(x), neighbors=x.neighbors),
    ),
    Conversion(
        "pure",
        "renyi",
        "that of randomized response",
        "[Mironov17]; docs/theory/renyi.md",
        lambda x, _, orders: _renyi(x, orders),
    ),
    Conversion(
        "pure",
        "gdp",
        "μ = 2·Φ⁻¹(e^ε/(1 + e^ε))",
        "docs/theory/tradeoff.md",
        lambda x, _f, _o: _as_gdp(x),
    ),
    Conversion(
        "pure",
        "tradeoff",
        "β = max(1 − e^ε·α, e^−ε·(1 − α))",
        "[WZ10]",
        lambda x, _f, _o: tradeoff(x),
    ),
    Conversion(
        "bounded_range",
        "pure",
        "ε",
        "[DR19]",
        lambda x, _f, _o: Pure(cast("BoundedRange", x).epsilon, neighbors=x.neighbors),
    ),
    Conversion(
        "bounded_range",
        "zcdp",
        "ρ = ε²/8, or that of pure ε",
        "[CR21]; docs/theory/zcdp.md",
        lambda x, _f, _o: Concentrated(rho(x), neighbors=x.neighbors),
    ),
    Conversion(
        "bounded_range",
        "renyi",
        "that of the worst two-point pair",
        "docs/theory/renyi.md",
        lambda x, _, orders: _renyi(x, orders),
    ),
    Conversion(
        "approximate",
        "tradeoff",
        "β = max(0, 1 − δ − e^ε·α, e^−ε·(1 − δ − α))",
        "[WZ10], [KOV15]",
        lambda x, _f, _o: tradeoff(x),
    ),
    Conversion(
        "zcdp",
        "renyi",
        "D_α = ρ·α",
        "[BS16]",
        lambda x, _, orders: _renyi(x, orders),
    ),
    Conversion(
        "zcdp",
        "approximate",
        "ln δ = (α − 1)(ρα − ε) + α·ln(1 − 1/α) − ln(α − 1), best α",
        "[CKS20]; docs/theory/zcdp.md",
        lambda x, failure, _: _approximate(x, failure),
    ),
    Conversion(
        "renyi",
        "approximate",
        "ln δ = (α − 1)(D_α − ε) + α·ln(1 − 1/α) − ln(α − 1), best α",
        "[CKS20]; docs/theory/zcdp.md",
        lambda x, failure, _: _approximate(x, failure),
    ),
    Conversion(
        "gdp",
        "approximate",
        "δ = Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ)",
        "[BW18], [DRS22]",
        lambda x, failure, _: _approximate(x, failure),
    ),
    Conversion(
        "gdp",
        "zcdp",
        "ρ = μ²/2",
        "[DRS22]; docs/theory/tradeoff.md",
        lambda x, _f, _o: Concentrated(rho(x), neighbors=x.neighbors),
    ),
    Conversion(
        "gdp",
        "renyi",
        "D_α = μ²·α/2",
        "[DRS22]; docs/theory/tradeoff.md",
        lambda x, _, orders: _renyi(x, orders),
    ),
    Conversion(
        "gdp", "tradeoff", "β = Φ(Φ⁻¹(1 − α) − μ)", "[DRS22]", lambda x, _f, _o: tradeoff(x)
    ),
)

_WHY = {
    "pure": "it may exceed any ε with some probability, so no pure ε holds. Ask for "
    "to='approximate' with a delta=",
    "bounded_range": "a bounded range is a kind of pure ε, and this loss has none. Ask for "
    "to='approximate' with a delta=",
    "zcdp": "zCDP bounds every Rényi order, and this loss is known at a few orders only, or fails "
    "outright with probability δ. Ask for to='approximate' or to='tradeoff'",
    "renyi": "it fails outright with probability δ, and then no Rényi divergence is finite. Ask "
    "for to='approximate' or to='tradeoff'",
    "gdp": "a μ bounds the whole trade-off curve, and ρ, Rényi divergences, discrete noise or an "
    "(ε, δ) leave a part of it open. Ask for to='tradeoff', which is a curve of its own",
}


def _paths(known: Iterable[str], to: str) -> list[tuple[Conversion, ...]]:
    """Return the shortest way from what is known to the target; empty if there is none."""
    ways: list[tuple[Conversion, ...]] = [(step,) for step in _STEPS if step.source in known]
    seen = set(known)
    while ways:
        arrived = [way for way in ways if way[-1].target == to]
        if arrived:
            return arrived[:1]
        seen |= {way[-1].target for way in ways}
        ways = [
            (*way, step)
            for way in ways
            for step in _STEPS
            if step.source == way[-1].target and step.target not in seen
        ]
    return []


def _options(
    to: str, delta: Exactable | None, order: Exactable | Iterable[Exactable] | None
) -> tuple[Fraction | None, tuple[Fraction, ...]]:
    if (delta is None) == (to == "approximate") or (order is not None and to != "renyi"):
        raise CostError(
            "delta= goes with to='approximate', which needs it, and order= with to='renyi'; the "
            "other kinds have neither. Pass convert(loss, to='approximate', delta='1e-6')."
        )
    failure = None if delta is None else failure_probability(delta)
    if order is None:
        return failure, _ORDERS
    several = listed(order)
    asked = {exact(o, "order") for o in ([order] if several is None else several)}
    if not asked or min(asked) <= 1:
        raise RangeError(
            "a Rényi order is above 1; at 1 itself the divergence is that of Kullback and Leibler. "
            "Pass order=2, or several as order=(2, 4, 8)."
        )
    return failure, tuple(sorted(asked))


def _refusal(known: Iterable[str], to: str) -> str:
    have = ", ".join(kind for kind in KINDS if kind in known)
    return f"this loss cannot be had as {to}: {_WHY[to]}. It can be had as {have}."


def _listed() -> str:
    return ", ".join(map(repr, KINDS))
