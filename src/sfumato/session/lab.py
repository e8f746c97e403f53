"""The laboratory: a curator over data in your own hands, with real noise and no ledger.

For researchers, teachers and benchmarks: the same algorithms run here and on private tables. The
caller holds the exact data and answers for it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato import accounting
from sfumato.core.budget import Budget
from sfumato.core.errors import DataError, InputError, RangeError, UnknownName
from sfumato.core.number import Exactable, failure_probability, is_integer
from sfumato.core.schema import Integer, Schema
from sfumato.core.unit import Unit
from sfumato.noise.rng import system
from sfumato.relation.kind import Number
from sfumato.relation.linear import weighted
from sfumato.release.release import Release
from sfumato.session.column import Column
from sfumato.session.histogram import Histogram, Subset, Weighted
from sfumato.session.interaction import Interaction
from sfumato.session.part import check_shape
from sfumato.session.points import Ends, Plane, Points, bins_of, edges_of, ends_of
from sfumato.session.purse import Purse
from sfumato.session.records import Coded, Counted, Records

if TYPE_CHECKING:
    from sfumato.session.curator import Continual, Stream

AMPLE = Budget(epsilon=1000, delta="0.001")
MOST_CELLS = 10**8
_FARTHEST = 1e100  # a coordinate; as in the boxes of a map
_MOST_RECORDS = 2.0**61  # sums of cells then fit 64 bits


class Lab:
    """A curator over records in memory; make one with `sf.lab`.

    Attributes:
        schema: the columns, each coded 0, 1, 2, …
        unit: what one neighbor has that the other has not; a row unless said otherwise.

    Example:
        >>> import sfumato as sf
        >>> lab = sf.lab([[10, 20], [30, 40]])
        >>> answer = lab.measure(lab.histogram(), sf.mechanisms.DiscreteLaplace(1))
        >>> len(answer), float(lab.remaining.epsilon)
        (4, 999.0)
    """

    def __init__(
        self,
        records: Records,
        *,
        unit: Unit | None = None,
        purse: Purse | None = None,
        box: Ends | None = None,
    ) -> None:
        """Hold records; use `sf.lab` instead."""
        self._records, self._box = records, box
        self.schema = Schema({n: Integer(0, max(s - 1, 1)) for n, s in records.sizes.items()})
        self.unit = unit or Unit.row()
        self._purse = purse or Purse(accounting.Limits.of(AMPLE))

    @property
    def sizes(self) -> dict[str, int]:
        """How many values each column has."""
        return dict(self._records.sizes)

    @property
    def remaining(self) -> accounting.Remaining:
        """What may still be spent, in both views."""
        return self._purse.remaining

    def histogram(self, *columns: str) -> Histogram:
        """Return the question how many records have each value of these columns; all, if none.

        Raises:
            UnknownName: no such column.
        """
        named = columns or tuple(self.schema)
        for name in named:
            if name not in self.sizes:
                raise UnknownName(f"no column {name!r}; there are: {', '.join(self.sizes)}.")
        if len(set(named)) != len(named):
            raise InputError("a column is named twice. Name each once.")
        if (cells := prod(self.sizes[name] for name in named)) > MOST_CELLS:
            raise DataError(
                f"the laboratory counts up to {MOST_CELLS:,} cells at once, and these columns have "
                f"{cells:,}. Take fewer columns."
            )
        return Histogram(named, tuple(self.sizes[name] for name in named))

    def values(self, column: str | None = None) -> Column:
        """Return a column as a line of cells, for `sfumato.ranges`; the only one, if not named.

        Raises:
            UnknownName: no such column.
            InputError: there are several, and none is named.
        """
        if column is None and len(self.sizes) != 1:
            raise InputError(f"which column? Name one of: {', '.join(self.sizes)}.")
        name = next(iter(self.sizes)) if column is None else column
        [size] = self.histogram(name).sizes
        return Column(name, Number(0, size - 1), self, lambda lab: lab.histogram(name))

    def points(self) -> Points:
        """Return two columns as points of a plane, for `sfumato.spatial`.

        Raises:
            InputError: there are not two columns.
        """
        if len(self.sizes) != 2:
            raise InputError(
                f"points have two coordinates, and this laboratory has {len(self.sizes)} columns. "
                f"Make one with sf.lab.points(xy, box), or of a histogram with two axes."
            )
        across, up = self.sizes.values()
        x0, y0, x1, y1 = ends = self._box or ends_of((0, 0, across, up))
        names = tuple(self.sizes)

        def framed(box: Ends | None, bins: tuple[int, int] | None, outside: str) -> Plane:
            if box not in (None, ends) or bins not in (None, (across, up)) or outside != "drop":
                raise InputError(
                    "the points of a laboratory are counted on its own lattice already. Leave out "
                    "box=, bins= and outside=, and pass them to sf.lab.points."
                )
            widths = (x1 - x0) / across, (y1 - y0) / up
            shape, note = (across, up), "points outside of the box are left out"
            asked = self.histogram()
            return Plane((names[0], names[1]), ends, widths, shape, self, lambda _: asked, (note,))

        return Points((names[0], names[1]), ends, self.unit, framed)

    def measure(self, query: Any, mechanism: Any = None, *, delta: Exactable = 0) -> Any:
        """Charge, draw and return; a batch with one charge.

        With a `delta` noise that is Gaussian has an ε, and is charged with both where that fits.
        """
        slack = failure_probability(delta)
        batch = query if mechanism is None else [(query, mechanism)]
        planned = [(self._own(q), m, s := q.sensitivity(self.unit), m.loss(s)) for q, m in batch]
        if not planned:
            raise InputError("there is nothing to measure. Pass at least one question.")
        for q, m, *_ in planned:
            check_shape(q, m)
            if not getattr(m, "takes_cells", True):
                raise InputError(
                    f"the laboratory measures counts of cells, and {type(m).__name__} takes "
                    f"something else, of which its loss speaks. Call it on that: mechanism(values)."
                )
        cost = accounting.compose([loss for *_, loss in planned])
        self._purse.pay_for(cost, slack)
        answers = [
            Release.of(
                values=m.grid(m.sample(m.exact(self._answer(q)), system())),
                error=m.error(s),
                cost=loss,
                mechanism=repr(m),
                scale=getattr(m, "noise_scale", None),
                unit=self.unit,
                price=accounting.price(loss),
            )
            for q, m, s, loss in planned
        ]
        return answers if mechanism is None else answers[0]

    @contextmanager
    def scope(self, budget: Budget) -> Iterator[Lab]:
        """Lend part of the budget: inside, it is the limit too; what is spent counts outside.

        Raises:
            BudgetExceeded: so much is not left; it is refused on entry, as by a table.
        """
        yield self._over(self._records, self._purse.lent(budget, self.unit.neighbors))

    def partition(self, column: str, keys: Sequence[Hashable]) -> Mapping[Hashable, Lab]:
        """Split by the codes of a column; here every part pays in full, which is safe."""
        [size] = self.histogram(column).sizes
        codes = [k for k in keys if isinstance(k, int) and 0 <= k < size]
        if len(codes) < len(keys):
            raise InputError(f"the keys of {column!r} are its codes, from 0 on.")
        return {k: self._over(self._records.only(column, k), self._purse) for k in codes}

    def open(self, query: Any, mechanism: Continual) -> Stream:
        """Charge a continual mechanism once and start it.

        Counting questions are then pushed, one at a time: ``histogram.subset(cells)`` of the
        histogram that was opened, or what `Histogram.subset` takes.

        Args:
            query: the histogram whose cells will be asked about.
            mechanism: such as `SparseVector`.

        Example:
            >>> import sfumato as sf
            >>> lab = sf.lab([3, 4, 900, 2])
            >>> watch = sf.mechanisms.SparseVector(200, 2, 2, monotone=True)
            >>> stream = lab.open(lab.histogram(), watch)
            >>> [bool(stream.push(cell)) for cell in range(3)]
            [False, False, True]
        """
        histogram = self._own(query)
        if not isinstance(histogram, Histogram):
            raise InputError("an interaction is opened about a histogram: lab.histogram().")

        def question(asked: Any) -> Subset:
            subset = asked if isinstance(asked, Subset) else histogram.subset(asked)
            if subset.histogram == histogram:
                return subset
            raise InputError(
                "this question is about another histogram than the one that was opened. Make it "
                "of that one, with histogram.subset(cells)."
            )

        return Interaction.open(
            mechanism,
            histogram.sensitivity(self.unit),
            self.unit,
            pay=self._purse.pay_interaction,
            rng=system(),
            question=question,
            read=lambda subset: int(self._answer(histogram)[subset.chosen].sum()),
        )

    def __repr__(self) -> str:
        """Show the columns."""
        return f"<lab: {', '.join(f'{n} ({s:,})' for n, s in self.sizes.items())}; {self.unit!r}>"

    def _own(self, query: Any) -> Any:
        asked = query.histogram if isinstance(query, Weighted) else query
        if isinstance(asked, Histogram) and all(
            self.sizes.get(n) == s for n, s in zip(asked.columns, asked.sizes, strict=True)
        ):
            return query
        raise InputError("ask a laboratory its own questions: lab.histogram('age', 'sex').")

    def _answer(self, query: Histogram | Weighted) -> NDArray[np.int64]:
        if isinstance(query, Weighted):
            return weighted(query.matrix, self._answer(query.histogram).ravel())
        return self._records.count(query.columns)

    def _over(self, records: Records, purse: Purse) -> Lab:
        return Lab(records, unit=self.unit, purse=purse, box=self._box)


class Laboratory:
    """The entrance: ``sf.lab(counts)``, ``sf.lab.table(...)``, ``sf.lab.points(...)``."""

    def __call__(
        self, counts: Any, *, unit: Unit | None = None, budget: Budget | None = None
    ) -> Lab:
        """Take a histogram, an array of whole numbers in any number of dimensions.

        Args:
            counts: how many records are in each cell.
            unit: what is protected; a row.
            budget: what may be spent; ample, unless said otherwise.
        """
        given = _array(counts)
        if given.ndim == 0 or not given.size or given.dtype.kind not in "iu" or given.min() < 0:
            raise DataError(
                "a laboratory takes a histogram: an array of counts, whole numbers from 0 on."
            )
        if float(given.sum(dtype=np.float64)) >= _MOST_RECORDS:
            raise DataError("a laboratory holds fewer than 2^61 records. Count in thousands.")
        names = [f"x{i}" for i in range(given.ndim)] if given.ndim > 1 else ["x"]
        return _made(Counted(given.astype(np.int64), tuple(names)), unit, budget)

    def table(
        self,
        frame: Any,
        domain: Mapping[str, int],
        *,
        unit: Unit | None = None,
        budget: Budget | None = None,
    ) -> Lab:
        """Take coded columns: a frame, or a mapping from name to codes 0, 1, …, size - 1.

        Args:
            frame: pandas, Polars, Arrow, or a mapping from name to a sequence.
            domain: how many values each column has.
            unit: what is protected; a row.
            budget: what may be spent; ample, unless said otherwise.
        """
        if not isinstance(domain, Mapping) or not domain:
            raise DataError("a laboratory needs a column: domain={'age': 85, 'sex': 2}.")
        columns = {name: _codes(frame, name, size) for name, size in domain.items()}
        lengths = {name: len(codes) for name, codes in columns.items()}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{name!r} has {length:,}" for name, length in lengths.items())
            raise DataError(
                f"columns have one code for each record, and these differ: {told:.400}."
            )
        return _made(Coded(columns, {n: int(s) for n, s in domain.items()}), unit, budget)

    def points(
        self,
        xy: Any,
        box: tuple[Exactable, Exactable, Exactable, Exactable],
        *,
        bins: int | tuple[int, int] = 256,
        unit: Unit | None = None,
        budget: Budget | None = None,
    ) -> Lab:
        """Take points in the plane, counted on a grid; points outside the box do not count.

        Args:
            xy: an array of shape (n, 2).
            box: x0, y0, x1, y1; cells are half-open, the box is too.
            bins: how many cells along each side.
            unit: what is protected; a row.
            budget: what may be spent; ample, unless said otherwise.
        """
        try:
            given = np.asarray(xy, np.float64)
        except (TypeError, ValueError, OverflowError):
            given = np.empty(0)
        if given.ndim != 2 or given.shape[1] != 2:
            raise DataError("points are an array of numbers of shape (n, 2): [[x, y], …].")
        ends = ends_of(box)
        across, up = bins_of(bins)
        if max(map(abs, ends)) > _FARTHEST:
            raise RangeError(f"a box reaches to {_FARTHEST:g} at most. Use another unit of length.")
        x0, y0, x1, y1 = map(float, ends)
        if not (x0 < x1 and y0 < y1):
            raise RangeError("the box is thinner than floats can tell apart there. Make it larger.")
        x, y = given.T
        inside = (x0 <= x) & (x < x1) & (y0 <= y) & (y < y1)  # NaN is not
        # By the edges that maps have, so that a point counts in the cell that it lies in.
        column, row = (
            np.searchsorted(edges_of(low, high, (high - low) / count, count), each[inside], "right")
            - 1
            for each, low, high, count in ((x, ends[0], ends[2], across), (y, ends[1], ends[3], up))
        )
        flat = column * up + row
        counts = np.bincount(flat, minlength=across * up).reshape(across, up)
        records = Counted(counts.astype(np.int64), ("x", "y"))
        return _made(records, unit, budget, ends)

    def __repr__(self) -> str:
        """Say how to enter."""
        return "<sf.lab: call it with counts, or use sf.lab.table, sf.lab.points>"


def _array(given: Any) -> NDArray[Any]:
    """Return an array; of what is none, such as rows of different lengths, one without an axis."""
    try:
        return np.asarray(given)
    except (TypeError, ValueError, OverflowError):
        return np.array(None)


def _names(frame: Any) -> list[Any]:
    """Return the names of the columns of a frame, as each library tells them."""
    if isinstance(frame, Mapping):
        return list(frame)
    named = getattr(frame, "column_names", None)  # Arrow, whose `columns` are the data
    return list(getattr(frame, "columns", ()) if named is None else named)


def _codes(frame: Any, name: str, size: int) -> NDArray[np.int64]:
    """Return the codes of a column.

    Raises:
        DataError: there is no such column, or something else in it.
    """
    if not is_integer(size) or size < 1:
        raise DataError(
            f"domain= says how many values a column has, a whole number from 1 on, and of {name!r} "
            f"it says {size!r:.80}."
        )
    if name not in _names(frame):
        raise DataError(
            f"there is no column {name!r} in the frame, and domain= names it. Leave it out there, "
            f"or pass a frame with its codes."
        )
    codes = _array(frame[name])
    if codes.shape == (0,):
        return np.empty(0, np.int64)  # nothing has no type: [] reads as floats
    if codes.ndim != 1 or codes.dtype.kind not in "iu" or not ((codes >= 0) & (codes < size)).all():
        raise DataError(
            f"column {name!r} must hold codes, whole numbers from 0 to size-1, {int(size):,} here, "
            f"in one dimension."
        )
    return codes.astype(np.int64)


def _made(
    records: Records, unit: Unit | None, budget: Budget | None, box: Ends | None = None
) -> Lab:
    return Lab(records, unit=unit, purse=Purse(accounting.Limits.of(budget or AMPLE)), box=box)


lab = Laboratory()
