"""Conversions: every legal step has its reference, and the others say why there is none."""

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from sfumato.accounting import Tradeoff, conversions, convert, delta, epsilon, renyi, rho
from sfumato.accounting.graph import KINDS
from sfumato.core.errors import CostError, LossError, NumberError, RangeError
from sfumato.core.loss import (
    Approximate,
    BoundedRange,
    Composed,
    Concentrated,
    GaussianShift,
    GaussianTradeoff,
    LaplaceShift,
    Loss,
    PoissonSampled,
    Pure,
    Renyi,
)

ROOT = Path(__file__).parents[3]
MICRO = Fraction(1, 10**6)
EXAMPLES = {
    "pure": Pure("0.7"),
    "approximate": Approximate("0.7", MICRO),
    "bounded_range": BoundedRange("0.7"),
    "zcdp": Concentrated("0.2"),
    "renyi": Renyi(((2, "0.4"), (8, "1.6"), (32, "6.4"))),
    "gdp": GaussianTradeoff("0.6"),
}
CLASSES = {
    "pure": Pure,
    "approximate": Approximate,
    "bounded_range": BoundedRange,
    "zcdp": Concentrated,
    "renyi": Renyi,
    "gdp": GaussianTradeoff,
    "tradeoff": Tradeoff,
}


def asked(kind):
    return {"delta": MICRO} if kind == "approximate" else {}


@pytest.mark.parametrize("step", conversions(), ids=lambda step: f"{step.source}-{step.target}")
def test_every_step_holds_and_has_a_reference(step):
    bibliography = (ROOT / "docs" / "refs.bib").read_text(encoding="utf-8")
    keys = set(re.findall(r"^@\w+\{(\w+),", bibliography, re.MULTILINE))
    cited = re.findall(r"\[(\w+)\]", step.reference)
    pages = re.findall(r"docs/theory/[\w-]+\.md", step.reference)
    assert cited or pages
    assert keys.issuperset(cited)
    assert all((ROOT / page).exists() for page in pages)
    source = EXAMPLES[step.source]
    made = step.function(source, MICRO, (Fraction(2), Fraction(8)))
    assert type(made) is CLASSES[step.target]
    if not isinstance(made, Tradeoff):
        # What is forgotten on the way never makes a loss look smaller.
        slack = 1 + Fraction(1, 10**9)
        assert epsilon(made, MICRO) * slack >= epsilon(source, MICRO)
        for cost in ("0.1", "0.5", "0.8"):
            assert delta(made, cost) * slack >= delta(source, cost)


@pytest.mark.parametrize("step", conversions(), ids=lambda step: f"{step.source}-{step.target}")
def test_every_step_is_on_the_page(step):
    page = (ROOT / "docs" / "reference" / "accounting.md").read_text(encoding="utf-8")
    assert f"| {step.source} | {step.target} | {step.rule} |" in page


def test_losses_arrive_as_what_was_asked_for():
    assert convert(LaplaceShift(10, 2, 1) * 3, to="pure") == Pure("0.6")
    assert convert(BoundedRange(1), to="zcdp") == Concentrated("0.125")
    assert convert(GaussianTradeoff(1), to="zcdp") == Concentrated("0.5")
    assert convert(Concentrated(1), to="renyi", order=3) == Renyi(((3, 3),))
    assert convert(Pure(1), to="renyi", order=np.array([8])).curve == ((8, renyi(Pure(1), 8)),)
    with pytest.raises(NumberError, match="order"):
        convert(Pure(1), to="renyi", order=np.array(8))
    assert convert(Pure(1), to="renyi", order=[8, 2]).curve == tuple(
        (Fraction(o), renyi(Pure(1), o)) for o in (2, 8)
    )
    found = convert(GaussianShift(1, 1) + Pure(1), to="approximate", delta=MICRO)
    assert (found.epsilon, found.delta) == (epsilon(GaussianShift(1, 1) + Pure(1), MICRO), MICRO)
    assert convert(Pure(1, neighbors="replace"), to="zcdp").neighbors.value == "replace"
    assert convert(Composed.of([]), to="pure") == Pure(0)
    assert len(convert(Renyi(((2, 1), (4, 3))), to="renyi").curve) == 3


def test_ways_of_several_steps_are_found():
    # Laplace noise has an ε, and an ε has a range; a sample has an ε, and that a μ.
    assert convert(LaplaceShift(10, 1, 1), to="bounded_range") == BoundedRange("0.2")
    sample = convert(PoissonSampled(Pure(1), "0.1"), to="gdp")
    assert sample.mu < convert(Pure(1), to="gdp").mu


def test_there_and_back_never_lowers_a_figure():
    for loss in (Pure("0.3"), BoundedRange("0.3"), LaplaceShift(3, 1, 1)):
        wide = convert(convert(loss, to="bounded_range"), to="pure")
        assert wide.epsilon >= convert(loss, to="pure").epsilon
        through = convert(convert(loss, to="gdp"), to="zcdp")
        assert through.rho >= rho(loss)
        by_order = convert(convert(loss, to="zcdp"), to="renyi", order=4)
        assert by_order.curve[0][1] >= renyi(loss, 4)


@pytest.mark.parametrize(
    ("loss", "to", "why"),
    [
        (Approximate(1, MICRO), "zcdp", "fails outright"),
        (Approximate(1, MICRO), "renyi", "fails outright"),
        (Approximate(1, MICRO), "pure", "no pure ε"),
        (Approximate(1, MICRO), "gdp", "trade-off curve"),
        (Concentrated(1), "pure", "no pure ε"),
        (Concentrated(1), "bounded_range", "kind of pure ε"),
        (Concentrated(1), "gdp", "leave a part of it open"),
        (GaussianShift(1, 1), "gdp", "leave a part of it open"),
        (Renyi(((2, 1),)), "zcdp", "a few orders only"),
        (GaussianTradeoff(1), "pure", "no pure ε"),
    ],
)
def test_impossible_conversions_say_why_and_what_is_possible(loss, to, why):
    with pytest.raises(LossError, match=why) as caught:
        convert(loss, to=to)
    assert "It can be had as" in str(caught.value)
    assert "approximate" in str(caught.value)


@pytest.mark.parametrize(
    ("to", "options"),
    [("approximate", {}), ("pure", {"delta": MICRO}), ("zcdp", {"order": 2})],
)
def test_options_go_with_their_kind(to, options):
    with pytest.raises(CostError, match="delta= goes with"):
        convert(Pure(1), to=to, **options)


def test_other_names_and_things_are_refused():
    with pytest.raises(RangeError, match="not a kind"):
        convert(Pure(1), to="epsilon")
    with pytest.raises(LossError, match="can account for"):
        convert(Loss(), to="pure")
    with pytest.raises(LossError, match="not a loss"):
        convert(1, to="pure")
    with pytest.raises(LossError, match="within its curve"):
        convert(Renyi(((2, 1),)), to="renyi", order=3)


def test_every_kind_can_be_reached_and_left():
    assert {step.source for step in conversions()} == set(KINDS) - {"tradeoff"}
    for kind, example in EXAMPLES.items():
        assert type(convert(example, to=kind, **asked(kind))) is CLASSES[kind]
