"""Intervals of maps hold as often as they say, and noise is as large as predicted."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.spatial.overlap import covers

COUNTS = np.random.default_rng(9).poisson(5, (32, 32))
COUNTS[5:9, 20:24] += 60
BOXES = [(0, 0, 32, 32), (4, 4, 20, 28), (5, 20, 9, 24), (0, 0, 1, 1), (10, 3, 11.5, 30)]
METHODS = ("quadtree", "grid", "adaptive_grid", "kd_tree", "privtree", "auto")


def held(method, times):
    """The share of intervals that hold for the sums that are taken of cells, and for the truth."""
    even, anywhere = [], []
    for _ in range(times):
        found = sf.spatial.release(sf.lab(COUNTS), method=method, epsilon="0.5")
        sums = [COUNTS[a:c, b:d].sum() for a, b, c, d in found.blocks.tolist()]
        spread = np.concatenate([each.sums(sums) for each in covers(found.index, BOXES)])
        answer = found.count(BOXES)
        even.append((answer.low <= spread) & (spread <= answer.high))
        whole = found.count(BOXES[:4], even=False)
        exact = [COUNTS[a:c, b:d].sum() for a, b, c, d in BOXES[:4]]
        anywhere.append((whole.low <= exact) & (exact <= whole.high))
    return np.mean(even), np.mean(anywhere)


@pytest.mark.parametrize("method", METHODS)
def test_intervals_hold(method):
    even, anywhere = held(method, 40)
    # Five boxes that overlap, 40 times: a false alarm about once in 10^5 runs.
    assert even > 0.855
    assert anywhere > 0.855
    if method in ("quadtree", "grid"):  # cells that do not depend on noise
        assert even < 0.995


@pytest.mark.deep
@pytest.mark.parametrize("method", METHODS)
def test_intervals_hold_in_many_repetitions(method):
    even, anywhere = held(method, 800)
    assert even > 0.93
    assert anywhere > 0.93
