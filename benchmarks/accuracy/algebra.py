"""How often intervals hold that were computed from released numbers, for 95 %."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

import sfumato as sf
from sfumato.core.loss import Pure
from sfumato.release.error import Noise
from sfumato.release.form import Form
from sfumato.release.measure import Measure
from sfumato.release.noisy import Noisy
from sfumato.release.spread import Spread

DRAWS = 4000
SURE = Fraction(95, 100)
COUNTS, SUMS = 4, 400  # scales of the noise
CELLS = np.array([40, 60, 10, 100, 30, 400])


def run() -> dict[str, Any]:
    """Return the share of intervals that hold, and what must hold without exception."""
    rng = np.random.default_rng(11)
    result: dict[str, Any] = {"draws": DRAWS}
    for family in ("laplace", "gaussian"):
        result[family] = {
            **columns(family, rng),
            **wholes(family),
            **populations(family, rng),
        }
    return result


def columns(family: str, rng: Any) -> dict[str, float]:
    """Compute with one sum and one count in each of 4·`DRAWS` cells."""
    size = 4 * DRAWS
    counts = rng.integers(30, 300, size)
    sums = rng.integers(-30, 30, size) * counts + rng.integers(-200, 200, size)
    answer = release(family, {"n": (counts, COUNTS), "fare": (sums, SUMS)})
    other = release(family, {"n": (counts, COUNTS), "fare": (sums, SUMS)})
    groups = {i: i // 4 for i in range(size)}
    weights = {i: Fraction(1 + i % 4, 4) for i in range(size)}
    few = np.arange(size) // 4
    rolled = np.bincount(few, counts * (1 + np.arange(size) % 4) / 4)
    apart = answer["n"] - other["n"]
    product = (answer["mean"] * answer["n"] - answer["fare"]).halfwidth
    pooled = answer.roll_up("cell", groups, names=("mean",))["mean"]
    return {
        "difference": held(apart, np.zeros(size)),
        "difference of a sum and 3 counts": held(
            answer["fare"] - 3 * answer["n"], sums - 3 * counts
        ),
        "ratio": held(answer["fare"] / answer["n"], sums / counts),
        "ratio with noise in common": held(
            (answer["fare"] + 20 * answer["n"]) / answer["n"], sums / counts + 20
        ),
        "weighted roll-up of 4": held(
            answer.roll_up("cell", groups, weights=weights, names=("n",))["n"], rolled
        ),
        "pooled mean of 4": held(pooled, np.bincount(few, sums) / np.bincount(few, counts)),
        "mean times count, less the sum: widest": float(np.max(product)),
    }


def wholes(family: str) -> dict[str, float]:
    """Compute with all of six cells, `DRAWS` times."""
    shares, joint, total = [], [], []
    for _ in range(DRAWS):
        answer = release(family, {"n": (CELLS, COUNTS)}, mean=False)
        shares.append(inside(answer.share("n")["n_share"], CELLS / CELLS.sum()))
        joint.append(inside(answer.simultaneous()["n"], CELLS).all())
        total.append(inside(answer.total("n")["n"], CELLS.sum()))
    each = np.mean(shares, axis=0)
    return {
        "share": percent(np.mean(shares)),
        "share, the worst of six cells": percent(each.min()),
        "share, the best of six cells": percent(each.max()),
        "total": percent(np.mean(total)),
        "simultaneous, all six at once": percent(np.mean(joint)),
    }


def populations(family: str, rng: Any) -> dict[str, float]:
    """Draw samples of a population, and noise."""
    people = 400
    values = rng.beta(2, 3, (DRAWS, people)) * 100
    steps = np.rint(values * 10).astype(np.int64)  # a tenth of a unit
    truth = 40.0
    sums, squares = steps.sum(1), (steps**2).sum(1)
    names = {"n": (np.full(DRAWS, people), COUNTS), "fare": (sums, 10 * SUMS)}
    answer = release(family, names, step=Fraction(1, 10), high=100)
    noise = Noise(family, 10**6)
    spread = Spread(
        noise, Noise(family, 10 * SUMS), Noise(family, COUNTS), 0, Fraction(1, 10), 0, 100
    )
    q = np.asarray(draw(family, squares, 10**6))
    held_ = {each.id.rsplit("/", 1)[1]: np.array(each.values) for each in answer.noisy}
    variance = spread.measure("var", q, held_["fare"], held_["n"], confidence=SURE)
    answer = replace(answer, measures=(*answer.measures, variance), sampled=True)
    mean = answer.population({"mean": "var"})["mean"]
    worst = answer.population()["mean"]
    chances = np.array([0.05, 0.15, 0.3, 0.5])
    found = []
    for _ in range(DRAWS):
        cells = rng.multinomial(500, chances)
        one = replace(release(family, {"n": (cells, COUNTS)}, mean=False), sampled=True)
        found.append(inside(one.population()["n_share"], chances))
    return {
        "population mean, variance released": held(mean, np.full(DRAWS, truth)),
        "population mean, range only": held(worst, np.full(DRAWS, truth)),
        "population share": percent(np.mean(found)),
        "population share, the worst of four cells": percent(np.mean(found, axis=0).min()),
    }


_made = 0


def release(
    family: str,
    exact: dict[str, tuple[Any, int]],
    *,
    mean: bool = True,
    step: Any = 1,
    high: int = 60,
) -> sf.Release:
    """Draw noise for each array and put all into one answer, as a session would."""
    global _made  # noqa: PLW0603 (each draw has an id of its own)
    _made += 1
    draws, measures = [], []
    for name, (values, scale) in exact.items():
        noisy = draw(family, values, scale)
        ident = f"{_made}/{name}"
        draws.append(Noisy(ident, Noise(family, scale), noisy, count=name == "n"))
        weight = 1 if name == "n" else step
        measures.append(Measure(name, noisy, form=Form.linear({ident: weight})))
    if mean:
        form = Form.mean(
            f"{_made}/fare", f"{_made}/n", step=step, low=-high if step == 1 else 0, high=high
        )
        measures.append(Measure("mean", (0,) * len(draws[0].values), form=form))
    keys = (("cell", tuple(range(len(draws[0].values)))),)
    made = sf.Release(keys, tuple(measures), SURE, Pure(1), noisy=tuple(draws))
    # No interval was given: the algebra makes them.
    return replace(made, measures=tuple(replace(m, covers="noise only") for m in made.measures))


def draw(family: str, values: Any, scale: int) -> tuple[int, ...]:
    """Add real noise."""
    law = sf.mechanisms.DiscreteLaplace if family == "laplace" else sf.mechanisms.DiscreteGaussian
    return tuple(np.asarray(law(scale)(np.asarray(values, np.int64))).tolist())


def inside(estimate: Any, truth: Any) -> Any:
    """Say which of the intervals hold."""
    return (np.asarray(estimate.low) <= truth) & (truth <= np.asarray(estimate.high))


def held(estimate: Any, truth: Any) -> float:
    """Return the share of intervals that hold, in percent."""
    return percent(np.mean(inside(estimate, truth)))


def percent(share: Any) -> float:
    return round(100 * float(share), 2)
