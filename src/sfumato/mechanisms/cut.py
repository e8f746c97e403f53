"""Choose a cut of sorted rows with probability proportional to exp(-rate·rank error), exactly.

The candidates are too many to be listed, and need not be: the weight below a cut never falls, so
they fall into some hundred stretches in which the error hardly changes. A stretch is drawn by an
integer that is certainly at least its true weight, then one candidate of it, each as likely, and
that one is accepted with the ratio of its true weight to what it was proposed with, an exact coin.
Floats only propose, and decide a coin only where both answers of their rounding agree. What is
drawn has exactly the law that was stated, wherever the stretches begin.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, lcm, log

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.ranking import Integers, Ranking
from sfumato.noise.rng import Rng
from sfumato.noise.uniform import WORD, below, each, scaled_exp

_AT_ONCE = 1024  # groups; bounds the memory
_SURE = 14  # nats beyond the number of candidates: what is further out weighs less than 2^-20
_FAR = 2.0**61
# Rounding of a rank error in floats: a few units in the last place of the difference of two whole
# numbers and of a fraction. Of exp, log and products: some hundred times 2^-52, relatively.
_RELATIVE, _ABSOLUTE, _SLACK = 2.0**-40, 2.0**-50, 2.0**-30


@dataclass(frozen=True, slots=True)
class Aim:
    """What is sought in a part of a group.

    Attributes:
        share: the share of the part's weight that is wanted below the cut.
        offset: how many rows more than that.
        rate: factor of the rank error in the exponent, for an error of one row.
        whole: whether whole cells are chosen, not places in them.
    """

    share: Fraction
    offset: Fraction
    rate: Fraction
    whole: bool


def cuts(
    ranking: Ranking, groups: Integers, low: Integers, high: Integers, aim: Aim, rng: Rng
) -> Integers:
    """Choose a cell, or a place, for each group.

    Args:
        ranking: the rows.
        groups: the groups; one may come more than once, for independent draws.
        low: the first place of each part.
        high: the place behind its last one, above `low`.
        aim: what is sought.
        rng: where randomness comes from.
    """
    out = np.empty(groups.size, np.int64)
    for start in range(0, groups.size, _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        out[some] = _Parts(ranking, groups[some], low[some], high[some], aim).draw(rng)
    return out


class _Parts:
    """Parts of some groups, with the proposal of each."""

    def __init__(
        self, ranking: Ranking, groups: Integers, low: Integers, high: Integers, aim: Aim
    ) -> None:
        self._ranking, self._groups = ranking, groups
        self._unit = ranking.shares if aim.whole else 1  # places of one candidate
        self._first, self._last = low // self._unit, -(-high // self._unit)
        self._under, self._upto = ranking.weight(groups, low), ranking.weight(groups, high)
        self._aim(aim)
        self._rate = aim.rate / ranking.shares
        self._slope = float(self._rate)
        self._propose(*self._stretches())

    def _aim(self, aim: Aim) -> None:
        """Set the wanted weight: a whole number and a fraction; kept within the part.

        Beyond an end all errors would be larger by the same, which changes no choice.
        """
        offset = aim.offset * self._ranking.shares
        scale = lcm(aim.share.denominator, offset.denominator)
        factor, more = int(aim.share * scale), int(offset * scale)
        weight = self._upto - self._under
        if max(int(weight.max()), 1) * scale + abs(more) >= 2**62:
            weight = weight.astype(np.object_)
        wanted = np.clip(weight * factor + more, 0, weight * scale)
        whole, rest = wanted // scale, wanted % scale
        self._scale, self._rest = scale, rest
        self._whole = self._under + whole.astype(np.int64)
        self._part = (rest / scale).astype(np.float64)

    def _stretches(self) -> tuple[Integers, Integers]:
        """Return where stretches begin, and the weight below: one for each unit of the exponent.

        Around every level its candidate stands alone, so that in the others errors differ by no
        more than from one level to the next.
        """
        ranking, groups = self._ranking, self._groups[:, None]
        shares, unit = ranking.shares, self._unit
        levels = ceil(log(int((self._last - self._first).max()))) + _SURE
        heaviest = float((self._upto - self._under).max())
        levels = int(min(levels, heaviest * self._slope + 1))
        steps = np.arange(-levels, levels + 1) / max(self._slope, 1 / _FAR)
        away = np.clip(np.rint(steps), -_FAR, _FAR).astype(np.int64)
        under, upto = self._under[:, None], self._upto[:, None]
        wanted = _within(self._whole[:, None] + away, under, upto)
        position = ranking.position(groups, wanted // shares)
        rows, here = ranking.held(groups, position)
        place = (wanted - rows * shares) // np.maximum(here, 1)
        place = place * 0 if unit > 1 else np.minimum(np.maximum(place, 0), shares - 1)
        index = (position * shares + place) // unit
        weight = rows * shares + here * place

        starts = np.empty((index.shape[0], 2 * index.shape[1] + 2), np.int64)
        weights = np.empty_like(starts)
        starts[:, :1], starts[:, -1:] = self._first[:, None], self._last[:, None]
        weights[:, :1], weights[:, -1:] = under, upto
        starts[:, 1:-1:2], starts[:, 2:-1:2] = index, index + 1
        weights[:, 1:-1:2], weights[:, 2:-1:2] = weight, weight + here * unit
        starts = _within(starts, starts[:, :1], starts[:, -1:])
        weights = _within(weights, under, upto)
        return np.maximum.accumulate(starts, axis=1), np.maximum.accumulate(weights, axis=1)

    def _propose(self, starts: Integers, weights: Integers) -> None:
        self._starts, self._lengths = starts, np.diff(starts, axis=1)
        least = self._errors(weights[:, :-1], weights[:, 1:], slice(None))[0]
        with np.errstate(divide="ignore"):
            logs = np.log(self._lengths) - self._slope * least
        self._top = logs.max(axis=1)
        self._size = 1 << (61 - logs.shape[1].bit_length())
        # up: floor + 1 and the slack keep every proposal at or above the true weight
        shares = np.exp(logs - self._top[:, None]) * (self._size * (1 + _SLACK))
        self._proposal = np.where(self._lengths > 0, shares.astype(np.int64) + 1, 0)
        self._sums = np.cumsum(self._proposal, axis=1)

    def _errors(
        self, low: Integers, high: Integers, of: slice | Integers
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return bounds, from below and above, of how far weights lie from the wanted one.

        What lies between `low` and `high` is as near as the wanted weight is to that interval.
        """
        shape = (-1,) + (1,) * (low.ndim - 1)
        whole, part = self._whole[of].reshape(shape), self._part[of].reshape(shape)
        error = np.maximum(np.maximum((low - whole) - part, (whole - high) + part), 0.0)
        return (
            np.maximum(error * (1 - _RELATIVE) - _ABSOLUTE, 0.0),
            error * (1 + _RELATIVE) + _ABSOLUTE,
        )

    def draw(self, rng: Rng) -> Integers:
        """Choose a candidate in each part."""
        out = np.empty(self._groups.size, np.int64)
        todo = np.arange(self._groups.size)
        while todo.size:
            point = each(rng, self._sums[todo, -1])
            stretch = (self._sums[todo] <= point[:, None]).sum(axis=1)
            index = self._starts[todo, stretch] + each(rng, self._lengths[todo, stretch])
            accepted = self._accepted(todo, stretch, index, rng)
            out[todo[accepted]] = index[accepted]
            todo = todo[~accepted]
        return out

    def _accepted(
        self, todo: Integers, stretch: Integers, index: Integers, rng: Rng
    ) -> NDArray[np.bool_]:
        low, high = self._ends(todo, index)
        least, most = self._errors(low, high, todo)
        length, proposal = self._lengths[todo, stretch], self._proposal[todo, stretch]
        test = rng.words(todo.size)
        odds = length / proposal * self._size
        above, under = (
            odds * np.exp(-self._slope * error - self._top[todo]) * (1 + sign * _SLACK)
            for error, sign in ((least, 1), (most, -1))
        )
        uniform = test.astype(np.float64) * 2.0**-WORD
        accepted: NDArray[np.bool_] = uniform * (1 + _SLACK) + 2.0**-WORD <= under
        doubt = ~accepted & (uniform * (1 - _SLACK) <= above)
        for i in np.flatnonzero(doubt).tolist():
            factor = Fraction(int(length[i]) * self._size, int(proposal[i]))
            error = self._error(int(todo[i]), int(low[i]), int(high[i]))
            exponent = -self._rate * error - Fraction(float(self._top[todo[i]]))
            accepted[i] = below(int(test[i]), WORD, scaled_exp(factor, exponent), rng)
        return accepted

    def _ends(self, todo: Integers, index: Integers) -> tuple[Integers, Integers]:
        """Return the weight below each candidate and that up to its end."""
        position, place = np.divmod(index * self._unit, self._ranking.shares)
        rows, here = self._ranking.held(self._groups[todo], position)
        low = rows * self._ranking.shares + here * place
        under, upto = self._under[todo], self._upto[todo]
        return _within(low, under, upto), _within(low + here * self._unit, under, upto)

    def _error(self, i: int, low: int, high: int) -> Fraction:
        wanted = int(self._whole[i]) + Fraction(int(self._rest[i]), self._scale)
        return max(Fraction(0), low - wanted, wanted - high)


def _within(numbers: Integers, low: Integers, high: Integers) -> Integers:
    return np.minimum(np.maximum(numbers, low), high)
