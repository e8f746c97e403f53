"""How sums of cells weigh the noisy numbers of each level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Norms:
    """Norms of weights, with a row for each level and a column for each sum.

    Attributes:
        sums: of absolute weights.
        squares: of weights.
        fourths: powers of weights, summed.
        largest: absolute weights.
    """

    sums: Floats
    squares: Floats
    fourths: Floats
    largest: Floats
