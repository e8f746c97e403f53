"""Triangles of a graph, with noise scaled to a private bound of what one edge can do."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.budget import Budget
from sfumato.core.loss import Loss
from sfumato.core.number import Exactable
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Neighbors
from sfumato.mechanisms import graph
from sfumato.mechanisms.bounded import BoundedLocal, PublishedScale, fitted
from sfumato.mechanisms.laplace import LaplaceError
from sfumato.mechanisms.mechanism import Laboratory, need, need_movable, whole
from sfumato.noise import Rng

_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True, repr=False)
class TriangleCount(PublishedScale, Laboratory):
    """Count the triangles of a graph, hiding every single edge.

    One edge can be in nodes - 2 triangles, but in most graphs it is in few: no two nodes have many
    neighbors in common. That number moves by at most one with an edge, so a private bound of it is
    cheap, and noise is scaled to the bound. What is hidden is an edge, not a node with all its
    edges, and who is in the graph is public.

    Guarantee: (ε, δ)-DP with ε = k·(1/scale + 1/spread) and δ = P(N > margin - ceil((k - 1)/2)),
        where N is discrete Laplace noise of this scale, for units of l1 edges: k = l1 under
        add_remove, 2·l1 under replace.
    Theorem:   [KRSY11]; docs/theory/instance-noise.md
    Exactness: counts and noise are integers; ε rational, δ rounded up.
    Error:     discrete Laplace noise of scale spread·bound, the bound being part of the answer.

    Args:
        nodes: the public number of nodes; they are numbered from 0.
        scale: the scale of the noise on the most common neighbors of two nodes.
        margin: what is added to them, a whole number.
        spread: the scale of the noise on the count, over the bound.

    Example:
        >>> edge = Sensitivity(l1=1)
        >>> count = TriangleCount.calibrate(edge, nodes=100, epsilon=1, delta="1e-6")
        >>> noisy, bound = count([(0, 1), (1, 2), (0, 2)])
        >>> 1 <= bound <= 98
        True
    """

    takes_bag: ClassVar[bool] = True
    takes_cells: ClassVar[bool] = False

    nodes: int
    scale: Fraction
    margin: int
    spread: Fraction

    if TYPE_CHECKING:  # what is taken; the fields are what is held

        def __init__(
            self, nodes: Exactable, scale: Exactable, margin: Exactable, spread: Exactable
        ) -> None: ...

    def __post_init__(self) -> None:
        """Check the nodes and the noise."""
        object.__setattr__(self, "nodes", graph.check_nodes(self.nodes))
        inner = self._inner
        for name in ("scale", "margin", "spread"):
            object.__setattr__(self, name, getattr(inner, name))

    @classmethod
    def calibrate(
        cls,
        sensitivity: Sensitivity,
        *,
        nodes: Exactable,
        share: Exactable = _HALF,
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
    ) -> TriangleCount:
        """Return the mechanism with the least margin that fits ε and δ.

        Args:
            sensitivity: how many edges a unit may own.
            nodes: the public number of nodes.
            share: how much of ε goes into the bound.
            epsilon: the target ε.
            delta: the target δ; without it no bound holds.
            rho: refused.
        """
        need_movable(sensitivity)
        target = Budget(epsilon, delta, rho=rho)
        return cls(nodes, *fitted(_steps(sensitivity), Fraction(1), share, target))

    @property
    def _inner(self) -> BoundedLocal:
        return BoundedLocal(self.nodes - 2, self.scale, self.margin, self.spread)

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return ε of bound and count, and δ: that the bound is too low."""
        return self._inner.loss_of(_steps(sensitivity), sensitivity.neighbors)

    def error(self, sensitivity: Sensitivity) -> LaplaceError:
        """Return the law of the error at the largest bound of all."""
        return self._inner.error(sensitivity)

    def exact(self, values: Any) -> graph.Edges:
        """Take pairs of node numbers; loops, repetitions and other ends do not count."""
        return graph.edges(values, self.nodes)

    def sample(self, exact: graph.Edges, rng: Rng) -> NDArray[np.int64]:
        """Draw the bound, then the count."""
        pair = np.array(graph.triangles(exact, self.nodes), np.int64)
        return self._inner.sample(pair, rng)


def _steps(sensitivity: Sensitivity) -> Fraction:
    """Return how many edges appear or vanish; one that is replaced does both."""
    own = whole(need(sensitivity.l1, "l1", TriangleCount.__name__))
    return own * (2 if sensitivity.neighbors is Neighbors.REPLACE else 1)
