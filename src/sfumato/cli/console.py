"""The story of the demonstration, told on a console."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sfumato.cli.story import COIN, DAILY, DELTA_SHOWN, EPSILON
from sfumato.cli.survey import DISTRICTS
from sfumato.core.number import show
from sfumato.release.format import grouped, percent, rounded_up

if TYPE_CHECKING:
    from pathlib import Path

    from sfumato.cli.story import Story
    from sfumato.release import Estimate

_WIDTH = 84


def narrate(story: Story, page: Path) -> None:
    """Print the story; about fifty lines."""
    console = Console(width=min(_WIDTH, Console().width), highlight=False)

    def head(title: str) -> None:
        console.print()
        console.print(Text(title, style="bold"))

    def say(words: str) -> None:
        indented = fill(words, console.width, initial_indent="  ", subsequent_indent="  ")
        console.print(indented, markup=False)

    def show_table(table: Table) -> None:
        console.print(Padding(table, (0, 0, 0, 2), expand=False))

    console.print(Text("sfumato: who likes kale?", style="bold"))
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
    show_table(table)
    say("The answer hardly moves, and Nicole can deny whatever anyone reads into it.")
    head(f"3. By district, ε = {show(EPSILON)} for all of them: nobody lives in two")
    table = _table("district", "released", "95 % interval", "truth")
    counts = story.districts["likes kale"]
    for i, name in enumerate(DISTRICTS):
        interval = f"{grouped(int(counts.low[i]))} to {grouped(int(counts.high[i]))}"
        row = (grouped(int(counts.value[i])), interval, grouped(story.true_districts[i]))
        table.add_row(name, *row)
    show_table(table)
    median = story.age["median age"]
    head(f"4. The median age, ε = {show(EPSILON)}")
    say(
        f"{grouped(median.value)} years (truth: {story.true_age}). With "
        f"{percent(median.confidence)} confidence it is at most "
        f"{grouped(median.margin)} people away from the middle."
    )
    head("5. What it costs together")
    days, added, composed = story.later[-1]
    say(
        f"Four answers: ε = {show(story.spent)}. A small question every day for {days} days, "
        f"ε = {show(DAILY)} each, adds up to ε = {show(added)}; composed, it is ε = "
        f"{rounded_up(composed)} at δ = {DELTA_SHOWN}."
    )
    head(f"6. Nobody holds the truth: each answers with a coin, ε = {show(COIN)}")
    share = story.coin
    say(
        f"{_share(share.value)} like kale, between {_share(share.low)} and {_share(share.high)} "
        f"(truth: {_share(story.true_tuesday / story.people)}). No trust needed, but more noise."
    )
    console.print()
    console.print(Text("The page with charts: ").append(str(page), style="bold"), soft_wrap=True)


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
