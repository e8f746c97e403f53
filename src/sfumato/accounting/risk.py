"""What (ε, δ) lets an attacker find out about one unit, in probabilities.

The attacker knows everything but one thing: which of two neighboring tables the release was made
from, as with Alice in it or without her. (ε, δ)-DP bounds every test of that question, and what may
be believed afterwards. All bounds are attained, by randomized response that tells the plain truth
with probability δ. The proofs are in ``docs/theory/risk.md``.

With `people` the two tables differ in so many units: a family instead of Alice.
"""

from __future__ import annotations

from fractions import Fraction
from operator import index

from sfumato.accounting.grid import shorten_up
from sfumato.accounting.tradeoff import Tradeoff
from sfumato.core.errors import RangeError
from sfumato.core.interval import Interval
from sfumato.core.number import (
    Exactable,
    exact,
    failure_probability,
    is_integer,
    nonnegative,
    open_unit,
    show,
)

_ONE, _ZERO = Fraction(1), Fraction(0)
_DIGITS = 60
_HOPELESS = 100_000  # an ε whose e^ε is beyond one over every probability that can be written down


def advantage(epsilon: Exactable, delta: Exactable = 0, *, people: int = 1) -> Fraction:
    """Return the most by which true positives of any test can exceed its false positives.

    Who guesses between two equally likely tables is right with probability (1 + advantage)/2.

    Guarantee: (e^ε − 1 + 2δ)/(e^ε + 1), for every (ε, δ)-DP mechanism and every test.
    Theorem:   [KOV15]; docs/theory/risk.md
    Exactness: rounded up, by less than 1 in 10^25; exact for ε = 0

    Args:
        epsilon: ε, zero or above.
        delta: δ; 0 unless passed.
        people: in how many units the tables differ.

    Example:
        >>> round(float(advantage(1)), 3), advantage(0, "0.1")
        (0.462, Fraction(1, 10))
    """
    loss, failure = spread(epsilon, delta, people)
    decay = _decay(loss)
    return _up((1 - decay + 2 * failure * decay) / (1 + decay))


def posterior(
    prior: Exactable,
    epsilon: Exactable,
    delta: Exactable = 0,
    *,
    chance: Exactable = 1,
    people: int = 1,
) -> Fraction:
    """Return the most that can be believed after a release by who believed `prior` before.

    Without δ it holds whatever is released. With δ no bound holds for every release: some may give
    a unit away. What holds then is a bound given anything that was to be seen with a probability of
    `chance` at least, in the eyes of the one who believes; and at ``chance=1`` a bound on average:
    beliefs that are below the bound for δ = 0 counted as that bound.

    Guarantee: b + prior·(1 − b)·δ/chance, where b = prior·e^ε/(prior·e^ε + 1 − prior).
    Theorem:   [KS14], [WZ10]; docs/theory/risk.md
    Exactness: rounded up, by less than 1 in 10^25; exact for ε = 0

    Args:
        prior: the probability, before, that the unit is in the table; strictly between 0 and 1.
        epsilon: ε, zero or above.
        delta: δ; 0 unless passed.
        chance: how probable what was seen had to be, above 0.
        people: in how many units the tables differ.

    Example:
        >>> round(float(posterior("0.01", 1)), 4), posterior("0.3", 0)
        (0.0267, Fraction(3, 10))
        >>> round(float(posterior("0.01", 1, "1e-6", chance="1e-6")), 4)
        0.0365
    """
    before, seen = open_unit(prior, "prior"), _share(chance, "chance")
    if not seen:
        raise RangeError(
            "chance = 0 must be above 0: what is never seen changes no belief. Pass a probability."
        )
    loss, failure = spread(epsilon, delta, people)
    odds = before + (1 - before) * _decay(loss)
    bound = before / odds
    return _up(bound + before * (1 - bound) * (failure / seen))


def surprise(
    belief: Exactable,
    prior: Exactable,
    epsilon: Exactable,
    delta: Exactable = 0,
    *,
    people: int = 1,
) -> Fraction:
    """Return the most with which a belief of `prior` can be expected to grow beyond `belief`.

    Guarantee: prior·(1 − b)·δ/(belief − b) with b of `posterior`, and 1 for beliefs up to b; in
        the eyes of the one who believes. To be certain has a probability of prior·δ at most.
    Theorem:   docs/theory/risk.md
    Exactness: rounded up, by less than 1 in 10^20 but close to b

    Args:
        belief: the belief that is exceeded, up to 1.
        prior: what was believed before, strictly between 0 and 1.
        epsilon: ε, zero or above.
        delta: δ; 0 unless passed.
        people: in how many units the tables differ.

    Example:
        >>> surprise("0.5", "0.01", 1), float(surprise(1, "0.01", 0, "1e-6"))
        (Fraction(0, 1), 1e-08)
    """
    after, before = _share(belief, "belief"), open_unit(prior, "prior")
    loss, failure = spread(epsilon, delta, people)
    # Written with odds, so that nothing cancels: (1 − b)·(prior + (1 − prior)·e^−ε) is the second.
    outside = (1 - before) * _decay(loss)
    room = after * (before + outside) - before
    if (room if isinstance(room, Fraction) else room.low) <= 0:
        return _ONE  # up: at the bound itself
    return _up(before * outside * failure / room)


def tpr(fpr: Exactable, epsilon: Exactable, delta: Exactable = 0, *, people: int = 1) -> Fraction:
    """Return the most true positives that a test with so many false positives can have.

    Guarantee: min(e^ε·fpr + δ, 1 − e^−ε·(1 − δ − fpr), 1), for every (ε, δ)-DP mechanism.
    Theorem:   [WZ10], [KOV15]; docs/theory/risk.md
    Exactness: rounded up, by less than 1 in 10^25; exact for ε = 0

    Args:
        fpr: the false positive rate: how often the test accuses where the unit is absent.
        epsilon: ε, zero or above.
        delta: δ; 0 unless passed.
        people: in how many units the tables differ.

    Example:
        >>> round(float(tpr("0.001", 1)) * 100, 2), tpr("0.2", 0, "0.1")
        (0.27, Fraction(3, 10))
    """
    false, (loss, failure) = _share(fpr, "fpr"), spread(epsilon, delta, people)
    decay = _decay(loss)
    bounds = [_up(1 - decay * max(1 - failure - false, _ZERO))]
    if not false:
        bounds.append(failure)
    elif loss <= _HOPELESS:
        bounds.append(_up(false / decay + failure))
    return min(bounds)


def roc(
    epsilon: Exactable, delta: Exactable = 0, *, points: int = 101, people: int = 1
) -> tuple[tuple[Fraction, Fraction], ...]:
    """Return false positive rates, evenly spaced from 0 to 1, each with the bound of `tpr`.

    Theorem: [WZ10], [KOV15]; docs/theory/risk.md
    """
    rates = evenly(points)
    return tuple((rate, tpr(rate, epsilon, delta, people=people)) for rate in rates)


def gaussian_advantage(mu: Exactable, *, people: int = 1) -> Fraction:
    """Return the advantage under μ-Gaussian DP, 2Φ(μ/2) − 1.

    Guarantee: for every μ-GDP mechanism and every test; a group of k is protected by k·μ.
    Theorem:   [DRS22]; docs/theory/risk.md
    Exactness: rounded up

    Example:
        >>> round(float(gaussian_advantage(1)), 3)
        0.383
    """
    shift = nonnegative(mu, "mu") * crowd(people)
    return Tradeoff((), shift**2).advantage


def gaussian_tpr(fpr: Exactable, mu: Exactable, *, people: int = 1) -> Fraction:
    """Return the most true positives under μ-Gaussian DP, Φ(Φ⁻¹(fpr) + μ).

    Guarantee: for every μ-GDP mechanism and every test with so many false positives.
    Theorem:   [DRS22]; docs/theory/risk.md
    Exactness: rounded up

    Example:
        >>> round(float(gaussian_tpr("0.001", 1)) * 100, 1)
        1.8
    """
    false, shift = _share(fpr, "fpr"), nonnegative(mu, "mu") * crowd(people)
    return Tradeoff((), shift**2).tpr(false)


def spread(epsilon: Exactable, delta: Exactable, people: int = 1) -> tuple[Fraction, Fraction]:
    """Return (ε, δ) between tables that differ in so many units; δ is rounded up and at most 1.

    Guarantee: k·ε and δ·(1 + e^ε + … + e^(k−1)ε) for k units.
    Theorem:   docs/theory/risk.md
    """
    loss, failure, k = nonnegative(epsilon, "epsilon"), failure_probability(delta), crowd(people)
    if not failure or k == 1:
        return k * loss, failure
    if not loss:
        return loss, min(k * failure, _ONE)
    if k * loss > _HOPELESS:
        return k * loss, _ONE
    last = Interval.of((k - 1) * loss, _DIGITS).exp()
    once = 1 - _decay(loss)
    if isinstance(once, Fraction) or once.low <= 0:  # an ε too small to be told from 0
        return k * loss, _up(failure * k * last)  # up: every term counted as the last
    return k * loss, _up(failure * last * (1 - _decay(k * loss)) / once)


def crowd(people: int) -> int:
    """Check a number of people: whole, from 1 up."""
    if not is_integer(people) or index(people) < 1:
        raise RangeError(
            f"people = {people!r} must be a whole number from 1 up: it is in how many units the "
            f"two tables differ. Pass people=1 for one person."
        )
    return index(people)


def evenly(points: int) -> tuple[Fraction, ...]:
    """Return so many shares, evenly spaced from 0 to 1."""
    if not is_integer(points) or not 2 <= index(points) <= 10_000:
        raise RangeError("points= says how many points a curve has: pass 2 to 10,000.")
    last = index(points) - 1
    return tuple(Fraction(i, last) for i in range(last + 1))


def _decay(epsilon: Fraction) -> Interval | Fraction:
    """Enclose e^−ε; a rational where it is one."""
    return (-Interval.of(min(epsilon, Fraction(_HOPELESS)), _DIGITS)).exp() if epsilon else _ONE


def _up(number: Interval | Fraction) -> Fraction:
    if isinstance(number, Fraction):
        return min(number, _ONE)
    return min(shorten_up(Fraction(number.high)), _ONE)  # up: overstates the risk


def _share(value: Exactable, name: str) -> Fraction:
    number = exact(value, name)
    if not 0 <= number <= 1:
        raise RangeError(
            f"{name} = {show(number)} must lie between 0 and 1. It is a probability; write 0.01 "
            f"for 1 %."
        )
    return number
