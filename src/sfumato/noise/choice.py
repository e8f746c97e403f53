"""Choose an index with probability proportional to weight · exp(rate · score), exactly.

Floats only propose. Each candidate gets an integer proposal weight that is certainly at least its
true weight; an index is drawn from these integers without error and then accepted with the ratio
of true to proposed weight, an exact coin. So no score is too small to be chosen, none overflows,
and the law does not depend on the floats: a poor proposal costs time, never exactness.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import CandidateError, RangeError, ScoreError
from sfumato.core.number import show
from sfumato.noise.rng import Rng
from sfumato.noise.uniform import WORD, below, integers, scaled_exp

# numpy's exp and log are within a few units (2^-50) of the truth, the exponents that matter are
# below 256 in size and lose 2^-42: together far below this slack, which is what the proof needs.
SLACK = 2.0**-30
_SURE = 1 - 2.0**-20  # acceptance of any candidate with a proposal weight of at least _LARGE
_LARGE = 2**22
SCORE_LIMIT = 2**61
RATE_LIMIT = Fraction(2**60)


class Choice:
    """Candidates with their proposal weights, ready to be drawn from."""

    def __init__(
        self,
        scores: NDArray[np.int64],
        rate: Fraction,
        weights: NDArray[np.int64] | None = None,
    ) -> None:
        """Prepare the proposal.

        Args:
            scores: integers; differences count, not values.
            rate: non-negative factor of the score in the exponent.
            weights: whole numbers, zero or above (zero: never chosen); all one when absent.
        """
        _check(scores, rate, weights)
        self._scores, self._rate, self._weights = scores, rate, weights
        exponents, self._pivot = _exponents(scores, rate, weights)
        bits = 61 - max(1, scores.size - 1).bit_length()
        self._unit = 1 << bits
        # up: floor + 1 and the slack keep every proposal weight at or above the true one
        proposal = (np.exp(exponents) * (self._unit * (1 + SLACK))).astype(np.int64) + 1
        if weights is not None:
            proposal[weights == 0] = 0
        self._proposal = proposal
        self._cumulative = np.cumsum(proposal)

    def draw(self, size: int, rng: Rng) -> NDArray[np.intp]:
        """Draw `size` independent indices."""
        out = np.empty(size, np.intp)
        todo = np.arange(size)
        while todo.size:
            points = integers(rng, int(self._cumulative[-1]), todo.size).astype(np.int64)
            index = np.searchsorted(self._cumulative, points, "right")
            tests = rng.words(todo.size)
            accepted = (self._proposal[index] >= _LARGE) & (tests < np.uint64(_SURE * 2.0**WORD))
            for i in np.flatnonzero(~accepted):
                accepted[i] = self._accept(int(index[i]), int(tests[i]), rng)
            out[todo[accepted]] = index[accepted]
            todo = todo[~accepted]
        return out

    def distinct(self, count: int, rng: Rng) -> NDArray[np.intp]:
        """Draw `count` different indices, one after the other, each from those that are left.

        An index that was drawn before is drawn again, which leaves exactly the law of the rest. As
        soon as those drawn weigh more than the rest a new proposal is made without them, so that
        few draws are in vain, however steep the weights are.
        """
        possible = self._scores.size if self._weights is None else np.count_nonzero(self._weights)
        if count > possible:
            raise CandidateError("there are fewer candidates than are to be drawn. Ask for fewer.")
        out = np.empty(count, np.intp)
        choice, left, done = self, np.arange(self._scores.size), 0
        while done < count:
            taken, gone, total = set[int](), 0, int(choice._cumulative[-1])
            while done < count and 2 * gone <= total:
                index = int(choice.draw(1, rng)[0])
                if index not in taken:
                    taken.add(index)
                    gone += int(choice._proposal[index])
                    out[done] = left[index]
                    done += 1
            if done < count:
                left = np.delete(left, list(taken))
                weights = None if self._weights is None else self._weights[left]
                choice = Choice(self._scores[left], self._rate, weights)
        return out

    def _accept(self, index: int, test: int, rng: Rng) -> bool:
        """Flip the exact coin: true weight over proposal weight, both relative to the pivot."""
        pivot = self._pivot
        factor = Fraction(self._unit, int(self._proposal[index]))
        if self._weights is not None:
            factor *= Fraction(int(self._weights[index]), int(self._weights[pivot]))
        exponent = self._rate * (int(self._scores[index]) - int(self._scores[pivot]))
        return below(test, WORD, scaled_exp(factor, exponent), rng)


def _exponents(
    scores: NDArray[np.int64], rate: Fraction, weights: NDArray[np.int64] | None
) -> tuple[NDArray[np.float64], int]:
    """Return the log weights relative to a heaviest candidate, in floats, and that candidate."""
    slope = float(rate)
    if weights is None:
        pivot = int(np.argmax(scores))
        return (scores - scores[pivot]).astype(np.float64) * slope, pivot
    logs = np.full(scores.size, -np.inf)
    alive = weights > 0
    np.log(weights, out=logs, where=alive)
    pivot = int(np.argmax(np.where(alive, scores, -SCORE_LIMIT - 1)))
    # Scores first, so that the differences are exact; then whoever gains most by its weight.
    for _ in range(2):
        exponents = (scores - scores[pivot]).astype(np.float64) * slope + (logs - logs[pivot])
        pivot = int(np.argmax(exponents))
    exponents = (scores - scores[pivot]).astype(np.float64) * slope + (logs - logs[pivot])
    return np.minimum(exponents, 0.0), pivot


def _check(scores: NDArray[np.int64], rate: Fraction, weights: NDArray[np.int64] | None) -> None:
    if scores.size == 0:
        raise CandidateError(
            "there is nothing to choose from. Pass at least one candidate; the list must be public."
        )
    if scores.ndim != 1 or scores.dtype != np.int64:
        raise ScoreError("scores must be one-dimensional 64-bit integers.")
    if int(scores.max()) > SCORE_LIMIT or int(scores.min()) < -SCORE_LIMIT:
        raise ScoreError("a score lies beyond 2^61, where differences no longer fit 64 bits.")
    if not 0 <= rate <= RATE_LIMIT:
        raise RangeError(f"rate = {show(rate)} must lie between 0 and 2^60.")
    if weights is None:
        return
    if weights.shape != scores.shape or weights.dtype != np.int64:
        raise CandidateError("prior weights must be 64-bit integers, one for each candidate.")
    if int(weights.min()) < 0 or int(weights.max()) == 0:
        raise CandidateError(
            "prior weights must be zero or above, and at least one of them above zero."
        )
