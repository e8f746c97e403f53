"""Synthetic points of a noisy map. Everything here works on what is public."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.release.tabular import Tabular
from sfumato.spatial.box import Floats
from sfumato.spatial.sampling import sample

if TYPE_CHECKING:
    import pyarrow

    from sfumato.spatial.release import MapRelease


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sample(Tabular):
    """Points that were drawn from a noisy map.

    Attributes:
        names: the columns of x and of y.
        points: an array of two columns.
    """

    names: tuple[str, str]
    points: Floats

    @classmethod
    def of(cls, found: MapRelease, size: int | None = None) -> Sample:
        """Draw so many points: a cell by its count, and evenly inside of it."""
        return cls(found.frame.names, sample(found.cells, found.counts, size))

    def __len__(self) -> int:
        """Count the points."""
        return len(self.points)

    def to_arrow(self) -> pyarrow.Table:
        """Return an Arrow table with a column for each coordinate."""
        import pyarrow as pa

        return pa.table(dict(zip(self.names, self.points.T, strict=True)))

    def __repr__(self) -> str:
        """Show how many there are."""
        return f"<{len(self):,} synthetic points of {self.names[0]!r} and {self.names[1]!r}>"
