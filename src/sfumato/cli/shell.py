r"""The command `sfumato shell`: questions in SQL, one after the other, each at its price."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.cli.asked import admit, announce
from sfumato.cli.fault import FAULT, Fault, faults
from sfumato.cli.wording import commands
from sfumato.core.errors import CostError, NothingFound, SfumatoError

if TYPE_CHECKING:
    from sfumato.accounting.sums import Remaining
    from sfumato.cli.lines import Lines
    from sfumato.release import Release
    from sfumato.session import Contract, Session
    from sfumato.session.sql import SqlPlan

REFUSED, NOTHING_FOUND = 2, 3  # exit codes of what is piped in


@click.command()
@click.argument("contract", type=click.Path(path_type=Path))
@click.option("--analyst", metavar="NAME", help="Who asks, where the contract gives shares.")
@click.option("--epsilon", metavar="NUMBER", help="The price of questions that name none.")
@click.option("--delta", metavar="NUMBER", help="The δ beside it.")
@click.option("--yes", is_flag=True, help="Pay without being asked.")
def shell(
    contract: Path, analyst: str | None, epsilon: str | None, delta: str | None, yes: bool
) -> None:
    r"""Ask the private tables of CONTRACT in SQL, one question after the other.

    A semicolon or an empty line ends a question. \help lists the commands, which are free, and
    may stand on a line of their own within a question.

    What is piped in is answered without a prompt; the exit code is 2 if anything was refused.
    """
    from sfumato.session import Contract, connect

    read = Contract.read(contract)
    admit(read, analyst)
    is_new = read.ledger is not None and not read.ledger.exists()
    terminal = sys.stdin.isatty()
    with connect(read, analyst=analyst) as session:
        made = Shell(session, read, contract, pays_at_once=yes or not terminal)
        made.set_price(epsilon, delta)
        if is_new and read.ledger is not None:
            announce(read.ledger)
        code = made.run(terminal=terminal)
    click.get_current_context().exit(code)


class Shell:
    """A conversation with a session.

    Args:
        session: who is asked.
        contract: what its owner declared.
        path: where that is written.
        pays_at_once: whether a price is paid without asking back.

    Attributes:
        form: how answers are written: table, csv or json.
        last: the last answer, and what a table of it shows for a missing key.
        explains: whether the next question is only explained.
        ended: whether somebody wants to leave.
    """

    def __init__(
        self, session: Session, contract: Contract, path: Path, *, pays_at_once: bool
    ) -> None:
        """Begin without a price."""
        self.session, self.contract, self.path = session, contract, path
        self.pays_at_once = pays_at_once
        self.epsilon: str | None = None
        self.delta: str | None = None
        self.form = "table"
        self.last: tuple[Release, str] | None = None
        self.explains = self.ended = False
        self._lines: Lines | None = None
        self._entries = self._refused = self._nothing = 0
        self._faulty = False

    def run(self, *, terminal: bool) -> int:
        """Answer until the input ends, and return the exit code."""
        from sfumato.cli.backslash import COMMANDS, perform
        from sfumato.cli.lines import COMMAND, Lines

        editor = None
        if terminal:
            from sfumato.cli.editor import Editor, Vocabulary

            names = {name: each.arguments for name, each in COMMANDS.items()}
            tables = (*self.session.tables, *self.contract.public)
            editor = Editor(Vocabulary(names, tables, self.columns))
            click.echo(f"{', '.join(tables)}. \\help lists the commands.", err=True)
        self._lines = Lines(editor, self.prompt if terminal else lambda _: "")
        for entry in self._lines.entries():
            self._entries += 1
            try:
                with commands(), faults():
                    if entry.startswith(COMMAND):
                        perform(self, entry)
                    else:
                        self.ask(entry)
            except SfumatoError as problem:
                self._refused += 1
                self._faulty |= isinstance(problem, Fault)
                click.echo(f"error: {problem}", err=True)
            except KeyboardInterrupt:  # of a command, which is free
                click.echo("interrupted", err=True)
            if self.ended:
                break
        if terminal:
            return 0
        if self._refused:
            said = f"refused: {self._refused} of {self._entries} questions and commands"
            click.echo(said, err=True)
            return FAULT if self._faulty else REFUSED
        return NOTHING_FOUND if self._nothing else 0

    def prompt(self, held: str) -> str:
        """Say what is left, before each line; or that a question goes on, or a text in quotes."""
        from sfumato.cli.lines import open_quote

        if held:
            return f"{open_quote(held) or '.'}.. "
        try:
            return f"{left_in_short(self.session.remaining)} left> "
        except SfumatoError:  # a ledger that is busy: the next question says so
            return "> "

    def set_price(self, epsilon: str | None, delta: str | None) -> None:
        """Set the price of questions that name none.

        Raises:
            CostError: a δ without an ε.
        """
        from sfumato.core.budget import Budget

        if epsilon is None and delta is not None:
            raise CostError("δ stands beside ε, and there is no ε. Pass --epsilon as well.")
        if epsilon is not None:
            Budget(epsilon, delta or 0)  # refuses what is no price
        self.epsilon, self.delta = epsilon, delta

    def columns(self, table: str) -> tuple[str, ...]:
        """Return the columns of a table, private or public."""
        if table in self.session.tables:
            return tuple(self.session.table(table).columns)
        return tuple(self.session.public(table))

    def plan(self, text: str) -> SqlPlan:
        """Plan a question at its own price, or at the one that was set; free.

        Raises:
            CostError: there is neither.
        """
        from sfumato.cli.statement import has_price
        from sfumato.session.sql import bound, planned
        from sfumato.sql.statement import statement

        parsed = statement(text)
        named = has_price(parsed.price)
        if not named and self.epsilon is None:
            raise CostError(
                "an answer has a price, and you set it: end the question with WITH EPSILON 0.5, "
                "or set one for all that name none: \\epsilon 0.5."
            )
        cost = {} if named else {"epsilon": self.epsilon, "delta": self.delta}
        return planned(self.session, bound(self.session, parsed), parsed.price, None, cost)

    def explain(self, text: str) -> None:
        """Say what a question would cost and how far it would err."""
        import json

        plan = self.plan(text)
        if self.form == "json":
            click.echo(json.dumps(plan.to_dict(), ensure_ascii=False, indent=2))
        else:
            click.echo(repr(plan))

    def ask(self, text: str) -> None:
        """Say what a question costs, pay, and print the answer."""
        from sfumato.cli.purchase import Purchase, charge_of, missing_key, remarks

        if self.explains:
            self.explains = False
            self.explain(text)
            return
        plan = self.plan(text)
        price = str(charge_of(plan)) or "nothing"
        if self.pays_at_once or self._lines is None:
            click.echo(f"costs {price}, of {self.session.remaining} left", err=True)
        elif not self._lines.confirm(f"pay {price}?"):
            click.echo("not asked, and nothing is paid", err=True)
            return
        purchase = Purchase(self.session, plan)
        try:
            release = purchase.release()
            self.last = release, missing_key(plan)
            self.show(*self.last)
            for line in (*remarks(release, plan), purchase.paid(release)):
                click.echo(line, err=True)
        except NothingFound as nothing:  # an answer like any other, but there is no table in it
            self._nothing += 1
            click.echo(str(nothing), err=True)
            click.echo(purchase.paid(None), err=True)
        except KeyboardInterrupt:
            click.echo(purchase.interrupted(), err=True)

    def show(self, release: Release, missing: str) -> None:
        """Print an answer as it was wished."""
        from sfumato.cli.grid import cells
        from sfumato.cli.query import written

        if self.form == "table":
            self.table(cells(release, missing), left=len(release.keys))
        else:
            click.echo(written(release, self.form), nl=False)

    def table(self, rows: list[list[str]], *, left: int) -> None:
        """Print a table: with lines and as wide as it is on a terminal, plain for a pipe."""
        from sfumato.cli.grid import drawn, plain

        if sys.stdout.isatty():
            drawn(rows, left=left)
        else:
            click.echo(plain(rows, left=left), nl=False)


def left_in_short(left: Remaining) -> str:
    """Write what is left for a prompt, rounded down."""
    from sfumato.accounting.sums import show_down

    amounts = [("ε", left.epsilon), ("ρ", left.rho)]
    views = [f"{name} {show_down(amount)}" for name, amount in amounts if amount]
    delta = [f"δ {show_down(left.delta)}"] if left.delta else []
    return ", ".join([*views[:1], *delta]) if views else "nothing"
