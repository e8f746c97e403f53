"""Where an estimate comes from: found only when somebody computes with it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.release.compute import Computed
from sfumato.release.formula import Formula
from sfumato.release.opaque import Opaque
from sfumato.release.origin import Origin

if TYPE_CHECKING:
    from sfumato.release.release import Release


@dataclass(frozen=True, slots=True, eq=False)
class Whence:
    """A measure of a release, or something computed from such.

    Attributes:
        release: the release, for a measure of it.
        name: the measure's name.
        made: what was computed, otherwise.
    """

    release: Release | None
    name: str
    made: Computed | None = None

    @classmethod
    def of(cls, release: Release, name: str) -> Whence:
        """Point to a measure of a release."""
        return cls(release, name)

    @property
    def computed(self) -> Computed | None:
        """What it is made of; None for a number that somebody typed."""
        return self.made if self.release is None else computed(self.release, self.name)

    @property
    def noise(self) -> tuple[Fraction | None, Fraction]:
        """The scale of the noise in it, where it is public, and what a step of it is; 1 if none."""
        if self.release is not None:
            return self.release.measure(self.name).noise
        if isinstance(self.made, Opaque):
            return self.made.measure.noise
        return None, Fraction(1) if self.made is None else self.made.step


def computed(release: Release, name: str) -> Computed:
    """Return what a measure of a release is made of."""
    measure = release.measure(name)
    origins = origins_of(release)
    if measure.form is None:
        return Opaque(measure, release.keys, origins)
    draws = {draw.id: draw for draw in release.noisy}
    return Formula.of(measure.form, draws, len(release), release.keys, origins)


def origins_of(release: Release) -> tuple[Origin, ...]:
    """Return the paid answers behind a release: itself, unless it was computed from others.

    The same answer, loaded twice, is one origin; two answers of one receipt are two.
    """
    if release.origins:
        return release.origins
    if release.noisy:
        draws = "\0".join(sorted(draw.id for draw in release.noisy))
        print_ = hashlib.sha256(draws.encode()).hexdigest()
    else:
        print_ = release.digest
    return (
        Origin(
            f"{release.receipt or 'laboratory'}/{print_[:32]}",
            release.cost,
            release.price,
            release.unit,
            release.receipt,
            release.durable,
        ),
    )
