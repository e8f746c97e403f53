"""The demonstration: who likes kale, and what a town may tell, on a console and as one page."""

from __future__ import annotations

from math import exp
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sfumato.cli import chapter, homes
from sfumato.cli.chapter import truth_marks
from sfumato.cli.console import narrate
from sfumato.cli.story import COIN, DAILY, DELTA_SHOWN, EPSILON, Answers, Story, ask, tell
from sfumato.cli.survey import DISTRICTS, Survey
from sfumato.cli.town import Town
from sfumato.core.errors import InputError
from sfumato.core.number import show
from sfumato.core.sensitivity import Sensitivity
from sfumato.release import Estimate
from sfumato.release.chart import ACCENT, CONTRAST, estimate_chart, to_svg
from sfumato.release.format import grouped, percent, rounded_up
from sfumato.release.page import Page
from sfumato.release.path import is_writable, new_path

CODE = """
import sfumato as sf

one = sf.Sensitivity(l1=1)        # one person moves a count by one
count = sf.mechanisms.DiscreteLaplace.calibrate(one, epsilon="0.5")
answer = count.release(likes_kale.sum(), one, name="likes kale")

answer["likes kale"]              # value, interval, confidence
answer.card()                     # what an officer would ask
sf.accounting.epsilon(answer.cost * 365, delta="1e-6")
"""


def run(out: Path, people: int, keep: Path | None = None) -> None:
    """Make up the people, ask the questions, write the page and tell the story.

    Args:
        out: where to write the page.
        people: how many people take part in the survey of kale.
        keep: a folder for the files of the town; they are thrown away if none is given.

    Raises:
        InputError: the page or the files cannot be written there.
    """
    if not is_writable(out):  # before anybody waits for it
        raise _unwritable(out, "--out with a file in a folder")
    new_path(out)  # refuses a ledger, too
    # One person is in one row and in one district: she moves one count by one.
    story = tell(Survey.of(people), Sensitivity(l0=1, linf=1))
    town, answers = _town(keep)
    page = build(story, town, answers)
    try:
        page.write(out)
    except OSError:
        raise _unwritable(out, "--out with a file in a folder") from None
    narrate(story, town, answers, out)


def build(story: Story, town: Town, answers: Answers) -> Page:
    """Lay the stories out as a page."""
    page = Page(
        "Who likes kale?",
        lead=f"A survey of {grouped(story.people)} people and the tables of a town, answered with "
        f"differential privacy. Nobody in them is real: only for that reason may the truth stand "
        f"beside the answers.",
    )
    _nicole(page, story)
    _districts(page, story)
    _age(page, story)
    _cost(page, story)
    homes.write(page, story.people, EPSILON)
    _coin(page, story)
    chapter.write(page, town, answers)
    page.section("Try it")
    page.text("In the laboratory, without a budget:").code(CODE)
    page.text("Behind the contract above; `sfumato demo --keep town` leaves its files in town/:")
    page.code(chapter.CODE)
    page.text("The same at the console:").code(chapter.COMMANDS)
    page.section("What the town may publish")
    page.text(
        "From here on this page is a report as `sfumato report` writes it, for whoever has to "
        "decide or to check: what was declared, asked, answered and spent, and what is promised. "
        "There is no truth in it any more, only what is public."
    )
    page.append(answers.report)
    return page.footer(
        f"Made with sfumato {story.tuesday.version}, offline, from generated data. Run it again "
        f"and the people are the same; the noise is not."
    )


def _town(keep: Path | None) -> tuple[Town, Answers]:
    """Write the town's files and ask them."""
    town = Town.of()
    if keep is None:
        with TemporaryDirectory() as folder:
            return town, ask(town.write(Path(folder)))
    try:
        keep.mkdir()
        contract = town.write(keep)
    except OSError:
        raise _unwritable(
            keep, "--keep with a folder that does not exist yet, inside one"
        ) from None
    return town, ask(contract)


def _unwritable(path: Path, mend: str) -> InputError:
    return InputError(
        f"cannot write {str(path)!r}. Pass {mend} that exists and that you may write to."
    )


def _nicole(page: Page, story: Story) -> None:
    page.section("Two exact counts give Nicole away")
    page.text(
        "On Monday the town publishes how many people like kale. Then Nicole moves in and answers "
        "the survey too. On Tuesday the town publishes the count again. It promised to publish "
        "nothing but totals, and it kept its word."
    )
    page.figures(
        [
            ("Monday, exact", story.true_monday, "before Nicole"),
            ("Tuesday, exact", story.true_tuesday, "with Nicole"),
            ("Difference", story.true_tuesday - story.true_monday, "so Nicole said no"),
        ]
    )
    page.section("The same counts, blurred")
    page.text(
        f"Noise of a known size is added to each count, just enough to hide one person "
        f"(ε = {show(EPSILON)}). The outlines go soft; the picture stays true."
    )
    page.figures(
        [
            _figure("Monday, released", story.monday["likes kale"]),
            _figure("Tuesday, released", story.tuesday["likes kale"]),
        ]
    )
    page.figure(
        to_svg(_worlds(story.true_tuesday)),
        "What may be published in two worlds that differ in Nicole’s answer alone. Nowhere "
        f"is one more than {exp(EPSILON):.2f} times as likely as the other, so no published number "
        f"tells which world it came from.",
    )


def _districts(page: Page, story: Story) -> None:
    page.section("By district")
    page.text(
        f"Six counts for the price of one (ε = {show(EPSILON)}): nobody lives in two districts, so "
        f"one person can change one of them only."
    )
    page.figure(
        to_svg(story.districts.chart() + truth_marks(DISTRICTS, story.true_districts)),
        "Brown dot: the released count. Soft bar around it: its interval. Blue line: the truth.",
    )


def _age(page: Page, story: Story) -> None:
    median = story.age["median age"]
    page.section("The median age")
    page.text(
        f"A median is not a sum, so no noise is added to it. A point of the public range from 0 to "
        f"120 is chosen by chance, the more likely the closer it is to the middle of the people "
        f"(ε = {show(EPSILON)})."
    )
    off = f"at most {grouped(median.margin)} people from the middle, {percent(median.confidence)}"
    page.figures(
        [
            ("Median age, released", median.value, off),
            ("Truth", story.true_age, f"of {grouped(story.people)} people"),
        ]
    )


def _cost(page: Page, story: Story) -> None:
    page.section("What it costs together")
    page.text(
        f"Every answer gives a little away, and it adds up. The four answers above cost "
        f"ε = {show(story.spent)} together: four times {show(EPSILON)}.",
        f"Many small answers compose to less than their sum, if a tiny chance of more is allowed "
        f"(δ = {DELTA_SHOWN}). Here is a question of ε = {show(DAILY)}, asked each day for a year.",
    )
    page.figure(
        to_svg(_growth(story)),
        f"Blue: the simple sum, valid with no exception. Brown: composed, at δ = {DELTA_SHOWN}.",
    )
    page.table(
        ["Days", "Simple sum ε", "Composed ε"],
        [(days, added, rounded_up(composed)) for days, added, composed in story.later],
        numeric=range(3),
    )


def _coin(page: Page, story: Story) -> None:
    import altair as alt

    share = story.coin
    page.section("Nobody holds the truth")
    truthful = exp(COIN) / (1 + exp(COIN))
    page.text(
        f"So far the town held everybody’s answers. It does not have to: each person throws a "
        f"weighted coin in private and answers truthfully with probability {truthful:.0%}, else "
        f"says the opposite (ε = {show(COIN)} for each). No single answer means much, and the "
        f"share can be computed all the same, less sharply.",
    )
    noisy, people = story.tuesday["likes kale"], story.people
    both = Estimate(
        [100 * noisy.value / people, 100 * share.value],
        [100 * noisy.low / people, 100 * share.low],
        [100 * noisy.high / people, 100 * share.high],
        covers="noise, and for the coins sampling too",
    )
    labels = ["noise added by the town", "a coin for each person"]
    drawn = estimate_chart(both, labels, title="Share of people who like kale", axis="percent")
    exact = 100 * story.true_tuesday / people
    truth = (
        alt.Chart(alt.InlineData(values=[{"value": exact}]))
        .mark_rule(color=CONTRAST, strokeWidth=2)
        .encode(x="value:Q")
    )
    page.figure(
        to_svg(drawn + truth),
        f"Blue line: the truth, {exact:.1f} %. How many people were asked counts as public. The "
        f"interval of the coins also covers that these people are a sample.",
    )
    page.note(
        "The two promises differ: noise on a count hides whether someone took part at all, a coin "
        "hides what she answered. So their costs are not added up here."
    )


def _worlds(center: int) -> Any:
    """Draw the law of the published count with Nicole's no and with her yes."""
    import altair as alt

    ratio = exp(-EPSILON)
    names = ("Nicole says no", "Nicole says yes")
    rows = [
        {"x": x, "p": (1 - ratio) / (1 + ratio) * ratio ** abs(x - center - i), "world": name}
        for i, name in enumerate(names)
        for x in range(center - 14, center + 16)
    ]
    color = alt.Scale(domain=list(names), range=[ACCENT, CONTRAST])
    return (
        alt.Chart(alt.InlineData(values=rows), width=520, height=170)
        .mark_area(interpolate="monotone", opacity=0.35, line={"strokeWidth": 1.5})
        .encode(
            x=alt.X("x:Q", title="published count", scale=alt.Scale(zero=False, nice=False)),
            y=alt.Y("p:Q", title="probability", stack=None, axis=alt.Axis(format="%")),
            color=alt.Color("world:N", scale=color),
        )
    )


def _growth(story: Story) -> Any:
    """Draw ε against the number of days, summed and composed."""
    import altair as alt

    names = ("simple sum", "composed")
    rows = [
        {"days": days, "epsilon": float(value), "way": name}
        for days, *values in story.later
        for name, value in zip(names, values, strict=True)
    ]
    color = alt.Scale(domain=list(names), range=[CONTRAST, ACCENT])
    return (
        alt.Chart(alt.InlineData(values=rows), width=520, height=220)
        .mark_line(point={"size": 40}, strokeWidth=2)
        .encode(
            x=alt.X("days:Q", title="days"),
            y=alt.Y("epsilon:Q", title="ε"),
            color=alt.Color("way:N", scale=color),
        )
    )


def _figure(label: str, estimate: Estimate) -> tuple[str, object, str]:
    interval = f"{grouped(estimate.low)} to {grouped(estimate.high)}"
    return label, estimate.value, f"{interval}, {percent(estimate.confidence)}"
