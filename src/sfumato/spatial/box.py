"""Boxes of a map: upright rectangles, one or many at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InputError, NumberError, RangeError

Floats = NDArray[np.float64]

# Products of coordinates stay far from the ends of the floats, so no area overflows.
LARGEST = 1e100
_ENDS = ("x_low", "y_low", "x_high", "y_high")


@dataclass(frozen=True, slots=True)
class Box:
    """An upright rectangle of the map. It holds its lower ends, and not its upper ones.

    Args:
        x_low: the left end.
        y_low: the lower end.
        x_high: the right end; above x_low.
        y_high: the upper end; above y_low.

    Raises:
        NumberError: an end is not a finite number.
        RangeError: the box is empty or turned around.

    Example:
        >>> Box(0, 0, 2, 1).area
        2.0
    """

    x_low: float
    y_low: float
    x_high: float
    y_high: float

    def __post_init__(self) -> None:
        """Refuse what is no box."""
        ends = boxes([[self.x_low, self.y_low, self.x_high, self.y_high]])[0].tolist()
        for name, end in zip(_ENDS, ends, strict=True):
            object.__setattr__(self, name, end)

    @classmethod
    def of(cls, given: Any) -> Box:
        """Return a box, or the one that four numbers mean.

        Raises:
            InputError: not four numbers.
        """
        if isinstance(given, cls):
            return given
        found = boxes(given)
        if np.ndim(given) != 1:
            raise InputError(
                "one box is wanted, and these are several. Pass (x_low, y_low, x_high, y_high)."
            )
        return cls(*found[0].tolist())

    @property
    def width(self) -> float:
        """How far it reaches from left to right."""
        return self.x_high - self.x_low

    @property
    def height(self) -> float:
        """How far it reaches from bottom to top."""
        return self.y_high - self.y_low

    @property
    def area(self) -> float:
        """Width times height."""
        return self.width * self.height

    def __iter__(self) -> Iterator[float]:
        """Go through the four ends."""
        return iter((self.x_low, self.y_low, self.x_high, self.y_high))


def boxes(given: Any, called: str = "box") -> Floats:
    """Return boxes as an array of four columns: x_low, y_low, x_high, y_high.

    Args:
        given: one box, a list of them, or an array of four columns.
        called: what a message calls one of them.

    Raises:
        InputError: not four numbers each.
        NumberError: an end is not a finite number.
        RangeError: a box is empty, turned around, or its ends are beyond 1e100.
    """
    held = _numbers(given, called)
    if np.isnan(held).any() or np.isinf(held).any():
        raise NumberError(
            f"an end of a {called} is not a finite number, so nothing lies inside or outside of "
            f"it. Pass finite coordinates{_where(~np.isfinite(held).all(axis=1))}."
        )
    if (np.abs(held) > LARGEST).any():
        raise RangeError(
            f"an end of a {called} is beyond {LARGEST:g}, where areas no longer fit into a float. "
            f"Use another unit of length{_where((np.abs(held) > LARGEST).any(axis=1))}."
        )
    turned = (held[:, 2] < held[:, 0]) | (held[:, 3] < held[:, 1])
    if turned.any():
        raise RangeError(
            f"a {called} is turned around: its high end is below its low end. Its order is x_low, "
            f"y_low, x_high, y_high{_where(turned)}."
        )
    empty = (held[:, 2] == held[:, 0]) | (held[:, 3] == held[:, 1])
    if empty.any():
        raise RangeError(
            f"a {called} has no area: a high end equals its low end. Make it wider and higher than "
            f"0{_where(empty)}."
        )
    return held


def _numbers(given: Any, called: str) -> Floats:
    if isinstance(given, Box):
        given = [list(given)]
    elif isinstance(given, list | tuple):
        given = [list(each) if isinstance(each, Box) else each for each in given]
    if isinstance(given, str | bytes | dict):
        raise _not_four(called)
    try:
        array = np.asarray(given)
        if array.dtype.kind not in "iufO" or any(
            isinstance(end, bool | np.bool_ | str | bytes)
            for end in (array.ravel() if array.dtype.kind == "O" else ())
        ):
            raise _not_four(called)
        array = np.array(array, np.float64)
    except OverflowError:
        raise RangeError(
            f"an end of a {called} is beyond {LARGEST:g}. Use another unit of length."
        ) from None
    except (TypeError, ValueError):
        raise _not_four(called) from None
    if array.ndim == 1 and array.size == 4:
        array = array[None, :]
    if array.ndim != 2 or array.shape[1] != 4 or not len(array):
        raise _not_four(called)
    return array


def _not_four(called: str) -> InputError:
    return InputError(
        f"a {called} is four numbers (x_low, y_low, x_high, y_high), and several are a list of "
        f"such, or an array of four columns; at least one is needed."
    )


def _where(wrong: Any) -> str:
    """Name the first that is wrong, where there are several."""
    return f"; it is number {int(np.argmax(wrong))}, counted from 0" if len(wrong) > 1 else ""
