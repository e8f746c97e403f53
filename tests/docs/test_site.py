"""The site holds together: navigation, links, a strict build that fetches nothing."""

import re
import runpy
import subprocess
import sys

import yaml


class Config(yaml.SafeLoader):
    """Reads mkdocs.yml, whose tags name Python objects that do not matter here."""


Config.add_multi_constructor("tag:yaml.org,2002:python/name:", lambda *_: None)


def leaves(nav):
    for entry in nav:
        target = next(iter(entry.values())) if isinstance(entry, dict) else entry
        if isinstance(target, str):
            yield target
        else:
            yield from leaves(target)


def test_every_page_is_in_the_navigation_once(root, docs):
    text = (root / "mkdocs.yml").read_text(encoding="utf-8")
    listed = list(leaves(yaml.load(text, Config)["nav"]))  # noqa: S506 (a SafeLoader)
    assert sorted(listed) == sorted(docs)


def test_every_internal_link_resolves(root, pages):
    anchors = {page.path: page.anchors for page in pages}
    broken = [
        f"{page.path.relative_to(root)} -> {path}#{anchor}"
        for page in pages
        for path, anchor in page.links
        if not path.exists() or (anchor and anchor not in anchors[path])
    ]
    assert broken == []


def test_bibliography_page_is_rendered_from_refs_bib(root):
    tool = runpy.run_path(str(root / "tools" / "bibliography.py"))
    page = tool["PAGE"].read_text(encoding="utf-8")
    assert page == tool["render"](tool["SOURCE"].read_text(encoding="utf-8")), "run `make fix`"


def test_built_site_fetches_nothing_from_elsewhere(root, tmp_path):
    # Without --quiet, which hides from --strict the warnings that it counts.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", tmp_path]
    built = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    fetched = re.compile(
        r"<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=\"?(?:https?:)?//[^\s\">]+"
    )
    for page in tmp_path.rglob("*.html"):
        assert fetched.findall(page.read_text(encoding="utf-8")) == [], page.name
