"""The sparse vector technique: many comparisons with a threshold, of which only hits cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting.price import price
from sfumato.core.budget import Budget
from sfumato.core.errors import CostError, DataError, InputError, RangeError
from sfumato.core.interval import Interval
from sfumato.core.loss import Loss, Pure
from sfumato.core.number import Exactable, exact, is_integer, open_unit, positive, show
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Neighbors, Unit
from sfumato.mechanisms import saturation
from sfumato.mechanisms.comparison import BEFORE_SELECTION, ComparisonError, Comparisons
from sfumato.mechanisms.laplace import LaplaceError
from sfumato.mechanisms.mechanism import (
    Laboratory,
    check_unit,
    integers,
    need_movable,
    whole,
)
from sfumato.noise import Laplace, Rng, draw, system
from sfumato.release.error import Error
from sfumato.release.key import check_cells
from sfumato.release.measure import Measure
from sfumato.release.release import Release

_LIMIT = 2**60  # of answers and threshold: answer - threshold + noise then fits 64 bits
_MOST_HITS = 10**6
_PARTS = 10**6  # the split of ε is rational: a root rounded to a millionth
UNASKED, BELOW, ABOVE = -1, 0, 1


@dataclass(frozen=True, slots=True, repr=False)
class SparseVector(Laboratory):
    """Say of each number in a row whether it reaches a noisy threshold; end after some that do.

    For questions that come one after the other, most of them about nothing: only the hits cost, and
    the misses are free, however many. It is `AboveThreshold` with one hit. If all questions are
    known beforehand, choose among them instead: `Exponential` is more accurate.

    Guarantee: ε-DP with ε = d/threshold_scale + 2·hits·d/query_scale, where d is the linf
        sensitivity of the numbers rounded up to a whole one, each of them moved by d at most, in
        any direction; hits·d/query_scale in place of twice that for monotone numbers under
        add_remove; hits·d/answer_scale more for numeric answers. The numbers may be chosen by the
        answers before. For the neighbor relation of the sensitivity.
    Theorem:   [LSL17], [DWXWZK23], docs/theory/sparse-vector.md for the discrete law
    Exactness: integer noise, exactly this law given uniform bits; ε rational.
    Error:     `accuracy` bounds how far from the threshold a wrong answer can lie.

    Args:
        threshold: what is compared with; rounded up to a whole number, which changes no answer.
        threshold_scale: scale of the noise of the threshold, drawn once.
        query_scale: scale of the noise of each number, drawn anew for each.
        hits: after how many answers above the threshold it ends.
        monotone: whether adding a unit can never lower any of the numbers, as with counts.
        gap: whether a hit tells its noisy number, threshold + (noisy number - noisy threshold);
            for free.
        answer_scale: scale of fresh noise, with which a hit tells its number.

    Example:
        >>> watch = SparseVector(threshold=100, threshold_scale=1, query_scale=1, monotone=True)
        >>> watch([3, 12, 200, 7])
        [False, False, True]
        >>> watch.loss(Sensitivity(linf=1)).epsilon
        Fraction(2, 1)
    """

    threshold: int
    threshold_scale: Fraction
    query_scale: Fraction
    hits: int = 1
    monotone: bool = False
    gap: bool = False
    answer_scale: Fraction | None = None

    if TYPE_CHECKING:  # what is taken; the fields are what is held

        def __init__(
            self,
            threshold: Exactable,
            threshold_scale: Exactable,
            query_scale: Exactable,
            hits: int = 1,
            monotone: bool = False,
            gap: bool = False,
            answer_scale: Exactable | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        """Check the parameters."""
        object.__setattr__(self, "threshold", ceil(exact(self.threshold, "threshold")))
        if abs(self.threshold) > _LIMIT:
            raise RangeError("threshold is beyond 2^60, where nothing is counted. Pass less.")
        for name in ("threshold_scale", "query_scale", "answer_scale"):
            if (given := getattr(self, name)) is not None or name != "answer_scale":
                object.__setattr__(self, name, positive(given, name))
                Laplace(getattr(self, name))
        object.__setattr__(self, "hits", _hits(self.hits))
        for name in ("monotone", "gap"):
            if not isinstance(getattr(self, name), bool):  # anything truthy would lower the loss
                raise InputError(f"{name}= is True or False. Pass one of them.")
        if self.gap and self.answer_scale is not None:
            raise InputError(
                "a hit tells one number: with the noise of its comparison (gap=True, free) or with "
                "fresh noise (answer_scale=, charged). Pass one of them."
            )

    @classmethod
    def calibrate(  # noqa: PLR0913 (every part is named by its keyword)
        cls,
        sensitivity: Sensitivity,
        *,
        threshold: Exactable,
        hits: int = 1,
        monotone: bool = False,
        gap: bool = False,
        numeric: Exactable | None = None,
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
    ) -> SparseVector:
        """Return the mechanism whose loss is the target, split to the least noise in comparisons.

        Args:
            sensitivity: how far one unit can move each number.
            threshold: what is compared with.
            hits: after how many answers above it ends.
            monotone: whether adding a unit can never lower any number.
            gap: whether hits tell their noisy numbers.
            numeric: how much of ε is spent on numbers with fresh noise for the hits.
            epsilon: the target; or rho=.
            delta: not used: the loss is pure.
            rho: the target in zCDP.
        """
        target = Budget(epsilon, delta, rho=rho)
        need_movable(sensitivity)
        moved, many = whole(sensitivity.linf), _hits(hits)
        # ε·tanh(ε/2) <= ε²/2, so the root fits; down
        total = target.epsilon or Fraction(Interval.of(2 * (target.rho or 0)).sqrt().low)
        for_numbers = Fraction(0) if numeric is None else positive(numeric, "numeric")
        if for_numbers >= total:
            raise CostError(
                f"numeric = {show(for_numbers)} takes all of ε = {show(total)}, and nothing "
                f"is left to compare with. Pass less for the numbers, such as half."
            )
        shifts = _shifts(monotone, sensitivity.neighbors) * many
        ratio = _two_thirds(shifts)  # ε2 : ε1, which has the least variance of ν - ρ
        first = (total - for_numbers) / (1 + ratio)
        return cls(
            threshold,
            moved / first,
            shifts * moved / (ratio * first),
            many,
            monotone,
            gap,
            many * moved / for_numbers if for_numbers else None,
        )

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return ε: once for the threshold, and for each hit.

        Only linf counts: l1 of some numbers says nothing of those that are still to come.
        """
        moved = whole(sensitivity.linf)
        each = _shifts(self.monotone, sensitivity.neighbors) / self.query_scale
        if self.answer_scale is not None:
            each += 1 / self.answer_scale
        epsilon = moved / self.threshold_scale + self.hits * moved * each
        return Pure(epsilon, neighbors=sensitivity.neighbors)

    def reach(self, sensitivity: Sensitivity) -> dict[str, Fraction | None]:
        """Return the distance of single numbers, however many there are."""
        return {"linf": whole(sensitivity.linf)}

    def error(self, sensitivity: Sensitivity) -> ComparisonError:  # noqa: ARG002 - of the noise
        """Return how far from the threshold one answer may be wrong."""
        return ComparisonError(self.threshold_scale, self.query_scale)

    def accuracy(self, queries: int, confidence: Exactable = Fraction(95, 100)) -> int:
        """Return how far from the threshold any of so many answers may be wrong.

        With that confidence every number that differs from the threshold by more is answered
        rightly, whoever chooses the numbers. Rounded up; by a twentieth of threshold_scale at 95 %.

        Args:
            queries: how many numbers are compared at most.
            confidence: the probability with which all answers are that good.
        """
        error = ComparisonError(self.threshold_scale, self.query_scale, queries)
        return int(error.halfwidth(open_unit(confidence, "confidence")))

    def exact(self, values: Any) -> NDArray[np.int64]:
        """Take whole numbers in a row, clamped to ±2^60: 1-Lipschitz, so it costs nothing."""
        row = integers(values)
        if row.ndim != 1:
            raise DataError(
                "a sparse vector is one row of whole numbers, in the order in which they are asked."
            )
        return np.clip(row, -_LIMIT, _LIMIT)

    def sample(self, exact: NDArray[np.int64], rng: Rng) -> NDArray[np.int64]:
        """Compare the numbers in their order, up to the last hit.

        Returns:
            For each number 1 above, 0 below, -1 not asked any more; where numbers are told, a row
            of this and the noisy number, which is 0 unless above.
        """
        answers: NDArray[np.int64] = self.runs(exact[np.newaxis], rng)[0]
        return answers

    def runs(self, exact: NDArray[np.int64], rng: Rng) -> NDArray[np.int64]:
        """Compare each row of an array by itself, with its own threshold."""
        rho = draw(Laplace(self.threshold_scale), len(exact), rng)[:, np.newaxis]
        noise = draw(Laplace(self.query_scale), exact.size, rng).reshape(exact.shape)
        noisy = exact - self.threshold + noise  # within 64 bits, or Python integers
        passed = np.asarray(noisy >= rho, np.bool_)
        before: NDArray[np.int64] = np.cumsum(passed, axis=1, dtype=np.int64) - passed
        answers = np.where(before < self.hits, passed, UNASKED).astype(np.int64)
        if not self.gap and self.answer_scale is None:
            return answers
        told, hit = np.zeros(exact.shape, np.int64), answers == ABOVE
        if self.answer_scale is not None:
            fresh = draw(Laplace(self.answer_scale), int(hit.sum()), rng)
            told[hit] = saturation.add(exact[hit], fresh)
        else:
            gaps = zip(noisy[hit].tolist(), (rho + 0 * exact)[hit].tolist(), strict=True)
            told[hit] = [_clamped(self.threshold + a - b) for a, b in gaps]
        return np.stack([answers, told], axis=-1)

    def start(self, rng: Rng) -> Comparisons:
        """Begin a run to which numbers are pushed one at a time."""
        rho = int(draw(Laplace(self.threshold_scale), 1, rng)[0])

        def compare(value: int) -> tuple[bool, int | None]:
            clamped = min(max(value, -_LIMIT), _LIMIT)
            gap = clamped - self.threshold + int(draw(Laplace(self.query_scale), 1, rng)[0]) - rho
            if gap < 0:
                return False, None
            if self.answer_scale is not None:
                return True, _clamped(clamped + int(draw(Laplace(self.answer_scale), 1, rng)[0]))
            return True, _clamped(self.threshold + gap) if self.gap else None

        return Comparisons(compare, self.hits, self._told())

    def _told(self) -> Error | None:
        """Return the error of the numbers that hits tell."""
        if self.answer_scale is not None:
            return LaplaceError(self.answer_scale, Fraction(1))
        if self.gap:
            return ComparisonError(self.threshold_scale, self.query_scale, covers=BEFORE_SELECTION)
        return None

    def view(self, drawn: NDArray[np.int64]) -> list[Any]:
        """Return a list up to the last question asked: True or False, or a number or None."""
        asked = self.grid(drawn).tolist()
        if drawn.ndim == 1:
            return [answer == ABOVE for answer in asked]
        return [told if answer == ABOVE else None for answer, told in asked]

    def grid(self, drawn: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the answers to the questions that were asked."""
        answers = drawn if drawn.ndim == 1 else drawn[:, 0]
        asked: NDArray[np.int64] = drawn[answers != UNASKED]
        return asked

    def release(
        self,
        values: Any,
        sensitivity: Sensitivity,
        *,
        name: str | None = None,
        keys: Mapping[str, Iterable[Any]] | None = None,
        confidence: Any = Fraction(95, 100),
        unit: Unit | None = None,
    ) -> Release:
        """Compare once and return the answers up to the last: 1 above, 0 below.

        Where numbers are told, there is a row for each hit, and the measure is its number. Its
        place says what was below: every number before it that has no row.

        Args:
            values: the exact numbers, in their order.
            sensitivity: how far one unit can move each of them.
            name: what was measured; ``"above"``, or ``"value"`` where numbers are told.
            keys: names of the numbers, as {column: values}; positions if not given.
            confidence: the probability with which each interval holds.
            unit: who is protected, for the card; the laboratory takes your word for it.
        """
        name = name or ("above" if self._told() is None else "value")
        cost, row = self.loss(sensitivity), self.exact(values)
        error, sure = self._told() or self.error(sensitivity), open_unit(confidence, "confidence")
        error.halfwidth(sure)
        check_cells(name, keys, row.shape)
        check_unit(unit, cost)
        named = {"question": range(row.size)} if keys is None else keys
        drawn = self.sample(row, system())
        answers, told = (drawn, drawn) if drawn.ndim == 1 else (drawn[:, 0], drawn[:, 1])
        kept = np.flatnonzero((answers != UNASKED) if drawn.ndim == 1 else (answers == ABOVE))
        columns = {column: tuple(labels) for column, labels in named.items()}
        rows = tuple((c, tuple(labels[i] for i in kept)) for c, labels in columns.items())
        measure = Measure.of(name, told[kept], error, confidence=sure, mechanism=repr(self))
        return Release(rows, (measure,), sure, cost, price(cost), unit)


def _shifts(monotone: bool, neighbors: Neighbors) -> int:
    """Return how many d the noise of a hit makes up for; see docs/theory/sparse-vector.md.

    Under replace a person leaves one count and enters another, so counts move both ways.
    """
    return 1 if monotone and neighbors is Neighbors.ADD_REMOVE else 2


def _two_thirds(number: int) -> Fraction:
    """Return a number to the power 2/3, to a millionth; whole where it is."""
    wanted = number**2 * _PARTS**3
    low, high = 0, wanted
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**3 <= wanted else (low, middle)
    return Fraction(low if low**3 == wanted else high, _PARTS)


def _hits(given: Any) -> int:
    if not is_integer(given) or not 1 <= index(given) <= _MOST_HITS:
        raise RangeError(
            "hits= counts answers above the threshold: pass a whole number from 1 to 1,000,000."
        )
    return index(given)


def _clamped(number: int) -> int:
    return min(max(number, -(2**63)), 2**63 - 1)
