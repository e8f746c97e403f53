"""Drafts: names and types in, a contract out that can be read, with every guess asked."""

import string as letters
import tomllib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sfumato.backends.physical import PhysicalColumn
from sfumato.core.errors import InputError, UnknownName
from sfumato.core.schema import Boolean, Integer, Real, Text
from sfumato.owner.draft import draft
from sfumato.owner.hint import Likeness, bounds, likeness, same_unit
from sfumato.owner.layout import key, layout, open_questions, string
from sfumato.owner.outline import Outline, is_value, table_name
from sfumato.session.contract import Contract

TYPES = ("BIGINT", "DOUBLE", "VARCHAR", "BOOLEAN", "DATE", "TIMESTAMP", "BLOB", "INTEGER[]")


def table(name="trips", typed=True, **columns):
    return outline(name, list(columns.items()), typed)


def outline(name, columns, typed=True):
    found = tuple(PhysicalColumn(column, "", kind) for column, kind in columns)
    return Outline(name, None, found, typed), f"{name}.parquet"


def text_of(*tables, **options):
    return draft(tables, ledger="spent.ledger", **options)


def read(text):
    return Contract.parse(text, "/data")


def test_draft_declares_what_a_type_or_a_name_says():
    contract = read(text_of(table(rider_id="BIGINT", age="DOUBLE", paid="BOOLEAN")))
    found = contract.tables["trips"]
    assert dict(found.schema) == {"age": Integer(0, 120), "paid": Boolean()}
    assert found.unit.column == "rider_id"
    assert found.unit.max_rows == 20
    assert (contract.budget.epsilon, contract.budget.delta) == (1, 0)
    assert contract.ledger.name == "spent.ledger"
    assert found.version == "1"


def test_table_that_names_nobody_is_asked_for_a_key_that_leads_on():
    orders = table("orders", order_id="BIGINT", customer_id="BIGINT", zone="VARCHAR")
    text = text_of(
        *(table("customers", customer_id="BIGINT", age="BIGINT"), orders),
        *(table("lines", order_id="BIGINT", price="DOUBLE"), table("zones", zone="VARCHAR")),
    )
    asked = [line for line in text.splitlines() if "whose a row is" in line]
    assert 'unit = "order_id -> orders.order_id"' in asked[0]
    assert "->" not in asked[1]  # a column that two tables share is not a key for that
    assert list(read(text).tables) == ["customers", "orders"]


def test_draft_asks_every_guess_once():
    text = text_of(table(rider_id="BIGINT", zone="VARCHAR", age="INTEGER", paid="BOOLEAN"))
    assert [question.place for question in open_questions(text)] == [
        "budget.epsilon",
        "budget.delta",
        "tables.trips.unit",
        "tables.trips.max_rows",
        "tables.trips.columns.zone",
        "tables.trips.columns.age",
    ]
    assert all(question.text.endswith("?") for question in open_questions(text)[:3])


@pytest.mark.parametrize(
    "kind", ["BIGINT", "DOUBLE", "DECIMAL(9,3)", "VARCHAR", "DATE", "TIMESTAMP"]
)
def test_draft_guesses_no_range_of_a_column_whose_name_says_nothing(kind):
    text = text_of(table(rider_id="BIGINT", thing=kind))
    assert "thing" not in read(text).tables["trips"].schema
    assert "# thing = {" in text


def test_draft_takes_the_step_of_a_decimal_from_its_type():
    text = text_of(table(rider_id="BIGINT", tip="DECIMAL(9,3)", points="DECIMAL(9,0)", x="FLOAT"))
    assert 'tip = { type = "real", low = ?, high = ?, step = "0.001" }' in text
    assert 'points = { type = "real", low = ?, high = ?, step = "1" }' in text
    assert 'x = { type = "real", low = ?, high = ?, step = "0.01" }' in text


def test_draft_mentions_that_bounds_may_be_left_out():
    text = text_of(table(rider_id="BIGINT", tip="DECIMAL(9,3)", points="BIGINT"))
    offered = [line for line in text.split("\n") if "a sum has to buy a range first" in line]
    assert [line.partition("  #")[0] for line in offered] == [
        '# tip = { type = "real", step = "0.001" }',
        '# points = { type = "integer" }',
    ]
    taken = "\n".join(
        line.removeprefix("# ") if line in offered else line for line in text.split("\n")
    )
    schema = read(taken).tables["trips"].schema
    assert schema["tip"] == Real(step="0.001")
    assert schema["points"] == Integer()


def test_draft_of_text_file_takes_every_type_for_a_question():
    text = text_of(table(typed=False, id="VARCHAR", age="VARCHAR", title="VARCHAR"))
    assert dict(read(text).tables["trips"].schema) == {"age": Integer(0, 120)}
    places = [question.place for question in open_questions(text)]
    assert {"tables.trips.columns.age", "tables.trips.columns.title"} <= set(places)


def test_draft_never_shows_what_a_type_lists():
    text = text_of(table(id="BIGINT", mood="ENUM('canary', 'b')", moods="ENUM('canary')[]"))
    assert "canary" not in text
    assert "# moods is left out" in text


@pytest.mark.parametrize(
    ("columns", "unit"),
    [
        ({"trip_id": "BIGINT", "rider_id": "BIGINT"}, "rider_id"),
        ({"id": "BIGINT", "customer": "VARCHAR"}, "customer"),
        ({"fare": "DOUBLE", "email": "VARCHAR"}, "email"),
        ({"id": "BIGINT", "age": "BIGINT"}, "id"),
        ({"userId": "DOUBLE", "id": "BIGINT"}, "userId"),
        ({"trip_id": "BIGINT", "fare": "DOUBLE"}, "trip_id"),
        ({"user_id": "BOOLEAN", "age": "BIGINT"}, None),
        ({"zone": "VARCHAR", "fare": "DOUBLE"}, None),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_draft_suggests_the_likeliest_unit(columns, unit):
    text = text_of(table(**columns))
    assert read(text).tables["trips"].unit.column == unit
    assert "tables.trips.unit" in [question.place for question in open_questions(text)]


def test_draft_asks_whether_one_person_may_have_several_rows():
    text = text_of(table(zone="VARCHAR"))
    assert 'unit = "row"  #? may one person have several rows?' in text


def test_draft_believes_the_unit_it_is_given():
    text = text_of(table(id="BIGINT", Guest="VARCHAR"), unit="guest")
    assert read(text).tables["trips"].unit.column == "Guest"
    assert "tables.trips.unit" not in [question.place for question in open_questions(text)]


def test_draft_refuses_a_unit_that_no_table_has():
    with pytest.raises(UnknownName, match="'rider'"):
        text_of(table(zone="VARCHAR"), unit="rider")


def test_draft_of_several_tables_has_one_unit_and_asks_whether_it_is_one():
    text = text_of(
        table("customers", id="BIGINT", age="BIGINT"),
        table("orders", order_id="BIGINT", customer_id="BIGINT", paid="BOOLEAN"),
        table("zones", zone="VARCHAR"),
    )
    contract = read(text)
    assert {n: t.unit.column for n, t in contract.tables.items()} == {
        "customers": "id",
        "orders": "customer_id",
    }
    assert contract.unit.column == "person"
    assert "unit.name" in [question.place for question in open_questions(text)]
    assert "# [tables.zones]  #? " in text


@pytest.mark.parametrize(
    ("columns", "declared"),
    [
        ({"rider_id": "BIGINT", "fare": "DOUBLE"}, {"rider_id": Text()}),
        ({"fare": "DOUBLE", "at": "TIMESTAMP"}, {"fare": Text()}),
    ],
    ids=["unit", "row"],
)
def test_draft_without_any_range_still_reads(columns, declared):
    assert dict(read(text_of(table(**columns))).tables["trips"].schema) == declared


def test_draft_of_moments_alone_still_reads():
    schema = read(text_of(table(at="TIMESTAMP"))).tables["trips"].schema
    assert schema["at"].low == "1900-01-01T00:00:00"


def test_draft_refuses_a_table_without_a_column_to_declare():
    with pytest.raises(InputError, match="no column that a contract could declare"):
        text_of(table(photo="BLOB", tags="VARCHAR[]"))


def test_draft_leaves_out_what_names_somebody_or_has_no_usable_name():
    names = ["user_id", "Email", "", "age", "AGE", "sfumato_unit", "USER_ID"]
    text = text_of(outline("t", [(name, "BIGINT") for name in names]))
    assert dict(read(text).tables["t"].schema) == {"age": Integer(0, 120)}
    for name in ("Email", '""', "AGE", "sfumato_unit", "USER_ID"):
        assert f"\n# {name} is left out: " in text


NAMES = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    [
        "id",
        "user id",
        'a"b',
        "a.b",
        "a\nb",
        "x #? y",
        "é",
        "\u202eevil",
        "=1",
        "[x]",
        "'''",
        "\\",
        "age",
    ]
)
COLUMNS = st.lists(st.tuples(NAMES, st.sampled_from(TYPES)), min_size=1, max_size=5)


@given(NAMES.filter(lambda name: name and "\0" not in name), COLUMNS, st.booleans())
@example("~", [("age", "BIGINT")], True)
def test_draft_reads_back_whatever_names_there_are(name, columns, typed):
    if not typed:
        columns = [(column, "VARCHAR") for column, _ in columns]
    try:
        text = text_of(outline(name, columns, typed))
    except InputError:
        return
    contract = read(text)
    assert list(contract.tables) == [name]
    assert contract.tables[name].source.removeprefix("./") == f"{name}.parquet"
    assert set(contract.tables[name].schema) <= {column for column, _ in columns}
    assert sum("#?" in line for line in text.split("\n")) == len(open_questions(text))


@given(st.text(st.characters(codec="utf-8")))
def test_string_is_one_line_of_toml_that_means_the_text(text):
    assert tomllib.loads(f"k = {string(text)}") == {"k": text}
    assert tomllib.loads(f"{key(text)} = 1") == {text: 1}
    assert string(text).isprintable()
    assert "#?" not in string(text)


@given(st.text(letters.ascii_letters + "#?'\" =[]{}\\\n.,", max_size=60), NAMES)
def test_question_within_a_string_is_none(text, name):
    written = f"a = {string(text)}\nb = '''{text.replace(chr(39), '')}'''\n[{key(name)}]\n"
    if "\r" in written or "\\" in text:
        return
    written += 'c = [1, # "#? no\n 2]  #? yes?\n'
    found = open_questions(written)
    assert [question.text for question in found] == ["no", "yes?"]
    assert layout(written)[0][-1].name == (name, "c")


def test_layout_says_where_values_stand():
    text = 'a.b = 1 # x\r\n["c d"]\r\ne = "#"\n[[f]]\n\'g h\' = { i = [1,\n2] } # y'
    entries, remarks = layout(text)
    assert [(entry.name, text[entry.start : entry.stop]) for entry in entries] == [
        (("a", "b"), "1"),
        (("c d", "e"), '"#"'),
        (("f", "g h"), "{ i = [1,\n2] }"),
    ]
    assert [(remark.line, remark.name) for remark in remarks] == [
        (1, ("a", "b")),
        (6, ("f", "g h")),
    ]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("customer_no", Likeness.PERSON_ID),
        ("patientid", Likeness.PERSON_ID),
        ("e-mail", Likeness.DIRECT),
        ("phone number", Likeness.DIRECT),
        ("UUID", Likeness.KEY),
        ("zone_id", Likeness.OTHER_KEY),
        ("customer_name", None),
        ("paid", None),
        ("number", None),
        ("", None),
        ("___", None),
    ],
)
def test_likeness_is_told_by_words(name, found):
    assert likeness(name) is found


def test_hints_go_by_the_last_word():
    assert bounds("birth_year") == (1900, 2100, None)
    assert bounds("Percent") == (0, 100, "0.1")
    assert bounds("average") is bounds("age_group") is bounds("") is None
    assert same_unit("id", "customers", "customer_id")
    assert not same_unit("id", "zones", "customer_id")


def test_draft_of_fractions_with_a_telling_name_has_a_step():
    schema = read(text_of(table(id="BIGINT", lat="DOUBLE", pct="BIGINT"))).tables["trips"].schema
    assert schema["lat"] == Real(-90, 90, "0.001")
    assert schema["pct"] == Integer(0, 100)


def test_names_of_tables_and_what_looks_like_a_value():
    assert table_name("duckdb:town.duckdb#trips") == "trips"
    assert table_name("visits/2026/*.parquet") == "2026"
    assert table_name("*.csv") == "table"
    assert [is_value(n) for n in ("-3.5", "12:30", "a@b.org", "1999", "x1", "")] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]
