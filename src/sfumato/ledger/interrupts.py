"""Ctrl-C while a process forks: Python ignores what is raised then, and forks all the same."""

from __future__ import annotations

import signal
import sys
import threading
import time
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
            if self._came and not child:
                hook = sys._getframe(1)
                threading.Thread(target=_send_after, args=[hook], daemon=True).start()

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self._came = True


def _send_after(hook: FrameType) -> None:
    """Interrupt the main thread when it has left a hook, in which what is raised is ignored."""
    main, inside = threading.main_thread().ident or 0, True
    while inside:
        time.sleep(0.01)
        frame = sys._current_frames().get(main)
        while frame is not None and frame is not hook:
            frame = frame.f_back
        inside = frame is not None
    signal.pthread_kill(main, signal.SIGINT)  # which wakes it, too
