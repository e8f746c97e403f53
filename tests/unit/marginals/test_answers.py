"""What is done with a release: tables, files, texts, non-negative and whole counts."""

import csv
from math import sqrt

import numpy as np
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.marginals import nonnegative
from sfumato.marginals.condition import file_names


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    return {
        "a": rng.choice(6, 400, p=[0.9, 0.1, 0, 0, 0, 0]),
        "b": rng.integers(0, 3, 400),
        "c": (rng.random(400) < 0.02).astype(int),
    }


@pytest.fixture(scope="module")
def answer(data):
    lab = sf.lab.table(data, {"a": 6, "b": 3, "c": 2})
    return sf.marginals.release(lab, workload=sf.marginals.all(2), rho="0.02")


def counted(data, *names):
    counts = np.zeros([{"a": 6, "b": 3, "c": 2}[name] for name in names])
    np.add.at(counts, tuple(data[name] for name in names), 1)
    return counts


def test_text_is_read_back_exactly(answer):
    again = sf.marginals.Marginals.from_json(answer.to_json())
    assert again.to_json() == answer.to_json()
    assert np.array_equal(again.table("c", "a").value, answer.table("c", "a").value)
    assert again.cost == answer.cost
    with pytest.raises(sf.errors.CodecError):
        sf.marginals.Marginals.from_json(answer.to_json()[:-3] + "}")
    with pytest.raises(sf.errors.CodecError, match="ASCII"):
        sf.marginals.Marginals.from_json("é")
    with pytest.raises(sf.errors.CodecError, match="not a release"):
        sf.marginals.Marginals.from_json("[1]")


def test_readings_of_the_wrong_length_are_refused(answer):
    reading = answer.readings[1]
    short = type(reading)(reading.places, reading.kind, reading.noise, reading.numbers[:-1])
    with pytest.raises(sf.errors.InputError, match="numbers"):
        type(answer)(
            answer.attributes,
            answer.workload,
            (answer.readings[0], short),
            *(answer.method, answer.confidence, answer.cost, answer.price, answer.unit),
        )


def test_tables_go_to_files_with_their_margins(answer, tmp_path):
    paths = answer.to_csv(tmp_path / "tables")
    assert [path.name for path in paths] == ["a-b.csv", "a-c.csv", "b-c.csv"]
    with paths[1].open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    table = answer.table("a", "c")
    assert list(rows[0]) == ["a", "c", "n", "n_low", "n_high", "n_std"]
    value, low, high = (np.array([float(row[n]) for row in rows]) for n in ("n", "n_low", "n_high"))
    fine = table.std.ravel() / 500  # no digits that noise makes meaningless
    assert (abs(value - table.value.ravel()) <= fine).all()
    assert ((table.low.ravel() - low >= 0) & (table.low.ravel() - low <= 2 * fine)).all()
    assert ((high - table.high.ravel() >= 0) & (high - table.high.ravel() <= 2 * fine)).all()
    assert (rows[3]["a"], rows[3]["c"]) == ("1", "1")
    [path, *_] = answer.to_parquet(tmp_path / "tables")
    held = pq.read_table(path)
    assert held.column_names == ["a", "b", "n", "n_low", "n_high", "n_std"]
    assert np.allclose(held["n_high"], answer.table("a", "b").high.ravel())
    with pytest.raises(sf.errors.InputError, match="folder"):
        answer.to_csv(paths[0])


def test_files_have_names_of_their_own():
    names = file_names([("a/b",), ("a b",), ("A_b",), (), ("..",), ("é", "x>1")])
    assert len({name.casefold() for name in names}) == 6
    assert all("/" not in name and not name.startswith(".") for name in names)
    assert names[3] == "total"


def test_table_has_a_frame_and_a_text(answer):
    frame = answer.table("b", "c").to_pandas()
    assert list(frame["b"]) == [0, 0, 1, 1, 2, 2]
    assert frame["n"].tolist() == answer.table("b", "c").to_polars()["n"].to_list()
    assert "intervals at 95 %" in repr(answer.table("a", "b"))
    assert "ρ = 0.02" in repr(answer)
    assert "marginals" in repr(answer)


def test_a_column_called_n_does_not_hide_the_counts():
    lab = sf.lab.table({"n": [0, 1], "n_low": [0, 1]}, {"n": 2, "n_low": 2})
    answer = sf.marginals.release(lab, workload=sf.marginals.all(2), rho=1)
    assert answer.table("n", "n_low").to_arrow().column_names[2] == "n_"


def test_confidence_widens_intervals(answer):
    widths = [
        float((t.high - t.value).max())
        for t in (answer.table("a"), answer.table("a", confidence="0.99"))
    ]
    assert 1.25 < widths[1] / widths[0] < 1.4


def test_certificate_states_the_cost_of_the_whole(answer):
    text = str(answer.card())
    assert "0.02" in text


@pytest.mark.parametrize(
    ("columns", "error"),
    [(("z",), sf.errors.UnknownName), (("a", "a"), sf.errors.InputError)],
)
def test_unknown_columns_are_refused(answer, columns, error):
    with pytest.raises(error):
        answer.table(*columns)


def test_marginals_that_nothing_tells_of_are_refused(answer):
    with pytest.raises(sf.errors.InputError, match=r"all\(3\)"):
        answer.table("a", "b", "c")


@pytest.mark.parametrize(
    "conditions",
    [{"a": 6}, {"a": True}, {"a": (4, 2)}, {"a": ("x", "y")}, {"a": [0, 9]}, [("a", 1)]],
)
def test_conditions_that_no_row_can_meet_are_refused(answer, conditions):
    with pytest.raises(sf.errors.InputError):
        answer.count(conditions)


def test_nonnegative_marginals_still_add_up(answer):
    made = answer.nonnegative()
    for names in answer.marginals:
        table = made.table(*names)
        assert table.value.min() >= 0
        assert ((table.low <= table.value) & (table.value <= table.high)).all()
        assert (table.low >= 0).all()
    assert np.allclose(made.table("a", "b").value.sum(axis=1), made.table("a").value, atol=1e-8)
    assert np.allclose(made.table("a", "c").value.sum(axis=1), made.table("a").value, atol=1e-8)
    assert np.isclose(made.table().value, answer.table().value)
    assert "non-negative" in repr(made)


def test_nonnegative_marginals_are_nearer_as_a_rule(data):
    # One release in two hundred is better off as it was measured; twenty together never are.
    lab = sf.lab.table(data, {"a": 6, "b": 3, "c": 2})
    measured = corrected = below = 0.0
    for _ in range(20):
        answer = sf.marginals.release(lab, workload=sf.marginals.all(2), rho="0.02")
        made = answer.nonnegative()
        for names in answer.marginals:
            exact = counted(data, *names)
            measured += float(((answer.table(*names).value - exact) ** 2).sum())
            corrected += float(((made.table(*names).value - exact) ** 2).sum())
            below = min(below, float(answer.table(*names).value.min()))
    assert below < -5
    assert corrected < 0.8 * measured


def test_nonnegative_leaves_alone_what_is_so_already():
    lab = sf.lab(np.full((4, 5), 100_000))
    answer = sf.marginals.release(lab, workload=sf.marginals.all(2), rho=1)
    made = answer.nonnegative().table("x0", "x1").value
    assert np.allclose(made, answer.table("x0", "x1").value)


@pytest.mark.parametrize("time", range(12))
def test_nonnegative_is_the_nearest_by_a_general_solver(time):
    from scipy.optimize import minimize

    lab = sf.lab(np.array([[90, 0, 0, 0], [0, 30, 0, 1], [0, 0, 2, 0]]))
    answer = sf.marginals.release(lab, workload=sf.marginals.all(2), rho="0.02")
    start, total = answer.table("x0", "x1").value, float(answer.table().value)
    assert total > 1
    weight = {part: 1 / answer.fit.evenness(part) for part in [(0,), (1,), (0, 1)]}

    def distance(flat):
        change = flat.reshape(3, 4) - start
        rows, columns = change.sum(axis=1), change.sum(axis=0)
        rows, columns = rows - rows.mean(), columns - columns.mean()
        rest = change - change.mean(axis=1, keepdims=True)
        rest = rest - rest.mean(axis=0, keepdims=True)
        pairs = zip(weight.values(), (rows, columns, rest), strict=True)
        return sum(w * float((x**2).sum()) for w, x in pairs)

    solved = minimize(
        distance,
        np.full(12, total / 12),
        bounds=[(0, None)] * 12,
        constraints={"type": "eq", "fun": lambda x: x.sum() - total},
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    made = answer.nonnegative().table("x0", "x1").value
    # Every cell is to be above 0 by a little of its standard deviation, which distances are in.
    assert sqrt(distance(made.ravel())) <= sqrt(solved.fun) * 1.015 + 0.02
    assert np.abs(made.ravel() - solved.x).max() < 0.02 * total


def spread_over(sizes, cells):
    """So many cells with 100,000 people each, and nobody anywhere else."""
    counts = np.zeros(sizes, int)
    counts.ravel()[np.random.default_rng(0).choice(counts.size, cells, replace=False)] = 100_000
    return counts


@pytest.mark.parametrize(
    "counts",
    [
        spread_over((80, 50), 40),
        spread_over((24, 20, 16, 12), 40),
        np.random.default_rng(0).poisson(0.3, (40, 25)),
    ],
    ids=["few cells", "four columns", "hardly anybody"],
)
@pytest.mark.parametrize("rho", ["0.01", "1"])
def test_nonnegative_puts_nobody_into_empty_cells(counts, rho):
    answer = sf.marginals.release(sf.lab(counts), workload=sf.marginals.all(2), rho=rho)
    made = answer.nonnegative()
    before = after = 0.0
    for names in answer.marginals:
        others = tuple(i for i in range(counts.ndim) if f"x{i}" not in names)
        exact, table = counts.sum(axis=others), made.table(*names)
        assert table.value.min() >= 0
        assert np.isclose(table.value.sum(), max(float(answer.table().value), 0))
        assert table.value[exact == 0].mean() < float(table.std.mean())
        first = made.table(names[0]).value
        assert np.allclose(table.value.sum(axis=1), first, atol=1e-6)
        before += float(((answer.table(*names).value - exact) ** 2).sum())
        after += float(((table.value - exact) ** 2).sum())
    assert after <= before


def test_nonnegative_cells_share_the_error_of_the_total():
    counts = spread_over((50, 50), 1)
    answer = sf.marginals.release(sf.lab(counts), workload=sf.marginals.all(2), rho=1)
    made, total = answer.nonnegative().table("x0", "x1"), float(answer.table().value)
    off = 7 * 50 * float(made.std.mean())  # seven standard deviations of the total
    assert abs(made.value.max() - total) < off
    assert made.value[counts == 0].sum() < off


def test_what_the_search_leaves_below_is_mended(monkeypatch):
    counts = spread_over((12, 10, 8, 6), 6)
    answer = sf.marginals.release(sf.lab(counts), workload=sf.marginals.all(2), rho="0.1")
    monkeypatch.setattr(nonnegative, "_ROUNDS", 10)
    made = answer.nonnegative()
    for names in answer.marginals:
        table = made.table(*names)
        others = tuple(i for i in range(4) if f"x{i}" not in names)
        assert table.value.min() >= 0
        assert np.isclose(table.value.sum(), float(answer.table().value))
        off = np.abs(table.value - counts.sum(axis=others)).max()
        assert off < 0.01 * counts.sum()  # it stays a table of a few cells


def test_search_ends_within_its_gap(monkeypatch):
    rng = np.random.default_rng(0)
    sizes = {"a": 20, "b": 15, "c": 6, "d": 2}
    data = {name: np.minimum(rng.geometric(0.4, 3000) - 1, n - 1) for name, n in sizes.items()}
    lab = sf.lab.table(data, sizes)
    answer = sf.marginals.release(lab, workload=sf.marginals.all(2), rho="0.01")

    def distance(gap):
        monkeypatch.setattr(nonnegative, "_GAP", gap)
        made = nonnegative.NonNegative(answer.attributes, answer.fit, answer.workload)
        parts = [part for part in made._effects if part]
        moved = [made._effects[part] - answer.fit.effect(part) for part in parts]
        pairs = zip(parts, moved, strict=True)
        return sum(float((x**2).sum()) / answer.fit.evenness(part) for part, x in pairs)

    nearest = distance(1e-7)
    near = abs(distance(1e-4) - nearest)
    assert near <= nearest * 5e-4
    assert abs(distance(1e9) - nearest) > near  # the first that is non-negative is another


@pytest.mark.parametrize(
    "price",
    [
        {"epsilon": 1},
        {"epsilon": 3},
        {"epsilon": 20, "method": "barak"},
        {"rho": "0.02"},
    ],
)
def test_the_plan_says_how_far_the_answer_errs(price, votes):
    lab = votes[0]
    plan = sf.marginals.explain(lab, workload=sf.marginals.all(2), **price)
    answer = plan.release()
    found = [np.sqrt((answer.table(*names).std ** 2).mean()) for names in answer.marginals]
    assert np.allclose(found, plan.rmse, rtol=1e-9)


@pytest.fixture(scope="module")
def votes():
    rng = np.random.default_rng(8)
    names = [f"v{i}" for i in range(5)]
    data = {name: (rng.random(1000) < 0.2).astype(int) for name in names}
    return sf.lab.table(data, dict.fromkeys(names, 2)), data


@pytest.mark.parametrize("method", ["barak", "counts"])
def test_whole_counts_are_those_of_one_table(votes, method):
    lab, data = votes
    answer = sf.marginals.release(lab, workload=sf.marginals.all(2), epsilon=1, method=method)
    made = answer.whole()
    table = made.table("v0", "v1")
    assert (table.value == np.rint(table.value)).all()
    assert table.value.min() >= 0
    assert np.array_equal(table.value.sum(axis=0), made.table("v1").value)
    exact = np.zeros((2, 2))
    np.add.at(exact, (data["v0"], data["v1"]), 1)
    assert np.abs(table.value - exact).max() < 150


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": "0.02"}])
def test_whole_counts_keep_the_total_and_move_little(price):
    rng = np.random.default_rng(5)
    sizes = {"a": 13, "b": 2, "c": 4}
    data = {"a": rng.integers(2, 10, 40_000)}  # of 13 values 5 never occur
    data |= {name: rng.integers(0, sizes[name], 40_000) for name in "bc"}
    lab = sf.lab.table(data, sizes)
    answer = sf.marginals.release(lab, workload=sf.marginals.all(2), **price)
    made = answer.whole()
    assert made.table().value == round(float(answer.table().value))
    for columns in answer.marginals:
        was, now = answer.table(*columns), made.table(*columns)
        assert np.abs(now.value - was.value).mean() < 3 * was.std.mean()


def test_whole_counts_of_nobody_are_0():
    lab = sf.lab(np.zeros((3, 2), int))
    for _ in range(4):
        answer = sf.marginals.release(lab, workload=sf.marginals.all(2), epsilon="0.1")
        total = answer.whole().table().value
        assert total == max(round(float(answer.table().value)), 0)


def test_barak_measures_one_sign_for_each_set_of_columns(votes):
    lab, _ = votes
    plan = sf.marginals.explain(lab, workload=sf.marginals.all(2), epsilon=1, method="barak")
    assert plan.cells == 1 + 5 + 10
    assert {step.sensitivity.l1 for step in plan.steps} == {1}
    # even shares: each of 16 coefficients has scale 16, and 4 of them are in a cell
    assert plan.overall <= np.sqrt(4 * 2 * 16**2) / 4 * 1.001


def test_signs_beat_counts_where_columns_are_many():
    names = [f"v{i}" for i in range(12)]
    lab = sf.lab.table({name: [0] for name in names}, dict.fromkeys(names, 2))
    wanted = sf.marginals.all(2)
    signs = sf.marginals.explain(lab, workload=wanted, epsilon=1, method="barak")
    auto = sf.marginals.explain(lab, workload=wanted, epsilon=1)
    alone = np.sqrt(2) * 66  # every marginal by itself, with a share of 1/66
    assert signs.overall < alone / 1.5
    assert auto.overall <= signs.overall * 1.001


def test_whole_tables_beyond_a_size_are_refused():
    lab = sf.lab(np.ones((100, 100), int))
    answer = sf.marginals.release(lab, workload=sf.marginals.all(1), rho=1)
    with pytest.raises(sf.errors.InputError, match="10,000 cells"):
        answer.whole()


def test_workloads_add_up_and_refuse_nonsense():
    both = sf.marginals.all(1) + sf.marginals.of(("a", "b"), prefix="a")
    assert both.marginals(["a", "b"]) == [(0,), (1,), (0, 1)]
    assert both.prefix == ("a",)
    for wrong in ((), (1.5,), (-1,), (True,)):
        with pytest.raises(sf.errors.InputError):
            sf.marginals.all(*wrong)
    with pytest.raises(sf.errors.InputError, match="prefix= and for ranges="):
        sf.marginals.all(1, prefix="a", ranges=["a"])
    with pytest.raises(sf.errors.UnknownName):
        sf.marginals.all(1, prefix="z").marginals(["a"])
