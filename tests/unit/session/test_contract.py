"""The contract: what it declares, what it refuses, and that every refusal says where."""

import os
import pickle
import re
from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.errors import ContractError, SchemaError
from sfumato.ledger import Ledger
from sfumato.relation.source import Source
from sfumato.session.contract import Contract
from sfumato.session.declaration import TableDeclaration

TOWN = """
[budget]
epsilon = "4"
delta = 1e-6
ledger = "town.ledger"

[analysts.ana]
epsilon = 1
[analysts.bob]
epsilon = 0.1
delta = "1e-7"

[unit]
neighbors = "replace"
name = "person"

[tables.people]
source = "people.csv"
version = "2026-11"
unit = "id"
max_rows = 1
rows = 2500
[tables.people.columns]
age = { type = "integer", low = 0, high = 120 }
sex = { type = "category", values = ["f", "m", 3] }
member = { type = "boolean", nullable = true }

[tables.visits]
source = "visits/*.parquet"
unit = "person_id"
max_rows = 20
max_groups = 5
max_rows_per_group = 10
[tables.visits.columns]
fee = { type = "real", low = 0, high = 199.9, step = 0.1 }
paid = { type = "real", low = "-1/3", high = 1, step = "1/3" }
day = { type = "date", low = 2026-01-01, high = "2026-12-31" }
at = { type = "timestamp", low = 2026-01-01T00:00:00, high = "2026-01-02T00:00:00", step = 60 }
left = { type = "timestamp", low = "2026-01-01", high = "2026-01-02T00:00:00" }
note = { type = "text" }

[public.zones]
source = "zones.csv"
"""

SMALL = """
[budget]
epsilon = 1
[tables.trips]
source = "trips.csv"
unit = "row"
[tables.trips.columns]
hour = { type = "integer", low = 0, high = 23 }
"""


def parse(text):
    return Contract.parse(text, "/data")


def trips(unit='unit = "row"', columns='hour = { type = "integer", low = 0, high = 23 }', more=""):
    """Return a contract of one table."""
    return (
        f'[budget]\nepsilon = 1\n{more}\n[tables.trips]\nsource = "trips.csv"\n{unit}\n'
        f"[tables.trips.columns]\n{columns}\n"
    )


def two(first, second, more=""):
    """Return a contract of two tables."""
    return trips(first, more=more) + (
        f'[tables.people]\nsource = "people.csv"\n{second}\n'
        f'columns.age = {{ type = "integer", low = 0, high = 120 }}\n'
    )


def refused(text):
    """Return the message, which must be one line."""
    with pytest.raises(ContractError) as caught:
        parse(text)
    assert re.fullmatch(r".+\. \[E205\]", str(caught.value))
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return caught.value.message


# What is declared


def test_contract_holds_budget_shares_and_ledger():
    contract = parse(TOWN)
    assert contract.budget == sf.Budget(epsilon=4, delta="1e-6")
    assert contract.analysts == {"ana": sf.Budget(1), "bob": sf.Budget("0.1", "1e-7")}
    assert contract.ledger == Path("/data/town.ledger")
    assert contract.path is None


def test_contract_holds_tables_in_order():
    contract = parse(TOWN)
    assert list(contract.tables) == ["people", "visits"]
    people = contract.tables["people"]
    assert people == TableDeclaration(
        "people",
        "people.csv",
        "2026-11",
        sf.Unit.by("id", max_rows=1, neighbors="replace"),
        sf.Schema(
            age=sf.Integer(0, 120),
            sex=sf.Category(["f", "m", 3]),
            member=sf.Boolean(nullable=True),
        ),
        2500,
        folder=Path("/data"),
    )
    visits = contract.tables["visits"]
    assert (visits.version, visits.rows) == (None, None)
    assert visits.unit == sf.Unit.by(
        "person_id", max_rows=20, max_groups=5, max_rows_per_group=10, neighbors="replace"
    )


def test_columns_of_every_type_are_exact():
    schema = parse(TOWN).tables["visits"].schema
    assert schema == sf.Schema(
        fee=sf.Real(0, "199.9", step="0.1"),
        paid=sf.Real("-1/3", 1, step="1/3"),
        day=sf.Date(date(2026, 1, 1), "2026-12-31"),
        at=sf.Timestamp("2026-01-01T00:00:00", "2026-01-02T00:00:00", step=60),
        left=sf.Timestamp("2026-01-01T00:00:00", "2026-01-02T00:00:00"),
        note=sf.Text(),
    )


def test_number_means_every_digit_that_is_written():
    # As a float, the last digits would be gone, and the bound with them.
    column = 'x = { type = "real", low = 0, high = 0.1234567890123456789, step = 1e-19 }'
    schema = parse(trips(columns=column)).tables["trips"].schema
    assert schema["x"].high == Fraction("0.1234567890123456789")


def test_declaration_gives_the_leaf_of_a_plan():
    table = parse(TOWN).tables["people"]
    assert table.relation == Source("people", table.schema, table.unit, 2500)
    assert table.relation.columns == ("age", "sex", "member")


def test_unit_column_may_be_declared_and_is_hidden():
    columns = 'id = { type = "integer", low = 0, high = 9 }\nage = { type = "text" }'
    table = parse(trips('unit = "id"\nmax_rows = 1', columns)).tables["trips"]
    assert list(table.schema) == ["id", "age"]
    assert table.relation.columns == ("age",)


@pytest.mark.parametrize(
    ("source", "location"),
    [
        ("trips.parquet", "/data/trips.parquet"),
        ("../trips/*.csv", "/data/../trips/*.csv"),
        ("/lake/trips.parquet", "/lake/trips.parquet"),
        ("duckdb:town.db#trips", "duckdb:/data/town.db#trips"),
        ("duckdb:/lake/town.db#trips", "duckdb:/lake/town.db#trips"),
        ("postgresql://reader@host/town#trips", "postgresql://reader@host/town#trips"),
        ("spark:lake.trips", "spark:lake.trips"),
        ("duckdb", "/data/duckdb"),
        ("spark", "/data/spark"),
    ],
)
def test_relative_source_is_relative_to_the_contract(source, location):
    text = SMALL.replace("trips.csv", source) + f'[public.zones]\nsource = "{source}"\n'
    contract = parse(text)
    assert contract.tables["trips"].source == source
    assert contract.tables["trips"].location == location
    assert contract.public == {"zones": location}


def test_contract_without_ledger_keeps_it_in_memory():
    contract = parse(SMALL)
    assert (contract.ledger, contract.analysts, contract.public) == (None, {}, {})


def test_budget_may_be_in_rho():
    assert parse(SMALL.replace("epsilon = 1", 'rho = "0.5"')).budget == sf.Budget(rho="0.5")


def test_contract_cannot_be_changed():
    contract = parse(TOWN)
    for name in ("analysts", "tables", "public"):
        with pytest.raises(TypeError):
            getattr(contract, name)["more"] = None
    with pytest.raises(AttributeError):
        contract.budget = sf.Budget(epsilon=100)


def test_sources_are_not_shown():
    source = "postgresql://owner:hunter2@host/town#trips"
    contract = parse(SMALL.replace("trips.csv", source) + f'[public.z]\nsource = "{source}"\n')
    assert "hunter2" not in repr(contract) + repr(contract.tables)
    assert repr(contract) == "Contract(Budget(epsilon=1), Unit.row(), tables: trips)"


def test_example_of_the_documentation_is_a_contract():
    page = Path(__file__).parents[3] / "docs" / "reference" / "contract.md"
    (text,) = re.findall(r"^```toml\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    contract = parse(text)
    assert contract.unit == sf.Unit.by("person", max_rows=20, max_groups=5)
    assert {name: list(table.schema) for name, table in contract.tables.items()} == {
        "people": ["age", "district", "insured"],
        "visits": ["day", "arrival", "fee", "reason"],
    }
    assert (list(contract.analysts), list(contract.public)) == (["ana", "bob"], ["districts"])


# The unit


def test_relation_is_add_remove_unless_declared():
    assert parse(SMALL).unit == sf.Unit.row()
    assert parse(SMALL + '[unit]\nneighbors = "replace"').unit == sf.Unit.row("replace")


def test_unit_may_be_a_few_rows():
    contract = parse(trips("unit = { rows = 3 }"))
    assert contract.unit == contract.tables["trips"].unit == sf.Unit.rows(3)


def test_unit_of_one_table_is_the_units_of_the_ledger():
    unit = 'unit = "rider_id"\nmax_groups = 5\nmax_rows_per_group = 2'
    expected = sf.Unit.by("rider_id", max_groups=5, max_rows_per_group=2)
    contract = parse(trips(unit))
    assert contract.unit == contract.tables["trips"].unit == expected


@pytest.mark.parametrize(
    ("caps", "unit"),
    [
        ('max_rows = "auto"', sf.Unit.by("id", max_rows="auto")),
        (
            'max_rows = 1\nmax_groups = "auto"',
            sf.Unit.by("id", max_rows=1, max_groups="auto"),
        ),
        (
            'max_groups = "auto"\nmax_rows_per_group = 4',
            sf.Unit.by("id", max_groups="auto", max_rows_per_group=4),
        ),
    ],
)
def test_caps_may_be_bought(caps, unit):
    contract = Contract.parse(trips(f'unit = "id"\n{caps}'))
    assert contract.tables["trips"].unit == contract.unit == unit


def test_unit_of_the_ledger_has_the_caps_that_nobody_knows():
    first, second = 'unit = "id"\nmax_rows = 50', 'unit = "id"\nmax_rows = "auto"'
    assert Contract.parse(two(first, second)).unit.max_rows == "auto"
    assert Contract.parse(two(second, first)).unit.max_rows == "auto"


def test_tables_of_one_column_need_no_name():
    contract = parse(two('unit = "id"\nmax_rows = 20', 'unit = "id"\nmax_rows = 1'))
    assert contract.unit == sf.Unit.by("id", max_rows=20)


def test_named_unit_goes_by_its_name_and_keeps_the_caps_that_allow_most():
    contract = parse(TOWN)
    assert contract.unit == sf.Unit.by(
        "person", max_rows=20, max_groups=5, max_rows_per_group=10, neighbors="replace"
    )
    assert contract.tables["visits"].unit.column == "person_id"
    groups = 'unit = "who"\nmax_groups = 5\nmax_rows_per_group = 5'
    wide = parse(two('unit = "id"\nmax_rows = 20', groups, '[unit]\nname = "person"'))
    assert wide.unit == sf.Unit.by("person", max_groups=5, max_rows_per_group=5)


def test_ledger_knows_its_contract_again_when_caps_or_columns_change(tmp_path):
    path = tmp_path / "town.ledger"
    contract = parse(TOWN)
    Ledger.create(path, contract.budget, contract.unit, analysts=contract.analysts).close()
    changed = TOWN.replace("max_rows = 20", "max_rows = 50").replace('"person_id"', '"who"')
    Ledger.open(path, unit=parse(changed).unit).close()
    for other in (
        TOWN.replace('name = "person"', 'name = "household"'),
        TOWN.replace('"replace"', '"add_remove"'),
    ):
        with pytest.raises(sf.errors.UnitError, match="another unit"):
            Ledger.open(path, unit=parse(other).unit)


# Files


def test_file_is_read_relative_to_its_folder(tmp_path, monkeypatch):
    folder = tmp_path / "somewhere"
    folder.mkdir()
    (folder / "town.toml").write_text(TOWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    contract = Contract.read("somewhere/town.toml")
    assert contract.path == folder / "town.toml"
    assert contract.ledger == folder / "town.ledger"
    assert contract.tables["people"].location == str(folder / "people.csv")
    assert repr(contract).startswith("Contract('town.toml', Budget(epsilon=4, delta=1e-06), ")


def test_link_to_a_contract_means_the_same_ledger(tmp_path):
    (tmp_path / "town.toml").write_text(TOWN, encoding="utf-8")
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.toml"
    link.symlink_to(tmp_path / "town.toml")
    assert Contract.read(link).ledger == tmp_path / "town.ledger"
    assert Contract.read(link) == Contract.read(tmp_path / "town.toml")


def test_mark_of_an_editor_and_line_ends_of_another_system_are_read(tmp_path):
    path = tmp_path / "town.toml"
    path.write_bytes(b"\xef\xbb\xbf" + TOWN.replace("\n", "\r\n").encode())
    assert Contract.read(path) == Contract.parse(TOWN, tmp_path)


def broken_files(folder):
    """Make a file of every kind that cannot be read; return what is said about each."""
    (folder / "bytes.toml").write_bytes(b"[budget]\n# \xe9\n")
    (folder / "wide.toml").write_text(SMALL, encoding="utf-16")
    (folder / "circle.toml").symlink_to(folder / "circle.toml")
    (folder / "large.csv").touch()
    os.truncate(folder / "large.csv", 2**24 + 1)
    (folder / "trips.ledger").write_bytes(b"SQLite format 3\0 and so on")
    return {
        "missing.toml": "'missing.toml' cannot be read as a contract: there is no such file. ",
        ".": "cannot be read as a contract: it is a folder. ",
        "bytes.toml": "line 2: the contract is not text in UTF-8, ",
        "wide.toml": "line 1: the contract is not text in UTF-8, ",
        "circle.toml": "'circle.toml' cannot be read as a contract. Check the path, ",
        "nul\0.toml": "'nul\\x00.toml' cannot be read as a contract. Check the path, ",
        "large.csv": "'large.csv' is larger than 16 MiB and no contract. ",
        "trips.ledger": "'trips.ledger' is a ledger or another database, and no contract. ",
    }


def test_file_that_cannot_be_read_is_refused(tmp_path):
    for name, message in broken_files(tmp_path).items():
        with pytest.raises(ContractError) as caught:
            Contract.read(f"{tmp_path}/{name}")
        assert message in str(caught.value), name


def test_file_without_rights_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "town.toml"
    path.write_text(TOWN, encoding="utf-8")

    def forbidden(*_):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", forbidden)
    with pytest.raises(ContractError, match=r"'town.toml' cannot be read as a contract\. Check"):
        Contract.read(path)


# Refusals

COLUMN = "tables.trips.columns.x"
REFUSALS = {
    # the file
    "not TOML": ("[budget]\nepsilon = = 1", "line 2, column 11: this is not TOML, "),
    "cut off": ('[budget]\nledger = "', "end of document: this is not TOML, "),
    "impossible date": (
        trips(columns='x = { type = "date", low = 2026-02-30, high = 2026-12-31 }'),
        "line 8, column 28: this is not TOML, ",
    ),
    "huge exponent": (SMALL.replace("= 1", "= 1e" + "9" * 30), "the contract has a number too"),
    "endless number": (SMALL.replace("= 1", "= " + "1" * 5000), "the contract has a number too"),
    "bracket tower": ("x = " + "[" * 3000, "the contract has a number too long, or brackets"),
    "empty": ("", "budget: a limit is either epsilon, "),
    # the top
    "unknown section": (SMALL + "[bugdet]", "bugdet: there is no such key, and what is not under"),
    "key above": ('ledger = "x"\n' + SMALL, "ledger: there is no such key, "),
    "section is a value": ("budget = 4", "budget: this is a number and must be a table. Write ["),
    # budget
    "no limit": ("[budget]\nledger = 'x'", "budget: a limit is either epsilon, "),
    "two families": (SMALL.replace("= 1", "= 1\nrho = 1"), "budget: a limit is either epsilon, "),
    "delta alone": (SMALL.replace("epsilon", "delta"), "budget: a limit is either epsilon, "),
    "negative": (SMALL.replace("= 1", "= -1"), "budget: epsilon = -1 must be above 0"),
    "zero": (SMALL.replace("= 1", "= 0.0"), "budget: epsilon = 0 must be above 0"),
    "not a number": (SMALL.replace("= 1", "= nan"), "budget: epsilon = NaN is not a finite, exact"),
    "no end": (SMALL.replace("= 1", "= -inf"), "budget: epsilon = -Infinity is not a finite"),
    "delta of one": (SMALL.replace("= 1", "= 1\ndelta = 1"), "budget: delta = 1 must be at least"),
    "truth": (SMALL.replace("= 1", "= true"), "budget: epsilon = True is not a finite, exact"),
    "list": (SMALL.replace("= 1", "= [1]"), "budget: epsilon = list is not a finite, exact"),
    "words": (SMALL.replace("= 1", "= 'a little'"), "budget: epsilon = 'a little' is not a finite"),
    "ledger is no text": (
        SMALL.replace("= 1", "= 1\nledger = true", 1),
        "budget.ledger: this is true or false and must be text. Write ledger = ",
    ),
    "ledger is nowhere": (
        SMALL.replace("= 1", "= 1\nledger = ' '", 1),
        "budget.ledger: this text names nothing. Write ledger = ",
    ),
    "ledger with a character that no file has": (
        SMALL.replace("= 1", '= 1\nledger = "a\\u0000b"', 1),
        "budget.ledger: this text names nothing. ",
    ),
    "ledger at home": (
        SMALL.replace("= 1", "= 1\nledger = '~/trips.ledger'", 1),
        "budget.ledger: ~ is another folder for everybody",
    ),
    # analysts
    "nobody": (SMALL + "[analysts]", "analysts: nobody is listed, "),
    "no share": (SMALL + "[analysts.ana]", "analysts.ana: a limit is either epsilon, "),
    "bad share": (SMALL + "[analysts.ana]\nepsilon = -1", "analysts.ana: epsilon = -1 must be"),
    "share is a number": (SMALL + "[analysts]\nana = 1", "analysts.ana: this is a number and must"),
    "no name": (SMALL + '[analysts.""]\nepsilon = 1', 'analysts."": a name is empty, '),
    "endless name": (
        SMALL + f"[analysts.{'a' * 2000}]\nepsilon = 1",
        f'analysts."{"a" * 37}...": the name of an analyst must be text of 1 to 1000 characters',
    ),
    "two of one name": (
        SMALL + "[analysts.ana]\nepsilon = 1\n[analysts.Ana]\nepsilon = 1",
        "analysts.Ana: this differs from ana only in upper and lower case, ",
    ),
    # unit
    "unknown relation": (
        SMALL + '[unit]\nneighbors = "bounded"',
        "unit.neighbors: neighbors = 'bounded' is not a neighbor relation. Use 'add_remove'",
    ),
    "relation is a list": (SMALL + "[unit]\nneighbors = []", "unit.neighbors: neighbors = [] is"),
    "name is no text": (SMALL + "[unit]\nname = 3", "unit.name: this is a number and must be text"),
    "rows have no name": (SMALL + '[unit]\nname = "x"', "unit.name: the tables protect rows, "),
    "cap in unit": (SMALL + "[unit]\nmax_rows = 3", "unit.max_rows: there is no such key, "),
    "no unit": (trips(""), "tables.trips: unit is missing: who is protected? "),
    "unit is nothing": (trips('unit = ""'), "tables.trips.unit: this text names nothing. "),
    "unit is a number": (trips("unit = 3"), "tables.trips.unit: this is a number and must be text"),
    "path": (
        trips('unit = "rider -> riders.id"\nmax_rows = 1'),
        "tables.trips.unit: a link leads from a column of a table to a column of another, and ",
    ),
    "no cap": (trips('unit = "id"'), "tables.trips: the unit 'id' may own any number of rows, "),
    "half a cap": (
        trips('unit = "id"\nmax_groups = 5'),
        "tables.trips: the unit 'id' may own any number of rows, ",
    ),
    "cap of zero": (trips('unit = "id"\nmax_rows = 0'), "tables.trips: max_rows = 0 is not a cap"),
    "cap of half a row": (trips('unit = "id"\nmax_rows = 1.5'), "tables.trips: max_rows = 1.5 is"),
    "bought rows of a group": (
        trips('unit = "id"\nmax_rows = 1\nmax_rows_per_group = "auto"'),
        "tables.trips.max_rows_per_group: max_rows and max_groups can be bought, and this cannot. ",
    ),
    "cap in another word": (
        trips('unit = "id"\nmax_rows = "automatic"'),
        "tables.trips: max_rows = 'automatic' is not a finite, exact number",
    ),
    "cap of a row": (
        trips('unit = "row"\nmax_rows = 3'),
        "tables.trips.max_rows: caps limit how much of one unit counts, ",
    ),
    "cap of rows": (
        trips("unit = { rows = 3 }\nmax_groups = 3"),
        "tables.trips.max_groups: caps limit how much of one unit counts, ",
    ),
    "no rows": (trips("unit = {}"), "tables.trips.unit: rows is missing. Write unit = { rows = 3 "),
    "zero rows": (
        trips("unit = { rows = 0 }"),
        "tables.trips.unit.rows: max_rows = 0 is not a cap",
    ),
    "unit as a table": (
        trips('unit = { column = "id" }'),
        "tables.trips.unit.column: there is no such key, ",
    ),
    "rows and columns": (
        two('unit = "row"', 'unit = "id"\nmax_rows = 1'),
        "tables.trips protects rows and tables.people those whom a column names, ",
    ),
    "other numbers of rows": (
        two('unit = "row"', "unit = { rows = 3 }"),
        "tables.trips.unit: the tables protect different numbers of rows, ",
    ),
    "other columns": (
        two('unit = "rider"\nmax_rows = 3', 'unit = "the id"\nmax_rows = 1'),
        "unit: name is missing: the tables name the unit by different columns "
        '(trips.rider, people."the id"), ',
    ),
    # tables
    "no tables": ("[budget]\nepsilon = 1", "tables: no table is declared, "),
    "tables are a list": (
        "[budget]\nepsilon = 1\n[[tables]]",
        "tables: this is a list and must be",
    ),
    "table is text": (
        "[budget]\nepsilon = 1\n[tables]\ntrips = 'x'",
        "tables.trips: this is text ",
    ),
    "source in tables": (
        "[budget]\nepsilon = 1\n[tables]\nsource = 'x'",
        "tables.source: this is text and must be a table. source belongs in [tables.NAME].",
    ),
    "table without name": (
        SMALL.replace("tables.trips", 'tables.""'),
        'tables."": a name is empty',
    ),
    "endless table": (
        SMALL.replace("tables.trips", "tables." + "x" * 1001),
        f'tables."{"x" * 37}...": the name of a table must be text of 1 to 1000 ',
    ),
    "two tables of one name": (
        SMALL + SMALL[SMALL.index("[tables.trips]") :].replace("trips", "Trips"),
        "tables.Trips: this differs from trips only in upper and lower case, ",
    ),
    "no source": (SMALL.replace("source", "#"), "tables.trips: source is missing. Say where the"),
    "source is a number": (SMALL.replace('"trips.csv"', "1"), "tables.trips.source: this is a num"),
    "source at home": (
        SMALL.replace('"trips', '"duckdb:~/trips'),
        "tables.trips.source: ~ is anoth",
    ),
    "version is a date": (
        trips('unit = "row"\nversion = 2026-11-01'),
        "tables.trips.version: this is a date or a time and must be text. Write version = ",
    ),
    "version without end": (
        trips(f'unit = "row"\nversion = "{"1" * 1001}"'),
        "tables.trips.version: version must be text of 1 to 1000 characters",
    ),
    "rows are no number": (trips('unit = "row"\nrows = "all"'), "tables.trips.rows: this is text "),
    "rows are no truth": (trips('unit = "row"\nrows = true'), "tables.trips.rows: this is true or"),
    "negative rows": (
        trips('unit = "row"\nrows = -1'),
        "tables.trips: rows of table 'trips' is the",
    ),
    # columns
    "no columns": (trips(columns=""), "tables.trips: no column is declared, "),
    "columns are a list": (
        trips('unit = "row"\ncolumns = ["age"]').partition("[tables.trips.columns]")[0],
        "tables.trips.columns: this is a list and must be a table. Write age = { type = ",
    ),
    "column is text": (
        trips(columns='x = "text"'),
        f"{COLUMN}: this is text and must be a table. W",
    ),
    "cap among columns": (
        trips(columns="max_rows = 20"),
        "tables.trips.columns.max_rows: this is a number and must be a table. max_rows belongs in ",
    ),
    "column without name": (trips(columns='"" = {}'), 'tables.trips.columns."": a name is empty, '),
    "two columns of one name": (
        trips(columns='x = { type = "text" }\nX = { type = "text" }'),
        "tables.trips.columns.X: this differs from x only in upper and lower case, ",
    ),
    "unit in other letters": (
        trips('unit = "ID"\nmax_rows = 1', 'id = { type = "text" }'),
        "tables.trips.columns.id: this differs from the unit's column ID only in upper and lower ",
    ),
    "reserved column": (
        trips(columns='sfumato_unit = { type = "text" }'),
        "tables.trips: table 'trips' cannot have a column named 'sfumato_unit'",
    ),
    "no type": (
        trips(columns="x = { low = 0 }"),
        f"{COLUMN}: type is missing: what do the values ",
    ),
    "type is a number": (
        trips(columns="x = { type = 1 }"),
        f"{COLUMN}.type: this is a number and ",
    ),
    "other type": (
        trips(columns='x = { type = "float" }'),
        f"{COLUMN}.type: there is no such type. Write one of integer, real, category, boolean, ",
    ),
    "no low": (trips(columns='x = { type = "integer", high = 1 }'), f"{COLUMN}: low is missing. "),
    "no high of a number": (
        trips(columns='x = { type = "real", low = 0, step = 1 }'),
        f"{COLUMN}: high is missing. ",
    ),
    "neither bounds nor step": (
        trips(columns='x = { type = "real" }'),
        f"{COLUMN}: step is missing",
    ),
    "no bounds of days": (trips(columns='x = { type = "date" }'), f"{COLUMN}: low is missing. "),
    "no high": (trips(columns='x = { type = "date", low = 1 }'), f"{COLUMN}: high is missing. "),
    "no step": (
        trips(columns='x = { type = "real", low = 0, high = 1 }'),
        f"{COLUMN}: step is missing. Declare it from what is known without looking at the data, ",
    ),
    "no values": (trips(columns='x = { type = "category" }'), f"{COLUMN}: values is missing. "),
    "key of another type": (
        trips(columns='x = { type = "integer", low = 0, high = 1, step = 1 }'),
        f"{COLUMN}.step: there is no such key, and what is not understood could not be enforced. K",
    ),
    "reversed": (
        trips(columns='x = { type = "integer", low = 9, high = 0 }'),
        f"{COLUMN}: low must be below high",
    ),
    "off the grid": (
        trips(columns='x = { type = "real", low = 0, high = 0.15, step = 0.1 }'),
        f"{COLUMN}: high = 0.15 is not a multiple of the step 0.1, ",
    ),
    "values are text": (
        trips(columns='x = { type = "category", values = "AB" }'),
        f"{COLUMN}: a Category needs a list of values. ",
    ),
    "value is a fraction": (
        trips(columns='x = { type = "category", values = [1.5] }'),
        f"{COLUMN}: a Category needs at least one value, each a string or a whole number. ",
    ),
    "value twice": (
        trips(columns='x = { type = "category", values = ["A", "A"] }'),
        f"{COLUMN}: the values of a Category must be distinct. ",
    ),
    "moment for a date": (
        trips(columns='x = { type = "date", low = 2026-01-01T00:00:00, high = "2027-01-01" }'),
        f"{COLUMN}: a date bound must be a date or ISO text ",
    ),
    "time zone": (
        trips(
            columns='x = { type = "timestamp", low = 2026-01-01T00:00:00Z, high = "2027-01-01" }'
        ),
        f"{COLUMN}: Timestamp bounds carry no time zone",
    ),
    "nullable is a word": (
        trips(columns='x = { type = "text", nullable = "no" }'),
        f"{COLUMN}.nullable: this says whether a value may be missing. ",
    ),
    "name that needs quotes": (
        trips(columns='"a \\n b" = { type = "float" }'),
        'tables.trips.columns."a \\n b".type: there is no such type. ',
    ),
    # public tables
    "public without source": (SMALL + "[public.zones]", "public.zones: source is missing. Say "),
    "public without name": (SMALL + '[public.""]\nsource = "x"', 'public."": a name is empty, '),
    "public and private": (
        SMALL + '[public.Trips]\nsource = "x"',
        "public.Trips: a private table has this name, ",
    ),
    "public with columns": (
        SMALL + "[public.zones]\nsource = 'x'\nunit = 'row'",
        "public.zones.unit: there is no such key, ",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_mistake_is_refused_where_it_stands(case):
    text, message = REFUSALS[case]
    assert refused(text)[: len(message)] == message


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[budget]\nepsilon = 1\nepsilon = 2\n[unit]", 3),
        (SMALL + "[tables.trips]", 9),
        (SMALL + "[[tables]]", 9),
        (trips(columns='x = { type = "text", type = "text" }'), 8),
    ],
    ids=["key", "table", "list", "inline"],
)
def test_second_definition_is_refused_at_its_line(text, line):
    message = refused(text)
    assert re.match(rf"line {line}, column \d+: something is defined a second time ", message)


@pytest.mark.parametrize(
    ("right", "wrong", "hint"),
    [
        (
            "[budget]",
            "[budgets]",
            "budgets: {why} Did you mean budget? Known here: budget, analysts",
        ),
        ("ledger =", "legder =", "budget.legder: {why} Did you mean ledger? Known here: epsilon, "),
        ("neighbors", "neighbours", "unit.neighbours: {why} Did you mean neighbors?"),
        ("version", "verzion", "tables.people.verzion: {why} Did you mean version?"),
        ("max_groups", "MAX_GROUPS", "tables.visits.MAX_GROUPS: {why} Did you mean max_groups?"),
        (
            "nullable",
            "nulable",
            "tables.people.columns.member.nulable: {why} Did you mean nullable",
        ),
        (
            "rows = 2500",
            "neighbors = 1",
            "tables.people.neighbors: {why} neighbors belongs in [unit",
        ),
        ("rows = 2500", "teapot = 1", "tables.people.teapot: {why} Known here: source, version, "),
    ],
)
def test_unknown_key_is_refused_with_the_nearest_that_is_known(right, wrong, hint):
    why = "there is no such key, and what is not understood could not be enforced."
    assert refused(TOWN.replace(right, wrong, 1)).startswith(hint.format(why=why))


def test_refusal_does_not_quote_the_source():
    source = "postgresql://owner:hunter2@host/town#trips"
    text = SMALL.replace("trips.csv", source)
    for mistake in ("\nunit = = 1", '\n[tables."x', "\nsource = 'again'", "\n\\"):
        assert "hunter2" not in refused(text.replace(source + '"', source + '"' + mistake))
        assert "hunter2" not in refused(text.replace(source + '"', source + mistake))
    assert "hunter2" not in refused(text.replace("unit =", "unt ="))


def test_refusal_is_a_schema_error_and_survives_pickling():
    with pytest.raises(SchemaError) as caught:
        parse("")
    copy = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 (our own bytes)
    assert str(copy) == str(caught.value)


VALUES = [
    "true", "0", "-1", "1", "2", "3.5", "nan", "-inf", "1e400", "''", "'row'", "'id'", "'x -> y'",
    "'auto'", "[]", "[1, 'a']", "{}", "{ rows = 2 }", "{ type = 'text' }", "2026-01-01", "12:00:00",
    "2026-01-01T00:00:00", "2026-01-01T00:00:00+02:00", "'2026-06-01'", "'1/3'", "'1/0'",
    "'add_remove'", "[[1]]", "99999999999999999999", "0x10", "'\\u0000'", '"\\u0000"',
]  # fmt: skip
KEYS = ["epsilon", "delta", "rho", "unit", "rows", "max_rows", "low", "high", "step", "values"]
ENTRIES = [m.span(1) for m in re.finditer(r"(?<== )([^,{}\n]+?)(?=[,\n]| })", TOWN)]


@given(
    st.dictionaries(st.sampled_from(ENTRIES), st.sampled_from(VALUES), min_size=1, max_size=3),
    st.tuples(st.sampled_from(KEYS), st.sampled_from(KEYS)),
)
def test_any_value_anywhere_makes_a_contract_or_is_refused(changes, keys):
    text = TOWN
    for (start, end), value in sorted(changes.items(), reverse=True):
        text = text[:start] + value + text[end:]
    for changed in (text, text.replace(*keys)):
        try:
            contract = parse(changed)
        except ContractError as refusal:
            assert len(str(refusal)) < 500 and "\n" not in str(refusal)
        else:
            assert contract.unit.max_rows or contract.unit.max_groups
            assert all(table.relation.unit.neighbors for table in contract.tables.values())
