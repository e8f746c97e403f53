"""The public cells of a column, from the lowest value to the highest."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.codec import canonical
from sfumato.core.errors import InputError, NumberError
from sfumato.core.number import exact
from sfumato.relation.kind import EPOCH, Day, Instant, Number, Value, domain, value

if TYPE_CHECKING:
    from sfumato.session.column import Column

Integers = NDArray[np.int64]


@canonical
@dataclass(frozen=True, slots=True)
class Line:
    """Cells side by side: one for each value, or bins of several.

    Attributes:
        name: the column.
        kind: the values at which cells begin, as a plan holds them.
        finest: the step of values inside a cell; None where a cell is one value.
        top: the largest value there is; beyond it the last bin holds none.
        bottom: the least value there is; the first bin may begin below it.
    """

    name: str
    kind: Number | Day | Instant
    finest: Fraction | None = None
    top: Fraction | None = None
    bottom: Fraction | None = None

    @classmethod
    def of(cls, column: Column) -> Line:
        """Return the cells of a column."""
        return cls(column.name, column.kind, column.finest, column.top, column.bottom)

    @property
    def size(self) -> int:
        """How many cells there are."""
        codes = domain(self.kind)
        return 0 if codes is None else codes.stop - codes.start

    def value(self, cell: int) -> Value:
        """Return the value at which a cell begins; dates and moments as ISO text."""
        return value(self.kind, cell + self._first)

    def first(self, cell: int) -> Value:
        """Return the least value in a cell."""
        begins = self.value(cell)
        if self.bottom is None or not isinstance(begins, int | Fraction):
            return begins
        return _short(max(Fraction(begins), self.bottom))

    def last(self, cell: int) -> Value:
        """Return the largest value in a cell."""
        begins = self.value(cell)
        if self.finest is None or not isinstance(self.kind, Number):
            return begins
        if not isinstance(begins, int | Fraction):  # numbers are one of these
            return begins
        ends = Fraction(begins) + self.kind.step - self.finest
        return _short(ends if self.top is None else min(ends, self.top))

    def between(self, first: Value, last: Value) -> int:
        """Count the values from one to another, both included."""
        steps = self._steps(last) - self._steps(first)
        if self.finest is not None and isinstance(self.kind, Number):
            steps *= self.kind.step / self.finest
        return int(steps) + 1

    def values(self) -> list[Value]:
        """Return where all cells begin."""
        return [self.value(cell) for cell in range(self.size)]

    def within(self, lows: Any, highs: Any) -> tuple[Integers, Integers]:
        """Return first cells and cells after the last, of intervals with both ends included.

        Raises:
            InputError: an interval is reversed, of another kind of value, or cuts through a bin.
        """
        return self.starts(lows), self.stops(lows, highs)

    def starts(self, lows: Any) -> Integers:
        """Return the first cell at or above each value."""
        return np.array([self._cell(low, "low") for low in _flat(lows)], np.int64)

    def stops(self, lows: Any, highs: Any) -> Integers:
        """Return the cell after the last at or below each value; it is not before that of low."""
        out = []
        for low, high in zip(_flat(lows), _flat(highs), strict=True):
            if self._steps(low) > self._steps(high):
                raise InputError(
                    f"the range from {low} to {high} is reversed. Its ends are (low, high), both "
                    f"included."
                )
            out.append(self._cell(high, "high"))
        return np.maximum(np.array(out, np.int64), self.starts(lows))

    def ends(self, highs: Any) -> Integers:
        """Return the cell after the last at or below each value."""
        return np.array([self._cell(high, "high") for high in _flat(highs)], np.int64)

    @property
    def _first(self) -> int:
        return 0 if isinstance(self.kind, Instant) else self.kind.low

    def _cell(self, given: Any, end: str) -> int:
        steps = self._steps(given) - self._first
        inside = Fraction(1)
        if self.finest is not None and isinstance(self.kind, Number):
            inside = self.finest / self.kind.step
        if end == "high" and self._is_top(steps):
            return self.size
        if self._is_bottom(steps, end):
            return 0
        up = -(-steps // inside) * inside
        steps = up if end == "low" else steps // inside * inside + inside  # the first above it
        steps = min(max(steps, Fraction(0)), Fraction(self.size))
        if steps.denominator != 1:
            below = self.value(int(steps // 1))
            raise InputError(
                f"{given} cuts through the bin that begins at {below}, and what is inside a bin "
                f"was not measured. Ask for whole bins, or for more of them with bins=."
            )
        return int(steps)

    def _is_top(self, steps: Fraction) -> bool:
        """Say whether no value lies above so many steps beyond the first."""
        if self.top is None or not isinstance(self.kind, Number):
            return False
        return steps + self._first >= self.top / self.kind.step

    def _is_bottom(self, steps: Fraction, end: str) -> bool:
        """Say whether no value lies below a low end, or none at or below a high one."""
        if self.bottom is None or not isinstance(self.kind, Number):
            return False
        least = self.bottom / self.kind.step
        at = steps + self._first
        return at <= least if end == "low" else at < least

    def _steps(self, given: Any) -> Fraction:
        """Return a value in steps of the kind; it need not be whole."""
        kind = self.kind
        if isinstance(given, np.generic) or getattr(given, "shape", None) == ():
            given = given.item()
        try:
            if isinstance(kind, Number):
                if isinstance(given, bool):
                    raise TypeError
                return exact(given, "an end of a range") / kind.step
            moment = given if isinstance(given, date) else datetime.fromisoformat(str(given))
            if isinstance(kind, Day):
                day = moment.date() if isinstance(moment, datetime) else moment
                return Fraction((day - EPOCH).days)
            if not isinstance(moment, datetime):
                moment = datetime(moment.year, moment.month, moment.day)
            span = moment - datetime.fromisoformat(kind.origin)
            return Fraction(span // span.resolution, 10**6) / kind.step
        except (TypeError, ValueError, NumberError):
            if isinstance(given, float):
                raise
            what = {Number: "a number", Day: "a date", Instant: "a timestamp without a zone"}
            raise InputError(
                f"{given!r:.80} is no end of a range of {self.name!r}. Pass {what[type(kind)]}."
            ) from None


def listed(low: Any, high: Any) -> tuple[bool, list[Any], list[Any]]:
    """Return whether many were given, and both ends as lists of one length.

    Any list, array, series or range is many; one beside many stands beside each of them.

    Raises:
        InputError: lists of different lengths, tables, sets.
    """
    lows = _many(low)
    highs = lows if high is low else _many(high)
    many = lows is not None or highs is not None
    length = len(lows if lows is not None else highs if highs is not None else [0])
    out = [
        [given] * length if found is None else found
        for given, found in ((low, lows), (high, highs))
    ]
    if len(out[0]) != len(out[1]):
        raise InputError(
            f"there are {len(out[0]):,} low ends and {len(out[1]):,} high ones. Pass as many of "
            f"each, or one for all."
        )
    return many, out[0], out[1]


def _many(given: Any) -> list[Any] | None:
    """Return the entries of anything with one dimension; None for a single value."""
    if isinstance(given, str | bytes) or not hasattr(given, "__iter__"):
        return None
    shape = getattr(given, "shape", None)
    if shape == ():
        return None
    if isinstance(given, Mapping | Set) or (isinstance(shape, tuple) and len(shape) != 1):
        raise InputError(
            "values are passed one by one, or as a list or array of one dimension, in their order."
        )
    return list(given.to_pylist() if hasattr(given, "to_pylist") else given)


def _flat(given: Any) -> list[Any]:
    found = _many(given)
    return [given] if found is None else found


def _short(number: Fraction) -> int | Fraction:
    return int(number) if number.denominator == 1 else number
