"""What is typed into the shell, line by line: questions that may take several, and commands."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from sfumato.cli.statement import no_text

if TYPE_CHECKING:
    from sfumato.cli.editor import Editor

COMMAND = "\\"
COMMENT = "--"
LEAVING = ("exit", "quit")  # what other shells are left by; no question is one word
_BEHIND = re.compile(rf"(?:[ \t]*{COMMENT}[^\n]*)?")
_CLOSE = {"'": "'", '"': '"', COMMENT: "\n"}


def split(text: str) -> tuple[list[str], str]:
    r"""Split a text at its semicolons; those within quotes and comments are none.

    A comment behind a semicolon, to the end of its line, belongs to no question.

    Returns:
        The questions that a semicolon ends, and what is left behind the last of them.

    Example:
        >>> split("SELECT 'a;b' FROM t; SELECT 2")
        (["SELECT 'a;b' FROM t"], ' SELECT 2')
    """
    whole, start = [], 0
    for place, closing in _scanned(text):
        if text[place] == ";" and not closing:
            whole.append(text[start:place])
            start = place + 1 + len(_BEHIND.match(text, place + 1)[0])  # type: ignore[index]
    return whole, text[start:]


def open_quote(text: str) -> str:
    """Return the quote that a text leaves open; an empty text if there is none.

    Example:
        >>> open_quote("SELECT 'it''s"), open_quote("SELECT 1 -- it's")
        ("'", '')
    """
    return [closing for _, closing in _scanned(f"{text}\n")][-1]


def _scanned(text: str) -> Iterator[tuple[int, str]]:
    """Iterate over the places of a text, each with what closes the quote or comment open there."""
    closing = ""
    for place, letter in enumerate(text):
        if closing:
            closing = "" if letter == closing else closing
        elif letter in _CLOSE:
            closing = _CLOSE[letter]
        elif text.startswith(COMMENT, place):
            closing = _CLOSE[COMMENT]
        yield place, closing


class Lines:
    """The input of a shell: a terminal, at which somebody sits, or a pipe.

    Args:
        editor: edits lines and remembers them; None where there is a pipe.
        prompt: says what stands before a line; what it goes on with is passed.
    """

    def __init__(self, editor: Editor | None, prompt: Callable[[str], str]) -> None:
        """Keep both."""
        self._editor, self._prompt = editor, prompt

    def entries(self) -> Iterator[str]:
        """Yield questions and commands, one after the other, until the input ends.

        A semicolon or an empty line ends a question, the end of its line a command, which may
        stand within a question but not within a text in quotes. Ctrl-C drops what was typed, Ctrl-D
        ends it all: on a terminal what is half typed is never asked.
        """
        held = ""
        while True:
            try:
                line = self._line(self._prompt(held))
            except KeyboardInterrupt:
                held = ""
                click.echo(err=True)
                continue
            if line is None:
                if held and self._editor is None:
                    yield held
                return
            typed = line.strip()
            if typed.startswith(COMMAND) and not open_quote(held):
                yield self._remembered(typed)
                continue
            if not held and (not typed or typed.startswith(COMMENT)):
                continue
            if not held and typed.rstrip("; ").lower() in LEAVING:
                return
            whole, held = split(f"{held}{line}\n") if typed else ([held], "")
            held = held if held.strip() else ""
            for question in whole:
                if question.strip():
                    yield self._remembered(question.strip())

    def confirm(self, question: str) -> bool:
        """Ask whoever sits at the terminal; anything but yes is no."""
        try:
            reply = self._line(f"{question} [y/N] ")
        except KeyboardInterrupt:
            reply = None
        if reply is None:
            click.echo(err=True)
        return reply is not None and reply.strip().lower() in ("y", "yes")

    def _line(self, prompt: str) -> str | None:
        """Return the next line; None where there is no more."""
        try:
            if self._editor is not None:
                return self._editor.line(prompt)
            line = sys.stdin.readline()
        except EOFError:
            click.echo(err=True)
            return None
        except UnicodeDecodeError:
            raise no_text() from None
        return line.rstrip("\r\n") if line else None

    def _remembered(self, entry: str) -> str:
        if self._editor is not None:
            self._editor.remember(entry)
        return entry
