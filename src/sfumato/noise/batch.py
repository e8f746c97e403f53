"""Noise in bulk, exact: a guide table for the block, uniform bits within it, a proved filter.

Inside a block of 2^shift integers the offset is uniform and kept with probability exp(-gamma). The
decision compares a uniform word with a lower bound for the whole block (a squeeze, right for about
98 % of the draws), then with a float polynomial whose error is bounded, and in the rare rest with
exact enclosures. See ``docs/theory/exact-noise.md`` for the proof of the filter's width.

Work depends on the values drawn: these kernels are for batches, not for answering an observer with
a stopwatch.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import factorial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.noise.law import Laplace, Law
from sfumato.noise.rng import Rng
from sfumato.noise.table import Scratch, Table
from sfumato.noise.uniform import WORD, below, fixed_exp, scaled_exp

Integers: TypeAlias = NDArray[np.int64] | NDArray[np.object_]

_CHUNK = 2**17  # draws at a time: enough to spread numpy's call overhead, 1 MiB an array
# The polynomial below is within 2^-46 of exp(-gamma) for gamma <= 1/2; 2^-40 leaves a wide margin.
FILTER_WIDTH = 2.0**-40
_GAMMA_LIMIT = 0.5
_COEFFICIENTS = tuple((-1) ** k / factorial(k) for k in range(14))


def draw(law: Law, size: int, rng: Rng) -> Integers:
    """Draw `size` independent integers from `law`.

    Returns:
        int64, or Python integers in an object array where int64 could be too small.
    """
    kernel = _kernel(law)
    out: Any = np.empty(size, np.int64)
    scratch = Scratch(min(size, _CHUNK))
    rejected = []
    for start in range(0, size, _CHUNK):
        stop = min(start + _CHUNK, size)
        part = np.empty(stop - start, np.int64) if out.dtype == np.object_ else out[start:stop]
        wide, again = kernel.propose(part, scratch, rng)
        if wide is not None:
            out = out.astype(np.object_, copy=False)
        if out.dtype == np.object_:
            out[start:stop] = part if wide is None else wide
        rejected.append(again + start)
    todo = np.concatenate(rejected) if rejected else np.arange(0)
    if todo.size:
        redrawn = draw(law, todo.size, rng)
        out = out.astype(np.promote_types(out.dtype, redrawn.dtype), copy=False)
        out[todo] = redrawn
    drawn: Integers = out
    return drawn


class _Kernel:
    """One law, prepared."""

    __slots__ = ("_overflows", "_squeeze", "law", "table")

    def __init__(self, law: Law) -> None:
        self.law = law
        self.table = Table(law)
        self._overflows = self.table.blocks << law.shift > 2**62
        self._squeeze = _squeeze(law, self.table.blocks) if law.shift else None

    def propose(
        self, out: NDArray[np.int64], scratch: Scratch, rng: Rng
    ) -> tuple[NDArray[np.object_] | None, NDArray[np.intp]]:
        """Fill `out` with draws.

        Returns:
            The draws as Python integers if they may not fit `out`, else None; and the positions
            that were rejected and must be drawn again.
        """
        words = rng.words(out.size)
        self.table.lookup(words, out, scratch, rng)
        rejected, wide = np.arange(0), None
        if self._squeeze is not None:
            offsets = rng.words(out.size)
            offsets >>= np.uint64(WORD - self.law.shift)
            tests = rng.words(out.size)
            squeeze = self._squeeze.take(out, mode="clip", out=scratch.threshold[: out.size])
            near = np.flatnonzero(tests >= squeeze)
            rejected = near[self._tails(out[near], offsets[near], tests[near], rng)]
            if self._overflows or int(out.max(initial=0)) >= self.table.blocks:
                wide = (out.astype(np.object_) << self.law.shift) + offsets.astype(np.object_)
            out <<= self.law.shift
            out += offsets.view(np.int64)
        if self.law.two_sided:
            words &= np.uint64(1)
            zero = (out if wide is None else wide) == 0
            if self.law.doubled_zero and (zeros := np.flatnonzero(zero)).size:
                rejected = np.union1d(rejected, zeros[words[zeros] == 1])
            minus = np.negative(words.view(np.int64), out=words.view(np.int64))
            out ^= minus  # minus is 0 or -1: two's complement without a branch
            out -= minus
            wide = None if wide is None else (wide ^ minus.astype(np.object_)) - minus
        return wide, rejected

    def _tails(
        self,
        blocks: NDArray[np.int64],
        offsets: NDArray[np.uint64],
        tests: NDArray[np.uint64],
        rng: Rng,
    ) -> NDArray[np.bool_]:
        """Return where the offset's coin exp(-gamma) comes up tails."""
        fraction = offsets.astype(np.float64) * 2.0**-self.law.shift
        gamma = self.law.gamma_floats(blocks.astype(np.float64), fraction)
        chance = np.full(gamma.shape, _COEFFICIENTS[-1])
        for coefficient in _COEFFICIENTS[-2::-1]:
            chance = chance * gamma + coefficient
        uniform = tests.astype(np.float64) * 2.0**-WORD
        tails: NDArray[np.bool_] = uniform > chance
        unsure = (np.abs(uniform - chance) <= FILTER_WIDTH) | (gamma > _GAMMA_LIMIT)
        for i in np.flatnonzero(unsure):
            gamma_exact = self.law.gamma(int(blocks[i]), int(offsets[i]))
            coin = scaled_exp(Fraction(1), -gamma_exact)
            tails[i] = not below(int(tests[i]), WORD, coin, rng)
        return tails


def _squeeze(law: Law, blocks: int) -> NDArray[np.uint64]:
    """Return, for each block, a word that lies below exp(-gamma) * 2^64 for all its offsets."""
    last = (1 << law.shift) - 1
    if isinstance(law, Laplace):
        low = fixed_exp(-law.gamma(0, last), WORD)[0]
        bounds = np.full(blocks + 1, low, np.uint64)
    else:
        # 1 - gamma <= exp(-gamma); the float of gamma is good to a few units, 2^-40 covers them.
        block = np.arange(blocks + 1, dtype=np.float64)
        gamma = law.gamma_floats(block, np.ones(blocks + 1))
        bounds = (np.clip(1 - gamma - FILTER_WIDTH, 0, 1) * 2.0**WORD).astype(np.uint64)
    bounds[-1] = 0  # beyond the table nothing is known: always look closer
    return bounds


@lru_cache(maxsize=64)
def _kernel(law: Law) -> _Kernel:
    return _Kernel(law)
