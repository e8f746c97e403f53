"""What privacy costs in money: who has to be paid for taking part, and how many to ask.

The model of Hsu and others: a person expects harm E, in money, from what may happen anyway. An ε-DP
study makes nothing more than e^ε times as likely, so taking part raises the harm by (e^ε − 1)·E at
most; who is paid that much loses nothing. N people and a budget B then have to satisfy
N·(e^ε − 1)·E <= B, and the study has to be accurate enough, which asks for a large N or a large ε.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from operator import index
from typing import Any

from sfumato.accounting.grid import shorten_up
from sfumato.core.errors import RangeError
from sfumato.core.interval import Interval
from sfumato.core.number import Exactable, is_integer, nonnegative, positive, show, show_above
from sfumato.release.format import rounded_up

_DECADE = 9_000  # ε is sought among the numbers of four digits
_LEAST, _MOST = -6, 2  # and between 10^-6 and 10^2


@dataclass(frozen=True, slots=True, repr=False)
class Participation:
    """A study of N people at ε, in money.

    Attributes:
        epsilon: ε.
        people: N.
        payment: what one person is owed, (e^ε − 1)·E and the fee, rounded up.
        cost: what all are owed.
        budget: what there is; None if nobody said.
    """

    epsilon: Fraction
    people: int
    payment: Fraction
    cost: Fraction
    budget: Fraction | None = None

    @property
    def feasible(self) -> bool:
        """Whether the budget pays for it."""
        return self.budget is None or self.cost <= self.budget

    def __str__(self) -> str:
        """Say it in a line."""
        limit = "" if self.budget is None else f" of {rounded_up(self.budget)}"
        return (
            f"{self.people:,} people at ε = {show_above(self.epsilon, 4)}: "
            f"{rounded_up(self.payment)} each, {rounded_up(self.cost)}{limit} for all"
        )

    __repr__ = __str__


def participation(
    epsilon: Exactable,
    harm: Exactable,
    people: int,
    budget: Exactable | None = None,
    *,
    fee: Exactable = 0,
) -> Participation:
    """Return what it costs that nobody loses by taking part in a study.

    Guarantee: expected harm grows by (e^ε − 1)·harm at most, for pure ε.
    Theorem:   [HGHKN14]
    Exactness: rounded up

    Args:
        epsilon: ε of the whole study, without δ.
        harm: E, the harm in money that a person expects from the events in question anyway.
        people: N.
        budget: B, what there is to spend.
        fee: what each person costs besides.

    Example:
        >>> study = participation("0.1", harm=100, people=1000, budget=20_000)
        >>> print(study)
        1,000 people at ε = 0.1: 10.52 each, 10,517.10 of 20,000.00 for all
        >>> study.feasible
        True
    """
    loss, expected, count = _loss(epsilon), nonnegative(harm, "harm"), _people(people)
    grown = Interval.of(loss).exp() - 1 if loss else Interval.of(0)
    payment = shorten_up(Fraction(max(grown.high, grown.low)) * expected)  # up
    payment += nonnegative(fee, "fee")
    limit = None if budget is None else nonnegative(budget, "budget")
    return Participation(loss, count, payment, payment * count, limit)


def cheapest_study(
    accuracy: Callable[[Fraction, int], Any],
    within: Exactable,
    *,
    harm: Exactable,
    people: int,
    budget: Exactable | None = None,
    fee: Exactable = 0,
) -> Participation:
    """Return the cheapest study that is accurate enough: how many to ask, and at which ε.

    For every N the least ε will do. Numbers of people are tried at steps of a tenth, then those
    around the best of them.

    Theorem: [HGHKN14]

    Args:
        accuracy: the error A(ε, N) of the study, which falls as ε or N grows.
        within: the largest error that is acceptable.
        harm: E of `participation`.
        people: how many there are to be asked.
        budget: B of `participation`.
        fee: what each person costs besides; without one, more people are never dearer.

    Raises:
        RangeError: no ε up to 100 and no number of people makes the study accurate enough.

    Example:
        >>> share = lambda epsilon, n: 1 / float(epsilon * n) + 1 / n**0.5
        >>> print(cheapest_study(share, "0.05", harm=100, people=100_000, fee=1))
        1,796 people at ε = 0.02109: 3.14 each, 5,623.99 for all
    """
    most, error = _people(people), positive(within, "within")

    def at(count: int) -> Participation | None:
        found = _accurate(accuracy, count, error)
        if found is None:
            return None
        return participation(found, harm, count, budget, fee=fee)

    def best(counts: set[int]) -> Participation | None:
        studies = [study for n in sorted(counts) if (study := at(n)) is not None]
        return min(studies, key=lambda study: study.cost, default=None)

    rough, n = {most}, 1
    while n < most:
        rough.add(n)
        n += max(n // 10, 1)
    found = best(rough)
    if found is None:
        raise RangeError(
            f"no study of up to {most:,} people comes within {show(error)}, whatever the ε. Ask "
            f"more people, or accept a larger error."
        )
    low, high = found.people - found.people // 10, found.people + found.people // 10
    step = max((high - low) // 40, 1)
    near = {n for n in range(low, high + 1, step) if 1 <= n <= most}
    return best(near | {found.people}) or found


def feasible_studies(
    accuracy: Callable[[Fraction, int], Any],
    within: Exactable,
    *,
    harm: Exactable,
    people: Iterable[int],
    budget: Exactable,
    fee: Exactable = 0,
) -> tuple[tuple[int, Fraction, Fraction], ...]:
    """Return which ε are accurate enough and affordable, for some numbers of people.

    Theorem: [HGHKN14]

    Args:
        accuracy: the error A(ε, N) of the study, which falls as ε or N grows.
        within: the largest error that is acceptable.
        harm: E of `participation`, above 0.
        people: the numbers N to look at; those without any such ε are left out.
        budget: B of `participation`.
        fee: what each person costs besides.

    Returns:
        N, the least ε that is accurate enough, and the largest that can be paid for, rounded down.

    Example:
        >>> share = lambda epsilon, n: 1 / float(epsilon * n) + 1 / n**0.5
        >>> crowds = [100, 1000, 9000]
        >>> found = feasible_studies(share, "0.05", harm=100, people=crowds, budget=10_000)
        >>> [(n, float(low), float(high)) for n, low, high in found]
        [(1000, 0.05442, 0.09531), (9000, 0.002816, 0.011049)]
    """
    error, expected = positive(within, "within"), positive(harm, "harm")
    limit, each = nonnegative(budget, "budget"), nonnegative(fee, "fee")
    found = []
    for n in map(_people, people):
        least = _accurate(accuracy, n, error)
        left = (limit / n - each) / expected
        if least is None or left <= 0:
            continue
        largest = Fraction((Interval.of(left) + 1).log().low)
        if largest >= least:
            found.append((n, least, Fraction(largest * 10**6 // 1, 10**6)))  # down
    return tuple(found)


def _accurate(
    accuracy: Callable[[Fraction, int], Any], people: int, error: Fraction
) -> Fraction | None:
    """Return the least ε of four digits that is accurate enough, or None."""

    def holds(epsilon: Fraction) -> bool:
        return bool(accuracy(epsilon, people) <= error)

    low, high = _LEAST * _DECADE, _MOST * _DECADE
    if not holds(_epsilon(high)):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(_epsilon(middle)) else (middle, high)
    return _epsilon(high)


def _epsilon(position: int) -> Fraction:
    power, digits = divmod(position, _DECADE)
    return (1000 + digits) * Fraction(10) ** (power - 3)


def _loss(epsilon: Exactable) -> Fraction:
    loss = nonnegative(epsilon, "epsilon")
    if loss > 100:
        raise RangeError(
            f"epsilon = {show(loss)} would have to be paid for with more money than there is: "
            f"e^ε times the harm. Pass an ε of 100 at most."
        )
    return loss


def _people(people: int) -> int:
    if not is_integer(people) or not 1 <= index(people) <= 10**10:
        raise RangeError(f"people = {people!r} must be a whole number from 1 to 10^10.")
    return index(people)
