"""Links between private tables: declared by the owner, followed by joins, never asked for."""

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.codec import decode, encode
from sfumato.core.errors import SfumatoError
from sfumato.owner.lint import lint
from sfumato.relation.link import Link, Path, path_of, read_links
from sfumato.relation.node import Truncate, UnitJoin, names_unit
from sfumato.session.contract import Contract

TABLES = {
    "customers": pa.table({"id": [1, 2, 3], "age": [31, 45, 62]}),
    "orders": pa.table(
        {
            "id": ["a", "b", "c", "d", "d"],
            "customer": [1, 1, 2, 1, 2],
            "paid": ["card", "cash", "card", "card", "card"],
        }
    ),
    "lines": pa.table(
        {"order": ["a", "a", "b", "c", "d", "nowhere", None], "price": [4, 9, 1, 7, 50, 50, 50]}
    ),
    "calls": pa.table({"customer": [1, 2, 2], "minutes": [3, 12, 5]}),
}
SCHEMA = {
    "customers": sf.Schema(age=sf.Integer(0, 120)),
    "orders": sf.Schema(paid=sf.Category(["card", "cash"])),
    "lines": sf.Schema(price=sf.Integer(0, 50)),
    "calls": sf.Schema(minutes=sf.Integer(0, 60)),
}
LINKS = [
    "orders.customer -> customers.id",
    "lines.order -> orders.id",
    "calls.customer -> customers.id",
]
UNITS = {
    "customers": sf.Unit.by("id", max_rows=1),
    "orders": sf.Unit.by("customer", max_rows=3),
    "lines": sf.Unit.by("order", max_rows=5),
    "calls": sf.Unit.by("customer", max_rows=2),
}


def shop(**changed):
    given = {
        "unit": UNITS,
        "schema": SCHEMA,
        "links": LINKS,
        "budget": sf.Budget(epsilon=10**7),
        **changed,
    }
    return sf.Session(given.pop("tables", TABLES), **given)


@pytest.fixture
def tables():
    with shop() as session:
        yield {name: session.table(name) for name in session.tables}


def number(question):
    """Return an answer that noise does not move: its probability to do so is below 1e-40."""
    return question.release(epsilon=100_000).to_arrow().column(0)[0].as_py()


# ---- joins ---------------------------------------------------------------------------------------


def test_unit_is_looked_up_over_the_path(tables):
    assert tables["lines"].unit == sf.Unit.by("customers.id", max_rows=5)
    # Neither nowhere nor None, and d twice: two customers have it.
    assert number(tables["lines"].count()) == 6
    assert tables["lines"].columns == ("price",)


def test_nobody_takes_rows_from_others_by_sharing_their_keys():
    """Bob has an order under the number of every order: others count as if he were not there."""
    numbers = [f"order {i}" for i in range(50)]
    lines = pa.table({"order": numbers, "price": [1] * 50})
    alone = pa.table({"customer": list(range(50)), "id": numbers, "paid": ["card"] * 50})
    bob = pa.table({"customer": [99] * 50, "id": numbers, "paid": ["card"] * 50})
    customers = pa.table({"id": [*range(50), 99], "age": [30] * 51})
    once = {name: sf.Unit.by(unit.column, max_rows=1) for name, unit in UNITS.items()}
    found = []
    for orders in (alone, pa.concat_tables([alone, bob])):
        tables = {**TABLES, "customers": customers, "orders": orders, "lines": lines}
        with shop(tables=tables, unit=once) as session:
            table = session.table("lines")
            assert table.count().queries[0].sensitivity(table.unit).l1 == 1
            found.append(number(table.count()))
    assert found == [50, 51]


def test_a_row_that_leads_to_a_unit_in_two_ways_is_one_row():
    orders = pa.table({"customer": [1, 1, 2], "id": ["a", "a", "a"], "paid": ["card"] * 3})
    lines = pa.table({"order": ["a", "a"], "price": [4, 9]})
    with shop(tables={**TABLES, "orders": orders, "lines": lines}) as session:
        assert number(session.table("lines").sum("price")) == 2 * (4 + 9)


def test_join_follows_the_link_between_two_tables(tables):
    joined = tables["lines"].join(tables["orders"])
    assert joined.columns == ("price", "paid")
    assert number(joined.sum("price")) == 4 + 9 + 1 + 7 + 2 * 50
    assert number(joined.filter("paid = 'cash'").count()) == 1
    assert joined.unit == tables["lines"].unit


def test_join_may_be_written_from_either_side(tables):
    one = tables["lines"].join(tables["orders"])
    other = tables["orders"].join(tables["lines"])
    assert one._node == other._node
    spelled = tables["lines"].join(tables["orders"], on={"order": "id"})
    assert spelled._node == one._node
    assert tables["orders"].join(tables["lines"], on={"id": "order"})._node == one._node


def test_joins_along_links_can_be_put_together(tables):
    lines, orders, customers = (tables[name] for name in ("lines", "orders", "customers"))
    ways = [lines.join(orders).join(customers), lines.join(orders.join(customers))]
    for way in ways:
        assert way.columns == ("price", "paid", "age")
        assert number(way.sum("age")) == 31 * 4 + 45 * 2
    filtered = lines.filter("price > 1").join(orders.filter("paid = 'card'")).join(customers)
    assert number(filtered.count()) == 5


@pytest.mark.parametrize("on", [None, "customer", ["customer"], {"customer": "id"}])
def test_the_unit_itself_is_a_key(tables, on):
    joined = tables["orders"].join(tables["customers"], on=on)
    assert isinstance(joined._node, UnitJoin)
    assert joined._node.link == Link("customer", "customers", "id")
    assert number(joined.sum("age")) == 31 * 3 + 45 * 2


def test_rows_that_share_the_unit_meet(tables):
    joined = tables["orders"].join(tables["calls"], on="customer")
    assert number(joined.count()) == 3 * 1 + 2 * 2
    assert joined.count().queries[0].sensitivity(joined.unit).l1 == 3 * 2
    summed = tables["orders"].join(tables["calls"].group_by_unit().sum("minutes"))
    assert number(summed.sum("minutes")) == 3 * 3 + 2 * 17
    assert summed.count().queries[0].sensitivity(summed.unit).l1 == 3


def test_one_unit_does_not_decide_how_many_rows_are_made(monkeypatch):
    """What is fetched is bounded by the rows that there are, and by public caps."""
    many = 3_000
    orders = pa.table({"id": range(many), "customer": [1] * many, "paid": ["card"] * many})
    calls = pa.table({"customer": [1] * many, "minutes": [1] * many})
    units = {**UNITS, "calls": sf.Unit.by("customer", max_rows=100)}
    with shop(tables={**TABLES, "orders": orders, "calls": calls}, unit=units) as session:
        fetched = []
        stream = session._backend.stream

        def noted(read, *given):
            def counted(batches):
                table = batches.read_all()
                fetched.append(table.num_rows)
                return read(table.to_reader())

            return stream(counted, *given)

        monkeypatch.setattr(session._backend, "stream", noted)
        joined = session.table("orders").join(session.table("calls"), on="customer")
        assert number(joined.count()) == 3 * 100
        assert max(fetched) == many


def test_rows_are_left_out_before_a_join_only_where_they_come_several_times(tables):
    orders, calls = tables["orders"], tables["calls"]
    one = orders.join(calls.group_by_unit().sum("minutes"))
    assert one._node.first == orders._node
    several = orders.join(calls, on="customer")
    assert several._node.first == Truncate(orders._node, (), None, None, 3)
    for asked in (several.count(), several.filter("paid = 'card'").count_distinct("customer")):
        told = str(asked.explain(epsilon=1))
        assert "at most 3 rows of orders of one customer count" in told
    with pytest.raises(SfumatoError, match="a join by the unit, which truncates them"):
        tables["lines"].join(calls, on="customer").join(orders)
    bought = shop(unit={**UNITS, "orders": sf.Unit.by("customer", max_rows="auto")})
    with bought as session, pytest.raises(SfumatoError, match="max_rows is 'auto'"):
        session.table("orders").join(session.table("calls"), on="customer")


def test_left_join_keeps_rows_that_meet_nobody(tables):
    customers, orders, calls = (tables[name] for name in ("customers", "orders", "calls"))
    kept = customers.join(orders, on={"id": "customer"}, how="left")
    assert number(kept.count()) == 3 + 2 + 1
    assert number(kept.count("paid")) == 5
    few = orders.join(calls.filter("minutes > 3").group_by_unit().count(), how="left")
    assert number(few.count()) == 5
    assert number(few.count("n")) == 2


def test_rows_meet_by_equal_columns_of_their_unit():
    visits = pa.table({"who": [1, 1, 2], "day": [1, 2, 1], "fee": [5, 6, 7]})
    with sf.Session(
        {"visits": visits, "tests": visits.rename_columns(["who", "date", "score"])},
        unit=sf.Unit.by("who", max_rows=2),
        schema={
            "visits": sf.Schema(day=sf.Integer(1, 7), fee=sf.Integer(0, 9)),
            "tests": sf.Schema(date=sf.Integer(1, 9), score=sf.Integer(0, 9)),
        },
        budget=sf.Budget(epsilon=10**7),
    ) as session:
        visits, tests = session.table("visits"), session.table("tests")
        joined = visits.join(tests, on={"day": "date"})
        assert joined.columns == ("day", "fee", "score")
        assert number(joined.sum("score")) == 5 + 6 + 7
        both = visits.join(tests, on={"day": "date", "who": "who"})
        assert both._node == joined._node


def test_question_explains_how_much_one_unit_can_change(tables):
    asked = tables["orders"].join(tables["calls"], on="customer").count()
    told = str(asked.explain(epsilon=1))
    assert "inner join with rows of the same unit of calls" in told
    assert "comes at most 2 times" in told
    assert "one unit has at most 6 rows" in told
    assert "at most 2 rows of calls of one customer count" in told
    along = str(tables["lines"].join(tables["orders"]).count().explain(epsilon=1))
    assert "along lines.order -> orders.id: a row meets none of another unit" in along
    assert "all rows of one customers.id, present or not, found by its order" in along
    assert "rows of lines whose order leads to no customers.id, or to two, do not count" in along


def test_part_of_a_table_is_joined_with_another(tables):
    parts = tables["orders"].partition("paid")
    joined = parts["card"].join(tables["customers"])
    assert number(joined.count()) == 4
    flipped = tables["customers"].join(tables["orders"])
    with pytest.raises(SfumatoError, match="more than the part"):
        parts["card"].measure(flipped.count().queries[0], sf.mechanisms.DiscreteLaplace(1))
    with pytest.raises(SfumatoError, match="same session"):
        tables["customers"].join(parts["card"])


def test_scope_reads_what_is_beside_it(tables):
    with tables["orders"].scope(sf.Budget(epsilon=200_000)) as inside:
        assert number(inside.join(tables["customers"]).count()) == 5
        with pytest.raises(SfumatoError, match="same session"):
            tables["orders"].join(inside.select("paid").group_by_unit().count(), on="customer")


def test_caps_that_are_bought_are_those_of_the_rows():
    units = {**UNITS, "orders": sf.Unit.by("customer", max_rows="auto")}
    with shop(unit=units) as session:
        along = session.table("lines").join(session.table("orders")).count()
        assert along.purchases == ()
        bought = session.table("orders").join(session.table("customers")).count()
        assert [cap.which for cap in bought.purchases] == ["max_rows"]
        bought.release(epsilon=1)
        with pytest.raises(SfumatoError, match="'auto'"):
            session.table("calls").join(session.table("orders"), on="customer")


# ---- nothing is computed from keys ---------------------------------------------------------------


@pytest.mark.parametrize("column", ["order", "customers.id", "sfumato_unit"])
def test_keys_cannot_be_asked(tables, column):
    lines = tables["lines"]
    for ask in (
        lambda: lines.select(column),
        lambda: lines.group_by(column, keys=[1]),
        lambda: lines.with_columns(**{column: "price"}),
        lambda: lines.join({column: ["a"]}, on=column),
    ):
        with pytest.raises(SfumatoError):
            ask()


def test_keys_that_travel_cannot_be_asked(tables):
    joined = tables["lines"].join(tables["orders"])
    for name in (joined._node.key, joined._node.key.upper()):
        with pytest.raises(SfumatoError):
            joined.select(name)
        with pytest.raises(sf.errors.UnitError):
            joined.with_columns(**{name: "price"})
        with pytest.raises(sf.errors.ColumnError):
            shop(schema={**SCHEMA, "calls": sf.Schema({name: sf.Integer(0, 1)})})


def test_a_column_names_the_unit_in_one_of_the_tables(tables):
    joined = tables["orders"].join(tables["customers"])._node
    assert names_unit("customer", joined)
    assert names_unit("id", joined)
    assert not names_unit("age", joined)


def test_a_name_alone_is_not_taken_for_the_unit_of_another_table(tables):
    """`id` names orders in orders, and customers in customers alone."""
    assert number(tables["customers"].count_distinct("id")) == 3
    assert number(tables["orders"].count_distinct("customer")) == 2
    joined = tables["lines"].join(tables["orders"])
    assert number(joined.count_distinct("customer")) == 2
    for table in (tables["lines"], tables["orders"]):
        with pytest.raises(SfumatoError, match="no column 'id'"):
            table.count_distinct("id")
    for table in (joined, joined.join(tables["customers"])):
        with pytest.raises(SfumatoError, match="'id' holds keys"):
            table.count_distinct("id")


# ---- versions ------------------------------------------------------------------------------------

SWAPPED = TABLES["orders"].set_column(1, "customer", pa.array([2, 2, 1, 2, 1]))
VERSIONS = {"customers": "1", "orders": "1", "lines": "1", "calls": "1"}


def refreshed(folder, lines=TABLES["lines"], **changed):
    """Open the shop before and after orders were refreshed, on one ledger."""
    for label, orders in (("1", TABLES["orders"]), ("2", SWAPPED)):
        yield shop(
            tables={**TABLES, "orders": orders, "lines": lines},
            version={**VERSIONS, "orders": label},
            ledger=folder / "shop.ledger",
            **changed,
        )


def test_parts_add_up_over_versions_of_the_tables_that_name_their_units(tmp_path):
    """Whose a line is stands in orders: one customer may be in another part afterwards."""
    unit = sf.Unit.by("order", max_groups=1, max_rows_per_group=5)
    zones = TABLES["lines"].append_column("zone", pa.array(["A", "A", "A", "B", "B", "A", "A"]))
    schema = sf.Schema(price=sf.Integer(0, 50), zone=sf.Category(["A", "B"]))
    left = []
    for part, session in zip(
        ("A", "B"),
        refreshed(
            tmp_path,
            unit={**UNITS, "lines": unit},
            schema={**SCHEMA, "lines": schema},
            budget=sf.Budget(epsilon=10),
            lines=zones,
        ),
        strict=True,
    ):
        with session:
            session.table("lines").partition("zone")[part].count().release(epsilon=3)
            left.append(session.remaining.epsilon)
    assert left == [7, 4]


def test_answer_is_not_that_of_another_version_of_a_table_on_the_path(tmp_path):
    receipts = []
    for session in refreshed(tmp_path, budget=sf.Budget(epsilon=10)):
        with session:
            asked = [session.table(name).count() for name in ("lines", "orders", "calls")]
            receipts.append([question.release(epsilon=1).receipt for question in asked])
            again = asked[0].release(epsilon=1)
            assert again.receipt == receipts[-1][0]
    first, second = receipts
    assert [a == b for a, b in zip(first, second, strict=True)] == [False, False, True]


# ---- refusals ------------------------------------------------------------------------------------

REFUSED = {
    "itself": (lambda t: t["orders"].join(t["orders"]), "joined with itself"),
    "no link": (lambda t: t["orders"].join(t["calls"]), "which rows belong together"),
    "another session": (lambda t: t["orders"].join(shop().table("customers")), "same session"),
    "kept on the wrong side": (
        lambda t: t["orders"].join(t["lines"], how="left"),
        "Write it the other way round",
    ),
    "key is gone": (
        lambda t: t["lines"].distinct(within_unit=True).join(t["orders"]),
        "Follow the link first",
    ),
    "no unit": (
        lambda t: t["lines"].distinct().join(t["calls"].group_by_unit().count()),
        "after distinct nobody can say",
    ),
    "on nothing": (lambda t: t["orders"].join(t["calls"], on=[]), "columns that must be equal"),
    "on a number": (lambda t: t["orders"].join(t["calls"], on=3), "columns that must be equal"),
    "on no column": (lambda t: t["orders"].join(t["calls"], on="zone"), "no column 'zone'"),
    "right": (lambda t: t["lines"].join(t["orders"], how="right"), "'inner' or 'left'"),
    "same name": (
        lambda t: t["lines"].join(t["orders"].with_columns(price="1")),
        "both tables have a column 'price'",
    ),
    "public without key": (lambda t: t["orders"].join({"paid": ["card"]}), "join needs the column"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_join_is_refused(tables, name):
    ask, text = REFUSED[name]
    with pytest.raises(SfumatoError, match=text):
        ask(tables)


BAD_LINKS = {
    "text": ("orders.customer -> customers.id", "a list of links"),
    "no arrow": (["orders.customer"], "one arrow"),
    "number": ([3], "one arrow"),
    "no such table": (["orders.customer -> people.id"], "no column of one table"),
    "no column": (["orders -> customers.id"], "no column of one table"),
    "itself": (["orders.customer -> orders.id"], "refers to itself"),
    "two": ([*LINKS, "orders.customer -> calls.id"], "two links"),
    "circle": (["orders.customer -> customers.id", "customers.id -> orders.id"], "in a circle"),
    "column is not there": ([*LINKS, "calls.order -> orders.id"], "no column 'order'"),
    "key is not there": (
        [LINKS[0], "lines.order -> orders.number", LINKS[2]],
        "no column 'number'",
    ),
    "left out": (LINKS[1:], "one unit under one neighbor relation"),
}


@pytest.mark.parametrize("name", BAD_LINKS)
def test_links_are_refused(name):
    links, text = BAD_LINKS[name]
    with pytest.raises(SfumatoError, match=text):
        shop(links=links)


def test_links_need_several_tables():
    with pytest.raises(SfumatoError, match="connect several tables"):
        sf.Session(
            TABLES["customers"],
            unit=UNITS["customers"],
            schema=SCHEMA["customers"],
            budget=sf.Budget(epsilon=1),
            links=LINKS,
        )


def test_keys_that_cannot_be_compared_are_refused():
    days = TABLES["lines"].set_column(0, "order", pa.array([1] * 7, pa.date32()))
    with pytest.raises(sf.errors.ColumnError, match="which keys are the same"):
        shop(tables={**TABLES, "lines": days})


def test_keys_are_compared_as_text_where_types_differ():
    ids = pa.array([10.0, 11.0, 20.0, 21.0, 21.0])
    orders = TABLES["orders"].set_column(0, "id", ids)
    lines = pa.table({"order": ["10", "10", "11", "20", "21"], "price": [4, 9, 1, 7, 50]})
    with shop(tables={**TABLES, "orders": orders, "lines": lines}) as session:
        joined = session.table("lines").join(session.table("orders"))
        assert number(joined.sum("price")) == 4 + 9 + 1 + 7 + 2 * 50


# ---- declarations --------------------------------------------------------------------------------


def test_links_are_read():
    links = read_links(["orders.customer->customers.id"], ["orders", "customers"])
    assert links == {"orders": (Link("customer", "customers", "id"),)}
    assert str(links["orders"][0]) == "customer -> customers.id"
    with pytest.raises(SfumatoError, match="no column of one table"):  # which of the two is meant?
        read_links(["a.b.c -> d.e"], ["a", "a.b", "d"])


def test_path_passes_over_columns_that_name_the_unit():
    links = {"c": (Link("b", "b", "id"),), "b": (Link("a", "a", "id"),)}
    path = path_of("c", {"a": "id", "b": "a", "c": "b"}, links)
    assert path.steps == ((Link("b", "b", "id"), "a"),)
    assert path.end == "a.id"
    far = path_of("c", {"a": "person", "b": "a", "c": "b"}, links)
    assert [column for _, column in far.steps] == ["a", "person"]
    assert path_of("a", {"a": "id"}, {}) is None


def test_path_is_part_of_what_is_declared():
    with shop() as session:
        lines = session._tables["lines"]
    assert decode(encode(lines)) == lines
    assert lines.path == Path(
        (Link("order", "orders", "id"), Link("customer", "customers", "id")), "id"
    )
    plain = sf.relation.Source("t", sf.Schema(x=sf.Boolean()), sf.Unit.row())
    assert b"path" not in encode(plain)  # what was written before reads the same


def test_ledger_knows_the_unit_by_its_last_column(tmp_path):
    with shop(ledger=tmp_path / "shop.ledger") as session:
        session.table("lines").join(session.table("orders")).count().release(epsilon=1)
        assert session.ledger.unit.column == "id"
    other = dict(reversed(TABLES.items()))
    with shop(tables=other, ledger=tmp_path / "shop.ledger") as session:
        assert session.ledger.unit.column == "id"


CONTRACT = """
[budget]
epsilon = 10000000
ledger = "shop.ledger"
[tables.customers]
source = "customers.csv"
unit = "id"
max_rows = 1
columns.age = { type = "integer", low = 0, high = 120 }
[tables.orders]
source = "orders.csv"
unit = "customer -> customers.id"
max_rows = 3
columns.paid = { type = "category", values = ["card", "cash"] }
[tables.lines]
source = "lines.csv"
unit = "order -> orders.id"
max_rows = 5
links = ["buyer -> customers.id"]
columns.price = { type = "integer", low = 0, high = 50 }
"""


def write(folder, contract=CONTRACT):
    (folder / "shop.toml").write_text(contract)
    (folder / "customers.csv").write_text("id,age\n1,31\n2,45\n")
    (folder / "orders.csv").write_text("id,customer,paid\na,1,card\nb,2,cash\n,1,card\n")
    (folder / "lines.csv").write_text("order,price,buyer\na,4,1\na,9,2\nb,1,2\n,3,1\nx,3,1\n")
    return folder / "shop.toml"


def test_contract_declares_paths(tmp_path):
    contract = Contract.read(write(tmp_path))
    assert contract.unit.column == "id"
    assert contract.tables["orders"].unit.column == "customer"
    lines = contract.tables["lines"]
    assert lines.unit.column == "customers.id"
    assert lines.links == (Link("order", "orders", "id"), Link("buyer", "customers", "id"))
    with sf.connect(contract) as session:
        lines, orders = session.table("lines"), session.table("orders")
        assert number(lines.join(orders).sum("price")) == 4 + 9 + 1
        customers = session.table("customers")
        bought = lines.join(customers, on={"buyer": "id"})  # by whom it belongs to: not the 9
        assert number(bought.sum("price")) == 4 + 1


def test_check_looks_at_both_ends_of_a_link(tmp_path):
    contract = Contract.read(write(tmp_path))
    rules = {finding.rule: finding.place for finding in lint(contract)}
    assert rules["unit.path"] == "tables.lines.unit"
    assert "column.missing" not in rules
    assert "column.undeclared" not in rules or "buyer" not in str(rules)
    wrong = CONTRACT.replace("orders.id", "orders.number").replace("buyer", "seller")
    found = [f for f in lint(Contract.read(write(tmp_path, wrong))) if f.rule == "column.missing"]
    assert [finding.place for finding in found] == ["tables.lines.unit", "tables.lines.links"]


BAD_CONTRACTS = {
    "no such table": ("-> orders.id", "-> people.id", "tables.lines.unit: a link leads"),
    "no key": ("-> orders.id", "->", "tables.lines.unit: a link leads"),
    "two arrows": ("-> orders.id", "-> orders -> id", "tables.lines.unit: a link has one arrow"),
    "links is a text": ('["buyer -> customers.id"]', '"buyer"', "tables.lines.links: this is text"),
    "link is a number": (
        '"buyer -> customers.id"',
        "3",
        "tables.lines.links: a link has one arrow",
    ),
    "circle": ('unit = "id"', 'unit = "id -> lines.order"', "in a circle"),
}


@pytest.mark.parametrize("name", BAD_CONTRACTS)
def test_contract_is_refused(name):
    right, wrong, text = BAD_CONTRACTS[name]
    assert right in CONTRACT
    with pytest.raises(sf.errors.ContractError, match=text):
        Contract.parse(CONTRACT.replace(right, wrong))


# ---- dummies -------------------------------------------------------------------------------------


def test_made_up_rows_find_one_another():
    with shop() as session:
        made = {name: session.dummy(name, rows=200) for name in session.tables}
    assert made["orders"].column_names == ["customer", "id", "paid"]
    found = {(t, c): made[t][c].to_pylist() for t in made for c in made[t].column_names}
    assert len(set(found["orders", "id"])) == 200
    assert {*found["lines", "order"]} <= {*found["orders", "id"]}
    assert {*found["orders", "customer"]} <= {*found["customers", "id"]}
    with shop(tables=made) as practice:
        lines, orders, customers = map(practice.table, ("lines", "orders", "customers"))
        assert number(lines.join(orders).join(customers).count()) == number(lines.count())
