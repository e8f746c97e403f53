"""One plain, self-contained HTML page: text, tables and inline charts; no script, nothing fetched.

Every text is escaped, whatever it holds: names of columns and keys may be hostile. A chart must be
plain SVG, and is refused if it holds anything that could run or fetch.
"""

from __future__ import annotations

import re
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from sfumato.core.errors import InputError
from sfumato.release.format import cell as number
from sfumato.release.format import grouped, printable
from sfumato.release.path import new_path

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

_SVG = "{http://www.w3.org/2000/svg}"
_DRAWN = frozenset(
    {"svg", "g", "defs", "clipPath", "linearGradient", "radialGradient", "stop", "title"}
    | {"path", "line", "rect", "circle", "ellipse", "polygon", "polyline", "text", "tspan"}
)
_VALUE = r"""\s*=\s*(?:"[^"]*"|'[^']*')"""
_ROOT = re.compile(rf"<svg(?:\s+[\w:.-]+{_VALUE})*\s*/?>")
_NAMESPACE = re.compile(rf"\s+xmlns(?::\w+)?{_VALUE}")
# Defense in depth: even if something slipped through, a browser would neither run nor fetch it.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


class Page:
    """A page under construction; each method appends and returns the page.

    Args:
        title: the heading.
        lead: a sentence or two below it.

    Example:
        >>> page = Page("Trips", lead="One day in spring.").section("Counts")
        >>> page = page.table(["zone", "n"], [["A & B", 1234]], numeric=[1])
        >>> "A &amp; B" in page.html() and "1,234" in page.html()
        True
    """

    def __init__(self, title: str, *, lead: str = "") -> None:
        """Start with the heading."""
        self._title, self._lead = title, lead
        self._body: list[str] = []
        self._footer: list[str] = []
        self._open = False

    def section(self, title: str) -> Page:
        """Start a section."""
        self._close()
        self._body.append(f"<section>\n<h2>{text(title)}</h2>")
        self._open = True
        return self

    def head(self, title: str) -> Page:
        """Add a heading within a section."""
        self._body.append(f"<h3>{text(title)}</h3>")
        return self

    def text(self, *paragraphs: str) -> Page:
        """Add paragraphs."""
        self._body += [f"<p>{prose(paragraph)}</p>" for paragraph in paragraphs]
        return self

    def note(self, paragraph: str) -> Page:
        """Add a remark, set apart."""
        self._body.append(f'<p class="note">{prose(paragraph)}</p>')
        return self

    def code(self, listing: str) -> Page:
        """Add lines of code."""
        lines = "\n".join(text(line) for line in listing.strip("\n").split("\n"))
        self._body.append(f"<pre>{lines}</pre>")
        return self

    def figures(self, entries: Iterable[tuple[str, object, str]]) -> Page:
        """Add large numbers, each as (label, value, detail below it)."""
        cells = "".join(
            f'<div><dt>{text(label)}</dt><dd class="value">{cell(value)}</dd>'
            f'<dd class="detail">{text(detail)}</dd></div>'
            for label, value, detail in entries
        )
        self._body.append(f'<dl class="figures">{cells}</dl>')
        return self

    def facts(self, entries: Iterable[tuple[str, str]]) -> Page:
        """Add a list of labels and what there is to say to each."""
        rows = "".join(f"<dt>{text(label)}</dt><dd>{text(said)}</dd>" for label, said in entries)
        self._body.append(f'<dl class="facts">{rows}</dl>')
        return self

    def table(
        self,
        columns: Sequence[str],
        rows: Iterable[Sequence[object]],
        *,
        numeric: Collection[int] = (),
        caption: str = "",
    ) -> Page:
        """Add a table; columns at the positions `numeric` are set as numbers."""
        self._body.append(f'<div class="wide">{table(columns, rows, numeric, caption)}</div>')
        return self

    def figure(self, svg: str, caption: str = "") -> Page:
        """Add a chart as inline SVG.

        Raises:
            InputError: the text is not SVG, or holds what could run or fetch something.
        """
        said = f"<figcaption>{prose(caption)}</figcaption>" if caption else ""
        self._body.append(f"<figure>{_checked(svg)}{said}</figure>")
        return self

    def append(self, other: Page) -> Page:
        """Add the sections of another page; its title, lead and footer stay behind."""
        self._close()
        self._body += [*other._body, *(["</section>"] if other._open else [])]
        return self

    def footer(self, *paragraphs: str) -> Page:
        """Add paragraphs at the foot of the page."""
        self._footer += [f"<p>{prose(paragraph)}</p>" for paragraph in paragraphs]
        return self

    def html(self) -> str:
        """Return the page."""
        style = files("sfumato.release").joinpath("page.css").read_text(encoding="utf-8")
        lead = f'<p class="lead">{prose(self._lead)}</p>\n' if self._lead else ""
        body = "\n".join([*self._body, *(["</section>"] if self._open else [])])
        footer = f"<footer>{''.join(self._footer)}</footer>\n" if self._footer else ""
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="referrer" content="no-referrer">\n'
            f"<title>{text(self._title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
            f"<header>\n<div>\n<h1>{text(self._title)}</h1>\n{lead}</div>\n</header>\n"
            f"<main>\n{body}\n</main>\n{footer}</body>\n</html>\n"
        )

    def write(self, path: str | Path | None = None) -> str | None:
        """Write the page to a file; without a path, return its text."""
        if path is None:
            return self.html()
        new_path(path).write_text(self.html(), encoding="utf-8", newline="\n")
        return None

    def _close(self) -> None:
        if self._open:
            self._body.append("</section>")
            self._open = False


def text(content: object) -> str:
    """Escape text for an element or an attribute; control characters become visible marks."""
    return escape(printable(content).encode("utf-8", "replace").decode("utf-8"), quote=True)


def prose(content: str) -> str:
    """Escape a sentence; a symbol stays on one line with its value, a number with its percent."""
    bound = re.sub(r"([εδρσ]) = (?=\S)", "\\1\xa0=\xa0", content)
    return text(re.sub(r"(?<=\d) (?=%)", "\xa0", bound))


def cell(value: object) -> str:
    """Write one cell: numbers with separators, anything else as escaped text."""
    return text("—" if value is None else number(value, grouped) if _is_number(value) else value)


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    numeric: Collection[int] = (),
    caption: str = "",
) -> str:
    """Write one table element."""
    classes = [' class="number"' if i in numeric else "" for i in range(len(columns))]
    head = "".join(
        f'<th scope="col"{kind}>{text(name)}</th>'
        for name, kind in zip(columns, classes, strict=True)
    )
    body = "\n".join(
        "<tr>"
        + "".join(f"<td{kind}>{cell(value)}</td>" for value, kind in zip(row, classes, strict=True))
        + "</tr>"
        for row in rows
    )
    said = f"<caption>{prose(caption)}</caption>" if caption else ""
    return f"<table>{said}<thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>"


def _is_number(value: object) -> bool:
    from fractions import Fraction

    return isinstance(value, int | float | Fraction) and not isinstance(value, bool)


def _checked(svg: str) -> str:
    """Return the SVG, without the names of its namespaces, if it only draws."""
    svg = svg.strip()
    # In XML a bare "<" cannot stand in text, so these are declarations, comments or instructions:
    # where an HTML parser could read something else than an XML parser does.
    if "<!" in svg or "<?" in svg:
        raise InputError("a chart must be plain SVG, without declarations or comments.")
    try:
        root = ElementTree.fromstring(svg)  # noqa: S314 (entities need a declaration, refused above)
    except ElementTree.ParseError:
        raise InputError("a chart must be well-formed SVG.") from None
    for element in root.iter():
        name = str(element.tag)
        if not name.startswith(_SVG) or name.removeprefix(_SVG) not in _DRAWN:
            raise InputError(
                f"a chart must only draw: <{printable(name.rpartition('}')[2])}> is not allowed."
            )
        for attribute, value in element.attrib.items():
            _check_attribute(attribute.rpartition("}")[2].lower(), value)
    if root.tag != f"{_SVG}svg":
        raise InputError("a chart must be an SVG document.")
    # A page knows what <svg> is without an address, and so it names none.
    head = _ROOT.match(svg)
    return svg if head is None else _NAMESPACE.sub("", head[0]) + svg[head.end() :]


def _check_attribute(name: str, value: str) -> None:
    fetches = name != "aria-label" and re.search(r"url\((?!\s*['\"]?#)", value, re.IGNORECASE)
    if name.startswith("on") or name in {"href", "src"} or fetches:
        raise InputError(
            f"a chart must only draw: its attribute {printable(name)!r} could run or fetch."
        )
