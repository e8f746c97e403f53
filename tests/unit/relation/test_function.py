"""Every function of the whitelist: what comes out, in which range, and what it refuses."""
# ruff: noqa: S608 - the SQL is what is tested

import sys
from contextlib import suppress
from fractions import Fraction
from itertools import product
from pathlib import Path

import duckdb
import pytest

from sfumato.core.errors import ExpressionError, SfumatoError, UnknownName
from sfumato.relation.expr import Call, Constant, Name, literal, names, quoted, typed
from sfumato.relation.function import FUNCTIONS
from sfumato.relation.kind import Day, Instant, Label, Number, Truth, Words, code, day_number
from sfumato.relation.rule import LONGEST
from sfumato.sql.expression import parse

sys.path.insert(0, str(Path(__file__).parent))
from evaluate import Moment, as_value_of, decoded, evaluate
from fixtures import EDGE, FIXTURES, SCOPE

sys.path.pop(0)

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "expressions.md"
QUARTERS = (*(f"{y}-{m:02}-01" for y in (2020, 2021) for m in (1, 4, 7, 10)), "2022-01-01")
TYPES = ("tinyint", "smallint", "bigint", "double", "boolean", "varchar", "timestamp")
CASES = [(name, text, rows) for name, cases in FIXTURES.items() for text, rows in cases]


@pytest.fixture(scope="module")
def answer():
    """Ask the engine for one value."""
    with duckdb.connect() as connection:
        yield lambda sql: connection.execute(sql).fetchone()[0]


def kind_of(text, **columns):
    return typed(parse(text), {**SCOPE, **columns}).kind


def refusal(text, **columns):
    """Return the message with which an expression is refused."""
    wide = Day(day_number("0001-01-01"), day_number("9999-12-31"))
    with pytest.raises(ExpressionError) as caught:
        typed(parse(text), {**SCOPE, "wide": wide, **columns})
    return caught.value.message


def held(kind, value):
    found = None if value is None else code(kind, value)
    assert (found is None) == (value is None), f"{value} is not a value of {kind}"
    sql = "NULL" if found is None else literal(found)
    return f"CAST({sql} AS {'BOOLEAN' if isinstance(kind, Truth) else kind_name(kind)})"


def kind_name(kind):
    return "BIGINT" if isinstance(kind, Number | Label | Day | Instant) else "VARCHAR"


def test_every_function_has_a_fixture_that_uses_it():
    def used(expr):
        if isinstance(expr, Call):
            yield expr.function
            for argument in expr.arguments:
                yield from used(argument)

    assert set(FIXTURES) == set(FUNCTIONS)
    for name, text, _ in CASES:
        assert name in set(used(parse(text)))


def test_every_function_is_on_the_page_of_the_reference():
    rows = [line for line in PAGE.read_text(encoding="utf-8").split("\n") if line.startswith("| `")]
    documented = "\n".join(line.split(" | ")[0] for line in rows)
    spelled = {"in": "IN (", "and": "AND", "or": "OR", "not": "NOT", "case": "CASE"}
    spelled |= {"like": "LIKE", "ilike": "ILIKE", "date_add": "INTERVAL", "decimal": "AS DECIMAL"}
    spelled |= {name: f"AS {name.upper()}" for name in TYPES}
    missing = [
        name
        for name in FUNCTIONS
        if spelled.get(name, f"{name}(" if name.isidentifier() else f" {name} ") not in documented
    ]
    assert missing == []


@pytest.mark.parametrize(("name", "text", "rows"), CASES, ids=[text for _, text, _ in CASES])
def test_function_computes(answer, name, text, rows):
    expr = parse(text)
    found = typed(expr, SCOPE)
    columns = list(dict.fromkeys(names(expr)))
    for *given, wanted in rows:
        row = dict(zip(columns, given, strict=True))
        inner = ", ".join(f"{held(SCOPE[c], v)} AS {quoted(c)}" for c, v in row.items())
        got = answer(f"SELECT {found.sql} FROM (SELECT {inner})")
        assert decoded(found.kind, got) == wanted, row
        moments = {c: as_value_of(SCOPE[c], v) for c, v in row.items()}
        assert as_value_of(found.kind, evaluate(expr, moments, SCOPE)) == wanted, row


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("x + y", Number(-14, 14)),
        ("x - y", Number(-14, 14)),
        ("-money", Number(-20_000, 2_000, Fraction(1, 100))),
        ("x * y", Number(-40, 40)),
        ("x / 4", Number(-10, 10, Fraction(1, 4))),
        ("divide(x, y, 1)", Number(-10, 10)),
        ("divide(abs(x), abs(y) + 2, 1)", Number(0, 5)),
        ("x // 3", Number(-4, 3)),
        ("x % 3", Number(0, 2)),
        ("abs(x) % 100", Number(0, 10)),
        ("abs(x)", Number(0, 10)),
        ("abs(x - 20)", Number(10, 30)),
        ("floor(x, 4)", Number(-3, 2, Fraction(4))),
        ("ceil(x, 4)", Number(-2, 3, Fraction(4))),
        ("round(x, -1)", Number(-1, 1, Fraction(10))),
        ("least(x, y)", Number(-10, 4)),
        ("greatest(x, y)", Number(-4, 10)),
        ("clamp(x, 0, 100)", Number(0, 10)),
        ("clamp(x, 20, 30)", Number(20, 20)),
        ("magnitude(x)", Number(-9, 9)),
        ("magnitude(money, 0.01)", Number(-39, 52)),
        ("magnitude(huge)", Number(-244, 244)),
        ("integer(flag)", Number(0, 1)),
        ("CASE WHEN flag THEN x ELSE 20.5 END", Number(-20, 41, Fraction(1, 2))),
        (
            "CASE WHEN flag THEN 'up' WHEN other THEN 'low' ELSE 'up' END",
            Label(("up", "low")),
        ),
        ("coalesce(zone, 'unknown')", Label(("A", "B", "C", "unknown"))),
        ("coalesce(grade, 4)", Label((1, 2, 30, 4))),
        ("coalesce(seen, '2030-01-01')", Day(day_number("2020-01-01"), day_number("2030-01-01"))),
        ("year(seen)", Number(2020, 2021)),
        ("year(at)", Number(2020, 2022)),
        ("weekday(at)", Number(1, 7)),
        ("date(at)", Day(day_number("2020-02-28"), day_number("2022-01-23"))),
        ("1 + 2 * 3 / 4", Number(5, 5, Fraction(1, 2))),
        ("x * 3", Number(-10, 10, Fraction(3))),
        ("-3 * x", Number(-10, 10, Fraction(3))),
        ("x // 6 * 6", Number(-2, 1, Fraction(6))),
        ("huge * 2", Number(-EDGE, EDGE, Fraction(2))),
        ("x * 0", Number(0, 0)),
        ("x * y", Number(-40, 40)),
        ("power(x, 2)", Number(0, 100)),
        ("power(x - 20, 2)", Number(100, 900)),
        ("x ^ 3", Number(-1000, 1000)),
        ("money ^ 2", Number(0, 4 * 10**8, Fraction(1, 10**4))),
        ("sign(x)", Number(-1, 1)),
        ("sign(x - 20)", Number(-1, -1)),
        ("root(money, 0.1)", Number(0, 141, Fraction(1, 10))),
        ("root(x + 30, 1)", Number(4, 6)),
        ("lower(city)", Label(("oslo", "oslo ", "łódź", "100%"))),
        ("lower(trim(city))", Label(("oslo", "łódź", "100%"))),
        ("left(city, 0)", Label(("",))),
        ("length(city)", Number(4, 5)),
        ("length(note)", Number(0, 10_000)),
        ("strpos(city, 'o')", Number(0, 4)),
        ("zone || '-' || zone", Label(tuple(f"{a}-{b}" for a in "ABC" for b in "ABC"))),
        ("concat(zone, '!')", Label(("A!", "B!", "C!", "!"))),
        ("upper(note)", Words()),
        ("zone || note", Words()),
        ("zone LIKE 'A%'", Truth()),
        ("CAST(note AS INTEGER)", Number(-(2**31), 2**31 - 1)),
        ("CAST(note AS SMALLINT)", Number(-(2**15), 2**15 - 1)),
        ("CAST(note AS BIGINT)", Number(1 - 10**18, 10**18 - 1)),
        ("CAST(note AS DECIMAL(5, 2))", Number(-99_999, 99_999, Fraction(1, 100))),
        ("CAST(code AS DECIMAL(5, 2))", Number(100, 250, Fraction(1, 100))),
        ("CAST(huge AS SMALLINT)", Number(-EDGE, EDGE)),
        ("CAST(money AS DOUBLE)", Number(-2_000, 20_000, Fraction(1, 100))),
        ("CAST(y AS VARCHAR)", Label(tuple(map(str, range(-4, 5))))),
        ("CAST(huge AS VARCHAR)", Words()),
        ("CAST(flag AS VARCHAR)", Label(("false", "true"))),
        ("CAST(note AS DATE)", Day(day_number("0001-01-01"), day_number("9999-12-31"))),
        ("CAST(code AS DATE)", Day(day_number("2020-02-29"), day_number("2020-02-29"))),
        ("CAST(seen AS TIMESTAMP)", Instant("2020-01-01T00:00:00", 730, Fraction(86_400))),
        ("seen - born", Number(-4017, 44_559)),
        ("seen - DATE '2020-01-01'", Number(0, 730)),
        ("date_diff('month', seen, seen)", Number(-23, 23)),
        ("date_diff('hour', at, at)", Number(-16_667, 16_667)),
        ("seen + INTERVAL 1 MONTH", Day(day_number("2020-02-01"), day_number("2022-01-31"))),
        ("at - INTERVAL 1 DAY", Instant("2020-02-27T22:30:00", 10**6, Fraction(60))),
        ("date_trunc('year', seen)", Label(("2020-01-01", "2021-01-01"))),
        ("date_trunc('quarter', date(at))", Label(QUARTERS)),
        ("date_trunc('hour', at)", Instant("2020-02-28T22:00:00", 16_667, Fraction(3_600))),
        ("week(seen)", Number(1, 53)),
        ("dayofweek(seen)", Number(0, 6)),
    ],
)
def test_function_states_the_tightest_range(text, kind):
    assert kind_of(text) == kind


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x < 'abc'", "< cannot be applied to a number (x) and a text ('abc')"),
        ("zone < 3", "Order is known for numbers, dates, timestamps and texts"),
        ("zone < zone", "a category beside a constant"),
        ("grade < '2'", "Order is known for numbers, dates, timestamps and texts"),
        ("flag > FALSE", "Order is known for numbers, dates, timestamps and texts"),
        ("zone = 'Z'", "'Z' is not one of the declared values"),
        ("grade = '30'", "'30' is not one of the declared values"),
        ("zone = note", "= cannot be applied to a category (zone) and a text"),
        ("zone = grade", "two categories with different lists"),
        ("flag = 1", "= cannot be applied to a truth value (flag) and a number (1)"),
        ("x = NULL", "Write IS NULL"),
        ("x IN (1, NULL)", "NULL is in no list"),
        ("born = at", "= cannot be applied to a date (born) and a timestamp"),
        ("born = 3", "= cannot be applied to a date (born) and a number (3)"),
        ("born = 'soon'", "'soon' stands beside a date, and is not one"),
        ("at > '2020-13-01'", "'2020-13-01' stands beside a timestamp, and is not one"),
        ("at > '2020-01-01T00:00:00Z'", "it has a time zone"),
        ("zone + 1", "+ cannot be applied to a category (zone) and a number (1)"),
        ("flag + 1", "integer(...)"),
        ("born - x", "To a date add INTERVAL 3 DAY"),
        ("born + 0.5", "To a date add INTERVAL 3 DAY"),
        ("born - at", "date_diff('hour', a, b)"),
        ("at - at", "date_diff('hour', a, b)"),
        ("born + INTERVAL 8000 YEAR", "after the year 9999"),
        ("DATE '2020-01-01' - INTERVAL 3000 YEAR < born", "before the year 1"),
        ("at + INTERVAL 500000 WEEK", "after the year 9999"),
        ("at + INTERVAL 1 MONTH", "no months"),
        ("born + INTERVAL 1 HOUR", "It takes a date, or a timestamp and no months"),
        ("x + INTERVAL 1 DAY", "date_add cannot be applied to a number (x)"),
        ("date_trunc('hour', born)", "hours and less of timestamps only"),
        ("date_trunc('month', x)", "It takes a unit and dates or timestamps"),
        ("date_trunc('month', wide)", "would list 119,988 values"),
        ("date_diff('hour', born, seen)", "hours and less of timestamps only"),
        ("power(x, 0)", "a whole constant from 1 to 10"),
        ("power(x, 0.5)", "a whole constant from 1 to 10"),
        ("power(x, y)", "a whole constant from 1 to 10"),
        ("root(x, 0)", "a positive constant"),
        ("root(x - 20, 1)", "below 0 in every row"),
        ("root(huge, 1)", "coarser step"),
        ("lower(x)", "CAST(x AS VARCHAR)"),
        ("lower(grade)", "CAST(x AS VARCHAR)"),
        ("left(note, -1)", "how many characters"),
        ("left(note, 0.5)", "how many characters"),
        ("left(note, money)", "how many characters"),
        ("substr(note, 1e10)", "The first character is 1"),
        ("split_part(note, '', 1)", "which part"),
        ("split_part(note, 'a', 0)", "which part"),
        ("replace(note, '', 'a')", "What is replaced is not empty"),
        ("replace(note, zone, 'a')", "It takes a text and constants"),
        ("replace(note, 'a', 'aaaaaaaaaaaaaaaaaaaaa')", "by 16 characters at most"),
        ("note || x", "CAST(x AS VARCHAR)"),
        ("note LIKE zone", "a constant pattern"),
        ("x LIKE '1%'", "like cannot be applied to a number (x)"),
        ("note LIKE 'a!' ESCAPE '!'", "the escape '!' stands before something"),
        ("note LIKE 'a!b' ESCAPE '!'", "the escape '!' stands before something"),
        ("note LIKE 'a' ESCAPE ''", "ESCAPE takes one character, and this has 0"),
        (f"note LIKE '{'a' * 251}'", "at most 250 are matched"),
        ("CAST('abc' AS INTEGER)", "'abc' cannot be read so"),
        ("CAST(zone AS INTEGER)", "no value of the category zone can be read so"),
        ("CAST(note AS DECIMAL(30, 2))", "18 digits at most"),
        ("CAST(note AS DECIMAL(2, 3))", "decimal cannot be applied"),
        ("CAST(note AS DOUBLE)", "CAST(x AS DECIMAL(12, 2))"),
        ("CAST(money AS VARCHAR)", "a whole number"),
        ("CAST(at AS VARCHAR)", "It takes a text, a whole number, a date"),
        ("CAST(born AS BOOLEAN)", "It takes a truth value, a number or a text"),
        ("CAST(x AS DATE)", "It takes a date, a timestamp or a text"),
        ("CAST(x AS TIMESTAMP)", "It takes a date, a timestamp or a text"),
        ("-zone", "- cannot be applied to a category"),
        ("x * NULL", "* cannot be applied to a number (x) and NULL"),
        ("x / y", "use divide(x, y, step)"),
        ("x / 0", "divides by 0 in every row"),
        ("x // 0", "a positive constant"),
        ("x % -2", "a positive constant"),
        ("x % y", "a positive constant"),
        ("divide(x, y, 0)", "a positive constant"),
        ("divide(x, 0, 1)", "divides by 0 in every row"),
        ("divide(x, y)", "divide takes 3 arguments, and here it has 2"),
        ("floor(x, y)", "a positive constant"),
        ("round(x, 0.5)", "how many decimals"),
        ("round(x, 1e9)", "from -18 to 18 decimals"),
        ("round(zone)", "round cannot be applied to a category"),
        ("least(x, zone)", "least cannot be applied to a number (x) and a category"),
        ("least(x)", "least takes at least 2 arguments, and here it has 1"),
        ("clamp(x, 5, 3)", "clamp(x, 3, 5)"),
        ("clamp(x, y, 3)", "two constants"),
        ("magnitude(zone)", "magnitude cannot be applied to a category"),
        ("magnitude(x, 0)", "a positive constant"),
        ("magnitude(x, y)", "a positive constant"),
        ("x AND flag", "and cannot be applied to a number (x) and a truth value"),
        ("NOT x", "not cannot be applied to a number"),
        ("NOT NULL", "not cannot be applied to NULL"),
        ("CASE WHEN x THEN 1 END", "case cannot be applied to a number (x) and a number (1)"),
        ("CASE WHEN flag THEN 1 ELSE 'a' END", "must be of one type"),
        ("CASE WHEN flag THEN x ELSE zone END", "must be of one type"),
        ("CASE WHEN flag THEN NULL END", "at least one must not be NULL"),
        ("coalesce(NULL, NULL)", "at least one must not be NULL"),
        ("nullif(x, NULL)", "nothing equals NULL"),
        ("nullif(x, 'a')", "nullif cannot be applied to a number (x) and a text ('a')"),
        ("integer(born)", "integer cannot be applied to a date"),
        ("month(x)", "It takes a date or a timestamp"),
        ("hour(born)", "It takes a timestamp"),
        ("date(x)", "DATE '2026-01-31'"),
        ("date('soon')", "'soon' stands beside a date, and is not one"),
        ("year(zone)", "year cannot be applied to a category"),
    ],
)
def test_function_refuses_what_it_cannot_take(text, says):
    assert says in refusal(text)


def test_unknown_column_is_named():
    with pytest.raises(UnknownName, match=r"'zome'.*Did you mean 'zone'"):
        typed(parse("zome = 'A'"), SCOPE)


@pytest.mark.parametrize(
    "text",
    [
        *("huge + 1", "huge - x", "huge * x", "huge * huge", "huge < 0.5", "huge + huge"),
        *("huge // 3", "huge % 7", "divide(huge, x, 0.5)", "floor(huge, 10)", "ceil(huge, 10)"),
        *("round(huge, -1)", "greatest(huge, 0.1)", "clamp(huge, 0, 0.5)", "coalesce(huge, 0.5)"),
        *("magnitude(huge, 0.5)", "magnitude(x, 1e19)"),
        *("round(x, 18) / 1e18 + round(x, 18)", "(x - x) * 0 + 1e-30", "x + 1e19"),
    ],
)
def test_function_refuses_what_could_overflow(text):
    assert "beyond 2^62 steps" in refusal(text)


def test_number_that_is_always_zero_does_not_leave_64_bits():
    zero = Number(0, 0)
    for text in ("z + 1e-30", "least(z, 1e-30)", "divide(z, 3, 1e-30)", "z % 1e-30"):
        assert "beyond 2^62 steps" in refusal(text, z=zero)


def test_timestamps_refuse_what_could_overflow():
    fine = Instant("2020-01-01T00:00:00", 2**62, Fraction(1, 10**12))
    assert "beyond 2^62 steps" in refusal("t < until", t=fine)
    assert "beyond 2^62 steps" in refusal("t < '2019-01-01'", t=fine)
    prime = Instant("2020-01-01T00:00:00", 2**61, Fraction(1, 10**9 + 7))
    assert "beyond 2^62 steps" in refusal("hour(t)", t=prime)


def nested(function, depth, *more):
    expr = Name("x")
    for _ in range(depth):
        expr = Call(function, (expr, *more))
    return expr


@pytest.mark.parametrize(
    ("function", "more"),
    [
        ("least", (Name("y"),)),
        ("clamp", (Constant(-5), Constant(5))),
        ("divide", (Name("y"), Constant(1))),
    ],
)
def test_nested_functions_cannot_grow_without_limit(function, more):
    lengths = [len(typed(nested(function, depth, *more), SCOPE).sql) for depth in (1, 2, 3, 4)]
    assert lengths[3] > 1.8 * lengths[2] > 3 * lengths[1]
    with pytest.raises(ExpressionError, match="grows beyond 50,000 characters of SQL"):
        typed(nested(function, 14, *more), SCOPE)


def test_long_list_is_only_as_long_as_it_was_written(answer):
    listed = Call("in", (Name("money"), *(Constant(Fraction(k, 100)) for k in range(20_000))))
    found = typed(Call("and", (listed, Call("not", (Name("flag"),)))), SCOPE)
    assert len(found.sql) > 2 * LONGEST
    row = "SELECT CAST(19999 AS BIGINT) AS money, FALSE AS flag"
    assert answer(f"SELECT {found.sql} FROM ({row})") is True


def test_step_cannot_grow_without_limit():
    tiny = Name("y")
    for _ in range(3):
        tiny = Call("/", (tiny, Constant(Fraction(1, 10**90))))
    typed(tiny, SCOPE)
    with pytest.raises(ExpressionError, match="step of this number has more than 300 digits"):
        typed(Call("/", (tiny, Constant(Fraction(1, 10**90)))), SCOPE)


def test_text_keeps_its_quotes(answer):
    found = typed(parse("note = 'a'' OR TRUE --'"), SCOPE)
    assert answer(f"SELECT {found.sql} FROM (SELECT 'b' AS note)") is False


def test_evaluator_knows_steps_below_a_microsecond():
    kind = Instant("1970-01-01T00:00:00", 10, Fraction(1, 3))
    assert decoded(kind, 1) == Moment(Fraction(1, 3))


ARGUMENTS = [
    *map(Name, ("x", "money", "flag", "zone", "grade", "note", "born", "at")),
    *map(Constant, (3, Fraction(7, 2), True, "a", "2020-01-01", None)),
    Call("date", (Constant("2020-01-01"),)),
    Call("timestamp", (Constant("2020-01-01 12:00:00"),)),
    Call("coalesce", (Constant("a"),)),
    Call("varchar", (Constant(True),)),
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_whatever_is_accepted_the_engine_takes(answer, function):
    """Constants and columns of every kind: what does not fit is refused here, and not there."""
    found = []
    for count in (1, 2):
        for given in product(ARGUMENTS, repeat=count):
            with suppress(SfumatoError):
                found.append(typed(Call(function, given), SCOPE))
    row = ", ".join(f"{held(kind, None)} AS {quoted(name)}" for name, kind in SCOPE.items())
    answer(f"SELECT {', '.join(['1', *(t.sql for t in found)])} FROM (SELECT {row})")
