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
        gate, waits, came = threading.Lock(), False, False
        gate.acquire()
        try:
            with self._mutex:
                if not self._taken:
                    self._taken = came = True
                    return True
                waits = True
                self._waiting.append(gate)
            came = gate.acquire(timeout=timeout)
        finally:
            if waits and not came:  # too late, or interrupted; or it came at that very moment
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
