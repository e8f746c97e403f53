"""The contract: one file in which an owner declares budget, unit, tables and columns."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from os import PathLike, fsdecode
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sfumato.core.budget import Budget
from sfumato.core.errors import ContractError
from sfumato.core.unit import Neighbors, Unit
from sfumato.ledger.order import checked_name
from sfumato.relation.link import check_links
from sfumato.relation.source import linked
from sfumato.release.path import is_database
from sfumato.session.declaration import TableDeclaration, located_source, shared_unit
from sfumato.session.pacing import QUANTUM, Pace
from sfumato.session.section import Section, described, located

if TYPE_CHECKING:
    from collections.abc import Mapping

_SECTIONS = ("budget", "analysts", "session", "unit", "tables", "public")
_LIMITS = ("epsilon", "delta", "rho")
_LARGEST = 2**24  # bytes of a contract; more is data, given by mistake

_POSITION = re.compile(r"\(at (line \d+, column \d+|end of document)\)$")
_TWICE = re.compile(r"Cannot|Duplicate")  # how tomllib begins where something is defined again


@dataclass(frozen=True, repr=False)
class Contract:
    """What an owner declares: who is protected, how much may be learned, and from which tables.

    Attributes:
        budget: the limit for all analysts together.
        ledger: the file of the ledger; None keeps it in memory, where it is not durable.
        analysts: shares of the budget, by name; empty if there are none.
        tables: the private tables, by name.
        public: where the public tables are, by name; a relative path is made absolute.
        unit: the one unit of all tables, for the ledger.
        path: the file that was read; None if there is none.
        quantum: by how many seconds replies to untrusted analysts are held back; None if analysts
            are trusted not to measure time.

    Example:
        >>> contract = Contract.parse('''
        ... [budget]
        ... epsilon = 2
        ... [tables.people]
        ... source = "people.csv"
        ... unit = "row"
        ... columns.age = { type = "integer", low = 0, high = 120 }
        ... ''')
        >>> contract
        Contract(Budget(epsilon=2), Unit.row(), tables: people)
    """

    budget: Budget
    ledger: Path | None
    analysts: Mapping[str, Budget]
    tables: Mapping[str, TableDeclaration]
    public: Mapping[str, str]
    unit: Unit
    path: Path | None = field(default=None, compare=False)
    quantum: Fraction | None = None

    def __post_init__(self) -> None:
        """Keep copies that nobody can change."""
        for name in ("analysts", "tables", "public"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Contract:
        """Read a contract file. Relative paths in it are relative to its folder.

        Raises:
            ContractError: it cannot be read, is not TOML, or declares something that makes no
                sense; the message says where.
        """
        try:
            given = Path(fsdecode(path)) if isinstance(path, str | PathLike) else None
        except TypeError:  # no text behind it
            given = None
        if given is None:
            raise ContractError("a contract is a file. Pass its path.")
        try:
            # Resolved, because one file must mean one ledger, through whatever link it is reached.
            file = given.resolve()
        except (OSError, RuntimeError, ValueError):  # links in a circle; a character that none has
            raise _unreadable(given) from None
        return cls.parse(_text(file), file.parent, path=file)

    @classmethod
    def parse(
        cls, text: str, folder: str | PathLike[str] = ".", *, path: Path | None = None
    ) -> Contract:
        """Read a contract from its text.

        Args:
            text: the contract, as TOML.
            folder: what relative paths in it are relative to.
            path: the file it came from, if any.

        Raises:
            ContractError: it is not TOML, or declares something that makes no sense.
        """
        top = Section("", _document(text))
        top.allow(_SECTIONS)
        base = Path(folder).resolve()
        limits = top.section("budget", "[budget]")
        unit = top.section("unit", "[unit]")
        limits.allow((*_LIMITS, "ledger"))
        unit.allow(("neighbors", "name"))
        budget = _budget(limits)
        tables = _tables(top, _neighbors(unit), base)
        return cls(
            budget,
            base / limits.path("ledger", '"trips.ledger"') if "ledger" in limits.entries else None,
            _analysts(top),
            tables,
            _public(top, tables, base),
            shared_unit(unit, tables),
            path,
            quantum=_quantum(top.section("session", "[session] with untrusted = true below it")),
        )

    def __repr__(self) -> str:
        """Show what is declared, without the sources: they may hold passwords."""
        name = f"{self.path.name!r}, " if self.path else ""
        return f"Contract({name}{self.budget!r}, {self.unit!r}, tables: {', '.join(self.tables)})"


def _text(file: Path) -> str:
    """Return what a file says, if it can be a contract."""
    try:
        if not file.is_file():
            what = "it is a folder" if file.is_dir() else "there is no such file"
            raise ContractError(
                f"{file.name!r} cannot be read as a contract: {what}. Check the path."
            )
        if is_database(file):  # and to close it would drop the locks of a ledger that is open
            raise ContractError(
                f"{file.name!r} is a ledger or another database, and no contract. Pass the TOML "
                f"file that declares the data and names its ledger."
            )
        with file.open("rb") as stream:
            content = stream.read(_LARGEST + 1)
    except OSError:
        raise _unreadable(file) from None
    if len(content) > _LARGEST:
        raise ContractError(
            f"{file.name!r} is larger than 16 MiB and no contract. Pass the TOML file that "
            f"declares the data, not the data."
        )
    try:
        return content.decode("utf-8-sig")  # some editors put a mark in front
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise ContractError(
            f"line {line}: the contract is not text in UTF-8, so that nobody can say which names "
            f"it declares. Save it as UTF-8."
        ) from None


def _unreadable(file: Path) -> ContractError:
    return ContractError(
        f"{file.name!r} cannot be read as a contract. Check the path, and the rights on the file "
        f"and its folder."
    )


def _document(text: str) -> dict[str, Any]:
    """Parse TOML; every refusal is constant but for the position, for the text may hold secrets."""
    try:
        return tomllib.loads(text, parse_float=_decimal)
    except tomllib.TOMLDecodeError as problem:
        found = _POSITION.search(str(problem))
        where = found[1] if found else "somewhere"
        if _TWICE.match(str(problem)):
            what = (
                "something is defined a second time just before this, and one of the two is wrong"
            )
            mend = "Keep one of them"
        else:
            what = "this is not TOML, so that nobody can say what is declared"
            mend = "Look for a quote, a bracket or an equals sign that is missing"
        raise ContractError(f"{where}: {what}. {mend}.") from None
    except ContractError:
        raise
    except (ValueError, RecursionError):  # more digits, or more brackets, than Python reads
        raise _too_long() from None


def _decimal(numeral: str) -> Decimal:
    """Read a number as what is written, not as the float that is nearest to it."""
    try:
        return Decimal(numeral)
    except InvalidOperation:
        raise _too_long() from None


def _too_long() -> ContractError:
    return ContractError(
        "the contract has a number too long, or brackets nested too deep, for anybody to mean it. "
        "Look for a number of thousands of digits or with a huge exponent."
    )


def _neighbors(section: Section) -> Neighbors:
    with located(section.at("neighbors")):
        return Neighbors.parse(section.entries.get("neighbors", "add_remove"))


def _budget(section: Section) -> Budget:
    given = {name: section.entries[name] for name in _LIMITS if name in section.entries}
    if ("epsilon" in given) == ("rho" in given):
        raise section.refusal(
            None,
            f"a limit is either epsilon, with delta if you like, or rho, and one of the two must "
            f"be there. Write epsilon = 1 under [{section.where}].",
        )
    with located(section.where):
        return Budget(**given)


def _quantum(section: Section) -> Fraction | None:
    """Return by how much replies are held back; None if they are not."""
    section.allow(("untrusted", "quantum"))
    untrusted = section.entries.get("untrusted", False)
    if not isinstance(untrusted, bool):
        raise section.refusal(
            "untrusted",
            f"this is {described(untrusted)} and must be true or false: whether the time of a "
            f"reply is hidden. Write untrusted = true.",
        )
    if not untrusted and "quantum" in section.entries:
        raise section.refusal(
            "quantum",
            "replies are held back from untrusted analysts only. Write untrusted = true beside "
            "it, or remove it.",
        )
    with located(section.at("quantum")):
        return Pace(section.entries.get("quantum", QUANTUM)).quantum if untrusted else None


def _analysts(top: Section) -> dict[str, Budget]:
    """Return the shares; a list of analysts that lists nobody is refused."""
    shares = top.sections("analysts", "[analysts.ana] with epsilon = 1 below it")
    if "analysts" in top.entries and not shares:
        raise ContractError(
            "analysts: nobody is listed, so that either everybody may ask or nobody. Write "
            "[analysts.ana] with epsilon = 1 below it, or remove the section."
        )
    for name, section in shares.items():
        section.allow(_LIMITS)
        with located(section.where):
            checked_name("the name of an analyst", name)
    return {name: _budget(section) for name, section in shares.items()}


def _tables(top: Section, neighbors: Neighbors, folder: Path) -> dict[str, TableDeclaration]:
    sections = top.sections("tables", "[tables.trips]")
    if not sections:
        raise ContractError(
            "tables: no table is declared, and what is not declared does not exist. Write "
            "[tables.trips], with source, unit and columns below it."
        )
    found = {
        name: TableDeclaration.of(name, section, neighbors, folder, sections)
        for name, section in sections.items()
    }
    links = {name: table.links for name, table in found.items()}
    with located("tables"):
        check_links(links)
        paths = linked([table.relation for table in found.values()], links)
    return {
        source.name: replace(found[source.name], unit=source.unit, path=source.path)
        for source in paths
    }


def _public(top: Section, private: Mapping[str, TableDeclaration], folder: Path) -> dict[str, str]:
    """Return where the public tables are."""
    taken = {name.casefold() for name in private}
    found = {}
    for name, section in top.sections("public", '[public.zones] with source = "zones.csv"').items():
        with located(section.where):
            checked_name("the name of a table", name)
        if name.casefold() in taken:
            raise section.refusal(
                None,
                "a private table has this name, and a question could not say which of the two it "
                "means. Rename one of them.",
            )
        section.allow(("source",), ("source",), 'Say where the data is: source = "zones.csv".')
        found[name] = located_source(section.path("source", '"zones.csv"'), folder)
    return found
