"""GROUP BY: the columns that name the groups, and which of their values the question leaves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from operator import eq, ge, gt, le, lt, ne
from typing import Any, TypeAlias

from sqlglot import exp

from sfumato.core.errors import QueryError
from sfumato.relation.expr import Call, Constant, Expr, Name
from sfumato.relation.kind import Day, Instant, Kind, Number, Truth, Words, domain, value
from sfumato.relation.node import Filter, Node, Project, children
from sfumato.relation.source import folded
from sfumato.sql.aggregate import has_aggregate
from sfumato.sql.place import pointing
from sfumato.sql.rows import Rows
from sfumato.sql.select import filled, whole_number

Comparison: TypeAlias = tuple[str, tuple[Any, ...]]  # a sign and constants

MOST_SETS = 64  # groupings of one question
MOST_LISTED = 100_000  # values of a column that are compared with the conditions of WHERE

_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "=": eq,
    "<>": ne,
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
}
_SEVERAL = (exp.Rollup, exp.Cube, exp.GroupingSets)
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}


def keys_in(group: exp.Group | None, items: Sequence[Any], text: str) -> list[Any] | None:
    """Return what a plain GROUP BY lists; None where it makes several groupings.

    Args:
        group: the clause.
        items: what SELECT lists; all of it that is no number, behind GROUP BY ALL.
        text: the question.

    Raises:
        QueryError: a part of GROUP BY that is not read.
    """
    if group is None:
        return []
    others = set(filled(group)) - {"expressions", "all", "rollup", "cube", "grouping_sets"}
    if others or (group.args.get("all") and filled(group) != ["all"]):
        what = f"WITH {min(others).upper()}" if others else "more behind ALL"
        with pointing(group if group.expressions else items[-1], text):
            raise QueryError(
                f"GROUP BY takes what names the groups, and {what} is not read. Leave it out; "
                f"ROLLUP (...) adds totals."
            )
    if group.args.get("all"):
        return [node for item in items if not has_aggregate(node := item.unalias())]
    plain = not any(isinstance(item, _SEVERAL) for item in group.expressions)
    return list(group.expressions) if plain and filled(group) == ["expressions"] else None


def selected(node: Any, items: Sequence[Any], rows: Rows) -> Any:
    """Return the item of SELECT that a place or a name in GROUP BY stands for; None if of none.

    A name that the rows have is theirs.
    """
    if isinstance(node, exp.Literal) and not node.is_string:
        return at_place(node, items)
    if not isinstance(node, exp.Column) or node.table or rows.has(node):
        return None
    return next((each for each in items if folded(each.alias) == folded(node.name)), None)


def at_place(node: exp.Literal, items: Sequence[Any]) -> Any:
    """Return the item of SELECT at a place.

    Raises:
        QueryError: there is none.
    """
    place = whole_number(node, len(items))
    if not place:
        raise QueryError(
            f"a number here is the place of a column in SELECT, from 1 to {len(items)}, and this "
            f"is {node.this!s:.20}."
        )
    return items[place - 1]


def grouping_sets(group: exp.Group, text: str) -> list[list[Any]]:
    """Return the groupings of GROUP BY, each a list of expressions; one, if it is plain.

    Raises:
        QueryError: more of them than are answered at once.
    """
    found: list[list[Any]] = [[]]
    items: list[Any] = list(group.expressions)
    for name, kind in (("rollup", exp.Rollup), ("cube", exp.Cube)):
        for each in group.args.get(name) or []:  # GROUP BY a, b WITH ROLLUP
            listed = each.expressions or items
            items = [] if not each.expressions else items
            items.append(kind(expressions=[*listed]))
    items += group.args.get("grouping_sets") or []
    for item in items:
        with pointing(item, text):
            found = [[*a, *b] for a in found for b in _sets(item)]
            if len(found) > MOST_SETS:
                raise QueryError(
                    f"this GROUP BY makes more than {MOST_SETS} groupings, and each is paid for. "
                    f"List those that you need: GROUPING SETS ((a, b), (a), ())."
                )
    unique: list[list[Any]] = []
    for one in found:
        plain = list(dict.fromkeys(one))
        if plain not in unique:
            unique.append(plain)
    return unique


def _sets(item: Any) -> list[list[Any]]:
    """Return the groupings that one item of GROUP BY stands for."""
    if isinstance(item, exp.Rollup):
        parts = [_parts(each) for each in item.expressions]
        levels = [parts[:n] for n in range(len(parts), -1, -1)]
        return [[key for part in level for key in part] for level in levels]
    if isinstance(item, exp.Cube):
        parts = [_parts(each) for each in item.expressions][:7]
        sizes = range(len(parts), -1, -1)
        chosen = [level for n in sizes for level in combinations(parts, n)]
        return [[key for part in level for key in part] for level in chosen]
    if isinstance(item, exp.GroupingSets):
        return [one for each in item.expressions for one in _one(each)]
    return [_parts(item)]


def _one(item: Any) -> list[list[Any]]:
    return _sets(item) if isinstance(item, exp.Rollup | exp.Cube) else [_parts(item)]


def _parts(item: Any) -> list[Any]:
    if isinstance(item, exp.Tuple):
        return list(item.expressions)
    return [item.this] if isinstance(item, exp.Paren) else [item]


def left_by(node: Node, name: str, kind: Kind) -> tuple[Any, ...] | None:
    """Return the values of a column that the conditions on it leave; None where nothing is known.

    So groups that the question itself excludes do not appear, and the values of a text that it
    lists are its groups. Where conditions contradict one another and nothing is left, all stay, and
    show that they are empty.

    Args:
        node: the relation that is grouped.
        name: the column.
        kind: its kind.
    """
    known = [each for each in _conditions(node, name) if each is not None]
    if isinstance(kind, Words):
        lists = [wanted for sign, wanted in known if sign == "in"]
        if not lists:
            return None
        out = {v for sign, wanted in known if sign == "not in" for v in wanted}
        first = tuple(dict.fromkeys(lists[0]))
        left = tuple(v for v in first if v not in out and all(v in other for other in lists))
        return left or first
    every = domain(kind)
    if not known or every is None or len(every) > MOST_LISTED or isinstance(kind, Instant):
        return None
    values = [value(kind, held) for held in every]
    for sign, wanted in known:
        if not all(_alike(each, kind) for each in wanted):
            continue
        if sign == "in":
            values = [v for v in values if v in wanted]
        elif sign == "not in":
            values = [v for v in values if v not in wanted]
        else:
            holds = _COMPARED[sign]
            values = [v for v in values if holds(v, wanted[0])]
    return tuple(values) if 0 < len(values) < len(every) else None


def _alike(given: Any, kind: Kind) -> bool:
    """Say whether a constant compares with the values of a column as the engine compares them."""
    if isinstance(kind, Day):
        return isinstance(given, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", given) is not None
    if isinstance(kind, Number):
        return isinstance(given, int | Fraction) and not isinstance(given, bool)
    if isinstance(kind, Truth):
        return isinstance(given, bool)
    return isinstance(given, str | int) and not isinstance(given, bool)


def _conditions(node: Node, name: str) -> Iterator[Comparison | None]:
    """Iterate over what the column is known to meet, as far down as it is one, however named."""
    while True:
        if isinstance(node, Filter):
            yield from (_about(part, name) for part in _parts_of(node.condition))
        elif isinstance(node, Project):
            below = dict(node.columns).get(name)
            if not isinstance(below, Name):
                return
            name = below.name
        else:
            return
        (node,) = children(node)


def _parts_of(condition: Expr) -> Iterator[Expr]:
    if isinstance(condition, Call) and condition.function == "and":
        for part in condition.arguments:
            yield from _parts_of(part)
    else:
        yield condition


def _about(condition: Expr, name: str) -> Comparison | None:
    """Return a comparison of the column with constants, as a sign and the constants."""
    if isinstance(condition, Call) and condition.function == "not":
        inner = _about(condition.arguments[0], name)
        return ("not in", inner[1]) if inner is not None and inner[0] == "in" else None
    if isinstance(condition, Call) and condition.function == "or":
        sides = [_about(each, name) for each in condition.arguments]
        if any(side is None or side[0] != "in" for side in sides):
            return None
        return "in", tuple(v for side in sides if side is not None for v in side[1])
    if not isinstance(condition, Call) or len(condition.arguments) < 2:
        return None
    first, *rest = condition.arguments
    if condition.function in ("in", "=") and first == Name(name):
        given = tuple(_plain(each.value) for each in rest if isinstance(each, Constant))
        return ("in", given) if len(given) == len(rest) else None
    if condition.function not in _COMPARED or len(rest) != 1:
        return None
    other = rest[0]
    if first == Name(name) and isinstance(other, Constant):
        sign, given = condition.function, (_plain(other.value),)
    elif isinstance(first, Constant) and other == Name(name):
        sign, given = _TURNED[condition.function], (_plain(first.value),)
    else:
        return None
    return {"=": "in", "<>": "not in"}.get(sign, sign), given


def _plain(given: Any) -> Any:
    whole = isinstance(given, Fraction) and given.denominator == 1
    return int(given) if whole else given
