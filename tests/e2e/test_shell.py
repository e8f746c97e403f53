"""`sfumato shell`: questions in SQL one after the other, from a pipe and at a terminal."""

import importlib.util
import os
import re
import select
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

import sfumato
from sfumato.cli import main
from sfumato.cli.backslash import COMMANDS
from sfumato.cli.editor import KEYWORDS, Vocabulary, history_file
from sfumato.cli.grid import cells
from sfumato.cli.lines import split
from sfumato.core.errors import InternalError, NothingFound
from sfumato.ledger import Ledger
from sfumato.release import Release
from sfumato.session.sql import SqlPlan

SOURCE = Path(sfumato.__file__).parents[1]
RIDERS = 300
CONTRACT = """
[budget]
epsilon = {budget}
ledger = "trips.ledger"
{shares}
[tables.trips]
source = "trips.csv"
version = "1"
unit = "rider"
max_rows = 1
[tables.trips.columns]
zone = {{ type = "category", values = ["A", "B"] }}
fare = {{ type = "integer", low = 0, high = 50, nullable = true }}
tip = {{ type = "integer" }}
[public.zones]
source = "zones.csv"
"""
SHARES = "[analysts.ana]\nepsilon = 10\n[analysts.bob]\nepsilon = 20\n"


class Trips:
    """A folder with trips, a public table, their contract and its ledger."""

    def __init__(self, folder, budget=1000, shares=""):
        self.folder, self.contract = folder, folder / "trips.toml"
        lines = ["rider,zone,fare,tip"]
        lines += [f"{i},{'AB'[i % 3 == 0]},{i % 50},0" for i in range(RIDERS)]
        (folder / "trips.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (folder / "zones.csv").write_text("id,side\nA,east\nB,west\n", encoding="utf-8")
        self.contract.write_text(CONTRACT.format(budget=budget, shares=shares), encoding="utf-8")

    def run(self, text, *options):
        """Pipe a text into the shell, in this process."""
        command = ["shell", str(self.contract), *map(str, options)]
        result = CliRunner().invoke(main, command, input=text)
        assert "Traceback" not in result.output
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return result

    def spawn(self, *options, **more):
        """Start the shell as a process of its own."""
        code = "from sfumato.cli import main; main()"
        return subprocess.Popen(
            [sys.executable, "-c", code, "shell", self.contract, *map(str, options)],
            env={**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONUTF8": "1", "TERM": "xterm"},
            **more,
        )

    @property
    def ledger(self):
        return Ledger.open(self.folder / "trips.ledger")


@pytest.fixture
def trips(tmp_path):
    return Trips(tmp_path)


# At this price the noise of one count passes 1 with probability below 1e-40.
COUNT = "SELECT zone, COUNT(*) AS n FROM trips GROUP BY zone WITH EPSILON 100;"


def test_script_of_five_lines_is_answered_line_by_line(trips):
    script = (
        "SELECT zone,\n"
        "       COUNT(*) AS n FROM trips GROUP BY zone WITH EPSILON 100;\n"
        "SELECT COUNT(*) FROM nowhere WITH EPSILON 100;\n"
        "\\budget\n"
        "SELECT COUNT(*) AS n FROM trips WITH EPSILON 200"
    )
    result = trips.run(script)
    assert result.exit_code == 2
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[0] == ["zone", "n", "95", "%"]
    assert [line[:2] for line in lines[1:3]] == [["A", "200"], ["B", "100"]]
    assert lines[1][2] == "±"
    assert ["left", "ε", "=", "900"] in lines
    assert lines[-2:][0][0] == "n"
    assert lines[-1][0] == "300"
    for said in ("costs ε = 100", "paid ε = 100", "left: ε = 700", "[E204]", "^^^^^^^"):
        assert said in result.stderr
    assert "refused: 1 of 4 questions and commands" in result.stderr
    assert "\x1b" not in result.output
    assert ">" not in result.stdout
    assert trips.ledger.verify().ok


@pytest.mark.parametrize("word", ["exit", "QUIT;", " quit ; "])
def test_words_that_leave_other_shells_leave_this_one(trips, word):
    assert trips.run(f"{word}\n{COUNT}").exit_code == 0
    assert trips.ledger.spent().epsilon == 0


def test_word_that_leaves_is_a_name_within_a_question(trips):
    answer = trips.run("SELECT COUNT(*) AS\nexit\nFROM trips WITH EPSILON 100").stdout
    assert answer.split()[0] == "exit"
    assert "300" in answer


def test_script_without_refusals_exits_with_zero(trips):
    assert trips.run("\\tables\n\\explain SELECT COUNT(*) FROM trips WITH EPSILON 1").exit_code == 0
    assert trips.ledger.spent().epsilon == 0


def test_refused_question_leaves_the_ledger_as_it_is(trips):
    trips.run(COUNT)
    head = trips.ledger.head
    for wrong, code in {
        "SELECT * FROM trips WITH EPSILON 1;": "E300",
        "SELECT COUNT(*) FROM trips;": "E105",
        "SELECT COUNT(*) FROM trips WITH EPSILON 901;": "E401",
        "SELECT rider, COUNT(*) FROM trips GROUP BY rider WITH EPSILON 1;": "E300",
        "SELECT AVG(tip) FROM trips WITH EPSILON 1;": "E203",
        "EXPLAIN SELECT COUNT(*) FROM trips;": "E300",
        "SELECT COUNT(*) FROM trips WHERE fare < :x WITH EPSILON 1;": "E300",
        "\\explain SELECT COUNT(*) FROM trips": "E105",
        "\\nonsense": "E204",
        "\\format xml": "E100",
        "\\columns nowhere": "E204",
        "\\epsilon much": "E101",
        "\\save answer.csv": "E100",
    }.items():
        result = trips.run(wrong)
        assert (result.exit_code, result.stdout) == (2, ""), wrong
        assert f"[{code}]" in result.stderr, (wrong, result.stderr)
    assert trips.ledger.head == head


def test_refusals_speak_of_the_shell(trips):
    refused = trips.run(
        "EXPLAIN SELECT 1;\nSHOW TABLES;\nSELECT * FROM trips WITH EPSILON 1;\n"
        "SELECT COUNT(*) FROM trips WHERE fare < ? WITH EPSILON 1;\nSELECT COUNT(*) FROM trips;"
    ).stderr
    for words in (
        "\\explain SELECT",
        "Write \\tables.",
        "\\dummy has",
        "no parameters",
        "\\epsilon",
    ):
        assert words in refused
    assert "session." not in refused
    unbounded = trips.run("SELECT AVG(tip) FROM trips WITH EPSILON 1;").stderr
    assert "State one that is known" in unbounded
    assert "sf.bounds" not in unbounded


def test_price_is_never_silently_chosen(trips):
    question = "SELECT COUNT(*) AS n FROM trips;\n"
    assert "[E105]" in trips.run(question).stderr
    assert "paid ε = 3" in trips.run(question, "--epsilon", 3).stderr
    set_there = trips.run(f"\\epsilon 5\n{question}\\epsilon none\n{question}")
    assert "questions that name no price cost ε = 5" in set_there.stderr
    assert "costs ε = 5" in set_there.stderr
    assert set_there.stderr.count("[E105]") == 1
    own = trips.run("SELECT COUNT(*) AS n FROM trips WITH EPSILON 7;", "--epsilon", 3)
    assert "costs ε = 7" in own.stderr
    assert "[E105]" in trips.run("", "--delta", "1e-6").stderr


def test_repeated_question_is_free(trips):
    result = trips.run(f"{COUNT}\n{COUNT}\n")
    assert result.exit_code == 0, result.output
    assert "paid nothing more: answered before" in result.stderr
    assert "left: ε = 900" in result.stderr


def test_empty_line_and_end_of_input_end_a_question(trips):
    text = "SELECT COUNT(*) AS n\nFROM trips\nWITH EPSILON 100\n\n\n-- a remark\n" + COUNT.rstrip(
        ";"
    )
    result = trips.run(text)
    assert result.exit_code == 0, result.output
    assert [line.split()[0] for line in result.stdout.splitlines()] == [
        "n",
        "300",
        "zone",
        "A",
        "B",
    ]


@pytest.mark.parametrize(
    ("text", "whole", "rest"),
    [
        ("SELECT 1; SELECT 2;", ["SELECT 1", " SELECT 2"], ""),
        ("SELECT ';' a; b", ["SELECT ';' a"], " b"),
        ("SELECT 'it''s;' a;", ["SELECT 'it''s;' a"], ""),
        ('SELECT "a;b', [], 'SELECT "a;b'),
        ("a -- b; c\n; d", ["a -- b; c\n"], " d"),
        (";;", ["", ""], ""),
        ("a; -- done; so\nb;", ["a", "\nb"], ""),
    ],
)
def test_questions_are_split_where_a_semicolon_ends_them(text, whole, rest):
    assert split(text) == (whole, rest)


def test_explain_alone_explains_the_next_question(trips):
    result = trips.run(f"\\explain\n{COUNT}\n{COUNT}")
    assert result.exit_code == 0, result.output
    assert result.stdout.count("why\n") == 1
    assert "paid ε = 100" in result.stderr
    assert trips.ledger.spent().epsilon == 100 * 10**18


def test_tables_and_columns_say_what_is_declared(trips):
    out = trips.run("\\tables\n\\columns trips\n\\columns zones\n\\columns\n").stdout
    assert "All rows that share one value of rider" in out
    assert "the table is public" in out
    assert out.count("whole numbers from 0 to 50  ") == 2
    assert "one of: A, B" in out
    assert "without declared bounds" in out
    assert "side" in out


def test_dummy_rows_are_made_up_and_free(trips):
    result = trips.run("\\dummy trips 3\n\\dummy 2\n\\dummy trips 1001\n")
    assert len(result.stdout.splitlines()) == 4 + 3
    assert result.stdout.split()[:4] == ["rider", "zone", "fare", "tip"]
    assert "at most 1,000" in result.stderr
    assert trips.ledger.spent().epsilon == 0


def test_format_is_that_of_the_query_command(trips):
    result = trips.run(f"\\format csv\n{COUNT}\n\\format json\n{COUNT}\n")
    table, _, release = result.stdout.partition("{")
    assert table.splitlines()[0] == "zone,n,n_low,n_high"
    assert Release.from_json("{" + release.strip())["n"].value.tolist() == [200, 100]


def test_save_writes_the_last_answer_and_nothing_over_another_file(trips):
    names = ("a.csv", "b.json", "c.parquet", "d.txt")
    saves = "".join(f"\\save {trips.folder / name}\n" for name in names)
    result = trips.run(f"{COUNT}\n{saves}")
    assert result.exit_code == 0, result.output
    assert (trips.folder / "a.csv").read_text().startswith("zone,n,n_low,n_high\nA,200,")
    assert (trips.folder / "d.txt").read_text().split()[:3] == ["zone", "n", "n_low"]
    assert Release.from_json((trips.folder / "b.json").read_text().strip())["n"].value[0] == 200
    assert (trips.folder / "c.parquet").stat().st_size
    for name in ("trips.csv", "trips.toml", "trips.ledger", "zones.csv", "a.csv"):
        before = (trips.folder / name).read_bytes()
        again = trips.run(f"{COUNT}\n\\save {trips.folder / name}\n")
        assert (again.exit_code, "[E100]" in again.stderr) == (2, True)
        if name != "trips.ledger":  # which the question itself may write to
            assert (trips.folder / name).read_bytes() == before
    assert trips.ledger.verify().ok
    assert trips.run(f"{COUNT}\n\\save no/such/folder.csv").exit_code == 2
    assert trips.run(f"{COUNT}\n\\save no/such/folder.parquet").exit_code == 2


def test_help_lists_every_command(trips):
    out = trips.run("\\help\n").stdout
    assert all(name in out for name in COMMANDS)


def test_command_within_a_question_is_run_and_the_question_goes_on(trips):
    result = trips.run("SELECT COUNT(*) AS n\n\\format csv\nFROM trips WITH EPSILON 100;\n")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1].startswith("300,")


def test_quit_leaves_a_question_that_is_open(trips):
    result = trips.run("SELECT COUNT(*) FROM trips WITH EPSILON 100\n\\quit\n")
    assert (result.exit_code, result.stdout) == (0, "")
    assert trips.ledger.spent().epsilon == 0


def test_line_of_a_text_in_quotes_is_no_command(trips):
    question = "SELECT COUNT(*) AS n FROM trips WHERE zone = 'A\n\\quit\n' WITH EPSILON 1;\n"
    result = trips.run(question + COUNT)
    assert result.exit_code == 2
    assert "'A\\n\\\\quit\\n' is not one of the declared values" in result.stderr
    assert "200" in result.stdout  # and what follows is asked


def test_defect_is_one_message_and_the_shell_goes_on(trips, monkeypatch):
    def broken(*_):
        raise StopIteration("somebody's data")

    monkeypatch.setattr("sfumato.session.sql.bound", broken)
    result = trips.run(f"{COUNT}\n\\tables\n")
    assert result.exit_code == 4
    assert "[E600]" in result.stderr
    assert "somebody" not in result.output
    assert "trips" in result.stdout


def test_question_is_read_and_bound_once(trips, monkeypatch):
    from sfumato.session import sql
    from sfumato.sql import statement

    seen = []
    for module, name in ((statement, "statement"), (sql, "bound")):
        real = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda *a, real=real, name=name: seen.append(name) or real(*a)
        )
    assert trips.run(COUNT).exit_code == 0
    assert seen == ["statement", "bound"]


def test_quit_ends_and_nothing_behind_it_is_asked(trips):
    result = trips.run(f"\\quit\n{COUNT}\n")
    assert (result.exit_code, result.stdout) == (0, "")
    assert trips.ledger.spent().epsilon == 0


def test_history_shows_what_one_asked_and_nothing_of_others(tmp_path):
    trips = Trips(tmp_path, shares=SHARES)
    assert "[E408]" in trips.run("\\budget\n").stderr
    assert "[E408]" in trips.run("\\budget\n", "--analyst", "eve").stderr
    asked = "SELECT AVG(fare) FROM trips WHERE zone = 'A' WITH EPSILON 2;"
    assert trips.run(asked, "--analyst", "ana").exit_code == 0
    hers = trips.run(
        "SELECT COUNT(*) FROM trips WITH EPSILON 3;\n\\history\n\\budget\n", "--analyst", "bob"
    )
    assert hers.exit_code == 0, hers.output
    assert "number of rows, asked of trips" in hers.stdout
    assert "answered" in hers.stdout
    assert "ε = 3" in hers.stdout
    assert "the share of bob" in hers.stdout
    assert "left   ε = 17" in hers.stdout
    assert "zone = 'A'" not in hers.stdout
    assert "zone = 'A'" in trips.run("\\history", "--analyst", "ana").stdout
    given = trips.run(f"{asked}\n\\history", "--analyst", "bob")
    assert "stored answer" in given.stdout  # which bob had not had
    assert "zone = 'A'" in given.stdout
    assert "given again" not in given.stdout
    again = trips.run(f"{asked}\n\\history", "--analyst", "bob")
    assert "given again" in again.stdout


def test_history_of_a_new_ledger_is_empty(trips):
    result = trips.run("\\history\n")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "nothing was asked so far" in result.stderr


def test_nothing_found_is_an_answer_and_paid_for(trips, monkeypatch):
    release = SqlPlan.release

    def nothing(*given, **more):
        release(*given, **more)
        raise NothingFound("no range of tip was found. Ask with bounds of your own.")

    monkeypatch.setattr(SqlPlan, "release", nothing)
    result = trips.run(COUNT)
    assert result.exit_code == 3, result.output
    assert result.stdout == ""
    assert "[E500]" in result.stderr
    assert "paid ε = 100" in result.stderr


def test_interrupt_during_a_question_keeps_the_charge_and_goes_on(trips, monkeypatch):
    from sfumato.backends.duckdb import DuckDB

    run, calls = DuckDB.run, []

    def interrupt(*given, **more):
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return run(*given, **more)

    monkeypatch.setattr(DuckDB, "run", interrupt)
    second = COUNT.replace("100", "200")
    result = trips.run(f"{COUNT}\n{second}\n\\history\n")
    assert result.exit_code == 0, result.output
    assert "interrupted; the charge stands, ε = 100" in result.stderr
    assert "paid ε = 200" in result.stderr
    assert "left: ε = 700" in result.stderr
    assert "given up; the charge stands" in result.stdout


def test_fault_says_nothing_about_the_data(trips, monkeypatch):
    from sfumato.backends.duckdb import DuckDB

    def fail(*_, **__):
        raise InternalError("row 17 says 'secret'")

    monkeypatch.setattr(DuckDB, "run", fail)
    result = trips.run(f"{COUNT}\n{COUNT.replace('100', '200')}\n")
    assert result.exit_code == 2
    assert "[E603]" in result.stderr
    assert "[E409]" in result.stderr
    assert "secret" not in result.output


def test_contract_without_a_ledger_is_refused(trips):
    text = trips.contract.read_text(encoding="utf-8").replace('ledger = "trips.ledger"', "")
    trips.contract.write_text(text, encoding="utf-8")
    result = trips.run(COUNT)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "[E205]" in result.stderr


def test_bytes_that_are_no_text_are_refused(trips):
    result = trips.run(b"SELECT \xff\xfe;\n")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "UTF-8" in result.stderr


def test_two_shells_share_one_ledger(tmp_path):
    trips = Trips(tmp_path, budget=10)
    trips.run("\\budget\n")  # the ledger is there
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    shells = [trips.spawn(text=True, encoding="utf-8", **pipes) for _ in range(2)]
    below = "SELECT COUNT(*) FROM trips WHERE fare < 9 WITH EPSILON 2;\n"
    scripts = [
        "".join(below.replace("9", str(i)) for i in values)
        for values in (range(1, 5), range(11, 15))
    ]
    for process, script in zip(shells, scripts, strict=True):
        process.stdin.write(script)
        process.stdin.flush()
    ends = [process.communicate(timeout=120) for process in shells]
    # ε = 10 pays for five of the eight.
    assert sum(err.count("paid ε = 2") for _, err in ends) == 5
    assert sum(err.count("[E401]") for _, err in ends) == 3
    assert all("Traceback" not in err for _, err in ends)
    assert str(trips.ledger.remaining()) == "ε = 0"
    assert trips.ledger.verify().ok


def test_pipe_starts_without_charts_and_rich(trips):
    code = (
        "import sys; from sfumato.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'altair', 'polars', 'readline', 'rich', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "shell", trips.contract],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        input=COUNT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_interval_stands_beside_its_number(trips):
    with sfumato.connect(trips.contract) as session:
        release = session.sql(
            "SELECT zone, COUNT(*) AS n, MEDIAN(fare) AS m FROM trips GROUP BY zone", epsilon=4
        )
        mean = session.sql("SELECT AVG(fare) AS f FROM trips", epsilon="0.01")
    names, first, _ = cells(release)
    assert names == ["zone", "n", "95 %", "m", "95 %"]
    n = release["n"]
    assert first[2] == f"± {n.high[0] - n.value[0]}"
    assert first[4].startswith("rank ± ")
    f, shown = mean["f"], cells(mean)[1][1]
    if f.high - f.value == f.value - f.low:  # both ends may be those of the bounds
        assert shown.startswith("± ")
    else:
        low, high = re.fullmatch(r"\[(.+), (.+)\]", shown).groups()
        assert float(low) <= f.value <= float(high)


def test_words_are_completed_where_they_fit():
    names = {name: each.arguments for name, each in COMMANDS.items()}
    tables = {"trips": ["fare", "zone"], "zones": ["id", "side"]}
    words = Vocabulary(names, list(tables), tables.__getitem__)
    assert words.candidates("", "\\co") == ["\\columns"]
    assert words.candidates("\\columns ", "t") == ["trips"]
    assert words.candidates("\\format ", "") == ["table", "csv", "json"]
    assert words.candidates("SELECT ", "fa") == ["fare", "false"]
    assert words.candidates("", "SEL") == ["SELECT"]
    assert words.candidates("", "sel") == ["select"]
    assert words.candidates("SELECT COUNT(*) FROM ", "z") == ["zones", "zone"]
    assert "QUANTILE_CONT" in KEYWORDS


def test_history_is_kept_in_the_folder_for_state(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert history_file() == tmp_path / "sfumato" / "history"
    monkeypatch.setenv("XDG_STATE_HOME", "not/absolute")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert history_file() == tmp_path / ".local" / "state" / "sfumato" / "history"


class Terminal:
    """Somebody at a terminal."""

    def __init__(self, trips, state, *options):
        import pty

        master, slave = pty.openpty()
        self.master, self.bytes, self.read = master, b"", 0
        os.environ["XDG_STATE_HOME"], kept = str(state), os.environ.get("XDG_STATE_HOME")
        try:
            self.process = trips.spawn(
                *options, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
            )
        finally:
            del os.environ["XDG_STATE_HOME"]
            if kept is not None:
                os.environ["XDG_STATE_HOME"] = kept
        os.close(slave)

    @property
    def seen(self):
        return self.bytes.decode(errors="replace")

    def until(self, text):
        """Read until a text appears behind what was read before."""
        assert self.reads(text, 120), f"no {text!r} in {self.seen[self.read :]!r}"

    def reads(self, text, seconds):
        """Whether a text appears behind what was read before, which is read up to its end."""
        deadline = time.monotonic() + seconds
        while text not in self.seen[self.read :]:
            ready, _, _ = select.select([self.master], [], [], max(deadline - time.monotonic(), 0))
            if not ready:
                return False
            self.bytes += os.read(self.master, 1 << 16)
        self.read = self.seen.index(text, self.read) + len(text)
        return True

    def interrupt(self, text):
        """Press Ctrl-C until a text appears.

        Python hears one that comes after a key was echoed, but before it waits for the next key,
        only with that next key: a person would press again, and so does this.
        """
        for _ in range(12):
            self.process.send_signal(signal.SIGINT)
            if self.reads(text, 10):
                return
        raise AssertionError(f"no {text!r} in {self.seen[self.read :]!r}")

    def type(self, text):
        os.write(self.master, text.encode())

    def end(self):
        """Press Ctrl-D and return the exit code."""
        try:
            self.type("\x04")
            return self.process.wait(timeout=60)
        finally:
            self.process.kill()  # one that goes on would warn in whatever test comes next
            self.process.wait()
            os.close(self.master)


has_terminal = pytest.mark.skipif(
    importlib.util.find_spec("termios") is None or importlib.util.find_spec("readline") is None,
    reason="no terminals here, or none with lines that can be edited",
)


@has_terminal
@pytest.mark.parametrize("inherited", [signal.SIG_DFL, signal.SIG_IGN], ids=["heard", "ignored"])
def test_terminal_shows_what_is_left_and_asks_before_paying(trips, tmp_path, inherited):
    before = signal.signal(signal.SIGINT, inherited)
    try:
        person = Terminal(trips, tmp_path / "state")
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        person.until("ε 1000 left> ")
        person.type("SELECT zone, COUNT(*) AS n\n")
        person.until("... ")
        person.type("\\help\n")
        person.until("this list")
        person.until("... ")
        person.type("FROM trips GROUP BY zone WITH EPSILON 100;\n")
        person.until("pay ε = 100")
        person.until("? [y/N] ")
        person.type("n\n")
        person.until("nothing is paid")
        person.until("ε 1000 left> ")
        person.type(COUNT + "\n")
        person.until("[y/N] ")
        person.type("y\n")
        person.until("± ")
        person.until("ε 900 left> ")
        person.type("SELECT 'half\n")
        person.until("'.. ")
        person.type("a question")
        person.until("question")
        person.interrupt("ε 900 left> ")
        person.type("SELECT zon FROM trips;\n")
        person.until("error: ")
        person.until("ε 900 left> ")
    finally:
        code = person.end()
    assert code == 0
    assert "Traceback" not in person.seen
    kept = tmp_path / "state" / "sfumato" / "history"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    typed = "SELECT zone, COUNT(*) AS n FROM trips GROUP BY zone WITH EPSILON 100"
    assert kept.read_text().splitlines() == ["\\help", typed, typed, "SELECT zon FROM trips"]
    assert trips.ledger.spent().epsilon == 100 * 10**18


@has_terminal
def test_terminal_that_says_yes_beforehand_is_not_asked(trips, tmp_path):
    person = Terminal(trips, tmp_path / "state", "--yes", "--epsilon", "100")
    try:
        person.until("left> ")
        person.type("\\col\t\n")  # completed to \columns
        person.until("whole numbers from 0 to 50")
        person.until("left> ")
        person.type("SELECT COUNT(*) FROM trips;\n")
        person.until("costs ε = 100")
        person.until("300")
        person.until("ε 900 left> ")
        person.type("SELECT COUNT(*) FROM trips WITH EPSILON 1\n")
        person.until("... ")
    finally:
        code = person.end()  # what is half typed is not asked
    assert code == 0
    assert trips.ledger.spent().epsilon == 100 * 10**18
