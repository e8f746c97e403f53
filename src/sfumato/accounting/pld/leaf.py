"""The worst pairs of laws behind a loss, each known by its hockey-stick curve.

A pair (P, Q) is known by H(ε) = ∫ (P − e^ε·Q)₊ and, with the laws exchanged, by its way back; both
are asked for at ε >= 0 only. Every value is a float that comes with an allowance for its rounding
errors. See ``docs/theory/pld.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from sfumato.accounting.pld.rounding import SLACK, UNIT, Floats, toward

FAR = 600.0  # ε beyond which nothing is computed, nor promised
_HALF = Fraction(1, 2)


class Curve(NamedTuple):
    """Values of H at some points.

    Attributes:
        value: H,
        error: ... which is wrong by no more than this;
        most: at least the probability under P that the loss is at that point or beyond.
    """

    value: Floats
    error: Floats
    most: Floats


class Leaf(Protocol):
    """A pair of laws that dominates a release, with a curve in each direction."""

    @property
    def symmetric(self) -> bool:
        """Whether both directions have the same curve."""

    @property
    def forever(self) -> tuple[float, float]:
        """At most the limits of the two curves for large ε: what is given away for certain."""

    @property
    def bounded(self) -> tuple[bool, bool]:
        """Whether no finite loss is beyond `reach`, forth and back."""

    def curve(self, at: Floats, *, back: bool, blur: float = 0.0) -> Curve:
        """Return H at the points `at` >= 0, of (Q, P) if `back`.

        Args:
            at: the points,
            back: which of the two curves.
            blur: ... which are known up to this relative error only.
        """

    def reach(self, tail: float) -> tuple[float, float]:
        """Return about the points from which on the two curves are below `tail`, or constant."""


def _ended(at: Floats, top: float, blur: float) -> tuple[Floats, Floats]:
    """Return the error of top − at, and 1 where that may be above zero and 0 elsewhere."""
    error = 8 * UNIT * (top + at) + blur * at
    return error, (at < top + error).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Response:
    """Randomized response, which gives everything away with probability `delta`."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    symmetric: ClassVar[bool] = True
    bounded: ClassVar[tuple[bool, bool]] = (True, True)

    @property
    def forever(self) -> tuple[float, float]:
        """The limit is `delta`."""
        low = toward(self.delta, up=False)
        return low, low

    def curve(self, at: Floats, *, back: bool, blur: float = 0.0) -> Curve:  # noqa: ARG002
        """Return δ + (1 − δ)·(1 − e^(x − ε))/(1 + e^(−ε))."""
        top, lost = float(self.epsilon), toward(self.delta, up=True)
        error, there = _ended(at, top, blur)
        part = -np.expm1(np.minimum(at - top, 0.0)) / (1 + math.exp(-top))
        value = lost + (1 - lost) * part
        return Curve(value, SLACK * value + error * there, there + lost)

    def reach(self, tail: float) -> tuple[float, float]:  # noqa: ARG002
        """The curves are constant from ε on."""
        return float(self.epsilon), float(self.epsilon)


@dataclass(frozen=True, slots=True)
class Laplace:
    """Continuous Laplace noise at a shift of `epsilon` scales."""

    epsilon: Fraction

    symmetric: ClassVar[bool] = True
    bounded: ClassVar[tuple[bool, bool]] = (True, True)
    forever: ClassVar[tuple[float, float]] = (0.0, 0.0)

    def curve(self, at: Floats, *, back: bool, blur: float = 0.0) -> Curve:  # noqa: ARG002
        """Return 1 − e^((x − ε)/2)."""
        top = float(self.epsilon)
        error, there = _ended(at, top, blur)
        value = -np.expm1(np.minimum(at - top, 0.0) / 2)
        return Curve(value, SLACK * value + error * there, there)

    def reach(self, tail: float) -> tuple[float, float]:  # noqa: ARG002
        """The curves are zero from ε on."""
        return float(self.epsilon), float(self.epsilon)


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """Discrete Laplace noise on one integer, at a whole shift up to 2^40."""

    scale: Fraction
    shift: int

    symmetric: ClassVar[bool] = True
    bounded: ClassVar[tuple[bool, bool]] = (True, True)
    forever: ClassVar[tuple[float, float]] = (0.0, 0.0)

    def curve(self, at: Floats, *, back: bool, blur: float = 0.0) -> Curve:  # noqa: ARG002
        """Return P(X <= c) − e^x·P(X <= c − shift) at its best c.

        With p = e^(−1/scale) and y = (shift − 2c)/scale − x it is 1 − p^c plus
        p^c·(1 − e^(−y))/(1 + p).
        """
        top, step, scale = float(self.shift / self.scale), float(1 / self.scale), float(self.scale)
        drift = at * scale
        # Where rounding leaves a choice, the larger c: the error of y covers what it costs.
        cut = np.ceil((self.shift - drift) / 2 + 8 * UNIT * (self.shift + drift)) - 1
        cut = np.maximum(cut, 0.0)
        error, there = _ended(at, top, blur)
        last = -np.expm1(at - (top - 2 * cut * step)) * np.exp(-cut * step) / (1 + math.exp(-step))
        whole = -np.expm1(-cut * step)
        value = np.maximum(whole + last, 0.0) * there
        return Curve(value, (SLACK * (whole + np.abs(last)) + 8 * error) * there, there)

    def reach(self, tail: float) -> tuple[float, float]:  # noqa: ARG002
        """The curves are zero from shift/scale on."""
        top = float(self.shift / self.scale)
        return top, top


@dataclass(frozen=True, slots=True)
class Sampled:
    """A pair mixed: its P becomes rate·P + (1 − rate)·Q, where 0 < rate < 1."""

    inner: Leaf
    rate: Fraction

    symmetric: ClassVar[bool] = False

    @property
    def bounded(self) -> tuple[bool, bool]:
        """As the pair is; the way back is never above −ln(1 − rate)."""
        return self.inner.bounded[0], self.inner.bounded[1] or self.rate <= _HALF

    @property
    def forever(self) -> tuple[float, float]:
        """What is given away for certain; the way back gives nothing away for certain."""
        return self.inner.forever[0] * toward(self.rate, up=False) * (1 - SLACK), 0.0

    def curve(self, at: Floats, *, back: bool, blur: float = 0.0) -> Curve:
        """Return rate·H(ln(1 + (e^x − 1)/rate)); and the way back, where c = 1 − (1 − rate)·e^x.

        There it is c·H(ln(1 + (e^x − 1)/c)), and zero from c = 0 on.
        """
        rate, rest = float(self.rate), float(1 - self.rate)
        grown = np.expm1(at)
        if not back:
            inside = np.log1p(grown / rate)  # concave: a relative error does not grow
            inner = self.inner.curve(inside, back=False, blur=blur + SLACK)
            value = rate * inner.value
            return Curve(value, rate * inner.error + SLACK * value, inner.most)
        left = rate - rest * grown
        wrong = SLACK * (rate + rest * grown) + blur * at * rest * (1 + grown)
        left = np.where(left > -wrong, np.maximum(left, 0.0) + wrong, 0.0)
        alive = left > 0
        inside = np.log1p(grown[alive] / left[alive])
        farthest = float(at.max(initial=0.0))
        inner = self.inner.curve(inside, back=True, blur=SLACK + blur * (2 + farthest))
        value, error, most = np.zeros((3, len(at)))
        value[alive] = left[alive] * inner.value
        # c and the argument are wrong together: each costs the probability, times that error.
        error[alive] = left[alive] * inner.error + 4 * wrong[alive] * inner.most
        error[alive] += SLACK * value[alive]
        most[alive] = inner.most
        return Curve(value, error, most)

    def reach(self, tail: float) -> tuple[float, float]:
        """Map the reach of the pair."""
        rate = float(self.rate)
        forth, back = self.inner.reach(tail / rate)
        most = math.log1p(rate * math.expm1(forth)) if forth < FAR else forth
        far = not self.inner.bounded[1] and self.rate <= _HALF
        return most, -math.log1p(-rate if far else rate * math.expm1(-back))
