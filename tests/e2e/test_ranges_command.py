"""The command `sfumato ranges`, from a contract file to counts."""

import json
import shlex

import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli import main
from sfumato.ledger import Ledger

CONTRACT = """
[budget]
epsilon = "20"
delta = "1e-6"
ledger = "people.ledger"
[unit]
neighbors = "add_remove"
[tables.people]
source = "people.csv"
version = "1"
unit = "row"
[tables.people.columns]
age = { type = "integer", low = 0, high = 99 }
seen = { type = "date", low = "2026-01-01", high = "2026-12-31" }
"""


@pytest.fixture
def contract(tmp_path):
    rows = "".join(f"{i % 100},2026-0{1 + i % 9}-15\n" for i in range(1000))
    (tmp_path / "people.csv").write_text(f"age,seen\n{rows}")
    path = tmp_path / "people.toml"
    path.write_text(CONTRACT)
    return path


def run(*words):
    return CliRunner().invoke(main, ["ranges", *map(str, words)])


def test_counts_quantiles_and_the_price(contract):
    found = run(
        contract,
        "age",
        "--epsilon",
        "10",
        "--count",
        "0:49",
        "--count",
        "90:99",
        "--quantile",
        "0.5",
        "--format",
        "json",
    )
    assert found.exit_code == 0, found.output
    rows = {row["range"]: row for row in json.loads(found.stdout)}
    assert rows["0:49"]["low"] <= 500 + 5 and rows["0:49"]["high"] >= 500 - 5
    assert abs(rows["90:99"]["n"] - 100) < 20
    assert 45 <= rows["quantile 0.5"]["n"] <= 55
    assert "paid: ε = 10" in found.stderr


def test_explain_is_free_and_leaves_nothing_behind(contract):
    found = run(contract, "age", "--epsilon", "1", "--workload", "prefix", "--explain")
    assert found.exit_code == 0, found.output
    assert "hierarchical" in found.output
    assert not contract.with_name("people.ledger").exists()
    as_json = run(contract, "age", "--epsilon", "1", "--explain", "--format", "json")
    assert json.loads(as_json.stdout)["cells"] == 100


def test_interrupt_says_that_a_charge_may_stand(contract, monkeypatch):
    def interrupt(*_given, **_named):
        raise KeyboardInterrupt

    monkeypatch.setattr("sfumato.backends.duckdb.DuckDB.run", interrupt)
    found = run(contract, "age", "--epsilon", "1")
    assert (found.exit_code, found.stdout) == (130, "")
    assert "keeps its charge" in found.stderr
    assert Ledger.open(contract.with_name("people.ledger")).remaining().epsilon == 19


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_every_format_shows_all_cells(contract, form):
    found = run(contract, "age", "--epsilon", "1", "--format", form)
    assert found.exit_code == 0, found.output
    assert "age" in found.output


def test_dates_and_listed_counts(contract):
    found = run(
        contract,
        "seen",
        "--epsilon",
        "5",
        "--workload",
        "counts",
        "--count",
        "2026-01-01:2026-06-30",
        "--format",
        "csv",
    )
    assert found.exit_code == 0, found.output
    assert found.stdout.startswith("range,n,low,high\n2026-01-01:2026-06-30,")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["age", "--epsilon", "1", "--count", "9"], "LOW:HIGH"),
        (["age", "--epsilon", "1", "--count", "9:2"], "reversed"),
        (["age", "--epsilon", "1", "--workload", "counts"], "--count"),
        (["age", "--epsilon", "1", "--workload", "some"], "workload"),
        (["age", "--epsilon", "1", "--method", "magic"], "there is no method"),
        (["age", "--epsilon", "0"], "epsilon"),
        (["age"], "epsilon"),
        (["income", "--epsilon", "1"], "income"),
        (["age", "--epsilon", "21"], "21"),
    ],
)
def test_mistakes_are_told_before_any_charge(contract, words, said):
    found = run(contract, *words)
    assert found.exit_code == 2
    assert said in found.output
    left = CliRunner().invoke(main, ["ledger", "show", str(contract)]).output
    assert "ε = 20" in left or not contract.with_name("people.ledger").exists()


@pytest.mark.parametrize("words", [(), ("--epsilon", 1, "--rho", 1)])
def test_price_is_asked_for_in_the_words_of_the_command(contract, words):
    found = run(contract, "age", "--count", "0:9", *words)
    assert found.exit_code != 0
    assert "--epsilon 0.5" in found.stderr
    assert "epsilon=" not in found.stderr
    assert not contract.with_name("people.ledger").exists()


def test_where_keeps_rows_and_is_checked(contract):
    most = ("--epsilon", 9, "--format", "json", "--count", "0:99")
    [whole] = json.loads(run(contract, "age", *most).stdout)
    [part] = json.loads(run(contract, "age", "--where", "age >= 50", *most).stdout)
    assert whole["n"] > 900
    assert 400 < part["n"] < 600  # half of a thousand; noise at ε = 9 is a few
    wrong = run(contract, "age", "--where", "height > 3", "--epsilon", 1)
    assert wrong.exit_code != 0
    assert "height" in wrong.stderr


def test_confidence_widens_the_intervals(contract):
    def width(sure):
        words = ("--epsilon", 1, "--format", "json", "--count", "0:49", "--confidence", sure)
        [found] = json.loads(run(contract, "age", *words).stdout)
        return found["high"] - found["low"]

    assert width("0.999") > 1.5 * width("0.9")  # the same noise, answered before
    assert run(contract, "age", "--epsilon", 1, "--confidence", 2).exit_code != 0


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_out_is_a_file_and_never_the_data(contract, tmp_path, form):
    path = tmp_path / "found"
    words = ("--epsilon", 1, "--format", form, "--count", "0:49")
    found = run(contract, "age", *words, "--out", path)
    assert found.exit_code == 0
    assert found.stdout == ""
    assert path.read_text() == run(contract, "age", *words).stdout
    for kept in ("people.csv", "people.toml", "people.ledger"):
        before = (tmp_path / kept).read_bytes()
        refused = run(contract, "age", *words, "--out", tmp_path / kept)
        assert refused.exit_code != 0
        assert (tmp_path / kept).read_bytes() == before
    nowhere = run(contract, "age", *words, "--out", tmp_path / "none" / "found")
    assert nowhere.exit_code != 0
    assert "--out" in nowhere.stderr
    assert "Nothing was charged" in nowhere.stderr


@pytest.mark.parametrize("name", ["a.csv", "a.png", "a.svg", "a.html"])
def test_ledger_of_another_contract_is_not_written_over(contract, tmp_path, name):
    other = tmp_path / name
    Ledger.create(other, sf.Budget(1), sf.Unit.row()).close()
    before = other.read_bytes()
    found = run(contract, "age", "--epsilon", 1, "--out", other)
    assert found.exit_code == 2
    assert "would destroy it. Pass --out with another file" in found.stderr
    assert other.read_bytes() == before
    assert not (tmp_path / "people.ledger").exists()


@pytest.mark.parametrize(
    ("name", "begins"), [("a.png", b"\x89PNG"), ("a.SVG", b"<svg"), ("a.html", b"<!doctype html>")]
)
def test_out_draws_a_picture(contract, tmp_path, name, begins):
    words = ("--epsilon", 1, "--out", tmp_path / name)
    found = run(contract, "age", *words)
    assert found.exit_code == 0, found.output
    assert found.stdout == ""
    assert (tmp_path / name).read_bytes()[: len(begins)].lower() == begins.lower()
    assert "0:49 " in run(contract, "age", "--count", "0:49", *words).stdout
    explained = run(contract, "age", "--explain", *words)
    assert explained.exit_code != 0 and "not drawn" in explained.stderr


def test_the_ending_of_out_says_what_is_written(contract, tmp_path):
    words = ("age", "--epsilon", 1, "--count", "0:49", "--out")
    assert run(contract, *words, tmp_path / "a.csv").exit_code == 0
    assert (tmp_path / "a.csv").read_text().startswith("range,n,low,high\n")
    (tmp_path / "a.xlsx").write_text("kept")
    refused = run(contract, *words, tmp_path / "a.xlsx")
    assert refused.exit_code == 2
    assert "--out writes .txt, .csv, .json, .png" in refused.stderr
    assert (tmp_path / "a.xlsx").read_text() == "kept"


def test_an_explanation_without_a_price_says_that_it_needs_one(contract):
    found = run(contract, "age", "--explain")
    assert found.exit_code == 2
    assert "--epsilon" in found.stderr and "Add --explain" not in found.stderr


def test_a_sketch_counts_single_values_and_refuses_the_rest_before_it_is_paid_for(contract):
    for words in (
        ("--quantile", "0.5"),
        ("--count", "3:9"),
        ("--count", "3:3", "--quantile", "0.5"),
        (),
    ):
        found = run(contract, "age", "--epsilon", "1", "--method", "sketch", *words)
        assert found.exit_code != 0 and "single values" in found.output
        assert "paid" not in found.output and not found.output.count("E600")
    found = run(contract, "age", "--epsilon", "19", "--method", "sketch", "--count", "3:3")
    assert found.exit_code == 0, found.output  # so nothing had been charged
    assert "paid: ε = 1" in found.stderr


def test_bins_are_shown_without_asking_for_ranges(contract):
    found = run(contract, "age", "--epsilon", 1, "--bins", 10)
    assert found.exit_code == 0, found.output
    assert "[90, 99]" in found.stdout


@pytest.mark.parametrize("method", ["hierarchical", "dawa", "fourier", "sketch"])
def test_history_names_the_column_in_a_short_line(contract, method):
    words = ("--epsilon", 1, "--method", method, "--count", "3:3")
    found = run(contract, "age", *words)
    assert found.exit_code == 0, found.output
    assert "rows with another or no age do not count" in found.stderr
    assert "in no group" not in found.stderr
    shell = ["shell", str(contract)]
    listed = CliRunner().invoke(main, shell, input="\\history\n").output
    rows = [line for line in listed.splitlines() if "asked of people" in line]
    assert rows
    for row in rows:
        assert "by age" in row or ("with sketch =" in row and "age" in row)
        assert "by index" not in row and len(row) < 260


def test_cap_that_is_to_be_bought_is_refused_with_the_command_that_finds_one(contract):
    words = CONTRACT.replace('unit = "row"', 'unit = "who"\nmax_rows = "auto"')
    contract.write_text(words)
    contract.with_name("people.csv").write_text("who,age,seen\n1,2,2026-01-15\n")
    found = run(contract, "age", "--epsilon", 1)
    assert found.exit_code == 2
    assert "sfumato query CONTRACT --count --epsilon 0.1" in found.stderr
    assert "paid" not in found.output


@pytest.mark.parametrize(
    ("words", "advised"),
    [
        (("sex",), ["--group-by", "sex", "--count"]),
        (("placed",), ["--group-by", "day=date(placed)", "--count"]),
        (("placed", "--bins", 9), ["--group-by", "day=date(placed)", "--count"]),
    ],
)
def test_columns_that_another_command_counts_are_refused_with_that_command(
    contract, words, advised
):
    kinds = (
        'sex = { type = "category", values = ["F", "M"] }\n'
        'placed = { type = "timestamp", low = "2025-12-01T00:00:00", high = "2026-03-01T00:00:00" }'
    )
    contract.write_text(f"{CONTRACT}{kinds}\n")
    rows = "".join(f"1,2026-01-15,F,2026-01-1{i}T10:00:00\n" for i in range(9))
    contract.with_name("people.csv").write_text(f"age,seen,sex,placed\n{rows}")
    found = run(contract, *words, "--epsilon", 1)
    assert found.exit_code == 2
    typed = shlex.join(["sfumato", "query", "CONTRACT", *advised]).replace("'", '"')
    assert f"`{typed}`" in found.stderr
    query = CliRunner().invoke(main, ["query", str(contract), *advised, "--epsilon", "1"])
    assert query.exit_code == 0, query.output
