"""Tables that many statements of one release read: copied once, the columns that are used."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.relation.expr import names, quoted
from sfumato.relation.kind import narrow
from sfumato.relation.node import (
    Distinct,
    Filter,
    Join,
    Node,
    PerUnit,
    Project,
    Truncate,
    Union,
    UnitJoin,
    carries,
    scope,
    travels,
    walk,
)
from sfumato.relation.source import HIDDEN, KEPT, Source

if TYPE_CHECKING:
    from sfumato.relation.aggregate import Aggregate
    from sfumato.relation.linear import Linear
    from sfumato.relation.occurrence import Occurrence
    from sfumato.relation.values import Values

_OFTEN = 3  # statements for which a copy pays


@dataclass(frozen=True, slots=True)
class Copy:
    """A private table in memory, for one release.

    Attributes:
        source: the table.
        name: what statements call the copy.
        columns: those that are in it.
        keys: the keys of links that are in it as well.
    """

    source: Source
    name: str
    columns: tuple[str, ...]
    keys: tuple[str, ...] = ()

    @property
    def sql(self) -> str:
        """The statement that makes it: whole numbers in as few bytes as their range needs."""
        picked = []
        for name in self.columns:
            held = narrow(scope(self.source)[name])
            narrowed = f"CAST({quoted(name)} AS {held}) AS {quoted(name)}"
            picked.append(narrowed if held else quoted(name))
        picked += [HIDDEN, *self.keys] if carries(self.source) else []
        return f"SELECT {', '.join(picked)}\nFROM {quoted(self.source.name)}"

    @property
    def rows(self) -> str:
        """What a statement reads: whole numbers as it computes with them."""
        picked = []
        for name in self.columns:
            wide = f"CAST({quoted(name)} AS BIGINT) AS {quoted(name)}"
            picked.append(wide if narrow(scope(self.source)[name]) else quoted(name))
        picked += [HIDDEN, *self.keys] if carries(self.source) else []
        return f"(SELECT {', '.join(picked)} FROM {quoted(self.name)})"


def along_links(node: Node) -> tuple[UnitJoin, ...]:
    """Return the joins of a relation for which keys travel with the rows."""
    found = [each for each in walk(node) if isinstance(each, UnitJoin) and each.key is not None]
    return tuple(dict.fromkeys(found))


def keys_of(node: Node, joins: Iterable[UnitJoin]) -> list[str]:
    """Return the keys that the rows of a relation carry, of those that some joins need."""
    here = travels(node)
    needed = [join.key for join in joins if any(end in here for end in join.ends)]
    return list(dict.fromkeys(key for key in needed if key is not None))


def copies(queries: Iterable[Aggregate | Linear | Occurrence | Values]) -> dict[Source, Copy]:
    """Return the tables that are worth a copy, because many statements read them."""
    used: dict[Source, set[str]] = {}
    reads: dict[Source, set[Any]] = {}
    joins: list[UnitJoin] = []
    for query in queries:
        joins += along_links(query.node)
        wanted = {*query.keys.columns, *_measured(query)}
        for source, columns in _needed(query.node, wanted).items():
            used.setdefault(source, set()).update(columns)
            reads.setdefault(source, set()).add((query.node, query.keys))
    return {
        source: Copy(
            source,
            f"{KEPT}table_{i}",
            tuple(c for c in scope(source) if c in columns),
            tuple(keys_of(source, joins)),
        )
        for i, (source, columns) in enumerate(used.items())
        if len(reads[source]) >= _OFTEN and columns
    }


def _measured(query: Aggregate | Linear | Occurrence | Values) -> set[str]:
    """Return the columns whose values are counted, added up or put into order."""
    expr = getattr(query, "expr", None) or getattr(getattr(query, "quantity", None), "expr", None)
    return set() if expr is None else set(names(expr))


def _needed(node: Node, wanted: set[str]) -> dict[Source, set[str]]:
    """Return which columns of which tables a relation is made of, if so many are wanted of it."""
    match node:
        case Source():
            return {node: wanted}
        case Filter():
            return _needed(node.child, wanted | set(names(node.condition)))
        case Project():
            return _needed(node.child, {name for _, expr in node.columns for name in names(expr)})
        case Truncate() | Distinct():
            return _needed(node.child, set(scope(node.child)))
        case Join():
            public = {name for name, _, _ in node.table.columns}
            keys = {name for name, _, _ in node.table.keys}
            return _needed(node.child, (wanted - public) | keys)
        case PerUnit():
            summed = {n for _, s in node.summaries if s.expr is not None for n in names(s.expr)}
            return _needed(node.child, {*node.keys, *summed})
        case Union() | UnitJoin():
            return _both(node)


def _both(node: Union | UnitJoin) -> dict[Source, set[str]]:
    found: dict[Source, set[str]] = {}
    for half in (node.first, node.second):
        for source, columns in _needed(half, set(scope(half))).items():
            found.setdefault(source, set()).update(columns)
    return found
