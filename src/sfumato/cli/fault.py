"""What nobody foresaw, on its way to the person at the console: one message, whatever it was.

A traceback would show values of somebody's data, and help only whoever wrote the program.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from sfumato.core.errors import InternalError, SfumatoError

FAULT = 4  # the exit code
INTERRUPTED = 130  # that of a process that Ctrl-C ended, as shells have it


class Fault(InternalError):
    """A defect of sfumato, met at the console."""


@contextmanager
def faults() -> Iterator[None]:
    """Turn what is no refusal into a message that says so.

    Raises:
        Fault: something failed that should not.
    """
    try:
        yield
    except (SfumatoError, click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except BrokenPipeError:  # who reads the answer has enough of it
        raise
    except Exception:  # noqa: BLE001 - the last place where it can be caught
        raise Fault(
            "something failed inside of sfumato, which is a defect and no fault of yours. The "
            "ledger says whether anything was paid. Please report what you typed, without data."
        ) from None
