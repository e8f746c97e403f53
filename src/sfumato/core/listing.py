"""Lists that users pass, in whatever holds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def listed(given: Any) -> tuple[Any, ...] | None:
    """Return what a list, an array or anything else holds that can be gone through.

    Of one text, one number, an array without axes or a mapping, which are no list, it is None.

    Example:
        >>> listed(["a", "b"]), listed("ab"), listed(3)
        (('a', 'b'), None, None)
    """
    if isinstance(given, str | bytes | Mapping):
        return None
    try:
        found = iter(given)
    except TypeError:  # there is nothing to go through
        return None
    return tuple(found)
