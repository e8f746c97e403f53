"""The command `sfumato query`: one question to the private tables of a contract."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.asked import Asked, announce, unwritable
from sfumato.cli.fault import INTERRUPTED
from sfumato.cli.statement import STDIN, typed
from sfumato.cli.wording import options
from sfumato.core.errors import NothingFound

if TYPE_CHECKING:
    from sfumato.cli.purchase import AnyPlan
    from sfumato.release import Release
    from sfumato.session import Session
    from sfumato.sql.statement import Statement

FORMATS = ("table", "csv", "json", "parquet")
NOTHING_FOUND = 3  # the exit code of an answer that says so, and is paid for

_EACH = "[NAME=]EXPRESSION"
_SECTIONS = {
    "Which rows, in which groups": ("table", "where", "group_by", "keys", "bought", "other"),
    "What to ask of each group; what takes a [NAME=] may be repeated": (
        "count",
        "sum",
        "per_unit",
        "mean",
        "variance",
        "std",
        "median",
        "quantile",
        "interval",
        "min",
        "max",
        "count_distinct",
        "histogram",
        "bins",
        "top",
    ),
    "At what price": ("epsilon", "delta", "rho", "accuracy", "confidence"),
    "How": ("param", "explain", "format", "out", "analyst", "request"),
}


class Sectioned(click.Command):
    """A command with so many options that its help has headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options below their headings."""
        given = [p for p in self.get_params(ctx) if isinstance(p, click.Option)]
        records = {option.name: option.get_help_record(ctx) for option in given}
        for title, names in _SECTIONS.items():
            found = [records.pop(name) for name in names]
            if title == list(_SECTIONS)[-1]:
                found += records.values()  # --help, which goes by another name in every click
            with formatter.section(title):
                formatter.write_dl([record for record in found if record is not None])


@click.command(cls=Sectioned)
@click.argument("contract", type=click.Path(path_type=Path))
@click.argument("sql", required=False)
@click.option("--table", metavar="NAME", help="The table; may be left out if there is only one.")
@click.option(
    "--where",
    multiple=True,
    metavar="CONDITION",
    help="Only rows for which it is true, as 'age >= 18'. May be repeated.",
)
@click.option(
    "--group-by",
    multiple=True,
    metavar="COLUMN",
    help="Group by it, or by 'decade=floor(age, 10)'. May be repeated.",
)
@click.option(
    "--keys",
    multiple=True,
    metavar="COLUMN=A,B",
    help="The groups of a column, where they are not all that it can have. May be repeated.",
)
@click.option(
    "--bought",
    is_flag=True,
    help="Show the groups that enough units are in, whatever they are called. Needs --delta.",
)
@click.option("--other", is_flag=True, help="With --bought: count the rest as one more group.")
@click.option("--count", is_flag=True, help="Count the rows, as the column n.")
@click.option("--sum", multiple=True, metavar=_EACH, help="Add it up.")
@click.option("--mean", multiple=True, metavar=_EACH, help="Average it.")
@click.option("--variance", multiple=True, metavar=_EACH, help="Its variance.")
@click.option(
    "--per-unit",
    metavar="LOW,HIGH|auto[,MOST]",
    help="Clamp what one unit adds to each --sum in one group into this range, not its rows. With "
    "auto a race finds the range, also for --count.",
)
@click.option("--std", multiple=True, metavar=_EACH, help="Its standard deviation.")
@click.option("--median", multiple=True, metavar=_EACH, help="Its median.")
@click.option(
    "--quantile", multiple=True, metavar=f"{_EACH}:Q,Q", help="Its quantiles, as fare:0.25,0.75."
)
@click.option(
    "--interval",
    is_flag=True,
    help="Buy intervals in the unit of the values for --median and --quantile.",
)
@click.option("--min", multiple=True, metavar=_EACH, help="About its least value.")
@click.option("--max", multiple=True, metavar=_EACH, help="About its largest value.")
@click.option(
    "--count-distinct",
    multiple=True,
    metavar=_EACH,
    help="Count its different values; of the unit's column, the units.",
)
@click.option("--histogram", metavar="COLUMN", help="Count the rows in bins of it; see --bins.")
@click.option("--bins", metavar="N|A,B,C", help="How many bins of equal width, or their edges.")
@click.option("--top", metavar="COLUMN:K", help="Its K most frequent values, as zone:5.")
@click.option("--epsilon", metavar="NUMBER", help="The price in ε.")
@click.option("--delta", show_default="0", metavar="NUMBER", help="The δ beside it.")
@click.option("--rho", metavar="NUMBER", help="The price in ρ, instead.")
@click.option(
    "--accuracy",
    multiple=True,
    metavar="[NAME=]NUMBER",
    help="How far counts and sums may be off, instead; the price is found. May be repeated.",
)
@click.option(
    "--confidence",
    show_default="0.95",
    metavar="NUMBER",
    help="The probability with which each interval, or --accuracy, holds.",
)
@click.option(
    "--param",
    multiple=True,
    metavar="[NAME=]VALUE",
    help="For SQL: a value for :name, or the next one for ? or $1. May be repeated.",
)
@click.option("--explain", is_flag=True, help="Only say what it costs and how far it errs; free.")
@click.option(
    "--format", type=click.Choice(FORMATS), show_default="by the ending of --out, else table"
)
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", help="Write the answer there."
)
@click.option("--analyst", metavar="NAME", help="Who asks, where the contract gives shares.")
@click.option("--request", metavar="ID", help="An id of your choice, to ask again after a failure.")
def query(**given: Any) -> None:
    """Ask the private tables of CONTRACT; the answer costs budget, --explain is free.

    The question is written in SQL, which '-' reads from standard input, or put together from
    options.

    Example: sfumato query clinic.toml 'SELECT AVG(age) FROM people WHERE age >= 18' --epsilon 0.5

    Example: sfumato query clinic.toml --table people --group-by district --count --epsilon 0.5

    Where no bounds are declared, a range is bought with a share of the price: --mean
    'bounds(income)'.
    """
    if given["sql"] == STDIN:
        given["sql"] = typed()
    if given["format"] is None:
        ending = "" if given["out"] is None else given["out"].suffix.lower()[1:]
        given["format"] = ending if ending in FORMATS else "table"
    asked = Asked(**given)
    with options(sql=asked.sql is not None):
        code = _run(asked, asked.check())
    click.get_current_context().exit(code)


def _run(asked: Asked, parsed: Statement | None) -> int:
    """Ask, or explain, and return the exit code."""
    from sfumato.session import Contract

    contract = Contract.read(asked.contract)
    asked.check_contract(contract)
    ledger = contract.ledger
    is_new = ledger is not None and not ledger.exists()
    if asked.explain and is_new:
        contract = replace(contract, ledger=None)  # what is free leaves nothing behind
    from sfumato.cli.question import planned, question
    from sfumato.cli.statement import sql_plan
    from sfumato.session import connect

    with connect(contract, analyst=asked.analyst) as session:
        plan: AnyPlan
        if parsed is not None:
            plan = sql_plan(session, asked, parsed)
        else:
            plan = planned(question(session, asked, contract), asked)
        if asked.explain:
            _write(asked, _explained(plan, asked.format))
            return 0
        if ledger is not None and is_new:
            announce(ledger)  # before anything is paid, should the process die then
        return _answer(asked, session, plan)


def _answer(asked: Asked, session: Session, plan: AnyPlan) -> int:
    """Pay, write the answer, and say what it cost to whoever sits at the console."""
    from sfumato.cli.purchase import Purchase, missing_key, remarks

    purchase = Purchase(session, plan, asked.request)
    try:
        release = purchase.release()
    except NothingFound as nothing:  # an answer like any other, but there is no table in it
        click.echo(str(nothing), err=True)
        click.echo(purchase.paid(None), err=True)
        return NOTHING_FOUND
    except KeyboardInterrupt:
        click.echo(purchase.interrupted(), err=True)
        return INTERRUPTED
    if asked.format == "parquet" and asked.out is not None:
        _save(asked.out, release.to_parquet)
    else:
        _write(asked, written(release, asked.format, missing_key(plan)))
    for line in (*remarks(release, plan), purchase.paid(release)):
        click.echo(line, err=True)
    return 0


def _explained(plan: AnyPlan, form: str) -> str:
    import json

    if form == "json":
        return json.dumps(plan.to_dict(), ensure_ascii=False, indent=2) + "\n"
    return f"{plan!r}\n"


def written(release: Release, form: str, missing: str = "(other)") -> str:
    """Write an answer as text.

    Args:
        release: the answer.
        form: table, csv or json.
        missing: what a table shows for a key that is NULL.
    """
    from sfumato.cli.listing import as_csv, as_text

    if form == "json":
        return release.to_json() + "\n"
    return as_csv(release) if form == "csv" else as_text(release, missing) + "\n"


def _write(asked: Asked, text: str) -> None:
    if asked.out is None:
        click.echo(text, nl=False)
    else:
        _save(asked.out, lambda path: path.write_text(text, encoding="utf-8", newline="\n"))


def _save(path: Path, write: Any) -> None:
    try:
        write(path)
    except OSError:
        raise unwritable(path) from None
