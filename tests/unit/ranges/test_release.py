"""Releases of ranges: what they answer, what they refuse before any charge, how they travel."""

from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.errors import BudgetExceeded, InputError, KeysError, RangeError, SfumatoError

COUNTS = np.random.default_rng(5).integers(0, 40, 100)
HUGE = 10**6  # at this ε noise is nearly always 0
AMPLE = sf.Budget(epsilon=10**7)
RHO = sf.Budget(rho=10**9)
FIXED = ["identity", "hierarchical", "wavelet", "p_identity"]


def table(budget=None, **more):
    days = [date(2026, 1, 1 + i % 28) for i in range(60)]
    frame = {
        "who": [i // 3 for i in range(60)],
        "age": [i % 50 for i in range(60)],
        "fare": [i / 4 for i in range(60)],
        "day": days,
        "zone": ["A", "B"] * 30,
    }
    import pandas as pd

    return sf.Session(
        pd.DataFrame(frame),
        unit=more.pop("unit", sf.Unit.by("who", max_rows=3)),
        schema=sf.Schema(
            age=sf.Integer(0, 49),
            fare=sf.Real(0, 20, step="0.25"),
            day=sf.Date("2026-01-01", "2026-01-31"),
            zone=sf.Category(["A", "B"]),
        ),
        budget=budget or sf.Budget(epsilon=10**8, delta="1e-3"),
    ).table()


@pytest.mark.parametrize("method", [*FIXED, "auto", "dawa", "fourier"])
def test_with_hardly_any_noise_every_range_is_right(method):
    found = sf.ranges.release(sf.lab(COUNTS, budget=AMPLE), method=method, epsilon=HUGE)
    lows, highs = [0, 10, 99, 5], [99, 10, 99, 60]
    exact = [COUNTS[a : b + 1].sum() for a, b in zip(lows, highs, strict=True)]
    answer = found.count(lows, highs)
    slack = 1.5 if method == "fourier" else 0.6
    assert np.abs(answer.value - exact).max() < slack
    if method != "dawa":
        assert ((answer.low - slack <= exact) & (exact <= answer.high + slack)).all()
    assert found.total().value == pytest.approx(COUNTS.sum(), abs=slack)
    middle = found.quantile(0.5)
    assert middle.low <= middle.value <= middle.high
    assert abs(middle.value - np.searchsorted(np.cumsum(COUNTS), COUNTS.sum() / 2)) <= 1
    below = COUNTS[:31].sum() / COUNTS.sum()
    assert found.cdf(30).value == pytest.approx(below, abs=0.01)


@pytest.mark.parametrize("method", ["square_root", "hierarchical", "wavelet", "identity"])
def test_gaussian_noise_serves_too(method):
    found = sf.ranges.release(sf.lab(COUNTS, budget=RHO), method=method, rho=10**8)
    assert found.count(3, 77).value == pytest.approx(COUNTS[3:78].sum(), abs=0.6)
    assert found.price.rho <= 10**8
    assert {m.noise.kind for m in found.measured} == {"gaussian"}


@pytest.mark.parametrize(
    "price", [{"epsilon": "0.7"}, {"rho": "0.3"}, {"epsilon": 1, "delta": "1e-6"}]
)
@pytest.mark.parametrize("unit", [sf.Unit.row(), sf.Unit.rows(3), sf.Unit.row(neighbors="replace")])
def test_what_is_charged_is_within_the_price_and_close_to_it(price, unit):
    lab = sf.lab(COUNTS, unit=unit)
    before = lab.remaining
    found = sf.ranges.release(lab, method="hierarchical", **price)
    if "rho" in price:
        assert Fraction("0.29") < found.price.rho <= Fraction("0.3")
        assert before.rho - lab.remaining.rho <= Fraction("0.3")
    elif "delta" in price:
        assert Fraction("0.98") < found.price.epsilon <= 1
    else:
        assert found.price.epsilon == Fraction("0.7")
        assert before.epsilon - lab.remaining.epsilon == Fraction("0.7")


@pytest.mark.parametrize("method", ["dawa", "fourier"])
def test_adaptive_methods_stay_within_their_envelope(method):
    lab = sf.lab(COUNTS, budget=sf.Budget(epsilon=1))
    found = sf.ranges.release(lab, method=method, epsilon=1)
    assert found.price.epsilon == 1
    assert lab.remaining.epsilon == 0
    assert ", if " in found.covers  # what was merged or left out is not covered
    assert "bias" in repr(found)


REFUSED = {
    "no price": ({}, "epsilon="),
    "two prices": ({"epsilon": 1, "rho": 1}, "one of"),
    "epsilon of 0": ({"epsilon": 0}, "epsilon"),
    "epsilon is NaN": ({"epsilon": float("nan")}, "finite"),
    "negative epsilon": ({"epsilon": -1}, "epsilon"),
    "delta with rho": ({"rho": 1, "delta": "1e-6"}, "delta"),
    "unknown method": ({"epsilon": 1, "method": "magic"}, "there is no method 'magic'"),
    "unknown option": ({"epsilon": 1, "method": "identity", "fanout": 2}, "takes no options"),
    "option of auto": ({"epsilon": 1, "fanout": 2}, "Name the method"),
    "wrong option": ({"epsilon": 1, "method": "dawa", "k": 2}, "takes partition"),
    "fanout of 1": ({"epsilon": 1, "method": "hierarchical", "fanout": 1}, "fanout="),
    "weights by name": ({"epsilon": 1, "method": "hierarchical", "weights": "odd"}, "weights"),
    "too few weights": ({"epsilon": 1, "method": "hierarchical", "weights": [1]}, "levels"),
    "weights of a wavelet": ({"epsilon": 1, "method": "wavelet", "weights": "odd"}, "weights="),
    "share of all": ({"epsilon": 1, "method": "dawa", "partition": 1}, "partition="),
    "no coefficients": ({"epsilon": 1, "method": "fourier", "k": 0}, "k="),
    "dawa in rho": ({"rho": 1, "method": "dawa"}, "epsilon"),
    "fourier in rho": ({"rho": 1, "method": "fourier"}, "epsilon"),
    "p_identity in rho": ({"rho": 1, "method": "p_identity"}, "epsilon"),
    "square root in epsilon": ({"epsilon": 1, "method": "square_root"}, "Gaussian"),
    "reversed interval": ({"epsilon": 1, "workload": [(9, 2)]}, "reversed"),
    "no intervals": ({"epsilon": 1, "workload": []}, "workload"),
    "unknown workload": ({"epsilon": 1, "workload": "all"}, "workload 'all'"),
    "interval beyond": ({"epsilon": 1, "workload": [(500, 600)]}, "no cell"),
    "sure": ({"epsilon": 1, "confidence": 1}, "confidence"),
    "sketch of a laboratory": ({"epsilon": 1, "method": "sketch"}, "table"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_come_before_any_charge(case):
    given, said = REFUSED[case]
    lab = sf.lab(COUNTS)
    before = lab.remaining
    with pytest.raises(SfumatoError, match=said):
        sf.ranges.release(lab, **given)
    assert lab.remaining == before


def test_more_than_is_left_is_refused_whole():
    lab = sf.lab(COUNTS, budget=sf.Budget(epsilon="0.5"))
    for method in ("auto", "dawa"):
        with pytest.raises(BudgetExceeded):
            sf.ranges.release(lab, method=method, epsilon=1)
    assert lab.remaining.epsilon == Fraction(1, 2)


@pytest.mark.parametrize("given", [[1, 2, 3], sf.lab([[1, 2], [3, 4]]), "age", None])
def test_only_one_column_has_ranges(given):
    with pytest.raises(InputError):
        sf.ranges.release(given, epsilon=1)


def test_questions_that_make_no_sense_are_refused():
    found = sf.ranges.release(sf.lab(COUNTS), epsilon=1)
    for low, high in [(9, 2), ([1, 9], [2, 3]), ("a", 4), (float("nan"), 3), (None, 3)]:
        with pytest.raises(InputError):
            found.count(low, high)
    for q in (-0.1, 1.1, float("nan")):
        with pytest.raises(InputError):
            found.quantile(q)
    for edges in ([3], [3, 2], [1, 1, 4], []):
        with pytest.raises(InputError):
            found.histogram(edges)


def test_ends_beyond_the_column_are_the_ends_of_the_column():
    found = sf.ranges.release(sf.lab(COUNTS), epsilon=1)
    assert found.count(-50, 1000) == found.count(0, 99) == found.total()
    assert found.count(200, 300).value == 0
    assert found.count(2, 2.7) == found.count(2, 2)


def test_one_cell_and_empty_tables_are_answered():
    found = sf.ranges.release(sf.lab([7], budget=AMPLE), epsilon=HUGE)
    assert found.count(0, 0).value == 7
    empty = sf.ranges.release(sf.lab([0, 0, 0]), epsilon=1)
    assert empty.cdf(1).low >= 0
    assert empty.quantile([0, 0.5, 1]).value.shape == (3,)


def test_tables_of_units_are_truncated_and_released():
    people = table()
    found = sf.ranges.release(people.values("age"), epsilon=HUGE)
    assert found.count(0, 9).value == pytest.approx(20, abs=0.01)
    fares = sf.ranges.release(people.values("fare"), epsilon=HUGE)
    assert fares.line.size == 81
    assert fares.count(0, 1).value == pytest.approx(5, abs=0.01)
    days = sf.ranges.release(people.values("day"), epsilon=HUGE, workload="prefix")
    assert days.count("2026-01-01", date(2026, 1, 4)).value == pytest.approx(12, abs=0.01)
    assert days.quantile(0).value == "2026-01-01"
    assert not days.durable
    assert "not durable" in repr(days)
    assert days.receipt is not None


def test_bins_are_asked_for_whole():
    found = sf.ranges.release(table().values("age", bins=5), epsilon=HUGE)
    assert found.line.size == 5
    assert found.count(10, 19).value == pytest.approx(20 - 10, abs=0.01)
    with pytest.raises(InputError, match="cuts through the bin that begins at 10"):
        found.count(10, 15)
    for bad in (0, 2.5, -1):
        with pytest.raises(InputError, match="bins="):
            table().values("age", bins=bad)


def test_columns_without_an_order_or_a_declaration_are_refused():
    people = table()
    with pytest.raises(KeysError, match="no order"):
        people.values("zone")
    with pytest.raises(SfumatoError):
        people.values("income")
    with pytest.raises(SfumatoError):
        people.values("who")


def test_huge_domains_are_refused_with_their_size_or_sketched():
    import pandas as pd

    items = [123_456_789] * 400 + list(range(100))
    session = sf.Session(
        pd.DataFrame({"item": items}),
        unit=sf.Unit.row(),
        schema=sf.Schema(item=sf.Integer(0, 10**9)),
        budget=sf.Budget(epsilon=50, delta="1e-6"),
    )
    values = session.table().values("item")
    with pytest.raises(RangeError, match="1,000,000,001 cells"):
        sf.ranges.release(values, epsilon=1)
    assert session.remaining.epsilon == 50
    for price in ({"epsilon": 5}, {"rho": "0.5"}):
        found = sf.ranges.release(values, method="sketch", width=256, **price)
        answer = found.count(123_456_789, confidence="0.999999")
        assert answer.low <= 400 <= answer.high
        assert abs(answer.value - 400) < 60
        assert found.count([5, 10**9], [5, 10**9]).value.shape == (2,)
        assert sf.ranges.SketchRelease.from_json(found.to_json()) == found
    with pytest.raises(InputError, match="single values"):
        found.count(1, 5)
    with pytest.raises(RangeError, match="width="):
        sf.ranges.release(values, method="sketch", width=0, epsilon=1)


def test_a_release_travels_and_stays_the_same():
    found = sf.ranges.release(table().values("fare"), epsilon=1)
    again = sf.ranges.RangeRelease.from_json(found.to_json())
    assert again == found
    assert again.digest == found.digest
    assert again.count(1, 5) == found.count(1, 5)
    assert found.to_pandas().shape == (81, 4)
    assert found.to_arrow().column_names == ["fare", "n", "n_low", "n_high"]
    assert len(found.to_polars()) == 81
    assert "fare" in found.to_html()
    assert found.chart().to_dict()
    assert found.card()
    with pytest.raises(SfumatoError):
        sf.ranges.RangeRelease.from_json(found.table().to_json())
    with pytest.raises(SfumatoError):
        sf.ranges.RangeRelease.from_json(found.to_json()[:-20])


@pytest.mark.parametrize("method", ["hierarchical", "wavelet", "identity", "p_identity"])
def test_whole_counts_are_whole_and_not_negative(method):
    found = sf.ranges.release(sf.lab(COUNTS // 20), method=method, epsilon="0.2")
    whole = found.nonnegative(whole=True)
    cells = whole.solution.cells
    assert (cells >= 0).all()
    assert (cells == np.rint(cells)).all()
    answer = whole.count(list(range(50)), list(range(50, 100)))
    assert (answer.low <= answer.value).all()
    assert (answer.low >= 0).all()
    assert whole.measured == found.measured


def test_explain_reads_nothing_and_names_the_best():
    lab = sf.lab([0] * 1000)
    before = lab.remaining
    found = sf.ranges.explain(lab, epsilon=1, workload="prefix")
    assert lab.remaining == before
    assert found.best.method == "hierarchical"
    assert found.best.rmse < found["identity"].rmse
    assert found["dawa"].rmse is None
    assert "prefix" in repr(found)
    assert found.to_arrow().num_rows == len(list(found))
    few = sf.ranges.explain(lab, epsilon=1, workload=[(5, 5), (9, 9)])
    assert few.best.rmse == pytest.approx(few["identity"].rmse, rel=0.01)
    gaussian = sf.ranges.explain(lab, rho=1, workload="prefix")
    assert gaussian.best.method == "square_root"
    with pytest.raises(InputError, match="was not compared"):
        gaussian["magic"]
    with pytest.raises(SfumatoError):
        sf.ranges.explain(lab)


def test_bins_end_where_values_do():
    fares = sf.ranges.release(table().values("fare", bins=10), epsilon=HUGE)
    assert round(fares.count(0, 20).value) == 60
    assert round(fares.count(0, "1.75").value) == 8
    assert float(fares.cdf(Fraction(7, 4)).value) == pytest.approx(8 / 60, abs=1e-3)
    assert float(fares.cdf(20).value) == pytest.approx(1, abs=1e-3)
    assert [round(n) for n in fares.histogram([0, 10, 20]).measure("n").values] == [40, 20]
    for end in (Fraction(3, 2), 18.5):
        with pytest.raises(InputError, match="cuts through"):
            fares.cdf(end)


def test_what_caps_leave_out_is_said():
    ages = sf.ranges.release(table().values("age"), epsilon=1)
    assert any("at most 3 rows of one who count" in note for note in ages.notes)
    assert not any(
        "rows of one" in note for note in sf.ranges.release(sf.lab([1]), epsilon=1).notes
    )


def test_a_count_does_not_hash_every_number():
    found = sf.ranges.release(sf.lab(np.arange(64)).values(), method="identity", epsilon=1)
    [measured] = found.measured
    other = type(measured)(measured.matrix, measured.noise, (*measured.values[:-1], 10**9))
    assert hash(other) == hash(measured)  # told apart by what is compared
    assert other != measured
    again = type(measured)(measured.matrix, measured.noise, tuple(measured.values))
    assert hash(again) == hash(measured)
    assert again == measured
    changed = replace(found, measured=(other,))
    assert changed.count(0, 63).value != found.count(0, 63).value


@pytest.mark.parametrize("bins", [None, 10])
def test_timestamps_are_counted_by_days_as_their_refusal_says(bins):
    moments = pa.array([datetime(2026, 1, 1 + i % 28, i % 24) for i in range(500)])
    session = sf.Session(
        pa.table({"placed": moments}),
        unit=sf.Unit.row(),
        schema=sf.Schema(placed=sf.Timestamp("2025-12-01T00:00:00", "2026-03-01T00:00:00")),
        budget=sf.Budget(epsilon=100),
    )
    table = session.table()
    with pytest.raises(InputError) as refused:
        sf.ranges.release(table.values("placed", bins=bins), epsilon=1)
    assert "bins=" not in str(refused.value)
    assert "with_columns(day='date(placed)').values('day')" in str(refused.value)
    days = table.with_columns(day="date(placed)").values("day")
    assert sf.ranges.release(days, epsilon=10).count("2026-01-01", "2026-01-28").value > 400


def drawn(chart):
    """The labels of the bars, and what the axis says of them."""
    made = chart.to_dict()
    [rows] = made["datasets"].values()
    return [row["key"] for row in rows], made["layer"][0]["encoding"]["y"]["title"]


def test_bars_of_a_chart_are_named_by_all_that_they_hold():
    counts = np.full(100, 7)
    labels, axis = drawn(sf.ranges.release(sf.lab(counts), epsilon=1).chart())
    assert (labels[:2], labels[-1]) == (["0–2", "3–5"], "99")
    assert axis == "x (3 values in a bin, 1 in the last)"
    labels, axis = drawn(sf.ranges.release(sf.lab(counts), epsilon=1).chart(25))
    assert (labels[0], axis) == ("0–3", "x (4 values in a bin)")
    labels, axis = drawn(sf.ranges.release(sf.lab(counts[:9]), epsilon=1).chart())
    assert (labels[0], axis) == ("0", "x")


def test_bars_of_days_and_of_bins_are_named_by_their_ends():
    opened = sf.Session(
        pa.table({"day": pa.array([date(2026, 1, 9)] * 9), "fare": [0.5] * 9}),
        unit=sf.Unit.row(),
        schema=sf.Schema(day=sf.Date("2026-01-01", "2026-01-10"), fare=sf.Real(0, 10, step="0.25")),
        budget=sf.Budget(epsilon=10),
    ).table()
    labels, axis = drawn(sf.ranges.release(opened.values("day"), epsilon=1).chart(3))
    assert labels == ["2026-01-01–2026-01-04", "2026-01-05–2026-01-08", "2026-01-09–2026-01-10"]
    assert axis == "day (4 values in a bin, 2 in the last)"
    labels, axis = drawn(sf.ranges.release(opened.values("fare", bins=5), epsilon=1).chart())
    assert (labels[0], labels[-1], axis) == (
        "0–1.75",
        "10",
        "fare (8 values in a bin, 1 in the last)",
    )
