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
        columns = tuple(columns)
        if len(set(columns)) != len(columns):
            raise KeysError("a column is named twice in group_by. Name each once.")
        kinds = tuple(known(name, scope) for name in columns)
        lists = _lists(columns, given)
        codes = tuple(
            _codes(name, kind, lists.get(name)) for name, kind in zip(columns, kinds, strict=True)
        )
        keys = cls(columns, kinds, codes)
        groups = prod(keys.shape)  # not len(), which fails beyond 64 bits
        if groups > MOST_CELLS:
            raise KeysError(
                f"grouping by {', '.join(columns)} makes {groups:,} groups, more than the "
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

        Args:
            columns: for each key column an Arrow array of codes.
        """
        length = len(columns[0]) if columns else 1
        total = np.zeros(length, np.int64)
        inside = np.ones(length, np.bool_)
        for i, found in enumerate(columns):
            position = self._position(i, found)
            inside &= position >= 0
            total = total * self.shape[i] + position
        return np.where(inside, total, -1)

    def _position(self, i: int, found: Any) -> NDArray[np.int64]:
        listed = self._listed(i)
        if isinstance(self.kinds[i], Words):
            place = {held: at for at, held in enumerate(listed)}
            return np.array([place.get(text, -1) for text in found.to_pylist()], np.int64)
        # Arrow's own way to numpy would load pandas, if there is one.
        present = np.ones(len(found), np.bool_)
        if found.null_count:
            present = np.array([text is not None for text in found.to_pylist()])
            found = found.fill_null(0)
        held = np.from_dlpack(found)
        if isinstance(listed, range):
            position = held - listed.start
            return np.where(present & (position >= 0) & (position < len(listed)), position, -1)
        order = np.argsort(np.array(listed, np.int64), kind="stable")
        ranked = np.array(listed, np.int64)[order]
        at = np.minimum(np.searchsorted(ranked, held), len(ranked) - 1)
        return np.where(present & (ranked[at] == held), order[at], -1)

    def _listed(self, i: int) -> Sequence[Code]:
        codes = self.codes[i]
        if codes is not None:
            return codes
        every = domain(self.kinds[i])
        if every is None:  # refused when made
            raise KeysError("text has no list of values.")
        return every


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
                f"data would give people away. Pass keys=[...] with the values to count."
            )
        return None
    values = None
    if not isinstance(given, str | bytes):
        with suppress(TypeError):  # nothing to iterate over
            values = list(given)
    if values is None:
        raise KeysError(f"keys of {name!r} must be a list of values. Pass keys=['A', 'B'].")
    found = [code(kind, _plain(v)) for v in values]
    for v, held in zip(values, found, strict=True):
        if held is None:
            raise KeysError(
                f"{v!r:.80} is not a value that the column {name!r} can have, by its declaration. "
                f"Remove it from keys=, or mend the declaration."
            )
    if not values or len(set(found)) != len(found):
        raise KeysError(f"keys of {name!r} must be listed once each, and at least one.")
    for held in found:
        if isinstance(held, str):
            check_text(held)
    return tuple(held for held in found if held is not None)


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
