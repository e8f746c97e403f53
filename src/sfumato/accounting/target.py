"""A wish for accuracy, and the most noise that grants it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import log
from operator import index
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from sfumato.accounting.grid import least_near
from sfumato.accounting.tail import tail, total
from sfumato.core.errors import InputError, RangeError, SensitivityError
from sfumato.core.interval import Interval
from sfumato.core.loss import GaussianShift, LaplaceShift, Loss
from sfumato.core.number import Exactable, is_integer, open_unit, positive, show
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Neighbors
from sfumato.release.error import Family

Wanted: TypeAlias = Literal["auto", "laplace", "gaussian"]

_DIGITS = 40
_LARGEST = 2**60  # beyond which no integer noise is drawn
_DECADE = 900_000  # scales are sought among the numbers of six decimal digits


@dataclass(frozen=True, slots=True)
class Target:
    """One number, or one table of numbers, and how far its noise may take it.

    Args:
        name: what it is.
        within: the half-width: noise of at most so much, in steps of the answer's integers.
        sensitivity: how far one unit can move it; a number if it moves one cell only.
        confidence: the probability with which the half-width holds; that of `choose` if not given.
        cells: how many cells have to keep to it at once; 1 for each cell by itself.
        times: how often it is released, as 365 for a daily count.
        mechanism: ``"laplace"`` or ``"gaussian"`` noise, or ``"auto"`` for the cheaper one.

    Example:
        >>> Target("people", within=50).within
        Fraction(50, 1)
    """

    name: str
    within: Fraction
    sensitivity: Sensitivity | Fraction = Fraction(1)
    confidence: Fraction | None = None
    cells: int = 1
    times: int = 1
    mechanism: Wanted = "auto"

    if TYPE_CHECKING:  # what is taken; the fields are what is held

        def __init__(
            self,
            name: str,
            within: Exactable,
            sensitivity: Sensitivity | Exactable = 1,
            confidence: Exactable | None = None,
            cells: int = 1,
            times: int = 1,
            mechanism: Wanted = "auto",
        ) -> None: ...

    def __post_init__(self) -> None:
        """Check every part."""
        if not isinstance(self.name, str) or not self.name:
            raise InputError("a target needs a name, to be told from the others: Target('n', 50).")
        width = positive(self.within, "within")
        if width > _LARGEST:
            raise RangeError(
                f"within = {show(width)} is beyond 2^60, more than any noise that is drawn. Count "
                f"in larger steps."
            )
        object.__setattr__(self, "within", width)
        if not isinstance(self.sensitivity, Sensitivity):
            object.__setattr__(self, "sensitivity", positive(self.sensitivity, "sensitivity"))
        elif self.sensitivity.is_zero:
            raise SensitivityError(
                f"no unit can move {self.name!r}, so it needs no noise and has no price. Leave it "
                f"out."
            )
        if self.confidence is not None:
            object.__setattr__(self, "confidence", open_unit(self.confidence, "confidence"))
        for name in ("cells", "times"):
            count = getattr(self, name)
            if not is_integer(count) or not 1 <= index(count) < 2**63:
                raise RangeError(f"{name} = {count!r} must be a whole number from 1 up.")
        if self.mechanism not in get_args(Wanted):
            raise InputError(
                f"mechanism = {self.mechanism!r} is not known here. Pass 'laplace', 'gaussian' or "
                f"'auto'."
            )

    def families(self) -> tuple[Family, ...]:
        """Return the kinds of noise that may be used: asked for, and with a norm to price it by."""
        known: list[Family] = []
        given = self.sensitivity
        if not isinstance(given, Sensitivity) or given.l1 is not None:
            known.append("laplace")
        if not isinstance(given, Sensitivity) or given.l2_squared is not None:
            known.append("gaussian")
        found = tuple(f for f in known if self.mechanism in (f, "auto"))
        if not found:
            raise SensitivityError(
                f"the sensitivity of {self.name!r} does not say enough to price {self.mechanism} "
                f"noise. Pass l1= for Laplace noise, l2= for Gaussian noise, or l0= with linf=."
            )
        return found

    def noise(self, family: Family, confidence: Fraction) -> Fraction:
        """Return the largest scale, of six digits, with which the half-width holds."""
        sure = self.confidence or confidence
        return largest(family, int(self.within // 1), (1 - sure) / self.cells)

    def loss(self, family: Family, scale: Fraction, neighbors: Neighbors) -> Loss:
        """Return the loss of one release with noise of this scale."""
        s = self.sensitivity
        if isinstance(s, Fraction):
            moved = _whole(s)
            l1 = linf = moved
            square, scalar = moved**2, True
        else:
            neighbors, scalar, linf = s.neighbors, s.l0 == 1, _whole(s.linf)
            l1 = linf if s.l1 is None else _whole(s.l1)
            square = linf**2 if s.l2_squared is None or scalar else s.l2_squared
        if family == "laplace":
            return LaplaceShift(scale, l1, min(linf, l1), neighbors=neighbors)
        return GaussianShift(scale, square, scalar, neighbors=neighbors)


@lru_cache(maxsize=4096)
def largest(family: Family, width: int, failure: Fraction) -> Fraction:
    """Return the largest scale of six digits at which |noise| > width has probability `failure`.

    The law is that of the integers which are drawn: the tail of discrete Laplace noise is
    2·p^(width+1)/(1 + p) with p = exp(−1/scale); that of a discrete Gaussian is summed.

    Args:
        family: the kind of noise.
        width: the half-width, a whole number.
        failure: the probability that it may be exceeded with, at most.

    Example:
        >>> largest("laplace", 50, Fraction(1, 20)), largest("gaussian", 50, Fraction(1, 20))
        (Fraction(168597, 10000), Fraction(257673, 10000))
    """
    exceeds = _laplace if family == "laplace" else _gaussian
    rare = float(max(failure, Fraction(1, 10**290)))
    far = -log(rare) if family == "laplace" else -NormalDist().inv_cdf(rare / 2)
    guess = _index(Fraction((width + 0.5) / max(far, 0.01)))
    # up in the tail: a scale of which it is not certain that it keeps the promise is not taken
    return _scale(least_near(_beyond(exceeds, width, failure), guess) - 1)


def _beyond(
    exceeds: Callable[[int, Fraction], Interval], width: int, failure: Fraction
) -> Callable[[int], bool]:
    return lambda i: Fraction(exceeds(width, _scale(i)).high) > failure


def _laplace(width: int, scale: Fraction) -> Interval:
    far = (-Interval.of((width + 1) / scale, _DIGITS)).exp()
    return 2 * far / (1 + (-Interval.of(1 / scale, _DIGITS)).exp())


def _gaussian(width: int, sigma: Fraction) -> Interval:
    return 2 * tail(width + 1, sigma, _DIGITS) / total(sigma, _DIGITS)


def _scale(position: int) -> Fraction:
    """Return the positive number of six decimal digits that has this position."""
    power, digits = divmod(position, _DECADE)
    return (100_000 + digits) * Fraction(10) ** (power - 5)


def _index(number: Fraction) -> int:
    """Return about the position of a number."""
    power = len(str(max(int(number * 10**20), 1))) - 21
    digits = int(number / Fraction(10) ** (power - 5))
    return power * _DECADE + min(max(digits - 100_000, 0), _DECADE - 1)


def _whole(norm: Fraction) -> Fraction:
    return Fraction(-(-norm // 1))  # up: integers move by whole numbers
