"""Expressions over columns: trees of names, constants and calls of whitelisted functions.

An expression is checked and lowered in one step, by `typed`: every function says what kind comes
out of which kinds, and writes the SQL for it. There is no other way for SQL to arise from what an
analyst typed, so nothing outside the whitelist can be run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from typing import TypeAlias

from sfumato.core.codec import canonical
from sfumato.core.errors import ExpressionError, UnknownName
from sfumato.core.number import show
from sfumato.relation.kind import NAMES, Code, Kind, Number, Truth, Words


@canonical
@dataclass(frozen=True, slots=True)
class Name:
    """A column."""

    name: str


@canonical
@dataclass(frozen=True, slots=True)
class Constant:
    """A number, a text, a truth value, or NULL."""

    value: int | Fraction | str | bool | None


@canonical
@dataclass(frozen=True, slots=True)
class Call:
    """A function of the whitelist, applied."""

    function: str
    arguments: tuple[Expr, ...]


Expr: TypeAlias = Name | Constant | Call
Scope: TypeAlias = Mapping[str, Kind]


@dataclass(frozen=True, slots=True)
class Typed:
    """An expression that was checked: its kind, its SQL, and its value where it is constant.

    The kind of a bare NULL is None: it takes the kind of whatever it meets.
    """

    kind: Kind | None
    sql: str
    constant: int | Fraction | str | bool | None = None

    @property
    def what(self) -> str:
        """Name the kind for people."""
        return "NULL" if self.kind is None else NAMES[type(self.kind)]

    @property
    def column(self) -> str | None:
        """The name of the column that it is; None if it is something else."""
        inner = self.sql[1:-1].replace('""', "")
        bare = len(self.sql) > 2 and self.sql[0] == self.sql[-1] == '"' and '"' not in inner
        return self.sql[1:-1].replace('""', '"') if bare else None


Rule: TypeAlias = Callable[[Sequence[Typed]], Typed]
FUNCTIONS: dict[str, Rule] = {}


def typed(expr: Expr, scope: Scope) -> Typed:
    """Check an expression against the columns in scope, and lower it to SQL.

    Raises:
        UnknownName: a column that does not exist here.
        ExpressionError: a function that is not on the whitelist, or arguments it does not take.
    """
    import sfumato.relation.function  # noqa: F401 - fills the whitelist

    match expr:
        case Name():
            return Typed(known(expr.name, scope), quoted(expr.name))
        case Constant():
            return constant(expr.value)
        case Call():
            rule = FUNCTIONS.get(expr.function)
            if rule is None:
                raise ExpressionError(
                    f"the function {expr.function!r} is not one of those that can be used on "
                    f"private data: {', '.join(sorted(FUNCTIONS))}. "
                    f"Compute the column with one of them, or add it to the data."
                )
            return rule([typed(argument, scope) for argument in expr.arguments])
    raise ExpressionError(f"{type(expr).__name__} is not an expression.")


def known(name: str, scope: Scope) -> Kind:
    """Return the kind of a column, or say which columns there are."""
    if name in scope:
        return scope[name]
    near = get_close_matches(name, scope, 1)
    hint = f" Did you mean {near[0]!r}?" if near else " A text goes in single quotes."
    raise UnknownName(
        f"there is no column {name!r} here; there are: {', '.join(scope) or 'none'}.{hint}"
    )


def names(expr: Expr) -> Iterator[str]:
    """Iterate over the columns that an expression uses."""
    if isinstance(expr, Name):
        yield expr.name
    elif isinstance(expr, Call):
        for argument in expr.arguments:
            yield from names(argument)


def constant(value: int | Fraction | str | bool | None) -> Typed:
    """Return a constant: numbers on a step of their own."""
    if value is None:
        return Typed(None, "NULL")
    if isinstance(value, bool):
        return Typed(Truth(), literal(value), value)
    if isinstance(value, str):
        return Typed(Words(), literal(value), value)
    number = Fraction(value)
    step = Fraction(1, number.denominator)
    kind = Number(number.numerator, number.numerator, step)
    return Typed(kind, literal(number.numerator), number)


def literal(held: Code) -> str:
    """Write a code as SQL."""
    if isinstance(held, bool):
        return "TRUE" if held else "FALSE"
    if isinstance(held, int):
        return str(held) if held >= 0 else f"({held})"
    check_text(held)
    return "'" + held.replace("'", "''") + "'"


def check_text(text: str) -> None:
    """Refuse a text, or a name, that no engine can be sent.

    Raises:
        ExpressionError: it contains NUL, or half of a pair of surrogates.
    """
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ExpressionError(
            "a name or a text contains a character that no text has: NUL, or half of a pair. "
            "Remove it."
        )


def quoted(name: str) -> str:
    """Write a name as SQL, whatever letters it has."""
    return '"' + name.replace('"', '""') + '"'


_INFIX = {"+", "-", "*", "/", "//", "%", "||", "=", "<>", "<", "<=", ">", ">="}
_INFIX |= {"and", "or", "like", "ilike"}


def shown(expr: Expr) -> str:
    """Write an expression for people.

    Example:
        >>> shown(Call("<", (Name("hour"), Constant(9))))
        'hour < 9'
    """
    match expr:
        case Name():
            return expr.name if expr.name.isidentifier() else quoted(expr.name)
        case Constant(value=str() as text):
            return repr(text)
        case Constant(value=Fraction() as number):
            return show(number)
        case Constant(value=None):
            return "NULL"
        case Constant():
            return str(expr.value).lower()
        case Call(function="in"):
            first, *rest = (shown(argument) for argument in expr.arguments)
            some = rest if len(rest) <= 6 else [*rest[:5], "…"]
            return f"{first} in ({', '.join(some)})"
        case Call(function="not"):
            return f"not {_nested(expr.arguments[0])}"
        case Call(function="is_null"):
            return f"{_nested(expr.arguments[0])} is null"
        case Call() if expr.function in _INFIX and len(expr.arguments) > 1:
            return f" {expr.function} ".join(_nested(argument) for argument in expr.arguments)
    return f"{expr.function}({', '.join(shown(argument) for argument in expr.arguments)})"


def _nested(expr: Expr) -> str:
    text = shown(expr)
    wrapped = isinstance(expr, Call) and (expr.function in _INFIX or expr.function == "is_null")
    return f"({text})" if wrapped else text
