from fractions import Fraction

import numpy as np
import pytest

from sfumato.core.errors import CandidateError, RangeError, ScoreError
from sfumato.noise import Gaussian, Laplace, bernoulli, draw, system, uniform
from sfumato.noise.choice import Choice
from sfumato.testing import RecordedRng, SeededRng


@pytest.mark.parametrize("size", [0, 1, 31, 32, 1000, 2**17 + 5])
@pytest.mark.parametrize("law", [Laplace(Fraction(2)), Gaussian(Fraction(900))], ids=repr)
def test_draw_returns_the_size_asked_for(law, size):
    drawn = draw(law, size, system())
    assert drawn.shape == (size,) and drawn.dtype == np.int64


def test_draw_is_determined_by_the_words_alone():
    law = Gaussian(Fraction(1000))
    assert np.array_equal(draw(law, 5000, SeededRng(1)), draw(law, 5000, SeededRng(1)))
    assert not np.array_equal(draw(law, 5000, SeededRng(1)), draw(law, 5000, SeededRng(2)))


@pytest.mark.parametrize("kind", [Laplace, Gaussian])
def test_noise_beyond_64_bits_comes_as_python_integers(kind):
    law = kind(Fraction(2**60))
    drawn = draw(law, 4000, SeededRng(3))
    assert drawn.dtype == np.object_
    spread = float(np.mean([abs(x) for x in drawn])) / 2**60
    assert spread == pytest.approx(1 if kind is Laplace else np.sqrt(2 / np.pi), rel=0.1)
    if kind is Laplace:
        assert max(abs(x) for x in drawn) > 2**62  # what int64 could not have held after a sum


def test_tiny_scales_give_zero_noise():
    assert not draw(Laplace(Fraction(1, 2**20)), 1000, system()).any()
    assert not draw(Gaussian(Fraction(1, 2**20)), 10, system()).any()


@pytest.mark.parametrize("kind", [Laplace, Gaussian])
@pytest.mark.parametrize(
    "scale", [Fraction(1, 2**21), Fraction(2**60) + 1, Fraction(0), Fraction(-1)]
)
def test_scales_outside_the_range_are_refused(kind, scale):
    with pytest.raises(RangeError, match="2\\^-20 to 2\\^60"):
        kind(scale)


def test_uniform_integers_refuse_an_empty_range():
    for bad in (0, -1):
        with pytest.raises(RangeError):
            uniform.integer(system(), bad)
        with pytest.raises(RangeError):
            uniform.integers(system(), bad, 3)
    with pytest.raises(RangeError):
        uniform.integers(system(), 2**64 + 1, 3)


def test_single_integers_reach_beyond_64_bits():
    drawn = [uniform.integer(SeededRng(i), 2**200 - 1) for i in range(50)]
    assert max(drawn) > 2**190 and len(set(drawn)) == 50


@pytest.mark.parametrize("bad", [Fraction(-1, 10), Fraction(11, 10)])
def test_impossible_odds_are_refused(bad):
    for flip in (lambda: bernoulli.flip(system(), bad), lambda: bernoulli.flips(system(), bad, 3)):
        with pytest.raises(RangeError):
            flip()


def test_negative_gamma_is_refused():
    for flip in (bernoulli.exp_flip, lambda rng, g: bernoulli.exp_flips(rng, g, 3)):
        with pytest.raises(RangeError, match="gamma"):
            flip(system(), Fraction(-1))


def test_a_word_on_the_threshold_draws_more_bits():
    # 1/3 in binary is 0.0101...: the word of its first 64 bits leaves the coin open.
    word = 2**64 // 3
    assert bernoulli.flips(RecordedRng([word, 0]), Fraction(1, 3), 1)[0]
    assert not bernoulli.flips(RecordedRng([word, 2**64 - 1]), Fraction(1, 3), 1)[0]
    assert bernoulli.flips(RecordedRng([word, word, 0]), Fraction(1, 3), 1)[0]


def test_recorded_rng_ends_with_its_recording():
    rng = RecordedRng([1, 2])
    rng.words(2)
    with pytest.raises(EOFError):
        rng.words(1)


def test_choice_neither_overflows_nor_underflows():
    far = np.array([-(2**61), 0, 2**61], np.int64)
    assert set(Choice(far, Fraction(2**60)).draw(100, system())) == {2}
    # A candidate a thousand times less likely than the smallest float is still in the support.
    tiny = Choice(np.array([0, -800], np.int64), Fraction(1))
    assert tiny._proposal[1] >= 1
    flat = Choice(np.zeros(100_000, np.int64), Fraction(0)).draw(1000, system())
    assert np.unique(flat).size > 900


def test_choice_accepts_an_unlikely_candidate_with_its_true_odds():
    # Proposed with weight 1, true weight 2^60·exp(-50): the coin must say no but once in 10^4.
    unlikely = Choice(np.array([0, -50], np.int64), Fraction(1))
    ratio = float(unlikely._unit) * np.exp(-50.0) / float(unlikely._proposal[1])
    words = SeededRng(4).words(20_000)
    kept = sum(unlikely._accept(1, int(w), system()) for w in words)
    assert kept == pytest.approx(20_000 * ratio, abs=6 * np.sqrt(20_000 * ratio) + 6)


@pytest.mark.parametrize("n", [1, 2, 1000, 10**6])
def test_proposals_are_at_least_the_true_weights(n):
    rng = SeededRng(n)
    scores = -(rng.words(n) >> np.uint64(44)).astype(np.int64)
    weights = (rng.words(n) >> np.uint64(20)).astype(np.int64)
    weights[0] = 5
    chosen = Choice(scores, Fraction(1, 7), weights)
    check = np.unique(np.concatenate([np.argsort(-chosen._proposal)[:200], np.arange(min(n, 50))]))
    from decimal import Decimal, localcontext

    with localcontext() as context:
        context.prec = 60
        p = chosen._pivot
        for i in check.tolist():
            gap = Decimal(int(scores[i]) - int(scores[p])) / 7
            true = gap.exp() * int(weights[i]) / int(weights[p]) * chosen._unit
            assert int(chosen._proposal[i]) >= true


@pytest.mark.parametrize(
    ("scores", "weights", "error"),
    [
        ([], None, CandidateError),
        ([1, 2], [0, 0], CandidateError),
        ([1, 2], [1, -1], CandidateError),
        ([1, 2], [1], CandidateError),
        ([2**62], None, ScoreError),
    ],
)
def test_choice_refuses_what_it_cannot_weigh(scores, weights, error):
    prior = None if weights is None else np.array(weights, np.int64)
    with pytest.raises(error):
        Choice(np.array(scores, np.int64), Fraction(1), prior)
    with pytest.raises(ScoreError):
        Choice(np.array([0.5]), Fraction(1))
    with pytest.raises(RangeError):
        Choice(np.array([1], np.int64), Fraction(-1))


def test_noise_never_touches_numpy_random(monkeypatch):
    def forbidden(*_args, **_kwargs):
        raise AssertionError("numpy.random was used")

    for name in ("default_rng", "random", "normal", "laplace", "randint"):
        monkeypatch.setattr(np.random, name, forbidden)
    draw(Laplace(Fraction(5)), 1000, system())
    draw(Gaussian(Fraction(500)), 1000, system())
    Choice(np.arange(5), Fraction(1)).draw(5, system())


@pytest.mark.parametrize("kind", [Laplace, Gaussian])
def test_wide_noise_goes_on_beyond_the_first_chunk(kind):
    drawn = draw(kind(Fraction(2**60)), 2**17 + 3, SeededRng(6))
    assert drawn.dtype == np.object_ and drawn.shape == (2**17 + 3,)
    assert all(type(x) is int for x in drawn[-5:])


def test_gaussian_noise_is_two_sided():
    with pytest.raises(RangeError, match="both sides"):
        Gaussian(Fraction(3), two_sided=False)
