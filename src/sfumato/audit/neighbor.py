"""Neighboring inputs for the mechanisms of the library, chosen where mistakes show most."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import cycle, islice
from math import ceil, exp, isqrt, log
from typing import Any, TypeAlias

from sfumato.audit.instance_inputs import blocks, bounded, graphs, medians
from sfumato.audit.quantiles_inputs import searches
from sfumato.audit.sampler_inputs import ranges, reports, samples, sparse
from sfumato.audit.selection_inputs import choices, groups, partitions, planes, spectra
from sfumato.audit.sparse_vector_inputs import sparse_vectors
from sfumato.core.errors import InputError, SensitivityError
from sfumato.core.number import Exactable
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Neighbors
from sfumato.mechanisms import (
    BoundedLocal,
    BucketPartition,
    CategoryResponse,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    GridLaplace,
    KdSplits,
    NoisyMax,
    PartitionSelection,
    PermuteAndFlip,
    PrivTree,
    ProposeTestRelease,
    Quantile,
    Quantiles,
    RandomizedResponse,
    RestrictedTriangles,
    SampleAggregate,
    Sampled,
    SmoothMedian,
    SparseHistogram,
    SparseVector,
    SpectralCut,
    StabilityHistogram,
    TopK,
    TriangleCount,
    TruncatedGeometric,
)

Inputs: TypeAlias = "tuple[Any, Any]"

_CELLS = 8  # of a vector, if one unit may touch as many
_HAIR = Fraction(1, 2**20)
_TOP = 2**63 - 1
_LARGE = 10**6
_MOST_ROWS = 10_000
_SELDOM = 0.05  # a rare event shows the whole ratio, a common one only part of it


def sensitivity_of(mechanism: Any, sensitivity: Sensitivity | Exactable) -> Sensitivity:
    """Return the sensitivity meant by a number: what one number, or one score, moves by."""
    if isinstance(sensitivity, Sensitivity):
        return sensitivity
    norms: dict[str, Any] = {"l0": 1, "l1": sensitivity}
    if isinstance(mechanism, Exponential | SparseVector | PermuteAndFlip | NoisyMax | TopK):
        norms = {"linf": sensitivity}
    stated = Sensitivity(**norms)
    try:
        mechanism.loss(stated)
    except SensitivityError:  # hides what is answered, not that there is an answer
        return Sensitivity(**norms, neighbors="replace")
    return stated


def inputs(  # noqa: PLR0912 - one case for each kind of mechanism
    mechanism: Any, sensitivity: Sensitivity
) -> list[Inputs]:
    """Return pairs of inputs that differ by no more than the sensitivity.

    Raises:
        InputError: the mechanism is not one of ours.
    """
    match mechanism:
        case DiscreteLaplace() | DiscreteGaussian():
            return list(_integers(sensitivity))
        case GridLaplace():
            return list(_reals(sensitivity, mechanism.step))
        case Exponential():
            return list(_scores(sensitivity, mechanism))
        case Quantile():
            return list(_bags(sensitivity, mechanism))
        case Quantiles():
            return list(searches(sensitivity, mechanism))
        case RandomizedResponse():
            return list(_answers(sensitivity))
        case SmoothMedian() | ProposeTestRelease():
            return list(medians(sensitivity, mechanism))
        case SampleAggregate():
            return list(blocks(sensitivity, mechanism))
        case BoundedLocal():
            return list(bounded(sensitivity, mechanism))
        case TriangleCount() | RestrictedTriangles():
            return list(graphs(sensitivity, mechanism))
        case TruncatedGeometric():
            return list(ranges(sensitivity, mechanism))
        case CategoryResponse():
            return list(reports(sensitivity, mechanism))
        case SparseHistogram():
            return list(sparse(sensitivity, mechanism))
        case Sampled():
            return list(samples(sensitivity))
        case SparseVector():
            return list(sparse_vectors(sensitivity, mechanism))
        case PermuteAndFlip() | NoisyMax() | TopK():
            return list(choices(sensitivity, mechanism))
        case StabilityHistogram() | PartitionSelection():
            return list(groups(sensitivity, mechanism))
        case BucketPartition():
            return list(partitions(sensitivity, mechanism))
        case PrivTree() | KdSplits():
            return list(planes(sensitivity, mechanism))
        case SpectralCut():
            return list(spectra(sensitivity, mechanism))
    raise InputError(
        f"{type(mechanism).__name__} is not a mechanism of this library, so neighboring inputs for "
        f"it are not known. Pass pairs=[(a, b), ...], each as the mechanism takes them."
    )


def _integers(s: Sensitivity) -> Iterator[Inputs]:
    most = s.linf or Fraction(0)
    step = ceil(most) if s.l0 == 1 else int(most)
    for base in (0, 2, _LARGE, _TOP - step):
        yield base, base + step
    if s.l0 == 1:
        return
    large, small = _greedy(s), _greedy(s, each=1)
    for moves in (large, small) if large != small else (large,):
        if len(moves) > 1:
            for signs in ((1,), (1, -1)):
                shifts = [m * sign for m, sign in zip(moves, cycle(signs), strict=False)]
                yield [10] * len(moves), [10 + shift for shift in shifts]


def _greedy(s: Sensitivity, each: int | None = None) -> list[int]:
    """Move one cell after the other by as much as the norms leave."""
    cells = _CELLS if s.l0 is None else min(_CELLS, int(s.l0))
    l1, square, moves = s.l1, s.l2_squared, list[int]()
    for _ in range(cells):
        left = [int(s.linf or 0)]
        left += [] if each is None else [each]
        left += [] if l1 is None else [int(l1)]
        left += [] if square is None else [isqrt(int(square))]
        move = min(left)
        if not move:
            break
        moves.append(move)
        l1 = None if l1 is None else l1 - move
        square = None if square is None else square - move * move
    return moves


def _reals(s: Sensitivity, step: Fraction) -> Iterator[Inputs]:
    l1, linf, cells = s.l1 or Fraction(0), s.linf or Fraction(0), int(s.l0 or 1)
    hair = min(step, linf) * _HAIR
    below = step / 2 - hair  # rounds down; a hair further it rounds up
    for base in (Fraction(0), Fraction(_LARGE), below, -below):
        yield base, base + linf
    if cells > 1:
        left, moves = l1 - cells * 2 * hair, list[Fraction]()
        for _ in range(min(cells, _CELLS)):
            moves.append(max(min(linf, left), 2 * hair))
            left -= moves[-1]
        yield [below] * len(moves), [below + move for move in moves]


def _scores(s: Sensitivity, mechanism: Exponential) -> Iterator[Inputs]:
    many, linf, step = len(mechanism.candidates), s.linf or Fraction(0), mechanism.step
    movable = many
    if s.l0 is not None:
        movable = min(movable, int(s.l0))
    if s.l1 is not None and linf:
        movable = min(movable, int(s.l1 / linf))
    one_way = mechanism.monotone and s.neighbors is Neighbors.ADD_REMOVE
    # Floored to the grid, a score just below a step gains most, one on a step loses most.
    ready = step - min(step, linf) * _HAIR
    gain = float(mechanism.rate * linf) * (1 if one_way else 2)
    for odds in (1.0, _SELDOM * exp(-min(gain, 700.0))):
        lead = _steps(log(max(many - 1, 1) * odds) / float(mechanism.rate), step)
        for rest in (Fraction(0), _LARGE * step):
            base = [rest + lead + ready, *[rest + ready * one_way] * (many - 1)]
            yield base, [base[0] + linf, *_moved(base[1:], -linf, 0 if one_way else movable - 1)]
    if one_way:
        yield base, [base[0], *_moved(base[1:], linf, movable)]


def _steps(distance: float, step: Fraction) -> Fraction:
    return round(Fraction(distance) / step) * step


def _moved(scores: list[Fraction], move: Fraction, many: int) -> list[Fraction]:
    return [score + move if i < many else score for i, score in enumerate(scores)]


def _bags(s: Sensitivity, mechanism: Quantile) -> Iterator[Inputs]:
    low, high, q, rate = mechanism.low, mechanism.high, mechanism.q, float(mechanism.rate)
    points = int((high - low) / mechanism.step) + 1
    middle, rows = low + (points // 2) * mechanism.step, int(s.l1 or 0)
    for end, other, share in ((low, high, 1 - q), (high, low, q)):
        for odds in (1.0, _SELDOM):
            # A crowd at one end that draws this share of the choices there, and outweighs `rows`.
            wanted = log(max((points - 1) * odds, 1.0)) / (rate * float(share))
            crowd = max(ceil(min(wanted, _MOST_ROWS)), ceil(rows * (1 - share) / share), rows)
            if s.neighbors is Neighbors.REPLACE:
                yield [end] * crowd, [end] * (crowd - rows) + [other] * rows
            else:
                yield [end] * crowd, [end] * crowd + [other] * rows
    mixed = [low, middle, middle, high] * max(rows, 1)
    if s.neighbors is Neighbors.REPLACE:
        yield mixed, mixed[rows:] + [high] * rows
    else:
        yield [], [middle] * rows
        yield mixed, mixed + [low] * rows


def _answers(s: Sensitivity) -> Iterator[Inputs]:
    many = int(s.l1 or 0)
    if many <= 1:
        yield True, bool(not many)
        yield [True, False], [bool(not many), False]
        return
    yield [True] * many, [False] * many
    alternating = list(islice(cycle((True, False)), many))
    yield alternating, [not answer for answer in alternating]
