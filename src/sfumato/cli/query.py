"""The command `sfumato query`: one question to the private tables of a contract."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.asked import Asked, unwritable
from sfumato.cli.wording import options
from sfumato.core.errors import NothingFound

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sfumato.release import Release
    from sfumato.session import Plan, Session
    from sfumato.session.staged import StagedPlan

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
    "How": ("explain", "format", "out", "analyst", "request"),
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
    metavar="LOW,HIGH",
    help="Clamp what one unit adds to each --sum in one group into this range, not its rows.",
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
@click.option("--delta", default="0", show_default=True, metavar="NUMBER", help="The δ beside it.")
@click.option("--rho", metavar="NUMBER", help="The price in ρ, instead.")
@click.option(
    "--accuracy",
    multiple=True,
    metavar="[NAME=]NUMBER",
    help="How far counts and sums may be off, instead; the price is found. May be repeated.",
)
@click.option(
    "--confidence",
    default="0.95",
    show_default=True,
    metavar="NUMBER",
    help="The probability with which each interval, or --accuracy, holds.",
)
@click.option("--explain", is_flag=True, help="Only say what it costs and how far it errs; free.")
@click.option("--format", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", help="Write the answer there."
)
@click.option("--analyst", metavar="NAME", help="Who asks, where the contract gives shares.")
@click.option("--request", metavar="ID", help="An id of your choice, to ask again after a failure.")
def query(**given: Any) -> None:
    """Ask the private tables of CONTRACT; the answer costs budget, --explain is free.

    Example: sfumato query clinic.toml --table people --group-by district --count --epsilon 0.5

    Where no bounds are declared, a range is bought with a share of the price: --mean
    'bounds(income)'.
    """
    asked = Asked(**given)
    asked.check()
    with options():
        code = _run(asked)
    click.get_current_context().exit(code)


def _run(asked: Asked) -> int:
    """Ask, or explain, and return the exit code."""
    from sfumato.session import Contract

    contract = Contract.read(asked.contract)
    asked.check_contract(contract)
    ledger = contract.ledger
    is_new = ledger is not None and not ledger.exists()
    if asked.explain and is_new:
        contract = replace(contract, ledger=None)  # what is free leaves nothing behind
    from sfumato.cli.question import planned, question
    from sfumato.session import connect

    with connect(contract, analyst=asked.analyst) as session:
        plan = planned(question(session, asked, contract), asked)
        if asked.explain:
            _write(asked, _explained(plan, asked.format))
            return 0
        code = _answer(asked, session, plan)
    if ledger is not None and is_new:
        click.echo(
            f"note: a new ledger begins, {ledger.name}, with the whole budget. If there was one, "
            f"put it back: what it recorded is spent.",
            err=True,
        )
    return code


def _answer(asked: Asked, session: Session, plan: Plan | StagedPlan) -> int:
    """Pay, write the answer, and say what it cost to whoever sits at the console."""
    before, left = _entry(session.ledger.head), session.remaining
    try:
        release = plan.release(request=asked.request)
    except NothingFound as nothing:  # an answer like any other, but there is no table in it
        again = session.remaining == left
        paid = "paid nothing more: answered before" if again else f"paid {_charge(plan)}"
        click.echo(str(nothing), err=True)
        click.echo(f"{paid}; left: {session.remaining}", err=True)
        return NOTHING_FOUND
    if asked.format == "parquet" and asked.out is not None:
        _save(asked.out, release.to_parquet)
    else:
        _write(asked, _written(release, asked.format))
    for line in _remarks(release, plan):
        click.echo(line, err=True)
    if release.receipt is None:
        paid = "paid nothing: the answer is declared"
    elif _entry(release.receipt) <= before and session.remaining == left:
        paid = f"paid nothing more: answered before, in ledger entry {_entry(release.receipt)}"
    else:
        paid = f"paid {_charge(plan)}, ledger entry {_entry(release.receipt)}"
    click.echo(f"{paid}; left: {session.remaining}", err=True)
    return 0


def _remarks(release: Release, plan: Plan | StagedPlan) -> Iterator[str]:
    from sfumato.release.format import percent, printable

    if not len(release):
        yield "note: no group has enough units in it to appear"
    covers = "; ".join(dict.fromkeys(m.covers for m in release.measures if m.has_interval))
    if covers:
        yield f"intervals: {percent(plan.confidence)} each, {covers}"
    yield from (f"note: {printable(note)}" for note in release.notes)


def _charge(plan: Plan | StagedPlan) -> str:
    from sfumato import accounting

    return str(accounting.charge(plan.cost, plan.charge_delta))


def _entry(receipt: str) -> int:
    return int(receipt.partition(":")[0])


def _explained(plan: Plan | StagedPlan, form: str) -> str:
    import json

    if form == "json":
        return json.dumps(plan.to_dict(), ensure_ascii=False, indent=2) + "\n"
    return f"{plan!r}\n"


def _written(release: Release, form: str) -> str:
    from sfumato.cli.listing import as_csv, as_text

    if form == "json":
        return release.to_json() + "\n"
    return as_csv(release) if form == "csv" else as_text(release) + "\n"


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
