"""Hypothesis strategies for the values of sfumato; needs the extra ``testing``.

>>> from hypothesis import given
>>> from sfumato.testing import strategies
>>> @given(strategies.losses())
... def test_composition_is_never_cheaper(loss): ...
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from sfumato import mechanisms
from sfumato.core.budget import Budget
from sfumato.core.loss import (
    Approximate,
    BoundedRange,
    Composed,
    Concentrated,
    GaussianShift,
    GaussianTradeoff,
    LaplaceShift,
    LaplaceTradeoff,
    Loss,
    PoissonSampled,
    Pure,
)
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Neighbors, Unit

NAMES = st.text(min_size=1, max_size=8).filter(lambda text: text.isprintable())


def numbers(low: str = "1/1000", high: str = "1000") -> st.SearchStrategy[Fraction]:
    """Exact positive numbers in a range, with denominators up to 1000."""
    return st.fractions(Fraction(low), Fraction(high), max_denominator=1000)


def deltas() -> st.SearchStrategy[Fraction]:
    """Failure probabilities from 10^-12 to 10^-2."""
    return st.integers(2, 12).map(lambda digits: Fraction(1, 10**digits))


def neighbors() -> st.SearchStrategy[Neighbors]:
    """Both neighbor relations."""
    return st.sampled_from(Neighbors)


@st.composite
def units(
    draw: st.DrawFn,
    columns: st.SearchStrategy[str] = NAMES,
    *,
    most: int = 1000,
) -> Unit:
    """Every kind of privacy unit: rows, or named by a column with every legal choice of caps.

    Args:
        draw: given by hypothesis.
        columns: what the column that names the unit may be called.
        most: the largest cap.
    """
    relation: Any = draw(neighbors())
    caps = st.integers(1, most)
    match draw(st.sampled_from(["row", "rows", *_CAPS])):
        case "row":
            return Unit.row(relation)
        case "rows":
            return Unit.rows(draw(caps), relation)
        case chosen:
            given = {name: draw(caps) for name in chosen}
            return Unit.by(draw(columns), **given, neighbors=relation)


_CAPS = (
    ("max_rows",),
    ("max_rows", "max_groups"),
    ("max_rows", "max_rows_per_group"),
    ("max_groups", "max_rows_per_group"),
    ("max_rows", "max_groups", "max_rows_per_group"),
)


@st.composite
def budgets(draw: st.DrawFn) -> Budget:
    """Pure, approximate and concentrated limits."""
    limit = draw(numbers())
    match draw(st.sampled_from(["epsilon", "delta", "rho"])):
        case "epsilon":
            return Budget(limit)
        case "delta":
            return Budget(limit, draw(deltas()))
    return Budget(rho=limit)


@st.composite
def sensitivities(draw: st.DrawFn, relation: Neighbors | None = None) -> Sensitivity:
    """Sensitivities of integer answers, every norm known."""
    held: Neighbors = draw(neighbors()) if relation is None else relation
    return Sensitivity(l0=draw(st.integers(1, 5)), linf=draw(st.integers(1, 50)), neighbors=held)


@st.composite
def losses(draw: st.DrawFn, relation: Neighbors | None = None) -> Loss:
    """Losses of every class, alone and composed, under one neighbor relation."""
    held = {"neighbors": relation or draw(neighbors())}
    whole = st.integers(1, 20).map(Fraction)

    def one() -> Loss:
        match draw(st.integers(0, 8)):
            case 0:
                return Pure(draw(numbers(high="10")), **held)
            case 1:
                return Approximate(draw(numbers(high="10")), draw(deltas()), **held)
            case 2:
                return Concentrated(draw(numbers(high="10")), **held)
            case 3:
                return BoundedRange(draw(numbers(high="10")), **held)
            case 4:
                linf = draw(whole)
                return LaplaceShift(draw(numbers("1/2")), linf * draw(whole), linf, **held)
            case 5:
                return LaplaceTradeoff(draw(numbers(high="10")), **held)
            case 6:
                return GaussianTradeoff(draw(numbers(high="10")), **held)
            case 7 if held["neighbors"] is Neighbors.ADD_REMOVE:
                inner = draw(
                    st.sampled_from([Pure, LaplaceTradeoff, GaussianTradeoff, Concentrated])
                )
                return PoissonSampled(inner(draw(numbers(high="10"))), draw(deltas()))
        shift = draw(whole)
        return GaussianShift(draw(numbers("1/2")), shift**2, draw(st.booleans()), **held)

    parts = [one() for _ in range(draw(st.integers(1, 3)))]
    return Composed.of(parts, times=draw(st.integers(1, 4)))


def integer_mechanisms() -> st.SearchStrategy[Any]:
    """Mechanisms that add noise to whole numbers."""
    return st.one_of(
        numbers("1/4").map(mechanisms.DiscreteLaplace),
        numbers("1/4").map(mechanisms.DiscreteGaussian),
    )


def all_mechanisms() -> st.SearchStrategy[Any]:
    """Mechanisms of every kind that is registered."""
    rates = numbers("1/100", "10")
    return st.one_of(
        integer_mechanisms(),
        st.builds(mechanisms.GridLaplace, numbers("1", "100"), numbers("1/10", "1")),
        st.builds(mechanisms.Exponential, st.just(("a", "b", "c")), rates),
        st.builds(
            mechanisms.Quantile,
            st.fractions(Fraction(1, 10), Fraction(9, 10), max_denominator=10),
            st.just(0),
            st.integers(1, 100),
            st.just(1),
            rates,
        ),
        st.builds(
            mechanisms.Quantiles,
            st.lists(
                st.tuples(st.fractions(0, 1, max_denominator=10), st.integers(-50, 50)),
                min_size=1,
                max_size=6,
            ),
            st.just(0),
            st.integers(1, 100),
            st.just(1),
            rates,
        ),
        st.builds(mechanisms.BucketPartition, rates, st.integers(0, 5)),
        st.builds(mechanisms.PrivTree, st.just((4, 2)), numbers("1/10", "100"), st.integers(1, 40)),
        st.builds(mechanisms.KdSplits, st.just((4, 2)), st.integers(1, 3), rates),
        st.builds(mechanisms.SpectralCut, st.just((0, 5, 10)), rates),
        st.builds(mechanisms.PermuteAndFlip, st.just(("a", "b", "c")), rates),
        st.builds(mechanisms.NoisyMax, st.just(("a", "b", "c")), numbers("1/10", "100")),
        st.builds(mechanisms.TopK, st.just(("a", "b", "c")), st.integers(1, 3), rates),
        # So that one unit in five groups, fifty times in each, stays within δ = 10^-6.
        st.builds(mechanisms.StabilityHistogram, numbers("1/2", "10"), st.integers(10**3, 10**4)),
        st.builds(
            mechanisms.PartitionSelection, numbers("1/100", "1/10"), st.just(Fraction(1, 10**15))
        ),
        rates.map(mechanisms.RandomizedResponse),
        st.builds(
            mechanisms.SmoothMedian,
            st.just(0),
            st.integers(1, 100),
            st.just(1),
            rates,
            rates,
            st.just("student"),
        ),
        st.builds(
            mechanisms.SmoothMedian,
            st.just(0),
            st.integers(1, 100),
            st.just(1),
            numbers("1/1000", "1/100"),
            rates,
            st.just("laplace"),
            st.just(Fraction(1, 10**9)),
        ),
        # Thresholds and margins that leave δ within 10^-6 for units of many rows.
        st.builds(
            mechanisms.ProposeTestRelease,
            st.just(0),
            st.integers(10, 100),
            st.just(1),
            st.integers(1, 9),
            numbers("1/2", "10"),
            st.integers(1000, 5000),
            numbers("1/2", "10"),
        ),
        st.builds(
            mechanisms.BoundedLocal,
            st.integers(1, 1000),
            numbers("1/2", "10"),
            st.integers(1000, 5000),
            numbers("1/2", "10"),
            st.integers(1, 3),
        ),
        st.builds(
            mechanisms.TriangleCount,
            st.integers(3, 100),
            numbers("1/2", "10"),
            st.integers(1000, 5000),
            numbers("1/2", "10"),
        ),
        st.builds(
            mechanisms.RestrictedTriangles, st.integers(11, 100), st.integers(2, 10), numbers("1/2")
        ),
        st.builds(
            mechanisms.SampleAggregate,
            st.just(max),
            st.integers(2, 10),
            st.just(0),
            st.integers(1, 100),
            st.just(1),
            rates,
            st.sampled_from(["mean", "median", "winsorized"]),
            st.integers(1, 2),
        ),
        st.builds(mechanisms.CategoryResponse, st.just(("a", "b", "c")), rates),
        st.builds(
            mechanisms.TruncatedGeometric, numbers("1/4"), st.integers(-50, 0), st.integers(1, 50)
        ),
        # Thresholds that hardly any empty cell passes, whatever the scale.
        st.builds(
            mechanisms.SparseHistogram,
            numbers("1/4", "100"),
            st.integers(5000, 10_000),
            st.integers(1, 2**40),
        ),
        st.builds(
            mechanisms.Sampled,
            integer_mechanisms(),
            st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=100),
        ),
        st.builds(
            mechanisms.SparseVector,
            st.integers(-50, 50),
            numbers("1/4"),
            numbers("1/4"),
            st.integers(1, 5),
            st.booleans(),
            st.booleans(),
        ),
    )
