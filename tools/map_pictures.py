"""Draw the pictures of docs/tutorials/maps.md: one made-up city, four methods, two prices.

They are drawn here and not by `to_png`: small, and in few colors, so that all weigh little.
"""

import struct
import zlib
from pathlib import Path

import numpy as np

import sfumato as sf

PICTURES = Path(__file__).parents[1] / "docs" / "assets" / "maps"
SIDE, LEAST = 320, 4  # pixels
METHODS = {
    "grid": {},
    "quadtree": {"height": 6},
    "kd_tree": {},
    "privtree": {},
}


def city() -> np.ndarray:
    """Make up a city: a center, a suburb, a road between them, and farms."""
    rng = np.random.default_rng(7)  # noqa: TID251 - made-up people, no noise
    parts = [
        rng.normal((3.0, 6.5), 0.35, (24_000, 2)),
        rng.normal((7.5, 3.0), (0.8, 0.5), (12_000, 2)),
        np.linspace((3.0, 6.5), (7.5, 3.0), 6_000) + rng.normal(0, 0.05, (6_000, 2)),
        rng.uniform(0, 10, (3_000, 2)),
    ]
    return np.concatenate(parts)


def drawn(found: sf.spatial.MapRelease) -> bytes:
    """Color the cells by density, in 14 steps, with lines between them; as a PNG."""
    counts = found.heatmap(SIDE, SIDE).counts
    shade = np.sqrt(np.maximum(counts, 0.0))
    steps = np.minimum(13, 14 * shade / max(float(np.quantile(shade, 0.999)), 1e-9)).astype(
        np.uint8
    )
    for x0, y0, x1, y1 in np.rint(found.cells * SIDE / 10).astype(int).tolist():
        if min(x1 - x0, y1 - y0) >= LEAST:  # finer lines would hide the colors
            left, top = min(x0, SIDE - 1), min(SIDE - y1, SIDE - 1)
            steps[top : SIDE - y0, left] = 14
            steps[top, left : min(x1, SIDE)] = 14
    white, dark = np.array([250, 248, 240]), np.array([20, 60, 110])
    palette = [white + (dark - white) * i / 13 for i in range(14)] + [np.array([190, 190, 185])]
    colors = np.array(palette).astype(np.uint8).tobytes()
    rows = b"".join(b"\0" + row.tobytes() for row in steps)
    head = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 3, 0, 0, 0)
    parts = ((b"IHDR", head), (b"PLTE", colors), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )


def main() -> None:
    """Draw them all."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    points = city()
    for method, options in METHODS.items():
        for epsilon in ("0.1", "1"):
            lab = sf.lab.points(points, box=(0, 0, 10, 10), bins=256)
            found = sf.spatial.release(lab, method=method, epsilon=epsilon, **options)
            path = PICTURES / f"{method}-{epsilon.replace('.', '')}.png"
            path.write_bytes(drawn(found))


if __name__ == "__main__":
    main()
