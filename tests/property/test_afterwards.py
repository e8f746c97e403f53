# ruff: noqa: S608 - what is written here is asked of made-up tables
"""Whatever is computed from an answer: it is refused before anything is paid, or it does not fail.

Noise is replaced by small numbers at random, so that counts of 0 and below are everywhere.
"""

from secrets import randbits

import numpy as np
import pytest
from hypothesis import settings

from sfumato.core.errors import SfumatoError
from sfumato.mechanisms import DiscreteGaussian, DiscreteLaplace
from sfumato.release import fieller, fitted, quotient
from sfumato.testing.town import Dice, tables, town

PUSH, SHARD, SHARDS = 25, settings.default.max_examples, 10
SUMS = ("COUNT(*)", "COUNT(tip)", "COUNT(fare)", "SUM(tip)", "SUM(fare)", "SUM(hour)")
OTHERS = (
    *("AVG(fare)", "MEDIAN(fare)", "STDDEV_POP(tip)", "COUNT(DISTINCT rider)", "MAX(hour)"),
    *("MIN(day)", "MAX(began)", "COUNT(DISTINCT zone)"),
)
# What is grouped by, and a constant of each column's kind.
GROUPS = (
    ("zone", {"zone": "'B'"}),
    ("name", {"name": "'Bob'"}),
    ("day", {"day": "'2026-02-01'"}),
    ("zone, vip", {"zone": "'B'"}),
    ("ROLLUP (zone)", {"zone": "'B'"}),
    ("CUBE (zone, seats)", {"zone": "'B'", "seats": "2"}),
    ("ROLLUP (zone, name)", {"zone": "'B'", "name": "'Bob'"}),
    ("GROUPING SETS ((zone), (hour))", {"zone": "'B'", "hour": "7"}),
    ("ROLLUP (hour // 8)", {"hour // 8": "1"}),
    ("GROUPING SETS ((zone, seats), ())", {"zone": "'B'", "seats": "2"}),
    ("ROLLUP (date_trunc('month', day))", {"date_trunc('month', day)": "DATE '2026-02-01'"}),
)
CONSTANTS = ("0", "1", "5", "0.5", "-3")


class Scribe:
    """Writes questions with formulas and conditions; many of them mean nothing."""

    def __init__(self, seed):
        self.below = Dice(seed).below

    def one(self, of):
        return of[self.below(len(of))]

    def linear(self):
        """Write a weighted sum, now and then one of nothing."""
        terms = [self.one(SUMS) for _ in range(1 + self.below(3))]
        sign = self.one((" + ", " - "))
        return f"({self.one(CONSTANTS)} * {sign.join(terms)})"

    def number(self):
        """Write a sum, a quotient, a number as it is; or what means nothing."""
        kind = self.below(12)
        if kind < 4:
            return f"{self.linear()} / {self.linear()}"
        if kind < 7:
            return f"{self.one(SUMS)} / {self.one(SUMS)}"
        if kind < 9:
            return self.linear()
        if kind < 11:
            return self.one((*SUMS, *OTHERS))
        return f"{self.one((*SUMS, *OTHERS))} {self.one(('+', '*', '/'))} {self.one(OTHERS)}"

    def condition(self, keys, names, depth=2):
        if depth and self.below(2):
            both = self.condition(keys, names, depth - 1), self.condition(keys, names, depth - 1)
            return self.one(("({} AND {})", "({} OR {})", "NOT ({1})")).format(*both)
        sign = self.one(("<", ">=", "=", "<>"))
        if keys and self.below(2):
            key = self.one(list(keys))
            if self.below(3) == 0:
                return f"{key} IS {self.one(('', 'NOT '))}NULL"
            return f"{key} {sign} {keys[key]}"
        left = self.one(names) if self.below(2) else self.number()
        return f"{left} {sign} {self.one(CONSTANTS) if self.below(8) else self.number()}"

    def question(self):
        group, keys = self.one(GROUPS)
        items = [f"{self.item()} AS x{place}" for place in range(1 + self.below(3))]
        names = [f"x{place}" for place in range(len(items))]
        text = f"SELECT {', '.join(items)} FROM trips WHERE tip < {self.below(60) - 10}"
        if "name" in group and self.below(2):
            text += " AND name IN ('Ann', 'Bob', 'nobody')"
        text += f" GROUP BY {group}"
        if self.below(3):
            text += f" HAVING {self.condition(keys, names)}"
        if self.below(2):
            by = [self.one([*names, *keys]) for _ in range(1 + self.below(2))]
            text += f" ORDER BY {', '.join(by)}{self.one(('', ' DESC', ' NULLS FIRST'))}"
        if self.below(4) == 0:
            text += f" LIMIT {self.below(4)} OFFSET {self.below(3)}"
        return text

    def item(self):
        number = self.number()
        return number if self.below(5) else f"ROUND({number}, {self.below(3)})"


def check_one(session, seed):
    text = Scribe(seed).question()
    before = session.remaining
    try:
        plan = session.explain(text, epsilon=1, delta="1e-6")
    except SfumatoError:
        assert session.remaining == before
        return False
    try:
        answer = plan.release()
    except Exception as problem:
        raise AssertionError(f"paid, and failed (seed {seed}): {text}") from problem
    assert answer.to_json()
    return True


@pytest.fixture(scope="module")
def tiny():
    """A session over few rows whose noise is a small number at random."""
    dice = Dice(3)

    def sample(self, exact, rng):
        moved = [dice.below(5) - 2 for _ in range(np.size(exact))]
        return np.asarray(exact) * dice.below(2) + np.array(moved, np.int64).reshape(
            np.shape(exact)
        )

    with pytest.MonkeyPatch.context() as patch, town(tables(40, riders=10), max_rows=4) as session:
        for mechanism in (DiscreteLaplace, DiscreteGaussian):
            patch.setattr(mechanism, "sample", sample)
        for module in (
            fieller,
            fitted,
            quotient,
        ):  # intervals of quotients by coarser tables, which are fast
            patch.setattr(module, "_PIECES", 16)
        yield session


def test_what_follows_an_answer_does_not_fail(tiny):
    answered = sum(check_one(tiny, seed) for seed in range(PUSH))
    assert answered > PUSH // 2


@pytest.mark.deep
@pytest.mark.parametrize("shard", range(SHARDS))
def test_what_follows_an_answer_does_not_fail_with_fresh_questions(tiny, shard):
    first = randbits(60)
    for seed in range(first, first + SHARD):
        check_one(tiny, seed)
