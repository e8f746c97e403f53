"""What a ledger says about a release: written above this layer, by whoever holds the ledger."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.release.format import exact_text


@dataclass(frozen=True, slots=True)
class Figures:
    """An amount of privacy in the views of the ledger: exact, and as people read it.

    Attributes:
        said: the amount in words, rounded against whoever spends.
        epsilon: ε; None where there is none.
        rho: ρ; None where there is none.
        delta: δ.
    """

    said: str
    epsilon: Fraction | None
    rho: Fraction | None
    delta: Fraction = Fraction(0)

    def to_dict(self) -> dict[str, Any]:
        """Return the exact figures as text."""
        return {
            "epsilon": None if self.epsilon is None else exact_text(self.epsilon),
            "delta": exact_text(self.delta),
            "rho": None if self.rho is None else exact_text(self.rho),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The ledger's side of a release. Nothing in it is secret.

    Attributes:
        table: the table that was asked.
        version: the public label of its data.
        analyst: who was charged; empty if nobody is named, or for a holder somebody else.
        time: when it was charged, UTC, by the clock of the machine.
        charge: what was added to the sums.
        answers: how many answers the ledger holds; if there is a holder, how many they have.
        budget: the limit for all analysts together.
        spent: what was charged for all answers together, or for the holder's.
        remaining: what is left of the limit, or of the holder's share.
        head: the last entry's number and hash.
        holder: the analyst whose view this is; empty where it is the owner's.
        given: number and hash of the entry that charged the holder for an answer which the ledger
            had stored for somebody else; empty where the entry of the receipt charged them.
    """

    table: str
    version: str
    analyst: str
    time: str
    charge: Figures
    answers: int
    budget: Figures
    spent: Figures
    remaining: Figures
    head: str
    holder: str = ""
    given: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for programs; numbers as exact text."""
        figures = ("charge", "budget", "spent", "remaining")
        return {
            "table": self.table,
            "version": self.version,
            "analyst": self.analyst or None,
            "time": self.time,
            "answers": self.answers,
            **{name: getattr(self, name).to_dict() for name in figures},
            "head": self.head,
            "holder": self.holder or None,
            "given": self.given or None,
        }
