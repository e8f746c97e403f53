"""The log beside a ledger: whoever loses it while the file is open loses no charge."""

import gc
import shutil
import subprocess
import sys
from contextlib import closing

import pytest

from sfumato.core.errors import LedgerError
from sfumato.ledger import Ledger, connection, verify

LOOK = (
    "import sys; from sfumato.ledger import Ledger; print(len(Ledger.open(sys.argv[1]).history()))"
)
HEAD = "import sys; from sfumato.ledger import Ledger; print(Ledger.open(sys.argv[1]).head)"
CHARGE = """
import sys
from sfumato.core.loss import Pure
from sfumato.ledger import Ledger
Ledger.open(sys.argv[1]).reserve("other", None, "trips", "1", "elsewhere", Pure("0.1"))
"""


def elsewhere(program, path):
    """Open the ledger in another process, and close it there."""
    done = subprocess.run(
        [sys.executable, "-c", program, path], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def lost(monkeypatch):
    """Forget at the end which files were lost: another may be given the number of one of them."""
    monkeypatch.setattr(connection, "_lost", set())


@pytest.fixture
def copied(path, tmp_path):
    """Let a user copy the file, which drops its locks; then let a process open and close it."""

    def copy():
        shutil.copy(path, tmp_path / "copy")
        elsewhere(LOOK, path)
        assert not log_of(path).exists()  # the other took itself for the last one

    return copy


def log_of(path):
    return path.with_name(f"{path.name}-wal")


def test_ledger_that_a_user_copied_loses_no_charge(make, answer, path, copied):
    ledger = make()
    answer(ledger)
    copied()
    answer(ledger, "q2", plan="b")
    assert elsewhere(LOOK, path) == "6"
    elsewhere(CHARGE, path)
    answer(ledger, "q3", plan="c")
    assert [event.request for event in ledger.history()[6:]] == ["other", "q3", "q3", "q3"]
    ledger.close()
    assert verify(path).ok


def test_copied_ledger_is_read_as_others_left_it(make, ask, path, copied):
    ledger = make()
    ask(ledger)
    copied()
    elsewhere(CHARGE, path)
    assert len(ledger.history()) == 2


def test_ledger_behind_a_link_loses_no_charge(make, answer, path, tmp_path, copied):
    make().close()
    (tmp_path / "linked").symlink_to(path)
    ledger = Ledger.open(tmp_path / "linked")
    answer(ledger)
    copied()
    answer(ledger, "q2", plan="b")
    assert elsewhere(LOOK, path) == "6"


@pytest.mark.usefixtures("lost")
def test_charge_that_goes_to_a_lost_log_is_refused_and_nothing_is_written_back(
    make, ask, answer, path, copied
):
    """The log loses its name between the first statement of a transaction and its end."""
    ledger = make()
    answer(ledger)
    granted = ask(ledger, "q2", plan="b")
    with pytest.raises(LedgerError, match="in no file"), ledger._journal() as journal:
        copied()
        journal.append("fault", journal.tallies(""))
    elsewhere(CHARGE, path)
    before = elsewhere(HEAD, path)
    with pytest.raises(LedgerError, match="Start the program again"):
        ledger.touch(granted)
    with pytest.raises(LedgerError, match="Start the program again"):
        Ledger.open(path)
    ledger.close()
    del journal, ledger
    gc.collect()
    assert elsewhere(HEAD, path) == before


def test_two_of_one_process_do_not_meet_at_the_index_of_a_lost_log(make, answer, path, copied):
    first = make()
    answer(first)
    with closing(Ledger.open(path)) as second:
        copied()
        with pytest.raises(LedgerError, match="had it open"):  # the other still has the old index
            answer(first, "q2", plan="b")
        answer(second, "q2", plan="b")
        answer(first, "q3", plan="c")
    assert elsewhere(LOOK, path) == "9"
