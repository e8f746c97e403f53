"""Charts of releases and estimates: every value with its interval.

Altair is imported when a chart is asked for, since that takes a while.

Names and keys reach the chart as data or titles only, never as field names, which the chart grammar
would read as paths.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from sfumato.core.errors import InputError
from sfumato.release.format import approximate, percent, plain, printable
from sfumato.release.path import new_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import altair as alt

    from sfumato.release.estimate import Estimate
    from sfumato.release.measure import Measure
    from sfumato.release.release import Release

Title: TypeAlias = dict[str, str]

ACCENT = "#8a6d52"  # umber; readable on light and on dark paper
CONTRAST = "#4f7f8f"  # a cool second tone
INK = "#222222"  # of text on white paper
_BARS = 40  # beyond that many rows a single key of numbers or days is drawn as a line
_MOST = 100  # rows that one chart can show as bars
_MOST_ESTIMATES = 400  # that one chart can show, each with a label of its own
_MOST_POINTS = 2_000  # rows that one chart can show as a line
_ROW, _THIN_ROW = 30, 18  # pixels; thin beyond that many bars
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_LABEL = 48  # characters of a key that a label shows


def chart(release: Release, measure: str | None = None) -> alt.LayerChart:
    """Draw one measure of a release, each value with its interval.

    Of more rows than one can read, some are drawn, evenly spaced, and the chart says so.

    Args:
        release: what to draw.
        measure: which measure; the first if not given.

    Raises:
        InputError: there is nothing to draw: the measure is text, or there are no rows.
    """
    m = release.measures[0] if measure is None else release.measure(measure)
    if m.kind == "text":
        raise InputError("a choice is a text, and there is nothing to draw. Print the release.")
    if not len(release):
        raise InputError("a release without rows has nothing to draw. Print it.")
    sure = f"{percent(release.confidence)} intervals, {m.covers}"
    if m.margin is not None:
        sure = f"±{plain(m.margin)} at {percent(release.confidence)}: {m.covers}"
    elif not m.has_interval:
        sure = "no intervals"
    by = " and ".join(printable(name) for name, _ in release.keys)
    scale = _scale(release)
    drawn = _spaced(len(release), _MOST_POINTS if scale else _MOST)
    if len(drawn) < len(release):
        sure += f"; {len(drawn)} of {len(release):,} rows, evenly spaced"
    title = {"text": printable(m.name) + (f" by {by}" if by else ""), "subtitle": printable(sure)}
    if not release.keys:
        return _dots(_rows(m, [printable(m.name)], drawn), title=title, x=printable(m.name))
    keys = [tuple(values[i] for _, values in release.keys) for i in drawn]
    if scale:
        positions = [k if isinstance(k, str) or k is None else approximate(k) for (k,) in keys]
        return _line(_rows(m, positions, drawn), title=title, x=by, y=printable(m.name), as_=scale)
    return _bars(_rows(m, _labels(keys), drawn), title=title, x=printable(m.name), y=by)


def estimate_chart(
    estimate: Estimate,
    labels: Iterable[object] | None = None,
    *,
    title: str = "",
    axis: str = "value",
) -> alt.LayerChart:
    """Draw an estimate, or several at once, as points with their intervals.

    Args:
        estimate: what to draw.
        labels: a name for each value; positions if not given.
        title: what was estimated.
        axis: in what it is counted.
    """
    values, *ends = (
        None if end is None else [approximate(v) for v in np.ravel(end).tolist()]
        for end in (estimate.value, estimate.low, estimate.high)
    )
    names = list(range(len(values or []))) if labels is None else list(labels)
    if len(names) != len(values or []) or len(names) > _MOST_ESTIMATES:
        raise InputError(
            f"a chart needs one label for each value, and {_MOST_ESTIMATES} of them at most."
        )
    low, high = ends
    rows = [
        {"key": name, "order": i, "value": (values or [])[i]}
        | ({} if low is None or high is None else {"low": low[i], "high": high[i]})
        for i, name in enumerate(_labels((name,) for name in names))
    ]
    sure = f"{percent(estimate.confidence)} intervals, {estimate.covers}"
    return _dots(rows, title={"text": printable(title or "estimate"), "subtitle": sure}, x=axis)


def to_svg(chart: alt.TopLevelMixin) -> str:
    """Render any Altair chart as SVG text: no browser, no network, colors that suit any paper."""
    import vl_convert as vlc

    # `currentColor` is that of the text around the picture: dark on light paper, light on dark.
    return str(vlc.vegalite_to_svg(_themed(chart, "currentColor", "transparent")))


def to_png(chart: alt.TopLevelMixin) -> bytes:
    """Render any Altair chart as a PNG on white paper, twice as fine: no browser, no network."""
    import vl_convert as vlc

    return bytes(vlc.vegalite_to_png(_themed(chart, INK, "white"), scale=2))


def spared(place: Any) -> Any:
    """Return where Altair may write a chart: a stream as it is, a path unless there is a ledger."""
    return place if hasattr(place, "write") else new_path(place)


def _themed(chart: alt.TopLevelMixin, ink: str, paper: str) -> dict[str, Any]:
    import json

    spec: dict[str, Any] = json.loads(chart.to_json(validate=True))
    spec["config"] = {
        **_theme(ink, paper),
        **{k: v for k, v in spec.get("config", {}).items() if k != "view"},
    }
    return spec


def _theme(ink: str, paper: str) -> dict[str, Any]:
    text = {"labelColor": ink, "titleColor": ink}
    font = "Helvetica, Arial, sans-serif"
    return {
        "background": paper,
        "font": font,
        "view": {"stroke": None},
        "title": {
            "color": ink,
            "subtitleColor": ink,
            "subtitleFontSize": 11,
            "fontSize": 14,
            "fontWeight": 600,
            "anchor": "start",
            "offset": 14,
            "subtitlePadding": 4,
        },
        "axis": {
            **text,
            "domain": False,
            "ticks": False,
            "grid": True,
            "gridColor": ink,
            "gridOpacity": 0.12,
            "labelFontSize": 12,
            "labelPadding": 8,
            "tickCount": 6,
            "labelLimit": 260,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "titlePadding": 10,
        },
        "legend": {**text, "title": None, "orient": "top", "labelFontSize": 12, "symbolSize": 90},
    }


def _rows(measure: Measure, keys: list[Any], drawn: Sequence[int]) -> list[dict[str, Any]]:
    rows = []
    for order, (key, i) in enumerate(zip(keys, drawn, strict=True)):
        row = {"key": key, "order": order, "value": approximate(measure.values[i])}
        if measure.low is not None and measure.high is not None:
            row |= {"low": approximate(measure.low[i]), "high": approximate(measure.high[i])}
        rows.append(row)
    return rows


def _bars(rows: list[dict[str, Any]], *, title: Title, x: str, y: str) -> alt.LayerChart:
    import altair as alt

    layers = _points(rows, x=x, y=y, zero=True)
    base = alt.Chart(alt.InlineData(values=rows))
    bar = base.mark_bar(color=ACCENT, opacity=0.28, height={"band": 0.62}).encode(
        x=alt.X("value:Q", title=x), y=_keys(y)
    )
    step = _ROW if len(rows) <= _BARS else _THIN_ROW
    return layered([bar, *layers], title=title, height={"step": step})


def _dots(rows: list[dict[str, Any]], *, title: Title, x: str) -> alt.LayerChart:
    return layered(_points(rows, x=x, y=None, zero=False), title=title, height={"step": _ROW})


def _points(rows: list[dict[str, Any]], *, x: str, y: str | None, zero: bool) -> list[Any]:
    import altair as alt

    base = alt.Chart(alt.InlineData(values=rows))
    position = alt.X("value:Q", title=x, scale=alt.Scale(zero=zero, nice=True))
    point = base.mark_point(color=ACCENT, filled=True, opacity=1, size=46).encode(
        x=position, y=_keys(y)
    )
    if not rows or "low" not in rows[0]:
        return [point]
    interval = base.mark_rule(color=ACCENT, opacity=0.5, strokeWidth=8, strokeCap="round").encode(
        x=alt.X("low:Q", title=x, scale=alt.Scale(zero=zero, nice=True)), x2="high:Q", y=_keys(y)
    )
    return [interval, point]


def _line(rows: list[dict[str, Any]], *, title: Title, x: str, y: str, as_: str) -> alt.LayerChart:
    import altair as alt

    base = alt.Chart(alt.InlineData(values=rows))
    # Days are read in UTC and written in UTC, or a chart would depend on where it is made.
    scale = alt.Scale(type="utc", nice=False) if as_ == "T" else alt.Scale(zero=False, nice=False)
    across = alt.X(f"key:{as_}", title=x, scale=scale)
    line = base.mark_line(color=ACCENT, strokeWidth=1.5).encode(
        x=across, y=alt.Y("value:Q", title=y)
    )
    layers = [line]
    if rows and "low" in rows[0]:
        band = base.mark_area(color=ACCENT, opacity=0.28).encode(
            x=across, y=alt.Y("low:Q", title=y), y2="high:Q"
        )
        layers.insert(0, band)
    return layered(layers, title=title, height=260)


def _keys(title: str | None) -> alt.Y:
    import altair as alt

    order = alt.EncodingSortField(field="order", op="min")
    return alt.Y("key:N", title=title, sort=order, axis=alt.Axis(grid=False))


def layered(
    layers: list[Any], *, title: Title, height: int | dict[str, int], width: int = 520
) -> alt.LayerChart:
    """Return a chart of layers that can also be rendered without a browser."""
    return _chart_class()(layer=layers, width=width, height=height, title=title)


@cache
def _chart_class() -> type[alt.LayerChart]:
    import altair as alt

    class ReleaseChart(alt.LayerChart):
        """An Altair chart that can also be rendered without a browser."""

        def save(self, fp: Any, *args: Any, **options: Any) -> None:
            """Write to a path or a stream, as Altair does, but over no ledger."""
            super().save(spared(fp), *args, **options)

        def to_svg(self) -> str:
            """Render as SVG text."""
            return to_svg(self)

        def to_png(self) -> bytes:
            """Render as a PNG on white paper."""
            return to_png(self)

    return ReleaseChart


def _labels(keys: Iterable[tuple[Any, ...]]) -> list[str]:
    """Write the keys as labels; those that look alike get a number, or they would share a row."""
    labels: list[str] = []
    seen: dict[str, int] = {}
    for key in keys:
        label = _label(key)
        seen[label] = seen.get(label, 0) + 1
        labels.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
    return labels


def _label(key: tuple[Any, ...]) -> str:
    parts = (
        "(none)" if k is None else plain(k) if type(k) in {int, float, Fraction} else printable(k)
        for k in key
    )
    text = " · ".join(parts)
    return text if len(text) <= _LABEL else text[: _LABEL - 1] + "…"


def _scale(release: Release) -> str | None:
    """Name the scale of a line: Q for numbers, T for days; None where rows are drawn one by one."""
    if len(release.keys) != 1 or len(release) <= _BARS:
        return None
    values = release.keys[0][1]
    if all(type(v) in {int, Fraction} for v in values):
        return "Q"
    days = all(isinstance(v, str) and _DAY.fullmatch(v) for v in values)
    return "T" if days else None


def _spaced(count: int, most: int) -> Sequence[int]:
    """Return positions of at most so many rows, evenly spaced, the first and the last included."""
    if count <= most:
        return range(count)
    return [i * (count - 1) // (most - 1) for i in range(most)]
