"""Interval arithmetic in decimals: enclosures of exp, log, sqrt and arctan, to any digits.

The C library under `decimal` rounds ``exp``, ``ln`` and ``sqrt`` correctly (half even), so the
true value lies within one unit in the last place of what it returns; one step outwards encloses it.
The other operations are rounded outwards directly. Nothing here depends on the platform's libm.
Where the value is known (e^0, log 1, sqrt 0) it is kept: a step outwards from zero would be a
number with an exponent of eighteen digits, of which no fraction can be made.
"""

from __future__ import annotations

from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_FLOOR,
    Context,
    Decimal,
    InvalidOperation,
)
from fractions import Fraction
from functools import lru_cache
from math import isqrt

DIGITS = 40
_ZERO, _ONE = Decimal(0), Decimal(1)


@lru_cache(maxsize=64)
def directed(digits: int) -> tuple[Context, Context]:
    """Return the contexts of so many digits that round down and up, for loops that need speed."""

    def context(rounding: str) -> Context:
        # An undefined result (inf - inf) raises: as a NaN it would pass through comparisons.
        traps = [InvalidOperation]
        return Context(prec=digits, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=traps)

    return context(ROUND_FLOOR), context(ROUND_CEILING)


class Interval:
    """A closed interval that is known to contain one real number.

    Example:
        >>> e = Interval.of(1).exp()
        >>> e.low < e.high and round(float(e.high), 6)
        2.718282
    """

    __slots__ = ("digits", "high", "low")

    def __init__(self, low: Decimal, high: Decimal, digits: int = DIGITS) -> None:
        """Trust that ``low <= high``; use `of` to enclose a number."""
        self.low, self.high, self.digits = low, high, digits

    @classmethod
    def of(cls, number: Fraction | int, digits: int = DIGITS) -> Interval:
        """Enclose a rational."""
        down, up = directed(digits)
        p, q = Decimal(number.numerator), Decimal(number.denominator)
        return cls(down.divide(p, q), up.divide(p, q), digits)

    def _lift(self, other: Interval | Fraction | int) -> Interval:
        return other if isinstance(other, Interval) else Interval.of(other, self.digits)

    def __add__(self, other: Interval | Fraction | int) -> Interval:
        """Enclose the sum."""
        o, (down, up) = self._lift(other), directed(self.digits)
        return Interval(down.add(self.low, o.low), up.add(self.high, o.high), self.digits)

    __radd__ = __add__

    def __neg__(self) -> Interval:
        """Mirror at zero."""
        return Interval(self.high.copy_negate(), self.low.copy_negate(), self.digits)

    def __sub__(self, other: Interval | Fraction | int) -> Interval:
        """Enclose the difference."""
        return self + (-self._lift(other))

    def __rsub__(self, other: Interval | Fraction | int) -> Interval:
        """Enclose the difference, the interval on the right."""
        return self._lift(other) + (-self)

    def __mul__(self, other: Interval | Fraction | int) -> Interval:
        """Enclose the product."""
        o, (down, up) = self._lift(other), directed(self.digits)
        corners = [(x, y) for x in (self.low, self.high) for y in (o.low, o.high)]
        return Interval(
            min(down.multiply(x, y) for x, y in corners),
            max(up.multiply(x, y) for x, y in corners),
            self.digits,
        )

    __rmul__ = __mul__

    def __truediv__(self, other: Interval | Fraction | int) -> Interval:
        """Enclose the quotient; the divisor must not contain zero."""
        o, (down, up) = self._lift(other), directed(self.digits)
        if o.low <= 0 <= o.high:
            raise ZeroDivisionError("interval division by an interval that contains zero")
        corners = [(x, y) for x in (self.low, self.high) for y in (o.low, o.high)]
        return Interval(
            min(down.divide(x, y) for x, y in corners),
            max(up.divide(x, y) for x, y in corners),
            self.digits,
        )

    def __rtruediv__(self, other: Interval | Fraction | int) -> Interval:
        """Enclose the quotient, the interval below."""
        return self._lift(other) / self

    def exp(self) -> Interval:
        """Enclose e to this power."""
        down, up = directed(self.digits)
        low = max(down.next_minus(down.exp(self.low)), _ZERO if self.low < 0 else _ONE)
        high = up.next_plus(up.exp(self.high))
        if self.high <= 0:
            high = min(high, _ONE)
        return Interval(low, high, self.digits)

    def log(self) -> Interval:
        """Enclose the natural logarithm; the interval must be positive."""
        down, up = directed(self.digits)
        if self.low <= 0:
            raise ValueError("logarithm of an interval that reaches zero")
        low = _ZERO if self.low == 1 else down.next_minus(down.ln(self.low))
        high = _ZERO if self.high == 1 else up.next_plus(up.ln(self.high))
        return Interval(low, high, self.digits)

    def sqrt(self) -> Interval:
        """Enclose the square root, of the part that is not negative; there must be one."""
        down, up = directed(self.digits)
        if self.high < 0:
            raise ValueError("square root of a negative interval")
        low = down.next_minus(down.sqrt(self.low)) if self.low > 0 else _ZERO
        high = up.next_plus(up.sqrt(self.high)) if self.high else _ZERO
        return Interval(low, high, self.digits)

    def arctan(self) -> Interval:
        """Enclose the angle, in radians, of which this is the tangent."""
        low, high = (
            -_angle(end.copy_negate(), self.digits) if end < 0 else _angle(end, self.digits)
            for end in (self.low, self.high)
        )
        return Interval(low.low, high.high, self.digits)

    def floor_fixed(self, bits: int) -> int:
        """Return the floor of the low end times ``2**bits``."""
        if self.low.adjusted() < -bits:  # below 2^-bits in size
            return -1 if self.low < 0 else 0
        return int(Fraction(self.low) * (1 << bits) // 1)

    def ceil_fixed(self, bits: int) -> int:
        """Return the ceiling of the high end times ``2**bits``."""
        return -(-self).floor_fixed(bits)

    def __repr__(self) -> str:
        """Show both ends."""
        return f"Interval({self.low}, {self.high})"


_HALVINGS = 5  # of the angle, so that the series gains ten bits a term


def _angle(x: Decimal, digits: int) -> Interval:
    """Enclose arctan(x) for x >= 0, to about so many digits."""
    down, up = directed(digits)
    if not x:
        return Interval(_ZERO, _ZERO, digits)
    if x.adjusted() < -digits:  # x - x³/3 <= arctan x <= x
        less = down.subtract(_ONE, Decimal((0, (1,), -digits)))
        return Interval(down.multiply(x, less), up.plus(x), digits)
    bits = digits * 10 // 3 + max(0, -x.adjusted()) * 10 // 3 + 16
    if x.adjusted() > digits:  # 1/x is above the angle to the vertical
        angle, slack = 2 * _angle_fixed(Fraction(1), bits)[0], _angle_fixed(Fraction(1), bits)[1]
        slack = 2 * slack + (1 << bits) // 10**digits + 1
    elif x > 1:
        (right, slack), (rest, more) = (
            _angle_fixed(tangent, bits) for tangent in (Fraction(1), 1 / Fraction(x))
        )
        angle, slack = 2 * right - rest, 2 * slack + more
    else:
        angle, slack = _angle_fixed(Fraction(x), bits)
    one = Decimal(1 << bits)
    return Interval(
        down.divide(Decimal(angle - slack), one), up.divide(Decimal(angle + slack), one), digits
    )


@lru_cache(maxsize=256)
def _angle_fixed(tangent: Fraction, bits: int) -> tuple[int, int]:
    """Return integers a and e with |arctan(tangent) * 2^bits - a| <= e, for 0 <= tangent <= 1.

    In units of 2^-(bits + guard): the tangent is cut by less than 1. Halving the angle by
    x / (1 + sqrt(1 + x²)) halves the error and adds less than 2, so it stays below 4. A power of
    x is off by less than 2 and its share of the series by less than 2. The series alternates and
    falls, so what is left out is below its first term, which is below 2. Halvings undone, that is
    (2 · terms + 6) · 2^halvings.
    """
    guard = _HALVINGS + bits.bit_length() + 4
    fine = bits + guard
    one = 1 << fine
    x = (tangent.numerator << fine) // tangent.denominator
    for _ in range(_HALVINGS):
        x = (x << fine) // (one + isqrt(one * one + x * x))
    square, power, total, terms = x * x >> fine, x, x, 1
    while power:
        power = power * square >> fine
        share = power // (2 * terms + 1)
        total += -share if terms % 2 else share
        terms += 1
    error = (2 * terms + 6) << _HALVINGS
    return (total << _HALVINGS) >> guard, (error >> guard) + 2  # up: both cuts
