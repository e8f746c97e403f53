"""Two grids: decimal for running sums, dyadic for searches; and rounding onto them.

Sums of a ledger are integers in units of 10^-18, so that they add up exactly and in any order. A
search for a parameter or an ε runs over the numbers with 41 significant bits, which are numbered
by integers in increasing order, so that "the least one" has a meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

UNIT = 10**18  # grid points per 1
BITS = 40
_OCTAVE = 1 << BITS
FINEST = Fraction(1, 10**400)  # a rational made from a decimal is never below it, unless 0
_LONGEST = 4096  # bits of a denominator beyond which a sum is rounded


def units_up(number: Fraction) -> int:
    """Count the units of 10^-18 in `number`, rounded up."""
    return -(-number.numerator * UNIT // number.denominator)


def units_down(number: Fraction) -> int:
    """Count the units of 10^-18 in `number`, rounded down."""
    return number.numerator * UNIT // number.denominator


def rational_up(number: Decimal) -> Fraction:
    """Return a rational at or above a decimal, with a denominator of bearable length."""
    if number > 0 and number.adjusted() < -400:
        return FINEST  # up: a decimal may have an exponent of eighteen digits
    return Fraction(number)


def shorten_up(number: Fraction, digits: int = 30) -> Fraction:
    """Round up to a decimal of at least `digits` significant digits."""
    p, q = number.numerator, number.denominator
    size = (p.bit_length() - q.bit_length()) * 301 // 1000  # the decimal exponent, or one below
    grid = 10 ** max(digits - size, 0)
    return Fraction(-(-p * grid // q), grid)


def bearable(number: Fraction) -> Fraction:
    """Round up where the denominator has grown so long that sums would become slow."""
    # up: overstates loss, by less than 10^-400 of it
    return shorten_up(number, 400) if number.denominator.bit_length() > _LONGEST else number


def dyadic(index: int) -> Fraction:
    """Return the positive number of 41 significant bits that has this index."""
    exponent, mantissa = divmod(index, _OCTAVE)
    shift = exponent - BITS
    value = _OCTAVE + mantissa
    return Fraction(value << shift) if shift >= 0 else Fraction(value, 1 << -shift)


def index_below(number: Fraction) -> int:
    """Return the index of the largest dyadic number that is at most `number`.

    Example:
        >>> dyadic(index_below(Fraction(3, 4)))
        Fraction(3, 4)
    """
    p, q = number.numerator, number.denominator
    exponent = p.bit_length() - q.bit_length()
    if (p << max(-exponent, 0)) < (q << max(exponent, 0)):
        exponent -= 1
    shift = BITS - exponent
    mantissa = (p << max(shift, 0)) // (q << max(-shift, 0))
    return exponent * _OCTAVE + mantissa - _OCTAVE


def index_above(number: Fraction) -> int:
    """Return the index of the smallest dyadic number that is at least `number`."""
    index = index_below(number)
    return index if dyadic(index) == number else index + 1


def coarse_above(number: Fraction) -> Fraction:
    """Return the smallest number of 21 significant bits that is at least `number`."""
    if number <= 0:
        return Fraction(0)
    step = 1 << BITS - 20
    return dyadic(-(-index_above(number) // step) * step)


def least(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the least index in (low, high] at which `holds` turns true, `high` being one.

    ``holds(high)`` is taken for granted and ``holds(low)`` is taken to be false; whatever the
    function does in between, the answer is `high` or an index at which it held.
    """
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high


def least_near(holds: Callable[[int], bool], guess: int) -> int:
    """Return the least index at which `holds` turns true, looking first around `guess`."""
    step = 1
    if holds(guess):
        high = guess
        while holds(high - step):
            high, step = high - step, 2 * step
        return least(holds, high - step, high)
    low = guess
    while not holds(low + step):
        low, step = low + step, 2 * step
    return least(holds, low, low + step)
