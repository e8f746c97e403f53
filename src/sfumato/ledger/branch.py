"""Parts of data that one unit cannot all be in: of their charges, the largest few count."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sfumato.core.codec import canonical
from sfumato.core.errors import InputError
from sfumato.ledger.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sfumato.accounting.sums import Charge

_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)


@canonical
@dataclass(frozen=True, slots=True)
class Branch:
    """One part of a family of parts, of which one unit is in a few only.

    Charges of the same part add up. Of the parts of a family, an account counts the `width`
    largest sums, for ε, ρ and δ separately; see ``docs/theory/filter.md``.

    Attributes:
        family: the SHA-256, in hex, of all that fixes the parts: dataset, version, column,
            truncation and keys.
        key: the part, as text or as a digest.
        width: in how many parts of the family one unit can be; under `replace` neighbors, in how
            many the unit before and after can be together.

    Example:
        >>> Branch("0" * 64, "north", width=2).width
        2
    """

    family: str
    key: str
    width: int = 1

    def __post_init__(self) -> None:
        """Check the figures, because a branch is also read from a file."""
        if not (isinstance(self.family, str) and _DIGEST.fullmatch(self.family)):
            raise InputError(
                "a family of parts is named by the 64 hexadecimal digits of a digest, so that two "
                "that differ in anything never share a name. Pass core.codec.digest(...)."
            )
        if not (isinstance(self.key, str) and self.key):
            raise InputError("a part of a family is named by text. Pass its key as a string.")
        if type(self.width) is not int or self.width < 1:
            raise InputError(
                "width must be a whole number from 1 up: in how many parts one unit can be, for so "
                "many count. Pass the cap on groups of a unit, or twice that under replace."
            )


@canonical
@dataclass(frozen=True, slots=True)
class Peaks:
    """What one account holds of one family of parts.

    Attributes:
        part: the sums of one part.
        largest: of all parts, the largest Σε, Σρ and Σδ, each largest first, `width` at most.
    """

    part: Tally = field(default_factory=Tally)
    largest: tuple[tuple[int, ...], ...] = ((), (), ())

    @classmethod
    def of(cls, part: Tally, parts: Iterable[Tally], width: int) -> Peaks:
        """Choose the largest anew from the sums of all parts."""
        figures = zip(*(tally.figures for tally in parts), strict=True)
        return cls(part, tuple(_largest(column, width) for column in figures))

    def plus(self, charge: Charge, width: int) -> Peaks:
        """Return what is held after a charge of the part."""
        part = self.part.plus(charge)
        largest = []
        for held, old, new in zip(self.largest, self.part.figures, part.figures, strict=True):
            # Parts of equal sums are interchangeable, so that it matters not whose figure goes.
            others = list(held)
            if old in others:
                others.remove(old)
            largest.append(_largest([*others, new], width))
        return Peaks(part, tuple(largest))

    @property
    def counted(self) -> Tally:
        """What the account counts for the family; charges without a view, of this part alone."""
        epsilon, rho, delta = map(sum, self.largest)
        return Tally(epsilon, rho, delta, self.part.without_epsilon, self.part.without_rho)


def _largest(figures: Iterable[int], width: int) -> tuple[int, ...]:
    return tuple(sorted(filter(None, figures), reverse=True)[:width])
