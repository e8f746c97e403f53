"""What is held while a release is read: no more than a later statement needs."""

import pytest

import sfumato as sf
from sfumato.session import reader as module
from sfumato.session.reader import Reader
from sfumato.session.scan import scans

RIDER = sf.Unit.by("rider", max_rows=2)


def planned(session, questions):
    """Return a reader for all that some questions ask, and the statements."""
    parts = session.batch(questions).explain(epsilon=1).parts
    queries = [part.query for part in parts]
    key = session.ledger.truncation_key.hex()
    return Reader(session._backend, key, queries), scans(parts, "duckdb")


def test_truncated_rows_are_dropped_after_the_last_statement_that_reads_them(town):
    session = town(unit=RIDER)
    table = session.table()
    questions = [table.filter(f"age > {age}").sum("age") for age in range(5)]
    questions.append(table.filter("age > 4").median("age"))  # reads the same rows once more
    reader, statements = planned(session, questions)
    held = []
    for scan in statements:
        scan.read(reader, None)
        held.append(len(reader._kept))
    assert max(held) == 1
    assert held[-1] == 0


def test_table_that_is_too_large_for_a_copy_is_read_where_it_is(town, monkeypatch):
    session = town()
    table = session.table()
    questions = [
        table.filter(f"age > {age}").group_by("name", keys=["Ana"]).count() for age in (1, 2, 3)
    ]
    reader, statements = planned(session, questions)
    answers = [scan.read(reader, None)._table.to_pylist() for scan in statements]
    assert len(reader._copied) == 1
    monkeypatch.setattr(module, "_COPIED", next(iter(reader._copied.values())).nbytes - 1)
    reader, statements = planned(session, questions)
    assert [scan.read(reader, None)._table.to_pylist() for scan in statements] == answers
    assert reader._copied == {}


@pytest.mark.parametrize("times", [1, 2])
def test_table_that_few_statements_read_is_not_copied(town, times):
    session = town()
    questions = [session.table().filter(f"age > {age}").sum("age") for age in range(times)]
    reader, statements = planned(session, questions)
    for scan in statements:
        scan.read(reader, None)
    assert reader._copied == {}
