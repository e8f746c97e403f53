"""`sfumato explain` and `sfumato choose` as people meet them."""

import json
from fractions import Fraction

import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli import main
from sfumato.ledger import Ledger


def run(*arguments):
    return CliRunner().invoke(main, list(map(str, arguments)))


def test_explain_prints_words():
    result = run("explain", "--epsilon", 1, "--delta", "1e-6", "--prior", "0.01")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("ε = 1, at δ = 1e-06\n")
    assert "2.68 %" in result.stdout


def test_explain_prints_figures_for_programs():
    result = run("explain", "--rho", "0.5", "--people", 2, "--neighbors", "replace", "--json")
    facts = json.loads(result.stdout)
    assert (facts["rho"], facts["people"], facts["neighbors"]) == ("0.5", 2, "replace")
    assert Fraction(facts["together"]["epsilon"]) > Fraction(facts["epsilon"])


def test_explain_writes_a_page_over_its_own_and_over_nothing_else(tmp_path):
    page = tmp_path / "epsilon.html"
    for _ in range(2):
        result = run("explain", "--epsilon", 1, "--html", page)
        assert result.exit_code == 0, result.output
    assert "<svg" in page.read_text(encoding="utf-8")
    ledger = tmp_path / "trips.ledger"
    ledger.write_text("precious")
    refused = run("explain", "--epsilon", 1, "--html", ledger)
    assert refused.exit_code == 2
    assert ledger.read_text() == "precious"
    other = tmp_path / "other.html"
    Ledger.create(other, sf.Budget(1), sf.Unit.row()).close()
    before = other.read_bytes()
    assert run("explain", "--epsilon", 1, "--html", other).exit_code == 2
    assert other.read_bytes() == before
    assert run("explain", "--epsilon", 1, "--html", tmp_path).exit_code == 2
    assert run("explain", "--epsilon", 1, "--html", tmp_path / "no" / "a.html").exit_code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--epsilon", "1", "--rho", "1"],
        ["--epsilon", "-1"],
        ["--epsilon", "nan"],
        ["--epsilon", "inf"],
        ["--epsilon", "1e9"],
        ["--epsilon", "1e99999"],
        ["--epsilon", "1", "--delta", "1"],
        ["--epsilon", "1", "--prior", "0"],
        ["--epsilon", "1", "--people", "0"],
    ],
    ids=" ".join,
)
def test_explain_refuses_what_means_nothing(arguments):
    result = run("explain", *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "rror" in result.stderr
    assert "Traceback" not in result.stderr


def test_choose_prints_a_table():
    result = run("choose", "--within", 50, "--within", 200, "--sensitivity", 1, "--sensitivity", 5)
    assert result.exit_code == 0, result.output
    assert "16.8597" in result.stdout
    assert "together: ε = 0.1341" in result.stdout


def test_choose_finds_rho_and_what_a_budget_grants():
    least = json.loads(run("choose", "--within", 50, "--times", 365, "--rho", "--json").stdout)
    assert least["epsilon"] is None
    assert least["parts"][0]["times"] == 365
    granted = json.loads(run("choose", "--within", 50, "--epsilon", "0.01", "--json").stdout)
    assert Fraction(granted["factor"]) > 1
    assert Fraction(granted["epsilon"]) <= Fraction(1, 100)
    delta = json.loads(
        run("choose", "--within", 50, "--times", 365, "--delta", "1e-6", "--json").stdout
    )
    assert delta["delta"] == "0.000001"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--within", "0"],
        ["--within", "50", "--rho", "--delta", "1e-6"],
        ["--within", "5", "--within", "6", "--within", "7", "--sensitivity", "1"] * 2,
        ["--within", "50", "--epsilon", "-1"],
        ["--within", "50", "--confidence", "95"],
    ],
    ids=" ".join,
)
def test_choose_refuses_what_means_nothing(arguments):
    result = run("choose", *arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr
