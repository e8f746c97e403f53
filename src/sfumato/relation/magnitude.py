"""How large a number is, roughly: public bins that grow with the number, four in each octave.

A range that nobody declared is looked for among these: few enough to be counted one by one, and
fine enough that an end of the range is known to a quarter of an octave, whatever the unit is.

Bins are numbered without gaps, below zero as above. Bin k holds the number k alone while |k| < 8;
from there on each octave from 2^e to below 2^(e+1) has four of one width:

=====  ===  ===  ===  ===  =====  =====  =====  =====  =====  =====
bin    0    1    …    7    8      9      10     11     12     13
holds  0    1    …    7    8–9    10–11  12–13  14–15  16–19  20–23
=====  ===  ===  ===  ===  =====  =====  =====  =====  =====  =====
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sfumato.relation.expr import Typed, constant
from sfumato.relation.kind import Number, common_step
from sfumato.relation.operand import number, numeric, positive, rescale
from sfumato.relation.rule import rule

_SINGLE = 8  # bins on each side of zero, zero among them, that hold one number


@rule(
    "magnitude",
    takes=(1, 2),
    hint="It takes a number and, if you like, a positive constant, the unit it is counted in.",
)
def _magnitude(given: Sequence[Typed]) -> Typed:
    """Return the bin of a number of units, of 1 if none is given; what is left over is cut off."""
    unit = positive(given[1]) if len(given) > 1 else Fraction(1)
    if given[0].constant is not None:
        return constant(magnitude(_cut(number(given[0]) / unit)))
    fine = rescale(given[0], common_step(numeric(given[0]).step, unit))
    kind = numeric(fine)
    units = unit / kind.step  # in a unit; a whole number, and 1 where the unit is the step
    Number(0, int(units))  # refuses what has more than 64 bits
    size = fine.sql if kind.low >= 0 else f"abs({fine.sql})"
    size = size if units == 1 else f"({size} // {units})"
    # A float guesses and integers decide. With 4 set, n has the same octave from 8 on, and below
    # that of 4. Its logarithm, rounded to the nearest, is e or e + 1 where 2^e <= n < 2^(e+1), be
    # it off by a little; then n >> guess is 1 or 0, and tells which.
    top = f"({size} | 4)"
    guess = f"CAST(log2({top}) AS TINYINT)"
    shift = f"({guess} - 3 + ({top} >> {guess}))"
    sql = f"({shift} * 4 + ({size} >> {shift}))"
    if kind.low < 0:
        sql = f"({sql} * (CASE WHEN {fine.sql} < 0 THEN -1 ELSE 1 END))"
    low, high = (magnitude(_cut(end / units)) for end in (kind.low, kind.high))
    return Typed(Number(low, high), sql)


def magnitude(code: int) -> int:
    """Return the bin of a whole number.

    Example:
        >>> [magnitude(code) for code in (0, 1, 7, 8, 9, 10, 1000, -1000)]
        [0, 1, 7, 8, 8, 9, 35, -35]
    """
    size = abs(code)
    shift = max(size.bit_length() - 3, 0)
    found = 4 * shift + (size >> shift)
    return found if code >= 0 else -found


def edges(held: int) -> tuple[int, int]:
    """Return the least and the largest whole number in a bin: the inverse of `magnitude`.

    Example:
        >>> edges(0), edges(9), edges(-35)
        ((0, 0), (10, 11), (-1023, -896))
    """
    size = abs(held)
    shift = 0 if size < _SINGLE else size // 4 - 1
    top = size - 4 * shift
    least, largest = top << shift, ((top + 1) << shift) - 1
    return (least, largest) if held >= 0 else (-largest, -least)


def _cut(value: Fraction) -> int:
    """Round to a whole number towards zero."""
    return int(value)
