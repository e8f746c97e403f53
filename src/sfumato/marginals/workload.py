"""Which marginals are wanted, and for which columns ranges of values matter more than values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import Any, TypeAlias

from sfumato.core.errors import InputError, UnknownName
from sfumato.core.listing import listed

Names: TypeAlias = tuple[str, ...]

MOST_MARGINALS = 1_000_000  # of one workload; each is planned for


@dataclass(frozen=True, slots=True)
class Workload:
    """The marginals that a release is planned for. It answers their own marginals as well.

    Make one with `all` or `of`; ``+`` puts two together.

    Attributes:
        ways: of how many columns every marginal is wanted; none if they are listed.
        listed: marginals by the names of their columns.
        prefix: columns of which counts up to a value are asked for, rather than of single values.
        ranges: columns of which counts between two values are asked for.

    Example:
        >>> all(1, 2) + of(("age", "sex", "zone"))
        Workload(ways=(1, 2), listed=(('age', 'sex', 'zone'),), prefix=(), ranges=())
    """

    ways: tuple[int, ...] = ()
    listed: tuple[Names, ...] = ()
    prefix: Names = ()
    ranges: Names = ()

    def __post_init__(self) -> None:
        """Refuse a column that is planned for in two ways."""
        if both := set(self.prefix) & set(self.ranges):
            raise InputError(
                f"{min(both)!r} is named for prefix= and for ranges=. Ranges are differences of "
                f"two prefixes: keep the one that is asked more."
            )

    def __add__(self, other: Workload) -> Workload:
        """Want both."""
        if not isinstance(other, Workload):
            return NotImplemented
        return Workload(
            _once(self.ways, other.ways),
            _once(self.listed, other.listed),
            _once(self.prefix, other.prefix),
            _once(self.ranges, other.ranges),
        )

    @property
    def named(self) -> Names:
        """The columns that are named, in the order in which they first are."""
        every = [*(name for names in self.listed for name in names), *self.prefix, *self.ranges]
        return tuple(dict.fromkeys(every))

    def marginals(self, columns: Sequence[str]) -> list[tuple[int, ...]]:
        """Return the marginals of a table, each as the increasing places of its columns.

        Args:
            columns: the columns of the table.

        Raises:
            InputError: there are fewer columns than a marginal would have, or too many marginals.
            UnknownName: a column is named that the table does not have.
        """
        place = {name: i for i, name in enumerate(columns)}
        for name in (*self.prefix, *self.ranges, *(n for names in self.listed for n in names)):
            if name not in place:
                raise UnknownName(
                    f"no column {name!r} to count by; there are: {', '.join(columns)}."
                )
        number = sum(comb(len(columns), way) for way in self.ways) + len(self.listed)
        if number > MOST_MARGINALS:
            raise InputError(
                f"this workload has {number:,} marginals, more than the {MOST_MARGINALS:,} that "
                f"are planned for at once. Name fewer columns with columns=, or list the marginals."
            )
        for way in self.ways:
            if way > len(columns):
                raise InputError(
                    f"a marginal of {way} columns is wanted, and there are {len(columns)}: "
                    f"{', '.join(columns)}. Pass a smaller number."
                )
        found = [chosen for way in self.ways for chosen in combinations(range(len(columns)), way)]
        found += [tuple(sorted(place[name] for name in names)) for names in self.listed]
        return list(dict.fromkeys(found))


def all(*ways: int, prefix: str | Iterable[str] = (), ranges: str | Iterable[str] = ()) -> Workload:
    """Want every marginal of so many columns.

    Args:
        ways: how many columns; several numbers for marginals of several sizes.
        prefix: columns of numbers for which counts up to a value matter.
        ranges: columns of numbers for which counts between two values matter.

    Raises:
        InputError: no number, or one that is not whole or below 0.

    Example:
        >>> all(2).marginals(["age", "sex", "zone"])
        [(0, 1), (0, 2), (1, 2)]
    """
    if not ways or any(type(way) is not int or way < 0 for way in ways):
        raise InputError(
            "all takes how many columns a marginal has: all(2), or all(1, 2) for those of one "
            "column too."
        )
    return _ordered(Workload(ways=_once(ways)), prefix, ranges)


def of(
    *marginals: str | Sequence[str],
    prefix: str | Iterable[str] = (),
    ranges: str | Iterable[str] = (),
) -> Workload:
    """Want some marginals, each named by its columns.

    Args:
        marginals: the names of the columns of each: ``("age", "sex")``, or ``"age"`` for one.
        prefix: columns of numbers for which counts up to a value matter.
        ranges: columns of numbers for which counts between two values matter.

    Raises:
        InputError: none, or a column twice in one.

    Example:
        >>> of("age", ("sex", "zone")).listed
        (('age',), ('sex', 'zone'))
    """
    named = tuple(_names(marginal) for marginal in marginals)
    if not named:
        raise InputError("of takes marginals by the names of their columns: of(('age', 'sex')).")
    for names in named:
        if len(set(names)) != len(names):
            raise InputError(
                f"a marginal names a column twice: {', '.join(names)}. Name each once."
            )
    return _ordered(Workload(listed=_once(named)), prefix, ranges)


def workload_of(given: Any) -> Workload:
    """Return a workload as it is, or make one of a list of marginals."""
    if isinstance(given, Workload):
        if not given.ways and not given.listed:
            raise InputError("this workload wants no marginal. Make one with all(2).")
        return given
    if (marginals := listed(given)) is None:
        raise InputError(
            "a workload is sf.marginals.all(2), or a list of marginals by the names of their "
            "columns: [('age', 'sex'), ('zone',)]."
        )
    return of(*marginals)


def _names(given: Any) -> Names:
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, list | tuple) or any(not isinstance(name, str) for name in names):
        raise InputError("a marginal is named by its columns, texts: ('age', 'sex').")
    return tuple(names)


def _ordered(made: Workload, prefix: Any, ranges: Any) -> Workload:
    given = [_names(each if isinstance(each, str) else listed(each)) for each in (prefix, ranges)]
    return replace(made, prefix=_once(given[0]), ranges=_once(given[1]))


def _once(*groups: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(each for group in groups for each in group))
