"""Ctrl-C while a process forks: Python ignores what is raised then, and forks all the same."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType


class Interrupts:
    """Ctrl-C, which waits while a process forks."""

    def __init__(self) -> None:
        """Wait for none."""
        self._usual: Callable[[int, FrameType | None], Any] | int | None = None
        self._came = False

    def hold(self) -> None:
        """Let them wait; they come to the main thread alone."""
        if threading.current_thread() is threading.main_thread():
            self._came, self._usual = False, signal.getsignal(signal.SIGINT)
            if self._usual is not None:
                signal.signal(signal.SIGINT, self._note)

    def let_go(self, *, child: bool) -> None:
        """Let the process have the one that came; its child was not meant."""
        if self._usual is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._usual)
            self._usual = None
            if self._came and not child:  # after the fork: what is raised here is ignored
                main = threading.main_thread().ident or 0  # which it wakes
                later = threading.Timer(0.01, signal.pthread_kill, [main, signal.SIGINT])
                later.daemon = True
                later.start()

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self._came = True
