"""Texts and patterns: one meaning in Python and in the engine, whatever characters there are."""
# ruff: noqa: S608 - the SQL is what is tested

import sys
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sfumato.core.errors import ExpressionError
from sfumato.relation.expr import Call, Constant, Name, literal, typed
from sfumato.relation.kind import Day, Label, Number, Truth, Words
from sfumato.relation.pattern import matches, pieces
from sfumato.relation.text import LONGEST, lower, upper
from sfumato.sql.expression import parse

sys.path.insert(0, str(Path(__file__).parent))
from evaluate import like

sys.path.pop(0)

SURROGATES = range(0xD800, 0xE000)
LETTERS = "".join(chr(i) for i in range(1, sys.maxunicode + 1) if i not in SURROGATES)
HOSTILE = [
    *("", " ", "a", "%", "_", "\\", "\\%", "a%b", "a_b", "a\\b", "'", '"', "{}", "{0}", "$", "^a$"),
    *(".*", "[a]", "(a|b)", "a+", "a?", "\\Qa\\E", "\n", "a\nb", "\r\n", "\t", "é", "e\u0301", "ß"),
    *("😀", "👩‍👩‍👧", "\u202e", "\ufeff", "\uffff", "İ", "ǅ", "A" * 300, "ab" * 200),
]
PATTERNS = [
    *("%", "_", "%%", "%_", "_%", "a%", "%a", "%a%", "a_b", "%\\%", "%{}%", "[a]", ".*", "^a$"),
    *("(a|b)", "%'%", "a%b", "%b%a%", "é", "_\u0301", "%\n%", "__", "%a?%", "\\Q%\\E", "%A%A%A%_"),
]


@pytest.fixture(scope="module")
def engine():
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        yield connection


def computed(engine, expr, text):
    """Return what the engine makes of a text that it holds in a table."""
    found = typed(expr, {"x": Words()})
    engine.execute("CREATE OR REPLACE TEMP TABLE t (x VARCHAR)")
    engine.execute("INSERT INTO t VALUES (?)", [text])
    return engine.execute(f"SELECT {found.sql} FROM t").fetchone()[0]


@pytest.mark.parametrize(("name", "python"), [("lower", lower), ("upper", upper)])
def test_every_letter_of_unicode_has_one_other_case(engine, name, python):
    assert computed(engine, Call(name, (Name("x"),)), LETTERS) == python(LETTERS)
    assert len(python(LETTERS)) == len(LETTERS)


@pytest.mark.parametrize("function", ["like", "ilike"])
@pytest.mark.parametrize("pattern", [*PATTERNS, *(p for p in HOSTILE if len(p) < 100)])
def test_pattern_means_the_same_to_text_and_category(engine, function, pattern):
    distinct = tuple(dict.fromkeys(HOSTILE))
    expr = Call(function, (Name("x"), Constant(pattern)))
    text, category = (typed(expr, {"x": kind}) for kind in (Words(), Label(distinct)))
    assert text.kind == category.kind == Truth()
    rows = ", ".join(f"({at}, {literal(each)})" for at, each in enumerate(distinct))
    found = engine.execute(
        f"SELECT a.answer, b.answer FROM "
        f"(SELECT k, {text.sql} AS answer FROM (VALUES {rows}) AS v(k, x)) AS a JOIN "
        f"(SELECT x AS k, {category.sql} AS answer FROM (VALUES {rows}) AS v(x, t)) AS b USING (k) "
        f"ORDER BY k"
    ).fetchall()
    assert [a for a, _ in found] == [b for _, b in found]
    if function == "like":
        assert [a for a, _ in found] == [like(each, pattern) for each in distinct]


@given(st.text("ab%_!", max_size=12), st.text("ab%_!", max_size=8))
@example("aaaa%", "%a!%")
def test_pattern_is_matched_as_the_evaluator_says(text, pattern):
    assert matches(text, pieces(pattern)) == like(text, pattern)
    try:
        escaped = pieces(pattern, "!")
    except ExpressionError:
        return
    assert matches(text, escaped) == like(text, pattern, "!")


def test_pattern_of_many_stars_is_no_search_without_end():
    assert not matches("a" * 2_000, pieces("%a" * 60 + "%b"))
    assert matches("a" * 2_000 + "b", pieces("%a" * 60 + "%b"))


@pytest.mark.parametrize(
    "expr",
    [
        Call("||", (Name("x"), Name("x"))),
        Call("concat", tuple([Name("x")] * 20)),
        Call("replace", (Name("x"), Constant("a"), Constant("a" * 17))),
    ],
    ids=["||", "concat", "replace"],
)
def test_text_cannot_grow_without_limit(engine, expr):
    text = "a" * 9
    for _ in range(30):  # column upon column
        text = computed(engine, expr, text)
    assert text == "a" * LONGEST


@pytest.mark.parametrize(
    "expr",
    [
        Call("lower", (Name("x"),)),
        Call("trim", (Name("x"),)),
        Call("left", (Name("x"), Constant(3))),
        Call("substr", (Name("x"), Constant(2), Constant(1))),
        Call("||", (Name("x"), Constant("-"))),
        Call("replace", (Name("x"), Constant("a"), Constant("{}"))),
        Call("split_part", (Name("x"), Constant("a"), Constant(1))),
        Call("length", (Name("x"),)),
        Call("strpos", (Name("x"), Constant("b"))),
        Call("contains", (Name("x"), Constant("\\"))),
        Call("starts_with", (Name("x"), Constant("%"))),
    ],
    ids=lambda expr: expr.function,
)
def test_function_means_the_same_to_text_and_category(engine, expr):
    distinct = tuple(dict.fromkeys(HOSTILE))
    found = typed(expr, {"x": Label(distinct)})
    for at, each in enumerate(distinct):
        code = engine.execute(f"SELECT {found.sql} FROM (SELECT {at} AS x)").fetchone()[0]
        value = found.kind.values[code] if isinstance(found.kind, Label) else code
        assert value == computed(engine, expr, each)
    if isinstance(found.kind, Label):
        assert len(set(found.kind.values)) == len(found.kind.values)


def test_category_that_keeps_its_values_apart_is_not_looked_up():
    assert typed(Call("lower", (Name("x"),)), {"x": Label(("A", "B"))}).sql == '"x"'


def test_long_category_is_looked_up_however_long_it_is(engine):
    kind = Label(tuple(f"name {i:06}" for i in range(8_000)))
    found = typed(Call("right", (Name("x"), Constant(1))), {"x": kind})
    assert found.kind == Label(tuple("0123456789"))
    sql = f"SELECT sum({found.sql}) FROM (SELECT unnest(range(8000)) AS x)"
    assert engine.execute(sql).fetchone()[0] == 800 * 45
    joined = typed(Call("||", (Name("x"), Name("note"))), {"x": kind, "note": Words()})
    sql = f"SELECT {joined.sql} FROM (SELECT 7999 AS x, '!' AS note)"
    assert engine.execute(sql).fetchone()[0] == "name 007999!"


def test_combinations_of_categories_are_listed_up_to_a_limit():
    wide = Label(tuple(f"{i:03}" for i in range(120)))
    pair = Call("||", (Name("x"), Name("y")))
    assert typed(pair, {"x": wide, "y": Label(("a", "b"))}).kind.values[-1] == "119b"
    assert typed(pair, {"x": wide, "y": wide}).kind == Words()


def test_number_looked_up_has_the_bounds_of_the_list():
    found = typed(Call("length", (Name("x"),)), {"x": Label(("", "abc", "a" * 20_000))})
    assert found.kind == Number(0, LONGEST)


NO_TEXTS = [
    *(Constant(value) for value in (3, Fraction(7, 2), True, None)),
    *(Name(name) for name in ("number", "day", "grade")),
    Call("date", (Constant("2026-01-31"),)),
    Call("timestamp", (Constant("2026-01-31 12:00"),)),
]
OF_TEXTS = [
    "concat(?)",
    "concat(x, ?)",
    "concat(zone, ?)",
    "x || ?",
    "? || x",
    "zone || ?",
    "'a' || ?",
    "upper(?)",
    "contains(x, ?)",
    "contains(?, x)",
    "replace(x, 'a', ?)",
    "trim(x, ?)",
    "? LIKE 'a'",
    "x LIKE ?",
    "split_part(?, '@', 1)",
]


@pytest.mark.parametrize("other", NO_TEXTS, ids=repr)
@pytest.mark.parametrize("text", OF_TEXTS)
def test_what_is_no_text_is_refused_by_functions_of_texts(text, other):
    """The engine would refuse it after the data is touched, or take its code for a text."""
    kinds = {
        "x": Words(),
        "zone": Label(("A", "B")),
        "number": Number(0, 9),
        "day": Day(0, 9),
        "grade": Label((1, 2)),
    }
    expr = replaced(parse(text.replace("?", "hole")), other)
    with pytest.raises(ExpressionError, match="cannot be applied"):
        typed(expr, kinds)


def replaced(expr, other):
    if expr == Name("hole"):
        return other
    if not isinstance(expr, Call):
        return expr
    return Call(expr.function, tuple(replaced(each, other) for each in expr.arguments))
