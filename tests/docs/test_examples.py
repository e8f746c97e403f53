"""Every example runs: the Python blocks of every page, and the doctests of every module."""

import doctest
import importlib
from pathlib import Path

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = sorted(
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for path in SOURCE.rglob("*.py")
    if path.name != "__main__.py"
)

sybil = Sybil(parsers=[PythonCodeBlockParser(doctest_optionflags=FLAGS), SkipParser()])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_page_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for example in sybil.parse(page):
        example.evaluate()


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failures, _ = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert failures == 0
