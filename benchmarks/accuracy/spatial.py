"""Errors of maps: six grids beside an adaptive grid, budgets by level, and places of the world.

It needs the folders dpbench2d and spatial; their folder is named by SFUMATO_DATA.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import sfumato as sf
from sfumato.session import lab as laboratory
from sfumato.spatial.decomposition import quadtree
from sfumato.testing import SeededRng

SEEDS, BOXES = 10, 2000
# Root mean squared errors of a published adaptive grid, which takes the true N; two trials.
REFERENCE = {
    "Adult_2D_256_256": 181,
    "twitter_256_256": 415,
    "cabspottingS_256_256": 176,
    "cabspottingE_256_256": 162,
    "Loan_2D_256_256": 177,
    "checkin_256_256": 563,
}
METHODS = ("auto", "adaptive_grid", "privtree", "quadtree", "kd_tree", "kd_hybrid", "grid")
AMPLE = sf.Budget(epsilon=10**6)


def run() -> dict[str, Any]:
    """Return the comparison over grids, the claims about budgets, and the places of the world."""
    return {
        "six_grids_rmse_at_0.1": grids(),
        "quadtree_noise_at_epsilon_1": budgets(),
        "places_median_relative_error": places(),
    }


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Let the laboratory draw from a seed, so that runs can be repeated."""
    kept, rng = laboratory.system, SeededRng(seed)
    laboratory.system = lambda: rng  # type: ignore[assignment]
    try:
        yield
    finally:
        laboratory.system = kept


def folder(name: str) -> Path:
    found = Path(os.environ.get("SFUMATO_DATA", "data")) / name
    if not found.is_dir():
        raise FileNotFoundError(f"the folder {name}; name the one around it by SFUMATO_DATA")
    return found


def rectangles(size: int, count: int) -> np.ndarray:
    """Draw boxes of whole cells: two different ends along each side."""
    rng = np.random.default_rng(20)
    ends = rng.integers(0, size + 1, (4 * count, 2, 2))
    ends = np.sort(ends[(ends[..., 0] != ends[..., 1]).all(axis=1)][:count])
    return np.column_stack([ends[:, :, 0], ends[:, :, 1]])


def sums(cells: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """Add up the cells in boxes."""
    whole = np.zeros((cells.shape[0] + 1, cells.shape[1] + 1))
    whole[1:, 1:] = cells.cumsum(axis=0).cumsum(axis=1)
    a, b, c, d = boxes.T
    return whole[c, d] - whole[a, d] - whole[c, b] + whole[a, b]


def grids() -> dict[str, Any]:
    """Compare the methods by the root mean squared error of random boxes."""
    boxes = rectangles(256, BOXES)
    out: dict[str, Any] = {}
    within, ratios = 0, []
    for name, reference in REFERENCE.items():
        counts = np.load(folder("dpbench2d") / f"{name}.npy").astype(np.int64)
        exact, row = sums(counts, boxes), {}
        for method in METHODS:
            squares = []
            for seed in range(SEEDS):
                with seeded(seed):
                    lab = sf.lab(counts, budget=AMPLE)
                    found = sf.spatial.release(lab, method=method, epsilon="0.1")
                squares.append(((sums(found.lattice(), boxes) - exact) ** 2).mean())
            row[method] = round(float(np.sqrt(np.mean(squares))), 1)
            print(name, method, row[method], flush=True)
        row["reference"] = reference
        row["auto over adaptive_grid"] = round(row["auto"] / row["adaptive_grid"], 3)
        ratios.append(row["auto over adaptive_grid"])
        within += row["auto"] <= reference
        out[name] = row
    out["auto over adaptive_grid, at most"] = max(ratios)
    out["auto within the reference"] = f"{within} of {len(REFERENCE)}"
    return out


def budgets() -> dict[str, Any]:
    """Compare budgets by level on trees of each height, with least squares and without.

    The noise does not depend on data, so the plane is empty. Without least squares a box is put
    together of the largest rectangles that fit into it.
    """
    out = {}
    for height in (4, 5, 6, 7, 8):
        size = 2**height
        boxes, row = rectangles(size, 500), {}
        for weights in ("uniform", "geometric", "optimal"):
            plain, fitted = [], []
            for seed in range(SEEDS):
                with seeded(seed):
                    lab = sf.lab(np.zeros((size, size), np.int64))
                    found = sf.spatial.release(
                        lab, method="quadtree", height=height, weights=weights, epsilon=1
                    )
                fitted.append((sums(found.lattice(), boxes) ** 2).mean())
                if weights != "optimal":  # of which some levels are not measured
                    plain.append((assembled(found, height, boxes) ** 2).mean())
            row[f"{weights}, least squares"] = round(float(np.sqrt(np.mean(fitted))), 2)
            if plain:
                row[f"{weights}, alone"] = round(float(np.sqrt(np.mean(plain))), 2)
        best = min(row["geometric, least squares"], row["optimal, least squares"])
        row["uniform alone over the best"] = round(row["uniform, alone"] / best, 2)
        out[f"height {height}"] = row
    return out


def assembled(found: sf.spatial.MapRelease, height: int, boxes: np.ndarray) -> np.ndarray:
    """Return boxes put together of the noisy sums of the largest rectangles that fit."""
    levels = quadtree((2**height, 2**height), height).levels
    total, above = np.zeros(len(boxes)), None
    for up in range(height, -1, -1):
        order, width = levels[up].order, 2**up
        values = np.array(found.levels[up].values, np.float64)[order]
        cells = values.reshape(2 ** (height - up), -1)
        low, high = -(-boxes[:, :2] // width), boxes[:, 2:] // width
        high = np.maximum(low, high)
        inner = np.column_stack([low, high])
        total += sums(cells, inner)
        if above is not None:  # what larger rectangles hold already
            some = (above[:, :2] < above[:, 2:]).all(axis=1)[:, None]
            total -= sums(cells, np.where(some, 2 * above, 0))
        above = inner
    return total


def places() -> dict[str, Any]:
    """Return median relative errors for boxes of 1, 10 and 50 % of the world."""
    with gzip.open(folder("spatial") / "geonames_cities500.tsv.gz", "rt", encoding="utf-8") as file:
        header = file.readline().rstrip("\n").split("\t")
        at = header.index("lon"), header.index("lat")
        rows = [line.split("\t") for line in file]
    points = np.array([[float(row[i]) for i in at] for row in rows])
    world = (-180, -90, 180, 90)
    exact_lab = sf.lab.points(points, world, bins=512, budget=AMPLE)
    counts = exact_lab._answer(exact_lab.histogram())
    rng = np.random.default_rng(4)
    out: dict[str, Any] = {"points": len(points)}
    for share in (0.01, 0.1, 0.5):
        side = round(512 * share**0.5)
        low = rng.integers(0, 512 - side + 1, (200, 2))
        boxes = np.hstack([low, low + side])
        exact = sums(counts, boxes)
        floor = 0.001 * len(points)  # below so many points errors are taken relative to that
        for epsilon in ("0.1", "0.5", "1"):
            row = {}
            for method in METHODS:
                errors = []
                for seed in range(SEEDS):
                    with seeded(seed):
                        lab = sf.lab(counts, budget=AMPLE)
                        found = sf.spatial.release(lab, method=method, epsilon=epsilon)
                    gap = np.abs(sums(found.lattice(), boxes) - exact)
                    errors.append(np.median(gap / np.maximum(exact, floor)))
                row[method] = round(100 * float(np.mean(errors)), 2)
            out[f"{100 * share:g} % of the area at {epsilon}"] = row
            print(share, epsilon, row, flush=True)
    return out
