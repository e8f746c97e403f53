import re
from fractions import Fraction

import pytest

from sfumato.core.errors import InputError
from sfumato.release import Estimate
from sfumato.release.chart import estimate_chart, to_svg
from sfumato.release.page import Page

HOSTILE = "<script>alert('1')</script>"


def drawn(chart):
    """Return the rows that the chart draws."""
    (rows,) = chart.to_dict()["datasets"].values()
    return rows


def texts(svg):
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_bars_show_each_value_with_its_interval(by_zone):
    chart = by_zone.chart()
    assert drawn(chart)[1] == {"key": "B", "order": 1, "value": 855, "low": 760, "high": 950}
    marks = [layer["mark"]["type"] for layer in chart.to_dict()["layer"]]
    assert marks == ["bar", "rule", "point"]
    assert chart.to_dict()["title"] == {
        "text": "n by zone",
        "subtitle": "95 % intervals, noise only",
    }


def test_svg_has_labels_title_and_axis(by_zone):
    shown = texts(by_zone.chart().to_svg())
    assert {"A", "B", "C", "zone", "n", "n by zone", "95 % intervals, noise only"} <= set(shown)
    assert shown.index("A") < shown.index("B") < shown.index("C")


def test_scalar_is_a_point_with_its_interval(make):
    chart = make(5).chart("n")
    assert [layer["mark"]["type"] for layer in chart.to_dict()["layer"]] == ["rule", "point"]
    assert "<svg" in chart.to_svg()


def test_quantile_has_a_point_and_says_its_rank_error(make):
    chart = make(41, "rank, noise only").chart()
    assert [layer["mark"]["type"] for layer in chart.to_dict()["layer"]] == ["point"]
    assert chart.to_dict()["title"]["subtitle"] == "±95 at 95 %: rank, noise only"


def test_many_positions_become_a_line_with_a_band(make):
    chart = make(range(41)).chart()
    assert [layer["mark"]["type"] for layer in chart.to_dict()["layer"]] == ["area", "line"]
    assert make(range(40)).chart().to_dict()["layer"][0]["mark"]["type"] == "bar"


def test_too_many_rows_are_refused(make):
    with pytest.raises(InputError, match="400 is the most"):
        make(range(401), keys={"k": [str(i) for i in range(401)]}).chart()
    with pytest.raises(InputError, match="20000 is the most"):
        make(range(20_001)).chart()


def test_choice_has_no_chart(make):
    with pytest.raises(InputError, match="text"):
        make("kale", "score, noise only").chart()


def test_labels_that_look_alike_keep_their_own_row(make):
    long = "x" * 60
    chart = make([1, 2, 3], keys={"k": [long + "a", long + "b", None]}).chart()
    labels = [row["key"] for row in drawn(chart)]
    assert len(set(labels)) == 3
    assert labels[0].endswith("…")
    assert labels[2] == "(none)"


def test_names_are_never_read_as_fields_or_markup(make):
    release = make([1, 2], name="a.b[0]:Q" + HOSTILE, keys={HOSTILE: [HOSTILE, "b\nc"]})
    svg = release.chart().to_svg()
    assert "<script" not in svg
    assert any("a.b[0]:Q" in text for text in texts(svg))
    Page("t").figure(svg)  # refuses what could run


def test_charts_can_be_layered(by_zone, make):
    svg = to_svg(by_zone.chart() + make(5).chart())
    assert {"A", "n by zone"} <= set(texts(svg))


def test_estimates_are_drawn_with_their_labels():
    estimate = Estimate([Fraction(1, 2), 2], [0, 1], [1, 3])
    chart = estimate_chart(estimate, ["yes", "no"], title="kale")
    assert drawn(chart)[0] == {"key": "yes", "order": 0, "value": 0.5, "low": 0, "high": 1}
    assert {"yes", "no", "kale"} <= set(texts(chart.to_svg()))
    assert drawn(estimate_chart(Estimate(3, 1, 4)))[0]["key"] == "0"
    with pytest.raises(InputError, match="label"):
        estimate_chart(estimate, ["yes"])


def test_page_of_a_release_has_table_chart_and_card(by_zone, tmp_path):
    assert by_zone.to_html(tmp_path / "a.html") is None
    html = by_zone.to_html()
    assert (tmp_path / "a.html").read_text("utf-8") == html
    for part in ("1,234", "<svg", "Who is protected", "nothing was charged"):
        assert part in html


def test_page_of_many_rows_leaves_the_chart_out(make):
    html = make(range(401), keys={"k": [f"k{i}" for i in range(401)]}).to_html()
    assert "<svg" not in html
    assert "k400" in html
