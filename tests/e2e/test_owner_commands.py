"""`sfumato init`, `check`, `dummy`, `budget`: what an owner does at a console. None reads a row."""

import csv
import json
import os
import re
from datetime import date
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.backends.duckdb import DuckDB
from sfumato.cli import main
from sfumato.core.errors import BudgetError, UnitError
from sfumato.ledger import Ledger
from sfumato.session.contract import Contract

CANARY, NUMBER = "canary-7f3a", 918273645546372819
FRAME = pa.table(
    {
        "rider_id": [NUMBER, NUMBER + 1],
        "zone": [CANARY, f"{CANARY}z"],
        "fare": [float(NUMBER), 1.5],
        "age": [31, 45],
        "day": [date(2026, 1, 2), date(2026, 1, 3)],
        "paid": [True, False],
    }
)
CONTRACT = """\
# kept
[budget]
epsilon = "1"  # one
ledger = "spent.ledger"
[tables.trips]
source = "trips.parquet"
version = "1"
unit = "rider_id"
max_rows = 2
[tables.trips.columns]
zone = { type = "category", values = ["A", "B"] }
age = { type = "integer", low = 0, high = 120, nullable = true }
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the same rows as Parquet, CSV and DuckDB, and a contract."""
    monkeypatch.chdir(tmp_path)
    pyarrow.parquet.write_table(FRAME, "trips.parquet")
    pyarrow.csv.write_csv(FRAME, "trips.csv")
    with duckdb.connect("town.duckdb") as db:
        db.register("frame", FRAME)
        db.execute("CREATE TABLE trips AS FROM frame")
        db.execute(f"CREATE TABLE riders (id INT, mood ENUM('{CANARY}', 'b'))")
    (tmp_path / "c.toml").write_text(CONTRACT, encoding="utf-8")
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def done(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result


def refused(*arguments):
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("error: ")
    return result.stderr


def asked(epsilon="0.25", **change):
    """Ask the contract once, as it is now."""
    with sf.connect("c.toml") as session:
        return session.table("trips").count().release(epsilon=epsilon)


# init


@pytest.mark.parametrize(
    "data", ["trips.parquet", "trips.csv", "town.duckdb", "duckdb:town.duckdb#trips"]
)
def test_init_writes_a_draft_that_opens_the_data(folder, data):
    result = done("init", data, "--out", "draft.toml")
    contract = Contract.read("draft.toml")
    assert contract.tables["trips"].unit.column == "rider_id"
    assert "age" in contract.tables["trips"].schema
    lines = result.output.splitlines()
    assert re.fullmatch(r"draft: draft\.toml, with \d+ open questions", lines[0])
    assert lines[1].endswith("then run: sfumato check draft.toml")
    assert len(lines) == 2
    with sf.connect("draft.toml") as session:
        assert session.table("trips").count().release(epsilon="0.5").columns[0] == "n"


def test_init_names_the_draft_and_its_ledger_for_the_table(folder):
    done("init", "trips.parquet")
    assert Contract.read("trips.toml").ledger == folder / "trips.ledger"
    done("init", "trips.parquet", "--name", "my trips/2026")
    assert list(Contract.read("my trips-2026.toml").tables) == ["my trips/2026"]


def test_init_finds_the_data_from_the_folder_of_the_contract(folder):
    (folder / "contracts").mkdir()
    done("init", "trips.parquet", "--out", "contracts/t.toml")
    table = Contract.read("contracts/t.toml").tables["trips"]
    assert table.source == "../trips.parquet"
    assert Path(table.location).samefile("trips.parquet")


def test_init_takes_a_pattern(folder):
    (folder / "visits").mkdir()
    for part in "ab":
        pyarrow.parquet.write_table(FRAME, f"visits/{part}.parquet")
    done("init", "visits/*.parquet")
    assert Contract.read("visits.toml").tables["visits"].source == "visits/*.parquet"


@pytest.mark.parametrize(
    "name", ["~home.csv", "spark:x.csv", 'a"b\n# c.csv', "duckdb.csv", "\u202e.csv"]
)
def test_init_writes_any_name_of_a_file(folder, name):
    (folder / name).write_text("id,age\n1,2\n", encoding="utf-8")
    done("init", name, "--out", "odd.toml")
    (table,) = Contract.read("odd.toml").tables.values()
    assert Path(table.location).samefile(name)
    assert run("check", "odd.toml").exit_code == 1


def test_init_replaces_nothing_unless_told_and_never_the_data(folder):
    (folder / "trips.toml").write_text("mine", encoding="utf-8")
    assert "--force" in refused("init", "trips.parquet")
    assert (folder / "trips.toml").read_text(encoding="utf-8") == "mine"
    before = (folder / "trips.parquet").read_bytes()
    assert "destroy" in refused("init", "trips.parquet", "--out", "trips.parquet", "--force")
    assert (folder / "trips.parquet").read_bytes() == before
    done("init", "trips.parquet", "--force")
    assert Contract.read("trips.toml").tables
    assert not [path.name for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ("none.csv", [], "there is no file"),
        ("trips.txt", [], "what kind of file"),
        ("postgresql://db/x", [], "Private rows are not fetched"),
        ("trips.parquet", ["--unit", "driver"], "no table has a column 'driver'"),
        ("town.duckdb", ["--name", "x"], "one name cannot mean all of them"),
        ("trips.parquet", ["--out", "none/x.toml"], "cannot write 'x.toml'"),
        ("trips.parquet", ["--out", "."], "is a folder"),
    ],
    ids=["missing", "kind", "address", "unit", "name", "out", "folder"],
)
def test_init_says_what_is_wrong(folder, data, options, message):
    assert message in refused("init", data, *options)


@pytest.mark.parametrize(
    "content",
    [f'id,"name\n7,{CANARY}\n', f"7,{CANARY}@example.org,3\n8,b@example.org,4\n"],
    ids=["quotation mark", "no header"],
)
def test_init_takes_no_row_for_a_header(folder, content):
    (folder / "odd.csv").write_text(content, encoding="utf-8")
    assert CANARY not in refused("init", "odd.csv")
    assert not (folder / "odd.toml").exists()


# canaries


@pytest.mark.parametrize("data", ["trips.parquet", "trips.csv", "town.duckdb"])
def test_no_value_of_a_row_or_a_statistic_comes_out(folder, data):
    secrets = [CANARY, str(NUMBER), str(float(NUMBER)), "9.18273"]
    raw = (folder / data).read_bytes()
    assert CANARY.encode() in raw
    if data == "trips.parquet":
        group = pyarrow.parquet.ParquetFile(data).metadata.row_group(0)
        assert group.column(1).statistics.min == CANARY
    with patch.object(DuckDB, "run", side_effect=AssertionError("data was read")):
        said = [done("init", data, "--out", "d.toml"), run("check", "d.toml", "--strict")]
        said += [run("check", "d.toml", "--format", "json")]
        said += [done("dummy", "d.toml", "--table", "trips", "--out", "d.csv")]
        said += [done("dummy", "d.toml", "--table", "trips", "--rows", 3)]
    text = "".join(result.stdout + result.stderr for result in said)
    text += "".join((folder / file).read_text(encoding="utf-8") for file in ("d.toml", "d.csv"))
    assert "zone" in text
    assert [secret for secret in secrets if secret in text] == []


# check


def test_check_of_a_contract_in_order_exits_with_0(folder):
    result = done("check", "c.toml")
    assert result.output.splitlines()[-1] == "0 errors, 0 warnings, 3 notes"
    assert "note  budget.ledger: the ledger 'spent.ledger' does not exist yet." in result.output
    assert run("check", "c.toml", "--strict").exit_code == 1


def test_check_of_a_draft_exits_with_1_and_names_every_open_question(folder):
    done("init", "trips.parquet")
    result = run("check", "trips.toml")
    assert result.exit_code == 1
    text = (folder / "trips.toml").read_text(encoding="utf-8")
    assert result.output.count(" asks: ") == text.count("#?") > 5
    assert "warning  tables.trips.columns.fare: line " in result.output


@pytest.mark.parametrize(
    ("change", "rule", "place"),
    [
        (("max_rows", "max_row"), "contract.unreadable", "tables.trips.max_row"),
        (("[budget]", "[budget"), "contract.unreadable", "line 2, column 8"),
        (("trips.parquet", "none.parquet"), "table.unreadable", "tables.trips"),
        (('"rider_id"', '"rider"'), "column.missing", "tables.trips.unit"),
    ],
    ids=["key", "toml", "file", "unit"],
)
def test_check_of_a_contract_that_cannot_be_used_exits_with_2(folder, change, rule, place):
    (folder / "c.toml").write_text(CONTRACT.replace(*change), encoding="utf-8")
    result = run("check", "c.toml", "--format", "json")
    assert result.exit_code == 2
    document = json.loads(result.stdout)
    assert document["errors"] == 1
    first = document["findings"][0]
    assert (first["level"], first["rule"], first["place"]) == ("error", rule, place)
    assert set(first) == {"level", "rule", "place", "what", "why", "mend"}


def test_check_needs_no_data_where_that_is_said(folder):
    (folder / "trips.parquet").unlink()
    assert run("check", "c.toml").exit_code == 2
    done("check", "c.toml", "--no-data")


def test_check_changes_nothing(folder):
    asked()
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done("check", "c.toml")
    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert {name for name in before | after if before.get(name) != after.get(name)} <= {
        "spent.ledger-shm",
        "spent.ledger-wal",
    }


# dummy


def test_dummy_works_where_the_data_does_not_exist(folder):
    (folder / "trips.parquet").unlink()
    result = done("dummy", "c.toml", "--rows", 40)
    rows = list(csv.DictReader(result.stdout.splitlines()))
    assert list(rows[0]) == ["rider_id", "zone", "age"]
    assert len(rows) == 40
    assert {row["zone"] for row in rows} == {"A", "B"}
    assert not (folder / "spent.ledger").exists()


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_dummy_can_stand_in_for_the_data(folder, form):
    done("dummy", "c.toml", "--rows", 50, "--out", f"dummy.{form}")
    text = CONTRACT.replace("trips.parquet", f"dummy.{form}").replace('"spent', '"other')
    (folder / "c.toml").write_text(text, encoding="utf-8")
    assert abs(asked(epsilon=1).measure("n").values[0] - 50) < 100
    assert run("check", "c.toml").exit_code == 0


@pytest.mark.parametrize("out", ["trips.parquet", "c.csv", "both.csv"])
def test_dummy_never_replaces_the_data(folder, out):
    (folder / "c.csv").symlink_to("trips.csv")
    os.link("trips.csv", "both.csv")
    text = CONTRACT + '[tables.more]\nsource = "*.csv"\nunit = "rider_id"\nmax_rows = 2\n'
    text += 'columns.zone = { type = "text" }\n'
    (folder / "c.toml").write_text(text, encoding="utf-8")
    before = (folder / out).read_bytes()
    message = refused("dummy", "c.toml", "--table", "trips", "--out", out, "--force")
    assert "destroy" in message
    assert (folder / out).read_bytes() == before


def test_dummy_replaces_no_ledger_of_another_contract(folder):
    other = folder / "other.csv"
    Ledger.create(other, sf.Budget(1), sf.Unit.row()).close()
    before = other.read_bytes()
    assert "destroy" in refused("dummy", "c.toml", "--out", "other.csv", "--force")
    assert other.read_bytes() == before


def test_dummy_says_what_is_wrong(folder):
    (folder / "old.csv").write_text("mine", encoding="utf-8")
    assert "--force" in refused("dummy", "c.toml", "--out", "old.csv")
    assert "CSV or Parquet" in refused("dummy", "c.toml", "--out", "old.xlsx")
    assert "no table 'x'" in refused("dummy", "c.toml", "--table", "x")


# budget


def test_budget_is_raised_in_the_ledger_and_then_in_the_contract(folder):
    asked()
    result = done("budget", "c.toml", "--epsilon", "6.5")
    assert result.stdout.startswith("the budget was ε = 1, is ε = 6.5; left: ε = 6.25; head ")
    assert 'next: write epsilon = "6.5" under [budget] of c.toml' in result.stdout
    with pytest.raises(BudgetError, match="sfumato budget"):
        asked()
    result = done("budget", "c.toml", "--epsilon", "6.5", "--write")
    assert "is ε = 6.5 already" in result.stdout
    text = (folder / "c.toml").read_text(encoding="utf-8")
    assert text == CONTRACT.replace('"1"  # one', '"6.5"  # one')
    asked(epsilon=2)
    assert "c.toml declares the same\n" in done("budget", "c.toml", "--epsilon", "6.5").stdout
    assert done("ledger", "verify", "c.toml")
    assert [e.kind for e in Ledger.open("spent.ledger").history()].count("raised") == 1


def test_budget_may_be_lowered_as_far_as_was_spent(folder):
    asked(epsilon="0.25")
    assert "cannot be set below" in refused("budget", "c.toml", "--epsilon", "0.2", "--write")
    assert (folder / "c.toml").read_text(encoding="utf-8") == CONTRACT
    done("budget", "c.toml", "--epsilon", "0.25", "--write")
    with sf.connect("c.toml") as session:
        assert session.remaining.epsilon == 0


def test_budget_keeps_the_delta_it_has(folder):
    asked()
    done("budget", "c.toml", "--delta", "1e-7", "--write")
    done("budget", "c.toml", "--epsilon", "3", "--write")
    assert 'delta = "1e-7"' in (folder / "c.toml").read_text(encoding="utf-8")
    budget = Contract.read("c.toml").budget
    assert (budget.epsilon, budget.delta) == (3, Fraction("1e-7"))
    assert Ledger.open("spent.ledger").budget == budget


def test_budget_gives_an_analyst_a_share(folder):
    asked()
    result = done("budget", "c.toml", "--analyst", "Zoë", "--epsilon", "0.5", "--write")
    assert result.stdout.startswith("the share of Zoë was not there, is ε = 0.5; left: ε = 0.5")
    assert "only analysts with a share" in result.stderr
    with sf.connect("c.toml", analyst="Zoë") as session:
        assert session.remaining.epsilon == Fraction("0.5")
    done("budget", "c.toml", "--analyst", "Zoë", "--epsilon", "0.75", "--write")
    assert Contract.read("c.toml").analysts["Zoë"].epsilon == Fraction("0.75")


def test_budget_says_what_is_wrong(folder):
    assert "does not exist yet" in refused("budget", "c.toml", "--epsilon", "2")
    asked()
    assert "which limit" in refused("budget", "c.toml")
    assert "which limit" in refused("budget", "c.toml", "--epsilon", "2", "--rho", "1")
    assert "must be above 0" in refused("budget", "c.toml", "--epsilon", "0")
    assert "Pass the contract" in refused("budget", "spent.ledger", "--epsilon", "2", "--write")
    assert "by hand" in refused("budget", "c.toml", "--rho", "2", "--write")
    assert Ledger.open("spent.ledger").budget == sf.Budget(1)
    assert "declare the same" in done("budget", "spent.ledger", "--epsilon", "2").stdout


def test_budget_keeps_rights_and_links_of_the_contract(folder):
    (folder / "c.toml").write_bytes(CONTRACT.replace("\n", "\r\n").encode("utf-8-sig"))
    asked()
    (folder / "c.toml").chmod(0o640)
    (folder / "link.toml").symlink_to("c.toml")
    done("budget", "link.toml", "--epsilon", "2", "--write")
    assert (folder / "link.toml").is_symlink()
    assert (folder / "c.toml").stat().st_mode & 0o777 == 0o640
    text = CONTRACT.replace("\n", "\r\n").replace('"1"  # one', '"2"  # one')
    assert (folder / "c.toml").read_bytes() == text.encode("utf-8-sig")


# what may change in a contract once it was asked


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('unit = "rider_id"\nmax_rows = 2', 'unit = "age"\nmax_rows = 2'),
        ('unit = "rider_id"\nmax_rows = 2', 'unit = "row"'),
        ("[tables.trips]", '[unit]\nneighbors = "replace"\n[tables.trips]'),
    ],
    ids=["column", "row", "neighbors"],
)
def test_unit_and_neighbors_cannot_change_after_a_question(folder, old, new):
    asked()
    text = CONTRACT.replace(old, new).replace("age = {", "fare = {")
    (folder / "c.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UnitError, match="protects another unit"):
        asked()
    result = run("check", "c.toml", "--format", "json")
    assert result.exit_code == 2
    assert "ledger.unit" in [f["rule"] for f in json.loads(result.stdout)["findings"]]
    (folder / "c.toml").write_text(CONTRACT, encoding="utf-8")
    asked()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("max_rows = 2", "max_rows = 1"),
        ("max_rows = 2", "max_groups = 2\nmax_rows_per_group = 1"),
        ("high = 120", "high = 99"),
        ('"A", "B"', '"A", "B", "C"'),
        ('source = "trips.parquet"', 'source = "trips.csv"'),
    ],
    ids=["cap", "caps", "bounds", "values", "source"],
)
def test_caps_and_columns_may_change_after_a_question(folder, old, new):
    asked()
    (folder / "c.toml").write_text(CONTRACT.replace(old, new), encoding="utf-8")
    asked(epsilon="0.125")
    assert run("check", "c.toml").exit_code == 0


def test_refresh_says_that_the_contract_names_another_version(folder):
    asked()
    result = done("ledger", "refresh", "c.toml", "trips", "2")
    assert result.stdout.startswith("trips is at version 2; head ")
    assert "the contract declares version '1'" in result.stderr
    (folder / "c.toml").write_text(CONTRACT.replace('version = "1"\n', ""), encoding="utf-8")
    assert done("ledger", "refresh", "c.toml", "trips", "3").stderr == ""
