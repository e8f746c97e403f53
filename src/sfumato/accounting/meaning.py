"""An explanation in words, and its figures for programs."""

from __future__ import annotations

from fractions import Fraction
from textwrap import fill
from typing import TYPE_CHECKING, Any

from sfumato.accounting.deployment import around
from sfumato.accounting.explain import RATES
from sfumato.accounting.grid import shorten_up
from sfumato.core.number import show, show_above
from sfumato.core.unit import Neighbors
from sfumato.release.format import exact_text

if TYPE_CHECKING:
    from sfumato.accounting.explain import Explanation

_WIDTH = 92
_LABEL = 12
_HALF = Fraction(1, 2)
_LITTLE = Fraction(99, 100)  # an advantage from which on nothing worth the name is protected
_OFTEN = Fraction(1, 100)  # a δ from which on failures are no exception
_AGAIN = 10  # releases, to show how they add up
_WORST = (
    "The attacker is taken to know everybody else's data, and the data to be the worst there is; "
    "most attacks get less. What is true of everybody can be learned of those, too, who did not "
    "take part: that is not counted, since staying away would not prevent it."
)


def heading(said: Explanation) -> str:
    """Name the loss in a line."""
    exception = f"at δ = {show_above(said.delta)}" if said.delta else "with no exception (δ = 0)"
    alone = f"ε = {show_above(said.epsilon)}, {exception}"
    if said.people == 1:
        return alone
    cost, failure = said.pair
    also = f" at δ = {show_above(failure, 3)}" if failure else ""
    return f"{alone}; for {said.people} units together ε = {show_above(cost)}{also}"


def facts(said: Explanation) -> list[tuple[str, str]]:
    """Return what there is to say, each with a label."""
    found = [
        ("about", _about(said)),
        ("odds", _odds(said)),
        ("belief", _belief(said)),
        ("guessing", _guessing(said)),
        ("tests", _tests(said)),
        ("as a coin", _coin(said)),
        ("δ", _exception(said)),
        ("worst case", _WORST),
        ("adds up", _adding(said)),
        ("for scale", _scale(said)),
    ]
    if said.advantage >= _LITTLE or said.pair[1] >= _OFTEN:
        found.insert(
            1,
            (
                "in short",
                "No protection worth the name in the worst case: some release may all but settle "
                "the question. If anything protects people then, this number does not show it.",
            ),
        )
    return found


def text(said: Explanation) -> str:
    """Write all of it for a console."""
    lines = [heading(said)]
    for label, words in facts(said):
        lines.append(
            fill(
                words,
                _WIDTH,
                initial_indent=f"  {label:<{_LABEL}}",
                subsequent_indent=" " * (_LABEL + 2),
                break_on_hyphens=False,
            )
        )
    return "\n".join(lines)


def document(said: Explanation) -> dict[str, Any]:
    """Return the figures, each as text that is exact or rounded up."""
    factor = said.odds
    return {
        "format": "sfumato-explanation-1",
        "epsilon": _figure(said.epsilon),
        "delta": _figure(said.delta),
        "rho": None if said.rho is None else _figure(said.rho),
        "prior": exact_text(said.prior),
        "people": said.people,
        "neighbors": str(said.neighbors),
        "odds": None if factor is None else _figure(factor),
        "posterior": _figure(said.posterior),
        "advantage": _figure(said.advantage),
        "truth": _figure(said.truth),
        "tests": [{"fpr": exact_text(r), "tpr": _figure(said.tpr(r))} for r in RATES],
        "together": {"epsilon": _figure(said.pair[0]), "delta": _figure(said.pair[1])},
        "words": [{"label": label, "text": words} for label, words in facts(said)],
    }


def share(number: Fraction) -> str:
    """Write a probability in percent, rounded up to three digits.

    Example:
        >>> share(Fraction(1, 3)), share(Fraction(1, 100)), share(Fraction("0.9999"))
        ('33.4 %', '1 %', '100 %')
    """
    return f"{show_above(100 * number, 3)} %"


def _about(said: Explanation) -> str:
    whose = "one unit" if said.people == 1 else f"{said.people} units"
    if said.neighbors is Neighbors.ADD_REMOVE:
        return (
            f"Whether the data of {whose} is in the table at all. To tell two versions of that "
            f"data apart, as one answer from another, takes two such steps, as for two units."
        )
    return (
        f"Which of any two versions of {whose}'s data is in the table; how many units there are is "
        f"public."
    )


def _odds(said: Explanation) -> str:
    factor = said.odds
    times = "without a limit that could be written down" if factor is None else _times(factor)
    if said.delta:
        return (
            f"But for an event of probability δ, the release is as one that changes the odds for "
            f"or against it {times}."
        )
    return f"Whatever is published, the odds for or against it change {times}."


def _times(factor: Fraction) -> str:
    return f"at most by a factor of {show_above(factor, 3)}"


def _belief(said: Explanation) -> str:
    least = show(Fraction(said.doubt * 10**6 // 1, 10**4), 3)  # down
    who = "After such a release, who" if said.delta else "Who"
    return (
        f"{who} held it for {show(100 * said.prior, 4)} % likely before will hold it for at most "
        f"{share(said.posterior)} likely afterwards, and for no less than {least} %. It is not the "
        f"probability of being found out: it bounds how far a belief can move."
    )


def _guessing(said: Explanation) -> str:
    right = (1 + said.advantage) / 2
    return (
        f"If both were equally likely, the best guess would be right in at most {share(right)} of "
        f"the cases, against 50 % without the release: an advantage of "
        f"{show_above(said.advantage, 3)}."
    )


def _tests(said: Explanation) -> str:
    found = ", ".join(f"{share(said.tpr(r))} at {share(r)}" for r in RATES)
    return f"Of those who are in, a test finds at most, at so many false alarms: {found}."


def _coin(said: Explanation) -> str:
    also = ", and with probability δ shows the answer as it is" if said.delta else ""
    return (
        f"As a survey that puts down the true yes or no with probability {share(said.truth)}, and "
        f"the opposite otherwise{also}."
    )


def _exception(said: Explanation) -> str:
    cost, failure = said.pair
    if not failure:
        return "0: all of this holds for every release, without exception."
    half = said.surprise(_HALF)
    rare = (
        f"The chance that a belief of {show(100 * said.prior, 4)} % grows beyond 50 % is at most "
        f"{show_above(half, 3)} for whom the attacker does not know, and "
        f"{show_above(min(half / said.prior, Fraction(1)), 3)} for somebody who is in the data. "
        if said.posterior < _HALF and cost
        else ""
    )
    return (
        f"{show_above(failure, 3)}: the probability of the event in which anything may come out. "
        f"Nobody sees whether it happened, so a belief may at times move further than odds and "
        f"belief say. {rare}It should be far below one over the number of people; advantage and "
        f"tests include it."
    )


def _adding(said: Explanation) -> str:
    total = show_above(_AGAIN * said.epsilon)
    if said.delta:
        total += f" and δ = {show_above(min(_AGAIN * said.delta, Fraction(1)), 3)}"
    if said.people > 1:
        total += " for one unit"
    less = "" if said.delta else " Many small ones add up to less, with a δ."
    return (
        f"This is for all releases about the same units together. {_AGAIN} releases that cost as "
        f"much come to ε = {total} if they are added up.{less}"
    )


def _scale(said: Explanation) -> str:
    known = "; ".join(
        f"{d.name} ({d.year}): {show(d.epsilon)}"
        + (f" at δ = {show(d.delta)}" if d.delta else "")
        + f" for {d.unit}"
        for d in around(said.epsilon)
    )
    return f"ε that others published with, facts and no advice. {known}."


def _figure(number: Fraction) -> str:
    return exact_text(number if len(exact_text(number)) <= 24 else shorten_up(number, 12))
