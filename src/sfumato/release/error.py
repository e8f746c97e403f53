"""How far a noisy answer may lie from the exact one: what every interval is made of."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, Protocol, get_args, runtime_checkable

from sfumato.core.codec import canonical
from sfumato.core.errors import InputError
from sfumato.core.number import positive

NOISE_ONLY: Final = "noise only"
RANK: Final = "rank, noise only"
TOGETHER: Final = "all at once"  # in `covers` of intervals that hold together
IF: Final = ", if "  # in `covers`, before what an interval takes for granted

# Quantities other than the value itself that an error may be measured in; the word comes first in
# `covers`, as in "rank, noise only".
_QUANTITIES: Final = ("rank", "score")


@runtime_checkable
class Error(Protocol):
    """The law of |noisy − exact|, known before any data is read. Mechanisms implement it.

    Attributes:
        covers: what an interval made of it covers: ``"noise only"``, or ``"rank, noise only"``
            where the distance is counted in ranks (quantiles) and not in the unit of the value.
        std: the standard deviation, or None where it is not defined or depends on the data.
    """

    @property
    def covers(self) -> str:
        """Say what an interval covers."""

    @property
    def std(self) -> float | None:
        """Return the standard deviation, where there is one that is public."""

    def halfwidth(self, confidence: Fraction) -> Fraction:
        """Return a width h, rounded up, with P(|error| > h) at most 1 − `confidence`."""


Family = Literal["laplace", "gaussian"]


@canonical
@dataclass(frozen=True, slots=True)
class Noise:
    """Integer noise, as much of it as computing with a noisy answer needs: family and scale.

    Args:
        kind: ``"laplace"``, with P(x) proportional to exp(−|x|/scale), or ``"gaussian"``, with
            P(x) proportional to exp(−x²/(2·scale²)); x is a whole number.
        scale: the scale in steps of the grid: one noisy integer is one step.

    Example:
        >>> Noise("laplace", "0.5").scale
        Fraction(1, 2)
    """

    kind: Family
    scale: Fraction

    def __post_init__(self) -> None:
        """Check the family and hold the scale as a rational."""
        if self.kind not in get_args(Family):
            raise InputError(
                f"no law is known for {self.kind!r} noise, so no interval can be computed from it. "
                f"Pass one of: {', '.join(get_args(Family))}."
            )
        object.__setattr__(self, "scale", positive(self.scale, "scale"))


def quantity(covers: str) -> str | None:
    """Name what the error is measured in, or None where it is the unit of the value itself.

    Example:
        >>> quantity("rank, noise only"), quantity("noise only, before selection")
        ('rank', None)
    """
    head = covers.partition(",")[0].strip()
    return head if head in _QUANTITIES else None
