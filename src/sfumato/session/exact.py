"""Exact values between the engine and the noise: held where nothing can look at them."""

from __future__ import annotations

from typing import Any, NoReturn

from sfumato.core.errors import InternalError
from sfumato.noise.rng import Rng


class Exact:  # noqa: PLW1641 - the hash is refused below
    """Exact answers that may be passed to a mechanism and to nothing else.

    Python cannot hide a value from whoever runs in the same process. What this class prevents is
    accident: a value in a log, a traceback, a pickle, a plot, a notebook cell.
    """

    __slots__ = ("_held",)

    def __init__(self, held: Any) -> None:
        """Hold the values."""
        self._held = held

    def drawn(self, mechanism: Any, rng: Rng) -> Any:
        """Return what the mechanism makes of the values."""
        return mechanism.sample(mechanism.exact(self._held), rng)

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise InternalError(
            "exact values are not shown, copied, compared or stored. Release them with noise."
        )

    __array__ = __iter__ = __len__ = __getitem__ = __int__ = __float__ = __bool__ = _refuse
    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = __format__ = __hash__ = _refuse
    __eq__ = _refuse

    def __repr__(self) -> str:
        """Say what it is, and nothing about it."""
        return "<exact values, not shown>"

    __str__ = __repr__
