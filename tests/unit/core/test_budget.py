"""Budgets: one family, exact numbers."""

from fractions import Fraction

import pytest

from sfumato.core.budget import Budget
from sfumato.core.errors import CostError, NumberError, RangeError


def test_budget_holds_exact_numbers():
    budget = Budget(epsilon=0.1, delta="1e-6")
    assert (budget.epsilon, budget.delta, budget.rho) == (
        Fraction(1, 10),
        Fraction(1, 10**6),
        None,
    )
    budget = Budget(rho="1/3")
    assert (budget.epsilon, budget.delta, budget.rho) == (None, 0, Fraction(1, 3))


def test_equal_limits_are_equal_budgets():
    assert Budget(epsilon=0.5) == Budget(epsilon="1/2") == Budget(epsilon=0.5, delta=0)
    assert hash(Budget(epsilon=0.5)) == hash(Budget(epsilon="1/2"))
    assert Budget(epsilon=1) != Budget(rho=1)


@pytest.mark.parametrize(
    "costs",
    [{}, {"delta": "1e-6"}, {"epsilon": 1, "rho": 1}, {"rho": 1, "delta": "1e-6"}],
    ids=lambda costs: "+".join(costs) or "none",
)
def test_budget_refuses_no_family_and_two(costs):
    with pytest.raises(CostError, match="epsilon="):
        Budget(**costs)


@pytest.mark.parametrize(
    ("costs", "kind"),
    [
        ({"epsilon": 0}, RangeError),
        ({"epsilon": -1}, RangeError),
        ({"rho": 0}, RangeError),
        ({"epsilon": 1, "delta": 1}, RangeError),
        ({"epsilon": 1, "delta": -1}, RangeError),
        ({"epsilon": float("inf")}, NumberError),
        ({"epsilon": 1, "delta": None}, NumberError),
    ],
)
def test_budget_refuses_numbers_that_are_no_limit(costs, kind):
    with pytest.raises(kind):
        Budget(**costs)


@pytest.mark.parametrize(
    ("budget", "text"),
    [
        (Budget(epsilon=4), "Budget(epsilon=4)"),
        (Budget(epsilon=4, delta="1e-6"), "Budget(epsilon=4, delta=1e-06)"),
        (Budget(rho="1/8"), "Budget(rho=0.125)"),
        (Budget(epsilon="1e-400"), "Budget(epsilon=about 10^-400)"),
    ],
)
def test_repr_shows_the_limit(budget, text):
    assert repr(budget) == text


def test_budget_cannot_be_changed():
    with pytest.raises(AttributeError):
        Budget(epsilon=1).epsilon = 2
