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
from sfumato.core.errors import DataError, InputError, UnknownName
from sfumato.core.schema import Integer, Schema
from sfumato.core.unit import Unit
from sfumato.noise.rng import system
from sfumato.release.release import Release
from sfumato.session.histogram import Histogram, Subset
from sfumato.session.interaction import Interaction
from sfumato.session.purse import Purse

if TYPE_CHECKING:
    from sfumato.core.number import Exactable
    from sfumato.session.curator import Continual, Stream

AMPLE = Budget(epsilon=1000, delta="0.001")
MOST_CELLS = 10**8
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
        counts: NDArray[np.int64],
        names: Sequence[str],
        *,
        unit: Unit | None = None,
        purse: Purse | None = None,
    ) -> None:
        """Hold a histogram; use `sf.lab` instead."""
        self._counts = counts
        self.schema = Schema(
            {n: Integer(0, max(s - 1, 1)) for n, s in zip(names, counts.shape, strict=True)}
        )
        self.unit = unit or Unit.row()
        self._purse = purse or Purse(accounting.Limits.of(AMPLE))

    @property
    def sizes(self) -> dict[str, int]:
        """How many values each column has."""
        return dict(zip(self.schema, self._counts.shape, strict=True))

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
        return Histogram(named, tuple(self.sizes[name] for name in named))

    def measure(self, query: Any, mechanism: Any = None) -> Any:
        """Charge, draw and return; a batch with one charge."""
        batch = query if mechanism is None else [(query, mechanism)]
        planned = [(self._own(q), m, s := q.sensitivity(self.unit), m.loss(s)) for q, m in batch]
        if not planned:
            raise InputError("there is nothing to measure. Pass at least one question.")
        for _, m, *_ in planned:
            if not getattr(m, "takes_cells", True):
                raise InputError(
                    f"the laboratory measures counts of cells, and {type(m).__name__} takes "
                    f"something else, of which its loss speaks. Call it on that: mechanism(values)."
                )
        cost = accounting.compose([loss for *_, loss in planned])
        self._purse.pay(accounting.charge(cost))
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
        """Lend part of the budget: inside, it is the limit too; what is spent counts outside."""
        yield self._over(self._counts, Purse(accounting.Limits.of(budget), around=self._purse))

    def partition(self, column: str, keys: Sequence[Hashable]) -> Mapping[Hashable, Lab]:
        """Split by the codes of a column; here every part pays in full, which is safe."""
        axis = list(self.schema).index(self.histogram(column).columns[0])
        if any(not isinstance(k, int) or not 0 <= k < self._counts.shape[axis] for k in keys):
            raise InputError(f"the keys of {column!r} are its codes, from 0 on.")
        return {k: self._over(self._only(axis, k), self._purse) for k in keys}

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

    def _own(self, query: Any) -> Histogram:
        if isinstance(query, Histogram) and all(
            self.sizes.get(n) == s for n, s in zip(query.columns, query.sizes, strict=True)
        ):
            return query
        raise InputError("ask a laboratory its own questions: lab.histogram('age', 'sex').")

    def _answer(self, query: Histogram) -> NDArray[np.int64]:
        names = list(self.schema)
        kept = [names.index(name) for name in query.columns]
        dropped = tuple(i for i in range(len(names)) if i not in kept)
        summed: NDArray[np.int64] = self._counts.sum(axis=dropped, dtype=np.int64)
        order = [sorted(kept).index(axis) for axis in kept]
        return summed.transpose(order)

    def _only(self, axis: int, code: Any) -> NDArray[np.int64]:
        part = np.zeros_like(self._counts)
        where: list[Any] = [slice(None)] * part.ndim
        where[axis] = code
        part[tuple(where)] = self._counts[tuple(where)]
        return part

    def _over(self, counts: NDArray[np.int64], purse: Purse) -> Lab:
        return Lab(counts, tuple(self.schema), unit=self.unit, purse=purse)


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
        given = np.asarray(counts)
        if given.ndim == 0 or not given.size or given.dtype.kind not in "iu" or given.min() < 0:
            raise DataError(
                "a laboratory takes a histogram: an array of counts, whole numbers from 0 on."
            )
        if float(given.sum(dtype=np.float64)) >= _MOST_RECORDS:
            raise DataError("a laboratory holds fewer than 2^61 records. Count in thousands.")
        names = [f"x{i}" for i in range(given.ndim)] if given.ndim > 1 else ["x"]
        return _made(given.astype(np.int64), names, unit, budget)

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
        sizes = tuple(domain.values())
        if not sizes or prod(sizes) > MOST_CELLS:
            raise DataError(
                f"a laboratory holds up to {MOST_CELLS:,} cells, and this domain has "
                f"{prod(sizes):,}. Take fewer columns, or a session over the table."
            )
        columns = []
        for name, size in domain.items():
            codes = np.asarray(frame[name])
            if codes.dtype.kind not in "iu" or (codes.size and not (codes < size).all()):
                raise DataError(f"column {name!r} must hold codes, whole numbers from 0 to size-1.")
            if codes.size and codes.min() < 0:
                raise DataError(f"column {name!r} must hold codes, whole numbers from 0 to size-1.")
            columns.append(codes.astype(np.int64))
        flat = np.ravel_multi_index(tuple(columns), sizes)
        counts = np.bincount(flat, minlength=prod(sizes)).reshape(sizes)
        return _made(counts.astype(np.int64), list(domain), unit, budget)

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
        given = np.asarray(xy, np.float64)
        x0, y0, x1, y1 = (float(end) for end in box)
        if given.ndim != 2 or given.shape[1] != 2 or not (x0 < x1 and y0 < y1):
            raise DataError("points are an array of shape (n, 2), in a box (x0, y0, x1, y1).")
        across, up = (bins, bins) if isinstance(bins, int) else bins
        column = np.floor((given[:, 0] - x0) * across / (x1 - x0))
        row = np.floor((given[:, 1] - y0) * up / (y1 - y0))
        inside = (column >= 0) & (column < across) & (row >= 0) & (row < up)  # NaN is not
        flat = (column[inside] * up + row[inside]).astype(np.int64)
        counts = np.bincount(flat, minlength=across * up).reshape(across, up)
        return _made(counts.astype(np.int64), ["x", "y"], unit, budget)

    def __repr__(self) -> str:
        """Say how to enter."""
        return "<sf.lab: call it with counts, or use sf.lab.table, sf.lab.points>"


def _made(
    counts: NDArray[np.int64], names: Sequence[str], unit: Unit | None, budget: Budget | None
) -> Lab:
    return Lab(counts, names, unit=unit, purse=Purse(accounting.Limits.of(budget or AMPLE)))


lab = Laboratory()
