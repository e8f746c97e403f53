"""A noisy map: public, serialisable, and ready for any box or polygon."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.codec import canonical, digest
from sfumato.core.errors import InputError
from sfumato.core.loss import Loss
from sfumato.core.number import nonnegative as from_zero
from sfumato.core.unit import Unit
from sfumato.release.error import IF, NOISE_ONLY, Noise
from sfumato.release.estimate import Estimate
from sfumato.release.format import percent
from sfumato.release.inversion import confident
from sfumato.release.price import Price
from sfumato.release.tabular import Tabular
from sfumato.release.text import CanonicalText
from sfumato.release.version import version
from sfumato.spatial.box import Box, Floats
from sfumato.spatial.certificate import intervals, listed
from sfumato.spatial.decomposition import Integers
from sfumato.spatial.frame import MapFrame
from sfumato.spatial.heatmap import Heatmap, heatmap
from sfumato.spatial.index import Index
from sfumato.spatial.overlap import Cover, covers
from sfumato.spatial.polygon import Polygon
from sfumato.spatial.solution import Solution
from sfumato.spatial.table import CellTable

if TYPE_CHECKING:
    from pathlib import Path

    import altair
    import pyarrow

    from sfumato.release.card import Card
    from sfumato.release.release import Release
    from sfumato.spatial.sample import Sample

RULES = ("unbiased", "nonnegative")
_MOST = Fraction(10**100)  # counts beyond are none, and would not fit a float
EVEN = f"{NOISE_ONLY}{IF}points lie evenly in the cells that a border cuts"
ANYWHERE = "noise, and points anywhere inside of the cells that a border cuts"


@canonical
@dataclass(frozen=True, slots=True)
class MapLevel:
    """Noisy sums of rectangles that tile a map.

    Attributes:
        starts: where each begins among the leaves, 4 bytes each, the lowest first; the first
            level is the leaves themselves, and has none.
        noise: family and scale.
        values: the noisy whole numbers.
    """

    starts: bytes
    noise: Noise
    values: tuple[int, ...]

    def fits(self, leaves: int) -> bool:
        """Say whether it has a number, of a size that floats hold, for each run of the leaves."""
        if len(self.starts) % 4:
            return False
        places = self.places(leaves)
        runs = places[0] == 0 and bool((np.diff(places) > 0).all())
        return runs and len(places) == len(self.values) + 1 and max(map(abs, self.values)) < _MOST

    def places(self, leaves: int) -> Integers:
        """Return where the rectangles begin among the leaves, and how many leaves there are."""
        if not self.starts:
            return np.arange(leaves + 1)
        return np.append(np.frombuffer(self.starts, "<i4").astype(np.int64), leaves)


@canonical
@dataclass(frozen=True, repr=False)
class MapRelease(CanonicalText, Tabular):
    """Counts of boxes and polygons of a map, each with its interval. Nothing in it is exact data.

    It holds the noisy whole numbers that were drawn; all else is computed from them. Make one with
    `sfumato.spatial.release`.

    Attributes:
        frame: the box and its lattice.
        method: how it was measured.
        leaves: the cells of the map as rectangles of the lattice, 16 bytes each.
        levels: the noisy sums, from the cells up.
        cost: the privacy loss.
        price: the loss in numbers.
        unit: the unit that is protected.
        confidence: the probability with which each interval holds.
        rule: ``"unbiased"``; or ``"nonnegative"`` where no count is below 0.
        least: a count below which rectangles are taken to be even; None where none are.
        notes: static sentences.
        receipt: the ledger entry that paid for it; None in the laboratory.
        durable: whether the charge was written to a ledger that survives the process.
        version: the version of sfumato that made it.
    """

    called: ClassVar[str] = "a map"

    frame: MapFrame
    method: str
    leaves: bytes
    levels: tuple[MapLevel, ...]
    cost: Loss
    price: Price | None = None
    unit: Unit | None = None
    confidence: Fraction = Fraction(95, 100)
    rule: str = "unbiased"
    least: Fraction | None = None
    notes: tuple[str, ...] = ()
    receipt: str | None = None
    durable: bool = False
    version: str = field(default="")

    def __post_init__(self) -> None:
        """Check that the parts belong together."""
        object.__setattr__(self, "confidence", confident(self.confidence))
        object.__setattr__(self, "version", self.version or version())
        if self.least is not None:
            object.__setattr__(self, "least", min(from_zero(self.least, "least"), _MOST))
        if self.rule not in RULES:
            raise InputError(f"rule= is one of {', '.join(RULES)}, and not {self.rule!r}.")
        count = len(self.leaves) // 16
        if not self.levels or len(self.leaves) % 16 or len(self.levels[0].values) != count:
            raise InputError("a map has a number for each of its cells.")
        low, high, shape = self.blocks[:, :2], self.blocks[:, 2:], self.frame.shape
        if not ((low >= 0) & (low < high) & (high <= shape)).all() or (
            int(self._areas.sum()) != shape[0] * shape[1]
        ):
            raise InputError("the cells of a map fill its lattice.")
        if not all(level.fits(count) for level in self.levels) or self.levels[0].starts:
            raise InputError("a level of a map has a number for each of its runs of cells.")

    @cached_property
    def blocks(self) -> Integers:
        """The cells as rectangles of the lattice: first column, first row, those after the last."""
        return np.frombuffer(self.leaves, "<i4").reshape(-1, 4).astype(np.int64)

    @cached_property
    def cells(self) -> Floats:
        """The cells: x_low, y_low, x_high, y_high. They fill the box and do not overlap."""
        found = self.frame.placed(self.blocks)
        found.setflags(write=False)
        return found

    @cached_property
    def solution(self) -> Solution:
        """The least-squares counts, and how far sums of them may be off."""
        places = [level.places(len(self)) for level in self.levels]
        noises = [level.noise for level in self.levels]
        return Solution(places, noises, [np.array(v.values, np.float64) for v in self.levels])

    @cached_property
    def counts(self) -> Floats:
        """The noisy count of each cell."""
        if self.least is not None:
            found = self.solution.pruned(float(self.least), self._areas.astype(np.float64))
            return np.maximum(found, 0.0) if self.rule == "nonnegative" else found
        return self.solution.counts if self.rule == "unbiased" else self.solution.nonnegative()

    @property
    def variances(self) -> Floats:
        """The variance of the noise on the count of each cell."""
        return self.solution.variances

    def __len__(self) -> int:
        """Count the cells."""
        return len(self.leaves) // 16

    def count(self, where: Any, *, even: bool = True, confidence: Any = None) -> Estimate:
        """Return how many points lie in a box or a polygon.

        A cell that a border cuts counts by the share of it that lies inside. Only what lies on the
        map is counted; a box or polygon beside it is refused.

        Args:
            where: a box (x_low, y_low, x_high, y_high) or a `Polygon`; or a list of either, or an
                array of boxes with four columns.
            even: whether the interval takes points to lie evenly inside of each cell, so that it
                covers the noise alone; if not, it holds wherever they lie in the cells that a
                border cuts.
            confidence: of the interval, if not that of the release.

        Example:
            >>> import sfumato as sf
            >>> city = sf.spatial.release(sf.lab([[5, 9], [0, 200]]), method="grid", epsilon=1)
            >>> city.count((1, 1, 2, 2)).value > 100
            True
        """
        sure = self.confidence if confidence is None else confident(confidence)
        self.frame.check_meets(where)
        ends, cuts = [np.empty(0)] * 3, False
        for cover in covers(self.index, where):
            found = self._counted(cover, float(sure), even)
            ends = [np.concatenate(pair) for pair in zip(ends, found, strict=True)]
            cuts = cuts or bool((cover.weight < 1).any())
        low, value, high = ends
        said = (EVEN if even else ANYWHERE) if cuts else NOISE_ONLY
        if _is_one(where):
            low, value, high = low[0].item(), value[0].item(), high[0].item()
        return Estimate(value, low, high, sure, said)

    def total(self, *, confidence: Any = None) -> Estimate:
        """Return how many points there are on the whole map."""
        return self.count(self.frame.bounds, confidence=confidence)

    def heatmap(self, width: int = 256, height: int = 256) -> Heatmap:
        """Return the map as pixels, the highest row first, as in pictures: counts and their std.

        Args:
            width: how many pixels lie beside one another.
            height: how many lie above one another.
        """
        cells, box = self.cells, self.frame.bounds
        return heatmap(cells, self.counts, box, width, height, variances=self.variances)

    def lattice(self) -> Floats:
        """Return the count of each cell of the lattice: an array with an axis for x and one for y.

        Points are taken to lie evenly inside of each cell of the map.
        """
        across, up = self.frame.shape
        steps = np.zeros((across + 1, up + 1))
        a, b, c, d = self.blocks.T
        density = self.counts / self._areas
        for x, y, sign in ((a, b, 1), (c, d, 1), (a, d, -1), (c, b, -1)):
            np.add.at(steps, (x, y), sign * density)
        return steps.cumsum(axis=0).cumsum(axis=1)[:-1, :-1]

    def nonnegative(self) -> MapRelease:
        """Return the same with no count below 0; free.

        Intervals stay those of the unbiased counts, widened where the new count lies outside.
        """
        return replace(self, rule="nonnegative")

    def pruned(self, least: Any = 32) -> MapRelease:
        """Return the same where rectangles of a small count are taken to be even; free.

        Args:
            least: below this noisy count nothing inside of a rectangle is told apart.
        """
        return replace(self, least=from_zero(least, "least"))

    def sample(self, size: int | None = None) -> Sample:
        """Return so many synthetic points; free.

        A cell is as likely as its count, and inside of it points lie evenly.

        Args:
            size: how many; as many as the map counts, if not given.
        """
        from sfumato.spatial.sample import Sample

        return Sample.of(self, size)

    @property
    def digest(self) -> str:
        """The SHA-256 of the canonical bytes, in hex."""
        return digest(self)

    def table(self) -> Release:
        """Return the counts of all cells, as a release."""
        return listed(self)

    def estimate(self) -> Estimate:
        """Return the counts of all cells, as arrays."""
        low, value, high = intervals(self)
        return Estimate(value, low, high, self.confidence, NOISE_ONLY)

    def to_arrow(self) -> pyarrow.Table:
        """Return an Arrow table of the cells: their ends, then n, n_low, n_high."""
        return CellTable(self.cells, self.estimate()).to_arrow()

    def to_csv(self, path: str | Path) -> None:
        """Write a CSV file of the cells: counts to a thousandth of their noise."""
        CellTable(self.cells, self.estimate()).to_csv(path)

    def to_geojson(self, path: str | Path) -> None:
        """Write the cells as GeoJSON, each with its count, interval and density."""
        from sfumato.spatial import geojson

        x, y = self.frame.names
        about = {"x": x, "y": y, "method": self.method, "notes": list(self.notes)}
        if self.price is not None and self.price.said:
            about["price"] = self.price.said
        geojson.write(path, CellTable(self.cells, self.estimate()), about)

    def chart(self, **options: Any) -> altair.LayerChart:
        """Return an Altair chart: cells colored by density, and the decomposition drawn.

        Args:
            options: what `sfumato.spatial.picture.chart` takes, such as ``title=``.
        """
        from sfumato.spatial import picture

        said = "" if self.price is None else self.price.said
        told = {"title": "density of points", "said": said, "names": self.frame.names}
        return picture.chart(CellTable(self.cells, self.estimate()), **{**told, **options})

    def to_png(self, path: str | Path, **options: Any) -> None:
        """Draw the map into a PNG or SVG file, without a network.

        Args:
            path: where; its ending says which kind.
            options: as for `chart`.
        """
        from sfumato.spatial import picture

        picture.save(self.chart(**options), path)

    def to_html(self, path: str | Path | None = None) -> str | None:
        """Write one self-contained HTML page of the cells to `path`; without one, return it."""
        return self.table().to_html(path)

    def card(self) -> Card:
        """Return the certificate."""
        return self.table().card()

    def __repr__(self) -> str:
        """Show what it is, its total and its price."""
        paid = (
            "nothing was charged: no ledger" if self.receipt is None else f"receipt {self.receipt}"
        )
        if self.receipt is not None and not self.durable:
            paid += ", not durable"
        x, y = self.frame.names
        lines = [
            f"map of {x!r} and {y!r}: {len(self):,} cells, {self.method}, {self._said}",
            f"total = {self.total()!r}",
            f"intervals at {percent(self.confidence)} each ({EVEN}); {paid}",
            *(f"note: {note}" for note in self.notes),
        ]
        if self.price is not None and self.price.said:
            lines.append(f"price: {self.price.said}")
        return "\n".join(lines)

    @cached_property
    def index(self) -> Index:
        """The cells, ready to be looked up."""
        return Index(self.cells)

    @property
    def _said(self) -> str:
        if self.least is None:
            return self.rule
        even = f"even below {float(self.least):g}"
        return even if self.rule == "unbiased" else f"{self.rule}, {even}"

    @cached_property
    def _areas(self) -> Integers:
        a, b, c, d = self.blocks.T
        return np.asarray((c - a) * (d - b))

    def _counted(self, cover: Cover, sure: float, even: bool) -> tuple[Floats, Floats, Floats]:
        weights = [cover.weights(i) for i in range(cover.count)]
        value = cover.sums(self.counts)
        if even:
            middle = cover.sums(self.solution.counts)
            width = self.solution.reach(weights, sure)
            low, high = middle - width, middle + width
        else:
            inner = [(at[share >= 1], share[share >= 1]) for at, share in weights]
            outer = [(at, np.ones(len(at))) for at, _ in weights]
            low, high = (
                np.array([self.solution.counts[at].sum() for at, _ in some])
                + sign * self.solution.reach(some, sure)
                for some, sign in ((inner, -1), (outer, 1))
            )
            low = np.maximum(low, 0.0)
        low, high = np.minimum(low, value), np.maximum(high, value)
        if self.rule != "unbiased":
            low = np.maximum(low, 0.0)
        return low, value, high


def _is_one(where: Any) -> bool:
    if isinstance(where, Box | Polygon):
        return True
    return not any(isinstance(each, Box | Polygon) for each in where) and np.ndim(where) == 1


def as_bytes(places: NDArray[np.int64]) -> bytes:
    """Write down whole numbers in 4 bytes each, the lowest first."""
    return np.ascontiguousarray(places, "<i4").tobytes()
