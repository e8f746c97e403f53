"""The stories of the demonstration, told on a console."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sfumato.cli.listing import columns_of
from sfumato.cli.story import COIN, DAILY, DELTA_SHOWN, EPSILON, USERS
from sfumato.core.number import show
from sfumato.release.format import grouped, percent, rounded_up

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from sfumato.cli.story import Answers, Story
    from sfumato.cli.town import Town
    from sfumato.release import Estimate, Release

_WIDTH = 84


class Teller:
    """A console on which a story is told: headings, sentences, tables."""

    def __init__(self) -> None:
        """Take the console there is, not too wide to be read."""
        self.console = Console(width=min(_WIDTH, Console().width), highlight=False)

    def head(self, title: str) -> None:
        """Print a heading."""
        self.console.print()
        self.console.print(Text(title, style="bold"), soft_wrap=True)

    def say(self, words: str) -> None:
        """Print a sentence or two."""
        width = self.console.width
        text = fill(words, width, initial_indent="  ", subsequent_indent="  ")
        self.console.print(text, markup=False)

    def show(self, first: str, release: Release, truth: Iterable[str]) -> None:
        """Print a release by one key, with intervals and the truth."""
        measure, (_, names) = release.measures[0], release.keys[0]
        table = _table(first, "released", f"{percent(release.confidence)} interval", "truth")
        for name, value, low, high, true in zip(names, *columns_of(measure), truth, strict=True):
            table.add_row(str(name), value, f"{low} to {high}", true)
        self.print(table)

    def print(self, table: Table) -> None:
        """Print a table, indented."""
        self.console.print(Padding(table, (0, 0, 0, 2), expand=False))


def narrate(story: Story, town: Town, answers: Answers, page: Path) -> None:
    """Print both stories; about eighty lines."""
    teller = Teller()
    teller.console.print(Text("sfumato: who likes kale?", style="bold"))
    _survey(teller, story)
    _town(teller, town, answers)
    teller.console.print()
    where = Text("The page with charts, and the town's report: ").append(str(page), style="bold")
    teller.console.print(where, soft_wrap=True)


def _survey(teller: Teller, story: Story) -> None:
    head, say = teller.head, teller.say
    say(
        f"A survey of {grouped(story.people)} people, all made up. Only for that reason may the "
        f"truth stand beside the noisy answers."
    )
    head("1. Two exact counts give Nicole away")
    say(
        f"Monday {grouped(story.true_monday)} people like kale. Nicole moves to town. Tuesday it "
        f"is {grouped(story.true_tuesday)}: now everybody knows what Nicole answered."
    )
    head(f"2. The same counts with noise, ε = {show(EPSILON)} each")
    table = _table("", "released", "95 % interval", "truth")
    table.add_row("Monday", *_answer(story.monday["likes kale"], story.true_monday))
    table.add_row("Tuesday", *_answer(story.tuesday["likes kale"], story.true_tuesday))
    teller.print(table)
    say("The answer hardly moves, and Nicole can deny whatever anyone reads into it.")
    median = story.age["median age"]
    head(f"3. The median age, ε = {show(EPSILON)}")
    say(
        f"{grouped(median.value)} years (truth: {story.true_age}). With "
        f"{percent(median.confidence)} confidence it is at most "
        f"{grouped(median.margin)} people away from the middle."
    )
    head("4. What it costs together")
    days, added, composed = story.later[-1]
    say(
        f"With the counts by district, which are on the page, four answers: "
        f"ε = {show(story.spent)}. A small question every day for {days} days, "
        f"ε = {show(DAILY)} each, adds up to ε = {show(added)}; composed, it is ε = "
        f"{rounded_up(composed)} at δ = {DELTA_SHOWN}."
    )
    head(f"5. Nobody holds the truth: each answers with a coin, ε = {show(COIN)}")
    share = story.coin
    say(
        f"{_share(share.value)} like kale, between {_share(share.low)} and {_share(share.high)} "
        f"(truth: {_share(story.true_tuesday / story.people)}). No trust needed, but more noise."
    )


def _town(teller: Teller, town: Town, answers: Answers) -> None:
    head, say = teller.head, teller.say
    head("6. The whole town, behind a contract and a ledger")
    say(
        f"{grouped(town.age.size)} people in a CSV file, {grouped(town.visitor.size)} visits to "
        f"clinics in a Parquet file; {answers.left[0]} for all that is ever asked. Before paying: "
        f"people by district cost {answers.price} and err by {answers.reach}. To know that is "
        f"free, and nothing was read."
    )
    head(f"7. People by district, and their mean income, ε = {show(EPSILON)} each")
    teller.show("people", answers.counts, map(grouped, town.true_counts))
    teller.show("income", answers.income, (f"{mean:,.0f}" for mean in town.true_incomes))
    head(f"8. What a visit costs, ε = {show(USERS)} for a person with all her visits")
    teller.show("clinic", answers.cost, (f"{mean:.2f}" for mean in town.true_costs))
    say("A few come sixty times a year. Of each person five visits count, so nobody stands out.")
    head("9. The budget holds")
    say(f"A question of ε = {show(USERS)} more is refused: {answers.refusal}")
    same = "The same answer" if answers.again == answers.counts else "Another answer"
    say(f"The first question again: {same.lower()}, free. Left: {answers.left[-1]}.")
    say(f"The ledger, replayed: {answers.verdict}.")


def _table(first: str, *numbers: str) -> Table:
    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False, header_style="dim")
    table.add_column(first)
    for name in numbers:
        table.add_column(name, justify="right")
    return table


def _answer(estimate: Estimate, truth: int) -> tuple[str, str, str]:
    interval = f"{grouped(estimate.low)} to {grouped(estimate.high)}"
    return grouped(estimate.value), interval, grouped(truth)


def _share(share: float) -> str:
    return f"{100 * share:.1f} %"
