"""Text to expression: what is read, what is refused, and that nothing else ever happens."""

import logging
import random
import subprocess
import sys
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.errors import ExpressionError
from sfumato.relation.expr import Call, Constant, Name, shown, typed
from sfumato.relation.function import FUNCTIONS
from sfumato.relation.kind import Number
from sfumato.sql import parse


def call(function, *arguments):
    return Call(function, arguments)


def refusal(text):
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    return caught.value.message


WORDS = """
x y a.b 1 2.5 'a' "q" + - * / // % ( ) ( ) , < <= = == <> and or not in is null case when then else
end between cast as int date timestamp if coalesce round floor sum over select from where extract
year [ ] { } : :: ? $ @ # -> => | & ~ ! . interval distinct exists any all lambda array struct map
unnest like escape filter within group order by limit pivot values with union json try ; explain
current_date at time zone collate show
"""
X, Y, ONE, TWO = Name("x"), Name("y"), Constant(1), Constant(2)


@pytest.mark.parametrize(
    ("text", "expr"),
    [
        (
            "hour < 9 and zone == 'A'",
            call(
                "and",
                call("<", Name("hour"), Constant(9)),
                call("=", Name("zone"), Constant("A")),
            ),
        ),
        ("x", X),
        ("  x\n", X),
        ("(x)", X),
        ("+x", X),
        ("-x", call("-", X)),
        ("- 1", Constant(-1)),
        ("x <- 1", call("<", X, Constant(-1))),
        ("x + 1", call("+", X, ONE)),
        ("x - y - 1", call("-", call("-", X, Y), ONE)),
        ("x + y * 2", call("+", X, call("*", Y, TWO))),
        ("x * (y + 2)", call("*", X, call("+", Y, TWO))),
        ("x / 2", call("/", X, TWO)),
        ("x // 2", call("//", X, TWO)),
        ("x % 2", call("%", X, TWO)),
        ("mod(x, 2)", call("%", X, TWO)),
        ("x != 1", call("<>", X, ONE)),
        ("x <> 1", call("<>", X, ONE)),
        ("x <= 1", call("<=", X, ONE)),
        ("x > 1", call(">", X, ONE)),
        ("x >= 1", call(">=", X, ONE)),
        ("x or y and not x", call("or", X, call("and", Y, call("not", X)))),
        ("x and y and x", call("and", X, Y, X)),
        ("x and (y and x)", call("and", X, call("and", Y, X))),
        ("x between 1 and 2", call("and", call(">=", X, ONE), call("<=", X, TWO))),
        ("x not between 1 and 2", call("not", call("and", call(">=", X, ONE), call("<=", X, TWO)))),
        ("x in (1, 2)", call("in", X, ONE, TWO)),
        ("x in [1, 2]", call("in", X, ONE, TWO)),
        ("x not in (1)", call("not", call("in", X, ONE))),
        ("x is null", call("is_null", X)),
        ("x is not null", call("not", call("is_null", X))),
        ("is_null(x)", call("is_null", X)),
        ("case when x then 1 when y then 2 end", call("case", X, ONE, Y, TWO)),
        ("case when x then 1 else 2 end", call("case", X, ONE, TWO)),
        ("case x when 1 then 2 else y end", call("case", call("=", X, ONE), TWO, Y)),
        ("if(x, 1, 2)", call("case", X, ONE, TWO)),
        ("IF(x, 1)", call("case", X, ONE)),
        ("cast(x as integer)", call("integer", X)),
        ("CAST(x AS BIGINT)", call("integer", X)),
        ("x::int", call("integer", X)),
        ("cast(x as date)", call("date", X)),
        ("extract(year from x)", call("year", X)),
        ("extract(isodow from x)", call("weekday", X)),
        ("date_part('minute', x)", call("minute", X)),
        ("ceiling(x)", call("ceil", X)),
        ("ifnull(x, 1)", call("coalesce", X, ONE)),
        ("isodow(x)", call("weekday", X)),
        ("dayofmonth(x)", call("day", X)),
        ("CLAMP(x, 1, 2)", call("clamp", X, ONE, TWO)),
        ("floor(x, 2)", call("floor", X, TWO)),
        ("true", Constant(True)),
        ("FALSE", Constant(False)),
        ("null", Constant(None)),
        ("'it''s'", Constant("it's")),
        (r"'a\nb'", Constant(r"a\nb")),
        ("'SELECT 1; -- no'", Constant("SELECT 1; -- no")),
        ("''", Constant("")),
        ("DATE '2020-01-01'", Constant("2020-01-01")),
        ("TIMESTAMP '2020-01-01 10:00:00'", Constant("2020-01-01T10:00:00")),
        ('"my column"', Name("my column")),
        ('"a""b"', Name('a"b')),
        ("größe", Name("größe")),
        ("年齢 > 1", call(">", Name("年齢"), ONE)),
        ("Zone", Name("Zone")),
        ("zONE", Name("zONE")),
    ],
)
def test_expression_is_read(text, expr):
    assert parse(text) == expr


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0.1", Fraction(1, 10)),
        (".5", Fraction(1, 2)),
        ("2.0", 2),
        ("1e3", 1000),
        ("1.5E-3", Fraction(3, 2000)),
        ("-0.1", Fraction(-1, 10)),
        ("1_000", 1000),
        ("9007199254740993", 2**53 + 1),
        ("0.1000000000000000055511151231257827", Fraction("0.1000000000000000055511151231257827")),
    ],
)
def test_number_is_what_was_written(text, number):
    found = parse(text).value
    assert found == number
    assert type(found) is type(number)


@pytest.mark.parametrize("name", sorted(n for n in FUNCTIONS if n.isidentifier()))
def test_every_named_function_can_be_written(name):
    few = {"divide": 3, "clamp": 3, "nullif": 2, "least": 2, "greatest": 2}.get(name, 1)
    spelled = {
        "in": "x in (x)",
        "and": "x and x",
        "or": "x or x",
        "not": "not x",
        "case": "case when x then x end",
    }
    text = spelled.get(name, f"{name}({', '.join(['x'] * few)})")
    assert parse(text).function == name


@pytest.mark.parametrize(
    "name", ["hour", "day", "year", "date", "timestamp", "value", "rank", "end", "order", "show"]
)
def test_column_may_be_called_like_a_word_of_sql(name):
    assert parse(f"{name} > 1") == call(">", Name(name), ONE)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "an expression is text, and this is a NoneType"),
        (3, "an expression is text, and this is a int"),
        (X, "an expression is text, and this is a Name"),
        ("", "the expression is empty"),
        (" \n\t", "the expression is empty"),
        ("-- nothing", "the expression is empty"),
        ("x" * 10_001, "10,001 characters"),
        ("x > 'a\0'", "NUL"),
        ("x > '\ud800'", "half of a pair"),
        ("(select max(y) from t)", "a subquery"),
        ("x in (select y from t)", "a subquery cannot be used here"),
        ("exists(select 1)", "a subquery"),
        ("1 + sum(x)", "an aggregate cannot be used here: 'sum(x)' (line 1, column 5)"),
        ("1 +\n count(*)", "'count(*)' (line 2, column 2)"),
        ("sum(x) over (order by y)", "a window"),
        ("row_number() over ()", "a window"),
        ("lag(x)", "an aggregate"),
        ("x -> x + 1", "a look inside a value"),
        ("list_transform(x, lambda y: y)", "'list_transform'"),
        ("*", "a star"),
        ("x > ?", "a parameter cannot be used here: 'x > ?'"),
        ("x > $1", "a parameter"),
        ("x > :name", "a parameter"),
        ("cast(x as varchar)", "a cast to this type"),
        ("cast(x as decimal(10, 2))", "CAST(x AS INTEGER)"),
        ("try_cast(x as integer)", "TRY_CAST"),
        ("trips.fare > 1", "'trips.fare' (line 1, column 1). Write the column's name alone"),
        ("a.b.c.d.e", "a name"),
        ('""', "or of none"),
        ("nosuch(x)", "'nosuch' is not one of those"),
        ("floorr(x)", "Did you mean floor?"),
        ("upper(zone)", "'upper(zone)' (line 1, column 1)"),
        ("random() < 0.5", "changes from one moment to the next"),
        ("current_date", "DATE '2026-01-31'"),
        ("x; y", "a semicolon ends an expression (line 1, column 2"),
        ("x;", "Remove the semicolon"),
        ("x --1", "a - (-b)"),
        ("x /* why */ > 1", "comments are not read"),
        ("x > 1 from t", "'from' does not fit here (line 1, column 7"),
        ("x y", "'y' does not fit here"),
        ("x as y", "'as' does not fit here"),
        ("x > 1 and", "something is missing beside 'and' (line 1, column 7"),
        ("x >", "something is missing"),
        ("(x", "')' is missing"),
        ("x)", "')' does not fit here"),
        ("'abc", "opened and not closed"),
        ('"abc', "opened and not closed"),
        ("2x", "'x' does not fit here (line 1, column 2"),
        ("drop table t", "'drop' does not fit here"),
        ("select 1", "'select' does not fit here"),
        ("if > 3", "IF(condition, value, otherwise)"),
        ("x like 'A%'", "IN ('A', 'B')"),
        ("x ~ 'A'", "a comparison of patterns"),
        ("x ** 2", "x * x"),
        ("x || y", "a joining of texts"),
        ("x & y", "AND, OR and NOT"),
        ("x && y", "AND, OR and NOT"),
        ("x is true", "coalesce(condition, FALSE)"),
        ("x is distinct from y", "IS DISTINCT FROM"),
        ("x in y", "IN without a list"),
        ("x in ()", "IN without a list"),
        ("(x, y) = (1, 2)", "a list cannot be used here"),
        ("x[1]", "brackets"),
        ("{'a': 1}", "brackets"),
        ("x between symmetric 1 and 2", "BETWEEN low AND high"),
        ("interval 1 day", "an interval"),
        ("E'a'", "in single quotes"),
        ("$$a$$", "in single quotes"),
        ("dayofweek(d)", "Monday is 1"),
        ("extract(dow from d)", "this part of a date"),
        ("date_part('epoch', d)", "this part of a date"),
        ("trunc(x)", "floor(x)"),
        ("round(x, 1, 2)", "round has arguments that it does not take: 'round(x, 1, 2)'"),
        ("minute(x, 3)", "too many arguments"),
        ("DATE 'soon'", "this is not a date in ISO form: \"'soon'\""),
        ("TIMESTAMP '2020-01-01 00:00:00+02:00'", "timestamp without time zone"),
        ("1e9999 > x", "too long a numeral"),
        ("x at time zone 'utc'", "is no part of an expression"),
    ],
)
def test_text_is_refused_with_the_fix(text, says):
    assert says in refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 4_000 + "x" + ")" * 4_000,
        "(" * 9_999,
        "not " * 2_400 + "x",
        "- " * 4_000 + "x",
        "abs(" * 1_900 + "x" + ")" * 1_900,
        "x" + " + 1" * 101,
        "case when " * 900 + "x",
        "x" + "::int" * 1_500,
        "cast(" * 1_900,
    ],
    ids=["closed", "open", "not", "minus", "calls", "sum", "case", "cast", "unfinished"],
)
def test_deep_nesting_is_refused(text):
    assert "nested too deeply" in refusal(text)


def test_long_but_flat_expressions_are_read():
    chain = parse(" and ".join(["x = 1"] * 1_000))
    assert len(chain.arguments) == 1_000
    assert len(parse(f"x in ({', '.join(map(str, range(1_500)))})").arguments) == 1_501
    assert parse("x" + " + 1" * 99).function == "+"


def test_refusal_quotes_no_more_than_a_piece():
    assert len(refusal("sum(" + "x + " * 40 + "x)")) < 400


def noise(pick):
    """Return words of SQL in an order that makes no sense, most of the time."""
    words = WORDS.split()
    return " ".join(pick.choice(words) for _ in range(pick.randint(1, 12)))


def test_nothing_but_our_own_error_escapes_and_the_parser_is_silent(caplog):
    read, pick = 0, random.Random(2026)  # noqa: S311 - nothing secret
    with caplog.at_level(logging.DEBUG):
        for _ in range(4_000):
            try:
                parse(noise(pick))
                read += 1
            except ExpressionError:
                pass
    assert caplog.records == []
    assert read > 50


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text):
    try:
        shown(parse(text))
    except ExpressionError as refused:
        assert refused.message


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1))
def test_any_name_and_any_text_come_back_as_they_are(text):
    name, inside = text.replace('"', '""'), text.replace("'", "''")
    assert parse(f"\"{name}\" = '{inside}'") == call("=", Name(text), Constant(text))


@given(
    st.fractions(min_value=-(10**6), max_value=10**6, max_denominator=1).map(int), st.integers(0, 9)
)
def test_any_decimal_is_exact(digits, places):
    written = f"{digits}e-{places}"
    assert parse(written).value == Fraction(digits, 10**places)
    kind = typed(parse(written), {}).kind
    assert isinstance(kind, Number)
    assert kind.low * kind.step == Fraction(digits, 10**places)


def test_import_leaves_the_parser_alone():
    code = "import sys, sfumato.sql; sys.exit('sqlglot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
