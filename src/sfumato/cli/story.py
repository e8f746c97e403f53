"""The two stories of the demonstration: ask the questions and return what came out.

The first plays in the laboratory, on a survey; the second in a town whose tables are files behind a
contract and a ledger. Every answer is drawn afresh by the real mechanisms. The exact values travel
beside them, which is possible only because the people are made up.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from sfumato import accounting, mechanisms
from sfumato.cli.survey import DISTRICTS, Survey
from sfumato.core.errors import BudgetExceeded, InternalError

if TYPE_CHECKING:
    from pathlib import Path

    from sfumato.core.loss import Loss
    from sfumato.core.sensitivity import Sensitivity
    from sfumato.release import Estimate, Release
    from sfumato.release.page import Page
    from sfumato.session import Question

EPSILON: Final = Fraction(1, 2)  # of each answer of the curator
COIN: Final = Fraction(1)  # of each person's own coin
DELTA: Final = Fraction(1, 10**6)
DELTA_SHOWN: Final = "10⁻⁶"
DAILY: Final = Fraction(1, 10)  # of one of many small questions
DAYS: Final = (1, 7, 30, 90, 180, 270, 365)
USERS: Final = Fraction(1)  # of the answer about visits, of which a person has many


@dataclass(frozen=True, slots=True)
class Story:
    """What was asked, what was answered, and, since nobody is real, what is true.

    Attributes:
        people: how many took part.
        monday: noisy count of kale lovers, the day before Nicole came.
        tuesday: the same question, with Nicole.
        districts: noisy counts by district.
        age: noisy median age.
        spent: the cost of these four answers together, as an exact ε.
        later: the ε of asking a small question every day, as (days, simple sum, composed).
        coin: share of kale lovers, estimated from answers that were randomized by coins.
        true_monday: exact count before Nicole.
        true_tuesday: exact count with Nicole.
        true_districts: exact counts.
        true_age: exact median.
    """

    people: int
    monday: Release
    tuesday: Release
    districts: Release
    age: Release
    spent: Fraction
    later: tuple[tuple[int, Fraction, Fraction], ...]
    coin: Estimate
    true_monday: int
    true_tuesday: int
    true_districts: tuple[int, ...]
    true_age: int


def tell(survey: Survey, one: Sensitivity) -> Story:
    """Ask all questions of the story.

    Args:
        survey: the made-up people; the last one is Nicole.
        one: how far one person moves a count, or a histogram in which she is in one cell.
    """
    likes, nicole = survey.likes_kale, len(survey) - 1
    before, after = int(likes[:nicole].sum()), int(likes.sum())
    by_district = survey.likes_by_district()
    count = mechanisms.DiscreteLaplace.calibrate(one, epsilon=EPSILON)
    median = mechanisms.Quantile.calibrate(one, q="0.5", low=0, high=120, step=1, epsilon=EPSILON)
    monday = count.release(before, one, name="likes kale")
    tuesday = count.release(after, one, name="likes kale")
    districts = count.release(by_district, one, name="likes kale", keys={"district": DISTRICTS})
    age = median.release(survey.age, one, name="median age")
    spent = accounting.compose([r.cost for r in (monday, tuesday, districts, age)])
    coin = mechanisms.RandomizedResponse(epsilon=COIN)
    return Story(
        people=len(survey),
        monday=monday,
        tuesday=tuesday,
        districts=districts,
        age=age,
        spent=Fraction(accounting.epsilon(spent)),
        later=_later(mechanisms.DiscreteLaplace.calibrate(one, epsilon=DAILY).loss(one)),
        coin=coin.estimate(coin(likes)),
        true_monday=before,
        true_tuesday=after,
        true_districts=tuple(by_district.tolist()),
        true_age=int(np.sort(survey.age)[nicole // 2]),
    )


@dataclass(frozen=True, slots=True)
class Answers:
    """What was asked of the town's tables, in this order, and what came out.

    Attributes:
        price: what the first question would cost; nothing was read for it.
        reach: how far its answer would err.
        counts: people by district.
        income: mean income by district.
        cost: mean cost of a visit by clinic, for the protection of a person and not of a visit.
        refusal: why a question that costs more than is left was refused.
        again: the first question, asked a second time.
        left: what was left of the budget at first, and after each release.
        verdict: what a replay of the ledger found.
        report: what the town may publish: contract, answers, ledger and certificate.
    """

    price: str
    reach: str
    counts: Release
    income: Release
    cost: Release
    refusal: str
    again: Release
    left: tuple[str, ...]
    verdict: str
    report: Page


def ask(contract: Path) -> Answers:
    """Open the town's tables and ask them.

    Args:
        contract: the owner's contract, whose ledger is new.
    """
    from sfumato.session import Contract, connect, count, mean
    from sfumato.session.report import Report

    declared = Contract.read(contract)
    with connect(declared) as session:
        people, visits = session.table("people"), session.table("visits")
        left = [str(session.remaining)]

        def release(question: Question, epsilon: Fraction) -> Release:
            answer = question.release(epsilon=epsilon)
            left.append(str(session.remaining))
            return answer

        by_district = people.group_by("district")
        counts = by_district.agg(people=count())
        plan = counts.explain(epsilon=EPSILON)
        first = release(counts, EPSILON)
        income = release(by_district.agg(income=mean("income")), EPSILON)
        cost = release(visits.group_by("clinic").agg(cost=mean("cost")), USERS)
        refusal = _refused(people.group_by("district", "sex").count(), USERS)
        again = release(counts, EPSILON)
        report = Report(
            ledger=session.ledger,
            tables={table.relation: table.version for table in declared.tables.values()},
            releases=(first, income, cost),
        )
        return Answers(
            price=str(accounting.charge(plan.cost)),
            reach=str(plan.expected[0]),
            counts=first,
            income=income,
            cost=cost,
            refusal=refusal,
            again=again,
            left=tuple(left),
            verdict=str(session.ledger.verify()).partition(";")[0],
            report=report.page(),
        )


def _refused(question: Question, epsilon: Fraction) -> str:
    try:
        question.release(epsilon=epsilon)
    except BudgetExceeded as problem:
        return problem.message
    raise InternalError("the town's budget is larger than its story needs.")


def _later(loss: Loss) -> tuple[tuple[int, Fraction, Fraction], ...]:
    """Compare the simple sum with the composed cost of asking every day."""
    return tuple(
        (days, DAILY * days, Fraction(accounting.epsilon(loss * days, delta=DELTA)))
        for days in DAYS
    )
