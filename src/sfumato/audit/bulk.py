"""Many releases of one mechanism at once: the same draws as one by one, without the waiting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.audit.batch import Batch
from sfumato.audit.output import outcome
from sfumato.core.errors import InputError
from sfumato.mechanisms import (
    CategoryResponse,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    GridLaplace,
    Quantile,
    Quantiles,
    RandomizedResponse,
    Sampled,
    SparseVector,
    TruncatedGeometric,
)
from sfumato.mechanisms.quantile import _intervals
from sfumato.noise.choice import Choice
from sfumato.noise.rng import Rng, system
from sfumato.noise.uniform import integers

Draw: TypeAlias = Callable[[Any, int], Any]

# Their noise is independent in every cell, so n copies of the input side by side are n releases.
_CELLWISE = (
    CategoryResponse.sample,
    DiscreteGaussian.sample,
    DiscreteLaplace.sample,
    GridLaplace.sample,
    RandomizedResponse.sample,
    Sampled.sample,
    TruncatedGeometric.sample,
)


def releases(mechanism: Any, values: Any, size: int, draw: Draw | None = None) -> Batch:
    """Draw `size` independent releases.

    What `sample` returns is audited, before it is turned into floats or fractions: everything later
    is a function of it alone.

    Args:
        mechanism: ours, or anything with a `sample`.
        values: one input, as the mechanism takes it.
        size: how many.
        draw: draws (exact values, size) in bulk, for a mechanism that is not ours.

    Raises:
        InputError: `draw` returned another number of outputs.
    """
    exact = mechanism.exact(values) if hasattr(mechanism, "exact") else values
    outputs = many(mechanism, exact, size, system()) if draw is None else draw(exact, size)
    array = isinstance(outputs, np.ndarray)
    drawn = outputs.shape[:1] if array else (len(outputs),) if hasattr(outputs, "__len__") else ()
    if drawn != (size,):
        raise InputError(
            f"draw= was asked for {size:,} outputs and returned something else. Return an array or "
            f"a list with one output for each release."
        )
    if array and outputs.dtype.kind in "buif":
        return Batch.of_array(outputs)
    return Batch.of_outputs(outputs)


def many(mechanism: Any, exact: Any, size: int, rng: Rng) -> Any:
    """Draw as `mechanism.sample` does, `size` times over."""
    sample = type(mechanism).sample
    if sample in _CELLWISE:
        return mechanism.sample(np.broadcast_to(exact, (size, *exact.shape)).copy(), rng)
    if sample is Exponential.sample:
        return _choices(mechanism, exact, size, rng)
    if sample is Quantile.sample:
        return _quantiles(mechanism, exact, size, rng)
    if sample is Quantiles.sample:
        return mechanism.runs(exact, size, rng)
    if sample is SparseVector.sample:
        return mechanism.runs(np.broadcast_to(exact, (size, *exact.shape)), rng)
    return [outcome(lambda _: mechanism.sample(exact, rng), exact) for _ in range(size)]


def _choices(
    mechanism: Exponential, exact: NDArray[np.int64], size: int, rng: Rng
) -> NDArray[np.intp]:
    """Return the places of the candidates chosen."""
    return Choice(exact, mechanism.rate * mechanism.step, mechanism._weights()).draw(size, rng)


def _quantiles(
    mechanism: Quantile, exact: NDArray[np.int64], size: int, rng: Rng
) -> NDArray[np.int64]:
    starts, lengths, scores = _intervals(np.sort(exact), mechanism._points(), mechanism.q)
    chosen = Choice(scores, mechanism.rate / mechanism.q.denominator, lengths).draw(size, rng)
    drawn = starts[chosen]
    for run in np.unique(chosen).tolist():
        here = np.flatnonzero(chosen == run)
        drawn[here] += integers(rng, int(lengths[run]), here.size).astype(np.int64)
    return drawn
