"""Changing one limit in the text of a contract, and nothing else: comments stay where they are."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.core.errors import ContractError
from sfumato.owner.layout import Entry, dotted, key, layout, string
from sfumato.session.contract import Contract

if TYPE_CHECKING:
    from pathlib import Path

    from sfumato.core.budget import Budget

_LIMITS = ("epsilon", "delta", "rho")
_NUMERAL = re.compile(r"[0-9]+(\.[0-9]+)?(e-?[0-9]+)?")


def amended(
    text: str, folder: Path, budget: Budget, limits: dict[str, str], analyst: str | None = None
) -> str:
    """Return the text of a contract with another limit.

    The result is read again: it must declare that limit, and else what was declared before.

    Args:
        text: the contract.
        folder: what relative paths in it are relative to.
        budget: what it is to declare.
        limits: epsilon, delta and rho as they are to be written; those that stay may be left out.
        analyst: whose share it is; the budget of all if not given.

    Raises:
        ContractError: the change cannot be made safely, and somebody has to make it by hand.
    """
    section = ("budget",) if analyst is None else ("analysts", analyst)
    entries = [entry for entry in layout(text)[0] if entry.name[:-1] == section]
    present = {entry.name[-1]: entry for entry in entries if entry.name[-1] in _LIMITS}
    if present:
        changed = _changed(text, present, limits)
    else:
        end = "\r\n" if "\r\n" in text else "\n"
        lines = [f"{name} = {string(value)}" for name, value in limits.items()]
        text = text if text.endswith("\n") else text + end
        changed = text + end.join(["", f"[{'.'.join(map(key, section))}]", *lines, ""])
    before = Contract.parse(text, folder)
    if analyst is None:
        meant = replace(before, budget=budget)
    else:
        meant = replace(before, analysts={**before.analysts, analyst: budget})
    if _read(changed, folder) != meant:
        raise ContractError(
            f"{dotted(section)}: the contract is written in a way in which this cannot be changed "
            f"safely: as an inline table, or with another kind of limit. Leave --write out, and "
            f"change it by hand."
        )
    return changed


def _changed(text: str, present: dict[str, Entry], limits: dict[str, str]) -> str:
    """Exchange values, the last one first; a key that is new goes below one that is there."""
    after = max(present.values(), key=lambda entry: entry.stop)
    start = text.rfind("\n", 0, after.start) + 1
    stop = text.find("\n", after.stop)
    at = len(text) if stop < 0 else stop + 1
    end = "\r\n" if "\r\n" in text else "\n"
    written = text[start : after.start]
    edits = [
        (present[name].start, present[name].stop, _as(text, present[name], value))
        for name, value in limits.items()
        if name in present
    ]
    for name in limits.keys() - present.keys():
        line = written.replace(after.name[-1], name) + string(limits[name])
        edits.append((at, at, f"{'' if stop >= 0 else end}{line}{end}"))
    for first, last, new in sorted(edits, reverse=True):
        text = text[:first] + new + text[last:]
    return text


def _as(text: str, entry: Entry, value: str) -> str:
    """Write a number as the one before it was: bare, or as text."""
    bare = text[entry.start] not in "\"'" and _NUMERAL.fullmatch(value) is not None
    return value if bare else string(value)


def _read(text: str, folder: Path) -> Contract | None:
    try:
        return Contract.parse(text, folder)
    except ContractError:
        return None
