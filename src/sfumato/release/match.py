"""Cells of two answers, matched by their keys."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import KeysError
from sfumato.release.format import printable
from sfumato.release.key import KeyColumn, kind_of

_SHOWN = 3


def places(keys: tuple[KeyColumn, ...], others: tuple[KeyColumn, ...]) -> NDArray[np.int64] | None:
    """Return where each of `keys` is among `others`; None if they are the same, in one order.

    Raises:
        KeysError: columns or values differ; the message says which.
    """
    if keys is others or (keys == others and _kinds(keys) == _kinds(others)):
        return None
    names, other_names = [name for name, _ in keys], [name for name, _ in others]
    if sorted(names) != sorted(other_names):
        raise KeysError(
            f"these answers are keyed by different columns, {_listed(names)} and "
            f"{_listed(other_names)}, so their cells do not belong together. Add up over the "
            f"others with roll_up() first, or combine with a single number."
        )
    columns = dict(others)
    ordered = tuple((name, columns[name]) for name in names)
    if _kinds(keys) != _kinds(ordered):
        raise KeysError(
            "the keys of these answers are of different kinds, such as text and numbers, so no "
            "cell of the one is a cell of the other. Ask both with the same keys."
        )
    mine = list(zip(*(values for _, values in keys), strict=True))
    theirs = list(zip(*(values for _, values in ordered), strict=True))
    at = {key: i for i, key in enumerate(theirs)}
    found = [at.get(key, -1) for key in mine]
    if len(at) < len(theirs) or len(set(mine)) < len(mine):
        raise KeysError(
            "a key comes more than once in these answers, so their cells cannot be matched. Add up "
            "what has one key with roll_up() first."
        )
    if -1 in found or len(mine) != len(theirs):
        only = [key for key, place in zip(mine, found, strict=True) if place < 0]
        only += [key for key in theirs if key not in set(mine)]
        raise KeysError(
            f"{len(only)} cells are in one of these answers only, such as "
            f"{_listed([', '.join(map(str, key)) for key in only])}. Ask both with the same keys, "
            f"or keep the cells of both with where()."
        )
    return np.array(found, np.int64)


def _kinds(keys: tuple[KeyColumn, ...]) -> list[str]:
    return [next((kind_of(v) for v in values if v is not None), "none") for _, values in keys]


def _listed(names: list[str]) -> str:
    if not names:
        return "no column"
    shown = ", ".join(repr(printable(name)) for name in names[:_SHOWN])
    return f"{shown}, …" if len(names) > _SHOWN else shown
