"""Interval arithmetic in decimals: enclosures of exp, log and sqrt, to any number of digits.

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
