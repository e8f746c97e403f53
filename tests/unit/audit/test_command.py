"""`sfumato audit mechanism` audits what it is told to, and exits as a check should."""

import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli.audit import _KINDS, audit


def invoke(*words):
    return CliRunner().invoke(audit, ["mechanism", *words])


NEED_DELTA = (
    "bounded-local",
    "discrete-gaussian",
    "partition-selection",
    "propose-test-release",
    "stability-histogram",
    "triangle-count",
)


def audited(name, trials):
    return invoke(name, "--trials", trials, *(["--delta", "1e-6"] if name in NEED_DELTA else []))


@pytest.mark.parametrize("name", sorted(_KINDS))
def test_every_mechanism_can_be_audited(name):
    result = audited(name, "200")
    assert result.exit_code == 0, result.output
    assert result.output.startswith(_KINDS[name][0])
    assert "ε = 1" in result.output


@pytest.mark.deep
@pytest.mark.parametrize("name", sorted(_KINDS))
def test_every_mechanism_passes_its_audit(name):
    result = audited(name, "20000")
    assert result.exit_code == 0, result.output


def test_every_mechanism_of_the_library_is_known():
    assert {kind for kind, _, _ in _KINDS.values()} == set(sf.mechanisms.Laboratory.registry)


def test_a_broken_claim_ends_with_one():
    result = invoke("discrete-laplace", "--scale", "0.25", "--claim", "1", "--trials", "2000")
    assert result.exit_code == 1
    assert "FLAGGED" in result.output


def test_noise_is_set_once():
    result = invoke("discrete-laplace", "--scale", "1", "--epsilon", "1")
    assert isinstance(result.exception, sf.errors.CostError)
    result = invoke("quantile", "--scale", "1")
    assert isinstance(result.exception, sf.errors.CostError)


def test_sensitivity_and_epsilon_are_passed_on():
    result = invoke("discrete-laplace", "--epsilon", "2", "--sensitivity", "3", "--trials", "500")
    assert "DiscreteLaplace(scale=1.5)" in result.output
    assert "ε = 2" in result.output


def test_unknown_mechanisms_are_refused():
    assert invoke("laplace-ish").exit_code == 2
