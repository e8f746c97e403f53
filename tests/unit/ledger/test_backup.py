"""Copies of a ledger: of one moment, whole, verified, and never over anything."""

import sqlite3
import threading
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.core.errors import LedgerCorrupt, LedgerError
from sfumato.ledger import Ledger, verify


def test_copy_is_one_file_that_passes_against_its_head(make, answer, path, tmp_path):
    ledger = make()
    answer(ledger)
    head = ledger.backup(tmp_path / "copy")
    assert head == ledger.head
    assert verify(tmp_path / "copy", head).ok
    assert {each.name for each in tmp_path.iterdir()} >= {"copy"}
    assert not [each for each in tmp_path.iterdir() if each.name.startswith("copy.")]
    assert (tmp_path / "copy").stat().st_mode & 0o077 == 0
    copied = Ledger.open(tmp_path / "copy", unit=sf.Unit.row())
    assert copied.truncation_key == ledger.truncation_key
    assert copied.answers() == ledger.answers()
    copied.close()


def test_copy_is_of_one_moment_while_others_charge(make, ask, tmp_path):
    ledger, stop = make(1000), threading.Event()

    def charge():
        number = 0
        while not stop.is_set():
            ask(ledger, f"q{number}", plan=f"p{number}")
            number += 1

    thread = threading.Thread(target=charge)
    thread.start()
    heads = [ledger.backup(tmp_path / f"copy {i}") for i in range(5)]
    stop.set()
    thread.join()
    for i, head in enumerate(heads):
        assert verify(tmp_path / f"copy {i}", head).ok
        assert verify(ledger._file.path, head).ok  # and the ledger still has that entry


def test_copy_that_is_older_than_a_head_that_was_kept_is_refused(make, ask, tmp_path):
    ledger = make()
    ask(ledger)
    ledger.backup(tmp_path / "copy")
    ask(ledger, "q2", plan="b")
    with pytest.raises(LedgerCorrupt, match="rolled back"):
        Ledger.open(tmp_path / "copy", head=ledger.head)


def test_nothing_is_written_over(make, tmp_path, path):
    ledger = make()
    (tmp_path / "notes").write_text("mine")
    for taken in (tmp_path / "notes", path):
        with pytest.raises(LedgerError, match="already a file"):
            ledger.backup(taken)
    assert (tmp_path / "notes").read_text() == "mine"
    with pytest.raises(LedgerError, match="cannot be written"):
        ledger.backup(tmp_path / "no" / "folder")


def test_copy_that_does_not_pass_is_not_kept(make, ask, path, tmp_path):
    ledger = make()
    ask(ledger)
    ledger.close()
    with sqlite3.connect(path) as other:
        other.execute("DROP TRIGGER events_no_update")
        other.execute("UPDATE events SET time = time + 1")
    other.close()
    with pytest.raises(LedgerCorrupt):
        Ledger.open(path).backup(tmp_path / "copy")
    assert not list(tmp_path.glob("copy*"))


def test_what_a_killed_process_left_of_a_copy_stands_in_nobodys_way(
    make, ask, tmp_path, monkeypatch
):
    ledger = make()
    ask(ledger)
    with monkeypatch.context() as patch:  # as when it is killed: what is half made stays
        patch.setattr(Path, "unlink", lambda *_, **__: None)
        patch.setattr("sfumato.ledger.backup.check", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            ledger.backup(tmp_path / "copy")
    (left,) = tmp_path.glob("copy*")
    assert left.suffix == ".part"
    assert left.stat().st_mode & 0o077 == 0
    assert verify(tmp_path / "copy", ledger.backup(tmp_path / "copy")).ok
    assert left.exists()  # it may be in use


def test_ledger_in_memory_can_be_kept(ask, tmp_path):
    ledger = Ledger.create(None, sf.Budget(1), sf.Unit.row())
    ask(ledger)
    assert verify(tmp_path / "copy", ledger.backup(tmp_path / "copy")).ok
