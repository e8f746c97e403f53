"""The door to private data: tables, their public facts, and a ledger."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.budget import Budget
from sfumato.core.errors import AnalystError, BudgetError, InputError, LedgerError, UnknownName
from sfumato.core.schema import Column, Schema
from sfumato.ledger import Ledger
from sfumato.noise.rng import Rng, system
from sfumato.relation.source import Source
from sfumato.release.release import Release
from sfumato.session.contract import Contract
from sfumato.session.kernel import Access, measure
from sfumato.session.part import Part
from sfumato.session.table import Table

if TYPE_CHECKING:
    from sfumato.accounting import Remaining
    from sfumato.backends.base import Backend
    from sfumato.core.unit import Unit


class Session:
    """Private data behind one budget.

    Nothing is read when it is made but the names and types of columns.

    Args:
        source: the data: a path to CSV, Parquet or a DuckDB file; a pandas or Polars frame, an
            Arrow table, or a DuckDB connection.
        unit: who is protected.
        schema: the public facts about columns; a column that is not declared does not exist.
        budget: the limit for everything that is ever released, by everybody.
        ledger: the file that records what was spent, made if it does not exist; or the ledger of
            another session. Without one the record is kept in memory and lost with the process.
        name: what to call the table; the file's name, if not given.
        version: the public label of the data. Change it when the data changes: questions that were
            answered for a label are answered from the ledger for ever. Without one it is what the
            ledger was last refreshed to, or one for the path, and for a frame a random label.
        rows: the public number of rows, under 'replace' neighbors.
        analyst: who asks, where the ledger has shares.

    Example:
        >>> import pyarrow as pa, sfumato as sf
        >>> people = pa.table({"age": [31, 45, 62], "zone": ["A", "B", "A"]})
        >>> session = sf.Session(
        ...     people,
        ...     unit=sf.Unit.row(),
        ...     schema=sf.Schema(age=sf.Integer(0, 120), zone=sf.Category(["A", "B"])),
        ...     budget=sf.Budget(epsilon=2),
        ... )
        >>> answer = session.table().group_by("zone").count().release(epsilon=1)
        >>> answer.columns
        ('zone', 'n', 'n_low', 'n_high')
        >>> print(session.remaining)
        ε = 1
    """

    def __init__(  # noqa: PLR0913 (every fact is named by its keyword)
        self,
        source: Any,
        *,
        unit: Unit,
        schema: Schema | dict[str, Column],
        budget: Budget,
        ledger: str | PathLike[str] | Ledger | None = None,
        name: str | None = None,
        version: str | None = None,
        rows: int | None = None,
        analyst: str | None = None,
    ) -> None:
        """Check the declaration, open the data and the ledger."""
        from sfumato.backends.duckdb import DuckDB

        is_file = isinstance(source, str | PathLike)
        declared = Schema(schema) if isinstance(schema, dict) else schema
        table = Source(name or _name_of(source), declared, unit, rows)
        backend = DuckDB.open({table: source})
        opened = _ledger(ledger, budget, unit, {})
        kept = opened.version(table.name) or _first(source) if is_file else _nonce()
        self._begin({table: version or kept}, backend, opened, analyst)
        self._lent = isinstance(ledger, Ledger)

    @classmethod
    def _of(cls, contract: Contract, analyst: str | None) -> Session:
        from sfumato.backends.duckdb import DuckDB

        tables = {t.relation: t for t in contract.tables.values()}
        backend = DuckDB.open({source: t.location for source, t in tables.items()})
        ledger = _ledger(contract.ledger, contract.budget, contract.unit, contract.analysts)
        session = cls.__new__(cls)
        versions = {
            source: t.version or ledger.version(t.name) or _first(t.location)
            for source, t in tables.items()
        }
        session._begin(versions, backend, ledger, analyst)
        return session

    def _begin(
        self,
        versions: Mapping[Source, str],
        backend: Backend,
        ledger: Ledger,
        analyst: str | None,
    ) -> None:
        self._tables = {source.name: source for source in versions}
        self._backend, self._ledger, self._analyst = backend, ledger, analyst
        self._rng: Rng = system()
        self._lent = False
        self._versions = {source.name: label for source, label in versions.items()}
        if analyst is not None:
            ledger.remaining(analyst)  # refuses one without a share before anything is asked
        elif ledger.analysts:
            raise AnalystError(
                "this ledger gives analysts shares of the budget, so everybody who asks has a "
                "name. Pass analyst=."
            )

    def table(self, name: str | None = None) -> Table:
        """Return a private table: the only one, or that of a name."""
        if name is None:
            if len(self._tables) > 1:
                raise InputError(
                    f"this session has several tables: {', '.join(self._tables)}. Name one."
                )
            name = next(iter(self._tables))
        if name not in self._tables:
            raise UnknownName(f"no table {name!r} here; there are: {', '.join(self._tables)}.")
        return Table(self, self._tables[name])

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables."""
        return tuple(self._tables)

    @property
    def remaining(self) -> Remaining:
        """What may still be spent: by the analyst who asks, if the ledger has shares."""
        return self._ledger.remaining(self._analyst)

    @property
    def ledger(self) -> Ledger:
        """The record of what was spent."""
        return self._ledger

    @property
    def dialect(self) -> str:
        """The SQL that the data's engine speaks."""
        return self._backend.dialect

    def perform(
        self, parts: Sequence[Part], *, request: str | None = None, delta: Any = 0
    ) -> tuple[Release, ...]:
        """Measure parts in one charge, through the kernel. Plans and tables call it."""
        if not parts:
            raise InputError("there is nothing to measure. Pass at least one question.")
        if any(self._tables.get(part.source.name) != part.source for part in parts):
            raise InputError(
                "this question was made for another table, or for other facts about it, and its "
                "sensitivity would not hold here. Ask a table of this session: session.table()."
            )
        access = Access(
            self._backend,
            self._ledger,
            self._versions[parts[0].source.name],
            self._analyst,
            self._rng,
        )
        return measure(parts, access, request=request or _nonce(), delta=delta)

    def close(self) -> None:
        """Close the data, and the ledger unless another session lent it."""
        self._backend.close()
        if not self._lent:
            self._ledger.close()

    def __enter__(self) -> Session:
        """Use the session in a with block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def __repr__(self) -> str:
        """Show what is public: tables, limit, what is left."""
        durable = "" if self._ledger.durable else ", not durable"
        return (
            f"<session over {', '.join(self._tables)}; {self._ledger.budget!r}, "
            f"{self.remaining} left{durable}>"
        )


def connect(contract: str | PathLike[str] | Contract, *, analyst: str | None = None) -> Session:
    """Open the private data that an owner's contract declares.

    Args:
        contract: the contract file (TOML), or one that was read.
        analyst: who asks, where the contract gives shares.

    Raises:
        ContractError: the contract cannot be read, or contradicts itself.
    """
    read = contract if isinstance(contract, Contract) else Contract.read(contract)
    return Session._of(read, analyst)


def _ledger(
    given: str | PathLike[str] | Ledger | None,
    budget: Budget,
    unit: Unit,
    analysts: Mapping[str, Budget],
) -> Ledger:
    """Open the ledger, or make it; a unit or budget that is not the recorded one is refused."""
    if not isinstance(budget, Budget):
        raise InputError("a session needs a limit. Pass budget=sf.Budget(epsilon=4).")
    if given is None:
        return Ledger.create(None, budget, unit, analysts=analysts)
    ledger = given if isinstance(given, Ledger) else _file(Path(given), budget, unit, analysts)
    ledger.check_unit(unit)
    if ledger.budget != budget:
        raise BudgetError(
            f"the ledger has {ledger.budget!r}, and {budget!r} is declared now. A limit that moves "
            f"with a declaration would be none. Declare what the ledger has, or have the owner "
            f"raise it first: sfumato.ledger.Ledger.open(file).raise_budget(...)."
        )
    if not isinstance(given, Ledger) and ledger.analysts != dict(analysts):
        raise BudgetError(
            "the ledger records other shares of analysts than are declared now, and only what it "
            "records is enforced. Declare what it has (see `sfumato ledger show`), or have the "
            "owner give the share: ledger.raise_budget(budget, analyst)."
        )
    return ledger


def _file(path: Path, budget: Budget, unit: Unit, analysts: Mapping[str, Budget]) -> Ledger:
    try:  # also over what a process left that was killed while making it
        return Ledger.create(path, budget, unit, analysts=analysts)
    except LedgerError:
        if not path.exists():
            raise
    return Ledger.open(path)


def _name_of(source: Any) -> str:
    if isinstance(source, str | PathLike):
        file, _, table = str(source).removeprefix("duckdb:").partition("#")
        return table or Path(file).name.split(".")[0] or "table"
    return "table"


def _first(source: Any) -> str:
    """Return the label of a file for which nobody gave one: another path is other data."""
    path = str(Path(str(source)).absolute())
    return f"1 at {hashlib.sha256(path.encode(errors='surrogateescape')).hexdigest()[:12]}"


def _nonce() -> str:
    return system().words(2).tobytes().hex()
