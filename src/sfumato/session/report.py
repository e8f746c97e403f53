"""The report of a session: contract, answers, ledger and certificate as one page.

It is made of what is public: declarations, noisy answers and the ledger without its key. Where the
data is, is not on it, and nothing is read or charged for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sfumato import accounting
from sfumato.core.codec import decode
from sfumato.core.errors import CodecError, InputError
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

if TYPE_CHECKING:
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
        stored = [] if self.releases is not None else self.ledger.answers()
        # After the answers, so that it has all, and once for all.
        held = Holdings.of(self.ledger.history(), self.analyst)
        answers = self._answers(stored, held)
        cards = [(_certified(self, release, held), release, said) for release, said in answers]
        self._contract(page)
        for number, (card, release, said) in enumerate(cards, 1):
            answer(page, f"Answer {number}: {_heading(release)}", release, card, said)
        self._record(page, len(cards))
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

    def _answers(
        self, stored: Sequence[tuple[Event, bytes]], held: Holdings
    ) -> list[tuple[Release, str]]:
        """Return what to show, each with a remark."""
        if self.releases is not None:
            return [(release, "") for _, release in _passed(self.releases)]
        by_entry = {entry.seq: (entry, answer) for entry, answer in stored}
        found = []
        for seq in held.charged:
            if seq in by_entry:  # else it was stored after they were read
                entry, answer = by_entry[seq]
                found += [(release, _STORED) for release in _joined(_decoded(answer), entry)]
        return found[-MOST_ANSWERS:]

    def _record(self, page: Page, shown: int) -> None:
        ledger, who = self.ledger, self.analyst
        events = ledger.history()
        page.section("Ledger")
        stored = len(Holdings.of(events, who))
        kept = "on disk" if ledger.durable else "in memory: not durable, and lost with its process"
        page.facts(
            [
                ("Spent", charged(ledger.spent(who)).said),
                ("Left", left(ledger.remaining(who)).said),
                ("Answers", f"{stored} stored, {shown} on this page"),
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


def answer(page: Page, title: str, release: Release, card: Card, said: str = "") -> None:
    """Append an answer: chart and table with intervals, what it cost, how it was made."""
    page.section(title)
    if said:
        page.text(said)
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
    cost = "; ".join(f"{found.name}, {found.figures}" for found in guarantees(release.price))
    said_once = ("All together", "To verify", "Software")  # by the page, for all answers
    sections = dict(card.sections)
    page.facts(
        [
            *(f for f in sections["What was released"] if f[0] in ("Table", "Note")),
            *([("Cost", cost)] if cost else []),
            *(f for f in sections["What it cost"] if f[0] == "In words"),
            *sections["How it was computed"],
            *(f for f in sections["Record"] if f[0] not in said_once),
        ]
    )


def _certified(report: Report, release: Release, held: Holdings) -> Card:
    if trust.is_declared(release):
        return release.card()
    return release.card(recorded(report.ledger, release, held))


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


def _decoded(stored: bytes) -> list[Release]:
    try:
        found = decode(stored)
    except CodecError:
        return []  # stored by a program of its own, for itself
    return [r for r in found if isinstance(r, Release)] if isinstance(found, tuple) else []


def _joined(parts: Sequence[Release], entry: Event) -> Iterable[Release]:
    """Put parts of one request with the same cells side by side; they were paid for together."""
    if not parts or entry.loss is None or len({part.keys for part in parts}) > 1:
        return parts
    measures = [measure for part in parts for measure in part.measures]
    names = [measure.name for measure in measures]
    notes = list(parts[0].notes)
    if len(set(names)) < len(names):
        measures = [replace(m, name=f"part {i}") for i, m in enumerate(measures, 1)]
        notes = [note for note in notes if all(note in part.notes for part in parts)]
        for i, part in enumerate(parts, 1):
            notes += [f"part {i}: {note}" for note in part.notes if note not in notes]
    price = accounting.price(entry.loss)
    return [
        replace(
            parts[0],
            measures=tuple(measures),
            cost=entry.loss,
            price=price,
            notes=tuple(notes),
            noisy=tuple(draw for part in parts for draw in part.noisy),
        )
    ]


def _heading(release: Release) -> str:
    by = ", ".join(name for name, _ in release.keys)
    return ", ".join(release) + (f" by {by}" if by else "")


def _compared(neighbors: Neighbors) -> str:
    if neighbors is Neighbors.ADD_REMOVE:
        return "with and without the data of any one unit"
    return "with any one unit's data replaced by other data; the number of units is public"


def _missing(nullable: bool) -> str:
    return "possible" if nullable else "no"
