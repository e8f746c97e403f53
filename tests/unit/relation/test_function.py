"""Every function of the whitelist: what comes out, in which range, and what it refuses."""
# ruff: noqa: S608 - the SQL is what is tested

import sys
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from sfumato.core.errors import ExpressionError, UnknownName
from sfumato.relation.expr import Call, Constant, Name, literal, names, quoted, typed
from sfumato.relation.function import FUNCTIONS
from sfumato.relation.kind import Day, Instant, Label, Number, Truth, code, day_number
from sfumato.relation.rule import LONGEST
from sfumato.sql.expression import parse

sys.path.insert(0, str(Path(__file__).parent))
from evaluate import Moment, as_value_of, decoded, evaluate
from fixtures import FIXTURES, SCOPE

sys.path.pop(0)

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "expressions.md"
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
    with pytest.raises(ExpressionError) as caught:
        typed(parse(text), {**SCOPE, **columns})
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
        assert as_value_of(found.kind, evaluate(expr, moments)) == wanted, row


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
    ],
)
def test_function_states_the_tightest_range(text, kind):
    assert kind_of(text) == kind


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x < 'abc'", "< cannot be applied to a number (x) and a text ('abc')"),
        ("zone < 'B'", "Order is known for numbers, dates and timestamps"),
        ("note >= 'B'", "Order is known for numbers, dates and timestamps"),
        ("flag > FALSE", "Order is known for numbers, dates and timestamps"),
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
        ("born - 1", "- cannot be applied to a date (born) and a number (1)"),
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
        ("integer(zone)", "integer cannot be applied to a category"),
        ("month(x)", "It takes a date or a timestamp"),
        ("hour(born)", "It takes a timestamp"),
        ("date(born)", "It takes a timestamp"),
        ("date('2020-01-01')", "DATE '2026-01-31'"),
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
        *("huge + 1", "huge - x", "huge * 2", "huge * huge", "huge < 0.5", "huge + huge"),
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
