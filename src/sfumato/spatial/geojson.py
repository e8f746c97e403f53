"""Maps as GeoJSON: released cells are written, areas to ask about are read (RFC 7946)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sfumato.core.errors import InputError
from sfumato.release.format import printable
from sfumato.release.path import new_path
from sfumato.spatial.polygon import Polygon
from sfumato.spatial.table import CellTable

_LARGEST = 2**28  # bytes of a file that is read
_MOST = 100_000  # areas of a file


class Area(NamedTuple):
    """An area of a file, with what the file says of it.

    Attributes:
        polygon: where it is.
        properties: names and the like.
    """

    polygon: Polygon
    properties: dict[str, Any]


def lines(table: CellTable, about: Mapping[str, Any] | None = None) -> Iterator[str]:
    """Yield a FeatureCollection of all cells, a line for each, with its count, low and high.

    Numbers are rounded as their noise allows; density is the count for each unit of area.

    Args:
        table: the cells.
        about: what else to say of the whole, such as the price; plain values by name.
    """
    said = {
        "confidence": float(table.estimate.confidence),
        "covers": table.estimate.covers,
        **(about or {}),
    }
    yield '{"type": "FeatureCollection",\n'
    yield f'"bbox": {_text(list(table.box))},\n'
    yield f'"sfumato": {_text(said)},\n"features": [\n'
    last = len(table) - 1
    corners = table.cells.tolist()
    for i, ((x0, y0, x1, y1), found) in enumerate(zip(corners, table.rounded(), strict=True)):
        ring = [[x0, y0], [x1, y0], [x1, y1], [x0, y1], [x0, y0]]
        count, low, high, density = found
        feature = {
            "type": "Feature",
            "geometry": {"type": "Polygon", "coordinates": [ring]},
            "properties": {
                "cell": i,
                "count": count,
                "low": low,
                "high": high,
                "density": density,
            },
        }
        yield _text(feature) + (",\n" if i < last else "\n")
    yield "]}\n"


def write(path: str | Path, table: CellTable, about: Mapping[str, Any] | None = None) -> None:
    """Write all cells as a GeoJSON file; see `lines`."""
    with new_path(path).open("w", encoding="utf-8", newline="") as file:
        file.writelines(lines(table, about))


def read(path: str | Path) -> list[Area]:
    """Read the polygons of a GeoJSON file: a FeatureCollection, a Feature or one geometry.

    Raises:
        InputError: the file cannot be read, or holds something else than areas; it says which.
    """
    name = printable(Path(path).name)
    try:
        with Path(path).open("rb") as file:
            held = file.read(_LARGEST + 1)
        if len(held) > _LARGEST:
            raise InputError(f"{name} has more than {_LARGEST // 2**20} MB. Simplify its areas.")
        found = json.loads(held.decode("utf-8-sig"), parse_constant=_no_constant)
    except OSError as problem:
        raise InputError(f"{name} cannot be read: {problem.strerror or 'no such file'}.") from None
    except RecursionError:
        raise InputError(f"{name} is nested too deeply to be GeoJSON.") from None
    except InputError:
        raise
    except ValueError:  # not UTF-8, not JSON, or numerals of thousands of digits
        raise InputError(f"{name} is not JSON in UTF-8. Export the areas as GeoJSON.") from None
    return areas(found, name)


def areas(found: Any, name: str = "this") -> list[Area]:
    """Return the areas of GeoJSON that was parsed already.

    Args:
        found: a FeatureCollection, a Feature or one geometry, as dictionaries.
        name: what a message calls it.
    """
    if not isinstance(found, Mapping):
        raise InputError(f"{name} is not GeoJSON, which is an object with a type.")
    if found.get("type") != "FeatureCollection":
        return [_area(found, f"{name}")]
    features = found.get("features")
    if not isinstance(features, list) or not features:
        raise InputError(f"{name} is a FeatureCollection without features, so there is no area.")
    if len(features) > _MOST:
        raise InputError(f"{name} has more than {_MOST:,} areas. Split it.")
    return [_area(feature, f"feature {i} of {name}") for i, feature in enumerate(features)]


def _area(feature: Any, name: str) -> Area:
    if not isinstance(feature, Mapping):
        raise InputError(f"{name} is not a Feature.")
    try:
        polygon = Polygon.of(feature)
    except InputError as problem:
        raise type(problem)(f"{name}: {problem.message}") from None
    properties = feature.get("properties") if feature.get("type") == "Feature" else None
    return Area(polygon, dict(properties) if isinstance(properties, Mapping) else {})


def _text(value: Any) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        raise InputError("what is said about a map is plain text and finite numbers.") from None


def _no_constant(text: str) -> Any:
    raise InputError(f"{text} is no number of JSON, and no place on a map. Mend the file.")
