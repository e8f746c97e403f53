"""Engines that a fork copies: a child neither uses nor ends what it inherits."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from weakref import WeakSet

from sfumato.backends.rehearsal import engines

if TYPE_CHECKING:
    from sfumato.backends.base import Backend

_open: WeakSet[Backend] = WeakSet()


def outlast(backend: Backend) -> None:
    """Let a backend be there for ever in every child that inherits it."""
    _open.add(backend)


def _leave() -> None:
    """Take a reference to every engine that is never given back.

    An engine that is ended waits for its threads, which a fork does not bring along: the child
    would hang or break as soon as it opens a session under the same name, or exits. DuckDB says at
    the end of such a child that it leaked, which is meant.
    """
    import ctypes  # numpy has loaded it, so that no lock of another thread is waited for

    for inherited in (*_open, *engines.values()):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(inherited))


if hasattr(os, "register_at_fork"):  # where processes can fork
    os.register_at_fork(after_in_child=_leave)
