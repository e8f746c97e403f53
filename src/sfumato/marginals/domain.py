"""The columns that are counted by, and the questions about them that a curator is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

from sfumato.core.codec import canonical
from sfumato.core.errors import InputError, KeysError, UnknownName
from sfumato.core.listing import listed
from sfumato.core.schema import Text
from sfumato.core.unit import Unit
from sfumato.marginals.basis import Asked, Basis, basis
from sfumato.marginals.workload import Workload
from sfumato.relation import Aggregate, Keys, Linear, Query, Rows, bounded
from sfumato.relation.kind import Kind, Label, Number, Truth
from sfumato.relation.matrix import Blocks, Kronecker
from sfumato.session.histogram import Histogram
from sfumato.session.lab import MOST_CELLS as MOST_LAB_CELLS
from sfumato.session.lab import Lab
from sfumato.session.output import count, count_name
from sfumato.session.table import Table

Places: TypeAlias = tuple[int, ...]

MOST_CELLS = 10_000_000  # of all answers together, which a ledger stores
_MOST_VALUES = 2**20  # of one column, all of which are listed
_MOST_STEPS = 1000  # values of a real column; more of them are bins that nobody made


@canonical
@dataclass(frozen=True, slots=True)
class Attribute:
    """A column that is counted by.

    Attributes:
        name: the column.
        values: its public values, in order.
        asked: whether counts of values, of prefixes or of ranges matter.
        matrix: what is measured of it beyond the total; None for a column of one value.
        ordered: whether its values have an order: numbers, dates and times do.
    """

    name: str
    values: tuple[Any, ...]
    asked: Asked = "values"
    matrix: Basis | None = None
    ordered: bool = True

    @property
    def size(self) -> int:
        """How many values it has."""
        return len(self.values)


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """The columns of one curator, and how to ask it about them.

    Attributes:
        attributes: the columns.
        unit: who is protected.
        most: how many cells may be measured in all.
        counts: the question how many rows have each combination of values of some columns.
        sums: the same, times an integer matrix.
    """

    attributes: tuple[Attribute, ...]
    unit: Unit
    most: int
    counts: Callable[[Places], Query]
    sums: Callable[[Places, Any], Query]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(attribute.name for attribute in self.attributes)

    def size(self, places: Places) -> int:
        """How many cells a marginal has."""
        return prod(self.attributes[i].size for i in places)

    def marginal(self, places: Places) -> Query:
        """Return the question for a marginal; of no columns, for the total.

        The total is asked as a sum over a column, so that under a relation that replaces rows,
        where the number of rows is public but nobody has told it, it is measured like the rest. Of
        a column with one value such a relation would move nothing.
        """
        if places:
            return self.counts(places)
        sizes = [attribute.size for attribute in self.attributes]
        several = [i for i, size in enumerate(sizes) if size > 1]
        least = min(several or range(len(sizes)), key=lambda i: sizes[i])
        size = self.attributes[least].size
        return self.sums((least,), Blocks(size, size))

    def residual(self, places: Places) -> Query:
        """Return the question for what a marginal tells beyond its own marginals."""
        factors = tuple(matrix for i in places if (matrix := self.attributes[i].matrix) is not None)
        return self.sums(places, Kronecker(factors)) if places else self.marginal(())

    def rows(self, places: Places) -> int:
        """How many numbers a residual has."""
        matrices = (self.attributes[i].matrix for i in places)
        return prod(matrix.rows for matrix in matrices if matrix is not None)


def domain_of(curator: Any, workload: Workload, columns: Sequence[str] | None = None) -> Domain:
    """Find the columns of a curator; reads nothing.

    Args:
        curator: a private table, or a laboratory.
        workload: which columns are asked by prefixes or ranges.
        columns: the columns to count by; all that there are, if not given.

    Raises:
        UnknownName: no such column.
        KeysError: a column without a public list of values, or with too many.
    """
    if columns is not None:
        columns = listed(columns)
        if columns is None or not all(isinstance(name, str) for name in columns):
            raise InputError("columns= is a list of names, such as columns=['age', 'sex'].")
        if not columns or len(set(columns)) != len(columns):
            raise InputError("columns= names the columns to count by, at least one, each once.")
    if columns is None and workload.listed and not workload.ways:  # no others are needed
        columns = workload.named
    if isinstance(curator, Lab):
        return _of_lab(curator, workload, columns)
    if isinstance(curator, Table):
        return _of_table(curator, workload, columns)
    raise InputError(
        f"marginals are released of a private table or of a laboratory, and this is a "
        f"{type(curator).__name__}. Pass session.table('people'), or sf.lab.table(frame, domain)."
    )


def _of_lab(lab: Lab, workload: Workload, columns: Sequence[str] | None) -> Domain:
    sizes = lab.sizes
    for name in columns or ():
        if name not in sizes:
            raise UnknownName(f"no column {name!r}; there are: {', '.join(sizes)}.")
    names = tuple(columns or sizes)
    attributes = tuple(_attribute(name, range(sizes[name]), workload) for name in names)

    def counts(places: Places) -> Histogram:
        chosen = [names[i] for i in places]  # of any size: what is too large is only explained
        return Histogram(tuple(chosen), tuple(sizes[name] for name in chosen))

    return Domain(
        attributes,
        lab.unit,
        MOST_LAB_CELLS // 2,
        counts,
        lambda places, matrix: counts(places).weighted(matrix),
    )


def _of_table(table: Table, workload: Workload, columns: Sequence[str] | None) -> Domain:
    hidden = table.unit.column
    names = tuple(columns or (name for name in table.columns if name != hidden))
    if not names:
        raise InputError("this table has no column to count by. Declare one in its schema.")
    for name in names:
        if isinstance(table.schema.get(name), Text):
            raise KeysError(
                f"nobody listed the values of the text column {name!r}, and marginals count values "
                f"that are listed. Leave it out: name the others with columns=[...], or take "
                f"table.select(...)."
            )
    asked = [table.group_by(name).agg(**{count_name([name]): count()}) for name in names]
    each = [question.keys for question in asked]  # what has no values was refused
    keys = [key for key in each if isinstance(key, Keys)]
    for key in keys:
        _refuse_steps(key)
    attributes = tuple(
        _attribute(name, key.table()[name], workload, key.kinds[0])
        for name, key in zip(names, keys, strict=True)
    )
    # Rows that are in some cell of every marginal, truncated once: the exact marginals add up.
    every = _joined(keys)
    node = bounded(table.count().relation, every, ())

    def counts(places: Places) -> Aggregate:
        return Aggregate(node, _joined([keys[i] for i in places]), Rows())

    return Domain(
        attributes,
        table.unit,
        MOST_CELLS,
        counts,
        lambda places, matrix: Linear(counts(places), matrix),
    )


def _joined(keys: Sequence[Keys]) -> Keys:
    return Keys(
        tuple(name for key in keys for name in key.columns),
        tuple(kind for key in keys for kind in key.kinds),
        tuple(codes for key in keys for codes in key.codes),
    )


def _refuse_steps(key: Keys) -> None:
    """Refuse a column whose values are steps of a measurement rather than a few kinds of things."""
    name, kind, size = key.columns[0], key.kinds[0], key.cells
    fine = isinstance(kind, Number) and kind.step.denominator != 1 and size > _MOST_STEPS
    if fine or size > _MOST_VALUES:
        raise KeysError(
            f"the column {name!r} has {size:,} values, too many to count each. Make bins with "
            f"with_columns({_bins(name)}='floor({name}, width)'), or leave it out of columns=."
        )


def _bins(name: str) -> str:
    return f"{name}_bin" if name.isidentifier() else "bin"


def _attribute(
    name: str, values: Sequence[Any], workload: Workload, kind: Kind | None = None
) -> Attribute:
    asked: Asked = "values"
    if name in workload.prefix or name in workload.ranges:
        asked = "prefix" if name in workload.prefix else "ranges"
    size = len(values)
    matrix = basis(size, asked) if size > 1 else None
    labels = isinstance(kind, Label) and any(isinstance(value, str) for value in values)
    return Attribute(
        name, tuple(values), asked, matrix, ordered=not labels and not isinstance(kind, Truth)
    )
