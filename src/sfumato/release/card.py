"""The card of a release: what a data-protection officer asks, in plain words.

Every sentence is static or says what the release says; there is no data in it beyond the noisy
values that the release itself publishes. Numbers such as ε are computed above this layer and may be
handed in.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from math import exp
from textwrap import fill
from typing import TYPE_CHECKING, TypeAlias

from sfumato.core.number import show_above
from sfumato.core.unit import Neighbors, Unit
from sfumato.release.format import approximate, percent, plain, printable
from sfumato.release.page import Page
from sfumato.release.wording import describe

if TYPE_CHECKING:
    from pathlib import Path

    from sfumato.release.release import Release

Facts: TypeAlias = tuple[tuple[str, str], ...]

_WIDTH = 88


@dataclass(frozen=True, slots=True, repr=False)
class Card:
    """A description for people: titled sections of labelled sentences. Printing it shows it.

    Attributes:
        title: what was released.
        sections: each a title and its facts, as (label, sentence).
        digest: the SHA-256 of the release that it describes.
    """

    title: str
    sections: tuple[tuple[str, Facts], ...]
    digest: str

    @classmethod
    def of(cls, release: Release) -> Card:
        """Describe `release`."""
        sections = (
            ("What was released", _content(release)),
            ("Who is protected, and how", _protection(release)),
            ("How it was computed", _mechanisms(release)),
            ("What it cost", _price(release)),
            ("What was claimed, what was enforced", _trust(release)),
            ("Origin", _origin(release)),
        )
        measured = ", ".join(printable(name) for name in release)
        return cls(f"Release card: {measured}", sections, release.digest)

    def __str__(self) -> str:
        """Write the card as text."""
        lines = [self.title, "=" * len(self.title)]
        for title, facts in self.sections:
            lines += ["", title, "-" * len(title)]
            for label, said in facts:
                lines.append(fill(f"{label}: {said}", _WIDTH, subsequent_indent="    "))
        return "\n".join(lines)

    __repr__ = __str__

    def to_json(self) -> str:
        """Write the card as JSON."""
        sections = [
            {"title": title, "facts": [{"label": label, "text": said} for label, said in facts]}
            for title, facts in self.sections
        ]
        content = {"title": self.title, "release": self.digest, "sections": sections}
        return json.dumps(content, ensure_ascii=False, indent=2)

    def to_html(self, path: str | Path | None = None) -> str | None:
        """Write the card as one self-contained HTML page; without a path, return it."""
        page = Page(self.title)
        self.write(page)
        return page.write(path)

    def write(self, page: Page) -> None:
        """Append the card to a page."""
        for title, facts in self.sections:
            page.section(title).facts(facts)


def _content(release: Release) -> Facts:
    by = ", ".join(printable(name) for name, _ in release.keys)
    shape = f"{len(release)} rows by {by}" if release.keys else "A single number"
    sure = percent(release.confidence)
    facts = [("Shape", shape)]
    for m in release.measures:
        if m.margin is not None:
            said = (
                f"off by at most {plain(m.margin)} with {sure} confidence, counted as: {m.covers}"
            )
        elif m.low is None:
            said = "No interval"
        else:
            said = f"Each value with its own {sure} interval, covering: {m.covers}"
        facts.append((printable(m.name), said))
    facts += [("Note", printable(note)) for note in release.notes]
    return tuple(facts)


def _protection(release: Release) -> Facts:
    if release.neighbors is Neighbors.ADD_REMOVE:
        compared = "With and without the data of any one unit"
    else:
        compared = "With any one unit's data replaced by other data (the number of units is public)"
    return (
        ("Unit", _unit(release.unit)),
        ("Compared tables", compared),
        (
            "Guarantee",
            "Every possible answer is almost equally likely in both cases, so the answer cannot "
            "tell them apart with confidence. The cost below says how far 'almost' goes. It holds "
            "against anyone, whatever else they know and whatever they compute from the answer.",
        ),
        (
            "Not covered",
            "What the answer teaches about everybody: a fact about a population may concern a "
            "person who took no part.",
        ),
    )


def _unit(unit: Unit | None) -> str:
    if unit is None:
        return (
            "Not declared. In the laboratory the caller states how far one unit can move the "
            "answer, and this card cannot know who the unit is."
        )
    if unit.column is None:
        rows = "One row" if unit.max_rows == 1 else f"Any {unit.max_rows} rows"
        return f"{rows} of the table. It protects a person only if nobody has more."
    caps = [
        f"{said} {cap}"
        for said, cap in (
            ("rows:", unit.max_rows),
            ("groups:", unit.max_groups),
            ("rows in one group:", unit.max_rows_per_group),
        )
        if cap is not None
    ]
    return (
        f"All rows that share one value of {printable(unit.column)}; of these, at most so many "
        f"count: {', '.join(caps)}."
    )


def _mechanisms(release: Release) -> Facts:
    facts = []
    for m in release.measures:
        scale = "" if m.scale is None else f"; noise scale {plain(m.scale)}"
        facts.append((printable(m.name), f"{printable(m.mechanism) or 'not named'}{scale}"))
    return tuple(facts)


def _price(release: Release) -> Facts:
    facts = [("Loss", said) for said in describe(release.cost)]
    price = release.price
    if price is None:
        return tuple(facts)
    if price.epsilon is not None:
        at = f"at δ = {show_above(price.delta)}" if price.delta else "with no exception (δ = 0)"
        facts.append(("As computed", f"ε = {show_above(price.epsilon)} {at}"))
        facts.append(("In words", _meaning(price.epsilon, price.delta, release.neighbors)))
    if price.rho is not None:
        facts.append(("As computed", f"ρ = {show_above(price.rho)} of concentrated DP"))
    return tuple(facts)


def _meaning(epsilon: Fraction, delta: Fraction, relation: Neighbors) -> str:
    if epsilon > 50:
        return (
            "No protection worth the name: some answer may all but prove what one unit's data was."
        )
    factor = exp(approximate(epsilon)) * (1 + 1e-9)  # up: the sentence may only overstate
    times = plain(Fraction(int(factor * 100) + 1, 100)) if epsilon else "1"
    compared = (
        "With or without one unit's data"
        if relation is Neighbors.ADD_REMOVE
        else "With one unit's data or with other data in its place"
    )
    beyond = f", apart from events of probability {show_above(delta)} at most" if delta else ""
    return f"{compared}, no event becomes more than {times} times as likely{beyond}."


def _trust(release: Release) -> Facts:
    if release.receipt is None:
        return (
            (
                "Claimed",
                "How far one unit can move the answer (the sensitivity) was stated by the caller "
                "and was not checked against a table.",
            ),
            (
                "Enforced",
                "The noise is drawn by the mechanism named above, on integers or a public grid; "
                "the cost follows from its parameters and the stated sensitivity.",
            ),
            (
                "Charge",
                "Not durable. No ledger took part, so nothing was charged here. Further answers "
                "from the same data add to this cost; whoever asks has to keep count.",
            ),
        )
    kept = (
        "the charge is durable."
        if release.durable
        else "not durable: the ledger was kept in memory and ended with its process."
    )
    return (
        ("Claimed", "Unit, bounds and categories were declared by the owner of the data."),
        (
            "Enforced",
            "Sensitivity and cost were computed from the question, the caps of the unit were "
            "applied to the table, and the charge was written before the data was read.",
        ),
        ("Charge", f"Ledger receipt {printable(release.receipt)}; {kept}"),
    )


def _origin(release: Release) -> Facts:
    return (
        ("Software", f"sfumato {printable(release.version)}"),
        ("Fingerprint", f"SHA-256 {release.digest}"),
    )
