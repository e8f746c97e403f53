"""Audits count their runs, keep their promises, and refuse what makes no sense."""

from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato import audit
from sfumato.audit import blackbox
from sfumato.audit.auditor import Pair
from sfumato.audit.auditor import audit as run
from sfumato.audit.batch import Batch
from sfumato.audit.bound import Limits

RNG = np.random.default_rng()


def test_a_program_is_run_four_times_the_trials_half_on_each_input():
    seen = []

    def count(rows):
        seen.append(rows)
        return RNG.integers(5)

    audit.program(count, "a", "b", claim=1, trials=150)
    assert seen.count("a") == seen.count("b") == 300


def test_certifying_releases_are_drawn_after_the_search_and_once():
    sizes = []

    def draw(size):
        sizes.append(size)
        batches = (Batch.of_array(RNG.normal(center, 1, size)) for center in (0, 1))
        return tuple(batches)

    run("normal", [Pair(("0", "1"), draw)], audit.Claim.of(9), 500, Fraction(999, 1000))
    assert sizes == [500, 500]


def test_a_lucky_search_proves_nothing():
    # Equal laws, forty columns to overfit: events chosen on the certifying sample would all "win".
    def draw(size):
        return tuple(Batch.of_array(RNG.normal(0, 1, (size, 40))) for _ in range(2))

    pair, flagged = Pair(("a", "b"), draw), 0
    for _ in range(10):
        verdict = run("noise", [pair], audit.Claim.of(0), 1000, Fraction(99, 100))
        assert verdict.flagged == (verdict.epsilon_lower > 0)
        flagged += verdict.flagged
    assert flagged <= 3  # each with odds of one in a hundred: four of ten once in half a million


def test_errors_are_outputs_and_told_apart_by_their_text():
    def fail(rows):
        raise KeyError(rows[0])

    verdict = audit.program(fail, ["bob"], ["al"], claim=1, trials=200)
    assert verdict.flagged
    assert "KeyError" in verdict.example
    same = audit.program(fail, ["bob"], ["bob"], claim=1, trials=200)
    assert not same.flagged


def test_an_interrupt_is_not_an_output():
    def stop(rows):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        audit.program(stop, 0, 1, claim=1, trials=200)


def test_time_counts_only_if_asked_for(monkeypatch):
    passed = [0.0]  # a clock of our own: that of a busy machine may hide any difference
    monkeypatch.setattr(blackbox, "perf_counter", lambda: passed[0])

    def slow(rows):
        passed[0] += RNG.exponential(1e-3) + 2e-3 * rows
        return 0

    assert not audit.program(slow, 0, 1, claim=1, trials=150).flagged
    verdict = audit.program(slow, 0, 1, claim=1, trials=150, timing=True)
    assert verdict.flagged
    assert verdict.event.startswith("run time")


def test_a_verdict_tells_what_was_found_and_what_could_have_been():
    verdict = audit.mechanism(sf.mechanisms.DiscreteLaplace(scale="1/2"), claim=1, trials=5_000)
    assert verdict.flagged
    assert 1 < verdict.epsilon_lower < 2
    assert verdict.claimed == audit.Claim.of(1)
    assert verdict.delta == 0
    assert verdict.trials == 5_000
    assert verdict.counts[0] > verdict.counts[1]
    assert set(verdict.pair) <= {
        str(n) for n in (0, 1, 2, 3, 10**6, 10**6 + 1, 2**63 - 1, 2**63 - 2)
    }
    text = str(verdict)
    for part in ("DiscreteLaplace(scale=0.5): FLAGGED", "ε = 1", "99.9 %", "never proves"):
        assert part in text
    assert "too small by a factor 1.5" in verdict.could_catch
    assert "ε = 6.32" in verdict.could_catch
    assert "probability below 0.0018" in verdict.could_catch
    assert repr(verdict).startswith("<Verdict FLAGGED: ε >= 1.")


def test_a_verdict_admits_that_a_claim_is_beyond_its_reach():
    verdict = audit.mechanism(sf.mechanisms.DiscreteLaplace(scale="1/12"), trials=5_000)
    assert not verdict.flagged
    assert "nothing could have been caught" in verdict.could_catch
    assert repr(verdict).startswith("<Verdict not refuted")


def test_a_gaussian_is_judged_by_mu_as_well():
    gaussian = sf.mechanisms.DiscreteGaussian(sigma=2)
    honest = sf.mechanisms.DiscreteGaussian(sigma=4).loss(sf.Sensitivity(l0=1, l1=1))
    verdict = audit.mechanism(gaussian, claim=honest, trials=20_000)
    assert verdict.flagged
    assert verdict.claimed.mu < verdict.mu_lower < 0.52
    assert "μ >= " in str(verdict)
    assert "Gaussian noise" in verdict.could_catch


def test_a_claimed_delta_is_subtracted():
    def rarely(rows):
        return bool(rows) and RNG.random() < 0.05

    assert audit.program(rarely, [1], [], claim=1, trials=5_000).flagged
    allowed = sf.Budget(epsilon=1, delta="0.06")
    assert not audit.program(rarely, [1], [], claim=allowed, trials=5_000).flagged


class Own:
    """A mechanism that is not ours."""

    def __init__(self, scale):
        self.scale = scale

    def loss(self, sensitivity):
        return sf.mechanisms.DiscreteLaplace(scale=1).loss(sensitivity)

    def sample(self, exact, rng):
        return sf.mechanisms.DiscreteLaplace(self.scale).sample(np.asarray(exact), rng)

    def __repr__(self):
        return f"Own({self.scale})"


def test_any_mechanism_can_be_audited_given_its_inputs():
    assert audit.mechanism(Own("1/4"), trials=1_000, pairs=[(0, 1)]).flagged
    verdict = audit.mechanism(Own(1), trials=1_000, pairs=[(0, 1)])
    assert not verdict.flagged
    assert verdict.subject == "Own(1)"
    assert verdict.epsilon_lower > 0.5


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"trials": 10}, "too few"),
        ({"trials": True}, "too few"),
        ({"trials": 1e5}, "too few"),
        ({"pairs": []}, "no pair"),
        ({"confidence": 1}, "confidence"),
        ({"claim": "much"}, "claim"),
        ({"sensitivity": -1}, "l1"),
    ],
)
def test_senseless_audits_are_refused(arguments, said):
    with pytest.raises(sf.errors.SfumatoError, match=said):
        audit.mechanism(sf.mechanisms.DiscreteLaplace(scale=1), **{"trials": 100, **arguments})


def test_a_mechanism_that_is_not_ours_needs_inputs():
    with pytest.raises(sf.errors.InputError, match=r"pairs="):
        audit.mechanism(Own(1))


def test_more_confidence_proves_less():
    def draw(size):
        fixed = np.random.default_rng(size + len(drawn))
        drawn.append(size)
        return tuple(Batch.of_array(fixed.laplace(center, 1, size)) for center in (0, 1))

    found = []
    for confidence in (Fraction(9, 10), Fraction(999, 1000), Fraction(999_999, 10**6)):
        drawn = []
        verdict = run("laplace", [Pair(("0", "1"), draw)], audit.Claim.of(9), 5_000, confidence)
        found.append(verdict.epsilon_lower)
        # Four events are frozen, and each has two bounds.
        limits = Limits.of(*verdict.counts, 5_000, float(1 - confidence) / 8)
        assert verdict.epsilon_lower == pytest.approx(limits.epsilon(0))
    assert found == sorted(found, reverse=True)
    assert found[0] > found[-1] > 0
