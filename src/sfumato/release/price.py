"""What a release costs, in numbers: computed where the loss is known, and carried along."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sfumato.core.codec import canonical
from sfumato.core.number import failure_probability, nonnegative, show_above


@canonical
@dataclass(frozen=True, slots=True)
class Price:
    """Figures that accounting computed from a loss, each rounded up. Not for typing in.

    Attributes:
        epsilon: ε at `delta`; None where it was not computed.
        delta: δ; 0 where the loss has an ε without exception.
        rho: ρ of concentrated DP; None where there is none.
    """

    epsilon: Fraction | None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None

    def __post_init__(self) -> None:
        """Check the figures."""
        for name in ("epsilon", "rho"):
            if (given := getattr(self, name)) is not None:
                object.__setattr__(self, name, nonnegative(given, name))
        object.__setattr__(self, "delta", failure_probability(self.delta))

    @property
    def said(self) -> str:
        """The figures that are known, as people read them, rounded up.

        Example:
            >>> Price("0.5", 0, "1/8").said
            'ε = 0.5, ρ = 0.125'
        """
        figures = {"ε": self.epsilon, "δ": self.delta or None, "ρ": self.rho}
        if self.epsilon is None:
            del figures["δ"]
        return ", ".join(f"{s} = {show_above(n)}" for s, n in figures.items() if n is not None)
