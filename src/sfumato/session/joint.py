"""How two private tables are put side by side: along a link, or by the unit that they share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from sfumato.core.errors import QueryError
from sfumato.relation.bound import meets, most_rows, reach, truncated
from sfumato.relation.expr import known
from sfumato.relation.link import Link
from sfumato.relation.node import Node, Truncate, UnitJoin, refuse_itself, rows_of, scope, sources

How: TypeAlias = Literal["inner", "left"]
Pairs: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Way:
    """One link between the tables of two relations.

    Attributes:
        child: the table that has the column.
        link: the link.
        backward: whether the column is in the second relation.
    """

    child: str
    link: Link
    backward: bool

    @property
    def ends(self) -> tuple[str, str]:
        """The columns at its ends, in the order of the relations."""
        ends = (self.link.column, self.link.key)
        return ends[::-1] if self.backward else ends

    def __str__(self) -> str:
        return f"{self.child}.{self.link}"

    def followed(self, first: Node, second: Node, on: Pairs, how: How) -> UnitJoin:
        """Return the join: the rows are those of the table that has the column."""
        if not self.backward:
            return UnitJoin(first, second, on, how, self.child, self.link)
        if how == "left":
            raise QueryError(
                f"along {self} each row of {self.child!r} has at most one of {self.link.table!r}, "
                f"so that rows can be kept on that side only. Write it the other way round: call "
                f"join on {self.child!r}, or leave out how='left'."
            )
        flipped = tuple((b, a) for a, b in on)
        return UnitJoin(second, first, flipped, how, self.child, self.link)


def joint(first: Node, second: Node, on: Any, how: How) -> UnitJoin:
    """Join two private relations.

    Rows meet if they belong to the same unit, and if columns are equal or a link leads from one to
    the other. Where no link says that a row meets one at most, no more rows of a unit are taken
    from either relation than their owner's caps let count.

    Args:
        first: the rows.
        second: what is put beside them.
        on: the columns that must be equal, by name or as pairs; None for the one link that there
            is, or for the unit.
        how: whether rows that meet nobody are kept.

    Raises:
        QueryError: the two cannot be joined so.
    """
    refuse_itself(first, second)
    ways = list(_ways(first, second))
    if on is None:
        return _unasked(first, second, ways, how)
    by_unit, followed, columns = False, list[_Way](), list[tuple[str, str]]()
    for pair, same in _pairs(on):
        along = [way for way in ways if way.ends == pair]
        owners = _names_unit(first, pair[0]), _names_unit(second, pair[1])
        if all(owners) or (same and any(owners)):
            by_unit = True
        elif along and not (pair[0] in scope(first) and pair[1] in scope(second)):
            followed += along
        else:
            known(pair[0], scope(first))
            columns.append(pair)
    on_columns = tuple(columns)
    if len(followed) > 1:
        raise QueryError("one link is followed at a time. Join along one of them, then again.")
    if not followed and by_unit:
        # Where both ends of a link name the unit, the same unit is the same key.
        direct = [way for way in ways if _is_direct(way, first, second)]
        followed = [way for way in direct if _leads(way, first, second) and _keeps(way, how)]
    if followed:
        return followed[0].followed(first, second, on_columns, how)
    return _by_unit(first, second, on_columns, how)


def _unasked(first: Node, second: Node, ways: Sequence[_Way], how: How) -> UnitJoin:
    usable = [way for way in ways if _leads(way, first, second)]
    if len(usable) == 1:
        return usable[0].followed(first, second, (), how)
    if not usable and (reach(second).rows == 1 or _one_row(second)):
        return _by_unit(first, second, (), how)
    listed = "; ".join(map(str, usable)) or "none that can be followed"
    raise QueryError(
        f"nobody can say which rows belong together: of links between the two tables there is "
        f"{listed}, and a unit may have several rows on the right. Say on= which columns are "
        f"equal, with the one that names the unit for all rows of a unit; or declare a link."
    )


def _by_unit(first: Node, second: Node, on: Pairs, how: How) -> UnitJoin:
    """Join by the unit; where rows come several times, both sides have a bounded number of them.

    Else a unit with many rows on the left would make so many more that memory may not suffice.
    """
    right = truncated(second, tuple(other for _, other in on))
    joined = UnitJoin(first, right, on, how)
    if meets(joined) == 1 or reach(first).rows is not None:
        return joined
    return UnitJoin(Truncate(first, (), None, None, most_rows(first)), right, on, how)


def _one_row(node: Node) -> bool:
    return sum(source.unit.most_rows or 2 for source in sources(node)) == 1


def _ways(first: Node, second: Node) -> Iterator[_Way]:
    """Yield the links that lead from one of the two to the other."""
    for backward, (children, parents) in enumerate(((first, second), (second, first))):
        names = {source.name for source in sources(parents)}
        for child in sources(children):
            for link in child.links:
                if link.table in names:
                    yield _Way(child.name, link, bool(backward))


def _leads(way: _Way, first: Node, second: Node) -> bool:
    """Say whether the rows on the side of the key are still those that have it."""
    parent = rows_of(first if way.backward else second)
    return parent is not None and parent.name == way.link.table


def _is_direct(way: _Way, first: Node, second: Node) -> bool:
    one, other = way.ends
    return _names_unit(first, one) and _names_unit(second, other)


def _keeps(way: _Way, how: How) -> bool:
    return not (way.backward and how == "left")


def _names_unit(node: Node, column: str) -> bool:
    return column not in scope(node) and any(s.names_unit(column) for s in sources(node))


def _pairs(on: Any) -> Iterator[tuple[tuple[str, str], bool]]:
    """Yield pairs of columns, and whether one name was given for both."""
    if isinstance(on, Mapping):
        given = [(pair, False) for pair in on.items()]
    else:
        given = [((name, name), True) for name in ([on] if isinstance(on, str) else _listed(on))]
    if not given or not all(isinstance(name, str) for pair, _ in given for name in pair):
        raise QueryError(
            "join takes the columns that must be equal: on='day', or on={'day': 'date'} where "
            "they are called otherwise on the right."
        )
    yield from given


def _listed(on: Any) -> list[Any]:
    return list(on) if isinstance(on, Sequence) and not isinstance(on, bytes) else []
