"""What a price promises: the definition that it belongs to, in symbols and in words."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import exp

from sfumato.core.number import show_above
from sfumato.core.unit import Neighbors
from sfumato.release.format import approximate, plain
from sfumato.release.price import Price

PURE = "P[M(x) ∈ S] ≤ exp(ε) · P[M(y) ∈ S]"
APPROXIMATE = f"{PURE} + δ"
CONCENTRATED = "D(M(x) ‖ M(y)) ≤ ρ · α for every order α > 1, D the Rényi divergence of order α"
_SETS = "for all neighboring tables x and y and every set S of answers"
_TABLES = "for all neighboring tables x and y"

_HOPELESS = 50  # an ε from which on the factor says nothing to anybody


@dataclass(frozen=True, slots=True)
class Guarantee:
    """One definition that a release meets.

    Attributes:
        name: ``"pure"``, ``"approximate"`` or ``"concentrated"``.
        inequality: the definition in symbols.
        figures: its parameters as people read them, rounded up.
    """

    name: str
    inequality: str
    figures: str

    def __str__(self) -> str:
        """Write it as a sentence."""
        scope = _TABLES if self.name == "concentrated" else _SETS
        return f"{self.name} differential privacy, {self.figures}: {self.inequality}, {scope}"


def guarantees(price: Price | None) -> tuple[Guarantee, ...]:
    """Return the definitions that a price meets, the strongest first; none where nobody computed.

    Example:
        >>> [g.name for g in guarantees(Price("0.5", 0, "1/8"))]
        ['pure', 'concentrated']
        >>> [g.name for g in guarantees(Price(2, "1e-6", "1/8"))]
        ['concentrated', 'approximate']
    """
    if price is None:
        return ()
    found = []
    if price.epsilon is not None:
        figure = f"ε = {show_above(price.epsilon)}"
        if price.delta:
            figure += f" at δ = {show_above(price.delta)}"
            found.append(Guarantee("approximate", APPROXIMATE, figure))
        else:
            found.append(Guarantee("pure", PURE, f"{figure} with no exception (δ = 0)"))
    if price.rho is not None:
        figure = f"ρ = {show_above(price.rho)}"
        # Without a δ it is the stronger of the two where the other has an exception.
        first = 0 if price.delta else len(found)
        found.insert(first, Guarantee("concentrated", CONCENTRATED, figure))
    return tuple(found)


def meaning(epsilon: Fraction, delta: Fraction, relation: Neighbors) -> str:
    """Say what (ε, δ) means for one unit; the factor is rounded up."""
    if epsilon > _HOPELESS:
        return (
            "No protection worth the name: some answer may all but prove what one unit's data was."
        )
    factor = exp(approximate(epsilon)) * (1 + 1e-9)  # up: the sentence may only overstate
    times = plain(Fraction(int(factor * 100) + 1, 100)) if epsilon else "1"
    compared = (
        "With or without one unit's data"
        if relation is Neighbors.ADD_REMOVE
        else "With one unit's data or with other data in its place"
    )
    beyond = f", apart from events of probability {show_above(delta)} at most" if delta else ""
    return f"{compared}, no event becomes more than {times} times as likely{beyond}."


def exception(delta: Fraction) -> str:
    """Say what δ is for."""
    if not delta:
        return "0: the factor holds for every answer, without exception."
    return (
        f"{show_above(delta)}: the probability that the factor does not cover. What happens within "
        f"it may give a unit away, so it must be far below one over the number of units."
    )
