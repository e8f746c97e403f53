"""Where answers may be written, whatever other threads and processes do meanwhile."""

import os
import sys
import weakref
from contextlib import contextmanager

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.errors import InputError
from sfumato.ledger import Ledger
from sfumato.release import path as module
from sfumato.release.path import is_database, keep, new_path


class Owner:
    """Somebody who needs files."""


@contextmanager
def between_lines(step):
    """Take a step before every line there, as another thread or process may at any time."""

    def trace(frame, *_):
        if frame.f_code.co_filename in (module.__file__, weakref.__file__):
            step()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


@pytest.mark.skipif(os.name != "posix", reason="descriptors are not kept here")
def test_ledger_is_known_while_others_read_the_same_descriptor(tmp_path):
    """Threads and forked processes share the place up to which it was read."""
    place = tmp_path / "trips.ledger"
    Ledger.create(place, sf.Budget(1), sf.Unit.row()).close()
    assert is_database(place)
    status = place.stat()
    shared = module._held[status.st_dev, status.st_ino]
    with between_lines(lambda: os.read(shared, 16)):
        found = is_database(place)
    assert found


def test_path_is_found_while_sessions_open(tmp_path):
    needed, held = tmp_path / "rows.csv", [Owner()]
    keep(held[0], {needed})

    def another():
        held.append(Owner())
        keep(held[-1], set())

    with between_lines(another):
        free = new_path(tmp_path / "answers.csv")
    with between_lines(another), pytest.raises(InputError, match="is data"):
        new_path(needed)
    assert free == tmp_path / "answers.csv"
    assert len(held) > 2  # others did come


@pytest.mark.parametrize("given", ["months/*.csv", "**/1.csv", "~/months/1.csv", "months/1.csv"])
@pytest.mark.parametrize("how", ["source", "public"])
def test_data_is_not_written_over_however_it_was_named(tmp_path, monkeypatch, given, how):
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "months").mkdir()
    data, other = tmp_path / "months" / "1.csv", tmp_path / "months" / "new.csv"
    data.write_text("n\n1\n")
    os.link(data, tmp_path / "alias.csv")
    source, public = (given, {}) if how == "source" else (pa.table({"n": [1]}), {"months": given})
    facts = {"unit": sf.Unit.row(), "schema": sf.Schema(n=sf.Integer(0, 9)), "budget": sf.Budget(1)}
    with sf.Session(source, **facts, public=public):
        for place in (data, "months/1.csv", tmp_path / "alias.csv"):
            with pytest.raises(InputError, match="is data"):
                new_path(place)
        assert new_path(other) == other
    assert new_path(data) == data  # closed: nobody needs it
