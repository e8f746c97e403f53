"""Exact numbers: what a guarantee rests on is a rational, never a float.

A float *literal* is what its author typed: ``0.1`` means 1/10, not the nearest double.
"""

from __future__ import annotations

import re
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, Context, Decimal
from fractions import Fraction
from math import log10
from numbers import Integral, Rational, Real
from operator import index
from typing import Any, SupportsIndex, TypeAlias, TypeGuard, cast

from sfumato.core.errors import NumberError, RangeError

# ASCII on purpose: `\d` would admit the digits of other scripts, and int() would read them.
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?(?P<exponent>[0-9]+))?")
_RATIO = re.compile(r"[+-]?[0-9]+/[0-9]+")
# No numeral can ask for a huge integer, and every number can be written down: Python refuses to
# print integers of more than 4,300 digits.
_LONGEST, _LONGEST_EXPONENT = 128, 3
_MOST_BITS = 13_287  # 4,000 digits

Exactable: TypeAlias = int | float | str | Decimal | Fraction


def exact(value: Any, name: str = "value") -> Fraction:
    """Return the rational that `value` means.

    Args:
        value: an int, Fraction, Decimal, a string such as ``"1e-6"`` or ``"1/3"``, or a float,
            which means its shortest decimal literal.
        name: what the number is for; quoted in the error.

    Raises:
        NumberError: not a number, not finite, or written in a way that is not exact.

    Example:
        >>> exact(0.1), exact("1e-6"), exact("1/3")
        (Fraction(1, 10), Fraction(1, 1000000), Fraction(1, 3))
    """
    if isinstance(value, bool) or value is None:
        raise _refusal(repr(value), name)
    if isinstance(value, Rational):  # ints too
        return _from_ratio(value, name)
    if isinstance(value, Decimal):
        return _from_text(str(value), name)
    if isinstance(value, str):
        return _from_text(value.strip(" "), name, shown=repr(value))
    if isinstance(value, float):
        return _from_text(float.__repr__(value), name)
    if isinstance(value, Real) and hasattr(value, "dtype"):  # a numpy float of another width
        import numpy as np

        # str() would obey numpy's print options, and some of them drop digits.
        return _from_text(np.format_float_scientific(cast("Any", value)), name)
    raise _refusal(type(value).__name__, name)


def _from_ratio(value: Rational, name: str) -> Fraction:
    try:
        p, q = index(value.numerator), index(value.denominator)
    except TypeError:  # a numpy timedelta: an Integral, they say
        raise _refusal(type(value).__name__, name) from None
    if not q:
        raise _refusal(type(value).__name__, name)
    if max(p.bit_length(), q.bit_length()) > _MOST_BITS:
        raise NumberError(f"{name} has more than 4,000 digits, which nobody can mean. Round it.")
    return value if type(value) is Fraction else Fraction(p, q)


def _from_text(text: str, name: str, shown: str = "") -> Fraction:
    shown = _shortened(shown or text)
    decimal = _DECIMAL.fullmatch(text)
    if not decimal and not _RATIO.fullmatch(text):
        raise _refusal(shown, name)
    exponent = decimal["exponent"] if decimal else None
    if len(text) > _LONGEST or len(exponent or "") > _LONGEST_EXPONENT:
        raise NumberError(
            f"{name} = {shown} is too long a numeral. Write at most 128 characters, with an "
            f"exponent of at most three digits."
        )
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise _refusal(shown, name) from None


def _refusal(shown: str, name: str) -> NumberError:
    return NumberError(
        f"{name} = {shown} is not a finite, exact number, so no guarantee can be computed from it. "
        f"Pass an int, a Fraction, a Decimal, a float, or a string such as '0.5', '1e-6' or '1/3'."
    )


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def is_integer(value: object) -> TypeGuard[SupportsIndex]:
    """Say whether `value` is an integer by its type, Python's or numpy's; truth values are not."""
    # A numpy timedelta is registered as an Integral too, but has no index.
    whole = isinstance(value, Integral) and isinstance(value, SupportsIndex)
    return whole and not isinstance(value, bool)


def positive(value: Any, name: str) -> Fraction:
    """Return `value` as a rational above zero."""
    number = exact(value, name)
    if number <= 0:
        raise RangeError(
            f"{name} = {show(number)} must be above 0: at zero or below, nothing could be measured "
            f"or nothing protected. Pass a positive number."
        )
    return number


def nonnegative(value: Any, name: str) -> Fraction:
    """Return `value` as a rational that is zero or above."""
    number = exact(value, name)
    if number < 0:
        raise RangeError(f"{name} = {show(number)} must not be negative. Pass 0 or more.")
    return number


def open_unit(value: Any, name: str) -> Fraction:
    """Return `value` as a rational strictly between 0 and 1."""
    number = exact(value, name)
    if not 0 < number < 1:
        raise RangeError(
            f"{name} = {show(number)} must lie strictly between 0 and 1. "
            f"It is a probability; write 0.95 for 95 %."
        )
    return number


def failure_probability(value: Any, name: str = "delta") -> Fraction:
    """Return `value` as a δ: zero or above, and below one."""
    number = exact(value, name)
    if not 0 <= number < 1:
        raise RangeError(
            f"{name} = {show(number)} must be at least 0 and below 1: it is the probability with "
            f"which the guarantee may fail. Pass something like '1e-6', well below one over the "
            f"number of people."
        )
    return number


def show(number: Fraction, digits: int = 6) -> str:
    """Write a rational for people: exact when short, else to `digits` significant digits."""
    if number.denominator == 1 and abs(number.numerator) < 10**15:
        return str(number.numerator)
    try:
        approximate = float(number)
    except OverflowError:
        approximate = 0.0
    if abs(approximate) > 1e-300:  # below, floats lose digits, then everything
        return f"{approximate:.{digits}g}"
    # The logarithm of a quotient of integers, each of which has one.
    power = log10(abs(number.numerator)) - log10(number.denominator)
    return f"about {'-' if number < 0 else ''}10^{round(power)}"


def show_above(number: Fraction, digits: int = 6) -> str:
    """Write a cost for people, rounded up: what is read is never below what was computed.

    Example:
        >>> show_above(Fraction("1.0000049")), show_above(Fraction(1, 2))
        ('1.00001', '0.5')
    """
    # Room in the exponents, so that no number is cut off to zero or to infinity.
    context = Context(prec=digits, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
    above = context.divide(Decimal(number.numerator), Decimal(number.denominator))
    return show(Fraction(above), digits)
