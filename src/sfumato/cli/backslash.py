r"""The commands of the shell that begin with a backslash. All of them are free."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.core.errors import InputError, UnknownName
from sfumato.release.format import printable

if TYPE_CHECKING:
    from sfumato.cli.shell import Shell

FORMS = ("table", "csv", "json")
MOST_ROWS = 1000  # made-up rows on a screen


@dataclass(frozen=True, slots=True)
class Command:
    """A command.

    Attributes:
        run: what it does with the rest of its line.
        arguments: what may follow it: names, or the words that can be completed.
        said: what it does, in words.
    """

    run: Callable[[Shell, str], None]
    arguments: tuple[str, ...]
    said: str


def perform(shell: Shell, line: str) -> None:
    """Run the command of a line.

    Raises:
        UnknownName: there is no such command.
    """
    name, _, rest = line.partition(" ")
    name = name.rstrip(";")
    if name not in COMMANDS:
        near = get_close_matches(name, COMMANDS, 1)
        mend = f"Did you mean {near[0]}? " if near else ""
        raise UnknownName(
            f"there is no command {printable(name[:40])}. {mend}\\help lists all of them."
        )
    COMMANDS[name].run(shell, rest.strip())


def _explain(shell: Shell, rest: str) -> None:
    if rest:
        shell.explain(rest.rstrip(";"))
        return
    shell.explains = True
    click.echo("the next question is explained, and not paid", err=True)


def _tables(shell: Shell, rest: str) -> None:
    _nothing(rest)
    from sfumato.release.card import unit_in_words

    session = shell.session
    rows = [["table", "columns", "what is protected"]]
    for name in session.tables:
        table = session.table(name)
        rows.append([name, ", ".join(table.columns), unit_in_words(table.unit)])
    rows += [
        [name, ", ".join(shell.columns(name)), "Nothing: the table is public."]
        for name in shell.contract.public
    ]
    shell.table(rows, left=3)


def _columns(shell: Shell, rest: str) -> None:
    from sfumato.session.columns import described

    name = _table(shell, rest)
    if name in shell.contract.public:
        shell.table([["column"], *([column] for column in shell.columns(name))], left=1)
        return
    schema = shell.session.table(name).schema
    rows = [["column", "what it can say", "missing"]]
    for column in shell.columns(name):
        facts = schema[column]
        rows.append([column, described(facts), "possible" if facts.nullable else "no"])
    shell.table(rows, left=3)


def _budget(shell: Shell, rest: str) -> None:
    _nothing(rest)
    from sfumato.cli.past import left, spent
    from sfumato.owner.inspection import shown

    session, who = shell.session, shell.session.analyst
    limit = session.ledger.analysts.get(who or "", session.ledger.budget)
    rows = [
        ["limit", shown(limit) + (f", the share of {who}" if session.ledger.analysts else "")],
        ["spent", spent(session.ledger.spent(who if session.ledger.analysts else None), limit)],
        ["left", left(session.remaining, limit)],
    ]
    if shell.epsilon is not None:
        price = f"ε = {shell.epsilon}" + (f", δ = {shell.delta}" if shell.delta else "")
        rows.append(["price", f"{price}, of questions that name none"])
    from sfumato.cli.listing import aligned

    click.echo(aligned(rows, left=2))


def _history(shell: Shell, rest: str) -> None:
    _nothing(rest)
    from sfumato.cli.past import past

    rows = past(shell.session.ledger, shell.session.analyst)
    if not rows:
        click.echo("nothing was asked so far", err=True)
        return
    shell.table([["entry", "time", "question", "what became of it", "charge"], *rows], left=5)


def _dummy(shell: Shell, rest: str) -> None:
    words = rest.split()
    rows = 10
    if words and words[-1].isascii() and words[-1].isdigit() and words[-1] not in _names(shell):
        rows = int(words.pop())
    if rows > MOST_ROWS:
        raise InputError(
            f"at most {MOST_ROWS:,} made-up rows are shown. `sfumato dummy` writes more to a file."
        )
    from sfumato.cli.dummy import cell

    made = shell.session.dummy(_table(shell, " ".join(words), private=True), rows)
    columns = [column.to_pylist() for column in made.columns]
    body = [[cell(value) for value in row] for row in zip(*columns, strict=True)]
    shell.table([made.column_names, *body], left=len(columns))


def _epsilon(shell: Shell, rest: str) -> None:
    words = rest.rstrip(";").split()
    if len(words) > 2:
        raise InputError("\\epsilon takes ε, and a δ if you like: \\epsilon 0.1, \\epsilon 1 1e-6.")
    if words == ["none"]:
        shell.set_price(None, None)
    elif words:
        shell.set_price(words[0], words[1] if len(words) > 1 else None)
    if shell.epsilon is None:
        click.echo("no price is set: each question names its own", err=True)
    else:
        beside = f", δ = {shell.delta}" if shell.delta else ""
        click.echo(f"questions that name no price cost ε = {shell.epsilon}{beside}", err=True)


def _format(shell: Shell, rest: str) -> None:
    if rest not in FORMS:
        raise InputError(f"answers are written as {', '.join(FORMS)}. Write \\format csv.")
    shell.form = rest


def _save(shell: Shell, rest: str) -> None:
    from sfumato.cli.file import check, precious, replace
    from sfumato.cli.query import written

    if shell.last is None:
        raise InputError("there is no answer to save yet. Ask a question first.")
    if not rest:
        raise InputError("\\save takes the name of a file: \\save answer.csv.")
    path = Path(rest).expanduser()
    check(path, precious(shell.contract, shell.path))
    if path.exists():
        raise InputError(f"{path.name!r} exists already, and somebody may need it. Name another.")
    release, missing = shell.last
    if path.suffix == ".parquet":
        try:
            release.to_parquet(path)
        except OSError:
            raise InputError(f"cannot write {path.name!r}. Choose a folder that exists.") from None
    else:
        form = path.suffix[1:] if path.suffix[1:] in FORMS else shell.form
        replace(path, written(release, form, missing).encode())
    click.echo(f"saved: {path}", err=True)


def _help(shell: Shell, rest: str) -> None:
    _nothing(rest)
    from sfumato.cli.listing import aligned

    rows = [
        [" ".join([name, *_shown(each.arguments)]), each.said] for name, each in COMMANDS.items()
    ]
    price = "" if shell.epsilon is None else f" It is ε = {shell.epsilon} unless a question says."
    click.echo(
        "A question in SQL ends with ; or an empty line, and names its price: SELECT COUNT(*)\n"
        f"FROM {shell.session.tables[0]} WITH EPSILON 0.1;{price} Commands are free:\n"
    )
    click.echo(aligned(rows, left=2))


def _quit(shell: Shell, rest: str) -> None:
    _nothing(rest)
    shell.ended = True


COMMANDS = {
    "\\explain": Command(_explain, ("SELECT ...",), "what a question would cost, and its error"),
    "\\tables": Command(_tables, (), "the tables, their columns and what is protected"),
    "\\columns": Command(_columns, ("TABLE",), "what the columns of a table can say"),
    "\\budget": Command(_budget, (), "the limit, what is spent and what is left"),
    "\\history": Command(_history, (), "what you asked and paid"),
    "\\dummy": Command(_dummy, ("TABLE",), "made-up rows; a number behind it says how many"),
    "\\epsilon": Command(_epsilon, ("none",), "the price of questions that name none: 0.1, 1 1e-6"),
    "\\format": Command(_format, FORMS, "how answers are written"),
    "\\save": Command(_save, ("FILE",), "write the last answer: .csv, .json, .parquet or a table"),
    "\\help": Command(_help, (), "this list"),
    "\\quit": Command(_quit, (), "leave"),
}


def _shown(arguments: tuple[str, ...]) -> list[str]:
    return ["NUMBER"] if arguments == ("none",) else ["|".join(arguments)] if arguments else []


def _nothing(rest: str) -> None:
    if rest.rstrip(";"):
        raise InputError("nothing follows this command. Leave out what stands behind it.")


def _names(shell: Shell) -> tuple[str, ...]:
    return (*shell.session.tables, *shell.contract.public)


def _table(shell: Shell, given: str, *, private: bool = False) -> str:
    """Return the table that is meant; the only one, where none is named."""
    names = shell.session.tables if private else _names(shell)
    name = given.rstrip(";").strip().strip('"')
    if not name and len(shell.session.tables) == 1:
        return shell.session.tables[0]
    if name not in names:
        what = f"there is no table {name[:60]!r}" if name else "which table is it to be"
        raise UnknownName(f"{what}; there are: {', '.join(names)}.")
    return name
