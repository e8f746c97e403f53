"""Marginals of private tables: one charge, the same rows everywhere, refusals before any charge."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.errors import InputError, KeysError
from sfumato.marginals.marginal import Marginal
from sfumato.marginals.plan import planned

ROWS = 900


def people(seed=1, nulls=False):
    rng = np.random.default_rng(seed)
    age = [int(x) for x in rng.integers(0, 12, ROWS)]
    if nulls:
        age = [None if rng.random() < 0.2 else x for x in age]
    return pa.table(
        {
            "id": rng.integers(0, 400, ROWS),
            "age": pa.array(age, pa.int64()),
            "sex": np.array(["f", "m"])[rng.integers(0, 2, ROWS)],
            "ok": rng.integers(0, 2, ROWS).astype(bool),
            "fare": rng.random(ROWS) * 200,
            "name": ["x"] * ROWS,
        }
    )


def session(data=None, unit=None, budget=None, nullable=False):
    schema = sf.Schema(
        age=sf.Integer(0, 11, nullable=nullable),
        sex=sf.Category(["f", "m"]),
        ok=sf.Boolean(),
        fare=sf.Real(0, 200, "0.01"),
        name=sf.Text(),
    )
    return sf.Session(
        {"people": people() if data is None else data},
        unit=unit or sf.Unit.row(),
        schema={"people": schema},
        budget=budget or sf.Budget(rho=10**7),
    )


COLUMNS = ["age", "sex", "ok"]


@pytest.mark.parametrize("price", [{"rho": 10**6}, {"epsilon": 10**4}])
def test_counts_come_back_without_noise_to_speak_of(price):
    data = people()
    with session(data, budget=sf.Budget(10**6) if "epsilon" in price else None) as opened:
        answer = sf.marginals.release(
            opened.table(), workload=sf.marginals.all(2), columns=COLUMNS, **price
        )
    exact = np.zeros((12, 2))
    sexes = np.array(data["sex"]) == "m"
    np.add.at(exact, (np.array(data["age"]), sexes.astype(int)), 1)
    table = answer.table("age", "sex")
    assert table.values == (tuple(range(12)), ("f", "m"))
    assert np.abs(table.value - exact).max() < 0.5
    assert np.allclose(answer.table("ok", "sex").value.sum(), ROWS, atol=0.5)


def test_release_is_one_charge_and_the_same_question_costs_nothing_more():
    with session(budget=sf.Budget(rho=2)) as opened:
        table = opened.table()
        first = sf.marginals.release(table, workload=sf.marginals.all(2), columns=COLUMNS, rho=1)
        left = opened.remaining.rho
        assert 1 <= left < 1.000001
        assert first.receipt is not None
        again = sf.marginals.release(table, workload=sf.marginals.all(2), columns=COLUMNS, rho=1)
        assert opened.remaining.rho == left
        assert again.to_json() == first.to_json()
        for names in (("age", "sex"), ("sex",), ()):
            first.table(*names)
        assert opened.remaining.rho == left
        with pytest.raises(sf.errors.BudgetExceeded):
            sf.marginals.release(table, workload=sf.marginals.all(1), columns=COLUMNS, rho=2)


def test_rows_with_a_missing_value_are_in_no_marginal():
    data = people(nulls=True)
    kept = sum(x is not None for x in data["age"].to_pylist())
    with session(data, nullable=True) as opened:
        answer = sf.marginals.release(
            opened.table(), workload=sf.marginals.all(2), columns=COLUMNS, rho=10**6
        )
    assert kept < ROWS
    for names in (("age",), ("sex", "ok"), ()):
        assert abs(answer.table(*names).value.sum() - kept) < 1
    assert any("age or sex or ok" in note for note in answer.notes)


@pytest.mark.parametrize(
    "unit",
    [sf.Unit.by("id", max_rows=2), sf.Unit.by("id", max_groups=2, max_rows_per_group=2)],
)
def test_of_a_unit_the_same_rows_count_in_every_marginal(unit):
    with session(unit=unit) as opened:
        answer = sf.marginals.release(
            opened.table(), workload=sf.marginals.all(2), columns=COLUMNS, rho=10**6
        )
        alone = sf.marginals.release(
            opened.table(), workload=[("sex",)], columns=COLUMNS, rho=10**6
        )
    totals = [answer.table(*names).value.sum() for names in (("age", "sex"), ("ok",), ())]
    assert max(totals) - min(totals) < 1e-6
    assert totals[0] < ROWS
    assert np.abs(answer.table("sex").value - alone.table("sex").value).max() < 0.5


def test_units_with_more_rows_get_more_noise():
    plans = []
    for unit in (sf.Unit.row(), sf.Unit.by("id", max_rows=3)):
        with session(unit=unit) as opened:
            plan = sf.marginals.explain(
                opened.table(), workload=sf.marginals.all(2), columns=COLUMNS, rho=1
            )
            plans.append(plan.overall)
    assert np.isclose(plans[1], 3 * plans[0], rtol=1e-3)


@pytest.mark.parametrize("price", [{"rho": "0.5"}, {"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}])
def test_replacing_neighbors_are_charged_within_the_price(price):
    with session(unit=sf.Unit.row(neighbors="replace")) as opened:
        plan = sf.marginals.explain(
            opened.table(), workload=sf.marginals.all(2), columns=COLUMNS, **price
        )
        plan.check()
        if "rho" in price:
            assert plan.price.rho <= sf.core.number.exact("0.5")
        else:
            assert plan.price.epsilon <= 1


def test_explain_reads_nothing_and_costs_nothing():
    with session() as opened:
        before = opened.remaining
        plan = sf.marginals.explain(
            opened.table(), workload=sf.marginals.all(2), columns=COLUMNS, rho=1
        )
        assert opened.remaining == before
        assert "root mean squared error" in repr(plan)
        told = plan.to_dict()
        assert told["marginals"][0]["columns"] == ["age", "sex"]
        assert told["numbers"] == plan.cells == 1 + 12 + 1 + 1 + 12 + 12 + 1


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"columns": ["age", "name"]}, sf.errors.KeysError, "name"),
        ({"columns": ["age", "fare"]}, sf.errors.KeysError, "floor"),
        ({"columns": ["age", "höhe"]}, sf.errors.SfumatoError, "höhe"),
        ({"columns": ["age", "age"]}, sf.errors.InputError, "once"),
        ({"columns": []}, sf.errors.InputError, "columns"),
        ({"columns": "age"}, sf.errors.InputError, "list of names"),
        ({"workload": sf.marginals.all(4)}, sf.errors.InputError, "columns"),
        ({"workload": [("age", "bo")]}, sf.errors.UnknownName, "bo"),
        ({"workload": [("age", "age")]}, sf.errors.InputError, "twice"),
        ({"workload": []}, sf.errors.InputError, "of takes"),
        ({"workload": "age"}, sf.errors.InputError, "workload"),
        ({"workload": 2}, sf.errors.InputError, "workload"),
        ({"columns": 3}, sf.errors.InputError, "list of names"),
        ({"columns": np.array("age")}, sf.errors.InputError, "list of names"),
        ({"workload": np.array("age")}, sf.errors.InputError, "workload"),
        ({"rho": 0}, sf.errors.RangeError, "rho"),
        ({"rho": float("nan")}, sf.errors.NumberError, "rho"),
        ({"rho": float("inf")}, sf.errors.NumberError, "rho"),
        ({"rho": None}, sf.errors.CostError, "epsilon"),
        ({"epsilon": 1}, sf.errors.CostError, "epsilon"),
        ({"delta": "1e-6"}, sf.errors.CostError, "delta"),
        ({"confidence": 1}, sf.errors.SfumatoError, "confidence"),
        ({"objective": "min"}, sf.errors.InputError, "objective"),
        ({"method": "dawa"}, sf.errors.InputError, "method"),
        ({"rho": None, "epsilon": 1, "method": "residuals"}, sf.errors.CostError, "delta"),
        ({"method": "counts"}, sf.errors.CostError, "epsilon"),
        ({"rho": None, "epsilon": 1, "method": "barak"}, sf.errors.InputError, "two values"),
        ({"rho": None, "epsilon": 1, "objective": "max"}, sf.errors.InputError, "Gaussian"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_any_charge(given, error, words):
    with session() as opened:
        before = opened.remaining
        asked = {"workload": sf.marginals.all(2), "columns": COLUMNS, "rho": 1, **given}
        with pytest.raises(error, match=words):
            sf.marginals.release(opened.table(), **asked)
        assert opened.remaining == before


@pytest.mark.parametrize("almost", ["0.99999999999999999999", 1 - Fraction(1, 10**400)])
def test_confidences_that_no_float_tells_from_1_are_refused_before_the_charge(almost):
    asked = {"workload": sf.marginals.all(2), "columns": COLUMNS, "rho": 1}
    with session() as opened:
        before = opened.remaining
        for make in (sf.marginals.release, sf.marginals.explain):
            with pytest.raises(sf.errors.RangeError, match="10\\^-12"):
                make(opened.table(), **asked, confidence=almost)
        assert opened.remaining == before
        found = sf.marginals.release(opened.table(), **asked)
    for ask in (found.table, found.count, found.nonnegative().table):
        with pytest.raises(sf.errors.RangeError, match="10\\^-12"):
            ask(confidence=almost)
    surest = 1 - Fraction(1, 10**12)
    assert found.table(confidence=surest).high > found.table().high


def test_costs_and_workload_are_named():
    with session() as opened, pytest.raises(sf.errors.CostError, match="named"):
        sf.marginals.release(opened.table(), 2, workload=sf.marginals.all(2), rho=1)


@pytest.mark.parametrize("curator", [None, 3, {"age": [1]}, pa.table({"age": [1]})])
def test_only_curators_are_asked(curator):
    with pytest.raises(sf.errors.InputError, match="laboratory"):
        sf.marginals.explain(curator, workload=sf.marginals.all(1), rho=1)


def test_a_domain_of_a_billion_cells_is_refused_with_its_size():
    lab = sf.lab.table({c: [0] for c in "abc"}, dict.fromkeys("abc", 1000))
    plan = sf.marginals.explain(lab, workload=sf.marginals.all(3), rho=1)
    assert plan.cells > 10**9
    before = lab.remaining
    with pytest.raises(sf.errors.InputError, match=r"1,003,003,001 numbers"):
        plan.release()
    assert lab.remaining == before


def test_a_column_of_millions_of_values_is_refused_before_they_are_listed():
    schema = sf.Schema(salary=sf.Integer(0, 4_999_999), sex=sf.Category(["f", "m"]))
    frame = pa.table({"salary": [1, 2], "sex": ["f", "m"]})
    opened = sf.Session(frame, unit=sf.Unit.row(), schema=schema, budget=sf.Budget(1))
    with opened, pytest.raises(KeysError, match=r"'salary' has 5,000,000 values, too many"):
        sf.marginals.explain(opened.table(), workload=sf.marginals.all(2), epsilon=1)


def test_workloads_with_too_many_marginals_are_refused_with_their_number():
    names = [f"c{i}" for i in range(60)]
    lab = sf.lab.table({c: [0] for c in names}, dict.fromkeys(names, 2))
    with pytest.raises(sf.errors.InputError, match="5,461,512 marginals"):
        sf.marginals.explain(lab, workload=sf.marginals.all(5), rho=1)
    with pytest.raises(sf.errors.InputError, match="below these marginals"):
        sf.marginals.explain(lab, workload=[tuple(names[:25])], rho=1)


def test_an_empty_table_has_marginals_around_zero():
    with session(people().slice(0, 0)) as opened:
        answer = sf.marginals.release(
            opened.table(), workload=sf.marginals.all(2), columns=COLUMNS, rho=1
        )
    assert np.abs(answer.table("age", "sex").value).max() < 20


def test_a_plan_that_costs_more_than_its_price_is_not_carried_out():
    lab = sf.lab.table({"a": [0], "b": [1]}, {"a": 3, "b": 2})
    plan = planned(lab, sf.marginals.all(2), target=sf.Budget(rho=1))
    object.__setattr__(plan, "target", sf.Budget(rho="0.9"))
    with pytest.raises(sf.errors.LossError, match="more than it was made for"):
        plan.release()


def test_columns_that_nobody_asked_for_need_no_values():
    frame = pa.table({"who": [1, 2], "zone": ["A", "B"], "hour": [1, 2], "note": ["x", "y"]})
    schema = sf.Schema(zone=sf.Category(["A", "B"]), hour=sf.Integer(0, 23), note=sf.Text())
    with sf.Session(
        frame, unit=sf.Unit.by("who", max_rows=1), schema=schema, budget=sf.Budget(10)
    ) as session:
        people = session.table()
        plan = sf.marginals.explain(people, workload=[("zone", "hour")], epsilon=1)
        assert plan.domain.names == ("zone", "hour")
        with pytest.raises(KeysError, match=r"'note'.*columns="):
            sf.marginals.explain(people, workload=sf.marginals.all(2), epsilon=1)


def test_csv_has_no_more_digits_than_noise_leaves(tmp_path):
    table = Marginal(
        ("zone",),
        (("A", "B", "C"),),
        np.array([151.00000000000003, -0.12345678, 12_345_678.9]),
        np.array([148.99999999999997, -0.2000001, 12_000_000.4]),
        np.array([153.00000000000003, 0.1, 12_700_000.6]),
        np.array([1.0, 0.0498, 180_000.123]),
        Fraction(95, 100),
    )
    table.to_csv(tmp_path / "n.csv")
    _, *rows = (tmp_path / "n.csv").read_text().splitlines()
    assert rows == [
        "A,151,148.999,153.001,1",  # the ends are rounded outward
        "B,-0.12346,-0.20001,0.1,0.0498",
        "C,12345700,12000000,12700100,180000",
    ]


def test_no_interval_of_a_chart_is_narrower_than_its_own():
    low, high = np.array([0.3, 100.7]), np.array([0.7, 100.9])
    made = (np.array([0.5, 100.8]), low, high, np.ones(2), Fraction(95, 100))
    table = Marginal(("zone",), (("A", "B"),), *made)
    (shown,) = table._release().measures
    assert all(np.array(shown.low, float) <= low) and all(np.array(shown.high, float) >= high)


@pytest.mark.parametrize("columns", [("a",), ("a", "b")])
def test_chart_shows_every_cell_with_its_interval(columns):
    lab = sf.lab.table({"a": [0, 1, 2, 2], "b": [0, 1, 1, 0]}, {"a": 3, "b": 2})
    found = sf.marginals.release(lab, workload=sf.marginals.all(2), epsilon=1).table(*columns)
    [drawn] = found.chart().to_dict()["datasets"].values()
    assert [row["value"] for row in drawn] == pytest.approx(found.value.ravel().tolist(), abs=1e-5)
    assert [row["low"] for row in drawn] == pytest.approx(found.low.ravel().tolist(), abs=1e-5)


@pytest.mark.parametrize("columns", [(), ("a", "b", "c")])
def test_chart_of_other_marginals_is_refused(columns):
    codes = {name: [0, 1] for name in "abc"}
    lab = sf.lab.table(codes, dict.fromkeys("abc", 2))
    found = sf.marginals.release(lab, workload=sf.marginals.all(3), epsilon=1).table(*columns)
    with pytest.raises(InputError, match="one or two columns"):
        found.chart()


@pytest.mark.parametrize("named", [5, None, np.array("age"), [3]], ids=repr)
@pytest.mark.parametrize("how", ["prefix", "ranges"])
def test_columns_of_ranges_are_named_by_texts(how, named):
    for make, first in ((sf.marginals.all, 2), (sf.marginals.of, "age")):
        with pytest.raises(sf.errors.InputError, match="columns"):
            make(first, **{how: named})
