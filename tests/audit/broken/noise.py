"""Noise numerics: the right formula, drawn wrongly; or the wrong formula."""

from fractions import Fraction
from math import cos, exp, floor, log, log1p, log10, pi, sqrt

import numpy as np

import sfumato as sf
from broken.bug import BLACK_BOX, CONTRACT, Bug, Own
from broken.law import gaussian, laplace, moved, normalized
from sfumato.core.loss import Approximate, BoundedRange, Concentrated, GaussianShift, Pure
from sfumato.noise import Gaussian, Laplace, draw
from sfumato.testing import Contract

ONE = sf.Sensitivity(l0=1, l1=1)
TEN_TO_6 = Fraction(1, 10**6)


def pure(scale):
    return lambda s: Pure(s.l1 / scale, neighbors=s.neighbors)


def approximate(epsilon, delta):
    return lambda s: Approximate(epsilon * s.l1, min(delta * s.l1, Fraction(1, 2)))


def noise(law, exact, rng):
    """Integer noise for every cell, exact and with good bits: not what is wrong here."""
    return draw(law, exact.size, rng).reshape(exact.shape)


def uniform(rng):
    """A float in (0, 1): 53 bits of a good generator, and the textbook goes on from there."""
    return (float(int(rng.words(1)[0]) >> 11) + 0.5) * 2.0**-53


def mechanism(name, story, drawn, claimed, law=None, **more):
    pairs, draws = more.pop("pairs", [(3, 4)]), more.pop("draws", 5000)
    contract = Contract(
        Own(drawn, claimed), more.pop("sensitivity", ONE), pairs, law, name=name, draws=draws
    )
    return Bug(
        name=name,
        story=story,
        contract=contract,
        caught=more.pop("caught", (CONTRACT, BLACK_BOX)),
        **more,
    )


def correct(exact, rng, scale=Fraction(1)):
    return exact + noise(Laplace(scale), exact, rng)


def half_scale(exact, rng, scale=Fraction(1)):
    return exact + noise(Laplace(scale / 2), exact, rng)


def light_scale(exact, rng, scale=Fraction(99, 100)):
    tidy = Fraction(floor(scale * 10), 10)  # 0.99 becomes 0.9
    return exact + noise(Laplace(tidy), exact, rng)


def float_laplace(exact, rng, scale=1.0):
    u = uniform(rng) - 0.5
    return float(exact) - scale * (1 if u > 0 else -1) * log1p(-2 * abs(u))


def float_gaussian(exact, rng, sigma=4.84):
    return float(exact) + sigma * sqrt(-2 * log(uniform(rng))) * cos(2 * pi * uniform(rng))


def sum_of_samples(exact, rng, scale=1.0):
    first = log(uniform(rng)) * cos(pi * uniform(rng))
    second = log(uniform(rng)) * cos(pi * uniform(rng))
    return float(exact) + scale * (first + second)


def digits_of_the_exact_value(exact, rng, scale=1.0):
    step = 10.0 ** (floor(log10(max(float(exact), 1.0))) - 1)  # two digits are shown
    u = uniform(rng) - 0.5
    noisy = float(exact) - scale * (1 if u > 0 else -1) * log1p(-2 * abs(u))
    return round(noisy / step) * step


def never_zero(exact, rng, scale=Fraction(1)):
    drawn = noise(Laplace(scale), exact, rng)
    while drawn == 0:  # an answer without noise would be the truth
        drawn = noise(Laplace(scale), exact, rng)
    return exact + drawn


def doubled_zero(exact, rng, scale=Fraction(1)):
    sizes = noise(Laplace(scale, two_sided=False), exact, rng)
    signs = (rng.words(exact.size).reshape(exact.shape) & np.uint64(1)).astype(np.int64) * 2 - 1
    return exact + signs * sizes


def bounded_noise(exact, rng, scale=Fraction(1), most=3):
    while abs(drawn := noise(Laplace(scale), exact, rng)) > most:  # no absurd answers
        pass
    return exact + drawn


def bounded_law(most):
    return normalized({x: exp(-abs(x)) for x in range(-most, most + 1)})


def one_sided(exact, rng, scale=Fraction(1)):
    return exact + noise(Laplace(scale, two_sided=False), exact, rng)


def gaussian_noise(sigma):
    def drawn(exact, rng):
        return exact + noise(Gaussian(Fraction(sigma)), exact, rng)

    return drawn


def classical_sigma(epsilon, delta):
    return Fraction(sqrt(2 * log(1.25 / delta)) / epsilon).limit_denominator(1000)


def float_weights(exact, rng):
    weights = [exp(score) for score in exact.tolist()]
    point = uniform(rng) * sum(weights)
    for place, weight in enumerate(weights):
        if point < weight:
            return place
        point -= weight
    return len(weights) - 1


def rounded_before(exact, rng, scale=Fraction(1), step=Fraction(1, 4)):
    steps = np.floor(exact / float(step) + 0.5).astype(np.int64)
    return steps + noise(Laplace(scale / step), exact, rng)


def steps_law(exact):
    return laplace(4.0, floor(float(exact) * 4 + 0.5))


TIGHT = classical_sigma(20, 1e-5)

BUGS = [
    mechanism(
        "half scale",
        "Reads the scale as the width of both tails together, so the noise is half of what is "
        "paid for.",
        half_scale,
        pure(1),
        lambda exact: laplace(1.0, int(exact)),
        cellwise=True,
    ),
    mechanism(
        "ten percent light",
        "Shortens the scale to one decimal before drawing, and charges for the long one.",
        light_scale,
        pure(Fraction(99, 100)),
        lambda exact: laplace(0.99, int(exact)),
        draws=20_000,
        trials=200_000,
        cellwise=True,
    ),
    mechanism(
        "float Laplace",
        "Inverts the distribution function in floats, which reach other values around 3 than "
        "around 4.",
        float_laplace,
        pure(1),
        pairs=[(0, 1)],
        trials=5_000,
    ),
    mechanism(
        "float Gaussian",
        "Draws by Box and Muller in floats from a good generator; the bits still tell the center.",
        float_gaussian,
        approximate(1, Fraction(1, 10**5)),
        pairs=[(0, 1)],
        trials=5_000,
    ),
    mechanism(
        "sum of several samples",
        "Adds up four float samples to hide the holes of each, which moves the holes only.",
        sum_of_samples,
        pure(1),
        pairs=[(0, 1)],
        trials=5_000,
    ),
    mechanism(
        "rounded to digits of the exact value",
        "Rounds the noisy answer to two digits, counted from the size of the exact one.",
        digits_of_the_exact_value,
        pure(1),
        pairs=[(99, 100)],
    ),
    mechanism(
        "noise is never zero",
        "Draws again when the noise is zero, so that the exact value is the one never released.",
        never_zero,
        pure(1),
        lambda exact: laplace(1.0, int(exact)),
    ),
    mechanism(
        "zero counted twice",
        "Puts a random sign before a geometric number, and so makes zero twice as likely.",
        doubled_zero,
        pure(1),
        lambda exact: laplace(1.0, int(exact)),
        trials=5_000,
        cellwise=True,
    ),
    mechanism(
        "bounded noise sold as pure",
        "Draws again beyond three scales, so that the ends of the range give the exact value away.",
        bounded_noise,
        pure(1),
        lambda exact: moved(bounded_law(3), int(exact)),
        trials=10_000,
    ),
    mechanism(
        "one-sided noise",
        "Adds a geometric number, so that no answer is ever below the exact one.",
        one_sided,
        pure(1),
        lambda exact: normalized({int(exact) + x: exp(-x) for x in range(40)}),
        cellwise=True,
    ),
    mechanism(
        "Gaussian sold as pure",
        "Charges one over sigma as ε, as if Gaussian tails fell like those of Laplace.",
        gaussian_noise(1),
        pure(1),
        lambda exact: gaussian(1.0, int(exact)),
        trials=20_000,
        cellwise=True,
    ),
    mechanism(
        "classical sigma at large ε",
        "Uses the textbook sigma, proved for ε below 1, at ε = 20.",
        gaussian_noise(TIGHT),
        approximate(20, Fraction(1, 10**5)),
        lambda exact: gaussian(float(TIGHT), int(exact)),
        caught=(CONTRACT,),  # a failure of probability 2e-4 beyond ε = 20 is too rare to be sampled
    ),
    mechanism(
        "ρ sold as ε",
        "Converts ρ into ε without the term in the logarithm of δ.",
        gaussian_noise(1),
        approximate(Fraction(1, 2), TEN_TO_6),
        lambda exact: gaussian(1.0, int(exact)),
        trials=5_000,
        cellwise=True,
    ),
    mechanism(
        "half the ρ of Gaussian noise",
        "Writes l2²/(4·sigma²) where l2²/(2·sigma²) is due.",
        gaussian_noise(1),
        lambda s: Concentrated(s.l2_squared / 4),
        lambda exact: gaussian(1.0, int(exact)),
        trials=200_000,
        cellwise=True,
    ),
    mechanism(
        "weights that overflow",
        "Computes exp(score) in floats, which raises an error for scores from 710 on.",
        float_weights,
        lambda s: BoundedRange(2 * s.linf),
        sensitivity=sf.Sensitivity(linf=1),
        pairs=[([709, 700], [710, 700])],
    ),
    mechanism(
        "rounding not charged",
        "Rounds to a public grid before the noise, and forgets that rounding can add a step to a "
        "change.",
        rounded_before,
        pure(1),
        steps_law,
        sensitivity=sf.Sensitivity(l0=1, l1="3/10"),
        pairs=[(0.1, 0.4)],
        trials=50_000,
        cellwise=True,
    ),
]

TWINS = [
    mechanism(
        "discrete Laplace",
        "Integer noise of the scale that is charged for.",
        correct,
        pure(1),
        lambda exact: laplace(1.0, int(exact)),
        caught=(),
        trials=10_000,
        cellwise=True,
    ),
    mechanism(
        "bounded noise sold with its δ",
        "The same bounded noise; the ends of its range are charged as δ.",
        bounded_noise,
        approximate(1, Fraction(3, 100)),
        lambda exact: moved(bounded_law(3), int(exact)),
        caught=(),
        trials=10_000,
    ),
    mechanism(
        "discrete Gaussian",
        "Integer noise charged as the shift of a Gaussian.",
        gaussian_noise(3),
        lambda s: GaussianShift(Fraction(3), s.l1**2, s.l0 == 1),
        lambda exact: gaussian(3.0, int(exact)),
        caught=(),
        trials=10_000,
        cellwise=True,
    ),
]
