"""The noisy answer: public, serialisable, and complete without the data it came from."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.core.codec import LATER, canonical, digest, encode
from sfumato.core.errors import InputError, LossError, NeighborsError, UnknownName
from sfumato.core.loss import Loss
from sfumato.core.number import Exactable, open_unit
from sfumato.core.unit import Neighbors, Unit
from sfumato.release import frame
from sfumato.release.algebra import Algebra
from sfumato.release.estimate import Estimate
from sfumato.release.form import Form
from sfumato.release.key import KeyColumn, index_columns, key_columns
from sfumato.release.measure import ENDS, Measure, cells, check_name, is_unicode, view
from sfumato.release.noisy import Noisy
from sfumato.release.origin import Origin
from sfumato.release.path import new_path
from sfumato.release.price import Price
from sfumato.release.text import CanonicalText
from sfumato.release.version import version
from sfumato.release.whence import Whence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    import altair
    import pandas
    import polars
    import pyarrow

    from sfumato.release.card import Card
    from sfumato.release.error import Error, Noise
    from sfumato.release.record import Record


@canonical
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Release(Algebra, CanonicalText):
    """A noisy answer with its intervals, its price and its origin. Nothing in it is exact data.

    Equal releases have equal bytes: `to_json` is canonical, and `from_json` reads it
    back to the last bit. Floats appear only in views (tables, arrays, charts).

    Attributes:
        keys: key columns as (name, values); empty when the answer is one number.
        measures: what was measured, in the order asked; all of the same length as the keys.
        confidence: the probability with which each single interval holds.
        cost: the privacy loss.
        price: the loss in numbers, as accounting computed it; None if nobody did.
        unit: the unit that is protected; None in the laboratory, where nobody declares one.
        notes: static sentences, such as "values above 200 count as 200".
        receipt: the ledger entry that paid for it; None in the laboratory.
        durable: whether the charge was written to a ledger that survives the process.
        version: the version of sfumato that made it.
        noisy: the draws that the measures are made of, each once.
        sampled: whether its owner declares the rows a random sample of a population.
        origins: the paid answers that it was computed from; empty if it is one itself.
        question: the name that its question had in a batch; empty if it had none.
    """

    called = "a Release"

    keys: tuple[KeyColumn, ...]
    measures: tuple[Measure, ...]
    confidence: Fraction
    cost: Loss
    price: Price | None = None
    unit: Unit | None = None
    notes: tuple[str, ...] = ()
    receipt: str | None = None
    durable: bool = False
    version: str = ""
    noisy: tuple[Noisy, ...] = field(default=(), metadata={LATER: True})
    sampled: bool = field(default=False, metadata={LATER: True})
    origins: tuple[Origin, ...] = field(default=(), metadata={LATER: True})
    question: str = field(default="", metadata={LATER: True})

    def __post_init__(self) -> None:
        """Check that the parts belong together."""
        object.__setattr__(self, "keys", key_columns(self.keys))
        object.__setattr__(self, "measures", tuple(self.measures))
        object.__setattr__(self, "confidence", open_unit(self.confidence, "confidence"))
        object.__setattr__(self, "notes", tuple(self.notes))
        object.__setattr__(self, "version", self.version or version())
        if not isinstance(self.cost, Loss):
            raise LossError(
                "a release needs its cost. Pass what mechanism.loss(sensitivity) returns."
            )
        for part, kind in ((self.unit, Unit), (self.price, Price)):
            if part is not None and not isinstance(part, kind):
                raise InputError(f"the {kind.__name__.lower()} of a release is a {kind.__name__}.")
        if self.unit is not None and self.unit.neighbors is not self.cost.neighbors:
            raise NeighborsError("unit and cost of a release state different neighbor relations.")
        texts = (*self.notes, self.version, self.question)
        texts += () if self.receipt is None else (self.receipt,)
        if not all(isinstance(text, str) and is_unicode(text) for text in texts):
            raise InputError("notes, receipt, version and question of a release are text.")
        if self.durable and self.receipt is None:
            raise InputError(
                "a release is durable only with the receipt of a ledger. Pass receipt=."
            )
        self._check_shape()
        self._check_parts()

    def _check_shape(self) -> None:
        lengths = {len(values) for _, values in self.keys} | {len(m) for m in self.measures}
        if not self.measures or len(lengths) != 1 or (not self.keys and lengths != {1}):
            raise InputError(
                f"the columns of a release do not fit together: their lengths are "
                f"{sorted(lengths)}. It needs at least one measure, all columns of one length, and "
                f"keys unless the answer is a single number."
            )
        names = self.columns
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(
                f"two columns of this release would be called {twice!r}. Name the measure "
                f"otherwise: a measure n also takes the names n_low and n_high."
            )

    def _check_parts(self) -> None:
        for name, kind in (("noisy", Noisy), ("origins", Origin)):
            object.__setattr__(self, name, tuple(getattr(self, name)))
            held = [each.id for each in getattr(self, name) if isinstance(each, kind)]
            if len(held) != len(getattr(self, name)) or len(set(held)) < len(held):
                raise InputError(f"{name}= of a release is a tuple of {kind.__name__}, each once.")
        if not isinstance(self.sampled, bool):
            raise InputError("sampled= says whether rows are a random sample: True or False.")
        used = {part for m in self.measures if m.form is not None for part in m.form.parts}
        if used - {draw.id for draw in self.noisy}:
            raise InputError(
                "a measure of this release is made of a draw that the release does not hold. Pass "
                "all of them as noisy=."
            )

    @classmethod
    def of(  # noqa: PLR0913 (every part of a release is named by its keyword)
        cls,
        *,
        values: object,
        error: Error | None,
        cost: Loss,
        mechanism: str,
        name: str = "value",
        keys: Mapping[str, Iterable[Any]] | None = None,
        confidence: Exactable = Fraction(95, 100),
        scale: Exactable | None = None,
        notes: Iterable[str] = (),
        unit: Unit | None = None,
        price: Price | None = None,
        noise: Noise | None = None,
        draw: str | None = None,
    ) -> Release:
        """Build the release of one measure; mechanisms call it in the laboratory.

        Args:
            values: the noisy value, or an array of them; exact numbers.
            error: the law of the error, which gives the intervals; None where there is none.
            cost: the privacy loss.
            mechanism: the mechanism's `repr`.
            name: what was measured.
            keys: names of the cells, as {column: values}; positions if not given.
            confidence: the probability with which each interval holds.
            scale: the noise scale, where it does not depend on the data.
            notes: static sentences about the answer.
            unit: the protected unit, where one is declared.
            price: the cost in numbers, from `sfumato.accounting.price`.
            noise: family and scale of the noise, if that is all that was done to whole numbers;
                then one can compute with the answer.
            draw: an id that no other draw has, if `noise` is given. Values will not do: two draws
                may have the same.
        """
        sure = open_unit(confidence, "confidence")
        check_name(name, "a measure")
        named = index_columns(cells(values).shape) if keys is None else key_columns(keys)
        if (noise is None) != (draw is None):
            raise InputError("noise= and draw= go together: a draw is known by an id of its own.")
        form = None if draw is None else Form.linear({draw: 1})
        measure = Measure.of(
            name, values, error, confidence=sure, mechanism=mechanism, scale=scale, form=form
        )
        noisy: tuple[Noisy, ...] = ()
        if noise is not None and draw is not None:
            noisy = (Noisy(draw, noise, measure.values),)
        return cls(named, (measure,), sure, cost, price, unit, tuple(notes), noisy=noisy)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of the table views, in order."""
        measured = (name for m in self.measures for name in m.names)
        return (*(name for name, _ in self.keys), *measured)

    @property
    def neighbors(self) -> Neighbors:
        """The neighbor relation under which the cost holds."""
        return self.cost.neighbors

    @property
    def digest(self) -> str:
        """The SHA-256 of the canonical bytes, in hex."""
        return digest(self)

    def measure(self, name: str) -> Measure:
        """Return one measure by its name.

        Raises:
            UnknownName: there is none of that name; the message lists those that exist.
        """
        for measure in self.measures:
            if isinstance(name, str) and measure.name == name:
                return measure
        raise UnknownName(
            f"no measure {name!r}; there are: {', '.join(m.name for m in self.measures)}"
        )

    def __getitem__(self, name: str) -> Estimate:
        """Return one measure as an `Estimate`: exact numbers if scalar, else arrays."""
        m = self.measure(name)
        ends: list[Any] = [m.held(end) if self.keys else getattr(m, end) for end in ENDS]
        for i, end in enumerate(ends):
            if end is not None:
                ends[i] = view(end, m.kind or "rational") if self.keys else end[0]
        value, low, high = ends
        whence = Whence.of(self, name)
        return Estimate(value, low, high, self.confidence, m.covers, m.margin, whence)

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.measures[0])

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the measures."""
        return (m.name for m in self.measures)

    def __eq__(self, other: object) -> bool:
        """Compare by canonical bytes."""
        return encode(self) == encode(other) if isinstance(other, Release) else NotImplemented

    def __hash__(self) -> int:
        """Hash by content."""
        return hash(encode(self))

    def to_arrow(self) -> pyarrow.Table:
        """Return an Arrow table: the keys, then each measure as n, n_low, n_high."""
        return frame.to_arrow(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas frame: the keys, then each measure as n, n_low, n_high."""
        return frame.to_pandas(self)

    def to_polars(self) -> polars.DataFrame:
        """Return a Polars frame: the keys, then each measure as n, n_low, n_high."""
        return frame.to_polars(self)

    def to_parquet(self, path: str | Path) -> None:
        """Write a Parquet file of the table; the release itself travels in its metadata."""
        frame.to_parquet(self, path)

    def to_html(self, path: str | Path | None = None) -> str | None:
        """Write one self-contained HTML page to `path`; without a path, return it."""
        from sfumato.release.report import report

        where = None if path is None else new_path(path)  # before the work
        return report(self).write(where)

    def card(self, record: Record | None = None) -> Card:
        """Return the certificate: what a data-protection officer asks, answered by the release.

        Args:
            record: what the ledger says about it; `Session.certificate` fills it in.
        """
        from sfumato.release.card import Card

        return Card.of(self, record)

    def chart(self, measure: str | None = None) -> altair.LayerChart:
        """Return an Altair chart of one measure (the first, unless named) with its intervals."""
        from sfumato.release.chart import chart

        return chart(self, measure)

    def __repr__(self) -> str:
        """Show a small table, at most 20 rows."""
        return frame.to_text(self)

    def _repr_html_(self) -> str:
        """Show a small table in a notebook."""
        from sfumato.release.report import fragment

        return fragment(self)
