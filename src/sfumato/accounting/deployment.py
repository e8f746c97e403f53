"""Figures that others published with: facts for scale, no advice."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Deployment:
    """One publication, with the figures that its authors state.

    Attributes:
        name: who published what.
        year: when the figures were stated or came into force.
        epsilon: ε.
        delta: δ; 0 where none is stated.
        unit: what is protected, and for how long.
        source: the key of the work that states it.
    """

    name: str
    year: int
    epsilon: Fraction
    delta: Fraction
    unit: str
    source: str


def _known(name: str, year: int, epsilon: str, delta: str, unit: str, source: str) -> Deployment:
    return Deployment(name, year, Fraction(epsilon), Fraction(delta), unit, source)


# By ε. The units differ, so the figures cannot simply be compared: a day is not a life.
DEPLOYMENTS = (
    _known(
        "Wikimedia page views by country",
        2023,
        "1",
        "1e-7",
        "a device's first 10 pages of a day",
        "ABDHJ23",
    ),
    _known("Google symptom search trends", 2020, "1.68", "0", "a user's day", "BDDDF20"),
    _known("Google vaccination searches", 2021, "2.19", "1e-5", "a user's day", "BBDDG21"),
    _known("US Census 2020, housing units", 2021, "2.47", "1e-10", "a housing unit", "Abowd22"),
    _known("Apple emoji suggestions", 2017, "4", "0", "a device's day, by local noise", "Apple17"),
    _known(
        "Israel, registry of live births", 2024, "9.98", "0", "a mother with her newborn", "HC24"
    ),
    _known("US Census 2020, persons", 2021, "17.14", "1e-10", "a person", "Abowd22"),
    _known("LinkedIn audience engagements", 2020, "34.9", "7e-9", "a member's month", "RSPDL20"),
)


def around(epsilon: Fraction) -> tuple[Deployment, ...]:
    """Return the published figures next to ε: the largest up to it, the smallest above it.

    Example:
        >>> [d.name for d in around(Fraction(3))]
        ['US Census 2020, housing units', 'Apple emoji suggestions']
    """
    below = [d for d in DEPLOYMENTS if d.epsilon <= epsilon]
    above = [d for d in DEPLOYMENTS if d.epsilon > epsilon]
    return (*below[-1:], *above[:1])
