"""Public hashes of whole numbers: the same in numpy and in the engine that reads the data."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from sfumato.core.codec import canonical
from sfumato.core.errors import InputError
from sfumato.relation.expr import Call, Constant, Expr

Integers = NDArray[np.int64]

PRIME = 2**31 - 1
_TERMS = 4  # coefficients: any four values are placed independently of each other


@canonical
@dataclass(frozen=True, slots=True)
class Hash:
    """Two polynomials over the field of 2^31 - 1 elements, one for places and one for signs.

    With four coefficients each, any four values fall independently, so that also the squares of
    sums are near their means; values in a row or in steps of ten are no worse than others. All
    steps stay below 2^63: every engine computes them exactly.

    Attributes:
        width: how many places there are.
        places: the coefficients of the first, from the highest power down.
        signs: those of the second.
    """

    width: int
    places: tuple[int, ...]
    signs: tuple[int, ...]

    def __post_init__(self) -> None:
        """Check the numbers."""
        both = (*self.places, *self.signs)
        if len(both) != 2 * _TERMS or any(not 0 <= c < PRIME for c in both) or self.width < 1:
            raise InputError("a hash has a width from 1 on and coefficients from 0 to 2^31 - 2.")

    @classmethod
    def named(cls, width: int, seed: int, place: int) -> Hash:
        """Return the hash that a seed and a number name; its coefficients come from SHA-256."""

        def drawn(what: str) -> tuple[int, ...]:
            texts = (f"sketch {seed} {place} {what} {i}" for i in range(_TERMS))
            return tuple(
                int.from_bytes(sha256(text.encode()).digest()[:16], "big") % PRIME for text in texts
            )

        return cls(width, drawn("place"), drawn("sign"))

    def cells(self, values: Integers) -> Integers:
        """Return 2·place, and one more where the sign is negative, of values from 0 on."""
        return _of(self.places, values) % self.width * 2 + _of(self.signs, values) % 2

    def expression(self, value: Expr) -> Expr:
        """Return the same, for an engine to compute.

        Args:
            value: from 0 on, and below `PRIME`.
        """
        place = Call("%", (_written(self.places, value), Constant(self.width)))
        sign = Call("%", (_written(self.signs, value), Constant(2)))
        return Call("+", (Call("*", (place, Constant(2))), sign))


def _of(coefficients: tuple[int, ...], values: Integers) -> Integers:
    out = np.full(values.shape, coefficients[0], np.int64)
    for coefficient in coefficients[1:]:
        out = (out * values + coefficient) % PRIME
    return out


def _written(coefficients: tuple[int, ...], value: Expr) -> Expr:
    out: Expr = Constant(coefficients[0])
    for coefficient in coefficients[1:]:
        more = Call("+", (Call("*", (out, value)), Constant(coefficient)))
        out = Call("%", (more, Constant(PRIME)))
    return out
