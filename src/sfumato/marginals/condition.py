"""Some values of a column, as weights; and names of files for marginals."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, datetime
from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.core.errors import InputError
from sfumato.marginals.basis import Floats
from sfumato.marginals.domain import Attribute

_LONGEST = 120  # letters of a file's name


def weights(attribute: Attribute, condition: Any) -> Floats:
    """Return 1 for each value that meets a condition, else 0; one row.

    Args:
        attribute: the column.
        condition: a value, a pair (low, high) of which both ends count, or several values in a
            list, a set or an array. Dates and times are objects or texts in ISO 8601.

    Raises:
        InputError: a value that the column does not have, a range of a column without order, or
            one that cuts through a bin.
    """
    values = attribute.values
    if isinstance(condition, tuple) and len(condition) == 2:
        return np.array([_between(attribute, *condition)], np.float64)
    if getattr(condition, "ndim", 0) and hasattr(condition, "tolist"):
        condition = condition.tolist()
    several = isinstance(condition, list | set | frozenset | range)
    wanted = [_plain(value) for value in (condition if several else [condition])]
    for value in wanted:
        if not any(_same(value, known) for known in values):
            raise InputError(
                f"{value!r:.80} is not a value of the column {attribute.name!r}. Pass one of its "
                f"values, a pair (low, high), or a list of values."
            )
    return np.array([[any(_same(v, w) for w in wanted) for v in values]], np.float64)


def _between(attribute: Attribute, low: Any, high: Any) -> list[bool]:
    refusal = InputError(
        f"a range of {attribute.name!r} is two of its values in order, (low, high), where the "
        f"column has an order. For others pass a list of values."
    )
    if not attribute.ordered:
        raise refusal
    try:
        first, last = _point(attribute, low), _point(attribute, high)
        points = [_point(attribute, value) for value in attribute.values]
        met = [bool(first <= point <= last) for point in points]
        ordered = bool(first <= last)
        cut = [end for end in (low, high) if _is_inside(points, _point(attribute, end))]
    except (TypeError, ValueError):
        raise refusal from None
    if not ordered:
        raise refusal
    if cut:
        begins = max(value for value in attribute.values if value < cut[0])
        raise InputError(
            f"{cut[0]} cuts through the bin of {attribute.name!r} that begins at {begins}, and "
            f"what is inside a bin was not measured. Name bins by where they begin: {begins} for "
            f"this one, (low, high) for several."
        )
    return met


def _is_inside(values: list[Any], end: Any) -> bool:
    """Say whether an end lies between values that are as far apart as bins are: 2 or more."""
    if not isinstance(values[0], int) or isinstance(values[0], bool) or len(values) < 2:
        return False
    steps = {b - a for a, b in pairwise(values)}
    even = len(steps) == 1 and steps.pop() > 1
    return even and values[0] < end < values[-1] and end not in values


def _point(attribute: Attribute, value: Any) -> Any:
    """Return what is compared; of a column of dates or times, the moment."""
    if not isinstance(attribute.values[0], str):
        return value
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)  # columns have no zone
    return value if isinstance(value, datetime) else datetime.fromisoformat(value)


def _plain(value: Any) -> Any:
    """Return a date or a time as its text, which is how a column has it."""
    return value.isoformat() if isinstance(value, date) else value


def _same(a: Any, b: Any) -> bool:
    try:
        return bool(a == b) and isinstance(a, bool) == isinstance(b, bool)
    except (TypeError, ValueError):  # of something that is many
        return False


def file_names(marginals: Iterable[tuple[str, ...]]) -> list[str]:
    """Return a name for the file of each marginal; no two are the same, in whatever case.

    Example:
        >>> file_names([("age", "sex"), ("income>50K",), ()])
        ['age-sex', 'income_50K', 'total']
    """
    taken: set[str] = set()
    made = []
    for columns in marginals:
        name = "-".join(re.sub(r"[^\w.]+", "_", column) for column in columns) or "total"
        name = name[:_LONGEST].lstrip(".") or "marginal"
        unique, times = name, 1
        while unique.casefold() in taken:
            times += 1
            unique = f"{name}_{times}"
        taken.add(unique.casefold())
        made.append(unique)
    return made
