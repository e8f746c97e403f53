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
TYPES = ("tinyint", "smallint", "bigint", "double", "boolean", "varchar", "timestamp")
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
        ("CAST(x AS BIGINT)", call("bigint", X)),
        ("x::smallint", call("smallint", X)),
        ("TRY_CAST(x AS INTEGER)", call("integer", X)),
        ("cast(x as decimal(10, 2))", call("decimal", X, Constant(10), TWO)),
        ("cast(x as decimal(10))", call("decimal", X, Constant(10), Constant(0))),
        ("x::numeric", call("decimal", X, Constant(18), Constant(3))),
        ("cast(x as double)", call("double", X)),
        ("cast(x as double precision)", call("double", X)),
        ("x::real", call("double", X)),
        ("x::varchar", call("varchar", X)),
        ("cast(x as varchar(3))", call("varchar", X)),
        ("cast(x as text)", call("varchar", X)),
        ("x::boolean", call("boolean", X)),
        ("cast(x as timestamp)", call("timestamp", X)),
        ("cast('2020-01-01' as date)", Constant("2020-01-01")),
        ("'2020-01-01'::timestamp", Constant("2020-01-01T00:00:00")),
        ("lower(x)", call("lower", X)),
        ("lcase(x)", call("lower", X)),
        ("trim(x)", call("trim", X)),
        ("trim(x, 'a')", call("trim", X, Constant("a"))),
        ("trim(both 'a' from x)", call("trim", X, Constant("a"))),
        ("trim(leading 'a' from x)", call("ltrim", X, Constant("a"))),
        ("trim(trailing from x)", call("rtrim", X)),
        ("rtrim(x, 'a')", call("rtrim", X, Constant("a"))),
        ("len(x)", call("length", X)),
        ("char_length(x)", call("length", X)),
        ("substring(x from 1 for 2)", call("substr", X, ONE, TWO)),
        ("substring(x, 2)", call("substr", X, TWO)),
        ("x || y || 'a'", call("||", X, Y, Constant("a"))),
        ("x || (y || 'a')", call("||", X, call("||", Y, Constant("a")))),
        ("concat(x, y)", call("concat", X, Y)),
        ("prefix(x, 'a')", call("starts_with", X, Constant("a"))),
        ("suffix(x, 'a')", call("ends_with", X, Constant("a"))),
        ("position('a' in x)", call("strpos", X, Constant("a"))),
        ("instr(x, 'a')", call("strpos", X, Constant("a"))),
        ("x like 'a%'", call("like", X, Constant("a%"))),
        ("x not like 'a%'", call("not", call("like", X, Constant("a%")))),
        ("x ~~ 'a%'", call("like", X, Constant("a%"))),
        ("x !~~ 'a%'", call("not", call("like", X, Constant("a%")))),
        ("x ilike 'a'", call("ilike", X, Constant("a"))),
        ("x not ilike 'a'", call("not", call("ilike", X, Constant("a")))),
        ("x like 'a' escape '!'", call("like", X, Constant("a"), Constant("!"))),
        (
            "x not like 'a' escape '!' or y",
            call("or", call("not", call("like", X, Constant("a"), Constant("!"))), Y),
        ),
        ("x is true", call("coalesce", X, Constant(False))),
        ("x is false", call("coalesce", call("not", X), Constant(False))),
        ("x is not true", call("not", call("coalesce", X, Constant(False)))),
        ("x is unknown", call("is_null", X)),
        (
            "x is not distinct from y",
            call("coalesce", call("=", X, Y), call("and", call("is_null", X), call("is_null", Y))),
        ),
        ("x is not distinct from null", call("is_null", X)),
        ("null is distinct from x", call("not", call("is_null", X))),
        ("date_trunc('MONTH', x)", call("date_trunc", Constant("month"), X)),
        ("datetrunc('week', x)", call("date_trunc", Constant("week"), X)),
        ("date_diff('day', x, y)", call("date_diff", Constant("day"), X, Y)),
        ("datediff('years', x, y)", call("date_diff", Constant("year"), X, Y)),
        ("x + interval 3 day", call("date_add", X, Constant(3), Constant("day"))),
        ("interval '3 days' + x", call("date_add", X, Constant(3), Constant("day"))),
        ("x - interval '90' day", call("date_add", X, Constant(-90), Constant("day"))),
        ("x - interval (-1) month", call("date_add", X, ONE, Constant("month"))),
        ("date_add(x, interval 1 year)", call("date_add", X, ONE, Constant("year"))),
        (
            "date '1998-12-01' - interval '90' day",
            call("date_add", Constant("1998-12-01"), Constant(-90), Constant("day")),
        ),
        ("extract(dow from x)", call("dayofweek", X)),
        ("extract(doy from x)", call("dayofyear", X)),
        ("date_part('second', x)", call("second", X)),
        ("weekofyear(x)", call("week", X)),
        ("pow(x, 2)", call("power", X, TWO)),
        ("x ** 2", call("power", X, TWO)),
        ("x ^ 2", call("power", X, TWO)),
        ("-x ^ 2", call("power", call("-", X), TWO)),
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
    few = {
        **dict.fromkeys(("divide", "clamp", "replace", "split_part"), 3),
        **dict.fromkeys(("nullif", "least", "greatest", "power", "root", "left", "right"), 2),
        **dict.fromkeys(("substr", "starts_with", "ends_with", "contains", "strpos"), 2),
    }.get(name, 1)
    spelled = {
        "in": "x in (x)",
        "and": "x and x",
        "or": "x or x",
        "not": "not x",
        "case": "case when x then x end",
        "like": "x like x",
        "ilike": "x ilike x",
        "date_trunc": "date_trunc('day', x)",
        "date_diff": "date_diff('day', x, x)",
        "date_add": "date_add(x, 1, 'day')",
        "decimal": "cast(x as decimal(9, 2))",
        **{name: f"cast(x as {name})" for name in TYPES},
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
        ("cast(x as blob)", "a cast to this type"),
        ("cast(x as integer[])", "brackets"),
        ("cast(x as timestamptz)", "a cast to this type"),
        ("try_cast(x as time)", "DECIMAL(12, 2)"),
        ("trips.fare > 1", "'trips.fare' (line 1, column 1). Write the column's name alone"),
        ("a.b.c.d.e", "a name"),
        ('""', "or of none"),
        ("nosuch(x)", "'nosuch' is not one of those"),
        ("floorr(x)", "Did you mean floor?"),
        ("reverse(zone)", "'reverse(zone)' (line 1, column 1)"),
        ("concat_ws('-', x, y)", "a || '-' || b"),
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
        ("x ~ 'A'", "this comparison of patterns cannot be used here"),
        ("x like any ('A', 'B')", "Use LIKE with one pattern"),
        ("x similar to 'A'", "zone LIKE 'A%'"),
        ("sqrt(x)", "root(x, 0.01)"),
        ("ln(x)", "magnitude(x)"),
        ("log10(x)", "magnitude(x)"),
        ("exp(x)", "an exponential"),
        ("position(x, 'a')", "strpos has arguments that it does not take"),
        ("x & y", "AND, OR and NOT"),
        ("x && y", "AND, OR and NOT"),
        ("x is json", "IS with anything but NULL, TRUE or FALSE"),
        ("x in y", "IN without a list"),
        ("x in ()", "IN without a list"),
        ("(x, y) = (1, 2)", "a list cannot be used here"),
        ("x[1]", "brackets"),
        ("{'a': 1}", "brackets"),
        ("x between symmetric 1 and 2", "BETWEEN low AND high"),
        ("interval 1 day", "this interval cannot be used here: 'interval 1 day'"),
        ("x + interval '1.5' day", "a whole number of seconds"),
        ("x + interval y day", "a whole number of seconds"),
        ("x + interval 1 decade", "no unit of time that is counted here"),
        ("x * interval 1 day", "this interval"),
        ("date_trunc('decade', x)", "no unit of time that is counted here"),
        ("date_trunc(y, x)", "no unit of time that is counted here"),
        ("date_add('day', 1, x)", "d + INTERVAL 3 DAY"),
        ("date_diff('epoch', x, y)", "no unit of time that is counted here"),
        ("strftime(x, '%Y')", "a date in a format"),
        ("E'a'", "in single quotes"),
        ("$$a$$", "in single quotes"),
        ("extract(isoyear from d)", "this part of a date"),
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


@pytest.mark.parametrize(
    "text",
    [
        "(" * 14 + "x" + " between 1 and 2)" * 14,
        "(" * 12 + "x" + " is not distinct from y)" * 12,
        "y is distinct from (" * 12 + "x" + ")" * 12,
        "case " * 13 + "x" + " when 1 then 2 when 2 then 1 end" * 13,
    ],
    ids=["between", "left", "right", "case"],
)
def test_what_doubles_with_every_level_is_refused_while_it_is_small(text):
    # Whoever walks through such an expression meets one part twice at each level.
    assert "nested too deeply" in refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "case x " + " ".join(f"when {i} then {i % 7}" for i in range(400)) + " end",
        "case x + 1 " + " ".join(f"when {i} then {i % 7}" for i in range(400)) + " end",
        "x % 2 between 0 and 1 and y // 3 is not distinct from x // 2",
    ],
    ids=["column", "sum", "plain"],
)
def test_what_is_written_several_times_may_be_long(text):
    assert isinstance(parse(text), Call)


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
