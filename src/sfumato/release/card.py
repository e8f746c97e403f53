"""The certificate of a release: what a data-protection officer asks, for people and for programs.

Every sentence is static or says what the release says; there is no data in it beyond the noisy
values that the release itself publishes. What only a ledger knows (table, version, charge, what all
answers cost together) is handed in as a `Record` by whoever holds one.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, fields
from fractions import Fraction
from textwrap import fill
from typing import TYPE_CHECKING, Any, TypeAlias

from sfumato.core.errors import InputError
from sfumato.core.loss import Loss
from sfumato.core.unit import Neighbors, Unit
from sfumato.release import trust
from sfumato.release.format import exact_text, percent, plain, printable
from sfumato.release.guarantee import exception, guarantees, meaning
from sfumato.release.page import Page
from sfumato.release.record import Record
from sfumato.release.wording import describe

if TYPE_CHECKING:
    from pathlib import Path

    from sfumato.release.measure import Measure
    from sfumato.release.release import Release

Facts: TypeAlias = tuple[tuple[str, str], ...]

FORMAT = "sfumato-certificate-1"  # keys may be added under it; none changes its meaning
_WIDTH = 88
_SYMBOL = re.compile(r"([εδρσ]) = (?=\S)")


@dataclass(frozen=True, slots=True, repr=False)
class Card:
    """A certificate: titled sections of labelled sentences, and the same as values.

    Printing it shows it. `to_json` is for programs: its keys are documented and stay.

    Attributes:
        title: what was released.
        sections: each a title and its facts, as (label, sentence).
        digest: the SHA-256 of the release that it describes.
        values: what the sentences say as plain values; numbers are exact texts.
    """

    title: str
    sections: tuple[tuple[str, Facts], ...]
    digest: str
    values: dict[str, Any]

    @classmethod
    def of(cls, release: Release, record: Record | None = None) -> Card:
        """Describe `release`.

        Args:
            release: what was released.
            record: what a ledger says about it; without one the certificate says less.

        Raises:
            InputError: it is no record.
        """
        if record is not None and not isinstance(record, Record):
            raise InputError(
                f"what a ledger says about a release is a Record, and this is of type "
                f"{type(record).__name__}. Call card() without it, or session.certificate(release),"
                f" which fills it in."
            )
        sections = (
            ("What was released", _content(release, record)),
            ("Who is protected, and how", _protection(release)),
            ("What it cost", _price(release)),
            ("How it was computed", _mechanisms(release)),
            ("What was claimed, what was enforced", trust.claims(release)),
            ("What is not promised", trust.LIMITS),
            ("Record", _record(release, record)),
        )
        by = ", ".join(printable(name) for name, _ in release.keys)
        measured = ", ".join(printable(name) for name in release)
        title = f"Certificate: {measured}{f' by {by}' if by else ''}"
        return cls(title, sections, release.digest, _values(release, record))

    def __str__(self) -> str:
        """Write the certificate as text."""
        lines = [self.title, "=" * len(self.title)]
        for title, facts in self.sections:
            lines += ["", title, "-" * len(title)]
            for label, said in facts:
                bound = _SYMBOL.sub("\\1\xa0=\xa0", f"{label}: {said}")  # kept in one line
                wrapped = fill(bound, _WIDTH, subsequent_indent="    ")
                lines.append(wrapped.replace("\xa0", " "))
        return "\n".join(lines)

    __repr__ = __str__

    def to_json(self) -> str:
        """Write the certificate as JSON: values for programs, then the sentences."""
        sections = [
            {"title": title, "facts": [{"label": label, "text": said} for label, said in facts]}
            for title, facts in self.sections
        ]
        content = {
            "format": FORMAT,
            "title": self.title,
            "release": self.digest,
            **self.values,
            "sections": sections,
        }
        return json.dumps(content, ensure_ascii=False, indent=2)

    def to_html(self, path: str | Path | None = None) -> str | None:
        """Write the certificate as one self-contained HTML page; without a path, return it."""
        page = Page(self.title)
        self.write(page)
        return page.write(path)

    def write(self, page: Page) -> None:
        """Append the certificate to a page."""
        for title, facts in self.sections:
            page.section(title).facts(facts)


def _content(release: Release, record: Record | None) -> Facts:
    facts = []
    if record is not None:
        facts.append(
            ("Table", f"{printable(record.table)}, version {printable(record.version)} of its data")
        )
    by = ", ".join(printable(name) for name, _ in release.keys)
    facts.append(("Shape", f"{len(release)} rows by {by}" if by else "A single number"))
    sure = percent(release.confidence)
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
        compared = "With and without the data of any one unit (add_remove neighbors)"
    else:
        compared = (
            "With any one unit's data replaced by other data (replace neighbors; the number of "
            "units is public)"
        )
    return (
        ("Unit", unit_in_words(release.unit)),
        ("Compared tables", compared),
        (
            "Guarantee",
            "Every answer is almost equally likely in both cases; the cost says how far 'almost' "
            "goes. It holds against anyone, whatever they know or compute from the answer.",
        ),
    )


def unit_in_words(unit: Unit | None) -> str:
    """Say who is protected, and how much of one unit counts."""
    if unit is None:
        return (
            "Not declared. In the laboratory the caller states how far one unit can move the "
            "answer, and this certificate cannot know who the unit is."
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


def _price(release: Release) -> Facts:
    price = release.price
    found = guarantees(price)
    if price is None or not found:
        return (("Definition", "No figure was computed; the loss below says what happened."),)
    facts = [("Definition", str(found[0]))]
    for other in found[1:]:
        in_full = other.name != "concentrated"  # (ε, δ) is what laws and policies speak of
        facts.append(("Also", str(other) if in_full else f"{other.name}, {other.figures}"))
    if price.epsilon is not None:
        facts.append(("In words", meaning(price.epsilon, price.delta, release.neighbors)))
        facts.append(("δ", exception(price.delta)))
    return tuple(facts)


def _mechanisms(release: Release) -> Facts:
    facts = []
    for m in release.measures:
        scale = "" if m.scale is None else f"; noise scale {plain(m.scale)}"
        facts.append((printable(m.name), f"{printable(m.mechanism) or 'not named'}{scale}"))
    facts += [("Sensitivity and loss", said) for said in describe(release.cost)]
    return tuple(facts)


def _record(release: Release, record: Record | None) -> Facts:
    facts = []
    if release.receipt is not None:
        kept = (
            "the charge is durable."
            if release.durable
            else "not durable: the ledger was kept in memory and ended with its process."
        )
        facts.append(("Receipt", f"{printable(release.receipt)}; {kept}"))
    if record is not None:
        whose = f" by {printable(record.holder)}" if record.holder else ""
        facts += [
            ("Charged", _charged(record)),
            (
                "All together",
                f"{_one_of(record)}. All that it ever admits stays within {record.budget.said}, "
                f"unless the owner raises that, on record. Spent{whose}: {record.spent.said}; "
                f"left: {record.remaining.said}.",
            ),
        ]
    paid = dict.fromkeys(each.receipt for each in release.origins) or {release.receipt: None}
    for receipt in paid if release.durable else ():
        command = f"sfumato ledger verify CONTRACT --head {printable(receipt)}"
        facts.append(("To verify", f"{command} (replays it and finds the entry)"))
    facts += [
        ("Software", f"sfumato {printable(release.version)}"),
        ("Fingerprint", f"SHA-256 {release.digest}"),
    ]
    return tuple(facts)


def _charged(record: Record) -> str:
    who = f" to {printable(record.analyst)}" if record.analyst else ""
    if record.holder and not record.analyst:
        who = " to another analyst"
    said = f"{record.charge.said}{who}, {printable(record.time)}"
    if not record.given:
        return said
    entry = printable(record.given.partition(":")[0])
    return (
        f"{said}, in ledger entry {entry}, which gave the stored answer; it costs the total nothing"
    )


def _one_of(record: Record) -> str:
    more, who = record.answers > 1, printable(record.holder)
    if not record.holder:
        several = f"One of {record.answers} answers from this ledger"
        return several if more else "The only answer so far"
    if record.analyst:
        several = f"One of {record.answers} answers that {who} has from this ledger"
        return several if more else f"The only answer that {who} has so far"
    count = f"{record.answers} answer{'s' if more else ''}" if record.answers else "no answer"
    them = f", and this is {'none of them' if more else 'another one'}" if record.answers else ""
    return f"{who} has {count} from this ledger{them}"


def _values(release: Release, record: Record | None) -> dict[str, Any]:
    """Return what the sentences say, for programs."""
    price, unit = release.price, release.unit
    caps = ("column", "max_rows", "max_groups", "max_rows_per_group")
    ledger = None
    if release.receipt is not None:
        ledger = {"receipt": release.receipt, "durable": release.durable}
        ledger |= {} if record is None else record.to_dict()
    return {
        "software": f"sfumato {release.version}",
        "rows": len(release),
        "keys": [name for name, _ in release.keys],
        "confidence": exact_text(release.confidence),
        "notes": list(release.notes),
        "unit": None if unit is None else {name: getattr(unit, name) for name in caps},
        "neighbors": str(release.neighbors),
        "guarantees": [
            {"definition": found.name, "inequality": found.inequality}
            for found in guarantees(price)
        ],
        "epsilon": _number(None if price is None else price.epsilon),
        "delta": _number(None if price is None else price.delta),
        "rho": _number(None if price is None else price.rho),
        "measures": [_measure(m) for m in release.measures],
        "loss": _loss(release.cost),
        "ledger": ledger,
    }


def _measure(m: Measure) -> dict[str, Any]:
    return {
        "name": m.name,
        "kind": m.kind,
        "mechanism": m.mechanism,
        "scale": _number(m.scale),
        "covers": m.covers,
        "interval": m.low is not None,
        "margin": _number(m.margin),
    }


def _loss(loss: Loss) -> dict[str, Any]:
    """Write a loss with its parameters; where it has parts, with how often each happened."""
    found: dict[str, Any] = {"kind": type(loss).__name__}
    for f in fields(loss):
        value = getattr(loss, f.name)
        if f.name == "parts":
            value = [{"times": times, "loss": _loss(part)} for part, times in value]
        elif isinstance(value, Neighbors):
            continue  # that of the release
        found[f.name] = exact_text(value) if isinstance(value, Fraction) else value
    return found


def _number(value: Fraction | None) -> str | None:
    return None if value is None else exact_text(value)
