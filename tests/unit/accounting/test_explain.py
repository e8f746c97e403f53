"""An explanation: figures, words, charts, a page; and what cannot be explained."""

import json
from fractions import Fraction

import pytest

import sfumato as sf
from sfumato.accounting import Explanation, explain
from sfumato.accounting.deployment import DEPLOYMENTS, around
from sfumato.accounting.meaning import share
from sfumato.core.errors import CostError, LossError, NumberError, RangeError
from sfumato.core.loss import (
    Approximate,
    Concentrated,
    GaussianShift,
    GaussianTradeoff,
    LaplaceShift,
    PoissonSampled,
    Pure,
    Renyi,
    Worst,
)

ONE = sf.Sensitivity(l0=1, linf=1)
LOSSES = {
    "pure": Pure(1) * 3,
    "approximate": Approximate("0.5", "1e-9") * 2,
    "concentrated": Concentrated("0.1"),
    "laplace": LaplaceShift(2, 3, 1),
    "gaussian": GaussianShift(4, 1, scalar=True),
    "gaussian dp": GaussianTradeoff("0.5") * 4,
    "worst": Worst.of([Pure(1), Pure("0.5"), GaussianShift(4, 1)], touched=1),
    "sampled": PoissonSampled(Pure(1), "0.1"),
    "renyi": Renyi(((2, "0.1"), (8, "0.5"), (32, "2.5"))),
    "nothing": Pure(0),
}


@pytest.mark.parametrize(
    ("epsilon", "gain", "belief"),
    [("0.1", 0.050, 1.1), ("1", 0.462, 2.7), ("3", 0.905, 16.9), ("5", 0.987, 60.0)],
)
def test_explanation_has_the_figures_of_the_risk_table(epsilon, gain, belief):
    said = explain(epsilon)
    assert round(float(said.advantage), 3) == gain
    assert round(100 * float(said.posterior), 1) == belief
    assert said.epsilon == Fraction(epsilon)
    assert said.delta == 0


def test_words_say_what_the_figures_are():
    said = str(explain(epsilon=1))
    assert repr(explain(epsilon=1)) == said
    for words in ("factor of 2.72", "2.68 %", "0.463", "73.2 %", "0.272 % at 0.1 %", "ε = 10"):
        assert words in said.replace("\n              ", " ")
    assert "not the probability of being found out" in said.replace("\n              ", " ")
    assert "most attacks get less" in said.replace("\n              ", " ")
    assert max(map(len, said.split("\n"))) <= 92


def test_words_of_delta_speak_of_failure_and_not_of_every_release():
    words = str(explain(epsilon=1, delta="1e-6")).replace("\n              ", " ")
    assert "But for an event of probability δ" in words
    assert "grows beyond 50 % is at most 2.06e-08" in words
    assert "without exception" not in words
    assert "without exception" in str(explain(epsilon=1))


def test_words_of_a_large_epsilon_promise_nothing():
    assert "No protection worth the name" in str(explain(epsilon=20))
    assert "No protection" not in str(explain(epsilon=1))
    endless = explain(epsilon=10**6)
    assert endless.odds is None
    assert "without a limit" in str(endless)


def test_relation_says_what_is_told_apart():
    assert "in the table at all" in str(explain(epsilon=1))
    other = str(explain(epsilon=1, neighbors="replace"))
    assert "two versions" in other
    assert "in the table at all" not in other
    assert explain(Pure(1, neighbors="replace")).neighbors == "replace"


def test_family_is_a_group():
    family = explain(epsilon="0.5", people=4)
    alone = explain(epsilon=2)
    assert family.pair == (2, 0)
    assert (family.advantage, family.posterior) == (alone.advantage, alone.posterior)
    assert "4 units" in str(family)
    failing = explain(epsilon=1, delta="1e-6", people=2)
    assert failing.pair[0] == 2
    assert float(failing.pair[1]) == pytest.approx(1e-6 * (1 + 2.718281828), rel=1e-6)


def test_group_of_concentrated_loss_grows_with_its_square():
    pair = explain(rho="0.1", delta="1e-6", people=3).pair
    assert pair == explain(rho="0.9", delta="1e-6").pair


@pytest.mark.parametrize("name", LOSSES)
def test_any_loss_is_explained_and_bounded_no_worse_than_by_its_epsilon(name):
    said = explain(LOSSES[name])
    plain = explain(said.epsilon, said.delta) if said.delta else explain(said.epsilon)
    near = 1 + Fraction(1, 10**9)
    assert said.advantage <= plain.advantage * near
    for rate in ("0.001", "0.1", "0.5"):
        assert said.tpr(rate) <= plain.tpr(rate) * near
    assert str(said)
    assert json.loads(json.dumps(said.to_dict()))["format"] == "sfumato-explanation-1"
    assert explain(LOSSES[name], people=2).pair[0] >= said.epsilon


def test_group_too_large_for_its_delta_is_promised_nothing():
    said = explain(epsilon=5, delta="1e-3", people=10)
    assert said.pair == (50, 1)
    assert (said.advantage, said.tpr("0.001"), said.whole) == (1, 1, None)
    assert "anything may come out" in str(said)


def test_gaussian_dp_is_known_exactly():
    said = explain(GaussianTradeoff(1))
    assert round(float(said.advantage), 3) == 0.383
    assert round(100 * float(said.tpr("0.001")), 1) == 1.8


def test_release_budget_and_loss_are_taken():
    release = sf.mechanisms.DiscreteLaplace(2).release(5, ONE)
    assert explain(release).epsilon == Fraction(1, 2)
    assert explain(loss=release.cost).epsilon == Fraction(1, 2)
    assert explain(sf.Budget(2, "1e-6")).delta == Fraction(1, 10**6)
    assert explain(sf.Budget(rho="0.5")).rho == Fraction(1, 2)
    assert explain(rho="0.5").delta == Fraction(1, 10**6)
    assert explain(rho="0.5", delta="1e-9").epsilon > explain(rho="0.5").epsilon


def test_figures_for_programs_are_text_and_rounded_up():
    facts = explain(epsilon="1/3", delta="1e-6", prior="0.1").to_dict()
    said = explain(epsilon="1/3", delta="1e-6", prior="0.1")
    assert Fraction(facts["epsilon"]) == Fraction(1, 3)
    assert Fraction(facts["advantage"]) >= said.advantage
    assert Fraction(facts["posterior"]) >= said.posterior
    assert [test["fpr"] for test in facts["tests"]] == ["0.001", "0.01", "0.1"]
    assert facts["words"][0]["label"] == "about"


def test_chart_draws_both_bounds():
    said = explain(epsilon=1)
    left, right = said.chart().to_dict()["hconcat"]
    assert (left["title"], right["title"]) == ("What a test can find", "What can be believed")
    svg = said.chart().to_svg()
    assert svg.startswith("<svg")
    assert "true positives" in svg
    drawn = said.chart().to_dict()["datasets"]
    rows = max(drawn.values(), key=len)
    assert all(row["y"] >= row["x"] for row in rows)


def test_page_has_words_and_charts_and_fetches_nothing(tmp_path):
    path = tmp_path / "epsilon.html"
    assert explain(epsilon=1, delta="1e-6").to_html(path) is None
    page = path.read_text(encoding="utf-8")
    assert page.count("<svg") == 2
    assert "But for an event of probability" in page
    assert "http://" not in page.replace("http-equiv", "")
    assert "<script" not in page
    assert explain(epsilon=1).to_html().startswith("<!doctype html>")


def test_roc_has_as_many_points_as_asked():
    assert len(explain(epsilon=1).roc(11)) == 11


def test_deployments_are_sorted_and_cited(pytestconfig):
    sizes = [d.epsilon for d in DEPLOYMENTS]
    assert sizes == sorted(sizes)
    cited = (pytestconfig.rootpath / "docs" / "refs.bib").read_text(encoding="utf-8")
    assert all(f"{{{d.source}," in cited for d in DEPLOYMENTS)
    assert len(around(Fraction("0.01"))) == 1
    assert len(around(Fraction(100))) == 1


def test_explanation_is_a_value():
    assert isinstance(explain(epsilon=1), Explanation)
    with pytest.raises(AttributeError):
        explain(epsilon=1).epsilon = 2


@pytest.mark.parametrize(
    ("ask", "error", "said"),
    [
        (explain, CostError, "only one thing"),
        (lambda: explain(1, rho=1), CostError, "only one thing"),
        (lambda: explain(1, loss=Pure(1)), CostError, "only one thing"),
        (lambda: explain(-1), RangeError, "negative"),
        (lambda: explain("nan"), NumberError, "finite"),
        (lambda: explain(float("inf")), NumberError, "finite"),
        (lambda: explain(10**7), RangeError, "beyond a million"),
        (lambda: explain(1, 1), RangeError, "below 1"),
        (lambda: explain(1, prior=1), RangeError, "strictly between"),
        (lambda: explain(1, people=0), RangeError, "whole number from 1"),
        (lambda: explain(object()), NumberError, "exact number"),
        (lambda: explain(Approximate(1, "1e-3"), delta="1e-6"), LossError, "approximate parts"),
    ],
)
def test_what_cannot_be_explained_is_refused(ask, error, said):
    with pytest.raises(error, match=said):
        ask()


def test_shares_are_rounded_up():
    assert share(Fraction("0.50001")) == "50.1 %"
    assert share(Fraction(1, 10**8)) == "1e-06 %"
