"""Counts of ranges of a column: one charge, then any range, each with its interval.

Integer matrices are measured, and the cells that follow from them are computed in closed form: by
least squares, or, for a wavelet whose cells are no power of two, by its inverse over empty cells.
"""

from sfumato.ranges.explain import Comparison, Expected
from sfumato.ranges.program import METHODS, explain, release
from sfumato.ranges.release import RangeRelease
from sfumato.ranges.sketch import SketchRelease

__all__ = [
    "METHODS",
    "Comparison",
    "Expected",
    "RangeRelease",
    "SketchRelease",
    "explain",
    "release",
]
