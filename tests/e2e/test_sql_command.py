"""`sfumato query CONTRACT SQL`: the same answers, remarks and refusals as with options."""

import csv
import io
import json
from datetime import date, datetime
from fractions import Fraction

import pytest
from click.testing import CliRunner

import sfumato
from sfumato.cli import main
from sfumato.cli.statement import parameters, value_of
from sfumato.cli.wording import in_options, in_shell
from sfumato.core.errors import QueryError
from sfumato.ledger import Ledger
from sfumato.release import Release

RIDERS = 400
CONTRACT = """
[budget]
epsilon = {budget}
delta = "1e-3"
ledger = "trips.ledger"
{shares}
[tables.trips]
source = "trips.csv"
version = "1"
unit = "rider"
max_rows = 2
[tables.trips.columns]
zone = {{ type = "category", values = ["A", "B, or C"] }}
hour = {{ type = "integer", low = 0, high = 23 }}
fare = {{ type = "integer", low = 0, high = 50 }}
day = {{ type = "date", low = 2026-01-01, high = 2026-12-31 }}
name = {{ type = "text" }}
[tables.riders]
source = "riders.csv"
unit = "rider"
max_rows = 1
[tables.riders.columns]
age = {{ type = "integer", low = 0, high = 99 }}
[public.zones]
source = "zones.csv"
"""
# Of two rows a rider, at this price for one count, noise passes 3 with probability below 1e-40.
EXACT = ("--epsilon", 400)


class Trips:
    """A folder with two tables, a public one, their contract and its ledger.

    Every rider has two trips: one by day in zone A, one by night in the other.
    """

    def __init__(self, folder, budget=5000, shares=""):
        self.folder, self.contract = folder, folder / "trips.toml"
        self.ledger_file = folder / "trips.ledger"
        trips = ["rider,zone,hour,fare,day,name"]
        for i in range(RIDERS):
            trips += [f"{i},A,9,{i % 40},2026-01-31,x", f'{i},"B, or C",22,10,2026-06-01,y']
        (folder / "trips.csv").write_text("\n".join(trips) + "\n", encoding="utf-8")
        riders = ["rider,age", *(f"{i},{i % 90}" for i in range(RIDERS))]
        (folder / "riders.csv").write_text("\n".join(riders) + "\n", encoding="utf-8")
        (folder / "zones.csv").write_text('id,side\nA,east\n"B, or C",west\n', encoding="utf-8")
        self.contract.write_text(CONTRACT.format(budget=budget, shares=shares), encoding="utf-8")

    def ask(self, *arguments, text=None):
        """Run `sfumato query` in this process."""
        command = ["query", str(self.contract), *map(str, arguments)]
        return CliRunner().invoke(main, command, input=text)

    @property
    def ledger(self):
        return Ledger.open(self.ledger_file)


@pytest.fixture
def trips(tmp_path):
    return Trips(tmp_path)


def rows(result):
    assert result.exit_code == 0, result.output
    return list(csv.DictReader(io.StringIO(result.stdout)))


def near(text, exact, by=3):
    return abs(float(text) - exact) <= by


GROUPED = "SELECT zone, COUNT(*) AS n FROM trips GROUP BY zone"


def test_sql_and_options_ask_the_same_question(trips):
    first = trips.ask(GROUPED, "--epsilon", 1)
    again = trips.ask("--table", "trips", "--group-by", "zone", "--count", "--epsilon", 1)
    assert (first.exit_code, again.exit_code) == (0, 0), first.output + again.output
    assert first.stdout == again.stdout
    assert first.stdout.splitlines()[0].split() == ["zone", "n", "n_low", "n_high"]
    assert "paid ε = 1" in first.stderr
    assert "a new ledger begins, trips.ledger" in first.stderr
    assert "paid nothing more: answered before, in ledger entry" in again.stderr
    for said in ("intervals: 95 % each, noise only", "at most 2 rows of one rider count"):
        assert said in first.stderr
        assert said in again.stderr


def test_sql_computes_sorts_and_chooses_behind_the_answer(trips):
    text = (
        "SELECT zone AS z, AVG(fare) AS per, SUM(fare) - 5 * COUNT(fare) AS rest FROM trips t "
        "JOIN zones ON t.zone = zones.id WHERE hour BETWEEN 5 AND 23 "
        "GROUP BY z HAVING COUNT(*) > 100 ORDER BY per LIMIT 1"
    )
    (row,) = rows(trips.ask(text, "--epsilon", 4000, "--format", "csv"))
    assert row["z"] == "B, or C"
    assert near(row["per"], 10, 1)
    assert near(row["rest"], 5 * RIDERS, 50)
    assert float(row["per_low"]) <= float(row["per"]) <= float(row["per_high"])


def test_one_row_of_each_rider(trips):
    text = (
        "SELECT AVG(total) AS spent FROM "
        "(SELECT rider, SUM(fare) AS total FROM trips GROUP BY rider)"
    )
    (row,) = rows(trips.ask(text, *EXACT, "--format", "csv"))
    exact = sum(i % 40 + 10 for i in range(RIDERS)) / RIDERS
    assert near(row["spent"], exact, 2)


def test_dash_reads_the_question_from_standard_input(trips):
    result = trips.ask("-", *EXACT, "--format", "csv", text="SELECT COUNT(*) n\nFROM trips;\n")
    (row,) = rows(result)
    assert near(row["n"], 2 * RIDERS)


def test_bytes_that_are_no_text_are_refused(trips):
    result = CliRunner().invoke(
        main, ["query", str(trips.contract), "-", "--epsilon", "1"], input=b"SELECT \xff\xfe"
    )
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert "UTF-8" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("where", "given", "exact"),
    [
        ("hour < ?", ["12"], RIDERS),
        ("hour < $1 AND zone = $2", ["12", "A"], RIDERS),
        ("hour < :h AND zone = :z", ["z=B, or C", "h=12"], 0),
        ("name = :n", ["n='x'"], RIDERS),
        ("day > :d", ["d=DATE '2026-02-01'"], RIDERS),
    ],
)
def test_parameters_are_passed_as_values(trips, where, given, exact):
    options = [word for each in given for word in ("--param", each)]
    text = " ".join(["SELECT COUNT(*) AS n FROM trips WHERE", where])
    (row,) = rows(trips.ask(text, *options, *EXACT, "--format", "csv"))
    assert near(row["n"], exact)


def test_value_of_a_parameter_is_read_as_sql_has_it():
    assert [value_of(text) for text in ("22", "-1.50", "1e3", "TRUE", "null", "A b")] == [
        22,
        Fraction(-3, 2),
        1000,
        True,
        None,
        "A b",
    ]
    assert value_of("'22'") == "22"
    assert value_of("'it''s'") == "it's"
    assert value_of("date '2026-01-31'") == date(2026, 1, 31)
    assert value_of("TIMESTAMP '2026-01-31 12:00:00'") == datetime(2026, 1, 31, 12)
    assert value_of("2026-01-31") == "2026-01-31"
    assert parameters(["x=a=b"]) == {"x": "a=b"}
    assert parameters([]) is None
    for wrong in (["a=1", "2"], ["a=1", "a=2"], ["d=DATE 'soon'"]):
        with pytest.raises(QueryError, match="--param"):
            parameters(wrong)


def test_keys_are_listed_and_bought(trips):
    text = "SELECT name, COUNT(*) AS n FROM trips GROUP BY name"
    listed = rows(trips.ask(text, "--keys", "name=y,q", *EXACT, "--format", "csv"))
    assert [row["name"] for row in listed] == ["y", "q"]
    assert near(listed[0]["n"], RIDERS)
    assert near(listed[1]["n"], 0)
    bought = trips.ask(text, "--bought", "--other", *EXACT, "--delta", "1e-6", "--format", "csv")
    assert {row["name"] for row in rows(bought)} == {"x", "y", ""}
    hours = "SELECT hour, COUNT(*) AS n FROM trips GROUP BY hour"
    some = rows(trips.ask(hours, "--keys", "hour=9,22", *EXACT, "--format", "csv"))
    assert [row["hour"] for row in some] == ["9", "22"]


def test_all_groups_together_are_called_so(trips):
    text = "SELECT zone, COUNT(*) AS n FROM trips GROUP BY ROLLUP (zone)"
    result = trips.ask(text, "--epsilon", 1)
    assert result.exit_code == 0, result.output
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["zone", "A", "B,", "(all)"]
    assert "paid ε = 1" in result.stderr


def test_accuracy_finds_the_price(trips):
    text = "SELECT COUNT(*) AS n, SUM(fare) AS fare FROM trips"
    result = trips.ask(text, "--accuracy", 40, "--accuracy", "fare=900", "--format", "csv")
    (row,) = rows(result)
    assert int(row["n_high"]) - int(row["n_low"]) <= 80
    assert int(row["fare_high"]) - int(row["fare_low"]) <= 1800
    within = trips.ask("SELECT COUNT(*) AS n FROM trips WITH ERROR 25 AT 99%", "--format", "json")
    release = Release.from_json(within.stdout.strip())
    assert release["n"].high - release["n"].value <= 25
    assert release.confidence == Fraction(99, 100)


def test_price_in_the_text_is_paid(trips):
    result = trips.ask("SELECT COUNT(*) FROM trips WITH EPSILON 0.25")
    assert result.exit_code == 0, result.output
    assert "paid ε = 0.25" in result.stderr


def test_explain_is_free_and_leaves_nothing_behind(trips):
    result = trips.ask(GROUPED, "--epsilon", 1, "--explain")
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    assert not trips.ledger_file.exists()
    for part in ("cost      ε = 1", "n         ±", "why", "sql"):
        assert part in result.stdout
    plan = json.loads(trips.ask(GROUPED, "--epsilon", 1, "--explain", "--format", "json").stdout)
    with sfumato.connect(trips.contract) as session:
        assert plan == session.explain(GROUPED, epsilon=1).to_dict()


def test_request_id_and_file_are_as_with_options(trips):
    out = trips.folder / "answer.parquet"
    asked = (GROUPED, "--epsilon", 1, "--request", "monday")
    assert trips.ask(*asked, "--format", "parquet", "--out", out).exit_code == 0
    assert out.exists()
    other = trips.ask(GROUPED, "--epsilon", 2, "--request", "monday")
    assert other.exit_code == 2
    assert "[E407]" in other.stderr


def test_shares_need_a_name(tmp_path):
    trips = Trips(tmp_path, shares="[analysts.ana]\nepsilon = 1\n")
    assert "[E408]" in trips.ask(GROUPED, "--epsilon", "0.1").stderr
    assert "left: ε = 0.9" in trips.ask(GROUPED, "--epsilon", "0.1", "--analyst", "ana").stderr


COUNT = "SELECT COUNT(*) AS n FROM trips"
REFUSALS = {
    "no price": ([COUNT], "E105", ["--epsilon 0.5", "WITH EPSILON 0.5"]),
    "two prices": ([COUNT, "--epsilon", "1", "--rho", "1"], "E105", ["Keep one"]),
    "price twice": ([f"{COUNT} WITH EPSILON 1", "--epsilon", "1"], "E105", ["--epsilon is passed"]),
    "accuracy and price": ([COUNT, "--accuracy", "9", "--rho", "1"], "E105", ["--accuracy finds"]),
    "confidence twice": (
        [f"{COUNT} WITH ERROR 9 AT 90%", "--confidence", "0.9"],
        "E105",
        ["leave out --confidence"],
    ),
    "too dear": ([COUNT, "--epsilon", "5001"], "E401", ["4999 of 5000 remains"]),
    "where twice": ([COUNT, "--where", "hour < 9", "--epsilon", "1"], "E100", ["--where"]),
    "groups twice": ([COUNT, "--group-by", "zone", "--epsilon", "1"], "E100", ["--group-by"]),
    "count twice": ([COUNT, "--count", "--epsilon", "1"], "E100", ["--count says what to ask"]),
    "table twice": ([COUNT, "--table", "trips", "--epsilon", "1"], "E100", ["--table"]),
    "parameter of nothing": (
        ["--table", "trips", "--count", "--param", "1", "--epsilon", "1"],
        "E100",
        ["--param"],
    ),
    "parameter without a value": (
        [f"{COUNT} WHERE hour < :h", "--epsilon", "1"],
        "E300",
        ["--param h=VALUE", "^^"],
    ),
    "value without a parameter": ([COUNT, "--param", "9", "--epsilon", "1"], "E300", ["'1'"]),
    "unknown column": (
        ["SELECT AVG(fair) FROM trips", "--epsilon", "1"],
        "E204",
        ["Did you mean 'fare'?", "SELECT AVG(fair) FROM trips", "^^^^"],
    ),
    "rows": (["SELECT * FROM trips", "--epsilon", "1"], "E300", ["`sfumato dummy`"]),
    "no question": (["DROP TABLE trips", "--epsilon", "1"], "E300", ["'DROP'"]),
    "explained in words": ([f"EXPLAIN {COUNT}", "--epsilon", "1"], "E300", ["Pass --explain."]),
    "nothing": (["", "--epsilon", "1"], "E300", ["empty"]),
    "keys of no group": ([COUNT, "--keys", "zone=A", "--epsilon", "1"], "E302", ["GROUP BY"]),
    "bought, and no group": ([COUNT, "--bought", "--epsilon", "1"], "E302", ["GROUP BY"]),
    "other alone": ([GROUPED, "--other", "--epsilon", "1"], "E302", ["--bought"]),
    "accuracy of what is not asked": (
        [COUNT, "--accuracy", "m=5"],
        "E105",
        ["The numbers are: n."],
    ),
    "parquet on the screen": ([COUNT, "--epsilon", "1", "--format", "parquet"], "E100", ["--out"]),
    "accuracy of several groupings": (
        ["SELECT zone, COUNT(*) AS n FROM trips GROUP BY ROLLUP (zone)", "--accuracy", "50"],
        "E105",
        ["several groupings", "Pass --epsilon"],
    ),
}


@pytest.fixture(scope="module")
def asked_once(tmp_path_factory):
    """Trips of which one answer was paid for; refusals leave them alone."""
    trips = Trips(tmp_path_factory.mktemp("trips"))
    assert trips.ask("SELECT COUNT(*) FROM riders", "--epsilon", 1).exit_code == 0
    return trips


@pytest.mark.parametrize("case", REFUSALS)
def test_refusal_says_what_to_do_and_leaves_the_ledger_alone(asked_once, case):
    arguments, code, words = REFUSALS[case]
    head = asked_once.ledger.head
    result = asked_once.ask(*arguments)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert result.stderr.startswith("error: ")
    for word in (f"[{code}]", *words):
        assert word in result.stderr
    assert asked_once.ledger.head == head


def test_text_that_is_no_question_makes_no_ledger(trips):
    assert trips.ask("SELECT COUNT( FROM trips", "--epsilon", 1).exit_code == 2
    assert trips.ask(COUNT).exit_code == 2
    assert not trips.ledger_file.exists()


def test_words_of_the_api_become_those_of_the_console():
    said = "Pass parameters=[...], in order. See session.tables."
    assert in_options(said, sql=True) == (
        "Pass --param VALUE, once for each, in order. See \\tables in `sfumato shell`."
    )
    assert in_shell("Set epsilon= or rho=; pass delta='1e-6'.") == (
        "Set EPSILON or RHO; pass DELTA 1e-6."
    )
