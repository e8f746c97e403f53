"""Why a sensitivity is what it is: the tree, read from the question down to the table."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sfumato.core.number import show
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Neighbors, Unit
from sfumato.relation import Aggregate, Filter, Keys, Known, Node, Project, Rows, Source, Truncate
from sfumato.relation.bound import reach
from sfumato.relation.expr import Expr, Name, shown, typed
from sfumato.relation.kind import Number
from sfumato.relation.node import path, scope


def proof(queries: Sequence[Aggregate]) -> str:
    """Return the reasons for the sensitivities of questions about one relation.

    The conclusions come first, then what they share, down to the table.
    """
    lines = [_conclusion(query) for query in queries]
    steps = [_shared(queries[0]), *map(_step, reversed(path(queries[0].node)))]
    return "\n".join([*lines, *(f"{'   ' * i}└─ {step}" for i, step in enumerate(steps))])


def _conclusion(query: Aggregate) -> str:
    low, high = query.extent
    adds = "1" if isinstance(query.quantity, Rows | Known) else f"{low:,} to {high:,} steps"
    moved = query.sensitivity(_unit(query))
    return f"{title(query)}, where a row adds {adds}, moves by at most {norms(moved)}"


def _shared(query: Aggregate) -> str:
    rows, groups, each = reach(query.node).by(query.keys.columns)
    groups = min(groups, len(query.keys))
    text = f"one unit has at most {_plural(min(rows, groups * each), 'row')}"
    if query.keys.columns:
        cells = f"{len(query.keys):,} groups by {', '.join(query.keys.columns)}"
        text += f", in at most {groups:,} of {cells}, {each:,} in one"
    if _unit(query).neighbors is Neighbors.REPLACE:
        text += "; old ones go and new ones come"
    return text


def title(query: Aggregate) -> str:
    """Name a measured quantity."""
    match query.quantity:
        case Rows():
            return "the number of rows"
        case Known():
            return f"the number of rows with {shown(query.quantity.expr)}"
    kind = typed(query.quantity.expr, scope(query.node)).kind
    step = kind.step if isinstance(kind, Number) else Fraction(1)
    center = query.quantity.center * step
    about = f" - {show(center)}" if center else ""
    return f"the sum of {shown(query.quantity.expr)}{about}"


def norms(moved: Sensitivity) -> str:
    """Write the norms of a sensitivity."""
    text = repr(moved)[len("Sensitivity(") : -1]
    return text.partition(", neighbors")[0]


def notes(queries: Sequence[Aggregate]) -> list[str]:
    """Return what an answer says about clamping, truncation and groups; static, never measured."""
    query = queries[0]
    found = [*_cap_notes(query), *_key_notes(query.keys)]
    kinds = scope(query.node)
    for asked in dict.fromkeys(q.quantity for q in queries):
        if isinstance(asked, Rows | Known):
            continue
        kind = typed(asked.expr, kinds).kind
        if isinstance(kind, Number):
            low, high = (show(end) for end in kind.bounds)
            what = shown(asked.expr)
            found.append(
                f"{what} below {low} counts as {low}, above {high} as {high}, and what is missing "
                f"does not count"
            )
    return found


def _cap_notes(query: Aggregate) -> list[str]:
    unit = _unit(query)
    if unit.column is None:
        return []
    caps: list[tuple[int | None, str]]
    if query.keys.columns:
        groups = unit.max_groups if isinstance(unit.max_groups, int) else None
        caps = [(unit.max_rows_per_group, "rows in one group"), (groups, "groups")]
        caps.append((unit.max_rows if isinstance(unit.max_rows, int) else None, "rows"))
    else:
        caps = [(reach(query.node).rows, "rows")]
    told = [f"at most {cap:,} {what} of one {unit.column} count" for cap, what in caps if cap]
    return [*told[:-1], f"{told[-1]}; intervals do not cover what that leaves out"]


def _key_notes(keys: Keys) -> list[str]:
    if not keys.columns:
        return []
    return [f"rows with another or no {' or '.join(keys.columns)} are in no group"]


def _unit(query: Aggregate) -> Unit:
    source = path(query.node)[0]
    assert isinstance(source, Source)  # noqa: S101 - what a path begins with
    return source.unit


def _step(node: Node) -> str:
    match node:
        case Source():
            return f"table {node.name}: {_neighbors(node.unit)}"
        case Filter():
            return f"filter {_short(node.condition)}: looks at one row at a time, adds none"
        case Project():
            new = [f"{n} = {_short(e)}" for n, e in node.columns if e != Name(n)]
            if new:
                return f"columns {', '.join(new)}: each from the same row"
            return f"columns {', '.join(n for n, _ in node.columns)}"
        case Truncate():
            caps = [
                (node.max_rows_per_group, "rows in one group"),
                (node.max_groups, "groups"),
                (node.max_rows, "rows"),
            ]
            kept = ", ".join(f"{cap:,} {what}" for cap, what in caps if cap is not None)
            return f"of each unit at most {kept}, chosen by a keyed hash of the unit's own rows"


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


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
