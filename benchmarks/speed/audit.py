"""What an audit costs beyond drawing the releases it looks at, at 200,000 per input and half."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.timing import ratio
from sfumato import Sensitivity, audit, mechanisms

TRIALS = 200_000
CASES = {
    "laplace, one number": (mechanisms.DiscreteLaplace(scale=10), 1, [(0, 1)]),
    "gaussian, one number": (mechanisms.DiscreteGaussian(sigma=10), 1, [(0, 1)]),
    "laplace, ten numbers": (
        mechanisms.DiscreteLaplace(scale=10),
        Sensitivity(l0=10, linf=1),
        [([0] * 10, [1, -1] * 5)],
    ),
    "laplace, its usual pairs": (mechanisms.DiscreteLaplace(scale=10), 1, None),
}


def run() -> dict[str, Any]:
    """Time whole audits against the mere draws of one pair: two inputs, search and proof."""
    result: dict[str, Any] = {
        "unit": "time of an audit over the time of drawing one pair's releases, same run",
        "target_milliseconds": 2000,
    }
    for name, (mechanism, sensitivity, pairs) in CASES.items():
        exact = np.asarray((pairs or [(0, 1)])[0][0])
        many = np.broadcast_to(exact, (4 * TRIALS, *exact.shape))
        result[name] = ratio(
            lambda m=mechanism, s=sensitivity, p=pairs: audit.mechanism(m, s, TRIALS, pairs=p),
            lambda m=mechanism, x=many: m(x),
            rounds=5,
        )
    return result
