"""What reads the data for one release: statements, and the relations they find truncated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Protocol

from sfumato.relation import Node, Source
from sfumato.relation.copied import Copy, copies
from sfumato.relation.lower import (
    Copies,
    Kept,
    lowered_size,
    lowered_turns,
    parameters,
    truncations,
)
from sfumato.relation.node import Truncate
from sfumato.session.shortlist import Shortlist

if TYPE_CHECKING:
    import pyarrow as pa

    from sfumato.backends.base import Backend
    from sfumato.session.part import Asked

_COPIED = 2**30  # bytes of all copies of a release
_PART = 2**24  # weight of the rows of some units that may stay, where one pass is not enough


class Statement(Protocol):
    """Writes a statement, given what is truncated and copied already."""

    def __call__(self, dialect: str, kept: Kept, copies: Copies, /) -> str:
        """Return the SQL."""


class Reader:
    """Runs statements; what they read truncated is truncated once, by the caps of its node.

    Rows that cannot stay are dropped while they come. Where many are left, the table is read again,
    some units at a time. So memory is bounded by what may stay of each unit and by a piece of fixed
    size, however many rows a unit has. What is kept is dropped after the last statement that reads
    it. A table that many statements read is read once, if it is small enough to be copied.
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
            table = self._backend.stream(partial(_within, room), copy.sql, {})
            if table is None:
                del self._copies[source]  # it is read where it is
            else:
                self._copied[copy.name] = table
                room -= table.nbytes

    def _truncated(self, node: Truncate, names: Mapping[Truncate, str]) -> pa.Table:
        import pyarrow as pa

        read, given = (self._backend.dialect, names, self._copies), self._given(node, {}, names)
        sql, short = lowered_turns(node, *read, in_parts=False), partial(_kept, node, once=True)
        found = self._backend.stream(short, sql, *given)
        if not isinstance(found, Fraction):
            return found
        rows = self._backend.run(lowered_size(node, *read), *given)["n"][0].as_py()
        parts = 1 + int(rows * found) // _PART
        sql, kept = lowered_turns(node, *read, in_parts=True), []
        for part in range(parts):
            given = self._given(node, {"part": part, "parts": parts}, names)
            kept.append(self._backend.stream(partial(_kept, node, once=False), sql, *given))
        return pa.concat_tables(kept)

    def _given(
        self, node: Node, given: Mapping[str, object], names: Mapping[Truncate, str]
    ) -> tuple[dict[str, object], dict[str, pa.Table]]:
        """Return the parameters and the tables that a statement may use."""
        tables = {name: self._kept[each] for each, name in names.items() if each in self._kept}
        return {**parameters(node, self._key), **given}, {**self._copied, **tables}


def _within(room: int, batches: pa.RecordBatchReader) -> pa.Table | None:
    """Return rows as a table, unless they take more bytes than there is room for."""
    import pyarrow as pa

    held: list[pa.RecordBatch] = []
    while room >= 0 and (batch := next(batches, None)) is not None:
        held.append(batch)
        room -= batch.nbytes
    return pa.Table.from_batches(held, batches.schema) if room >= 0 else None


def _kept(node: Truncate, batches: pa.RecordBatchReader, *, once: bool) -> pa.Table | Fraction:
    """Return the rows of some units that stay; of all, where they weigh too much, what a row does.

    That is, what all that may stay weigh for each row that came.
    """
    listed, came = Shortlist(node, batches.schema), 0
    for batch in batches:
        listed.add(batch)
        came += batch.num_rows
        if once and listed.long:
            return Fraction(listed.long, came)
    return listed.kept()
