"""A release as HTML: a whole page, or a fragment for a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.errors import InputError
from sfumato.release.frame import ROWS, footer, rows
from sfumato.release.page import Page, table, text

if TYPE_CHECKING:
    from sfumato.release.release import Release


def report(release: Release) -> Page:
    """Build the page of a release: the table, a chart of each measure, and the card."""
    card = release.card()
    names = ", ".join(release)
    by = ", ".join(name for name, _ in release.keys)
    page = Page(f"{names} by {by}" if by else names, lead=_sentence(footer(release)))
    page.section("Answer")
    page.table(release.columns, rows(release), numeric=_numeric(release))
    for name in release:
        try:
            drawing = release.chart(name)
        except InputError:  # nothing that a chart can show: the table has it
            continue
        page.figure(drawing.to_svg(), "Dot: the released value. Soft bar: its interval.")
    card.write(page)
    return page.footer(f"Made with sfumato {release.version}.")


def fragment(release: Release) -> str:
    """Build the table that a notebook shows: at most 20 rows, no style of its own."""
    more = len(release) - ROWS
    said = footer(release)
    if more > 0:
        said = f"… and {more} more row{'s' if more > 1 else ''}; {said}"
    head = table(release.columns, rows(release, ROWS), _numeric(release))
    return f"<div>{head}<p><small>{text(said)}</small></p></div>"


def _sentence(said: str) -> str:
    return f"{said[0].upper()}{said[1:]}."


def _numeric(release: Release) -> range:
    return range(len(release.keys), len(release.columns))
