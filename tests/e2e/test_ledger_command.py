"""`sfumato ledger`: what an owner sees and does at a console. None of it reads data."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

import sfumato
from sfumato.cli import main
from sfumato.core.budget import Budget
from sfumato.core.loss import Pure
from sfumato.core.unit import Unit
from sfumato.ledger import Ledger

SOURCE = Path(sfumato.__file__).parents[1]
CONTRACT = """
[budget]
epsilon = 4
delta = "1e-6"
ledger = "spent.ledger"
[analysts.ana]
epsilon = 1
[analysts."Zoë"]
epsilon = 2
[tables.people]
source = "there is no such file.csv"
unit = "id"
max_rows = 1
columns.age = { type = "integer", low = 0, high = 120 }
[tables."人々"]
source = "nor this one.csv"
unit = "id"
max_rows = 3
columns.age = { type = "integer", low = 0, high = 120 }
"""
SHARES = {"ana": Budget(epsilon=1), "Zoë": Budget(epsilon=2)}


@pytest.fixture
def contract(tmp_path):
    """A contract whose data does not exist, and its ledger with one answered question."""
    path = tmp_path / "clinic.toml"
    path.write_text(CONTRACT, encoding="utf-8")
    ledger = Ledger.create(
        tmp_path / "spent.ledger",
        Budget(epsilon=4, delta="1e-6"),
        Unit.by("id", max_rows=3),
        analysts=SHARES,
    )
    answered(ledger, "first", "ana", "0.25")
    ledger.close()
    return path


def answered(ledger, request, analyst, epsilon, dataset="people"):
    granted = ledger.reserve(request, analyst, dataset, "1", f"plan {request}", Pure(epsilon))
    ledger.touch(granted)
    ledger.settle(granted, b"the secret answer")
    return granted


def opened(contract):
    return Ledger.open(contract.parent / "spent.ledger")


def run(command, contract, *options):
    return CliRunner().invoke(main, ["ledger", command, str(contract), *map(str, options)])


def facts(result):
    """Read what `show` printed: a label, then what there is to say."""
    assert result.exit_code == 0, result.output
    pairs = [line.split(None, 1) for line in result.stdout.splitlines()]
    return {label: [said for name, said in pairs if name == label] for label, _ in pairs}


@pytest.mark.parametrize("given", ["clinic.toml", "spent.ledger"])
def test_show_says_what_is_spent_and_left(contract, given):
    found = facts(run("show", contract.parent / given))
    assert found["ledger"][0].endswith("spent.ledger, 3 entries")
    assert found["unit"] == ["Unit.by('id', max_rows=3), add_remove neighbors"]
    assert found["budget"] == ["Budget(epsilon=4, delta=1e-06)"]
    assert found["spent"][0].startswith("ε = 0.25, ρ = ")
    assert found["remaining"][0].startswith("ε = 3.75 or ρ = ")
    assert found["remaining"][0].endswith(
        "with δ = 5e-07; the other half of δ pays for turning ρ into ε"
    )
    assert [share.partition(",")[0] for share in found["share"]] == [
        "Zoë: ε = 2 left",
        "ana: ε = 0.75 left",
    ]
    assert found["pending"] == ["none"]
    assert found["state"] == ["open"]
    assert found["head"] == [opened(contract).head]


def test_show_lists_who_was_given_a_share_later_and_what_is_under_way(contract):
    ledger = opened(contract)
    ledger.raise_budget(Budget(epsilon=3), "eve")
    granted = ledger.reserve("slow", "eve", "people", "1", "another plan", Pure(1))
    ledger.touch(granted)
    ledger.reserve("waiting", "Zoë", "people", "1", "a third plan", Pure("0.5"))
    shown = run("show", contract)
    found = facts(shown)
    assert "eve: ε = 2 left" in found["share"][2]
    assert [text.partition(", ")[0] for text in found["pending"]] == [
        "touched by eve",
        "reserved by Zoë",
    ]
    assert [text.rpartition(" ")[2] for text in found["pending"]] == ["'slow'", "'waiting'"]
    since = ledger.history()[granted.entry - 1].moment.isoformat(timespec="seconds")
    assert f"entry {granted.entry} of {since}, id" in found["pending"][0]
    assert "or its process died" in shown.stderr
    assert found["spent"][0].startswith("ε = 1.75")


def test_free_gives_back_what_read_nothing_and_no_other_charge(contract):
    ledger = opened(contract)
    read = ledger.reserve("slow", "Zoë", "people", "1", "another plan", Pure(1))
    ledger.touch(read)
    unread = ledger.reserve("waiting", "Zoë", "people", "1", "a third plan", Pure("0.5"))
    stands, returns = (run("free", contract, request.entry) for request in (read, unread))
    assert "its charge stands: ε = 1" in stands.stdout
    assert "is given back: ε = 0.5" in returns.stdout
    assert ledger.pending() == []
    assert ledger.spent().epsilon == Fraction("1.25") * 10**18
    again = run("free", contract, read.entry)
    assert again.exit_code
    assert "no request that is still open" in again.stderr
    assert ledger.verify().ok


def test_free_closes_several_or_none(contract):
    ledger = opened(contract)
    entries = [
        ledger.reserve(f"q{i}", "Zoë", "people", "1", f"plan q{i}", Pure("0.125")).entry
        for i in range(3)
    ]
    refused = run("free", contract, *entries, 10**6)
    assert refused.exit_code
    assert len(ledger.pending()) == 3
    done = run("free", contract, *entries, entries[0])
    assert done.stdout.count("is given back: ε = 0.125") == 3
    assert ledger.pending() == []


def test_show_says_how_much_epsilon_the_rho_is_that_was_spent(tmp_path):
    ledger = Ledger.create(tmp_path / "spent.ledger", Budget(10, "1e-6"), Unit.row())
    for i in range(20):
        answered(ledger, f"small {i}", None, "0.1")
    # As long as ε adds up to less than that, it is what counts.
    assert facts(run("show", tmp_path / "spent.ledger"))["spent"] == ["ε = 2, ρ = 0.09992"]
    for i in range(180):
        answered(ledger, f"more {i}", None, "0.1")
    [spent] = facts(run("show", tmp_path / "spent.ledger"))["spent"]
    assert spent == "ε = 20, ρ = 0.9992 (that ρ is ε = 7.958 of 10)"


@pytest.mark.parametrize("given", ["slow", "0", "-1", "1.5"])
def test_free_takes_the_number_of_an_entry(contract, given):
    result = run("free", contract, "--", given)
    assert result.exit_code == 2
    assert "is no number of an entry" in result.stderr
    assert "`sfumato ledger show`" in result.stderr


def test_show_lists_what_is_set_aside(contract):
    opened(contract).open_scope(Budget(epsilon="0.125"), "Zoë")  # its process dies, say
    [said] = facts(run("show", contract))["scope"]
    assert said.startswith("Budget(epsilon=0.125) set aside by Zoë, ε = 0")
    entry = said.rpartition(" ")[2]
    before = opened(contract).remaining().epsilon
    assert "no longer set aside" in run("free", contract, entry).stdout
    assert opened(contract).remaining().epsilon == before + Fraction(1, 8)
    again = run("free", contract, entry)
    assert again.exit_code
    assert "opened no scope and no request that is still open" in again.stderr


def test_show_says_that_a_fault_has_closed_the_data(contract):
    opened(contract).fault()
    assert "sfumato ledger acknowledge" in facts(run("show", contract))["state"][0]


def test_show_notes_a_contract_that_declares_another_budget(contract):
    contract.write_text(CONTRACT.replace("epsilon = 4", "epsilon = 5"), encoding="utf-8")
    result = run("show", contract)
    assert facts(result)["budget"] == ["Budget(epsilon=4, delta=1e-06)"]
    assert "declares Budget(epsilon=5" in result.stderr


def test_history_lists_what_happened_without_answers(contract):
    ledger = opened(contract)
    ledger.refresh("人々", "2027")
    granted = ledger.reserve("dropped", "ana", "人々", "2027", "plan", Pure("0.5"))
    ledger.release_untouched(granted)
    result = run("history", contract)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].split() == [
        "entry", "time", "what", "analyst", "table", "version", "charge", "request",
    ]  # fmt: skip
    assert [line.split()[2] for line in lines[1:]] == [
        "reserved", "touched", "settled", "refreshed", "reserved", "returned",
    ]  # fmt: skip
    assert "ε = 0.25" in lines[1]
    assert "δ" not in lines[1]
    assert all("ana" in line and "people" in line for line in lines[1:4])
    assert "2027" in lines[4]
    assert "secret" not in result.output
    assert "secret" not in run("history", contract, "--questions").output


def test_history_as_json_has_exact_charges_and_times(contract):
    result = run("history", contract, "--format", "json")
    events = json.loads(result.stdout)
    assert [event["entry"] for event in events] == [1, 2, 3]
    first, _, last = events
    assert (first["charge"]["epsilon"], first["charge"]["delta"]) == ("0.25", "0")
    assert {name: first[name] for name in ("what", "analyst", "request", "table", "version")} == {
        "what": "reserved",
        "analyst": "ana",
        "request": "first",
        "table": "people",
        "version": "1",
    }
    assert (last["what"], last["table"], last["charge"]) == ("settled", "people", None)
    assert f"3:{last['hash']}" == opened(contract).head
    age = datetime.now(UTC) - datetime.fromisoformat(first["time"])
    assert 0 <= age.total_seconds() < 600
    assert "secret" not in result.output


@pytest.mark.parametrize(("limit", "entries"), [(1, [3]), (2, [2, 3]), (99, [1, 2, 3])])
def test_history_can_be_cut_to_the_last_entries(contract, limit, entries):
    result = run("history", contract, "--limit", limit, "--format", "json")
    assert [event["entry"] for event in json.loads(result.stdout)] == entries
    # Also there, what follows up a reservation says about which table it is.
    assert {event["table"] for event in json.loads(result.stdout)} == {"people"}


@pytest.mark.parametrize("given", ["clinic.toml", "spent.ledger"])
def test_verify_passes_a_ledger_in_order(contract, given):
    head = opened(contract).head
    result = run("verify", contract.parent / given, "--head", head)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"3 entries, all in order; head {head}\n"


@pytest.mark.parametrize("given", ["clinic.toml", "spent.ledger"])
def test_backup_writes_a_copy_that_passes_and_nothing_over(contract, given):
    copy, head = contract.parent / "copy.ledger", opened(contract).head
    result = run("backup", contract.parent / given, copy)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"{copy}; head {head}\n"
    assert run("verify", copy, "--head", head).exit_code == 0
    again = run("backup", contract, copy)
    assert (again.exit_code, again.stdout) == (2, "")
    assert "[E404]" in again.stderr
    assert "Choose another path" in again.stderr
    assert "Ledger.open" not in again.stderr


def test_verify_finds_a_ledger_that_was_rolled_back(contract):
    ledger = opened(contract)
    answered(ledger, "second", "Zoë", "0.5")
    head = ledger.head
    ledger.close()
    for file in contract.parent.glob("spent.ledger*"):
        file.unlink()
    again = Ledger.create(
        contract.parent / "spent.ledger", Budget(epsilon=4), Unit.by("id", max_rows=3)
    )
    again.close()
    assert run("verify", contract).exit_code == 0  # nothing in itself is wrong with it
    result = run("verify", contract, "--head", head)
    assert result.exit_code == 1
    assert "rolled back" in result.stdout
    assert "Traceback" not in result.output


def test_verify_finds_a_charge_that_was_changed(contract):
    import sqlite3

    with sqlite3.connect(contract.parent / "spent.ledger") as sqlite:
        sqlite.execute("DROP TRIGGER events_no_update")
        sqlite.execute("UPDATE events SET analyst = 'eve' WHERE seq = 1")
    sqlite.close()
    result = run("verify", contract)
    assert result.exit_code == 1
    assert "entry 1: it was changed after it was written" in result.stdout


@pytest.mark.parametrize("given", ["clinic.toml", "spent.ledger"])
@pytest.mark.parametrize("damage", [b"", b"\0" * 4096, b"SQLite format 3\0" + b"\xff" * 4096])
def test_verify_finds_a_file_that_is_no_ledger(contract, given, damage):
    (contract.parent / "spent.ledger").write_bytes(damage)
    result = run("verify", contract.parent / given)
    assert result.exit_code == 1, result.output
    assert "[E406]" in result.stdout
    assert "Run verify" not in result.stdout
    assert "Traceback" not in result.output


def test_verify_refuses_a_head_that_was_cut(contract):
    result = run("verify", contract, "--head", "3:abc")
    assert result.exit_code == 2
    assert "Copy it whole" in result.stderr


@pytest.mark.parametrize("given", ["clinic.toml", "spent.ledger"])
def test_acknowledge_opens_the_data_again(contract, given):
    opened(contract).fault()
    result = run("acknowledge", contract.parent / given)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("the data is open again")
    assert not opened(contract).closed
    head = opened(contract).head
    assert "nothing changed" in run("acknowledge", contract).stdout
    assert opened(contract).head == head


def test_refresh_gives_a_table_a_new_version(contract):
    result = run("refresh", contract, "人々", "2027")
    assert result.exit_code == 0, result.output
    assert opened(contract).version("人々") == "2027"
    assert result.stdout == f"人々 is at version 2027; head {opened(contract).head}\n"
    again = run("refresh", contract, "人々", "2027")
    assert (again.exit_code, again.stdout) == (2, "")
    assert "[E407]" in again.stderr


def test_refresh_knows_the_tables_of_the_contract(contract):
    head = opened(contract).head
    result = run("refresh", contract, "persons", "2027")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "there are: people, 人々" in result.stderr
    assert opened(contract).head == head


@pytest.mark.parametrize("command", ["show", "history", "verify", "acknowledge"])
def test_contract_without_a_ledger_is_refused_with_the_fix(contract, command):
    for file in contract.parent.glob("spent.ledger*"):
        file.unlink()
    absent = run(command, contract)
    assert (absent.exit_code, absent.stdout) == (2, "")
    assert "made with the first question" in absent.stderr
    assert not (contract.parent / "spent.ledger").exists()
    contract.write_text(CONTRACT.replace('ledger = "spent.ledger"', ""), encoding="utf-8")
    none = run(command, contract)
    assert (none.exit_code, none.stdout) == (2, "")
    assert "ledger = " in none.stderr
    contract.write_text("[budget", encoding="utf-8")
    assert "[E205]" in run(command, contract).stderr
    assert "[E205]" in run(command, contract.parent / "nowhere").stderr


@pytest.mark.parametrize("command", ["show", "history", "acknowledge"])
def test_ledger_of_another_unit_is_refused(contract, command):
    contract.write_text(CONTRACT.replace('"id"', '"household"'), encoding="utf-8")
    result = run(command, contract)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "[E202]" in result.stderr


@pytest.mark.parametrize("command", ["show", "history", "verify"])
def test_looking_changes_nothing(contract, command):
    before = (contract.parent / "spent.ledger").read_bytes()
    assert run(command, contract).exit_code == 0
    assert (contract.parent / "spent.ledger").read_bytes() == before


def test_ledger_commands_run_as_a_process_without_an_engine(contract):
    code = (
        "import sys; from sfumato.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'duckdb', 'pyarrow', 'pandas', 'rich', 'altair', 'sqlglot', 'scipy'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "ledger", "show", contract],
        env={**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"
    assert "Zoë" in done.stdout
