"""Groups that nobody can list beforehand: what all selections of them have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from sfumato.accounting.grid import shorten_up
from sfumato.core.budget import Budget
from sfumato.core.errors import CostError, DataError, SensitivityError
from sfumato.core.interval import Interval
from sfumato.core.number import is_integer
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.mechanism import whole

Key: TypeAlias = str | int
Cells: TypeAlias = tuple[tuple[Key, int], ...]

_MOST = 2**62


def joint(failure: Fraction, times: int) -> Fraction:
    """Return 1 - (1 - δ)^times, rounded up, and at most times·δ."""
    if times <= 1 or failure >= 1:
        return failure * bool(times)
    none = ((1 - Interval.of(failure)).log() * times).exp()
    return min(shorten_up(times * failure), shorten_up(Fraction((1 - none).high)), Fraction(1))


def moved(sensitivity: Sensitivity) -> tuple[int, int, Fraction]:
    """Return how many groups one unit can change, by how much each at most, and in all."""
    most = int(whole(sensitivity.linf))
    l1 = None if sensitivity.l1 is None else whole(sensitivity.l1)
    if l1 is None:
        raise SensitivityError(
            "one unit could be in any number of groups, so no δ covers them. Pass l0= with linf=, "
            "or l1=: in how many groups one unit may count."
        )
    groups = int(l1) if sensitivity.l0 is None else min(int(sensitivity.l0), int(l1))
    return groups, most, l1


def with_delta(target: Budget) -> Budget:
    """Refuse a target without δ: a group of one unit must appear at times, or none ever does."""
    if target.epsilon is None or not target.delta:
        raise CostError(
            "a group that nobody listed shows that somebody is in it, which has no ε and no ρ by "
            "itself: it needs a δ. Pass epsilon=1, delta='1e-6', or list the groups."
        )
    return target


def occupied(values: Any) -> Cells:
    """Return the groups with a count above 0, in the order of their keys: numbers, then text.

    The order is one of the keys alone: that of a dictionary would tell who came first.
    """
    if not isinstance(values, Mapping):
        raise DataError(
            "groups come as a mapping of keys to counts, such as {'A': 3, 'B': 5}; of a pandas "
            "Series pass counts.to_dict()."
        )
    cells: list[tuple[Key, int]] = []
    for key, count in values.items():
        name = key.item() if isinstance(key, np.generic) else key
        text = isinstance(name, str)
        if not (text or is_integer(name)) or not is_integer(count):
            raise DataError(
                "keys of groups are text or whole numbers, and their counts are whole numbers. "
                "Write other keys as text, and count before asking."
            )
        if int(count) > 0:  # an empty group is none
            cells.append((str(name) if text else int(name), min(int(count), _MOST)))
    return tuple(sorted(cells, key=lambda cell: (isinstance(cell[0], str), cell[0])))


def shown(keys: Iterable[Key]) -> list[Key]:
    """Return released keys as a column can hold them: of one kind, and valid Unicode."""
    plain: list[Key] = list(keys)
    if not any(isinstance(key, str) for key in plain):
        return plain
    return [str(key).encode("utf-8", "replace").decode() for key in plain]


def no_keys(keys: object) -> None:
    """Refuse names for groups that are not known yet."""
    if keys is not None:
        raise DataError("which groups there are is what is released. Leave out keys=.")
