"""A lock that lets threads through in the order in which they came."""

from __future__ import annotations

import threading
from collections import deque


class Turnstile:
    """Admits one thread at a time, the one that waits longest first.

    The locks of the standard library promise no order. Here the order is what makes a group: a
    thread that wants to write comes before one that came later and wants to commit.
    """

    def __init__(self) -> None:
        """Admit the first who comes."""
        self._mutex = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._taken = False

    def acquire(self, timeout: float = -1) -> bool:
        """Wait for the own turn; return whether it came in time."""
        with self._mutex:
            if not self._taken:
                self._taken = True
                return True
            gate = threading.Lock()
            gate.acquire()
            self._waiting.append(gate)
        came = False
        try:
            came = gate.acquire(timeout=timeout)
        finally:
            if not came:  # too late, or interrupted; the turn may have come at the same moment
                with self._mutex:
                    mine = gate not in self._waiting
                    if not mine:
                        self._waiting.remove(gate)
                if mine:
                    self.release()
        return came

    def release(self) -> None:
        """Let the next one through."""
        with self._mutex:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False
