"""How far a noisy answer may lie from the exact one: what every interval is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

if TYPE_CHECKING:
    from fractions import Fraction

NOISE_ONLY: Final = "noise only"
RANK: Final = "rank, noise only"

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


def quantity(covers: str) -> str | None:
    """Name what the error is measured in, or None where it is the unit of the value itself.

    Example:
        >>> quantity("rank, noise only"), quantity("noise only, before selection")
        ('rank', None)
    """
    head = covers.partition(",")[0].strip()
    return head if head in _QUANTITIES else None
