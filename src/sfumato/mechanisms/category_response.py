"""Randomized response among several answers: each person's own coin protects a category."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting.price import price
from sfumato.core.budget import Budget
from sfumato.core.errors import CandidateError, DataError, RangeError, SensitivityError
from sfumato.core.interval import Interval
from sfumato.core.loss import Loss, Pure
from sfumato.core.number import Exactable, open_unit, positive, show
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Neighbors, Unit
from sfumato.mechanisms.mechanism import Laboratory, check_unit, need, need_movable, whole
from sfumato.mechanisms.response import share_interval
from sfumato.noise import Rng
from sfumato.noise.bernoulli import threshold_flips
from sfumato.noise.uniform import integers
from sfumato.release.error import NOISE_ONLY
from sfumato.release.estimate import Estimate
from sfumato.release.key import check_cells
from sfumato.release.measure import Measure
from sfumato.release.release import Release

_LARGEST = 2**20
_MOST = 2**20  # categories; with more, each person had better report a few bits of a hash
_PARTS = 10**6  # a released share is rounded to a millionth


@dataclass(frozen=True, slots=True, repr=False)
class CategoryResponse(Laboratory):
    """Report the true category with probability e^ε/(e^ε+k-1), else one of the others.

    For surveys with k answers in which nobody is trusted with the truth. The best choice while k is
    below about 3·e^ε + 2; for more answers a report of one category carries too little.

    Guarantee: ε-DP for each answer, so l0·ε for a unit that gives l0 answers; under replace only:
        it hides what was answered, not that there was an answer.
    Theorem:   [Warner65] for two answers, [KBR16] for k
    Exactness: the coin has exactly these odds, and the other answer is exactly uniform.
    Error:     the share of a rare answer has standard deviation sqrt(k-2+e^ε)/(e^ε-1)/sqrt(n).

    Args:
        categories: the public answers; at least two, all different.
        epsilon: the loss of one answer.

    Example:
        >>> survey = CategoryResponse(["never", "sometimes", "often"], epsilon=1)
        >>> len(survey(["often", "never"]))
        2
    """

    takes_cells: ClassVar[bool] = False

    categories: tuple[Any, ...]
    epsilon: Fraction

    if TYPE_CHECKING:  # what is taken; the fields are what is held

        def __init__(self, categories: Sequence[Any], epsilon: Exactable) -> None: ...

    def __post_init__(self) -> None:
        """Check the categories and ε."""
        if isinstance(self.categories, str | bytes) or not isinstance(self.categories, Sequence):
            raise CandidateError(
                "categories must be a list of public answers. Pass CategoryResponse(['A', 'B'], "
                "epsilon=1)."
            )
        object.__setattr__(self, "categories", tuple(self.categories))
        if not all(isinstance(category, Hashable) for category in self.categories) or not (
            2 <= len(set(self.categories)) == len(self.categories) <= _MOST
        ):
            raise CandidateError(
                "categories are what a report can say: from 2 to 2^20 answers, all different, "
                "written down without looking at the data."
            )
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))
        if self.epsilon > _LARGEST:
            raise RangeError(
                f"epsilon = {show(self.epsilon)} is beyond 2^20: no coin would ever lie. "
                f"Pass an epsilon that protects, such as 1."
            )

    @classmethod
    def calibrate(
        cls,
        sensitivity: Sensitivity,
        *,
        categories: Sequence[Any],
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
    ) -> CategoryResponse:
        """Return the coin with the least noise whose loss fits the target."""
        target = Budget(epsilon, delta, rho=rho)
        need_movable(sensitivity)
        answers = _answers(sensitivity)
        if target.epsilon is not None:
            return cls(categories, target.epsilon / answers)
        # ε·tanh(ε/2) <= ε²/2, so this ε fits; down
        root = Interval.of(2 * (target.rho or Fraction(0)) / answers).sqrt().low
        return cls(categories, Fraction(root))

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return ε for each answer that one unit gives."""
        answers = _answers(sensitivity)
        one = Pure(self.epsilon, neighbors=sensitivity.neighbors)
        return one * answers if answers else Pure(Fraction(0), neighbors=sensitivity.neighbors)

    def error(self, sensitivity: Sensitivity) -> ReportError:  # noqa: ARG002 - of one report
        """Return the error of a single report."""
        return ReportError(len(self.categories), self.epsilon)

    def exact(self, values: Any) -> NDArray[np.int64]:
        """Take answers, one or a list; return the places of their categories."""
        places = {category: place for place, category in enumerate(self.categories)}
        if hasattr(values, "tolist"):  # an array, a column of a frame, a scalar of numpy
            values = values.tolist()
        single = not isinstance(values, list | tuple)
        try:
            found = [places.get(value) for value in ([values] if single else values)]
        except TypeError:  # not hashable, so not a category
            found = [None]
        if None in found:
            raise DataError(
                "an answer is none of the categories. Decide what a missing or another answer "
                "means before the coin is thrown; it may have a category of its own."
            )
        array = np.array(found, np.int64)
        return array.reshape(()) if single else array

    def sample(self, exact: NDArray[np.int64], rng: Rng) -> NDArray[np.int64]:
        """Leave each answer with probability e^ε/(e^ε+k-1), else move to another, all alike."""
        many = len(self.categories)

        def enclose(length: int) -> tuple[int, int]:
            digits = length * 31 // 100 + 20 + len(str(int(self.epsilon)))
            odds = (many - 1) / (Interval.of(self.epsilon, digits).exp() + (many - 1))
            return odds.floor_fixed(length), odds.ceil_fixed(length)

        turned = threshold_flips(rng, enclose, exact.size).reshape(exact.shape)
        # One step or more, but not once around: drawn for everybody, used where the coin says so.
        steps = 1 + integers(rng, many - 1, exact.size).astype(np.int64).reshape(exact.shape)
        return np.asarray((exact + turned * steps) % many)

    def view(self, drawn: NDArray[np.int64]) -> Any:
        """Return the reported categories."""
        reported = [self.categories[place] for place in drawn.ravel().tolist()]
        return reported if drawn.ndim else reported[0]

    def release(
        self,
        values: Any,
        sensitivity: Sensitivity,
        *,
        name: str = "share",
        keys: Mapping[str, Iterable[Any]] | None = None,
        confidence: Any = Fraction(95, 100),
        unit: Unit | None = None,
    ) -> Release:
        """Throw every coin once and return the estimated shares; see `estimate`.

        Args:
            values: the true answers.
            sensitivity: how many answers one unit gives, under replace.
            name: what was estimated.
            keys: one column with a name for each category; the categories themselves if absent.
            confidence: the probability with which each interval holds.
            unit: who is protected, for the card; the laboratory takes your word for it.
        """
        named = {"category": self.categories} if keys is None else keys
        cost, sure = self.loss(sensitivity), open_unit(confidence, "confidence")
        check_cells(name, named, (len(self.categories),))
        check_unit(unit, cost)
        shares = self.estimate(self(values), confidence=sure)
        low, value, high = (
            tuple(Fraction(round(x * _PARTS), _PARTS) for x in end)
            for end in (shares.low, shares.value, shares.high)
        )
        measure = Measure(
            name, value, low, high, covers=shares.covers, mechanism=repr(self), kind="rational"
        )
        keyed: Any = tuple(named.items())  # a release brings its keys into form
        return Release(keyed, (measure,), shares.confidence, cost, price(cost), unit)

    def estimate(self, reports: Any, *, confidence: Exactable = Fraction(95, 100)) -> Estimate:
        """Return the share of each true category behind the reports; free post-processing.

        Unbiased, so a share may fall outside [0, 1] when there are few reports; they add up to one.
        Each interval is Clopper and Pearson's for the observed share, mapped back; it treats the
        respondents as a random sample and holds for each category by itself.
        """
        return self._estimate(reports, confidence, total=False)

    def counts(self, reports: Any, *, confidence: Exactable = Fraction(95, 100)) -> Estimate:
        """Return how many of these very respondents are in each category, as `estimate` does.

        With the respondents fixed the reports vary less than in a sample, so the same intervals,
        times the number of reports, hold at least as often.
        """
        return self._estimate(reports, confidence, total=True)

    def _estimate(self, reports: Any, confidence: Exactable, *, total: bool) -> Estimate:
        sure = open_unit(confidence, "confidence")
        seen = self.exact(reports).ravel()
        if not seen.size:
            raise DataError("there are no reports to estimate from. Collect at least one.")
        n, found = seen.size, np.bincount(seen, minlength=len(self.categories))
        least, most = share_interval(found, n, sure)
        # e^-ε, so that no ε overflows: q = 1/(e^ε+k-1), p - q = (e^ε-1)/(e^ε+k-1)
        shrunk = exp(-min(float(self.epsilon), 700.0))
        rest = 1 + (len(self.categories) - 1) * shrunk
        lie, truth = shrunk / rest, (1 - shrunk) / rest
        low, value, high = (
            (share - lie) / truth * (n if total else 1) for share in (least, found / n, most)
        )
        covers = NOISE_ONLY if total else "sampling and noise"
        return Estimate(value, np.minimum(low, value), np.maximum(high, value), sure, covers)


@dataclass(frozen=True, slots=True)
class ReportError:
    """The error of one report, counted as 1 where it is not the truth."""

    many: int
    epsilon: Fraction
    covers: str = "noise only, one report"

    @property
    def std(self) -> float:
        """Root of the probability of an untrue report."""
        return float(self._lie().sqrt().high)

    def _lie(self) -> Interval:
        return (self.many - 1) / (Interval.of(self.epsilon).exp() + (self.many - 1))

    def halfwidth(self, confidence: Fraction) -> Fraction:
        """Return 0 where the report is true at that confidence, else 1."""
        truth = 1 - self._lie()
        return Fraction(0 if truth.low >= Interval.of(confidence).high else 1)


def _answers(sensitivity: Sensitivity) -> int:
    if sensitivity.neighbors is not Neighbors.REPLACE:
        raise SensitivityError(
            "a randomized report hides what a person answered, not that she answered, so it has no "
            "guarantee under add_remove. Pass Sensitivity(l1=1, neighbors='replace')."
        )
    # An answer that changes is one answer, however far apart the categories stand in the list.
    many = sensitivity.l1 if sensitivity.l0 is None else sensitivity.l0
    return int(whole(need(many, "l1", CategoryResponse.__name__)))
