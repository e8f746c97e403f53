"""The auditor: searches for the worst event in one sample and certifies it in a fresh one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from sfumato.audit.batch import Batch
from sfumato.audit.bound import Limits
from sfumato.audit.claim import Claim
from sfumato.audit.event import Event, Prospect, prospects
from sfumato.audit.feature import Support, features
from sfumato.audit.verdict import Verdict, reach
from sfumato.core.errors import RangeError

_BY_EPSILON, _BY_MU = 3, 1  # how many events are frozen; each costs confidence
FEWEST = 100
_EQUAL = 1 + 1e-12  # a float of the claim may be rounded


@dataclass(frozen=True, slots=True)
class Pair:
    """Two neighboring inputs.

    Attributes:
        names: the inputs, for people.
        draw: returns so many fresh, independent releases of either.
        support: where textbook noise would have been added.
    """

    names: tuple[str, str]
    draw: Callable[[int], tuple[Batch, Batch]]
    support: Support | None = None


@dataclass(frozen=True, slots=True)
class _Found:
    """An event with what the fresh sample says about it."""

    pair: Pair
    event: Event
    counts: tuple[int, int]
    limits: Limits
    example: str

    def excess(self, claim: Claim) -> tuple[float, float, Fraction]:
        """Return by how much the worst ε is above its claim, that ε, and its δ."""
        return max(
            (found - float(epsilon) * _EQUAL, found, delta)
            for epsilon, delta in claim.points
            for found in (self.limits.epsilon(float(delta)),)
        )


def audit(
    subject: str, pairs: Sequence[Pair], claim: Claim, trials: int, confidence: Fraction
) -> Verdict:
    """Audit a claim on all `pairs` together.

    The search may look at anything, as often as it likes. What it finds is frozen before the
    certifying releases are drawn, and these are used once, so the confidence holds whatever the
    search did.
    """
    if isinstance(trials, bool) or not isinstance(trials, int) or trials < FEWEST:
        raise RangeError(
            f"trials = {trials!r} is too few to prove anything. Pass a whole number from {FEWEST} "
            f"up; 200,000 find an error of 5 % in ε = 1."
        )
    frozen = _freeze([_search(pair, claim, trials, confidence) for pair in pairs])
    level = float(1 - confidence) / (2 * max(len(frozen), 1))  # two bounds for each event
    found = [
        certified
        for i, pair in enumerate(pairs)
        if (mine := [event for j, event in frozen if j == i])
        for certified in _certify(pair, mine, trials, level)
    ]
    return _judge(subject, found, claim, trials, confidence, level)


def _search(pair: Pair, claim: Claim, trials: int, confidence: Fraction) -> list[Prospect]:
    level = float(1 - confidence) / (2 * (_BY_EPSILON + _BY_MU))
    z = -NormalDist().inv_cdf(level)
    a, b = pair.draw(trials)
    (learn_a, score_a), (learn_b, score_b) = a.halves(), b.halves()
    return [
        prospect
        for feature in features(learn_a, learn_b, pair.support)
        for prospect in prospects(feature, (learn_a, learn_b), (score_a, score_b), claim, z)
    ]


def _freeze(searched: Sequence[list[Prospect]]) -> list[tuple[int, Event]]:
    """Keep the most promising events, each with the number of its pair."""
    everything = [(i, prospect) for i, found in enumerate(searched) for prospect in found]
    kept: list[tuple[int, Event]] = []
    seen: set[tuple[object, ...]] = set()

    def keep(ranked: list[tuple[int, Prospect]], many: int) -> None:
        wanted = len(kept) + many
        for i, prospect in ranked:
            # Two features that promise the same to the last bit are one in two guises.
            looks = (i, prospect.event.likelier, prospect.epsilon, prospect.mu)
            if len(kept) < wanted and looks not in seen:
                seen.add(looks)
                kept.append((i, prospect.event))

    keep(sorted(everything, key=lambda e: e[1].epsilon, reverse=True), _BY_EPSILON)
    keep(sorted(everything, key=lambda e: e[1].mu, reverse=True), _BY_MU)
    return kept


def _certify(pair: Pair, events: list[Event], trials: int, level: float) -> list[_Found]:
    a, b = pair.draw(trials)
    found = []
    for event in events:
        sides = (a, b) if event.likelier == "a" else (b, a)
        hits, other = (event.happens(batch) for batch in sides)
        counts = int(hits.sum()), int(other.sum())
        example = sides[0].show(int(np.argmax(hits))) if counts[0] else ""
        limits = Limits.of(*counts, trials, level)
        found.append(_Found(pair, event, counts, limits, example))
    return found


def _judge(
    subject: str,
    found: list[_Found],
    claim: Claim,
    trials: int,
    confidence: Fraction,
    level: float,
) -> Verdict:
    worst = max(found, key=lambda f: f.excess(claim))
    over, epsilon, delta = worst.excess(claim)
    by_mu = max(found, key=lambda f: f.limits.mu())
    mu = by_mu.limits.mu()
    beyond_mu = claim.mu is not None and mu > claim.mu * _EQUAL
    shown = by_mu if beyond_mu and over <= 0 else worst
    return Verdict(
        flagged=over > 0 or beyond_mu,
        epsilon_lower=epsilon,
        delta=delta,
        mu_lower=mu,
        claimed=claim,
        subject=subject,
        event=shown.event.said,
        direction=shown.event.likelier,
        pair=shown.pair.names,
        example=shown.example,
        counts=shown.counts,
        trials=trials,
        confidence=confidence,
        could_catch=reach(claim, trials, level),
    )
