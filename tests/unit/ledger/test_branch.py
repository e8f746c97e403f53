"""Parallel composition: of the parts of a family, the largest few count."""

import itertools
from fractions import Fraction

import pytest

import sfumato as sf
from sfumato.accounting import Charge, charge
from sfumato.core.codec import decode, digest, encode
from sfumato.core.errors import BudgetExceeded, CodecError, InputError, LedgerCorrupt, RequestError
from sfumato.core.loss import Approximate, Concentrated, Pure
from sfumato.ledger import Branch, Ledger, Tally
from sfumato.ledger.branch import Peaks

FAMILY, OTHER = digest("trips by zone"), digest("trips by hour")
TENTH = Fraction(1, 10)


@pytest.fixture
def part(ask):
    """Ask about one part, under an id of its own."""
    number = itertools.count()

    def reserve(ledger, key, epsilon="0.1", width=1, family=FAMILY, **more):
        name = f"part {next(number)}"
        more = {"plan": name} | more
        return ask(ledger, name, epsilon, part=Branch(family, key, width), **more)

    return reserve


def test_parts_that_one_unit_cannot_share_cost_the_largest(make, part):
    ledger = make()
    for key, epsilon in [("a", "0.5"), ("b", "0.3"), ("c", 1), ("a", "0.5"), ("b", "0.6")]:
        part(ledger, key, epsilon)
    assert ledger.remaining().epsilon == 0
    with pytest.raises(BudgetExceeded):
        part(ledger, "a", "1e-18")
    part(ledger, "b", "0.1")
    assert ledger.spent().epsilon == 10**18
    assert ledger.verify().ok


@pytest.mark.parametrize(
    ("width", "spent"), [(1, 9), (2, 9 + 7), (3, 9 + 7 + 4), (4, 9 + 7 + 4 + 2), (9, 22)]
)
def test_as_many_parts_count_as_one_unit_can_be_in(make, part, width, spent):
    ledger = make(9)
    for key, tenths in [("a", 3), ("b", 7), ("c", 4), ("d", 2), ("a", 6)]:
        part(ledger, key, tenths * TENTH, width)
    assert ledger.spent().epsilon == spent * 10**17
    assert ledger.verify().ok


def test_largest_are_chosen_for_each_figure_separately(make, part):
    ledger = make(5, delta="1e-6")
    losses = {"a": Pure("0.9"), "b": Approximate("0.5", "1e-7"), "c": Concentrated("0.3")}
    for key, loss in losses.items():
        part(ledger, key, loss=loss)
    prices = [charge(loss) for loss in losses.values()]
    spent = ledger.spent()
    assert spent.epsilon is None
    assert spent.rho == max(price.rho for price in prices)
    assert spent.delta == max(price.delta for price in prices) > 0
    assert ledger.verify().ok


def test_families_and_plain_charges_add_up(make, part, ask):
    ledger = make()
    ask(ledger, "plain", "0.1", plan="plain")
    for family, key, epsilon in [(FAMILY, "a", "0.3"), (FAMILY, "b", "0.2"), (OTHER, "a", "0.4")]:
        part(ledger, key, epsilon, family=family)
    assert ledger.remaining().epsilon == 1 - Fraction(8, 10)
    assert ledger.verify().ok


def test_same_family_with_another_width_is_refused(make, part):
    ledger = make()
    part(ledger, "a", width=2)
    head = ledger.head
    for key, width in [("a", 1), ("b", 1), ("b", 3)]:
        with pytest.raises(RequestError, match="another width"):
            part(ledger, key, width=width)
    assert ledger.head == head
    part(ledger, "b", width=2)


def test_every_share_counts_its_own_parts(make, part):
    ledger = make(2, analysts={"ana": sf.Budget(1), "bob": sf.Budget("0.3")})
    part(ledger, "a", "0.9", analyst="ana")
    part(ledger, "a", "0.2", analyst="bob")
    part(ledger, "b", "0.3", analyst="bob")
    assert ledger.remaining("ana").epsilon == TENTH
    assert ledger.remaining("bob").epsilon == 0
    assert ledger.remaining().epsilon == 2 - Fraction(11, 10)
    with pytest.raises(BudgetExceeded, match=r"0 of 0\.3 remains"):
        part(ledger, "a", "0.2", analyst="bob")
    part(ledger, "a", "0.1", analyst="bob")
    assert ledger.verify().ok


def test_given_answer_is_charged_to_a_share_as_a_part(make, ask, answer):
    ledger = make(2, analysts={"ana": sf.Budget(1), "bob": sf.Budget("0.5")})
    for key in ("a", "b"):
        answer(ledger, key, "0.4", analyst="ana", plan=key, part=Branch(FAMILY, key))
    assert ledger.remaining("ana").epsilon == Fraction(6, 10)
    for key in ("a", "b"):
        given = ask(ledger, f"{key} again", "0.4", "bob", key, part=Branch(FAMILY, key))
        assert given.answer == b"public"
        assert ledger.remaining("bob").epsilon == TENTH
    assert ledger.remaining().epsilon == Fraction(16, 10)
    ask(ledger, "his", "0.1", "bob", "his", part=Branch(FAMILY, "a"))  # 0.5 in his, in all too
    assert ledger.remaining("bob").epsilon == 0
    assert ledger.remaining().epsilon == Fraction(15, 10)
    free = ask(ledger, "free", "0.4", "bob", "a", part=Branch(FAMILY, "a"))
    assert free.answer == b"public"
    assert ledger.remaining("bob").epsilon == 0
    with pytest.raises(BudgetExceeded):
        ask(ledger, "more", "0.1", "bob", "more", part=Branch(FAMILY, "a"))
    assert ledger.verify().ok


def test_given_back_part_leaves_what_the_others_cost(make, part):
    ledger = make()
    kept = part(ledger, "a", "0.3")
    spent = [ledger.spent().epsilon]
    back = [part(ledger, key, epsilon) for key, epsilon in [("b", "0.5"), ("a", "0.4"), ("c", 1)]]
    for granted in reversed(back):
        ledger.release_untouched(granted)
        spent.append(ledger.spent().epsilon)
    assert spent == [units * 10**17 for units in (3, 7, 5, 3)]
    ledger.touch(kept)
    assert ledger.verify().ok


def test_given_back_part_without_a_view_opens_it_again(make, part):
    ledger = make(2, delta="1e-6")
    part(ledger, "a", "0.2")
    before = ledger.remaining()
    first = part(ledger, "b", loss=Concentrated("0.01"))
    second = part(ledger, "a", loss=Concentrated("0.01"))
    assert ledger.remaining().epsilon is None
    ledger.release_untouched(first)
    assert ledger.remaining().epsilon is None
    ledger.release_untouched(second)
    assert ledger.remaining() == before
    assert ledger.verify().ok


def test_part_counts_after_the_file_was_opened_again(make, part, path):
    part(make(), "a", "0.6")
    other = Ledger.open(path)
    part(other, "b", "0.6")
    assert other.remaining().epsilon == Fraction(4, 10)
    with pytest.raises(BudgetExceeded):
        part(other, "a", "0.5")


@pytest.mark.parametrize(
    "bad",
    [("f", "a", 1), (FAMILY.upper(), "a", 1), (7, "a", 1), (FAMILY, "", 1), (FAMILY, 3, 1)]
    + [(FAMILY, "a", width) for width in (0, -1, True, "2", 1.0)],
    ids=repr,
)
def test_branch_that_makes_no_sense_is_refused(bad):
    with pytest.raises(InputError):
        Branch(*bad)


@pytest.mark.parametrize("given", [{"part": ("a",)}, {"part": "a"}, {"scope": 3}], ids=repr)
def test_part_and_scope_must_be_what_they_are_called(make, ask, given):
    ledger = make()
    with pytest.raises(InputError, match="Branch"):
        ask(ledger, **given)
    assert ledger.history() == []


def test_branch_is_stored_as_it_is(make, part):
    ledger = make()
    part(ledger, "a", width=3)
    (event,) = ledger.history()
    assert event.branch == Branch(FAMILY, "a", 3)
    assert event.family == FAMILY
    assert decode(encode(event.branch)) == event.branch
    assert (
        event.peaks == (Peaks(Tally(10**17, charge(Pure(TENTH)).rho), event.peaks[0].largest),) * 2
    )
    with pytest.raises(CodecError):
        decode(encode(event.branch).replace(b'"width":3', b'"width":0'))


def test_largest_are_the_same_whether_kept_or_chosen_anew():
    kept, parts, width = {}, {}, 2
    largest = Peaks().largest
    for step, (key, epsilon) in enumerate(
        itertools.product("abcd", (3, 1, 2, 5, None, 2)), start=1
    ):
        price = Charge(epsilon, (step * 7) % 5, step % 3)
        before = Peaks(parts.get(key, Tally()), largest)
        after = before.plus(price, width)
        parts[key], largest = after.part, after.largest
        assert after == Peaks.of(after.part, parts.values(), width)
        kept[key] = after
    assert [len(figures) for figures in largest] == [2, 2, 2]


def test_every_question_to_the_entries_of_parts_is_answered_by_an_index(make, part):
    ledger = make(100)
    scope = ledger.open_scope(sf.Budget(1))
    ledger.release_untouched(part(ledger, "a", scope=scope))
    seen = []
    sqlite = ledger._file._sqlite
    sqlite.set_trace_callback(seen.append)
    ledger.release_untouched(part(ledger, "a", scope=scope))
    sqlite.set_trace_callback(None)
    asked = [sql for sql in seen if sql.startswith("SELECT") and "peaks_bytes IS NOT NULL" in sql]
    assert len(asked) > 10
    for sql in asked:
        steps = [row[3] for row in sqlite.execute(f"EXPLAIN QUERY PLAN {sql}")]
        assert all("SCAN" not in step for step in steps), steps
        if "GROUP BY" not in sql:
            assert all("TEMP B-TREE" not in step for step in steps), steps


def test_charge_is_refused_even_where_the_filter_finds_no_words_for_it(make, part, monkeypatch):
    ledger = make()
    part(ledger, "a", "0.6")
    monkeypatch.setattr("sfumato.ledger.admission.spend", lambda *_: None)
    with pytest.raises(LedgerCorrupt):
        part(ledger, "a", "0.6")
    assert len(ledger.history()) == 1
