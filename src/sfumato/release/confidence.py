"""The same answer with intervals of another confidence: each by itself, or all at once."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import expm1, log1p
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.number import Exactable, open_unit
from sfumato.release.derived import formula, rebuilt
from sfumato.release.error import NOISE_ONLY, TOGETHER
from sfumato.release.evaluate import measure
from sfumato.release.formula import Formula

if TYPE_CHECKING:
    from sfumato.release.measure import Measure
    from sfumato.release.release import Release

_SLACK = 1 - 1e-9


def at(release: Release, confidence: Exactable) -> Release:
    """Return the answer with intervals that hold with another probability, each by itself."""
    sure = open_unit(confidence, "confidence")
    measures = [_again(release, m, sure, float(1 - sure)) for m in release.measures]
    return rebuilt(release, measures, confidence=sure)


def simultaneous(release: Release, confidence: Exactable) -> Release:
    """Return the answer with intervals that hold all at once with the stated probability.

    Of m intervals each gets 1 − (1 − α)^(1/m) of the α that may fail where no two share noise
    (Šidák), and α/m otherwise (Bonferroni).
    """
    sure = open_unit(confidence, "confidence")
    chosen = [m for m in release.measures if _has_interval(m)]
    count = sum(len(m) for m in chosen)
    made = {m.name: formula(release, m.name) for m in chosen}
    apart = _independent(list(made.values()))
    fails = float(1 - sure)
    alpha = fails / max(count, 1)
    if apart and count:
        alpha = -expm1(log1p(-fails) / count)
    how = "independent, Šidák" if apart else "Bonferroni"
    covers = f"{NOISE_ONLY}, {TOGETHER}"
    measures = [
        _again(release, m, sure, alpha * _SLACK, covers) if m.name in made else m
        for m in release.measures
    ]
    note = f"{count} intervals hold together with the stated confidence ({how})"
    return rebuilt(release, measures, confidence=sure, notes=[note])


def _has_interval(m: Measure) -> bool:
    return (m.has_interval or m.form is not None) and m.covers != "exact"


def _again(
    release: Release, m: Measure, sure: Fraction, alpha: float, covers: str | None = None
) -> Measure:
    if not _has_interval(m):
        return m
    said = m.covers.replace(f", {TOGETHER}", "") if covers is None else covers
    found = measure(
        formula(release, m.name), m.name, sure, mechanism=m.mechanism, covers=said, alpha=alpha
    )
    return replace(found, scale=m.scale)


def _independent(made: list[Formula]) -> bool:
    """Say whether no cell of a draw is in two intervals."""
    ids: dict[str, int] = {}
    found = [np.empty((0, 3), np.int64)]
    rows = 0
    for each in made:
        for linear in (each.top, *(() if each.bottom is None else (each.bottom,))):
            if linear.size < each.size and linear.row.size:
                return False
            part = np.array([ids.setdefault(p.id, len(ids)) for p in linear.parts], np.int64)
            found.append(np.column_stack((part[linear.part], linear.cell, rows + linear.row)))
        rows += each.size
    entries = np.unique(np.concatenate(found), axis=0)
    return bool((np.diff(entries[:, :2], axis=0) != 0).any(axis=1).all())
