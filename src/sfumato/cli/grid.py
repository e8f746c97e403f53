"""Answers as tables in which each number stands beside how far it may be off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.cli.listing import aligned, columns_of, key_text
from sfumato.release.format import cell as number
from sfumato.release.format import grouped, percent, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.release import Release
    from sfumato.release.measure import Measure


def cells(release: Release, missing: str = "(other)") -> list[list[str]]:
    """Lay an answer out: a row of names, then one for each group.

    A number has a column beside it with half the width of its interval, ``± 30``; with the ends,
    ``[2, 9]``, where it does not lie in the middle; with the ranks it may be off, ``rank ± 5``.

    Args:
        release: the answer.
        missing: what to write for a key that is NULL.
    """
    names: list[str] = []
    columns: list[list[str]] = []
    for name, keys in release.keys:
        names.append(name)
        columns.append([key_text(key, missing) for key in keys])
    for measure in release.measures:
        names.append(measure.name)
        columns.append(columns_of(measure)[0])
        if measure.has_interval:
            names.append(percent(release.confidence))
            columns.append(_reach(measure))
    return [names, *map(list, zip(*columns, strict=True))]


def drawn(table: Sequence[Sequence[str]], *, left: int) -> None:
    """Print a table on a terminal, as wide as that is; long cells go on in the next line.

    Args:
        table: the names of the columns, then the rows.
        left: how many columns are aligned to the left.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    names, *rows = table
    made = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for place, name in enumerate(names):
        side = "left" if place < left else "right"
        made.add_column(Text(printable(name)), justify=side, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        made.add_row(*(Text(printable(cell)) for cell in row))
    Console(highlight=False).print(made)


def plain(table: Sequence[Sequence[str]], *, left: int) -> str:
    """Write a table for a pipe: aligned, and never cut."""
    return aligned(table, left=left) + "\n"


def _reach(measure: Measure) -> list[str]:
    from sfumato.release.error import quantity

    if measure.low is None or measure.high is None:
        margin = measure.margin or 0
        return [f"{quantity(measure.covers)} ± {grouped(margin)}"] * len(measure)
    _, lows, highs = columns_of(measure)
    exact = zip(*(cells for _, cells, _ in measure.columns()), strict=True)
    return [
        f"± {number(high - value, grouped)}"
        if high - value == value - low
        else f"[{lower}, {upper}]"
        for (value, low, high), lower, upper in zip(exact, lows, highs, strict=True)
    ]
