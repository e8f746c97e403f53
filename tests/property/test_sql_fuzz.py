"""Whatever is typed: a plan or a refusal, nothing is spent, and no other SQL comes out."""

import signal
import sys
from contextlib import contextmanager
from secrets import randbits
from time import perf_counter

import pytest
from hypothesis import settings
from sqlglot import exp, parse

from sfumato.core.errors import SfumatoError
from sfumato.session.catalog import SessionCatalog
from sfumato.sql.question import question
from sfumato.sql.statement import statement
from sfumato.testing.spoil import deep, odd, soup, spoiled
from sfumato.testing.statements import Writer
from sfumato.testing.town import Dice, town

PUSH, SHARDS = 3_000, 20
SHARD = 60 * settings.default.max_examples  # texts of one test of the heavy run
FULL = 12  # one in so many is planned to the end
HANG = 60  # seconds after which a text is said to hang

# Everything that lowered SQL may be made of. A name that is not here is a leak until it is.
TABLES = {"trips", "payments"}
FUNCTIONS = {
    *("Abs", "Cast", "Coalesce", "Contains", "Count", "DenseRank", "Explode", "Floor", "Greatest"),
    *("Least", "Left", "Length", "Log", "Lower", "Max", "Min", "Nullif", "RegexpExtract"),
    *("RegexpFullMatch", "Replace", "Right", "RowNumber", "Sign", "SplitPart", "Sqrt"),
    *("StartsWith", "StrPosition", "Substring", "Sum", "Trim", "TryCast", "Upper", "Case", "If"),
    *("And", "Or", "Array"),
}
CALLED = {"date_part", "epoch_us", "hash", "suffix"}
SYNTAX = {
    *("Add", "Alias", "BitwiseOr", "BitwiseRightShift", "Boolean", "Bracket"),
    *("Column", "DPipe", "DataType", "DataTypeParam", "Distinct", "EQ", "From", "GT", "GTE"),
    *("Group", "Identifier", "In", "IntDiv", "Interval", "Is", "Join", "LT", "LTE"),
    *("Literal", "Mod", "Mul", "NEQ", "Neg", "Not", "Null", "Order", "Ordered", "Paren", "Var"),
    *("Placeholder", "Qualify", "Select", "Star", "Sub", "Subquery", "Table"),
    *("TableAlias", "Union", "Where", "Window"),
}


def parsed(sql):
    """Parse lowered SQL, which is nested deeper than what was asked."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20 * limit)
    try:
        return parse(sql, read="duckdb")
    finally:
        sys.setrecursionlimit(limit)


def check_lowered(sql, kept=()):
    """Refuse lowered SQL with anything in it that is not on the lists.

    Args:
        sql: what runs, or would.
        kept: names of tables that the session itself made of rows that were read before.
    """
    for tree in parsed(sql):
        assert isinstance(tree, exp.Query), sql
        for node in tree.walk():
            kind = type(node).__name__
            if isinstance(node, exp.Table):
                plain = isinstance(node.this, exp.Identifier) and not node.db and not node.catalog
                assert plain and node.name in {*TABLES, *kept}, f"{node!r} in {sql}"
            if isinstance(node, exp.GenerateSeries):  # the places of groups that were bought
                size = node.args["end"]
                own = isinstance(size, exp.Length) and isinstance(size.this, exp.Placeholder)
                assert own and node.args["start"].name == "0", f"{node} in {sql}"
            elif isinstance(node, exp.Anonymous):
                assert node.name.lower() in CALLED, f"{node.name} in {sql}"
            else:
                assert kind in FUNCTIONS if isinstance(node, exp.Func) else kind in SYNTAX, (
                    f"{kind} {node} in {sql}"
                )


@pytest.fixture(scope="module")
def session():
    with town() as made:
        yield made


@contextmanager
def hanging_after(seconds):
    """Interrupt what takes too long, where the system can."""
    if not seconds or not hasattr(signal, "SIGALRM"):
        yield
        return

    def stop(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def texts(seed):
    """Iterate over questions of all sorts, without end."""
    below = Dice(seed).below
    writer = Writer(below, ranks=True)
    while True:
        sort = below(20)
        text = str(writer.statement()) if sort < 17 else ""
        if sort < 4:
            yield text
        elif sort < 17:
            yield spoiled(text, below)
        elif sort < 19:
            yield (soup, odd)[below(2)](below)
        else:
            yield deep(below) if below(2) else spoiled(deep(below), below)


def check(session, text, *, full, hang=0):
    """Bind or plan a text; return whether it was accepted, and how long it took."""
    start = perf_counter()
    try:
        with hanging_after(hang):
            if full:
                check_lowered(session.explain(text, epsilon=1, delta="1e-6").sql)
            else:
                question(statement(text), SessionCatalog(session))
    except SfumatoError as problem:
        assert problem.message, text
        accepted = False
    except BaseException as problem:
        problem.add_note(f"the question was {text!r}")
        raise
    else:
        accepted = True
    return accepted, perf_counter() - start


def run(session, seed, count, hang=0):
    head, accepted, slowest = session.ledger.head, 0, (0.0, "")
    for turn, text in zip(range(count), texts(seed), strict=False):
        good, took = check(session, text, full=turn % FULL == 0, hang=hang)
        accepted += good
        slowest = max(slowest, (took, text))
    assert session.ledger.head == head
    return accepted, slowest


def test_any_text_is_planned_or_refused(session, record_property):
    accepted, (took, text) = run(session, 1, PUSH)
    record_property("slowest", f"{took:.2f} s: {text[:200]}")
    assert accepted > 0.15 * PUSH  # the grammar still writes questions


@pytest.mark.deep
@pytest.mark.parametrize("shard", range(SHARDS))
def test_hundreds_of_thousands_of_texts_are_planned_or_refused(session, shard):
    accepted, _ = run(session, randbits(60) + shard, SHARD, HANG)
    assert accepted > 0.15 * SHARD
