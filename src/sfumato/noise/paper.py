"""The samplers as the paper writes them, one draw at a time, in rationals alone [CKS20].

They need no table, so small requests use them; they are also the reference against which the batch
kernels are tested.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.noise.bernoulli import exp_flip, flip
from sfumato.noise.law import Gaussian, Laplace, Law
from sfumato.noise.rng import Rng
from sfumato.noise.uniform import integer


def sample(law: Law, rng: Rng) -> int:
    """Draw one integer from `law`."""
    if isinstance(law, Gaussian):
        return gaussian(law.scale, rng)
    if isinstance(law, Laplace) and not law.two_sided:
        return geometric(law.scale, rng)
    return laplace(law.scale, rng)


def geometric(scale: Fraction, rng: Rng) -> int:
    """Draw x >= 0 with P(x) proportional to exp(-x/scale) [CKS20, Alg. 2, without the sign]."""
    s, t = scale.denominator, scale.numerator  # 1/scale = s/t
    while True:
        u = integer(rng, t)
        if exp_flip(rng, Fraction(u, t)):
            break
    v = 0
    while exp_flip(rng, Fraction(1)):
        v += 1
    return (u + t * v) // s


def laplace(scale: Fraction, rng: Rng) -> int:
    """Draw x with P(x) proportional to exp(-|x|/scale) [CKS20, Alg. 2]."""
    while True:
        magnitude = geometric(scale, rng)
        negative = flip(rng, Fraction(1, 2))
        if magnitude or not negative:  # zero counts once
            return -magnitude if negative else magnitude


def gaussian(sigma: Fraction, rng: Rng) -> int:
    """Draw x with P(x) proportional to exp(-x²/(2·sigma²)) [CKS20, Alg. 3]."""
    t = int(sigma) + 1
    while True:
        candidate = laplace(Fraction(t), rng)
        gamma = (abs(candidate) - sigma**2 / t) ** 2 / (2 * sigma**2)
        if exp_flip(rng, gamma):
            return candidate
