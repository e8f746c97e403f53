"""Noisy CountSketches [CCF02], [PT22]: counts of single values among billions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sfumato import accounting
from sfumato.core.codec import canonical, digest
from sfumato.core.errors import InputError, RangeError
from sfumato.core.loss import Loss
from sfumato.core.unit import Unit
from sfumato.ranges.hashing import PRIME, Hash
from sfumato.ranges.line import Line, listed
from sfumato.ranges.measured import Measured
from sfumato.ranges.plan import MOST_CELLS
from sfumato.ranges.spending import Spending
from sfumato.ranges.tail import median_reach
from sfumato.ranges.weights import PARTS
from sfumato.ranges.workload import Workload
from sfumato.relation.aggregate import Aggregate
from sfumato.relation.expr import Call, Constant, Name
from sfumato.relation.kind import Number
from sfumato.relation.linear import Linear
from sfumato.relation.matrix import Halves
from sfumato.release.estimate import Estimate
from sfumato.release.inversion import confident
from sfumato.release.measure import Measure, on_grid
from sfumato.release.price import Price
from sfumato.release.release import Release
from sfumato.release.text import CanonicalText
from sfumato.release.version import version
from sfumato.session.column import Column
from sfumato.session.proof import notes
from sfumato.session.table import Table, computed

if TYPE_CHECKING:
    from pathlib import Path

    import pandas
    import polars
    import pyarrow

NAME = "sketch"
COVERS = "noise and collisions"
SINGLE = "a sketch counts single values; it has no ranges, shares or quantiles"
MOST_SHOWN = 2**20  # values that are listed without being asked for


@canonical
@dataclass(frozen=True, slots=True, repr=False)
class SketchRelease(CanonicalText):
    """Signed sums of values that fall together, several times over. Nothing in it is exact data.

    Attributes:
        line: the column and its values.
        hashes: for each repetition its public hash.
        measured: the noisy signed sums.
        cost: the privacy loss.
        price: the loss in numbers.
        unit: the unit that is protected.
        confidence: the probability with which each interval holds.
        notes: static sentences.
        receipt: the ledger entry that paid for it.
        durable: whether the charge was written to a ledger that survives the process.
        version: the version of sfumato that made it.
    """

    called = "a sketch"

    line: Line
    hashes: tuple[Hash, ...]
    measured: tuple[Measured, ...]
    cost: Loss
    price: Price | None = None
    unit: Unit | None = None
    confidence: Fraction = Fraction(95, 100)
    notes: tuple[str, ...] = ()
    receipt: str | None = None
    durable: bool = False
    version: str = ""

    def __post_init__(self) -> None:
        """Check that the parts belong together."""
        object.__setattr__(self, "confidence", confident(self.confidence))
        object.__setattr__(self, "version", self.version or version())
        sizes = [len(held.values) for held in self.measured]
        if not sizes or sizes != [each.width for each in self.hashes]:
            raise InputError("a sketch has a sum for each place of each of its hashes.")

    def count(self, low: Any, high: Any = None, *, confidence: Any = None) -> Estimate:
        """Return how many rows have a value; of a range there is no count.

        Args:
            low: a value, or a list or array of them.
            high: the same, if given.
            confidence: of the interval, if not that of the release.
        """
        many, lows, highs = listed(low, low if high is None else high)
        starts, stops = self.line.within(lows, highs)
        if (stops - starts != 1).any():
            only_single()
        sure = self.confidence if confidence is None else confident(confidence)
        value, width = self._found(starts, float(sure))
        if not many:
            value = value[0].item()
        return Estimate(value, value - width, value + width, sure, COVERS)

    def _found(self, cells: NDArray[np.int64], sure: float) -> tuple[Any, float]:
        found = []
        for hashed, held in zip(self.hashes, self.measured, strict=True):
            at = hashed.cells(cells)
            drawn = held.array[at // 2]
            found.append(np.where(at % 2, -drawn, drawn))
        sums = np.abs(np.concatenate([held.array for held in self.measured]))
        width = median_reach(sums, len(found), self.measured[0].noise, 1 - sure)
        return np.median(np.array(found), axis=0), width

    def table(self, values: Any = None) -> Release:
        """Return the counts of values as a release.

        Args:
            values: the values; all of them, where there are up to `MOST_SHOWN`.
        """
        if values is None and self.line.size > MOST_SHOWN:
            raise InputError(
                f"a sketch of {self.line.size:,} values is not listed whole. Name the values: "
                f"table([17, 42])."
            )
        given = self.line.values() if values is None else listed(values, values)[1]
        found = self.count(given)
        low, value, high = on_grid(found.low, found.value, found.high)
        noise = self.measured[0].noise
        said = f"sketch ({noise.kind} {float(noise.scale):.6g})"
        name = "n" if self.line.name != "n" else "count"
        measure = Measure(name, value, low, high, covers=COVERS, mechanism=said, kind="rational")
        return Release(
            ((self.line.name, tuple(given)),),
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

    def to_arrow(self, values: Any = None) -> pyarrow.Table:
        """Return an Arrow table of values, as `table` does."""
        return self.table(values).to_arrow()

    def to_pandas(self, values: Any = None) -> pandas.DataFrame:
        """Return a pandas frame of values, as `table` does."""
        return self.table(values).to_pandas()

    def to_polars(self, values: Any = None) -> polars.DataFrame:
        """Return a Polars frame of values, as `table` does."""
        return self.table(values).to_polars()

    def to_html(self, path: str | Path | None = None, values: Any = None) -> str | None:
        """Write one self-contained HTML page of values to `path`; without one, return it."""
        return self.table(values).to_html(path)

    def total(self, **_: Any) -> NoReturn:
        """Refuse: of all values together there is no count."""
        only_single()

    def cdf(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse: of ranges there is no count."""
        only_single()

    def quantile(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse: of ranges there is no count."""
        only_single()

    def histogram(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse: of ranges there is no count."""
        only_single()

    @property
    def digest(self) -> str:
        """The SHA-256 of the canonical bytes, in hex."""
        return digest(self)

    def __repr__(self) -> str:
        """Show what it is and its price."""
        paid = "no ledger" if self.receipt is None else f"receipt {self.receipt}"
        if self.receipt is not None and not self.durable:
            paid += ", not durable"
        said = f"; price: {self.price.said}" if self.price is not None else ""
        width = len(self.measured[0].values)
        return (
            f"sketch of {self.line.name!r}: {len(self.hashes)} times {width:,} sums for "
            f"{self.line.size:,} values; {paid}{said}"
        )


def only_single() -> NoReturn:
    """Refuse a range."""
    raise InputError(
        "a sketch counts single values of the column: count(v, v). For ranges cut the column into "
        "bins, values(column, bins=...), and take another method."
    )


def check(workload: Any, line: Line) -> None:
    """Refuse a workload that a sketch does not answer, before it is paid for.

    Args:
        workload: ``"ranges"``, which is what stands there if nothing is asked for, or intervals.
        line: the column.

    Raises:
        InputError: it has ranges of several values.
    """
    wanted = Workload.of(workload, line.size, lambda low, high: _ends(line, low, high))
    if wanted.name == "prefix" or any(stop - start != 1 for start, stop in wanted.intervals):
        only_single()


def _ends(line: Line, low: Any, high: Any) -> tuple[int, int]:
    starts, stops = line.within(low, high)
    return int(starts[0]), int(stops[0])


def release(
    column: Column,
    spending: Spending,
    confidence: Fraction,
    *,
    width: int = 4096,
    repeat: int = 5,
    seed: int = 0,
) -> SketchRelease:
    """Measure signed sums in one charge.

    Args:
        column: whole numbers, of a table.
        spending: the price.
        confidence: of the intervals.
        width: how many sums; the more, the fewer values fall together.
        repeat: how many times over; each gets an equal share of the budget.
        seed: names the public hashes.

    Raises:
        InputError: not whole numbers of a table, or options that are no whole numbers.
        RangeError: sizes that cannot be held.
    """
    table, kind = column.curator, column.kind
    if not isinstance(table, Table) or not isinstance(kind, Number) or kind.step != 1:
        raise InputError(
            "a sketch is of a column of whole numbers of a table, whose values are hashed where "
            "they are read. Take another method."
        )
    for option, given in (("width", width), ("repeat", repeat), ("seed", seed)):
        if type(given) is not int:
            raise InputError(f"{option}= of a sketch is a whole number, and not {given!r:.80}.")
    if column.size >= PRIME or not 1 <= width <= 2**20 or not 1 <= repeat <= 64:
        raise RangeError(
            f"a sketch takes fewer than {PRIME:,} values (there are {column.size:,}), up to "
            f"1,048,576 sums (width=) and 64 repetitions (repeat=). Cut bins, or ask for less."
        )
    if width * repeat > MOST_CELLS:
        raise RangeError(
            f"this sketch would have {width * repeat:,} sums, and one takes up to {MOST_CELLS:,}. "
            f"Lower width= or repeat=."
        )
    hashes = tuple(Hash.named(width, seed, i) for i in range(repeat))
    value = Call("-", (Name(column.name), Constant(kind.low)))
    name = "sketch"
    while name in table.columns:
        name += "_"
    batch = []
    for hashed in hashes:
        hidden = computed(table, name, hashed.expression(value))
        cells = hidden.group_by(name).count().queries[0]
        if not isinstance(cells, Aggregate):  # a count is one
            raise InputError("a sketch is of counts.")
        asked = Linear(cells, Halves(2 * width, 2))
        batch.append((asked, spending.mechanism(column, asked, PARTS // repeat)))
    drawn = column.measure(batch, delta=spending.delta)
    cost = accounting.compose([answer.cost for answer in drawn])
    return SketchRelease(
        line=Line(column.name, kind),
        hashes=hashes,
        measured=tuple(
            Measured(q.matrix, m.law, tuple(int(v) for v in answer.measures[0].values))
            for (q, m), answer in zip(batch, drawn, strict=True)
        ),
        cost=cost,
        price=accounting.price(cost, spending.delta),
        unit=column.unit,
        confidence=confidence,
        notes=(SINGLE, *notes([cells], of=column.name)),
        receipt=drawn[-1].receipt,
        durable=drawn[-1].durable,
    )
