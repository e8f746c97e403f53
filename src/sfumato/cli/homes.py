"""The map of the demonstration: where the people of a made-up town live, in soft outlines."""

from __future__ import annotations

import hashlib
from math import pi
from typing import TYPE_CHECKING, Final

import numpy as np

from sfumato.core.number import show
from sfumato.release.chart import to_svg
from sfumato.release.format import grouped, percent
from sfumato.release.page import Page

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

BOX: Final = (0, 0, 8, 6)  # kilometers
# Where quarters lie, how far they reach, and how many percent of the people live there.
_QUARTERS: Final = (((2.2, 3.6), 0.35, 46), ((5.6, 2.2), 0.7, 34), ((6.8, 4.8), 0.25, 20))
_STREAM: Final = b"sfumato homes, first edition"
_WORDS: Final = 3
_CENTER: Final = (1.5, 3, 3, 4.5)


def homes(people: int) -> NDArray[np.float64]:
    """Make up where people live; the same homes every time, from a hash and not from noise."""
    stream = hashlib.shake_256(_STREAM).digest(4 * _WORDS * people)
    words = np.frombuffer(stream, "<u4").reshape(people, _WORDS).astype(np.float64) / 2**32
    ends = np.cumsum([share / 100 for _, _, share in _QUARTERS])
    quarter = np.minimum(np.searchsorted(ends, words[:, 0], side="right"), len(_QUARTERS) - 1)
    middle = np.array([place for place, _, _ in _QUARTERS])[quarter]
    reach = np.array([far for _, far, _ in _QUARTERS])[quarter]
    far = reach * np.sqrt(-2 * np.log(1 - words[:, 1]))  # as far as a bell in two dimensions
    turn = 2 * pi * words[:, 2]
    return np.asarray(middle + np.column_stack([far * np.cos(turn), far * np.sin(turn)]))


def write(page: Page, people: int, epsilon: Fraction) -> None:
    """Draw the map of so many people."""
    from sfumato import spatial
    from sfumato.session.lab import lab

    places = homes(people)
    found = spatial.release(lab.points(places, BOX, bins=64), epsilon=epsilon)
    inside = found.count(_CENTER)
    x0, y0, x1, y1 = _CENTER
    x, y = places.T
    truth = int(((x >= x0) & (x < x1) & (y >= y0) & (y < y1)).sum())
    page.section("A map without addresses")
    page.text(
        f"Where people live is drawn for ε = {show(epsilon)}: small cells where many are, large "
        f"ones elsewhere. What is cut and what is not was decided by noisy counts, so that no cell "
        f"says whether somebody lives in it. Its price comes on top of the sum above."
    )
    drawn = found.chart(title="people for each square kilometer", names=("km east", "km north"))
    page.figure(to_svg(drawn), "Cells as they were released; counts below 0 are drawn as 0.")
    page.figures(
        [
            (
                "In the old center, released",
                round(inside.value),
                f"{grouped(round(inside.low))} to {grouped(round(inside.high))}, "
                f"{percent(inside.confidence)}",
            ),
            ("Truth", truth, f"of {grouped(people)} people"),
        ]
    )
