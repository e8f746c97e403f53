"""The public cells of an answer: which groups there are, whatever the data holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.codec import canonical
from sfumato.core.errors import KeysError, NumberError
from sfumato.core.number import exact
from sfumato.relation.expr import Call, Constant, Expr, Name, Scope, check_text, known
from sfumato.relation.kind import Code, Kind, Value, Words, code, domain, value

MOST_CELLS = 10_000_000  # an answer is held in memory; its size is public
_DENSE = 2**20  # keys that lie within so many numbers are looked up in a table


@canonical
@dataclass(frozen=True, slots=True)
class Keys:
    """Groups by columns: every combination of the values listed for each, in that order.

    Attributes:
        columns: the columns; none for a single total.
        kinds: how a plan holds each.
        codes: for each column the codes of its values; None stands for all that its kind has.
    """

    columns: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = ()
    codes: tuple[tuple[Code, ...] | None, ...] = ()

    @classmethod
    def of(cls, scope: Scope, columns: Sequence[str], given: Any = None) -> Keys:
        """Find the groups: as given, else all values that the schema lists.

        Args:
            scope: the columns in scope.
            columns: the columns to group by.
            given: for one column a list of values; for several a mapping from column to list.

        Raises:
            UnknownName: no such column.
            KeysError: values that are unknown, twice, not listed, or too many.
        """
        keys = cls(*groups_of(scope, columns, _lists(tuple(columns), given)))
        groups = prod(keys.shape)  # not len(), which fails beyond 64 bits
        if groups > MOST_CELLS:
            raise KeysError(
                f"grouping by {', '.join(keys.columns)} makes {groups:,} groups, more than the "
                f"{MOST_CELLS:,} that one answer may have. Group by fewer columns, list the keys "
                f"you need with keys=, or make bins with floor(column, width)."
            )
        return keys

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each column has."""
        return tuple(_size(self._listed(i)) for i in range(len(self.columns)))

    def __len__(self) -> int:
        """Count the cells."""
        return prod(self.shape)

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return prod(self.shape)

    def condition(self) -> Expr | None:
        """Return what holds for the rows that are in some group; None if all are."""
        parts: list[Expr] = []
        for name, kind, codes in zip(self.columns, self.kinds, self.codes, strict=True):
            if codes is None:
                parts.append(Call("not", (Call("is_null", (Name(name),)),)))
            else:
                listed = tuple(Constant(value(kind, held)) for held in codes)
                parts.append(Call("in", (Name(name), *listed)))
        return Call("and", tuple(parts)) if len(parts) > 1 else parts[0] if parts else None

    def table(self) -> dict[str, list[Value]]:
        """Return the public values of the cells, column by column."""
        sizes = self.shape
        out = {}
        for i, (name, kind) in enumerate(zip(self.columns, self.kinds, strict=True)):
            listed = [value(kind, held) for held in self._listed(i)]
            each, times = prod(sizes[i + 1 :]), prod(sizes[:i])
            out[name] = [v for _ in range(times) for v in listed for _ in range(each)]
        return out

    def index(self, columns: Sequence[Any]) -> NDArray[np.int64]:
        """Return the cell of each row of codes; -1 for a row that is in none.

        It holds 8 bytes a row for the answer, and up to 32 while a column is looked up.

        Args:
            columns: for each key column an Arrow array of codes, in chunks or not.
        """
        total = np.zeros(1, np.int64)
        outside: NDArray[np.bool_] | None = None
        for i, found in enumerate(columns):
            position = self._position(i, found)
            if position.size and position.min() < 0:
                away = position < 0
                outside = away if outside is None else outside | away
            if i:
                total *= self.shape[i]
                total += position
            else:
                total = position
        if outside is not None:
            total[outside] = -1
        return total

    def _position(self, i: int, found: Any) -> NDArray[np.int64]:
        listed = self._listed(i)
        if isinstance(self.kinds[i], Words):
            import pyarrow as pa
            import pyarrow.compute as pc

            place = pc.index_in(found, value_set=pa.array(listed, found.type))
            return integers(place.fill_null(-1))
        present = integers(found.is_valid().cast("int8")) > 0 if found.null_count else None
        held = integers(found if present is None else found.fill_null(0))
        if isinstance(listed, range):
            position, size = held, len(listed)
            if listed.start:
                position -= listed.start
            away = position.view(np.uint64) >= size  # below 0 is far above, read without a sign
            if away.any():
                position[away] = -1
        else:
            position = _places(held, np.array(listed, np.int64))
        if present is not None:
            position[~present] = -1
        return position

    def _listed(self, i: int) -> Sequence[Code]:
        codes = self.codes[i]
        if codes is not None:
            return codes
        every = domain(self.kinds[i])
        if every is None:  # refused when made
            raise KeysError("text has no list of values.")
        return every


def integers(column: Any) -> NDArray[np.int64]:
    """Return an Arrow column of whole numbers, in chunks or not, as an array of its own.

    Widened and put together in one go. Arrow's own way would load pandas, if there is one; this one
    refuses a NULL.
    """
    chunks = getattr(column, "chunks", [column])
    parts = [np.from_dlpack(chunk) for chunk in chunks if len(chunk)]
    return np.concatenate(parts, dtype=np.int64) if parts else np.zeros(0, np.int64)


def _places(held: NDArray[np.int64], listed: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each number is in a list; -1 where it is not."""
    low, high = int(listed.min()), int(listed.max())
    if high - low < _DENSE:
        size = high - low + 1
        place = np.full(size + 1, -1, np.int64)  # the last is of all that lies beyond
        place[listed - low] = np.arange(listed.size)
        held = held - low
        held[held.view(np.uint64) >= size] = size
        return np.asarray(place[held])
    order = np.argsort(listed, kind="stable")
    ranked = listed[order]
    at = np.minimum(np.searchsorted(ranked, held), ranked.size - 1)
    return np.where(ranked[at] == held, order[at], -1)


def groups_of(
    scope: Scope, columns: Sequence[str], lists: Mapping[str, Any], *, open_ended: bool = False
) -> tuple[tuple[str, ...], tuple[Kind, ...], tuple[tuple[Code, ...] | None, ...]]:
    """Return columns, kinds and codes of groups.

    Args:
        scope: the columns in scope.
        columns: the columns to group by.
        lists: for some of the columns, the values that count.
        open_ended: whether a column without a list may have values that nobody knows.
    """
    columns = tuple(columns)
    if len(set(columns)) != len(columns):
        raise KeysError("a column is named twice in group_by. Name each once.")
    kinds = tuple(known(name, scope) for name in columns)
    codes = tuple(
        None if open_ended and name not in lists else _codes(name, kind, lists.get(name))
        for name, kind in zip(columns, kinds, strict=True)
    )
    return columns, kinds, codes


def _size(listed: Sequence[Code]) -> int:
    return listed.stop - listed.start if isinstance(listed, range) else len(listed)


def _lists(columns: tuple[str, ...], given: Any) -> Mapping[str, Any]:
    if given is None:
        return {}
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in columns]
        if unknown:
            raise KeysError(
                f"keys= names {unknown[0]!r}, which is not grouped by. It takes columns of "
                f"group_by: {', '.join(columns)}."
            )
        return given
    if len(columns) == 1:
        return {columns[0]: given}
    raise KeysError(
        "with several columns, keys= takes a mapping from column to its values, such as "
        "keys={'zone': ['A', 'B'], 'sex': ['f', 'm']}; every combination is a group."
    )


def _codes(name: str, kind: Kind, given: Any) -> tuple[Code, ...] | None:
    if given is None:
        every = domain(kind)
        if every is None:
            raise KeysError(
                f"nobody listed the values of the text column {name!r}, and reading them off the "
                f"data would give people away. Pass keys=[...] with the values to count, or "
                f"keys=sf.bought() to show those that enough units have."
            )
        return None
    values = None
    if not isinstance(given, str | bytes):
        with suppress(TypeError):  # nothing to iterate over
            values = iter(given)
    if values is None:
        raise KeysError(f"keys of {name!r} must be a list of values. Pass keys=['A', 'B'].")
    found: dict[Code, None] = {}
    for count, listed in enumerate(values):  # a long list is read up to its first mistake
        held = code(kind, _plain(listed))
        if held is None:
            raise KeysError(
                f"{listed!r:.80} is not a value that the column {name!r} can have, by its "
                f"declaration. Remove it from keys=, or mend the declaration."
            )
        if isinstance(held, str):
            check_text(held)
        found[held] = None
        if len(found) == count:
            break  # listed before
        if count == MOST_CELLS:
            raise KeysError(
                f"keys= lists more than {MOST_CELLS:,} values of {name!r}, and one answer may have "
                f"that many groups at most. List fewer."
            )
    else:
        if found:
            return tuple(found)
    raise KeysError(f"keys of {name!r} must be listed once each, and at least one.")


def _plain(given: Any) -> Any:
    """Return a numpy scalar or float as the plain exact value it is."""
    plain = given.item() if isinstance(given, np.generic) else given
    if isinstance(plain, bool | str | int):
        return plain
    try:
        number = exact(plain, "key")
    except NumberError:
        return plain
    return int(number) if Fraction(number).denominator == 1 else number
