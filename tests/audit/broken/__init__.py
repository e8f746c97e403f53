"""Planted privacy bugs by family, each the way such bugs get written, with correct twins."""

from broken import (
    channels,
    composition,
    instance,
    line,
    noise,
    plane,
    quantiles,
    randomness,
    sampler,
    selection,
    sensitivity,
    sparse,
    threshold,
)
from broken.bug import BLACK_BOX, CONTRACT, MEANS, REPLAY, Bug
from broken.examine import examine

FAMILIES = {
    "Noise numerics": noise,
    "Sensitivity and arithmetic": sensitivity,
    "Structure mechanisms": selection,
    "Partitions and spectra": line,
    "Many quantiles": quantiles,
    "Maps": plane,
    "Thresholds and top lists": threshold,
    "Samplers, clamps and reports": sampler,
    "Sparse vector": sparse,
    "Noise that follows the data": instance,
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
