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
        f"{_ROW}. Filter and compute columns step by step instead.",
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
        "a comparison of patterns",
        "Compare with whole values: = or IN ('A', 'B').",
    ),
    ((exp.Pow,), "a power", "Multiply: x * x."),
    ((exp.DPipe, exp.Concat), "a joining of texts", "Group by the columns side by side instead."),
    (
        (exp.ArrayOverlaps, exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot, exp.Xor),
        "bit arithmetic",
        "Join conditions with AND, OR and NOT.",
    ),
    (
        (exp.NullSafeEQ, exp.NullSafeNEQ),
        "IS DISTINCT FROM",
        "Write x = y, and IS NULL for what is missing.",
    ),
    ((exp.Is,), "IS with anything but NULL", "Write coalesce(condition, FALSE), or IS NULL."),
    ((exp.In,), "IN without a list", "Write the values in parentheses: zone IN ('A', 'B')."),
    ((exp.Between,), "this kind of BETWEEN", "Write x BETWEEN low AND high."),
    (
        (exp.TryCast,),
        "TRY_CAST",
        "Every cast here is safe. Write CAST(x AS INTEGER).",
    ),
    (
        (exp.Cast,),
        "a cast to this type",
        "CAST(x AS INTEGER) rounds a number or counts a condition; CAST(t AS DATE) takes the day.",
    ),
    ((exp.Interval,), "an interval", "Compare with a date: d >= DATE '2026-01-31'."),
    (
        (exp.HexString, exp.BitString, exp.ByteString, exp.RawString, exp.National),
        "this way to write a text",
        "Write it in single quotes: 'A'.",
    ),
    ((exp.Alias, exp.PropertyEQ), "a new name", "Name the result outside of the expression."),
    (
        (exp.DayOfWeek,),
        "a day of the week that begins on Sunday",
        "Use weekday(d): Monday is 1, Sunday 7.",
    ),
    ((exp.Trunc,), "trunc", "Use floor(x), ceil(x) or round(x, digits)."),
    ((exp.Extract,), "this part of a date", "Extract year, quarter, month, day, hour or minute."),
    ((exp.Column,), "a name of several parts, or of none", "Write the column's name alone."),
)
_SYNTAX = ("and", "or", "not", "in", "case")
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


def too_deep(text: str) -> ExpressionError:
    """Return the error for an expression that is nested beyond reason."""
    return ExpressionError(
        f"{shortened(text)} is nested too deeply: at most {DEEPEST} levels are read, and fewer of "
        f"functions in functions. Compute parts of it as columns first, with with_columns."
    )


def unread(problem: ParseError, text: str) -> ExpressionError:
    """Return the error for text that is no SQL expression."""
    found = problem.errors[0] if problem.errors else {}
    near, said = str(found.get("highlight") or ""), str(found.get("description") or "")
    if not near:
        return ExpressionError(f"{shortened(text)} is no expression. Write one, as in 'hour < 9'.")
    # The parser counts to the end of the word.
    where = f"line {found['line']}, column {max(int(found['col']) - len(near) + 1, 1)}"
    if said.startswith("Expecting"):
        what, mend = f"{said[10:]!r} is missing behind {near!r}", "Close what was opened."
    elif said.startswith("Required"):
        what, mend = f"something is missing beside {near!r}", "An operator needs both its sides."
    elif said.startswith("The number of provided"):
        what, mend = f"a function has too many arguments before {near!r}", "Remove some."
    else:
        what = f"{near!r} does not fit here"
        mend = (
            "Write one expression, texts in single quotes, and a column whose name has blanks or "
            "is a word of SQL in double quotes."
        )
    return ExpressionError(f"{what} ({where} of {shortened(text)}). {mend}")


def _unknown_function(node: exp.Expression, text: str) -> ExpressionError:
    name = word(node, text)
    near = get_close_matches(name.lower(), _CALLED, 1, cutoff=0.7)
    mend = f"{f'Did you mean {near[0]}? ' if near else ''}There are: {', '.join(_CALLED)}."
    if name.lower() == "bounds":
        mend = "A range is bought with sf.bounds around a whole expression, and not within it."
    return ExpressionError(
        f"the function {name!r} is not one of those that can be used on private data: "
        f"{piece(node, text)}. {mend}"
    )
