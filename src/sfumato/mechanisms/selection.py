"""Which mechanism chooses the groups of a table, and what the others would have done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypedDict

from sfumato.core.errors import RangeError
from sfumato.core.number import Exactable
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.partition import PartitionSelection
from sfumato.mechanisms.stability import StabilityHistogram


class _Target(TypedDict):
    epsilon: Exactable | None
    delta: Exactable
    rho: Exactable | None


@dataclass(frozen=True, slots=True)
class Alternative:
    """A mechanism that was considered, and how it compares.

    Attributes:
        name: what it is, for people.
        enough: how many units a group needs to be released with probability 95 %.
        scale: the scale of the noise in released counts; None where it releases none.
        mechanism: the mechanism itself, calibrated.
    """

    name: str
    enough: int
    scale: Fraction | None
    mechanism: PartitionSelection | StabilityHistogram = field(repr=False)

    @property
    def rank(self) -> tuple[int, float]:
        """What comes first shows smaller groups; of two that show the same, less noise."""
        if isinstance(self.mechanism, PartitionSelection):
            return self.enough, 0.0
        return self.enough, float(self.mechanism.scale) * _SPREAD[self.mechanism.noise]


# The standard deviation, over the scale, of noise that is not tiny.
_SPREAD = {"laplace": 2**0.5, "gaussian": 1.0}


def selection(
    sensitivity: Sensitivity,
    *,
    epsilon: Exactable | None = None,
    delta: Exactable,
    rho: Exactable | None = None,
    counted: bool,
) -> PartitionSelection | StabilityHistogram:
    """Return the mechanism that shows the smallest groups within a target.

    Args:
        sensitivity: how many groups one unit can be in, and how often it counts in each.
        epsilon: the target, in ε with `delta` …
        rho: … or in ρ, outside failures of probability `delta`.
        delta: the δ beside it; there must be one.
        counted: whether the noisy number of units of each group is wanted too.

    Raises:
        CostError: no δ, or targets of two families.
        SensitivityError: one unit could be in any number of groups, or in none.
        RangeError: nothing that can be drawn fits the target.

    Example:
        >>> one, many = Sensitivity(l0=1, linf=1), Sensitivity(l0=100, linf=1)
        >>> type(selection(one, epsilon=1, delta="1e-6", counted=False)).__name__
        'PartitionSelection'
        >>> selection(many, epsilon=1, delta="1e-6", counted=False).noise
        'gaussian'
    """
    found = alternatives(sensitivity, epsilon=epsilon, delta=delta, rho=rho, counted=counted)
    return found[0].mechanism


def alternatives(
    sensitivity: Sensitivity,
    *,
    epsilon: Exactable | None = None,
    delta: Exactable,
    rho: Exactable | None = None,
    counted: bool,
) -> tuple[Alternative, ...]:
    """Return all mechanisms that fit a target, the one that shows the smallest groups first.

    Each is calibrated to the whole target. They are compared by how many units a group needs to
    appear in 95 of 100 releases, and if that is the same by the noise in the counts. All of it
    follows from public figures.

    Args:
        sensitivity: how many groups one unit can be in, and how often it counts in each.
        epsilon: the target, in ε with `delta` …
        rho: … or in ρ, outside failures of probability `delta`.
        delta: the δ beside it; there must be one.
        counted: whether the noisy number of units of each group is wanted too.

    Example:
        >>> few = Sensitivity(l0=3, linf=1)
        >>> for each in alternatives(few, epsilon=1, delta="1e-6", counted=False):
        ...     print(each.name, each.enough)
        optimal selection 47
        Laplace threshold 52
        Gaussian threshold 54
    """
    target: _Target = {"epsilon": epsilon, "delta": delta, "rho": rho}
    makers: dict[str, Callable[[], PartitionSelection | StabilityHistogram]] = {
        "Laplace threshold": lambda: StabilityHistogram.calibrate(sensitivity, **target),
        "Gaussian threshold": lambda: StabilityHistogram.calibrate(
            sensitivity, noise="gaussian", **target
        ),
    }
    if not counted:
        makers["optimal selection"] = lambda: PartitionSelection.calibrate(sensitivity, **target)
    found, refusal = [], None
    for name, make in makers.items():
        try:
            made = make()
            found.append(Alternative(name, made.enough(), made.noise_scale, made))
        except RangeError as out_of_range:  # beyond what it can draw; another may do
            refusal = out_of_range
    if refusal is not None and not found:
        raise refusal
    return tuple(sorted(found, key=lambda each: each.rank))
