"""From a column and a price to a release: choose, measure in one charge, and return."""

from __future__ import annotations

from typing import Any

from sfumato import accounting
from sfumato.core.errors import InputError, RangeError
from sfumato.core.number import Exactable
from sfumato.ranges import adaptive, dawa, fourier, hierarchical, sketch
from sfumato.ranges.adaptive import only
from sfumato.ranges.explain import Comparison, Expected, compared
from sfumato.ranges.line import Line
from sfumato.ranges.measured import Measured
from sfumato.ranges.method import FIXED, planned
from sfumato.ranges.plan import MOST_CELLS, Plan, check_size, counting
from sfumato.ranges.release import RangeRelease
from sfumato.ranges.spending import Spending
from sfumato.ranges.workload import Workload
from sfumato.relation.kind import Instant
from sfumato.release.error import NOISE_ONLY
from sfumato.release.inversion import confident
from sfumato.session.column import Column, days_of
from sfumato.session.lab import Lab
from sfumato.session.target import target

METHODS = ("auto", *FIXED, dawa.NAME, fourier.NAME, sketch.NAME)


def release(
    values: Any,
    *,
    workload: Any = "ranges",
    method: str = "auto",
    epsilon: Exactable | None = None,
    delta: Exactable = 0,
    rho: Exactable | None = None,
    confidence: Exactable = "0.95",
    **options: Any,
) -> Any:
    """Measure a column so that any range of it can be counted.

    The charge is made once, before anything is read; every range is free from then on.

    Args:
        values: ``table.values("fare")``, or a laboratory with one column.
        workload: what is to be answered best: ``"ranges"`` (all of them), ``"prefix"`` (all that
            begin at the lowest value), or a list of intervals (low, high), both ends included.
        method: ``"auto"``, or a name of `METHODS`. ``"sketch"`` counts single values only, of
            domains that no other method can hold.
        epsilon: the price in ε.
        delta: δ; noise may then be Gaussian, and is charged in ρ.
        rho: the price in ρ, instead.
        confidence: of the intervals.
        options: what the method takes, as ``fanout=16``.

    Returns:
        A `RangeRelease`; of the method ``"sketch"`` a `SketchRelease`.

    Raises:
        InputError: a price, a workload or a method that makes no sense; nothing was charged.
        RangeError: more cells than the method can hold.

    Example:
        >>> import sfumato as sf
        >>> ages = sf.ranges.release(sf.lab([30, 0, 0, 10]), method="identity", epsilon=1)
        >>> ages.count(0, 3).confidence
        Fraction(19, 20)
    """
    column = _column(values)
    price = target(epsilon, delta, rho)
    epsilon, delta, rho = price.epsilon, price.delta, price.rho
    sure = confident(confidence)
    if not isinstance(method, str) or method not in METHODS:
        raise InputError(f"there is no method {method!r}. Pass one of: {', '.join(METHODS)}.")
    if method == sketch.NAME:
        sketch.check(workload, Line.of(column))
        spending = Spending.of(epsilon, delta, rho, pure=not delta, left=column.remaining)
        return sketch.release(column, spending, sure, **only(options, "width", "repeat", "seed"))
    wanted = _wanted(column, workload)
    if method == "auto":
        if options:
            raise InputError(
                f"auto takes no options, and {next(iter(options))!r} is one. Name the method."
            )
        _, plan, spending = compared(column, wanted, epsilon=epsilon, delta=delta, rho=rho)[0]
        # Below a measured block it helps; over a line of cells it would move counts to empty ones.
        rule = "nonnegative" if plan.method == hierarchical.NAME else "unbiased"
        return _measured(column, plan, spending, sure, rule=rule)
    spending = Spending.of(epsilon, delta, rho, pure=not delta, left=column.remaining)
    if method in adaptive.METHODS:
        found = adaptive.bought(column, wanted, method, spending, options)
        return finished(
            column,
            found.plan,
            found.drawn,
            found.costs,
            found.rest,
            sure,
            more=(found.note,),
            covers=adaptive.COVERS[method],
        )
    plan = planned(method, wanted, pure=spending.pure, **options)
    return _measured(column, plan, spending, sure)


def explain(
    values: Any,
    *,
    workload: Any = "ranges",
    epsilon: Exactable | None = None,
    delta: Exactable = 0,
    rho: Exactable | None = None,
) -> Comparison:
    """Compare what the methods would err by. Free; reads nothing.

    Args:
        values: as for `release`.
        workload: as for `release`.
        epsilon: the price in ε.
        delta: δ.
        rho: the price in ρ, instead.

    Example:
        >>> import sfumato as sf
        >>> sf.ranges.explain(sf.lab([0] * 1000), epsilon=1).best.method
        'hierarchical'
    """
    column = _column(values)
    price = target(epsilon, delta, rho)
    epsilon, delta, rho = price.epsilon, price.delta, price.rho
    wanted = _wanted(column, workload)
    found = compared(column, wanted, epsilon=epsilon, delta=delta, rho=rho)
    expected = [each for each, _, _ in found]
    if epsilon is not None and wanted.cells <= dawa.MOST:
        said = "buckets of a private partition; how far counts in one differ adds to it"
        expected.append(Expected(dawa.NAME, None, "laplace", said))
    if epsilon is not None and wanted.cells <= fourier.MOST:
        said = "the Fourier coefficients that are worth their noise; what is left out adds to it"
        expected.append(Expected(fourier.NAME, None, "laplace", said))
    return Comparison(wanted, tuple(expected))


def _column(values: Any) -> Column:
    if isinstance(values, Column):
        return values
    if isinstance(values, Lab):
        return values.values()
    raise InputError(
        f"ranges are of one column, and this is a {type(values).__name__}. Pass "
        f"table.values('fare'), or a laboratory: sf.lab(counts)."
    )


def _wanted(column: Column, workload: Any) -> Workload:
    if column.size > MOST_CELLS and isinstance(column.kind, Instant):  # bins are of numbers
        raise RangeError(
            f"{column.name!r} has {column.size:,} moments, and up to {MOST_CELLS:,} are counted "
            f"one by one. Count days instead: {days_of(column.name)}."
        )
    check_size(column.size)
    line = Line.of(column)

    def positions(low: Any, high: Any) -> tuple[int, int]:
        starts, stops = line.within(low, high)
        if starts[0] == stops[0]:
            raise InputError(
                f"the interval from {low!r} to {high!r} of the workload holds no cell. Leave it "
                f"out."
            )
        return int(starts[0]), int(stops[0])

    return Workload.of(workload, column.size, positions)


def _measured(
    column: Column, plan: Plan, spending: Spending, confidence: Any, rule: str = "unbiased"
) -> RangeRelease:
    """Measure all that was planned in one charge."""
    drawn = column.measure(plan.batch(column, spending), delta=spending.delta)
    return finished(column, plan, drawn, [r.cost for r in drawn], spending, confidence, rule=rule)


def finished(  # noqa: PLR0913 - every part of a release is named
    column: Column,
    plan: Plan,
    drawn: Any,
    costs: Any,
    spending: Spending,
    confidence: Any,
    *,
    rule: str = "unbiased",
    more: tuple[str, ...] = (),
    covers: str = NOISE_ONLY,
) -> RangeRelease:
    """Put what was drawn together into a release."""
    noises = plan.noises(column, spending)
    cost = accounting.compose(list(costs))
    return RangeRelease(
        line=Line.of(column),
        method=plan.method,
        measured=tuple(
            Measured(matrix, noise, tuple(int(v) for v in answer.measures[0].values))
            for matrix, noise, answer in zip(plan.strategies, noises, drawn, strict=True)
        ),
        cost=cost,
        price=accounting.price(cost, spending.delta),
        unit=column.unit,
        confidence=confidence,
        rule=rule,
        notes=(f"measured: {plan.said}", *more, *counting(column)),
        covers=covers,
        receipt=drawn[-1].receipt,
        durable=drawn[-1].durable,
    )


__all__ = ["METHODS", "Comparison", "Expected", "explain", "release"]
