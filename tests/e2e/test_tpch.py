"""The questions of TPC-H in SQL: what is answered agrees with the engine, the rest says why not."""

import re
import tomllib
from pathlib import Path

import duckdb
import pytest

from sfumato.core.errors import SfumatoError
from sfumato.testing.tpch import LINKS, tables, tpch

ROOT = Path(__file__).parents[2]
QUESTIONS = tomllib.loads((ROOT / "tests" / "e2e" / "tpch.toml").read_text(encoding="utf-8"))
GUIDE = (ROOT / "docs" / "guides" / "tpch.md").read_text(encoding="utf-8")
OUTCOMES = {"as is": "sql", "form": "form", "refused": None}
ANSWERED = {n: q[OUTCOMES[q["outcome"]]] for n, q in QUESTIONS.items() if q["outcome"] != "refused"}
REFUSED = [name for name, q in QUESTIONS.items() if q["outcome"] != "as is"]
SAME = [name for name, q in QUESTIONS.items() if q["reason"].endswith("means the same")]
ORDERS, LINES = 60, 250
EPSILON = 10**9
# Noise is that often farther than the interval at 95 %: 0.05 ** 12 is below 1e-15, in each cell.
FARTHEST = 12


@pytest.fixture(scope="module")
def data():
    return tables("0.01", seed=2)  # one in which every question finds something


@pytest.fixture(scope="module")
def session(data):
    with tpch(data, max_orders=ORDERS, max_lines=LINES) as session:
        yield session


@pytest.fixture(scope="module")
def engine(data):
    with duckdb.connect() as engine:
        for name, table in data.items():
            engine.register(name, table)
        yield engine


def by_key(names, rows, keys):
    """Return the numbers of each row by its keys."""
    found = {}
    for row in rows:
        each = dict(zip(names, row, strict=True))
        numbers = {n: float(v or 0) for n, v in each.items() if n not in keys}
        found[tuple(each[key] for key in keys)] = numbers
    assert len(found) == len(rows)
    return found


def test_tables_are_those_of_their_seed():
    one, same, other = (tables("0.001", seed=seed) for seed in (1, 1, 2))
    assert all(one[name].equals(same[name]) for name in one)
    assert not one["lineitem"].equals(other["lineitem"])


@pytest.mark.parametrize(
    "wrong",
    [
        "lineitem ANTI JOIN orders ON l_orderkey = o_orderkey",
        "orders ANTI JOIN lineitem ON l_orderkey = o_orderkey",
        "orders ANTI JOIN customer ON o_custkey = c_custkey",
        "lineitem ANTI JOIN partsupp ON l_partkey = ps_partkey AND l_suppkey = ps_suppkey",
        "partsupp ANTI JOIN supplier ON ps_suppkey = s_suppkey",
        "customer ANTI JOIN nation ON c_nationkey = n_nationkey",
        "orders WHERE o_custkey % 3 = 0",
        "lineitem JOIN part ON l_partkey = p_partkey "
        "WHERE l_extendedprice <> l_quantity * p_retailprice",
        "(SELECT o_totalprice p, SUM(l_extendedprice * (1 + l_tax) * (1 - l_discount)) s "
        "FROM orders JOIN lineitem ON o_orderkey = l_orderkey GROUP BY o_orderkey, p) "
        "WHERE ABS(p - s) > 0.005",
    ],
)
def test_tables_refer_to_one_another(wrong, engine):
    assert engine.query(f"FROM {wrong}").fetchall() == []


def test_no_customer_has_more_than_counts(engine):
    orders, lines = engine.execute(
        "SELECT MAX(orders), MAX(lines) FROM (SELECT COUNT(DISTINCT o_orderkey) AS orders, "
        "COUNT(*) AS lines FROM orders JOIN lineitem ON o_orderkey = l_orderkey GROUP BY o_custkey)"
    ).fetchone()
    assert (10 < orders <= ORDERS, 40 < lines <= LINES) == (True, True)


@pytest.mark.parametrize("name", ANSWERED)
def test_answer_is_that_of_the_engine(name, session, engine):
    asked, text = QUESTIONS[name], ANSWERED[name]
    ran = engine.execute(text)
    names, expected = [column[0] for column in ran.description], ran.fetchall()
    plan = session.explain(text, epsilon=asked.get("epsilon", EPSILON))
    answer = plan.release()
    keys = dict(answer.keys)
    assert {*keys, *(shown.name for shown in plan.asked.shown)} == set(names)
    theirs = by_key(names, expected, keys)
    assert any(value for row in theirs.values() for value in row.values())
    places = {key: i for i, key in enumerate(zip(*keys.values(), strict=True))} or {(): 0}
    assert theirs.keys() <= places.keys()
    if "LIMIT" in text and len(theirs) == plan.asked.limit:
        assert theirs.keys() == places.keys()
    for shown in plan.asked.shown:
        found = answer.measure(shown.name)
        asked_for = plan.asked.asked.get(shown.name)
        adds = asked_for is not None and asked_for.function in ("count", "sum", "count_distinct")
        for key, place in places.items():
            ends = (found.values[place], found.low[place], found.high[place])
            value, low, high = map(float, ends)
            close = FARTHEST * (high - low) / 2
            if key in theirs:
                true = theirs[key][shown.name]
                assert value == pytest.approx(true, abs=close + 1e-6 * abs(true)), (key, shown.name)
                assert close <= abs(true) / 10 + 1, (key, shown.name)
            elif adds:  # a group that nobody is in; of one, a mean may be anything
                assert value == pytest.approx(0, abs=close), (key, shown.name)


@pytest.mark.parametrize("name", ANSWERED)
def test_question_has_a_plan_at_a_usual_price(name, session):
    plan = session.explain(ANSWERED[name], epsilon=1)
    assert plan.price.epsilon == 1


@pytest.mark.parametrize("name", SAME)
def test_form_that_means_the_same_has_the_same_answer(name, engine):
    published, form = (engine.execute(QUESTIONS[name][each]).fetchall() for each in ("sql", "form"))
    assert published
    assert published == form


@pytest.mark.parametrize("name", REFUSED)
def test_question_is_refused_before_anything_is_read(name, session):
    spent = session.remaining
    with pytest.raises(SfumatoError) as refusal:
        session.sql(QUESTIONS[name]["sql"], epsilon=1, delta="1e-9")
    assert QUESTIONS[name]["refusal"] in refusal.value.message
    assert session.remaining == spent


def test_guide_says_of_every_question_what_becomes_of_it():
    said = {"as is": "as it is", "form": "in another form", "refused": "refused"}
    rows = re.findall(r"^\| (Q\d+) \| (.+?) \| (.+?) \| (.+?) \|$", GUIDE, re.MULTILINE)
    expected = [
        (f"Q{int(name[1:])}", q["title"], said[q["outcome"]], q["reason"])
        for name, q in QUESTIONS.items()
    ]
    assert [row[:3] for row in rows] == [row[:3] for row in expected]
    for row, (number, _, _, reason) in zip(rows, expected, strict=True):
        refusal = QUESTIONS[f"q{int(number[1:]):02}"].get("refusal")
        assert row[3] == (f"{reason}: “… {refusal} …”" if refusal else reason)
    assert len(rows) == 22


def test_guide_shows_the_contract_that_is_tested():
    for link in LINKS:
        child, _, rest = link.partition(".")
        assert f"[tables.{child}]" in GUIDE
        assert f'unit = "{rest}"' in GUIDE
