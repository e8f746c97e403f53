"""A file that was damaged after it was written: counted as before, or refused; never for less.

The disk is taken to have lied or rotted: what was synced and acknowledged is cut off or changed.
What is lost without a trace, from the end of the log, is found against a head that was kept.
"""

import random
import shutil
import sqlite3
from collections import Counter
from contextlib import closing, suppress
from fractions import Fraction

import pytest

import sfumato as sf
from sfumato.core.codec import digest
from sfumato.core.errors import LedgerError, SfumatoError
from sfumato.core.loss import Pure
from sfumato.ledger import Branch, Ledger, structure, verify

PAGE = 4096
PRICE = Fraction(1, 100)
FAMILY = digest("family")
PARTS = [Branch(FAMILY, f"part {i}", 2) for i in range(3)]


def fill(ledger, rounds):
    """Do everything that is counted by, several times, so that it takes many pages."""
    for i in range(rounds):
        for who in ("ana", "bob"):
            granted = ledger.reserve(f"q{i}", who, "t", "1", f"plan {who} {i}", Pure(PRICE))
            ledger.touch(granted)
            ledger.settle(granted, b"answer" * 100)
        ledger.reserve(f"p{i}", "ana", "t", "1", f"p {i}", Pure(PRICE), part=PARTS[i % 3])
        scope = ledger.open_scope(sf.Budget(3 * PRICE), "bob")
        ledger.reserve(f"s{i}", "bob", "t", "1", f"s {i}", Pure(PRICE), scope=scope)
        if i % 2:
            ledger.close_scope(scope)
    ledger.raise_budget(sf.Budget(50))
    ledger.raise_budget(sf.Budget(20), "ana")
    ledger.fault()


def counted(ledger):
    """Return all that decides about what may be spent."""
    return {
        "total": ledger.spent().epsilon,
        **{who: ledger.spent(who).epsilon for who in ("ana", "bob")},
        "limits": (ledger.budget, ledger.analysts),
        "closed": ledger.closed,
        "scopes": sorted((scope.id, inside.epsilon) for scope, inside in ledger.scopes().items()),
    }


def later(ledger):
    """Return what is counted after one more charge of each kind, by what their entries say."""
    ledger.acknowledge()
    before = ledger.spent().epsilon
    ledger.reserve("later", "ana", "t", "1", "later", Pure(PRICE))
    ledger.reserve("later part", "ana", "t", "1", "later part", Pure(PRICE), part=PARTS[0])
    return before, ledger.spent().epsilon, ledger.spent("ana").epsilon


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Return a closed ledger, what it counts, and what it would count after more charges."""
    path = tmp_path_factory.mktemp("kept") / "ledger"
    shares = {"ana": sf.Budget(60), "bob": sf.Budget(60)}
    ledger = Ledger.create(path, sf.Budget(100), sf.Unit.row(), analysts=shares)
    fill(ledger, 12)
    facts, head = counted(ledger), ledger.head
    ledger.close()
    copy = path.with_name("copy")
    shutil.copy(path, copy)
    other = Ledger.open(copy)
    after = later(other)
    other.close()
    return path.read_bytes(), facts, after, head


def outcome(path, kept):
    """Say what becomes of a file: refused at once, refused later, counted as before, or lost."""
    _, facts, after, _ = kept
    try:
        ledger = Ledger.open(path)
    except LedgerError as problem:
        assert "[E40" in str(problem)
        return "refused"
    try:
        if (found := counted(ledger)) != facts:
            return f"lost: {[key for key in facts if facts[key] != found[key]]}"
        return "counted" if later(ledger) == after else "lost: later"
    except LedgerError:
        return "refused when used"
    finally:
        with suppress(SfumatoError):
            ledger.close()


@pytest.fixture
def put(tmp_path):
    """Write a file, and a log beside it, as a machine left them."""

    def write(content, log=None):
        path = tmp_path / "left"
        for name in ("left", "left-wal", "left-shm"):
            (tmp_path / name).unlink(missing_ok=True)
        path.write_bytes(content)
        if log is not None:
            path.with_name("left-wal").write_bytes(log)
        return path

    return write


def cut_anywhere(kept, put, more):
    content, _, _, head = kept
    rng = random.Random(7)  # noqa: S311 - a seed that repeats is what is wanted
    cuts = {*range(0, len(content), PAGE), *(rng.randrange(len(content)) for _ in range(more))}
    for cut in sorted(cuts):
        path = put(content[:cut])
        assert outcome(path, kept).startswith("refused"), cut
        with suppress(LedgerError):
            assert not verify(path, head).ok, cut


def test_file_that_was_cut_anywhere_is_refused(kept, put):
    cut_anywhere(kept, put, 30)


@pytest.mark.deep
def test_file_that_was_cut_at_many_more_bytes_is_refused(kept, put):
    cut_anywhere(kept, put, 800)


def places(content, count, seed):
    """Name bits: half of them in the heads of pages, where they do most, half of them anywhere."""
    rng = random.Random(seed)  # noqa: S311
    pages = len(content) // PAGE
    for number in range(count):
        page = rng.choice([rng.randrange(pages), pages - 1])
        place = rng.randrange(140) if number % 2 else rng.randrange(PAGE)
        yield page * PAGE + place, 1 << rng.randrange(8)


def flip_anywhere(kept, put, count, seed):
    found = Counter()
    for place, bit in places(kept[0], count, seed):
        content = bytearray(kept[0])
        content[place] ^= bit
        became = outcome(put(content), kept)
        assert not became.startswith("lost"), (place, bit, became)
        found[became] += 1
    return found


def test_bit_that_was_flipped_anywhere_loses_no_charge(kept, put):
    found = flip_anywhere(kept, put, 80, 1)
    assert min(found["refused"], found["counted"]) > 5


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(2, 6))
def test_any_of_many_flipped_bits_loses_no_charge(kept, put, seed):
    flip_anywhere(kept, put, 800, seed)


def test_entry_that_an_index_lost_is_found_when_the_file_is_opened(kept, put):
    """What was found before it was looked for: a lowered limit that nobody saw any more."""
    lost = 0
    for place in range(0, len(kept[0]), PAGE):
        # One cell less in a page of an index: all that its last entry says is not found any more.
        if kept[0][place] != 10 or kept[0][place + 4] < 2:
            continue
        content = bytearray(kept[0])
        content[place + 4] -= 1
        assert outcome(put(content), kept) == "refused"
        lost += 1
    assert lost > 5


def test_last_entry_that_a_large_file_lost_is_found_when_it_is_opened(kept, put, monkeypatch):
    monkeypatch.setattr(structure, "_SMALL", 0)
    assert outcome(put(kept[0]), kept) == "counted"
    entries = int(kept[3].split(":")[0])
    lost = 0
    for place in range(0, len(kept[0]), PAGE):
        content = bytearray(kept[0])
        if content[place] != 13:  # a page of a table
            continue
        content[place + 4] -= 1
        path = put(content)
        with closing(sqlite3.connect(path)) as other, suppress(sqlite3.Error):
            lost += (hides := other.execute(LAST).fetchone() != (entries,))
            if hides:
                assert outcome(path, kept) == "refused"
    assert lost == 1


LAST = "SELECT max(seq) FROM events NOT INDEXED"


@pytest.fixture(scope="module")
def logged(tmp_path_factory):
    """Return a ledger whose last entries are in its log: both files, how much counts, the head."""
    path = tmp_path_factory.mktemp("logged") / "ledger"
    ledger = Ledger.create(path, sf.Budget(9), sf.Unit.row())
    for i in range(6):
        granted = ledger.reserve(f"q{i}", None, "t", "1", f"plan {i}", Pure(PRICE))
        ledger.touch(granted)
        ledger.settle(granted, b"answer" * 900)
    log = path.with_name("ledger-wal")
    yield path.read_bytes(), log.read_bytes(), ledger.spent(), ledger.head
    ledger.close()


def tear_log(logged, put, count, seed):
    """Flip a bit of the log, or cut it; or both files."""
    content, log, spent, head = logged
    rng = random.Random(seed)  # noqa: S311
    found = Counter()
    for number in range(count):
        torn, place = bytearray(log), rng.randrange(len(log))
        if number % 3:
            torn[place] ^= 1 << rng.randrange(8)
        else:
            del torn[place:]
        cut = rng.randrange(len(content)) if number % 3 == 2 else len(content)
        path = put(content[:cut], torn)
        try:
            ledger = Ledger.open(path, head=head)
        except LedgerError as problem:
            assert "[E40" in str(problem)
            with suppress(LedgerError):
                assert not verify(path, head).ok
            found["told"] += 1
            continue
        assert ledger.spent() == spent, (number, place)
        assert ledger.verify(head).ok
        ledger.close()
        found["counted"] += 1
    return found


def test_log_that_was_torn_anywhere_is_told_by_a_head(logged, put):
    assert tear_log(logged, put, 40, 1) == {"told": 40}  # every byte of it is summed


@pytest.mark.deep
def test_log_that_was_torn_at_many_places_is_told_by_a_head(logged, put):
    assert tear_log(logged, put, 1200, 2) == {"told": 1200}
