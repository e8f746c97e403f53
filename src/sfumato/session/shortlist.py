"""The rows of units that may stay when their caps are applied, while they arrive piece by piece."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.relation.kept import Places, at_any_time, in_arrow, kept, numbered, possible
from sfumato.relation.node import Truncate, scope
from sfumato.relation.source import HIDDEN

if TYPE_CHECKING:
    import pyarrow as pa

# Weights: of every 64 bytes one, and of no table less than its rows.
_PIECE = 2**24  # what is looked at together when it comes
_LIST = 2**25  # what was left of many pieces and is looked at once more, for units are in several


class Shortlist:
    """Holds the rows that may stay, whatever comes later.

    What is held of a unit is bounded by its caps, not by its rows: those for which enough come
    before are left out while others still come. Where groups are chosen, it is as many rows as all
    groups together could have.
    """

    __slots__ = ("_early", "_fresh", "_listed", "_node", "_room")

    def __init__(self, node: Truncate, schema: pa.Schema) -> None:
        """Begin with none.

        Args:
            node: the caps.
            schema: of all that is added: what `lowered_turns` returns.
        """
        import pyarrow as pa

        self._node, self._early, self._room = node, at_any_time(node), _LIST
        # Not `empty_table`: it would load pandas, if there is one.
        self._fresh: list[pa.Table] = [pa.Table.from_batches([], schema)]
        self._listed: list[pa.Table] = []

    def add(self, batch: pa.RecordBatch) -> None:
        """Put rows on the list, or leave them out."""
        import pyarrow as pa

        self._fresh.append(pa.Table.from_batches([batch]))
        if _weight(self._fresh) > _PIECE:
            self._listed.append(_first(self._early, self._fresh))
        if _weight(self._listed) > self._room:
            self._listed = [_first(self._early, self._listed)]
            self._room = max(_LIST, 2 * _weight(self._listed))

    @property
    def long(self) -> int:
        """What was left when all on the list were looked at together, where it was much; else 0."""
        return self._room // 2 if self._room > _LIST else 0

    def kept(self) -> pa.Table:
        """Return the rows that stay if no more come, under the names of the relation."""
        import pyarrow as pa

        if self._listed and self._fresh:
            self._listed.append(_first(self._early, self._fresh))
        table = _first(self._node, self._listed or self._fresh)
        named = {name: _wide(table[f"c{i}"]) for i, name in enumerate(scope(self._node))}
        return pa.table({**named, HIDDEN: table[HIDDEN]})


def _weight(tables: Sequence[pa.Table]) -> int:
    return sum(max(table.num_rows, table.nbytes >> 6) for table in tables)


def _first(node: Truncate, held: list[pa.Table]) -> pa.Table:
    """Take all rows that are held, and return those that caps let stay."""
    import pyarrow as pa

    table = pa.concat_tables(held)
    held.clear()  # what is left out below takes no more memory
    owner = numbered(table[HIDDEN])
    if (places := possible(node, owner, *_turns(node, table))) is not None:
        table, owner = _picked(table, places), owner[places]
    columns = [table[f"c{i}"] for i, _ in enumerate(scope(node))]
    return _picked(table, kept(node, owner, columns, *_turns(node, table)))


def _turns(node: Truncate, table: pa.Table) -> tuple[Any, Any]:
    return table["row_turn"], table["group_turn"] if node.keys else None


def _picked(table: pa.Table, places: Places) -> pa.Table:
    """Return rows by their places, in ascending order: piece by piece, for none is put together."""
    import pyarrow as pa

    batches = table.to_batches()
    ends = [0, *accumulate(batch.num_rows for batch in batches)]
    pieces = pairwise(np.searchsorted(places, ends))
    found = [
        batch.take(in_arrow(places[low:high] - start))
        for batch, start, (low, high) in zip(batches, ends[:-1], pieces, strict=True)
        if high > low  # else there would be as many pieces as came, however few rows are left
    ]
    return pa.Table.from_batches(found, table.schema)


def _wide(column: Any) -> Any:
    """Return whole numbers as statements compute with them."""
    import pyarrow as pa

    return column.cast(pa.int64()) if pa.types.is_integer(column.type) else column
