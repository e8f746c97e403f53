"""A map as a chart: cells colored by density, as far as noise lets them be told apart.

Altair is imported when a chart is asked for, since that takes a while.
"""

from __future__ import annotations

from math import ceil, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InputError, RangeError
from sfumato.release.chart import layered, to_png, to_svg
from sfumato.release.estimate import Estimate
from sfumato.release.format import percent, plain, printable
from sfumato.release.path import new_path
from sfumato.spatial.box import Box, Floats
from sfumato.spatial.heatmap import heatmap
from sfumato.spatial.pooled import pooled, shares
from sfumato.spatial.table import CellTable

if TYPE_CHECKING:
    import altair as alt

MOST_CELLS = 20_000  # rectangles of one chart; of more cells a picture of pixels is drawn
_WIDTH, _HEIGHT, _LEAST = 520, 620, 60  # pixels of the chart at most, and at least
_BORDERS = 5_000  # cells up to which borders can be told apart
_SKEWED = 20  # times the median, above which colors follow the logarithm
_TOP = 0.95  # of all points lie where it is no denser than the brightest color
_SCHEME: Literal["viridis"] = "viridis"  # perceptually even, also to those who see fewer colors
_LINE = "#88888866"
_WIDEST = 1e150  # half an interval, whose square is still a float
_LONG = 10**15  # from which numbers are not written out
_TICKS, _GRADIENT = 5, 320  # labels of the legend, and its pixels


def chart(
    table: CellTable,
    *,
    title: str = "density",
    said: str = "",
    names: tuple[str, str] = ("x", "y"),
    stretch: float = 1.0,
) -> alt.LayerChart:
    """Draw the cells of a map, colored by density: how many times that of the whole map.

    Noise on a small cell is a high density, so a cell whose count is not clearly above its noise
    takes the mean color of such cells around it; see `sfumato.spatial.pooled`. The brightest color
    is that of the densest places with a twentieth of the points, and of all that is denser. Of
    more than 20,000 cells pixels are drawn, over which counts are spread evenly.

    Args:
        table: the cells with their counts.
        title: what is counted.
        said: the price, or what else stands below the title.
        names: what the axes are called.
        stretch: how long a unit of y is, in units of x: 1 on a plane; for degrees 1 divided by the
            cosine of the latitude.

    Returns:
        A chart of Altair, with `to_svg` and `to_png` besides.

    Raises:
        RangeError: stretch is not a finite number above 0.
    """
    import altair as alt

    if not isinstance(stretch, int | float) or not (isfinite(stretch) and stretch > 0):
        raise RangeError("stretch= is a finite number above 0: how long a unit of y is.")
    box = table.box
    width, height = _size(box.width, box.height * float(stretch))
    shown, detail = table, f"{len(table):,} cells"
    pixels = len(table) > MOST_CELLS
    if pixels:
        side = ceil((width * height / MOST_CELLS) ** 0.5)
        # Whole pixels, or light would shine through between them.
        width, height = side * max(1, width // side), side * max(1, height // side)
        shown = _pixels(table, width // side, height // side)
        detail += f", drawn as {len(shown):,} pixels"
    corners, (count, alone) = shown.cells, pooled(shown)
    density = _relative(count, corners, box)
    scale = _Scale.of(density, count)
    columns = _columns(corners, density, None if pixels else table)
    # As text, since Altair looks at each of many rows for a millisecond.
    data = alt.InlineData(values=_csv(columns), format=alt.CsvDataFormat(type="csv"))
    thin = _LINE if len(corners) <= _BORDERS and not pixels else None
    cells = (
        alt.Chart(data)
        .mark_rect(stroke=thin, strokeWidth=0.5)
        .encode(
            x=alt.X("a:Q", title=printable(names[0]), **_axis(box.x_low, box.x_high)),
            x2="c:Q",
            y=alt.Y("b:Q", title=printable(names[1]), **_axis(box.y_low, box.y_high)),
            y2="d:Q",
            color=alt.Color("density:Q", scale=scale.colors(), legend=scale.legend()),
            tooltip=[f"{name}:Q" for name in columns if name not in "abcd"],
        )
    )
    subtitle = [
        f"{_average(table)}; {detail}",
        _noise(table, alone, "pixels" if pixels else "cells"),
        *([printable(said)] if said else []),
    ]
    head: Any = {"text": printable(title), "subtitle": subtitle}
    return layered([cells], title=head, width=width, height=height)


def save(made: alt.TopLevelMixin, path: str | Path) -> None:
    """Write a chart as a picture, without a network; the ending says which kind.

    Raises:
        InputError: the path ends neither in .svg nor in .png.
    """
    where = new_path(path)
    if where.suffix.lower() == ".svg":
        where.write_text(to_svg(made), encoding="utf-8")
    elif where.suffix.lower() == ".png":
        where.write_bytes(to_png(made))
    else:
        raise InputError("a chart is saved as SVG or PNG. Let the path end in .svg or .png.")


def _size(wide: float, high: float) -> tuple[int, int]:
    """Return width and height in pixels, in the proportion of the map where that can be seen."""
    scale = min(_WIDTH / wide, _HEIGHT / high)
    return max(_LEAST, round(wide * scale)), max(_LEAST, round(high * scale))


def _pixels(table: CellTable, across: int, upward: int) -> CellTable:
    """Return pixels as cells, with their counts and about their noise."""
    box, value = table.box, table.value
    half = np.minimum(np.maximum(table.high - value, value - table.low), _WIDEST)
    found = heatmap(table.cells, value, box, across, upward, variances=half**2)
    count, reach = (each[::-1].ravel() for each in found)
    x = np.linspace(box.x_low, box.x_high, across + 1)
    y = np.linspace(box.y_low, box.y_high, upward + 1)
    x0, y0 = np.meshgrid(x[:-1], y[:-1])
    x1, y1 = np.meshgrid(x[1:], y[1:])
    corners = np.column_stack([each.ravel() for each in (x0, y0, x1, y1)])
    confidence = table.estimate.confidence
    return CellTable(corners, Estimate(count, count - reach, count + reach, confidence))


def _relative(count: Floats, corners: Floats, box: Box) -> Floats:
    """Return densities in terms of that of the whole."""
    total = float(count.sum())
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        density = count / shares(corners, box) / total
    return np.asarray(np.nan_to_num(density)) if total > 0 else np.zeros(len(count))


def _columns(corners: Floats, density: Floats, table: CellTable | None) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = dict(zip("abcd", corners.T.tolist(), strict=True))
    # Six digits are more than a color shows.
    columns["density"] = [f"{each:.6g}" for each in density.tolist()]
    if table is not None:
        found = list(zip(*table.rounded(), strict=True))
        columns |= {name: list(found[i]) for i, name in enumerate(("count", "low", "high"))}
    return columns


def _csv(columns: dict[str, list[Any]]) -> str:
    lines = [",".join(columns)]
    lines += [
        ",".join("" if each is None else str(each) for each in row)
        for row in zip(*columns.values(), strict=True)
    ]
    return "\n".join(lines) + "\n"


def _axis(low: float, high: float) -> dict[str, Any]:
    import altair as alt

    return {
        "scale": alt.Scale(domain=[low, high], nice=False, zero=False),
        "axis": alt.Axis(grid=False, tickCount=5),
    }


class _Scale(NamedTuple):
    """Which density has which color.

    Attributes:
        top: where the brightest begins.
        constant: up to where the logarithm is about linear; None where all is linear.
        clamped: whether something is denser than the top.
    """

    top: float
    constant: float | None
    clamped: bool

    @classmethod
    def of(cls, density: Floats, count: Floats) -> _Scale:
        above = density > 0
        if not above.any():
            return cls(1.0, None, False)
        order = np.argsort(density)
        held = np.cumsum(count[order])
        place = min(int(np.searchsorted(held, _TOP * held[-1])), len(order) - 1)
        top, middle = float(density[order[place]]), float(np.median(density[above]))
        skewed = top > _SKEWED * middle
        return cls(top, middle if skewed else None, bool(density.max() > top))

    def colors(self) -> alt.Scale:
        import altair as alt

        domain = [0.0, self.top]
        if self.constant is None:
            return alt.Scale(scheme=_SCHEME, domain=domain, clamp=True)
        return alt.Scale(
            scheme=_SCHEME, type="symlog", constant=self.constant, domain=domain, clamp=True
        )

    def legend(self) -> alt.Legend:
        import altair as alt

        steps = np.linspace(0, 1, _TICKS)
        if self.constant is not None:
            steps = np.expm1(steps * np.log1p(self.top / self.constant)) / (
                self.top / self.constant
            )
        near = 0.9 * self.top  # beyond, labels would meet
        inner = [float(f"{self.top * step:.1g}") for step in steps[:-1].tolist()]
        more = " or more" if self.clamped else ""
        return alt.Legend(
            title="times the average density",
            values=[*(each for each in inner if each < near), self.top],
            labelExpr=f"format(datum.value, '.2~g') + (datum.value < {near!r} ? '' : '{more}')",
            labelOverlap=False,
            gradientLength=_GRADIENT,
        )


def _average(table: CellTable) -> str:
    total = float(f"{max(0.0, table.value.sum()):.3g}")
    text = f"{total:,.0f}" if 100 <= total < _LONG else plain(total)
    return f"1 is the average: about {text} points, spread evenly over the map"


def _noise(table: CellTable, alone: NDArray[np.bool_], parts: str) -> str:
    half = np.median(np.maximum(table.high - table.value, table.value - table.low))
    sure = percent(table.estimate.confidence)
    text = f"noise of a cell: ±{plain(float(f'{half:.2g}'))} at {sure}, in the median"
    below = round(100 * float((~alone).mean()))
    unclear = f"; {below} % of {parts} are not clearly above it, colored as those around"
    return text + (unclear if below else "")
