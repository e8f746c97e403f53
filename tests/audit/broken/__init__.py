"""Planted privacy bugs by family, each the way such bugs get written, with correct twins."""

from broken import channels, composition, noise, randomness, selection, sensitivity, sparse
from broken.bug import BLACK_BOX, CONTRACT, MEANS, REPLAY, Bug
from broken.examine import examine

FAMILIES = {
    "Noise numerics": noise,
    "Sensitivity and arithmetic": sensitivity,
    "Structure mechanisms": selection,
    "Sparse vector": sparse,
    "Composition and accounting": composition,
    "Side channels of output": channels,
    "Randomness": randomness,
}
BUGS = [bug for family in FAMILIES.values() for bug in family.BUGS]
TWINS = [twin for family in FAMILIES.values() for twin in family.TWINS]

__all__ = [
    "BLACK_BOX",
    "BUGS",
    "CONTRACT",
    "FAMILIES",
    "MEANS",
    "REPLAY",
    "TWINS",
    "Bug",
    "examine",
]
