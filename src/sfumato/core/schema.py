"""Public facts about columns. What is not declared here does not exist for the analyst.

A declaration is the owner's word, never read off the data: bounds and categories found in the data
would themselves be an unpaid release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from fractions import Fraction
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, overload

from sfumato.core.codec import canonical
from sfumato.core.errors import ColumnError, InputError, UnknownName
from sfumato.core.listing import listed
from sfumato.core.number import Exactable, exact, is_integer, positive, show

_LIMIT = 2**62  # steps between bounds; sums of them must stay countable in integers
_NO_STEP = Fraction(0)
_FARTHEST = 2**53 - 1  # steps from zero, where no bounds are declared: a double counts so far


@dataclass(frozen=True, slots=True)
class Column:
    """A declared column. Use a subclass."""

    nullable: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        """Check that `nullable` is a truth value: any word would be true."""
        if not isinstance(self.nullable, bool):
            raise ColumnError("nullable= says whether a value may be missing: True or False.")


@canonical
@dataclass(frozen=True, slots=True)
class Integer(Column):
    """Whole numbers from `low` to `high`, both included; values beyond count as the bound.

    Without bounds the column can be filtered by and counted, and summed once a range for it is
    given or bought.
    """

    low: int | None = None
    high: int | None = None

    def __post_init__(self) -> None:
        """Check the bounds."""
        Column.__post_init__(self)
        if not _has_bounds(self.low, self.high):
            return
        for name in ("low", "high"):
            bound = _declared(exact, getattr(self, name), name)
            if bound.denominator != 1:
                raise ColumnError(
                    f"{name} = {show(bound)} of an Integer must be a whole number. "
                    f"Round it outwards, or declare a Real with a step."
                )
            object.__setattr__(self, name, int(bound))
        _check_order(*self.bounds, Fraction(1))

    @property
    def bounds(self) -> tuple[int, int]:
        """What values are clamped to: the declared bounds, or 2^53 - 1 on both sides of zero."""
        if self.low is None or self.high is None:
            return -_FARTHEST, _FARTHEST
        return self.low, self.high


@canonical
@dataclass(frozen=True, slots=True)
class Real(Column):
    """Numbers from `low` to `high` in steps of `step`; values are rounded to the nearest step.

    The step is public and chosen by the owner: a hundredth for money, a tenth for a temperature.
    Without bounds the column can be filtered by and counted, and summed once a range for it is
    given or bought.
    """

    low: Fraction | None = None
    high: Fraction | None = None
    step: Fraction = _NO_STEP

    if TYPE_CHECKING:  # what is taken; the fields are what is held

        @overload
        def __init__(
            self, low: Exactable, high: Exactable, step: Exactable, *, nullable: bool = False
        ) -> None: ...

        @overload
        def __init__(
            self, low: None = None, high: None = None, *, step: Exactable, nullable: bool = False
        ) -> None: ...

        def __init__(
            self, low: Any = None, high: Any = None, step: Any = None, *, nullable: bool = False
        ) -> None: ...

    def __post_init__(self) -> None:
        """Check bounds and step."""
        Column.__post_init__(self)
        if self.step is _NO_STEP:
            raise ColumnError(
                "step is missing: a Real is counted in whole steps, and how fine they are is for "
                "the owner to say. Pass step='0.01' for hundredths; whole numbers are an Integer."
            )
        object.__setattr__(self, "step", _declared(positive, self.step, "step"))
        if not _has_bounds(self.low, self.high):
            return
        for name in ("low", "high"):
            object.__setattr__(self, name, _declared(exact, getattr(self, name), name))
        _check_order(*self.bounds, self.step)
        for name in ("low", "high"):
            if (getattr(self, name) / self.step).denominator != 1:
                raise ColumnError(
                    f"{name} = {show(getattr(self, name))} is not a multiple of the step "
                    f"{show(self.step)}, so values could not be counted in whole steps. "
                    f"Move the bound onto the grid or choose a finer step."
                )

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        """What values are clamped to: the declared bounds, or 2^53 - 1 steps around zero."""
        if self.low is None or self.high is None:
            return -_FARTHEST * self.step, _FARTHEST * self.step
        return self.low, self.high


@canonical
@dataclass(frozen=True, slots=True)
class Category(Column):
    """One of the listed values; anything else counts as missing."""

    values: tuple[str | int, ...]

    if TYPE_CHECKING:

        def __init__(self, values: Iterable[str | int], *, nullable: bool = False) -> None: ...

    def __post_init__(self) -> None:
        """Check the list."""
        Column.__post_init__(self)
        values = _listed(self.values)
        if not values or any(not isinstance(v, str) and not is_integer(v) for v in values):
            raise ColumnError(
                "a Category needs at least one value, each a string or a whole number. "
                "For values that nobody listed use Text and buy the keys."
            )
        if len(set(values)) != len(values):
            raise ColumnError("the values of a Category must be distinct. List each once.")
        plain = tuple(str(v) if isinstance(v, str) else int(v) for v in values)
        object.__setattr__(self, "values", plain)


@canonical
@dataclass(frozen=True, slots=True)
class Boolean(Column):
    """True or false."""


@canonical
@dataclass(frozen=True, slots=True)
class Date(Column):
    """Days from `low` to `high`, both included, as ``date`` or ISO text; held as ISO text."""

    low: str
    high: str

    if TYPE_CHECKING:

        def __init__(
            self, low: date | str, high: date | str, *, nullable: bool = False
        ) -> None: ...

    def __post_init__(self) -> None:
        """Check the bounds."""
        Column.__post_init__(self)
        low, high = _moment(self.low, date), _moment(self.high, date)
        object.__setattr__(self, "low", low.isoformat())
        object.__setattr__(self, "high", high.isoformat())
        _check_order(low.toordinal(), high.toordinal(), Fraction(1))


@canonical
@dataclass(frozen=True, slots=True)
class Timestamp(Column):
    """Moments from `low` to `high` in steps of `step` seconds, no time zone; held as ISO text."""

    low: str
    high: str
    step: Fraction = Fraction(1)

    if TYPE_CHECKING:

        def __init__(
            self,
            low: datetime | str,
            high: datetime | str,
            step: Exactable = 1,
            *,
            nullable: bool = False,
        ) -> None: ...

    def __post_init__(self) -> None:
        """Check bounds and step."""
        Column.__post_init__(self)
        low, high = _moment(self.low, datetime), _moment(self.high, datetime)
        if low.tzinfo or high.tzinfo:
            raise ColumnError("Timestamp bounds carry no time zone: declare the column in UTC.")
        object.__setattr__(self, "step", _declared(positive, self.step, "step"))
        object.__setattr__(self, "low", low.isoformat())
        object.__setattr__(self, "high", high.isoformat())
        seconds = Fraction((high - low) // timedelta(microseconds=1), 10**6)
        _check_order(0, seconds, self.step)
        if (seconds / self.step).denominator != 1:
            raise ColumnError(
                f"from low to high is not a whole number of steps of {show(self.step)} seconds. "
                f"Move a bound onto the grid or choose a finer step."
            )


@canonical
@dataclass(frozen=True, slots=True)
class Text(Column):
    """Any text: it can be grouped by keys that are given or bought, and not aggregated."""


@canonical
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Schema(Mapping[str, Column]):
    """The declared columns of one table, by name.

    Example:
        >>> schema = Schema(age=Integer(0, 120), zone=Category(["A", "B"]))
        >>> list(schema), schema["age"].high
        (['age', 'zone'], 120)
    """

    columns: tuple[tuple[str, Column], ...]

    def __init__(self, columns: Any = None, /, **named: Column) -> None:
        """Take columns as keywords, or as one mapping where a name is not an identifier."""
        if columns is None and list(named) == ["columns"] and isinstance(named["columns"], tuple):
            columns, named = named["columns"], {}  # from the codec
        everything: dict[str, Column] = {}
        for name, column in (*_pairs(columns), *named.items()):
            if not isinstance(name, str) or not name:
                raise ColumnError("a column needs a name.")
            if name in everything:
                raise ColumnError(f"column {name!r} is declared twice. Keep one declaration.")
            if not isinstance(column, Column) or type(column) is Column:
                kind = (
                    f"class {column.__name__}"
                    if isinstance(column, type)
                    else type(column).__name__
                )
                raise ColumnError(
                    f"column {name!r} is declared as a {kind}, which is no column. Pass one, such "
                    f"as Integer(0, 120): Integer, Real, Category, Boolean, Date, Timestamp, Text."
                )
            everything[name] = column
        object.__setattr__(self, "columns", tuple(everything.items()))

    def __getitem__(self, name: str) -> Column:
        """Return the declaration of one column, or say which exist."""
        for known, column in self.columns:
            if known == name:
                return column
        raise UnknownName(
            f"no column {name!r} is declared; there are: {', '.join(self) or 'none'}."
        )

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names, in the order declared."""
        return (name for name, _ in self.columns)

    def __len__(self) -> int:
        """Count the columns."""
        return len(self.columns)

    def __hash__(self) -> int:
        """Hash by content."""
        return hash(self.columns)

    def __repr__(self) -> str:
        """Show the declarations."""
        # Python folds some letters of a keyword into others, so only ASCII names are written so.
        if all(name.isascii() and name.isidentifier() and not iskeyword(name) for name in self):
            return f"Schema({', '.join(f'{name}={column!r}' for name, column in self.columns)})"
        return f"Schema({dict(self.columns)!r})"


def _pairs(columns: Any) -> list[tuple[Any, Any]]:
    """Return names and columns of a mapping, or of a list of pairs."""
    if isinstance(columns, Mapping):
        return list(columns.items())
    if columns is None:
        return []
    if not isinstance(columns, list | tuple) or any(
        not isinstance(pair, list | tuple) or len(pair) != 2 for pair in columns
    ):
        raise ColumnError(
            "a schema takes columns as keywords, or as one mapping from name to column. "
            "Pass Schema(age=Integer(0, 120)) or Schema({'first name': Text()})."
        )
    return [(name, column) for name, column in columns]


def _listed(values: Any) -> tuple[Any, ...]:
    """Return the values of anything that has an order; a set has none."""
    found = None if isinstance(values, Set) else listed(values)
    if found is None:
        raise ColumnError("a Category needs a list of values. Pass Category(['A', 'B']).")
    return found


def _declared(check: Callable[[Any, str], Fraction], value: Any, name: str) -> Fraction:
    """Check a number; what is wrong with it is wrong with the declaration."""
    try:
        return check(value, name)
    except InputError as problem:
        raise ColumnError(problem.message) from None


def _has_bounds(low: Any, high: Any) -> bool:
    """Say whether bounds are declared; both are, or none is."""
    if (low is None) != (high is None):
        raise ColumnError(
            f"{'low' if low is None else 'high'} is missing: a range has two ends. Declare both, "
            f"or none; clamp(x, low, high) in a question cuts one that nobody declared."
        )
    return low is not None


def _moment(value: Any, kind: type[Any]) -> Any:
    """Read a date or datetime, or its ISO text."""
    if isinstance(value, str):
        try:
            return kind.fromisoformat(value)
        except ValueError:
            pass
    elif type(value) is kind:
        return value
    raise ColumnError(
        f"a {kind.__name__} bound must be a {kind.__name__} or ISO text such as "
        f"{'2026-01-31' if kind is date else '2026-01-31T12:00:00'}."
    )


def _check_order(low: Fraction | int, high: Fraction | int, step: Fraction) -> None:
    if low >= high:
        raise ColumnError(
            "low must be below high: bounds that are reversed or equal leave nothing to measure. "
            "Declare the range that values may have before anyone looks at the data."
        )
    if max(abs(Fraction(low)), abs(Fraction(high))) / step > _LIMIT:
        raise ColumnError(
            "a bound lies more than 2^62 steps from zero, beyond the integers that can be summed. "
            "Declare tighter bounds or a coarser step."
        )
