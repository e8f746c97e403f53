"""Privacy losses in plain words: what happened, without computing what it amounts to."""

from __future__ import annotations

from sfumato.core.loss import (
    Approximate,
    BoundedRange,
    Composed,
    Concentrated,
    GaussianShift,
    GaussianTradeoff,
    LaplaceShift,
    LaplaceTradeoff,
    Loss,
    PoissonSampled,
    Pure,
    Renyi,
    Worst,
)
from sfumato.core.number import show


def describe(loss: Loss) -> list[str]:
    """Say in words what happened, one sentence for each part of the loss.

    Example:
        >>> describe(LaplaceShift(2, 1, 1))[0][:44]
        'discrete Laplace noise of scale 2, where one'
    """
    if isinstance(loss, Composed):
        if not loss.parts:
            return ["nothing was given away"]
        return [
            said if times == 1 else f"{times} times: {said}"
            for part, times in loss.parts
            for said in describe(part)
        ]
    if isinstance(loss, Worst):
        parts = "; ".join(
            f"{times} × ({' and '.join(describe(part))})" for part, times in loss.parts
        )
        return [f"separate parts of the data, {loss.touched} at most for one unit: {parts}"]
    return [_one(loss)]


def _one(loss: Loss) -> str:
    match loss:
        case Pure():
            return f"ε = {show(loss.epsilon)} (pure differential privacy)"
        case Approximate():
            return (
                f"ε = {show(loss.epsilon)} and δ = {show(loss.delta)} "
                f"(approximate differential privacy)"
            )
        case Concentrated():
            return f"ρ = {show(loss.rho)} (zero-concentrated differential privacy)"
        case BoundedRange():
            return (
                f"a choice by the exponential mechanism whose log-likelihood ratios span at most "
                f"{show(loss.epsilon)} (bounded range)"
            )
        case LaplaceShift():
            return (
                f"discrete Laplace noise of scale {show(loss.scale)}, where one unit moves all "
                f"cells together by at most {show(loss.l1)}, one cell by at most {show(loss.linf)}"
            )
        case GaussianShift():
            cells = (
                "only one cell, with a squared shift"
                if loss.scalar
                else "the cells by a squared length"
            )
            return (
                f"discrete Gaussian noise of σ = {show(loss.sigma)}, where one unit moves {cells} "
                f"of at most {show(loss.l2_squared)}"
            )
        case LaplaceTradeoff():
            return f"as private as continuous Laplace noise with ε = {show(loss.epsilon)}"
        case GaussianTradeoff():
            return f"μ = {show(loss.mu)} (Gaussian differential privacy)"
        case Renyi():
            known = ", ".join(f"{show(bound)} at {show(order)}" for order, bound in loss.curve)
            return f"Rényi divergences of at most {known} (Rényi differential privacy)"
        case PoissonSampled():
            inner = " and ".join(describe(loss.loss))
            return f"on a secret sample of each unit with probability {show(loss.rate)}: {inner}"
    return repr(loss)
