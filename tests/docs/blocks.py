"""Blocks of a page beside Python: consoles, whose commands run, and files, which are written."""

import os
import re
import shlex
import subprocess
import sys
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from pathlib import Path

from sybil.parsers.markdown.lexers import RawFencedCodeBlockLexer

FLAGS = ELLIPSIS | NORMALIZE_WHITESPACE
SECONDS = 120


class Fences:
    """Finds the fenced blocks whose first line matches, and evaluates each."""

    def __init__(self, info, evaluate):
        self.lexer = RawFencedCodeBlockLexer(re.compile(info + r"[ \t]*\n"))
        self.evaluate = evaluate

    def __call__(self, document):
        for region in self.lexer(document):
            region.parsed, region.evaluator = region.lexemes["source"], self.evaluate
            yield region


def transcript(source):
    """Yield each command of a console block, with the output that the page shows below it."""
    for entry in re.split(r"^\$ ", source, flags=re.MULTILINE)[1:]:
        command, _, shown = entry.partition("\n")
        yield command, shown


def run_console(example):
    """Run the commands of a block; one that fails, or says something else than shown, fails it."""
    folder = Path(sys.executable).parent  # not resolved: the environment's own sfumato
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1"}
    steps = list(transcript(example.parsed))
    assert steps, "a console block has no command: begin its line with '$ '"
    for command, shown in steps:
        assert shlex.split(command)[0] == "sfumato", f"pages run sfumato only: {command}"
        run = subprocess.run(
            ["/bin/sh", "-c", command],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert run.returncode == 0, f"$ {command}\n{run.stdout}exits with {run.returncode}"
        if shown.strip() and not OutputChecker().check_output(shown, run.stdout, FLAGS):
            raise AssertionError(f"$ {command}\nprints\n{run.stdout}\nand the page shows\n{shown}")


def write_file(example):
    """Write a block that has a title into the file of that name."""
    path = Path(example.region.lexemes["title"])
    assert path.name == str(path), "a file of a page lies in the folder in which the page runs"
    path.write_text(example.parsed, encoding="utf-8")


CONSOLE = Fences("console", run_console)
FILE = Fences(r"\w+ title=\"(?P<title>[^\"]+)\"", write_file)
