"""Finding a value in a declared list: one lookup however long the list is."""

from __future__ import annotations

from collections.abc import Mapping

from sfumato.backends.physical import Class, PhysicalColumn, literal
from sfumato.core.errors import ColumnError
from sfumato.core.schema import Category

_EXACT = 2**53  # whole numbers up to here are doubles
_FAR = 2**62


def first_of_run(declared: Category) -> int | None:
    """Return the first of values that are whole numbers in a row, which need no lookup."""
    values = [value for value in declared.values if isinstance(value, int)]
    if len(values) < len(declared.values) or max(map(abs, values)) > _FAR:
        return None
    return values[0] if values == list(range(values[0], values[0] + len(values))) else None


def position(declared: Category, column: PhysicalColumn, value: str) -> str:
    """Write the position of a value in the list, NULL if it is not listed.

    A number means the listed number before the listed text that looks like it; a text means the
    listed text first, and then the number that it can be read as.

    Args:
        declared: the list.
        column: whose physical type decides.
        value: the SQL of the value's text.
    """
    numbers = {str(v): i for i, v in enumerate(declared.values) if isinstance(v, int)}
    texts = {v: i for i, v in enumerate(declared.values) if isinstance(v, str)}
    for text in texts:
        if "\0" in text or not _is_encodable(text):
            raise ColumnError(
                "a Category lists a value that no table can hold: it is no valid Unicode text, or "
                "contains the character 0. Take it out of the list."
            )
    if column.kind is not Class.TEXT:
        return _found(value, {**texts, **numbers})
    found = _found(value, {**numbers, **texts})
    if not numbers:
        return found
    double = f"TRY_CAST(CASE WHEN contains({value}, '_') THEN NULL ELSE {value} END AS DOUBLE)"
    whole = f"{double} = trunc({double}) AND abs({double}) <= {_EXACT}"
    spelled = f"CASE WHEN {whole} THEN CAST(CAST({double} AS BIGINT) AS VARCHAR) END"
    return f"coalesce({found}, {_found(spelled, numbers)})"


def _found(value: str, labels: Mapping[str, int]) -> str:
    """Look a text up.

    An enumeration finds it by hash. A text that is not in it is kept away from the cast, for a cast
    that fails takes ten times as long.
    """
    listed = ", ".join(literal(label) for label in labels)
    code = f"CAST(enum_code(TRY_CAST({value} AS ENUM({listed}))) AS BIGINT)"
    places = list(labels.values())
    if places != list(range(len(places))):
        code = f"[{', '.join(map(str, places))}][{code} + 1]"
    return f"CAST(CASE WHEN {value} IN ({listed}) THEN {code} END AS BIGINT)"


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
