"""What was measured: noisy whole numbers, of which columns, with which noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.core.codec import canonical
from sfumato.core.errors import DataError
from sfumato.release.error import Noise
from sfumato.release.measure import Long

Kind: TypeAlias = Literal["marginal", "residual"]


@canonical
@dataclass(frozen=True, slots=True)
class Reading(Long):
    """Noisy numbers of one set of columns.

    Attributes:
        places: the columns, by their increasing places.
        kind: a marginal, or what one tells beyond its own marginals.
        noise: independent noise on each number.
        values: the noisy numbers; the last column runs fastest.
    """

    places: tuple[int, ...]
    kind: Kind
    noise: Noise
    values: tuple[int, ...]

    def __post_init__(self) -> None:
        """Hold the numbers as an array, of which nobody can change one."""
        if self.kind not in ("marginal", "residual") or not isinstance(self.noise, Noise):
            raise DataError("a reading is of a marginal or of a residual, with noise of its own.")
        given: Any = self.values
        if not isinstance(given, np.ndarray) and any(type(number) is not int for number in given):
            raise DataError("a reading has whole numbers.")
        held = np.array(given, np.int64).ravel()
        held.flags.writeable = False
        self._put("values", held)

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The noisy numbers, as an array."""
        return self._arrays["values"]

    def __len__(self) -> int:
        """Count the numbers."""
        return self.numbers.size
