"""Hockey-stick curves of single pairs: the allowance encloses the exact value, in every tail."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from sfumato.accounting.gaussian import gaussian_delta
from sfumato.accounting.pld.gaussian import DiscreteGaussian, Gaussian, _mills
from sfumato.accounting.pld.leaf import DiscreteLaplace, Laplace, Response, Sampled
from sfumato.accounting.tail import mills
from sfumato.core.interval import Interval

DIGITS = 80
PRECISION = Fraction(1, 2**48)  # what rounding.py assumes of the machine


def number(value):
    return Interval.of(Fraction(value), DIGITS)


def middle(interval):
    return Fraction(interval.low) / 2 + Fraction(interval.high) / 2


@pytest.mark.parametrize(
    ("function", "exact", "points"),
    [
        (np.exp, lambda x: number(x).exp(), np.linspace(-700, 700, 1501)),
        (np.expm1, lambda x: number(x).exp() - 1, np.geomspace(1e-12, 600, 1000)),
        (np.expm1, lambda x: number(x).exp() - 1, -np.geomspace(1e-12, 600, 1000)),
        (np.log1p, lambda x: (number(x) + 1).log(), np.geomspace(1e-12, 1e300, 1000)),
        (np.log, lambda x: number(x).log(), np.geomspace(1e-290, 0.9, 1000)),
    ],
)
def test_functions_are_as_exact_as_is_assumed(function, exact, points):
    for x, ours in zip(points.tolist(), function(points).tolist(), strict=True):
        true = middle(exact(x))
        assert abs(Fraction(ours) - true) <= PRECISION * abs(true)


def test_mills_ratio_is_as_exact_as_is_assumed():
    points = np.concatenate((np.linspace(1e-9, 12, 800), np.geomspace(12, 1e5, 200)))
    for z, ours in zip(points.tolist(), _mills(points).tolist(), strict=True):
        true = middle(mills(number(z)))
        assert abs(Fraction(ours) - true) <= 2 * PRECISION * true


def e(x):
    return number(x).exp()


def positive(interval):
    return max(middle(interval), Fraction(0))


def laplace(cost, x):
    return positive(1 - number((x - cost) / 2).exp()) if x < cost else Fraction(0)


def response(cost, lost, x):
    part = positive(1 - number(x - cost).exp()) if x < cost else Fraction(0)
    return lost + (1 - lost) * part / middle(1 + e(-cost))


def discrete_laplace(scale, shift, x):
    """Return the best of P(X <= c) − e^x·P(X <= c − shift) over c."""
    p = e(-1 / scale)

    def power(n):
        return e(-Fraction(n) / scale)

    def upto(c):
        return 1 - power(c + 1) / (1 + p) if c >= 0 else power(-c) / (1 + p)

    return max(positive(upto(c) - e(x) * upto(c - shift)) for c in range(-1, shift + 1))


def gaussian(square, x):
    mu = number(square).sqrt()
    a, b = number(x) / mu - mu / 2, number(x) / mu + mu / 2
    density = (number(0) - a * a / 2).exp() / (2 * Interval.of(PI, DIGITS)).sqrt()
    two = density * mills(b)
    if a.low > 0:
        return positive(density * mills(a) - two)
    return positive(1 - density * mills(number(0) - a) - two)


PI = Fraction(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534"
)


def mixed(curve, rate, x, *, back):
    """Return the curve of rate·P + (1 − rate)·Q against Q, or of Q against it."""
    with localcontext(prec=DIGITS):
        grown = middle(e(x) - 1)
        share = 1 - (1 - rate) * (1 + grown) if back else rate
        if share <= 0:
            return Fraction(0)
        inside = 1 + grown / share
        point = (Decimal(inside.numerator) / Decimal(inside.denominator)).ln()
        return share * curve(Fraction(point))


CASES = [
    (Response(Fraction(1, 10)), lambda x: response(Fraction(1, 10), 0, x)),
    (
        Response(Fraction(7, 3), Fraction(1, 10**9)),
        lambda x: response(Fraction(7, 3), Fraction(1, 10**9), x),
    ),
    (Laplace(Fraction(1, 3)), lambda x: laplace(Fraction(1, 3), x)),
    (DiscreteLaplace(Fraction(3), 5), lambda x: discrete_laplace(Fraction(3), 5, x)),
    (DiscreteLaplace(Fraction(1, 3), 4), lambda x: discrete_laplace(Fraction(1, 3), 4, x)),
    (DiscreteLaplace(Fraction(200), 30), lambda x: discrete_laplace(Fraction(200), 30, x)),
    (Gaussian(Fraction(1)), lambda x: gaussian(Fraction(1), x)),
    (Gaussian(Fraction(1, 2500)), lambda x: gaussian(Fraction(1, 2500), x)),
    (Gaussian(Fraction(150)), lambda x: gaussian(Fraction(150), x)),
]


@pytest.mark.parametrize(("leaf", "exact"), CASES)
@pytest.mark.parametrize("rate", [None, Fraction(1, 100), Fraction(1, 2), Fraction(999, 1000)])
def test_allowance_encloses_the_curve(leaf, exact, rate):
    for back in (False, True):
        pair = leaf if rate is None else Sampled(leaf, rate)
        top = pair.reach(1e-30)[back]
        points = np.concatenate(([0.0], np.geomspace(top * 1e-6, top * 1.2, 60)))
        found = pair.curve(points, back=back)
        whole = pair.curve(np.zeros(1), back=back).value[0]
        for x, value, error in zip(points.tolist(), found.value, found.error, strict=True):
            at = Fraction(x)
            true = exact(at) if rate is None else mixed(exact, rate, at, back=back)
            assert abs(Fraction(value) - true) <= Fraction(error)
            # ... and is small: of the value in tails, of the whole near an end
            assert error <= 1e-9 * value + 1e-13 * whole * (1 if pair.bounded[back] else 0) + 1e-280


@pytest.mark.parametrize(
    ("sigma", "shift"),
    [
        ("1/5", 1),
        ("1/2", 1),
        (1, 1),
        (1, 3),
        (7, 2),
        (100, 1),
        (128, 40),
        (1000, 37),
        (10**6, 9999),
    ],
)
def test_allowance_encloses_the_discrete_gaussian(sigma, shift):
    leaf = DiscreteGaussian(Fraction(sigma), shift)
    top = leaf.reach(1e-30)[0]
    points = np.concatenate(([0.0], np.geomspace(top * 1e-6, top, 60)))
    found = leaf.curve(points, back=False)
    for x, value, error in zip(points.tolist(), found.value, found.error, strict=True):
        true = gaussian_delta(Fraction(sigma), shift, Fraction(x))  # up, by 1 in 10^9 at most
        assert Fraction(value) - Fraction(error) <= true
        assert true <= (Fraction(value) + Fraction(error)) * (1 + Fraction(1, 10**9))
        assert error <= 1e-9 * value + 1e-280


@pytest.mark.parametrize("sigma", ["1/5", "1/2", 2])
def test_allowance_encloses_the_curve_at_the_losses_themselves(sigma):
    # There a rounding of the threshold decides which outcomes count.
    leaf = DiscreteGaussian(Fraction(sigma), 1)
    losses = [(1 + 2 * x) / (2 * float(Fraction(sigma)) ** 2) for x in range(6)]
    around = [y for x in losses for y in (math.nextafter(x, 0), x, math.nextafter(x, 1e9))]
    found = leaf.curve(np.array(around), back=False)
    for x, value, error in zip(around, found.value, found.error, strict=True):
        true = gaussian_delta(Fraction(sigma), 1, Fraction(x))
        assert Fraction(value) - Fraction(error) <= true * (1 + Fraction(1, 10**9))
        assert true <= (Fraction(value) + Fraction(error)) * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize(
    "leaf",
    [
        Response(Fraction(1, 2), Fraction(1, 100)),
        Laplace(Fraction(1)),
        DiscreteLaplace(Fraction(3), 2),
        DiscreteGaussian(Fraction(2), 1),
        DiscreteGaussian(Fraction(300), 70),
        Gaussian(Fraction(4)),
        Sampled(Gaussian(Fraction(1)), Fraction(1, 10)),
        Sampled(DiscreteGaussian(Fraction(1, 5), 1), Fraction(1, 10)),
        Sampled(Sampled(Laplace(Fraction(2)), Fraction(1, 2)), Fraction(1, 3)),
    ],
)
def test_blurred_points_widen_the_allowance_enough(leaf):
    blur = 1e-9
    for back in (False, True):
        points = np.linspace(1e-3, 1, 200) * leaf.reach(1e-12)[back]
        found = leaf.curve(points, back=back, blur=blur)
        for moved in (points * (1 - blur), points * (1 + blur)):
            there = leaf.curve(moved, back=back)
            gap = np.abs(there.value - found.value) - there.error
            assert (gap <= found.error).all()


def test_probability_beyond_a_point_is_bounded():
    # P(loss > x) is at least H(x), and at most H(x − d)/(1 − e^(−d)).
    for leaf in (Laplace(Fraction(1)), Gaussian(Fraction(1)), DiscreteGaussian(Fraction(3, 2), 1)):
        points = np.linspace(0, 1, 100) * leaf.reach(1e-12)[0]
        found = leaf.curve(points, back=False)
        assert (found.most >= found.value - found.error).all()


def test_bounded_curves_end_where_they_say():
    for leaf in (
        Response(Fraction(1, 3)),
        Laplace(Fraction(1, 3)),
        DiscreteLaplace(Fraction(3), 1),
        Sampled(Laplace(Fraction(5)), Fraction(1, 7)),
        Sampled(Gaussian(Fraction(1)), Fraction(1, 7)),
    ):
        for back in (False, True):
            if leaf.bounded[back]:
                end = np.array([leaf.reach(1e-9)[back] * (1 + 1e-9)])
                assert leaf.curve(end, back=back).value[0] == 0
                assert leaf.curve(end, back=back).error[0] == 0
