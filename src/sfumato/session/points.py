"""Two columns of a private table as points of a plane, for algorithms that draw maps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InputError, RangeError
from sfumato.core.number import exact, is_integer
from sfumato.session.cells import Cells, Measuring

if TYPE_CHECKING:
    from sfumato.core.unit import Unit

Ends: TypeAlias = tuple[Fraction, Fraction, Fraction, Fraction]
Widths: TypeAlias = tuple[Fraction, Fraction]

BINS = 1024  # cells along each side, where nobody asks for another number
MOST_BINS = 2**12
MOST_CELLS = 2**22
OUTSIDE = ("drop", "clamp")


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Plane(Cells):
    """How many points lie in each cell of a public lattice; nothing is read until a release.

    Cells of one column of the lattice stand side by side: the cell (i, j) is number i·up + j.

    Attributes:
        names: the columns of x and of y.
        box: the lower ends of x and y, then the upper ones, which are not in it.
        widths: of a cell, along x and y; the last one ends with the box.
        shape: how many cells there are along x and y.
        curator: who measures.
        counts: makes the question how many points each cell has.
        notes: which points count, and where; static.
    """

    names: tuple[str, str]
    box: Ends
    widths: Widths
    shape: tuple[int, int]
    curator: Measuring
    counts: Callable[[Any], Any]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Points:
    """Points whose coordinates are two columns; get them from `Table.points` or `Lab.points`.

    Attributes:
        names: the columns of x and of y.
        box: where points can lie at all: the declared bounds, or what a laboratory holds.
        unit: who is protected.
        framed: makes a plane of a box, numbers of cells and a rule for points outside.
    """

    names: tuple[str, str]
    box: Ends
    unit: Unit
    framed: Callable[[Ends | None, tuple[int, int] | None, str], Plane]

    def plane(self, box: Any = None, *, bins: Any = None, outside: str = "drop") -> Plane:
        """Lay a lattice of public cells over a box. Free; reads nothing.

        Args:
            box: x_low, y_low, x_high, y_high; all that can be, if not given.
            bins: about how many cells along each side, or a pair of such.
            outside: what becomes of points outside of the box: ``"drop"`` leaves them out,
                ``"clamp"`` moves them to the nearest cell.

        Raises:
            RangeError: a box without area, a box that is turned around, or too many cells.
        """
        if not isinstance(outside, str) or outside not in OUTSIDE:
            raise InputError(
                f"outside= says what becomes of points outside of the box: 'drop' or 'clamp', and "
                f"not {outside!r:.80}."
            )
        ends = None if box is None else ends_of(box)
        return self.framed(ends, None if bins is None else bins_of(bins), outside)

    def __repr__(self) -> str:
        """Show what is public about them."""
        return f"<points of {self.names[0]!r} and {self.names[1]!r}; {self.unit!r}>"


def ends_of(box: Any) -> Ends:
    """Read a box: four exact numbers.

    Raises:
        InputError: not four numbers.
        RangeError: no area, or turned around.
    """
    try:
        given = [] if isinstance(box, str | bytes) else list(box)
    except TypeError:
        given = []
    if len(given) != 4:
        raise InputError("a box is four numbers: (x_low, y_low, x_high, y_high).")
    plain = [end.item() if hasattr(end, "item") else end for end in given]
    x0, y0, x1, y1 = (exact(end, "an end of the box") for end in plain)
    if x1 < x0 or y1 < y0:
        raise RangeError(
            "the box is turned around: a high end is below its low end. Its order is x_low, y_low, "
            "x_high, y_high."
        )
    if x0 == x1 or y0 == y1:
        raise RangeError("the box has no area: a high end equals its low end. Make it larger.")
    return x0, y0, x1, y1


def edges_of(low: Fraction, high: Fraction, width: Fraction, count: int) -> NDArray[np.float64]:
    """Return where cells of one width begin, and where the last one ends.

    Each edge is the float nearest to it, which is what its decimal literal means: a box that ends
    at 0.3 meets no cell that begins there.
    """
    whole = lcm(low.denominator, width.denominator)
    first, step = int(low * whole), int(width * whole)
    out: NDArray[np.float64]
    if max(abs(first), abs(first + step * count), whole) <= 2**53:
        out = (first + step * np.arange(count + 1)) / whole  # of whole numbers, rounded once
    else:
        out = np.array([float(low + width * i) for i in range(count + 1)])
    out[-1] = float(high)
    return out


def check_cells(across: int, up: int) -> None:
    """Refuse a lattice that does not fit memory; its size is public.

    Raises:
        RangeError: too many cells.
    """
    if across * up > MOST_CELLS:
        raise RangeError(
            f"a lattice of {across:,} by {up:,} cells is more than the {MOST_CELLS:,} that are "
            f"held at once. Pass a smaller bins=."
        )


def bins_of(given: Any) -> tuple[int, int]:
    """Read how many cells each side has.

    Raises:
        InputError: not a whole number, or two.
        RangeError: none, or more than are held at once.
    """
    pair = (given, given) if is_integer(given) else given
    try:
        across, up = pair
    except (TypeError, ValueError):
        across = up = None
    if not (is_integer(across) and is_integer(up)):
        raise InputError("bins= is how many cells each side has: 256, or a pair (512, 256).")
    if not all(1 <= int(each) <= MOST_BINS for each in (across, up)):
        raise RangeError(f"bins= is from 1 to {MOST_BINS:,} cells along each side.")
    check_cells(int(across), int(up))
    return int(across), int(up)
