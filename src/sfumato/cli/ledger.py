"""The commands `sfumato ledger`: what was spent, what happened, and whether the record holds."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.core.errors import LedgerCorrupt, LedgerError, RequestError, UnknownName

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sfumato.accounting.sums import Charge
    from sfumato.ledger import Event, Ledger, Reservation
    from sfumato.session import Contract

_CONTRACT = click.argument("contract", type=click.Path(path_type=Path))


class Entry(click.IntRange):
    """The number of an entry, which is not the id of its request."""

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        """Read the number."""
        try:
            return int(super().convert(value, param, ctx))
        except click.BadParameter:
            raise click.BadParameter(
                f"{value!r} is no number of an entry. `sfumato ledger show` lists what is open, "
                f"each with its entry: pass that number, not the id.",
                ctx,
                param,
            ) from None


@click.group()
def ledger() -> None:
    """Look at the record of what was spent, and keep it; for owners.

    CONTRACT is a contract file, or the ledger's own file. No command reads data.
    """


@ledger.command()
@_CONTRACT
def show(contract: Path) -> None:
    """Show budget, what is spent and left, shares, open requests and scopes, and the head."""
    from sfumato.cli.listing import aligned

    place = Place.of(contract)
    with closing(place.open(read_only=True)) as book:
        waiting = book.pending()
        facts = [
            ("ledger", f"{place.path}, {book.head.partition(':')[0]} entries"),
            ("unit", f"{book.unit!r}, {book.unit.neighbors} neighbors"),
            ("budget", repr(book.budget)),
            *_accounts(book),
            *(("pending", text) for text in _pending(book, waiting)),
            *(("scope", text) for text in _scopes(book)),
            ("state", _CLOSED if book.closed else "open"),
            ("head", book.head),
        ]
        if place.contract is not None and place.contract.budget != book.budget:
            click.echo(
                f"note: the contract declares {place.contract.budget!r}, and the ledger enforces "
                f"{book.budget!r}. Questions are refused until both say the same; `sfumato budget` "
                f"changes what is enforced.",
                err=True,
            )
    click.echo(aligned(facts, left=2))
    if waiting:
        click.echo(
            "note: what is pending is under way right now, or its process died. Asked again under "
            "the same id, what is reserved goes on and pays once; `sfumato ledger free` closes an "
            "entry for a process that is gone.",
            err=True,
        )


@ledger.command()
@_CONTRACT
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the last N entries.")
@click.option("--questions", is_flag=True, help="Also what was asked, where there is an answer.")
@click.option("--format", type=click.Choice(["table", "json"]), default="table", show_default=True)
def history(contract: Path, limit: int | None, questions: bool, format: str) -> None:
    """List what happened, when, who asked, about which table, and the charge; no answers."""
    from sfumato.cli.listing import aligned
    from sfumato.cli.past import questions_of

    with closing(Place.of(contract).open(read_only=True)) as book:
        events = book.history()
        asked = questions_of(book, events) if questions else {}
    first = {event.seq: event for event in events}
    entries = [_entry(event, first) for event in events[-limit if limit else None :]]
    if questions:
        entries = [{**entry, "question": asked.get(entry["entry"])} for entry in entries]
    if format == "json":
        click.echo(json.dumps(entries, ensure_ascii=False, indent=2))
        return
    columns = ["entry", "time", "what", "analyst", "table", "version", "charge", "request"]
    columns += ["question"] if questions else []
    rows = [[_cell(name, entry[name]) for name in columns] for entry in entries]
    click.echo(aligned([columns, *rows], left=len(columns)))


@ledger.command()
@_CONTRACT
@click.option(
    "--head", metavar="NUMBER:HASH", help="What `sfumato ledger show` once gave as the head."
)
def verify(contract: Path, head: str | None) -> None:
    """Replay every entry; exit with 1 if anything is wrong.

    Against a head that was kept elsewhere it also finds a ledger that was rolled back.
    """
    from sfumato.ledger import verify as replayed

    place = Place.of(contract)
    try:
        found = replayed(place.path, head)
    except LedgerCorrupt as problem:  # too damaged to be replayed, which is a finding too
        problem.message = problem.message.replace("Run verify on it, and go", "Go")  # this was it
        click.echo(str(problem))
        click.get_current_context().exit(1)
    click.echo(str(found))
    click.get_current_context().exit(0 if found.ok else 1)


@ledger.command()
@_CONTRACT
@click.argument("file", type=click.Path(path_type=Path))
def backup(contract: Path, file: Path) -> None:
    """Write a copy of the ledger to FILE, while other processes go on, and print its head.

    The copy is one file, verified before the command ends. Nothing is written over.
    """
    with closing(Place.of(contract).open(read_only=True)) as book:
        click.echo(f"{file}; head {book.backup(file)}")


@ledger.command()
@_CONTRACT
def acknowledge(contract: Path) -> None:
    """Open the data again after a fault: the owner has seen what failed."""
    with closing(Place.of(contract).open()) as book:
        was_closed = book.closed
        book.acknowledge()
        done = "the data is open again" if was_closed else "no fault was waiting; nothing changed"
        click.echo(f"{done}; head {book.head}")


@ledger.command()
@_CONTRACT
@click.argument("entry", type=Entry(min=1), nargs=-1, required=True)
def free(contract: Path, entry: tuple[int, ...]) -> None:
    """Close the scopes and requests that each ENTRY opened, for processes that died.

    What a scope did not spend returns, and so does the charge of a request that had not read
    anything; any other charge stands. `sfumato ledger show` lists both with their entries. A
    process that still lives is refused from then on.
    """
    with closing(Place.of(contract).open()) as book:
        scopes = {scope.id: scope for scope in book.scopes()}
        waiting = {request.entry: request for request in book.pending()}
        for each in dict.fromkeys(entry):
            if each not in scopes and each not in waiting:  # before any is closed
                raise UnknownName(
                    f"entry {each} opened no scope and no request that is still open. `sfumato "
                    f"ledger show` lists those that are."
                )
        for each in dict.fromkeys(entry):
            if each in scopes:
                book.close_scope(scopes[each])
                done = f"{scopes[each].budget!r} is no longer set aside"
            else:
                done = _freed(book, waiting[each])
            click.echo(f"{done}; {book.remaining()} left")


@ledger.command()
@_CONTRACT
@click.argument("table")
@click.argument("version")
def refresh(contract: Path, table: str, version: str) -> None:
    """Record that TABLE has a new VERSION; nothing returns to the budget."""
    place = Place.of(contract)
    if place.contract is not None and table not in place.contract.tables:
        raise UnknownName(
            f"the contract declares no table {table!r}; there are: "
            f"{', '.join(place.contract.tables)}."
        )
    with closing(place.open()) as book:
        book.refresh(table, version)
        click.echo(f"{table} is at version {version}; head {book.head}")
    declared = None if place.contract is None else place.contract.tables[table].version
    if declared not in (None, version):
        click.echo(
            f"note: the contract declares version {declared!r}, and that is what questions are "
            f"about. Write version = {json.dumps(version)} there.",
            err=True,
        )


_CLOSED = "closed: a fault waits for the owner; open it with `sfumato ledger acknowledge`"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a ledger is, and the contract that names it, if one was given."""

    path: Path
    contract: Contract | None

    @classmethod
    def of(cls, given: Path) -> Place:
        """Tell a ledger from a contract: only the one is text.

        Raises:
            ContractError: it is neither, or the contract cannot be read.
            LedgerError: the contract names no ledger, or one that does not exist.
        """
        if _is_binary(given):
            return cls(given, None)
        from sfumato.session import Contract

        contract = Contract.read(given)
        if contract.ledger is None:
            raise LedgerError(
                'the contract names no ledger, so that nothing is on record. Write ledger = "'
                'spent.ledger" under [budget]; it is made with the first question.'
            )
        if not contract.ledger.exists():
            raise LedgerError(
                f"the ledger {contract.ledger.name!r} of this contract does not exist yet. It is "
                f"made with the first question; if there was one, put the file back."
            )
        return cls(contract.ledger, contract)

    def open(self, *, read_only: bool = False) -> Ledger:
        """Open the ledger; one that protects another unit than the contract is refused."""
        from sfumato.ledger import Ledger

        unit = None if self.contract is None else self.contract.unit
        return Ledger.open(self.path, unit=unit, read_only=read_only)


def _is_binary(path: Path) -> bool:
    # Before SQLite opens the file: to close it afterwards would drop SQLite's locks.
    try:
        with path.open("rb") as stream:
            begun = stream.read(4096)
            return b"\0" in begun or (not begun and path.suffix != ".toml")  # a ledger that was cut
    except OSError:
        return False


def _accounts(book: Ledger) -> Iterator[tuple[str, str]]:
    """Say what is spent and left, of the total and of each share."""
    from sfumato.cli.past import left, spent

    yield "spent", spent(book.spent(), book.budget)
    yield "remaining", left(book.remaining(), book.budget)
    for name, share in book.analysts.items():
        said = spent(book.spent(name), share)
        yield "share", f"{name}: {book.remaining(name)} left, {said} spent"


def _pending(book: Ledger, waiting: Sequence[Reservation]) -> Iterator[str]:
    """Say what is under way, or was when its process died."""
    if not waiting:
        yield "none"
        return
    events = {event.seq: event for event in book.history()}
    last = {event.ref: event.kind for event in events.values() if event.ref is not None}
    for request in waiting:
        who = f" by {request.analyst}" if request.analyst else ""
        state, since = last.get(request.entry, "reserved"), _time(events[request.entry])
        yield (
            f"{state}{who}, {request.charge}, entry {request.entry} of {since}, id "
            f"{request.request_id!r}"
        )


def _freed(book: Ledger, request: Reservation) -> str:
    """Close a request, and say what becomes of its charge."""
    try:
        book.release_untouched(request)
    except RequestError:  # it was touched: whoever waits long enough might have seen something
        book.abandon(request)
        return f"the request is given up, and its charge stands: {request.charge}"
    return f"the request is given back: {request.charge}"


def _scopes(book: Ledger) -> Iterator[str]:
    """Say what is set aside; a scope whose process died stays among them."""
    for scope, inside in book.scopes().items():
        who = f" by {scope.analyst}" if scope.analyst else ""
        yield f"{scope.budget!r} set aside{who}, {inside} spent inside, entry {scope.id}"


def _entry(event: Event, entries: Mapping[int, Event]) -> dict[str, Any]:
    """Describe an entry; what follows up a reservation is about the same table."""
    start = entries.get(event.ref or 0, event) if event.dataset is None else event
    return {
        "entry": event.seq,
        "time": _time(event),
        "what": event.kind,
        "analyst": event.analyst or None,
        "request": event.request,
        "table": start.dataset,
        "version": start.version,
        "charge": None if event.charge is None else _figures(event.charge),
        "hash": event.hash.hex(),
    }


def _time(event: Event) -> str:
    return event.moment.isoformat(timespec="seconds")


def _figures(charge: Charge) -> dict[str, str]:
    from sfumato.accounting.grid import UNIT
    from sfumato.cli.listing import decimal

    figures = {"epsilon": charge.epsilon, "rho": charge.rho, "delta": charge.delta}
    return {
        name: decimal(Fraction(units, UNIT)) for name, units in figures.items() if units is not None
    }


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name != "charge":
        return str(value)
    from sfumato.core.number import show_above

    letters = {"epsilon": "ε", "rho": "ρ", "delta": "δ"}
    shown = {name: Fraction(text) for name, text in value.items() if (name, text) != ("delta", "0")}
    return ", ".join(f"{letters[name]} = {show_above(shown[name], 4)}" for name in shown)
