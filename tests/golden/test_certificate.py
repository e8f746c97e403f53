"""The exact text and the exact JSON of a certificate: officers read the one, programs the other.

When a change is meant, write the files anew and read the difference:
``SFUMATO_REWRITE_GOLDEN=1 pytest tests/golden/test_certificate.py``. A key of the JSON may be
added; one that is taken away or means something else needs another ``format``.
"""

import json
import os
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from sfumato.core.loss import Composed, GaussianShift, LaplaceShift
from sfumato.core.unit import Unit
from sfumato.release import Measure, Release
from sfumato.release.price import Price
from sfumato.release.record import Figures, Record

FOLDER = Path(__file__).parent
REWRITE = "SFUMATO_REWRITE_GOLDEN"


def amount(epsilon, rho, delta="0"):
    said = f"ε = {epsilon}, ρ = {rho}"
    return Figures(said, Fraction(epsilon), Fraction(rho), Fraction(delta))


RECORD = Record(
    table="people",
    version="2026",
    analyst="ana",
    time="2026-11-16 03:28:13 UTC",
    charge=amount("0.5", "0.1225"),
    answers=3,
    budget=amount("2.5", "0.4", "1e-6"),
    spent=amount("2", "0.3"),
    remaining=amount("0.5", "0.1"),
    head="10:" + "cd" * 32,
)
PEOPLE = Release(
    (("district", ("Harbor", "Mills")),),
    (
        Measure(
            "people",
            (3986, -2),
            (3980, -8),
            (3992, 4),
            scale=2,
            mechanism="DiscreteLaplace(scale=2)",
        ),
    ),
    Fraction(95, 100),
    LaplaceShift(2, 1, 1),
    Price("0.5", 0, "0.1225"),
    Unit.by("id", max_rows=1),
    ("rows with another or no district are in no group",),
    "1:" + "ab" * 32,
    durable=True,
    version="9.9.9",
)
SPREAD = Release(
    (),
    (Measure("total", (7,), (1,), (13,), mechanism="DiscreteGaussian(sigma=3)"),),
    Fraction(9, 10),
    Composed.of(
        [
            GaussianShift(3, 2, neighbors="replace"),
            LaplaceShift(Fraction(1, 3), 1, 1, neighbors="replace"),
        ]
    ),
    Price("4.2", "1e-6", "1/3"),
    Unit.rows(3, "replace"),
    version="9.9.9",
)
CASES = {"recorded": PEOPLE.card(RECORD), "alone": PEOPLE.card(), "laboratory": SPREAD.card()}


def golden(name, text):
    file = FOLDER / name
    if os.environ.get(REWRITE):
        file.write_text(text, encoding="utf-8", newline="\n")
    return file.read_text(encoding="utf-8")


@pytest.mark.parametrize("case", CASES)
def test_certificate_reads_as_it_did(case):
    card = CASES[case]
    text = str(card).replace(card.digest, "<digest>") + "\n"
    assert text == golden(f"certificate-{case}.txt", text)


@pytest.mark.parametrize("case", CASES)
def test_certificate_for_programs_has_the_same_keys_and_values(case):
    content = json.loads(CASES[case].to_json())
    del content["sections"], content["release"]
    text = json.dumps(content, ensure_ascii=False, indent=2) + "\n"
    assert text == golden(f"certificate-{case}.json", text)


@pytest.mark.parametrize("case", CASES)
def test_certificate_fits_on_one_page(case):
    lines = str(CASES[case]).splitlines()
    assert len(lines) <= 68
    assert max(map(len, lines)) <= 96  # a receipt cannot be broken


def test_certificate_is_about_one_release():
    other = replace(PEOPLE, notes=())
    assert PEOPLE.card().digest == PEOPLE.digest != other.card().digest
