"""How large a group must be to appear, and how many keys of a skewed table do."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import sfumato as sf
from sfumato.mechanisms.selection import alternatives
from sfumato.noise import system

SETTINGS = (("1", "1e-6"), ("0.1", "1e-8"))
GROUPS = (1, 3, 10, 100)
SEED, KEYS, USERS, CAP = 20240607, 10**6, 10**6, 3
RUNS = 20
# Keys that others released from the same rows with ε = 1 and δ = 1e-8 in all, each with its own
# split: OpenDP 0.16 for a count alone, the other two for count, sum and mean.
OTHERS = {"opendp, count": 349, "pipelinedp": 150, "smartnoise-sql": 128}


def run() -> dict[str, Any]:
    """Tabulate what a group needs, and count the keys that come out."""
    return {
        "size needed to appear with 95 %, and scale of the noise": sizes(),
        "keys released at epsilon 1, delta 1e-8, 3 groups a user": {
            "10^6 rows": {**keys(10**6), "others, same rows": OTHERS},
            "10^7 rows": keys(10**7),
        },
    }


def sizes() -> dict[str, Any]:
    """Return, for every setting, the size that a group needs under each mechanism."""
    found: dict[str, Any] = {}
    for epsilon, delta in SETTINGS:
        for groups in GROUPS:
            one = sf.Sensitivity(l0=groups, linf=1)
            found[f"epsilon {epsilon}, delta {delta}, {groups} groups"] = {
                each.name: [each.enough, None if each.scale is None else _short(each.scale)]
                for each in alternatives(one, epsilon=epsilon, delta=delta, counted=False)
            }
    return found


def keys(rows: int) -> dict[str, Any]:
    """Release from a table of skewed users and keys; return how many keys come out on average."""
    units = counted(rows)
    found: dict[str, Any] = {"keys there": int((units > 0).sum())}
    one = sf.Sensitivity(l0=CAP, linf=1)
    for name, epsilon in (("all of epsilon", "1"), ("a third of epsilon", "1/3")):
        for each in alternatives(one, epsilon=epsilon, delta="1e-8", counted=False):
            sizes = [each.mechanism.choose(units, system())[0].size for _ in range(RUNS)]
            found[f"{each.name}, {name}"] = round(float(np.mean(sizes)), 1)
    return found


def counted(rows: int) -> NDArray[np.int64]:
    """Count the users of each key, each user in three of its keys at most, chosen at random."""
    generator = np.random.default_rng(SEED)
    order = generator.permutation(USERS)
    pairs = order[_ranks(generator, rows, USERS)] * KEYS + _ranks(generator, rows, KEYS)
    pairs = np.unique(pairs)  # a user counts once for a key
    shuffled = generator.permutation(pairs)
    users = shuffled // KEYS
    by_user = np.argsort(users, kind="stable")
    first = np.flatnonzero(np.diff(users[by_user], prepend=-1))
    place = np.arange(by_user.size) - np.repeat(first, np.diff(first, append=by_user.size))
    kept = shuffled[by_user][place < CAP]
    return np.bincount(kept % KEYS, minlength=KEYS)


def _ranks(generator: np.random.Generator, size: int, most: int) -> NDArray[np.int64]:
    """Draw ranks of which the r-th weighs 1/r."""
    sums = np.cumsum(1 / np.arange(1, most + 1))
    return np.searchsorted(sums / sums[-1], generator.random(size)).astype(np.int64)


def _short(number: Any) -> float:
    return round(float(number), 2)
