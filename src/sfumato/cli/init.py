"""The command `sfumato init`: a draft of a contract, from names and types alone."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import click

from sfumato.core.errors import InputError


@click.command()
@click.argument("data")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where to write the draft; TABLE.toml in this folder if not given.",
)
@click.option("--name", metavar="TABLE", help="What to call the table; as its file if not given.")
@click.option("--unit", metavar="COLUMN", help="The column that says whose a row is.")
@click.option("--force", is_flag=True, help="Replace a draft that exists.")
def init(data: str, out: Path | None, name: str | None, unit: str | None, force: bool) -> None:
    """Write a draft contract for DATA; reads names and types, no row.

    DATA is a CSV, TSV, Parquet or DuckDB file, a pattern of files, or duckdb:FILE#TABLE.
    """
    from sfumato.backends.origin import Delimited, Parquet, origin
    from sfumato.cli.file import save
    from sfumato.owner.draft import draft
    from sfumato.owner.layout import open_questions
    from sfumato.owner.outline import outlines, table_name
    from sfumato.session.contract import Contract

    data = _whole(data)
    found = outlines(data, name)
    path = out or Path(f"{_plain(found[0].name if len(found) == 1 else table_name(data))}.toml")
    folder = path.resolve().parent
    tables = [(outline, _source(data, outline.table, folder)) for outline in found]
    text = draft(tables, ledger=f"{_plain(path.stem)}.ledger", unit=unit)
    Contract.parse(text, folder)  # what cannot be read back is not written
    held = origin(data, found[0].name)
    kept = held.paths if isinstance(held, Delimited | Parquet) else [getattr(held, "path", data)]
    save(path, text.encode(), force=force, spare=map(Path, kept))
    from sfumato.release.format import printable

    count = len(open_questions(text))
    click.echo(f"draft: {printable(path)}, with {count} open questions")
    click.echo(f"next: answer them, each marked with #?, then run: sfumato check {printable(path)}")


def _source(data: str, table: str | None, folder: Path) -> str:
    """Write where the data is, from the folder of the contract."""
    path = data.removeprefix("duckdb:").partition("#")[0] if data.startswith("duckdb:") else data
    with suppress(ValueError):  # on another drive it stays as it is
        path = os.path.relpath(path, folder)
    if table is not None and "#" in path:
        raise InputError(
            "the path of the file has a # in it, which a contract takes for the name of a table. "
            "Rename the file or its folder."
        )
    if not path.isprintable() and any("\ud800" <= letter <= "\udfff" for letter in path):
        raise InputError(
            "the path of the file is not text in UTF-8, and no contract could name it. Rename it."
        )
    path = path.replace(os.sep, "/")
    if table is not None:
        return f"duckdb:{path}#{table}"
    # What looks like an address, or like somebody's home, is a file here.
    return f"./{path}" if path.startswith("~") or ":" in path.partition("/")[0] else path


def _whole(data: str) -> str:
    """Return data with an absolute path in it; what is no path is refused by whoever opens it."""
    if data.startswith("duckdb:") and not data.startswith("duckdb://"):
        file, mark, table = data.removeprefix("duckdb:").partition("#")
        return f"duckdb:{_whole(file)}{mark}{table}"
    path = Path(data)
    if "://" in data:
        return data
    if data.startswith("~") and not path.exists():
        with suppress(RuntimeError):  # nobody of that name
            path = path.expanduser()
    return str(path.absolute())


def _plain(name: str) -> str:
    """Return a name that a file can have: no folder in it, and nothing that cannot be seen."""
    kept = "".join(letter if letter.isalnum() or letter in "-_ ." else "-" for letter in name)
    return kept.strip(" .")[:100] or "contract"
