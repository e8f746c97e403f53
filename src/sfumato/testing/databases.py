"""Hypothesis strategies for several linked tables and their neighbors; needs the extra ``testing``.

>>> from hypothesis import find
>>> from sfumato.core.schema import Boolean, Schema
>>> from sfumato.core.unit import Unit
>>> people = Source("people", Schema(old=Boolean()), Unit.by("id", max_rows=1))
>>> one, other = find(databases([people]), lambda both: both[0][people].num_rows == 1)
>>> other[people].num_rows
0
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from sfumato.core.unit import Neighbors
from sfumato.relation.source import Source
from sfumato.testing.values import raw_values, stored_types

_OTHERS = (20, 21, 30)  # keys of the units 2 and 3, which unit 1 may have too


@st.composite
def databases(
    draw: st.DrawFn, sources: Sequence[Source], *, most: int = 4
) -> tuple[dict[Source, pa.Table], dict[Source, pa.Table]]:
    """Linked tables and a neighbor of theirs: one unit makes all the difference, in all tables.

    Its rows lead to nobody else, but they may have the keys of others, so that rows of those are
    its own as well. Besides, all goes wrong: keys that several rows of a unit have, that nobody
    has, that are missing; rows of nobody; keys and units held as numbers here and as text there;
    values of every bad kind.

    Args:
        draw: given by hypothesis.
        sources: the tables; those whose units are looked up have their paths.
        most: how many rows of one unit a table may have.
    """
    fields = {source: draw(_linked_fields(source, sources)) for source in sources}
    units = [1, 2, 3][: draw(st.integers(1, 3))]
    rows = {unit: draw(_unit_rows(sources, fields, unit, most)) for unit in (None, *units)}
    other = dict(rows)
    replaces = sources[0].unit.neighbors is Neighbors.REPLACE
    other[1] = draw(_unit_rows(sources, fields, 1, most)) if replaces else {}
    backwards = draw(st.booleans())
    made = []
    for found, turned in ((rows, False), (other, backwards)):
        tables = {}
        for source in sources:
            listed = [row for owned in found.values() for row in owned.get(source, [])]
            listed = listed[::-1] if turned else listed
            tables[source] = pa.Table.from_pylist(listed, schema=fields[source])
        made.append(tables)
    return made[0], made[1]


@st.composite
def _linked_fields(draw: st.DrawFn, source: Source, sources: Sequence[Source]) -> pa.Schema:
    stored = {n: draw(st.sampled_from(stored_types(source.schema[n]))) for n in source.columns}
    for name in _key_columns(source, sources):
        stored[name] = draw(st.sampled_from((pa.int64(), pa.int64(), pa.string())))
    return pa.schema([pa.field(name, kind) for name, kind in stored.items()])


def _key_columns(source: Source, sources: Sequence[Source]) -> list[str]:
    referred = [link.key for each in sources for link in each.links if link.table == source.name]
    own = [link.column for link in source.links]
    return list(dict.fromkeys([*([source.owner] if source.owner else []), *own, *referred]))


@st.composite
def _unit_rows(
    draw: st.DrawFn,
    sources: Sequence[Source],
    fields: dict[Source, pa.Schema],
    unit: int | None,
    most: int,
) -> dict[Source, list[dict[str, Any]]]:
    """Draw the rows of one unit, or of nobody, in all tables."""
    found: dict[Source, list[dict[str, Any]]] = {}
    for source in sources:
        values = {
            name: raw_values(source.schema[name], fields[source].field(name).type)
            for name in source.columns
            if name in source.schema
        }
        keys = _key_columns(source, sources)
        own = _own_keys(unit)
        drawn, free = st.sampled_from(own), st.sampled_from((*own, *_OTHERS) if unit == 1 else own)
        given = {
            n: st.just(unit) if source.names_unit(n) else drawn if n == source.owner else free
            for n in keys
        }
        row = st.fixed_dictionaries({**values, **given})
        size = draw(st.integers(0, 1 if unit is None else most))
        found[source] = [
            {n: _written(v, fields[source].field(n).type) if n in keys else v for n, v in r.items()}
            for r in draw(st.lists(row, min_size=size, max_size=size))
        ]
    return found


def _own_keys(unit: int | None) -> tuple[int | None, ...]:
    """Return the keys of a unit; those of nobody are found nowhere."""
    return (None, 9) if unit is None else (10 * unit, 10 * unit, 10 * unit + 1, None)


def _written(key: int | None, stored: pa.DataType) -> Any:
    return str(key) if pa.types.is_string(stored) and key is not None else key
