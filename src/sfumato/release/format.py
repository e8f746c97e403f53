"""Numbers and text as people read them. Views only: nothing here is computed with again."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import gcd, inf
from sys import float_info
from typing import Any
from unicodedata import category

_LONGEST = 40  # decimals that a program is given before it is given a quotient
_PLACES = 6  # decimals up to which a rational is written out exactly
_HUGE = 10**30  # from there on nobody reads the digits
_OPEN = 2**100  # steps from a value to an end at least, if that is open and of unknown noise
_FAR = 2**50  # noises, and values, from a value to an end that is open: more than any noise errs
_JOINERS = "\u200c\u200d"  # part of words in some scripts, and of emoji; harmless


def plain(number: object) -> str:
    """Write a number: exact where it has few decimals, else to six significant digits.

    Example:
        >>> plain(1234567), plain(Fraction(2469, 2)), plain(Fraction(1, 3))
        ('1234567', '1234.5', '0.333333')
    """
    return _written(number, "")


def grouped(number: object) -> str:
    """Write a number with commas between thousands.

    Example:
        >>> grouped(1234567), grouped(Fraction(24690001, 20))
        ('1,234,567', '1,234,500.05')
    """
    return _written(number, ",")


def cell(number: Any, write: Callable[[object], str] = plain) -> str:
    """Write a number of an answer, or an end of its interval, which may be open.

    Example:
        >>> cell(12), cell(inf), cell(-inf)
        ('12', '∞', '-∞')
    """
    if number in (inf, -inf):
        return "∞" if number > 0 else "-∞"
    return write(number)


def shown_end(
    end: Any, value: Any, scale: Fraction | None = None, step: Fraction = Fraction(1)
) -> Any:
    """Return an end of an interval as it is shown: one that is open is infinite.

    An open end is held as a number that nothing exceeds: 2^127 steps from 0, where totals end at
    2^63. Noise is counted in steps too, so its scale tells how far that is in the answer's unit.

    Args:
        end: the end.
        value: the noisy value.
        scale: the scale of its noise, if that is public.
        step: what a step is in the answer's unit, where the scale is not known.

    Example:
        >>> shown_end(2**127, 5), shown_end(9, 5), shown_end(-(10**40), 10**40)
        (inf, 9, -10000000000000000000000000000000000000000)
    """
    least = _FAR * max(scale, abs(value)) if scale else max(_OPEN * step, _FAR * abs(value))
    if abs(end - value) >= least:
        return inf if end > value else -inf
    return end


def exact_text(number: int | Fraction) -> str:
    """Write a number for programs, to the last digit: a decimal where it ends, else a quotient.

    Python's `Fraction` reads both back.

    Example:
        >>> exact_text(Fraction(1, 8)), exact_text(Fraction(-2, 3)), exact_text(7)
        ('0.125', '-2/3', '7')
    """
    number = Fraction(number)
    rest, places = number.denominator, 0
    while rest > 1 and places < _LONGEST:
        rest, places = rest // gcd(rest, 10), places + 1
    if rest > 1 or not places:
        return str(number)
    whole, decimals = divmod(abs(number.numerator) * 10**places // number.denominator, 10**places)
    return f"{'-' if number < 0 else ''}{whole}.{decimals:0{places}}"


def percent(share: Fraction) -> str:
    """Write a share as a percentage, rounded down: nothing but certainty is 100 %.

    Example:
        >>> percent(Fraction(19, 20)), percent(Fraction(999, 1000)), percent(1 - Fraction(1, 10**9))
        ('95 %', '99.9 %', '99.99 %')
    """
    return f"{plain(Fraction(share * 10_000 // 1, 100))} %"


def rounded_up(number: Fraction, places: int = 2) -> str:
    """Write a cost, rounded up: it is never understated.

    Example:
        >>> rounded_up(Fraction(1, 3)), rounded_up(Fraction(5))
        ('0.34', '5.00')
    """
    steps = -(-number * 10**places // 1)  # up
    whole, rest = divmod(int(steps), 10**places)
    return f"{whole:,}.{rest:0{places}}"


def printable(text: object) -> str:
    r"""Replace what would steer a terminal or a page (escapes, line breaks, bidi marks) by a mark.

    Example:
        >>> printable("a\x1b[31mb")
        'a�[31mb'
    """
    return "".join(map(_safe, str(text)))


def approximate(number: int | Fraction | float) -> float:
    """Return the nearest float, or the largest one there is."""
    try:
        return float(number)
    except OverflowError:
        return float_info.max if number > 0 else -float_info.max


def _safe(character: str) -> str:
    harmless = character.isprintable() or character in _JOINERS or category(character) == "Zs"
    return character if harmless else "\N{REPLACEMENT CHARACTER}"


def _written(number: object, separator: str) -> str:
    if isinstance(number, int | Fraction) and not -_HUGE < number < _HUGE:
        number = approximate(number)
    if isinstance(number, int):
        return f"{number:{separator}}"
    if isinstance(number, Fraction):
        scaled = number * 10**_PLACES
        if scaled.denominator == 1:
            whole, rest = divmod(abs(scaled.numerator), 10**_PLACES)
            decimals = f"{rest:0{_PLACES}}".rstrip("0")
            sign = "-" if number < 0 else ""
            return f"{sign}{whole:{separator}}{'.' if decimals else ''}{decimals}"
        number = approximate(number)
    if isinstance(number, float):
        # Six significant digits, but never fewer than the whole part has.
        return f"{number:{separator}.0f}" if 10**6 <= abs(number) < 10**15 else f"{number:.6g}"
    return printable(number)
