"""Tampering, and how a replay finds it: with naive edits, and with hashes made anew."""

import shutil
import sqlite3
from contextlib import suppress
from dataclasses import fields, replace

import pytest

import sfumato as sf
from sfumato.accounting import Charge, Limits
from sfumato.core.codec import digest, encode
from sfumato.core.errors import CodecError, InputError, LedgerCorrupt, LedgerError
from sfumato.ledger import Branch, Event, Ledger, Tally, verify
from sfumato.ledger.branch import Peaks
from sfumato.ledger.chain import link, linked, read_head, write_head
from sfumato.ledger.event import COLUMNS
from sfumato.ledger.journal import SCHEMA
from sfumato.ledger.verify import replay

FAMILY, ENTRIES = digest("trips by zone"), 24
GUARDS = [
    statement.split()[2] for statement in SCHEMA if statement.startswith("CREATE TRIGGER events")
]


@pytest.fixture
def story(make, ask, answer, path):
    """A closed ledger in which everything has happened; returns its head."""
    ledger = make(4, delta="1e-6", analysts={"ana": sf.Budget(3), "bob": sf.Budget(2)})
    answer(ledger, "q1", 1, analyst="ana", content=b"stored")
    ask(ledger, "q1", 1, analyst="bob")
    ledger.release_untouched(ask(ledger, "q2", 1, analyst="bob", plan="b"))
    read = ask(ledger, "q3", "0.5", analyst="ana", plan="c")
    ledger.touch(read)
    ledger.fault(read)
    ledger.acknowledge()
    ledger.refresh("trips", "2")
    ledger.raise_budget(sf.Budget(5, "1e-6"))
    ledger.raise_budget(sf.Budget(3), analyst="bob")
    scope = ledger.open_scope(sf.Budget(1), "ana")  # 14
    a, b = (Branch(FAMILY, key, 2) for key in "ab")
    ask(ledger, "q5", "0.3", analyst="ana", plan="d", part=a, scope=scope)  # 15
    ledger.release_untouched(
        ask(ledger, "q6", "0.2", analyst="ana", plan="e", part=b, scope=scope)  # 16, 17
    )
    answer(ledger, "q7", "0.4", analyst="bob", plan="f", part=b)  # 18, 19, 20
    ask(ledger, "q7", "0.4", analyst="ana", plan="f", part=b, scope=scope)  # 21, given
    ledger.close_scope(scope)  # 22
    ledger.declare("trips", {"caps": 5})  # 23
    ledger.open_scope(sf.Budget("0.5"), "bob")  # 24, left open
    head = ledger.head
    ledger.close()
    assert verify(path, head).ok
    return head


@pytest.fixture
def tamper(path):
    """Run SQL on the file without its guards, which are put back afterwards."""

    def run(*statements):
        other = sqlite3.connect(path, isolation_level=None)
        for guard in GUARDS:
            other.execute(f"DROP TRIGGER {guard}")
        for sql, *values in statements:
            other.execute(sql, values)
        for sql in SCHEMA:
            if sql.startswith("CREATE TRIGGER events"):
                other.execute(sql)
        other.close()

    return run


@pytest.fixture
def forge(path, tamper):
    """Rewrite history: change entries, then renumber them and make all hashes anew."""

    def run(change):
        other = sqlite3.connect(path)
        names = ", ".join(COLUMNS)
        rows = other.execute(f"SELECT {names}, answer FROM events ORDER BY seq").fetchall()  # noqa: S608
        other.close()
        old = [Event(**dict(zip(COLUMNS, row[:-1], strict=True))) for row in rows]
        answers = {event.seq: row[-1] for event, row in zip(old, rows, strict=True)}
        new, last = [], old[0].prev_hash
        for event in change(old):
            new.append((linked(replace(event, prev_hash=last)), answers.get(event.seq)))
            last = new[-1][0].hash
        marks = ", ".join("?" * (len(COLUMNS) + 1))
        tamper(
            ("DELETE FROM events",),
            *(
                (
                    f"INSERT INTO events VALUES ({marks})",  # noqa: S608
                    *(getattr(event, name) for name in COLUMNS),
                    answer,
                )
                for event, answer in new
            ),
        )

    return run


def problems(path, head=None):
    found = verify(path, head)
    assert found.ok == (not found.problems)
    return str(found)


@pytest.mark.parametrize("sql", ["UPDATE events SET time = 0", "DELETE FROM events"])
@pytest.mark.parametrize("table", ["events", "header"])
def test_entries_cannot_be_changed_by_accident(story, path, sql, table):
    sql = sql.replace("events", table).replace("time", "id" if table == "header" else "time")
    with sqlite3.connect(path) as other, pytest.raises(sqlite3.IntegrityError):
        other.execute(sql)
    other.close()
    assert verify(path, story).ok


@pytest.mark.parametrize("sql", ["INSERT OR REPLACE", "INSERT"])
def test_entries_cannot_be_put_over_or_between_others(story, path, sql):
    for seq in ("1", "seq + 100"):
        columns = ", ".join([seq, *COLUMNS[1:], "answer"])
        copy = f"{sql} INTO events SELECT {columns} FROM events WHERE seq = 2"  # noqa: S608
        with sqlite3.connect(path) as other, pytest.raises(sqlite3.IntegrityError):
            other.execute(copy)
        other.close()
    with sqlite3.connect(path) as other, pytest.raises(sqlite3.IntegrityError):
        other.execute("INSERT OR REPLACE INTO header VALUES (1, x'00')")
    other.close()
    assert verify(path, story).ok


@pytest.mark.parametrize("column", [f.name for f in fields(Event) if f.name != "seq"])
def test_changed_column_is_found(story, path, tamper, column):
    value = {"time": 7, "ref": 99, "scope": 14}.get(column, b"x" if "hash" in column else "x")
    tamper((f"UPDATE events SET {column} = ? WHERE seq = 3", value))  # noqa: S608
    assert "entry 3: it was changed" in problems(path)


def flipped(value):
    """Yield a stored value with a bit flipped at its start, middle and end, and other kinds."""
    if isinstance(value, int):
        yield from (value ^ 1, value ^ 128, None)
    elif value is None:
        yield from (b"x", 1, "x")
    else:
        plain = value.encode() if isinstance(value, str) else value
        for place in {0, len(plain) // 2, len(plain) - 1} if plain else ():
            changed = bytearray(plain)
            changed[place] ^= 1
            yield changed.decode() if isinstance(value, str) else bytes(changed)
        yield from (plain[:-1] if plain else b"x", None)
        yield plain if isinstance(value, str) else value.hex()


@pytest.fixture
def naked(path):
    """A connection to the file, in a transaction in which entries can be changed."""
    connection = sqlite3.connect(path, isolation_level=None)
    (before,) = connection.execute("SELECT count(*) FROM events").fetchone()
    assert before == ENTRIES
    yield connection
    connection.close()


def unguarded(connection, sql, *values):
    """Change an entry behind the guards, and say what a replay finds; nothing stays changed."""
    connection.execute("BEGIN")
    guards = [s for s in SCHEMA if s.startswith("CREATE TRIGGER")]
    for guard in guards:
        connection.execute(f"DROP TRIGGER {guard.split()[2]}")
    try:
        connection.execute(sql, values)
        for guard in guards:
            connection.execute(guard)
        return replay(connection)
    finally:
        connection.execute("ROLLBACK")


@pytest.mark.parametrize("column", [*COLUMNS, "answer"])
def test_flipped_bit_is_found_in_every_column_of_every_entry(story, naked, column):
    changes, update = 0, f"UPDATE events SET {column} = ? WHERE seq = ?"  # noqa: S608
    for seq, value in naked.execute(f"SELECT seq, {column} FROM events").fetchall():  # noqa: S608
        for other in [*flipped(value)][seq % 2 :: 2]:  # the others in the next entry
            try:
                found = unguarded(naked, update, other, seq)
            except sqlite3.IntegrityError:
                continue  # what the table itself does not take
            changes += 1
            assert not found.ok, (seq, value, other)
    assert changes >= ENTRIES // 2
    assert replay(naked).ok


def test_flipped_bit_is_found_in_the_header(story, naked):
    (content,) = naked.execute("SELECT content FROM header").fetchone()
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1
        with suppress(LedgerCorrupt):
            assert not unguarded(naked, "UPDATE header SET content = ?", bytes(changed)).ok, place


def check_file_flips(path, head, places):
    """Flip bytes of the file itself: whatever passes still says the same."""
    content = path.read_bytes()
    copy = path.with_name("copy")
    events = Ledger.open(path).history()
    passed = 0
    for place in places:
        changed = bytearray(content)
        changed[place % len(content)] ^= 1 << place % 8
        copy.write_bytes(changed)
        try:
            if verify(copy, head).ok:
                passed += 1
                assert Ledger.open(copy, head=head).history() == events
        except LedgerError:
            pass
        for left in path.parent.glob("copy-*"):
            left.unlink()
    return passed


def test_flipped_bit_of_the_file_is_found_or_means_nothing(story, path):
    assert 0 < check_file_flips(path, story, range(0, path.stat().st_size, 499)) < 140


@pytest.mark.deep
def test_any_flipped_bit_of_the_file_is_found_or_means_nothing(story, path):
    check_file_flips(path, story, range(0, path.stat().st_size, 7))


def test_changed_answer_is_found(story, path, tamper, ask):
    tamper(("UPDATE events SET answer = ? WHERE seq = 3", b"other"))
    assert "entry 3: its answer was changed" in problems(path)
    with pytest.raises(LedgerCorrupt):
        ask(Ledger.open(path), "q1", 1, analyst="ana")


def test_changed_entry_is_not_believed_when_charging(story, path, tamper, ask):
    tamper(("UPDATE events SET sums = ? WHERE seq = 24", encode((Tally(), Tally()))))
    with pytest.raises(LedgerCorrupt, match="was changed"):
        ask(Ledger.open(path), "q9", 1, analyst="ana", plan="z")


def test_removed_entry_is_found(story, path, tamper):
    tamper(("DELETE FROM events WHERE seq = 5",))
    assert "entry 6: entries are missing after 4" in problems(path)


def test_swapped_entries_are_found(story, path, tamper):
    tamper(
        ("UPDATE events SET seq = 1000 WHERE seq = 4",),
        ("UPDATE events SET seq = 4 WHERE seq = 5",),
        ("UPDATE events SET seq = 5 WHERE seq = 1000",),
    )
    assert "entry 4: it does not follow" in problems(path)


def test_changed_header_is_found(story, path):
    header = Ledger.open(path)._header
    generous = replace(header, limits=Limits.of(sf.Budget(100, "1e-6")))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("DROP TRIGGER header_no_update")
    other.execute("UPDATE header SET content = ?", (encode(generous),))
    other.close()
    assert "entry 1: it does not follow" in problems(path)
    assert "guards" in problems(path)
    with pytest.raises(LedgerCorrupt):
        Ledger.open(path)


def test_missing_guard_is_found(story, path):
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("DROP TRIGGER events_no_delete")
    other.close()
    assert "guards" in problems(path)


def test_cut_tail_is_found_against_a_head_only(story, path, forge):
    forge(lambda events: events[:-2])
    assert verify(path).ok
    assert "rolled back" in problems(path, story)


def test_old_copy_is_found_against_a_head(make, ask, path, tmp_path):
    ledger = make()
    early = ledger.head
    ask(ledger)
    ledger.close()
    shutil.copy(path, tmp_path / "copy")
    ask(ledger, "q2", plan="b")
    assert verify(tmp_path / "copy", early).ok
    assert not verify(tmp_path / "copy", ledger.head).ok


def test_other_ledger_with_the_same_entries_is_found(make, ask, path, tmp_path):
    ledger = make()
    other = Ledger.create(tmp_path / "other", sf.Budget(1), sf.Unit.row())
    assert not verify(path, other.head).ok
    ask(ledger), ask(other)
    assert not verify(path, other.head).ok


def edited(number, **columns):
    return lambda events: [replace(e, **columns) if e.seq == number else e for e in events]


def without(number):
    """Drop an entry and close the gap."""

    def run(events):
        left = [event for event in events if event.seq != number]
        return [replace(event, seq=i) for i, event in enumerate(left, start=1)]

    return run


FREE = encode(Charge(0, 0))
PARTS = {key: encode(Branch(FAMILY, key, 2)) for key in "ab"}
FORGERIES = {
    "charge": (edited(1, charge_bytes=FREE), "entry 1: its question is not the one"),
    "sums": (edited(3, sums=encode((Tally(), Tally()))), "entry 3: its running sums do not"),
    "no charge": (edited(1, charge_bytes=None), "entry 1: its charge is missing"),
    "no charge for a gift": (edited(4, charge_bytes=None), "entry 4: its charge is missing"),
    "gift of nothing": (edited(4, ref=2), "entry 4: it gives the answer to another question"),
    "no touch": (without(2), "entry 2: this step does not follow"),
    "settled into returned": (edited(3, kind="returned", state="returned"), "entry 3: this step"),
    "unknown kind": (edited(2, kind="forgotten"), "entry 2: nothing like it"),
    "unknown state": (edited(2, state="reserved"), "entry 2: this step"),
    "other request": (edited(2, body=b"x"), "entry 2: its request is about something else"),
    "other reservation": (edited(2, ref=7), "entry 2: it refers to another"),
    "other return": (edited(6, charge_bytes=FREE), "entry 6: it gives back another charge"),
    "stranger": (edited(5, analyst="eve"), "entry 5: its analyst has no share"),
    "small budget": (
        edited(12, detail=encode((sf.Budget("0.5"), Limits.of(sf.Budget("0.5"))))),
        "entry 12: its budget is below",
    ),
    "used label": (edited(11, version="1"), "entry 11: its version label was used before"),
    "unreadable": (edited(1, loss_bytes=b"{"), "entry 1: it cannot be read"),
    "no loss": (edited(1, loss_bytes=None), "entry 1: it does not say"),
    "answer to a touch": (edited(2, answer_hash=b"x"), "entry 2: an answer belongs"),
    "other part": (edited(15, part=PARTS["b"]), "entry 15: its question is not the one"),
    "no part": (edited(15, part=None, family=None), "entry 15: its question is not the one"),
    "other family": (edited(15, family="0" * 64), "entry 15: it is filed under another family"),
    "no family": (edited(15, family=None), "entry 15: it is filed under another family"),
    "sums of a part": (
        edited(18, peaks_bytes=encode((Peaks(), Peaks()))),
        "entry 18: the sums of its family of parts do not",
    ),
    "no sums of a part": (edited(18, peaks_bytes=None), "entry 18: the sums of its family"),
    "sums of no part": (
        edited(2, peaks_bytes=encode((Peaks(), Peaks()))),
        "entry 2: the sums of its family",
    ),
    "given back to another part": (
        edited(17, part=PARTS["a"]),
        "entry 17: it gives back to another part or scope",
    ),
    "given back to the budget": (
        edited(17, scope=None),
        "entry 17: it gives back to another part or scope",
    ),
    "out of the scope": (edited(15, scope=None), "entry 15: its running sums do not add up"),
    "into no scope": (edited(18, scope=7), "entry 18: its scope is not open, or not its own"),
    "into another's scope": (edited(18, scope=14), "entry 18: its scope is not open, or not"),
    "touch in a scope": (edited(2, scope=14), "entry 2: its scope is not open, or not its own"),
    "small envelope": (
        edited(14, charge_bytes=encode(Charge(10**17, 10**16))),
        "entry 14: its envelope is not that of its budget",
    ),
    "envelope of another budget": (
        edited(
            14,
            detail=encode(sf.Budget("0.5")),
            charge_bytes=encode(Charge(5 * 10**17, 122459331201854565)),
        ),
        "entry 14: its running sums do not add up",
    ),
    "overdrawn scope": (
        edited(
            14,
            detail=encode(sf.Budget("0.1")),
            charge_bytes=encode(Charge(10**17, 4995837495787998)),
        ),
        "entry 15: its scope does not admit it",
    ),
    "large envelope": (
        edited(
            24,
            detail=encode(sf.Budget(9)),
            charge_bytes=encode(Charge(9 * 10**18, 8997779298858319346)),
        ),
        "entry 24: the budget does not admit it",
    ),
    "scope of a stranger": (edited(24, analyst="eve"), "entry 24: its analyst has no share"),
    "freed twice": (
        lambda events: [*events[:22], replace(events[21], seq=23)],
        "entry 23: its scope is not open",
    ),
    "freed for another": (edited(22, analyst="bob"), "entry 22: its scope is not open"),
    "freed nothing": (edited(22, scope=None), "entry 22: its scope is not open"),
    "never freed": (without(22), "entry 22: its running sums do not add up"),
    "sums in a scope": (
        edited(15, sums=encode((Tally(), Tally(), Tally(), Tally()))),
        "entry 15: its running sums do not",
    ),
    "declared twice": (
        lambda events: [*events[:23], replace(events[22], seq=24)],
        "entry 24: it declares nothing new",
    ),
    "declared about nothing": (edited(23, dataset=None), "entry 23: it declares nothing new"),
    "declared unreadably": (edited(23, detail=b"{"), "entry 23: it cannot be read"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_forged_history_is_found_by_its_meaning(story, path, forge, forgery):
    change, says = FORGERIES[forgery]
    forge(change)
    found = problems(path, story)
    assert says in found
    assert "it was changed after" not in found
    assert "rolled back" in found


UNBELIEVED = {
    "budget of another kind": (edited(12, detail=encode((1, 2))), lambda ledger, _: ledger.budget),
    "unreadable sums": (edited(24, sums=b"{"), lambda ledger, _: ledger.head),
    "gift of nothing": (
        edited(4, ref=999),
        lambda ledger, ask: ask(ledger, "q1", 1, analyst="bob"),
    ),
    "sums of a part too few": (
        edited(18, peaks_bytes=encode((Peaks(),))),
        lambda ledger, _: ledger.history(),
    ),
    "scope of another kind": (
        edited(24, detail=encode(1)),
        lambda ledger, _: ledger.scopes(),
    ),
    "lost reservation": (
        lambda events: [events[0], replace(events[1], ref=999)],
        lambda ledger, _: ledger.pending(),
    ),
}


@pytest.mark.parametrize("forgery", UNBELIEVED)
def test_forged_history_is_not_believed_by_who_meets_it(story, path, forge, ask, forgery):
    change, use = UNBELIEVED[forgery]
    forge(change)
    with pytest.raises(LedgerCorrupt):
        use(Ledger.open(path), ask)


def test_spending_beyond_the_budget_is_found(make, ask, path):
    ledger = make(1)
    ask(ledger, "q1", "0.9")
    ledger._header = replace(ledger._header, limits=Limits.of(sf.Budget(100)))
    ask(ledger, "q2", "0.9", plan="b")
    assert "entry 2: the budget does not admit it" in problems(path)


def test_spending_beyond_a_share_is_found(make, ask, path):
    ledger = make(5, analysts={"ana": sf.Budget(1)})
    ledger._header = replace(
        ledger._header, analysts=(("ana", sf.Budget(9), Limits.of(sf.Budget(9))),)
    )
    ask(ledger, "q1", 2, analyst="ana")
    assert "entry 1: its analyst's share does not admit it" in problems(path)


def test_other_width_of_a_family_is_found(make, ask, path, monkeypatch):
    ledger = make(5)
    ask(ledger, "q1", part=Branch(FAMILY, "a", 2))
    monkeypatch.setattr("sfumato.ledger.event.Event.branch", property(lambda _: None))
    ask(ledger, "q2", plan="b", part=Branch(FAMILY, "b", 1))
    monkeypatch.undo()
    assert "entry 2: its family of parts had another width" in problems(path)


def test_spending_beyond_a_scope_is_found(make, ask, path, monkeypatch):
    ledger = make(5)
    scope = ledger.open_scope(sf.Budget(1))
    monkeypatch.setattr("sfumato.ledger.scope.Scope.admits", lambda *_: True)
    ask(ledger, "q1", 2, scope=scope)
    assert problems(path) == "entry 2: its scope does not admit it."


def test_scope_that_was_opened_on_closed_data_is_found(make, path, monkeypatch):
    ledger = make(5)
    ledger.fault()
    monkeypatch.setattr("sfumato.ledger.journal.Journal.closed", lambda _: False)
    ledger.open_scope(sf.Budget(1))
    assert problems(path) == "entry 2: the data was closed."


def test_use_of_closed_data_is_found(make, ask, path, monkeypatch):
    ledger = make(5)
    ledger.fault()
    monkeypatch.setattr("sfumato.ledger.journal.Journal.closed", lambda _: False)
    ask(ledger)
    assert "entry 2: the data was closed" in problems(path)


def test_charge_under_another_relation_is_found(make, ask, path, monkeypatch):
    ledger = make(5)
    monkeypatch.setattr("sfumato.ledger.store.check_relation", lambda *_: None)
    monkeypatch.setattr(ledger._header.__class__, "neighbors", "replace")
    ask(ledger, loss=sf.core.loss.Pure(1, neighbors="replace"))
    monkeypatch.undo()
    assert "entry 1: its charge holds under another neighbor relation" in problems(path)


@pytest.mark.parametrize("page", [2, 3])
def test_damaged_page_is_found(make, answer, path, page):
    ledger = make(100)
    for i in range(30):
        answer(ledger, f"q{i}", plan=f"p{i}", content=bytes(500))
    ledger.close()
    content = bytearray(path.read_bytes())
    content[page * 4096 : page * 4096 + 2000] = bytes(2000)
    path.write_bytes(content)
    try:
        found = verify(path)
    except LedgerCorrupt:
        return
    assert "damaged" in str(found)


def test_ten_thousand_problems_are_not_all_listed(make, ask, path, tamper):
    ledger = make(1000)
    for i in range(120):
        ask(ledger, f"q{i}", plan=f"p{i}")
    ledger.close()
    tamper(("UPDATE events SET time = 0",))
    assert len(verify(path).problems) == 100


def test_every_column_is_part_of_the_hash():
    plain = Event(seq=1, prev_hash=b"", hash=b"", kind="touched")
    for name in COLUMNS:
        changed = replace(plain, **{name: 7 if name in ("seq", "ref", "scope", "time") else b"7"})
        assert (link(changed) == link(plain)) == (name == "hash"), name


def test_head_is_read_as_it_is_written():
    assert read_head(write_head(118, bytes(range(32)))) == (118, bytes(range(32)))
    for bad in (
        "",
        "118",
        "01:" + "0" * 64,
        "1:" + "0" * 63,
        "1:" + "G" * 64,
        None,
        "-1:" + "0" * 64,
    ):
        with pytest.raises(InputError):
            read_head(bad)


def test_stored_value_of_another_type_is_refused():
    for event in (
        Event(seq=1, prev_hash=b"", hash=b"", kind="reserved", charge_bytes=encode(1)),
        Event(seq=1, prev_hash=b"", hash=b"", kind="reserved", charge_bytes=encode(sf.Budget(1))),
    ):
        with pytest.raises(CodecError):
            event.charge  # noqa: B018


def test_tally_gives_back_what_it_took_and_no_more():
    price = Charge(5, None, 2)
    tally = Tally().plus(price).plus(Charge(None, 3))
    assert tally == Tally(5, 3, 2, 1, 1)
    assert tally.minus(price) == Tally(0, 3, 0, 1, 0)
    with pytest.raises(sf.errors.RangeError):
        Tally().minus(price)


def test_what_was_spent_after_a_raise_is_within_the_raised_limit(make, ask, path):
    ledger = make(2, analysts={"ana": sf.Budget(1), "bob": sf.Budget(1)})
    ledger.raise_budget(sf.Budget(6))
    ledger.raise_budget(sf.Budget(4), analyst="ana")
    ask(ledger, "q1", 4, analyst="ana")
    ask(ledger, "q2", 1, analyst="bob", plan="b")
    ledger.close()
    assert verify(path).ok


def test_what_was_spent_after_a_cut_is_held_against_the_lower_limit(make, ask, path, monkeypatch):
    """A replay holds what comes after a cut against it, even where the ledger did not."""
    ledger = make(6, analysts={"ana": sf.Budget(6)})
    ledger.raise_budget(sf.Budget(2))
    monkeypatch.setattr(Limits, "admit", lambda *_: True)
    ask(ledger, "q1", 4, analyst="ana")
    ledger.close()
    monkeypatch.undo()
    assert not verify(path).ok


@pytest.mark.parametrize("path", ["a/" * 3000, ".", "/"])
def test_path_without_a_file_is_refused(path, make):
    for look in (verify, Ledger.open):
        with pytest.raises(LedgerError, match="no ledger at this path"):
            look(path)
    with pytest.raises(LedgerError):
        Ledger.create(path, sf.Budget(1), sf.Unit.row())
    with pytest.raises(LedgerError):
        make().backup(path)
