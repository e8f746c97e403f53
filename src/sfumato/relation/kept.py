"""Which rows of each unit stay: the caps of a truncation, applied to columns in memory.

An engine finds the rows of one unit that come first by a window over all of them. A sort of 64-bit
numbers finds the same rows several times faster: a number is the unit, as many bits of the row's
turn as there is room for, and the row's place. Rows that those bits do not tell apart are compared
whole, so that nothing depends on the bits that were left out, nor on where a row is stored.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.relation.keys import integers
from sfumato.relation.node import Truncate, scope

Places: TypeAlias = NDArray[np.int64]
Numbers: TypeAlias = NDArray[np.signedinteger[Any]]
_Turns: TypeAlias = NDArray[np.uint32]
_Packed: TypeAlias = NDArray[np.uint64]
_Flags: TypeAlias = NDArray[np.bool_]

_SOON = np.uint32(2**28)  # the first sixteenth of all turns
_WORTH = 0.75  # the share of rows that may stay above which they are not picked
_SHARE = 18  # units are put in order together, as many as have about 2^18 rows
_SPARSE = 4  # numbers of units that span more than so many times the rows are given anew


def at_any_time(node: Truncate) -> Truncate:
    """Return caps that leave whatever stays in the end, applied to some of the rows beforehand.

    Where groups are chosen, rows that come later may take a group's place, and with it the place of
    its rows. So how many rows stay of all groups together is not bounded before the groups are
    known. Where none are chosen, a row that comes too late does so whatever else comes.

    Theorem: docs/theory/sensitivity.md
    """
    if node.max_groups is None or not node.keys:
        return node
    caps = (cap for cap in (node.max_rows_per_group, node.max_rows) if cap is not None)
    return replace(node, max_rows_per_group=min(caps, default=None), max_rows=None)


def possible(node: Truncate, owner: Numbers, row_turn: Any, group_turn: Any) -> Places | None:
    """Return the places of the rows that may stay, in ascending order; None if most may.

    It leaves out rows of which a look at few others says that enough come before. Of an owner with
    many rows, enough have turns among the first sixteenth, and the others need not be put in order.
    Different turns are those of different contents.

    Args:
        node: the caps.
        owner: whose each row is, as `numbered` says.
        row_turn: as for `kept`.
        group_turn: as for `kept`.
    """
    if _by_groups(node):
        cap, turn = node.max_groups, group_turn
    else:
        cap, turn = _most(node), row_turn
    if cap is None or not owner.size:
        return None
    turns: list[_Turns] = [_joined([chunk]) for chunk in _chunks(turn) if len(chunk)]
    starts = [0, *accumulate(each.size for each in turns)][:-1]
    pieces = [
        (at, owner[at : at + each.size], each) for at, each in zip(starts, turns, strict=True)
    ]
    with ThreadPoolExecutor(os.cpu_count() or 1) as threads:
        enough = _enough(np.concatenate([*threads.map(_soon, pieces)]), cap)
        lacking = np.ones(int(owner.max()) + 1, np.bool_)
        lacking[enough] = False

        def near(piece: tuple[int, Numbers, _Turns]) -> Places:
            start, mine, turn = piece
            return start + np.flatnonzero((turn < _SOON) | lacking[mine])

        found = [*threads.map(near, pieces)]
    return np.concatenate(found) if sum(map(len, found)) < _WORTH * owner.size else None


def _soon(piece: tuple[int, Numbers, _Turns]) -> _Packed:
    """Return owner and turn of the rows whose turn comes soon, as one number each."""
    _, owner, turn = piece
    at = np.flatnonzero(turn < _SOON)
    return (owner[at].astype(np.uint64) << np.uint64(32)) | turn[at]


def _enough(packed: _Packed, cap: int) -> _Packed:
    """Return the owners who have at least `cap` different turns, some of them several times."""
    packed.sort()
    new = np.append(True, packed[1:] != packed[:-1])[: packed.size]
    owners: _Packed = packed[new] >> np.uint64(32)
    last = owners[cap - 1 :]
    found: _Packed = last[last == owners[: last.size]]
    return found


def kept(
    node: Truncate, owner: Numbers, columns: Sequence[Any], row_turn: Any, group_turn: Any
) -> Places:
    """Return the places of the rows that a truncation keeps, in ascending order.

    Guarantee: which rows of a unit stay depends on the rows of that unit alone, as a multiset.
    Theorem:   docs/theory/sensitivity.md
    Exactness: whole numbers. Turns decide where they differ, columns where turns are equal, and
               rows that are equal in all columns are interchangeable.

    Args:
        node: the caps.
        owner: whose each row is, as `numbered` says.
        columns: all that is visible of a row, as Arrow columns in the order of ``scope(node)``.
        row_turn: when a row's turn comes in its unit: 32 bits made of unit and columns.
        group_turn: when a group's turn comes: 32 bits made of unit and keys.
    """
    names, ordinary = list(scope(node)), [_Column(column) for column in columns]
    keys = [ordinary[names.index(key)] for key in node.keys]
    bits = min((owner.size >> _SHARE).bit_length(), 8)
    share = (owner & (2**bits - 1)).astype(np.uint8)  # all rows of a unit are in one share
    mine = owner >> bits  # which is a number of its own there, and not many more than rows
    ends = np.cumsum(np.bincount(share, minlength=2**bits))[:-1]
    shares = np.split(np.argsort(share, kind="stable"), ends)
    caps = _Caps(node, mine, _bits(row_turn), _bits(group_turn), ordinary, keys)
    with ThreadPoolExecutor(os.cpu_count() or 1) as threads:
        return np.sort(np.concatenate([*threads.map(caps.kept, shares)]))


def _by_groups(node: Truncate) -> bool:
    """Say whether groups are told apart; without keys, all rows of a unit are one."""
    caps = node.max_rows_per_group, node.max_groups
    return bool(node.keys) and any(cap is not None for cap in caps)


def _most(node: Truncate) -> int | None:
    """Return how many rows of a unit may stay; without keys, all of them are one group."""
    caps = (node.max_rows, None if node.keys else node.max_rows_per_group)
    return min((cap for cap in caps if cap is not None), default=None)


@dataclass(frozen=True, slots=True)
class _Caps:
    """Applies caps to rows of some units, which their numbers tell apart."""

    node: Truncate
    owner: Numbers
    row_turn: _Turns
    group_turn: _Turns
    columns: Sequence[_Column]
    keys: Sequence[_Column]

    def kept(self, rows: Places) -> Places:
        """Return those of some rows that stay; all rows of a unit are among them, or none."""
        each, most = self.node.max_rows_per_group, _most(self.node)
        if _by_groups(self.node):
            rows, group = self._in_groups(rows, self.node.max_groups)
            if each is not None:
                rows = self._first(group, rows, each)
        return rows if most is None else self._first(self.owner[rows], rows, most)

    def _in_groups(self, rows: Places, cap: int | None) -> tuple[Places, Places]:
        """Return the rows of the groups whose turn comes first, and the number of their group.

        A group stays as long as one row of it does, so it may be chosen before its rows are.
        """
        owner = self.owner[rows]
        rows, owners, new = _sorted(owner, self.group_turn, self.keys, rows, cap)
        starts = np.flatnonzero(new)
        sizes = np.diff(np.append(starts, rows.size))
        if cap is not None:
            stays = _early(owners[starts], cap)
            rows, sizes = rows[np.repeat(stays, sizes)], sizes[stays]
        return rows, np.repeat(np.arange(sizes.size), sizes)

    def _first(self, group: Numbers, rows: Places, cap: int) -> Places:
        """Return those of some rows that come first in their group, up to the cap."""
        over = np.bincount(group, minlength=1)[group] > cap
        late, groups, _ = _sorted(group[over], self.row_turn, self.columns, rows[over], cap)
        return np.concatenate([rows[~over], late[_early(groups, cap)]])


def _early(owners: NDArray[Any], cap: int) -> _Flags:
    """Say of things in the order of their owners which are among the owner's first."""
    early = np.ones(owners.size, np.bool_)
    early[cap:] = owners[cap:] != owners[:-cap]
    return early


def _sorted(
    owner: Numbers,
    turn: _Turns,
    content: Sequence[_Column],
    rows: Places,
    cap: int | None = None,
) -> tuple[Places, _Packed, _Flags]:
    """Put rows in order: by owner, by turn, by content. Equal content has equal turns.

    Args:
        owner: whose each of the rows is.
        turn: when the turn of a row comes, for all rows there are.
        content: what it is, for all rows there are.
        rows: the rows.
        cap: how many different contents of an owner are needed; further ones may be left out.

    Returns:
        The rows in order; the owner of each; and whether it differs from the one before it, in
        owner or in content.
    """
    place_bits = max(owner.size - 1, 1).bit_length()
    owner_bits = (int(owner.max()) if owner.size else 0).bit_length()
    turn_bits = min(32, 64 - owner_bits - place_bits)
    packed = owner.astype(np.uint64)
    packed <<= np.uint64(turn_bits)
    packed |= turn[rows] >> np.uint32(32 - turn_bits)
    packed <<= np.uint64(place_bits)
    packed |= np.arange(owner.size, dtype=np.uint64)
    packed.sort()
    rows = rows[(packed & np.uint64(2**place_bits - 1)).view(np.int64)]
    packed >>= np.uint64(place_bits)
    new = np.ones(rows.size, np.bool_)
    np.not_equal(packed[1:], packed[:-1], out=new[1:])
    if cap is not None:  # what looks the same is one content or several, and never less than one
        starts = np.flatnonzero(new)
        early = _early(packed[starts] >> np.uint64(turn_bits), cap)
        stays = np.repeat(early, np.diff(np.append(starts, rows.size)))
        rows, packed, new = rows[stays], packed[stays], new[stays]
    _settle(rows, new, turn, content)
    packed >>= np.uint64(turn_bits)
    return rows, packed, new


def _settle(rows: Places, new: _Flags, turn: _Turns, content: Sequence[_Column]) -> None:
    """Put rows in order that the first bits of their turns did not tell apart; in place."""
    alike = np.flatnonzero(~new)  # the one before looks the same so far
    unlike = alike[_differ(content, rows[alike], rows[alike - 1])]
    if not unlike.size:
        return
    # All that looks the same as one of those, from where it begins to where it ends.
    starts = np.flatnonzero(new)
    runs = np.unique(np.searchsorted(starts, unlike, "right") - 1)
    first, last = starts[runs], np.append(starts, new.size)[runs + 1]
    run = np.repeat(np.arange(runs.size), last - first)
    inside = np.arange(run.size) + np.repeat(last - np.cumsum(last - first), last - first)
    mixed = rows[inside]
    ranks = [column.ranks(mixed) for column in reversed(content)]
    rows[inside] = mixed[np.lexsort((*ranks, turn[mixed], run))]
    within = inside[1:][run[1:] == run[:-1]]
    new[within] = _differ(content, rows[within], rows[within - 1])


def _differ(content: Sequence[_Column], rows: Places, others: Places) -> _Flags:
    found = np.zeros(rows.size, np.bool_)
    for column in content:
        found |= column.differ(rows, others)
    return found


class _Column:
    """Values of which only two things matter: whether two are the same, and which comes first."""

    def __init__(self, values: Any) -> None:
        """Hold an Arrow column."""
        self._given = values

    @cached_property
    def _values(self) -> Any:
        """The column in one piece: to take from many chunks would join them at every call."""
        return self._given.combine_chunks() if hasattr(self._given, "chunks") else self._given

    @cached_property
    def _codes(self) -> NDArray[Any] | None:
        """Whole numbers as such, which are compared faster; others are numbered when met."""
        return _coded(self._given) if _is_whole(self._given) else None

    def differ(self, rows: Places, others: Places) -> _Flags:
        """Say where the value of one row is not that of the other."""
        if self._codes is not None:
            return np.asarray(self._codes[rows] != self._codes[others])
        both = _coded(self._values.take(in_arrow(np.concatenate([rows, others]))))
        return np.asarray(both[: rows.size] != both[rows.size :])

    def ranks(self, rows: Places) -> Places:
        """Return numbers in the order of the values, NULL last."""
        import pyarrow as pa
        import pyarrow.compute as pc

        taken = self._values.take(in_arrow(rows))
        if pa.types.is_boolean(taken.type):
            taken = taken.cast(pa.int8())
        return integers(pc.rank(taken, "ascending", tiebreaker="dense").cast(pa.int64()))


def numbered(unit: Any) -> Numbers:
    """Return numbers from 0 up, not many more than rows, that are equal where the unit is.

    Args:
        unit: whose each row is: an Arrow column without NULL, equal where the unit is the same, and
            without dictionaries, which may differ from chunk to chunk.
    """
    import pyarrow as pa

    if pa.types.is_floating(unit.type):  # zero is one unit, whatever its sign
        numbers = _joined(_chunks(unit)).astype(np.float64) + 0.0
        unit = pa.chunked_array([in_arrow(numbers)])
    held = [_joined([chunk]) for chunk in _chunks(unit)] if _is_whole(unit) else [_coded(unit)]
    pieces = [piece for piece in held if piece.size]
    low = min((int(piece.min()) for piece in pieces), default=0)
    high = max((int(piece.max()) for piece in pieces), default=0)
    if high - low > _SPARSE * len(unit):
        pieces, low = [_coded(unit.dictionary_encode())], 0
    found: Numbers = np.empty(len(unit), np.int64 if len(unit) >= 2**29 else np.int32)
    at = 0
    for piece in pieces:
        # In 64 bits: in fewer, differences could overflow.
        wide = piece if piece.dtype.itemsize == 8 else piece.astype(np.int64)
        out = found[at : at + wide.size]
        np.subtract(wide, wide.dtype.type(low), out=out, casting="unsafe")
        at += wide.size
    return found


def _coded(column: Any) -> NDArray[Any]:
    """Return whole numbers that are equal where the values of an Arrow column are."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        return _joined([chunk.indices for chunk in _chunks(column)])
    if _is_whole(column):
        return _joined(_chunks(column))
    return _coded(column.dictionary_encode(null_encoding="encode"))


def _is_whole(column: Any) -> bool:
    import pyarrow as pa

    return pa.types.is_integer(column.type) and not column.null_count


def _bits(turn: Any) -> _Turns:
    return _joined([] if turn is None else _chunks(turn)).astype(np.uint32, copy=False)


def _chunks(column: Any) -> list[Any]:
    return list(getattr(column, "chunks", [column]))


def in_arrow(array: NDArray[Any]) -> Any:
    """Return 64-bit numbers as Arrow holds them; its own way would load pandas, if there is one."""
    import pyarrow as pa

    held = pa.float64() if array.dtype == np.float64 else pa.int64()
    return pa.Array.from_buffers(
        held, array.size, [None, pa.py_buffer(np.ascontiguousarray(array))]
    )


def _joined(chunks: Sequence[Any]) -> NDArray[Any]:
    # Through DLPack: Arrow's own way would load pandas, if there is one.
    parts: list[NDArray[Any]] = [np.from_dlpack(chunk) for chunk in chunks if len(chunk)]
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)
