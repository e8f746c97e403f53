"""The command `sfumato check`: what an owner should look at before anybody asks."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import click

from sfumato.core.errors import ContractError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.owner.finding import Finding

_WIDTH = 100
_PLACE = re.compile(r"(?P<place>line \d+, column \d+|[^\s:]+): (?P<rest>.+)", re.DOTALL)


@click.command()
@click.argument("contract", type=click.Path(path_type=Path))
@click.option("--format", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.option("--strict", is_flag=True, help="Notes count as findings too.")
@click.option("--no-data", is_flag=True, help="Do not compare with the data's names and types.")
def check(contract: Path, format: str, strict: bool, no_data: bool) -> None:
    """Look for faults and doubts in CONTRACT; reads names and types of the data, no row.

    Exits with 0 if there is nothing to do, 1 if something deserves a look, 2 if the contract
    cannot be used.
    """
    found = _findings(contract, data=not no_data)
    if format == "json":
        click.echo(json.dumps(_document(found), ensure_ascii=False, indent=2))
    else:
        click.echo(_listing(found))
    levels = {finding.level for finding in found}
    code = 2 if "error" in levels else int("warning" in levels or (strict and bool(levels)))
    click.get_current_context().exit(code)


def _findings(path: Path, *, data: bool) -> list[Finding]:
    from sfumato.owner.finding import Finding
    from sfumato.owner.lint import lint
    from sfumato.session.contract import Contract

    try:
        contract = Contract.read(path)
    except ContractError as problem:
        said = _PLACE.fullmatch(problem.message)
        place, rest = (said["place"], said["rest"]) if said else ("contract", problem.message)
        return [Finding.of("contract.unreadable", place, ContractError(rest))]
    text = (contract.path or path).read_text(encoding="utf-8-sig")
    return lint(contract, text=text, data=data)


def _document(found: Sequence[Finding]) -> dict[str, object]:
    count = Counter(finding.level for finding in found)
    return {
        "errors": count["error"],
        "warnings": count["warning"],
        "notes": count["note"],
        "findings": [finding.to_dict() for finding in found],
    }


def _listing(found: Sequence[Finding]) -> str:
    """Write findings for people: what, then why and how to mend it."""
    from sfumato.release.format import printable

    blocks, before = [], ""
    for finding in found:
        head = f"{finding.level}  {finding.place}: {finding.what}"
        rest = " ".join(filter(None, (finding.why, finding.mend)))
        blocks.append(_filled(printable(head), ""))
        if rest and rest != before:  # said once of several in a row
            blocks.append(_filled(printable(rest), "    "))
        before = rest
    count = Counter(finding.level for finding in found)
    named = [_counted(count[level], level) for level in ("error", "warning", "note")]
    return "\n".join([*blocks, ", ".join(named)])


def _filled(text: str, indent: str) -> str:
    return fill(
        text,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
