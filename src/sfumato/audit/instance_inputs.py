"""Neighboring inputs for mechanisms whose noise follows the data, where it changes most."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, TypeAlias

from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Neighbors
from sfumato.mechanisms.aggregate import SampleAggregate
from sfumato.mechanisms.bounded import BoundedLocal
from sfumato.mechanisms.propose import ProposeTestRelease
from sfumato.mechanisms.restricted import RestrictedTriangles
from sfumato.mechanisms.smooth import SmoothMedian
from sfumato.mechanisms.triangles import TriangleCount

Inputs: TypeAlias = "tuple[Any, Any]"

_FEW_NODES = 12
_MOST_ROWS = 10_000


def medians(s: Sensitivity, mechanism: SmoothMedian | ProposeTestRelease) -> Iterator[Inputs]:
    """Yield bags whose median jumps, whose scale changes, or that are about to pass the test."""
    low, high, rows = mechanism.low, mechanism.high, int(s.l1 or 0)
    middle = low + (high - low) // mechanism.step // 2 * mechanism.step
    few = 5 * rows
    close = few
    if isinstance(mechanism, ProposeTestRelease):
        close = min(2 * mechanism.threshold, _MOST_ROWS)  # as likely as not to pass
    for a, b, crowd in ((low, high, rows), (middle, high, few), (high, low, few)):
        if s.neighbors is Neighbors.REPLACE:
            yield [a] * (crowd + rows) + [b] * crowd, [a] * crowd + [b] * (crowd + rows)
        else:
            yield [a] * crowd + [b] * crowd, [a] * crowd + [b] * (crowd + rows)
    for a, b in ((low, high), (middle, high)):
        if s.neighbors is Neighbors.REPLACE:
            yield [a] * (close + rows), [a] * close + [b] * rows
        else:
            yield [a] * close, [a] * close + [b] * rows


def blocks(s: Sensitivity, mechanism: SampleAggregate) -> Iterator[Inputs]:
    """Yield rows of one end of the range, of which a few are of the other."""
    low, high, rows = mechanism.low, mechanism.high, int(s.l1 or 0)
    many = min(2 * mechanism.blocks, _MOST_ROWS)
    for a, b in ((low, high), (high, low)):
        if s.neighbors is Neighbors.REPLACE:
            yield [a] * (many + rows), [a] * many + [b] * rows
            yield [a] * rows, [b] * rows
        else:
            yield [a] * many, [a] * many + [b] * rows
            yield [], [b] * rows


def bounded(s: Sensitivity, mechanism: BoundedLocal) -> Iterator[Inputs]:
    """Yield values that move by their local sensitivity at every step, while it moves too."""
    steps, most, change = int(s.l1 or 0), mechanism.most, mechanism.change
    yield [0, most], [steps * most, most]
    for start in (0, 1, 10 * change):
        local, value = [min(start, most)], 100
        for _ in range(steps):
            local.append(min(local[-1] + change, most))
            value += local[-2]  # no neighbor lies further away than its own allows
        yield [100, local[0]], [value, local[-1]]
        yield [100, local[-1]], [200 - value, local[0]]


def graphs(s: Sensitivity, mechanism: TriangleCount | RestrictedTriangles) -> Iterator[Inputs]:
    """Yield two hubs without and with the edge between them, and graphs that lose an edge."""
    nodes, own = min(mechanism.nodes, _FEW_NODES), int(s.l1 or 0)
    hubs = [(end, other) for other in range(2, nodes) for end in (0, 1)]
    complete = list(combinations(range(nodes), 2))
    for more in (hubs, complete):
        absent = [edge for edge in complete if edge not in more] or complete
        changed = absent[:own]
        kept = [edge for edge in more if edge not in changed]
        if s.neighbors is Neighbors.REPLACE:
            gone = kept[-len(changed) :]
            rest = [edge for edge in kept if edge not in gone]
            yield rest + gone, rest + changed
        else:
            yield kept, kept + changed
    yield [], complete[: 0 if s.neighbors is Neighbors.REPLACE else own]
