"""Rows that carry the same law of noise: they are told apart once, and their law is found once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from math import floor, gcd
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.release import inversion, law
from sfumato.release.bound import of_rows
from sfumato.release.error import Noise
from sfumato.release.joint import Joint
from sfumato.release.linear import Linear
from sfumato.release.noisy import Ints

# For each kind of entry in a row: its noise, its weights in numerator and denominator, and how
# often it comes.
Signature: TypeAlias = tuple[tuple[Noise, int, int, int], ...]

_MOST = 3000  # entries of all laws that are found one by one, at about a millisecond each
_LONG = 100  # entries of one law from which on more make no difference: they are found faster


@dataclass(frozen=True, slots=True)
class Alike:
    """Which rows carry the same law.

    Attributes:
        kind: for each row, the place of its law in `laws`.
        laws: the different ones.
    """

    kind: NDArray[np.int64]
    laws: list[Signature]


def alike(joint: Joint, most: int = _MOST) -> Alike | None:
    """Tell rows apart by the law of top − t·bottom for every t; None if that is too much to find.

    Signs do not matter, because noise is symmetric, save that of the one weight against the other.
    """
    a, b = joint.above, joint.below
    a, b = np.where(a < 0, -a, a), np.where(a < 0, -b, np.where(a == 0, np.abs(b), b))
    # Three columns become one code, a pair at a time.
    (a_all, a_code), (b_all, b_code) = (np.unique(each, return_inverse=True) for each in (a, b))
    laws = max(len(joint.laws), 1)
    codes = (a_code.reshape(-1) * max(b_all.size, 1) + b_code.reshape(-1)) * laws + joint.law
    bounds = joint.bounds
    hashes = np.zeros(joint.size, np.uint64)
    some = np.flatnonzero(np.diff(bounds))
    if some.size:
        hashes[some] = np.add.reduceat(_mixed(codes), bounds[some])
    _, first, kind = np.unique(hashes, return_index=True, return_inverse=True)
    if first.size > most:
        return None
    found = []
    for row in first.tolist():
        counted: Counter[tuple[Noise, int, int]] = Counter()
        for (noise, weight), times in joint.common.items():
            counted[noise, 0, weight] += times
        for code, times in Counter(codes[bounds[row] : bounds[row + 1]].tolist()).items():
            pair, n = divmod(code, laws)
            i, j = divmod(pair, b_all.size)
            x, y = int(a_all[i]), int(b_all[j])
            counted[joint.laws[n], x, y] += times
            if joint.common and y:
                counted[joint.laws[n], 0, abs(y)] -= times
        found.append(tuple((*what, times) for what, times in counted.items() if times))
    if len(found) > 1 and sum(min(len(each), _LONG) for each in found) > most:
        return None
    return Alike(np.asarray(kind, np.int64).reshape(joint.size), found)


def halfwidths(linear: Linear, alpha: float) -> Ints:
    """Return for each row a q, a whole number over `linear.over`, with P(|noise| > q) <= alpha."""
    found = alike(Joint.of(linear, None))
    if found is None:
        bounds = [floor(width) for width in of_rows(linear, alpha).tolist()]
        return np.array(bounds, np.int64 if max(bounds) < 2**62 else np.object_)
    widths = [_width(signature, alpha) for signature in found.laws]
    dtype = np.int64 if all(width < 2**62 for width in widths) else np.object_
    return np.array(widths, dtype)[found.kind]


def parts(signature: Signature, a: float = 1, b: float = 0) -> inversion.Sum:
    """Return the noise of a·numerator + b·denominator, for rows of this law."""
    return tuple((noise, a * x + b * y, n) for noise, x, y, n in signature)


def _width(signature: Signature, alpha: float) -> int:
    if not signature:
        return 0
    if len(signature) == 1 and signature[0][3] == 1:
        noise, weight, _, _ = signature[0]
        return weight * law.reach(noise, alpha)
    # What is farther out than a multiple of the grid, is so by a whole step: rounding down.
    grid = gcd(*(weight for _, weight, _, _ in signature))
    largest = max(weight for _, weight, _, _ in signature)
    scaled = tuple((noise, weight / largest, n) for noise, weight, _, n in signature)
    q = Fraction(inversion.quantile(scaled, alpha)) * largest
    return int(q // grid) * grid


def _mixed(code: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Scramble codes, so that sums of them tell multisets apart (the finalizer of splitmix64)."""
    z = (code.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))
