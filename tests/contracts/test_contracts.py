"""Every registered mechanism keeps its contract."""

import sys
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.testing import CHECKS

sys.path.insert(0, str(Path(__file__).parent))
from cases import CASES

sys.path.pop(0)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", CASES, ids=repr)
def test_mechanism_keeps_its_contract(case, check):
    check(case)


def test_every_mechanism_has_a_case():
    covered = {type(case.mechanism).__name__ for case in CASES}
    assert covered == set(sf.mechanisms.Laboratory.registry)
