"""Releases made by hand: a fake law of the error, no mechanism."""

from dataclasses import dataclass
from fractions import Fraction

import pytest

from sfumato.core.loss import LaplaceShift
from sfumato.release import Release


@dataclass
class FakeError:
    """Half the width is the confidence times a hundred, so that a test sees which one was asked."""

    covers: str = "noise only"
    std: float | None = None
    factor: Fraction = Fraction(100)

    def halfwidth(self, confidence):
        return self.factor * confidence


@pytest.fixture
def error():
    return FakeError


@pytest.fixture
def make():
    """Build a release of one measure; every part can be replaced."""

    def build(values=1234, covers="noise only", **parts):
        given = {
            "error": FakeError(covers),
            "cost": LaplaceShift(2, 1, 1),
            "mechanism": "DiscreteLaplace(scale=2)",
            "name": "n",
            "scale": 2,
        }
        return Release.of(values=values, **(given | parts))

    return build


@pytest.fixture
def by_zone(make):
    return make([1234, 855, 407], keys={"zone": ["A", "B", "C"]})
