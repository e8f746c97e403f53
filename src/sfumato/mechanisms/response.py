"""Randomized response: each person's own coin protects a yes or no."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import exp
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting.price import price
from sfumato.core.budget import Budget
from sfumato.core.errors import DataError, RangeError, SensitivityError
from sfumato.core.interval import Interval
from sfumato.core.loss import Loss, Pure
from sfumato.core.number import Exactable, open_unit, positive, show
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Neighbors, Unit
from sfumato.mechanisms.mechanism import Laboratory, check_unit, need, need_movable, whole
from sfumato.noise import Rng
from sfumato.noise.bernoulli import threshold_flips
from sfumato.release.estimate import Estimate
from sfumato.release.key import check_cells
from sfumato.release.measure import Measure
from sfumato.release.release import Release

_LARGEST = 2**20
_PARTS = 10**6  # a released share is rounded to a millionth


@dataclass(frozen=True, slots=True, repr=False)
class RandomizedResponse(Laboratory):
    """Report each yes or no truthfully with probability e^ε/(1+e^ε), else the opposite.

    For surveys in which nobody is trusted with the truth: the coin is thrown before the answer
    leaves the respondent. Much less accurate than a trusted curator.

    Guarantee: ε-DP for each answer, so l1·ε for a unit that gives l1 answers; under replace only:
        it hides what was answered, not that there was an answer.
    Theorem:   [Warner65]
    Exactness: the coin has exactly these odds.
    Error:     an estimated share has standard deviation about sqrt(e^ε)/(e^ε - 1)/sqrt(n).

    Args:
        epsilon: the loss of one answer.

    Example:
        >>> coin = RandomizedResponse(epsilon=1)
        >>> coin([True, False, True]).dtype
        dtype('bool')
    """

    takes_cells: ClassVar[bool] = False

    epsilon: Fraction

    if TYPE_CHECKING:  # what is taken; the fields are what is held

        def __init__(self, epsilon: Exactable) -> None: ...

    def __post_init__(self) -> None:
        """Check ε."""
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
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
    ) -> RandomizedResponse:
        """Return the coin with the least noise whose loss fits the target."""
        target = Budget(epsilon, delta, rho=rho)
        need_movable(sensitivity)
        answers = _answers(sensitivity)
        if target.epsilon is not None:
            return cls(target.epsilon / answers)
        # ε·tanh(ε/2) <= ε²/2, so this ε fits; down
        return cls(Fraction(Interval.of(2 * (target.rho or Fraction(0)) / answers).sqrt().low))

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return ε for each answer that one unit gives."""
        answers = _answers(sensitivity)
        one = Pure(self.epsilon, neighbors=sensitivity.neighbors)
        return one * answers if answers else Pure(Fraction(0), neighbors=sensitivity.neighbors)

    def error(self, sensitivity: Sensitivity) -> FlipError:  # noqa: ARG002 - of one report
        """Return the error of a single report."""
        return FlipError(self.epsilon)

    def exact(self, values: Any) -> NDArray[np.bool_]:
        """Take truth values, or zeros and ones."""
        array = np.asarray(values)
        if array.dtype.kind == "i" and bool(((array == 0) | (array == 1)).all()):
            array = array.astype(np.bool_)
        if array.size == 0:
            array = array.astype(np.bool_)
        if array.dtype != np.bool_:
            raise DataError(
                "randomized response takes yes or no: True and False, or 1 and 0. "
                "Decide what a missing answer means before the coin is thrown."
            )
        return array

    def sample(self, exact: NDArray[np.bool_], rng: Rng) -> NDArray[np.bool_]:
        """Turn each answer around with probability 1/(1+e^ε)."""

        def enclose(length: int) -> tuple[int, int]:
            digits = length * 31 // 100 + 20 + len(str(int(self.epsilon)))
            odds = 1 / (Interval.of(self.epsilon, digits).exp() + 1)
            return odds.floor_fixed(length), odds.ceil_fixed(length)

        turned = threshold_flips(rng, enclose, exact.size).reshape(exact.shape)
        return np.asarray(exact ^ turned)

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
        """Throw every coin once and return the estimated share of yeses; see `estimate`."""
        if keys is not None:
            raise DataError("the share of one survey has no keys. Release each group by itself.")
        cost, sure = self.loss(sensitivity), open_unit(confidence, "confidence")
        check_cells(name, keys, ())
        check_unit(unit, cost)
        share = self.estimate(self(values), confidence=sure)
        low, value, high = (
            Fraction(round(end * _PARTS), _PARTS) for end in (share.low, share.value, share.high)
        )
        measure = Measure(
            name, (value,), (low,), (high,), covers=share.covers, mechanism=repr(self)
        )
        return Release((), (measure,), share.confidence, cost, price(cost), unit)

    def estimate(self, reports: Any, *, confidence: Exactable = Fraction(95, 100)) -> Estimate:
        """Return the share of true yeses behind the reports; free post-processing.

        Unbiased, so it may fall outside [0, 1] when there are few reports. The interval is Clopper
        and Pearson's for the observed share, mapped back; it treats the respondents as a random
        sample, and holds at least as often as it says.
        """
        sure = open_unit(confidence, "confidence")
        seen = self.exact(reports).ravel()
        if not seen.size:
            raise DataError("there are no reports to estimate from. Collect at least one.")
        yes, n = np.count_nonzero(seen), seen.size
        least, most = share_interval(np.array(yes), n, sure)
        lie = 1 / (1 + exp(min(float(self.epsilon), 700.0)))
        low, value, high = (
            (share - lie) / (1 - 2 * lie) for share in (float(least), yes / n, float(most))
        )
        return Estimate(value, min(low, value), max(high, value), sure, "sampling and noise")


def share_interval(
    seen: NDArray[Any], n: int, confidence: Fraction
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of the interval of Clopper and Pearson for shares that were seen in n.

    The tails are those of the binomial law, so it holds at least as often as it says, also where
    almost nobody says yes; a normal approximation does not.
    """
    from scipy.special import betaincinv

    miss = float((1 - confidence) / 2)
    least = np.where(seen > 0, betaincinv(np.maximum(seen, 1), n - seen + 1, miss), 0.0)
    most = np.where(seen < n, betaincinv(seen + 1, np.maximum(n - seen, 1), 1 - miss), 1.0)
    return least, most


@dataclass(frozen=True, slots=True)
class FlipError:
    """The error of one report: it is the opposite of the truth, or it is the truth."""

    epsilon: Fraction
    covers: str = "noise only, one report"

    @property
    def std(self) -> float:
        """Root of the mean square of report minus truth."""
        return float((1 / (1 + Interval.of(self.epsilon).exp())).sqrt().high)

    def halfwidth(self, confidence: Fraction) -> Fraction:
        """Return 0 where the report is true at that confidence, else 1."""
        truth = (-(1 / (1 + Interval.of(self.epsilon).exp()))) + 1
        return Fraction(0 if truth.low >= Interval.of(confidence).high else 1)


def _answers(sensitivity: Sensitivity) -> int:
    if sensitivity.neighbors is not Neighbors.REPLACE:
        raise SensitivityError(
            "randomized response hides what a person answered, not that she answered, so it has no "
            "guarantee under add_remove. Pass Sensitivity(l1=1, neighbors='replace')."
        )
    return int(whole(need(sensitivity.l1, "l1", RandomizedResponse.__name__)))
