"""From noisy parts to the answer: free, because nothing here sees data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np

from sfumato.core.errors import InternalError
from sfumato.mechanisms import StabilityHistogram
from sfumato.relation import Quantity
from sfumato.relation.kind import Number, value
from sfumato.release.combination import Combination
from sfumato.release.error import IF, NOISE_ONLY, Error, Noise
from sfumato.release.form import Form
from sfumato.release.measure import Kind, Measure
from sfumato.release.multiple import Multiple, scaled
from sfumato.release.ratio import Ratio
from sfumato.release.saturation import FARTHEST, Open, joined, opened, reached
from sfumato.release.spread import Spread
from sfumato.session.part import Part
from sfumato.session.wanted import SPREADS, Wanted

COUNTS = ("count", "count_distinct")


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
        return self.wanted.kind.step if isinstance(self.wanted.kind, Number) else Fraction(1)

    @property
    def total(self) -> Part:
        """The sum that it is made of."""
        return self.parts[self._total]

    @property
    def _total(self) -> Quantity:
        """The sum: from the middle of its range, if it was measured so."""
        return self.wanted.total(counted=self._is_centered)

    @property
    def squares(self) -> Part | None:
        """The sum of squares that it is made of, if it is a variance or its root."""
        if self.wanted.function not in SPREADS:
            return None
        return self.parts[self.wanted.squares]

    @property
    def _is_centered(self) -> bool:
        """Whether its sum was measured from the middle of its range, beside a count."""
        return self.wanted.count in self.parts and self.wanted.total(counted=True) in self.parts

    @property
    def is_public(self) -> bool:
        """Whether it is a declared number."""
        return self.wanted.function in COUNTS and self.wanted.count in self.public

    @property
    def error(self) -> Error | Ratio | Spread | None:
        """How far it may err; a `Ratio` or a `Spread` where that depends on the group's size."""
        if self.is_public:
            return None
        if self.wanted.function in COUNTS:
            return self.parts[self.wanted.count].error
        counted = self.parts.get(self.wanted.count)
        noise = noise_of(self.total)
        center = self.step * self.wanted.center
        if self.wanted.function == "sum":
            if counted is None or not self._is_centered:
                return Multiple(self.total.error, self.step)
            return Combination(noise, noise_of(counted), a=self.step, b=center)
        if counted is None or not isinstance(self.wanted.kind, Number):
            raise InternalError("a mean is made of a sum and a count.")
        low, high = self.wanted.kind.bounds
        if self.squares is not None:
            noises = noise_of(self.squares), noise, noise_of(counted)
            root = self.wanted.function == "std"
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
        if self.wanted.function != "sum" or self._is_centered:
            found = [self.parts[self.wanted.count]] if self.wanted.count in self.parts else []
        if self.wanted.function in COUNTS:
            return found
        return [*found, self.total, *([] if self.squares is None else [self.squares])]

    def measure(self, noisy: Mapping[Quantity, Sequence[int]], confidence: Fraction) -> Measure:
        """Make the output of the noisy parts; open where a total may have been cut."""
        made = self._measure(noisy, confidence)
        return opened(made, self.open(noisy, confidence), *self._farthest)

    def open(self, noisy: Mapping[Quantity, Sequence[int]], confidence: Fraction) -> Open:
        """Return which intervals are open: of a mean or a variance, on both sides or neither."""
        weights = self._weights
        terms = [(w, noisy[q], noise_of(self.parts[q])) for q, w in weights.items()]
        found = joined(terms, float(1 - confidence))
        if self.wanted.function in (*COUNTS, "sum"):
            return found
        return Open(found.either, found.either)

    @property
    def _weights(self) -> dict[Quantity, Fraction]:
        """What each noisy part counts in it; of a mean or a variance, anything."""
        if self.is_public:
            return {}
        if self.wanted.function in COUNTS:
            return {self.wanted.count: Fraction(1)}
        found: dict[Quantity, Fraction] = {self._total: self.step}
        if self.wanted.function != "sum" or self._is_centered:
            found[self.wanted.count] = self.step * self.wanted.center
        if self.squares is not None:
            found[self.wanted.squares] = self.step
        return {quantity: weight for quantity, weight in found.items() if quantity in self.parts}

    @property
    def _farthest(self) -> tuple[Fraction, Fraction]:
        """The least and the largest that it can be, whatever the table."""
        kind = self.wanted.kind
        if self.wanted.function in (*COUNTS, "sum") or not isinstance(kind, Number):
            far = FARTHEST * sum(map(abs, self._weights.values()), Fraction(0))
            return -far, far
        low, high = kind.bounds
        if self.squares is None:
            return low, high
        half = (high - low) / 2
        return Fraction(0), half if self.wanted.function == "std" else half * half

    def _measure(self, noisy: Mapping[Quantity, Sequence[int]], confidence: Fraction) -> Measure:
        name, counts = self.wanted.name, noisy.get(self.wanted.count)
        if self.is_public:
            declared = (self.public[self.wanted.count],)
            return Measure(name, declared, declared, declared, mechanism="declared", covers="exact")
        error = self.error
        if self.wanted.function in COUNTS and counts is not None:
            part = self.parts[self.wanted.count]
            return self._plain(part, counts, confidence)
        sums = noisy[self._total]
        if isinstance(error, Ratio):
            return error.measure(
                name, sums, counts, confidence=confidence, mechanism=self.mechanism
            )
        if isinstance(error, Spread):
            squares = noisy[self.wanted.squares]
            return error.measure(
                name, squares, sums, counts, confidence=confidence, mechanism=self.mechanism
            )
        if counts is None or not self._is_centered:
            return scaled(self._plain(self.total, sums, confidence), self.step)
        if not isinstance(error, Combination):
            raise InternalError("a sum about a center is combined with its count.")
        values = error.values(sums, counts)
        if self.step.denominator == 1:
            # One by one: a total may be beyond 64 bits, though each of its parts is not.
            values = np.frompyfunc(int, 1, 1)(values)
        return Measure.of(name, values, error, confidence=confidence, mechanism=self.mechanism)

    def form(self, draws: Mapping[Part, str]) -> Form | None:
        """Say what it is made of, for computing with it; None where that is not possible.

        Args:
            draws: the ids of the parts.
        """
        if self.is_public:
            return Form.exact(self.public[self.wanted.count])
        if self.wanted.function in COUNTS:
            return Form.linear({draws[self.parts[self.wanted.count]]: 1})
        if self.squares is not None:
            return None
        center, total = self.step * self.wanted.center, draws[self.total]
        if self.wanted.function == "sum":
            if not self._is_centered:
                return Form.linear({total: self.step})
            return Form.linear({total: self.step, draws[self.parts[self.wanted.count]]: center})
        if not isinstance(self.wanted.kind, Number):
            raise InternalError("a mean is one of numbers.")
        low, high = self.wanted.kind.bounds
        counts = draws[self.parts[self.wanted.count]]
        return Form.mean(total, counts, center=center, step=self.step, low=low, high=high)

    def _plain(self, part: Part, values: Sequence[int], confidence: Fraction) -> Measure:
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
    if isinstance(part.mechanism, StabilityHistogram):
        return Noise(part.mechanism.noise, part.mechanism.scale)
    noise: Noise = part.mechanism.law
    return noise


@dataclass(frozen=True, slots=True)
class Single:
    """How an output is made of one part of its own: different values, sums clamped by unit.

    Attributes:
        wanted: the output.
        part: what was measured for it.
    """

    wanted: Wanted
    part: Part

    @property
    def _step(self) -> Fraction:
        kind = self.wanted.kind
        return kind.step if isinstance(kind, Number) else Fraction(1)

    @property
    def error(self) -> Error:
        """How far it may err."""
        return Multiple(self.part.error, self._step)

    @property
    def mechanism(self) -> str:
        """The mechanism, as its `repr` shows it."""
        return repr(self.part.mechanism)

    @property
    def used(self) -> list[Part]:
        """The part that it is made of."""
        return [self.part]

    def measure(self, values: Sequence[int], confidence: Fraction) -> Measure:
        """Make the output of the noisy numbers; open where a total may have been cut."""
        steps = Measure.of(
            self.wanted.name,
            np.array(values, np.int64),
            self.part.error,
            confidence=confidence,
            mechanism=self.mechanism,
            scale=self.part.mechanism.noise_scale,
        )
        marks = self.open(values, confidence)
        return scaled(opened(steps, marks, -FARTHEST, FARTHEST), self._step)

    def open(self, values: Sequence[int], confidence: Fraction) -> Open:
        """Return which intervals are open."""
        return reached(values, noise_of(self.part), float(1 - confidence))

    def form(self, draws: Mapping[Part, str]) -> Form | None:
        """Say what it is made of, for computing with it."""
        return Form.linear({draws[self.part]: self._step})


@dataclass(frozen=True, slots=True)
class Shifted:
    """How far the rank of a value may be from an end, if it was sought so many ranks inside."""

    error: Error
    offset: Fraction

    @property
    def covers(self) -> str:
        """What it covers: the same."""
        return self.error.covers

    @property
    def std(self) -> float | None:
        """None that is public."""
        return None

    def halfwidth(self, confidence: Fraction) -> Fraction:
        """Return how many values may lie beyond it, at most."""
        return self.error.halfwidth(confidence) + self.offset


@dataclass(frozen=True, slots=True)
class Ranked:
    """How an output is made of values that were found in a bag.

    Attributes:
        wanted: the output.
        sought: what it is made of: the part that found the value, and which of those found it is;
            then those that found the ends of its interval, if it was bought.
    """

    wanted: Wanted
    sought: tuple[tuple[Part, int], ...]

    @property
    def error(self) -> Error:
        """How far its rank may be off."""
        part, place = self.sought[0]
        error: Error = part.mechanism.errors(part.sensitivity)[place]
        offset = abs(part.mechanism.targets[place][1])
        return Shifted(error, offset) if offset else error

    @property
    def mechanism(self) -> str:
        """The mechanism, as its `repr` shows it."""
        return repr(self.sought[0][0].mechanism)

    @property
    def used(self) -> list[Part]:
        """The parts that it is made of."""
        return list(dict.fromkeys(part for part, _ in self.sought))

    @property
    def least(self) -> int:
        """How many values a group needs for the interval that was bought to hold."""
        (q,) = self.wanted.output.ranks
        offsets = [Fraction(part.mechanism.targets[place][1]) for part, place in self.sought]
        return ceil(max(map(abs, offsets)) / min(q, 1 - q))

    def form(self, draws: Mapping[Part, str]) -> Form | None:  # noqa: ARG002 - as the others
        """A value that was found is made of nothing that one can compute with."""
        return None

    def measure(self, found: Sequence[Sequence[int]], confidence: Fraction) -> Measure:
        """Make the output of the codes that were found: values, then the ends of intervals."""
        kind = self.wanted.kind
        if kind is None:
            raise InternalError("a quantile is one of values that have an order.")
        # A search needs two values to choose from, and a constant has one.
        found = [[min(code, kind.high) for code in column] for column in found]
        if len(found) == 1:
            values = np.array([value(kind, code) for code in found[0]], np.object_)
            return Measure.of(
                self.wanted.name,
                values,
                self.error,
                confidence=confidence,
                mechanism=self.mechanism,
            )
        if not isinstance(kind, Number):
            raise InternalError("an interval is bought of numbers.")
        middle, low, high = found
        ends = [  # widened where the search for the value went beyond one for an end
            (min(a, m), m, max(b, m)) for m, a, b in zip(middle, low, high, strict=True)
        ]
        shown = [tuple(kind.step * code for code in column) for column in zip(*ends, strict=True)]
        lows, values_, highs = shown or ((), (), ())
        form: Kind = "integer" if kind.step.denominator == 1 else "rational"
        covers = f"{NOISE_ONLY}{IF}there are {self.least:,} values or more"
        return Measure(
            self.wanted.name,
            values_,
            lows,
            highs,
            covers=covers,
            mechanism=self.mechanism,
            kind=form,
        )
