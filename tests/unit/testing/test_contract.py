"""Every check of the contract suite passes what is right, and can fail."""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import exp, inf
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.loss import Approximate, BoundedRange, Concentrated, Pure
from sfumato.noise import Laplace, draw
from sfumato.testing import CHECKS, Contract
from sfumato.testing import contract as suite

ONE = sf.Sensitivity(l0=1, l1=1)
UNIT = Laplace(Fraction(1))
PRICE = Pure(1)


def law(exact, scale=1.0):
    weights = {int(exact) + x: exp(-abs(x) / scale) for x in range(-45, 46)}
    total = sum(weights.values())
    return {x: w / total for x, w in weights.items()}


def noisy(exact, rng):
    return int(exact) + int(draw(UNIT, 1, rng)[0])


@dataclass(frozen=True)
class Mine:
    """Noise of one's own.

    Guarantee: as stated.
    Theorem:   as stated.
    Exactness: as stated.
    Error:     as stated.
    """

    drawn: Any = noisy
    price: Any = PRICE

    def loss(self, sensitivity):
        if sensitivity.is_zero:
            return Pure(0, neighbors=sensitivity.neighbors)
        return self.price

    def exact(self, values):
        return np.asarray(values)

    def sample(self, exact, rng):
        return self.drawn(exact, rng)

    def error(self, sensitivity):
        return sf.mechanisms.DiscreteLaplace(1).error(sensitivity)


def off_by(value, drawn):
    return abs(float(drawn) - value)


RIGHT = Contract(Mine(), ONE, [(3, 4), (0, 1)], law, off_by, name="right")


def change(**parts):
    """Return the contract of a mechanism that is right but for these parts."""
    return replace(RIGHT, mechanism=replace(Mine(), **parts))


def raises_for_four(exact, rng):
    if exact == 4:
        raise ValueError("four")
    return noisy(exact, rng)


def in_place(exact, rng):
    exact += 1
    return noisy(exact - 1, rng)


def of_another_generator(exact, rng):
    sizes = np.random.default_rng().geometric(1 - exp(-1), 2)
    return int(exact) + int(sizes[0] - sizes[1])


def only_near_zero(exact, rng):
    return noisy(exact, rng) if exact == 3 else int(exact)


def far_off(exact, rng):
    return noisy(exact, rng) + 3


def one_sided(exact):
    return {int(exact) + x: exp(-x) * (1 - exp(-1)) for x in range(45)}


def without_tails(exact):
    kept = {x: p for x, p in law(exact).items() if abs(x - exact) <= 5}
    return {x: p / sum(kept.values()) for x, p in kept.items()}


class Undocumented(Mine):
    """Nothing is said."""


class FallingPrice(Mine):
    __doc__ = Mine.__doc__

    def loss(self, sensitivity):
        return Pure(0 if sensitivity.is_zero else 1 / sensitivity.l1)


class FallingDelta(Mine):
    __doc__ = Mine.__doc__

    def loss(self, sensitivity):
        return (
            Pure(0) if sensitivity.is_zero else Approximate(1, Fraction(1, 1000) / sensitivity.l1)
        )


class FallingRho(Mine):
    __doc__ = Mine.__doc__

    def loss(self, sensitivity):
        if sensitivity.is_zero:
            return Pure(0)
        return Pure(1) if sensitivity.l1 == 1 else BoundedRange("3/2")  # ε rises, ρ falls


class FallingEpsilon(Mine):
    __doc__ = Mine.__doc__

    def loss(self, sensitivity):
        if sensitivity.is_zero:
            return Pure(0)
        return BoundedRange("3/2") if sensitivity.l1 == 1 else Pure(1)  # ε falls, ρ rises


class PriceForNothing(Mine):
    __doc__ = Mine.__doc__

    def loss(self, sensitivity):
        return Pure(1)


WRONG = {
    "check_loss_names_its_relation": [change(price=Pure(1, neighbors="replace"))],
    "check_every_input_is_answered": [change(drawn=raises_for_four)],
    "check_floats_are_listed": [
        replace(change(drawn=lambda exact, rng: float(exact) + 0.5), law=None),
        change(drawn=lambda exact, rng: float(exact) + 0.5),
        replace(change(drawn=lambda exact, rng: np.array([0.5, 1.0])), law=None),
    ],
    "check_input_is_left_alone": [change(drawn=in_place)],
    "check_law_adds_up": [replace(RIGHT, law=lambda exact: {0: 0.5, 1: 0.4})],
    "check_hockey_stick": [
        change(price=Pure("0.9")),
        change(price=Approximate("0.9", "1e-3")),
        change(price=Concentrated("1/8")),
        change(price=sf.mechanisms.DiscreteGaussian(2).loss(ONE)),
    ],
    "check_renyi": [
        change(price=Concentrated("1/3")),
        replace(change(price=Concentrated(100)), law=one_sided),
    ],
    "check_support": [
        change(price=Pure("0.99")),
        replace(RIGHT, law=one_sided),
        replace(RIGHT, law=one_sided, pairs=[(4, 3)]),
    ],
    "check_draws_follow_the_law": [
        replace(RIGHT, law=lambda exact: law(exact, 2.0)),
        replace(RIGHT, law=lambda exact: {int(exact): 1.0}),
        change(drawn=lambda exact, rng: int(exact)),
        change(drawn=only_near_zero),
        replace(RIGHT, law=without_tails),
        replace(RIGHT, law=lambda exact: law(exact, 1.1), draws=20_000),
    ],
    "check_zero_sensitivity_costs_nothing": [replace(RIGHT, mechanism=PriceForNothing())],
    "check_loss_grows_with_sensitivity": [
        replace(RIGHT, mechanism=FallingPrice()),
        replace(RIGHT, mechanism=FallingDelta()),
        replace(RIGHT, mechanism=FallingRho()),
        replace(RIGHT, mechanism=FallingEpsilon()),
    ],
    "check_replay_is_deterministic": [change(drawn=of_another_generator)],
    "check_interval_covers": [change(drawn=far_off)],
    "check_documentation": [replace(RIGHT, mechanism=Undocumented())],
}
CASES = [(name, case) for name, cases in WRONG.items() for case in cases]


def test_every_check_is_shown_to_fail():
    assert list(WRONG) == [check.__name__ for check in CHECKS]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_check_passes_what_is_right(check):
    check(RIGHT)


@pytest.mark.parametrize(("name", "case"), CASES)
def test_check_fails_what_is_wrong(name, case):
    wanted = ValueError if name == "check_every_input_is_answered" else AssertionError
    with pytest.raises(wanted):
        getattr(suite, name)(case)


def test_verify_runs_every_check():
    RIGHT.verify()
    with pytest.raises(AssertionError, match="lacks"):
        replace(RIGHT, mechanism=Undocumented()).verify()


def test_contract_without_a_law_or_a_truth_is_checked_for_the_rest():
    replace(RIGHT, law=None, truth=None).verify()
    with pytest.raises(AssertionError):
        replace(change(drawn=of_another_generator), law=None, truth=None).verify()


def test_approximate_price_is_compared_at_its_own_point():
    # At ε = 1 the mechanism needs no δ; at 0.95 it needs some, and so at every ε below.
    tail = sum(max(0.0, p - exp(0.95) * law(4).get(x, 0.0)) for x, p in law(3).items())
    above, below = (Fraction(tail) * Fraction(factor) for factor in ("1.01", "0.99"))
    suite.check_hockey_stick(change(price=Approximate("0.95", above)))
    with pytest.raises(AssertionError, match=r"δ\(0\.\d+\) = "):
        suite.check_hockey_stick(change(price=Approximate("0.95", below)))


def test_law_may_leave_out_what_is_too_unlikely_to_matter():
    def cut(exact):
        kept = {x: p for x, p in law(exact).items() if p > 1e-13}
        assert len(kept) < len(law(exact))
        return kept

    for check in (suite.check_law_adds_up, suite.check_support, suite.check_renyi):
        check(replace(RIGHT, law=cut))


def test_floats_that_the_law_lists_are_allowed():
    def coin(exact, rng):
        return 0.5 if int(rng.words(1)[0]) & 1 else 0.25

    listed = replace(change(drawn=coin), law=lambda exact: {0.5: 0.5, 0.25: 0.5})
    suite.check_floats_are_listed(listed)
    suite.check_draws_follow_the_law(listed)


def test_draws_of_arrays_and_texts_are_counted():
    def pair(exact, rng):
        return np.array([int(exact), int(rng.words(1)[0]) & 1])

    def halves(exact):
        return {(int(exact), 0): 0.5, (int(exact), 1): 0.5}

    suite.check_draws_follow_the_law(replace(change(drawn=pair), law=halves))
    text = replace(change(drawn=lambda exact, rng: "yes"), law=lambda exact: {"yes": 1.0})
    suite.check_draws_follow_the_law(text)


def test_contract_is_named_for_test_ids():
    assert repr(RIGHT) == "right"
    assert repr(replace(RIGHT, name="")) == repr(RIGHT.mechanism)
    assert RIGHT.loss == Pure(1)
    assert [int(exact) for exact in RIGHT.inputs] == [3, 4, 0, 1]


def test_score_of_a_chi_square_is_about_normal():
    assert abs(suite._normal_score(10.0, 10)) < 0.3
    assert suite._normal_score(60.0, 10) > 5
    assert suite._normal_score(0.0, 10) > -inf
