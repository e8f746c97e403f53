"""Render docs/refs.bib as docs/bibliography.md."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
SOURCE = DOCS / "refs.bib"
PAGE = DOCS / "bibliography.md"

HEAD = """\
# Bibliography

Docstrings and pages cite these works by key, as in `[CKS20, Thm 4]`.
"""


def entries(text: str) -> dict[str, dict[str, str]]:
    """Read BibTeX: one `field = {value},` a line, as in refs.bib."""
    return {
        key: {
            name: re.sub(r"[{}\\]", "", value)
            for name, value in re.findall(r"^\s*(\w+)\s*=\s*\{(.*)\},?$", body, re.MULTILINE)
        }
        for key, body in re.findall(r"^@\w+\{(\w+),\n(.*?)^\}", text, re.MULTILINE | re.DOTALL)
    }


def authors(field: str) -> str:
    """Turn `Last, First and Last, First` into a list of people as one reads it."""
    people = [" ".join(reversed(name.split(", "))) for name in field.split(" and ")]
    return people[0] if len(people) == 1 else f"{', '.join(people[:-1])} and {people[-1]}"


def links(entry: dict[str, str]) -> str:
    """Link to the publisher and to the free copy, whichever exist."""
    found = []
    if doi := entry.get("doi"):
        found.append(f"[doi](https://doi.org/{doi})")
    if eprint := entry.get("eprint"):
        found.append(f"[arXiv](https://arxiv.org/abs/{eprint})")
    return " · ".join(found)


def render(text: str) -> str:
    """Return the page for a BibTeX file, one paragraph an entry, each with an anchor."""
    parts = [HEAD]
    for key, entry in sorted(entries(text).items(), key=lambda item: item[0].lower()):
        where = next(entry[name] for name in ("booktitle", "journal", "publisher") if name in entry)
        end = f" {linked}" if (linked := links(entry)) else ""
        parts.append(
            f"**{key}**{{ #{key} }} — {authors(entry['author'])}.\n"
            f"*{entry['title']}*.\n"
            f"{where}, {entry['year']}.{end}\n"
            f"— {entry['note']}.\n"
        )
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(render(SOURCE.read_text(encoding="utf-8")), encoding="utf-8")
