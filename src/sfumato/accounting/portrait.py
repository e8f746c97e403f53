"""An explanation as charts and as a page. Altair is imported when a chart is asked for."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from sfumato.accounting import risk
from sfumato.accounting.explain import RATES
from sfumato.accounting.meaning import facts, heading, share
from sfumato.core.number import show, show_above
from sfumato.release.chart import ACCENT, CONTRAST, spared, to_svg
from sfumato.release.format import approximate
from sfumato.release.page import Page

if TYPE_CHECKING:
    from collections.abc import Iterable

    import altair as alt

    from sfumato.accounting.explain import Explanation

_POINTS = 81
_SIZE = 260
_TESTS = ("false positives", "true positives", "What a test can find")
_BELIEFS = ("belief before", "belief after", "What can be believed")


def chart(said: Explanation) -> alt.HConcatChart:
    """Draw the bound on tests beside the bound on beliefs."""
    return _chart_class()(hconcat=[tests(said), beliefs(said)], spacing=36)


def tests(said: Explanation) -> alt.LayerChart:
    """Draw the most true positives against the false positives, and mere guessing."""
    # A line has a point wherever the bound bends, or it would cut the corner off.
    bends = {(1 - d) * (1 - risk.advantage(e)) / 2 for e, d in said.curve.pairs}
    rates = sorted({*risk.evenly(_POINTS), *RATES, *bends})
    return _curve([(rate, said.tpr(rate)) for rate in rates], *_TESTS)


def beliefs(said: Explanation) -> alt.LayerChart:
    """Draw the most and the least that can be believed, by what was believed before."""
    cost = said.pair[0]
    priors = risk.evenly(_POINTS)
    certain = Fraction(0), Fraction(1)  # no release moves these
    high = [(p, p if p in certain else risk.posterior(p, cost)) for p in priors]
    low = [(1 - p, 1 - after) for p, after in reversed(high)]  # the same, of the opposite
    return _curve(high, *_BELIEFS, low)


def page(said: Explanation) -> Page:
    """Put words, figures and charts on one page."""
    whole = Page(
        "What this ε means",
        lead=f"{heading(said)}. Bounds in the worst case, for every attacker.",
    )
    whole.section("In numbers").figures(
        [
            ("Advantage", show_above(said.advantage, 3), "over a guess by coin"),
            (
                f"A belief of {show(100 * said.prior, 4)} %",
                share(said.posterior),
                "at most, afterwards",
            ),
            (f"Found at {share(RATES[0])} false alarms", share(said.tpr(RATES[0])), "at most"),
        ]
    )
    whole.figure(
        to_svg(tests(said)),
        "The most true positives that any test can have. On the thin line one guesses.",
    )
    whole.figure(
        to_svg(beliefs(said)),
        "Between which bounds a belief can move"
        + (", but for a failure of probability δ." if said.pair[1] else "."),
    )
    whole.section("In words").facts(facts(said))
    return whole.footer("Made by sfumato from ε alone: no data was read.")


def _curve(
    high: Iterable[tuple[Fraction, Fraction]],
    x: str,
    y: str,
    title: str,
    low: Iterable[tuple[Fraction, Fraction]] = (),
) -> alt.LayerChart:
    import altair as alt

    def line(points: Iterable[tuple[Any, Any]], **style: Any) -> Any:
        rows = [{"x": approximate(a), "y": approximate(b)} for a, b in points]
        base = alt.Chart(alt.InlineData(values=rows)).mark_line(**style)
        unit = alt.Scale(domain=[0, 1])
        percent = alt.Axis(format="%", tickCount=5)
        return base.encode(
            x=alt.X("x:Q", title=x, scale=unit, axis=percent),
            y=alt.Y("y:Q", title=y, scale=unit, axis=percent),
        )

    lines = [
        line([(0, 0), (1, 1)], color=CONTRAST, strokeWidth=1, strokeDash=[4, 4]),
        line(high, color=ACCENT, strokeWidth=2),
    ]
    if low:
        lines.append(line(low, color=ACCENT, strokeWidth=2, opacity=0.5))
    return alt.LayerChart(layer=lines, width=_SIZE, height=_SIZE, title=title)


@cache
def _chart_class() -> type[alt.HConcatChart]:
    import altair as alt

    class ExplanationChart(alt.HConcatChart):
        """An Altair chart that can also be rendered without a browser."""

        def save(self, fp: Any, *args: Any, **options: Any) -> None:
            """Write to a path or a stream, as Altair does, but over no ledger."""
            super().save(spared(fp), *args, **options)

        def to_svg(self) -> str:
            """Render as SVG text."""
            return to_svg(self)

    return ExplanationChart
