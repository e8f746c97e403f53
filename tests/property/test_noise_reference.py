"""The batch kernel against a slow reference, word for word.

The reference shares no arithmetic with the kernel: it computes the distribution by direct
high-precision exponentials and decides every comparison on exact numbers.
"""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.noise import batch
from sfumato.noise.law import Gaussian, Laplace
from sfumato.testing import RecordedRng, SeededRng

_DIGITS = 110


def decimal(number):
    return Decimal(number.numerator) / Decimal(number.denominator)


class Reference:
    """Draws like the kernel, from the same words, with numbers of 110 digits."""

    def __init__(self, law):
        self.law = law
        self.shift = 0
        while law.scale / (1 << self.shift) >= 64 and self.shift < 60:
            self.shift += 1
        with localcontext() as context:
            context.prec = _DIGITS
            scale = decimal(law.scale) / (1 << self.shift)
            double_zero = law.two_sided and self.shift > 0
            weights, b = [], 0
            while True:
                exponent = Decimal(b) / scale
                if isinstance(law, Gaussian):
                    exponent = Decimal(b) * b / (2 * scale * scale)
                if exponent > 230:
                    break
                halved = law.two_sided and not double_zero and b == 0
                weights.append((-exponent).exp() * (Decimal(1) / 2 if halved else 1))
                b += 1
            total = sum(weights)
            running, self.cdf = Decimal(0), []
            for weight in weights:
                running += weight
                self.cdf.append(running / total)

    def block(self, prefix, rng):
        bits = 63
        with localcontext() as context:
            context.prec = _DIGITS
            while True:
                low, high = Decimal(prefix) / 2**bits, Decimal(prefix + 1) / 2**bits
                surely = sum(c <= low for c in self.cdf)
                maybe = sum(c < high for c in self.cdf)
                if surely == maybe:
                    return surely
                prefix, bits = (prefix << 64) | int(rng.words(1)[0]), bits + 64

    def chance(self, block, offset):
        start = block << self.shift
        gamma = offset / self.law.scale
        if isinstance(self.law, Gaussian):
            gamma = ((start + offset) ** 2 - start**2) / (2 * self.law.scale**2)
        return (-decimal(gamma)).exp()

    def keep(self, block, offset, test, rng):
        bits = 64
        with localcontext() as context:
            context.prec = _DIGITS
            chance = self.chance(block, offset)
            while True:
                if Decimal(test + 1) / 2**bits <= chance:
                    return True
                if Decimal(test) / 2**bits >= chance:
                    return False
                test, bits = (test << 64) | int(rng.words(1)[0]), bits + 64

    def draw(self, size, rng):
        words = [int(w) for w in rng.words(size)]
        blocks = [self.block(w >> 1, rng) for w in words]
        keep = [True] * size
        values = blocks
        if self.shift:
            offsets = [int(w) >> (64 - self.shift) for w in rng.words(size)]
            tests = [int(w) for w in rng.words(size)]
            keep = [self.keep(*trio, rng) for trio in zip(blocks, offsets, tests, strict=True)]
            values = [(b << self.shift) + o for b, o in zip(blocks, offsets, strict=True)]
        if self.law.two_sided:
            minus = [w & 1 for w in words]
            if self.shift:
                keep = [
                    k and not (v == 0 and m) for k, v, m in zip(keep, values, minus, strict=True)
                ]
            values = [-v if m else v for v, m in zip(values, minus, strict=True)]
        again = [i for i, kept in enumerate(keep) if not kept]
        if again:
            for i, value in zip(again, self.draw(len(again), rng), strict=True):
                values[i] = value
        return values


laws = st.builds(
    lambda kind, top, exponent, bottom: kind(
        min(
            max(Fraction(top, bottom) * Fraction(2) ** exponent, Fraction(1, 2**20)),
            Fraction(2**60),
        )
    ),
    st.sampled_from([Laplace, Gaussian, lambda scale: Laplace(scale, two_sided=False)]),
    st.integers(1, 10**6),
    st.integers(-30, 58),
    st.integers(1, 10**6),
)


def check(law, seed, size):
    drawn = batch.draw(law, size, SeededRng(seed))
    assert [int(x) for x in drawn] == Reference(law).draw(size, SeededRng(seed))


@settings(max_examples=40, deadline=None)
@given(laws, st.integers(0, 2**32))
def test_batch_draws_equal_the_reference(law, seed):
    check(law, seed, 60)


@pytest.mark.deep
@settings(max_examples=500, deadline=None)
@given(laws, st.integers(0, 2**32))
def test_batch_draws_equal_the_reference_at_length(law, seed):
    check(law, seed, 200)


@pytest.mark.parametrize(
    "law",
    [
        Laplace(Fraction(1)),
        Laplace(Fraction(7, 3), two_sided=False),
        Laplace(Fraction(5000)),
        Gaussian(Fraction(3, 2)),
        Gaussian(Fraction(12345)),
    ],
    ids=repr,
)
@pytest.mark.parametrize("further", [0, 1, 2**63, 2**64 - 1])
def test_words_on_a_boundary_are_decided_by_further_bits(law, further):
    # Prefixes that coincide with the first 63 bits of a boundary: once in 2^63 draws, so they are
    # played from a recording. Both must ask for the same further words and come to the same answer.
    reference = Reference(law)
    with localcontext() as context:
        context.prec = _DIGITS
        edges = sorted({min(int(c * 2**63), 2**63 - 1) for c in reference.cdf[:40]})
    extra = [further, 12345, 2**40 + 1, *range(1000, 1400)]
    for edge in edges:
        words = [(edge << 1), *extra]
        fast, slow = RecordedRng(words), RecordedRng(words)
        table = batch._kernel(law).table
        out = np.empty(1, np.int64)
        table.lookup(fast.words(1), out, batch.Scratch(1), fast)
        assert out[0] == reference.block(int(slow.words(1)[0]) >> 1, slow)
        assert fast.left == slow.left < len(extra)


@pytest.mark.parametrize("law", [Laplace(Fraction(1000)), Gaussian(Fraction(10**6))], ids=repr)
def test_coins_inside_the_filter_width_are_decided_exactly(law):
    # Words next to exp(-gamma)·2^64, where the float filter cannot tell.
    reference, kernel = Reference(law), batch._kernel(law)
    for block, offset in [(0, 1), (5, (1 << law.shift) - 1), (30, 3), (100, 7), (17, 11)]:
        with localcontext() as context:
            context.prec = _DIGITS
            middle = int(reference.chance(block, offset) * 2**64)
        # From the last bit, where only exact arithmetic can tell, to far outside the filter.
        steps = [0, *(sign * 2**k for k in range(0, 56, 2) for sign in (1, -1))]
        for test in (middle + step for step in steps if 0 <= middle + step < 2**64):
            for further in (0, 2**64 - 1):
                fast, slow = RecordedRng([further] * 3), RecordedRng([further] * 3)
                arrays = (
                    np.array([block]),
                    np.array([offset], np.uint64),
                    np.array([test], np.uint64),
                )
                tails = bool(kernel._tails(*arrays, fast)[0])
                assert tails == (not reference.keep(block, offset, test, slow))
                assert fast.left == slow.left


@pytest.mark.parametrize("law", [Laplace(Fraction(3)), Gaussian(Fraction(40))], ids=repr)
def test_every_first_sixteen_bits_land_in_the_right_block(law):
    reference = Reference(law)
    prefixes = [(i << 47) + 12345 for i in range(2**16)]
    with localcontext() as context:
        context.prec = _DIGITS
        edges = np.array([int(c * 2**63) for c in reference.cdf if c < 1 - Decimal(2) ** -62])
    wanted = np.searchsorted(edges, np.array(prefixes), "left")
    out = np.empty(2**16, np.int64)
    words = np.array(prefixes, np.uint64) << np.uint64(1)
    batch._kernel(law).table.lookup(words, out, batch.Scratch(2**16), SeededRng(0))
    assert np.array_equal(out, wanted)


def test_the_smallest_scale_leaves_its_last_word_open():
    # P(0) is 1 - 2^-1500000 or so: the last prefix alone cannot rule the rest out, more bits can.
    words = [2**64 - 1, 5]
    rng = RecordedRng(words)
    out = np.empty(1, np.int64)
    table = batch._kernel(Laplace(Fraction(1, 2**20))).table
    table.lookup(rng.words(1), out, batch.Scratch(1), rng)
    assert (out[0], rng.left) == (0, 0)
