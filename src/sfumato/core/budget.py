"""A limit on privacy loss: ε, (ε, δ) or ρ."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sfumato.core.codec import canonical
from sfumato.core.errors import CostError
from sfumato.core.number import Exactable, failure_probability, positive, show


@canonical
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Budget:
    """A limit: ε-DP, (ε, δ)-DP or ρ-zCDP.

    Args:
        epsilon: the limit ε; with `delta` it is an (ε, δ) limit.
        delta: the failure probability; 0 unless passed.
        rho: the limit ρ of zero-concentrated DP, instead of ε.

    Example:
        >>> Budget(epsilon=4, delta="1e-6")
        Budget(epsilon=4, delta=1e-06)
    """

    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction | None

    def __init__(
        self,
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        *,
        rho: Exactable | None = None,
    ) -> None:
        """Check the numbers; a budget of zero or without limit is refused."""
        if (epsilon is None) == (rho is None):
            raise CostError(
                "a cost or a limit is either epsilon= (with delta= if you like) or rho=, one of "
                "the two. Pass epsilon=1, or epsilon=1 with delta='1e-6', or rho='0.5'."
            )
        checked_delta = failure_probability(delta)
        if rho is not None and checked_delta:
            raise CostError(
                "a budget in rho= is a limit by itself; delta= belongs to epsilon=. "
                "Drop delta=, or pass Budget(epsilon=..., delta=...)."
            )
        object.__setattr__(
            self, "epsilon", None if epsilon is None else positive(epsilon, "epsilon")
        )
        object.__setattr__(self, "delta", checked_delta)
        object.__setattr__(self, "rho", None if rho is None else positive(rho, "rho"))

    def __repr__(self) -> str:
        """Show the limit."""
        if self.epsilon is None:
            return f"Budget(rho={show(self.rho or Fraction(0))})"
        tail = f", delta={show(self.delta)}" if self.delta else ""
        return f"Budget(epsilon={show(self.epsilon)}{tail})"
