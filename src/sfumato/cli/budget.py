"""The command `sfumato budget`: another limit, as an entry of the ledger."""

from __future__ import annotations

from codecs import BOM_UTF8
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.cli.ledger import Place
from sfumato.core.errors import CostError, InputError

if TYPE_CHECKING:
    from fractions import Fraction

    from sfumato.core.budget import Budget


@click.command()
@click.argument("contract", type=click.Path(path_type=Path))
@click.option("--epsilon", metavar="NUMBER", help="The new ε.")
@click.option("--delta", metavar="NUMBER", help="The new δ; as before if not given.")
@click.option("--rho", metavar="NUMBER", help="The new ρ, instead of --epsilon.")
@click.option("--analyst", metavar="NAME", help="The share of one analyst, not the total.")
@click.option("--write", is_flag=True, help="Write the limit into the contract as well.")
def budget(
    contract: Path,
    epsilon: str | None,
    delta: str | None,
    rho: str | None,
    analyst: str | None,
    write: bool,
) -> None:
    """Set the limit that the ledger of CONTRACT enforces; never below what was spent.

    CONTRACT is a contract file, or the ledger's own file. No data is read.
    """
    from sfumato.owner.inspection import shown

    given = {"epsilon": epsilon, "delta": delta, "rho": rho}
    typed = {name: text.strip() for name, text in given.items() if text is not None}
    place = Place.of(contract)
    if write and place.contract is None:
        raise InputError("--write changes a contract, and this is a ledger. Pass the contract.")
    with closing(place.open()) as book:
        shares = book.analysts
        before = book.budget if analyst is None else shares.get(analyst)
        after = _limit(before, typed)
        text = _amended(place, after, typed, analyst) if write else None
        if after != before:
            book.raise_budget(after, analyst)
        left, head = book.remaining(analyst), book.head
    whose = "the budget" if analyst is None else f"the share of {analyst}"
    was = "was not there" if before is None else f"was {shown(before)}"
    done = f"{was}, is {shown(after)}" if after != before else f"is {shown(after)} already"
    click.echo(f"{whose} {done}; left: {left}; head {head}")
    if analyst is not None and not shares:
        click.echo("from now on only analysts with a share may ask", err=True)
    _tell(place, after, typed, analyst, text)


def _limit(before: Budget | None, typed: dict[str, str]) -> Budget:
    """Return the new limit; a δ that is not given stays."""
    from sfumato.core.budget import Budget

    if not typed or {"epsilon", "rho"} <= typed.keys():
        raise CostError(
            "which limit is it to be? Pass --epsilon 6, with --delta 1e-6 if you like, or --rho "
            "0.5; one of the two."
        )
    if "rho" in typed:
        return Budget(rho=typed["rho"], delta=typed.get("delta", 0))
    kept = None if before is None else before.epsilon
    if "epsilon" not in typed and kept is None:
        raise CostError("δ stands beside ε, and there is no ε here. Pass --epsilon as well.")
    return Budget(typed.get("epsilon", kept), typed.get("delta", before.delta if before else 0))


def _amended(place: Place, after: Budget, typed: dict[str, str], analyst: str | None) -> str | None:
    """Return the contract with the new limit; None if it says so already."""
    from sfumato.owner.amendment import amended

    found = place.contract
    if found is None or found.path is None or _declared(place, analyst) == after:
        return None
    text = found.path.read_bytes().decode("utf-8-sig")
    return amended(text, found.path.parent, after, _limits(after, typed), analyst)


def _limits(after: Budget, typed: dict[str, str]) -> dict[str, str]:
    """Write a limit as it was typed; what was not typed, briefly where that is exact: 1e-6."""
    from sfumato.cli.listing import decimal
    from sfumato.core.number import exact, show

    def written(figure: Fraction) -> str:
        short = show(figure).replace("e-0", "e-")
        return short if "about" not in short and exact(short) == figure else decimal(figure)

    figures = {"epsilon": after.epsilon, "rho": after.rho}
    if after.delta or "delta" in typed:
        figures["delta"] = after.delta
    return {
        name: typed.get(name) or written(figure)
        for name, figure in figures.items()
        if figure is not None
    }


def _declared(place: Place, analyst: str | None) -> Budget | None:
    if place.contract is None:
        return None
    return place.contract.budget if analyst is None else place.contract.analysts.get(analyst)


def _tell(
    place: Place, after: Budget, typed: dict[str, str], analyst: str | None, text: str | None
) -> None:
    """Bring the contract in line, or say what to write."""
    if place.contract is None or place.contract.path is None:
        click.echo("next: declare the same in the contract; until then questions are refused")
        return
    path = place.contract.path
    if _declared(place, analyst) == after:
        click.echo(f"{path.name} declares the same")
        return
    if text is not None:
        from sfumato.cli.file import replace

        mark = path.read_bytes().startswith(BOM_UTF8)  # some editors put it in front
        replace(path, text.encode("utf-8-sig" if mark else "utf-8"))
        click.echo(f"{path.name} declares the same now")
        return
    from sfumato.owner.layout import dotted

    section = dotted(("budget",) if analyst is None else ("analysts", analyst))
    lines = ", ".join(f'{name} = "{text}"' for name, text in _limits(after, typed).items())
    click.echo(
        f"next: write {lines} under [{section}] of {path.name} (--write does it); until then "
        f"questions are refused"
    )
