"""The command `sfumato query`: one question to the private tables of a contract."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.core.errors import (
    AnalystError,
    ContractError,
    CostError,
    ExpressionError,
    InputError,
    KeysError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sfumato.core.schema import Column
    from sfumato.release import Release
    from sfumato.session import Contract, Output, Plan, Question, Session, Table

FORMATS = ("table", "csv", "json", "parquet")

# A name, and an equals sign right behind it that is not half of another sign.
_NAMED = re.compile(r"(?P<name>[^\W\d]\w*)=(?!=)(?P<text>.+)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was typed; numbers stay text, so that every digit counts."""

    contract: Path
    table: str | None
    group_by: tuple[str, ...]
    keys: tuple[str, ...]
    where: tuple[str, ...]
    count: bool
    sum: tuple[str, ...]
    mean: tuple[str, ...]
    variance: tuple[str, ...]
    std: tuple[str, ...]
    histogram: str | None
    bins: str | None
    epsilon: str | None
    delta: str
    rho: str | None
    confidence: str
    explain: bool
    format: str
    out: Path | None
    analyst: str | None
    request: str | None


@click.command()
@click.argument("contract", type=click.Path(path_type=Path))
@click.option("--table", metavar="NAME", help="The table; may be left out if there is only one.")
@click.option("--group-by", multiple=True, metavar="COLUMN", help="Group by it. May be repeated.")
@click.option(
    "--keys",
    multiple=True,
    metavar="COLUMN=A,B",
    help="The groups of a column, where they are not all that it can have. May be repeated.",
)
@click.option(
    "--where",
    multiple=True,
    metavar="CONDITION",
    help="Only rows for which it is true, as 'age >= 18'. May be repeated.",
)
@click.option("--count", is_flag=True, help="Count the rows, as the column n.")
@click.option(
    "--sum", multiple=True, metavar="[NAME=]EXPRESSION", help="Add it up. May be repeated."
)
@click.option(
    "--mean", multiple=True, metavar="[NAME=]EXPRESSION", help="Average it. May be repeated."
)
@click.option(
    "--variance", multiple=True, metavar="[NAME=]EXPRESSION", help="Its variance. May be repeated."
)
@click.option(
    "--std",
    multiple=True,
    metavar="[NAME=]EXPRESSION",
    help="Its standard deviation. May be repeated.",
)
@click.option("--histogram", metavar="COLUMN", help="Count the rows in bins of it; see --bins.")
@click.option("--bins", metavar="N|A,B,C", help="How many bins of equal width, or their edges.")
@click.option("--epsilon", metavar="NUMBER", help="The price in ε.")
@click.option("--delta", default="0", show_default=True, metavar="NUMBER", help="The δ beside it.")
@click.option("--rho", metavar="NUMBER", help="The price in ρ, instead of --epsilon.")
@click.option("--confidence", default="0.95", show_default=True, metavar="NUMBER")
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
    """
    asked = Asked(**given)
    _check(asked)
    from sfumato.session import Contract

    contract = Contract.read(asked.contract)
    _check_contract(asked, contract)
    ledger = contract.ledger
    is_new = ledger is not None and not ledger.exists()
    if asked.explain and is_new:
        contract = replace(contract, ledger=None)  # what is free leaves nothing behind
    from sfumato.session import connect

    with connect(contract, analyst=asked.analyst) as session:
        plan = _question(session, asked, contract).explain(
            epsilon=asked.epsilon,
            delta=asked.delta,
            rho=asked.rho,
            confidence=asked.confidence,
        )
        if asked.explain:
            _write(asked, _explained(plan, asked.format))
            return
        _answer(asked, session, plan)
    if ledger is not None and is_new:
        click.echo(
            f"note: a new ledger begins, {ledger.name}, with the whole budget. If there was one, "
            f"put it back: what it recorded is spent.",
            err=True,
        )


def _check(asked: Asked) -> None:
    """Refuse what makes no sense, before anything is opened."""
    if (asked.epsilon is None) == (asked.rho is None):
        raise CostError(
            "an answer has a price, and you set it: --epsilon 0.5, with --delta 1e-6 if you like, "
            "or --rho 0.1; one of the two. Add --explain to see for free what it buys."
        )
    if asked.format == "parquet" and asked.out is None:
        raise InputError("Parquet is not text and cannot be printed. Pass --out FILE.")
    if asked.explain and asked.format not in ("table", "json"):
        raise InputError(
            f"an explanation is no table, so that it cannot be written as {asked.format}. Leave "
            f"--format out, or pass --format json."
        )
    if asked.out is not None and (asked.out.is_dir() or not asked.out.parent.is_dir()):
        raise _unwritable(asked.out)
    if (asked.histogram is None) != (asked.bins is None):
        raise InputError(
            "a histogram needs a column and its bins: --histogram fare --bins 20, or --bins "
            "0,10,50,200 with the edges."
        )
    numbers = asked.sum or asked.mean or asked.variance or asked.std
    if asked.histogram is not None and numbers:
        raise InputError(
            "a histogram counts rows and nothing else. Ask for the other numbers by themselves, or "
            "group by a column of bins: --group-by 'bin=floor(fare, 10)'."
        )
    if not (asked.count or numbers or asked.histogram):
        raise InputError(
            "there is nothing to ask for. Pass --count, --sum COLUMN, --mean COLUMN, --variance "
            "COLUMN, --std COLUMN or --histogram COLUMN."
        )


def _check_contract(asked: Asked, contract: Contract) -> None:
    """Refuse a contract that cannot be asked in this way."""
    if asked.out is not None:
        from sfumato.cli.file import check, precious

        check(asked.out, precious(contract, asked.contract))
    if contract.ledger is None and not asked.explain:
        raise ContractError(
            "budget.ledger is missing: without a ledger every command would begin with the whole "
            'budget, and it would limit nothing. Write ledger = "spent.ledger" under [budget].'
        )
    if contract.analysts and asked.analyst is None:
        raise AnalystError(
            "the contract gives every analyst a share of the budget, so that a question needs to "
            "say whose it is. Pass --analyst NAME."
        )
    if asked.table is None and len(contract.tables) > 1:
        raise InputError(
            f"the contract has several tables: {', '.join(contract.tables)}. Pass --table with one "
            f"of them."
        )


def _question(session: Session, asked: Asked, contract: Contract) -> Question:
    from sfumato.session import count, mean, std, sum, variance

    table = session.table(asked.table or next(iter(contract.tables)))
    if asked.where:
        table = table.filter(*asked.where)
    outputs = {"n": count()} if asked.count else {}
    functions = {"--sum": sum, "--mean": mean, "--variance": variance, "--std": std}
    for option, function in functions.items():
        for text in getattr(asked, option.removeprefix("--")):
            name, output = _output(option, text, function)
            if name in outputs:
                raise InputError(
                    f"two columns of the answer would be called {name!r}. Name one of them, as in "
                    f"{option} 'other={output.text}'."
                )
            outputs[name] = output
    groups = []
    for given in asked.group_by:  # a column, or name=expression
        found = _NAMED.fullmatch(given.strip())
        groups.append(given if found is None else found["name"])
        if found is not None:
            table = table.with_columns(**{found["name"]: found["text"].strip()})
    if not groups:
        if asked.keys:
            raise KeysError("--keys lists the groups of a column. Pass --group-by COLUMN as well.")
        if asked.histogram is not None:
            return table.histogram(asked.histogram, _bins(asked))
        return table.agg(**outputs)
    grouped = table.group_by(*groups, keys=_keys(asked, table) or None)
    if asked.histogram is not None:
        return grouped.histogram(asked.histogram, _bins(asked))
    return grouped.agg(**outputs)


def _bins(asked: Asked) -> int | list[str]:
    """Read --bins: how many, or the edges."""
    edges = [edge.strip() for edge in (asked.bins or "").split(",")]
    return int(edges[0]) if len(edges) == 1 and edges[0].isascii() and edges[0].isdigit() else edges


def _output(option: str, given: str, function: Any) -> tuple[str, Output]:
    """Read ``name=expression``, or an expression that is named by itself."""
    found = _NAMED.fullmatch(given.strip())
    if found is None:
        output: Output = function(given)
        return output.name, output
    from sfumato.relation.expr import names
    from sfumato.sql.expression import parse

    name, text = found["name"], found["text"].strip()
    if next(names(parse(text)), None) is None:
        raise ExpressionError(
            f"{option} {given!r} would call a constant {name!r}. If you mean a comparison, name it "
            f"too: {option} 'share=({name} = {text})'."
        )
    return name, function(text)


def _keys(asked: Asked, table: Table) -> dict[str, list[Any]]:
    """Read the lists of --keys, each value as its column has it."""
    schema, found = table.schema, {}
    for given in asked.keys:
        name, equals, listed = given.partition("=")
        if not equals or name in found:
            raise KeysError(
                f"--keys {given!r} is not a list of groups, or the second one of its column. Write "
                f"--keys COLUMN=A,B once for each column; quote a value that has a comma in it."
            )
        values = next(csv.reader([listed]), [])
        found[name] = [_key(text, schema.get(name)) for text in values]
    return found


def _key(text: str, column: Column | None) -> Any:
    from sfumato.core.number import exact
    from sfumato.core.schema import Boolean, Category, Integer, Real

    match column:
        case Integer() | Real():
            number = exact(text.strip(), f"--keys {text.strip()!r}")
            return number.numerator if number.denominator == 1 else number
        case Boolean():
            return {"true": True, "false": False}.get(text.strip().lower(), text)
        case Category():
            return next((value for value in column.values if str(value) == text), text)
    return text


def _answer(asked: Asked, session: Session, plan: Plan) -> None:
    """Pay, write the answer, and say what it cost to whoever sits at the console."""
    before, left = _entry(session.ledger.head), session.remaining
    release = plan.release(request=asked.request)
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


def _remarks(release: Release, plan: Plan) -> Iterator[str]:
    from sfumato.release.format import percent, printable

    covers = "; ".join(dict.fromkeys(m.covers for m in release.measures if m.has_interval))
    if covers:
        yield f"intervals: {percent(plan.confidence)} each, {covers}"
    yield from (f"note: {printable(note)}" for note in release.notes)


def _charge(plan: Plan) -> str:
    from sfumato import accounting

    return str(accounting.charge(plan.cost, plan.charge_delta))


def _entry(receipt: str) -> int:
    return int(receipt.partition(":")[0])


def _explained(plan: Plan, form: str) -> str:
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
        raise _unwritable(path) from None


def _unwritable(path: Path) -> InputError:
    return InputError(
        f"cannot write {str(path)!r}. Pass --out with a file in a folder that exists and that you "
        f"may write to. What was paid for is in the ledger: to ask the same again is free."
    )
