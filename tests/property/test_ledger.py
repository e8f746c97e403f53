"""The ledger against a model in memory, with crashes: full disks, lost replies, reopened files.

The model keeps a list of charges. What an account counts is worked out from that list each time:
plain charges, the largest parts of families, and what open scopes hold beside.
"""

import shutil
import sqlite3
import tempfile
from collections import Counter
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import NamedTuple
from unittest.mock import patch

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import sfumato as sf
from sfumato.accounting import charge
from sfumato.core.codec import digest
from sfumato.core.errors import (
    AnalystError,
    BudgetExceeded,
    DataClosed,
    LedgerError,
    RequestError,
)
from sfumato.core.loss import Approximate, Concentrated, Pure
from sfumato.ledger import Branch, Ledger, verify
from sfumato.ledger import connection as ledger_connection
from sfumato.ledger.scope import envelope

UNITS = 10**18
SHARES = {"ana": sf.Budget("0.7", "1e-6"), "bob": sf.Budget("0.4", "1e-6")}
TOTAL = sf.Budget(1, "1e-6")
LOSSES = {
    "tiny": Pure("0.01"),
    "small": Pure("0.07"),
    "large": Pure("0.3"),
    "gauss": Concentrated("0.002"),
    "failing": Approximate("0.02", "1e-8"),
}
ANALYSTS = st.sampled_from(["ana", "bob"])
REQUESTS = st.sampled_from(["q1", "q2", "q3", "q4", "q5", "q6"])
PARTS = {  # families that one unit is in one part of, or in two
    f"{name}{key}": Branch(digest(name), key, width)
    for name, width in (("one", 1), ("two", 2))
    for key in "abc"
}
QUESTIONS = st.tuples(
    st.sampled_from(["plan a", "plan b"]),
    st.sampled_from(sorted(LOSSES)),
    st.sampled_from([None, None, *PARTS]),
)
BUDGETS = [sf.Budget("0.2"), sf.Budget("0.3", "1e-7"), sf.Budget(rho="0.004"), sf.Budget("0.05")]


FITTING = {  # how a request goes on, by its state
    "reserved": ["touch", "touch", "release_untouched"],
    "touched": ["settle", "settle", "abandon", "settle", "settle", "fault"],
}
STEPS = ["touch", "settle", "abandon", "release_untouched", "fault"]


class Flaky(sqlite3.Connection):
    """Fails once: at the entry, before the commit, or after it, when the reply is lost."""

    when = None

    def execute(self, sql, *values):
        when, failing = Flaky.when, sqlite3.OperationalError("failed")
        failing.sqlite_errorcode = sqlite3.SQLITE_IOERR
        if (when, sql[:6]) in (("entry", "INSERT"), ("before", "COMMIT")):
            Flaky.when = None
            raise failing
        result = super().execute(sql, *values)
        if (when, sql[:6]) == ("after", "COMMIT"):
            Flaky.when = None
            raise failing
        return result


class Paid(NamedTuple):
    """A charge that stands."""

    analyst: str
    question: tuple
    counts: bool  # in the total
    scope: int | None


def largest(paid):
    """Add charges up: [ε, ρ, δ], each None if a charge has none; parts of a family by the rule."""
    prices = [(charge(LOSSES[p.question[1]]), PARTS.get(p.question[2])) for p in paid]
    sums = []
    for name in ("epsilon", "rho", "delta"):
        figures = [(getattr(price, name), part) for price, part in prices]
        if any(figure is None for figure, _ in figures):
            sums.append(None)
            continue
        total = sum(figure for figure, part in figures if part is None)
        for family, width in {(part.family, part.width) for _, part in figures if part}:
            parts = Counter()
            for figure, part in figures:
                if part and part.family == family:
                    parts[part.key] += figure
            total += sum(sorted(parts.values())[-width:])
        sums.append(total)
    return sums


class Model:
    """What the ledger should know: plain numbers and dictionaries, summed anew each time."""

    def __init__(self):
        self.requests = {}  # (analyst, id) -> [state, question, answer or None, scope]
        self.paid = []
        self.scopes = {}  # id -> scope
        self.open = set()  # ids
        self.answers = {}  # question -> first answer
        self.knows = {}  # (analyst, question) -> their first answer
        self.closed = False

    def counted(self, analyst, paid=None, more=None):
        """Return what an account counts; None is the total. `more` is one more envelope."""
        paid = self.paid if paid is None else paid
        mine = [p for p in paid if (p.counts if analyst is None else p.analyst == analyst)]
        sums = largest(mine)
        scopes = [self.scopes[number] for number in self.open]
        scopes = [s for s in scopes if analyst in (None, s.analyst)]
        for number, price in [
            *((s.id, s.envelope) for s in scopes),
            *([(0, more)] if more else []),
        ]:
            inside = largest([p for p in mine if p.scope == number])
            for i, bound in enumerate((price.epsilon, price.rho, price.delta)):
                if bound is None or sums[i] is None:
                    sums[i] = None
                else:
                    sums[i] += max(bound - inside[i], 0)
        return sums

    def fits(self, analyst, paid=None, more=None):
        limits = sf.accounting.Limits.of(TOTAL if analyst is None else SHARES[analyst])
        epsilon, rho, delta = self.counted(analyst, paid, more)
        return delta <= limits.delta and (
            (epsilon is not None and epsilon <= limits.epsilon)
            or (rho is not None and rho <= limits.rho)
        )

    def inside(self, number, paid=None):
        return largest([p for p in (self.paid if paid is None else paid) if p.scope == number])

    def admit(self, new):
        """Return why a charge is refused; None if it is not."""
        paid = [*self.paid, new]
        if new.scope is not None:
            if new.scope not in self.open:
                return RequestError
            envelope = self.scopes[new.scope].envelope
            bounds = envelope.epsilon, envelope.rho, envelope.delta
            for bound, spent in zip(bounds, self.inside(new.scope, paid), strict=True):
                if bound is not None and (spent is None or spent > bound):
                    return BudgetExceeded
        if not self.fits(new.analyst, paid) or (new.counts and not self.fits(None, paid)):
            return BudgetExceeded
        return None

    def reserve(self, analyst, request, question, scope):
        """Return the expected outcome, and what to do if it is committed."""
        state, asked, answer, _ = self.requests.get((analyst, request), [None] * 4)
        if asked not in (None, question):
            return RequestError, None
        if state in ("touched", "abandoned"):
            return RequestError, None
        if state == "settled":
            return answer, None
        if state == "reserved":
            return None, None
        known = question in self.answers
        if self.closed and (analyst, question) not in self.knows:
            return DataClosed, None
        new = Paid(analyst, question, not known, scope)
        if (analyst, question) in self.knows:
            new = None
        elif (refusal := self.admit(new)) is not None:
            return refusal, None
        answer = self.knows.get((analyst, question), self.answers.get(question))

        def change():
            if new is not None:
                self.paid.append(new)
            if known:
                self.knows.setdefault((analyst, question), answer)
            state = "settled" if known else "reserved"
            self.requests[analyst, request] = [state, question, answer, scope]

        return answer, change


class LedgerMachine(RuleBasedStateMachine):
    """Random steps by two analysts and an owner, on a disk that sometimes fails."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "ledger"
        connect = sqlite3.connect
        self.patch = patch.object(
            ledger_connection.sqlite3, "connect", lambda *a, **k: connect(*a, factory=Flaky, **k)
        )
        self.patch.start()
        Flaky.when = None
        self.ledger = Ledger.create(self.path, TOTAL, sf.Unit.row(), analysts=SHARES)
        self.model, self.granted, self.count = Model(), {}, 0
        self.heads = [self.ledger.head]

    def teardown(self):
        Flaky.when = None
        found = verify(self.path, self.heads[0])
        self.patch.stop()
        self.ledger.close()
        shutil.rmtree(self.folder)
        assert found.ok, str(found)

    def attempt(self, step, change, failing):
        """Take a step that the model allows; if it fails, only a lost reply may have an effect."""
        Flaky.when = failing
        try:
            result = step()
        except LedgerError:
            assert failing is not None
            if failing == "after":
                change()
            return None
        finally:
            Flaky.when = None
        change()
        return result

    FAILING = st.sampled_from([None, None, None, "entry", "before", "after"])

    def ask(self, request, analyst, question, scope=None):
        plan, loss, part = question
        branch = PARTS.get(part)
        return self.ledger.reserve(
            request, analyst, "t", "1", plan, LOSSES[loss], part=branch, scope=scope
        )

    @rule(analyst=ANALYSTS, request=REQUESTS, question=QUESTIONS, failing=FAILING)
    def reserve_outside(self, analyst, request, question, failing):
        self.reserve(analyst, request, question, failing)

    @precondition(lambda self: self.model.scopes)
    @rule(which=st.integers(0, 7), request=REQUESTS, question=QUESTIONS, failing=FAILING)
    def reserve_inside(self, which, request, question, failing):
        """Ask in a scope, most often in the newest; it may be closed."""
        scopes = [*self.model.scopes.values()][::-1]
        scope = scopes[which % len(scopes) if which % 2 else 0]
        self.reserve(scope.analyst, request, question, failing, scope)

    @precondition(lambda self: self.model.answers)
    @rule(which=st.integers(0, 7), analyst=ANALYSTS, request=REQUESTS, failing=FAILING)
    def repeat(self, which, analyst, request, failing):
        """Ask what was answered before, most often in the analyst's newest scope."""
        questions = [*self.model.answers]
        scopes = [s for s in self.model.scopes.values() if s.analyst == analyst and which % 4]
        question = questions[which % len(questions)]
        self.reserve(analyst, request, question, failing, scopes[-1] if scopes else None)

    def reserve(self, analyst, request, question, failing, scope=None):
        expected, change = self.model.reserve(
            analyst, request, question, None if scope is None else scope.id
        )

        def step():
            return self.ask(request, analyst, question, scope)

        if isinstance(expected, type):
            with suppress(expected):
                raise AssertionError(step())
            return
        granted = self.attempt(step, change or (lambda: None), failing if change else None)
        if granted is not None:
            assert granted.answer == expected
            if expected is None:
                self.granted[analyst, request] = granted

    @precondition(lambda self: self.granted)
    @rule(
        which=st.integers(0, 7),
        step=st.integers(0, 6),
        fitting=st.sampled_from([True, True, True, False]),
        failing=FAILING,
    )
    def move(self, which, step, fitting, failing):
        """Take one of the requests a step further; some steps do not follow."""
        granted = sorted(self.granted)
        alive = [key for key in granted if self.model.requests[key][0] in FITTING] or granted
        analyst, request = (alive if fitting else granted)[
            which % len(alive if fitting else granted)
        ]
        granted = self.granted[analyst, request]
        steps = FITTING.get(self.model.requests[analyst, request][0], STEPS) if fitting else STEPS
        step = steps[step % len(steps)]
        entry = self.model.requests[analyst, request]
        self.count += 1
        answer = f"answer {self.count}".encode()
        arguments = (granted, answer) if step == "settle" else (granted,)
        before = {"touch": "reserved", "release_untouched": "reserved"}.get(step, "touched")

        def take():
            return getattr(self.ledger, step)(*arguments)

        if step == "touch" and self.model.closed:
            with suppress(DataClosed):
                raise AssertionError(take())
        elif entry[0] != before:
            with suppress(RequestError):
                raise AssertionError(take())
        else:
            self.attempt(take, lambda: self.moved(analyst, request, step, answer), failing)

    def moved(self, analyst, request, step, answer):
        entry, model = self.model.requests[analyst, request], self.model
        if step == "touch":
            entry[0] = "touched"
        elif step == "settle":
            entry[0], entry[2] = "settled", answer
            model.answers.setdefault(entry[1], answer)
            model.knows.setdefault((analyst, entry[1]), answer)
        elif step == "release_untouched":
            entry[0] = "returned"
            model.paid.remove(Paid(analyst, entry[1], True, entry[3]))
            del self.granted[analyst, request]
        else:
            entry[0] = "abandoned"
            model.closed = model.closed or step == "fault"

    @rule(analyst=ANALYSTS, budget=st.sampled_from(BUDGETS), failing=FAILING)
    def open_scope(self, analyst, budget, failing):
        model = self.model

        def step():
            return self.ledger.open_scope(budget, analyst)

        price = envelope(budget, self.ledger.unit.neighbors)
        refusal = DataClosed if model.closed else None
        if not all(model.fits(account, more=price) for account in (analyst, None)):
            refusal = refusal or BudgetExceeded
        if refusal is not None:
            with suppress(refusal):
                raise AssertionError(step())
            return

        def change():  # the reply may have been lost
            (new,) = (s for s in self.ledger.scopes() if s.id not in model.scopes)
            assert (new.analyst, new.budget, new.envelope) == (analyst, budget, price)
            model.scopes[new.id] = new
            model.open.add(new.id)

        self.attempt(step, change, failing)

    @rule(analyst=ANALYSTS, newest=st.booleans(), failing=FAILING)
    def close_scope(self, analyst, newest, failing):
        scopes = [s for s in self.model.scopes.values() if s.analyst == analyst]
        if scopes:
            scope = scopes[-1 if newest else 0]
            failing = failing if scope.id in self.model.open else None  # twice writes nothing
            self.attempt(
                lambda: self.ledger.close_scope(scope),
                lambda: self.model.open.discard(scope.id),
                failing,
            )

    @precondition(lambda self: self.model.closed)
    @rule()
    def acknowledge(self):
        self.ledger.acknowledge()
        self.model.closed = False

    @rule(name=st.sampled_from(["t", "u"]), value=st.sampled_from([1, 2, None]))
    def record(self, name, value):
        """Declare something, or give the dataset a new version: sums, compared below, stay."""
        if value is None:
            self.count += 1
            self.ledger.refresh(name, f"version {self.count}")
            assert self.ledger.version(name) == f"version {self.count}"
            return
        before = self.ledger.declarations(name)
        self.ledger.declare(name, value)
        grown = not before or before[-1].declaration != value
        assert len(self.ledger.declarations(name)) == len(before) + grown

    @rule()
    def reopen(self):
        """Die without closing anything, and come back; a stranger is refused as before."""
        with suppress(AnalystError):
            raise AssertionError(self.ledger.reserve("q", "eve", "t", "1", "p", Pure("1e-9")))
        self.ledger = Ledger.open(self.path, head=self.heads[-1])
        found = {(r.analyst, r.request_id): r for r in self.ledger.pending()}
        open_states = ("reserved", "touched")
        assert set(found) == {
            key for key, entry in self.model.requests.items() if entry[0] in open_states
        }
        self.granted |= found

    @invariant()
    def sums_are_those_of_the_model(self):
        for who in (None, "ana", "bob"):
            limits = sf.accounting.Limits.of(TOTAL if who is None else SHARES[who])
            left, spent = self.ledger.remaining(who), self.ledger.spent(who)
            counted = self.model.counted(who)
            assert [spent.epsilon, spent.rho, spent.delta] == counted
            for bound, figure, shown in zip(
                (limits.epsilon, limits.rho, limits.delta),
                counted,
                (left.epsilon, left.rho, left.delta),
                strict=True,
            ):
                expected = None if figure is None else Fraction(max(bound - figure, 0), UNITS)
                assert shown == expected
        scopes = self.ledger.scopes()
        assert {s.id for s in scopes} == self.model.open
        for scope, spent in scopes.items():
            inside = self.model.inside(scope.id)
            assert [spent.epsilon, spent.rho, spent.delta] == inside
        assert self.ledger.closed == self.model.closed
        self.heads.append(self.ledger.head)

    @invariant()
    def settled_answers_never_change(self):
        for (analyst, request), (state, question, answer, _) in self.model.requests.items():
            if state == "settled":
                assert self.ask(request, analyst, question).answer == answer


LedgerMachine.TestCase.settings = settings(
    max_examples=20 if settings.get_current_profile_name() == "push" else 100,
    stateful_step_count=40,
    deadline=None,
)
TestLedger = LedgerMachine.TestCase


def walk(random, machine, request):
    """Take one step; Hypothesis shrinks what it finds, but its runs are short."""
    who, failing = random.choice(["ana", "bob"]), random.choice([None] * 9 + ["before", "after"])
    number, parts = random.randrange(8), [None, *PARTS]
    match random.choice(["ask"] * 5 + ["move"] * 8 + ["repeat"] * 2 + ["open", "close", "reopen"]):
        case "ask":
            loss = random.choice(["tiny"] * 6 + ["small", "gauss", "large", "failing"])
            question = (random.choice("abcdef"), loss, random.choice(parts))
            if machine.model.scopes and number < 5:
                machine.reserve_inside(number, request, question, failing)
            else:
                machine.reserve_outside(who, request, question, failing)
        case "move" if machine.granted:
            machine.move(number, random.randrange(7), number > 0, failing)
        case "repeat" if machine.model.answers:
            machine.repeat(number, who, request, failing)
        case "open":
            machine.open_scope(who, random.choice(BUDGETS), failing)
        case "close":
            machine.close_scope(who, number > 2, failing)
        case "reopen":
            machine.reopen()
    if machine.model.closed:
        machine.acknowledge()


def test_long_walks_agree_with_the_model():
    kinds = check_walk(0, 150) + check_walk(1, 150) + check_walk(2, 150)
    for kind in ("reserved", "returned", "given"):  # nothing is left out
        assert kinds[kind, True, True], kinds
        assert kinds[kind, True, False], kinds
    assert kinds["freed", False, True], kinds


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(100, 140))
def test_many_long_walks_agree_with_the_model(seed):
    assert check_walk(seed, 300)  # how often it took each step; what a walk finds wrong, it raises


def check_walk(seed, steps):
    random, machine, kinds = Random(seed), LedgerMachine(), Counter()  # noqa: S311
    try:
        for step in range(steps):
            walk(random, machine, f"q{step // 4}")
            machine.sums_are_those_of_the_model()
            machine.settled_answers_never_change()
        for event in machine.ledger.history():
            kinds[event.kind, event.branch is not None, event.scope is not None] += 1
    finally:
        machine.teardown()
    return kinds
