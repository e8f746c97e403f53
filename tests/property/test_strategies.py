"""What the public strategies make is what sfumato takes, and covers what is registered."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import accounting
from sfumato.core.codec import decode, encode
from sfumato.testing import strategies


@given(
    st.one_of(
        strategies.units(), strategies.budgets(), strategies.sensitivities(), strategies.losses()
    )
)
def test_values_survive_the_codec(value):
    assert decode(encode(value)) == value


@given(strategies.losses(), strategies.deltas())
@settings(deadline=None)
def test_twice_a_loss_is_never_cheaper(loss, delta):
    try:
        once, twice = accounting.epsilon(loss, delta), accounting.epsilon(loss * 2, delta)
    except sf.errors.LossError:
        return  # approximate parts that need more δ than there is
    assert once <= twice


@given(strategies.all_mechanisms(), strategies.sensitivities(sf.core.unit.Neighbors.REPLACE))
@settings(deadline=None)
def test_mechanisms_state_a_loss_and_an_error(mechanism, sensitivity):
    assert accounting.epsilon(mechanism.loss(sensitivity), "1e-6") > 0
    assert mechanism.error(sensitivity).halfwidth(strategies.Fraction(1, 2)) >= 0


def test_every_registered_mechanism_is_drawn():
    made = set()

    @given(strategies.all_mechanisms())
    @settings(max_examples=1500, database=None)
    def collect(mechanism):
        made.add(type(mechanism).__name__)

    collect()
    assert made == set(sf.mechanisms.Laboratory.registry)


@pytest.mark.parametrize("kind", ["row", "rows", "by"])
def test_every_kind_of_unit_is_drawn(kind):
    seen = []

    @given(strategies.units())
    @settings(max_examples=100, database=None)
    def collect(unit):
        seen.append(repr(unit).startswith(f"Unit.{kind}("))

    collect()
    assert any(seen)
