"""The door to private data: tables, their public facts, and a ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing, nullcontext
from os import PathLike, getpid
from typing import TYPE_CHECKING, Any

from sfumato.core.budget import Budget
from sfumato.core.errors import (
    InputError,
    UnknownName,
)
from sfumato.core.listing import listed
from sfumato.core.number import show
from sfumato.core.schema import Column, Schema
from sfumato.ledger import Ledger
from sfumato.noise import FixedWork, Rng, system
from sfumato.relation.source import Source
from sfumato.release.path import keep, new_path
from sfumato.release.release import Release
from sfumato.session.access import Access
from sfumato.session.contract import Contract
from sfumato.session.fork import outlast
from sfumato.session.kernel import measure
from sfumato.session.opening import (
    declared,
    first_label,
    kept_files,
    labels_of,
    ledger_of,
    name_of,
    nonce,
    unit_of_all,
)
from sfumato.session.pacing import Pace, at_once, pace_of
from sfumato.session.part import Part
from sfumato.session.table import Table

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    import pyarrow as pa

    from sfumato.accounting import Remaining
    from sfumato.backends.base import Backend
    from sfumato.core.number import Exactable
    from sfumato.core.unit import Unit
    from sfumato.ledger import Scope
    from sfumato.relation.partition import Slice
    from sfumato.release.card import Card
    from sfumato.session.batch import Batch
    from sfumato.session.question import Question
    from sfumato.session.sequel import Sequel
    from sfumato.session.sql import SqlPlan


class Session:
    """Private data behind one budget.

    Nothing is read when it is made but the names and types of columns.

    Args:
        source: the data: a path to CSV, Parquet or a DuckDB file; a pandas or Polars frame, an
            Arrow table, or a DuckDB connection. Several tables are given by name:
            ``{"visits": "visits.csv", "calls": frame}``.
        unit: who is protected; for several tables one unit for all, or one for each by name, which
            may differ in their caps.
        schema: the public facts about columns; a column that is not declared does not exist. For
            several tables, a schema for each by name.
        budget: the limit for everything that is ever released, by everybody.
        ledger: the file that records what was spent, made if it does not exist; or the ledger of
            another session. Without one the record is kept in memory and lost with the process.
        name: what to call the table; the file's name, if not given.
        version: the public label of the data. Change it when the data changes: questions that were
            answered for a label are answered from the ledger for ever. Without one it is what the
            ledger was last refreshed to, or one for the path, and for a frame a random label.
        rows: the public number of rows, under 'replace' neighbors.
        sampled: whether the rows are a random sample of a population, each drawn independently of
            the others; then an answer has intervals about that population: `Release.population`.
        analyst: who asks, where the ledger has shares.
        public: tables that nobody is protected by, by name, for joins: paths or frames.
        links: which columns hold keys of other tables, as in ``["orders.customer ->
            customers.id"]``. A table whose unit goes by such a column has the units of the table
            that it refers to.
        untrusted: whether the analyst may hold a stopwatch. Then noise is drawn with fixed work,
            and every reply comes at a multiple of the quantum after its question.
        quantum: in seconds, one unless it is given; choose it above the slowest question.

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
        unit: Unit | Mapping[str, Unit],
        schema: Schema | Mapping[str, Column] | Mapping[str, Schema],
        budget: Budget,
        ledger: str | PathLike[str] | Ledger | None = None,
        name: str | None = None,
        version: str | Mapping[str, str] | None = None,
        rows: int | Mapping[str, int] | None = None,
        sampled: bool | Mapping[str, bool] = False,
        analyst: str | None = None,
        public: Mapping[str, Any] | None = None,
        links: Sequence[str] = (),
        untrusted: bool = False,
        quantum: Exactable | None = None,
    ) -> None:
        """Check the declaration, open the data and the ledger."""
        from sfumato.backends.duckdb import DuckDB

        pace = pace_of(untrusted, quantum)
        if public is not None and not isinstance(public, Mapping):
            raise InputError("public= names tables for joins: public={'zones': 'zones.csv'}.")
        given = source.values() if isinstance(source, Mapping) else [source]
        kept = kept_files([*given, *(public or {}).values()])  # before a ledger is made
        if isinstance(source, Mapping):
            tables = declared(source, unit, schema, rows, sampled, links)
        elif links is not None and listed(links) != ():
            raise InputError(
                "links connect several tables, and this session has one. Pass them by name, as in "
                "Session({'orders': ..., 'customers': ...}, links=[...])."
            )
        else:
            facts = Schema(schema) if isinstance(schema, dict) else schema
            called = name_of(source) if name is None else name
            tables = {Source(called, facts, unit, rows, sampled): source}  # type: ignore[arg-type]
        stated = labels_of(version, tables)
        with ExitStack() as undo:  # what is refused leaves nothing open
            backend = undo.enter_context(closing(DuckDB.open(tables)))
            opened = ledger_of(ledger, budget, unit_of_all(tables), {}, analyst)
            undo.pop_all()
        labels = {}
        for table, data in tables.items():
            is_file = isinstance(data, str | PathLike)
            found = opened.version(table.name) or first_label(data) if is_file else nonce()
            labels[table] = stated[table] or found
        self._begin(labels, backend, opened, analyst, public or {}, pace)
        self._lent = isinstance(ledger, Ledger)
        keep(self, kept | kept_files([ledger]))

    @classmethod
    def _of(cls, contract: Contract, analyst: str | None) -> Session:
        from sfumato.backends.duckdb import DuckDB

        tables = {t.relation: t for t in contract.tables.values()}
        files = [*(t.location for t in tables.values()), *contract.public.values()]
        kept = kept_files([*files, contract.ledger, contract.path])
        with ExitStack() as undo:
            found = {source: t.location for source, t in tables.items()}
            backend = undo.enter_context(closing(DuckDB.open(found)))
            facts = (contract.ledger, contract.budget, contract.unit, contract.analysts)
            ledger = ledger_of(*facts, analyst)
            undo.pop_all()
        session = cls.__new__(cls)
        versions = {
            source: t.version or ledger.version(t.name) or first_label(t.location)
            for source, t in tables.items()
        }
        pace = None if contract.quantum is None else Pace(contract.quantum)
        session._begin(versions, backend, ledger, analyst, contract.public, pace)
        keep(session, kept)
        return session

    def _begin(
        self,
        versions: Mapping[Source, str],
        backend: Backend,
        ledger: Ledger,
        analyst: str | None,
        public: Mapping[str, Any],
        pace: Pace | None,
    ) -> None:
        self._public, self._snapshots = dict(public), dict[str, Mapping[str, Sequence[Any]]]()
        self._tables = {source.name: source for source in versions}
        self._backend, self._ledger, self._analyst = backend, ledger, analyst
        self._pace = pace
        self._rng: Rng = system() if pace is None else FixedWork(system())
        self._lent = self._closed = False
        self._process = getpid()  # a fork does not bring the engine's threads along
        outlast(backend)
        self._versions = {source.name: label for source, label in versions.items()}
        if ledger.durable:  # an edit of what is declared is an event of its own
            for source in versions:
                ledger.declare(source.name, source)

    def table(self, name: str | None = None) -> Table:
        """Return a private table: the only one, or that of a name."""
        if name is None:
            if len(self._tables) > 1:
                raise InputError(
                    f"this session has several tables: {', '.join(self._tables)}. Name one."
                )
            name = next(iter(self._tables))
        if not isinstance(name, str) or name not in self._tables:
            raise UnknownName(f"no table {name!r} here; there are: {', '.join(self._tables)}.")
        return Table(self, self._tables[name])

    def batch(
        self,
        questions: Sequence[Question] | Mapping[str, Question],
        *,
        weights: Sequence[Exactable] | Mapping[str, Exactable] | None = None,
    ) -> Batch:
        """Put questions together, to be answered from one plan for one charge.

        What several of them need is measured once, and the price is shared by all. With a δ it buys
        more than the questions would get one by one, because what all of them give away together is
        known beforehand.

        Args:
            questions: a list of questions that were not asked yet, or a mapping that names them.
            weights: how much of the price each part of a question may take, in proportion;
                evenly, if not given.

        Example: ``session.batch([trips.count(), trips.mean("fare")]).release(epsilon=1)`` is a list
        of two answers.
        """
        from sfumato.session.batch import Batch

        return Batch(self, questions, weights)

    def explain(
        self,
        text: str,
        *,
        epsilon: Exactable | None = None,
        delta: Exactable | None = None,
        rho: Exactable | None = None,
        accuracy: Any = None,
        confidence: Exactable | None = None,
        parameters: Sequence[Any] | Mapping[str, Any] | None = None,
        keys: Any = None,
    ) -> SqlPlan:
        """Return what a question in SQL would cost and how far it would err. Free; reads nothing.

        Args:
            text: the question. It may end with its price: ``WITH EPSILON 0.5 DELTA 1e-6``, ``WITH
                RHO 0.1`` or ``WITH ERROR 500 AT 95%``.
            epsilon: the price in ε; with `delta` in (ε, δ).
            delta: the δ, which allows Gaussian noise and groups that nobody listed.
            rho: the price in ρ, instead.
            accuracy: how far counts and sums may be off, instead of a price: ``sf.within(50)``.
            confidence: the probability with which each interval holds; 95 % unless passed.
            parameters: values for ``?`` and ``$1`` in order, or for ``:name`` by name.
            keys: the groups, where neither the schema nor WHERE lists them: ``{"zone": ["A"]}``, or
                ``sf.bought()``. Those of texts are bought unless they are listed.

        Example: ``session.explain("SELECT zone, COUNT(*) n FROM trips GROUP BY zone", epsilon=1)``.
        """
        from sfumato.session.sql import sql_plan

        cost = {
            "epsilon": epsilon,
            "delta": delta,
            "rho": rho,
            "accuracy": accuracy,
            "confidence": confidence,
        }
        return sql_plan(self, text, parameters, keys, cost)

    def sql(  # noqa: PLR0913 (every fact is named by its keyword)
        self,
        text: str,
        *,
        epsilon: Exactable | None = None,
        delta: Exactable | None = None,
        rho: Exactable | None = None,
        accuracy: Any = None,
        confidence: Exactable | None = None,
        parameters: Sequence[Any] | Mapping[str, Any] | None = None,
        keys: Any = None,
        request: str | None = None,
    ) -> Release:
        """Ask in SQL: pay, and return the answer with its intervals.

        The arguments are those of `explain`, and `request`, an id of your choice for whoever has to
        retry: the same id is the same request for ever.

        Raises:
            BudgetExceeded: it costs more than is left; nothing was read.
        """
        plan = self.explain(
            text,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            accuracy=accuracy,
            confidence=confidence,
            parameters=parameters,
            keys=keys,
        )
        return plan.release(request=request)

    def dummy(self, table: str | None = None, rows: int = 1000) -> pa.Table:
        """Return look-alike rows of a table as Arrow: free, and made from its declaration alone.

        Args:
            table: its name; may be left out if there is only one.
            rows: how many.
        """
        from sfumato.session.dummy import dummy

        self.table(table)  # refuses one that does not exist
        made = self._tables[table or next(iter(self._tables))]
        return dummy(made, rows, self._rng, self._tables.values())

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables."""
        return tuple(self._tables)

    def public(self, name: str) -> Mapping[str, Sequence[Any]]:
        """Return the columns of a public table; it is read once."""
        from sfumato.session.public import read_public

        if name in self._tables and name not in self._public:
            raise UnknownName(
                f"{name!r} is a private table, and a name stands for a public one. Pass the table "
                f"itself: session.table({name!r})."
            )
        if name not in self._public:
            raise UnknownName(
                f"no public table {name!r} here; there are: {', '.join(self._public) or 'none'}. "
                f"Pass a frame, or let the owner declare it: public={{{name!r}: ...}}."
            )
        if name not in self._snapshots:
            self._snapshots[name] = read_public(self._public[name], name)
        return self._snapshots[name]

    @property
    def analyst(self) -> str | None:
        """Who asks, where the ledger has shares."""
        return self._analyst

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

    def check_open(self) -> None:
        """Refuse what would be charged where nothing can be answered.

        Raises:
            InputError: the session is closed, or of another process.
        """
        if self._closed:
            raise InputError("this session is closed, and its data with it. Open another one.")
        if getpid() != self._process:
            raise InputError(
                "this session was opened in another process, and its engine did not come along "
                "with the fork. Open a session in each process; on one ledger they share its "
                "budget."
            )

    def perform(
        self,
        parts: Sequence[Part],
        *,
        request: str | None = None,
        delta: Any = 0,
        slice: Slice | None = None,
        scope: Scope | None = None,
        sequel: Sequel | None = None,
        fixed: bool = False,
    ) -> tuple[Release, ...]:
        """Measure parts in one charge, through the kernel. Plans and tables call it."""
        if not parts:
            raise InputError("there is nothing to measure. Pass at least one question.")
        self.check_open()
        if any(self._tables.get(s.name) != s for part in parts for s in part.sources):
            raise InputError(
                "this question was made for another table, or for other facts about it, and its "
                "sensitivity would not hold here. Ask a table of this session: session.table()."
            )
        asked = nonce() if request is None else request
        with self._paced() as hold:  # an answer, a stored one and a failure alike
            access = Access(
                self._backend,
                self._ledger,
                self._versions,
                self._analyst,
                slice,
                scope,
                self._rng,
                hold,
            )
            return measure(parts, access, request=asked, delta=delta, sequel=sequel, fixed=fixed)

    def _paced(self) -> AbstractContextManager[Callable[[], None]]:
        return nullcontext(at_once) if self._pace is None else self._pace.kept()

    def certificate(self, release: Release) -> Card:
        """Return the certificate of a release, with what the ledger says about it.

        Raises:
            InputError: this session's ledger did not pay for it.
        """
        from sfumato.session.certificate import recorded
        from sfumato.session.holdings import Holdings

        if not isinstance(release, Release):
            raise InputError("a certificate is that of a release. Pass what release() returned.")
        if release.receipt is None:
            return release.card()
        if len(release.origins) > 1:
            raise InputError(
                "this was computed from several answers, and each has a certificate of its own. "
                "Ask for theirs."
            )
        held = Holdings.of(self._ledger.history(), self._analyst)
        return release.card(recorded(self._ledger, release, held))

    def report(
        self,
        path: str | PathLike[str] | None = None,
        *,
        releases: Release | Iterable[Release] | Mapping[str, Release] | None = None,
        title: str = "",
    ) -> str | None:
        """Write contract, answers, ledger and certificate as one page; free, and reads no data.

        Args:
            path: where to write the page; without one its text is returned.
            releases: the answers to show: one, a list of them, or all of a batch with their names;
                without them what the ledger stores of each.
            title: the heading.

        Raises:
            InputError: this session's ledger did not pay for one of the releases; or something else
                was passed.
        """
        from sfumato.session.report import Report

        where = None if path is None else new_path(path)  # before the work
        tables = {source: self._versions[name] for name, source in self._tables.items()}
        made = Report(
            ledger=self._ledger,
            tables=tables,
            releases=releases,
            title=title,
            analyst=self._analyst,
        )
        return made.page().write(where)

    def close(self) -> None:
        """Close the data, and the ledger unless another session lent it."""
        self._closed = True
        keep(self, set())
        with self._paced():  # what was read and kept takes time to give back
            if getpid() == self._process:  # else it would wait for threads that are not there
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
        paced = "" if self._pace is None else f", replies every {show(self._pace.quantum)} s"
        return (
            f"<session over {', '.join(self._tables)}; {self._ledger.budget!r}, "
            f"{self.remaining} left{durable}{paced}>"
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
