"""`sfumato query`: a question to private tables, as people ask it at a console."""

import csv
import io
import json
import os
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

import sfumato
from sfumato.cli import main
from sfumato.cli.listing import aligned, as_csv, as_text, decimal
from sfumato.core.errors import InternalError
from sfumato.core.loss import Pure
from sfumato.ledger import Ledger
from sfumato.release import Release
from sfumato.release.measure import Measure

SOURCE = Path(sfumato.__file__).parents[1]
PEOPLE = 600
CONTRACT = """
[budget]
epsilon = {budget}
ledger = "town.ledger"
{shares}
[tables.people]
source = "people.csv"
unit = "id"
max_rows = 1
[tables.people.columns]
age = {{ type = "integer", low = 0, high = 120 }}
region = {{ type = "category", values = ["A", "B, or C"] }}
sex = {{ type = "category", values = ["f", "m"] }}
income = {{ type = "integer", low = 0, high = 1000, nullable = true }}
floor = {{ type = "category", values = [1, 2] }}
insured = {{ type = "boolean" }}
name = {{ type = "text" }}
"""
SHARES = '[analysts.ana]\nepsilon = 1\n[analysts.bob]\nepsilon = "0.5"\n'


def person(i):
    region = "A" if i % 3 else "B, or C"
    income = "" if i % 10 == 0 else i % 900
    cells = [i, i % 90, region, "fm"[i % 2], income, 1 + i % 2, i % 4 == 0, f"person {i % 7}"]
    return ",".join(f'"{cell}"' for cell in cells)


class Town:
    """A folder with people, their contract and its ledger."""

    def __init__(self, folder, budget=1000, shares=""):
        self.folder, self.contract = folder, folder / "town.toml"
        lines = ["id,age,region,sex,income,floor,insured,name", *map(person, range(PEOPLE))]
        (folder / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.contract.write_text(CONTRACT.format(budget=budget, shares=shares), encoding="utf-8")

    def ask(self, *options):
        """Run `sfumato query` in this process."""
        return CliRunner().invoke(main, ["query", str(self.contract), *map(str, options)])

    @property
    def ledger(self):
        return Ledger.open(self.folder / "town.ledger")


@pytest.fixture
def town(tmp_path):
    return Town(tmp_path)


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def refused(result, code, *words):
    """Check the one message of a refusal: nothing on standard output, no traceback."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.endswith(f"[{code}]\n")
    assert result.stderr.count("\n") == 1
    for word in words:
        assert word in result.stderr
    return True


def spawned(*arguments, **options):
    """Start `sfumato` as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", "from sfumato.cli import main; main()", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONUTF8": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        **options,
    )


# At ε = 100 for one count the noise passes 1 with probability below 1e-40.
EXACT = ("--epsilon", 100)


def test_query_counts_groups_and_prints_a_table(town):
    result = town.ask("--group-by", "region", "--count", *EXACT)
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[0] == ["region", "n", "n_low", "n_high"]
    assert lines[1][:2] == ["A", "400"]
    assert lines[2][-3] == "200"
    assert "paid ε = 100" in result.stderr
    assert "left: ε = 900" in result.stderr
    assert "95 %" in result.stderr
    assert "rows with another or no region are in no group" in result.stderr


def test_query_asks_for_several_numbers_at_once(town):
    options = ("--group-by", "region", "--group-by", "sex", "--where", "age >= 18")
    asked = ("--where", "insured", "--count", "--sum", "income", "--mean", "age")
    result = town.ask(*options, *asked, "--mean", "pay=income / 12", *EXACT, "--format", "csv")
    assert result.exit_code == 0, result.output
    found = rows(result.stdout)
    assert [(row["region"], row["sex"]) for row in found] == [
        ("A", "f"),
        ("A", "m"),
        ("B, or C", "f"),
        ("B, or C", "m"),
    ]
    chosen = [i for i in range(PEOPLE) if i % 3 and i % 90 >= 18 and i % 4 == 0]
    earning = [i % 900 for i in chosen if i % 10]
    first = found[0]
    assert int(first["n"]) == len(chosen)
    assert float(first["income"]) == pytest.approx(sum(earning), rel=0.05)
    assert float(first["age"]) == pytest.approx(sum(i % 90 for i in chosen) / len(chosen), abs=1)
    assert float(first["pay"]) == pytest.approx(sum(earning) / len(earning) / 12, abs=1)
    assert int(found[1]["n"]) == 0  # who is insured has an even number, and is f


def test_query_asks_for_variance_and_standard_deviation(town):
    asked = ("--variance", "age", "--std", "sd=age", "--group-by", "sex")
    result = town.ask(*asked, "--epsilon", 900, "--format", "csv")
    assert result.exit_code == 0, result.output
    for row, start in zip(rows(result.stdout), (0, 1), strict=True):
        ages = [i % 90 for i in range(start, PEOPLE, 2)]
        mean = sum(ages) / len(ages)
        variance = sum((age - mean) ** 2 for age in ages) / len(ages)
        assert float(row["age"]) == pytest.approx(variance, rel=0.02)
        assert float(row["sd"]) == pytest.approx(variance**0.5, rel=0.01)


@pytest.mark.parametrize(
    ("bins", "found"),
    [
        ("2", {"[0, 60)": 420, "[60, 120]": 180}),
        ("10, 20,90.5", {"[10, 20)": 70, "[20, 90.5]": 460}),
    ],
)
def test_query_counts_bins(town, bins, found):
    result = town.ask("--histogram", "age", "--bins", bins, *EXACT, "--format", "csv")
    assert result.exit_code == 0, result.output
    assert {row["age"]: int(row["n"]) for row in rows(result.stdout)} == found
    assert "is in no bin" in result.stderr


def test_query_counts_bins_in_groups(town):
    asked = ("--group-by", "sex", "--histogram", "age", "--bins", 3, "--format", "csv")
    result = town.ask(*asked, *EXACT)
    assert [(row["sex"], row["age"]) for row in rows(result.stdout)][2:4] == [
        ("f", "[80, 120]"),
        ("m", "[0, 40)"),
    ]


def test_query_passes_numbers_on_to_the_last_digit(town):
    result = town.ask("--count", "--epsilon", "0.100000000000000001", "--format", "json")
    assert result.exit_code == 0, result.output
    cost = Release.from_json(result.stdout.strip()).cost
    assert sfumato.accounting.epsilon(cost) == Fraction("0.100000000000000001")


@pytest.mark.parametrize(
    ("price", "shown"),
    [
        (("--epsilon", "1/3"), "paid ε = 0.3334"),
        (("--rho", "0.5"), "ρ = 0.5"),
    ],
)
def test_query_takes_either_price(town, price, shown):
    text = town.contract.read_text(encoding="utf-8")
    town.contract.write_text(text.replace("epsilon = 1000", 'epsilon = 50\ndelta = "1e-6"'))
    result = town.ask("--count", *price)
    assert result.exit_code == 0, result.output
    assert shown in result.stderr


def test_delta_buys_gaussian_noise(town):
    text = town.contract.read_text(encoding="utf-8")
    town.contract.write_text(text.replace("epsilon = 1000", 'epsilon = 50\ndelta = "1e-6"'))
    # Of many numbers at once: their ε add up, their ρ add up more slowly.
    options = [word for i in range(60) for word in ("--sum", f"s{i}=age + {i}")]
    result = town.ask(*options, "--epsilon", "0.5", "--delta", "1e-7", "--explain")
    assert "DiscreteGaussian" in result.stdout, result.output
    assert "DiscreteGaussian" not in town.ask(*options, "--epsilon", "0.5", "--explain").stdout


def test_confidence_widens_the_interval(town):
    widths = []
    for confidence in ("0.5", "0.999"):
        result = town.ask("--count", "--epsilon", 1, "--confidence", confidence, "--format", "csv")
        (row,) = rows(result.stdout)
        widths.append(int(row["n_high"]) - int(row["n_low"]))
    assert 0 < widths[0] < widths[1]


def test_explain_is_free_and_leaves_nothing_behind(town):
    question = ("--group-by", "region", "--count", "--mean", "income", "--epsilon", 1)
    result = town.ask(*question, "--explain")
    assert result.exit_code == 0, result.output
    assert not (town.folder / "town.ledger").exists()
    for part in ("cost      ε = 1", "of ε = 1000 left", "income    ±", "why", "sql"):
        assert part in result.stdout
    assert result.stderr == ""
    assert town.ask("--count", "--epsilon", 1).exit_code == 0
    head = town.ledger.head
    assert town.ask(*question, "--explain", "--format", "json").exit_code == 0
    assert town.ledger.head == head


def test_explain_as_json_is_what_the_plan_says(town):
    result = town.ask("--count", "--epsilon", "0.5", "--explain", "--format", "json")
    plan = json.loads(result.stdout)
    with sfumato.connect(town.contract) as session:
        assert plan == session.table().count().explain(epsilon="0.5").to_dict()
    assert plan["cost"].startswith("ε = 0.5")
    assert plan["expected"][0]["name"] == "n"


def test_json_is_the_release_to_the_last_bit(town):
    result = town.ask("--group-by", "region", "--count", "--epsilon", 1, "--format", "json")
    release = Release.from_json(result.stdout.removesuffix("\n"))
    assert release.to_json() + "\n" == result.stdout
    assert json.loads(result.stdout)["$"] == "Release"
    with sfumato.connect(town.contract) as session:  # from the ledger, and the same
        assert session.table().group_by("region").count().release(epsilon=1) == release
    assert release.durable


def test_parquet_goes_to_a_file(town):
    from pyarrow import parquet

    out = town.folder / "answer.parquet"
    result = town.ask("--group-by", "sex", "--count", *EXACT, "--format", "parquet", "--out", out)
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    table = parquet.read_table(out)
    assert table["n"].to_pylist() == [300, 300]
    assert b"sfumato.release" in table.schema.metadata


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_out_holds_what_would_have_been_printed(town, form):
    question = ("--group-by", "region", "--count", "--epsilon", 1, "--format", form)
    out = town.folder / "answer"
    written = town.ask(*question, "--out", out)
    assert (written.exit_code, written.stdout) == (0, ""), written.output
    assert "paid ε = 1" in written.stderr
    assert out.read_text(encoding="utf-8") == town.ask(*question).stdout


@pytest.mark.parametrize("name", ["a.csv", "a.JSON", "a.parquet", "a.txt", "csv"])
def test_form_follows_the_name_of_the_file_unless_it_is_said(town, name):
    question = ("--group-by", "region", "--count", "--epsilon", 1)
    out, said = town.folder / name, town.folder / "said"
    assert town.ask(*question, "--out", out).exit_code == 0
    form = {".csv": "csv", ".json": "json", ".parquet": "parquet"}.get(out.suffix.lower(), "table")
    assert town.ask(*question, "--out", said, "--format", form).exit_code == 0
    assert out.read_bytes() == said.read_bytes()
    assert town.ask(*question, "--out", out, "--format", "csv").exit_code == 0
    assert out.read_text(encoding="utf-8").startswith("region,n,")


def test_explanation_is_not_written_as_a_table_that_it_is_not(town):
    question = ("--count", "--epsilon", 1, "--explain", "--out")
    refused(town.ask(*question, town.folder / "a.csv"), "E100", "--format table")
    assert town.ask(*question, town.folder / "a.csv", "--format", "table").exit_code == 0
    assert town.ask(*question, town.folder / "a.json").exit_code == 0
    assert json.loads((town.folder / "a.json").read_text(encoding="utf-8"))["cost"]


def test_repeated_question_is_free_and_the_same(town):
    question = ("--group-by", "region", "--count", "--epsilon", 1)
    first, again = town.ask(*question), town.ask(*question)
    assert first.stdout == again.stdout
    assert "paid ε = 1" in first.stderr
    assert "paid nothing more: answered before, in ledger entry 2" in again.stderr
    assert "left: ε = 999" in again.stderr


def test_stored_answer_of_another_analyst_is_paid_in_an_entry_of_ones_own(tmp_path):
    town = Town(tmp_path, shares=SHARES)
    question = ("--group-by", "region", "--count", "--epsilon", "0.25", "--analyst")
    first, theirs, again = (town.ask(*question, who) for who in ("ana", "bob", "bob"))
    assert first.stdout == theirs.stdout == again.stdout
    given = next(e for e in town.ledger.history() if e.kind == "given")
    settled = next(e for e in town.ledger.history() if e.kind == "settled")
    said = f"ledger entry {given.seq}, for the answer that entry {settled.ref} paid for"
    assert f"paid ε = 0.25, ρ = 0.03109, {said}; left: ε = 0.25" in theirs.stderr
    assert "for the answer" not in first.stderr
    told = CliRunner().invoke(
        main, ["ledger", "history", str(town.contract), "--questions", "--format", "json"]
    )
    asked = {entry["entry"]: entry["question"] for entry in json.loads(told.stdout)}
    assert asked[given.seq] == asked[settled.ref] == "number of rows by region, asked of people"
    assert asked[settled.seq] is None
    assert f"paid nothing more: answered before, in ledger entry {given.seq};" in again.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is full")
def test_output_that_has_no_room_is_no_defect_and_can_be_asked_for_again(town):
    code = "from sfumato.cli import main; main()"
    command = [sys.executable, "-c", code, "query", town.contract, "--count", "--epsilon", "1"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command,
            env={**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONUTF8": "1"},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            check=False,
        )
    assert done.returncode == 2
    assert "there is no room for it on the disk" in done.stderr
    assert "[E100]" in done.stderr
    assert "paid nothing more" in town.ask("--count", "--epsilon", 1).stderr


def test_request_id_means_one_question_for_ever(town):
    first = town.ask("--count", "--epsilon", 1, "--request", "monday")
    assert town.ask("--count", "--epsilon", 1, "--request", "monday").stdout == first.stdout
    other = town.ask("--count", "--epsilon", 2, "--request", "monday")
    assert refused(other, "E407", "new request id")


@pytest.mark.parametrize(
    ("column", "keys", "found"),
    [
        ("region", '"B, or C"', ["B, or C"]),
        ("region", 'A,"B, or C"', ["A", "B, or C"]),
        ("floor", "2,1", ["2", "1"]),
        ("age", "18,20", ["18", "20"]),
        ("insured", "TRUE", ["true"]),
        ("name", "person 3", ["person 3"]),
    ],
)
def test_keys_are_read_as_the_column_has_them(town, column, keys, found):
    options = ("--group-by", column, "--keys", f"{column}={keys}", "--count", *EXACT)
    result = town.ask(*options, "--format", "csv")
    assert result.exit_code == 0, result.output
    answers = rows(result.stdout)
    assert [row[column] for row in answers] == found
    assert all(int(row["n"]) > 0 for row in answers)


def test_keys_of_two_columns_make_all_combinations(town):
    options = ("--group-by", "floor", "--group-by", "sex", "--keys", "sex=m", "--keys", "floor=1,2")
    result = town.ask(*options, "--count", *EXACT, "--format", "csv")
    assert [(r["floor"], r["sex"]) for r in rows(result.stdout)] == [("1", "m"), ("2", "m")]


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("age", "age"),
        ('"age"', "age"),
        ('"age" + "age"', "mean"),
        ("age = 18", "mean"),
        ("age=income", "age"),
        ("  share=(age = 18)  ", "share"),
        ("größe=age * 2", "größe"),
        ("a=age >= 18", "a"),
        ("age>=18", "mean"),
    ],
)
def test_output_is_named_by_an_equals_sign_right_behind_a_name(town, given, name):
    result = town.ask("--mean", given, "--epsilon", 1, "--format", "csv")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0] == f"{name},{name}_low,{name}_high"


REFUSALS = {
    "no price": (["--count"], "E105", ["--epsilon 0.5"]),
    "two prices": (["--count", "--epsilon", "1", "--rho", "1"], "E105", ["one of the two"]),
    "delta beside rho": (["--count", "--rho", "1", "--delta", "1e-6"], "E105", ["delta"]),
    "price is no number": (["--count", "--epsilon", "much"], "E101", ["'much'"]),
    "price is not finite": (["--count", "--epsilon", "inf"], "E101", ["'inf'"]),
    "price below zero": (["--count", "--epsilon", "-1"], "E102", ["above 0"]),
    "price too high": (["--count", "--epsilon", "1001"], "E401", ["1000 of 1000 remains"]),
    "sure to be right": (
        ["--count", "--epsilon", "1", "--confidence", "1"],
        "E102",
        ["between 0 and 1"],
    ),
    "nothing to ask": (["--epsilon", "1"], "E100", ["--count", "--mean"]),
    "unknown table": (["--table", "persons", "--count", "--epsilon", "1"], "E204", ["people"]),
    "unknown column": (["--mean", "aeg", "--epsilon", "1"], "E204", ["'age'"]),
    "unknown group": (["--group-by", "aeg", "--count", "--epsilon", "1"], "E204", ["'age'"]),
    "unit": (["--group-by", "id", "--count", "--epsilon", "1"], "E202", ["'id'"]),
    "mean of a text": (["--mean", "region", "--epsilon", "1"], "E301", ["needs a number"]),
    "no expression": (["--mean", "age +", "--epsilon", "1"], "E301", []),
    "condition is a number": (["--where", "age", "--count", "--epsilon", "1"], "E301", []),
    "constant": (["--mean", "age=18", "--epsilon", "1"], "E301", ["'share=(age = 18)'"]),
    "name twice": (
        ["--sum", "income", "--mean", "income", "--epsilon", "1"],
        "E100",
        ["--mean 'other=income'"],
    ),
    "text without keys": (["--group-by", "name", "--count", "--epsilon", "1"], "E302", ["keys"]),
    "keys without group": (
        ["--keys", "region=A", "--count", "--epsilon", "1"],
        "E302",
        ["--group-by"],
    ),
    "keys without list": (
        ["--group-by", "region", "--keys", "region", "--count", "--epsilon", "1"],
        "E302",
        ["COLUMN=A,B"],
    ),
    "key out of bounds": (
        ["--group-by", "age", "--keys", "age=121", "--count", "--epsilon", "1"],
        "E302",
        ["121 is not a value"],
    ),
    "bins without a histogram": (
        ["--count", "--bins", "3", "--epsilon", "1"],
        "E100",
        ["--bins 20"],
    ),
    "histogram without bins": (["--histogram", "age", "--epsilon", "1"], "E100", ["--bins 20"]),
    "histogram and mean": (
        ["--histogram", "age", "--bins", "3", "--mean", "age", "--epsilon", "1"],
        "E100",
        ["--group-by 'bin="],
    ),
    "edges that are no numbers": (
        ["--histogram", "age", "--bins", "few,many", "--epsilon", "1"],
        "E101",
        ["'few'"],
    ),
    "bins of a category": (
        ["--histogram", "region", "--bins", "2", "--epsilon", "1"],
        "E302",
        ["a category"],
    ),
    "parquet on the screen": (
        ["--count", "--epsilon", "1", "--format", "parquet"],
        "E100",
        ["--out"],
    ),
    "explained as csv": (
        ["--count", "--epsilon", "1", "--explain", "--format", "csv"],
        "E100",
        ["json"],
    ),
    "out is nowhere": (
        ["--count", "--epsilon", "1", "--out", "no/such/folder/answer.csv"],
        "E100",
        ["cannot write", "--out"],
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusal_is_one_message_with_the_fix_and_costs_nothing(town, case):
    options, code, words = REFUSALS[case]
    assert town.ask("--count", "--epsilon", 1).exit_code == 0
    head = town.ledger.head
    # Nothing of it depends on the data: the ledger is read, and not written.
    expected = code if case != "price too high" else "E401"
    words = [word.replace("1000 of", "999 of") for word in words]
    assert refused(town.ask(*options), expected, *words)
    assert town.ledger.head == head


def test_exhausted_budget_refuses_and_prints_no_answer(tmp_path):
    town = Town(tmp_path, budget=1)
    assert town.ask("--count", "--epsilon", 1).exit_code == 0
    head = town.ledger.head
    result = town.ask("--group-by", "sex", "--count", "--epsilon", "0.001", "--format", "csv")
    assert refused(result, "E401", "0 of 1 remains")
    assert town.ledger.head == head
    again = town.ask("--count", "--epsilon", 1)  # what was paid for stays
    assert again.exit_code == 0
    assert "left: ε = 0" in again.stderr


@pytest.mark.parametrize(
    ("damage", "code", "words"),
    [
        (lambda text: text.replace("[budget]", "[budget"), "E205", "not TOML"),
        (lambda text: text.replace("max_rows", "max_row"), "E205", "Did you mean max_rows?"),
        (lambda text: text.replace('ledger = "town.ledger"', ""), "E205", "ledger ="),
        (lambda text: text.replace("people.csv", "nowhere.csv"), "E100", "no file"),
        (lambda text: "\x00\x01", "E205", ""),
    ],
    ids=["syntax", "misspelled", "no ledger", "no data", "no text"],
)
def test_broken_contract_is_refused_before_anything_is_charged(town, damage, code, words):
    town.contract.write_text(damage(town.contract.read_text(encoding="utf-8")), encoding="utf-8")
    result = town.ask("--count", "--epsilon", 1)
    assert refused(result, code, words)
    ledger = town.folder / "town.ledger"
    assert not ledger.exists() or town.ledger.history() == []


@pytest.mark.parametrize("where", ["missing.toml", "."])
def test_contract_that_is_not_there_is_refused(town, where):
    result = CliRunner().invoke(
        main, ["query", str(town.folder / where), "--count", "--epsilon", "1"]
    )
    assert refused(result, "E205", "cannot be read as a contract")


def test_contract_without_ledger_can_be_explained(town):
    text = town.contract.read_text(encoding="utf-8").replace('ledger = "town.ledger"', "")
    town.contract.write_text(text, encoding="utf-8")
    assert town.ask("--count", "--epsilon", 1, "--explain").exit_code == 0


def test_shares_need_a_name_and_hold(tmp_path):
    town = Town(tmp_path, shares=SHARES)
    assert refused(town.ask("--count", "--epsilon", "0.1"), "E408", "--analyst")
    assert refused(town.ask("--count", "--epsilon", "0.1", "--explain"), "E408", "--analyst")
    assert refused(town.ask("--count", "--epsilon", "0.1", "--analyst", "eve"), "E408")
    ana = town.ask("--count", "--epsilon", "0.4", "--analyst", "ana")
    assert "left: ε = 0.6" in ana.stderr
    bob = town.ask("--count", "--epsilon", "0.4", "--analyst", "bob")
    # The stored answer: the total pays nothing more, the share of who did not have it does.
    assert bob.stdout == ana.stdout
    assert "paid ε = 0.4" in bob.stderr
    assert "left: ε = 0.1" in bob.stderr
    assert refused(town.ask("--count", "--epsilon", "0.41", "--analyst", "bob"), "E401")


def test_several_tables_have_to_be_named(town):
    text = town.contract.read_text(encoding="utf-8")
    text += text[text.index("[tables.people]") :].replace("tables.people", "tables.others")
    town.contract.write_text(text, encoding="utf-8")
    assert refused(town.ask("--count", "--epsilon", 1), "E100", "--table", "people, others")
    assert town.ask("--count", "--epsilon", 1, "--table", "others").exit_code == 0


def test_fault_closes_the_data_and_says_nothing_about_it(town, monkeypatch):
    from sfumato.backends.duckdb import DuckDB

    def fail(*_):
        raise InternalError("row 17 says 'secret'")

    town.ask("--count", "--epsilon", 3)  # so that the ledger is there
    monkeypatch.setattr(DuckDB, "run", fail)
    result = town.ask("--count", "--epsilon", 1)
    assert refused(result, "E603", "closed until its owner")
    assert "secret" not in result.output
    monkeypatch.undo()
    assert refused(town.ask("--count", "--epsilon", 2), "E409")


def interrupt(*_given, **_named):
    raise KeyboardInterrupt


def test_interrupt_says_what_became_of_the_charge(town, monkeypatch):
    monkeypatch.setattr("sfumato.backends.duckdb.DuckDB.run", interrupt)
    result = town.ask("--count", "--epsilon", 1)
    assert (result.exit_code, result.stdout) == (130, "")
    first, second = result.stderr.splitlines()
    assert first.startswith("note: a new ledger begins")
    assert second.startswith("interrupted; the charge stands, ε = 1")
    assert second.endswith("in ledger entry 2: the data may have been read")
    monkeypatch.undo()
    assert "left: ε = 997" in town.ask("--count", "--epsilon", 2).stderr


def test_interrupt_before_the_charge_says_where_to_look(town, monkeypatch):
    monkeypatch.setattr("sfumato.session.connect", interrupt)
    result = town.ask("--count", "--epsilon", 1)
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr.startswith("interrupted; ")
    assert "keeps its charge" in result.stderr
    assert "`sfumato ledger show`" in result.stderr
    assert result.stderr.count("\n") == 1


UNICODE = """
[budget]
epsilon = 1000
ledger = "村.ledger"
[tables."村の 人々"]
source = "人々.csv"
unit = "番号"
max_rows = 1
[tables."村の 人々".columns]
"地区" = { type = "category", values = ["北", "南"] }
"größe" = { type = "integer", low = 0, high = 250 }
"jährliches Einkommen" = { type = "integer", low = 0, high = 100 }
"""


@pytest.fixture
def village(tmp_path):
    lines = [
        "番号,地区,größe,jährliches Einkommen",
        *(f"{i},{'北南'[i % 2]},180,{i % 2 * 100}" for i in range(200)),
    ]
    (tmp_path / "人々.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "契約.toml").write_text(UNICODE, encoding="utf-8")
    return tmp_path / "契約.toml"


def test_names_in_any_script_are_asked_in_a_process_of_its_own(village):
    process = spawned(
        "query", village, "--table", "村の 人々", "--group-by", "地区", "--keys", "地区=南,北",
        "--count", "--mean", "größe", "--mean", 'lohn="jährliches Einkommen"', *EXACT,
    )  # fmt: skip
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    lines = out.splitlines()
    assert lines[0].split()[:3] == ["地区", "n", "n_low"]
    assert [line.split()[:2] for line in lines[1:]] == [["南", "100"], ["北", "100"]]
    assert [round(float(line.split()[7])) for line in lines[1:]] == [100, 0]
    # Wide letters take two places each, so that numbers stand below each other.
    assert lines[1].index("100") == lines[2].index("100")
    assert "paid ε = 100" in err


def test_two_processes_at_once_pay_once_each_and_never_too_much(tmp_path):
    town = Town(tmp_path, budget=1)
    assert town.ask("--count", "--epsilon", "0.4").exit_code == 0
    asked = [("--group-by", "sex"), ("--group-by", "region")]
    processes = [
        spawned("query", town.contract, *group, "--count", "--epsilon", "0.4", "--format", "csv")
        for group in asked
    ]
    ends = [(*process.communicate(timeout=60), process.returncode) for process in processes]
    # ε = 0.6 is left and two ask for 0.4: one is answered, the other refused.
    assert sorted(code for _, _, code in ends) == [0, 2]
    for out, err, code in ends:
        assert bool(out) == (code == 0)
        assert ("[E401]" in err) == (code == 2)
        assert "Traceback" not in err
    assert str(town.ledger.remaining()) == "ε = 0.2"
    assert town.ledger.verify().ok


def test_two_processes_at_once_make_one_ledger(town):
    processes = {
        epsilon: spawned("query", town.contract, "--count", "--epsilon", epsilon)
        for epsilon in (1, 2)
    }
    ends = {
        e: (*process.communicate(timeout=60), process.returncode)
        for e, process in processes.items()
    }
    answered = [epsilon for epsilon, (_, _, code) in ends.items() if code == 0]
    # Whoever comes while the other is making the file may be refused, but never for money.
    assert answered
    for out, err, code in ends.values():
        assert (code, bool(out)) in [(0, True), (2, False)], err
        assert "Traceback" not in err
    assert town.ledger.remaining().epsilon == 1000 - sum(answered)
    assert town.ledger.verify().ok


@pytest.mark.parametrize("asked", [("--count",), ("--group-by", "region", "--mean", "income")])
def test_query_loads_neither_frames_nor_charts(town, asked):
    code = (
        "import sys; from sfumato.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'altair', 'pandas', 'polars', 'rich', 'scipy', 'vl_convert'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "query", town.contract, *asked, "--epsilon", "1"],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.splitlines()[-1] == "[]"


def released(values, *, low=None, high=None, keys=("a",)):
    measure = Measure("x", values, low or values, high or values)
    return Release((("key", keys),), (measure,), Fraction(1, 2), Pure(1))


def test_csv_has_every_digit_and_rounds_outward_where_there_is_no_end():
    third, large = Fraction(1, 3), 10**25 + 1
    text = as_csv(released((third, Fraction(1, 8)), keys=("a", 'b "c", d')))
    assert text.splitlines()[1] == "a," + ",".join(
        ["0.33333333333333333333", "0.33333333333333333333", "0.33333333333333333334"]
    )
    assert text.splitlines()[2] == '"b ""c"", d",0.125,0.125,0.125'
    assert as_csv(released((large,))).splitlines()[1] == f"a,{large},{large},{large}"
    assert decimal(Fraction(-3, 2)) == "-1.5"
    assert decimal(Fraction(1, 10**40)) == "0." + "0" * 39 + "1"


def test_table_shows_all_rows_with_even_decimals_and_no_escapes():
    many = tuple(Fraction(i, 2) for i in range(50))
    text = as_text(released(many, keys=tuple(f"k{i}\x1b" for i in range(50))))
    lines = text.splitlines()
    assert len(lines) == 51
    assert lines[3].split()[1:] == ["1.0", "1.0", "1.0"]
    assert "\x1b" not in text
    assert len(set(map(len, lines))) == 1
    assert aligned([["a", "b"], ["longer", "1"]], left=2) == "a       b\nlonger  1"


def test_help_of_query_shows_every_option():
    text = CliRunner().invoke(main, ["query", "--help"]).stdout
    options = {name for p in main.commands["query"].params for name in p.opts if "--" in name}
    assert len(options) == 32
    assert options <= set(re.findall(r"--[a-z-]+", text))


@pytest.mark.parametrize("name", ["people.csv", "town.toml", "town.ledger"])
def test_answer_is_not_written_over_what_is_needed(town, name):
    town.ask("--count", "--epsilon", 1)
    kept = town.folder / name
    before = kept.read_bytes()
    result = town.ask("--count", "--epsilon", 2, "--format", "csv", "--out", kept)
    assert refused(result, "E100", "would destroy it")
    assert kept.read_bytes() == before


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_ledger_of_another_contract_is_not_written_over(town, form):
    other = town.folder / "other.ledger"
    Ledger.create(other, sfumato.Budget(1), sfumato.Unit.row()).close()
    before = other.read_bytes()
    result = town.ask("--count", "--epsilon", 2, "--format", form, "--out", other)
    assert refused(result, "E100", "would destroy it")
    assert other.read_bytes() == before
    assert not (town.folder / "town.ledger").exists()


def test_new_ledger_is_announced_once(town):
    first, again = town.ask("--count", "--epsilon", 1), town.ask("--count", "--epsilon", 2)
    assert "a new ledger begins, town.ledger" in first.stderr
    assert "new ledger" not in again.stderr


def test_ledger_is_verified_without_its_contract(town):
    """In a process that has loaded nothing of what a session declares."""
    town.ask("--count", "--epsilon", 1)
    code = "from sfumato.cli import main; main()"
    command = [sys.executable, "-c", code, "ledger", "verify", town.folder / "town.ledger"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "all in order" in done.stdout
