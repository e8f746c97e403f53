"""The command `sfumato` and the commands below it. Heavy imports wait until a command runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sfumato import __version__
from sfumato.cli.audit import audit
from sfumato.cli.budget import budget
from sfumato.cli.check import check
from sfumato.cli.dummy import dummy
from sfumato.cli.explain import choose, explain
from sfumato.cli.fault import FAULT, INTERRUPTED, Fault, faults
from sfumato.cli.init import init
from sfumato.cli.ledger import ledger
from sfumato.cli.map import map_
from sfumato.cli.marginals import marginals
from sfumato.cli.query import query
from sfumato.cli.ranges import ranges
from sfumato.cli.report import report
from sfumato.cli.shell import shell
from sfumato.core.errors import SfumatoError

_PAYING = ("query", "shell", "ranges", "map", "marginals")


class Failure(click.ClickException):
    """An error of sfumato on its way to the person at the console: one message, no traceback."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        """Print the message to standard error."""
        click.echo(f"error: {self.message}", file=file, err=file is None)


class Defect(Failure):
    """A failure that is no refusal."""

    exit_code = FAULT


class Interrupted(click.ClickException):
    """Ctrl-C, which is no error; but what was read is paid for."""

    exit_code = INTERRUPTED

    def show(self, file: Any = None) -> None:
        """Print the message to standard error."""
        click.echo(self.message, file=file, err=file is None)


class Commands(click.Group):
    """A group whose commands may raise any error of sfumato."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; turn an error into its message."""
        try:
            with faults():
                return super().invoke(ctx)
        except SfumatoError as problem:
            kind = Defect if isinstance(problem, Fault) else Failure
            raise kind(str(problem)) from None
        except KeyboardInterrupt:
            charge = (
                "; what had begun to read data keeps its charge. `sfumato ledger show` with the "
                "contract says what is spent, and what is pending"
            )
            pays = ctx.invoked_subcommand in _PAYING
            raise Interrupted("interrupted" + (charge if pays else "")) from None


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
def main() -> None:
    """Learn from a table without learning who is in it."""


@main.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("sfumato-demo.html"),
    show_default=True,
    help="Where to write the page.",
)
@click.option(
    "--people",
    type=click.IntRange(100, 1_000_000),
    default=10_000,
    show_default=True,
    help="How many people take part in the survey.",
)
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Leave the town's tables, contract and ledger in this new folder.",
)
def demo(out: Path, people: int, keep: Path | None) -> None:
    """Tell the whole story on generated data, offline, ending in an HTML page."""
    from sfumato.cli.demo import run

    run(out, people, keep)


for command in (
    *(init, check, dummy, query, shell, report, ledger, budget),
    *(ranges, map_, marginals, audit, explain, choose),
):
    main.add_command(command)
