"""How often the intervals hold of what a table finds out by itself, through a session.

Quantiles with intervals in ranks and in values, least and largest values, different values, groups
that nobody listed, ranges that nobody declared. Where the law of the noise is known the share is
that of the law; the intervals of ranks come from bounds on a choice, and hold more often. Sums and
means after a bought range are compared with those of the values clamped to it: their intervals are
of the noise alone. Groups are so large that all of them appear, and then no selection distorts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import sfumato as sf

TIMES = 40  # releases of each question
GROUPS, PEOPLE = 25, 3000
QUANTILES = (Fraction(1, 4), Fraction(1, 2), Fraction(9, 10))
UNITS = {"row": (sf.Unit.row(), 1), "rider": (sf.Unit.by("rider", max_rows=2), 2)}
ZONES = [f"zone {i:02}" for i in range(GROUPS)]
SCHEMA = sf.Schema(
    zone=sf.Category(ZONES),
    place=sf.Text(),
    fare=sf.Real(0, 200, "0.01"),
    salary=sf.Integer(-(10**9), 10**9),  # whole, so that a note tells a range exactly
    street=sf.Integer(0, 10**6),
)
EXACT = ("bought counts", "count_distinct", "sums in bought ranges", "means in bought ranges")

Codes: TypeAlias = NDArray[np.int64]
# How far each value is off, over how far its interval reaches: it holds up to 1.
Held: TypeAlias = Iterator[tuple[str, list[float]]]


def run() -> dict[str, Any]:
    """Return the share of intervals that hold, in percent, for 95 %.

    Of ranks also the part of an interval within which 95 of 100 lie: what it could be shorter.
    """
    data, cells = town()
    result: dict[str, Any] = {
        "intervals": f"{TIMES * GROUPS} of each",
        "people in a group": PEOPLE,
        "the law is exact": list(EXACT),
    }
    for name, (unit, rows) in UNITS.items():
        budget = sf.Budget(10**6, delta="0.5")
        with sf.Session(data, unit=unit, schema=SCHEMA, budget=budget) as session:
            found: dict[str, list[float]] = {}
            for what, held in _asked(session.table(), rows, cells):
                found.setdefault(what, []).extend(held)
            result[name] = {what: _percent(held) for what, held in found.items()}
            result[f"{name}, 95 of 100 within, of the interval"] = {
                what: round(float(np.quantile(held, 0.95)), 2)
                for what, held in found.items()
                if "rank" in what
            }
    return result


def town() -> tuple[pa.Table, dict[str, list[Codes]]]:
    """Make rides by two riders' turns in each zone; values in steps, by zone."""
    rng = np.random.default_rng(7)
    a, b = rng.uniform(1, 4, (2, GROUPS, 1))
    cents = np.rint(20_000 * rng.beta(a, b, (GROUPS, PEOPLE))).astype(np.int64)
    paid = np.rint(rng.lognormal(10, 0.7, (GROUPS, PEOPLE))).astype(np.int64)
    streets = rng.zipf(1.5, (GROUPS, PEOPLE)) % 10**6
    zones = np.repeat(ZONES, PEOPLE)
    table = pa.table(
        {
            "rider": np.repeat(np.arange(cents.size // 2), 2),
            "zone": zones,
            "place": zones,
            "fare": cents.ravel() / 100,
            "salary": paid.ravel(),
            "street": streets.ravel(),
        }
    )
    held = {"fare": cents, "salary": paid, "street": streets}
    return table, {name: [np.sort(row) for row in rows] for name, rows in held.items()}


def _asked(table: Any, rows: int, cells: dict[str, list[Codes]]) -> Held:
    zones, places = table.group_by("zone"), table.group_by("place", keys=sf.bought())
    fares, streets = cells["fare"], cells["street"]
    for time in range(TIMES):
        for price, name in ((Fraction(rows, 4), ""), (Fraction(rows, 40), ", small ε")):
            answer = zones.quantile("fare", QUANTILES).release(**_price(price, time))
            for q, measure in zip(QUANTILES, answer.measures, strict=True):
                yield f"ranks{name}", _near(measure.values, fares, q, measure.margin)
        wide = zones.median("fare", interval=True).release(**_price(rows, time))
        yield "bought value intervals", _around(wide, fares)
        ends = zones.agg(low=sf.min("fare"), high=sf.max("fare")).explain(**_price(rows, time))
        sought = ends.parts[0].mechanism.targets
        for (q, inside), measure in zip(sought, ends.release().measures, strict=True):
            off = measure.margin
            yield "min and max, from the rank sought", _near(measure.values, fares, q, off, inside)
            yield "min and max, from the end itself", _near(measure.values, fares, q, off)
        streets_ = zones.count_distinct("street").release(**_price(Fraction(rows, 10), time))
        yield "count_distinct", _inside(streets_, [np.unique(row).size for row in streets])
        paid = _price(Fraction(rows, 10), time)
        counts = places.count().release(**paid, delta=Fraction(1, 10**6))
        if len(counts) == GROUPS:  # of groups in the order of their keys
            yield "bought counts", _inside(counts, [PEOPLE] * GROUPS)
        yield from _clamped(zones, rows, time, cells["salary"])


def _clamped(zones: Any, rows: int, time: int, salaries: list[Codes]) -> Held:
    bought = sf.bounds("salary")
    for name, output in (("sums", sf.sum(bought)), ("means", sf.mean(bought))):
        answer = zones.agg(x=output).release(**_price(20 * rows, time))
        sums = [int(np.clip(row, *_range(answer.notes)).sum()) for row in salaries]
        truth = sums if name == "sums" else [Fraction(total, PEOPLE) for total in sums]
        yield f"{name} in bought ranges", _inside(answer, truth)


def _range(notes: Sequence[str]) -> tuple[int, int]:
    found = re.search(r"was bought: (-?\d+) to (-?\d+)", " ".join(notes))
    if found is None:
        raise ValueError("no note tells the range that was bought")
    return int(found[1]), int(found[2])


def _price(epsilon: int | Fraction, time: int) -> dict[str, Fraction]:
    """Return a little more each time, for a new draw."""
    return {"epsilon": epsilon * (1 + Fraction(time, 10**9))}


def _near(
    values: Sequence[Any], groups: list[Codes], q: Any, margin: Any, more: Any = 0
) -> list[float]:
    """Return how far the rank of each value is off; of equal rows any may be meant."""
    off = []
    for value, row in zip(values, groups, strict=True):
        low, high = (int(np.searchsorted(row, int(100 * value), s)) for s in ("left", "right"))
        wanted = q * row.size + more
        off.append(float(max(low - wanted, wanted - high, 0) / margin))
    return off


def _around(answer: Any, groups: list[Codes]) -> list[float]:
    """Return 0 for an interval with a median in it, else 2."""
    off = []
    ends = answer.measures[0]
    for low, high, row in zip(ends.low, ends.high, groups, strict=True):
        least, most = row[(row.size - 1) // 2], row[row.size // 2]
        off.append(0.0 if 100 * low <= most and least <= 100 * high else 2.0)
    return off


def _inside(answer: Any, truth: Sequence[Any]) -> list[float]:
    """Return 0 for an interval with the truth in it, else 2."""
    ends = zip(answer.measures[0].low, truth, answer.measures[0].high, strict=True)
    return [0.0 if low <= true <= high else 2.0 for low, true, high in ends]


def _percent(off: list[float]) -> float:
    return round(100 * float(np.mean(np.array(off) <= 1)), 2)
