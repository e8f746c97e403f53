"""The mechanism for a table is the one that shows the smallest groups."""

from dataclasses import replace
from fractions import Fraction

import pytest

import sfumato as sf
from sfumato.accounting.pure import basic_epsilon, own_delta
from sfumato.accounting.zcdp import approximate_rho
from sfumato.mechanisms.selection import Alternative, alternatives, selection

M, S = sf.mechanisms, sf.Sensitivity
TARGETS = [{"epsilon": "1"}, {"epsilon": "1/10"}, {"rho": "1/50"}]
REACHES = [S(l0=k, linf=1) for k in (1, 3, 10, 100)] + [S(l0=6, l1=6, linf=6)]


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("s", REACHES, ids=repr)
def test_smallest_groups_come_first_and_all_fit_the_target(s, target, counted):
    found = alternatives(s, **target, delta="1e-8", counted=counted)
    names = {"Laplace threshold", "Gaussian threshold", "optimal selection"}
    assert {each.name for each in found} == names - ({"optimal selection"} if counted else set())
    assert [each.enough for each in found] == sorted(each.enough for each in found)
    for each in found:
        loss = each.mechanism.loss(s)
        assert each.enough == each.mechanism.enough()
        assert each.scale == each.mechanism.noise_scale
        assert own_delta(loss) <= Fraction(1, 10**8)
        if "rho" in target:
            assert approximate_rho(loss) <= Fraction(target["rho"])
        else:
            assert basic_epsilon(loss) == Fraction(target["epsilon"])
    assert selection(s, **target, delta="1e-8", counted=counted) == found[0].mechanism


@pytest.mark.parametrize(
    ("groups", "names", "counts"),
    [
        (1, "PartitionSelection", "laplace"),
        (3, "PartitionSelection", "laplace"),
        (10, "gaussian", "gaussian"),
        (100, "gaussian", "gaussian"),
    ],
)
def test_few_groups_a_unit_are_selected_and_many_take_gaussian_noise(groups, names, counts):
    s = S(l0=groups, linf=1)
    chosen = selection(s, epsilon=1, delta="1e-6", counted=False)
    assert getattr(chosen, "noise", type(chosen).__name__) == names
    assert selection(s, epsilon=1, delta="1e-6", counted=True).noise == counts


def test_equal_sizes_are_decided_by_the_noise():
    wide = Alternative("a", 9, Fraction(3), M.StabilityHistogram(3, 1, "gaussian"))
    narrow = Alternative("b", 9, Fraction(2), M.StabilityHistogram(2, 1))
    none = Alternative("c", 9, None, M.PartitionSelection(1, "1e-3"))
    small = replace(wide, enough=8)
    order = sorted([wide, narrow, none, small], key=lambda each: each.rank)
    assert order == [small, none, narrow, wide]


def test_what_cannot_be_drawn_is_left_out():
    tiny = {"epsilon": "4e-17", "delta": "1e-60"}
    with pytest.raises(sf.errors.RangeError):
        M.PartitionSelection.calibrate(S(l0=1, linf=1), **tiny)
    found = alternatives(S(l0=1, linf=1), **tiny, counted=False)
    assert [each.name for each in found] == ["Laplace threshold"]


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: selection(S(l0=1, linf=1), epsilon=1, delta=0, counted=True), "CostError"),
        (lambda: selection(S(l0=1, linf=1), delta="1e-6", counted=True), "CostError"),
        (
            lambda: selection(S(l0=1, linf=1), epsilon=1, rho=1, delta="1e-6", counted=True),
            "CostError",
        ),
        (lambda: selection(S(linf=1), epsilon=1, delta="1e-6", counted=True), "SensitivityError"),
        (
            lambda: selection(S(l0=0, linf=0), epsilon=1, delta="1e-6", counted=True),
            "SensitivityError",
        ),
        (
            lambda: selection(S(l0=10**9, linf=10**9), epsilon="1e-30", delta="1e-6", counted=True),
            "RangeError",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(make, error):
    with pytest.raises(getattr(sf.errors, error)):
        make()
