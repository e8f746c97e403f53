"""`sfumato marginals`: many tables from one charge, as people ask for them at a console."""

import json

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli import main
from sfumato.ledger import Ledger

CONTRACT = """
[budget]
rho = 100
ledger = "town.ledger"
[tables.people]
source = "people.csv"
unit = "id"
max_rows = 1
[tables.people.columns]
age = { type = "integer", low = 0, high = 19 }
sex = { type = "category", values = ["f", "m"] }
zone = { type = "category", values = ["A", "B, or C", "ü"] }
fare = { type = "real", low = 0, high = 200, step = "0.01" }
"""


@pytest.fixture
def town(tmp_path):
    zones = ["A", "B, or C", "ü"]
    rows = [f'{i},{i % 20},{"fm"[i % 2]},"{zones[i % 3]}",{i % 200}' for i in range(600)]
    lines = ["id,age,sex,zone,fare", *rows]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "town.toml").write_text(CONTRACT, encoding="utf-8")
    return tmp_path


def run(town, *arguments, code=0):
    result = CliRunner().invoke(main, ["marginals", str(town / "town.toml"), *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result


THREE = ("--columns", "age,sex,zone")


def test_tables_are_written_for_one_charge(town):
    out = town / "tables"
    result = run(town, "--way", 2, *THREE, "--rho", 2, "--format", "csv", "--out", out)
    assert "paid" in result.stderr
    assert "left: ρ = 98" in result.stderr
    names = {path.name for path in out.iterdir()}
    assert names == {"age-sex.csv", "age-zone.csv", "sex-zone.csv", "marginals.json"}
    text = (out / "sex-zone.csv").read_text(encoding="utf-8")
    assert text.startswith("sex,zone,n,n_low,n_high,n_std\nf,A,")
    assert '"B, or C"' in text
    answer = sf.marginals.Marginals.from_json((out / "marginals.json").read_text().strip())
    assert abs(answer.table("age").value.sum() - 600) < 60
    again = run(town, "--way", 2, *THREE, "--rho", 2, "--format", "parquet", "--out", town / "p")
    assert "paid nothing more" in again.stderr
    assert "left: ρ = 98" in again.stderr
    held = pq.read_table(town / "p" / "sex-zone.parquet")
    assert held["n"].to_pylist() == answer.table("sex", "zone").value.ravel().tolist()


def test_explain_is_free_and_leaves_nothing_behind(town):
    result = run(
        town, "--marginal", "age,sex", "--marginal", "zone", *THREE, "--rho", 1, "--explain"
    )
    assert "root mean squared error" in result.stdout
    assert not (town / "town.ledger").exists()
    told = run(town, "--way", 1, *THREE, "--rho", 1, "--explain", "--format", "json")
    assert [m["columns"] for m in json.loads(told.stdout)["marginals"]] == [
        ["age"],
        ["sex"],
        ["zone"],
    ]


def test_tables_are_printed_and_bins_are_made(town):
    result = run(
        town,
        *("--marginal", "decade,sex", "--bins", "decade=floor(age, 10)", "--where", "age >= 10"),
        *("--columns", "decade,sex", "--rho", 20, "--nonnegative"),
    )
    assert result.stdout.splitlines()[0].split() == ["decade", "sex", "n", "n_low", "n_high"]
    assert "note:" in result.stderr


def test_the_whole_release_is_printed_as_json(town):
    result = run(town, "--way", 1, *THREE, "--rho", 1, "--format", "json")
    answer = sf.marginals.Marginals.from_json(result.stdout.strip())
    assert answer.columns == ("age", "sex", "zone")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--rho", 1), "--way"),
        (("--way", 2), "--epsilon"),
        (("--way", 2, "--rho", 1, "--epsilon", 1), "--epsilon"),
        (("--way", 2, "--rho", 1, "--format", "csv"), "--out"),
        (("--way", 2, "--rho", 1), "fare"),
        (("--way", 2, "--rho", 0, *THREE), "rho"),
        (("--way", 9, "--rho", 1, *THREE), "9 columns"),
        (("--marginal", "age,bo", "--rho", 1, *THREE), "bo"),
        (("--way", 2, "--epsilon", "nan", *THREE), "epsilon"),
        (("--way", 2, "--rho", 1, "--bins", "decade", *THREE), "--bins"),
        (("--way", 1, "--rho", 1, "--explain", "--format", "csv", *THREE), "explanation"),
        (("--way", 2, "--rho", 1000, *THREE), "costs"),
        (("--way", 2, "--rho", 1, "--table", "bo", *THREE), "bo"),
    ],
)
def test_what_cannot_be_asked_is_refused(town, arguments, words):
    result = run(town, *arguments, code=2)
    assert words in result.stderr
    shown = CliRunner().invoke(main, ["ledger", "show", str(town / "town.toml")])
    assert "ρ = 100" in shown.output or not (town / "town.ledger").exists()


def test_nothing_is_written_over_the_data(town):
    (town / "people.csv").rename(town / "sex.csv")
    text = CONTRACT.replace("people.csv", "sex.csv")
    (town / "town.toml").write_text(text, encoding="utf-8")
    asked = ("--way", 1, *THREE, "--rho", 1, "--format", "csv", "--force", "--out", town)
    assert "would destroy it" in run(town, *asked, code=2).stderr
    shown = CliRunner().invoke(main, ["ledger", "show", str(town / "town.toml")])
    assert "ρ = 100" in shown.output


@pytest.mark.parametrize(("form", "name"), [("csv", "sex.csv"), ("json", "marginals.json")])
def test_ledger_of_another_contract_is_not_written_over(town, form, name):
    (town / "out").mkdir()
    other = town / "out" / name
    Ledger.create(other, sf.Budget(1), sf.Unit.row()).close()
    before = other.read_bytes()
    asked = ("--way", 1, *THREE, "--rho", 1, "--format", form, "--force", "--out", town / "out")
    assert "would destroy it" in run(town, *asked, code=2).stderr
    assert other.read_bytes() == before
    shown = CliRunner().invoke(main, ["ledger", "show", str(town / "town.toml")])
    assert "ρ = 100" in shown.output


def test_folder_in_the_place_of_a_table_costs_nothing(town):
    (town / "out" / "sex.csv").mkdir(parents=True)
    asked = ("--way", 1, *THREE, "--rho", 1, "--format", "csv", "--force", "--out", town / "out")
    assert "Nothing was charged" in run(town, *asked, code=2).stderr
    shown = CliRunner().invoke(main, ["ledger", "show", str(town / "town.toml")])
    assert "ρ = 100" in shown.output


def test_a_folder_that_is_in_use_is_refused_before_any_charge(town):
    (town / "full").mkdir()
    (town / "full" / "precious.csv").write_text("x")
    asked = ("--way", 1, *THREE, "--rho", 1, "--format", "csv", "--out")
    assert "not empty" in run(town, *asked, town / "full", code=2).stderr
    assert "cannot write" in run(town, *asked, town / "people.csv", code=2).stderr
    assert "cannot write" in run(town, *asked, town / "no" / "such", code=2).stderr
    assert not (town / "town.ledger").exists()
    run(town, *asked, town / "full", "--force")
    assert (town / "full" / "precious.csv").exists()


def test_too_many_cells_for_nonnegative_are_refused_before_any_charge(town, monkeypatch):
    from sfumato.marginals import nonnegative

    monkeypatch.setattr(nonnegative, "MOST_CELLS", 20 * 3 + 2 * 3 + 20 * 2 - 1)
    asked = ("--way", 2, *THREE, "--rho", 2, "--format", "csv", "--out", town / "tables")
    told = run(town, *asked, "--nonnegative", code=2)
    assert "106 cells together" in told.stderr
    assert not (town / "tables").exists()
    assert "left: ρ = 98" in run(town, *asked).stderr  # of 100


def test_the_release_is_kept_whatever_becomes_of_its_tables(town, monkeypatch):
    def broken(self):
        raise sf.errors.InputError("not today.")

    monkeypatch.setattr(sf.marginals.Marginals, "nonnegative", broken)
    out = town / "tables"
    asked = ("--way", 1, *THREE, "--rho", 2, "--format", "csv", "--out", out)
    run(town, *asked, "--nonnegative", code=2)
    text = (out / "marginals.json").read_text(encoding="ascii").strip()
    assert sf.marginals.Marginals.from_json(text).columns == ("age", "sex", "zone")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--way", 2, "--rho", 1), "--bins 'fare_bin=floor(fare, width)'"),
        (("--way", 2, "--rho", 1), "leave it out of --columns"),
        (("--way", 1, *THREE, "--epsilon", 1, "--method", "residuals"), "or --method counts"),
        (("--way", -1, *THREE, "--epsilon", 1), "--way takes"),
        (("--way", 1, "--columns", "age,age", "--epsilon", 1), "--columns names"),
        (("--way", 1, *THREE, "--epsilon", 1, "--objective", "max"), "leave --objective out"),
        (("--way", 1, *THREE, "--explain"), "--explain says for free"),
    ],
)
def test_refusals_name_options(town, words, said):
    found = run(town, *words, code=2)
    assert said in found.stderr
    for name in ("columns=", "objective=", "method=", "delta=", "with_columns", "Add --explain"):
        assert name not in found.stderr


def test_every_remedy_of_marginals_is_an_option():
    from sfumato.cli.wording import in_options

    said = "Ask for marginals of fewer columns, name columns=, or make coarser bins with {}."
    made = in_options(said.format("floor(column, width)"), marginals=True)
    assert made == (
        "Ask for marginals of fewer columns, name some with --columns A,B, or make coarser bins "
        "with --bins 'decade=floor(age, 10)'."
    )
