"""The command `sfumato marginals`: counts by every few columns, from one charge."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.asked import admit, announce, check_writable, free, unwritable
from sfumato.cli.wording import in_options, options
from sfumato.core.errors import CostError, InputError

if TYPE_CHECKING:
    from sfumato.marginals import Marginals, Plan, Workload
    from sfumato.session import Contract, Session
    from sfumato.session.table import Table

FORMATS = ("table", "csv", "json", "parquet")
WHOLE = "marginals.json"  # the release itself, beside its tables


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What was typed; numbers stay text, so that every digit counts."""

    contract: Path
    table: str | None
    where: tuple[str, ...]
    bins: tuple[str, ...]
    columns: str | None
    way: tuple[int, ...]
    marginal: tuple[str, ...]
    prefix: str | None
    ranges: str | None
    epsilon: str | None
    delta: str | None
    rho: str | None
    method: str
    objective: str
    nonnegative: bool
    confidence: str | None
    explain: bool
    format: str
    out: Path | None
    force: bool
    analyst: str | None

    def check(self) -> None:
        """Refuse what makes no sense, before anything is opened."""
        if not self.way and not self.marginal:
            raise InputError(
                "which marginals? Pass --way 2 for those of every two columns, or --marginal "
                "age,sex for one; both may be repeated."
            )
        if (self.epsilon is None) == (self.rho is None):
            raise CostError(
                "a release has a price, and you set it: --epsilon 1, with --delta 1e-9 if you "
                f"like, or --rho 0.1; one of the two. {free(explained=self.explain)}"
            )
        if self.explain and self.format not in ("table", "json"):
            raise InputError(
                f"an explanation is no table, so that it cannot be written as {self.format}. Leave "
                f"--format out, or pass --format json."
            )
        if not self.explain and self.out is None and self.format in ("csv", "parquet"):
            raise InputError(
                f"a release of marginals is many tables. Pass --out DIR, a folder for their "
                f"{self.format} files."
            )
        if self.out is not None and (
            (self.out.exists() and not self.out.is_dir()) or not self.out.parent.is_dir()
        ):
            raise unwritable(self.out, paid=False)
        full = self.out is not None and self.out.is_dir() and any(self.out.iterdir())
        if full and not self.force:
            raise InputError(
                "the folder of --out is not empty, and somebody may need what is in it. Pass a new "
                "folder, or --force."
            )

    def workload(self) -> Workload:
        """Return the marginals that were named."""
        from sfumato import marginals

        ordered = {"prefix": _listed(self.prefix), "ranges": _listed(self.ranges)}
        parts = [marginals.all(*self.way, **ordered)] if self.way else []
        if self.marginal:
            parts.append(marginals.of(*map(_listed, self.marginal), **ordered))
        return parts[0] + parts[1] if len(parts) > 1 else parts[0]

    def asked(self, session: Session) -> Table:
        """Return the table, filtered and with bins."""
        table = session.table(self.table) if self.table else session.table()
        if self.where:
            table = table.filter(*self.where)
        made = {}
        for text in self.bins:
            name, equals, expression = text.partition("=")
            if not equals or not name.strip().isidentifier():
                raise InputError(
                    f"{text!r:.80} makes no column. Write --bins 'decade=floor(age, 10)'."
                )
            made[name.strip()] = expression.strip()
        return table.with_columns(**made) if made else table

    def plan(self, session: Session) -> Plan:
        """Make the plan; free."""
        from sfumato import marginals

        price: dict[str, Any] = {
            name: given
            for name in ("epsilon", "delta", "rho", "confidence")
            if (given := getattr(self, name)) is not None
        }
        return marginals.explain(
            self.asked(session),
            workload=self.workload(),
            columns=_listed(self.columns) or None,
            method=self.method,  # type: ignore[arg-type]
            objective=self.objective,  # type: ignore[arg-type]
            **price,
        )


@click.command()
@click.argument("contract", type=click.Path(path_type=Path))
@click.option("--way", multiple=True, type=int, metavar="K", help="Every marginal of K columns.")
@click.option("--marginal", multiple=True, metavar="A,B", help="The marginal of these columns.")
@click.option("--columns", metavar="A,B,C", help="The columns to count by; all that are declared.")
@click.option(
    "--bins",
    multiple=True,
    metavar="NAME=EXPRESSION",
    help="Another column, as 'decade=floor(age, 10)'. May be repeated.",
)
@click.option("--prefix", metavar="A,B", help="Columns of which counts up to a value matter.")
@click.option("--ranges", metavar="A,B", help="Columns of which counts between values matter.")
@click.option("--table", metavar="NAME", help="The table; may be left out if there is only one.")
@click.option("--where", multiple=True, metavar="CONDITION", help="Only rows for which it is true.")
@click.option("--epsilon", metavar="NUMBER", help="The price in ε.")
@click.option("--delta", show_default="0", metavar="NUMBER", help="The δ beside it.")
@click.option("--rho", metavar="NUMBER", help="The price in ρ, instead.")
@click.option(
    "--method",
    type=click.Choice(["auto", "residuals", "counts", "barak"]),
    default="auto",
    show_default=True,
    help="How they are measured.",
)
@click.option(
    "--objective",
    type=click.Choice(["sum", "max"]),
    default="sum",
    show_default=True,
    help="Which is made least: all variances together, or the largest.",
)
@click.option("--nonnegative", is_flag=True, help="Write counts of which none is below 0.")
@click.option("--confidence", show_default="0.95", metavar="NUMBER", help="That of each interval.")
@click.option("--explain", is_flag=True, help="Only say what it costs and how far it errs; free.")
@click.option("--format", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="A folder for tables.")
@click.option("--force", is_flag=True, help="Write into a folder that is not empty.")
@click.option("--analyst", metavar="NAME", help="Who asks, where the contract gives shares.")
def marginals(**given: Any) -> None:
    """Count the rows of CONTRACT by every few columns: one charge, tables that add up.

    Example: sfumato marginals people.toml --way 2 --epsilon 1 --delta 1e-9 --format csv --out out
    """
    wanted = Wanted(**given)
    with options(marginals=True):
        wanted.check()
        _run(wanted)


def _run(wanted: Wanted) -> None:
    from sfumato.session import Contract, connect

    contract = Contract.read(wanted.contract)
    _check_contract(wanted, contract)
    ledger = contract.ledger
    is_new = ledger is not None and not ledger.exists()
    if wanted.explain and is_new:
        contract = replace(contract, ledger=None)  # what is free leaves nothing behind
    with connect(contract, analyst=wanted.analyst) as session:
        plan = wanted.plan(session)
        if wanted.explain:
            _explained(wanted, plan)
            return
        plan.check()
        if wanted.nonnegative:
            _check_cells(plan)
        _prepare(wanted, plan, contract)
        if ledger is not None and is_new:
            announce(ledger)  # before anything is paid, should the process die then
        before = session.remaining
        answer = plan.release()
        left = session.remaining
    _write(wanted, answer)
    for note in answer.notes:
        click.echo(f"note: {note}", err=True)
    paid = "nothing more: answered before" if left == before else f"{answer.price.said}, once"
    click.echo(f"paid {paid}; left: {left}", err=True)


def _check_contract(wanted: Wanted, contract: Contract) -> None:
    admit(contract, wanted.analyst, free=wanted.explain)
    if wanted.table is None and len(contract.tables) > 1:
        raise InputError(
            f"the contract has several tables: {', '.join(contract.tables)}. Pass --table with one "
            f"of them."
        )


def _check_cells(plan: Plan) -> None:
    """Refuse, before anything is paid, what could not be made non-negative afterwards."""
    from sfumato.marginals.nonnegative import check

    check([attribute.size for attribute in plan.domain.attributes], plan.closure.workload)


def _prepare(wanted: Wanted, plan: Plan, contract: Contract) -> None:
    """Make the folder, and refuse what cannot be written or is needed, before anything is paid."""
    from sfumato.cli.file import check, precious
    from sfumato.marginals.condition import file_names

    if wanted.out is None:
        return
    columns = plan.domain.names
    named = [tuple(columns[i] for i in places) for places in plan.closure.workload]
    kept = precious(contract, wanted.contract)
    files = [wanted.out / f"{each}.{wanted.format}" for each in file_names(named)]
    files.append(wanted.out / WHOLE)
    for file in files:
        check(file, kept)
    try:
        wanted.out.mkdir(exist_ok=True)
    except OSError:
        raise unwritable(wanted.out, paid=False) from None
    for file in files:
        check_writable(file)


def _explained(wanted: Wanted, plan: Plan) -> None:
    import json

    if wanted.format == "json":
        click.echo(json.dumps(plan.to_dict(), ensure_ascii=False, indent=2))
    else:
        click.echo(in_options(repr(plan), marginals=True))


def _write(wanted: Wanted, answer: Marginals) -> None:
    if wanted.out is None:
        if wanted.format == "json":
            click.echo(answer.to_json())
            return
        shown = answer.nonnegative() if wanted.nonnegative else answer
        for columns in answer.marginals:
            click.echo(f"{shown.table(*columns)!r}\n")
        return
    try:
        (wanted.out / WHOLE).write_text(answer.to_json() + "\n", encoding="ascii", newline="\n")
        if wanted.format != "json":  # what was paid for is written already
            shown = answer.nonnegative() if wanted.nonnegative else answer
            (shown.to_parquet if wanted.format == "parquet" else shown.to_csv)(wanted.out)
    except OSError:
        raise unwritable(wanted.out) from None
    click.echo(f"{len(answer.workload):,} marginals: {wanted.out}", err=True)


def _listed(given: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (given or "").split(",") if part.strip())
