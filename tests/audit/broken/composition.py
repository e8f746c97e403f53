"""Composition and accounting: every answer is private by itself, and there are too many."""

from contextlib import contextmanager
from fractions import Fraction
from math import exp, log

import sfumato as sf
from broken.bug import BLACK_BOX, REPLAY, Bug
from sfumato.accounting import Remaining
from sfumato.core.errors import BudgetExceeded
from sfumato.noise import system
from sfumato.testing import FakeQuery

Laplacian, S = sf.mechanisms.DiscreteLaplace, sf.Sensitivity
ONE, NO_DELTA = S(l1=1), Fraction(0)
COUNT = FakeQuery("n", len, ONE)
CHANGE = FakeQuery("change", lambda rows: len(rows) - 40, ONE)
BANDS, DISJOINT = ((0, 30), (30, 60), (60, 90)), ((0, 29), (30, 59), (60, 90))


class Desk:
    """A small curator of one's own: charges ε, then answers. The bugs below are in its methods."""

    def __init__(self, rows, limit=1):
        self.rows, self.limit, self.spent, self.unit = rows, Fraction(limit), Fraction(0), None

    @property
    def remaining(self):
        return Remaining(self.limit - self.spent, None, NO_DELTA)

    def pay(self, cost):
        if self.spent + cost > self.limit:
            raise BudgetExceeded("this would exceed the budget.")
        self.spent += cost

    def price(self, query, mechanism):
        return sf.accounting.epsilon(mechanism.loss(query.sensitivity(self.unit)))

    def answer(self, query, mechanism):
        return int(mechanism.sample(mechanism.exact(query.answer(self.rows)), system()))

    def measure(self, query, mechanism):
        self.pay(self.price(query, mechanism))
        return self.answer(query, mechanism)


class ChargesRoundedDown(Desk):
    def pay(self, cost):
        super().pay(Fraction(int(cost * 2), 2))  # accounts are kept in halves


class ChargesWhatIsLeft(Desk):
    def pay(self, cost):
        super().pay(min(cost, self.limit - self.spent))


class RefundsFailures(Desk):
    def measure(self, query, mechanism):
        cost = self.price(query, mechanism)
        self.pay(cost)
        noisy = self.answer(query, mechanism)
        if noisy < 0:
            self.spent -= cost  # nothing was delivered
            raise ValueError(f"{noisy} is not a count")
        return noisy


class RetriesForFree(Desk):
    def measure(self, query, mechanism):
        paid = self.__dict__.setdefault("paid", set())
        if query.name not in paid:
            self.pay(self.price(query, mechanism))
            paid.add(query.name)
        return self.answer(query, mechanism)  # drawn anew


class ForgetsScopes(Desk):
    @contextmanager
    def scope(self, budget):
        yield type(self)(self.rows, budget.epsilon)  # with a purse of its own


class CountsScopes(Desk):
    @contextmanager
    def scope(self, budget):
        self.pay(budget.epsilon)  # set aside
        inner = Desk(self.rows, budget.epsilon)
        yield inner
        self.spent -= budget.epsilon - inner.spent


def asks_until_refused(epsilon):
    def program(desk):
        answers = []
        try:
            while len(answers) < 12:
                answers.append(desk.measure(COUNT, Laplacian(1 / Fraction(epsilon))))
        except BudgetExceeded:
            pass
        return answers

    return program


def asks_for_more_than_is_left(desk):
    return desk.measure(COUNT, Laplacian(2)), desk.measure(COUNT, Laplacian("1/2"))


def reads_the_errors(desk):
    seen = []
    for _ in range(4):
        try:
            seen.append(desk.measure(CHANGE, Laplacian(1)))
        except ValueError as failed:
            seen.append(int(str(failed).split()[0]))
    return seen


def asks_again(desk):
    return [desk.measure(COUNT, Laplacian(1)) for _ in range(4)]


def asks_in_scopes(desk):
    answers = []
    for _ in range(3):
        with desk.scope(sf.Budget(epsilon=1)) as inner:
            answers.append(inner.measure(COUNT, Laplacian(1)))
    return answers


def asks_in_one_scope(desk):
    with desk.scope(sf.Budget(epsilon="1/2")) as inner:
        first = inner.measure(COUNT, Laplacian(4))
    return first, desk.measure(COUNT, Laplacian(2))


def average(rows):
    total = Laplacian(100)(sum(rows))
    count = Laplacian(1)(len(rows))
    return total, count


def top_two(rows):
    left, chosen = [0, 1, 2, 3], []
    votes = [sum(item in row for row in rows) for item in left]
    for _ in range(2):
        pick = sf.mechanisms.Exponential(left, rate=3, monotone=True)
        chosen.append(pick([votes[item] for item in left]))
        left.remove(chosen[-1])
    return sorted(chosen)


def bands(edges):
    def program(rows):
        return [Laplacian(1)(sum(low <= age <= high for age in rows)) for low, high in edges]

    return program


def advanced_without_the_log(rows, epsilon=Fraction(1, 4), total=3):
    many = int(Fraction(total) ** 2 / epsilon**2)  # total = epsilon * sqrt(many)
    return int(Laplacian(1 / epsilon)([len(rows)] * many).sum())


def sampled_in_name_only(rows, epsilon=0.5, rate=0.1):
    amplified = log(1 + (exp(epsilon) - 1) / rate)
    batch = list(rows)  # shuffled, and then all of them
    return Laplacian(Fraction(1 / amplified).limit_denominator(100))(len(batch))


def program(name, story, wrong, a, b, **more):
    more = {"claim": 1, "caught": (REPLAY, BLACK_BOX)} | more
    return Bug(name=name, story=story, program=wrong, pair=(a, b), **more)


BUGS = [
    program(
        "average under one charge",
        "Asks for a sum and for a count, each at ε, and charges ε.",
        average,
        [30, 100],
        [30],
    ),
    program(
        "top two under one charge",
        "Chooses twice, each at ε, and charges ε.",
        top_two,
        [{0, 1}, {2, 3}],
        [{2, 3}],
        sensitivity=S(linf=1),
        claim=3,
        trials=5_000,
    ),
    program(
        "parallel parts that overlap",
        "Charges age bands once, though whoever is 30 is in two of them.",
        bands(BANDS),
        [10, 30, 70],
        [10, 70],
        sensitivity=ONE,
    ),
    program(
        "parallel parts under replace",
        "Charges disjoint bands once, though a replaced row leaves one and enters another.",
        bands(DISJOINT),
        [10, 20, 70],
        [10, 40, 70],
        sensitivity=S(l1=1, neighbors="replace"),
    ),
    program(
        "charges rounded down",
        "Keeps the account in halves, rounded down, so that 0.9 costs 0.5.",
        asks_until_refused("0.9"),
        [1] * 5,
        [1] * 6,
        curator=ChargesRoundedDown,
    ),
    program(
        "charge clamped to what is left",
        "Charges at most what is left of the budget, and answers in full.",
        asks_for_more_than_is_left,
        [1] * 5,
        [1] * 6,
        curator=ChargesWhatIsLeft,
    ),
    program(
        "refund on failure",
        "Gives the charge back when an answer cannot be shown, and quotes it in the error.",
        reads_the_errors,
        [1] * 5,
        [1] * 6,
        curator=RefundsFailures,
    ),
    program(
        "retry draws again",
        "Charges a repeated question once and draws new noise each time.",
        asks_again,
        [1] * 5,
        [1] * 6,
        curator=RetriesForFree,
    ),
    program(
        "scopes with a purse of their own",
        "Opens every scope with a new budget that is not taken from the outer one.",
        asks_in_scopes,
        [1] * 5,
        [1] * 6,
        curator=ForgetsScopes,
    ),
    program(
        "advanced composition without its logarithm",
        "Adds up ε as standard deviations add up, without the factor that depends on δ.",
        advanced_without_the_log,
        [1] * 5,
        [1] * 6,
        claim=sf.Budget(epsilon=3, delta="1e-6"),
        trials=10_000,
    ),
    program(
        "sampled in name only",
        "Takes the discount for a random tenth of the rows and uses all of them.",
        sampled_in_name_only,
        [1] * 5,
        [1] * 6,
        claim="1/2",
    ),
]

TWINS = [
    program(
        "average under two charges",
        "Sum and count, both paid for.",
        average,
        [30, 100],
        [30],
        claim=2,
        caught=(),
    ),
    program(
        "parallel parts that are disjoint",
        "A row added is in one band.",
        bands(DISJOINT),
        [10, 30, 70],
        [10, 70],
        sensitivity=ONE,
        caught=(),
    ),
    program(
        "exact charges",
        "Asks until the budget is spent.",
        asks_until_refused("0.3"),
        [1] * 5,
        [1] * 6,
        curator=Desk,
        caught=(),
    ),
    program(
        "scopes that count",
        "What is spent inside counts outside.",
        asks_in_one_scope,
        [1] * 5,
        [1] * 6,
        curator=CountsScopes,
        caught=(),
    ),
]
