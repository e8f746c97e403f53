"""A release of marginals in one long table, and conditions of every kind of column."""

from datetime import date, datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.marginals.domain import Attribute

DAYS = [date(2024, 1, 1 + i % 5) for i in range(60)]
HOURS = [datetime(2024, 1, 1, i % 4) for i in range(60)]


@pytest.fixture(scope="module")
def answer():
    table = pa.table(
        {
            "day": DAYS,
            "at": HOURS,
            "zone": ["a", "b", "c"] * 20,
            "level": [10, 20, 30] * 20,
            "n": [i % 2 for i in range(60)],
            "old": [i % 3 == 0 for i in range(60)],
        }
    )
    schema = sf.Schema(
        day=sf.Date("2024-01-01", "2024-01-05"),
        at=sf.Timestamp("2024-01-01T00:00:00", "2024-01-01T03:00:00", step=3600),
        zone=sf.Category(["a", "b", "c"]),
        level=sf.Category([10, 20, 30]),
        n=sf.Integer(0, 1),
        old=sf.Boolean(),
    )
    budget = sf.Budget(rho=10_000)
    with sf.Session(table, unit=sf.Unit.row(), schema=schema, budget=budget) as session:
        yield sf.marginals.release(
            session.table(),
            workload=sf.marginals.of(("zone", "n"), "day", "at", "level", "old", ()),
            rho=5000,
        )


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ({"day": (date(2024, 1, 2), date(2024, 1, 3))}, 24),
        ({"day": ("2024-01-02", "2024-01-03")}, 24),
        ({"day": (datetime(2024, 1, 2), "2024-01-09")}, 48),
        ({"day": date(2024, 1, 2)}, 12),
        ({"day": ["2024-01-02", date(2024, 1, 5)]}, 24),
        ({"at": (datetime(2024, 1, 1, 1), "2024-01-01T02:00:00")}, 30),
        ({"at": ("2024-01-01", date(2024, 1, 1))}, 15),  # midnight
        ({"at": datetime(2024, 1, 1, 3)}, 15),
        ({"level": (10, 20)}, 40),
        ({"n": np.array([0, 1])}, 60),
        ({"n": pd.Series([1])}, 30),
        ({"n": np.int64(1), "zone": {"a", "b"}}, 20),
    ],
)
def test_conditions_are_met_in_the_order_of_the_column(answer, condition, rows):
    found = answer.count(condition)
    assert abs(found.value - rows) < 3
    assert found.low <= found.value <= found.high


@pytest.mark.parametrize(
    "condition",
    [
        {"zone": ("a", "b")},  # texts have no order
        {"old": (False, True)},
        {"day": ("2024-01-03", "2024-01-02")},
        {"day": ("monday", "friday")},
        {"day": (1, 2)},
        {"day": datetime(2024, 1, 2, 5)},
        {"n": (date(2024, 1, 1), date(2024, 1, 2))},
        {"n": np.array([[0], [1]])},
        {"n": np.array([0, 7])},
        {"n": [np.array([0, 1])]},
    ],
)
def test_conditions_without_a_meaning_are_refused(answer, condition):
    with pytest.raises(sf.errors.InputError):
        answer.count(condition)


@pytest.mark.parametrize("ends", [(25, 40), (20, 35), (21, 25), (30, 39)])
def test_a_range_through_a_bin_is_refused(ends):
    frame = pd.DataFrame({"age": [5, 25, 33, 77]})
    session = sf.Session(
        frame,
        unit=sf.Unit.row(),
        schema=sf.Schema(age=sf.Integer(0, 99)),
        budget=sf.Budget(epsilon=1000),
    )
    table = session.table().with_columns(decade="floor(age, 10)")
    answer = sf.marginals.release(table, workload=["decade", "age"], epsilon=1000)
    begins = 30 if 35 in ends or 39 in ends else 20
    with pytest.raises(sf.errors.InputError, match=f"bin of 'decade' that begins at {begins}"):
        answer.count({"decade": ends})
    assert abs(answer.count({"decade": (20, 30)}).value - 2) < 1
    assert abs(answer.count({"decade": (-5, 99)}).value - 4) < 1
    assert abs(answer.count({"age": (24.5, 33.5)}).value - 2) < 1


@pytest.mark.parametrize("make", [lambda a: a, lambda a: a.nonnegative()])
def test_one_long_table_has_every_marginal(answer, make):
    shown = make(answer)
    table = shown.to_arrow()
    names = ["marginal", "zone", "n", "day", "at", "level", "old"]
    assert table.column_names == [*names, "n_", "n__low", "n__high", "n__std"]
    frame = shown.to_pandas()
    assert list(frame.columns) == table.column_names
    assert shown.to_polars().height == len(frame) == 6 + 5 + 4 + 3 + 2 + 1
    for columns in answer.marginals:
        own = shown.table(*columns)
        part = frame[frame["marginal"] == (", ".join(columns) or "total")]
        assert np.array_equal(part["n_"], own.value.ravel())
        assert np.array_equal(part["n__low"], own.low.ravel())
        assert part[[name for name in names[1:] if name not in columns]].isna().all().all()
        for name, keys in zip(columns, own._keys(), strict=True):
            assert part[name].tolist() == keys


def test_a_column_called_marginal_keeps_its_name():
    lab = sf.lab.table({"marginal": [0, 1], "b": [0, 0]}, {"marginal": 2, "b": 2})
    found = sf.marginals.release(lab, workload=sf.marginals.all(1), rho=1).to_arrow()
    assert found.column_names[:4] == ["marginal_", "marginal", "b", "n"]


def test_a_page_shows_every_cell_and_what_it_cost(answer, tmp_path, monkeypatch):
    page = answer.to_html()
    assert "zone, n" in page
    assert "2024-01-05" in page
    answer.nonnegative().to_html(tmp_path / "page.html")
    assert "total" in (tmp_path / "page.html").read_text(encoding="utf-8")
    monkeypatch.setattr("sfumato.marginals.long._MOST_SHOWN", 20)
    with pytest.raises(sf.errors.InputError, match="21 cells"):
        answer.to_html()


def test_one_column_is_not_planned_for_in_two_ways():
    with pytest.raises(sf.errors.InputError, match="'a' is named for prefix= and for ranges="):
        sf.marginals.all(2, prefix="a") + sf.marginals.all(1, ranges="a")
    with pytest.raises(sf.errors.InputError, match="keep the one"):
        sf.marginals.all(2, prefix="a", ranges=["b", "a"])


@pytest.mark.parametrize("price", [{"rho": 1}, {"epsilon": 1}, {"epsilon": 1, "delta": "1e-9"}])
def test_a_column_of_one_value_is_no_trouble_where_rows_are_replaced(price):
    unit = sf.Unit.row(neighbors="replace")
    lab = sf.lab.table({"a": [0] * 50, "b": [0, 1] * 25}, {"a": 1, "b": 2}, unit=unit)
    answer = sf.marginals.release(lab, workload=sf.marginals.all(2), **price)
    assert answer.table("a", "b").value.shape == (1, 2)


def test_attributes_have_an_order_unless_they_are_names(answer):
    ordered = {attribute.name: attribute.ordered for attribute in answer.attributes}
    assert ordered == {
        "zone": False,
        "n": True,
        "day": True,
        "at": True,
        "level": True,
        "old": False,
    }
    again = sf.marginals.Marginals.from_json(answer.to_json())
    assert again.attributes == answer.attributes
    assert Attribute("x", (0, 1)).ordered


def test_a_large_cell_of_ordered_columns_is_counted_whole():
    counts = np.zeros((12, 12, 12), np.int64)
    counts[3, 4, 5] = 1_000_000_000  # six times what 64 bits held at once
    names = ("x0", "x1", "x2")
    workload = sf.marginals.of(names, prefix=names)
    answer = sf.marginals.release(sf.lab(counts), workload=workload, rho=1)
    assert abs(answer.table(*names).value[3, 4, 5] - 1_000_000_000) < 1000
    assert answer.notes == ()
    four = np.zeros((4, 4, 4, 4), np.int64)
    names = ("x0", "x1", "x2", "x3")
    workload = sf.marginals.of(names, prefix=names)
    answer = sf.marginals.release(sf.lab(four), workload=workload, rho=1)
    assert "weighted sums are cut at 2^62" in answer.notes[0]


def test_no_two_marginals_of_the_long_table_have_one_name():
    sizes = {"a": 2, "b": 2, "a, b": 3, "total": 2, '"total"': 2}
    lab = sf.lab.table({name: [0, 1] for name in sizes}, sizes)
    workload = sf.marginals.of(("a", "b"), "a, b", "total", '"total"', ())
    found = sf.marginals.release(lab, workload=workload, epsilon=1).to_pandas()
    rows = found.groupby("marginal").size().to_dict()
    assert rows == {"a, b": 4, '"a, b"': 3, '"total"': 2, '"""total"""': 2, "total": 1}
