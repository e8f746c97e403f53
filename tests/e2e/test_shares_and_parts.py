"""What is asked twice, or of parts, costs what it should: by whoever, in whichever process, later.

Every step opens the ledger's file anew, as another process would.
"""

from fractions import Fraction

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.errors import BudgetExceeded
from sfumato.ledger import Ledger, verify

TRIPS = pa.table(
    {
        "rider": ["a", "a", "b", "c", "c", "d"],
        "zone": ["A", "B", "A", "C", "A", "B"],
        "hour": [1, 2, 3, 1, 2, 3],
    }
)
SCHEMA = sf.Schema(zone=sf.Category(["A", "B", "C"]), hour=sf.Integer(0, 23))
HALF = Fraction(1, 2)


class Books:
    """One ledger in a file, and sessions that open it for one question each."""

    def __init__(self, folder, unit, shares=None):
        self.path, self.unit = folder / "ledger", unit
        Ledger.create(self.path, sf.Budget(9), unit, analysts=shares).close()

    def ask(self, question, price=HALF, *, unit=None, version="1", analyst=None, **columns):
        ledger = Ledger.open(self.path)
        with sf.Session(
            TRIPS,
            unit=unit or self.unit,
            schema=sf.Schema({**SCHEMA, **columns}),
            budget=sf.Budget(9),
            ledger=ledger,
            version=version,
            analyst=analyst,
            name="trips",
        ) as session:
            answer = question(session.table()).release(epsilon=price)
        ledger.close()
        return answer

    def spent(self, analyst=None):
        ledger = Ledger.open(self.path, read_only=True)
        found = Fraction(ledger.spent(analyst).epsilon, 10**18)
        ledger.close()
        return found

    @property
    def entries(self):
        found = verify(self.path)
        assert found.ok, str(found)
        return found.entries


def count(table):
    return table.count()


def part(key, column="zone"):
    return lambda table: table.partition(column)[key].count()


# ---- a stored answer, to another analyst ---------------------------------------------------------


def test_stored_answer_costs_the_second_analyst_their_share_and_the_total_nothing(tmp_path):
    books = Books(tmp_path, sf.Unit.row(), {"ana": sf.Budget(1), "bob": sf.Budget(1)})
    first = books.ask(count, analyst="ana")
    assert (books.spent(), books.spent("ana"), books.spent("bob")) == (HALF, HALF, 0)
    assert verify(books.path, first.receipt).ok  # what paid for it is a head
    for _ in range(2):  # the second time it is theirs
        given = books.ask(count, analyst="bob")
        assert given["n"].value == first["n"].value
        assert (books.spent(), books.spent("ana"), books.spent("bob")) == (HALF, HALF, HALF)
    books.ask(lambda t: t.filter("hour < 2").count(), analyst="bob")
    assert (books.spent(), books.spent("bob")) == (1, 1)
    with pytest.raises(BudgetExceeded):  # their own share is spent
        books.ask(lambda t: t.filter("hour < 3").count(), analyst="bob")
    assert books.ask(count, analyst="bob")["n"].value == first["n"].value  # and this stays theirs


def test_stored_answer_that_does_not_fit_the_second_share_is_refused_and_not_shown(tmp_path):
    books = Books(tmp_path, sf.Unit.row(), {"ana": sf.Budget(1), "bob": sf.Budget("0.4")})
    far = sf.Integer(0, 2**40)  # so that an answer would be recognized
    first = books.ask(lambda t: t.sum("hour"), analyst="ana", hour=far)
    entries = books.entries
    with pytest.raises(BudgetExceeded) as refused:
        books.ask(lambda t: t.sum("hour"), analyst="bob", hour=far)
    assert str(first["hour"].value) not in str(refused.value)
    assert (books.entries, books.spent("bob"), books.spent()) == (entries, 0, HALF)


def test_stored_answer_of_a_part_costs_the_second_share_as_a_part(tmp_path):
    books = Books(tmp_path, sf.Unit.row(), {"ana": sf.Budget(1), "bob": sf.Budget(1)})
    answers = {key: books.ask(part(key), analyst="ana")["n"].value for key in "AB"}
    assert (books.spent(), books.spent("ana")) == (HALF, HALF)
    for key in "AB":
        assert books.ask(part(key), analyst="bob")["n"].value == answers[key]
    assert (books.spent(), books.spent("bob")) == (HALF, HALF)


# ---- parts, across calls -------------------------------------------------------------------------


def test_parts_on_a_public_column_cost_the_largest_across_calls(tmp_path):
    books = Books(tmp_path, sf.Unit.row())
    for key, price, total in [("A", "0.5", "0.5"), ("B", "0.5", "0.5"), ("C", "0.75", "0.75")]:
        books.ask(part(key), price)
        assert books.spent() == Fraction(total)
    books.ask(lambda t: t.partition("zone")["A"].sum("hour"), "0.5")  # the same part: 1 by now
    assert books.spent() == 1
    assert books.entries == 1 + 4 * 3  # one declaration; each was charged, read and stored


OTHERS = {
    "the whole table": {"question": count},
    "another column": {"question": part(3, "hour")},
    "another version": {"question": part("B"), "version": "2"},
    "other keys": {"question": lambda t: t.partition("zone", ["B", "C"])["B"].count()},
    "a filter below": {"question": lambda t: t.filter("hour < 2").partition("zone")["B"].count()},
}


@pytest.mark.parametrize("other", OTHERS)
def test_what_is_no_part_of_the_same_partition_adds_up(tmp_path, other):
    books = Books(tmp_path, sf.Unit.row())
    books.ask(part("A"))
    books.ask(**OTHERS[other])
    assert books.spent() == 1
    assert books.entries


def test_parts_add_up_after_an_edit_of_caps(tmp_path):
    units = [sf.Unit.by("rider", max_rows=rows, max_groups=1) for rows in (3, 2)]
    books = Books(tmp_path, units[0])
    for key, unit, total in [("A", 0, HALF), ("B", 0, HALF), ("C", 1, 1), ("B", 1, 1)]:
        books.ask(part(key), unit=units[unit])
        assert books.spent() == total


@pytest.mark.parametrize(("groups", "counted"), [(1, 1), (2, 2), (3, 3)])
def test_as_many_parts_count_as_one_unit_may_be_in(tmp_path, groups, counted):
    books = Books(tmp_path, sf.Unit.by("rider", max_rows=3, max_groups=groups))
    for key in "ABC":
        books.ask(part(key))
    assert books.spent() == counted * HALF


def test_twice_as_many_parts_count_where_a_unit_replaces_another(tmp_path):
    books = Books(tmp_path, sf.Unit.row("replace"))
    for number, key in enumerate("ABC"):
        books.ask(part(key))
        assert books.spent() == min(number + 1, 2) * HALF
