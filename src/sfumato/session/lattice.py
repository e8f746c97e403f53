"""A public lattice over two columns of a private table: in which cell a row lies, exactly."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import KeysError, QueryError, RangeError
from sfumato.core.number import show
from sfumato.relation.expr import Call, Constant, Expr, Name, known
from sfumato.relation.kind import NAMES, Kind, Number
from sfumato.relation.node import Filter, Project, refuse_unit
from sfumato.session.bounds import undeclared
from sfumato.session.points import BINS, Ends, Plane, Points, check_cells

if TYPE_CHECKING:
    from sfumato.session.table import Table


def points_of(table: Table, x: str, y: str) -> Points:
    """Return two columns of a table as points.

    Raises:
        QueryError: not two columns whose bounds are declared.
        KeysError: a column that does not hold numbers.
    """
    if not isinstance(x, str) or not isinstance(y, str):
        raise QueryError("points takes the names of two columns, such as points('lon', 'lat').")
    if x == y:
        raise QueryError(f"a point has two coordinates, and both are {x!r} here. Name another one.")
    kinds = _coordinate(table, x), _coordinate(table, y)
    every = _ends(kinds)

    def framed(box: Ends | None, bins: tuple[int, int] | None, outside: str) -> Plane:
        ends = every if box is None else _within(box, every, kinds)
        widths, counts = [], []
        for axis, count in enumerate(bins or (BINS, BINS)):
            step = kinds[axis].step
            steps = int((ends[axis + 2] - ends[axis]) / step)
            # A whole number of steps: cells that held now one value more and now one less would
            # look as if people came and went.
            wide = -(-steps // count)
            widths.append(wide * step)
            counts.append(-(-steps // wide))
        check_cells(*counts)
        node = table._node
        if outside == "drop":
            node = Filter(node, _inside((x, y), ends))
        columns: dict[str, Expr] = {name: Name(name) for name in table._scope}
        for axis, name in enumerate((x, y)):
            columns[name] = _cell(name, ends[axis], widths[axis], counts[axis])
        cut = table._with(Project(node, tuple(columns.items())))
        return Plane(
            (x, y),
            ends,
            (widths[0], widths[1]),
            (counts[0], counts[1]),
            cut,
            lambda table: _counted(table, x, y),
            _notes((x, y), kinds, outside),
        )

    return Points((x, y), every, table.unit, framed)


def _coordinate(table: Table, name: str) -> Number:
    refuse_unit(Name(name), table._node)
    kind: Kind = known(name, table._scope)
    if not isinstance(kind, Number):
        raise KeysError(
            f"coordinates are numbers, and {name!r} is {NAMES[type(kind)]}. Name two columns that "
            f"are declared as Real or Integer."
        )
    if undeclared(Name(name), table._node) is not None:
        raise QueryError(
            f"no bounds are declared for {name!r}, so that nobody knows where points can lie. Ask "
            f"the owner to declare them."
        )
    return kind


def _ends(kinds: tuple[Number, Number]) -> Ends:
    """Return where values can lie; a box does not hold its upper ends, so they are a step above."""
    (x0, x1), (y0, y1) = (kind.bounds for kind in kinds)
    return x0, y0, x1 + kinds[0].step, y1 + kinds[1].step


def _within(box: Ends, every: Ends, kinds: tuple[Number, Number]) -> Ends:
    """Return the part of a box in which values can lie, with ends among them: no value leaves."""
    out: list[Fraction] = []
    for place, (wanted, known_end) in enumerate(zip(box, every, strict=True)):
        step = kinds[place % 2].step
        end = -(-wanted // step) * step  # up: between two values lies none
        out.append(max(end, known_end) if place < 2 else min(end, known_end))
    x0, y0, x1, y1 = out
    if x0 >= x1 or y0 >= y1:
        raise RangeError(
            f"no point can lie in this box: by the declared bounds they lie from "
            f"({show(every[0])}, {show(every[1])}) to ({show(every[2])}, {show(every[3])})."
        )
    return x0, y0, x1, y1


def _cell(name: str, low: Fraction, width: Fraction, count: int) -> Expr:
    """Return the number of the cell in which a coordinate lies, brought into the lattice."""
    moved = Name(name) if low == 0 else Call("-", (Name(name), _constant(low)))
    place = Call("//", (moved, _constant(width)))
    return Call("clamp", (place, Constant(0), Constant(count - 1)))


def _inside(names: tuple[str, str], box: Ends) -> Expr:
    x, y = map(Name, names)
    x0, y0, x1, y1 = map(_constant, box)
    parts = Call(">=", (x, x0)), Call("<", (x, x1)), Call(">=", (y, y0)), Call("<", (y, y1))
    return Call("and", parts)


def _counted(table: Table, x: str, y: str) -> Any:
    """Return the question how many rows each cell has."""
    return table.group_by(x, y).count().queries[0]


def _notes(names: tuple[str, str], kinds: tuple[Number, Number], outside: str) -> tuple[str, ...]:
    """Return which rows are points, and where; static."""
    rule = "are left out" if outside == "drop" else "count in the nearest cell"
    bounds = [
        f"{name} below {show(low)} counts as {show(low)} and above {show(high)} as {show(high)}"
        for name, (low, high) in zip(names, (kind.bounds for kind in kinds), strict=True)
    ]
    return (
        f"points outside of the box {rule}, and rows without {names[0]} or {names[1]} are none",
        "; ".join(bounds),
    )


def _constant(number: Fraction) -> Constant:
    return Constant(int(number) if number.denominator == 1 else number)
