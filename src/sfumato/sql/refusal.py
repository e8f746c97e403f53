"""Why a piece of SQL has no place in an expression, and the nearest thing that has."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from sqlglot import exp
from sqlglot.errors import ParseError

from sfumato.core.errors import ExpressionError
from sfumato.relation.function import FUNCTIONS
from sfumato.sql.place import piece, shortened, word

DEEPEST = 100  # levels of nesting; what is deeper nobody can read

_ROW = "An expression is computed from one row alone"
_LITERAL = "Write the value itself"
# The first entry that fits is taken: what a node is, and what to do instead.
_REASONS: tuple[tuple[tuple[type, ...], str, str], ...] = (
    (
        (exp.Query, exp.Exists, exp.Any, exp.All, exp.Subquery),
        "a subquery",
        f"{_ROW}. In SQL, put it into FROM and join it; elsewhere, compute columns step by step.",
    ),
    (
        (exp.Window, exp.WithinGroup, exp.IgnoreNulls, exp.Filter),
        "a window or a filtered aggregate",
        f"{_ROW}: no function may look at others. Use group_by, or filter the table.",
    ),
    (
        (exp.AggFunc,),
        "an aggregate",
        f"{_ROW}. Aggregate the table instead, as in .sum('fare') or .agg(n=count()).",
    ),
    ((exp.Star,), "a star", "Name the columns."),
    (
        (exp.Placeholder, exp.Parameter, exp.SessionParameter),
        "a parameter",
        f"{_LITERAL} in the expression.",
    ),
    (
        (exp.CurrentDate, exp.CurrentTime, exp.CurrentTimestamp, exp.CurrentUser, exp.Rand),
        "something that changes from one moment to the next",
        f"{_LITERAL}, such as DATE '2026-01-31'. A column of that name goes in double quotes.",
    ),
    ((exp.Dot,), "a name with a dot", "Write the column's name alone; in double quotes if needed."),
    (
        (exp.Lambda, exp.JSONExtract, exp.JSONExtractScalar, exp.Bracket, exp.Slice),
        "a look inside a value",
        "Columns hold plain values. Add the part as a column of its own to the data.",
    ),
    (
        (exp.Array, exp.Tuple, exp.Struct, exp.List, exp.Explode),
        "a list",
        "A list stands only behind IN: zone IN ('A', 'B').",
    ),
    (
        (exp.Like, exp.ILike, exp.RegexpLike, exp.RegexpILike, exp.SimilarTo, exp.Glob),
        "this comparison of patterns",
        "Use LIKE with one pattern: zone LIKE 'A%', in which % is any text and _ one character.",
    ),
    (
        (exp.Sqrt, exp.Cbrt),
        "a root without a step",
        "Use root(x, 0.01), which says on which grid to round down.",
    ),
    (
        (exp.Ln, exp.Log, exp.Exp),
        "a logarithm or an exponential",
        "It is no whole number of steps. magnitude(x) makes bins that grow with the number.",
    ),
    ((exp.ConcatWs,), "a joining of texts with a separator", "Write a || '-' || b."),
    (
        (exp.TimeToStr, exp.StrToTime),
        "a date in a format",
        "Use its parts, as in year(d), or CAST(d AS VARCHAR) for ISO form.",
    ),
    (
        (exp.ArrayOverlaps, exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot, exp.Xor),
        "bit arithmetic",
        "Join conditions with AND, OR and NOT.",
    ),
    ((exp.Is,), "IS with anything but NULL, TRUE or FALSE", "Write x = y, or IS NULL."),
    ((exp.In,), "IN without a list", "Write the values in parentheses: zone IN ('A', 'B')."),
    ((exp.Between,), "this kind of BETWEEN", "Write x BETWEEN low AND high."),
    (
        (exp.Cast,),
        "a cast to this type",
        "Cast to INTEGER, BIGINT, DECIMAL(12, 2), DOUBLE, VARCHAR, BOOLEAN, DATE or TIMESTAMP; "
        "left(x, 3) cuts a text.",
    ),
    (
        (exp.Interval,),
        "this interval",
        "Add a whole number of seconds, minutes, hours, days, weeks, months, quarters or years to "
        "a date or timestamp: d + INTERVAL 3 DAY.",
    ),
    (
        (exp.HexString, exp.BitString, exp.ByteString, exp.RawString, exp.National),
        "this way to write a text",
        "Write it in single quotes: 'A'.",
    ),
    ((exp.Alias, exp.PropertyEQ), "a new name", "Name the result outside of the expression."),
    ((exp.Trunc,), "trunc", "Use floor(x), ceil(x) or round(x, digits)."),
    (
        (exp.Extract,),
        "this part of a date",
        "Extract year, quarter, month, week, day, hour, minute or second, isodow, dow or doy.",
    ),
    ((exp.Column,), "a name of several parts, or of none", "Write the column's name alone."),
)
_CLAUSES = ("SELECT", "FROM", "JOIN", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET")
_QUESTION = (
    "A question is SELECT ... FROM ... WHERE ... GROUP BY ... HAVING ... ORDER BY ... LIMIT, in "
    "this order; texts go in single quotes, names that are words of SQL in double quotes."
)
_SYNTAX = (
    *("and", "or", "not", "in", "case", "like", "ilike"),
    *("tinyint", "smallint", "bigint", "decimal", "double", "boolean", "timestamp", "varchar"),
)
_CALLED = sorted(name for name in FUNCTIONS if name.isidentifier() and name not in _SYNTAX)


def refused(node: Any, text: str) -> ExpressionError:
    """Return the error for a node that an expression may not have."""
    if not isinstance(node, exp.Expression):
        return ExpressionError(
            f"something is missing in {shortened(text)}. Complete it, as in 'hour < 9'."
        )
    for types, what, mend in _REASONS:
        if isinstance(node, types):
            return ExpressionError(f"{what} cannot be used here: {piece(node, text)}. {mend}")
    if isinstance(node, exp.Func):
        return _unknown_function(node, text)
    what = type(node).__name__
    return ExpressionError(
        f"{what} is no part of an expression: {piece(node, text)}. An expression compares and "
        f"computes with columns, as in 'age >= 18 and fare * 2 < 9'."
    )


def misused(node: Any, name: str, text: str) -> ExpressionError:
    """Return the error for a function of the whitelist with arguments it does not have here."""
    return ExpressionError(
        f"{name} has arguments that it does not take: {piece(node, text)}. Remove them; "
        f"docs/reference/expressions.md says what each function takes."
    )


def no_unit(node: Any, text: str) -> ExpressionError:
    """Return the error for a unit of time that is not counted in."""
    return ExpressionError(
        f"this names no unit of time that is counted here: {piece(node, text)}. Use second, "
        f"minute, hour, day, week, month, quarter or year, as in date_trunc('month', d) or d + "
        f"INTERVAL 3 DAY."
    )


def too_deep(text: str) -> ExpressionError:
    """Return the error for an expression that is nested beyond reason."""
    return ExpressionError(
        f"{shortened(text)} is nested too deeply: at most {DEEPEST} levels are read, and fewer of "
        f"functions in functions. Compute parts of it as columns first, with with_columns."
    )


def unread(problem: ParseError, text: str, *, question: bool = False) -> ExpressionError:
    """Return the error for text that is no SQL expression, or no question in SQL."""
    found = problem.errors[0] if problem.errors else {}
    near, said = str(found.get("highlight") or ""), str(found.get("description") or "")
    if not near:
        what = "cannot be read as SQL" if question else "is no expression"
        mend = _QUESTION if question else "Write one, as in 'hour < 9'."
        return ExpressionError(f"{shortened(text)} {what}. {mend}")
    # The parser counts to the end of the word.
    where = f"line {found['line']}, column {max(int(found['col']) - len(near) + 1, 1)}"
    if said.startswith("Expecting"):
        what, mend = f"{said[10:]!r} is missing behind {near!r}", "Close what was opened."
    elif said.startswith("Required"):
        what = f"something is missing beside {near!r}"
        mend = "An operator needs both its sides, a function its arguments."
    elif said.startswith("The number of provided"):
        what, mend = f"a function has too many arguments before {near!r}", "Remove some."
    else:
        what = f"{near!r} does not fit here"
        mend = (
            f"{_misspelled(found, near)}{_QUESTION}"
            if question
            else "Write one expression, texts in single quotes, and a column whose name has blanks "
            "or is a word of SQL in double quotes."
        )
    return ExpressionError(f"{what} ({where} of {shortened(text)}). {mend}")


def _misspelled(found: dict[str, Any], near: str) -> str:
    """Ask whether a clause was meant by the word that does not fit, or by the one before it."""
    before = str(found.get("start_context") or "").split()[-1:]
    for word_ in (*before, near):
        close = get_close_matches(word_.upper(), _CLAUSES, 1, cutoff=0.7)
        if close and word_.upper() not in _CLAUSES:
            return f"Did you mean {close[0]} by {word_!r}? "
    return ""


def _unknown_function(node: exp.Expression, text: str) -> ExpressionError:
    name = word(node, text)
    near = get_close_matches(name.lower(), _CALLED, 1, cutoff=0.7)
    mend = f"{f'Did you mean {near[0]}? ' if near else ''}There are: {', '.join(_CALLED)}."
    if name.lower() == "bounds":
        mend = (
            "A range is bought with sf.bounds around a whole expression, and not within it. In SQL "
            "state one: AVG(clamp(income, 0, 100000))."
        )
    return ExpressionError(
        f"the function {name!r} is not one of those that can be used on private data: "
        f"{piece(node, text)}. {mend}"
    )
