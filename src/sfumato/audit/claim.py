"""What is claimed of a release, as numbers that counts can refute: points (ε, δ), and perhaps μ."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import exp, fsum, pi, sqrt
from statistics import NormalDist
from typing import TypeAlias

from sfumato import accounting
from sfumato.accounting.pure import own_delta
from sfumato.core.budget import Budget
from sfumato.core.errors import InputError, LossError, NumberError
from sfumato.core.loss import Composed, GaussianShift, Loss
from sfumato.core.number import Exactable, nonnegative, show

Claimable: TypeAlias = "Claim | Loss | Budget | Exactable"

# Where a guarantee is a curve, it is audited at these δ, beyond what may fail anyway.
_DELTAS = (Fraction(1, 10**6), Fraction(1, 10**4), Fraction(1, 100))
_FLOAT_SLACK = 1 + 1e-6


@dataclass(frozen=True, slots=True)
class Claim:
    """A guarantee, as far as an audit can refute it.

    Attributes:
        points: pairs (ε, δ), each of which is claimed to hold.
        mu: the μ of Gaussian differential privacy, if it is claimed.

    Example:
        >>> str(Claim.of(Budget(epsilon=1, delta="1e-6")))
        'ε = 1, δ = 1e-06'
    """

    points: tuple[tuple[Fraction, Fraction], ...]
    mu: float | None = None

    @classmethod
    def of(cls, claim: Claimable) -> Claim:
        """Read a claim.

        Args:
            claim: a number means ε-DP; a budget its limit; a loss everything that is known of it.

        Raises:
            InputError: none of these.
        """
        if isinstance(claim, Claim):
            return claim
        if isinstance(claim, Loss):
            return _of_loss(claim)
        if isinstance(claim, Budget):
            if claim.epsilon is not None:
                return cls(((claim.epsilon, claim.delta),))
            rho = claim.rho or Fraction(0)
            return cls(tuple((accounting.zcdp_epsilon(rho, delta), delta) for delta in _DELTAS))
        try:
            return cls(((nonnegative(claim, "claim"), Fraction(0)),))
        except NumberError:
            raise InputError(
                f"a claim of type {type(claim).__name__} says nothing that an audit could refute. "
                f"Pass an ε, a Budget, or the loss of a mechanism."
            ) from None

    def __str__(self) -> str:
        """Write the claim."""
        said = [
            f"ε = {show(epsilon, 4)}" + (f", δ = {show(delta)}" if delta else "")
            for epsilon, delta in self.points
        ]
        if self.mu is not None:
            said.insert(0, f"μ = {self.mu:.4g}")
        return " and ".join(said)


def _of_loss(loss: Loss) -> Claim:
    own = own_delta(loss)
    square = _mu_squared(loss)
    points = []
    for extra in (Fraction(0), *_DELTAS):
        try:
            points.append((accounting.epsilon(loss, own + extra), own + extra))
        except LossError:  # Gaussian parts have no ε without a δ
            continue
        if not extra:
            break  # where an ε holds outright, the rest of the curve says little more
    return Claim(tuple(points), None if square is None else sqrt(square) * _FLOAT_SLACK)


def _mu_squared(loss: Loss) -> float | None:
    """Return μ² of a composition of Gaussian losses alone; squares add up (Dong, Roth, Su)."""
    if isinstance(loss, GaussianShift):
        return float(loss.l2_squared) * unit_mu(float(loss.sigma)) ** 2
    if isinstance(loss, Composed) and loss.parts:
        squares = [(_mu_squared(part), count) for part, count in loss.parts]
        if all(square is not None for square, _ in squares):
            return fsum(square * count for square, count in squares if square is not None)
    return None


def unit_mu(sigma: float) -> float:
    """Return the μ of discrete Gaussian noise on a number that moves by one.

    It is a little more than 1/σ: by 17 parts in ten thousand at σ = 5, by a quarter at σ = 1/2. Two
    discrete Gaussians are told apart best between their centers. A shift of several, and several
    cells, compose to at most their Euclidean length times this.
    """
    if sigma < 20:
        around = fsum(exp(-k * k / (2 * sigma * sigma)) for k in range(1, int(40 * sigma) + 3))
        tail = around / (1 + 2 * around)
    else:
        tail = (1 - 1 / (sigma * sqrt(2 * pi))) / 2  # the sum is the integral to 10^-100
    return -2 * NormalDist().inv_cdf(max(tail, 1e-300))
