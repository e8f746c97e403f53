"""The ledger against a model in memory, with crashes: full disks, lost replies, reopened files."""

import shutil
import sqlite3
import tempfile
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import sfumato as sf
from sfumato.accounting import charge
from sfumato.core.errors import (
    AnalystError,
    BudgetExceeded,
    DataClosed,
    LedgerError,
    RequestError,
)
from sfumato.core.loss import Concentrated, Pure
from sfumato.ledger import Ledger, verify
from sfumato.ledger import connection as ledger_connection

UNITS = 10**18
SHARES = {"ana": sf.Budget("0.7", "1e-6"), "bob": sf.Budget("0.4", "1e-6")}
TOTAL = sf.Budget(1, "1e-6")
LOSSES = {"small": Pure("0.07"), "large": Pure("0.3"), "gauss": Concentrated("0.002")}
ANALYSTS = st.sampled_from(["ana", "bob"])
REQUESTS = st.sampled_from(["q1", "q2", "q3", "q4"])
QUESTIONS = st.tuples(st.sampled_from(["plan a", "plan b"]), st.sampled_from(sorted(LOSSES)))


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


class Model:
    """What the ledger should know: plain numbers and dictionaries, summed anew each time."""

    def __init__(self):
        self.requests = {}  # (analyst, id) -> [state, question, answer or None]
        self.paid = []  # (analyst, question, counts in the total)
        self.answers = {}  # question -> first answer
        self.knows = set()  # (analyst, question)
        self.closed = False

    def fits(self, charges, budget):
        limits = sf.accounting.Limits.of(budget)
        prices = [charge(LOSSES[name]) for name in charges]
        epsilons, rhos = [p.epsilon for p in prices], [p.rho for p in prices]
        return (None not in epsilons and sum(epsilons) <= limits.epsilon) or (
            sum(rhos) <= limits.rho
        )

    def own(self, analyst):
        return [question[1] for who, question, _ in self.paid if who == analyst]

    def total(self):
        return [question[1] for _, question, counts in self.paid if counts]

    def reserve(self, analyst, request, question):
        """Return the expected outcome, and what to do if it is committed."""
        state, asked, answer = self.requests.get((analyst, request), [None, None, None])
        if asked not in (None, question):
            return RequestError, None
        if state in ("touched", "abandoned"):
            return RequestError, None
        if state == "settled":
            return answer, None
        if state == "reserved":
            return None, None
        if self.closed:
            return DataClosed, None
        if question in self.answers:
            if (analyst, question) not in self.knows:
                if not self.fits([*self.own(analyst), question[1]], SHARES[analyst]):
                    return BudgetExceeded, None
                return self.answers[question], lambda: self._give(analyst, request, question, True)
            return self.answers[question], lambda: self._give(analyst, request, question, False)
        if not self.fits([*self.own(analyst), question[1]], SHARES[analyst]) or not self.fits(
            [*self.total(), question[1]], TOTAL
        ):
            return BudgetExceeded, None
        return None, lambda: self._reserve(analyst, request, question)

    def _reserve(self, analyst, request, question):
        self.paid.append((analyst, question, True))
        self.requests[analyst, request] = ["reserved", question, None]

    def _give(self, analyst, request, question, pays):
        if pays:
            self.paid.append((analyst, question, False))
        self.knows.add((analyst, question))
        self.requests[analyst, request] = ["settled", question, self.answers[question]]


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

    @rule(analyst=ANALYSTS, request=REQUESTS, question=QUESTIONS, failing=FAILING)
    def reserve(self, analyst, request, question, failing):
        expected, change = self.model.reserve(analyst, request, question)

        def step():
            plan, loss = question
            return self.ledger.reserve(request, analyst, "t", "1", plan, LOSSES[loss])

        if isinstance(expected, type):
            with suppress(expected):
                raise AssertionError(step())
            return
        granted = self.attempt(step, change or (lambda: None), failing if change else None)
        if granted is not None:
            assert granted.answer == expected
            if expected is None:
                self.granted[analyst, request] = granted

    @rule(
        analyst=ANALYSTS,
        request=REQUESTS,
        step=st.sampled_from(["touch", "settle", "abandon", "release_untouched", "fault"]),
        failing=FAILING,
    )
    def move(self, analyst, request, step, failing):
        granted = self.granted.get((analyst, request))
        if granted is None:
            return
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
            model.knows.add((analyst, entry[1]))
        elif step == "release_untouched":
            entry[0] = "returned"
            model.paid.remove((analyst, entry[1], True))
            del self.granted[analyst, request]
        else:
            entry[0] = "abandoned"
            model.closed = model.closed or step == "fault"

    @precondition(lambda self: self.model.closed)
    @rule()
    def acknowledge(self):
        self.ledger.acknowledge()
        self.model.closed = False

    @rule()
    def refresh(self):
        """Give the dataset a new version: the sums, which the invariant compares, stay."""
        self.count += 1
        self.ledger.refresh("t", f"version {self.count}")
        assert self.ledger.version("t") == f"version {self.count}"

    @rule()
    def refuse_a_stranger(self):
        with suppress(AnalystError):
            raise AssertionError(self.ledger.reserve("q", "eve", "t", "1", "p", Pure("1e-9")))

    @rule()
    def reopen(self):
        """Die without closing anything, and come back."""
        self.ledger = Ledger.open(self.path, head=self.heads[-1])
        found = {(r.analyst, r.request_id): r for r in self.ledger.pending()}
        open_states = ("reserved", "touched")
        assert set(found) == {
            key for key, entry in self.model.requests.items() if entry[0] in open_states
        }
        self.granted |= found

    @invariant()
    def sums_are_those_of_the_model(self):
        total = self.ledger.remaining()
        for left, budget, charges in [
            (total, TOTAL, self.model.total()),
            *(
                (self.ledger.remaining(who), SHARES[who], self.model.own(who))
                for who in ("ana", "bob")
            ),
        ]:
            prices = [charge(LOSSES[name]) for name in charges]
            limits = sf.accounting.Limits.of(budget)
            spent = sum(price.rho for price in prices)
            assert left.rho * UNITS == max(limits.rho - spent, 0)
            if any(price.epsilon is None for price in prices):
                assert left.epsilon is None
            else:
                spent = sum(price.epsilon for price in prices)
                assert left.epsilon * UNITS == max(limits.epsilon - spent, 0)
        assert self.ledger.closed == self.model.closed
        self.heads.append(self.ledger.head)

    @invariant()
    def settled_answers_never_change(self):
        for (analyst, request), (state, question, answer) in self.model.requests.items():
            if state == "settled":
                plan, loss = question
                again = self.ledger.reserve(request, analyst, "t", "1", plan, LOSSES[loss])
                assert again.answer == answer


LedgerMachine.TestCase.settings = settings(
    max_examples=20 if settings.get_current_profile_name() == "push" else 100,
    stateful_step_count=40,
    deadline=None,
)
TestLedger = LedgerMachine.TestCase
