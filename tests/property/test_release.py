"""Releases: every value survives its bytes, its tables and its pages."""

from fractions import Fraction
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.errors import CodecError
from sfumato.core.loss import Composed, Concentrated, LaplaceShift, Pure
from sfumato.core.unit import Unit
from sfumato.release import Estimate, Measure, Release
from sfumato.release.format import printable
from sfumato.release.page import Page

text = st.text(min_size=1, max_size=20).filter(
    lambda s: not any(c == "\0" or "\ud800" <= c < "\ue000" for c in s)
)
integers = st.integers(-(2**70), 2**70)
rationals = st.fractions(max_denominator=10**6) | st.integers(-(2**70), 2**70).map(Fraction)
losses = st.one_of(
    st.fractions(0, 10).map(Pure),
    st.fractions(0, 10).map(Concentrated),
    st.integers(1, 9).map(lambda b: LaplaceShift(b, 1, 1)),
    st.lists(st.fractions(0, 10).map(Pure), max_size=3).map(Composed.of),
)
KNOWN = {"html", "head", "meta", "title", "style", "body", "header", "div", "h1", "main"} | {
    *("section", "h2", "table", "thead", "tr", "th", "tbody", "td")
}
key_kinds = (text, st.integers(-(2**63), 2**63 - 1), st.booleans(), rationals)


@st.composite
def measures(draw, name, rows):
    numbers = draw(st.sampled_from([integers, rationals]))
    values = draw(st.lists(numbers, min_size=rows, max_size=rows))
    below = draw(st.lists(st.integers(0, 2**64), min_size=rows, max_size=rows))
    style = draw(st.sampled_from(["interval", "margin", "none"]))
    rest = {"scale": draw(st.none() | st.fractions(0, 100)), "mechanism": draw(st.just("") | text)}
    if style == "interval":
        low = [v - b for v, b in zip(values, below, strict=True)]
        high = [v + b for v, b in zip(values, reversed(below), strict=True)]
        return Measure(name, tuple(values), tuple(low), tuple(high), **rest)
    if style == "margin":
        margin = draw(st.fractions(0, 1000))
        return Measure(name, tuple(values), margin=margin, covers="rank, noise only", **rest)
    return Measure(name, tuple(values), covers="nothing", **rest)


@st.composite
def releases(draw):
    names = draw(st.lists(text, min_size=1, max_size=4, unique=True))
    split = draw(st.integers(0, len(names) - 1))
    rows = draw(st.integers(0, 5)) if split else 1
    nullable = [kind | st.none() for kind in key_kinds]
    keys = tuple(
        (
            f"k{name}",
            tuple(draw(st.lists(draw(st.sampled_from(nullable)), min_size=rows, max_size=rows))),
        )
        for name in names[:split]
    )
    measured = tuple(draw(measures(f"m{i} {name}", rows)) for i, name in enumerate(names[split:]))
    receipt = draw(st.none() | text)
    return Release(
        keys,
        measured,
        draw(st.fractions("0.01", "0.99")),
        draw(losses),
        unit=draw(st.sampled_from([None, Unit.row(), Unit.by("id", max_rows=3)])),
        notes=tuple(draw(st.lists(text, max_size=2))),
        receipt=receipt,
        durable=receipt is not None and draw(st.booleans()),
        version=draw(text),
    )


@given(releases())
def test_release_survives_its_bytes(release):
    written = release.to_json()
    read = Release.from_json(written)
    assert read == release
    assert read.to_json() == written
    assert read.measures == release.measures
    assert [type(v) for m in read.measures for v in m.values] == [
        type(v) for m in release.measures for v in m.values
    ]


@given(releases(), releases())
def test_releases_are_equal_exactly_when_their_bytes_are(one, other):
    assert (one == other) == (one.to_json() == other.to_json())
    assert one.digest != other.digest or one == other


@given(releases(), st.data())
def test_one_changed_character_never_passes_for_the_same_release(release, data):
    written = release.to_json()
    place = data.draw(st.integers(0, len(written) - 1))
    character = data.draw(st.sampled_from('0123456789abc"{}[]:,$/-'))
    edited = written[:place] + character + written[place + 1 :]
    try:
        read = Release.from_json(edited)
    except CodecError:
        return
    assert (read == release) == (edited == written)


@given(releases())
def test_arrow_table_holds_the_nearest_floats_or_the_integers(release):
    table = release.to_arrow()
    assert table.column_names == list(release.columns)
    for measure in release.measures:
        shown = table.column(measure.name).to_pylist()
        fits = measure.kind == "integer" and all(-(2**63) <= v < 2**63 for v in measure.values)
        assert shown == ([*measure.values] if fits else [float(v) for v in measure.values])
    assert Release.from_json(table.schema.metadata[b"sfumato.release"]) == release


@given(releases())
def test_estimates_hold_their_values(release):
    for name in release:
        estimate = release[name]
        measure = release.measure(name)
        assert isinstance(estimate, Estimate)
        assert (estimate.low is None) == (measure.low is None)
        assert hash(estimate) == hash(release[name])


@given(releases())
def test_console_view_is_small_and_steers_nothing(release):
    lines = repr(release).split("\n")
    assert len(lines) <= len(release) + 3 + len(release.measures)
    assert all(printable(line) == line for line in lines)


@given(st.lists(st.text(), min_size=1, max_size=3))
def test_page_says_what_it_was_told_and_nothing_else(texts):
    class Reader(HTMLParser):
        def __init__(self):
            super().__init__()
            self.told, self.tags = [], []

        def handle_starttag(self, tag, attrs):
            self.tags.append(tag)

        def handle_data(self, data):
            self.told.append(data)

    reader = Reader()
    reader.feed(Page("t").section("s").table(["c"], [[t] for t in texts]).html())
    reader.close()
    assert reader.tags.count("td") == len(texts)
    assert {*reader.tags} == KNOWN
    said = "".join(reader.told)
    assert all(printable(t) in said for t in texts)


@given(integers, st.fractions("0.01", "0.99"), st.fractions(0, 1000))
def test_interval_is_never_narrower_than_the_error_says(value, confidence, factor):
    class Law:
        covers, std = "noise only", None

        def halfwidth(self, sure):
            return factor * sure

    release = Release.of(
        values=value, error=Law(), cost=Pure(1), mechanism="m", confidence=confidence
    )
    estimate = release["value"]
    assert estimate.low <= value - factor * confidence < estimate.low + 1
    assert estimate.high - 1 < value + factor * confidence <= estimate.high
    with pytest.raises(KeyError):
        release["other"]
