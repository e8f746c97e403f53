"""Console and file blocks of pages: commands run, outputs are compared, files are written."""

import sys
from pathlib import Path

import pytest
from sybil import Sybil

sys.path.insert(0, str(Path(__file__).parent))
from blocks import CONSOLE, FILE

sys.path.pop(0)

SYBIL = Sybil(parsers=[CONSOLE, FILE])


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a page of one block with this info line and content."""
    monkeypatch.chdir(tmp_path)

    def run(info, content):
        page = tmp_path / "page.md"
        page.write_text(f"Words.\n\n```{info}\n{content}```\n", encoding="utf-8")
        examples = list(SYBIL.parse(page))
        for example in examples:
            example.evaluate()
        return len(examples)

    return run


@pytest.mark.parametrize(
    "content",
    [
        "$ sfumato --version\nsfumato, version 99\n",
        "$ sfumato check missing.toml\n",
        "$ sfumato --version\n$ sfumato check missing.toml\n",
        "$ echo sfumato\nsfumato\n",
        "sfumato --version\n",
    ],
    ids=["other output", "failure", "second failure", "other command", "no prompt"],
)
def test_console_that_does_something_else_fails(run, content):
    with pytest.raises(AssertionError):
        run("console", content)


def test_console_that_does_what_it_shows_passes(run):
    shown = "$ sfumato check missing.toml; echo $?\n...\n2\n$ sfumato --version\nsfumato...\n"
    assert run("console", shown) == 1


def test_block_with_a_title_is_written_and_others_are_left_alone(run, tmp_path):
    assert run('toml title="a.toml"', "x = 1\n") == 1
    assert (tmp_path / "a.toml").read_text() == "x = 1\n"
    assert run("sh", "sfumato --nonsense\n") == 0


def test_file_of_a_page_stays_in_its_folder(run):
    with pytest.raises(AssertionError, match="folder"):
        run('text title="../a.csv"', "a\n")
