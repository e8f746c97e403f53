"""What nobody foresaw, on its way to the person at the console: one message, whatever it was.

A traceback would show values of somebody's data, and help only whoever wrote the program.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

import click

from sfumato.core.errors import InputError, InternalError, SfumatoError

FAULT = 4  # the exit code
INTERRUPTED = 130  # that of a process that Ctrl-C ended, as shells have it
_NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


class Fault(InternalError):
    """A defect of sfumato, met at the console."""


@contextmanager
def faults() -> Iterator[None]:
    """Turn what is no refusal into a message that says so.

    Raises:
        InputError: what was to be printed goes to a disk that is full.
        Fault: something failed that should not.
    """
    try:
        yield
    except (SfumatoError, click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except BrokenPipeError:  # who reads the answer has enough of it
        raise
    except Exception as problem:  # noqa: BLE001 - the last place where it can be caught
        # The ledger and all other files that are written have errors of their own.
        full = isinstance(problem, OSError) and problem.errno in _NO_ROOM
    else:
        return
    if full:
        raise InputError(
            "what was to be printed could not be written, because there is no room for it on the "
            "disk. Send the output elsewhere. What was paid for is in the ledger: to ask the same "
            "again is free."
        )
    raise Fault(
        "something failed inside of sfumato, which is a defect and no fault of yours. The "
        "ledger says whether anything was paid. Please report what you typed, without data."
    )
