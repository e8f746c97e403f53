"""The command `sfumato report`: contract, answers, ledger and certificate as one page."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.core.errors import AnalystError, InputError

if TYPE_CHECKING:
    from sfumato.ledger import Ledger


@click.command()
@click.argument("contract", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("sfumato-report.html"),
    show_default=True,
    metavar="FILE",
    help="Where to write the page.",
)
@click.option("--title", default="", metavar="TEXT", help="The heading of the page.")
@click.option("--analyst", metavar="NAME", help="Only what this analyst asked and has left.")
def report(contract: Path, out: Path, title: str, analyst: str | None) -> None:
    """Write what CONTRACT declares and its ledger records as one HTML page; free.

    Nothing is read but the contract and the ledger: the data need not be there.
    """
    from sfumato.cli.file import check, precious
    from sfumato.cli.ledger import Place
    from sfumato.release.path import is_writable
    from sfumato.session.report import Report

    if not is_writable(out):
        raise _unwritable(out)
    place = Place.of(contract)
    kept = [] if place.contract is None else precious(place.contract, contract)
    check(out, [contract, place.path, *kept])
    declared = {} if place.contract is None else place.contract.tables
    with closing(place.open(read_only=True)) as book:
        if analyst is not None:
            _check(book, analyst)
        tables = {t.relation: t.version or book.version(t.name) for t in declared.values()}
        page = Report(ledger=book, tables=tables, title=title, analyst=analyst).page()
    try:
        page.write(out)
    except OSError:
        raise _unwritable(out) from None
    click.echo(f"the report: {out}")


def _check(book: Ledger, analyst: str) -> None:
    known = {event.analyst for event in book.history()} | set(book.analysts)
    if analyst not in known - {""}:
        raise AnalystError(
            f"nobody called {analyst!r} has a share of this ledger, or ever asked. Check the name "
            f"against `sfumato ledger show`, or leave --analyst out for the whole record."
        )


def _unwritable(path: Path) -> InputError:
    return InputError(
        f"cannot write {str(path)!r}. Pass --out with a file in a folder that exists and that you "
        f"may write to."
    )
