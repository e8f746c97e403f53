"""What the kernel reads: one statement for all parts about the same cells, and what came back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.backends.rehearsal import rehearse
from sfumato.core.errors import InputError
from sfumato.mechanisms.bag import Bag
from sfumato.mechanisms.occurrence import Chosen, Groups, listed
from sfumato.relation import (
    Aggregate,
    AnyKeys,
    BoughtKeys,
    Keys,
    Linear,
    Node,
    Occurrence,
    Strategy,
    Values,
)
from sfumato.relation.keys import integers
from sfumato.relation.kind import Kind, Words, value
from sfumato.relation.linear import weighted
from sfumato.relation.lower import Copies, Kept, lowered, lowered_values
from sfumato.release.key import key_columns
from sfumato.session.exact import Exact

if TYPE_CHECKING:
    from sfumato.session.part import Asked, Part
    from sfumato.session.reader import Reader

_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Scan:
    """One statement, and the parts that it serves.

    Attributes:
        queries: what it asks, a question for each place.
        node: the relation.
        keys: its groups.
        places: where the parts stand among all that are measured; one that selects groups first.
        is_bag: whether it fetches values, and not one number for each group.
    """

    queries: tuple[Asked, ...]
    node: Node
    keys: AnyKeys
    places: tuple[int, ...]
    is_bag: bool

    def lowered(self, dialect: str, kept: Kept | None = None, copies: Copies | None = None) -> str:
        """Return the statement: truncations are windows, or tables by the names in `kept`."""
        counted = [q for q in self._read if not isinstance(q, Values)]
        bag = next((q for q in self._read if isinstance(q, Values)), None)
        if bag is not None:
            return lowered_values(bag, dialect, kept, copies)
        return lowered(counted, dialect, kept, copies)

    @property
    def _read(self) -> tuple[Aggregate | Values | Occurrence, ...]:
        """What is read, each once: matrices are applied to the cells of one question."""
        return tuple(dict.fromkeys(q.counts if isinstance(q, Linear) else q for q in self.queries))

    def read(self, reader: Reader, chosen: Chosen | None) -> Found:
        """Run the statement.

        Args:
            reader: what reads the data.
            chosen: the groups that appeared, of those that are bought.
        """
        given: dict[str, object] = {}
        if self.is_bag and isinstance(self.keys, BoughtKeys) and chosen is not None:
            for i in range(len(self.keys.columns)):
                given[f"b{i}"] = listed(chosen.columns[i])
        table = reader.run(self.lowered, self.node, given)
        kind = _Bags if self.is_bag else _Cells
        columns = {query: i for i, query in enumerate(self._read)}
        served = {
            place: Served(columns[query.counts], query.matrix)
            if isinstance(query, Linear)
            else Served(columns[query])
            for place, query in zip(self.places, self.queries, strict=True)
        }
        return kind(table, self.keys, served, chosen)


class Served(NamedTuple):
    """How a part is made of what was read: of which column, and times which matrix."""

    column: int
    matrix: Strategy | None = None


def scans(parts: Sequence[Part], dialect: str) -> list[Scan]:
    """Return as few statements as answer all parts; those that select groups come first.

    Raises:
        InputError: groups are to be bought, and nothing selects them.
        QueryError: the engine does not take a statement.
    """
    queries = [part.query for part in parts]
    for node, keys in {(q.node, q.keys): None for q in queries if isinstance(q.keys, BoughtKeys)}:
        about = [q for q in queries if (q.node, q.keys) == (node, keys)]
        if sum(isinstance(query, Occurrence) for query in about) != 1:
            raise InputError(
                "bought groups are selected once, in the measurement that asks about them. "
                "Measure their Occurrence with a selection in the same batch."
            )
    found = _scans(queries)
    for scan in found:
        rehearse(scan.lowered(dialect), scan.node)
    return found


def statements(queries: Sequence[Asked], dialect: str) -> list[str]:
    """Return the SQL that answers some questions, with truncations as windows."""
    return [scan.lowered(dialect) for scan in _scans(queries)]


def _scans(queries: Sequence[Asked]) -> list[Scan]:
    found: dict[tuple[Any, ...], list[int]] = {}
    for place, query in enumerate(queries):
        bag = query.expr if isinstance(query, Values) else None
        found.setdefault((query.node, query.keys, bag), []).append(place)
    out = []
    for (node, keys, _), places in found.items():
        selects = [i for i in places if isinstance(queries[i], Occurrence)]
        order = [*selects, *(i for i in places if i not in selects)]
        asked = tuple(queries[i] for i in order)
        out.append(Scan(asked, node, keys, tuple(order), isinstance(asked[0], Values)))
    return sorted(out, key=lambda scan: scan.is_bag)


class Found:
    """What a statement returned: exact, and shown to mechanisms only.

    Attributes:
        cells: the values that name the cells, by column; None for a single total.
    """

    __slots__ = ("_chosen", "_keys", "_made", "_places", "_table")

    def __init__(
        self, table: Any, keys: AnyKeys, places: Mapping[int, Served], chosen: Chosen | None
    ) -> None:
        """Hold the table."""
        self._table, self._keys, self._places, self._chosen = table, keys, places, chosen
        self._made: dict[str, Any] = {}  # what all parts need, made once

    @property
    def cells(self) -> dict[str, Sequence[Any]] | None:
        """The public names of the cells."""
        if "cells" not in self._made:
            self._made["cells"] = self._named()
        found: dict[str, Sequence[Any]] | None = self._made["cells"]
        return found

    def _named(self) -> dict[str, Sequence[Any]] | None:
        keys = self._keys
        if isinstance(keys, Keys):
            return dict(keys.table()) or None
        names = [()] * len(keys.columns) if self._chosen is None else self._chosen.columns
        rest = (None,) if keys.other else ()
        columns = zip(keys.columns, keys.kinds, names, strict=True)
        # Checked here, once for all parts.
        return dict(key_columns({name: (*_shown(kind, c), *rest) for name, kind, c in columns}))

    def narrowed(self, chosen: Chosen) -> Found:
        """Return the groups that appear, and the rest if that is asked for."""
        narrow = type(self)(self._table, self._keys, self._places, chosen)
        groups = self._made.get("groups")
        if groups is not None and (rows := groups.rows(chosen)) is not None:
            narrow._made["rows"] = rows
        return narrow

    def exact(self, place: int) -> Exact:
        """Return the exact input of a part."""
        raise NotImplementedError

    def _codes(self) -> tuple[Any, ...]:
        # In chunks, as they came: texts of more than 2 GiB do not fit one array.
        return tuple(self._table[f"k{k}"] for k in range(len(self._keys.columns)))

    def _numbers(self, name: str) -> NDArray[np.int64]:
        return integers(self._table[name])

    def __repr__(self) -> str:
        """Say what it is, and nothing about it."""
        return "<exact values, not shown>"


class _Cells(Found):
    """One number for each group and part."""

    __slots__ = ()

    def exact(self, place: int) -> Exact:
        """Return the numbers of the public cells, or of the groups that appeared; else 0."""
        column, matrix = self._places[place]
        counted = self._numbers(f"m{column}")
        keys = self._keys
        if isinstance(keys, BoughtKeys):
            if (chosen := self._chosen) is None:
                self._made["groups"] = Groups(tuple(map(_long, self._codes())), counted)
                return Exact(self._made["groups"])
            return Exact(_picked(counted, self._rows(chosen), other=keys.other))
        if "index" not in self._made:
            self._made["index"] = keys.index(self._codes())
        cells = self._made["index"]
        values = np.zeros(len(keys), np.int64)  # a public cell without rows is 0
        values[cells[cells >= 0]] = counted[cells >= 0]
        if matrix is not None:
            return Exact(weighted(matrix, values))
        return Exact(values if keys.columns else values[0])

    def _rows(self, chosen: Chosen) -> NDArray[np.int64]:
        """Return the row of each group that appeared; -1 where the table has none."""
        if "rows" not in self._made:
            self._made["rows"] = _found(self._codes(), chosen.columns)
        rows: NDArray[np.int64] = self._made["rows"]
        return rows


class _Bags(Found):
    """Values, each with its group."""

    __slots__ = ()

    def exact(self, place: int) -> Exact:  # noqa: ARG002 - a statement fetches one bag
        """Return the values that are in some group: 16 bytes for each, once for all parts."""
        if "bag" not in self._made:
            self._made["bag"] = self._bag()
            self._table = None  # all that is needed of it is in the bag
        return Exact(self._made["bag"])

    def _bag(self) -> Bag:
        values, keys = self._numbers("v"), self._keys
        if isinstance(keys, BoughtKeys):
            groups = 0 if self._chosen is None else self._chosen.size
            return Bag(values, self._numbers("cell"), groups)
        if not keys.columns:
            return Bag(values, None, 1)
        cells = keys.index(self._codes())
        if cells.size and cells.min() < 0:
            inside = cells >= 0
            values, cells = values[inside], cells[inside]
        return Bag(values, cells, len(keys))


def _long(column: Any) -> Any:
    """Return texts so that more than 2 GiB of them can be picked from; the bytes are not copied."""
    return column.cast("large_string") if column.type == "string" else column


def _found(columns: Sequence[Any], keys: Sequence[Any]) -> NDArray[np.int64]:
    """Return the row of a table in which each key stands, in one at most; -1 for one in none.

    Both are numbered column by column, as the keys are different so far. So no number outgrows the
    square of how many keys there are.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    rows, wanted = np.zeros(len(columns[0]), np.int64), np.zeros(len(keys[0]), np.int64)
    for i, column in enumerate(columns):
        sought = pa.array(listed(keys[i]), column.type)
        known = sought.unique()
        here, there = (
            integers(pc.index_in(codes, value_set=known).fill_null(-1))
            for codes in (column, sought)
        )
        if not i:
            rows, wanted = here, there
            continue
        here = np.where((rows < 0) | (here < 0), -1, rows * len(known) + here)
        pairs, wanted = np.unique(wanted * len(known) + there, return_inverse=True)
        at = np.minimum(np.searchsorted(pairs, here), max(pairs.size - 1, 0))
        rows = np.where(pairs[at] == here, at, -1) if pairs.size else here
    found = np.full(wanted.size, -1, np.int64)
    inside = np.flatnonzero(rows >= 0)
    found[rows[inside]] = inside
    return found[wanted]


def _picked(
    counted: NDArray[np.int64], rows: NDArray[np.int64], *, other: bool
) -> NDArray[np.int64]:
    values = np.where(rows >= 0, counted[np.maximum(rows, 0)] if counted.size else 0, 0)
    if not other:
        return values
    rest = np.ones(counted.size, np.bool_)
    rest[rows[rows >= 0]] = False
    left = counted[rest]
    # Summed in two halves, so that nothing overflows; saturated, which is 1-Lipschitz.
    total = (int((left >> 32).sum()) << 32) + int((left & (2**32 - 1)).sum())
    return np.append(values, min(max(total, -_LARGEST), _LARGEST))


def _shown(kind: Kind, codes: Any) -> Sequence[Any]:
    """Return keys as a release can hold them; what Arrow holds as text is Unicode."""
    plain = listed(codes)
    return plain if isinstance(kind, Words) else [value(kind, code) for code in plain]
