"""Noise of fixed work: exact to the last bit, and the same words whatever is drawn."""

from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from sfumato.audit import stopwatch
from sfumato.core.errors import InternalError
from sfumato.core.interval import Interval
from sfumato.mechanisms import DiscreteGaussian, DiscreteLaplace
from sfumato.noise import FixedWork, Gaussian, Laplace, blocks, draw, fixed, paper, system
from sfumato.noise.blocks import Blocks, proposals
from sfumato.noise.coins import Coins, floor
from sfumato.noise.digits import Digits, logistic
from sfumato.noise.ladder import Ladder
from sfumato.noise.uniform import ratio
from sfumato.testing import RecordedRng, SeededRng

LAST = 2**64 - 1
SCALES = ["1/1048576", "1/50", "3/7", "1", "5/2", "63", "64", "12345/7", "1e6", "1e14", "2**60"]
LAWS = [
    kind(Fraction(eval(scale)) if "*" in scale else Fraction(scale))  # noqa: S307
    for kind in (Laplace, Gaussian, lambda scale: Laplace(scale, two_sided=False))
    for scale in SCALES
]


class Counted:
    """Counts what is asked of another source, request by request."""

    def __init__(self, source):
        self.source, self.requests = source, []

    @property
    def total(self):
        return sum(self.requests)

    def words(self, count):
        self.requests.append(count)
        return self.source.words(count)


def requests(law, size, seed):
    rng = Counted(SeededRng(seed))
    fixed.draw(law, size, rng)
    return rng.requests


# ---- the work ------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("size", [1, 5, 300])
def test_every_draw_asks_for_the_same_words(law, size):
    first = requests(law, size, 0)
    assert all(requests(law, size, seed) == first for seed in range(1, 60 if size < 300 else 5))
    kernel = fixed._kernel(law)
    planned = kernel.words(size) if isinstance(kernel, Blocks) else kernel.words * size
    assert sum(first) == planned


def test_the_samplers_of_the_paper_ask_for_more_words_for_larger_noise():
    # What the tests of this file would see if a sampler were a loop.
    counts = set()
    for seed in range(60):
        rng = Counted(SeededRng(seed))
        paper.sample(Laplace(Fraction(5, 2)), rng)
        counts.add(rng.total)
    assert len(counts) > 10


@pytest.mark.parametrize("law", [Laplace(Fraction(1000)), Gaussian(Fraction(1000))], ids=repr)
def test_words_tell_nothing_of_the_size_to_a_stopwatch(law):
    rng = Counted(SeededRng(11))
    used = stopwatch(
        lambda: int(fixed.draw(law, 1, rng)[0]), trials=150, clock=lambda: float(rng.total)
    )
    assert used.epsilon_lower == 0 and used.counts[0] == used.counts[1]


def test_a_stopwatch_sees_the_size_of_noise_from_a_loop():
    rng = Counted(SeededRng(12))

    def loop():  # what a geometric number costs that is counted up one by one
        steps = 0
        while int(rng.words(1)[0]) >> 58:
            steps += 1
        return steps

    found = stopwatch(loop, trials=150, clock=lambda: float(rng.total))
    assert found.flagged and found.epsilon_lower > 2
    source = Counted(SeededRng(13))
    law = Laplace(Fraction(1000))
    found = stopwatch(
        lambda: paper.sample(law, source), trials=300, clock=lambda: float(source.total)
    )
    assert found.flagged and found.epsilon_lower > 1


@pytest.mark.deep
@pytest.mark.parametrize("law", [Laplace(Fraction(1000)), Gaussian(Fraction(1000))], ids=repr)
def test_a_clock_tells_nothing_of_the_size(law):
    rng = FixedWork(system())
    found = stopwatch(lambda: int(draw(law, 1, rng)[0]), trials=100_000)
    assert found.epsilon_lower <= 0.05, str(found)


def test_more_work_is_rarer_than_two_to_the_minus_sixty():
    scales = [Fraction(2) ** k * Fraction(m, 16) for k in range(-19, 60) for m in (16, 23, 31)]
    assert max(Blocks(Gaussian(scale)).doubt for scale in scales[::7]) < Fraction(1, 2**60)
    edge = [Fraction(31), Fraction(639, 10), Fraction(2**20) - 1, Fraction(2**60)]
    assert max(Blocks(Gaussian(scale)).doubt for scale in edge) < Fraction(1, 2**60)
    for kernel in (Blocks(Gaussian(scale)) for scale in edge):  # not by leaving out what happens
        coins = Fraction(5, 2**64) if kernel._law.shift else 0
        assert kernel.doubt >= Ladder(kernel._law).doubt + coins
    for scale in scales:  # what is left to the rest of the digits
        kernel = Digits(Laplace(scale))
        assert kernel._rest(200)[1] < 2**136
        assert kernel._length == 0 or (1 << (kernel._length - 1)) < 45 * scale


def test_enough_proposals_are_kept():
    sizes = np.arange(1, fixed._CHUNK + 1)
    made = np.array([proposals(int(size)) for size in sizes])
    short = stats.binom.logsf(made - sizes, made, 1 / 80) / np.log(2)
    assert short.max() < -66
    # At most one in 80 is rejected: where blocks are fewest, one in 81.
    law = Gaussian(Fraction(64))
    kept = np.mean(Blocks(law)._proposed(SeededRng(5).words(6 * 10**5).reshape(6, -1))[1])
    assert 1 - kept == pytest.approx(1 / 81.2, abs=6 * np.sqrt(1 / 80 / 10**5))


# ---- the law -------------------------------------------------------------------------------------


def enclosed(odds, bits=260):
    low, high = odds(bits)
    ends = (Interval.of(Fraction(end, 1 << bits), 80) for end in (low, high))
    return Interval(next(ends).low, next(ends).high, 80)


def same(made, wanted, width):
    """Return whether two enclosures may hold the same real, the first being narrow."""
    narrow = made.high - made.low < Decimal(width) * wanted.high
    return narrow and made.low <= wanted.high and wanted.low <= made.high


@pytest.mark.parametrize("scale", ["1/50", "1/3", "1", "5/2", "22/7"])
def test_digits_make_the_law_of_a_geometric_number(scale):
    law = Laplace(Fraction(scale))
    kernel = Digits(law)
    *digits, rest, nonzero = kernel._coins._odds
    q = Interval.of(-1 / law.scale, 80).exp()
    for g in range(min(1 << kernel._length, 200)):
        made = 1 - enclosed(rest)
        for i, odds in enumerate(digits):
            made = made * (enclosed(odds) if g >> i & 1 else 1 - enclosed(odds))
        assert same(made, (1 - q) * Interval.of(-g / law.scale, 80).exp(), "1e-35")
    assert same(enclosed(nonzero), 2 * q / (1 + q), "1e-35")
    # The digits that are not drawn are those of a number that is geometric again.
    assert same(enclosed(rest), Interval.of(-(1 << kernel._length) / law.scale, 80).exp(), "1e-35")


class Reference:
    """Draws like the kernels, from the same words, in decimals of 110 digits and no arrays."""

    def __init__(self, law):
        self.law, self.scale = law, Decimal(law.scale.numerator) / law.scale.denominator

    def coin(self, odds, *words):
        """Return whether the real that begins with these words lies below the odds."""
        real = sum(Decimal(word) / Decimal(2) ** (64 * (i + 1)) for i, word in enumerate(words))
        assert not real <= odds < real + Decimal(2) ** (-64 * len(words))
        return real < odds

    def laplace(self, words):
        """Take one draw's words: digits, rest, nonzero if there are signs, spare; then the sign."""
        count = len(words) - (3 + self.law.two_sided if self.law.two_sided else 2)
        number = sum(
            self.coin(1 / (1 + (Decimal(2) ** i / self.scale).exp()), words[i]) << i
            for i in range(count)
        )
        assert not self.coin((-(Decimal(2) ** count) / self.scale).exp(), words[count])
        if not self.law.two_sided:
            return number
        q = (-1 / self.scale).exp()
        if not self.coin(2 * q / (1 + q), words[count + 1]):
            return 0
        return -number - 1 if words[-1] & 1 else number + 1

    def boundaries(self, s, doubled):
        if not hasattr(self, "_cdf"):
            weights = [
                (-Decimal(b) * b / (2 * s * s)).exp() * (2 if b or doubled else 1)
                for b in range(int(15 * s) + 20)
            ]
            total, running, self._cdf = sum(weights), Decimal(0), []
            for weight in weights:
                running += weight
                self._cdf.append(running / total)
        return self._cdf

    def gaussian(self, words):
        """Take one proposal's words; None if it is rejected."""
        k = self.law.shift
        s = self.scale / 2**k
        real = Decimal(words[0]) / 2**64 + Decimal(words[1]) / 2**128
        block = sum(c <= real for c in self.boundaries(s, k > 0))
        if not k:
            return -block if words[2] & 1 else block
        offset = words[2] >> (64 - k)
        near = min(k, 26)
        front = offset >> (k - near)
        square = Fraction(front * ((2 * block << near) + front), 1 << (2 * near))
        f = Fraction(offset, 1 << k)
        coarse = square // Fraction(1, 2) * Fraction(1, 2)
        fine = (square - coarse) // Fraction(1, 2**13) * Fraction(1, 2**13)
        parts = coarse, fine, f * (2 * block + f) - coarse - fine
        for word, part in zip(words[3:], parts, strict=True):
            gamma = Decimal(part.numerator) / part.denominator / (2 * s * s)
            if part and self.coin(1 - (-gamma).exp(), word):
                return None
        value = (block << k) + offset
        if not value and words[2] & 1:
            return None
        return -value if words[2] & 1 else value


def reference(law, size, seed):
    """Draw with the reference."""
    ours, rng = Reference(law), SeededRng(seed)
    with localcontext() as context:
        context.prec = 110
        if isinstance(law, Laplace):
            count = Digits(law)._coins.words
            rows = rng.words(count * size).reshape(count, size).T.tolist()
            signs = rng.words(size).tolist() if law.two_sided else [None] * size
            return [
                ours.laplace(row + ([] if s is None else [s]))
                for row, s in zip(rows, signs, strict=True)
            ]
        per, made = (6, proposals(size)) if law.shift else (3, size)
        columns = rng.words(per * made).reshape(per, made).T.tolist()
        kept = [v for v in (ours.gaussian(column) for column in columns) if v is not None]
        return kept[:size]


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_draws_equal_a_reference_in_decimals(law):
    size = 40
    assert [int(x) for x in fixed.draw(law, size, SeededRng(21))] == reference(law, size, 21)


@pytest.mark.deep
@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_draws_equal_a_reference_in_decimals_at_length(law):
    for seed in range(10):
        size = 200
        assert [int(x) for x in fixed.draw(law, size, SeededRng(seed))] == reference(
            law, size, seed
        )


@pytest.mark.parametrize("scale", ["64", "100", "12345/7", "1e6", "2147483648", "1e14", "1e18"])
def test_proposals_are_settled_alike_by_arrays_and_one_by_one(scale):
    kernel, rng = Blocks(Gaussian(Fraction(scale))), SeededRng(3)
    words = rng.words(6 * 400).reshape(6, 400)
    for row in range(6):  # the ends of all words, and the odds themselves, and beside them
        words[row, 40 * row : 40 * row + 20] = 0
        words[row, 40 * row + 20 : 40 * row + 40] = LAST
    magnitudes, kept, unsure = kernel._proposed(words)
    for i in range(words.shape[1]):
        if not unsure[i]:
            value, keep = kernel.settled(words[:, i], RecordedRng([]))
            assert (value, keep) == (magnitudes[i], kept[i])
    assert not unsure[240:].any()  # where the words are nobody's choice


def around(kernel, column, row, odds):
    """Return the verdicts for words near the odds of one coin."""
    found = []
    for word in (odds - 3, odds - 2, odds - 1, odds, odds + 1, odds + 2):
        words = column.copy()
        words[row] = word
        _, kept, unsure = kernel._proposed(words.reshape(6, 1))
        found.append("?" if unsure[0] else "+" if kept[0] else "-")
    return "".join(found)


def test_words_beside_the_odds_are_sure_and_the_odds_themselves_are_not():
    kernel = Blocks(Gaussian(Fraction(10**6)))
    column = np.array([2**63, 5, (12345 << 50) + 2, LAST, LAST, LAST], np.uint64)
    block, _ = kernel._ladder.climb(column[:1], column[1:2])
    square, rest = kernel._squares(
        block.view(np.uint64), column[2:3] >> np.uint64(64 - kernel._law.shift)
    )
    coarse = int(kernel._coarse[int(square[0]) >> 51])
    fine = int(kernel._fine[int(square[0]) >> 39 & 4095])
    assert around(kernel, column, 3, coarse) == "---?++"
    assert around(kernel, column, 4, fine) == "---?++"
    with localcontext() as context:
        context.prec = 60
        gamma = Decimal(float(rest[0])) / (2 * Decimal(10**6) ** 2 / 2**28)
        last = int(((1 - (-gamma).exp()) * 2**64).to_integral_value(ROUND_FLOOR))
    assert kernel._law.shift == 14
    assert around(kernel, column, 5, last) == "--???+"


@pytest.mark.parametrize("scale", ["64", "999/10", "12345", "1e18"])
def test_tables_hold_the_first_bits_of_the_odds(scale):
    law = Gaussian(Fraction(scale))
    kernel = Blocks(law)
    with localcontext() as context:
        context.prec = 70
        s = Decimal(law.block_scale.numerator) / law.block_scale.denominator
        for rows, unit in ((kernel._coarse, 1 / (4 * s * s)), (kernel._fine, 1 / (2**14 * s * s))):
            for k in (0, 1, 2, 77, 2048, 4095):
                odds = (1 - (-k * unit).exp()) * 2**64
                assert int(rows[k]) == int(odds.to_integral_value(ROUND_FLOOR))


# ---- what is open --------------------------------------------------------------------------------


THIRD, FIFTH = ratio(Fraction(1, 3)), ratio(Fraction(1, 5))
FIRST = {3: 2**64 // 3, 5: 2**64 // 5}


def thrown(*words):
    rng = RecordedRng(words)
    heads = Coins([THIRD, FIFTH]).throw(1, rng)[:, 0].tolist()
    assert rng.left == 0
    return heads


def test_a_lone_open_coin_takes_the_spare_word():
    assert thrown(FIRST[3], 0, 0) == [True, True]
    assert thrown(FIRST[3], LAST, LAST) == [False, False]
    assert thrown(LAST, FIRST[5], FIRST[5] - 1) == [False, True]
    assert thrown(LAST, FIRST[5], FIRST[5] + 1) == [False, False]
    assert thrown(0, LAST, FIRST[3]) == [True, False]  # nothing is open, whatever the spare word is


def test_more_open_coins_take_more_words():
    assert thrown(FIRST[3], LAST, FIRST[3], 0) == [True, False]
    assert thrown(FIRST[3], LAST, FIRST[3], LAST) == [False, False]
    assert thrown(FIRST[3], FIRST[5], 0, LAST, 0) == [False, True]  # the spare word is not used


def test_odds_that_are_enclosed_badly_are_refused():
    with pytest.raises(InternalError):
        floor(lambda length: (0, 1 << length), 128)


def test_a_table_that_does_not_settle_is_refused(monkeypatch):
    monkeypatch.setattr(blocks, "fixed_exp", lambda _, length: (1 << (length - 1), 1 << length))
    with pytest.raises(InternalError, match="settle"):
        Blocks(Gaussian(Fraction(100)))


def test_a_table_that_is_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(blocks, "_MOST_BLOCKS", 100)
    with pytest.raises(InternalError, match="too long"):
        Blocks(Gaussian(Fraction(100)))


def test_a_law_without_a_kernel_is_refused():
    with pytest.raises(InternalError, match="no kernel"):
        draw("uniform", 1, FixedWork(system()))


def test_odds_far_below_the_last_bit_are_not_computed():
    assert logistic(2, Fraction(2**20))(128) == (0, 1)
    assert (
        Coins([logistic(2, Fraction(2**20))]).throw(3, RecordedRng([0, 1, 2, 9, 9, 9])).any() == 0
    )


def test_the_rest_of_the_digits_goes_on_without_end():
    kernel = Digits(Laplace(Fraction(1), two_sided=False))
    assert kernel._length == 6
    quiet = [LAST] * 6  # digits of zero
    assert kernel.draw(1, RecordedRng([*quiet, 0, 0, LAST])).tolist() == [64]
    assert kernel.draw(1, RecordedRng([*quiet, 0, 0, 0, 0, LAST])).tolist() == [128]
    assert kernel.draw(1, RecordedRng([*quiet, 0, LAST])).tolist() == [0]  # the spare word decides


def test_a_real_on_a_boundary_is_refined():
    law = Gaussian(Fraction(3))
    ladder = Ladder(law)
    low, _ = law.boundaries(128)
    for k in (0, 1, 5):
        first, second = low[k] >> 64, low[k] & LAST
        words = np.array([first] * 3, np.uint64)
        place, unsure = ladder.climb(words, np.array([second - 1, second, second + 1], np.uint64))
        assert place[0] == k and place[2] == k + 1
        assert unsure.tolist() == [False, True, False]
        assert ladder.refine(low[k], 128, RecordedRng([0])) == k
        assert ladder.refine(low[k], 128, RecordedRng([LAST])) == k + 1


@pytest.mark.parametrize("scale", ["3", "1000", "1e18"])
def test_draws_beyond_the_table_are_refined(scale):
    law = Gaussian(Fraction(scale))
    kernel = Blocks(law)
    kernel._ladder = Last(kernel._ladder)
    rng = Middle()
    drawn = kernel.draw(2, rng)
    assert all(abs(int(x)) > 12 * law.scale for x in drawn)
    assert rng.calls > 2


class Middle:
    """Says the word in the middle, always."""

    calls = 0

    def words(self, count):
        self.calls += 1
        return np.full(count, 2**63, np.uint64)


class Last:
    """A ladder that stays open everywhere, and refines to what lies beyond its table."""

    def __init__(self, ladder):
        self.ladder = ladder

    def climb(self, words, more):
        place, _ = self.ladder.climb(words, more)
        return place, np.ones(words.size, np.bool_)

    def refine(self, prefix, length, rng):
        assert length == 128
        return self.ladder.refine((1 << length) - 1, length, rng)


def test_proposals_are_made_again_if_too_few_are_kept():
    kernel = Blocks(Gaussian(Fraction(1000)))

    class Unlucky:
        calls = 0

        def words(self, count):
            Unlucky.calls += 1
            if Unlucky.calls > 1:
                return SeededRng(1).words(count)
            words = np.zeros(count, np.uint64).reshape(6, -1)
            words[0], words[2] = 2**63, LAST - 1  # somewhere, at the end of its block
            return words.ravel()

    assert kernel.draw(7, Unlucky()).shape == (7,) and Unlucky.calls == 2


# ---- the door ------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 31, 32, fixed._CHUNK + 5])
@pytest.mark.parametrize("law", [Laplace(Fraction(2)), Gaussian(Fraction(900))], ids=repr)
def test_a_source_of_fixed_work_chooses_the_kernel(law, size):
    drawn = draw(law, size, FixedWork(SeededRng(1)))
    assert drawn.shape == (size,) and drawn.dtype == np.int64
    assert np.array_equal(drawn, fixed.draw(law, size, SeededRng(1)))
    if size > 5:
        assert not np.array_equal(drawn, draw(law, size, SeededRng(1)))


@pytest.mark.parametrize("kind", [Laplace, Gaussian])
def test_noise_beyond_64_bits_comes_as_python_integers(kind):
    law = kind(Fraction(2**60))
    drawn = draw(law, 4000, FixedWork(SeededRng(3)))
    assert drawn.dtype == np.object_ and type(drawn[0]) is int
    spread = float(np.mean([abs(x) for x in drawn])) / 2**60
    assert spread == pytest.approx(1 if kind is Laplace else np.sqrt(2 / np.pi), rel=0.1)


@pytest.mark.parametrize("mechanism", [DiscreteLaplace(scale=7), DiscreteGaussian(sigma=7)])
def test_mechanisms_draw_with_fixed_work_from_such_a_source(mechanism):
    exact = np.arange(5)
    counts = []
    for seed in range(20):
        rng = Counted(SeededRng(seed))
        mechanism.sample(exact, FixedWork(rng))
        counts.append(rng.requests)
    assert all(each == counts[0] for each in counts)
