"""Sketches: of the column that was named, with intervals that hold; refused before they cost."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.core.errors import InputError, SfumatoError
from sfumato.core.loss import Pure
from sfumato.ranges.hashing import PRIME, Hash
from sfumato.ranges.line import Line
from sfumato.ranges.measured import Measured
from sfumato.ranges.sketch import SketchRelease
from sfumato.relation.kind import Number
from sfumato.relation.matrix import Halves
from sfumato.release.error import Noise

ROWS = 2000
COLUMNS = {"fare-usd": 7, "fare": 50, "usd": 10, "my col": 3, "select": 4, "sketch": 9, "low": -5}


def table():
    frame = pd.DataFrame({name: np.full(ROWS, value) for name, value in COLUMNS.items()})
    schema = sf.Schema(**{name: sf.Integer(-37, 100) for name in COLUMNS})
    budget = sf.Budget(epsilon=1000)
    return sf.Session(frame, unit=sf.Unit.row(), schema=schema, budget=budget).table()


@pytest.mark.parametrize(("name", "value"), COLUMNS.items())
def test_the_column_is_the_one_that_was_named(name, value):
    found = sf.ranges.release(table().values(name), method="sketch", epsilon=10)
    assert found.count(value).value == pytest.approx(ROWS, abs=30)
    assert abs(found.count(40).value) < 30
    answer = found.count([value, 11], 11 if value == 11 else [value, 11])
    assert answer.value.shape == (2,)


def test_the_engine_hashes_as_numpy_does():
    values = table().values("usd")
    for seed in range(3):
        found = sf.ranges.release(values, method="sketch", epsilon=200, width=64, seed=seed)
        for hashed, held in zip(found.hashes, found.measured, strict=True):
            cell = int(hashed.cells(np.array([10 + 37]))[0])
            drawn = held.array
            assert drawn[cell // 2] == pytest.approx(-ROWS if cell % 2 else ROWS, abs=9)
            assert np.abs(np.delete(drawn, cell // 2)).max() < 9


def test_places_and_signs_are_even_and_independent():
    values = np.arange(0, 10**6, 10)
    hashed = Hash.named(16, 3, 0)
    cells = np.bincount(hashed.cells(values), minlength=32)
    assert np.abs(cells - len(values) / 32).max() < 6 * (len(values) / 32) ** 0.5
    assert hashed.cells(np.array([PRIME - 1])).item() in range(32)


def sketch(counts, width, repeat, rng, seed):
    hashes = tuple(Hash.named(width, seed, i) for i in range(repeat))
    held = []
    for hashed in hashes:
        at = hashed.cells(np.arange(len(counts)))
        signed = np.where(at % 2, -counts, counts)
        drawn = np.bincount(at // 2, weights=signed, minlength=width).astype(int)
        p = 1 - np.exp(-1)
        drawn += rng.geometric(p, width) - rng.geometric(p, width)
        noise = Noise("laplace", Fraction(1))
        held.append(Measured(Halves(2 * width, 2), noise, tuple(drawn.tolist())))
    line = Line("x", Number(0, len(counts) - 1))
    return SketchRelease(line, hashes, tuple(held), Pure(Fraction(1)))


N = 20_000
CASES = {
    "empty": np.zeros(N, int),
    "in a row": np.where(np.arange(N) < 1000, 100, 0),
    "in steps": np.where(np.arange(N) % 10 == 0, 50, 0),
    "one heavy": np.where(np.arange(N) == 777, 10**6, 1),
}


@pytest.mark.parametrize("repeat", [1, 2, 5])
@pytest.mark.parametrize("case", CASES)
def test_intervals_hold_for_values_in_any_order(case, repeat):
    rng, counts, inside = np.random.default_rng(1), CASES[case], []
    for seed in range(8):
        asked = rng.integers(0, N, 500)
        found = sketch(counts, 256, repeat, rng, seed).count(asked)
        inside.append((found.low <= counts[asked]) & (counts[asked] <= found.high))
    assert np.mean(inside) > 0.93


def test_what_a_sketch_does_not_know_is_refused():
    found = sketch(CASES["in a row"], 64, 3, np.random.default_rng(0), 0)
    for ask in (
        found.total,
        lambda: found.cdf(3),
        lambda: found.quantile(0.5),
        lambda: found.histogram([0, 5]),
        lambda: found.count(0, 5),
        lambda: found.count([0, 1], [0, 1, 2]),
    ):
        with pytest.raises(InputError):
            ask()
    assert list(found.to_pandas([3, 5])["x"]) == [3, 5]
    assert found.to_arrow().num_rows == N
    assert found.to_polars(range(4)).shape[0] == 4
    assert "<html" in found.to_html(values=[1])
    big = SketchRelease(Line("x", Number(0, 10**9)), found.hashes, found.measured, found.cost)
    with pytest.raises(InputError, match="Name the values"):
        big.to_pandas()
    assert SketchRelease.from_json(found.to_json()).digest == found.digest


@pytest.mark.parametrize(
    "options",
    [{"width": "4"}, {"width": 1.5}, {"repeat": 2.0}, {"seed": "a"}, {"width": True}, {"k": 3}],
)
def test_options_are_refused_before_the_charge(options):
    values = table().values("usd")
    with pytest.raises(SfumatoError):
        sf.ranges.release(values, method="sketch", epsilon=1, **options)
    assert values.remaining.epsilon == 1000


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"width": 2**20, "repeat": 5}, "5,242,880 sums"),
        ({"width": 2**17, "repeat": 64}, "8,388,608 sums"),
        ({"workload": "prefix"}, "single values"),
        ({"workload": "nonsense"}, "no workload 'nonsense'"),
        ({"workload": [(3, 3), (5, 9)]}, "single values"),
        ({"workload": [(9, 5)]}, "reversed"),
    ],
)
def test_what_it_cannot_hold_or_answer_is_refused_before_the_charge(options, said):
    values = table().values("usd")
    with pytest.raises(SfumatoError, match=said):
        sf.ranges.release(values, method="sketch", epsilon=1, **options)
    assert values.remaining.epsilon == 1000


def test_a_workload_of_single_values_is_one_that_it_answers():
    found = sf.ranges.release(
        table().values("usd"), method="sketch", workload=[(10, 10), (3, 3)], epsilon=10
    )
    assert found.count(10).value == pytest.approx(ROWS, abs=30)


def test_a_release_says_that_it_counts_single_values_only():
    found = sf.ranges.release(table().values("usd"), method="sketch", epsilon=10)
    assert any("single values" in note for note in found.notes)
