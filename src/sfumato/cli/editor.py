"""Editing a line at a terminal: history and completion, where Python was built with readline."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType

import click

from sfumato.core.errors import SfumatoError

KEYWORDS = (
    *("SELECT", "FROM", "WHERE", "GROUP", "BY", "HAVING", "ORDER", "LIMIT", "OFFSET", "WITH", "AS"),
    *("AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "IS", "NULL", "TRUE", "FALSE", "CASE", "WHEN"),
    *("THEN", "ELSE", "END", "CAST", "DATE", "TIMESTAMP", "INTERVAL", "DISTINCT", "JOIN", "LEFT"),
    *("ON", "USING", "UNION", "ALL", "ROLLUP", "CUBE", "FILTER", "ASC", "DESC"),
    *("COUNT", "SUM", "AVG", "MEDIAN", "QUANTILE_CONT", "MIN", "MAX", "VAR_POP", "STDDEV_POP"),
    *("EPSILON", "DELTA", "RHO", "ERROR", "AT"),
)
LONGEST = 1000  # entries of the history
_DELIMITERS = " \t\n()<>=,;+-*/%'\"."


class Vocabulary:
    """The words that are completed.

    Args:
        commands: the commands, each with its backslash.
        tables: the names of all tables.
        columns: returns the columns of one.
    """

    def __init__(
        self,
        commands: Mapping[str, Sequence[str]],
        tables: Sequence[str],
        columns: Callable[[str], Iterable[str]],
    ) -> None:
        """Keep the names; those of columns are fetched when they are first needed."""
        self._commands, self._tables, self._fetch = commands, tables, columns
        self._columns: list[str] | None = None

    def candidates(self, before: str, word: str) -> list[str]:
        """Return what a word may become, given what stands before it on the line."""
        if word.startswith("\\") and not before.strip():
            return [name for name in self._commands if name.startswith(word)]
        command = before.strip().partition(" ")[0]
        if command in self._commands and command != "\\explain":
            arguments = (*self._commands[command],)
            names = self._tables if arguments == ("TABLE",) else arguments
            return [name for name in names if name.startswith(word)]
        if self._columns is None:
            listed = (column for table in self._tables for column in self._fetch(table))
            self._columns = list(dict.fromkeys(listed))
        keywords = KEYWORDS if word.isupper() or not word else [k.lower() for k in KEYWORDS]
        named = [n for n in (*self._tables, *self._columns) if n.lower().startswith(word.lower())]
        return [*named, *(k for k in keywords if word and k.startswith(word))]


class Editor:
    """A terminal whose lines can be edited, recalled and completed."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Listen to Ctrl-C, and load the history; a terminal without readline does without."""
        # A shell that was started in the background of a script inherits that it is ignored.
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        self._vocabulary = vocabulary
        self._found: list[str] = []
        self._readline = _readline()
        self._path = history_file()
        if self._readline is None:
            return
        self._readline.set_auto_history(False)  # what is replied to a question is not kept
        self._readline.set_history_length(LONGEST)
        self._readline.set_completer_delims(_DELIMITERS)
        self._readline.set_completer(self._complete)
        is_libedit = "libedit" in (self._readline.__doc__ or "")
        self._readline.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")
        try:
            if self._path is not None:
                self._readline.read_history_file(str(self._path))
        except OSError:  # there is none yet, or it cannot be read: nothing depends on it
            pass

    def line(self, prompt: str) -> str:
        """Read a line.

        Raises:
            EOFError: there is no more.
        """
        if sys.stdout.isatty():
            return input(prompt)
        click.echo(prompt, nl=False, err=True)  # an answer may go elsewhere, a prompt not
        return input()

    def remember(self, entry: str) -> None:
        """Keep what was typed, as one line: questions and commands, never answers."""
        if self._readline is None:
            return
        self._readline.add_history(" ".join(entry.split("\n")))
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(self._path, os.O_CREAT | os.O_WRONLY, 0o600))
            self._readline.append_history_file(1, str(self._path))
        except OSError:  # a full disk or a home that is not one: the shell goes on
            self._path = None

    def _complete(self, word: str, state: int) -> str | None:
        if state == 0 and self._readline is not None:
            before = self._readline.get_line_buffer()[: self._readline.get_begidx()]
            try:
                self._found = self._vocabulary.candidates(before, word)
            except SfumatoError:  # a public table that cannot be read has no columns to offer
                self._found = []
        return self._found[state] if state < len(self._found) else None


def history_file() -> Path | None:
    """Return where the history is kept: in the user's folder for state. None without a home."""
    given = os.environ.get("XDG_STATE_HOME", "")
    try:
        base = Path(given) if Path(given).is_absolute() else Path.home() / ".local" / "state"
    except RuntimeError:
        return None
    return base / "sfumato" / "history"


def _readline() -> ModuleType | None:
    try:
        import readline
    except ImportError:  # not on Windows, and not in every build
        return None
    return readline
