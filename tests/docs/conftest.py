"""What the pages of the documentation say, parsed once."""

import re
from pathlib import Path

import pytest
from markdown.extensions.toc import slugify

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FENCE = re.compile(r"^(?P<tick>`{3,}|~{3,})[^\n]*\n.*?^(?P=tick)\s*$", re.MULTILINE | re.DOTALL)


class Page:
    """One Markdown file: its code, its prose, its links and its anchors."""

    def __init__(self, path):
        self.path = path
        self.text = path.read_text(encoding="utf-8")
        self.prose = FENCE.sub("", self.text)

    @property
    def code(self):
        fenced = [match.group() for match in FENCE.finditer(self.text)]
        return "\n".join(fenced + re.findall(r"`[^`\n]+`", self.prose))

    @property
    def links(self):
        """Targets inside the project, as (path, anchor)."""
        prose = re.sub(r"`[^`\n]+`", "", self.prose)
        for target in re.findall(r"\]\(<?([^)>\s]+)>?(?:\s+\"[^\"]*\")?\)", prose):
            if not re.match(r"[a-z]+:", target):
                path, _, anchor = target.partition("#")
                yield (self.path.parent / path).resolve() if path else self.path, anchor

    @property
    def anchors(self):
        named = re.findall(r"\{[^}\n]*#([\w.-]+)[^}\n]*\}", self.prose)
        named += re.findall(r"<a (?:id|name)=\"([^\"]+)\"", self.prose)
        titles = re.findall(r"^#+ (.+?)(?:\s*\{.*\})?$", self.prose, re.MULTILINE)
        return {*named, *(slugify(title, "-") for title in titles)}


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def docs():
    """The pages of the site, by path below docs/."""
    return {path.relative_to(DOCS).as_posix(): Page(path) for path in sorted(DOCS.rglob("*.md"))}


@pytest.fixture(scope="session")
def pages(docs):
    """Every page that a reader may open: the site, and the Markdown files at the root."""
    return [*(Page(path) for path in sorted(ROOT.glob("*.md"))), *docs.values()]
