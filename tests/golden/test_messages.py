"""The exact text of refusals: people meet it, search for it, and act on it.

``messages.txt`` holds one line a case. When a change is meant, write the file anew and read the
difference: ``SFUMATO_REWRITE_GOLDEN=1 pytest tests/golden/test_messages.py``.
"""

import os
import re
import sqlite3
import sys
import tempfile
from copy import copy
from dataclasses import fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.accounting import Sums, charge, spend
from sfumato.backends.physical import PhysicalColumn
from sfumato.cli.asked import Asked
from sfumato.cli.file import save
from sfumato.cli.shell import Shell
from sfumato.cli.statement import no_text, parameters
from sfumato.core import codec
from sfumato.core.errors import RequestError, SfumatoError
from sfumato.core.loss import Composed, Concentrated, GaussianShift, LaplaceShift, Pure, Worst
from sfumato.ledger import Branch, Ledger
from sfumato.ledger import connection as ledger_connection
from sfumato.ledger.connection import bereft
from sfumato.noise.binomial import binomial
from sfumato.noise.permutation import distinct
from sfumato.noise.rng import SystemRng
from sfumato.owner.amendment import amended
from sfumato.owner.draft import draft
from sfumato.owner.outline import Outline, outlines
from sfumato.relation.kind import Number
from sfumato.release.error import Noise
from sfumato.session.bounds import Bounds, Range, found, unbounded
from sfumato.session.contract import Contract
from sfumato.session.pacing import pace_of
from sfumato.session.table import Table
from sfumato.testing import FakeCurator, FakeQuery

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"
GOLDEN = Path(__file__).with_name("messages.txt")
REWRITE = "SFUMATO_REWRITE_GOLDEN"

ONE = sf.Sensitivity(l1=1)
HERS = sf.Sensitivity(l1=1, neighbors="replace")
mechanisms, accounting = sf.mechanisms, sf.accounting


def raised(problem):
    raise problem


def query(sql, **given):
    """Check what was typed behind `sfumato query`."""
    flags = ("bought", "other", "count", "interval", "explain")
    one = ("table", "per_unit", "histogram", "bins", "top", "epsilon", "delta", "rho", "confidence")
    nothing = {field.name: () for field in fields(Asked)}
    nothing |= dict.fromkeys(flags, False) | dict.fromkeys((*one, "out", "analyst", "request"))
    Asked(**nothing | {"contract": Path(), "sql": sql, "format": "table"} | given).check()


def without_dp_accounting():
    with patch.dict(sys.modules, {"dp_accounting.pld.common": None}):
        accounting.pld.to_dp_accounting(Pure(1))


def without_pandas():
    with patch.dict(sys.modules, {"pandas": None}):
        mechanisms.DiscreteLaplace(1).release(1, ONE).to_pandas()


def without_entropy():
    with patch("sfumato.noise.rng.os.urandom", side_effect=OSError):
        SystemRng().words(1)


def throw(problem):
    raise problem


def ledger(**options):
    return Ledger.create(None, sf.Budget(epsilon=1), sf.Unit.row(), **options)


def ask(ledger, plan="plan", cost="0.1", analyst=None, request="q1"):
    return ledger.reserve(request, analyst, "trips", "2026-11", plan, Pure(cost))


def other_question():
    book = ledger()
    ask(book), ask(book, plan="other")


def under_way():
    book = ledger()
    book.touch(ask(book)), ask(book)


def abandoned():
    book = ledger()
    granted = ask(book)
    book.touch(granted), book.abandon(granted), ask(book)


def untouched():
    book = ledger()
    book.settle(ask(book), b"")


def closed():
    book = ledger()
    book.fault(), ask(book)


def used_version():
    book = ledger()
    ask(book), book.refresh("trips", "2026-11")


def in_scope(cost="0.4", closed=False):
    book = ledger()
    scope = book.open_scope(sf.Budget(epsilon="0.3"))
    if closed:
        book.close_scope(scope)
    book.reserve("q1", None, "trips", "2026-11", "plan", Pure(cost), scope=scope)


def other_width():
    book = ledger()
    for width in (1, 2):
        part = Branch("0" * 64, "north", width)
        book.reserve(f"q{width}", None, "trips", "2026-11", f"{width}", Pure("0.1"), part=part)


def older_format():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger"
        Ledger.create(path, sf.Budget(1), sf.Unit.row()).close()
        with sqlite3.connect(path) as other:
            other.execute("PRAGMA user_version = 1")
        other.close()
        Ledger.open(path)


def all_together():
    book = ledger(analysts={"ana": sf.Budget(1), "bob": sf.Budget(1)})
    ask(book, cost=1, analyst="ana"), ask(book, "other", analyst="bob")


def contract(table='unit = "row"', column='type = "integer", low = 0, high = 23', more=""):
    """Read a contract of one table."""
    return Contract.parse(
        f'[budget]\nepsilon = 1\n[tables.trips]\nsource = "trips.csv"\n{table}\n'
        f"columns.hour = {{ {column} }}\n{more}"
    )


def own(ask):
    """Ask a table something about itself."""
    return ask(trips())


def raising(problem):
    """Raise what is raised elsewhere, where only a disk can bring it about."""
    raise problem


def batch(*asked, weights=None, **change):
    """Put questions to a private table together."""
    table = trips(**change)
    table._session.batch([each(table) for each in asked], weights=weights)


def asked(text):
    """Explain a question in SQL."""
    schema = sf.Schema(zone=sf.Category(["A", "B"]), fare=sf.Real(0, 200, "0.01"))
    if "street" in text:
        schema = sf.Schema(street=sf.Text())
    data = pa.table({name: [None] for name in schema})
    budget = sf.Budget(epsilon=1)
    with sf.Session(
        {"trips": data}, unit=sf.Unit.row(), schema={"trips": schema}, budget=budget
    ) as s:
        return s.explain(text)


def trips(**change):
    """Return a private table."""
    declared = {
        "unit": sf.Unit.by("rider", max_rows=3),
        "schema": sf.Schema(
            zone=sf.Category(["A", "B"]),
            fare=sf.Real(0, 200, "0.01"),
            name=sf.Text(),
            day=sf.Date("2026-01-01", "2026-12-31"),
        ),
        "budget": sf.Budget(epsilon=1),
    }
    data = pa.table({n: [None] for n in ("rider", "zone", "fare", "name", "day")})
    return sf.Session(data, **{**declared, **change}).table()


def shop(links=("orders.customer -> customers.id", "lines.order -> orders.id"), caps=3, key=1):
    """Return tables that refer to one another."""
    schema = {
        "customers": sf.Schema(age=sf.Integer(0, 99)),
        "orders": sf.Schema(paid=sf.Boolean()),
        "lines": sf.Schema(price=sf.Integer(0, 9)),
        "calls": sf.Schema(minutes=sf.Integer(0, 9)),
    }
    session = sf.Session(
        {
            "customers": pa.table({"id": [1], "age": [3]}),
            "orders": pa.table({"id": [key], "customer": [1], "paid": [True]}),
            "lines": pa.table({"order": [1], "price": [1]}),
            "calls": pa.table({"id": [1], "minutes": [1]}),
        },
        unit={
            "customers": sf.Unit.by("id", max_rows=1),
            "orders": sf.Unit.by("customer", max_rows=3),
            "lines": sf.Unit.by("order", max_rows=3),
            "calls": sf.Unit.by("id", max_rows=caps),
        },
        schema=schema,
        links=links,
        budget=sf.Budget(epsilon=1),
    )
    return tuple(session.table(name) for name in schema)


def beside(ask, **change):
    return ask(*shop(**change))


def nothing_found():
    """Buy a range where noise shows none."""
    with patch("sfumato.session.purchase.found", return_value=None):
        trips().sum(sf.bounds("fare")).release(epsilon=1)


def range_that_cannot_be_used():
    """Buy a range whose squares do not fit."""
    with patch("sfumato.session.purchase.found", return_value=Range(0, 2**40)):
        trips().variance(sf.bounds("fare * 1e9")).release(epsilon=1)


def drawn(name="a", values=(300, 400), **parts):
    """Two cells with noise of their own."""
    keys = parts.pop("keys", {"zone": ["A", "B"]})
    error = mechanisms.DiscreteLaplace(4).error(ONE)
    given = {"error": error, "cost": Pure(1), "mechanism": "", "name": "n", "keys": keys}
    noise = {"noise": Noise("laplace", 4), "draw": name}
    return sf.Release.of(values=list(values), **(given | noise | parts))


def ratio():
    return drawn()["n"] / drawn("c")["n"]


def failed():
    table = trips()
    with patch.object(type(table._session._backend), "run", side_effect=MemoryError):
        table.count().release(epsilon=1)


def given_up():
    with patch.object(Ledger, "fault", side_effect=RequestError("it is abandoned.")):
        failed()


def moved_budget():
    ledger = trips()._session.ledger
    trips(ledger=ledger, budget=sf.Budget(epsilon=2))


def other_shares():
    with TemporaryDirectory() as folder:
        file = Path(folder) / "a.ledger"
        book = Ledger.create(
            file, sf.Budget(1), sf.Unit.by("rider", max_rows=3), analysts={"ana": sf.Budget(1)}
        )
        book.close()
        trips(ledger=file)


def drafted(kind="VARCHAR", **options):
    found = Outline("trips", None, (PhysicalColumn("zone", "", kind),), True)
    draft([(found, "trips.parquet")], ledger="trips.ledger", **options)


def headed(text):
    with TemporaryDirectory() as folder:
        file = Path(folder) / "people.csv"
        file.write_text(text, encoding="utf-8")
        outlines(str(file))


def watched(ask, mechanism=None):
    """Open a stream on a laboratory, which answers above the threshold, and ask it something."""
    lab = sf.lab([10**6, 0])
    ask(lab.open(lab.histogram(), mechanism or mechanisms.SparseVector(0, 1, 1)))


def failing(code):
    """Raise what a failure of the database becomes."""
    problem = sqlite3.OperationalError()
    problem.sqlite_errorcode = code
    raise ledger_connection.translated(problem)


CASES = {
    # numbers
    "number: not a number": lambda: sf.Budget(epsilon="a little"),
    "number: not finite": lambda: sf.Budget(epsilon=float("nan")),
    "number: truth value": lambda: sf.Budget(epsilon=True),
    "number: object": lambda: sf.Budget(epsilon=[1]),
    "number: too long": lambda: sf.Budget(epsilon="1e-100000"),
    "number: too many digits": lambda: sf.Budget(epsilon=10**5000),
    "range: zero": lambda: sf.Budget(epsilon=0),
    "range: negative": lambda: sf.Sensitivity(l1=-1),
    "range: delta": lambda: sf.Budget(epsilon=1, delta=1),
    "range: confidence": lambda: mechanisms.RandomizedResponse(1).estimate([True], confidence=95),
    "range: noise scale": lambda: mechanisms.DiscreteLaplace(scale="1e-9"),
    # budgets and costs
    "cost: none": sf.Budget,
    "cost: two families": lambda: sf.Budget(epsilon=1, rho=1),
    "cost: delta beside rho": lambda: sf.Budget(rho=1, delta="1e-6"),
    "cost: Gaussian without delta": lambda: mechanisms.DiscreteGaussian.calibrate(ONE, epsilon=1),
    "budget: exceeded": lambda: spend(Sums() + charge(Pure(3)), Pure(2), sf.Budget(epsilon=4)),
    "budget: exceeded in both views": lambda: spend(
        Sums() + charge(Concentrated("0.2")), Concentrated("0.1"), sf.Budget(1, "1e-6")
    ),
    # units
    "unit: no column": lambda: sf.Unit.by("", max_rows=3),
    "unit: no limit": lambda: sf.Unit.by("rider_id"),
    "unit: cap": lambda: sf.Unit.by("rider_id", max_rows=0),
    "unit: cap of another kind": lambda: sf.Unit.by("rider_id", max_rows="many"),
    "unit: rows without number": lambda: sf.Unit.rows("auto"),
    "unit: relation": lambda: sf.Unit.row(neighbors="bounded"),
    # columns
    "column: order": lambda: sf.Integer(120, 0),
    "column: fraction": lambda: sf.Integer(0, 1.5),
    "column: not a number": lambda: sf.Real(0, "many", 1),
    "column: grid": lambda: sf.Real(0, "199.995", step="0.01"),
    "column: too many steps": lambda: sf.Real(0, 1, step="1e-30"),
    "column: one bound": lambda: sf.Integer(low=0),
    "column: no step": lambda: sf.Real(0, 1),
    "column: text for a list": lambda: sf.Category("AB"),
    "column: values": lambda: sf.Category([1.5]),
    "column: duplicates": lambda: sf.Category(["A", "A"]),
    "column: date": lambda: sf.Date("yesterday", "2026-12-31"),
    "column: time zone": lambda: sf.Timestamp("2026-01-01T00:00Z", "2026-12-31"),
    "column: span": lambda: sf.Timestamp("2026-01-01", "2026-01-01T23:59:59", step=60),
    "column: nullable": lambda: sf.Text(nullable="no"),
    "bounds: none declared": lambda: throw(unbounded("sum", "income * 12", "income")),
    "bounds: no text": lambda: Bounds(3),
    "bounds: counts": lambda: found([1, 2], Noise("laplace", 1), Number(0, 1000), 0.95),
    "schema: no column": lambda: sf.Schema(age="integer"),
    "schema: class": lambda: sf.Schema(age=sf.Integer),
    "schema: twice": lambda: sf.Schema({"age": sf.Text()}, age=sf.Text()),
    "schema: no mapping": lambda: sf.Schema(["age"]),
    "schema: unknown name": lambda: sf.Schema(age=sf.Integer(0, 120), zone=sf.Text())["agee"],
    # contracts
    "contract: missing": lambda: Contract.read("no such contract.toml"),
    "contract: no TOML": lambda: Contract.parse("[budget]\nepsilon = = 1"),
    "contract: unknown key": lambda: contract("unit = 'rider_id'\nmax_row = 20"),
    "contract: key of another place": lambda: contract(more="[unit]\nmax_rows = 20"),
    "contract: no limit": lambda: contract(more="[analysts.ana]"),
    "contract: untrusted": lambda: contract(more="[session]\nuntrusted = 'yes'"),
    "contract: quantum": lambda: contract(more="[session]\nquantum = 1"),
    "session: untrusted": lambda: pace_of("0.25", None),
    "session: quantum of a trusted one": lambda: pace_of(False, 1),
    "session: quantum out of range": lambda: pace_of(True, "0.0001"),
    "audit: nothing for a stopwatch": lambda: sf.audit.stopwatch(lambda: 7, trials=100),
    "contract: no unit": lambda: contract(""),
    "contract: no cap": lambda: contract("unit = 'rider_id'"),
    "contract: path": lambda: contract("unit = 'rider -> riders.id'\nmax_rows = 20"),
    "contract: bought cap": lambda: contract(
        "unit = 'rider_id'\nmax_rows = 3\nmax_rows_per_group = 'auto'"
    ),
    "contract: two units": lambda: contract(
        more="[tables.people]\nsource = 'people.csv'\nunit = 'id'\nmax_rows = 1\n"
        "columns.age = { type = 'text' }"
    ),
    "contract: name of the unit": lambda: contract(
        "unit = 'rider_id'\nmax_rows = 20",
        more="[tables.people]\nsource = 'people.csv'\nunit = 'id'\nmax_rows = 1\n"
        "columns.age = { type = 'text' }",
    ),
    "contract: type": lambda: contract(column='type = "float"'),
    "contract: no step": lambda: contract(column='type = "real", low = 0, high = 24'),
    "contract: order": lambda: contract(column='type = "integer", low = 23, high = 0'),
    # drafts, made-up rows, limits
    "draft: no such unit": lambda: drafted(unit="rider"),
    "draft: nothing to declare": lambda: drafted(kind="BLOB"),
    "draft: no header": lambda: headed("7,ana@example.org,1987\n"),
    "draft: open quotation mark": lambda: headed('id,"name\n7,Ana\n'),
    "file: exists": lambda: save(Path(__file__), b""),
    "file: precious": lambda: save(Path(__file__), b"", force=True, spare=[Path(__file__)]),
    "file: folder": lambda: save(Path(__file__).parent, b"", force=True),
    "file: no folder": lambda: save(Path("no such folder/draft.toml"), b""),
    "console: not text": lambda: raised(no_text()),
    "console: parameter without a name": lambda: parameters(["hour=22", "A"]),
    "console: parameter twice": lambda: parameters(["hour=22", "hour=23"]),
    "console: parameter is no date": lambda: parameters(["day=DATE 'soon'"]),
    "console: SQL and options": lambda: query("SELECT COUNT(*) FROM trips", where=("hour < 9",)),
    "console: SQL without a price": lambda: query("SELECT COUNT(*) FROM trips"),
    "console: two prices": lambda: query("SELECT COUNT(*) FROM trips WITH RHO 1", epsilon="1"),
    "shell: no price": lambda: Shell(trips()._session, None, Path(), pays_at_once=True).plan(
        "SELECT COUNT(*) FROM trips"
    ),
    "dummy: rows": lambda: trips()._session.dummy(rows=-1),
    "amendment: not safe": lambda: amended(
        "budget = { epsilon = 1 }\n[tables.a]\nsource = 'a.csv'\nunit = 'row'\n"
        "columns.b = { type = 'text' }\n",
        Path(),
        sf.Budget(2),
        {"epsilon": "2"},
    ),
    # sessions and questions
    "session: no limit": lambda: trips(budget=4),
    "session: no unit": lambda: trips(unit=None),
    "session: no schema": lambda: trips(schema=None),
    "session: no such column": lambda: trips(schema=sf.Schema(fares=sf.Text())),
    "session: no such file": lambda: sf.Session(
        "none.csv", unit=sf.Unit.row(), schema=sf.Schema(a=sf.Text()), budget=sf.Budget(1)
    ),
    "session: another limit": moved_budget,
    "session: other shares": other_shares,
    "ledger: log without it": lambda: raising(bereft()),
    "batch: of nothing": batch,
    "batch: another session": lambda: batch(lambda _: trips().count()),
    "batch: another part": lambda: batch(Table.count, lambda t: t.partition("zone")["A"].count()),
    "batch: bought caps": lambda: batch(Table.count, unit=sf.Unit.by("rider", max_rows="auto")),
    "batch: weights": lambda: batch(Table.count, weights=[1, 2]),
    "session: no such table": lambda: trips()._session.table("people"),
    "algebra: unit after distinct": lambda: trips().distinct().group_by_unit().count(),
    "algebra: nothing of each unit": lambda: trips().group_by_unit().agg(),
    "algebra: variance of each unit": lambda: trips().group_by_unit().agg(sf.variance("fare")),
    "algebra: union with another session": lambda: trips().union(trips()),
    "algebra: union of other columns": lambda: own(lambda t: t.union(t.select("fare"))),
    "algebra: union of another type": lambda: own(
        lambda t: t.select("fare").union(t.select("fare").with_columns(fare="fare > 1"))
    ),
    "algebra: union after distinct": lambda: own(lambda t: t.union(t.distinct())),
    "algebra: no public table": lambda: trips().join("zones", on="zone"),
    "algebra: public table unread": lambda: trips().join({"zone": ["A"], "x": []}, on="zone"),
    "algebra: public key missing": lambda: trips().join({"x": [1]}, on="zone"),
    "algebra: no key in common": lambda: trips().join({"zone": ["nowhere"]}, on="zone"),
    "algebra: join by the unit": lambda: trips().join({"rider": [1]}, on="rider"),
    "algebra: join by nothing": lambda: trips().join({"zone": ["A"]}, on=[]),
    "algebra: column of lists": lambda: trips().join({"zone": ["A"], "x": [[1]]}, on="zone"),
    "algebra: too many public rows": lambda: trips().join({"zone": ["A"] * 100_001}, on="zone"),
    "algebra: right join": lambda: trips().join({"zone": ["A"]}, on="zone", how="right"),
    "algebra: part of a part": lambda: own(
        lambda t: next(iter(t.partition("zone").values())).partition("zone")
    ),
    "algebra: whole asked of a part": lambda: own(
        lambda t: next(iter(t.partition("zone").values())).measure(
            t.count().queries[0], sf.mechanisms.DiscreteLaplace(scale=1)
        )
    ),
    "links: itself": lambda: beside(lambda c, o, n, p: o.join(o)),
    "links: none": lambda: beside(lambda c, o, n, p: o.join(p)),
    "links: another session": lambda: beside(lambda c, o, n, p: o.join(shop()[0])),
    "links: kept on the wrong side": lambda: beside(lambda c, o, n, p: o.join(n, how="left")),
    "links: key is gone": lambda: beside(lambda c, o, n, p: n.distinct(within_unit=True).join(o)),
    "links: key is not there": lambda: beside(
        lambda c, o, n, p: n.join(o.group_by_unit("paid").count(), on={"order": "id"})
    ),
    "links: by name": lambda: beside(lambda c, o, n, p: o.join("customers")),
    "links: on nothing": lambda: beside(lambda c, o, n, p: o.join(p, on=[])),
    "links: right join": lambda: beside(lambda c, o, n, p: n.join(o, how="right")),
    "links: same name": lambda: beside(lambda c, o, n, p: n.join(o.with_columns(price="1"))),
    "links: another type": lambda: beside(lambda c, o, n, p: o.join(p, on={"paid": "minutes"})),
    "links: one row too often": lambda: beside(
        lambda c, o, n, p: o.join(p, on={"customer": "id"}), caps=1001
    ),
    "links: a text": lambda: shop(links="orders.customer -> customers.id"),
    "links: no arrow": lambda: shop(links=["orders.customer"]),
    "links: no such table": lambda: shop(links=["orders.customer -> people.id"]),
    "links: a table of itself": lambda: shop(links=["orders.customer -> orders.id"]),
    "links: two of a column": lambda: shop(
        links=["orders.customer -> customers.id", "orders.customer -> calls.id"]
    ),
    "links: circle": lambda: shop(
        links=["orders.customer -> customers.id", "customers.id -> orders.customer"]
    ),
    "links: one table": lambda: sf.Session(
        pa.table({"x": [True]}),
        unit=sf.Unit.row(),
        schema=sf.Schema(x=sf.Boolean()),
        budget=sf.Budget(epsilon=1),
        links=["orders.customer -> customers.id"],
    ),
    "links: keys of two types": lambda: shop(key=True),
    "contract: two arrows": lambda: contract("unit = 'a -> b -> c'\nmax_rows = 20"),
    "contract: links": lambda: contract("unit = 'rider'\nmax_rows = 20\nlinks = 'a -> b.c'"),
    "algebra: one row too often": lambda: trips().join({"zone": ["A"] * 1001}, on="zone"),
    "algebra: units of two types": lambda: sf.Session(
        {"a": pa.table({"id": [1], "x": [True]}), "b": pa.table({"id": [True], "x": [True]})},
        unit=sf.Unit.by("id", max_rows=1),
        schema=dict.fromkeys("ab", sf.Schema(x=sf.Boolean())),
        budget=sf.Budget(1),
    ),
    "algebra: two units": lambda: sf.Session(
        {"a": pa.table({"x": [1]}), "b": pa.table({"x": [1]})},
        unit={"a": sf.Unit.row(), "b": sf.Unit.rows(2)},
        schema=dict.fromkeys("ab", sf.Schema(x=sf.Boolean())),
        budget=sf.Budget(1),
    ),
    "algebra: one schema for two": lambda: sf.Session(
        {"a": pa.table({"x": [1]}), "b": pa.table({"x": [1]})},
        unit=sf.Unit.row(),
        schema=sf.Schema(x=sf.Boolean()),
        budget=sf.Budget(1),
    ),
    "sql: no such column": lambda: asked("SELECT zon, COUNT(*) FROM trips GROUP BY zon"),
    "sql: no number": lambda: asked("SELECT SUM(street) FROM trips"),
    "sql: limited rows": lambda: asked("SELECT COUNT(*) FROM (SELECT * FROM trips LIMIT 5)"),
    "sql: no price": lambda: asked("SELECT COUNT(*) FROM trips WITH EPSILON x"),
    "question: no such column": lambda: trips().filter("fares > 3"),
    "question: the unit": lambda: trips().filter("rider = 3"),
    "question: redefined unit": lambda: trips().with_columns(rider="fare"),
    "question: no condition": lambda: trips().filter("fare"),
    "question: no function": lambda: trips().filter("random() < 0.5"),
    "question: aggregate in a row": lambda: trips().filter("sum(fare) > 3"),
    "question: other types": lambda: trips().filter("fare > 'A'"),
    "question: no order": lambda: trips().filter("zone < zone"),
    "question: no number in a text": lambda: trips().with_columns(x="CAST(zone AS INTEGER)"),
    "question: text of a number": lambda: trips().with_columns(x="upper(fare)"),
    "question: no constant pattern": lambda: trips().filter("name LIKE zone"),
    "question: idle escape": lambda: trips().filter("name LIKE 'a!b' ESCAPE '!'"),
    "question: two characters escape": lambda: trips().filter("name LIKE 'a' ESCAPE '!!'"),
    "question: long pattern": lambda: trips().filter(f"name LIKE '{'a' * 251}'"),
    "question: growing text": lambda: trips().with_columns(x=f"replace(name, 'a', '{'b' * 18}')"),
    "question: many digits": lambda: trips().with_columns(x="CAST(name AS DECIMAL(30, 2))"),
    "question: no such cast": lambda: trips().with_columns(x="CAST(name AS BLOB)"),
    "question: no such unit": lambda: trips().with_columns(x="date_trunc('decade', day)"),
    "question: no such interval": lambda: trips().with_columns(x="day + INTERVAL '1.5' DAY"),
    "question: beyond the calendar": lambda: trips().with_columns(x="day + INTERVAL 9000 YEAR"),
    "question: time apart": lambda: trips().with_columns(x="day - CAST(day AS TIMESTAMP)"),
    "question: long list": lambda: trips(
        schema=sf.Schema(day=sf.Date("0001-01-01", "9999-12-31"))
    ).with_columns(x="date_trunc('month', day)"),
    "question: root": lambda: trips().with_columns(x="sqrt(fare)"),
    "question: large root": lambda: trips().with_columns(x="root(fare, 1e-9)"),
    "question: power": lambda: trips().with_columns(x="fare ^ 0.5"),
    "question: logarithm": lambda: trips().with_columns(x="ln(fare)"),
    "question: unlisted category": lambda: trips().filter("zone = 'C'"),
    "question: division": lambda: trips().with_columns(x="1 / fare"),
    "question: overflow": lambda: trips().sum("fare ^ 5 * fare ^ 5"),
    "question: sum of text": lambda: trips().sum("name"),
    "question: nothing": lambda: trips().agg(),
    "question: name twice": lambda: trips().group_by("zone").agg(zone=sf.count()),
    "question: no output": lambda: trips().agg(n="count"),
    "question: bought caps": lambda: trips(unit=sf.Unit.by("rider", max_rows="auto")).distinct(),
    "quantile: none": lambda: sf.quantile("fare", []),
    "quantile: a percentage": lambda: sf.quantile("fare", 90),
    "quantile: of nothing": lambda: trips().median(None),
    "quantile: no order": lambda: trips().median("zone"),
    "quantile: interval of days": lambda: trips().median("day", interval=True),
    "quantile: a wish": lambda: trips().median("fare").release(accuracy=sf.within(1)),
    "quantile: of the rest": lambda: (
        trips().group_by("name", keys=sf.bought(other=True)).median("fare")
    ),
    "distinct: bought groups": lambda: (
        trips().group_by("name", keys=sf.bought()).count_distinct("zone")
    ),
    "bought: no δ": lambda: trips().group_by("name", keys=sf.bought()).count().explain(epsilon=1),
    "bought: no answer": lambda: sf.bought(other=1),
    "bought: other column": lambda: trips().group_by("name", keys={"zone": sf.bought()}),
    "bought: histogram": lambda: (
        trips().group_by("name", keys=sf.bought()).histogram("fare", [0, 10])
    ),
    "bought: a wish": lambda: (
        trips().group_by("name", keys=sf.bought()).count().release(accuracy=sf.within(9))
    ),
    "bounds: of a date": lambda: trips().median(sf.bounds("day")),
    "bounds: of a category": lambda: trips().mean(sf.bounds("zone")),
    "bounds: inside": lambda: trips().mean("bounds(fare) + 1"),
    "bounds: too many things": lambda: (
        trips()
        .agg(**{f"s{k}": sf.sum(sf.bounds(f"fare * {k}")) for k in "1234"})
        .explain(epsilon=1)
    ),
    "bounds: a wish": lambda: trips().sum(sf.bounds("fare")).explain(accuracy=sf.within(9)),
    "bounds: nothing found": nothing_found,
    "bounds: found and too wide": range_that_cannot_be_used,
    "per unit: no range": lambda: sf.sum("fare", per_unit=3),
    "per unit: reversed": lambda: sf.sum("fare", per_unit=(3, 0)),
    "per unit: between steps": lambda: trips().sum("fare", per_unit=(0, "0.005")),
    "per unit: rows": lambda: trips(unit=sf.Unit.row()).sum("fare", per_unit=(0, 3)),
    "race: another word": lambda: sf.count(per_unit="best"),
    "race: another word for a sum": lambda: sf.sum("fare", per_unit="best"),
    "race: an end without": lambda: sf.count(most=9),
    "race: a range is bought": lambda: sf.sum(sf.bounds("fare"), per_unit="auto"),
    "race: negative": lambda: trips().sum("fare - 3", per_unit="auto"),
    "race: ends between rows": lambda: trips().count(per_unit="auto", most="2.5"),
    "race: ends between steps": lambda: trips().sum("fare", per_unit="auto", most="0.005"),
    "race: bought groups": lambda: (
        trips().group_by("zone", keys=sf.bought()).count(per_unit="auto")
    ),
    "race: a wish": lambda: trips().count(per_unit="auto").explain(accuracy=sf.within(9)),
    "within: no wish": lambda: trips().count().release(accuracy=50),
    "within: another output": lambda: trips().count().release(accuracy={"m": sf.within(50)}),
    "within: an output without": lambda: (
        trips().agg(sf.count(), sf.sum("fare")).release(accuracy={"n": sf.within(50)})
    ),
    "within: below a step": lambda: trips().count().release(accuracy=sf.within("0.5")),
    "within: and a price": lambda: trips().count().release(epsilon=1, accuracy=sf.within(9)),
    "top: how many": lambda: trips().top("zone", 0),
    "question: declared count": lambda: (
        trips(unit=sf.Unit.row("replace")).count().explain(epsilon=1)
    ),
    "keys: text": lambda: trips().group_by("name"),
    "keys: unknown": lambda: trips().group_by("zone", keys=["C"]),
    "keys: too many": lambda: trips().group_by("fare", "day", "zone"),
    "keys: several columns": lambda: trips().group_by("zone", "day", keys=["A"]),
    "keys: twice": lambda: trips().group_by("zone", "zone"),
    "histogram: no order": lambda: trips().histogram("zone", 3),
    "histogram: no edges": lambda: trips().histogram("fare", "20"),
    "histogram: not in order": lambda: trips().histogram("fare", [10, 0]),
    "histogram: too many bins": lambda: trips().histogram("fare", 5000),
    "histogram: no date": lambda: trips().histogram("day", [1, 2]),
    "histogram: grouped already": lambda: trips().group_by("zone", "day").histogram("day", 12),
    "variance: too wide": lambda: trips().variance("fare ^ 4"),
    "release: failed": failed,
    "release: failed and given up": given_up,
    "release: of another ledger": lambda: trips()._session.certificate(
        trips().count().release(epsilon=1)
    ),
    "chart: of a choice": lambda: (
        mechanisms.Exponential(["a", "b"], rate=1).release([1, 2], ONE).chart()
    ),
    # computing with answers
    "answers: product": lambda: drawn()["n"] * drawn("b")["n"],
    "answers: sum of quotients": lambda: ratio() + 1 / drawn("b")["n"],
    "answers: quotient of quotients": lambda: ratio() / drawn("b")["n"],
    "answers: zero": lambda: drawn()["n"] / 0,
    "answers: unknown noise": lambda: (
        mechanisms.DiscreteLaplace(1).release([1], ONE)["value"] + drawn()["n"]
    ),
    "answers: made by hand": lambda: sf.Estimate(1, 0, 2) + 1,
    "answers: confidence": lambda: drawn()["n"] + drawn("b", confidence="0.9")["n"],
    "answers: key columns": lambda: drawn()["n"] + drawn("b", keys={"day": [1, 2]})["n"],
    "answers: keys": lambda: drawn()["n"] + drawn("b", keys={"zone": ["A", "C"]})["n"],
    "answers: kinds of keys": lambda: drawn()["n"] + drawn("b", keys={"zone": [1, 2]})["n"],
    "answers: keys twice": lambda: drawn()["n"] + drawn("b", keys={"zone": ["A", "A"]})["n"],
    "answers: units": lambda: drawn()["n"] + drawn("b", unit=sf.Unit.row())["n"],
    "answers: edited": lambda: drawn()["n"] + drawn(values=(8, 9))["n"],
    "answers: nothing to derive": lambda: drawn().derive(),
    "answers: expression": lambda: drawn().derive(x="n ** 2"),
    "answers: condition as a column": lambda: drawn().derive(x="n > 3"),
    "answers: no condition": lambda: drawn().where("n + 1"),
    "answers: unlike": lambda: drawn().where("zone > 3"),
    "answers: name": lambda: drawn().derive(x="m + 1"),
    "answers: open": lambda: drawn(values=(300, 2)).derive(x="1 / n"),
    "answers: cut and consistent": lambda: drawn(values=(300, 2**63 - 1)).consistent(
        drawn("b", (9, 9)).total()
    ),
    "answers: share of a mean": lambda: drawn().derive(x="100 / n").share("x"),
    "answers: no key column": lambda: drawn().roll_up("day"),
    "answers: not mapped": lambda: drawn().roll_up("zone", {"A": "north"}),
    "answers: sorted already": lambda: drawn().sort("n").sort("n"),
    "answers: first of quotients": lambda: drawn().derive(x="100 / n").leads("x"),
    "answers: rows of a number": lambda: drawn().total("n").sort("n"),
    "answers: head": lambda: drawn().head(-1),
    "answers: its own total": lambda: drawn().consistent(drawn().total("n")),
    "answers: total with keys": lambda: drawn().consistent(drawn("b")),
    "answers: total of other rows": lambda: drawn().consistent(drawn("b", (900, 1)).total("n")),
    "answers: round": lambda: drawn().round(-1),
    "answers: what adds up": lambda: drawn().derive(m="n + 1").round(5, "n").total(),
    "answers: no sample": lambda: drawn().population(),
    "answers: sample of rows": lambda: replace(
        drawn(unit=sf.Unit.by("rider", max_rows=12)), sampled=True
    ).population(),
    "answers: half a draw": lambda: drawn(name=None),
    # sensitivities
    "sensitivity: none": lambda: sf.Sensitivity(l0=3),
    "sensitivity: both l2": lambda: sf.Sensitivity(l2=1, l2_squared=1),
    "sensitivity: cells": lambda: sf.Sensitivity(l0="1.5", linf=1),
    "sensitivity: too large": lambda: sf.Sensitivity(linf=2**63),
    "sensitivity: missing": lambda: mechanisms.DiscreteLaplace(1).loss(sf.Sensitivity(l2=1)),
    "sensitivity: zero": lambda: mechanisms.DiscreteLaplace.calibrate(
        sf.Sensitivity(l1=0), epsilon=1
    ),
    "sensitivity: answers cannot be hidden": lambda: mechanisms.RandomizedResponse(1).loss(ONE),
    "sensitivity: half a shift": lambda: LaplaceShift(1, "0.5", 1),
    "sensitivity: no cell moves": lambda: LaplaceShift(1, 5, 0),
    # losses
    "loss: other relation": lambda: Pure(1) + Pure(1, neighbors="replace"),
    "loss: no loss": lambda: Pure(1) + 1,
    "loss: no conversion": lambda: accounting.convert(Concentrated(1), to="gdp"),
    "loss: no kind": lambda: accounting.convert(Pure(1), to="epsilon"),
    "loss: no delta to convert to": lambda: accounting.convert(Pure(1), to="approximate"),
    "loss: no group": lambda: accounting.group(Worst.of([Pure(1), Pure(2)], touched=1), 2),
    "loss: no size of a group": lambda: accounting.group(Pure(1), 0),
    "loss: no mu": lambda: accounting.mu(Concentrated(1)),
    "loss: no order": lambda: accounting.renyi(Pure(1), 1),
    "loss: not equal": lambda: accounting.optimal_epsilon(Pure(1) + Pure(2), "1e-6"),
    "loss: no false alarm": lambda: accounting.tradeoff(Pure(1))(2),
    "loss: no distribution": lambda: accounting.pld.to_dp_accounting(Concentrated(1)),
    "loss: no rate": lambda: accounting.sampled_epsilon(1, 2),
    "loss: times": lambda: Pure(1) * 0.5,
    "loss: touched": lambda: Worst.of([Pure(1)], touched=0),
    "loss: scalar": lambda: GaussianShift(1, 1, "no"),
    "loss: by hand": lambda: Composed(((Pure(1), 1),)),
    "loss: Gaussian without delta": lambda: accounting.epsilon(Concentrated(1)),
    "loss: unknown": lambda: accounting.epsilon(sf.Loss()),
    "explain: nothing": accounting.explain,
    "explain: huge": lambda: accounting.explain(10**7),
    "risk: share": lambda: accounting.tpr("1.5", 1),
    "risk: chance": lambda: accounting.posterior("0.1", 1, chance=0),
    "risk: people": lambda: accounting.advantage(1, people=0),
    "risk: points": lambda: accounting.roc(1, points=1),
    "choose: nothing": lambda: accounting.choose([]),
    "choose: Gaussian without delta": lambda: accounting.choose(
        [accounting.Target("n", 5, mechanism="gaussian")]
    ),
    "choose: no name": lambda: accounting.Target("", 5),
    "choose: too wide": lambda: accounting.Target("n", 2**61),
    "choose: cells": lambda: accounting.Target("n", 5, cells=0),
    "choose: mechanism": lambda: accounting.Target("n", 5, mechanism="uniform"),
    "choose: no sensitivity": lambda: accounting.Target("n", 5, sf.Sensitivity(l1=0)),
    "choose: another norm": lambda: accounting.choose(
        [accounting.Target("n", 5, sf.Sensitivity(l2=3), mechanism="laplace")]
    ),
    "participation: huge": lambda: accounting.participation(101, 1, 1),
    "participation: people": lambda: accounting.participation(1, 1, 0),
    "participation: not accurate": lambda: accounting.cheapest_study(
        lambda e, n: 1, "0.1", harm=1, people=9
    ),
    # data, in the laboratory
    "data: not whole": lambda: mechanisms.DiscreteLaplace(1)([0.5]),
    "data: missing": lambda: mechanisms.Quantile("0.5", 0, 1, 1, 1)([float("nan")]),
    "data: bag": lambda: mechanisms.Quantiles(["0.5"], 0, 1, 1, 1)(
        mechanisms.Bag(np.array([7]), np.array([2]), 2)
    ),
    "number: no targets": lambda: mechanisms.Quantiles([], 0, 1, 1, 1),
    "number: target": lambda: mechanisms.Quantiles(["1.5"], 0, 1, 1, 1),
    "number: target digits": lambda: mechanisms.Quantiles([("0.5", "1e-9")], 0, 1, 1, 1),
    "number: shares": lambda: mechanisms.Quantiles(["0.5"], 0, 1, 1, 1, 0),
    "data: not finite": lambda: mechanisms.GridLaplace(1, 1)([float("nan")]),
    "data: neither yes nor no": lambda: mechanisms.RandomizedResponse(1)(["maybe"]),
    "data: no reports": lambda: mechanisms.RandomizedResponse(1).estimate([]),
    "data: no category": lambda: mechanisms.CategoryResponse(["a", "b"], 1)(["maybe"]),
    "data: no sparse cells": lambda: mechanisms.SparseHistogram(1, 9, 100)([3]),
    "data: cell outside the domain": lambda: mechanisms.SparseHistogram(1, 9, 100)({100: 3}),
    "data: half a row in a cell": lambda: mechanisms.SparseHistogram(1, 9, 100)({1: 0.5}),
    "data: negative rows": lambda: mechanisms.Sampled(1, "1/2")([-1]),
    "data: too large to estimate": lambda: mechanisms.Sampled(1, "1/2").estimate(2**62),
    "range: clamp": lambda: mechanisms.TruncatedGeometric(1, 0, 0.5),
    "range: clamp of one answer": lambda: mechanisms.TruncatedGeometric(1, 5, 5),
    "range: coins": lambda: binomial(-1, "1/2", SystemRng()),
    "range: odds of coins": lambda: binomial(1, "3/2", SystemRng()),
    "range: distinct": lambda: distinct(3, 4, SystemRng()),
    "range: domain": lambda: mechanisms.SparseHistogram(1, 9, 2**61),
    "range: sparse threshold": lambda: mechanisms.SparseHistogram(1, 0, 100),
    "range: too many empty cells": lambda: mechanisms.SparseHistogram(1, 1, 2**60),
    "cost: threshold or expected": lambda: mechanisms.SparseHistogram.calibrate(
        ONE, domain=100, epsilon=1
    ),
    "input: keys of sparse cells": lambda: mechanisms.SparseHistogram(1, 9, 100).release(
        {}, ONE, keys={"cell": []}
    ),
    "input: sample of what is not counted": lambda: mechanisms.Sampled(
        mechanisms.Quantile("0.5", 0, 1, 1, 1), "1/2"
    ),
    "sensitivity: rows of a sample": lambda: mechanisms.Sampled.calibrate(
        HERS, rate="1/2", epsilon=1
    ),
    "sensitivity: reports cannot be hidden": lambda: mechanisms.CategoryResponse(
        ["a", "b"], 1
    ).loss(ONE),
    "candidates: categories": lambda: mechanisms.CategoryResponse(["a", "a"], 1),
    "candidates: no list of categories": lambda: mechanisms.CategoryResponse("ab", 1),
    "candidates: none": lambda: mechanisms.Exponential([], rate=1),
    "candidates: prior": lambda: mechanisms.Exponential(["a", "b"], rate=1, prior=[1]),
    "smooth: rate": lambda: mechanisms.SmoothMedian(0, 9, 1, beta=1, rate="1e-20"),
    "smooth: law": lambda: mechanisms.SmoothMedian(0, 9, 1, 1, 1, noise="cauchy"),
    "smooth: Laplace without delta": lambda: mechanisms.SmoothMedian(0, 9, 1, 1, 1, "laplace"),
    "smooth: calibrated without delta": lambda: mechanisms.SmoothMedian.calibrate(
        ONE, low=0, high=9, step=1, noise="laplace", epsilon=1
    ),
    "smooth: too many rows": lambda: mechanisms.SmoothMedian(0, 9, 1, 1, 1, "laplace", "1e-6").loss(
        sf.Sensitivity(l1=2000)
    ),
    "propose: all of the range": lambda: mechanisms.ProposeTestRelease(0, 9, 1, 9, 1, 3, 1),
    "propose: threshold": lambda: mechanisms.ProposeTestRelease(0, 9, 1, 2, 1, -1, 1),
    "propose: without delta": lambda: mechanisms.ProposeTestRelease.calibrate(
        ONE, low=0, high=9, step=1, bound=1, epsilon=1
    ),
    "propose: too many rows": lambda: mechanisms.ProposeTestRelease(0, 9, 1, 2, 1, 3, 1).loss(
        sf.Sensitivity(l1=100)
    ),
    "bounded: most": lambda: mechanisms.BoundedLocal(0, 1, 1, 1),
    "bounded: without delta": lambda: mechanisms.BoundedLocal.calibrate(ONE, most=9, epsilon=1),
    "bounded: no pair": lambda: mechanisms.BoundedLocal(9, 1, 1, 1)([1, 2, 3]),
    "graph: nodes": lambda: mechanisms.TriangleCount(2, 1, 1, 1),
    "graph: no edges": lambda: mechanisms.TriangleCount(9, 1, 1, 1)(["ann", "bob"]),
    "graph: degree": lambda: mechanisms.RestrictedTriangles(9, 9, 1),
    "blocks: no program": lambda: mechanisms.SampleAggregate("mean", 9, 0, 1, 1, 1),
    "blocks: aggregate": lambda: mechanisms.SampleAggregate(max, 9, 0, 1, 1, 1, "mode"),
    "blocks: number": lambda: mechanisms.SampleAggregate(max, 0, 0, 1, 1, 1),
    "blocks: resampled too often": lambda: mechanisms.SampleAggregate(
        max, 9, 0, 1, 1, 1, resample=10
    ),
    "blocks: too fine": lambda: mechanisms.SampleAggregate(max, 2**10, 0, 1, "1e-17", 1),
    "blocks: no rows": lambda: mechanisms.SampleAggregate(max, 9, 0, 1, 1, 1)(5),
    "scores: too few": lambda: mechanisms.Exponential(["a", "b"], rate=1)([1]),
    "scores: not finite": lambda: mechanisms.Exponential(["a", "b"], rate=1)([1, float("nan")]),
    "choice: candidates": lambda: mechanisms.PermuteAndFlip("abc", rate=1),
    "choice: flag": lambda: mechanisms.NoisyMax(["a", "b"], scale=1, monotone="yes"),
    "top: k": lambda: mechanisms.TopK(["a", "b"], k=3, rate=1),
    "groups: without delta": lambda: mechanisms.StabilityHistogram.calibrate(ONE, epsilon=1),
    "groups: any number": lambda: mechanisms.PartitionSelection(1, "1e-6").loss(
        sf.Sensitivity(linf=1)
    ),
    "groups: no mapping": lambda: mechanisms.PartitionSelection(1, "1e-6")([3, 4]),
    "groups: key": lambda: mechanisms.StabilityHistogram(1, 14)({1.5: 3}),
    "groups: named": lambda: mechanisms.StabilityHistogram(1, 14).release({}, ONE, keys={"k": []}),
    "groups: threshold": lambda: mechanisms.StabilityHistogram(1, "1/2"),
    "groups: noise": lambda: mechanisms.StabilityHistogram(1, 14, noise="uniform"),
    "groups: stated epsilon": lambda: mechanisms.StabilityHistogram(1, 14, epsilon=1),
    "groups: threshold passed alone": lambda: mechanisms.StabilityHistogram("1/1000", 3).loss(
        sf.Sensitivity(l0=1, linf=50)
    ),
    "groups: selected alone": lambda: mechanisms.PartitionSelection(1, "1/2").loss(
        sf.Sensitivity(l0=1, linf=9)
    ),
    "groups: epsilon": lambda: mechanisms.PartitionSelection(2000, "1e-6"),
    "groups: threshold beyond all counts": lambda: mechanisms.StabilityHistogram.calibrate(
        ONE, epsilon="1e-17", delta="1e-300"
    ),
    "groups: part of a unit": lambda: mechanisms.PartitionSelection(1, "1e-6").probability(1.5),
    # streams
    "sparse vector: hits": lambda: mechanisms.SparseVector(10, 1, 1, hits=0),
    "sparse vector: threshold": lambda: mechanisms.SparseVector(2**62, 1, 1),
    "sparse vector: two numbers": lambda: mechanisms.SparseVector(
        10, 1, 1, gap=True, answer_scale=1
    ),
    "sparse vector: flag": lambda: mechanisms.SparseVector(10, 1, 1, monotone="yes"),
    "sparse vector: nothing left to compare": lambda: mechanisms.SparseVector.calibrate(
        ONE, threshold=10, epsilon=1, numeric=1
    ),
    "sparse vector: no row": lambda: mechanisms.SparseVector(10, 1, 1)([[1, 2]]),
    "sparse vector: questions": lambda: mechanisms.SparseVector(10, 1, 1).accuracy(0),
    "stream: not whole": lambda: mechanisms.SparseVector(0, 1, 1).start(SystemRng()).push(0.5),
    "stream: used up": lambda: watched(lambda stream: [stream.push(0) for _ in range(2)]),
    "stream: copied": lambda: watched(copy),
    "stream: no cells": lambda: watched(lambda stream: stream.push([2, 0])),
    "stream: another histogram": lambda: watched(
        lambda stream: stream.push(sf.lab([1, 2, 3]).histogram().subset(0))
    ),
    "stream: moves further": lambda: (
        FakeCurator([])
        .open(FakeQuery("n", len, ONE), mechanisms.SparseVector(0, 1, 1))
        .push(FakeQuery("twice", len, sf.Sensitivity(l1=2)))
    ),
    "stream: answers once": lambda: watched(None, mechanisms.DiscreteLaplace(1)),
    # ledger
    "ledger: exceeded": lambda: ask(ledger(), cost=2),
    "ledger: exceeded by all": all_together,
    "ledger: below what was spent": lambda: (book := ledger(), ask(book))[0].raise_budget(
        sf.Budget("0.01")
    ),
    "ledger: charge below loss": lambda: ledger().reserve(
        "q1", None, "trips", "1", "plan", Pure(1), charge(Pure("0.5"))
    ),
    "ledger: older format": older_format,
    "ledger: part of no family": lambda: Branch("zones", "north"),
    "ledger: part without a name": lambda: Branch("0" * 64, ""),
    "ledger: part of no width": lambda: Branch("0" * 64, "north", 0),
    "ledger: other width": other_width,
    "ledger: no branch": lambda: ledger().reserve(
        "q1", None, "trips", "2026-11", "plan", Pure("0.1"), part="north"
    ),
    "scope: no budget": lambda: ledger().open_scope(1),
    "scope: too large": lambda: ledger().open_scope(sf.Budget(epsilon=2)),
    "scope: exceeded": in_scope,
    "scope: closed": lambda: in_scope("0.1", closed=True),
    "ledger: missing": lambda: Ledger.open("no such file"),
    "ledger: exists": lambda: Ledger.create(__file__, sf.Budget(1), sf.Unit.row()),
    "ledger: cannot be written": lambda: failing(sqlite3.SQLITE_READONLY),
    "ledger: full": lambda: failing(sqlite3.SQLITE_FULL),
    "ledger: unforeseen": lambda: failing(sqlite3.SQLITE_MISUSE),
    "ledger: busy": lambda: failing(sqlite3.SQLITE_BUSY),
    "ledger: corrupt": lambda: Ledger.open(__file__),
    "request: other question": other_question,
    "request: under way": under_way,
    "request: abandoned": abandoned,
    "request: untouched": untouched,
    "request: used version": used_version,
    "request: no name": lambda: ask(ledger(), request=""),
    "analyst: not listed": lambda: ask(ledger(analysts={"ana": sf.Budget(1)}), analyst="eve"),
    "data: closed": closed,
    # the rest
    "input: one end": lambda: sf.Estimate(1, low=0),
    "extra: missing": without_pandas,
    "extra: no dp_accounting": without_dp_accounting,
    "entropy: none": without_entropy,
    # codec
    "codec: no form": lambda: codec.encode(object()),
    "codec: keys": lambda: codec.encode({1: 2}),
    "codec: other text": lambda: codec.decode(b"[1, 2]"),
    "codec: cut": lambda: codec.decode(b"[1"),
    "codec: unknown type": lambda: codec.decode(b'{"$":"Teapot"}'),
    "codec: name taken": lambda: codec.canonical(type("Pure", (), {})),
}


def refusal(case):
    """Return the one line that the golden file holds of a case.

    Below the messages of SQL stands what they mean; fixtures of their own hold those whole.
    """
    with pytest.raises(SfumatoError) as caught:
        CASES[case]()
    shown = str(caught.value).removesuffix(caught.value.where)
    assert "\n" not in shown
    return f"{type(caught.value).__name__}: {shown}"


def golden():
    lines = GOLDEN.read_text(encoding="utf-8").splitlines()
    return dict(line.split(" | ", 1) for line in lines)


@pytest.fixture(scope="module", autouse=True)
def rewritten():
    """Write the file anew where that was asked for."""
    if os.environ.get(REWRITE):
        text = "".join(f"{case} | {refusal(case)}\n" for case in CASES)
        GOLDEN.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("case", CASES)
def test_message_is_unchanged(case):
    assert refusal(case) == golden().get(case), f"if that is meant: {REWRITE}=1 pytest {__file__}"


def test_file_holds_no_message_that_nobody_sees():
    assert list(golden()) == list(CASES)


def test_every_message_ends_with_its_code_and_says_enough():
    for case, line in golden().items():
        kind, _, message = line.partition(": ")
        assert message.endswith(f" [{getattr(sf.errors, kind).code}]"), case
        assert message[-8] in ".?", case
        assert 40 <= len(message) <= 400, case


def test_page_of_errors_quotes_messages_as_they_are():
    page = PAGE.read_text(encoding="utf-8")
    quotes = [q.replace("\n> ", " ").strip() for q in re.findall(r"^> ((?:.|\n> )+)", page, re.M)]
    quotes = [quote for quote in quotes if not quote.startswith("line ")]  # what is underlined
    assert set(quotes) <= set(golden().values())
    sections = re.findall(r"^### (E\d\d\d) ", page, re.MULTILINE)
    quoted = {quote[-5:-1] for quote in quotes}
    assert [code for code in sections if code[2:] != "00" and code not in quoted] == []
