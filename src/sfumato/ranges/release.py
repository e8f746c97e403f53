"""A noisy line of cells: public, serialisable, and ready for any range."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.codec import canonical, digest
from sfumato.core.errors import InputError
from sfumato.core.loss import Loss
from sfumato.core.number import exact
from sfumato.core.unit import Unit
from sfumato.ranges.line import Line, listed
from sfumato.ranges.measured import Measured
from sfumato.ranges.solution import Solution
from sfumato.release.error import NOISE_ONLY
from sfumato.release.estimate import Estimate
from sfumato.release.format import percent, plain
from sfumato.release.inversion import confident
from sfumato.release.measure import Measure, on_grid
from sfumato.release.price import Price
from sfumato.release.release import Release
from sfumato.release.tabular import Tabular
from sfumato.release.text import CanonicalText
from sfumato.release.version import version

if TYPE_CHECKING:
    from pathlib import Path

    import altair
    import pyarrow

    from sfumato.release.card import Card

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_BARS = 40  # bins that a chart names one by one
RULES = ("unbiased", "nonnegative", "whole")


@canonical
@dataclass(frozen=True, slots=True, repr=False)
class RangeRelease(CanonicalText, Tabular):
    """Counts of all ranges of a column, each with its interval. Nothing in it is exact data.

    It holds the noisy whole numbers that were drawn; all else is computed from them. Make one with
    `sfumato.ranges.release`.

    Attributes:
        line: the column and its public cells.
        method: how it was measured.
        measured: the noisy sums.
        cost: the privacy loss.
        price: the loss in numbers.
        unit: the unit that is protected.
        confidence: the probability with which each interval holds.
        rule: ``"unbiased"``; ``"nonnegative"`` where no count is below 0; ``"whole"`` where counts
            are whole numbers as well.
        notes: static sentences.
        covers: what the intervals cover.
        receipt: the ledger entry that paid for it; None in the laboratory.
        durable: whether the charge was written to a ledger that survives the process.
        version: the version of sfumato that made it.
    """

    called = "a release of ranges"

    line: Line
    method: str
    measured: tuple[Measured, ...]
    cost: Loss
    price: Price | None = None
    unit: Unit | None = None
    confidence: Fraction = Fraction(95, 100)
    rule: str = "unbiased"
    notes: tuple[str, ...] = ()
    covers: str = NOISE_ONLY
    receipt: str | None = None
    durable: bool = False
    version: str = ""

    def __post_init__(self) -> None:
        """Check that the parts belong together."""
        object.__setattr__(self, "confidence", confident(self.confidence))
        object.__setattr__(self, "version", self.version or version())
        if self.rule not in RULES:
            raise InputError(f"rule= is one of {', '.join(RULES)}, and not {self.rule!r}.")
        if not self.measured or any(m.matrix.columns != self.line.size for m in self.measured):
            raise InputError("a release of ranges is of sums of its own cells.")

    def count(self, low: Any, high: Any, *, confidence: Any = None) -> Estimate:
        """Return how many rows lie from low to high, both ends included.

        Args:
            low: a value of the column, or a list or array of them.
            high: the same; not below low.
            confidence: of the interval, if not that of the release.

        Example:
            >>> import sfumato as sf
            >>> ages = sf.ranges.release(sf.lab([5, 9, 0, 200]), epsilon=1)
            >>> ages.count(2, 3).value > 100
            True
        """
        many, lows, highs = listed(low, high)
        starts, stops = self.line.within(lows, highs)
        found = self._counted(starts, stops, confidence)
        return found if many else _one(found)

    def total(self, *, confidence: Any = None) -> Estimate:
        """Return how many rows there are in all cells."""
        return _one(self._counted(*_ends(0, self.line.size), confidence))

    def cdf(self, value: Any, *, confidence: Any = None) -> Estimate:
        """Return the share of the rows at or below a value.

        Args:
            value: a value of the column, or a list or array of them.
            confidence: of the interval, if not that of the release.
        """
        many, values, _ = listed(value, value)
        stops = self.line.ends(values)
        from sfumato.ranges.share import shares

        share, low, high = shares(self.solution, stops, float(self._sure(confidence)))
        out = Estimate(share, low, high, self._sure(confidence), self.covers)
        return out if many else _one(out)

    def quantile(self, q: Any, *, confidence: Any = None) -> Estimate:
        """Return the least value at or below which at least the share q of the rows lies.

        The interval holds all values that the noise does not rule out. Of a column that is cut
        into bins the value is the last one of its bin, and the interval holds whole bins. The
        quantile 0 is the lowest value that a row has, and of a bin its first one.

        Args:
            q: from 0 to 1, or a list or array of such.
            confidence: of the interval, if not that of the release.
        """
        many, given, _ = listed(q, q)
        wanted = [exact(each, "q") for each in given]
        if any(not 0 <= each <= 1 for each in wanted):
            raise InputError("q= is a share of the rows, from 0 to 1: 0.5 for the median.")
        from sfumato.ranges.share import cells_of

        line, sure = self.line, self._sure(confidence)
        found = cells_of(self.solution, wanted, float(sure))
        ends = (line.last, line.first, line.last)  # of a bin nobody knows where in it
        at, low, high = (
            np.array(
                [
                    _plain(end(cell) if q or i else line.first(cell))
                    for cell, q in zip(cells.tolist(), wanted, strict=True)
                ]
            )
            for i, (cells, end) in enumerate(zip(found, ends, strict=True))
        )
        out = Estimate(at, low, high, sure, self.covers)
        return out if many else _one(out)

    def histogram(self, edges: Any) -> Release:
        """Return counts between edges, as a release: each bin holds its lower edge, the last both.

        Args:
            edges: values of the column, each above the one before.
        """
        given = listed(edges, edges)[1]
        if len(given) < 2:
            raise InputError("a histogram has at least two edges, such as [0, 10, 50].")
        starts = self.line.starts(given[:-1])
        last = self.line.stops([given[-2]], [given[-1]])
        stops = np.append(starts[1:], last)
        if (np.diff(starts) <= 0).any() or (stops <= starts).any():
            raise InputError("the edges of a histogram grow, and each bin holds a cell. Sort them.")
        labels = [
            f"[{a}, {b}{']' if i == len(given) - 2 else ')'}"
            for i, (a, b) in enumerate(pairwise(given))
        ]
        return self._table({self.line.name: labels}, starts, stops)

    def nonnegative(self, *, whole: bool = False) -> RangeRelease:
        """Return the same with no count below 0, and with whole ones if wanted; free.

        Intervals stay those of the unbiased counts, widened where the new count lies outside.
        """
        return replace(self, rule="whole" if whole else "nonnegative")

    @property
    def solution(self) -> Solution:
        """The cells, and how far sums of them may be off."""
        return _solved(self.measured, self.rule)

    @property
    def digest(self) -> str:
        """The SHA-256 of the canonical bytes, in hex."""
        return digest(self)

    def table(self) -> Release:
        """Return the counts of all cells, as a release."""
        name = self.line.name
        cells = np.arange(self.line.size)
        return self._table({name: self.line.values()}, cells, cells + 1)

    def to_arrow(self) -> pyarrow.Table:
        """Return an Arrow table of all cells: the value, then n, n_low, n_high."""
        return self.table().to_arrow()

    def to_html(self, path: str | Path | None = None) -> str | None:
        """Write one self-contained HTML page of all cells to `path`; without one, return it."""
        return self.table().to_html(path)

    def card(self) -> Card:
        """Return the certificate."""
        return self.table().card()

    def chart(self, bins: int = 40) -> altair.LayerChart:
        """Return an Altair chart of counts in about so many bins, with their intervals.

        Up to 40 bins are bars, each named by its first and its last value.
        """
        if type(bins) is not int or bins < 1:
            raise InputError(f"bins= is a whole number from 1 on, and not {bins!r:.80}.")
        line, size = self.line, self.line.size
        starts = np.arange(0, size, -(-size // bins))
        stops = np.append(starts[1:], size)
        ends = [
            (line.first(a), line.last(b - 1))
            for a, b in zip(starts.tolist(), stops.tolist(), strict=True)
        ]
        said = _widths(line, ends)
        # More are drawn as a line, along an axis of values.
        names = [_span(*pair) for pair in ends] if said and len(ends) <= _BARS else None
        values = [line.value(cell) for cell in starts.tolist()]
        return self._table({f"{line.name}{said}": names or values}, starts, stops).chart()

    def __repr__(self) -> str:
        """Show what it is, its total and its price."""
        total = self.total()
        paid = (
            "nothing was charged: no ledger" if self.receipt is None else f"receipt {self.receipt}"
        )
        if self.receipt is not None and not self.durable:
            paid += ", not durable"
        lines = [
            f"ranges of {self.line.name!r}: {self.line.size:,} cells, {self.method}, {self.rule}",
            f"total = {total!r}",
            f"intervals at {percent(self.confidence)} each ({self.covers}); {paid}",
            *(f"note: {note}" for note in self.notes),
        ]
        if self.price is not None and self.price.said:
            lines.append(f"price: {self.price.said}")
        return "\n".join(lines)

    def _sure(self, confidence: Any) -> Fraction:
        return self.confidence if confidence is None else confident(confidence)

    def _counted(self, starts: Integers, stops: Integers, confidence: Any = None) -> Estimate:
        sure = self._sure(confidence)
        low, value, high = self._ends(starts, stops, float(sure))
        return Estimate(value, low, high, sure, self.covers)

    def _ends(self, starts: Integers, stops: Integers, sure: float) -> tuple[Floats, ...]:
        middle = _solved(self.measured, "unbiased").sums(starts, stops)
        value = self.solution.sums(starts, stops)
        width = self.solution.reach(starts, stops, sure)
        low, high = np.minimum(middle - width, value), np.maximum(middle + width, value)
        if self.rule != "unbiased":
            low = np.maximum(low, 0.0)
        return low, value, high

    def _table(self, keys: dict[str, list[Any]], starts: Integers, stops: Integers) -> Release:
        low, value, high = on_grid(*self._ends(starts, stops, float(self.confidence)))
        name = "n" if "n" not in keys else "count"
        noises = ", ".join(f"{m.noise.kind} {float(m.noise.scale):.6g}" for m in self.measured)
        measure = Measure(
            name,
            value,
            low,
            high,
            covers=self.covers,
            mechanism=f"{self.method} ({noises})"[:400],
            kind="rational",
        )
        return Release(
            keys,  # type: ignore[arg-type] # checked and brought into form there
            (measure,),
            self.confidence,
            self.cost,
            self.price,
            self.unit,
            self.notes,
            self.receipt,
            self.durable,
            self.version,
        )


@lru_cache(maxsize=16)
def _solved(measured: tuple[Measured, ...], rule: str) -> Solution:
    return Solution(measured, rule)


def _ends(low: int, high: int) -> tuple[Integers, Integers]:
    return np.array([low]), np.array([high])


def _one(found: Estimate) -> Estimate:
    value, low, high = (end[0].item() for end in (found.value, found.low, found.high))
    return Estimate(value, low, high, found.confidence, found.covers)


def _plain(found: Any) -> Any:
    """Return a value as one computes with it: a whole number, a float, or ISO text."""
    return float(found) if isinstance(found, Fraction) else found


def _span(first: Any, last: Any) -> str:
    """Name a bin by its values: 1930–1932."""
    ends = [end if isinstance(end, str) else plain(end) for end in (first, last)]
    return ends[0] if first == last else "–".join(ends)


def _widths(line: Line, ends: list[tuple[Any, Any]]) -> str:
    """Say how many values bins hold, and where one is narrower; nothing if each is one value."""
    sizes = [line.between(*pair) for pair in ends]
    most = max(sizes)
    if most == 1:
        return ""
    narrow = [
        f"{size:,} in the {where}"
        for where, size in (("first", sizes[0]), ("last", sizes[-1]))
        if size < most
    ]
    return f" ({', '.join([f'{most:,} values in a bin', *narrow])})"
