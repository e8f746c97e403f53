"""Why a sensitivity is what it is: the tree, read from the question down to the table."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.core.number import show
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Neighbors, Unit
from sfumato.relation import (
    Aggregate,
    AnyKeys,
    Distinct,
    Filter,
    Join,
    Keys,
    Known,
    Linear,
    Node,
    Occurrence,
    PerUnit,
    Project,
    Rows,
    Source,
    Squares,
    Total,
    Truncate,
    Union,
    UnitJoin,
    Units,
    Values,
)
from sfumato.relation.bound import meets, reach
from sfumato.relation.expr import Expr, Name, shown, typed
from sfumato.relation.kind import Label, Number
from sfumato.relation.linear import limits
from sfumato.relation.node import children, scope, sources, unit_of, walk

if TYPE_CHECKING:
    from sfumato.session.part import Asked


def proof(queries: Sequence[Asked]) -> str:
    """Return the reasons for the sensitivities of questions.

    For each relation the conclusions come first, then what they share, down to the table.
    """
    found = []
    for node in dict.fromkeys(query.node for query in queries):
        same = [query for query in queries if query.node == node]
        lines = [_conclusion(query) for query in same]
        found += [*lines, f"└─ {_shared(same[0])}", *_tree(node, 1)]
    return "\n".join(found)


def _tree(node: Node, depth: int) -> list[str]:
    """Return the reasons below, each one level deeper than what rests on it."""
    below = [line for child in children(node) for line in _tree(child, depth + 1)]
    return [f"{'   ' * depth}└─ {step(node)}", *below]


def _conclusion(query: Asked) -> str:
    moved = query.sensitivity(_unit(query))
    if isinstance(query, Values):
        return f"{title(query)}: as many appear or vanish as {norms(moved)}"
    if isinstance(query, Occurrence):
        return f"{title(query)} moves by at most {norms(moved)}"
    low, high = query.extent
    unit = "squared steps" if isinstance(query.quantity, Squares) else "steps"
    counts = isinstance(query.quantity, Rows | Units | Known)
    adds = "1" if counts else f"{low:,} to {high:,} {unit}"
    return f"{title(query)}, where a row adds {adds}, moves by at most {norms(moved)}"


def _shared(query: Asked) -> str:
    rows, groups, each = reach(query.node).by(query.keys.columns)
    groups = min(groups, query.keys.cells or groups)
    text = f"one unit has at most {plural(min(rows, groups * each), 'row')}"
    if query.keys.columns:
        number = "the" if query.keys.cells is None else f"{query.keys.cells:,}"
        cells = f"{number} groups by {', '.join(query.keys.columns)}"
        text += f", in at most {groups:,} of {cells}, {each:,} in one"
    if _unit(query).neighbors is Neighbors.REPLACE:
        text += "; old ones go and new ones come"
    return text


def title(query: Asked) -> str:
    """Name what is measured."""
    if isinstance(query, Values):
        return f"the values of {shown(query.expr)}"
    if isinstance(query, Occurrence):
        return "the number of units in a group that occurs"
    if isinstance(query, Linear):
        by = ", ".join(query.keys.columns)
        return f"{plural(query.matrix.rows, 'sum')} of {title(query.counts)} by {by}"
    match query.quantity:
        case Rows():
            return "the number of rows"
        case Units():
            return "the number of units"
        case Known():
            return f"the number of rows with {shown(query.quantity.expr)}"
    kind = typed(query.quantity.expr, scope(query.node)).kind
    step = kind.step if isinstance(kind, Number) else Fraction(1)
    center = query.quantity.center * step
    about = f" - {show(center)}" if center else ""
    squared = "squares of " if isinstance(query.quantity, Squares) else ""
    return f"the sum of {squared}{shown(query.quantity.expr)}{about}"


def norms(moved: Sensitivity) -> str:
    """Write the norms of a sensitivity."""
    text = repr(moved)[len("Sensitivity(") : -1]
    return text.partition(", neighbors")[0]


def notes(queries: Sequence[Asked], *, of: str | None = None) -> list[str]:
    """Return what an answer says about clamping, truncation, groups; static, never measured.

    Args:
        queries: what is asked.
        of: the columns whose values rows need to have, where nobody asked for groups; empty where
            something else says which rows count.
    """
    found = _cap_notes(queries)
    found += [note for query in queries for note in _join_notes(query)]
    if of is None and isinstance(queries[0], Linear):
        of = " or ".join(queries[0].keys.columns)
    if of is None:
        found += _key_notes(queries[0].keys)
    elif of:
        found.append(f"rows with another or no {of} do not count")
    for query in queries:
        if isinstance(query, Occurrence):
            continue
        if isinstance(query, Linear):
            found += limits(query.matrix, max(map(abs, query.extent)))
        asked = query if isinstance(query, Values) else query.quantity
        if isinstance(asked, Rows | Units | Known):
            continue
        kind = typed(asked.expr, scope(query.node)).kind
        if isinstance(kind, Number):
            low, high = (show(end) for end in kind.bounds)
            what = shown(asked.expr)
            found.append(
                f"{what} below {low} counts as {low}, above {high} as {high}, and what is missing "
                f"does not count"
            )
    return list(dict.fromkeys(found))  # a sum and a sum of squares say the same


def _cap_notes(queries: Sequence[Asked]) -> list[str]:
    told: dict[str, None] = {}
    for query in queries:
        beside = _beside(query.node)
        for node in walk(query.node):
            if not isinstance(node, Truncate):
                continue
            for cap, what, where in _felt(query, node, joined=node in beside):
                counts = "counts" if cap == 1 else "count"
                of = f" of {beside[node]}" if node in beside else ""
                unit = _unit(query).column
                told[f"at most {plural(cap, what)}{of}{where} of one {unit} {counts}"] = None
    if not told:
        return []
    if sums := _whole_units(queries):
        told = {f"all rows of one {_unit(queries[0]).column} count in {sums}": None, **told}
    *others, last = told
    return [*others, f"{last}; intervals do not cover what that leaves out"]


def _beside(node: Node) -> dict[Node, str]:
    """Return what is truncated before rows are put side by side, and of which table it is."""
    halves = [half for each in walk(node) if isinstance(each, UnitJoin) for half in children(each)]
    return {below: _tables(half) for half in halves for below in walk(half)}


def _tables(node: Node) -> str:
    return " and ".join(source.name for source in sources(node))


def _whole_units(queries: Sequence[Asked]) -> str:
    """Name sums that are clamped unit by unit, where they stand beside something else."""
    sums = [q for q in queries if any(isinstance(node, PerUnit) for node in walk(q.node))]
    if len(sums) == len(queries):
        return ""
    return ", ".join(
        shown(q.quantity.expr)
        for q in sums
        if isinstance(q, Aggregate) and isinstance(q.quantity, Total)
    )


def _felt(query: Asked, node: Truncate, *, joined: bool) -> list[tuple[int, str, str]]:
    """Return the caps by which something may be left out of an answer.

    Args:
        query: the question.
        node: the truncation.
        joined: whether what it leaves is joined, so that not every row of a unit is as good.
    """
    below = reach(node.child)
    one = below.keys is not None and set(below.keys) == set(node.keys)
    units = isinstance(query, Aggregate) and isinstance(query.quantity, Units) and not joined
    if not node.keys:
        # A unit of which one row is left is counted as if all were.
        most = reach(node).rows
        return [] if units or most is None or below.rows == 1 else [(most, "row", "")]
    # Where there is one row of each unit and group anyway, none is left out of a group.
    first = 1 if units or (one and below.rows_per_group == 1) else 0
    return [(cap, what, where) for cap, what, where in _caps(node)[first:] if cap is not None]


def _join_notes(query: Asked) -> list[str]:
    found = [_path_note(source) for source in sources(query.node) if not source.is_direct]
    for node in walk(query.node):
        if isinstance(node, UnitJoin):
            what = "are left out" if node.how == "inner" else "have no value from it"
            found.append(f"rows that meet none of {_tables(node.second)} of the same unit {what}")
            if node.link is not None:
                found.append(
                    f"a key of {node.link.table} that several rows of one unit have meets nobody"
                )
        if isinstance(node, Join):
            what = "are left out" if node.how == "inner" else "have no value from it"
            keys = " and ".join(key for key, _, _ in node.table.keys)
            unlisted = _unlisted(node)
            names = f", which are {', '.join(unlisted)}," if unlisted else ""
            found.append(
                f"rows whose {keys} the public table {node.table.name} does not list{names} {what}"
            )
    return found


def _path_note(source: Source) -> str:
    return (
        f"rows of {source.name} whose {source.owner} leads to no {source.unit.column}, or to two, "
        f"do not count"
    )


def _unlisted(node: Join) -> list[str]:
    """Return the declared values of a key that the public table does not have: both are public."""
    (_, kind, codes), *more = node.table.keys
    if more or not isinstance(kind, Label):
        return []
    missing = [str(v) for i, v in enumerate(kind.values) if i not in set(codes)]
    return missing if len(missing) <= 5 else [*missing[:4], f"and {len(missing) - 4} more"]


def _caps(node: Truncate) -> list[tuple[int | None, str, str]]:
    """Return the caps: how many, of what, and where."""
    return [
        (node.max_rows_per_group, "row", " in one group"),
        (node.max_groups, "group", ""),
        (node.max_rows, "row", ""),
    ]


def _key_notes(keys: AnyKeys) -> list[str]:
    if not keys.columns:
        return []
    columns = " or ".join(keys.columns)
    if isinstance(keys, Keys):
        return [f"rows with another or no {columns} are in no group"]
    found = [
        f"rows with no {columns} are in no group, and groups that few units are in do not show"
    ]
    for name, kind, codes in zip(keys.columns, keys.kinds, keys.codes, strict=True):
        if codes is None and isinstance(kind, Number) and kind.step.denominator > 1:
            found.append(
                f"{name} is a number with a fraction, so that few rows have the same one: groups "
                f"of ranges, such as floor({name}, 10), are larger"
            )
    if keys.other:
        found.append(f"the row without {columns} is all groups together that do not show")
    return found


def _unit(query: Asked) -> Unit:
    return unit_of(query.node)


def step(node: Node) -> str:
    """Say what a step does, and why no unit can change more of it than is said."""
    match node:
        case Source():
            path = "" if node.is_direct else f", found by its {node.owner}"
            return f"table {node.name}: {_neighbors(node.unit)}{path}"
        case Filter():
            return f"filter {_short(node.condition)}: looks at one row at a time, adds none"
        case Project():
            new = [f"{n} = {_short(e)}" for n, e in node.columns if e != Name(n)]
            if new:
                return f"columns {', '.join(new)}: each from the same row"
            return f"columns {', '.join(n for n, _ in node.columns)}"
        case Truncate():
            caps = [(cap, what, where) for cap, what, where in _caps(node) if cap is not None]
            kept = ", ".join(f"{plural(cap, what)}{where}" for cap, what, where in caps)
            return f"of each unit at most {kept}, chosen by a keyed hash of the unit's own rows"
        case Distinct():
            if node.within_unit:
                return "of equal rows of one unit one: each unit by itself, none appears"
            return "of equal rows one: a row of a unit that hides another brings none with it"
        case Union():
            return "both tables together: what one unit has in the one and in the other adds up"
        case Join():
            times = node.table.multiplicity
            copies = "once" if times == 1 else f"at most {times:,} times"
            return f"join with the public table {node.table.name}: a row comes {copies}"
        case UnitJoin():
            return _side_by_side(node)
        case PerUnit():
            by = f" and {', '.join(node.keys)}" if node.keys else ""
            return f"one row for each unit{by}, made of that unit's own rows"


def _side_by_side(node: UnitJoin) -> str:
    times = meets(node) or 1
    equal = [f" where {a} = {b}" if a != b else f" with the same {a}" for a, b in node.on]
    along = "" if node.link is None else f" along {node.table}.{node.link}"
    copies = "once" if times == 1 else f"at most {times:,} times"
    return (
        f"{node.how} join with rows of the same unit of {_tables(node.second)}{along}"
        f"{' and'.join(equal)}: a row meets none of another unit, and comes {copies}"
    )


def _neighbors(unit: Unit) -> str:
    who = "a row" if unit.max_rows == 1 and unit.column is None else f"any {unit.max_rows} rows"
    if unit.column is not None:
        who = f"all rows of one {unit.column}"
    return (
        f"neighbors differ in {who}, present or not"
        if unit.neighbors is Neighbors.ADD_REMOVE
        else f"neighbors differ in {who}, replaced by others"
    )


def _short(expr: Expr) -> str:
    text = shown(expr)
    return text if len(text) <= 80 else f"{text[:77]}…"


def plural(number: int, noun: str) -> str:
    """Write a number of things."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
