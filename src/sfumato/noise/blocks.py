"""Discrete Gaussian noise from proposals that are all worked out in full, needed or not.

A proposal is a block by its `Ladder`, an offset within it and a sign, and is kept with probability
exp(-gamma). That coin is three coins: gamma is cut into a multiple of 1/(4s²), one of 1/(2^14·s²)
and a rest below 2^-23, s being the scale in blocks. The odds of the first two are in tables, those
of the third are a float with an error below 2^-72. For `size` draws a fixed number of proposals is
made, so many that with probability 1 - 2^-60 enough are kept, and the first of these are taken.
Which ones are kept says nothing about what they are.

Theorem:   docs/theory/exact-noise.md
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InternalError
from sfumato.noise.ladder import Ladder
from sfumato.noise.law import Gaussian
from sfumato.noise.rng import Rng, Words
from sfumato.noise.uniform import WORD, Threshold, below, fixed_exp

_POINT = 52  # bits after the point of f·(2b + f), the offset f counted in blocks
_NEAR = 26  # bits of the offset that enter it exactly; the others are the float's
_COARSE, _FINE = 51, 39  # where that number is cut: 2^51 is a half, 2^39 is 2^-13
_ROWS = 2**12
_MOST_BLOCKS = 2**10  # so that (2b + f)·f stays below 2^63
_FITS = 52  # of a shift: 2^10 blocks of 2^52 fit int64
_TOO_FEW = Fraction(1, 2**66)  # the probability that too few proposals are kept, at most
_PER_PROPOSAL = 6  # words: two for the block, offset and sign, three coins


class Blocks:
    """One law, prepared: `draw` takes the same steps whatever it draws."""

    __slots__ = ("_coarse", "_fine", "_inverse", "_ladder", "_law", "_near")

    def __init__(self, law: Gaussian) -> None:
        """Lay out the ladder, and the odds of the two exact coins."""
        self._law, self._ladder = law, Ladder(law)
        self._near = min(law.shift, _NEAR)
        if law.shift:
            if self._ladder.blocks >= _MOST_BLOCKS:
                raise InternalError("a noise table is too long; this is a defect, please report.")
            self._coarse, self._fine = (_rejections(self._unit(c)) for c in (_COARSE, _FINE))
            self._inverse = float(1 / (2 * law.block_scale**2))

    def _unit(self, cut: int) -> Fraction:
        """Return by how much gamma grows with the bit at this cut."""
        return Fraction(1 << cut, 1 << _POINT) / (2 * self._law.block_scale**2)

    @property
    def doubt(self) -> Fraction:
        """A bound for the probability, a draw, that more words are needed than were planned."""
        if not self._law.shift:
            return self._ladder.doubt
        # Up to 80/79 proposals a draw are looked at, and five words leave one of its coins open.
        return (self._ladder.doubt + Fraction(5, 2**WORD)) * Fraction(80, 79) + _TOO_FEW

    def words(self, size: int) -> int:
        """How many random words so many draws take."""
        return _PER_PROPOSAL * proposals(size) if self._law.shift else 3 * size

    def draw(self, size: int, rng: Rng) -> Any:
        """Draw `size` integers: int64, or Python's own where the scale is near 2^60."""
        if self._law.shift:
            return self._kept(size, rng)
        words, more, signs = rng.words(3 * size).reshape(3, size)
        drawn, unsure = self._ladder.climb(words, more)
        for i in np.flatnonzero(unsure):
            drawn[i] = self._ladder.refine((int(words[i]) << WORD) | int(more[i]), 2 * WORD, rng)
        return _signed(drawn, signs)

    def _kept(self, size: int, rng: Rng) -> Any:
        count = proposals(size)
        words = rng.words(_PER_PROPOSAL * count).reshape(_PER_PROPOSAL, count)
        magnitudes, kept, unsure = self._proposed(words)
        first = np.flatnonzero(kept | unsure)[:size]
        if unsure[first].any():
            for i in np.flatnonzero(unsure):
                value, kept[i] = self.settled(words[:, i], rng)
                if value > 2**62:
                    magnitudes = magnitudes.astype(np.object_)
                magnitudes[i] = value
            first = np.flatnonzero(kept)[:size]
        drawn = _signed(magnitudes[first], words[2, first])
        if drawn.size < size:  # too few were kept
            drawn = np.concatenate([drawn, self._kept(size - drawn.size, rng)])
        return drawn

    def _proposed(self, words: Words) -> tuple[NDArray[Any], NDArray[np.bool_], NDArray[np.bool_]]:
        """Return the magnitudes proposed, which of them are kept, and where that is open."""
        shift = self._law.shift
        block, unsure = self._ladder.climb(words[0], words[1])
        offset = words[2] >> np.uint64(WORD - shift)
        if shift > _FITS:
            magnitude = (block.astype(np.object_) << shift) + offset.astype(np.object_)
        else:
            magnitude = (block << shift) + offset.view(np.int64)
        square, rest = self._squares(block.view(np.uint64), offset)
        rejected = (magnitude == 0) & (words[2] & np.uint64(1)).astype(np.bool_)  # minus zero
        coarse = self._coarse.take((square >> np.uint64(_COARSE)).view(np.int64), mode="clip")
        row = (square >> np.uint64(_FINE)) & np.uint64(_ROWS - 1)
        fine = self._fine.take(row.view(np.int64), mode="clip")
        rejected |= (words[3] < coarse) | (words[4] < fine)
        unsure |= (words[3] == coarse) | (words[4] == fine)
        # 1 - exp(-gamma) to far less than 2^-64, so that three words around it are open.
        gamma = rest * self._inverse
        odds = gamma * (1 - gamma / 2 * (1 - gamma / 3)) * 2.0**WORD
        low = np.maximum(odds.astype(np.uint64), np.uint64(1)) - np.uint64(1)
        rejected |= words[5] < low
        unsure |= words[5] - low <= np.uint64(2)  # below `low` the difference wraps around
        return magnitude, ~rejected, unsure

    def _squares(self, block: Words, offset: Words) -> tuple[Words, NDArray[np.float64]]:
        """Return 2s²·gamma = f·(2b + f): the part for the tables, and what is left for the float.

        The first is an integer, of which the table of each coin takes its bits; it is exact in as
        many bits of the offset as fit.
        """
        near = offset >> np.uint64(self._law.shift - self._near)
        whole = near * ((block << np.uint64(self._near + 1)) + near)
        square = whole << np.uint64(_POINT - 2 * self._near)
        rest = (square & np.uint64(2**_FINE - 1)).astype(np.float64) * 2.0**-_POINT
        if self._law.shift > self._near:
            far = offset & np.uint64((1 << (self._law.shift - self._near)) - 1)
            low = far.astype(np.float64) * 2.0**-self._law.shift
            high = near.astype(np.float64) * 2.0 ** -(self._near - 1)
            rest = rest + low * (2.0 * block.astype(np.float64) + high + low)
        return square, rest

    def settled(self, words: Words, rng: Rng) -> tuple[int, bool]:
        """Work one proposal out exactly: its magnitude, and whether it is kept."""
        shift, near = self._law.shift, self._near
        first, more, place, *tests = (int(word) for word in words)
        block = self._ladder.refine((first << WORD) | more, 2 * WORD, rng)
        offset = place >> (WORD - shift)
        front = offset >> (shift - near)
        square = front * ((block << (near + 1)) + front) << (_POINT - 2 * near)
        parts = [
            (square >> _COARSE) * self._unit(_COARSE),
            ((square >> _FINE) % _ROWS) * self._unit(_FINE),
        ]
        parts.append(self._law.gamma(block, offset) - sum(parts))
        minus_zero = not block and not offset and place & 1
        # Each coin has its own word, which is looked at even where another one has decided.
        heads = [
            below(test, WORD, _rejection(part), rng)
            for test, part in zip(tests, parts, strict=True)
        ]
        return (block << shift) + offset, not (minus_zero or any(heads))


def proposals(size: int) -> int:
    """Return how many proposals are made for so many draws.

    At most one in 80 is rejected. With these, fewer than `size` are kept with a probability below
    2^-66, for any size.
    """
    return size + size // 16 + 20


def _rejection(gamma: Fraction) -> Threshold:
    """Return 1 - exp(-gamma) as a threshold."""

    def enclose(length: int) -> tuple[int, int]:
        low, high = fixed_exp(-gamma, length)
        return (1 << length) - high, (1 << length) - low

    return enclose


def _rejections(unit: Fraction) -> Words:
    """Return the first 64 bits of 1 - exp(-k·unit), for every row k of a table."""
    precision = 3 * WORD
    ratio_low, ratio_high = fixed_exp(-unit, precision)
    low = high = one = 1 << precision
    found = []
    for _ in range(_ROWS):
        floor = (one - high) >> (2 * WORD)
        if one - low > (floor + 1) << (2 * WORD):
            raise InternalError("a noise table did not settle; this is a defect, please report it.")
        found.append(floor)
        low = low * ratio_low >> precision  # down
        high = min((high * ratio_high >> precision) + 1, one)  # up
    return np.array(found, np.uint64)


def _signed(magnitudes: NDArray[Any], words: Words) -> NDArray[Any]:
    signed: NDArray[Any] = magnitudes * (1 - 2 * (words & np.uint64(1)).view(np.int64))
    return signed
