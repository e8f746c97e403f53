"""The exact curve of the discrete Gaussian, against sums over all integers in many digits."""

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from sfumato.accounting import gaussian_reference_epsilon, gaussian_reference_sigma
from sfumato.accounting.gaussian import gaussian_delta, gaussian_epsilon
from sfumato.accounting.tail import _added, _series, mills, tail, total
from sfumato.core.errors import NumberError, RangeError
from sfumato.core.interval import Interval

MICRO = Fraction(1, 10**6)


def decimal(number):
    return Decimal(number.numerator) / Decimal(number.denominator)


def hockey_stick(sigma, shift, epsilon):
    """Sum what exceeds e^ε times the shifted law, over every integer that matters, as a Decimal."""
    with localcontext(prec=60):
        variance = decimal(sigma * sigma)
        reach = int(17 * sigma) + shift + 3
        weight = {x: (-Decimal(x * x) / (2 * variance)).exp() for x in range(-reach, reach + 1)}
        factor = decimal(epsilon).exp()
        gaps = (w - factor * weight.get(x - shift, Decimal(0)) for x, w in weight.items())
        return Fraction(sum(gap for gap in gaps if gap > 0) / sum(weight.values()))


CASES = [
    ("0.3", 1, "2"),
    ("0.5", 1, "0.1"),
    ("1", 1, "0"),
    ("1", 1, "0.5"),  # the threshold is an integer
    ("1", 2, "3"),
    ("2.5", 7, "0.2"),
    ("4", 1, "1"),
    ("10", 3, "0.5"),
    ("10", 30, "1"),
    ("47.9", 1, "0.1"),
    ("48", 1, "0.1"),
    ("48.1", 60, "2"),
    ("90", 1, "0.06"),
]


@pytest.mark.parametrize(("sigma", "shift", "epsilon"), CASES)
def test_delta_is_the_hockey_stick_rounded_up(sigma, shift, epsilon):
    sigma, epsilon = Fraction(sigma), Fraction(epsilon)
    truth = hockey_stick(sigma, shift, epsilon)
    assert truth * (1 - Fraction(1, 10**40)) <= gaussian_delta(sigma, shift, epsilon)
    assert gaussian_delta(sigma, shift, epsilon) <= truth * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize("shift", [1, 5, 40])
def test_delta_grows_with_the_shift(shift):
    smaller = gaussian_delta(Fraction(20), shift, Fraction(1, 2))
    assert smaller < gaussian_delta(Fraction(20), shift + 1, Fraction(1, 2))


@pytest.mark.parametrize("sigma", ["0.7", "3", "60", "5000", "1e9", "1e30"])
@pytest.mark.parametrize("delta", [Fraction(1, 10), MICRO, Fraction(1, 10**15)])
def test_epsilon_is_the_least_on_its_grid(sigma, delta):
    sigma = Fraction(sigma)
    shift = max(int(sigma) // 2, 1)
    found = gaussian_epsilon(sigma, shift, delta)
    assert found > 0
    assert gaussian_delta(sigma, shift, found) <= delta
    assert gaussian_delta(sigma, shift, found * (1 - Fraction(1, 2**39))) > delta


def test_epsilon_is_zero_where_the_laws_are_close_enough():
    assert gaussian_epsilon(Fraction(10**9), 1, MICRO) == 0
    assert gaussian_epsilon(Fraction(1), 0, MICRO) == 0
    assert gaussian_delta(Fraction(1), 0, Fraction(0)) == 0


@pytest.mark.parametrize("sigma", ["1e-50", "1e-3", "1e60", "1e200"])
def test_extreme_widths_give_a_bound(sigma):
    sigma = Fraction(sigma)
    for epsilon in (Fraction(0), Fraction(1, 10**50), Fraction(10**3), 1 / sigma**2):
        assert 0 < gaussian_delta(sigma, 1, epsilon) <= 1
    assert gaussian_delta(sigma, 1, gaussian_epsilon(sigma, 1, Fraction(1, 10**90))) < MICRO


def test_a_wide_law_comes_near_the_continuous_one():
    sigma, rho = Fraction(10**6), Fraction(1, 2)
    found = gaussian_epsilon(sigma, 10**6, MICRO)
    assert float(found) == pytest.approx(gaussian_reference_epsilon(rho, MICRO), rel=1e-9)


@pytest.mark.parametrize(
    ("sigma", "first"), [(48, 1), (48, 60), (48, 199), (48, 200), (48, 420), (130, 900), (300, 5)]
)
def test_series_encloses_what_is_added_up(sigma, first):
    added = _added(first, Fraction(sigma), 40)
    series = _series(first, Fraction(sigma), 40)
    assert series.low <= added.low <= added.high <= series.high
    assert series.high - series.low < added.low * Decimal("1e-11")
    assert added.high - added.low < added.low * Decimal("1e-28")


@pytest.mark.parametrize("sigma", ["1", "1.5", "3", "50"])
def test_total_encloses_both_tails_and_zero(sigma):
    whole, half = total(Fraction(sigma), 40), tail(1, Fraction(sigma), 40)
    both = 1 + 2 * half
    assert whole.low <= both.high
    assert both.low <= whole.high


def test_mills_ratio_joins_where_its_two_forms_meet():
    below = mills(Interval(Decimal("3.999999999999999999999"), Decimal("3.999999999999999999999")))
    above = mills(Interval(Decimal(4), Decimal(4)))
    assert above.high < below.low < above.low * Decimal("1.000000000000000000001")
    assert float(above.low) == pytest.approx(0.23665238291356067, rel=1e-15)


@pytest.mark.parametrize("function", [gaussian_reference_epsilon, gaussian_reference_sigma])
@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), "x"])
def test_references_refuse_bad_numbers(function, bad):
    with pytest.raises((NumberError, RangeError)):
        function(bad, "1e-6")
    with pytest.raises((NumberError, RangeError)):
        function(1, bad)
