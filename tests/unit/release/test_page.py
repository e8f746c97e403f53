from fractions import Fraction
from html.parser import HTMLParser

import pytest

from sfumato.core.errors import InputError
from sfumato.release.page import Page, text

HOSTILE = "<script>alert(1)</script>\"' onload=x & \x00\x1b\u202e\ud800 ü 漢字 🥬"
SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">{}</svg>'


class Reader(HTMLParser):
    """Collects tags, attributes and text as a browser would see them."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.text, self.open = [], [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in {"meta", "path"}:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def everything(words):
    return (
        Page(words, lead=words)
        .section(words)
        .text(words, words)
        .note(words)
        .code(words)
        .facts([(words, words)])
        .figures([(words, words, words)])
        .table([words], [[words]], caption=words)
        .figure(SVG.format("<path d='M0,0'/>"), words)
        .section(words)
        .footer(words)
        .html()
    )


def test_page_holds_every_text_and_is_balanced():
    page = Reader(everything("hello"))
    assert page.open == []
    assert "".join(page.text).count("hello") == 19


def test_page_escapes_everything():
    html = everything(HOSTILE)
    page = Reader(html)
    assert page.tags == Reader(everything("hello")).tags
    assert not any(name.startswith("on") for name, _ in page.attributes)
    assert "".join(page.text).count("<script>alert(1)</script>\"' onload=x & ") == 19
    assert "ü 漢字 🥬" in html
    assert not {"\x00", "\x1b", "\u202e", "\ud800"}.intersection(html)
    html.encode("utf-8")


def test_page_fetches_nothing_and_forbids_scripts():
    page = Reader(everything("hello"))
    assert {"script", "link", "img", "iframe"}.isdisjoint(page.tags)
    assert not [v for name, v in page.attributes if name in {"href", "src"}]
    policies = [value for name, value in page.attributes if name == "content"]
    assert policies[0].startswith("default-src 'none'; style-src 'unsafe-inline'")


def test_text_is_safe_inside_an_attribute_too():
    assert text("\"a' <b>") == "&quot;a&#x27; &lt;b&gt;"


def test_page_names_no_address_though_its_charts_do():
    drawing = SVG.format("<text>xmlns='http://x'</text>").replace(
        "<svg", "<svg xmlns:xlink='http://www.w3.org/1999/xlink' class=\"a > b\""
    )
    html = Page("t").figure(drawing).html()
    assert '<svg class="a > b" viewBox="0 0 9 9"><text>xmlns=' in html
    assert html.count("http://") == 1  # what the text of the chart says


def test_page_takes_the_sections_of_another():
    other = Page("theirs", lead="lead").section("one").text("a").footer("foot")
    html = Page("mine").section("zero").append(other).section("two").head("small").html()
    page = Reader(html)
    assert page.open == []
    assert html.count("<section>") == html.count("</section>") == 3
    assert [word for word in page.text if word in {"zero", "one", "a", "two", "small"}] == [
        "zero",
        "one",
        "a",
        "two",
        "small",
    ]
    assert not {"theirs", "lead", "foot"}.intersection(page.text)


def test_symbols_stay_with_their_values_in_prose():
    html = Page("t").text("costs ε = 2 at 95 %").table(["ε = 2"], []).html()
    assert "costs ε\xa0=\xa02 at 95\xa0%" in html
    assert '<th scope="col">ε = 2</th>' in html


def test_numbers_are_set_with_separators():
    html = Page("t").table(["n"], [[1234567], [Fraction(1, 4)], [None], [True]], numeric=[0]).html()
    for cell in ("1,234,567", "0.25", "—", "True"):
        assert f'<td class="number">{cell}</td>' in html


def test_rows_of_the_wrong_length_are_refused():
    with pytest.raises(ValueError, match="argument"):
        Page("t").table(["a", "b"], [[1]])


@pytest.mark.parametrize(
    "drawing",
    [
        "<script>1</script>",
        "<foreignObject/>",
        "<style>@import url(//x)</style>",
        "<image href='//x'/>",
        "<use href='#a'/>",
        "<path onload='1'/>",
        "<path ONLOAD='1'/>",
        "<path fill='url(//x)'/>",
        "<path style='fill: URL( \"//x\")'/>",
        "<a/>",
        "<!-- c -->",
        "<![CDATA[x]]>",
        "<p xmlns='http://www.w3.org/1999/xhtml'/>",
        "<path",
        "<path xmlns:x='http://www.w3.org/1999/xlink' x:href='//x'/>",
    ],
)
def test_chart_that_could_run_or_fetch_is_refused(drawing):
    with pytest.raises(InputError, match="a chart must"):
        Page("t").figure(SVG.format(drawing))


@pytest.mark.parametrize("text", ["", "hello", "<g xmlns='http://www.w3.org/2000/svg'/>"])
def test_chart_must_be_svg(text):
    with pytest.raises(InputError, match="a chart must"):
        Page("t").figure(text)


def test_chart_may_refer_to_itself_and_quote_anything():
    drawing = "<g clip-path='url(#a)' aria-label='url(//x)'><text>url(//x) onload=1</text></g>"
    assert drawing in Page("t").figure(SVG.format(drawing)).html()
