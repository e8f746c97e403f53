"""How far one unit can move an answer: exact norms of the worst change."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from sfumato.core.codec import canonical
from sfumato.core.errors import SensitivityError
from sfumato.core.number import Exactable, nonnegative, show
from sfumato.core.unit import Neighbors, NeighborsName

_LIMIT = 2**62  # the largest change of one cell that the integer range of an answer allows


@canonical
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Sensitivity:
    """The norms of the worst change between neighbors, each an exact rational or None (unknown).

    Norms that follow from those given are filled in: ``l2 <= l1``, ``linf <= l2``,
    ``l1 <= l0 * linf`` and so on, whichever is smallest. `linf` is always known.

    Args:
        l0: how many cells can change.
        l1: sum of the absolute changes.
        l2: Euclidean length of the change; held as its exact square, `l2_squared`.
        linf: largest absolute change of one cell.
        neighbors: the relation between the two tables; a sensitivity under one relation says
            nothing about the other.

    Example:
        >>> Sensitivity(l0=3, linf=2)
        Sensitivity(l0=3, l1=6, l2=sqrt(12), linf=2)
    """

    l0: Fraction | None
    l1: Fraction | None
    l2_squared: Fraction | None
    linf: Fraction
    neighbors: Neighbors

    def __init__(
        self,
        *,
        l0: Exactable | None = None,
        l1: Exactable | None = None,
        l2: Exactable | None = None,
        linf: Exactable | None = None,
        l2_squared: Exactable | None = None,
        neighbors: NeighborsName | Neighbors = "add_remove",
    ) -> None:
        """Check the norms and complete them."""
        if l2 is not None and l2_squared is not None:
            raise SensitivityError("pass l2= (the norm) or l2_squared= (its square), not both.")
        if l2 is not None:
            l2_squared = nonnegative(l2, "l2") ** 2
        given = {"l0": l0, "l1": l1, "l2_squared": l2_squared, "linf": linf}
        known = {k: nonnegative(v, k) for k, v in given.items() if v is not None}
        if not known.keys() - {"l0"}:
            raise SensitivityError(
                "a sensitivity needs a bound on how far one unit can move the answer. Pass l1= for "
                "Laplace noise, l2= for Gaussian noise, or l0= with linf= for both."
            )
        if known.get("l0", Fraction(1)).denominator != 1:
            raise SensitivityError("l0 counts cells: it must be a whole number.")
        for name, value in _closure(known).items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "neighbors", Neighbors.parse(neighbors))
        if self.linf > _LIMIT:
            raise SensitivityError(
                "one unit could move one cell by more than 2^62, beyond the integer range of an "
                "answer. Declare tighter bounds or a coarser step."
            )

    @property
    def is_zero(self) -> bool:
        """Whether no unit can move the answer at all."""
        return self.linf == 0

    def __repr__(self) -> str:
        """Show the known norms."""
        parts = [f"{n}={show(v)}" for n in ("l0", "l1") if (v := getattr(self, n)) is not None]
        if self.l2_squared is not None:
            root = _exact_root(self.l2_squared)
            parts.append(
                f"l2={show(root) if root is not None else f'sqrt({show(self.l2_squared)})'}"
            )
        parts.append(f"linf={show(self.linf)}")
        if self.neighbors is not Neighbors.ADD_REMOVE:
            parts.append(f"neighbors='{self.neighbors}'")
        return f"Sensitivity({', '.join(parts)})"


def _closure(known: dict[str, Fraction]) -> dict[str, Fraction | None]:
    """Complete the norms by the inequalities that hold between them."""
    l0, l1, square, linf = (known.get(k) for k in ("l0", "l1", "l2_squared", "linf"))
    root = None if square is None else _root_up(square)
    linf = _least(linf, l1, root)
    l1 = _least(l1, None if l0 is None or linf is None else l0 * linf)
    if l0 is not None and square is not None:
        l1 = _least(l1, _root_up(l0 * square))  # Cauchy-Schwarz
    square = _least(
        square,
        None if l1 is None or linf is None else l1 * linf,  # Hoelder
        None if l0 is None or linf is None else l0 * linf * linf,
    )
    if linf == 0 or l0 == 0:
        l0 = l1 = square = linf = Fraction(0)
    return {"l0": l0, "l1": l1, "l2_squared": square, "linf": linf}


def _least(*bounds: Fraction | None) -> Fraction | None:
    return min((b for b in bounds if b is not None), default=None)


def _exact_root(square: Fraction) -> Fraction | None:
    p, q = isqrt(square.numerator), isqrt(square.denominator)
    return Fraction(p, q) if p * p == square.numerator and q * q == square.denominator else None


def _root_up(square: Fraction) -> Fraction:
    """Return the square root, rounded up by less than 2^-60 of itself; exact where rational."""
    root = _exact_root(square)
    if root is not None:
        return root
    size = square.numerator.bit_length() - square.denominator.bit_length()
    shift = 1 << max(64 - size // 2, 0)  # leaves 63 bits or more before the cut
    return Fraction(isqrt(square.numerator * shift * shift // square.denominator) + 1, shift)  # up
