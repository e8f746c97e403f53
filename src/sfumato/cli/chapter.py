"""The chapter of the demonstration's page about a town: tables behind a contract and a ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.cli.listing import columns_of
from sfumato.cli.story import EPSILON, USERS
from sfumato.cli.survey import DISTRICTS
from sfumato.cli.town import CLINICS, CONTRACT
from sfumato.core.number import show
from sfumato.release.chart import CONTRAST, estimate_chart, to_svg
from sfumato.release.format import grouped, percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.cli.story import Answers
    from sfumato.cli.town import Town
    from sfumato.release.page import Page

CODE = """
import sfumato as sf

session = sf.connect("town/town.toml")
people, visits = session.table("people"), session.table("visits")

question = people.filter("age >= 18").group_by("district").count()
question.explain(epsilon="0.1")               # price, errors, proof, SQL: free
question.release(epsilon="0.1")               # charged first, then read

visits.group_by("clinic").agg(cost=sf.mean("cost")).release(epsilon="0.2")
session.remaining
session.ledger.verify()
"""

COMMANDS = """
sfumato query town/town.toml --table people --group-by district --count --epsilon 0.1 --explain
sfumato query town/town.toml --table people --group-by district --count --epsilon 0.1
sfumato report town/town.toml --out town.html
sfumato ledger show town/town.toml
"""


def write(page: Page, town: Town, answers: Answers) -> None:
    """Append the chapter."""
    _contract(page, town, answers)
    _districts(page, town, answers)
    _visits(page, town, answers)
    _budget(page, answers)


def truth_marks(names: Sequence[str], truth: Sequence[float]) -> Any:
    """Draw the truth as lines, to be laid over a chart of answers."""
    import altair as alt

    rows = [
        {"key": name, "order": i, "value": value}
        for i, (name, value) in enumerate(zip(names, truth, strict=True))
    ]
    order = alt.EncodingSortField("order", op="min")
    return (
        alt.Chart(alt.InlineData(values=rows))
        .mark_tick(color=CONTRAST, thickness=2, size=22, opacity=1)
        .encode(x="value:Q", y=alt.Y("key:N", sort=order))
    )


def _contract(page: Page, town: Town, answers: Answers) -> None:
    people, visits = grouped(town.age.size), grouped(town.visitor.size)
    page.section("A town behind a contract")
    page.text(
        f"The same town keeps two tables: {people} people in a CSV file, and their {visits} visits "
        f"to clinics in a Parquet file. Most people come once or twice a year, a few come sixty "
        f"times. The owner declares what is public: who is protected, how much of one person "
        f"counts, what a column can say, and how much may be learned in all."
    )
    page.code(CONTRACT)
    page.text(
        f"What a question costs and how far it errs is known before anything is read, so asking "
        f"for that is free. People by district cost {answers.price}, and each count will be within "
        f"{answers.reach} with {percent(answers.counts.confidence)} confidence."
    )


def _districts(page: Page, town: Town, answers: Answers) -> None:
    page.section("People and incomes by district")
    page.text(
        f"The counts, and the mean income of those who said it, for ε = {show(EPSILON)} each. A "
        f"mean is made of a noisy sum and a noisy count, and its interval knows both. In a large "
        f"district it is narrower, since the noise is the same for all."
    )
    income = answers.income["income"]
    drawn = estimate_chart(income, DISTRICTS, title="Mean income", axis="a year")
    page.figure(
        to_svg(drawn + truth_marks(DISTRICTS, town.true_incomes)),
        "Brown dot: the released mean. Soft bar around it: its interval. Blue line: the truth.",
    )
    page.table(
        ["District", "People", "From", "To", "Truth", "Income", "From", "To", "Truth"],
        zip(
            DISTRICTS,
            *columns_of(answers.counts.measure("people")),
            town.true_counts,
            *columns_of(answers.income.measure("income")),
            [round(mean) for mean in town.true_incomes],
            strict=True,
        ),
        numeric=range(1, 9),
        caption=f"Each interval holds with {percent(income.confidence)} confidence; it covers the "
        f"noise.",
    )


def _visits(page: Page, town: Town, answers: Answers) -> None:
    cost = answers.cost["cost"]
    page.section("What a visit costs")
    page.text(
        f"Protected is the person with all her visits, not one visit. So that nobody weighs too "
        f"much, at most five visits of one person count, chosen by a secret key and not by what "
        f"they cost (ε = {show(USERS)})."
    )
    drawn = estimate_chart(cost, CLINICS, title="Mean cost of a visit", axis="cost")
    page.figure(
        to_svg(drawn + truth_marks(CLINICS, town.true_costs)),
        "Blue line: the truth of all visits. What the interval does not cover is that some visits "
        "were left out; here it hardly matters, since those who come often pay as much as others.",
    )
    page.table(
        ["Clinic", "Mean cost", "From", "To", "Truth"],
        zip(
            CLINICS,
            *columns_of(answers.cost.measure("cost")),
            [f"{mean:.2f}" for mean in town.true_costs],
            strict=True,
        ),
        numeric=range(1, 5),
    )


def _budget(page: Page, answers: Answers) -> None:
    same = "the same answer" if answers.again == answers.counts else "another answer"
    page.section("The budget holds")
    page.text(
        "Every charge is on the disk before the data is read. A question that costs more than is "
        "left is refused; a question that was answered before is answered from the ledger."
    )
    page.facts(
        [
            ("At first", f"{answers.left[0]} may be spent"),
            ("After three questions", f"{answers.left[3]} is left"),
            ("A question of ε = 1 more", f"Refused: {answers.refusal}"),
            ("The first one again", f"{same}, free: {answers.left[4]} is left"),
            ("The ledger, replayed", answers.verdict),
        ]
    )
