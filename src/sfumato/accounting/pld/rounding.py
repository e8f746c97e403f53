"""Floats with an allowance: how far a rounded value can be from the true one, at most.

Assumed of the machine: double precision after IEEE 754, and exp, expm1, log, log1p and erfcx with
a relative error below 2^-48; a test compares them with decimal enclosures. See
``docs/theory/pld.md``.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]

UNIT = 2.0**-53  # the unit roundoff of a double
SLACK = 2.0**-46  # covers one of those functions and a dozen operations around it
TINY = 1e-290  # covers what underflows


def toward(number: Fraction, *, up: bool) -> float:
    """Return a float at or above a rational that is not negative, or at or below it."""
    near = float(number)
    if up:
        return near if Fraction(near) >= number else math.nextafter(near, math.inf)
    return near if Fraction(near) <= number else math.nextafter(near, 0.0)
