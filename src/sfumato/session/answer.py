"""From noisy parts to the answer: free, because nothing here sees data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sfumato.core.errors import InternalError
from sfumato.mechanisms import DiscreteGaussian
from sfumato.relation import Quantity
from sfumato.release.combination import Combination
from sfumato.release.error import Error, Noise
from sfumato.release.measure import Measure
from sfumato.release.multiple import Multiple, scaled
from sfumato.release.ratio import Ratio
from sfumato.release.spread import Spread
from sfumato.session.part import Part
from sfumato.session.planner import SPREADS, Wanted, squares_of, total_of


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one output is made of measured parts.

    Attributes:
        wanted: the output.
        parts: what was measured, by quantity.
        public: what nobody measured, because no unit can change it.
    """

    wanted: Wanted
    parts: Mapping[Quantity, Part]
    public: Mapping[Quantity, int]

    @property
    def step(self) -> Fraction:
        """The unit in which sums are counted."""
        return Fraction(1) if self.wanted.kind is None else self.wanted.kind.step

    @property
    def total(self) -> Part:
        """The sum that it is made of."""
        return self.parts[total_of(self.wanted, counted=self.wanted.count in self.parts)]

    @property
    def squares(self) -> Part | None:
        """The sum of squares that it is made of, if it is a variance or its root."""
        if self.wanted.output.function not in SPREADS:
            return None
        return self.parts[squares_of(self.wanted)]

    @property
    def is_public(self) -> bool:
        """Whether it is a declared number."""
        return self.wanted.output.function == "count" and self.wanted.count in self.public

    @property
    def error(self) -> Error | Ratio | Spread | None:
        """How far it may err; a `Ratio` or a `Spread` where that depends on the group's size."""
        if self.is_public:
            return None
        if self.wanted.output.function == "count":
            return self.parts[self.wanted.count].error
        counted = self.parts.get(self.wanted.count)
        noise = noise_of(self.total)
        center = self.step * self.wanted.center
        if self.wanted.output.function == "sum":
            if counted is None:
                return Multiple(self.total.error, self.step)
            return Combination(noise, noise_of(counted), a=self.step, b=center)
        if counted is None or self.wanted.kind is None:
            raise InternalError("a mean is made of a sum and a count.")
        low, high = self.wanted.kind.bounds
        if self.squares is not None:
            noises = noise_of(self.squares), noise, noise_of(counted)
            root = self.wanted.output.function == "std"
            return Spread(*noises, center, self.step, low, high, root)
        return Ratio(noise, noise_of(counted), center, self.step, low, high)

    @property
    def mechanism(self) -> str:
        """The mechanisms, as their `repr` shows them."""
        if self.is_public:
            return "declared"
        return ", ".join(dict.fromkeys(repr(part.mechanism) for part in self.used))

    @property
    def used(self) -> list[Part]:
        """The parts that it is made of."""
        found = []
        if self.wanted.output.function != "sum" or self.wanted.count in self.parts:
            found = [self.parts[self.wanted.count]] if self.wanted.count in self.parts else []
        if self.wanted.output.function == "count":
            return found
        return [*found, self.total, *([] if self.squares is None else [self.squares])]

    def measure(self, noisy: Mapping[Quantity, Sequence[int]], confidence: Fraction) -> Measure:
        """Make the output of the noisy parts."""
        name, counts = self.wanted.name, noisy.get(self.wanted.count)
        if self.is_public:
            declared = (self.public[self.wanted.count],)
            return Measure(name, declared, declared, declared, mechanism="declared", covers="exact")
        error = self.error
        if self.wanted.output.function == "count" and counts is not None:
            part = self.parts[self.wanted.count]
            return self._plain(part, counts, confidence)
        sums = noisy[self.total.query.quantity]
        if isinstance(error, Ratio):
            return error.measure(
                name, sums, counts, confidence=confidence, mechanism=self.mechanism
            )
        if isinstance(error, Spread):
            squares = noisy[squares_of(self.wanted)]
            return error.measure(
                name, squares, sums, counts, confidence=confidence, mechanism=self.mechanism
            )
        if counts is None:
            return scaled(self._plain(self.total, sums, confidence), self.step)
        if not isinstance(error, Combination):
            raise InternalError("a sum about a center is combined with its count.")
        values = error.values(sums, counts)
        if self.step.denominator == 1:
            values = values.astype(int).astype(object)
        return Measure.of(name, values, error, confidence=confidence, mechanism=self.mechanism)

    def _plain(self, part: Part, values: Sequence[int], confidence: Fraction) -> Measure:
        import numpy as np

        return Measure.of(
            self.wanted.name,
            np.array(values, np.int64),
            part.error,
            confidence=confidence,
            mechanism=repr(part.mechanism),
            scale=part.mechanism.noise_scale,
        )


def noise_of(part: Part) -> Noise:
    """Return the noise of a part."""
    scale = part.mechanism.noise_scale
    gaussian = isinstance(part.mechanism, DiscreteGaussian)
    return Noise("gaussian", scale) if gaussian else Noise("laplace", scale)
