"""Neighboring inputs for choices among candidates and for selections of groups."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil, isqrt, log
from typing import Any, TypeAlias

from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Neighbors
from sfumato.mechanisms.buckets import BucketPartition
from sfumato.mechanisms.flip import PermuteAndFlip
from sfumato.mechanisms.kd_splits import KdSplits
from sfumato.mechanisms.noisy_max import NoisyMax
from sfumato.mechanisms.partition import PartitionSelection
from sfumato.mechanisms.privtree import PrivTree
from sfumato.mechanisms.spectrum import SpectralCut
from sfumato.mechanisms.stability import StabilityHistogram
from sfumato.mechanisms.top import TopK

Inputs: TypeAlias = "tuple[Any, Any]"

_HAIR = Fraction(1, 2**20)
_MOST_GROUPS = 4
_FAR = 3  # by how many times its sharpness one candidate trails, so that its win is rare
_LARGE = 10**6


def choices(s: Sensitivity, mechanism: PermuteAndFlip | NoisyMax | TopK) -> Iterator[Inputs]:
    """Yield scores of which one rises while the others fall, level or far behind.

    Floored to the grid, a score just below a step gains most and one on a step loses most. Scores
    that only grow move one way: the one, or all the others.
    """
    many, linf, step = len(mechanism.candidates), s.linf, mechanism.step
    movable = many
    if s.l0 is not None:
        movable = min(movable, int(s.l0))
    if s.l1 is not None and linf:
        movable = min(movable, int(s.l1 / linf))
    one_way = mechanism.monotone and s.neighbors is Neighbors.ADD_REMOVE
    sharp = 1 / mechanism.scale if isinstance(mechanism, NoisyMax) else mechanism.rate
    ready = step - min(step, linf) * _HAIR
    behind = ceil((log(max(many - 1, 1)) + _FAR) / float(sharp * step)) * step
    for lead in (Fraction(0), -behind):
        first, rest = lead + ready, [ready * one_way] * (many - 1)
        yield [first, *rest], [first + linf, *_moved(rest, -linf, 0 if one_way else movable - 1)]
        if one_way:
            yield [first, *rest], [first, *_moved(rest, linf, movable)]


def _moved(scores: list[Fraction], move: Fraction, many: int) -> list[Fraction]:
    return [score + move if i < many else score for i, score in enumerate(scores)]


def groups(s: Sensitivity, mechanism: StabilityHistogram | PartitionSelection) -> Iterator[Inputs]:
    """Yield groups that one unit makes, empties, or changes where they begin to show."""
    moves, left = list[int](), s.l1
    while len(moves) < min(_MOST_GROUPS, _MOST_GROUPS if s.l0 is None else int(s.l0)):
        move = int(s.linf if left is None else min(s.linf, left))
        if move < 1:
            break
        moves.append(move)
        left = None if left is None else left - move
    names = "abcdefgh"
    made = dict(zip(names, moves, strict=False))
    yield {}, made
    yield {"z": _LARGE}, {"z": _LARGE, **made}
    shows = (
        mechanism.enough(Fraction(1, 2))
        if isinstance(mechanism, PartitionSelection)
        else mechanism.threshold
    )
    for size in (max(1, shows // 2), max(1, shows)):
        yield dict.fromkeys(made, size), {key: size + move for key, move in made.items()}
    if len(moves) > 1:
        half = len(moves) // 2
        yield (
            dict(zip(names, moves[:half], strict=False)),
            dict(zip(names[half:], moves[half:], strict=False)),
        )


def partitions(s: Sensitivity, mechanism: BucketPartition) -> Iterator[Inputs]:
    """Yield lines of counts in which one cell differs from its neighbors a little more, or less.

    Two cells that are level, and two that differ by about as much as buckets cost, so that one
    bucket and two are equally likely.
    """
    move = int(s.l1 or 0)
    near = int(mechanism.charge + mechanism.margin / mechanism.rate)
    for line in ([near, 0], [0, 0], [near, 0, 0, near], [near, near, 0, 0]):
        for cell in range(2):
            yield line, [count + move * (i == cell) for i, count in enumerate(line)]


def planes(s: Sensitivity, mechanism: PrivTree | KdSplits) -> Iterator[Inputs]:
    """Yield planes in which records come to one cell: empty ones, and near what is decided by.

    A tree is asked with counts about the threshold at every depth, so that a record tips as many
    decisions of a path as it can.
    """
    move, size = int(s.l1 or 0), mechanism.shape[0] * mechanism.shape[1]
    near = [0, 3]
    if isinstance(mechanism, PrivTree):
        near = [max(mechanism.threshold + depth * mechanism.decay, 0) for depth in range(3)]
    for count in near:
        for cell in (0, size // 2):
            first = [count * (i == cell) for i in range(size)]
            yield first, [n + move * (i == cell) for i, n in enumerate(first)]
            yield first, [n + move * (i == size - 1) for i, n in enumerate(first)]


def spectra(s: Sensitivity, mechanism: SpectralCut) -> Iterator[Inputs]:
    """Yield coefficients of which one beyond the first grows, or shrinks, as far as it can."""
    move, many = isqrt(int(s.l2_squared or 0)), len(mechanism.prices)
    for place in range(1, many):
        for base in (0, 10 * max(move, 1)):
            first = [base] * many
            yield first, [entry + move * (i == place) for i, entry in enumerate(first)]
    yield [move] * many, [0, *[move] * (many - 1)]
