"""Adding, subtracting, multiplying and dividing released numbers and exact ones."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

from sfumato.core.errors import RangeError
from sfumato.release.formula import Formula
from sfumato.release.opaque import Opaque, refusal

Computed: TypeAlias = Formula | Opaque


def compute(sign: str, x: Computed, y: Computed) -> Computed:
    """Return x + y, x - y, x * y or x / y.

    Raises:
        InputError: the result is not of a kind whose interval is known.
        RangeError: y is exactly 0, in a quotient.
    """
    if isinstance(x, Formula) and isinstance(y, Formula):
        match sign:
            case "+":
                return x.plus(y)
            case "-":
                return x.plus(y, -1)
            case "*":
                return x.times(y)
        return x.over(y)
    for one, other in ((x, y), (y, x)):
        number = one.constant if isinstance(one, Formula) else None
        if number is None or not isinstance(other, Opaque):
            continue
        if sign == "+":
            return other.affine(Fraction(1), number)
        if sign == "*":
            return other.affine(number, Fraction(0))
        if sign == "-":
            return other.affine(*((Fraction(1), -number) if one is y else (Fraction(-1), number)))
        if one is y:
            if not number:
                raise RangeError("nothing can be divided by 0. Divide by another number.")
            return other.affine(1 / number, Fraction(0))
    raise refusal(next(each.measure.name for each in (x, y) if isinstance(each, Opaque)))
