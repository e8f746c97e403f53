"""What an audit found, and what it could have found."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from textwrap import fill

from sfumato.audit.bound import ceiling, factor_caught, rarest
from sfumato.audit.claim import Claim
from sfumato.core.number import show
from sfumato.release.format import percent, printable

NOT_A_PROOF = "An audit refutes; it never proves. The proof is the theorem."


@dataclass(frozen=True, slots=True, repr=False)
class Verdict:
    """The result of an audit.

    Attributes:
        flagged: whether more was proved than claimed.
        epsilon_lower: the true ε at `delta` is at least this.
        delta: the δ at which `epsilon_lower` holds; of all claimed δ the one that fares worst.
        mu_lower: the true μ (of Gaussian differential privacy) is at least this.
        claimed: the claim.
        subject: what was audited.
        event: the outputs that gave the most away.
        direction: the side on which they are likelier, "a" or "b".
        pair: the two inputs, for people.
        example: one such output.
        counts: how often the event happened on the likelier side and on the other one.
        trials: releases per side, once to search and as many fresh ones to certify.
        confidence: the probability with which everything here is right.
        could_catch: what an audit of this size could have caught.
    """

    flagged: bool
    epsilon_lower: float
    delta: Fraction
    mu_lower: float
    claimed: Claim
    subject: str
    event: str
    direction: str
    pair: tuple[str, str]
    example: str
    counts: tuple[int, int]
    trials: int
    confidence: Fraction
    could_catch: str

    def __repr__(self) -> str:
        """Show the result in one line."""
        return f"<Verdict {'FLAGGED' if self.flagged else 'not refuted'}: {self._found()}>"

    def __str__(self) -> str:
        """Write the result in full."""
        a, b = self.pair if self.direction == "a" else self.pair[::-1]
        head = "FLAGGED: gives away more than claimed" if self.flagged else "not refuted"
        lines = [
            f"{self.subject}: {head}",
            f"  claimed     {self.claimed}",
            f"  proved      {self._found()}",
            f"  event       {self.event}",
            f"  happened    {self.counts[0]:,} times from {a}, {self.counts[1]:,} from {b}, in "
            f"{self.trials:,} trials each",
        ]
        if self.example:
            lines.append(f"  for example {printable(self.example)}")
        lines.append(_wrapped("reach", self.could_catch))
        return "\n".join([*lines, _wrapped("note", NOT_A_PROOF)])

    def _found(self) -> str:
        at = f" at δ = {show(self.delta)}" if self.delta else ""
        sure = percent(self.confidence)
        mu = "" if self.claimed.mu is None else f", μ >= {self.mu_lower:.4g}"
        return f"ε >= {self.epsilon_lower:.4g}{at}{mu} ({sure} confidence)"


def _wrapped(label: str, text: str) -> str:
    head = f"  {label:<12}"
    return fill(text, 88, initial_indent=head, subsequent_indent=" " * len(head))


def reach(claim: Claim, trials: int, level: float) -> str:
    """Say what an audit of this size could have caught, where each bound fails with `level`.

    Example:
        >>> print(reach(Claim.of(1), 200_000, 0.001 / 8))
        As a yardstick, Laplace noise too small by a factor 1.05 would have been caught with
        probability 0.99 or more. Nothing above ε = 10 could be proved, nor a failure of
        probability below 4.5e-05.
    """
    top, rare = ceiling(trials, level), rarest(trials, level)
    return (
        f"{_yardstick(claim, trials, level, top)} Nothing above ε = {top:.3g} could be proved, nor "
        f"a failure of probability below {rare:.2g}."
    )


def _yardstick(claim: Claim, trials: int, level: float, top: float) -> str:
    if claim.mu is not None:
        caught = [factor_caught(claim.mu, trials, level, gaussian=True)] if claim.mu else []
        law = "Gaussian"
    else:
        points = [(float(epsilon), float(delta)) for epsilon, delta in claim.points if epsilon]
        if points and min(points)[0] >= top:
            return "The claim is beyond an audit of this size: nothing could have been caught."
        caught = [factor_caught(epsilon, trials, level, delta=delta) for epsilon, delta in points]
        law = "Laplace"
    if not caught:
        return "Any difference of some standard errors would have been caught."
    sure = [found for found in caught if found is not None]
    if not sure:
        return f"Not even {law} noise too small by a factor 100 is sure to have been caught."
    factor, chance = min(sure)
    odds = f"{chance:.2g}" if chance < 0.99 else "0.99 or more"
    return (
        f"As a yardstick, {law} noise too small by a factor {factor:g} would have been caught with "
        f"probability {odds}."
    )
