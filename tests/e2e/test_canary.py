"""Nothing that was planted in a table comes out of any door: answers, errors, logs, files.

Exact answers are planted too: the sums are numbers that nobody could guess, under noise that is
larger than they are.
"""

import copy
import io
import json
import logging
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import traceback
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.backends.duckdb import DuckDB
from sfumato.core.errors import (
    BudgetExceeded,
    DataClosed,
    InternalError,
    ReleaseFailed,
    SfumatoError,
)
from sfumato.mechanisms import DiscreteLaplace
from sfumato.release.chart import to_svg
from sfumato.session.exact import Exact

sys.path.insert(0, str(Path(__file__).parent))
import canary

sys.path.pop(0)

SOURCE = Path(sf.__file__).parent
EPSILON = "0.3"  # the noise of a sum leaves none of its digits but perhaps the first


# ---- what is watched -----------------------------------------------------------------------------


class Place:
    """A folder with the data, one for whatever may be left behind, and what came out."""

    def __init__(self, folder):
        self.data, self.out, self.ledgers = folder / "data", folder / "out", folder / "ledgers"
        self.temporary, self.here = folder / "tmp", folder / "here"
        for each in (self.data, self.out, self.ledgers, self.temporary, self.here):
            each.mkdir()
        self.exact, self.net = set(), canary.Net({})

    def session(self, source, **change):
        declared = {
            "unit": canary.UNIT,
            "schema": canary.SCHEMA,
            "budget": sf.Budget(20, "1e-6"),
            "ledger": self.ledgers / "trips.ledger",
            "name": "trips",
        }
        return sf.Session(source, **{**declared, **change})

    def found(self):
        """Return what was found of all that was planted."""
        self.net.needles = canary.planted(self.exact)
        return self.net.hits


@contextmanager
def watched(place):
    """Catch logs and warnings, and look for files that live for a moment only."""
    log, seen, over = io.StringIO(), set(), threading.Event()

    def look():
        while not over.wait(0.002):
            for folder in (place.temporary, place.here):
                seen.update(str(file) for file in folder.rglob("*"))

    root = logging.getLogger()
    handler, level = logging.StreamHandler(log), root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    thread = threading.Thread(target=look)
    thread.start()
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            yield
    finally:
        over.set()
        thread.join()
        root.removeHandler(handler)
        root.setLevel(level)
    place.net.take("log", log.getvalue())
    place.net.take("warnings", *[str(each) for each in warned])
    place.net.take("files that were seen", *sorted(seen))
    place.net.take("what is left", place.temporary, place.here)
    place.net.take("ledger", place.ledgers)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Point temporary files and the working folder to folders that are watched."""
    made = Place(tmp_path)
    monkeypatch.setenv("TMPDIR", str(made.temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.chdir(made.here)
    run = DuckDB.run

    def spied(self, sql, *given):
        answer = run(self, sql, *given)
        for name in answer.column_names:
            if name.startswith("m"):
                made.exact.update(v for v in answer.column(name).to_pylist() if v is not None)
        made.net.take("while a statement ran", made.temporary, made.here)
        if not any(name.startswith("ledger while") for name in made.net.artifacts):
            made.net.take("ledger while a statement ran", made.ledgers)  # it keeps what it has
        return answer

    monkeypatch.setattr(DuckDB, "run", spied)
    return made


# ---- everything that a user can do ---------------------------------------------------------------


def questions(table):
    """Return questions of every kind; each name is what it shows."""
    late = table.with_columns(late="hour(at) >= 4", decade="floor(year(day), 10)")
    riders = table.filter("fare > 1", "name <> 'nobody'").select("zone", "fare", "big")
    sized = table.join({"zone": ["north", "south"], "size": [3, 5]}, on="zone")
    each = table.group_by_unit("zone").agg(spent=sf.sum("fare"), most=sf.max("big"))
    return {
        "count": table.count(),
        "known": table.count("fare"),
        "sum": table.sum("fare"),
        "big": table.sum("big"),
        "mean": table.mean("fare"),
        "several": table.agg(n=sf.count(), fare=sf.sum("fare"), mean=sf.mean("big")),
        "groups": table.group_by("zone").agg(n=sf.count(), fare=sf.mean("fare")),
        "text": table.group_by("name", keys=["someone"]).sum("fare"),
        "two": table.group_by("zone", "member").sum("big"),
        "computed": late.group_by("late").sum("fare"),
        "decade": late.group_by("decade", keys=[1980, 2020]).sum("fare"),
        "filtered": riders.group_by("zone").sum("fare"),
        "spread": table.agg(v=sf.variance("member"), s=sf.std("floor(fare, 1000)")),
        "bins": table.histogram("fare", [0, 10**7, 10**9]),
        "joined": sized.group_by("size", keys=[3, 5]).sum("fare"),
        "each": each.group_by("zone").sum("spent"),
        "distinct": table.select("zone", "fare").distinct().sum("fare"),
        "both": table.union(table.filter("member")).sum("fare"),
        "part": table.partition("zone")["north"].sum("fare"),
    }


DRAWN = ("groups", "bins", "sum")  # pages and charts take a second each


def look_at(net, name, thing):
    """Take all that Python and notebooks show of a thing, and what a pickle holds of it."""
    net.take(name, repr(thing), str(thing), f"{thing}")
    for show in ("_repr_html_", "_repr_mimebundle_", "_repr_markdown_"):
        if hasattr(thing, show):
            net.take(f"{name} in a notebook", getattr(thing, show)())
    for twin in (copy.copy, copy.deepcopy):
        with suppress(TypeError, SfumatoError):  # what cannot be copied is refused
            net.take(f"copied {name}", repr(twin(thing)))
    for protocol in (0, pickle.HIGHEST_PROTOCOL):
        with suppress(TypeError, SfumatoError, AttributeError, pickle.PicklingError):
            net.take(f"pickled {name}", pickle.dumps(thing, protocol))


def publish(net, name, release, folder):
    """Take every form that a release has."""
    look_at(net, name, release)
    net.take(name, release.to_json(), release.digest, release.notes)
    net.take(name, release.to_arrow().to_pydict(), release.to_pandas(), release.to_polars())
    net.take(name, release.card(), repr(release.card()), release.receipt)
    for measure in release:
        net.take(name, repr(release[measure]), repr(release.measure(measure)))
    if name in DRAWN:
        chart = release.chart()
        net.take(f"{name}, chart", chart.to_json(), to_svg(chart))
        release.to_html(folder / f"{name}.html")
        net.take(f"{name}, page", release.to_html(), folder / f"{name}.html")
    release.to_parquet(folder / f"{name}.parquet")
    table = pq.read_table(folder / f"{name}.parquet")
    net.take(f"{name}, parquet", table.to_pydict(), table.schema.metadata)
    net.take(f"{name}, files", folder / f"{name}.parquet")


def ask_everything(session, net, folder, some=None):
    """Explain, release and publish every question, or some; look at everything on the way."""
    table = session.table()
    look_at(net, "session", session)
    look_at(net, "ledger object", session.ledger)
    asked = questions(table)
    for name in some or asked:
        question = asked[name]
        plan = question.explain(epsilon=EPSILON)
        look_at(net, f"question {name}", question)
        look_at(net, f"plan {name}", plan)
        net.take(f"plan {name}", plan.sql, plan.proof, plan.notes, json.dumps(plan.to_dict()))
        release = plan.release() if name != "sum" else question.release(rho="1e-7")
        publish(net, name, release, folder)
        assert question.explain(epsilon=EPSILON).release() == release or name == "sum"
    with table.scope(sf.Budget("0.5")) as inside:
        publish(net, "inside", inside.sum("big").release(epsilon="0.4"), folder)
    measured = table.measure(table.sum("fare").queries[0], DiscreteLaplace(10**15))
    publish(net, "measured", measured, folder)
    for thing in (table, table.group_by("zone"), table.schema, table.unit, session.remaining):
        look_at(net, "public facts", thing)
    look_at(net, "units", table.group_by_unit())
    net.take("dummy", session.dummy(rows=200).to_pydict())
    net.take("report", session.report(), session.report(releases=[measured], title="All"))
    look_at(net, "certificate", session.certificate(measured))
    net.take("history", *map(repr, session.ledger.history()), session.ledger.verify())
    net.take("spent", session.ledger.spent(), session.ledger.head, session.ledger.pending())


FEW = ("sum", "groups", "text", "each")


@pytest.mark.parametrize("source", canary.SOURCES)
def test_nothing_planted_comes_out_of_answers(source, place, capfd):
    held = canary.SOURCES[source](place.data)
    before = sorted(place.data.iterdir())
    with watched(place), place.session(held) as session:
        ask_everything(session, place.net, place.out, None if source == "csv" else FEW)
        place.net.take("ledger while it is open", place.ledgers)
    place.net.take("console", *capfd.readouterr())
    assert len([v for v in place.exact if abs(v) >= 10**8]) >= 6
    assert place.found() == []
    assert sorted(place.data.iterdir()) == before
    assert [*place.temporary.iterdir(), *place.here.iterdir()] == []
    assert place.net.artifacts.get("files that were seen", b"").strip() == b""


@pytest.mark.parametrize("rows", [1_299_709, pytest.param(179_424_673, marks=pytest.mark.deep)])
def test_exact_count_comes_out_of_nothing(rows, place, capfd):
    db = duckdb.connect()
    db.execute(f"CREATE VIEW trips AS SELECT true AS member FROM range({rows})")  # noqa: S608
    schema = sf.Schema(member=sf.Boolean())
    with watched(place), place.session(db, unit=sf.Unit.row(), schema=schema) as session:
        for name, question in (
            ("n", session.table().count()),
            ("known", session.table().filter("member").group_by("member").count()),
        ):
            plan = question.explain(epsilon="1e-6")
            place.net.take("plan", repr(plan))
            publish(place.net, name, plan.release(), place.out)
    place.net.take("console", *capfd.readouterr())
    assert place.exact == {rows}
    place.net.needles = canary.number_forms(rows)
    assert place.net.hits == []


# ---- refusals and failures -----------------------------------------------------------------------


def own_frames(error):
    """Yield what an error says, and what the frames of the project hold where it passed."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield from (str(error), repr(error), repr(error.args), repr(vars(error)))
        for frame, _ in traceback.walk_tb(error.__traceback__):
            if SOURCE in Path(frame.f_code.co_filename).parents:
                yield from (f"{name} = {_shown(value)}" for name, value in frame.f_locals.items())
        error = error.__cause__ or error.__context__


def _shown(value):
    try:
        return repr(value)
    except (SfumatoError, AttributeError):  # refused, or of an object that is not whole yet
        return ""


def python_traceback(error):
    """Return the frames of the project as Python prints them, with their variables."""
    try:
        lines = traceback.TracebackException.from_exception(error, capture_locals=True)
    except AttributeError:  # Python 3.11 shows no variable that is not whole yet
        return ""
    lines.stack = traceback.StackSummary(
        frame for frame in lines.stack if str(SOURCE) in frame.filename
    )
    return "".join(lines.format())


REFUSALS = {
    "column": lambda t: t.sum("fares"),
    "expression": lambda t: t.sum("fare +"),
    "function": lambda t: t.filter("random() < 1"),
    "cast": lambda t: t.filter("CAST(name AS BLOB) = 1"),
    "type": lambda t: t.sum("name"),
    "unit": lambda t: t.filter("rider = 'x'"),
    "unlisted": lambda t: t.filter("zone = 'east'"),
    "undeclared": lambda t: t.count("secret"),
    "keys": lambda t: t.group_by("name"),
    "many keys": lambda t: t.group_by("big"),
    "unknown key": lambda t: t.group_by("zone", keys=["east"]),
    "range": lambda t: t.sum("big * big"),
    "division": lambda t: t.sum("fare / big"),
    "no cost": lambda t: t.count().release(),
    "cost": lambda t: t.count().release(epsilon="nan"),
    "position": lambda t: t.count().release(1),
    "confidence": lambda t: t.count().release(epsilon=1, confidence=2),
    "budget": lambda t: t.count().release(epsilon=1000),
    "request": lambda t: [t.count(x).release(epsilon=1, request="r") for x in ("fare", "big")],
    "measure": lambda t: t.measure(t.count().queries[0], len),
    "union": lambda t: t.union(t.select("zone")),
    "join": lambda t: t.join({"zone": ["x"]}, on="name"),
    "no public table": lambda t: t.join("secret", on="zone"),
    "partition": lambda t: t.partition("name"),
    "scope": lambda t: t.scope(sf.Budget(1000)).__enter__(),
    "histogram": lambda t: t.histogram("name", 3),
    "units": lambda t: t.group_by_unit("rider").sum("fare"),
    "too strong": lambda t: t.measure(t.sum("fare").queries[0], DiscreteLaplace(1)),
    "exact": lambda t: pickle.dumps(Exact(31_415_926_535_897_932)),
    "exact text": lambda t: f"{Exact(31_415_926_535_897_932):.3f}",
}


@pytest.mark.parametrize("source", ["csv", "pandas"])
def test_nothing_planted_comes_out_of_refusals(source, place, capfd):
    with watched(place), place.session(canary.SOURCES[source](place.data)) as session:
        session.table().sum("fare").release(epsilon=EPSILON)  # there is an exact sum to be seen
        for name, ask in REFUSALS.items():
            with pytest.raises(SfumatoError) as caught:
                ask(session.table())
            place.net.take(name, *own_frames(caught.value), python_traceback(caught.value))
            assert all(not isinstance(e, duckdb.Error) for e in chain_of(caught.value))
    place.net.take("console", *capfd.readouterr())
    assert place.found() == []


def chain_of(error):
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


OPENINGS = {
    "no such column": {"schema": sf.Schema(fares=sf.Text())},
    "no such unit": {"unit": sf.Unit.by("riders", max_rows=1)},
    "type": {"schema": sf.Schema(big=sf.Date("2020-01-01", "2021-01-01"))},
    "budget": {"budget": 3},
    "version": {"version": ""},
}


@pytest.mark.parametrize("opening", OPENINGS)
def test_nothing_planted_comes_out_of_refused_openings(opening, place):
    file = canary.SOURCES["parquet"](place.data)
    with watched(place):
        try:
            place.session(file, **OPENINGS[opening]).close()
        except SfumatoError as error:
            place.net.take(opening, *own_frames(error), python_traceback(error))
    assert place.found() == []
    assert opening == "version" or opening in place.net.artifacts


SAID = f"Could not convert string '{canary.TEXTS['text']}' to INT64: {canary.WHOLE}, {canary.FARE}"
FAILURES = [
    duckdb.ConversionException(SAID),
    duckdb.OutOfMemoryException(SAID),
    MemoryError(SAID),
    RuntimeError(SAID),
    pa.ArrowInvalid(SAID),
    ValueError(SAID),
    KeyError(SAID),
    SystemExit(SAID),
    InternalError(SAID),
]


class Failing:
    """A cursor of an engine that says too much."""

    def __init__(self, problem):
        self.problem = problem

    def extract_statements(self, sql):
        raise self.problem

    def close(self):
        pass


class Holding(RuntimeError):
    """An error that shows the exact answer."""


@pytest.mark.parametrize("problem", FAILURES, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("where", ["cursor", "engine", "draw", "settle", "noise"])
def test_failures_say_nothing_of_what_failed(problem, where, place, monkeypatch, capfd):
    data = pa.table({"rider": [canary.TEXTS["unit"]], "fare": [8675309.77]})
    schema = sf.Schema(fare=canary.SCHEMA["fare"])
    with watched(place), place.session(data, schema=schema) as session:
        question = session.table().sum("fare")

        def fail(*args, **named):
            held = [repr(arg) for arg in args]
            raise problem from Holding(SAID, held)

        failing = {
            "cursor": (DuckDB, "_cursor", lambda _: Failing(problem)),
            "engine": (DuckDB, "run", fail),
            "draw": (DiscreteLaplace, "sample", fail),
            "settle": (type(session.ledger), "settle", fail),
            "noise": (session, "_rng", SimpleNamespace(words=fail)),
        }[where]
        with monkeypatch.context() as patch:
            patch.setattr(*failing)
            with pytest.raises(ReleaseFailed) as caught:
                question.release(epsilon=EPSILON)
        error = caught.value
        assert (error.__cause__, error.__context__) == (None, None)
        place.net.take("failure", *own_frames(error), python_traceback(error))
        place.net.take("pickled failure", pickle.dumps(error))
        with pytest.raises(DataClosed) as closed:
            question.release(epsilon=EPSILON)
        place.net.take("closed", *own_frames(closed.value), python_traceback(closed.value))
        place.net.take("history", *map(repr, session.ledger.history()))
    place.net.take("console", *capfd.readouterr())
    assert place.found() == []


def damaged(folder):
    """Return a Parquet file that opens, and breaks where it is read."""
    file = folder / "damaged.parquet"
    pq.write_table(canary._arrow(), file, compression="none", use_dictionary=False)
    data = bytearray(file.read_bytes())
    at = data.find(canary.TEXTS["unit"].encode())
    data[at - 4 : at] = (2**31 - 1).to_bytes(4, "little")  # the length of a text
    file.write_bytes(data)
    return file


def exchanged(folder):
    """Return a file that is another one once it is opened."""
    return canary.SOURCES["parquet"](folder)


@pytest.mark.parametrize("make", [damaged, exchanged], ids=["damaged", "exchanged"])
def test_broken_files_say_nothing_of_what_they_hold(make, place, capfd):
    file = make(place.data)
    with watched(place), place.session(file) as session:
        if make is exchanged:
            file.write_bytes(json.dumps(canary.TEXTS).encode() * 99)
        with pytest.raises(ReleaseFailed) as caught:
            session.table().group_by("zone").sum("fare").release(epsilon=EPSILON)
        place.net.take("failure", *own_frames(caught.value), python_traceback(caught.value))
        assert caught.value.__context__ is None
    place.net.take("console", *capfd.readouterr())
    assert place.found() == []


# ---- the command line ----------------------------------------------------------------------------

CONTRACT = """
[budget]
epsilon = 10
ledger = "{ledger}"
[tables.trips]
source = "{source}"
unit = "rider"
max_rows = 3
[tables.trips.columns]
zone = {{ type = "category", values = ["north", "south"] }}
fare = {{ type = "real", low = 0, high = 1000000000, step = "0.01" }}
big = {{ type = "integer", low = 0, high = 32000000000000000 }}
name = {{ type = "text" }}
"""
COMMANDS = [
    ["query", "{c}", "--count", "--sum", "fare", "--epsilon", EPSILON],
    ["query", "{c}", "--group-by", "zone", "--mean", "big", "--epsilon", EPSILON, "--explain"],
    *(
        ["query", "{c}", "--group-by", "zone", "--sum", "big", "--epsilon", EPSILON, "--format", f]
        for f in ("csv", "json", "table")
    ),
    [
        "query",
        "{c}",
        "--sum",
        "fare",
        "--epsilon",
        "0.2",
        "--format",
        "parquet",
        "--out",
        "x.parquet",
    ],
    ["query", "{c}", "--sum", "secret", "--epsilon", EPSILON],
    ["query", "{c}", "--sum", "name", "--epsilon", EPSILON],
    ["query", "{c}", "--where", "name = ", "--count", "--epsilon", EPSILON],
    ["query", "{c}", "--count", "--epsilon", "1000"],
    ["query", "{c}", "--counts"],
    ["query", "{c}", "--count", "--epsilon", EPSILON, "--out", "none/x"],
    ["query", "{d}", "--count", "--sum", "fare", "--epsilon", EPSILON],
    ["query", "{d}", "--count", "--epsilon", EPSILON],
    *(["ledger", word, "{c}"] for word in ("show", "history", "verify")),
    ["ledger", "history", "{d}", "--format", "json"],
    ["ledger", "refresh", "{c}", "trips", "2"],
    ["ledger", "acknowledge", "{d}"],
    ["init", "{data}", "--out", "draft.toml"],
    *(
        ["check", f"{{{letter}}}", "--format", form]
        for letter in "cd"
        for form in ("table", "json")
    ),
    ["dummy", "{c}", "--rows", "20"],
    ["report", "{c}", "--out", "report.html"],
    ["budget", "{c}", "--epsilon", "11"],
    ["nonsense"],
]
PROGRAM = """
import json, sys
from sfumato.cli import main
for command in json.load(sys.stdin):
    try:
        main(command)
    except SystemExit as end:
        print("exit", end.code, flush=True)
"""


@pytest.mark.parametrize("source", ["csv", pytest.param("duckdb", marks=pytest.mark.deep)])
def test_nothing_planted_comes_out_of_commands(source, place):
    contracts = {}
    data = canary.SOURCES[source](place.data)
    for letter, file in (("c", data), ("d", damaged(place.data))):
        contracts[letter] = place.data / f"{letter}.toml"
        text = CONTRACT.format(source=file, ledger=place.ledgers / f"{letter}.ledger")
        contracts[letter].write_text(text, encoding="utf-8")
    words = {**contracts, "data": data}
    commands = [[word.format(**words) for word in command] for command in COMMANDS]
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", PROGRAM],
        input=json.dumps(commands).encode(),
        env={
            **os.environ,
            "PYTHONPATH": str(SOURCE.parent),
            "PYTHONDEVMODE": "1",
            "PYTHONUTF8": "1",
            "TMPDIR": str(place.temporary),
        },
        cwd=place.here,
        capture_output=True,
        timeout=300,
        check=False,
    )
    codes = [line for line in done.stdout.decode().splitlines() if line.startswith("exit ")]
    assert len(codes) == len(commands)
    assert codes.count("exit 0") >= 9
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    assert b"after the data had been touched" in done.stderr
    with place.session(canary.SOURCES["arrow"](place.data), ledger=None) as session:
        for question in questions(session.table()).values():  # the exact answers, to look for
            question.release(epsilon=EPSILON)
    place.net = canary.Net({})
    place.net.take("console", done.stdout, done.stderr)
    place.net.take("files", place.here, place.temporary, place.ledgers)
    place.net.take("parquet", str(pq.read_table(place.here / "x.parquet").to_pydict()))
    assert place.found() == []
    left = {file.name for file in place.here.iterdir()}
    assert left == {"x.parquet", "draft.toml", "report.html"}
    assert list(place.temporary.iterdir()) == []


# ---- the search itself ---------------------------------------------------------------------------


@pytest.mark.parametrize("form", sorted(canary.planted([48_611_729_365_141])))
def test_search_finds_what_is_planted(form):
    needles = canary.planted([48_611_729_365_141])
    net = canary.Net(needles)
    net.take("clean", "nothing here but 123,456,789 and someone in the north")
    assert net.hits == []
    net.take("leaky", b"\x00before" + needles[form] + b"after\xff")
    assert f"{form} in leaky" in net.hits


def leaked_by(leak):
    """Return an engine that lets the exact answer out while it runs."""
    run = DuckDB.run

    def leaky(self, sql, *given):
        answer = run(self, sql, *given)
        (exact,) = answer.column("m0").to_pylist()
        leak(self, exact)
        return answer

    return leaky


def _file(_, exact):
    with tempfile.NamedTemporaryFile("w", delete=False) as file:
        file.write(f"{exact:,}")


LEAKS = {
    "log": lambda _, exact: logging.getLogger("sfumato.engine").debug("answer: %s", exact),
    "warnings": lambda _, exact: warnings.warn(f"large: {exact}", stacklevel=1),
    "console": lambda _, exact: sys.stderr.write(f"{exact}\n"),
    "what is left": _file,
    "working folder": lambda _, exact: Path("spill.tmp").write_bytes(exact.to_bytes(8, "little")),
    "ledger": lambda self, exact: (self.folder / "x-wal").write_text(hex(exact)),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_leak_through_any_channel_is_found(leak, place, monkeypatch, capfd):
    monkeypatch.setattr(DuckDB, "folder", place.ledgers, raising=False)
    monkeypatch.setattr(DuckDB, "run", leaked_by(LEAKS[leak]))
    with watched(place), place.session(canary.SOURCES["arrow"](place.data)) as session:
        release = session.table().sum("big").release(epsilon=EPSILON)
        publish(place.net, "sum", release, place.out)
    place.net.take("console", *capfd.readouterr())
    assert place.found() != []


def test_mechanism_without_noise_is_found(place, monkeypatch):
    monkeypatch.setattr(DiscreteLaplace, "sample", lambda self, exact, rng: exact)
    with watched(place), place.session(canary.SOURCES["arrow"](place.data)) as session:
        publish(place.net, "sum", session.table().sum("big").release(epsilon=EPSILON), place.out)
    found = " ".join(place.found())
    for artifact in ("in sum", "in ledger", "in sum, parquet", "in sum, page: sum.html"):
        assert artifact in found


def test_error_that_carries_its_cause_is_found(place):
    try:
        try:
            raise ValueError(SAID)
        except ValueError as problem:
            raise BudgetExceeded("it costs too much") from problem
    except BudgetExceeded as error:
        place.net.take("error", *own_frames(error))
    assert place.found() != []
