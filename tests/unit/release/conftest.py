"""Releases made by hand: a fake law of the error, no mechanism."""

from dataclasses import dataclass
from fractions import Fraction

import pytest

from sfumato.core.loss import LaplaceShift, Pure
from sfumato.release import Measure, Release
from sfumato.release.error import Noise
from sfumato.release.form import Form
from sfumato.release.noisy import Noisy
from sfumato.release.price import Price


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


LAPLACE = {"n": Noise("laplace", 4), "fare": Noise("laplace", 400)}


@pytest.fixture
def town():
    """Build an answer as a session does: counts, sums and their mean, of named draws."""

    def build(counts=(500, 400, 300), sums=(50_000, 30_000, 20_100), entry="7", **parts):
        draws = (
            Noisy(f"{entry}/n", LAPLACE["n"], counts, count=True),
            Noisy(f"{entry}/fare", LAPLACE["fare"], sums),
        )
        measures = (
            Measure("n", counts, counts, counts, form=Form.linear({f"{entry}/n": 1})),
            Measure("fare", sums, sums, sums, form=Form.linear({f"{entry}/fare": 1})),
            Measure(
                "mean",
                (Fraction(1),) * len(counts),
                form=Form.mean(f"{entry}/fare", f"{entry}/n", low=0, high=200),
            ),
        )
        given = {
            "keys": (("zone", tuple("ABCDEFGHIJ"[: len(counts)])),),
            "measures": measures,
            "confidence": "0.95",
            "cost": Pure(1),
            "price": Price(1, 0, "1/2"),
            "receipt": f"receipt {entry}",
            "noisy": draws,
        }
        return Release(**(given | parts))

    return build
