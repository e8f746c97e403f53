import io
import json
import re
from datetime import date, timedelta
from fractions import Fraction

import pytest

import sfumato as sf
from sfumato.core.errors import InputError
from sfumato.ledger import Ledger
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


@pytest.mark.parametrize(
    ("rows", "keys", "shown"),
    [(1000, {"k": [f"k{i}" for i in range(1000)]}, 100), (5000, None, 2000)],
    ids=["bars", "line"],
)
def test_of_too_many_rows_some_are_drawn_and_the_chart_says_so(make, rows, keys, shown):
    chart = make(range(rows), keys=keys).chart()
    values = [row["value"] for row in drawn(chart)]
    assert (len(values), values[0], values[-1]) == (shown, 0, rows - 1)
    assert values == sorted(set(values))
    said = f"{shown} of {rows:,} rows, evenly spaced"
    assert chart.to_dict()["title"]["subtitle"].endswith(said)
    assert "evenly" not in make(range(100)).chart().to_dict()["title"]["subtitle"]
    assert said in " ".join(texts(chart.to_svg()))


def test_many_bars_are_thin(make):
    steps = [
        make(range(n), keys={"k": [f"k{i}" for i in range(n)]}).chart().to_dict()["height"]["step"]
        for n in (40, 41)
    ]
    assert steps[0] > steps[1] >= 16


def test_many_days_become_a_line_that_is_the_same_everywhere(make):
    days = [str(date(2026, 1, 1) + timedelta(i)) for i in range(60)]
    chart = make(range(60), keys={"day": days}).chart()
    across = chart.to_dict()["layer"][0]["encoding"]["x"]
    assert (across["type"], across["scale"]["type"]) == ("temporal", "utc")
    assert any("February" in text for text in texts(chart.to_svg()))
    marks = make(range(60), keys={"day": [*days[:-1], "late"]}).chart().to_dict()["layer"]
    assert marks[0]["mark"]["type"] == "bar"


def test_rational_positions_become_a_line(make):
    chart = make(range(41), keys={"x": [Fraction(i, 3) for i in range(41)]}).chart()
    assert drawn(chart)[1]["key"] == pytest.approx(1 / 3)


def test_two_keys_are_one_label(make):
    chart = make([1, 2], keys={"zone": ["A", "B"], "late": [True, False]}).chart()
    assert [row["key"] for row in drawn(chart)] == ["A · True", "B · False"]
    assert chart.to_dict()["title"]["text"] == "n by zone and late"


@pytest.mark.parametrize(
    "values", [[-3, -90], [10**30, -(10**30)], [0, 0]], ids=["negative", "huge", "zero"]
)
def test_values_of_any_size_are_drawn(make, values):
    svg = make(values, keys={"k": ["a", "b"]}).chart().to_svg()
    assert "NaN" not in svg
    assert "Infinity" not in svg
    Page("t").figure(svg)


def test_interval_far_wider_than_the_values_is_drawn_whole(make, error):
    wide = error(factor=Fraction(10**12))
    (row,) = drawn(make(5, error=wide).chart())
    assert row["high"] - row["low"] == pytest.approx(1.9e12)
    Page("t").figure(make(5, error=wide).chart().to_svg())


def test_release_without_rows_has_no_chart(make):
    with pytest.raises(InputError, match="without rows"):
        make([], keys={"k": []}).chart()


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


def test_page_of_many_rows_draws_some_and_lists_all(make):
    html = make(range(401), keys={"k": [f"k{i}" for i in range(401)]}).to_html()
    assert "100 of 401 rows" in html
    assert html.count("<tr>") == 402


def test_page_of_a_choice_has_no_chart(make):
    html = make("kale", "score, noise only").to_html()
    assert "<svg" not in html
    assert "kale" in html


def test_chart_is_saved_to_files_and_streams_but_over_no_ledger(by_zone, tmp_path):
    ledger, stream = tmp_path / "trips.json", io.StringIO()
    Ledger.create(ledger, sf.Budget(1), sf.Unit.row()).close()
    before = ledger.read_bytes()
    for chart in (by_zone.chart(), by_zone.chart().properties(width=9)):
        for path in (ledger, str(ledger)):
            with pytest.raises(InputError, match="is a ledger"):
                chart.save(path)
    with pytest.raises(InputError, match="is a ledger"):
        sf.accounting.explain(epsilon=1).chart().save(ledger)
    assert ledger.read_bytes() == before
    for path in (tmp_path, tmp_path / "none" / "chart.json"):
        with pytest.raises(InputError, match="cannot be written"):
            by_zone.chart().save(path, format="json")
    by_zone.chart().save(stream, format="json")
    by_zone.chart().save(tmp_path / "chart.json", "json")
    assert json.loads(stream.getvalue()) == json.loads((tmp_path / "chart.json").read_text())
