"""Ledgers to play with, requests in one call, and a connection that fails when told to."""

import sqlite3

import pytest

import sfumato as sf
from sfumato.core.loss import Pure
from sfumato.ledger import Ledger
from sfumato.ledger import connection as ledger_connection


@pytest.fixture
def path(tmp_path):
    return tmp_path / "trips.ledger"


@pytest.fixture
def make(path):
    """Make a ledger in a file, closed at the end."""
    made = []

    def build(epsilon=1, *, delta=0, **options):
        unit = options.pop("unit", sf.Unit.row())
        made.append(Ledger.create(path, sf.Budget(epsilon, delta), unit, **options))
        return made[-1]

    yield build
    for ledger in made:
        ledger.close()


@pytest.fixture
def ask():
    """Reserve with everything but the interesting part filled in."""

    def reserve(ledger, request="q1", epsilon="0.1", analyst=None, plan="plan", **parts):
        given = {"dataset": "trips", "version": "1", "loss": Pure(epsilon)} | parts
        return ledger.reserve(request, analyst, plan_digest=plan, **given)

    return reserve


@pytest.fixture
def answer(ask):
    """Take a request all the way."""

    def settle(ledger, request="q1", epsilon="0.1", content=b"public", **parts):
        granted = ask(ledger, request, epsilon, **parts)
        ledger.touch(granted)
        ledger.settle(granted, content)
        return granted

    return settle


@pytest.fixture
def break_at(monkeypatch):
    """Make every new connection raise an SQLite error before statements that begin with a word."""

    class Failing(sqlite3.Connection):
        word, code = None, 0

        def execute(self, sql, *values):
            if Failing.word is not None and sql.startswith(Failing.word):
                problem = sqlite3.OperationalError("/secret/path: 17 rows of Alice")
                problem.sqlite_errorcode = Failing.code
                raise problem
            return super().execute(sql, *values)

    connect = sqlite3.connect
    monkeypatch.setattr(
        ledger_connection.sqlite3, "connect", lambda *a, **k: connect(*a, factory=Failing, **k)
    )

    def plan(word, code=0):
        Failing.word, Failing.code = word, code

    return plan
