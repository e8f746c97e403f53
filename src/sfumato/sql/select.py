"""One SELECT, taken apart: its clauses, checked for what no question may have."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from sfumato.core.errors import QueryError
from sfumato.sql.place import piece, pointing

MOST_ROWS = 10**18  # in LIMIT and OFFSET

_CLAUSES = {
    "expressions",
    "from_",
    "joins",
    "where",
    "group",
    "having",
    "order",
    "limit",
    "offset",
    "distinct",
    "with_",
}
_OTHERS = {
    "qualify": ("QUALIFY", "It filters by windows, which look at several rows. Use HAVING."),
    "windows": ("WINDOW", "Windows look at several rows. Group them: GROUP BY."),
    "sample": ("a sample", "Which rows are taken would be decided outside of the guarantee."),
    "laterals": ("LATERAL", "Use JOIN with a condition."),
    "into": ("INTO", "Nothing is written."),
    "locks": ("FOR UPDATE", "Nothing is written."),
    "pivots": ("PIVOT", "Use GROUP BY with the columns side by side."),
    "connect": ("CONNECT BY", "Use JOIN with a condition."),
    "cluster": ("CLUSTER BY", "Use ORDER BY."),
    "sort": ("SORT BY", "Use ORDER BY."),
    "prewhere": ("PREWHERE", "Use WHERE."),
    "kind": ("SELECT AS", "Name the columns."),
}


def check_clauses(select: exp.Select, text: str) -> None:
    """Refuse clauses that are not read.

    Raises:
        QueryError: one of them.
    """
    for name in filled(select):
        if name in _CLAUSES:
            continue
        value = select.args[name]
        what, mend = _OTHERS.get(name, (f"this part of SELECT ({name})", "Leave it out."))
        first: Any = value[0] if isinstance(value, list) else value
        with pointing(first, text):
            raise QueryError(f"{what} has no place in a question to private data. {mend}")
    if not select.expressions:
        with pointing(select, text):
            raise QueryError("this SELECT names nothing. Write SELECT COUNT(*) FROM ...")


def filled(node: exp.Expression, *, flags: bool = True) -> list[str]:
    """Return the names of what a node has.

    Args:
        node: of the parser's tree.
        flags: whether truth values count; the parser sets some of those by itself.
    """
    return [
        name
        for name, value in node.args.items()
        if value not in (None, [], False) and (flags or value is not True)
    ]


def conjuncts(node: Any) -> list[Any]:
    """Return the conditions that AND joins."""
    return [] if node is None else flat(node, exp.And)


def flat(node: Any, chain: type[exp.Connector]) -> list[Any]:
    """Return what AND, or OR, joins, however it is nested or put in parentheses.

    The parser nests a long row as deep as it is long, so that nothing goes down it by recursion.
    """
    found, left = [], [node]
    while left:
        part = left.pop()
        while isinstance(part, exp.Paren):
            part = part.this
        if isinstance(part, chain):
            left += [part.expression, part.this]
        else:
            found.append(part)
    return found


def implied(condition: Any) -> list[Any]:
    """Return conditions that hold if this one does: itself or, of an OR, what all its sides say."""
    while isinstance(condition, exp.Paren):
        condition = condition.this
    if not isinstance(condition, exp.Or):
        return [condition]
    first, *rest = (conjuncts(side) for side in flat(condition, exp.Or))
    return [each for each in first if all(each in side for side in rest)]


def whole(node: Any, what: str, text: str) -> int | None:
    """Return the number of LIMIT or OFFSET; None for LIMIT ALL.

    Raises:
        QueryError: it is no whole number.
    """
    given = node.args.get("count") if isinstance(node, exp.Fetch) else node.expression
    options = node.args.get("limit_options")
    if options is not None and (options.args.get("percent") or options.args.get("with_ties")):
        with pointing(node, text):
            raise QueryError(f"{what} takes a number of rows: no percentage, and no ties.")
    if given is None:
        return 1  # FETCH FIRST ROW ONLY
    if isinstance(node, exp.Limit) and isinstance(given, exp.Var) and given.name.upper() == "ALL":
        return None
    found = whole_number(given, MOST_ROWS)
    if found is not None:
        return found
    with pointing(given, text):
        shown = "below 0" if isinstance(given, exp.Neg) else piece(given, text)
        raise QueryError(
            f"{what} takes a whole number, of at most {len(str(MOST_ROWS)) - 1} digits, and this "
            f"is {shown}."
        )


def whole_number(node: Any, most: int) -> int | None:
    """Return what the digits of a literal say; None for what is no whole number up to `most`."""
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    digits = str(node.this)
    if not (digits.isascii() and digits.isdigit()) or len(digits) > len(str(most)):
        return None
    return int(digits) if int(digits) <= most else None
