"""Findings about contracts: each rule fires where it should, and nowhere else."""

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest

import sfumato as sf
from sfumato.core.loss import Pure
from sfumato.ledger import Ledger
from sfumato.owner.lint import lint
from sfumato.session.contract import Contract

CLEAN = {
    "budget": 'epsilon = "4"\ndelta = "1e-6"\nledger = "trips.ledger"',
    "more": "",
    "source": "trips.parquet",
    "version": 'version = "1"',
    "unit": 'unit = "rider_id"\nmax_rows = 20',
    "columns": 'zone = { type = "category", values = ["A", "B"] }\n'
    'fare = { type = "real", low = 0, high = 200, step = "0.01" }',
}
FRAME = pa.table({"rider_id": [1], "zone": ["A"], "fare": [1.5]})


@pytest.fixture
def folder(tmp_path):
    pyarrow.parquet.write_table(FRAME, tmp_path / "trips.parquet")
    return tmp_path


def text(**change):
    said = {**CLEAN, **change}
    return (
        f'[budget]\n{said["budget"]}\n{said["more"]}\n[tables.trips]\nsource = "{said["source"]}"\n'
        f"{said['version']}\n{said['unit']}\n[tables.trips.columns]\n{said['columns']}\n"
    )


def found(folder, **change):
    """Return (level, rule, place) of every finding."""
    written = text(**change)
    findings = lint(Contract.parse(written, folder), text=written)
    assert all(text[-1:] in {".", "?"} for f in findings for text in (f.what, f.mend))
    assert not any("?." in text or ".." in text for f in findings for text in (f.what, f.mend))
    # Most of these ledgers are yet to be made, which has a test of its own.
    return [(f.level, f.rule, f.place) for f in findings if f.rule != "ledger.new"]


def test_contract_in_order_has_no_finding(folder):
    assert found(folder) == []
    assert found(folder, unit='unit = "rider_id"\nmax_rows = 1\nsampled = true') == []


COLUMNS = "tables.trips.columns"
BY_ROW = {"unit": 'unit = "row"'}


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (
            {"budget": 'epsilon = "10.1"\ndelta = "1e-6"\nledger = "l"'},
            "warning budget.large budget",
        ),
        ({"budget": 'rho = "1.1"\nledger = "l"'}, "warning budget.large budget"),
        (
            {"budget": 'epsilon = 1\ndelta = "1e-5"\nledger = "l"'},
            "warning budget.large-delta budget.delta",
        ),
        ({"budget": 'epsilon = 1\nledger = "l"'}, "note budget.no-delta budget.delta"),
        ({"budget": 'rho = "0.1"'}, "warning ledger.none budget.ledger"),
        (
            {"budget": 'rho = "0.1"\nledger = "none/l"'},
            "error ledger.no-folder budget.ledger",
        ),
        (
            {"more": '[analysts."a b"]\nepsilon = 5'},
            'warning analysts.above-total analysts."a b"',
        ),
        (
            {"more": '[analysts.ana]\nepsilon = 1\ndelta = "2e-6"'},
            "warning analysts.above-total analysts.ana",
        ),
        ({"more": "[analysts.ana]\nepsilon = 3"}, "note analysts.no-delta analysts.ana"),
        (
            {"more": "[analysts.ana]\nepsilon = 3\n[analysts.bob]\nepsilon = 2"},
            "note analysts.sum analysts",
        ),
        ({"version": ""}, "warning table.no-version tables.trips"),
        (
            {"more": '[unit]\nneighbors = "replace"'},
            "note table.no-rows tables.trips",
        ),
        ({"unit": 'unit = "rider_id"\nmax_rows = 101'}, "warning unit.many-rows tables.trips"),
        (
            {"unit": 'unit = "rider_id"\nmax_groups = 51\nmax_rows_per_group = 2'},
            "warning unit.many-rows tables.trips",
        ),
        (
            {"unit": 'unit = "rider_id"\nmax_rows = 12\nsampled = true'},
            "warning unit.sampled-rows tables.trips",
        ),
        ({"unit": 'unit = "rider_id"\nmax_rows = "auto"'}, "note unit.bought-caps tables.trips"),
        (
            {"unit": 'unit = "rider_id"\nmax_groups = "auto"\nmax_rows_per_group = 200'},
            "note unit.bought-caps tables.trips",
        ),
        (
            {"columns": 'zone = { type = "text" }\nfare = { type = "integer", low = 0, high = 9 }'},
            f"note column.text {COLUMNS}.zone",
        ),
        (
            {
                "columns": f'zone = {{ type = "category", values = {list(range(1001))} }}\n'
                'fare = { type = "integer", low = 0, high = 9 }'
            },
            f"warning column.many-values {COLUMNS}.zone",
        ),
        (
            {
                "columns": 'zone = { type = "text" }\n'
                'fare = { type = "real", low = 0, high = 200, step = "1e-11" }'
            },
            f"warning column.fine-step {COLUMNS}.fare",
        ),
        (
            {"columns": 'zone = { type = "text" }\nfare = { type = "real", step = "1e-11" }'},
            f"note column.no-bounds {COLUMNS}.fare",
        ),
        ({"columns": 'fare = { type = "integer" }'}, f"note column.no-bounds {COLUMNS}.fare"),
        ({"columns": 'fare = { type = "boolean" }'}, f"note column.undeclared {COLUMNS}"),
        ({"columns": 'fares = { type = "boolean" }'}, f"error column.missing {COLUMNS}.fares"),
        (
            {"columns": 'fare = { type = "date", low = 2026-01-01, high = 2026-02-01 }'},
            f"error column.type {COLUMNS}.fare",
        ),
        (
            {"unit": 'unit = "rider"\nmax_rows = 1'},
            "error column.missing tables.trips.unit",
        ),
        ({"source": "none.parquet"}, "error table.unreadable tables.trips"),
        (
            {"more": '[public.zones]\nsource = "none.csv"'},
            "error public.unreadable public.zones",
        ),
        (BY_ROW, "warning unit.row-beside-id tables.trips.unit"),
        (
            {"version": 'version = "1"  #? which label?'},
            "warning draft.open tables.trips.version",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_finding_is_made(folder, change, finding):
    assert tuple(finding.split(" ", 2)) in found(folder, **change)


def test_caps_that_are_bought_are_a_note_and_nothing_else(folder):
    caps = 'max_rows = "auto"\nmax_groups = "auto"\nmax_rows_per_group = 500'
    assert found(folder, unit=f'unit = "rider_id"\n{caps}') == [
        ("note", "unit.bought-caps", "tables.trips")
    ]
    large = 'max_rows = "auto"\nmax_groups = 100\nmax_rows_per_group = 5'
    assert [rule for _, rule, _ in found(folder, unit=f'unit = "rider_id"\n{large}')] == [
        "unit.bought-caps"
    ]


@pytest.mark.parametrize(
    "budget",
    ['epsilon = 10\ndelta = "9e-6"\nledger = "l"', 'rho = 1\nledger = "l"'],
    ids=["epsilon", "rho"],
)
def test_limit_at_the_edge_is_no_finding(folder, budget):
    assert found(folder, budget=budget) == []


def test_category_of_people_is_a_warning_and_of_things_is_none(folder):
    listed = '{ type = "category", values = ["a"] }'
    columns = f"email = {listed}\nzone_id = {listed}"
    written = text(columns=columns)
    rules = [(f.rule, f.place) for f in lint(Contract.parse(written, folder), data=False)]
    assert rules == [("column.key-as-category", f"{COLUMNS}.email")]


def test_damaged_file_is_an_error_that_ends_in_its_question(folder):
    (folder / "trips.parquet").write_bytes(b"PAR1")
    finding = lint(Contract.parse(text(), folder))[0]
    assert (finding.rule, finding.mend) == ("table.unreadable", "Is it complete?")


def test_share_at_the_edge_is_no_finding(folder):
    assert found(folder, more='[analysts.ana]\nepsilon = 4\ndelta = "1e-6"') == []
    share = "[analysts.ana]\nepsilon = 1"
    assert found(folder, budget='rho = "0.1"\nledger = "l"', more=share) == []


def test_errors_come_first_then_warnings_then_notes(folder):
    levels = [
        level
        for level, _, _ in found(
            folder, budget="epsilon = 11", columns='a = { type = "text" }', version=""
        )
    ]
    assert levels == sorted(levels, key=["error", "warning", "note"].index)
    assert set(levels) == {"error", "warning", "note"}


def test_data_is_left_alone_where_that_is_asked(tmp_path):
    written = text(source="none.parquet")
    assert lint(Contract.parse(written, tmp_path), data=False) == []


@pytest.mark.parametrize(
    ("budget", "unit", "shares", "rule"),
    [
        (sf.Budget(4, "1e-6"), sf.Unit.by("rider_id", max_rows=3), {}, None),
        (sf.Budget(3, "1e-6"), sf.Unit.by("rider_id", max_rows=3), {}, "ledger.budget"),
        (sf.Budget(4, "1e-6"), sf.Unit.by("driver", max_rows=3), {}, "ledger.unit"),
        (
            sf.Budget(4, "1e-6"),
            sf.Unit.by("rider_id", max_rows=3, neighbors="replace"),
            {},
            "ledger.unit",
        ),
        (
            sf.Budget(4, "1e-6"),
            sf.Unit.by("rider_id", max_rows=3),
            {"ana": sf.Budget(1)},
            "ledger.share",
        ),
    ],
    ids=["same", "budget", "unit", "neighbors", "share"],
)
def test_ledger_that_records_something_else_is_an_error(folder, budget, unit, shares, rule):
    Ledger.create(folder / "trips.ledger", budget, unit, analysts=shares).close()
    assert [r for level, r, _ in found(folder) if level == "error"] == ([rule] if rule else [])


def test_ledger_with_a_fault_or_that_is_none_is_an_error(folder):
    unit = sf.Unit.by("rider_id", max_rows=3)
    with_fault = Ledger.create(folder / "trips.ledger", sf.Budget(4, "1e-6"), unit)
    granted = with_fault.reserve("q", None, "trips", "1", "plan", Pure(1))
    with_fault.touch(granted)
    with_fault.fault(granted)
    with_fault.close()
    assert [rule for _, rule, _ in found(folder)] == ["ledger.closed"]
    (folder / "l").write_bytes(b"no ledger" * 1000)
    assert [rule for _, rule, _ in found(folder, budget='rho = "0.1"\nledger = "l"')] == [
        "ledger.unusable"
    ]


def test_ledger_that_is_not_there_is_a_note_since_it_may_have_been_lost(folder):
    contract = Contract.parse(text(), folder)
    [finding] = lint(contract)
    assert (finding.level, finding.rule, finding.place) == ("note", "ledger.new", "budget.ledger")
    assert "'trips.ledger' does not exist" in finding.what
    assert "with the whole budget, ε = 4 with δ = 1e-06" in finding.why
    assert "put the file back" in finding.mend
    assert lint(contract, data=False) == []  # where no data is, there is no ledger either
    Ledger.create(contract.ledger, contract.budget, contract.unit).close()
    assert lint(contract) == []


def test_near_name_is_suggested(folder):
    findings = lint(Contract.parse(text(columns='fares = { type = "boolean" }'), folder))
    assert "Did you mean fare?" in findings[0].mend


@pytest.mark.parametrize(
    ("declared", "rules"),
    [
        ('{ type = "real", low = 0, high = 9, step = "0.1" }', ["column.as-text"]),
        ('{ type = "integer", low = 0, high = 9 }', ["column.as-text"]),
        ('{ type = "date", low = "2026-01-01", high = "2026-12-31" }', ["column.as-text"]),
        ('{ type = "boolean" }', ["column.as-text"]),
        ('{ type = "category", values = ["A"] }', []),
    ],
)
def test_text_in_a_typed_file_that_is_declared_as_something_else_is_told(tmp_path, declared, rules):
    frame = pa.table({"rider_id": [1], "zone": ["A"]})
    pyarrow.parquet.write_table(frame, tmp_path / "trips.parquet")
    (tmp_path / "trips.csv").write_text("rider_id,zone\n1,A\n")
    assert [rule for _, rule, _ in found(tmp_path, columns=f"zone = {declared}")] == rules
    # of a CSV file nobody knows
    assert found(tmp_path, columns=f"zone = {declared}", source="trips.csv") == []


def test_values_that_a_type_lists_are_not_shown(tmp_path):
    with duckdb.connect(str(tmp_path / "town.duckdb")) as db:
        db.execute("CREATE TABLE trips (rider_id INT, fare ENUM('canary')[], zone ENUM('canary'))")
    columns = 'zone = { type = "text" }\nfare = { type = "integer", low = 0, high = 9 }'
    findings = lint(Contract.parse(text(source="town.duckdb", columns=columns), tmp_path))
    assert [f.rule for f in findings] == ["column.type", "column.text", "ledger.new"]
    assert "canary" not in str(findings)


@pytest.mark.parametrize(
    "content",
    ['rider_id,"zone\n7,canary\n', "7,4.5,canary@example.org\n8,1,b@example.org\n"],
    ids=["quotation mark", "no header"],
)
def test_first_row_is_not_taken_for_names(tmp_path, content):
    (tmp_path / "trips.csv").write_text(content, encoding="utf-8")
    findings = lint(Contract.parse(text(source="trips.csv"), tmp_path))
    assert findings[0].level == "error"
    assert "canary" not in str(findings)
    assert "4.5" not in str(findings)
