"""From a plan to SQL that returns integers. Only names, codes and whitelisted functions get in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from sfumato.core.errors import InputError
from sfumato.relation.bought import AnyKeys, BoughtKeys
from sfumato.relation.bound import reach
from sfumato.relation.copied import Copy, along_links, keys_of
from sfumato.relation.expr import Name, quoted, typed
from sfumato.relation.keys import Keys
from sfumato.relation.kind import Kind, Truth, Words, narrow
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
    walk,
)
from sfumato.relation.operand import wide
from sfumato.relation.public import PublicTable
from sfumato.relation.quantity import Known, Quantity, Rows, Squares, Total, Units
from sfumato.relation.source import HIDDEN, KEPT, Source

if TYPE_CHECKING:
    from sfumato.relation.aggregate import Aggregate
    from sfumato.relation.occurrence import Occurrence
    from sfumato.relation.values import Values

Public: TypeAlias = tuple[PublicTable, ...]
Kept: TypeAlias = Mapping[Truncate, str]
Copies: TypeAlias = Mapping[Source, Copy]

LARGEST = 2**63 - 1
DIALECTS = ("duckdb",)


@dataclass(frozen=True, slots=True)
class Names:
    """What a statement calls the tables that are handed to it.

    Attributes:
        public: public tables; their place among them is their name.
        kept: relations that are truncated already, each under the name of a table.
        copies: private tables that were copied.
        keys: the joins along links, whose keys travel with the rows.
    """

    public: Public
    kept: Mapping[Truncate, str] = field(default_factory=dict)
    copies: Mapping[Source, Copy] = field(default_factory=dict)
    keys: tuple[UnitJoin, ...] = ()

    @classmethod
    def of(cls, node: Node, kept: Kept | None = None, copies: Copies | None = None) -> Names:
        """Name what a relation reads."""
        joins = [each.table for each in walk(node) if isinstance(each, Join)]
        return cls(tuple(dict.fromkeys(joins)), kept or {}, copies or {}, along_links(node))


def lowered(
    queries: Sequence[Aggregate | Occurrence],
    dialect: str,
    kept: Kept | None = None,
    copies: Copies | None = None,
) -> str:
    """Write one SQL statement for questions about the same cells of the same relation.

    It returns the key columns ``k0, k1, …``, as codes, and one column of 64-bit integers for each
    question, ``m0, m1, …``. Cells without rows are missing. Where a unit is truncated, the
    statement takes the parameter ``$key``.

    Args:
        queries: the questions.
        dialect: the SQL to write.
        kept: relations that are truncated already, each under the name of a table.
        copies: private tables that were copied.
    """
    _check(dialect)
    node, keys = queries[0].node, queries[0].keys
    if any((q.node, q.keys) != (node, keys) for q in queries):
        raise InputError("only questions about the same cells of one relation share a statement.")
    picked = _keys(keys)
    columns = [f"{_measured(q.quantity, node, keys)} AS m{i}" for i, q in enumerate(queries)]
    table = _from(node, Names.of(node, kept, copies))
    lines = [f"SELECT {', '.join([*picked, *columns])}", f"FROM {table}"]
    inside = node.condition if isinstance(node, Filter) else None
    if isinstance(keys, BoughtKeys) and inside != keys.condition():  # a nameless group is none
        known = [f"{quoted(name)} IS NOT NULL" for name in keys.columns]
        lines.append(f"WHERE {' AND '.join(known)}")
    if keys.columns:
        lines.append(f"GROUP BY {', '.join(quoted(name) for name in keys.columns)}")
    return "\n".join(lines)


def lowered_values(
    query: Values, dialect: str, kept: Kept | None = None, copies: Copies | None = None
) -> str:
    """Write the SQL that returns the values of a bag, each with the codes of its group.

    It returns the key columns ``k0, k1, …`` and the value ``v``, without those that are NULL; of
    bought groups, those that appeared only: their codes are the parameters ``$b0, $b1, …``, and
    instead of the key columns there is ``cell``, the place of the group among them.
    """
    _check(dialect)
    node, keys = query.node, query.keys
    value = typed(query.expr, scope(node))
    low, high = query.extent
    held = "INTEGER" if max(-low, high) < 2**31 else "BIGINT"
    # A value in half the bytes takes half the time to fetch and to sort.
    picked = f"CAST({wide(value)} AS {held}) AS v"
    table = _from(node, Names.of(node, kept, copies))
    every = f"SELECT {', '.join([*_keys(keys), picked])}\nFROM {table}"
    # Picked below the filter and the join, so that an expression is computed once, and a column
    # may have any name.
    rows = f"(\n{_indented(every)}\n)"
    if isinstance(keys, Keys):
        return f"SELECT * FROM {rows}\nWHERE v IS NOT NULL"
    read = [f"unnest(CAST($b{i} AS {_coded(kind)}[])) AS c{i}" for i, kind in enumerate(keys.kinds)]
    read.append("unnest(range(len($b0))) AS cell")
    met = " AND ".join(f"found.k{i} = chosen.c{i}" for i in range(len(keys.columns)))
    return (
        f"SELECT chosen.cell AS cell, found.v AS v\nFROM {rows} AS found\n"
        f"JOIN (SELECT {', '.join(read)}) AS chosen ON {met}\nWHERE found.v IS NOT NULL"
    )


def truncations(node: Node) -> dict[Truncate, str]:
    """Return the truncations of a relation, those below before those above, and a name for each."""
    found = dict.fromkeys(each for each in reversed([*walk(node)]) if isinstance(each, Truncate))
    return {each: f"{KEPT}{i}" for i, each in enumerate(found)}


def lowered_turns(
    node: Truncate, dialect: str, kept: Kept, copies: Copies | None = None, *, in_parts: bool
) -> str:
    """Write the SQL that returns the rows to truncate, whose they are, and when their turn comes.

    It returns the columns of the relation as ``c0, c1, …``, in few bytes, the unit, ``row_turn``
    and, where there are keys, ``group_turn``, both of 32 bits. It takes the parameter ``$key``, and
    in parts also ``$part`` and ``$parts``: it returns one of so many parts of the units.
    """
    _check(dialect)
    picked = [
        f"{_narrow(name, kind)} AS c{i}" for i, (name, kind) in enumerate(scope(node).items())
    ]
    picked += [HIDDEN, f"{_row_turn(node)} AS row_turn"]
    if node.keys:
        picked.append(f"{_group_turn(node)} AS group_turn")
    rows = f"SELECT {', '.join(picked)}\nFROM {_from(node.child, Names.of(node, kept, copies))}"
    part = f"WHERE hash({HIDDEN}) % CAST($parts AS UBIGINT) = CAST($part AS UBIGINT)"
    return f"{rows}\n{part}" if in_parts else rows


def lowered_size(node: Truncate, dialect: str, kept: Kept, copies: Copies | None = None) -> str:
    """Write the SQL that returns ``n``, how many rows there are to truncate."""
    _check(dialect)
    return f"SELECT count(*) AS n\nFROM {_from(node.child, Names.of(node, kept, copies))}"


def _check(dialect: str) -> None:
    if dialect not in DIALECTS:
        raise InputError(f"there is no SQL for {dialect!r}; there is for: {', '.join(DIALECTS)}.")


def _keys(keys: AnyKeys) -> list[str]:
    return [
        f"{_code(quoted(name), kind)} AS k{i}"
        for i, (name, kind) in enumerate(zip(keys.columns, keys.kinds, strict=True))
    ]


def held(kind: Kind) -> str:
    """Return the type in which a statement holds values of a kind."""
    return {Truth: "BOOLEAN", Words: "VARCHAR"}.get(type(kind), "BIGINT")


def _coded(kind: Kind) -> str:
    return "VARCHAR" if isinstance(kind, Words) else "BIGINT"


def _code(sql: str, kind: Kind) -> str:
    return f"CAST({sql} AS BIGINT)" if isinstance(kind, Truth) else sql


def parameters(node: Node, key: str) -> dict[str, object]:
    """Return what the SQL of a relation takes: the key of truncation, and public columns."""
    found: dict[str, object] = {"key": key} if uses_key(node) else {}
    for i, table in enumerate(Names.of(node).public):
        for j, (_, _, codes) in enumerate((*table.keys, *table.columns)):
            found[f"p{i}_{j}"] = list(codes)
    return found


def uses_key(node: Node) -> bool:
    """Say whether the SQL of a relation takes the parameter ``$key``."""
    return any(isinstance(each, Truncate) for each in walk(node))


def _measured(quantity: Quantity, node: Node, keys: AnyKeys) -> str:
    match quantity:
        case Rows():
            return "count(*)"
        case Units():
            _, _, each = reach(node).by(keys.columns)
            return "count(*)" if each == 1 else f"count(DISTINCT {HIDDEN})"
        case Known():
            return f"count({typed(quantity.expr, scope(node)).sql})"
        case Total():
            value = typed(quantity.expr, scope(node))
            total = f"sum({wide(value)})"
            if quantity.center:  # once for each group, which is faster than row by row
                total = f"{total} - CAST({quantity.center} AS HUGEINT) * count({value.sql})"
            return _saturated(total)
        case Squares():
            less = f"{wide(typed(quantity.expr, scope(node)))} - ({quantity.center})"
            return _saturated(f"sum(({less}) * ({less}))")


def _saturated(total: str) -> str:
    """Write a total that fits 64 bits: the engine sums in 128, and saturation is 1-Lipschitz."""
    return f"CAST(greatest(least(coalesce({total}, 0), {LARGEST}), -{LARGEST}) AS BIGINT)"


def _from(node: Node, names: Names) -> str:
    if isinstance(node, Source):
        copy = names.copies.get(node)
        return quoted(node.name) if copy is None else copy.rows
    if isinstance(node, Truncate) and node in names.kept:
        return quoted(names.kept[node])
    return "(\n" + _indented(_select(node, names)) + "\n)"


def _select(node: Node, names: Names) -> str:
    match node:
        case Source():
            return f"SELECT * FROM {quoted(node.name)}"
        case Filter():
            return _filtered(node, names)
        case Project():
            inner = scope(node.child)
            picked = [
                quoted(name)
                if expr == Name(name)
                else f"{wide(typed(expr, inner))} AS {quoted(name)}"
                for name, expr in node.columns
            ]
            picked += [*_hidden(node), *keys_of(node, names.keys)]
            return f"SELECT {', '.join(picked)}\nFROM {_from(node.child, names)}"
        case Truncate():
            return _truncated(node, names)
        case Distinct():
            picked = [*map(quoted, scope(node)), *_hidden(node)]
            return f"SELECT DISTINCT {', '.join(picked)}\nFROM {_from(node.child, names)}"
        case Union():
            return "\nUNION ALL\n".join(_half(node, half, names) for half in (0, 1))
        case Join():
            return _joined(node, names)
        case UnitJoin():
            return _met(node, names)
        case PerUnit():
            inner, keys = scope(node.child), [quoted(key) for key in node.keys]
            made = [f"{summary.sql(inner)} AS {quoted(name)}" for name, summary in node.summaries]
            mine = ", ".join([*keys, HIDDEN])
            table = _from(node.child, names)
            return f"SELECT {', '.join([*made, mine])}\nFROM {table}\nGROUP BY {mine}"


def _hidden(node: Node) -> list[str]:
    return [HIDDEN] if carries(node) else []


def _half(node: Union, half: int, names: Names) -> str:
    child = (node.first, node.second)[half]
    picked = [*map(quoted, scope(node.first)), *_hidden(child)]
    return f"SELECT {', '.join(picked)} FROM {_from(child, names)}"


def _joined(node: Join, names: Names) -> str:
    table, place = node.table, names.public.index(node.table)
    read = []
    for i, (_, kind, _) in enumerate((*table.keys, *table.columns)):
        read.append(f"unnest(CAST($p{place}_{i} AS {held(kind)}[])) AS c{i}")
    added = [
        f"public.c{len(table.keys) + i} AS {quoted(name)}"
        for i, (name, _, _) in enumerate(table.columns)
    ]
    met = " AND ".join(
        f"private.{quoted(k)} = public.c{i}" for i, (k, _, _) in enumerate(table.keys)
    )
    return (
        f"SELECT {', '.join(['private.*', *added])}\nFROM {_from(node.child, names)} AS private\n"
        f"{node.how.upper()} JOIN (SELECT {', '.join(read)}) AS public ON {met}"
    )


def _met(node: UnitJoin, names: Names) -> str:
    """Write a join of two private relations, in which rows of one unit alone meet."""
    equal = {other for _, other in node.on}
    added = [name for name in scope(node.second) if name not in equal]
    mine = keys_of(node.first, names.keys)
    brought = [key for key in keys_of(node.second, names.keys) if key not in mine]
    met = [f"one.{HIDDEN} = other.{HIDDEN}"]
    met += [f"one.{quoted(a)} = other.{quoted(b)}" for a, b in node.on]
    met += [] if node.key is None else [f"one.{node.key} = other.{node.key}"]
    picked = [f"one.{each}" for each in [*map(quoted, scope(node.first)), HIDDEN, *mine]]
    picked += [f"other.{each}" for each in [*map(quoted, added), *brought]]
    second = _from(node.second, names)
    if node.link is not None:
        # Of rows with one key at most one is met, whatever the owner said: the guarantee rests on
        # it. Where there is one, any value of a column is its value.
        by = [HIDDEN, *([] if node.key is None else [node.key])]
        columns = [*map(quoted, scope(node.second)), *(key for key in brought if key not in by)]
        single = ", ".join([*by, *(f"any_value({each}) AS {each}" for each in columns)])
        text = f"SELECT {single}\nFROM {second}\nGROUP BY {', '.join(by)}\nHAVING count(*) = 1"
        second = f"(\n{_indented(text)}\n)"
    return (
        f"SELECT {', '.join(picked)}\nFROM {_from(node.first, names)} AS one\n"
        f"{node.how.upper()} JOIN {second} AS other\nON {' AND '.join(met)}"
    )


def _filtered(node: Filter, names: Names) -> str:
    conditions, child = [], node.child
    conditions.append(typed(node.condition, scope(child)).sql)
    while isinstance(child, Filter):
        conditions.append(typed(child.condition, scope(child.child)).sql)
        child = child.child
    return f"SELECT * FROM {_from(child, names)}\nWHERE {' AND '.join(reversed(conditions))}"


def _truncated(node: Truncate, names: Names) -> str:
    """Number the rows of each unit in a keyed order, and keep the first."""
    keys = [quoted(name) for name in node.keys]
    # Ties are broken by the full row, so only equal rows tie, and it does not matter which stays.
    order = ", ".join([_row_turn(node), *map(quoted, scope(node))])
    windows = []
    if node.max_rows_per_group is not None and keys:
        mine = ", ".join([HIDDEN, *keys])
        windows.append(("row_number()", mine, order, node.max_rows_per_group))
    if node.max_groups is not None and keys:
        groups = ", ".join([_group_turn(node), *keys])
        windows.append(("dense_rank()", HIDDEN, groups, node.max_groups))
    caps = [node.max_rows, None if keys else node.max_rows_per_group]
    most = min((cap for cap in caps if cap is not None), default=None)
    if most is not None:
        windows.append(("row_number()", HIDDEN, order, most))
    table = _from(node.child, names)
    text = f"SELECT * FROM {table}"
    for number, mine, by, cap in windows:
        window = f"{number} OVER (PARTITION BY {mine} ORDER BY {by})"
        text = f"SELECT * FROM {table}\nQUALIFY {window} <= {cap}"
        table = f"(\n{_indented(text)}\n)"
    return text


def _narrow(name: str, kind: Kind) -> str:
    """Write a column in as few bytes as its range needs: it is fetched and compared faster."""
    held = narrow(kind)
    return f"CAST({quoted(name)} AS {held})" if held else quoted(name)


def _row_turn(node: Truncate) -> str:
    return _turn(scope(node))


def _group_turn(node: Truncate) -> str:
    return _turn(node.keys)


def _turn(columns: Iterable[str]) -> str:
    # Hashed twice: one hash of several values only xors the last, so keys would leave few orders.
    # Half of the bits decide as well: what they leave open, the columns decide.
    twice = f"hash(hash($key, {HIDDEN}, {', '.join(map(quoted, columns))}))"
    return f"CAST({twice} >> 32 AS UINTEGER)"


def _indented(text: str) -> str:
    # Not inside of quotes: a line break there belongs to a name or to a text.
    return re.sub(r"\"[^\"]*\"|'[^']*'|^", lambda found: found[0] or "  ", text, flags=re.MULTILINE)
