"""The report of a session: contract, answers, ledger and certificate as one page.

It is made of what is public: declarations, noisy answers and the ledger without its key. Where the
data is, is not on it, and nothing is read or charged for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from sfumato.core.errors import InputError
from sfumato.core.listing import listed
from sfumato.core.unit import Neighbors
from sfumato.release import trust
from sfumato.release.card import Card, unit_in_words
from sfumato.release.frame import footer, rows
from sfumato.release.guarantee import guarantees, meaning
from sfumato.release.page import Page
from sfumato.release.price import Price
from sfumato.release.release import Release
from sfumato.release.version import version
from sfumato.session.certificate import charged, left, limit, moment, recorded, table_name
from sfumato.session.columns import described
from sfumato.session.holdings import Holdings
from sfumato.session.stored import Stored, in_words

if TYPE_CHECKING:
    from sfumato.accounting.sums import Charge
    from sfumato.ledger.event import Event
    from sfumato.ledger.view import View
    from sfumato.relation.source import Source

MOST_ANSWERS = 100  # on one page, the newest
MOST_ROWS = 1000  # of one table on the page

# What became of a request whose last entry has this kind; anything else is still under way.
_OUTCOMES = {
    "settled": "answered",
    "abandoned": "given up; the charge stands",
    "fault": "failed; the charge stands",
    "returned": "given back, nothing was read",
}
# What other entries say, in words.
_EVENTS = {
    "given": "given again",
    "raised": "budget raised",
    "refreshed": "new version of the data",
    "declared": "declaration of the table",
    "acknowledged": "fault acknowledged",
    "fault": "fault",
    "opened": "budget set aside",
    "freed": "rest of it freed",
}
_STORED = "As the ledger stores it: what was measured, before anything was made of it."
_PARTS = (
    "Means and the like are computed from these parts, and neither they nor the names of questions "
    "are stored: session.report(releases=answers) shows the answers themselves."
)
_TOGETHER = (
    "The parts were paid for at once: for a batch, or for one question that needs them all. They "
    "are ordered by table, groups, rows and what was measured; those about the same rows in the "
    "same groups stand side by side."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What goes on the page.

    Attributes:
        ledger: what was spent; only looked at.
        tables: the declared tables, each with the public label of its data, if it has one.
        releases: the answers to show: one, several, or several by name; None shows those that the
            ledger stores.
        title: the heading; the tables' names if empty.
        analyst: whose view it is; None is the owner's, who sees every charge.
    """

    ledger: View
    tables: Mapping[Source, str | None]
    releases: Release | Iterable[Release] | Mapping[str, Release] | None = None
    title: str = ""
    analyst: str | None = None

    def page(self) -> Page:
        """Lay the report out.

        Raises:
            InputError: a release that this ledger did not pay for; what is no release; a title that
                is no text.
        """
        if not isinstance(self.title, str):
            raise InputError(
                f"title= of a report is a text, the heading of the page, and this is of type "
                f"{type(self.title).__name__}. Pass a string, or leave it out."
            )
        names = ", ".join(source.name for source in self.tables)
        page = Page(
            self.title or (f"Report: {names}" if names else "Report"),
            lead="What was declared, what was asked and answered, what it cost, and what is "
            "promised. Every answer here is noisy; nothing is read off the data.",
        )
        self.write(page)
        return page.footer(f"Made with sfumato {version()}, from contract and ledger alone.")

    def write(self, page: Page) -> None:
        """Append the report to a page."""
        answers = None if self.releases is not None else self.ledger.answers()
        # After the answers, so that it has all, and once for all.
        held = Holdings.of(self.ledger.history(), self.analyst)
        sections: list[Callable[[str], None]] = []
        if answers is None:
            passed = _passed(self.releases)
            for name, release in passed:
                card, said = self._certified(release, held), _heading(release, name)
                sections.append(partial(_answer, page, said, release, card))
            shown = _passed_in_words([release for _, release in passed])
        else:
            stored = _newest({entry.seq: (entry, kept) for entry, kept in answers}, held)
            for each in stored:
                card = self._certified(each.blocks[0], held)
                sections.append(partial(_stored, page, each, card))
            shown = _stored_in_words(stored)
        self._contract(page)
        for number, section in enumerate(sections, 1):
            section(f"Answer {number}")
        self._record(page, shown)
        self._promise(page)

    def _contract(self, page: Page) -> None:
        unit, shares = self.ledger.unit, self.ledger.analysts
        page.section("Contract")
        page.facts(
            [
                ("Protected", unit_in_words(unit)),
                ("Compared tables", _compared(unit.neighbors)),
                ("Limit for everything", limit(self.ledger.budget).said),
                *(
                    (f"Share of {name}", limit(share).said)
                    for name, share in shares.items()
                    if self.analyst in (None, name)
                ),
            ]
        )
        for source, label in self.tables.items():
            of = f", version {label}" if label else ""
            page.head(f"Table {source.name}{of}")
            facts = [("Of one unit", unit_in_words(source.unit))]
            if source.rows is not None:
                facts.append(("Rows", f"{source.rows:,}, declared as public"))
            page.facts(facts)
            page.table(
                ["Column", "What it can say", "Missing"],
                [
                    (name, described(source.schema[name]), _missing(source.schema[name].nullable))
                    for name in source.columns
                ],
            )

    def _certified(self, release: Release, held: Holdings) -> Card:
        if trust.is_declared(release):
            return release.card()
        return release.card(recorded(self.ledger, release, held))

    def _record(self, page: Page, shown: str) -> None:
        ledger, who = self.ledger, self.analyst
        events = ledger.history()
        page.section("Ledger")
        stored = len(Holdings.of(events, who))
        kept = "on disk" if ledger.durable else "in memory: not durable, and lost with its process"
        page.facts(
            [
                ("Spent", charged(ledger.spent(who)).said),
                ("Left", left(ledger.remaining(who)).said),
                ("Answers", f"{stored} stored, {shown}"),
                ("Kept", kept),
                ("State", "closed: a fault waits for the owner" if ledger.closed else "open"),
                ("Head", ledger.head),
                ("To verify", f"sfumato ledger verify CONTRACT --head {ledger.head}"),
            ]
        )
        page.text(
            "A release has to fit one of the views that are left, ε or ρ, and δ. The head proves "
            "later that no entry was changed or taken out. The limit holds for whoever reads all "
            "of it; shares of single analysts do not count what they read here."
        )
        lines = list(_charges(events, who))
        page.table(
            ["Entry", "Time", "What", "Analyst", "Table", "Version", "Charge"],
            lines[-MOST_ROWS:],
            caption=f"The last {MOST_ROWS:,} of {len(lines):,}." if len(lines) > MOST_ROWS else "",
        )

    def _promise(self, page: Page) -> None:
        budget, neighbors = self.ledger.budget, self.ledger.unit.neighbors
        price = Price(budget.epsilon, budget.delta, budget.rho)
        page.section("Certificate")
        page.text(
            "For all answers of this ledger together, those on this page and those still to come, "
            "however each question was chosen in view of the answers before it. Should the owner "
            "raise the limit, that is an entry of the ledger, and this holds with the new one:"
        )
        facts = [("Definition", str(found)) for found in guarantees(price)]
        if budget.epsilon is not None:
            facts.append(("In words", meaning(budget.epsilon, budget.delta, neighbors)))
        page.facts([*facts, *trust.SESSION])
        page.head("Not promised")
        page.facts(trust.LIMITS)


def _passed(given: object) -> list[tuple[str, Release]]:
    """Return the releases that somebody passed, each with its name, if it has one.

    Raises:
        InputError: it is something else.
    """
    if isinstance(given, Release):
        return [("", given)]
    if isinstance(given, Mapping):
        pairs = list(given.items())
    elif hasattr(type(given), "__iter__") and (several := listed(given)) is not None:
        pairs = [("", each) for each in several]
    else:
        raise _no_release(f"releases= is of type {type(given).__name__}")
    for place, (name, each) in enumerate(pairs, 1):
        if not isinstance(name, str):
            raise _no_release(
                f"answer {place} in releases= has a name of type {type(name).__name__}"
            )
        if not isinstance(each, Release):
            called = f" ({name!r:.80})" if isinstance(given, Mapping) else ""
            raise _no_release(
                f"answer {place}{called} in releases= is of type {type(each).__name__}"
            )
    return pairs


def _no_release(why: str) -> InputError:
    return InputError(
        f"a report shows releases, and {why}. Pass what release() returned: one answer, a list of "
        f"them, or a mapping from names to them, as that of a batch. Left out, releases= are what "
        f"the ledger stores."
    )


def _newest(answers: Mapping[int, tuple[Event, bytes]], held: Holdings) -> list[Stored]:
    """Return the answers of a holder that fit a page, the oldest first; the newest in any case."""
    found: list[Stored] = []
    room = MOST_ANSWERS
    for seq in reversed(list(held.charged)):
        if seq not in answers:  # it was stored after they were read
            continue
        stored = Stored.of(*answers[seq])
        room -= len(stored.blocks)
        if found and room < 0:
            break
        found += [stored] if stored.blocks else []
    return found[::-1]


def _stored_in_words(stored: Sequence[Stored]) -> str:
    parts = sum(each.parts for each in stored)
    more = f", in {parts} measured parts" if parts > len(stored) else ""
    return f"{len(stored)} on this page{more}"


def _passed_in_words(releases: Sequence[Release]) -> str:
    paid = {release.receipt for release in releases} - {None}  # once for all of a batch
    more = f", passed as {len(releases)} answers" if len(releases) > len(paid) else ""
    return f"{len(paid)} on this page{more}"


def _stored(page: Page, stored: Stored, card: Card, number: str) -> None:
    """Append a stored answer: what was measured for it, and what that cost together."""
    said = _STORED if stored.parts == 1 else f"{_STORED} {_PARTS}"
    if len(stored.blocks) == 1:
        _answer(page, _heading(stored.blocks[0]), stored.blocks[0], card, number, said)
        return
    page.section(f"{number}: one charge of {stored.parts} measured parts")
    page.text(said, _TOGETHER)
    charge = stored.entry.charge
    sections = dict(card.sections)
    page.facts(
        [
            *(fact for fact in sections["What was released"] if fact[0] == "Table"),
            *([] if charge is None else _cost(_price(charge), charge.neighbors)),
            *(fact for fact in sections["Record"] if fact[0] in ("Receipt", "Charged")),
        ]
    )
    for block in stored.blocks[:MOST_ANSWERS]:
        page.head(in_words(block))
        _figures(page, block)
        sections = dict(block.card().sections)
        notes = [fact for fact in sections["What was released"] if fact[0] == "Note"]
        page.facts([*notes, *sections["How it was computed"]])
    if (more := len(stored.blocks) - MOST_ANSWERS) > 0:
        page.text(f"{more:,} more are not shown.")


def _answer(
    page: Page, title: str, release: Release, card: Card, number: str, said: str = ""
) -> None:
    """Append an answer: chart and table with intervals, what it cost, how it was made."""
    page.section(f"{number}: {title}")
    if said:
        page.text(said)
    _figures(page, release)
    said_once = ("All together", "To verify", "Software")  # by the page, for all answers
    sections = dict(card.sections)
    page.facts(
        [
            *(f for f in sections["What was released"] if f[0] in ("Table", "Note")),
            *_cost(release.price, release.neighbors),
            *sections["How it was computed"],
            *(f for f in sections["Record"] if f[0] not in said_once),
        ]
    )


def _figures(page: Page, release: Release) -> None:
    """Append charts, and the table with its intervals."""
    for name in release:
        try:
            drawing = release.chart(name).to_svg()
        except InputError:  # nothing that a chart can show: the table has it
            continue
        page.figure(drawing, "Dot: the released value. Soft bar: its interval.")
    more = len(release) - MOST_ROWS
    page.table(
        release.columns,
        rows(release, MOST_ROWS),
        numeric=range(len(release.keys), len(release.columns)),
        caption=footer(release) + (f"; {more:,} more rows are not shown" if more > 0 else ""),
    )


def _price(charge: Charge) -> Price:
    figures = charged(charge)
    return Price(figures.epsilon, figures.delta, figures.rho)


def _cost(price: Price | None, neighbors: Neighbors) -> Iterator[tuple[str, str]]:
    if found := "; ".join(f"{each.name}, {each.figures}" for each in guarantees(price)):
        yield "Cost", found
    if price is not None and price.epsilon is not None:
        yield "In words", meaning(price.epsilon, price.delta, neighbors)


def _charges(events: Sequence[Event], analyst: str | None) -> Iterator[tuple[object, ...]]:
    """Yield a line for every request and for what owners did; steps of a request are one line."""
    last = {event.ref: event.kind for event in events if event.ref is not None}
    steps = {"touched", *_OUTCOMES}
    for event in events:
        if analyst not in (None, event.analyst) or (event.kind in steps and event.ref is not None):
            continue
        what = _EVENTS.get(event.kind, event.kind)
        if event.kind == "reserved":
            what = _OUTCOMES.get(last.get(event.seq, ""), "under way")
        charge = event.charge
        if event.kind == "given" and charge is not None:
            what = "stored answer"  # that others asked for, and that is new to this analyst
        cost = "" if charge is None or last.get(event.seq) == "returned" else str(charge)
        table, label = table_name(event.dataset), table_name(event.version)
        yield str(event.seq), moment(event), what, event.analyst, table, label, cost


def _heading(release: Release, name: str = "") -> str:
    by = ", ".join(name for name, _ in release.keys)
    what = ", ".join(release) + (f" by {by}" if by else "")
    called = name or release.question
    return f"{called} ({what})" if called else what


def _compared(neighbors: Neighbors) -> str:
    if neighbors is Neighbors.ADD_REMOVE:
        return "with and without the data of any one unit"
    return "with any one unit's data replaced by other data; the number of units is public"


def _missing(nullable: bool) -> str:
    return "possible" if nullable else "no"
