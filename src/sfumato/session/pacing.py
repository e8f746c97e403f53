"""When replies come: for an untrusted analyst at multiples of a public quantum, and not before.

How long an answer takes depends on the data, on the noise and on whether it is stored. Held back to
the next multiple of the quantum after its question, it tells how many quanta it took and no more:
nothing, if the quantum is above what the slowest question takes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from sfumato.core.errors import InputError, NumberError, RangeError
from sfumato.core.number import exact, show

QUANTUM = Fraction(1)
_SHORTEST, _LONGEST = Fraction(1, 1000), Fraction(3600)  # a sleep is not exact to less than that
_NANO = 10**9


class Pace:
    """Holds replies back until a multiple of the quantum has passed.

    Example:
        >>> pace = Pace("0.002")
        >>> with pace.kept():
        ...     reply = "at once, and held back"
        >>> pace
        Pace(0.002 s)
    """

    __slots__ = ("_clock", "_nanoseconds", "_sleep", "quantum")

    def __init__(
        self,
        quantum: Any = QUANTUM,
        *,
        clock: Callable[[], int] = time.monotonic_ns,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Check the quantum.

        Args:
            quantum: seconds, from a thousandth to an hour.
            clock: nanoseconds that never run backwards.
            sleep: waits for so many seconds, about.

        Raises:
            NumberError: the quantum is no number.
            RangeError: it is too short to be kept, or too long to be meant.
        """
        try:
            self.quantum = exact(quantum, "quantum")
        except NumberError:
            raise NumberError(
                "a quantum is a number of seconds from 0.001 to 3600, such as 1 or 0.25."
            ) from None
        if not _SHORTEST <= self.quantum <= _LONGEST:
            raise RangeError(
                f"a quantum of {show(self.quantum)} seconds is outside 0.001 to 3600: no shorter "
                f"one can be kept, and nobody waits longer. Pass one that the slowest question "
                f"stays below, such as 1."
            )
        self._nanoseconds = int(self.quantum * _NANO)
        self._clock, self._sleep = clock, sleep

    @contextmanager
    def kept(self) -> Iterator[Callable[[], None]]:
        """Leave the block at a multiple of the quantum after it was entered, error or not.

        Whoever interrupts it from the keyboard knows when, and does not wait. Before the block does
        what others can see, it calls what it is given: that waits until an eighth of a quantum
        before such a multiple, which is time enough to do it.
        """
        begun, interrupted = self._clock(), False
        try:
            yield lambda: self._wait(begun, self._nanoseconds // 8)
        except KeyboardInterrupt:
            interrupted = True
            raise
        finally:
            if not interrupted:
                self._wait(begun)

    def _wait(self, begun: int, early: int = 0) -> None:
        quanta = max(1, -(-(self._clock() - begun + early) // self._nanoseconds))
        due = begun + quanta * self._nanoseconds - early
        while (left := due - self._clock()) > 0:
            self._sleep(left / _NANO)

    def __repr__(self) -> str:
        """Show the quantum."""
        return f"Pace({show(self.quantum)} s)"


def at_once() -> None:
    """Do not wait: what a session that trusts its analyst does."""


def pace_of(untrusted: Any, quantum: Any) -> Pace | None:
    """Return the pace of a session, which a trusted one has not.

    Raises:
        InputError: `untrusted` is not true or false, or a quantum is given to no use.
    """
    if not isinstance(untrusted, bool):
        raise InputError(
            "untrusted is True or False: whether replies are held back, so that their time says "
            "nothing. Pass untrusted=True, and quantum=0.25 for another quantum than a second."
        )
    if untrusted:
        return Pace(QUANTUM if quantum is None else quantum)
    if quantum is not None:
        raise InputError(
            "a quantum is what replies to untrusted analysts are held back by, and this session "
            "trusts them. Pass untrusted=True beside it, or leave it out."
        )
    return None
