"""A release of marginals: paid for once, it answers every marginal of its closure afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.codec import canonical
from sfumato.core.errors import InputError, LossError, UnknownName
from sfumato.core.loss import Loss
from sfumato.core.unit import Unit
from sfumato.marginals.adjusted import Adjusted, written
from sfumato.marginals.condition import weights
from sfumato.marginals.domain import Attribute, Places
from sfumato.marginals.fit import Fit
from sfumato.marginals.long import Long
from sfumato.marginals.marginal import Marginal, ordered
from sfumato.marginals.plan import Plan
from sfumato.marginals.reading import Reading
from sfumato.relation.linear import Linear, limits
from sfumato.release.error import Noise
from sfumato.release.estimate import Estimate
from sfumato.release.inversion import confident
from sfumato.release.measure import Measure
from sfumato.release.price import Price
from sfumato.release.release import Release
from sfumato.release.text import CanonicalText
from sfumato.release.version import version
from sfumato.session.histogram import Weighted
from sfumato.session.table import Table

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from sfumato.release.card import Card

_MOST_CELLS = 20_000_000  # of one marginal


@canonical
@dataclass(frozen=True, repr=False, eq=False)
class Marginals(CanonicalText):
    """Noisy readings from which any marginal follows, consistent with all others.

    Nothing in it is exact data. `to_json` writes it whole and `from_json` reads it back.

    Attributes:
        attributes: the columns.
        workload: the marginals that it was planned for, by the places of their columns.
        readings: what was measured.
        method: how.
        confidence: the probability with which each interval holds, unless asked otherwise.
        cost: the privacy loss of all readings together.
        price: the loss in numbers.
        unit: who is protected.
        notes: static sentences about what counts.
        receipt: the ledger entry that paid; None in the laboratory.
        durable: whether that entry survives the process.
        version: the version of sfumato that made it.
    """

    called = "a release of marginals"

    attributes: tuple[Attribute, ...]
    workload: tuple[Places, ...]
    readings: tuple[Reading, ...]
    method: str
    confidence: Fraction
    cost: Loss
    price: Price
    unit: Unit
    notes: tuple[str, ...] = ()
    receipt: str | None = None
    durable: bool = False
    version: str = field(default_factory=version)

    def __post_init__(self) -> None:
        """Check that the parts belong together."""
        if not isinstance(self.cost, Loss):
            raise LossError("a release needs its cost.")
        object.__setattr__(self, "confidence", confident(self.confidence))
        if not self.attributes or not self.readings:
            raise InputError("a release of marginals has columns and readings.")
        for reading in self.readings:
            if any(not 0 <= i < len(self.attributes) for i in reading.places):
                raise InputError("a reading is of a column that the release does not have.")
            if len(reading) != self._numbers(reading):
                raise InputError("a reading has more or fewer numbers than its columns give it.")

    def _numbers(self, reading: Reading) -> int:
        total = 1
        for i in reading.places:
            attribute = self.attributes[i]
            matrix = attribute.matrix
            residual = reading.kind == "residual" and matrix is not None
            total *= matrix.rows if residual and matrix is not None else attribute.size
        return total

    @cached_property
    def fit(self) -> Fit:
        """The estimates of all parts."""
        return Fit(self.attributes, self.readings)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def marginals(self) -> tuple[tuple[str, ...], ...]:
        """The marginals that it was planned for."""
        return tuple(tuple(self.columns[i] for i in places) for places in self.workload)

    def table(self, *columns: str, confidence: object | None = None) -> Marginal:
        """Return a marginal; of no columns, the total.

        Any marginal below one that was planned for can be had, for nothing more. They agree: the
        sum of one over a column is the marginal without it.

        Args:
            columns: the columns, in the order of the axes wanted.
            confidence: the probability with which each interval holds.

        Raises:
            UnknownName: no such column.
            InputError: the marginal was not planned for.
        """
        wanted = self._places(columns)
        sure = self._sure(confidence)
        places = tuple(sorted(wanted))
        value = self.fit.marginal(places)
        width = np.broadcast_to(self.fit.halfwidth(places, float(1 - sure)), value.shape)
        std = np.sqrt(np.broadcast_to(self.fit.variance(places), value.shape))
        arrays = (value, value - width, value + width, std)
        value, low, high, std = (ordered(each, places, wanted) for each in arrays)
        values = tuple(self.attributes[i].values for i in wanted)
        return Marginal(tuple(columns), values, value, low, high, std, sure)

    def count(
        self, conditions: Mapping[str, Any] | None = None, /, *, confidence: object | None = None
    ) -> Estimate:
        """Return how many rows meet conditions on some columns, with its interval.

        The interval is that of the sum itself, narrower than the sum of the cells' intervals.

        Args:
            conditions: for each column a value, a pair (low, high) of which both ends count, or a
                list or set of values.
            confidence: the probability with which the interval holds.

        Raises:
            UnknownName: no such column.
            InputError: the columns together were not planned for, or a value is none of a column.

        Example: ``answer.count({"age": (30, 39), "sex": "f"})``.
        """
        given = conditions or {}
        if not isinstance(given, Mapping):
            raise InputError("conditions are a mapping: {'age': (30, 39), 'sex': 'f'}.")
        wanted = self._places(tuple(given))
        rows = {
            i: weights(self.attributes[i], condition)
            for i, condition in sorted(zip(wanted, given.values(), strict=True))
        }
        sure = self._sure(confidence)
        value = float(self.fit.asked(rows).sum())
        width = float(np.sum(self.fit.halfwidth(tuple(rows), float(1 - sure), rows)))
        return Estimate(value, value - width, value + width, sure)

    def to_csv(self, folder: str | Path) -> list[Path]:
        """Write each marginal of the workload as a CSV file; return the paths."""
        return written(self, self.marginals, folder, "csv")

    def to_parquet(self, folder: str | Path) -> list[Path]:
        """Write each marginal of the workload as a Parquet file; return the paths."""
        return written(self, self.marginals, folder, "parquet")

    def to_arrow(self) -> pyarrow.Table:
        """Return one Arrow table of all marginals that were planned for, a row for each cell.

        Its columns are ``marginal``, the columns that are counted by, empty where a marginal does
        not have them, and ``n``, ``n_low``, ``n_high``, ``n_std``.
        """
        return Long(self, self.table).to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """Return one pandas frame of all marginals, with the columns of `to_arrow`."""
        return Long(self, self.table).to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """Return one Polars frame of all marginals, with the columns of `to_arrow`."""
        return Long(self, self.table).to_polars()

    def to_html(self, path: str | Path | None = None) -> str | None:
        """Write one self-contained HTML page of all marginals to `path`; without one, return it.

        Raises:
            InputError: they have too many cells for a page.
        """
        return Long(self, self.table).release().to_html(path)

    def nonnegative(self) -> Adjusted:
        """Return marginals of which no cell is below 0, near to these; they still add up.

        They are moved as little as their noise allows, to within a small gap. The total stays. They
        are nearer to the exact ones where cells have few people or none, and no longer unbiased: a
        sum of many small cells comes out too large or too small, and cells with most of the people
        share the error of the total.

        Raises:
            InputError: they have too many cells.
        """
        from sfumato.marginals.nonnegative import NonNegative

        solved = NonNegative(self.attributes, self.fit, self.workload)
        return Adjusted(self, "non-negative marginals", solved.marginal)

    def whole(self) -> Adjusted:
        """Return marginals of one table of whole numbers, 0 or above, found by linear programming.

        The total stays, rounded. Counts are moved by no more noise than the worst of them needs,
        and then by as little as can be. They are no longer unbiased.

        Raises:
            InputError: all columns together have too many cells.
        """
        from sfumato.marginals.barak import Whole

        solved = Whole(self.attributes, self.readings, float(self.fit.effect(())))
        return Adjusted(self, "marginals of one table of whole numbers", solved.marginal)

    def card(self) -> Card:
        """Return the certificate of the whole release."""
        total = self.table()
        value, low, high = (
            (Fraction(float(each)),) for each in (total.value, total.low, total.high)
        )
        measure = Measure("n", value, low, high, mechanism=self.method, kind="rational")
        return Release(
            (),
            (measure,),
            self.confidence,
            self.cost,
            self.price,
            self.unit,
            self.notes,
            self.receipt,
            self.durable,
        ).card()

    def __repr__(self) -> str:
        """Show what it holds and what it cost."""
        numbers = sum(map(len, self.readings))
        paid = "not charged: no ledger" if self.receipt is None else f"receipt {self.receipt}"
        return (
            f"<{len(self.workload):,} marginals of {', '.join(self.columns)}: by {self.method}, "
            f"{numbers:,} noisy numbers; {self.price.said}; {paid}>"
        )

    def _places(self, columns: Iterable[Any]) -> tuple[int, ...]:
        named = tuple(columns)
        for name in named:
            if name not in self.columns:
                raise UnknownName(f"no column {name!r}; there are: {', '.join(self.columns)}.")
        if len(set(named)) != len(named):
            raise InputError("a column is named twice. Name each once.")
        wanted = tuple(self.columns.index(name) for name in named)
        cells = 1
        for i in wanted:
            cells *= self.attributes[i].size
        if cells > _MOST_CELLS:
            raise InputError(
                f"this marginal has {cells:,} cells, more than the {_MOST_CELLS:,} of one table."
            )
        if not self.fit.covers(tuple(sorted(wanted))):
            raise InputError(
                f"the marginal of {', '.join(map(str, named))} was not planned for, and nothing "
                f"that was measured tells of it. Release it with a workload that has it, such as "
                f"sf.marginals.all({len(named)})."
            )
        return wanted

    def _sure(self, confidence: object | None) -> Fraction:
        return self.confidence if confidence is None else confident(confidence)


def measured(plan: Plan) -> Marginals:
    """Pay for a plan, measure it in one charge, and return the release."""
    cost, price = plan.cost, plan.price
    asked = [(step.query, step.mechanism) for step in plan.steps]
    answers = plan.curator.measure(asked, delta=plan.charge_delta)
    gaussian = plan.method == "residuals"
    readings = tuple(
        Reading(
            step.places,
            step.kind,
            Noise("gaussian" if gaussian else "laplace", answer.measures[0].scale),
            answer.measures[0].held("values"),
        )
        for step, answer in zip(plan.steps, answers, strict=True)
    )
    return Marginals(
        plan.domain.attributes,
        plan.closure.workload,
        readings,
        plan.method,
        plan.confidence,
        cost,
        price,
        plan.domain.unit,
        _notes(plan),
        answers[0].receipt,
        answers[0].durable,
    )


def _notes(plan: Plan) -> tuple[str, ...]:
    matrices = [s.query.matrix for s in plan.steps if isinstance(s.query, Linear | Weighted)]
    cut = limits(max(matrices, key=lambda m: m.norms.largest)) if matrices else ()
    if not isinstance(plan.curator, Table):
        return cut
    from sfumato.session.proof import notes

    asked: Any = plan.domain.counts(tuple(range(len(plan.domain.attributes))))
    return (*dict.fromkeys(notes([asked], of=" or ".join(plan.domain.names))), *cut)
