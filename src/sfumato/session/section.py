"""One table of a contract file and where it stands in it, so that every refusal can say where."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import ContractError, InputError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_BARE = re.compile(r"[A-Za-z0-9_-]{1,40}")
_LONGEST = 40  # of a foreign name, quoted

# Where a key belongs that was written somewhere else.
_HOMES = {
    **dict.fromkeys(("epsilon", "delta", "rho", "ledger"), "[budget]"),
    "neighbors": "[unit]",
    **dict.fromkeys(("untrusted", "quantum"), "[session]"),
    **dict.fromkeys(("max_rows", "max_groups", "max_rows_per_group"), "[tables.NAME]"),
    **dict.fromkeys(("source", "version"), "[tables.NAME]"),
}


@dataclass(frozen=True, slots=True)
class Section:
    """One table of the file: its entries, and its dotted name.

    Attributes:
        where: the dotted name as the file would write it; empty for the file itself.
        entries: what the table holds.
    """

    where: str
    entries: Mapping[str, Any]

    def at(self, key: str) -> str:
        """Return the dotted name of an entry."""
        return f"{self.where}.{quoted(key)}" if self.where else quoted(key)

    def refusal(self, key: str | None, message: str) -> ContractError:
        """Return the error that says where, then what."""
        where = self.where if key is None else self.at(key)
        return ContractError(f"{where}: {message}" if where else message)

    def allow(self, known: Iterable[str], required: Iterable[str] = (), why: str = "") -> None:
        """Refuse every key that is not known, and say which one is missing.

        Args:
            known: the keys that may stand here.
            required: those of them that must.
            why: what a required key is for; quoted if it is missing.
        """
        known = list(known)
        for key in self.entries:
            if key not in known:
                raise self.refusal(key, _unknown(key, known))
        for key in required:
            if key not in self.entries:
                raise self.refusal(None, f"{key} is missing. {why}".rstrip())

    def text(self, key: str, example: str) -> str:
        """Return an entry that must be text, and not empty."""
        value = self.entries[key]
        if not isinstance(value, str):
            raise self.refusal(
                key, f"this is {described(value)} and must be text. Write {key} = {example}."
            )
        if not value.strip() or "\0" in value:
            raise self.refusal(key, f"this text names nothing. Write {key} = {example}.")
        return value

    def path(self, key: str, example: str) -> str:
        """Return an entry that says where something is, and means the same to everybody."""
        value = self.text(key, example)
        if value.removeprefix("duckdb:").startswith("~"):
            raise self.refusal(
                key,
                "~ is another folder for everybody who reads this, so that each would find other "
                "data or another ledger. Write the path in full, or from the contract's folder.",
            )
        return value

    def section(self, key: str, example: str) -> Section:
        """Return an entry that must be a table; an absent one is empty."""
        value = self.entries.get(key, {})
        if not isinstance(value, dict):
            mend = _home(key) or f"Write {example}."
            raise self.refusal(key, f"this is {described(value)} and must be a table. {mend}")
        return Section(self.at(key), value)

    def sections(self, key: str, example: str) -> dict[str, Section]:
        """Return the named tables below an entry: those of ``[tables.trips]``, by name.

        Names that differ only in upper and lower case are refused: SQL takes one for another.
        """
        below = self.section(key, example)
        below.tell_apart()
        return {name: below.section(name, example) for name in below.entries}

    def tell_apart(self) -> None:
        """Refuse a name that is empty, and two names that would be taken for one."""
        seen: dict[str, str] = {}
        for name in self.entries:
            if not name:
                raise self.refusal(
                    name,
                    "a name is empty, and nobody could ask for it. Put one between the quotes.",
                )
            if (other := seen.setdefault(name.casefold(), name)) != name:
                raise self.refusal(
                    name,
                    f"this differs from {quoted(other)} only in upper and lower case, and SQL "
                    f"and people take one for the other. Rename one of them.",
                )


@contextmanager
def located(where: str) -> Iterator[None]:
    """Say where a value was written that the core refuses."""
    try:
        yield
    except ContractError:
        raise
    except (InputError, SchemaError) as problem:
        raise ContractError(f"{where}: {problem.message}") from None


def quoted(key: str) -> str:
    """Write a key as the file does: bare if it can be, else in quotes, and never too long."""
    if _BARE.fullmatch(key):
        return key
    short = key if len(key) <= _LONGEST else key[: _LONGEST - 3] + "..."
    return json.dumps(short, ensure_ascii=not short.isprintable())


def described(value: object) -> str:
    """Name the kind of a value in the words of TOML, never the value: it may be a password."""
    match value:
        case bool():
            return "true or false"
        case str():
            return "text"
        case int() | Decimal():
            return "a number"
        case dict():
            return "a table"
        case list():
            return "a list"
        case _:
            return "a date or a time"


def _home(key: str) -> str:
    """Say where a key belongs, if it is one of another place."""
    return f"{key} belongs in {_HOMES[key]}." if key in _HOMES else ""


def _unknown(key: str, known: list[str]) -> str:
    near = get_close_matches(key.lower(), known, n=1)
    mend = _home(key) or (f"Did you mean {near[0]}?" if near else "")
    why = "there is no such key, and what is not understood could not be enforced."
    return " ".join(filter(None, (why, mend, f"Known here: {', '.join(known)}.")))
