from fractions import Fraction

import numpy as np
import pytest

from sfumato.core.errors import InputError
from sfumato.release.bound import of_rows
from sfumato.release.error import Noise
from sfumato.release.form import Form, Term
from sfumato.release.inversion import quantile
from sfumato.release.linear import Linear, combined, zeros
from sfumato.release.noisy import Noisy
from sfumato.release.signature import halfwidths

ONE = Fraction(1)
X = Noisy("x", Noise("laplace", 4), (10, 20, 30))
Y = Noisy("y", Noise("laplace", 9), (1, 2, 3))


def plain(draw, weight=1, constant=0):
    size = len(draw.values)
    return Linear.of([Term(draw.id, weight)], Fraction(constant), size, {draw.id: draw})


def values(linear):
    return [Fraction(int(v), linear.over) for v in linear.values]


def test_sum_of_two_draws_is_exact():
    found = combined(plain(X, "1/3"), ONE, plain(Y), Fraction(-2))
    assert values(found) == [Fraction(4, 3), Fraction(8, 3), 4]
    assert found.over == 3


def test_what_cancels_out_leaves_no_noise():
    found = combined(plain(X), ONE, plain(X), -ONE)
    assert found.is_exact
    assert found.parts == ()
    assert halfwidths(found, 0.05).tolist() == [0, 0, 0]


def test_the_same_cell_twice_has_twice_the_noise_not_root_two():
    double = combined(plain(X), ONE, plain(X), ONE)
    assert halfwidths(double, 0.05).tolist() == (2 * halfwidths(plain(X), 0.05)).tolist()


def test_two_draws_have_the_law_of_their_sum():
    found = combined(plain(X), ONE, plain(Y), ONE)
    q = quantile(((X.noise, 1.0, 1), (Y.noise, 1.0, 1)), 0.05)
    assert halfwidths(found, 0.05).tolist() == [int(q)] * 3


def test_rows_are_taken_and_rolled_up():
    taken = plain(X).take(np.array([2, 0, 2]))
    assert values(taken) == [30, 10, 30]
    assert taken.cell.tolist() == [2, 0, 2]
    rolled = plain(X, constant=1).rolled(np.array([0, 1, 0]), 2, [ONE, ONE, Fraction(1, 2)])
    assert values(rolled) == [11 + Fraction(31, 2), 21]


def test_single_row_goes_with_every_row():
    total = plain(X).rolled(np.zeros(3, np.int64), 1)
    assert values(combined(plain(X), ONE, total, -ONE)) == [-50, -40, -30]


def test_total_of_too_many_cells_is_not_spread_over_as_many():
    many = Noisy("m", X.noise, range(20_000))
    total = plain(many).rolled(np.zeros(20_000, np.int64), 1)
    with pytest.raises(InputError, match="share"):
        combined(plain(many), ONE, total, -ONE)


def test_proportion_is_found_if_it_holds_in_every_row():
    assert plain(X, 6).proportion(plain(X, 4)) == Fraction(3, 2)
    assert plain(X, 6, 3).proportion(plain(X, 4)) is None
    assert plain(X).proportion(plain(Y)) is None
    assert zeros(3).proportion(plain(X)) is None


def test_numbers_beyond_64_bits_stay_exact():
    big = 10**30
    huge = combined(plain(X, big), ONE, plain(Y, Fraction(1, 7)), ONE)
    assert values(huge)[2] == 30 * big + Fraction(3, 7)
    assert int(halfwidths(huge, 0.05)[0]) >= huge.over * big * 12
    far = Noisy("f", X.noise, (2**63 - 1, 2**63 + 5))
    assert values(plain(far, 3)) == [3 * (2**63 - 1), 3 * (2**63 + 5)]


@pytest.mark.parametrize("factor", [1, Fraction(-2, 7)])
def test_form_stores_it_and_gives_it_back(factor):
    made = combined(plain(X), Fraction(factor), plain(Y).take(np.array([2, 2, 0])), ONE).plus(ONE)
    terms, constant = made.terms()
    again = Linear.of(terms, constant, 3, {"x": X, "y": Y})
    assert values(again) == values(made)
    assert again.proportion(made) == 1


def test_form_that_does_not_fit_is_refused():
    with pytest.raises(InputError, match="cells that its draw does not have"):
        _ = Linear.of([Term("x")], Fraction(0), 4, {"x": X}).values
    with pytest.raises(InputError, match="row"):
        Linear.of([Term("x", 1, (3,), (0,))], Fraction(0), 3, {"x": X})
    with pytest.raises(InputError, match="constant"):
        Linear.of((), (ONE, ONE), 3, {})
    with pytest.raises(InputError, match="as many rows as cells"):
        Term("x", 1, (0,), None)
    with pytest.raises(ValueError, match="in order"):
        Form.mean("s", "c", low=1, high=0)


def test_many_different_laws_get_a_bound_that_is_safe_and_not_wild():
    rng = np.random.default_rng(1)
    draw = Noisy("m", Noise("laplace", 8), tuple([0] * 8000))
    weights = [Fraction(int(w), 100) for w in rng.integers(1, 200, 8000)]
    rolled = plain(draw).rolled(np.arange(8000) // 200, 40, weights)
    exact, bound = halfwidths(rolled, 0.05), of_rows(rolled, 0.05)
    assert (bound >= exact).all()
    assert (bound <= 1.5 * exact).all()
    alone = plain(draw).rolled(np.arange(8000), 8000, weights)
    assert (of_rows(alone, 0.05) >= halfwidths(alone, 0.05)).all()
