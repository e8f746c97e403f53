"""The commands `sfumato explain` and `sfumato choose`: what an ε means, and which one to take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from sfumato.core.errors import CostError, InputError

_PAGES = {".html", ".htm"}


@click.command()
@click.option("--epsilon", metavar="NUMBER", help="ε.")
@click.option("--delta", default="0", show_default=True, metavar="NUMBER", help="δ beside it.")
@click.option("--rho", metavar="NUMBER", help="ρ of concentrated DP, instead of ε.")
@click.option(
    "--prior",
    default="0.01",
    show_default=True,
    metavar="NUMBER",
    help="What an attacker believes beforehand, as a probability.",
)
@click.option(
    "--people",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How many people to look at together, as a family.",
)
@click.option(
    "--neighbors",
    type=click.Choice(["add_remove", "replace"]),
    default="add_remove",
    show_default=True,
    help="Whether one unit is in the table or not, or has other data.",
)
@click.option("--html", type=click.Path(path_type=Path), metavar="FILE", help="Write a page, too.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures for programs.")
def explain(
    epsilon: str | None,
    delta: str,
    rho: str | None,
    prior: str,
    people: int,
    neighbors: str,
    html: Path | None,
    as_json: bool,
) -> None:
    """Say what an ε means, in words and numbers; no data is read."""
    from sfumato.accounting import explain as explained

    if (epsilon is None) == (rho is None):
        raise CostError("say what to explain: pass --epsilon 1, or --rho 0.5, one of the two.")
    if html is not None:
        _check(html)
    said = explained(
        epsilon,
        delta,
        rho=rho,
        prior=prior,
        people=people,
        neighbors="replace" if neighbors == "replace" else "add_remove",
    )
    _print(said, as_json=as_json)
    if html is not None:
        from sfumato.cli.file import replace

        replace(html, str(said.to_html()).encode())
        click.echo(f"the page: {html}", err=True)


@click.command()
@click.option(
    "--within",
    multiple=True,
    required=True,
    metavar="NUMBER",
    help="How far noise may take an answer; may be repeated, once for each answer.",
)
@click.option(
    "--sensitivity",
    multiple=True,
    metavar="NUMBER",
    help="How far one unit can move it; once for all, or once for each; 1 if not given.",
)
@click.option(
    "--times",
    multiple=True,
    type=click.IntRange(min=1),
    help="How often it is released; once for all, or once for each; 1 if not given.",
)
@click.option("--delta", metavar="NUMBER", help="δ, which allows Gaussian noise; 0 if not given.")
@click.option("--rho", is_flag=True, help="Look for the least ρ instead of the least ε.")
@click.option("--confidence", default="0.95", show_default=True, metavar="NUMBER")
@click.option("--epsilon", metavar="NUMBER", help="The other way round: what this budget grants.")
@click.option("--json", "as_json", is_flag=True, help="Print the choice for programs.")
def choose(
    within: tuple[str, ...],
    sensitivity: tuple[str, ...],
    times: tuple[int, ...],
    delta: str | None,
    rho: bool,
    confidence: str,
    epsilon: str | None,
    as_json: bool,
) -> None:
    """Find the least ε that keeps answers as close as they should be; no data is read.

    With --epsilon it finds how close they can be: all half-widths stretched by one factor.
    """
    from sfumato.accounting import Target, reachable
    from sfumato.accounting import choose as chosen
    from sfumato.core.budget import Budget

    if rho and (delta is not None or epsilon is not None):
        raise CostError("--rho asks for the least ρ, without a δ or a limit. Pass --rho alone.")
    targets = [
        Target(f"answer {i}", width, sensitivity=moved, times=often)
        for i, (width, moved, often) in enumerate(
            zip(
                within,
                _each(sensitivity, "1", within, "--sensitivity"),
                _each(times, 1, within, "--times"),
                strict=True,
            ),
            start=1,
        )
    ]
    if epsilon is not None:
        found = reachable(Budget(epsilon, delta or 0), targets, confidence=confidence)
    else:
        found = chosen(targets, delta=None if rho else delta or 0, confidence=confidence)
    _print(found, as_json=as_json)


def _print(found: Any, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(found.to_dict(), ensure_ascii=False, indent=2))
    else:
        click.echo(str(found))


def _each(given: tuple[Any, ...], usual: Any, within: tuple[str, ...], name: str) -> list[Any]:
    """Return one value for each answer."""
    if len(given) <= 1:
        return [given[0] if given else usual] * len(within)
    if len(given) != len(within):
        raise InputError(
            f"{name} is given {len(given)} times and --within {len(within)} times, so it is not "
            f"clear what belongs together. Give it once for all answers, or once for each."
        )
    return list(given)


def _check(path: Path) -> None:
    """Refuse to write a page over anything that is none."""
    from sfumato.release.path import new_path

    if path.is_dir() or not path.parent.is_dir():
        raise InputError(
            f"cannot write {path.name!r}. Pass --html with a file in a folder that exists."
        )
    if path.suffix.lower() not in _PAGES:
        raise InputError(
            f"{path.name!r} does not end in .html, and may be something that somebody needs. Pass "
            f"--html with a name such as epsilon.html."
        )
    new_path(path)  # refuses a ledger of that name
