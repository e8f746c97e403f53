"""Functions of a category, computed when a plan is made: its values are a public list.

The engine only looks the result up. Values that become equal are one value of the new category, a
number has exactly the bounds that the list gives it, and a condition becomes a set of positions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sfumato.core.errors import ExpressionError
from sfumato.relation.expr import Typed, literal
from sfumato.relation.kind import Code, Label, Number, Truth
from sfumato.relation.rule import Mismatch

MOST_VALUES = 10_000  # of a category that an expression makes


def values(t: Typed) -> tuple[str | int, ...] | None:
    """Return the public list of a category; None for anything else."""
    return t.kind.values if isinstance(t.kind, Label) and t.constant is None else None


def texts(t: Typed) -> tuple[str, ...] | None:
    """Return the list of a category of texts; None for what is no category.

    Raises:
        Mismatch: it lists whole numbers.
    """
    found = values(t)
    if found is None:
        return None
    listed = tuple(v for v in found if isinstance(v, str))
    if len(listed) < len(found):
        raise Mismatch
    return listed


def mapped(t: Typed, results: Sequence[object]) -> Typed:
    """Return what becomes of a category, given what becomes of each of its values.

    Args:
        t: the category.
        results: for each value a text, a whole number or a truth value; None for NULL.

    Raises:
        ExpressionError: every value becomes NULL.
    """
    known = [result for result in results if result is not None]
    if not known:
        raise ExpressionError(
            f"no value of the category {t.column or 'here'} can be read so: the result is always "
            f"NULL. Leave it out."
        )
    if isinstance(known[0], bool):
        return _decided(t, results)
    if isinstance(known[0], int):
        codes = [result if isinstance(result, int) else None for result in results]
        numbers = [code for code in codes if code is not None]
        return Typed(Number(min(numbers), max(numbers)), looked_up(t.sql, codes))
    places = {text: at for at, text in enumerate(dict.fromkeys(known))}
    codes = [None if result is None else places[result] for result in results]
    same = codes == list(range(len(codes)))
    kind = Label(tuple(str(text) for text in places))
    return Typed(kind, t.sql if same else looked_up(t.sql, codes))


def looked_up(sql: str, results: Sequence[Code | None]) -> str:
    """Write the SQL that picks, for each position in a list, what stands there."""
    listed = ", ".join("NULL" if held is None else literal(held) for held in results)
    held = "VARCHAR" if any(isinstance(each, str) for each in results) else "BIGINT"
    return f"CAST([{listed}][{sql} + 1] AS {held})"


def check_size(size: int, what: str) -> None:
    """Refuse a category that would list too much.

    Raises:
        ExpressionError: more than `MOST_VALUES`.
    """
    if size > MOST_VALUES:
        raise ExpressionError(
            f"{what} would list {size:,} values, and a category that an expression makes has "
            f"{MOST_VALUES:,} at most. Declare tighter bounds, or clamp or cut it first."
        )


def _decided(t: Typed, results: Sequence[object]) -> Typed:
    true = [str(at) for at, result in enumerate(results) if result is True]
    unknown = [str(at) for at, result in enumerate(results) if result is None]
    # Codes are never negative, and what is NULL stays NULL.
    sql = f"({t.sql} IN ({', '.join(true)}))" if true else f"({t.sql} < 0)"
    if unknown:
        sql = f"(CASE WHEN {t.sql} NOT IN ({', '.join(unknown)}) THEN {sql} END)"
    return Typed(Truth(), sql)


def each(t: Typed, function: Callable[[str], object]) -> Typed | None:
    """Apply a function to every value of a category of texts; None for anything else."""
    listed = texts(t)
    return None if listed is None else mapped(t, [function(text) for text in listed])
