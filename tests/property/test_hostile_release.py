"""What is computed from releases, with arguments that nobody would pass by accident.

Every public method of the algebra is called in any order: each call is refused in our words or
returns a release that can be printed, stored and loaded, and that costs no less than before. A
method without a maker of arguments fails a test, so that a new one cannot be forgotten.
"""
# ruff: noqa: S311 - a seed that repeats is what is wanted

import operator
import random
import time
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.errors import SfumatoError
from sfumato.release.algebra import Algebra
from sfumato.release.estimate import Estimate
from sfumato.release.origin import cost
from sfumato.release.release import Release
from sfumato.release.whence import origins_of
from sfumato.testing.rng import SeededRng

CHAINS = 150
HUNG = 60.0  # seconds of one call that ought to take less than one
SIGNS = (operator.add, operator.sub, operator.mul, operator.truediv)
VALUES = [
    *(None, True, -1, 0, 3, 10**30, 0.5, float("nan"), float("inf"), Decimal("1e-9")),
    *("", "x", "n", "n / 0", "zone", "\ud800", "日付", "1e999", b"n", [], {}, ["n"], object()),
    *(Fraction(1, 3), Fraction(10**30, 7), {"A": "north"}, {"A": None, "B": 1, "it's": "x"}),
]
FORMULAS = [
    *("n", "n + 1", "n * n", "fare / n", "n - n", "1 / (n - n)", "mean * known", "q * 2", "v + n"),
    *("n ** 2", "((n)", "zone", "n > 3", "zone = 'A'", "zone > 3", "n = n", "NOT n", "'A'"),
]


def answers():
    """Return answers of every kind that a session gives."""
    schema = sf.Schema(
        zone=sf.Category(["A", "B", "it's"]), fare=sf.Real(0, 50, "0.5"), name=sf.Text()
    )
    held = {"zone": ["A", "B", None] * 40, "fare": [1.0, None, 49.5] * 40, "name": ["x"] * 120}
    budget = sf.Budget(10**4, "1e-2")
    options = {"unit": sf.Unit.row(), "schema": schema, "budget": budget, "sampled": True}
    session = sf.Session(pa.table(held), **options)
    session._rng = SeededRng(7)
    table = session.table()
    asked = {
        "n": sf.count(),
        "known": sf.count("fare"),
        "fare": sf.sum("fare"),
        "mean": sf.mean("fare"),
        "v": sf.variance("fare"),
        "q": sf.median("fare"),
    }
    sums = dict(list(asked.items())[:4])
    bought = table.filter("fare > 49").group_by("name", keys=sf.bought())
    return [
        table.group_by("zone").agg(**asked).release(epsilon=6),
        table.group_by("zone").agg(**sums).release(epsilon=1),
        table.group_by("zone", "name", keys={"name": ["x", "y"]}).agg(**sums).release(epsilon=1),
        table.agg(**sums).release(epsilon=3),
        table.count().release(epsilon=1),
        table.top("name", 2).release(epsilon=1, delta="1e-6"),
        bought.count().release(epsilon="0.001", delta="1e-9"),  # no group appears
        table.histogram("fare", 3).release(rho="0.1"),
    ]


class Maker:
    """Arguments: mostly such that fit, and some that do not."""

    def __init__(self, seed, held):
        self.rng, self.held = random.Random(seed), held

    def one(self, fitting, share=0.75):
        return self.rng.choice(list(fitting) if self.rng.random() < share else VALUES)

    def name(self, release):
        return self.one(release)

    def names(self, release):
        return tuple(self.name(release) for _ in range(self.rng.choice([0, 1, 2])))

    def number(self):
        return self.one(["0.95", 0.5, "0.999999", Fraction(1, 2)])

    def estimate(self, release):
        """Return a number with noise, or what may come of two."""
        other = self.rng.choice([release, *self.held])
        first = other[self.rng.choice(list(other))]
        if self.rng.random() < 0.5:
            return first
        second = self.rng.choice([first, 2, 0, release[next(iter(release))]])
        return self.rng.choice(SIGNS)(first, second)

    def column(self, release):
        return self.estimate(release) if self.rng.random() < 0.4 else self.one(FORMULAS)

    def mapping(self, release):
        keys = [key for _, cells in release.keys for key in cells]
        return self.one([None, dict.fromkeys(keys, "all"), dict.fromkeys(keys, 1)])


MAKERS = {
    "derive": lambda m, r: ((), {m.rng.choice(["x", "n", "y z"]): m.column(r)}),
    "select": lambda m, r: (m.names(r), {}),
    "where": lambda m, _: ((m.one(FORMULAS),), {}),
    "share": lambda m, r: ((m.name(r),), {"into": m.one([None, "part"])}),
    "total": lambda m, r: (m.names(r), {}),
    "roll_up": lambda m, r: (
        (m.one([name for name, _ in r.keys] or ["zone"]), m.mapping(r)),
        {"weights": m.mapping(r), "names": m.names(r)},
    ),
    "sort": lambda m, r: ((m.name(r),), {"descending": m.one([True, False])}),
    "leads": lambda m, r: ((m.name(r),), {}),
    "head": lambda m, _: ((m.one([0, 1, 2, 9]),), {}),
    "round": lambda m, r: ((m.one([1, 10, "0.25"]), *m.names(r)), {}),
    "nonnegative": lambda m, r: (m.names(r), {}),
    "consistent": lambda m, r: (
        (m.one([*m.held, m.estimate(r)]), m.one([None, *r])),
        {"nonnegative": m.one([False, True])},
    ),
    "at": lambda m, _: ((m.number(),), {}),
    "simultaneous": lambda m, _: ((m.number(),), {}),
    "population": lambda m, _: ((m.one([None, {"mean": "v"}]),), {}),
}


def check(made, before):
    """See that a release holds together, is paid for, and can be stored."""
    assert made.cost == cost(origins_of(made))
    assert {each.id for each in origins_of(before)} <= {each.id for each in origins_of(made)}
    assert Release.from_json(made.to_json()) == made
    assert len(repr(made)) < 100_000
    for m in made.measures:
        if m.low is not None and m.high is not None:
            assert all(low <= high for low, high in zip(m.low, m.high, strict=True))


def call(release, name, maker, outcomes):
    """Call one method; return what came out, or None if it was refused."""
    started = time.process_time()
    shown = name
    try:
        args, named = MAKERS[name](maker, release)
        shown = f"{name}(*{args!r:.300}, **{named!r:.300}) of {release!r:.300}"
        made = getattr(release, name)(*args, **named)
    except SfumatoError as error:
        assert len(str(error)) < 25_000, shown
        made = None
    except Exception as error:
        error.add_note(shown)
        raise
    assert time.process_time() - started < HUNG, shown
    outcomes[name, made is not None] += 1
    if isinstance(made, Release):
        check(made, release)
    return made


def run(chains, seed=0):
    held = answers()
    outcomes = Counter()
    for at in range(chains):
        maker = Maker(f"{seed} {at}", held)
        release = maker.rng.choice(held)
        for _ in range(maker.rng.randint(1, 5)):
            names = list(MAKERS)
            if maker.rng.random() < 0.5:  # none is left out for long, be it refused or not
                names = [min(names, key=lambda each: min(outcomes[each, d] for d in (True, False)))]
            name = maker.rng.choice(names)
            made = call(release, name, maker, outcomes)
            if isinstance(made, Release):
                release = made
    return outcomes


def test_every_method_is_refused_in_our_words_or_returns_a_release():
    outcomes = run(CHAINS)
    assert [pair for name in MAKERS for d in (True, False) if not outcomes[pair := (name, d)]] == []


@pytest.mark.deep
def test_two_thousand_chains_are_refused_or_answered():
    run(2_000, seed=1)


def test_every_method_of_the_algebra_has_a_maker():
    public = {name for name in dir(Algebra) if not name.startswith("_")}
    assert public == set(MAKERS)


def test_estimates_are_computed_with_or_refused():
    rng = random.Random(5)
    held = [release[name] for release in answers() for name in release]
    done = Counter()
    for _ in range(600):
        first, second = rng.choice(held), rng.choice([*held, *VALUES])
        pair = (first, second) if rng.random() < 0.5 else (second, first)
        try:
            made = rng.choice(SIGNS)(*pair)
        except (SfumatoError, TypeError):  # Python's own where both sides decline
            done["refused"] += 1
            continue
        assert isinstance(made, Estimate)
        assert len(repr(made)) < 10_000
        done["computed"] += 1
    assert min(done["refused"], done["computed"]) > 50
