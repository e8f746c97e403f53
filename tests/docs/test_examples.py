"""Every example runs: Python and console blocks of every page, and doctests of every module."""

import doctest
import importlib
import shutil
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

sys.path.insert(0, str(Path(__file__).parent))
from blocks import CONSOLE, FILE

sys.path.pop(0)

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = sorted(
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for path in SOURCE.rglob("*.py")
    if path.name != "__main__.py"
)

sybil = Sybil(
    parsers=[PythonCodeBlockParser(doctest_optionflags=FLAGS), SkipParser(), CONSOLE, FILE]
)


@pytest.fixture(scope="session")
def trips(tmp_path_factory):
    """The file that pages speak of: ``trips.parquet``."""
    n = range(2_000)
    table = pa.table(
        {
            "rider_id": [i * i % 300 for i in n],
            "zone": ["ABC"[i * 7 % 3] for i in n],
            "hour": [i * 5 % 24 for i in n],
            "fare": [i * 37 % 20_000 / 100 for i in n],
        }
    )
    file = tmp_path_factory.mktemp("data") / "trips.parquet"
    pyarrow.parquet.write_table(table, file)
    return file


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_page_examples_run(page, tmp_path, monkeypatch, trips):
    monkeypatch.chdir(tmp_path)
    shutil.copy(trips, tmp_path)
    for example in sybil.parse(page):
        example.evaluate()


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failures, _ = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert failures == 0
