"""Frames by somebody hostile: each is refused in our words, or answered with noise.

Columns hold what engines stumble over, in every type of pandas, Polars and Arrow, under
declarations that do not fit them. Of every frame one question is answered and one is refused.
"""
# ruff: noqa: S311 - a seed that repeats is what is wanted

import random
import re
import time
from collections import Counter
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.backends import duckdb as engine
from sfumato.core.errors import InputError, ReleaseFailed, SfumatoError
from sfumato.mechanisms import DiscreteGaussian, DiscreteLaplace
from sfumato.mechanisms.quantiles import Quantiles
from sfumato.session.exact import Exact
from sfumato.testing.rng import SeededRng

PUSH, DEEP, SHARDS = 240, 100_000, 8  # frames; the heavy run is cut into so many tests
OWN_ENGINE = 16  # of so many frames, one has an engine of its own; that is most of what it costs
THOROUGH = (
    4  # of so many frames, one is also refused something, and its answer is put together anew
)
HUNG = 60.0  # seconds of one frame that ought to take less than one
SECRETS = ("kestrelvane", "quillfathom")
ENGINE = re.compile(
    r"duckdb error|binder error|parser error|catalog error|conversion error|out of range error"
    r"|invalid input error|sqlite|sqlglot|arrowinvalid|arrow.lib|traceback|polars|codec can't",
    re.IGNORECASE,
)

# ---- values --------------------------------------------------------------------------------------

FLOATS = [
    *(None, float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 5e-324, -5e-324, 2.3e-308),
    *(1e308, -1e308, 0.1, 0.5, 1.5, 2.5, 2.0**53, 2.0**63, -(2.0**63), 2.0**64, 7.0, 1e-30, 999.5),
]
WHOLES = [None, 0, 1, -1, 7, 120, 121, -(2**31), 2**31, 2**53 + 1, -(2**63), 2**63 - 1]
TEXTS = [
    *(None, "", " ", "A", "a", "B", "it's", "日本", "kestrelvane", "quillfathom", "1", "-0", "nan"),
    *("inf", "1e999", "1e-999", "2026-02-03", "9999-99-99", "true", "NULL", "\0", "a\0b", "🦆"),
    *("\u202eegA", "e\u0301", "İ", "ﬀ", "\ufeff", "\U0010ffff", "'; DROP TABLE t", "9" * 400),
]
SURROGATES = ["\ud800", "A\udfff", "\udc80kestrelvane"]
MOMENTS = [
    *(None, datetime(2026, 2, 3, 4, 5), datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59)),
    *(datetime(1969, 12, 31), datetime(2262, 4, 11), datetime(1677, 9, 22)),
]
DATES = [None, date(2026, 2, 3), date(1, 1, 1), date(9999, 12, 31), date(1969, 12, 31)]
SPANS = [None, timedelta(0), timedelta(days=-1), timedelta(days=100_000)]
BYTES = [None, b"", b"A", b"\xff\xfe", b"kestrelvane", b"\0"]
DECIMALS = [None, Decimal(0), Decimal("-0.5"), Decimal("1.25"), Decimal("99999999.99")]
LISTS = [None, [], [1], [None, 2]]
OBJECTS = [
    *(
        None,
        True,
        2**64,
        -(2**200),
        10**400,
        1 + 2j,
        Fraction(1, 3),
        Decimal("NaN"),
        Decimal("1e9"),
    ),
    *(
        Decimal("sNaN"),
        Decimal("1e5000"),
        Decimal("-Infinity"),
        object(),
        [],
        {},
        (),
        {"a": 1},
        ...,
    ),
    *(
        int,
        len,
        np.float64("nan"),
        np.float32(2),
        np.int64(3),
        np.datetime64("NaT"),
        np.bool_(True),
    ),
    *(np.array([1, 2]), pd.NaT, pd.NA, pd.Timestamp("2026-02-03"), UUID(int=7), range(3), b"\xff"),
    *(type("Text", (str,), {})("A"), type("Whole", (int,), {})(7), set(), slice(1), iter([])),
    *(datetime(2026, 1, 1, tzinfo=UTC), date(1, 1, 1), timedelta(1), float("nan"), -0.0, 5e-324),
]


class Liar:
    """An object whose every method fails, and says a secret."""

    def _fail(self, *_):
        raise RuntimeError("kestrelvane")

    __str__ = __repr__ = __eq__ = __hash__ = __bool__ = __len__ = __iter__ = __float__ = _fail
    __array__ = __int__ = __index__ = _fail


def mixed(rng, count):
    pool = [*FLOATS, *WHOLES, *TEXTS, *SURROGATES, *MOMENTS, *DATES, *BYTES, *OBJECTS, Liar()]
    return [rng.choice(pool) for _ in range(count)]


def some(pool):
    return lambda rng, count: [rng.choice(pool) for _ in range(count)]


def long_text(rng, count):
    return [rng.choice(["x" * 300_000, "日" * 99_999, "kestrelvane" * 9_000]) for _ in range(count)]


def broken_text(rng, count):
    """Return texts of Arrow that are not UTF-8."""
    held = pa.array([rng.choice(BYTES) for _ in range(count)], pa.binary())
    return pa.Array.from_buffers(pa.string(), count, held.buffers(), held.null_count)


# ---- columns of each library ---------------------------------------------------------------------


def in_pandas(dtype, values):
    def make(rng, count):
        return pd.Series(values(rng, count), dtype=dtype)

    return make


def in_polars(dtype, values):
    def make(rng, count):
        return pl.Series("c", values(rng, count), dtype=dtype, strict=False)

    return make


def in_arrow(kind, values):
    def make(rng, count):
        held = pa.array(values(rng, count), kind)
        cut = rng.randint(0, count)
        return pa.chunked_array([held[:cut], held[cut:]]) if rng.random() < 0.3 else held

    return make


whole, small = some(WHOLES), some([None, 0, 1, 7, 100])
known = some(WHOLES[1:])
real, moment = some(FLOATS), some(MOMENTS)
PANDAS = {
    "object": in_pandas(object, mixed),
    "texts": in_pandas(object, some([*TEXTS, *SURROGATES])),
    "long": in_pandas(object, long_text),
    "lists": in_pandas(object, some(LISTS)),
    "float64": in_pandas("float64", some([0.5 if f is None else f for f in FLOATS])),
    "float32": in_pandas("float32", some([0.5, float("nan"), float("-inf"), -0.0, 1e-45, 3e38])),
    "int64": in_pandas("int64", known),
    "int8": in_pandas("int8", some([-128, 127, 0])),
    "uint64": in_pandas("uint64", some([0, 2**64 - 1, 7])),
    "Int64": in_pandas("Int64", whole),
    "Float64": in_pandas("Float64", real),
    "bool": in_pandas("bool", some([True, False])),
    "boolean": in_pandas("boolean", some([True, False, None])),
    "string": in_pandas("string", some(TEXTS)),
    "category": in_pandas("category", some(TEXTS)),
    "numbers as categories": in_pandas("category", whole),
    "datetime": in_pandas("datetime64[us]", moment),
    "nanoseconds": in_pandas("datetime64[ns]", some(MOMENTS[:2])),
    "zoned": in_pandas("datetime64[us, UTC]", some(MOMENTS[:3])),
    "timedelta": in_pandas("timedelta64[us]", some(SPANS)),
    "complex": in_pandas("complex128", some([1 + 2j, complex("nan")])),
    "sparse": in_pandas("Sparse[float]", some([0.0, float("nan"), 1.0])),
    "arrow": in_pandas("int64[pyarrow]", whole),
    "arrow texts": in_pandas("string[pyarrow]", some(TEXTS)),
    "period": lambda rng, count: pd.Series(pd.period_range("2026-01", periods=count, freq="M")),
    "interval": lambda rng, count: pd.Series(pd.interval_range(0, periods=count)),
}
POLARS = {
    "Int64": in_polars(pl.Int64, whole),
    "Int8": in_polars(pl.Int8, some([None, -128, 127])),
    "UInt64": in_polars(pl.UInt64, some([None, 0, 2**64 - 1])),
    "Int128": in_polars(pl.Int128, some([None, 2**100, -(2**126), 7])),
    "Float64": in_polars(pl.Float64, real),
    "Float32": in_polars(pl.Float32, real),
    "String": in_polars(pl.String, some(TEXTS)),
    "long": in_polars(pl.String, long_text),
    "Boolean": in_polars(pl.Boolean, some([None, True, False])),
    "Date": in_polars(pl.Date, some(DATES)),
    "Datetime": in_polars(pl.Datetime("us"), moment),
    "zoned": in_polars(pl.Datetime("ms", "UTC"), moment),
    "Duration": in_polars(pl.Duration("us"), some(SPANS)),
    "Time": in_polars(pl.Time, some([None, datetime(2026, 1, 1, 23, 59).time()])),
    "Decimal": in_polars(pl.Decimal(20, 2), some(DECIMALS)),
    "Binary": in_polars(pl.Binary, some(BYTES)),
    "Categorical": in_polars(pl.Categorical, some(TEXTS)),
    "Enum": in_polars(pl.Enum(["A", "B", "kestrelvane"]), some(["A", "kestrelvane", None])),
    "List": in_polars(pl.List(pl.Int64), some(LISTS)),
    "Struct": in_polars(pl.Struct({"a": pl.Int64}), some([None, {"a": 1}])),
    "Object": in_polars(pl.Object, mixed),
    "Null": in_polars(pl.Null, some([None])),
}
ARROW = {
    **{
        f"int{bits}": in_arrow(f"int{bits}", some([None, 1, -(2 ** (bits - 1))]))
        for bits in (8, 16)
    },
    "int32": in_arrow("int32", some([None, -(2**31), 2**31 - 1])),
    "int64": in_arrow("int64", whole),
    "uint64": in_arrow("uint64", some([None, 0, 2**64 - 1])),
    "double": in_arrow("double", real),
    "float": in_arrow("float", some([None, float("nan"), float("inf"), 1e-45, -0.0])),
    "halffloat": in_arrow("halffloat", lambda r, n: np.array(some([0.5, 6e-8])(r, n), np.float16)),
    "string": in_arrow("string", some(TEXTS)),
    "large_string": in_arrow("large_string", some(TEXTS)),
    "string_view": in_arrow("string_view", some(TEXTS)),
    "not UTF-8": broken_text,
    "long": in_arrow("string", long_text),
    "binary": in_arrow("binary", some(BYTES)),
    "bool": in_arrow("bool", some([None, True, False])),
    "date32": in_arrow("date32", some(DATES)),
    "date64": in_arrow("date64", some(DATES)),
    **{f"timestamp {unit}": in_arrow(pa.timestamp(unit), moment) for unit in ("s", "ms", "us")},
    "timestamp ns": in_arrow(pa.timestamp("ns"), some(MOMENTS[:2])),
    "far": lambda rng, n: pa.array(known(rng, n), pa.int64()).view(pa.timestamp("s")),
    "far days": lambda rng, n: pa.array(some([-(2**31), 2**31 - 1, 0])(rng, n), pa.int32()).view(
        pa.date32()
    ),
    "far zoned": lambda rng, n: pa.array(known(rng, n), pa.int64()).view(pa.timestamp("us", "UTC")),
    "time64": in_arrow(pa.time64("us"), some([None, 0, 86_399_999_999])),
    "duration": in_arrow(pa.duration("us"), some(SPANS)),
    "decimal128": in_arrow(pa.decimal128(38, 2), some(DECIMALS)),
    "decimal256": in_arrow(pa.decimal256(76, 2), some([*DECIMALS, Decimal("9" * 70)])),
    "dictionary": lambda rng, n: pa.array(some(TEXTS)(rng, n), "string").dictionary_encode(),
    "list": in_arrow(pa.list_(pa.int64()), some(LISTS)),
    "struct": in_arrow(pa.struct({"a": pa.int64()}), some([None, {"a": 1}])),
    "map": in_arrow(pa.map_("string", "int64"), some([None, [("a", 1)]])),
    "null": in_arrow("null", some([None])),
    "interval": in_arrow("month_day_nano_interval", some([None, (1, 2, 3)])),
    "run ends": lambda rng, n: pa.RunEndEncodedArray.from_arrays([n or 1], pa.array([7])),
    "union": lambda rng, n: pa.UnionArray.from_sparse(
        pa.array([0] * n, pa.int8()), [pa.array(small(rng, n), pa.int64())]
    ),
}
UNMADE = ValueError, TypeError, OverflowError, pa.ArrowException, pl.exceptions.PolarsError
LIBRARIES = {"pandas": PANDAS, "polars": POLARS, "arrow": ARROW}
# No declaration reads the first; of the others, dates and moments are read by each other alone.
UNREAD = {
    *("timedelta", "complex", "interval", "Int128", "Duration", "Time", "Binary", "List", "Struct"),
    *("not UTF-8", "binary", "time64", "duration", "list", "struct", "map", "union"),
}
TEMPORAL = {
    *("datetime", "nanoseconds", "zoned", "Date", "Datetime", "date32", "date64", "far"),
    *("timestamp s", "timestamp ms", "timestamp us", "timestamp ns", "far days", "far zoned"),
}
TEXTUAL = {
    *("object", "texts", "long", "lists", "string", "category", "arrow texts", "String", "Object"),
    *("Categorical", "Enum", "Null", "large_string", "string_view", "decimal256", "dictionary"),
    "null",
}


def fitting(makers, column):
    """Name the kinds of columns that a declaration reads, whatever is in them."""
    if isinstance(column, sf.Date | sf.Timestamp):
        return [kind for kind in makers if kind in TEXTUAL | TEMPORAL]
    return [kind for kind in makers if kind not in UNREAD | TEMPORAL]


# ---- declarations and questions ------------------------------------------------------------------

NUMBERS = {
    "narrow": sf.Integer(0, 120, nullable=True),
    "signed": sf.Integer(-(10**6), 10**6),
    "real": sf.Real(0, 1000, step="0.25", nullable=True),
    "member": sf.Boolean(nullable=True),
}
KEYS = {
    "zone": sf.Category(["A", "B", "it's", ""]),
    "number": sf.Category([7, 8, -1]),
    "digit": sf.Integer(0, 9),
    "flag": sf.Boolean(),
    "maybe": sf.Category(["A", "日本"], nullable=True),
}
OTHERS = {
    "text": sf.Text(nullable=True),
    "far": sf.Integer(-(2**61), 2**61),
    "day": sf.Date("2026-01-01", "2026-12-31", nullable=True),
    "every day": sf.Date("0001-01-01", "9999-12-31"),
    "at": sf.Timestamp("2026-01-01T00:00:00", "2027-01-01T00:00:00", step=3600),
}
UNITS = [
    sf.Unit.row(),
    sf.Unit.rows(3),
    sf.Unit.by("who", max_rows=2),
    sf.Unit.by("who", max_groups=2, max_rows_per_group=1),
    sf.Unit.row("replace"),
]
# Prices are so low that noise is never nothing: a draw of zero has a probability below 1e-9.
QUESTIONS = {
    "count": lambda t: t.count(),
    "known": lambda t: t.count("x"),
    "sum": lambda t: t.sum("x"),
    "mean": lambda t: t.mean("y"),
    "groups": lambda t: t.group_by("key").agg(n=sf.count(), s=sf.sum("x"), m=sf.mean("y")),
    "filtered": lambda t: t.filter("x > 3 or y < 2").agg(n=sf.count(), x=sf.sum("x + y")),
    "quantile": lambda t: t.quantile("x", "0.9"),
    "grouped median": lambda t: t.group_by("key").median("y"),
    "given keys": lambda t: t.group_by("rest", keys=["A", "日本"]).count(),
    "missing": lambda t: t.filter("rest IS NOT NULL").group_by("key").sum("y"),
}
PRICE = Fraction(1, 10**9)
ROWS = 9  # declared, where a unit replaces another; no frame has so many
ADDED = DiscreteLaplace | DiscreteGaussian


def declared(rng):
    """Return a schema: a key, two numbers, and any other column."""
    x, y = (rng.choice(list(NUMBERS.values())) for _ in range(2))
    key, rest = (rng.choice(list(kinds.values())) for kinds in (KEYS, OTHERS))
    return sf.Schema({"key": key, "x": x, "y": y, "rest": rest})


def frame(rng, library, schema, used):
    """Return a frame: the columns of the schema, the unit's, and perhaps more, fewer or twice."""
    makers, count = LIBRARIES[library], rng.choice([0, 1, 2, 3, 5, 8])
    columns = []
    for name, column in [*schema.items(), ("who", sf.Text())]:
        kinds = fitting(makers, column) if rng.random() < 0.97 else list(makers)
        if rng.random() < 0.98 and "long" in kinds:  # slow to make
            kinds.remove("long")
        kind = min(rng.sample(kinds, 3), key=lambda each: used[library, each])  # none is rare
        used[library, kind] += 1
        columns.append((name, makers[kind](rng, count)))
    if (strange := rng.random()) < 0.1:
        columns.append(rng.choice(columns[:4]))  # a name twice
    elif strange < 0.15:
        columns.append((rng.choice(["X", "KEY", "", "a\0b", "日本"]), columns[0][1]))
    elif strange < 0.18:
        columns.pop(rng.randrange(5))
    rng.shuffle(columns)
    if library == "pandas":
        made = pd.concat([column for _, column in columns], axis=1)
        made.columns = [name if rng.random() < 0.99 else 7 for name, _ in columns]
        return made
    if library == "polars":
        return pl.DataFrame([column.rename(name) for name, column in columns])
    return pa.table([column for _, column in columns], names=[name for name, _ in columns])


# ---- the harness ---------------------------------------------------------------------------------


class Counting:
    """Words that are counted."""

    def __init__(self, seed):
        self.rng, self.taken = SeededRng(seed), 0

    def words(self, count):
        self.taken += count
        return self.rng.words(count)


class Report:
    """What happened, over all frames."""

    def __init__(self):
        self.used, self.outcomes, self.kinds = Counter(), Counter(), Counter()
        self.slowest = 0.0


@contextmanager
def watched(patch):
    """Note every draw: exact values, mechanism, what came out and how many words it took."""
    drawn, draws = Exact.drawn, []

    def note(self, mechanism, rng):
        before = rng.taken
        made = drawn(self, mechanism, rng)
        draws.append((self._held, mechanism, made, rng.taken - before))
        return made

    patch.setattr(Exact, "drawn", note)
    yield draws


def shared_engine(patch):
    """Let sessions share one locked engine, each with a table of its own; opening one is dear."""
    connect, lock = engine._connected, engine._lock
    base = connect(None, None)
    lock(base, [])

    def cursor(*_):
        other = base.cursor()
        other.execute("DROP TABLE IF EXISTS memory.main.frame_0")
        return other

    def set_shared(on):
        patch.setattr(engine, "_connected", cursor if on else connect)
        patch.setattr(engine, "_lock", (lambda *_: None) if on else lock)

    return set_shared


def refusal(error, told):
    """See that an error is ours, in our words, and tells nothing of the data."""
    assert isinstance(error, SfumatoError), f"{told}: {error!r}"
    assert not isinstance(error, ReleaseFailed), told
    while error is not None:
        text = f"{error} {error.args!r}"
        assert not ENGINE.search(text), f"{told}: {text}"
        assert not [secret for secret in SECRETS if secret in text], f"{told}: {text}"
        assert len(text) < 3000, told
        error = error.__cause__ or error.__context__


def check_draws(draws, told):
    """See that every number was drawn, and none is the exact one."""
    assert draws, told
    for held, mechanism, made, words in draws:
        assert words > 0, f"{told}: {mechanism} drew nothing"
        if isinstance(mechanism, ADDED):
            assert mechanism.scale > 10**8, told  # else a draw of zero could be chance
            exact = np.asarray(mechanism.exact(held)).ravel()
            assert exact.size == np.asarray(made).size, told
            assert not (exact == np.asarray(made).ravel()).any(), f"{told}: without noise"


def check_answer(answer, plan, session, draws, told):
    """See that an answer is made of what was drawn, is paid for to the last unit, and is sane."""
    head = session.ledger.head
    raw = session.perform(plan.parts, delta=plan.charge_delta)  # stored: nothing is drawn again
    assert session.ledger.head.split(":")[0] == str(int(head.split(":")[0]) + 1), told
    for release, (_, mechanism, made, _) in zip(raw, draws, strict=True):
        if isinstance(mechanism, ADDED):
            assert list(release.measures[0].values) == made.ravel().tolist(), told
    assert plan.assembled()(raw) == answer, told
    text = answer.to_json() + repr(answer)
    assert not [secret for secret in SECRETS if secret in text], told
    for measure in answer.measures:
        if measure.low is not None and measure.high is not None:
            assert all(a <= b for a, b in zip(measure.low, measure.high, strict=True)), told


def examine(rng, data, schema, draws, told, *, thorough):
    """Open a session on a frame, have one question answered, and perhaps one refused."""
    unit, question = rng.choice(UNITS), rng.choice(list(QUESTIONS))
    told = f"{told}, {question}, {unit}"
    seed = rng.randrange(2**32)
    try:
        session = sf.Session(
            data, unit=unit, schema=schema, budget=sf.Budget(1), rows=ROWS, name="t", version="1"
        )
    except Exception as error:  # noqa: BLE001 - what may come is what is checked
        refusal(error, told)
        return f"not opened: {type(error).__name__}"
    with session:
        session._rng = Counting(seed)
        spent, head = session.ledger.spent(), session.ledger.head
        for price in (10, PRICE) if thorough else (PRICE,):
            draws.clear()
            try:
                plan = QUESTIONS[question](session.table()).explain(epsilon=price)
                answer = plan.release()
            except Exception as error:  # noqa: BLE001 - what may come is what is checked
                refusal(error, f"{told} for {price}")
                assert (session.ledger.spent(), session.ledger.head, draws) == (spent, head, [])
                assert not session.ledger.closed
                outcome = type(error).__name__
            else:
                outcome = "answered"
                if answer.receipt is None:  # a number of rows that is declared, and not counted
                    assert (answer.measures[0].values, draws) == ((ROWS,), []), told
                    assert (session.ledger.spent(), session.ledger.head) == (spent, head), told
                    continue
                assert price is PRICE, told  # the other costs more than there is
                check_draws(draws, told)
                after = session.ledger.spent()
                assert 0 < after.epsilon - spent.epsilon <= PRICE * 10**18, told
                if thorough:
                    check_answer(answer, plan, session, list(draws), told)
        return outcome


def run(frames, patch, shard=0, own=OWN_ENGINE, thorough=THOROUGH):
    """Examine frames; return what happened."""
    report = Report()
    set_shared = shared_engine(patch)
    with watched(patch) as draws:
        for at in range(frames):
            rng = random.Random(f"frame {shard} {at}")
            library, schema = rng.choice(list(LIBRARIES)), declared(rng)
            try:
                data = frame(rng, library, schema, report.used)
            except UNMADE:
                report.outcomes["not made"] += 1  # by the library itself
                continue
            set_shared(at % own != 0)
            started = time.process_time()
            told = f"frame {shard}.{at} of {library}"
            outcome = examine(rng, data, schema, draws, told, thorough=at % thorough == 0)
            report.slowest = max(report.slowest, time.process_time() - started)
            report.outcomes[outcome] += 1
            report.kinds[library, outcome == "answered"] += 1
    assert report.slowest < HUNG
    return report


def check(report, frames):
    """See that the frames were what they were meant to be: most are answered, of every library."""
    assert report.outcomes["not made"] < frames / 10
    assert report.outcomes["answered"] > frames / 2
    assert all(report.kinds[library, True] > frames / 10 for library in LIBRARIES)
    assert {"not opened: ColumnError", "not opened: UnknownName", "KeysError"} <= set(
        report.outcomes
    )


def test_frames_are_refused_in_our_words_or_answered_with_noise(monkeypatch):
    check(run(PUSH, monkeypatch, own=8, thorough=1), PUSH)


@pytest.mark.deep
@pytest.mark.parametrize("shard", range(1, SHARDS + 1))
def test_hundred_thousand_frames_are_refused_or_answered(monkeypatch, shard, record_property):
    report = run(DEEP // SHARDS, monkeypatch, shard)
    record_property("outcomes", dict(report.outcomes))
    check(report, DEEP // SHARDS)
    made = {(library, kind) for library, kinds in LIBRARIES.items() for kind in kinds}
    assert made == set(report.used)


# ---- the checks themselves -----------------------------------------------------------------------


def test_number_without_noise_is_found(monkeypatch):
    monkeypatch.setattr(DiscreteLaplace, "sample", lambda self, exact, rng: exact)
    with pytest.raises(AssertionError, match="drew nothing"):
        run(30, monkeypatch)


def test_noise_that_is_thrown_away_is_found(monkeypatch):
    sample = DiscreteLaplace.sample

    def careless(self, exact, rng):
        sample(self, exact, rng)
        return exact

    monkeypatch.setattr(DiscreteLaplace, "sample", careless)
    with pytest.raises(AssertionError, match="without noise"):
        run(30, monkeypatch)


def test_quantile_that_is_not_drawn_is_found(monkeypatch):
    monkeypatch.setattr(Quantiles, "sample", lambda self, exact, rng: 7)
    with pytest.raises(AssertionError, match="drew nothing"):
        run(60, monkeypatch)


def test_words_of_arrow_are_found(monkeypatch):
    def talkative(*_):
        raise pa.ArrowInvalid("could not convert kestrelvane")

    monkeypatch.setattr("sfumato.backends.catalog.columns_of", talkative)
    with pytest.raises(AssertionError, match="ArrowInvalid"):
        run(30, monkeypatch)


def test_charge_for_a_refusal_is_found(monkeypatch):
    perform = sf.Session.perform

    def late(self, *args, **named):
        perform(self, *args, **named)
        raise InputError("it was refused after all. Ask something else.")

    monkeypatch.setattr(sf.Session, "perform", late)
    with pytest.raises(AssertionError):
        run(30, monkeypatch)
