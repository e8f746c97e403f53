"""How a function enters the whitelist, and what is checked each time it is applied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from sfumato.core.errors import ExpressionError
from sfumato.core.number import show
from sfumato.relation.expr import FUNCTIONS, Rule, Typed
from sfumato.relation.kind import Instant, Label, Number

LONGEST = 50_000  # characters of SQL that one expression may become
_FINEST = 1_000  # bits of a step's numerator and denominator: a float can still show it
_SHOWN = 4  # arguments that a message names


class Mismatch(Exception):
    """The kinds do not fit; `rule` turns it into a message."""


def rule(
    *names: str, takes: int | tuple[int, int | None], hint: str = ""
) -> Callable[[Rule], Rule]:
    """Put a rule on the whitelist under its names.

    Args:
        names: what an expression calls it.
        takes: how many arguments: exactly, or from and to; None for any number.
        hint: what to do about arguments that do not fit.
    """
    least, most = (takes, takes) if isinstance(takes, int) else takes

    def enter(function: Rule) -> Rule:
        for name in names:
            FUNCTIONS[name] = _checked(name, function, least, most, hint)
        return function

    return enter


def _checked(name: str, function: Rule, least: int, most: int | None, hint: str) -> Rule:
    def checked(given: Sequence[Typed]) -> Typed:
        if len(given) < least or (most is not None and len(given) > most):
            raise ExpressionError(
                f"{name} takes {_counted(least, most)}, and here it has {len(given)}. "
                f"{hint or 'Add or remove some.'}"
            )
        try:
            result = function(given)
        except Mismatch:
            raise ExpressionError(
                f"{name} cannot be applied to {_shown(given)}. "
                f"{hint or 'Use columns and constants of one type.'}"
            ) from None
        _check_size(name, result, given)
        return result

    return checked


def _check_size(name: str, result: Typed, given: Sequence[Typed]) -> None:
    """Refuse an expression that nested functions have blown up.

    A function that writes an argument twice doubles it, and nesting doubles it again. A long list
    of constants is only as long as it was written, and stays.
    """
    written = sum(len(t.sql) for t in given)
    # What a category becomes is looked up in a list that is as long as its own, which is public.
    lists = (t.kind.values for t in given if isinstance(t.kind, Label))
    listed = sum(len(str(value)) + 9 for values in lists for value in values)
    if len(result.sql) > max(LONGEST, written * 3 // 2 + 40 * len(given) + listed):
        raise ExpressionError(
            f"this expression grows beyond {LONGEST:,} characters of SQL at {name}: functions are "
            f"nested too deeply. Compute a part of it as a column first, with with_columns."
        )
    if isinstance(result.kind, Number | Instant):
        step = result.kind.step
        if max(step.numerator.bit_length(), step.denominator.bit_length()) > _FINEST:
            raise ExpressionError(
                f"the step of this number has more than {_FINEST * 3 // 10} digits after {name}. "
                f"Round in between, with round(x, digits)."
            )


def _counted(least: int, most: int | None) -> str:
    if most is None:
        return f"at least {least} argument{'s' if least > 1 else ''}"
    if least == most:
        return f"{least} argument{'s' if least > 1 else ''}"
    return f"{least} to {most} arguments"


def _shown(given: Sequence[Typed]) -> str:
    parts = [_one(t) for t in given[:_SHOWN]]
    return " and ".join(parts) + (" and more" if len(given) > _SHOWN else "")


def _one(t: Typed) -> str:
    """Name an argument: a column by its name, a constant, which the analyst wrote, by its value."""
    match t.constant:
        case None:
            return t.what if t.column is None else f"{t.what} ({t.column})"
        case bool() | str():
            return f"{t.what} ({t.constant!r})"
        case _:
            return f"{t.what} ({show(Fraction(t.constant))})"
