"""`sfumato query` for what is sought and bought: quantiles, groups, ranges, caps, accuracy."""

import csv
import io
import json
import re
from datetime import date, timedelta
from itertools import pairwise

import click
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli import main
from sfumato.cli.query import _SECTIONS
from sfumato.cli.wording import in_options
from sfumato.ledger import Ledger
from sfumato.release import Release

PEOPLE = 400
BORN = date(2000, 1, 1)
NAMES = ["Zoë"] * 200 + ["李 雷"] * 150 + ["bought"] * 47 + ["Solo", "Rara", "Únic"]
CONTRACT = """
[budget]
epsilon = 100000
delta = "1e-3"
ledger = "shop.ledger"
[tables.shop]
source = "shop.csv"
version = "1"
unit = "id"
{caps}
[tables.shop.columns]
zone = {{ type = "category", values = ["A", "B", "C:1"] }}
fare = {{ type = "real", low = 0, high = 200, step = "0.5" }}
"a:b" = {{ type = "integer", low = 0, high = 1000 }}
name = {{ type = "text" }}
income = {{ type = "integer" }}
wage = {{ type = "real", step = "0.01", nullable = true }}
born = {{ type = "date", low = 1990-01-01, high = 2020-12-31 }}
"""


def zone(i):
    return ("A", "A", "B", "C:1")[i % 4]


def income(i):
    return 1000 + 7 * i


class Shop:
    """A folder with 400 customers, one row each, their contract and its ledger."""

    def __init__(self, folder, caps="max_rows = 1"):
        self.folder, self.contract = folder, folder / "shop.toml"
        lines = ["id,zone,fare,a:b,name,income,wage,born"]
        for i in range(PEOPLE):
            day = BORN + timedelta(days=i)
            lines.append(
                f"{i},{zone(i)},{i / 2},{i},{NAMES[i]},{income(i)},{income(i) / 100},{day}"
            )
        (folder / "shop.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.contract.write_text(CONTRACT.format(caps=caps), encoding="utf-8")

    def run(self, command, *options):
        return CliRunner().invoke(main, [command, str(self.contract), *map(str, options)])

    def ask(self, *options):
        """Run `sfumato query` in this process."""
        return self.run("query", *options)

    def rows(self, *options):
        """Return the rows of the CSV that is printed, and what is said beside it."""
        result = self.ask(*options, "--format", "csv")
        assert result.exit_code == 0, result.output
        return list(csv.DictReader(io.StringIO(result.stdout))), result.stderr

    @property
    def ledger(self):
        return Ledger.open(self.folder / "shop.ledger")


@pytest.fixture
def shop(tmp_path):
    return Shop(tmp_path)


# At this price Laplace noise passes 1, and a search 5 ranks, with probability below 1e-40; a group
# of one unit appears with probability δ.
EXACT = ("--epsilon", 300)
BOUGHT = (*EXACT, "--delta", "1e-12")


def near(text, number, by):
    return abs(float(text) - number) <= by


# ---- values of a rank ----------------------------------------------------------------------------


def test_median_and_quantiles_are_values_with_the_error_of_their_rank(shop):
    asked = ("--median", "fare", "--quantile", "p=fare:0.25, 3/4", "--median", "born")
    (row,), said = shop.rows(*asked, *EXACT)
    assert list(row) == [
        *("fare", "fare_rank_error", "born", "born_rank_error"),
        *("p_p25", "p_p25_rank_error", "p_p75", "p_p75_rank_error"),
    ]
    assert near(row["fare"], 100, 2.5)
    assert near(row["p_p25"], 50, 2.5)
    assert near(row["p_p75"], 150, 2.5)
    middle = date.fromisoformat(row["born"]) - BORN
    assert abs(middle.days - 200) <= 5
    assert 0 < float(row["fare_rank_error"]) < 5
    assert "rank, noise only" in said


def test_count_has_another_name_where_a_group_is_called_so(shop):
    asked = ("--group-by", "n=floor(fare, 100)", "--keys", "n=0,100", "--count", "--mean", "fare")
    found, _ = shop.rows(*asked, *EXACT)
    assert list(found[0])[:3] == ["n", "n_", "n__low"]
    assert all(near(row["n_"], 200, 1) for row in found)


def test_two_numbers_of_one_column_have_two_names(shop):
    (row,), _ = shop.rows("--min", "least=fare", "--max", "most=fare", *EXACT)
    assert float(row["least"]) < 5
    assert float(row["most"]) > 190


def test_quantiles_are_asked_in_groups(shop):
    found, _ = shop.rows("--group-by", "zone", "--quantile", "fare:0.5", *EXACT)
    assert [row["zone"] for row in found] == ["A", "B", "C:1"]
    assert all(near(row["fare"], 100, 10) for row in found)


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        ('"a:b":0.5', "a:b", 200),
        ('m="a:b" * 2:0.25', "m", 200),
        ("CASE WHEN zone = 'C:1' THEN 7 ELSE 3 END:0.9", "quantile", 7),
        ("c=CASE WHEN name = 'C:0.5' THEN 7 ELSE 3 END:0.9", "c", 3),
    ],
)
def test_colon_in_quotes_is_part_of_the_expression(shop, given, name, value):
    (row,), _ = shop.rows("--quantile", given, *EXACT)
    assert near(row[name], value, 10 if value == 200 else 0)


def test_interval_is_bought_in_the_unit_of_the_values(shop):
    asked = ("--median", "fare", "--quantile", "fare:0.1,0.9", "--sum", "s=fare")
    result = shop.ask(*asked, "--interval", *EXACT, "--format", "json")
    release = Release.from_json(result.stdout.strip())
    assert len(release.measures) == 2 + 2  # named alike, but for the p behind the name
    for measure, truth in zip(release.measures[1:], (100, 20, 180), strict=True):
        assert measure.margin is None
        assert truth - 10 <= measure.low[0] <= measure.values[0] <= measure.high[0] <= truth + 10


def test_sum_is_clamped_unit_by_unit(shop):
    (row,), _ = shop.rows("--sum", "fare", "--per-unit", "0, 100", *EXACT)
    truth = sum(min(i / 2, 100) for i in range(PEOPLE))
    assert float(row["fare"]) == pytest.approx(truth, abs=10)


def test_least_and_largest_value_are_taken_a_few_ranks_inside(shop):
    (row,), _ = shop.rows("--min", "fare", "--max", "born", "--max", "m=fare * 2", *EXACT)
    assert 0 <= float(row["fare"]) <= 10
    assert 390 <= (date.fromisoformat(row["born"]) - BORN).days <= 399
    assert 380 <= float(row["m"]) <= 399
    assert "m_rank_error" in row


def test_distinct_values_and_units_are_counted(shop):
    asked = ("--count-distinct", "name", "--count-distinct", "people=id")
    (row,), said = shop.rows(*asked, "--count-distinct", "decades=floor(fare, 10)", *EXACT)
    assert (row["name"], row["people"], row["decades"]) == ("6", "400", "20")
    assert "people is count_distinct('id')" in said


# ---- groups --------------------------------------------------------------------------------------


def test_bought_groups_appear_where_enough_units_are(shop):
    found, said = shop.rows("--group-by", "name", "--bought", "--count", *BOUGHT)
    assert {row["name"]: row["n"] for row in found} == {
        "Zoë": "200",
        "李 雷": "150",
        "bought": "47",
    }
    assert "groups that few units are in do not show" in said
    assert re.search(r"paid ε = [\d.]+.*, δ = [\d.]+e-1\d", said)


OTHER = ("--group-by", "name", "--bought", "--other", "--count", *BOUGHT)


def test_rest_is_one_more_group_in_every_format(shop):
    table = shop.ask(*OTHER)
    assert table.exit_code == 0, table.output
    last = table.stdout.splitlines()[-1].split()
    assert last[:2] == ["(other)", "3"]
    found, said = shop.rows(*OTHER)  # from the ledger: the same question
    assert "paid nothing more" in said
    assert (found[-1]["name"], found[-1]["n"]) == ("", "3")
    release = Release.from_json(shop.ask(*OTHER, "--format", "json").stdout.strip())
    assert release.keys[0][1][-1] is None
    out = shop.folder / "answer.parquet"
    assert shop.ask(*OTHER, "--format", "parquet", "--out", out).exit_code == 0
    from pyarrow import parquet

    read = parquet.read_table(out)
    assert read["name"].to_pylist()[-1] is None
    assert sum(read["n"].to_pylist()) == PEOPLE


def test_value_that_is_called_bought_is_a_value(shop):
    found, said = shop.rows("--group-by", "name", "--keys", "name=bought", "--count", *EXACT)
    assert [(row["name"], row["n"]) for row in found] == [("bought", "47")]
    assert "do not show" not in said


def test_groups_are_bought_within_those_that_are_listed(shop):
    asked = ("--group-by", "name", "--group-by", "zone", "--keys", "zone=A", "--bought")
    found, _ = shop.rows(*asked, "--count", "--mean", "fare", *BOUGHT)
    assert {row["zone"] for row in found} == {"A"}
    assert {row["name"]: row["n"] for row in found}["Zoë"] == "100"


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_no_group_may_appear(shop, form):
    asked = ("--group-by", "name", "--bought", "--count", "--where", "fare > 199")
    result = shop.ask(*asked, *BOUGHT, "--format", form)
    assert result.exit_code == 0, result.output
    assert "no group has enough units in it to appear" in result.stderr
    if form == "json":
        assert len(Release.from_json(result.stdout.strip())) == 0
    else:
        assert len(result.stdout.splitlines()) == 1


def test_top_shows_the_most_frequent_values(shop):
    found, said = shop.rows("--top", "name:2", *BOUGHT)
    assert [(row["name"], row["n"]) for row in found] == [("Zoë", "200"), ("李 雷", "150")]
    assert "only the 2 largest counts are shown" in said
    found, _ = shop.rows("--top", "zone:1", *EXACT)
    assert [row["zone"] for row in found] == ["A"]
    found, _ = shop.rows("--top", "zone:2", "--keys", "zone=B,C:1", "--where", "fare > 1", *EXACT)
    assert {row["zone"] for row in found} == {"B", "C:1"}
    found, _ = shop.rows("--top", "part=floor(fare, 150):1", *EXACT)
    assert [(row["part"], row["n"]) for row in found] == [("0", "300")]


# ---- ranges and caps -----------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["bounds(income)", "BOUNDS ( income )", "income=bounds(income)"])
def test_range_is_bought_where_none_is_declared(shop, given):
    (row,), said = shop.rows("--sum", given, *EXACT)
    assert near(row["income"], sum(map(income, range(PEOPLE))), 1000)  # 60 times the noise scale
    assert "the range of income was bought: 0 to 4095" in said
    assert "paid ε = 300" in said


def test_range_is_bought_for_every_function_of_a_number(shop):
    asked = [
        word
        for function in ("mean", "variance", "std", "median")
        for word in (f"--{function}", f"{function}=bounds(income)")
    ]
    (row,), said = shop.rows(*asked, "--quantile", "q=bounds(income * 2):0.25", "--epsilon", 5000)
    truth = [income(i) for i in range(PEOPLE)]
    mean = sum(truth) / PEOPLE
    variance = sum((x - mean) ** 2 for x in truth) / PEOPLE
    assert near(row["mean"], mean, 10)
    assert near(row["variance"], variance, variance / 100)
    assert near(row["std"], variance**0.5, 10)
    assert near(row["median"], mean, 50)
    assert near(row["q"], 2 * income(100), 100)
    assert "the range of income * 2 was bought" in said


NONE = ("--mean", "bounds(wage)", "--where", "fare > 1000", "--epsilon", 2000)


def test_nothing_found_is_an_answer_with_an_exit_code_of_its_own(shop):
    out = shop.folder / "answer.csv"
    first = shop.ask(*NONE, "--format", "csv", "--out", out)
    assert first.exit_code == 3, first.output
    assert first.stdout == ""
    assert not out.exists()
    begun, said, paid = first.stderr.splitlines()
    assert said.startswith("no range of wage was found. ")
    assert said.endswith("[E500]")
    assert paid.startswith("paid ε = 2000")
    assert "left: ε = 98000" in paid
    assert "a new ledger begins" in begun
    again = shop.ask(*NONE)
    assert again.exit_code == 3
    assert again.stderr.splitlines()[0] == said
    assert "paid nothing more: answered before; left: ε = 98000" in again.stderr
    assert shop.ledger.verify().ok


CAPPED = 'max_rows = "auto"\nmax_groups = "auto"'


def test_bought_caps_are_said(tmp_path):
    shop = Shop(tmp_path, CAPPED)
    found, said = shop.rows("--group-by", "zone", "--count", *EXACT)
    assert [row["n"] for row in found] == ["200", "100", "100"]
    assert "max_rows was bought: 1" in said
    assert "max_groups was bought: 1" in said
    result = shop.ask("--group-by", "zone", "--count", *EXACT, "--explain")
    lines = [line.split("  ")[0] for line in result.stdout.splitlines()]
    assert lines[:4] == ["cost", "buys", "buys", "asks"]


@pytest.mark.parametrize("cap", ["max_rows", "max_groups"])
def test_owner_is_told_what_auto_means(tmp_path, cap):
    shop = Shop(
        tmp_path, f'max_rows = 3\n{cap} = "auto"' if cap == "max_groups" else f'{cap} = "auto"'
    )
    text = shop.contract.read_text(encoding="utf-8").replace("100000", "4").replace("1e-3", "1e-6")
    shop.contract.write_text(text, encoding="utf-8")
    result = shop.run("check")
    assert result.exit_code == 0, result.output
    assert f'note  tables.shop: {cap} is "auto".' in result.stdout
    assert "buys it with 20 % of its price" in result.stdout.replace("\n    ", " ")
    found = json.loads(shop.run("check", "--format", "json").stdout)["findings"]
    assert [f["place"] for f in found if f["rule"] == "unit.bought-caps"] == ["tables.shop"]


def test_dummy_and_report_take_caps_and_ranges_that_are_bought(tmp_path):
    shop = Shop(tmp_path, 'max_rows = "auto"')
    made = shop.run("dummy", "--rows", 50)
    assert made.exit_code == 0, made.output
    assert len(made.stdout.splitlines()) == 51
    assert shop.ask("--group-by", "zone", "--sum", "bounds(income)", *EXACT).exit_code == 0
    page = tmp_path / "page.html"
    result = shop.run("report", "--out", page)
    assert result.exit_code == 0, result.output
    assert "auto" in page.read_text(encoding="utf-8")
    shown = CliRunner().invoke(main, ["ledger", "verify", str(shop.contract)])
    assert shown.exit_code == 0, shown.output


# ---- plans ---------------------------------------------------------------------------------------


PLANS = {
    "ranks": (
        ("--median", "fare", "--interval", "--quantile", "p=fare:0.1,0.9", "--epsilon", 1),
        lambda t: t.agg(
            fare=sf.median("fare", interval=True),
            p=sf.quantile("fare", ["0.1", "0.9"], interval=True),
        ).explain(epsilon=1),
        {"expected", "groups"},
    ),
    "bought groups": (
        ("--group-by", "name", "--bought", "--count", "--epsilon", 1, "--delta", "1e-6"),
        lambda t: t.group_by("name", keys=sf.bought()).count().explain(epsilon=1, delta="1e-6"),
        {"expected", "groups"},
    ),
    "range": (
        ("--mean", "bounds(income)", "--epsilon", 1),
        lambda t: t.mean(sf.bounds("income")).explain(epsilon=1),
        {"bought", "rest", "groups"},
    ),
    "accuracy": (
        ("--count", "--sum", "fare", "--accuracy", 50, "--accuracy", "fare=2000"),
        lambda t: t.agg(n=sf.count(), fare=sf.sum("fare")).explain(
            accuracy={"n": sf.within(50), "fare": sf.within(2000)}
        ),
        {"expected", "groups"},
    ),
}


@pytest.mark.parametrize("case", PLANS)
def test_plan_as_json_is_that_of_the_api_and_free(shop, case):
    asked, planned, keys = PLANS[case]
    result = shop.ask(*asked, "--explain", "--format", "json")
    assert result.exit_code == 0, result.output
    assert not (shop.folder / "shop.ledger").exists()
    plan = json.loads(result.stdout)
    assert keys | {"question", "cost", "confidence", "notes", "proof", "sql"} <= set(plan)
    assert plan["groups"] == (None if case == "bought groups" else 1)
    text = shop.ask(*asked, "--explain").stdout
    assert text.startswith(f"cost      {plan['cost']}, of ")
    with sf.connect(shop.contract) as session:
        assert planned(session.table()).to_dict() == plan


# ---- accuracy ------------------------------------------------------------------------------------


def test_accuracy_finds_a_price_at_which_the_interval_is_so_wide(shop):
    asked = ("--group-by", "zone", "--count", "--sum", "fare", "--sum", "more=fare * 2")
    found, said = shop.rows(
        *asked, "--accuracy", 50, "--accuracy", "fare=2000", "--accuracy", "more=90000"
    )
    for row in found:
        assert int(row["n_high"]) - int(row["n_low"]) == 100
        assert float(row["fare_high"]) - float(row["fare_low"]) <= 4000
    assert "paid ε = " in said


def test_accuracy_is_cheaper_with_less_confidence(shop):
    def cost(*options):
        result = shop.ask(
            "--count", "--accuracy", "n=20", *options, "--explain", "--format", "json"
        )
        plan = json.loads(result.stdout)
        assert plan["expected"][0]["halfwidth"] == 20
        return plan["confidence"], float(re.match(r"ε = ([\d.]+)", plan["cost"])[1])

    (sure, high), (unsure, low) = cost(), cost("--confidence", "0.5")
    assert (sure, unsure) == (0.95, 0.5)
    assert low < high / 3


# ---- refusals ------------------------------------------------------------------------------------


ONE = ("--epsilon", "1")
DELTA = (*ONE, "--delta", "1e-6")
REFUSALS = {
    "no quantiles": (["--quantile", "fare", *ONE], "E100", ["--quantile fare:0.25,0.5,0.75"]),
    "quantiles in words": (["--quantile", "fare:half", *ONE], "E100", ["which quantiles"]),
    "quantiles of nothing": (["--quantile", ":0.5", *ONE], "E100", ["--quantile"]),
    "quantile beyond": (["--quantile", "fare:1", *ONE], "E102", ["strictly between 0 and 1"]),
    "quantile is empty": (["--quantile", "fare:0.5,", *ONE], "E101", []),
    "quoted column without quantiles": (["--quantile", '"a:b"', *ONE], "E100", ["behind a colon"]),
    "median of a category": (["--median", "zone", *ONE], "E301", ["in an order"]),
    "interval of days": (
        ["--median", "born", "--interval", *ONE],
        "E301",
        ["Leave out --interval"],
    ),
    "interval of nothing": (["--count", "--interval", *ONE], "E100", ["--median and --quantile"]),
    "name twice": (
        ["--median", "fare", "--quantile", "fare:0.9", *ONE],
        "E100",
        ["--quantile 'other=fare:0.9'"],
    ),
    "name twice with a name": (
        ["--mean", "x=fare", "--max", "x=fare", *ONE],
        "E100",
        ["--max 'other=fare'"],
    ),
    "name twice behind quantiles": (
        ["--quantile", "fare:0.1,0.5", "--median", "fare_p50=fare", *ONE],
        "E100",
        ["'fare_p50'", "--quantile 'other=fare:0.1,0.5'"],
    ),
    "constant": (["--max", "fare=18", *ONE], "E301", ["--max 'share=(fare = 18)'"]),
    "top without a number": (["--top", "zone", *ONE], "E100", ["--top zone:5"]),
    "top none": (["--top", "zone:0", *ONE], "E100", ["at least 1"]),
    "top half": (["--top", "zone:1.5", *ONE], "E100", ["a whole number"]),
    "top and mean": (["--top", "zone:2", "--mean", "fare", *ONE], "E100", ["nothing else"]),
    "top in groups": (["--top", "zone:2", "--group-by", "zone", *ONE], "E100", ["--group-by zone"]),
    "top and histogram": (
        ["--top", "zone:2", "--histogram", "fare", "--bins", "2", *ONE],
        "E100",
        ["by themselves"],
    ),
    "top of unknown words": (["--top", "name:2", *ONE], "E105", ["--epsilon 1 --delta 1e-6"]),
    "top and the rest": (["--top", "name:2", "--bought", "--other", *DELTA], "E302", ["--other"]),
    "words that nobody listed": (
        ["--group-by", "name", "--count", *ONE],
        "E302",
        ["--keys COLUMN=A,B", "--bought"],
    ),
    "bought without a group": (["--count", "--bought", *DELTA], "E302", ["--bought buys"]),
    "bought and all listed": (
        ["--group-by", "zone", "--keys", "zone=A", "--bought", "--count", *DELTA],
        "E302",
        ["nothing to buy"],
    ),
    "bought without delta": (
        ["--group-by", "name", "--bought", "--count", *ONE],
        "E105",
        ["--epsilon 1 --delta 1e-6"],
    ),
    "bought bins": (
        ["--group-by", "name", "--bought", "--histogram", "fare", "--bins", "2", *DELTA],
        "E302",
        ["--group-by 'bin=floor(fare, 10)'"],
    ),
    "rest of nothing": (["--group-by", "name", "--other", "--count", *DELTA], "E302", ["--bought"]),
    "median of the rest": (
        ["--group-by", "name", "--bought", "--other", "--median", "fare", *DELTA],
        "E302",
        ["Leave out --other"],
    ),
    "different values in bought groups": (
        ["--group-by", "name", "--bought", "--count-distinct", "born", *DELTA],
        "E302",
        ["--keys COLUMN=A,B"],
    ),
    "sum without bounds": (
        ["--sum", "income", *ONE],
        "E203",
        ["bounds(income)", "clamp(income, 0, 100000)"],
    ),
    "least without bounds": (
        ["--min", "income", *ONE],
        "E203",
        ["limit. State one that is known", "as in clamp(income, 0, 100000)"],
    ),
    "bins without bounds": (
        ["--histogram", "income", "--bins", "4", *ONE],
        "E300",
        ["the edges: --bins 0,10,50,200."],
    ),
    "bounds of words": (["--mean", "bounds(zone)", *ONE], "E301", ["Count it, or group by it"]),
    "bounds of days": (["--median", "bounds(born)", *ONE], "E301", ["Leave out bounds(...)"]),
    "bounds around a part": (
        ["--mean", "bounds(income) + 1", *ONE],
        "E301",
        ["holds the whole expression", "--mean 'bounds(price * pieces)'"],
    ),
    "bounds in a condition": (
        ["--where", "bounds(income) > 1", "--count", *ONE],
        "E301",
        ["bought with bounds(...) around a whole expression"],
    ),
    "bounds inside": (
        ["--mean", "bounds(income) / bounds(wage)", *ONE],
        "E301",
        ["--mean 'bounds(price * pieces)'"],
    ),
    "bounds deeper inside": (["--mean", "2 * bounds(income)", *ONE], "E301", ["bounds"]),
    "bounds of different values": (
        ["--count-distinct", "bounds(income)", *ONE],
        "E301",
        ["Leave out bounds(...)"],
    ),
    "clamped, and no sum": (["--count", "--per-unit", "0,3", *ONE], "E100", ["--per-unit 0,300"]),
    "clamped to no range": (
        ["--sum", "fare", "--per-unit", "3", *ONE],
        "E100",
        ["--per-unit '3' is no range"],
    ),
    "bounds of nothing": (["--mean", "bounds()", *ONE], "E301", ["the whole expression"]),
    "accuracy and a price": (
        ["--count", "--accuracy", "5", *ONE],
        "E105",
        ["Leave out --epsilon and --rho"],
    ),
    "accuracy twice": (["--count", "--accuracy", "5", "--accuracy", "6"], "E105", ["twice"]),
    "accuracy of one twice": (
        ["--count", "--accuracy", "n=5", "--accuracy", "n=6"],
        "E105",
        ["twice how far n"],
    ),
    "accuracy of another": (["--count", "--accuracy", "m=5"], "E105", ["numbers are: n."]),
    "accuracy of some": (
        ["--count", "--sum", "fare", "--accuracy", "n=5"],
        "E105",
        ["--accuracy fare=50"],
    ),
    "accuracy in words": (["--count", "--accuracy", "good"], "E101", ["--accuracy = 'good'"]),
    "accuracy below zero": (["--count", "--accuracy", "-5"], "E102", ["above 0"]),
    "accuracy below a step": (["--count", "--accuracy", "0.5"], "E105", ["a step or more"]),
    "accuracy of a mean": (["--mean", "fare", "--accuracy", "5"], "E105", ["or set --epsilon"]),
    "accuracy of a median": (["--median", "fare", "--accuracy", "5"], "E105", ["set --epsilon"]),
    "accuracy with a range": (
        ["--sum", "bounds(income)", "--accuracy", "5"],
        "E105",
        ["Set --epsilon"],
    ),
    "accuracy of bought groups": (
        ["--group-by", "name", "--bought", "--count", "--accuracy", "5", "--delta", "1e-6"],
        "E105",
        ["--keys COLUMN=A,B", "--epsilon and --delta"],
    ),
    "delta beside rho": (["--count", "--rho", "1", "--delta", "1e-6"], "E105", ["Drop --delta"]),
    "group is an expression": (
        ["--group-by", "floor(fare, 10)", "--count", *ONE],
        "E300",
        ["--group-by 'decade=floor(age, 10)'"],
    ),
    "bins of a category": (
        ["--histogram", "zone", "--bins", "2", *ONE],
        "E302",
        ["--group-by zone --count"],
    ),
    "aggregate in an expression": (
        ["--mean", "sum(fare)", *ONE],
        "E301",
        ["--sum fare or --count"],
    ),
    "keys of another column": (
        ["--group-by", "zone", "--keys", "name=A", "--count", *ONE],
        "E302",
        ["--keys names 'name'", "columns of --group-by"],
    ),
}
# As the API has it: a module, a keyword, a call of a method.
PYTHON = re.compile(r"\bsf\.|\b(keys|epsilon|delta|rho|accuracy|interval)=|\.\w+\(|True|group_by")


@pytest.mark.parametrize("case", REFUSALS)
def test_refusal_names_options_and_costs_nothing(shop, case):
    given, code, words = REFUSALS[case]
    result = shop.ask(*given)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.endswith(f"[{code}]\n")
    for word in words:
        assert word in result.stderr
    assert PYTHON.search(result.stderr) is None, result.stderr
    ledger = shop.folder / "shop.ledger"
    assert not ledger.exists() or shop.ledger.remaining().epsilon == 100000


@pytest.mark.parametrize(
    ("said", "typed"),
    [
        ("Pass keys=['A', 'B'].", "Pass --keys COLUMN=A,B."),
        ("the columns epsilon and delta", "the columns epsilon and delta"),
        ("epsilon = 'much' is not", "epsilon = 'much' is not"),
        ("std(sf.bounds(\"a = 'b'\")); or", "bounds(a = 'b'); or"),
        ("Set epsilon=, rho= or accuracy=.", "Set --epsilon, --rho or --accuracy."),
    ],
)
def test_words_of_the_api_become_options(said, typed):
    assert in_options(said) == typed


# ---- help ----------------------------------------------------------------------------------------


HEADINGS = [
    "Which rows, in which groups:",
    "What to ask of each group; what takes a [NAME=] may be repeated:",
    "At what price:",
    "How:",
]


def test_help_has_every_option_once_below_a_heading():
    command = main.commands["query"]
    listed = [name for names in _SECTIONS.values() for name in names]
    assert sorted(listed) == sorted(p.name for p in command.params if isinstance(p, click.Option))
    text = CliRunner().invoke(main, ["query", "--help"]).stdout
    places = [text.index(heading) for heading in HEADINGS]
    assert all(first < second for first, second in pairwise(places))
    shown = re.findall(r"^  (?:-h, )?(--[a-z-]+)", text[places[0] :], re.MULTILINE)
    assert len(shown) == len(set(shown)) == len(listed) + 1
    assert shown[-1] == "--help"
    assert max(map(len, text.splitlines())) <= 80
