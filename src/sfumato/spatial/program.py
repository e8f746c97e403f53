"""From points and a price to a map: prepare, charge, measure, and return."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from inspect import signature
from typing import Any

from sfumato import accounting
from sfumato.accounting.sums import show_down
from sfumato.core.budget import Budget
from sfumato.core.errors import BudgetExceeded, InputError
from sfumato.core.number import Exactable
from sfumato.ranges.spending import Spending
from sfumato.relation.aggregate import Aggregate
from sfumato.release.inversion import confident
from sfumato.session.lab import Lab
from sfumato.session.points import Plane, Points
from sfumato.session.proof import notes
from sfumato.session.target import target
from sfumato.spatial import adaptive_grid, kd_tree, nested_grids, privtree, quadtree, uniform_grid
from sfumato.spatial.explain import Foresight, foreseen
from sfumato.spatial.frame import MapFrame
from sfumato.spatial.measured import Measured, Steps
from sfumato.spatial.release import MapRelease, as_bytes

# Each checks all that it is given, and returns steps that charge.
PREPARED: dict[str, Callable[..., Steps]] = {
    nested_grids.NAME: nested_grids.prepare,
    uniform_grid.NAME: uniform_grid.prepare,
    adaptive_grid.NAME: adaptive_grid.prepare,
    quadtree.NAME: quadtree.prepare,
    kd_tree.NAME: kd_tree.prepare,
    kd_tree.HYBRID: kd_tree.hybrid,
    privtree.NAME: privtree.prepare,
}
METHODS = tuple(PREPARED)
# What shapes these maps is charged in ε.
_PURE = (privtree.NAME, kd_tree.NAME, kd_tree.HYBRID)
_OURS, _LATTICE = ("plane", "spending"), ("bins", "outside")


def release(
    points: Any,
    *,
    box: Any = None,
    method: str = "auto",
    epsilon: Exactable | None = None,
    delta: Exactable = 0,
    rho: Exactable | None = None,
    confidence: Exactable = "0.95",
    **options: Any,
) -> MapRelease:
    """Measure points of a plane so that those of any box or polygon can be counted.

    All that will be spent is set aside before anything is read; every count is free from then on.

    Args:
        points: ``table.points("lon", "lat")``, or a laboratory of points or with two columns.
        box: the public box (x_low, y_low, x_high, y_high); all that the schema allows, if not
            given.
        method: ``"auto"``, or a name of `METHODS`.
        epsilon: the price in ε.
        delta: δ; noise may then be Gaussian, and is charged in ρ.
        rho: the price in ρ, instead.
        confidence: of the intervals.
        options: ``bins=`` and ``outside=`` of the lattice, and what the method takes, as
            ``height=8``.

    Raises:
        InputError: a box, a price or a method that makes no sense; nothing was charged.
        RangeError: a box without area, or more cells than fit memory.

    Example:
        >>> import sfumato as sf
        >>> city = sf.spatial.release(sf.lab([[30, 0], [0, 10]]), method="grid", epsilon=1)
        >>> city.count((0, 0, 2, 2)).confidence
        Fraction(19, 20)
    """
    plane, steps, spending, sure = _prepared(
        points, box, method, target(epsilon, delta, rho), confidence, options
    )
    left = plane.remaining
    if spending.epsilon is not None and left.largest < spending.epsilon:
        raise BudgetExceeded(
            f"this map costs ε = {show_down(spending.epsilon)}, and {left} is left. Ask for "
            f"epsilon <= {show_down(left.largest)}, or let the owner raise the budget. Nothing was "
            f"charged.",
            asked=spending.envelope,
            left=left,
        )
    if not steps.ways:
        return _finished(plane, steps.run(plane), spending, sure)
    with plane.scope(spending.envelope) as inside:
        return _finished(plane, steps.run(inside), spending, sure)


def explain(
    points: Any,
    *,
    box: Any = None,
    epsilon: Exactable | None = None,
    delta: Exactable = 0,
    rho: Exactable | None = None,
    area: Exactable = "0.1",
    expected: Exactable | None = None,
    **lattice: Any,
) -> Foresight:
    """Compare what noise would do to the count of a typical box. Free; reads nothing.

    Args:
        points: as for `release`.
        box: as for `release`.
        epsilon: the price in ε.
        delta: δ.
        rho: the price in ρ, instead.
        area: the share of the map that the box covers.
        expected: about how many points there are, if that is public.
        lattice: ``bins=`` and ``outside=``, as for `release`.

    Example:
        >>> import sfumato as sf
        >>> plan = sf.spatial.explain(sf.lab([[0] * 64] * 64), epsilon=1, area="0.01")
        >>> 1 < plan["quadtree"].rmse < 100
        True
    """
    wrong = [name for name in lattice if name not in _LATTICE]
    if wrong:
        raise InputError(f"explain takes no option {wrong[0]!r:.80}: bins, outside.")
    price = target(epsilon, delta, rho)
    return foreseen(_points(points).plane(box, **lattice), price, area, expected)


def _prepared(
    points: Any, box: Any, method: str, price: Budget, confidence: Any, options: dict[str, Any]
) -> tuple[Plane, Steps, Spending, Fraction]:
    """Check all that can be checked without data."""
    sure = confident(confidence)
    if not isinstance(method, str) or method not in METHODS:
        raise InputError(f"there is no method {method!r:.80}. Pass one of: {', '.join(METHODS)}.")
    lattice = {name: options.pop(name) for name in _LATTICE if name in options}
    plane = _points(points).plane(box, **lattice)
    MapFrame.of(plane)  # refuses what no count could be asked of
    spending = Spending.of(
        price.epsilon, price.delta, price.rho, pure=not price.delta, left=plane.remaining
    )
    if method in _PURE and not spending.pure:
        raise InputError(
            f"what shapes the map of {method!r} is paid for in epsilon. Leave out delta= and "
            f"rho=, or take method='auto'."
        )
    taken = [n for n in signature(PREPARED[method]).parameters if n not in _OURS]
    wrong = [option for option in options if option not in taken]
    if wrong:
        raise InputError(
            f"the method {method!r} takes no option {wrong[0]!r:.80}. There are: "
            f"{', '.join(['bins', 'outside', *taken])}."
        )
    steps = PREPARED[method](plane, spending, **options)
    steps.check(plane, spending)
    return plane, steps, spending, sure


def _points(given: Any) -> Points:
    if isinstance(given, Points):
        return given
    if isinstance(given, Lab):
        return given.points()
    raise InputError(
        f"a map is of points, and this is a {type(given).__name__}. Pass "
        f"table.points('lon', 'lat'), or a laboratory: sf.lab.points(xy, box)."
    )


def _finished(plane: Plane, found: Measured, spending: Spending, sure: Fraction) -> MapRelease:
    cost = accounting.compose([answer.cost for answer in found.drawn])
    asked = plane.question()
    caps = tuple(notes([asked], of="")) if isinstance(asked, Aggregate) else ()  # the plane says it
    last = found.drawn[-1]
    return MapRelease(
        frame=MapFrame.of(plane),
        method=found.plan.method,
        leaves=as_bytes(found.plan.rectangles.leaves),
        levels=found.levels,
        cost=cost,
        price=accounting.price(cost, spending.delta),
        unit=plane.unit,
        confidence=sure,
        notes=(f"measured: {found.plan.said}", *found.notes, *plane.notes, *caps),
        receipt=last.receipt,
        durable=last.durable,
    )
