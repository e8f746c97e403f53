"""Events: sets of outputs that are likelier on one side, searched for in one sample.

Candidates are the tails of a feature, and the sets of cells with the largest likelihood ratio; the
ratio is learned from one part of the sample, and how far to go down the list from the other, so
that an event is not praised for what it was fitted to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.audit.batch import Batch
from sfumato.audit.bound import score_limits
from sfumato.audit.claim import Claim
from sfumato.audit.cut import Cut
from sfumato.audit.feature import Feature

Side = Literal["a", "b"]


@dataclass(frozen=True, slots=True)
class Event:
    """A set of outputs, fixed before the sample that it is tested on.

    Attributes:
        feature: what is looked at.
        cut: the cells of that feature.
        inside: which cells belong to the event.
        likelier: the side on which it should happen more often.
        said: the event in words.
    """

    feature: Feature
    cut: Cut
    inside: NDArray[np.bool_]
    likelier: Side
    said: str

    def happens(self, batch: Batch) -> NDArray[np.bool_]:
        """Say in which runs it happens."""
        return self.inside[self.cut.cells(self.feature.of(batch))]


@dataclass(frozen=True, slots=True)
class Prospect:
    """An event with what it promises.

    Attributes:
        event: the event.
        epsilon: by how much its ε should exceed the claimed one, at the best of the claimed δ.
        mu: the μ that it should prove.
    """

    event: Event
    epsilon: float
    mu: float


def prospects(
    feature: Feature, learn: tuple[Batch, Batch], score: tuple[Batch, Batch], claim: Claim, z: float
) -> Iterator[Prospect]:
    """Yield the best events of one feature: for each side and each kind, by ε and by μ."""
    a, b = (feature.of(batch) for batch in learn)
    cut = Cut.learn(np.concatenate([a, b]), ordered=feature.ordered)
    learned = cut.counts(a), cut.counts(b)
    scored = tuple(cut.counts(feature.of(batch)) for batch in score)
    sides: tuple[tuple[Side, int, int], ...] = (("a", 0, 1), ("b", 1, 0))
    for side, here, there in sides:
        p, q = learned[here] + 0.5, learned[there] + 0.5
        # One standard error off: a cell with few counts must not lead the list by luck.
        ratio = np.log(p / q) - np.sqrt(1 / p + 1 / q)
        families = [("ratio", np.argsort(-ratio, kind="stable"))]
        if feature.ordered:
            natural = np.arange(cut.size)
            families += [("low", natural), ("high", natural[::-1])]
        for kind, order in families:
            hits, other = (np.cumsum(scored[i][order]) for i in (here, there))
            gain, mu = _promise(hits, other, score[here].size, claim, z)
            for best in {int(np.argmax(gain)), int(np.argmax(mu))}:
                inside = np.zeros(cut.size, np.bool_)
                inside[order[: best + 1]] = True
                event = Event(feature, cut, inside, side, _words(feature, cut, kind, best))
                yield Prospect(event, float(gain[best]), float(mu[best]))


def _promise(
    hits: NDArray[np.int64], other: NDArray[np.int64], trials: int, claim: Claim, z: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    from scipy.special import ndtri

    low, high = score_limits(hits, other, trials, z)
    with np.errstate(divide="ignore"):
        gains = [
            np.log(np.maximum(low - float(delta), 0.0) / high) - float(epsilon)
            for epsilon, delta in claim.points
        ]
    return np.max(gains, axis=0), ndtri(low) - ndtri(np.minimum(high, 1.0))


def _words(feature: Feature, cut: Cut, kind: str, last: int) -> str:
    """Describe the first `last` + 1 cells of an order."""
    if kind == "ratio":
        return f"{feature.name} in a learned set of {last + 1} of {cut.size} cells"
    place = last if kind == "low" else cut.size - last - 2
    if not 0 <= place < cut.edges.size:
        return f"{feature.name}, whatever it is"
    edge = cut.edges[place].item()
    shown = f"{edge:.6g}" if isinstance(edge, float) else f"{edge}"
    return f"{feature.name} {'at most' if kind == 'low' else 'above'} {shown}"
