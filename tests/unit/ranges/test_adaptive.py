"""Methods of two stages: what they are given adds up, and is refused before anything is paid."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.core.errors import BudgetExceeded, InputError, RangeError
from sfumato.ranges.spending import Spending

DATA = pd.DataFrame(
    {
        "x": np.random.default_rng(0).integers(0, 64, 500),
        "z": np.random.default_rng(1).choice(["A", "B"], 500),
    }
)


def table(epsilon):
    schema = sf.Schema(x=sf.Integer(0, 63), z=sf.Category(["A", "B"]))
    budget = sf.Budget(epsilon=epsilon)
    return sf.Session(DATA, unit=sf.Unit.row(), schema=schema, budget=budget).table()


# Prices of which both stages, rounded up to the ledger's grid, would exceed the whole.
UNEVEN = [
    ("dawa", 0.42813323987193935, {}),
    ("dawa", "1", {"partition": "1/3"}),
    ("dawa", "2/3", {}),
    ("fourier", "2/3", {}),
    ("fourier", "1/3", {}),
    ("fourier", "1/7", {"k": 3}),
]


@pytest.mark.parametrize("where", ["table", "lab"])
@pytest.mark.parametrize(("method", "epsilon", "options"), UNEVEN)
def test_both_stages_fit_the_price_whatever_it_is(method, epsilon, options, where):
    column = table(2).values("x") if where == "table" else sf.lab(np.arange(64)).values()
    before = column.remaining.epsilon
    sf.ranges.release(column, method=method, epsilon=epsilon, **options)
    spent = before - column.remaining.epsilon
    asked = sf.Budget(epsilon=epsilon).epsilon
    assert asked - Fraction(3, 10**18) < spent <= asked


def test_parts_of_a_price_add_up_on_the_grid():
    left = sf.lab([1]).remaining
    for price in ("1/3", "0.7", "2/7", "123/997"):
        for part in (Fraction(1, 3), Fraction(3, 20), Fraction(5, 7)):
            for given in ({"epsilon": price, "rho": None}, {"epsilon": None, "rho": price}):
                whole = Spending.of(**given, delta=0, pure=True, left=left)
                first, rest = whole.share(part), whole.share(1 - part)
                a, b, c = (each.epsilon or each.rho for each in (first, rest, whole))
                assert a + b <= Fraction(int(c * 10**18), 10**18)
                assert a.denominator.bit_length() <= 60  # nothing is left to round
    with pytest.raises(InputError, match="least that is charged"):
        Spending.of("1e-17", 0, None, pure=True, left=left).share(Fraction(1, 100))


@pytest.mark.parametrize(
    ("method", "epsilon", "options"),
    [
        ("fourier", "1e-13", {}),  # the second stage could not be drawn
        ("dawa", "1e-11", {"partition": "0.999999"}),
        ("dawa", 2**21, {}),
        ("dawa", 1, {"partition": "abc"}),
        ("dawa", 1, {"partition": float("nan")}),
        ("dawa", 1, {"partition": 1}),
        ("dawa", 1, {"partition": [1]}),
        ("fourier", 1, {"k": 1.0}),
    ],
)
def test_what_a_stage_cannot_do_is_refused_before_the_first_is_paid_for(method, epsilon, options):
    lab = sf.lab(np.arange(64), budget=sf.Budget(epsilon=10**8))
    with pytest.raises((InputError, RangeError)):
        sf.ranges.release(lab, method=method, epsilon=epsilon, **options)
    assert lab.remaining.epsilon == 10**8


@pytest.mark.parametrize("method", ["dawa", "fourier"])
@pytest.mark.parametrize("budget", ["0.5", "0.7"])  # nothing is left of it, and too little
def test_what_was_bought_is_answered_again_for_nothing(method, budget):
    column = table(budget).values("x")
    first = sf.ranges.release(column, method=method, epsilon="0.5")
    left = column.remaining
    assert sf.ranges.release(column, method=method, epsilon="0.5").digest == first.digest
    assert column.remaining == left
    with pytest.raises(BudgetExceeded, match="Nothing was charged"):
        sf.ranges.release(column, method=method, epsilon="0.4" if budget == "0.5" else "0.3")
    assert column.remaining == left


@pytest.mark.parametrize("budget", ["1", "2"])
def test_parts_of_a_partition_pay_together(budget):
    whole = table(budget)
    parts = whole.partition("z", ["A", "B"])
    for key in ("A", "B"):
        sf.ranges.release(parts[key].values("x"), method="dawa", epsilon=1)
    assert whole.remaining.epsilon == Fraction(budget) - 1
