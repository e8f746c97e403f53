"""Values of certain ranks: which are sought together in one bag, and what an answer makes of them.

An interval in the unit of the values is bought as two more values, sought so many ranks below and
above that the true one lies between them. Those of one side are sought together, and apart from
the others: a search splits at what it found before, and near the ends of a small group a rank
below the one quantile may lie beyond another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Literal, TypeAlias

from sfumato.core.budget import Budget
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms import Quantiles
from sfumato.relation import Values
from sfumato.session.output import Output

Role: TypeAlias = Literal["value", "low", "high", "min", "max"]
Sought: TypeAlias = tuple[Fraction, Role]

# In which direction a search is shifted, by as many ranks as it may be off.
_SHIFTS: dict[Role, int] = {"value": 0, "low": -1, "high": 1, "min": 1, "max": -1}


@dataclass(frozen=True, slots=True)
class Ranks:
    """Ranks that are sought together in one bag of values.

    Attributes:
        bag: the values.
        sought: which fractions of them, and what for.
    """

    bag: Values
    sought: tuple[Sought, ...]

    def mechanism(self, moved: Sensitivity, target: Budget, confidence: Fraction) -> Quantiles:
        """Return the search whose loss fits a target.

        Args:
            moved: how many values one unit can make appear or vanish.
            target: ε or ρ.
            confidence: with which an interval that is bought holds.
        """
        low, high = self.bag.extent

        def made(offsets: Sequence[int]) -> Quantiles:
            pairs = zip(offsets, self.sought, strict=True)
            return Quantiles.calibrate(
                moved,
                targets=[(q, offset * _SHIFTS[role]) for offset, (q, role) in pairs],
                low=low,
                high=high,
                step=1,
                epsilon=target.epsilon,
                rho=target.rho,
            )

        size = len(self.sought)
        if not any(_SHIFTS[role] for _, role in self.sought):
            return made([0] * size)
        # How far ranks may be off does not depend on the shift, so that it is known before it.
        ends = sum(role in ("low", "high") for _, role in self.sought) > 1
        miss = (1 - confidence) / (2 if ends or self.sought[0][1] in ("low", "high") else 1)
        found = [ceil(width) for width in made([1] * size).halfwidths(1 - miss)]
        # Ends of intervals are shifted alike, so that they stay in the order of their quantiles.
        return made([max(found)] * size if self.sought[0][1] in ("low", "high") else found)


def sought_by(output: Output) -> tuple[Sought, ...]:
    """Return what an output is made of: its value, then the ends of its interval if bought."""
    if output.function in ("min", "max"):
        return ((Fraction(output.function == "max"), "min" if output.function == "min" else "max"),)
    (q,) = output.ranks
    return ((q, "value"), (q, "low"), (q, "high")) if output.interval else ((q, "value"),)


def together(bag: Values, outputs: Sequence[Output]) -> list[Ranks]:
    """Return the searches that find what some outputs ask of one bag."""
    values = dict.fromkeys(q for o in outputs for q in o.ranks)
    framed = dict.fromkeys(q for o in outputs if o.interval for q in o.ranks)
    ends: list[Sought] = []
    functions = {output.function for output in outputs}
    if "min" in functions:
        ends.append((Fraction(0), "min"))
    if "max" in functions:
        ends.append((Fraction(1), "max"))
    found = [Ranks(bag, tuple(ends))] if ends else []
    if len(values) == 1 and framed:
        (q,) = values
        return [*found, Ranks(bag, ((q, "low"), (q, "value"), (q, "high")))]
    sides: tuple[tuple[Role, dict[Fraction, None]], ...] = (
        ("value", values),
        ("low", framed),
        ("high", framed),
    )
    return [*found, *(Ranks(bag, tuple((q, role) for q in qs)) for role, qs in sides if qs)]
