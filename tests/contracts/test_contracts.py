"""Every registered mechanism keeps its contract."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.testing import CHECKS
from sfumato.testing.contract import check_draws_follow_the_law

sys.path.insert(0, str(Path(__file__).parent))
from cases import CASES

sys.path.pop(0)


FEWER = 4  # times fewer draws on a push, which tell a gross error from the law


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", CASES, ids=repr)
def test_mechanism_keeps_its_contract(case, check):
    check(replace(case, draws=case.draws // FEWER))


@pytest.mark.deep
@pytest.mark.parametrize("case", CASES, ids=repr)
def test_many_draws_follow_the_law(case):
    check_draws_follow_the_law(case)


def test_every_mechanism_has_a_case():
    covered = {type(case.mechanism).__name__ for case in CASES}
    assert covered == set(sf.mechanisms.Laboratory.registry)
