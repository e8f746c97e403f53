"""Chains of calls by somebody hostile: each is refused in our words, or answered with noise.

Every public method of what an analyst holds is called in any order, with arguments that fit and
with such that nobody would pass by accident. A method without a maker of arguments fails a test, so
that a new one cannot be forgotten.
"""
# ruff: noqa: S311 - a seed that repeats is what is wanted

import itertools
import random
import re
import time
import traceback
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.accounting import charge
from sfumato.core.errors import ExpressionError, KeysError, ReleaseFailed, SfumatoError
from sfumato.mechanisms import DiscreteGaussian, DiscreteLaplace
from sfumato.relation import Aggregate
from sfumato.release.algebra import Algebra
from sfumato.release.release import Release
from sfumato.session.door import Within
from sfumato.session.plan import Plan
from sfumato.session.points import Points
from sfumato.session.question import Question
from sfumato.session.session import Session
from sfumato.session.table import Grouped, Table
from sfumato.session.units import Units

PUSH, DEEP, SHARDS = 150, 100_000, 8  # chains; the heavy run is cut into so many tests
WHOLE = 20  # of so many chains of the heavy run, one also makes pages and releases all it can
EACH = 25  # chains with one session
HUNG = 60.0  # seconds of one call that ought to take less than one
ENGINE = re.compile(
    r"duckdb|binder error|parser error|catalog error|conversion error|out of range error"
    r"|invalid input error|sqlite|sqlglot|arrowinvalid|traceback",
    re.IGNORECASE,
)

# ---- data ----------------------------------------------------------------------------------------

SCHEMA = sf.Schema(
    {
        "zone": sf.Category(["A", "B", "it's"]),
        "age": sf.Integer(0, 120, nullable=True),
        "fare": sf.Real(0, 10**9, step="0.01", nullable=True),
        "far": sf.Integer(-(2**61), 2**61),
        "member": sf.Boolean(),
        "day": sf.Date("2026-01-01", "2026-12-31"),
        "at": sf.Timestamp("2026-01-01T00:00:00", "2027-01-01T00:00:00", step=6_307_200),
        "name": sf.Text(),
        "日付 x": sf.Integer(0, 9),
    }
)
FARES = [483_920_117.31, 59_274_603.77, None, 916_385_042.19, 730_518_264.83, 8_675_309.77]
SECRETS = ("kestrelvane", "quillfathom", "8675309", "483920117", "916385042", "730518264")


def rows(count):
    """Return the first rows of a table whose sums nobody would guess."""
    held = {
        "rider": ["kestrelvane-1", "kestrelvane-1", "kestrelvane-1", "q2", "q3", None],
        "zone": ["A", "B", "quillfathom", "A", None, "it's"],
        "age": [31, 250, -4, None, 77, 18],
        "fare": FARES,
        "far": [2**60 + 12_345, -(2**61), 7, None, 2**61, 918_273_645],
        "member": [True, False, None, True, True, False],
        "day": ["2026-02-03", "1999-01-01", "junk", None, "2026-12-31", "2026-07-07"],
        "at": ["2026-02-03T04:05:06", "9999-12-31", "junk", None, "2026-01-01", "2026-07-07"],
        "name": ["kestrelvane", "quillfathom", "", None, "a\0b", "é"],
        "日付 x": [1, 2, 3, 4, 5, 6],
    }
    return pa.table(held).slice(0, count)


def missing():
    """Return rows in which nothing is known but whose they are."""
    unknown = {name: pa.nulls(3, pa.string()) for name in SCHEMA}
    return pa.table({"rider": ["q1", "q2", "q3"], **unknown})


TABLES = {
    "rows": lambda: rows(6),
    "one row": lambda: rows(1),
    "no row": lambda: rows(0),
    "nothing known": missing,
}
UNITS = [
    sf.Unit.row(),
    sf.Unit.rows(3),
    sf.Unit.by("rider", max_rows=2),
    sf.Unit.by("rider", max_groups=2, max_rows_per_group=1),
    sf.Unit.row("replace"),
]
BUDGETS = [sf.Budget(2), sf.Budget(2, "1e-6"), sf.Budget(rho="0.5")]


def opened(rng):
    """Open a session over one of the tables."""
    return sf.Session(
        TABLES[rng.choice(list(TABLES))](),
        unit=rng.choice(UNITS),
        schema=SCHEMA,
        budget=rng.choice(BUDGETS),
        name=rng.choice(["trips", 'tr"ips; DROP', "日本"]),
        rows=6,
        public={"zones": {"zone": ["A", "B"], "people": [1200, 800]}, "none": "no such file.csv"},
    )


# ---- arguments -----------------------------------------------------------------------------------

NAMES = [
    *("", " ", "x", "Zone", "rider", "sfumato_unit", "t.age", "select", "n_low", "k0", "m0", "*"),
    *("zone; DROP TABLE t", 'a"b', "a'b", "a\nb", "a\0b", "\ud800", "\u202eegA", "🦆", "e\u0301"),
    *("\u200b", "age\u200b", "ﬀ", "İ", "x" * 5_000, "zone--", "/*", "$key", "日付 x"),
]
EXPRESSIONS = [
    *("age", "fare", "member", "age + 1", "fare * 2 - age", "age % 7", "age // 10", "-far", "at"),
    *("coalesce(age, 0)", "clamp(fare, 0, 100)", "divide(fare, age, 0.5)", "round(fare, 1)"),
    *("year(day)", "hour(at)", "integer(member)", "abs(far)", "least(age, 9)", "1", "name", "zone"),
    *("CASE WHEN member THEN age ELSE 0 END", "nullif(age, 0)", "floor(fare, 1000000)", "date(at)"),
]
CONDITIONS = [
    *("age >= 18", "zone = 'A'", "member", "not member", "fare IS NOT NULL", "age in (1, 2, 31)"),
    *("name = 'x'", "day < '2026-06-01'", "at >= '2026-02-01'", "zone in ('A', 'B') or age > 3"),
    *("true", "far < 0", "fare between 1 and 2"),
]
ATTACKS = [
    *("", " ", ";", "--", "/*", "'", '"', "(", ")", "((((", "age >", "age age", "'a' 'b'", "age;"),
    *("age >= 18; DROP TABLE trips", "1 = 1 --", "age) OR (1=1", "(SELECT count(*) FROM trips)"),
    *("EXISTS (SELECT 1)", "sum(age) > 3", "count(*)", "row_number() OVER ()", "random() < 0.5"),
    *("read_csv('/etc/passwd')", "getenv('HOME')", "current_setting('x')", "version()", "now()"),
    *("age::text", "CAST(name AS INTEGER) > 0", "name LIKE '%a%'", "regexp_matches(name, '(((')"),
    *("1/0", "age / 0", "age % 0", "fare / age", "ln(age)", "sqrt(-1)", "2 ** 4000", "exp(1000)"),
    *("1e999", "1e-999", "-9223372036854775808", "9" * 400, "0x7fffffffffffffff", "1_000", ".5."),
    *("far * far", "far * far * far", "far + far + far", "abs(far) * 4", "-(-far)", "fare * 1e300"),
    *("nan", "inf", "'nan'", "NULL", "NULL = NULL", "age = NULL", "TRUE AND NULL", "*", "trips.*"),
    *("rider = 'q2'", "sfumato_unit = 1", "$key = 'a'", "?", "$1", ":x", "@x", "{a: 1}", "[1, 2]"),
    *("name = '\0'", "name = '\ud800'", "name = '\u202e'", "🦆 = 1", "age = \uff11", "zone < 'B'"),
    *(
        "(" * 300 + "age" + ")" * 300,
        "not " * 500 + "member",
        "-" * 999 + "1",
        "age" + " + 1" * 900,
    ),
    *("abs(" * 200 + "age" + ")" * 200, "x" * 20_000, "divide(age, age, 1e-18)", "age in ()"),
    *("clamp(age, 9, 1)", "round(fare, 99)", "floor(age, 0)", "floor(age, -1)", "year('x')"),
    *("day < 'junk'", "day < '0000-00-00'", "at < '9999-99-99'", "zone = 'nowhere'", "member > 1"),
    *("CASE WHEN age THEN 1 END", "coalesce()", "coalesce(NULL)", "nullif(age, 'a')", "age = 'a'"),
    *("substring(name, -5, 999999999) = 'x'", "lpad(name, 2000000000, 'x') = 'y'", "age COLLATE x"),
]
VALUES = [
    *(None, True, False, 0, 1, -1, 7, -(2**63), 2**63, 2**200, 0.0, -0.0, 0.5, 1e308, 5e-324),
    *(float("nan"), float("inf"), float("-inf"), Fraction(1, 3), Fraction(10**400), 1 + 2j),
    *(Fraction(1, 10**400), Decimal("NaN"), Decimal("sNaN"), Decimal("1e-300"), Decimal("1e5000")),
    *(b"", b"A", b"\xff", object(), [], {}, (), [[]], ["A", ["B"]], {"a": 1}, set(), range(3), ...),
    *("A", "", "1", "nan", "\0", "\ud800", "🦆", "2026-02-03", int, len, np.float64("nan")),
    *(
        np.int64(3),
        np.array([1, 2]),
        np.array("A"),
        np.datetime64("NaT"),
        type("Text", (str,), {})("A"),
    ),
]
PRICES = ["0.01", 0.02, Fraction(1, 50), Decimal("0.05"), 1, "1/8"]
SCOPES = [sf.Budget("0.1"), sf.Budget("0.05", "1e-9"), sf.Budget(rho="0.01"), sf.Budget(10**6)]
DELTAS = ["1e-9", 0, Fraction(1, 10**8)]
NO_PRICES = [
    *(0, -1, "-0.5", float("nan"), float("inf"), "nan", "inf", 1e-300, "1e-300", 1e300, 10**400),
    *(Fraction(1, 10**400), True, "", "a little", b"1", [], object(), Decimal("sNaN"), 3, "0x1"),
]
KEYS = [
    *(["A"], ["A", "B"], ("it's",), [], ["A", "A"], [None], ["A", None], ["A", 1, True, 2.5]),
    *([["A"], ["B"]], "A", b"A", 7, {"zone": ["A"]}, {"zone": "A"}, {"x": []}, {1: 2}, {"A", "B"}),
    *(
        [0, 1, 2],
        range(10),
        [1, 1.0],
        [float("nan")],
        [2**63],
        ["\0"],
        ["\ud800"],
        ["🦆", "\u202e"],
    ),
    *([True, False], ["2026-02-03"], ["2026-02-03", "2026-02-03"], ["junk"], np.arange(4)),
    *(["x" * 100_000], list("ABCDEFGH") * 9, [object()], [[[]]], iter([1, 2]), range(-5, 500)),
]
EDGES = [
    *(3, 12, [0, 10, 50], [0, 10**9], range(0, 100, 7), ["2026-01-01", "2026-06-01"], 0, -1, 10**9),
    *(
        [],
        [1],
        [5, 5],
        [9, 1],
        [0, float("nan")],
        ["a", "b"],
        [None, None],
        [0, "1/3", 1],
        [[0], [1]],
    ),
]
PUBLIC = [
    *("zones", {"zone": ["A", "B", "A"], "size": [1, 2, 3]}, {"age": [1, 2], "word": ["x", "y"]}),
    pa.table({"zone": ["A"], "wide": [2**62]}),
    *("none", "nowhere", "/etc/passwd", {}, {"zone": []}, {"zone": ["A"], "x": []}, {1: [2]}, []),
    *(
        {"zone": [object()]},
        {"zone": [None, float("nan")]},
        {"zone": "A"},
        {"rider": ["q2"], "y": [1]},
    ),
    *(
        {"zone": ["A"], "x": ["a\0b"]},
        {"zone": ["A"], "x": ["\ud800"]},
        {"zone": ["A"], "x": [2**64]},
    ),
    *({"zone": ["A"] * 100_000, "x": range(100_000)}, {"zone": ["A"], "x": [float("inf")]}),
]


PLANES = [
    *((0, 0, 0, 1), (9, 9, 1, 1), (0, 0, float("inf"), 1), (0, 0, float("nan"), 1), (0, 0, 1), ()),
    *((0, 0, 1e-300, 1e300), (-(2**70), 0, 2**70, 1), ("a", 0, 1, 1), "0011", 10**9, (10**9, 1), 0),
    *((0, 0, 10**400, 1), (Fraction(1, 10**400), 0, 1, 1), (4096, 4096), (1, 1, 1), -1, 2**62),
]


class Makers:
    """Arguments for every public method, some that fit and some that do not."""

    def __init__(self, rng, folder):
        self.rng, self.folder = rng, folder

    def one(self, fair, foul, often=0.7):
        return self.rng.choice(fair if self.rng.random() < often else foul)

    def column(self, often=0.8):
        return self.one(list(SCHEMA), [*NAMES, *VALUES], often)

    def expression(self):
        return self.one(EXPRESSIONS, [*ATTACKS, *NAMES, *VALUES], 0.75)

    def condition(self):
        return self.one(CONDITIONS, [*ATTACKS, *EXPRESSIONS, *VALUES], 0.75)

    def some(self, make, most=3):
        return [make() for _ in range(self.rng.choice([0, *range(1, most + 1)]) or 1)]

    def named(self, make):
        """Return keyword arguments whose names nobody chose with care."""
        named = {self.one(["x", "y", "n", "age", "late"], NAMES): make() for _ in range(2)}
        return {name: value for name, value in named.items() if isinstance(name, str)}

    def output(self):
        kind = self.rng.choice([sf.count, sf.sum, sf.mean, sf.variance, sf.std])
        if self.rng.random() < 0.1:
            return self.rng.choice(VALUES)
        try:
            return (
                kind() if kind is sf.count and self.rng.random() < 0.5 else kind(self.expression())
            )
        except SfumatoError:
            return sf.count()

    def price(self):
        """Return a cost: most often one that could be paid."""
        epsilon = self.one(PRICES, [*NO_PRICES, *VALUES], 0.8)
        kind = self.rng.random()
        if kind < 0.6:
            return {"epsilon": epsilon}
        if kind < 0.75:
            return {"epsilon": epsilon, "delta": self.one(DELTAS, [*NO_PRICES, *VALUES])}
        if kind < 0.9:
            return {"rho": epsilon}
        return self.rng.choice(
            [
                *({}, {"epsilon": 1, "rho": 1}, {"rho": 1, "delta": "1e-9"}, {"delta": "1e-9"}),
                *({"epsilon": "0.1", "confidence": c} for c in (0, 1, 2, -1, "nan", None, 1e-300)),
            ]
        )

    def measured(self, table):
        """Return a question of the same or of no table, and a mechanism of any strength."""
        try:
            queries = table.agg(x=self.output()).queries
        except SfumatoError:
            queries = ["SELECT 1"]
        noise = [DiscreteLaplace(1), DiscreteLaplace(10**14), DiscreteGaussian("1e13"), None, len]
        pairs = [(query, self.rng.choice(noise)) for query in queries]
        fine = (pairs[0], {}), ((pairs,), {}), (([],), {}), ((pairs * 2,), {})
        return self.one(fine, [((value,), {}) for value in VALUES], 0.9)

    def relatives(self, table):
        """Return tables that could be united with one: itself, filtered, of another session."""
        other = self.rng.choice(CONDITIONS[:3])
        found = [table, table._session.table() if hasattr(table._session, "table") else table]
        with suppress(SfumatoError):
            found.append(table.filter(other))
        return found

    def paid(self, session):
        """Return an answer of the session, if it can still pay for one."""
        try:
            return session.table().count().release(epsilon="0.01")
        except SfumatoError:
            return None

    def questions(self, session):
        """Return what may be asked together, or may not."""
        found = [m for m in self.some(self.expression, 2) if not isinstance(m, str)]
        for ask in ("count", "sum", "median"):
            with suppress(SfumatoError):
                found.append(getattr(session.table(), ask)(self.expression()))
        return found

    def file(self, suffix):
        place = str(self.folder / f"out{suffix}")
        return self.one([place], [str(self.folder / "none" / "x"), "", str(self.folder)])


def _plain(*makers, **named):
    """Return a maker of arguments that are drawn one by one."""

    def make(makers_of, _):
        return (
            tuple(getattr(makers_of, maker)() for maker in makers),
            {name: getattr(makers_of, maker)() for name, maker in named.items()},
        )

    return make


def _agg(m, _):
    return tuple(m.some(m.output, 2)) if m.rng.random() < 0.3 else (), m.named(m.output)


def _group_by(m, _):
    keys = m.one([None], [*KEYS, *VALUES], 0.6)
    return tuple(m.some(m.column, 2)), {} if keys is None else {"keys": keys}


def _joined(m, table):
    on = m.one(["zone", "age", ["zone"], {"zone": "zone"}], [*NAMES, *VALUES, {"zone": 3}, {}], 0.8)
    if m.rng.random() < 0.2:  # with a private table
        return (m.one(m.relatives(table), VALUES, 0.9), m.one([None, "id", on], VALUES, 0.9)), {}
    how = {} if m.rng.random() < 0.6 else {"how": m.one(["left", "inner"], ["outer", *VALUES])}
    return (m.one(PUBLIC[:4], [*PUBLIC, *VALUES], 0.6), on), how


def _priced(m, _):
    return (), m.price()


def _released(m, _):
    request = m.one([None], ["r1", "", "a\0b", "\ud800", "x" * 10_000, 7, b"x", "r2"], 0.9)
    return (), {**m.price(), **({} if request is None else {"request": request})}


MAKERS = {
    (Table, "filter"): lambda m, _: (tuple(m.some(m.condition, 2)), {}),
    (Table, "select"): lambda m, _: (tuple(m.some(m.column)), {}),
    (Table, "with_columns"): lambda m, _: ((), m.named(m.expression)),
    (Table, "group_by"): _group_by,
    (Table, "agg"): _agg,
    (Table, "count"): lambda m, _: ((m.expression(),) if m.rng.random() < 0.5 else (), {}),
    (Table, "sum"): _plain("expression"),
    (Table, "mean"): _plain("expression"),
    (Table, "measure"): lambda m, table: m.measured(table),
    (Table, "distinct"): lambda m, _: (
        (),
        {} if m.rng.random() < 0.5 else {"within_unit": m.one([True, False], VALUES[:40])},
    ),
    (Table, "union"): lambda m, table: ((m.one(m.relatives(table), VALUES, 0.8),), {}),
    (Table, "join"): _joined,
    (Table, "group_by_unit"): lambda m, _: (
        tuple(m.some(m.column, 2)) if m.rng.random() < 0.4 else (),
        {},
    ),
    (Table, "partition"): lambda m, _: (
        (m.one(["zone", "member", "日付 x"], [*SCHEMA, *NAMES, *VALUES]),),
        {} if m.rng.random() < 0.7 else {"keys": m.rng.choice([*KEYS, *VALUES])},
    ),
    (Table, "scope"): lambda m, _: ((m.one(SCOPES, VALUES, 0.8),), {}),
    (Table, "histogram"): lambda m, _: ((m.column(), m.one(EDGES, VALUES)), {}),
    (Table, "variance"): _plain("expression"),
    (Table, "std"): _plain("expression"),
    (Grouped, "histogram"): lambda m, _: ((m.column(), m.one(EDGES, VALUES)), {}),
    (Grouped, "variance"): _plain("expression"),
    (Grouped, "std"): _plain("expression"),
    **{
        (kind, name): _plain("expression")
        for kind in (Table, Grouped)
        for name in ("median", "min", "max", "count_distinct")
    },
    **{
        (kind, "quantile"): lambda m, _: (
            (m.expression(), m.one(["0.5", 0.9, [0.1, 0.9]], VALUES)),
            {"interval": m.one([False, True], VALUES[:40], 0.9)},
        )
        for kind in (Table, Grouped)
    },
    (Table, "values"): lambda m, _: (
        (m.column(),),
        {} if m.rng.random() < 0.5 else {"bins": m.one([1, 7, 10**4], VALUES)},
    ),
    (Table, "points"): lambda m, _: (
        tuple(m.one(["age", "fare", "far", "日付 x"], [*SCHEMA, *NAMES, *VALUES]) for _ in "xy"),
        {},
    ),
    (Points, "plane"): lambda m, _: (
        (m.one([None, (0, 0, 100, 100), (0, "1/3", 9, 9.5)], [*PLANES, *VALUES]),),
        {
            "bins": m.one([None, 8, (4, 16)], [*PLANES, *VALUES]),
            **({} if m.rng.random() < 0.6 else {"outside": m.one(["drop", "clamp"], VALUES)}),
        },
    ),
    (Table, "top"): lambda m, _: ((m.column(), m.one([1, 3], VALUES)), {}),
    (Units, "agg"): _agg,
    (Units, "count"): lambda m, _: ((m.expression(),) if m.rng.random() < 0.3 else (), {}),
    **{(Units, name): _plain("expression") for name in ("sum", "mean", "min", "max")},
    (Session, "table"): lambda m, _: ((m.one([None], VALUES),), {}),
    (Session, "batch"): lambda m, session: (
        (m.one([m.questions(session)], VALUES, 0.8),),
        {} if m.rng.random() < 0.7 else {"weights": m.one([[1, 2], [1]], VALUES)},
    ),
    (Session, "dummy"): lambda m, _: ((), {"rows": m.one([0, 1, 50], VALUES)}),
    (Session, "public"): lambda m, _: ((m.one(["zones"], [*NAMES, "none"]),), {}),
    (Session, "certificate"): lambda m, session: ((m.one([m.paid(session)], VALUES, 0.9),), {}),
    (Session, "report"): lambda m, _: ((), {"title": m.one(["", "A page"], NAMES)}),
    (Grouped, "agg"): _agg,
    (Grouped, "count"): lambda m, _: ((m.expression(),) if m.rng.random() < 0.3 else (), {}),
    (Grouped, "sum"): _plain("expression"),
    (Grouped, "mean"): _plain("expression"),
    (Question, "explain"): _priced,
    (Question, "release"): _released,
    (Plan, "release"): lambda m, _: ((), {}),
    (Plan, "to_dict"): lambda m, _: ((), {}),
    (Release, "measure"): lambda m, _: ((m.one(["n", "x", "age"], NAMES),), {}),
    (Release, "from_json"): lambda m, release: (
        (m.one([release.to_json()], ["", "{}", "\ud800", b"\xff", "[1"]),),
        {},
    ),
    (Release, "to_parquet"): lambda m, _: ((m.file(".parquet"),), {}),
    (Release, "to_html"): lambda m, _: ((m.file(".html"),) if m.rng.random() < 0.3 else (), {}),
    **{
        (Release, name): lambda m, _: ((), {})
        for name in ("to_json", "to_arrow", "to_pandas", "to_polars", "card", "chart")
    },
}
# What programs of the project call, with facts that they have checked and noise of their own.
# What plans and sessions call; and the algebra on releases, which test_hostile_release calls.
NOT_CALLED = {
    (Release, "of"),
    (Plan, "of"),
    (Plan, "within"),
    (Plan, "assembled"),
    (Question, "asking"),
    (Question, "beside"),
    (Question, "settled"),
    (Question, "lowered"),
    (Session, "perform"),
    (Session, "check_open"),
    (Session, "close"),
    (Session, "sql"),  # of texts there are chains of their own: test_sql_fuzz
    (Session, "explain"),
    *((Release, name) for name in dir(Algebra) if not name.startswith("_")),
}
HELD = (Table, Grouped, Units, Points, Question, Plan, Release, Session)


def public(kind):
    """Return the names of the public methods and properties of a class."""
    found = [name for name in dir(kind) if not name.startswith("_")]
    called = [name for name in found if callable(getattr(kind, name))]
    return called, [name for name in found if name not in called]


# ---- the chains ----------------------------------------------------------------------------------


class Report:
    """What happened, over all chains."""

    def __init__(self):
        self.calls, self.outcomes, self.slowest = Counter(), Counter(), (0.0, "")
        self.paid = 0


def texts_of(error):
    """Yield what an error says, and what every error says that hangs on it."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield str(error)
        yield repr(error.args)
        error = error.__cause__ or error.__context__


def check_refusal(error, called):
    """See that an error is ours, in our words, and says nothing about the data."""
    if type(error) is TypeError:  # Python's own, about the signature: our code was not entered
        assert error.__traceback__.tb_next is None, called
        return "signature"
    if isinstance(error, OSError) and "Release.to_" in called:  # a path that cannot be written
        return "path"
    assert isinstance(error, SfumatoError), f"{called}: {error!r}"
    assert not isinstance(error, ReleaseFailed), called
    assert not ENGINE.search(str(error)), f"{called}: {error}"
    assert len(str(error)) < 25_000, called
    for text in texts_of(error):
        assert not [secret for secret in SECRETS if secret in text], f"{called}: {text}"
    return type(error).__name__


def exact_answers(session, queries):
    """Return the exact answers that are long enough to be recognized."""
    from sfumato.relation.lower import lowered
    from sfumato.session.reader import Reader

    reader = Reader(session._backend, session.ledger.truncation_key.hex())
    found = set()
    for query in queries:
        if not isinstance(query, Aggregate):
            continue  # values are found among others of their kind, and may be exact by chance
        answer = reader.run(partial(lowered, [query]), query.node, {})
        found |= {row["m0"] for row in answer.to_pylist() if row["m0"] is not None}
    return {value for value in found if 10**8 <= abs(value) < 2**62}  # beyond, all are cut alike


def figures(sums):
    """Return sums as numbers; a view that is closed counts as more than any."""
    return [float("inf") if each is None else each for each in (sums.epsilon, sums.rho, sums.delta)]


def check_release(session, releases, measured, queries, paid, called):
    """See that an answer was paid for to the last unit, and holds no exact number.

    Args:
        session: whose data it is.
        releases: what came out.
        measured: what the engine counted, with noise.
        queries: what was measured.
        paid: what was spent before, the δ that was charged, and through which door.
        called: what to say if something is wrong.
    """
    before, delta, door = paid
    after = session.ledger.spent()
    if releases and releases[0].receipt is not None and after != before:
        cost = sf.accounting.compose([release.cost for release in releases])
        most = before + charge(cost, delta)
        if isinstance(door, Within):  # of parts the worst pay, and in a scope it is paid already
            assert figures(before) <= figures(after), called
            assert all(a <= b for a, b in zip(figures(after), figures(most), strict=True)), called
        else:
            assert after == most, called
    text = "".join(release.to_json() + repr(release) for release in releases)
    assert not [secret for secret in SECRETS if secret in text], called
    # What was measured: for a question the parts, of which its answer is made.
    values = {value for release in measured for m in release.measures for value in m.values}
    assert not values & exact_answers(session, queries), called


def attempt(thing, name, arguments, report, session, stack):
    """Call a method; return what came out, or None if it was refused."""
    args, named = arguments
    called = f"{type(thing).__name__}.{name}(*{args!r:.300}, **{named!r:.300})"
    before, head = session.ledger.spent(), session.ledger.head
    started = time.perf_counter(), time.process_time()
    result, refused = None, None
    try:
        result = getattr(thing, name)(*args, **named)
        if hasattr(result, "__enter__") and not isinstance(result, Session):
            result = stack.enter_context(result)
    except Exception as error:  # noqa: BLE001 - what may come is what is checked
        refused = check_refusal(error, called)
    taken = min(time.perf_counter() - started[0], time.process_time() - started[1])
    report.slowest = max(report.slowest, (taken, called))
    report.calls[type(thing).__name__, name] += 1
    report.outcomes[refused or "answered"] += 1
    assert taken < HUNG, f"{taken:.1f} s: {called}"
    if refused:
        assert (session.ledger.spent(), session.ledger.head) == (before, head), called
        return None
    report.paid += session.ledger.head != head
    if isinstance(thing, Question | Plan) and name == "release":
        question = thing if isinstance(thing, Question) else thing.question
        named.pop("request", None)
        plan = thing if isinstance(thing, Plan) else thing.explain(**named)
        paid = before, plan.charge_delta, question.session
        after = session.ledger.spent()
        again = (
            [] if result.receipt is None else question.session.perform(plan.parts, delta=paid[1])
        )
        assert session.ledger.spent() == after, called  # the same question is the same answer
        check_release(session, [result], again, question.queries, paid, called)
    elif name == "measure" and isinstance(thing, Table):
        releases = result if isinstance(result, tuple) else (result,)
        pairs = args[0] if len(args) == 1 else [args]
        queries = [query for query, _ in pairs]
        paid = before, 0, thing._session
        check_release(session, releases, releases, queries, paid, called)
    elif name != "scope":
        assert session.ledger.spent() == before, called
    for text in (repr(result)[:100_000], str(result)[:100_000]):
        assert not [secret for secret in SECRETS if secret in text], called
    return result


def look(thing, name):
    """Read a property, which is free."""
    try:
        shown = f"{getattr(thing, name)!r:.100000}"
    except SfumatoError as error:
        shown = str(error)
    assert not [secret for secret in SECRETS if secret in shown], name


PAGES = {"report", "to_html", "chart"}  # drawn by another program, each for half a second


def chain(rng, session, makers, report, *, light):
    """Call one method after the other on what the one before returned."""
    thing = session.table() if rng.random() < 0.9 else session
    with ExitStack() as stack:
        if thing is not session and rng.random() < 0.2:  # what few chains come to by themselves
            grouped = attempt(thing, "group_by", (("zone",), {}), report, session, stack)
            thing = thing if grouped is None else grouped
        for _ in range(rng.randint(2, 5 if light else 9)):
            called, read = public(type(thing))
            if read and rng.random() < 0.1:
                look(thing, rng.choice(read))
            names = [name for name in called if (type(thing), name) in MAKERS]
            if light:
                names = [name for name in names if name not in PAGES]
                if isinstance(thing, Plan) and rng.random() < 0.7:
                    break  # most of the time goes into answers, of which there are enough
            if isinstance(thing, Question | Plan) and rng.random() < (0.1 if light else 0.5):
                names = ["release"]
            name = rng.choice(names)
            if rng.random() < 0.3:  # none is left out for long
                name = min(names, key=lambda each: report.calls[type(thing).__name__, each])
            arguments = MAKERS[type(thing), name](makers, thing)
            made = attempt(thing, name, arguments, report, session, stack)
            if isinstance(made, Mapping):
                made = list(made.values())
            if isinstance(made, list | tuple) and made:
                made = rng.choice(made)
            if isinstance(made, HELD):
                thing = made


def run(chains, folder, seed=20_261, whole=1):
    report = Report()
    for block in range(0, chains, EACH):
        rng = random.Random(f"{seed} {block}")
        with opened(rng) as session:
            for at in range(block, min(block + EACH, chains)):
                rng = random.Random(f"{seed} {at}")
                try:
                    light = at % whole != 0
                    chain(rng, session, Makers(rng, folder), report, light=light)
                except AssertionError as problem:
                    problem.add_note(f"chain {at}: {traceback.format_exc(limit=-2)}")
                    raise
            assert not session.ledger.closed
            assert session.ledger.verify().ok
    return report


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Run the chains of every push."""
    return run(PUSH, tmp_path_factory.mktemp("chains"))


def test_chains_are_refused_in_our_words_or_answered_with_noise(report):
    assert report.outcomes["answered"] > PUSH
    assert report.paid > PUSH // 10
    assert len(report.outcomes) > 5


@pytest.mark.deep
@pytest.mark.parametrize("shard", range(SHARDS))
def test_hundred_thousand_chains_are_refused_or_answered(tmp_path, record_property, shard):
    report = run(DEEP // SHARDS, tmp_path, seed=7 + shard, whole=WHOLE)
    record_property("outcomes", dict(report.outcomes))
    record_property("slowest", report.slowest)
    assert report.paid > DEEP // SHARDS // 20


@pytest.mark.parametrize("ask", ["median", "min", "max"])
def test_rank_of_no_column_is_refused(ask):
    with opened(random.Random(0)) as session, pytest.raises(ExpressionError, match="none is named"):
        getattr(session.table(), ask)(None)


def test_every_public_method_has_a_maker():
    for kind in HELD:
        called, _ = public(kind)
        assert [n for n in called if (kind, n) not in MAKERS and (kind, n) not in NOT_CALLED] == []
    assert [kind for kind, name in MAKERS if not hasattr(kind, name)] == []


def test_every_method_is_called(report):
    assert {(kind.__name__, name) for kind, name in MAKERS} - set(report.calls) == set()


LONG = {
    "twice": ("zone", "A", 2),
    "missing": ("name", None, 1),
    "nested": ("age", [0], 1),
    "unknown": ("zone", 0, 1),
}


@pytest.mark.parametrize("keys", LONG)
def test_endless_lists_of_keys_are_read_up_to_their_first_mistake(keys):
    column, value, enough = LONG[keys]
    read = itertools.count(1)
    endless = (value for _ in iter(lambda: next(read), 10**6))
    with opened(random.Random(0)) as session:
        with pytest.raises(KeysError) as refused:
            session.table().group_by(column, keys=endless).count().release(epsilon=1)
        assert len(str(refused.value)) < 1000
        assert next(read) == enough + 1
        assert session.ledger.history() == []


def test_endless_keys_without_a_mistake_are_read_up_to_the_most_groups(monkeypatch):
    monkeypatch.setattr("sfumato.relation.keys.MOST_CELLS", 1000)
    read = itertools.count()
    with opened(random.Random(0)) as session:
        with pytest.raises(KeysError, match="more than 1,000 values"):
            session.table().group_by("name", keys=map(str, read)).count().release(epsilon=1)
        assert next(read) == 1001
        assert session.ledger.history() == []


def test_a_mistake_behind_many_keys_is_found():
    for last in (None, 1, "key 7"):
        with opened(random.Random(0)) as session, pytest.raises(KeysError):
            session.table().group_by("name", keys=[*(f"key {i}" for i in range(9_999)), last])


def test_ten_thousand_keys_are_answered():
    with opened(random.Random(0)) as session:
        keys = [f"key {i}" for i in range(10_000)]
        answer = session.table().group_by("name", keys=keys).count().release(epsilon=1)
        assert answer.to_arrow()["name"].to_pylist() == keys


# ---- the checks themselves -----------------------------------------------------------------------


def test_answer_without_noise_is_found(tmp_path, monkeypatch):
    for mechanism in (DiscreteLaplace, DiscreteGaussian):
        monkeypatch.setattr(mechanism, "sample", lambda self, exact, rng: exact)
    with pytest.raises(AssertionError):
        run(8 * PUSH, tmp_path)  # one in about eighty chains shows a number that is long enough


def test_words_of_the_engine_are_found(tmp_path, monkeypatch):
    def talkative(*args):
        raise ExpressionError("Binder Error: no such column")

    monkeypatch.setattr("sfumato.session.table.Keys.of", talkative)
    with pytest.raises(AssertionError, match="Binder"):
        run(PUSH, tmp_path)


def test_error_that_is_not_ours_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.session.table.Project", lambda *_: {}["x"])
    with pytest.raises(AssertionError, match="KeyError"):
        run(PUSH, tmp_path)


def test_charge_for_a_refusal_is_found(tmp_path, monkeypatch):
    perform = Session.perform

    def late(self, *args, **named):
        perform(self, *args, **named)
        raise ExpressionError("it was refused after all. Ask something else.")

    monkeypatch.setattr(Session, "perform", late)
    with pytest.raises(AssertionError):
        run(PUSH, tmp_path)


def test_charge_that_is_not_what_was_asked_is_found(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "charge", lambda cost, delta, of=charge: of(cost * 2, delta))
    with pytest.raises(AssertionError):
        run(PUSH, tmp_path)
