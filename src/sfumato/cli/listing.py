"""Tables as text: aligned for a console, or exact as CSV; no library, so it starts at once."""

from __future__ import annotations

import csv
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from io import StringIO
from typing import TYPE_CHECKING
from unicodedata import combining, east_asian_width

from sfumato.release.format import cell as number
from sfumato.release.format import grouped, printable
from sfumato.release.frame import rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sfumato.release import Release
    from sfumato.release.measure import Measure

_DIGITS = 20  # of a number that no finite decimal can write
_OTHER = "(other)"  # the key of all groups together that do not appear
_OUTWARD = {"_low": ROUND_FLOOR, "_high": ROUND_CEILING}


def aligned(table: Iterable[Sequence[str]], *, left: int) -> str:
    """Align columns: the first `left` of them to the left, the others to the right.

    Example:
        >>> print(aligned([["zone", "n"], ["A", "1,204"], ["B", "87"]], left=1))
        zone      n
        A     1,204
        B        87
    """
    lines = [[printable(cell) for cell in row] for row in table]
    widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            _padded(cell, width, before=i >= left)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in lines
    )


def as_text(release: Release, missing: str = _OTHER) -> str:
    """Write all rows of a release, aligned.

    Args:
        release: the answer.
        missing: what to write for a key that is NULL.
    """
    columns = [[key_text(key, missing) for key in keys] for _, keys in release.keys]
    for measure in release.measures:
        columns += columns_of(measure)
    body = zip(*columns, strict=True)
    return aligned([list(release.columns), *body], left=len(release.keys))


def key_text(key: object, missing: str = _OTHER) -> str:
    """Write the key of a group for people."""
    return missing if key is None else _shown(key)


def columns_of(measure: Measure) -> list[list[str]]:
    """Write the columns of a measure for people, all numbers with the same decimals."""
    columns = [[_shown(cell) for cell in cells] for _, cells, _ in measure.columns()]
    alike = columns if measure.margin is None else columns[:1]  # a margin counts something else
    cells = [cell for column in alike for cell in column]
    places = max((len(cell.partition(".")[2]) for cell in cells), default=0)
    if not places or measure.kind == "text" or any("e" in cell for cell in cells):
        return columns
    parted = ((cell.partition(".") for cell in column) for column in alike)
    return [
        *([f"{whole}.{rest:0<{places}}" for whole, _, rest in column] for column in parted),
        *columns[len(alike) :],
    ]


def as_csv(release: Release) -> str:
    """Write all rows of a release as CSV, with every digit of every number.

    A number without a finite decimal form has twenty digits; the ends of intervals are then rounded
    outward.
    """
    rounding = [
        next((way for end, way in _OUTWARD.items() if name.endswith(end)), ROUND_HALF_EVEN)
        for name in release.columns
    ]
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(release.columns)
    for row in rows(release):
        writer.writerow([_written(cell, way) for cell, way in zip(row, rounding, strict=True)])
    return out.getvalue()


def decimal(number: Fraction, rounding: str = ROUND_HALF_EVEN) -> str:
    """Write a number as a decimal: exact where that is finite, else to twenty digits.

    Example:
        >>> decimal(Fraction(1, 8)), decimal(Fraction(2, 3)), decimal(Fraction(10**30))
        ('0.125', '0.66666666666666666667', '1000000000000000000000000000000')
    """
    twos = fives = 0
    rest = number.denominator
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest == 1:
        places = max(twos, fives)
        found = Decimal(number.numerator * 10**places // number.denominator).scaleb(
            -places, Context(prec=10**5)
        )
    else:
        context = Context(prec=_DIGITS, rounding=rounding)
        found = context.divide(Decimal(number.numerator), Decimal(number.denominator))
    return f"{found:f}"


def _written(cell: object, rounding: str) -> str:
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, int | Fraction):
        return decimal(Fraction(cell), rounding)
    return "" if cell is None else str(cell)


def _shown(cell: object) -> str:
    if isinstance(cell, bool):
        return str(cell).lower()
    return number(cell, grouped) if isinstance(cell, int | float | Fraction) else str(cell)


def _padded(cell: str, width: int, *, before: bool) -> str:
    space = " " * (width - _width(cell))
    return space + cell if before else cell + space


def _width(text: str) -> int:
    """Return how many places a text takes: two for each wide letter, none for an accent."""
    return sum(
        0 if combining(letter) else 2 if east_asian_width(letter) in "WF" else 1 for letter in text
    )
