"""An open interaction with private data: questions go in, a mechanism's answers come out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from sfumato.core.errors import InputError, SensitivityError
from sfumato.core.number import show
from sfumato.mechanisms.comparison import not_copied

if TYPE_CHECKING:
    from sfumato.core.loss import Loss
    from sfumato.core.sensitivity import Sensitivity
    from sfumato.core.unit import Unit
    from sfumato.noise.rng import Rng
    from sfumato.session.curator import Continual, Stream


class Interaction:
    """What a curator's `open` returns: whoever holds it asks, and never sees an exact answer.

    It was charged for questions that one unit moves so far and no further. Every question states
    its own sensitivity, and one that moves further is refused before it is answered.
    """

    __slots__ = ("_declared", "_question", "_read", "_stream", "_unit")

    def __init__(
        self,
        stream: Stream,
        declared: Sensitivity,
        unit: Unit,
        *,
        read: Callable[[Any], Any],
        question: Callable[[Any], Any] = lambda asked: asked,
    ) -> None:
        """Take a mechanism that has started, and what it was charged for.

        Args:
            stream: takes exact answers.
            declared: how far one unit may move each of them.
            unit: who is protected.
            read: answers a question exactly.
            question: makes a question of what was pushed, or refuses it.
        """
        self._stream, self._declared, self._unit = stream, declared, unit
        self._read, self._question = read, question

    @classmethod
    def open(
        cls,
        mechanism: Continual,
        declared: Sensitivity,
        unit: Unit,
        *,
        pay: Callable[[Loss], None],
        rng: Rng,
        **reading: Callable[[Any], Any],
    ) -> Interaction:
        """Charge a continual mechanism for its whole run, then start it.

        Args:
            mechanism: has `loss` and `start`.
            declared: how far one unit may move each answer.
            unit: who is protected.
            pay: takes the loss, or refuses it.
            rng: where noise comes from.
            reading: `read` and `question`, as above.

        Raises:
            InputError: the mechanism answers once only.
        """
        if not hasattr(mechanism, "start"):
            raise InputError(
                f"{type(mechanism).__name__} answers once, so nothing can be opened with it. "
                f"Measure with it, or open with a mechanism that goes on, such as SparseVector."
            )
        pay(mechanism.loss(declared))
        return cls(mechanism.start(rng), declared, unit, **reading)

    def push(self, value: Any) -> Any:
        """Ask the next question and return the mechanism's answer.

        Raises:
            SensitivityError: one unit moves this question further than was charged for.
            RequestError: the interaction is used up.
        """
        asked = self._question(value)
        moved = asked.sensitivity(self._unit)
        if moved.linf > self._declared.linf or moved.neighbors is not self._declared.neighbors:
            raise SensitivityError(
                f"this question can move by {show(moved.linf)} ({moved.neighbors}) and the "
                f"interaction was charged for {show(self._declared.linf)} "
                f"({self._declared.neighbors}). Ask a narrower one, or open another interaction."
            )
        return self._stream.push(self._read(asked))

    def __repr__(self) -> str:
        """Show what the stream shows, which is nothing secret."""
        return f"<open interaction: {self._stream!r}>"

    def __copy__(self) -> NoReturn:
        """Refuse."""
        raise not_copied()

    def __deepcopy__(self, memo: Any) -> NoReturn:
        """Refuse."""
        raise not_copied()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """Refuse to be pickled."""
        raise not_copied()
