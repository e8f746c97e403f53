"""One column of a private table as a line of public cells, for algorithms that measure ranges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.core.errors import InputError, KeysError
from sfumato.relation.kind import NAMES, Day, Instant, Kind, Number, domain
from sfumato.session.cells import Cells, Measuring


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Column(Cells):
    """How many rows have each value of a column, in their order; nothing is read until a release.

    Get one from `Table.values`, or from `Lab.values`.

    Attributes:
        name: the column.
        kind: its values, as a plan holds them: whole numbers of steps, days, moments.
        curator: who measures.
        counts: makes the question how many rows each cell has.
        finest: the step of the values inside a cell, where cells are bins; None where they are not.
        top: the largest value of a column that is cut into bins.
        bottom: its least value.
    """

    name: str
    kind: Number | Day | Instant
    curator: Measuring
    counts: Callable[[Any], Any]
    finest: Fraction | None = None
    top: Fraction | None = None
    bottom: Fraction | None = None

    @property
    def size(self) -> int:
        """How many cells there are."""
        codes = domain(self.kind)
        return 0 if codes is None else codes.stop - codes.start

    def __repr__(self) -> str:
        """Show what is public about it."""
        return f"<values of {self.name!r}: {self.size:,} public cells; {self.unit!r}>"


def ordered(name: str, kind: Kind) -> Number | Day | Instant:
    """Return a kind whose values lie on a line, or refuse.

    Raises:
        KeysError: the column holds categories, truths or texts.
    """
    if isinstance(kind, Number | Day | Instant):
        return kind
    raise KeysError(
        f"ranges are of numbers, dates and timestamps, and {name!r} is {NAMES[type(kind)]}, whose "
        f"values have no order. Count them with group_by({name!r}).count()."
    )


def width_of(name: str, kind: Number | Day | Instant, bins: object) -> int:
    """Return how many steps wide so many bins of a column are.

    Raises:
        InputError: not a whole number of bins, or a column that cannot be cut.
    """
    if type(bins) is not int or bins < 1:
        raise InputError("bins= is how many cells there are to be, a whole number from 1 on.")
    if not isinstance(kind, Number):
        mend = (
            f"Count days instead: {days_of(name)}."
            if isinstance(kind, Instant)
            else "Leave bins= out: a cell is then a day, and any range of days can be counted."
        )
        raise InputError(f"bins are cut of numbers, and {name!r} is {NAMES[type(kind)]}. {mend}")
    return max(1, -(-(kind.high - kind.low) // bins))


def days_of(name: str) -> str:
    """Return the call that counts a timestamp by days."""
    return f"with_columns(day='date({name})').values('day')"
