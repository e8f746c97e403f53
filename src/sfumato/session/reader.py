"""What reads the data for one release: statements, and the relations they find truncated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sfumato.relation import Node, Source
from sfumato.relation.copied import Copy, copies
from sfumato.relation.kept import Places, in_arrow, kept, numbered, possible
from sfumato.relation.lower import (
    Copies,
    Kept,
    lowered_size,
    lowered_turns,
    parameters,
    truncations,
)
from sfumato.relation.node import Truncate, scope
from sfumato.relation.source import HIDDEN

if TYPE_CHECKING:
    import pyarrow as pa

    from sfumato.backends.base import Backend
    from sfumato.session.part import Asked

_COPIED, _MOST = 2**30, 2**62  # bytes of all copies of a release, and any number of rows
_PART = 2**24  # rows that are truncated at a time: about 100 bytes of memory for each


class Statement(Protocol):
    """Writes a statement, given what is truncated and copied already."""

    def __call__(self, dialect: str, kept: Kept, copies: Copies, /) -> str:
        """Return the SQL."""


class Reader:
    """Runs statements; what they read truncated is truncated once, by the caps of its node.

    Rows of one unit are always truncated together. Where there are many rows, those of some units
    are fetched at a time, so that memory is bounded by what is kept and by one such part. What is
    kept is dropped after the last statement that reads it. A table that many statements read is
    read once, if it is small enough to be copied.
    """

    __slots__ = ("_backend", "_copied", "_copies", "_kept", "_key", "_uses")

    def __init__(self, backend: Backend, key: str, queries: Sequence[Asked] = ()) -> None:
        """Read from a backend, with the key of truncation.

        Args:
            backend: the engine.
            key: the key of truncation.
            queries: all that will be asked, as far as it is known.
        """
        self._backend, self._key = backend, key
        self._kept: dict[Truncate, pa.Table] = {}
        self._copies: dict[Source, Copy] = copies(queries)
        self._copied: dict[str, pa.Table] = {}
        statements = {(q.node, q.keys, getattr(q, "expr", None)): q.node for q in queries}
        self._uses = Counter(each for node in statements.values() for each in truncations(node))

    def run(self, statement: Statement, node: Node, given: Mapping[str, object]) -> pa.Table:
        """Run a statement about a relation.

        Args:
            statement: what writes it; truncated relations are tables named by `truncations`.
            node: the relation.
            given: parameters beside those of the relation.
        """
        self._copy()
        names = truncations(node)
        for each in names:
            if each not in self._kept:
                self._kept[each] = self._truncated(each, names)
        sql = statement(self._backend.dialect, names, self._copies)
        answer = self._backend.run(sql, *self._given(node, given, names))
        self._uses.subtract(list(names))
        for each in names:
            if not self._uses[each]:  # no other statement reads it
                del self._kept[each]
        return answer

    def _copy(self) -> None:
        """Copy what is worth it, once."""
        room = _COPIED - sum(table.nbytes for table in self._copied.values())
        for source, copy in tuple(self._copies.items()):
            if copy.name in self._copied:
                continue
            table = self._backend.run_up_to(_MOST, copy.sql, {}, size=room)
            if table is None:
                del self._copies[source]  # it is read where it is
            else:
                self._copied[copy.name] = table
                room -= table.nbytes

    def _truncated(self, node: Truncate, names: Mapping[Truncate, str]) -> pa.Table:
        import pyarrow as pa

        read, whole = (self._backend.dialect, names, self._copies), self._given(node, {}, names)
        sql = lowered_turns(node, *read, in_parts=False)
        if (table := self._backend.run_up_to(_PART, sql, *whole)) is not None:
            return _first(node, table)
        parts = 1 + self._backend.run(lowered_size(node, *read), *whole)["n"][0].as_py() // _PART
        sql, found = lowered_turns(node, *read, in_parts=True), []
        for part in range(parts):
            given = self._given(node, {"part": part, "parts": parts}, names)
            found.append(_first(node, self._backend.run(sql, *given)))
        return pa.concat_tables(found)

    def _given(
        self, node: Node, given: Mapping[str, object], names: Mapping[Truncate, str]
    ) -> tuple[dict[str, object], dict[str, pa.Table]]:
        """Return the parameters and the tables that a statement may use."""
        tables = {name: self._kept[each] for each, name in names.items() if each in self._kept}
        return {**parameters(node, self._key), **given}, {**self._copied, **tables}


def _first(node: Truncate, table: pa.Table) -> pa.Table:
    """Return the rows that stay, under the names of the relation."""
    import pyarrow as pa

    owner, turns = numbered(table[HIDDEN]), _turns(node, table)
    if (places := possible(node, owner, *turns)) is not None:
        table, owner = _picked(table, places), owner[places]
    columns = [table[f"c{i}"] for i, _ in enumerate(scope(node))]
    table = _picked(table, kept(node, owner, columns, *_turns(node, table)))
    named = {name: _wide(table[f"c{i}"]) for i, name in enumerate(scope(node))}
    return pa.table({**named, HIDDEN: table[HIDDEN]})


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
    ]
    return pa.Table.from_batches(found, table.schema)


def _wide(column: Any) -> Any:
    """Return whole numbers as statements compute with them."""
    import pyarrow as pa

    return column.cast(pa.int64()) if pa.types.is_integer(column.type) else column
