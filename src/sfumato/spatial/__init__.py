"""Private maps: counts of the cells of a public box, and what is computed from them.

Every decision that shapes a map is noisy or public; no part of it is ever left out because the data
has nothing there.
"""

from sfumato.spatial.box import Box
from sfumato.spatial.explain import Expected, Foresight
from sfumato.spatial.polygon import Polygon
from sfumato.spatial.program import METHODS, explain, release
from sfumato.spatial.release import MapRelease

__all__ = [
    "METHODS",
    "Box",
    "Expected",
    "Foresight",
    "MapRelease",
    "Polygon",
    "explain",
    "release",
]
