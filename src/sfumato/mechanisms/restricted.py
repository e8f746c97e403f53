"""Triangles by restricted sensitivity: noise for graphs of bounded degree, private for all."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.budget import Budget
from sfumato.core.errors import RangeError
from sfumato.core.loss import Loss
from sfumato.core.number import Exactable, exact, positive, show
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Neighbors
from sfumato.mechanisms import graph, saturation
from sfumato.mechanisms.laplace import LaplaceError, laplace_loss
from sfumato.mechanisms.mechanism import Laboratory, least_noise, need, need_movable, whole
from sfumato.noise import Laplace, Rng, draw


@dataclass(frozen=True, slots=True, repr=False)
class RestrictedTriangles(Laboratory):
    """Count the triangles of a graph as if no node had more than `degree` edges.

    Where that is true the count is right but for the noise, which is that of graphs of this degree.
    Where it is not, edges beyond the first `degree` at either of their ends do not count, and the
    guarantee holds all the same. What is hidden is an edge, not a node with all its edges.

    Guarantee: discrete Laplace noise of this scale on a whole number that a unit of l1 edges moves
        by at most 2·(degree - 1)·l1 under add_remove and 3·(degree - 1)·l1 under replace.
    Theorem:   [BBDS13]; docs/theory/instance-noise.md
    Exactness: counts and noise are integers, exactly this law; ε rational.
    Error:     that of the noise, where no node has more than `degree` edges.

    Args:
        nodes: the public number of nodes; they are numbered from 0.
        degree: how many edges of a node count, from 2 on; chosen without looking at the data.
        scale: the scale of the noise.

    Example:
        >>> edge = Sensitivity(l1=1)
        >>> count = RestrictedTriangles.calibrate(edge, nodes=100, degree=5, epsilon=1)
        >>> count.scale
        Fraction(8, 1)
    """

    takes_bag: ClassVar[bool] = True
    takes_cells: ClassVar[bool] = False

    nodes: int
    degree: int
    scale: Fraction

    if TYPE_CHECKING:  # what is taken; the fields are what is held

        def __init__(self, nodes: Exactable, degree: Exactable, scale: Exactable) -> None: ...

    def __post_init__(self) -> None:
        """Check the nodes, the degree and the scale."""
        object.__setattr__(self, "nodes", graph.check_nodes(self.nodes))
        degree = exact(self.degree, "degree")
        if degree.denominator != 1 or not 2 <= degree < self.nodes:
            raise RangeError(
                f"degree = {show(degree)} must be a whole number from 2 to one below the number of "
                f"nodes: with one edge there is no triangle, and nobody has more."
            )
        object.__setattr__(self, "degree", int(degree))
        object.__setattr__(self, "scale", positive(self.scale, "scale"))
        Laplace(self.scale)

    @classmethod
    def calibrate(
        cls,
        sensitivity: Sensitivity,
        *,
        nodes: Exactable,
        degree: Exactable,
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
    ) -> RestrictedTriangles:
        """Return the mechanism with the least noise whose loss fits the target."""
        target = Budget(epsilon, delta, rho=rho)
        need_movable(sensitivity)
        unit = cls(nodes, degree, 1)
        if target.epsilon is not None:
            return cls(unit.nodes, unit.degree, unit._shift(sensitivity) / target.epsilon)
        return cls(
            unit.nodes,
            unit.degree,
            least_noise(lambda t: cls(unit.nodes, unit.degree, t).loss(sensitivity), target),
        )

    def _shift(self, sensitivity: Sensitivity) -> Fraction:
        """Return how far one unit moves the count."""
        own = whole(need(sensitivity.l1, "l1", type(self).__name__))
        # One edge more brings degree - 1 triangles and pushes out two edges with as many each; a
        # replaced one does so once in each direction.
        times = 3 if sensitivity.neighbors is Neighbors.REPLACE else 2
        return own * times * (self.degree - 1)

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return the loss of the discrete law at the shift that one unit can cause."""
        shift = self._shift(sensitivity)
        return laplace_loss(shift, shift, self.scale, sensitivity.neighbors)

    def error(self, sensitivity: Sensitivity) -> LaplaceError:  # noqa: ARG002 - noise is additive
        """Return the law of the error on graphs of this degree."""
        covers = f"noise only, where no node has more than {self.degree} edges"
        return LaplaceError(self.scale, Fraction(1), covers)

    def exact(self, values: Any) -> graph.Edges:
        """Take pairs of node numbers; loops, repetitions and other ends do not count."""
        return graph.edges(values, self.nodes)

    def cells(self, exact: graph.Edges) -> tuple[int, ...]:  # noqa: ARG002
        """Return the shape of one count."""
        return ()

    def sample(self, exact: graph.Edges, rng: Rng) -> NDArray[np.int64]:
        """Cut the degrees, count and add noise."""
        kept = graph.bounded_degree(exact, self.nodes, self.degree)
        count = np.array(graph.triangles(kept, self.nodes)[0], np.int64)
        return saturation.add(count, draw(Laplace(self.scale), 1, rng))

    @property
    def noise_scale(self) -> Fraction:
        """The scale."""
        return self.scale
