"""One measured quantity of a release: noisy values, their intervals, and where they come from."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from operator import le
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from sfumato.core.codec import LATER, LONG, canonical
from sfumato.core.errors import DataError, InputError
from sfumato.core.number import Exactable, exact, nonnegative
from sfumato.release.error import NOISE_ONLY, quantity
from sfumato.release.form import Form
from sfumato.release.format import approximate, shown_end

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sfumato.release.error import Error

Number: TypeAlias = int | Fraction
Kind: TypeAlias = Literal["integer", "rational", "text"]

ENDS = ("values", "low", "high")  # the columns of a measure
_INT64 = 2**63
_FINE = 2**20  # parts of 1 to which computed numbers are rounded

_NOTHING = "nothing"  # what an interval covers that there is none of


class Long:
    """Holds long columns of whole numbers as arrays, until somebody asks for the tuples."""

    __slots__ = ("_long",)

    def _put(self, name: str, column: NDArray[np.int64]) -> None:
        """Hold a column; its slot stays empty."""
        object.__setattr__(self, "_long", {**self._arrays, name: column})
        object.__delattr__(self, name)

    @property
    def _arrays(self) -> dict[str, NDArray[np.int64]]:
        found: dict[str, NDArray[np.int64]] = getattr(self, "_long", {})
        return found

    if not TYPE_CHECKING:  # to a type checker every name would be one

        def __getattr__(self, name: str) -> Any:
            """Build a tuple that nobody has asked for so far."""
            if name == LONG or name not in self._arrays:
                raise AttributeError(name, name=name, obj=self)
            built = tuple(self._arrays[name].tolist())
            object.__setattr__(self, name, built)
            return built


@canonical
@dataclass(frozen=True, slots=True)
class Measure(Long):
    """A named column of noisy values. Build it with `of`.

    Attributes:
        name: what was measured; the name of its column.
        values: the noisy values: integers, rationals on a public grid, or text (a choice).
        low: lower ends of the intervals; None where no interval in the unit of the values is known.
        high: upper ends.
        margin: half the width of an interval that is counted in something else than the values'
            unit, which `covers` names: ranks, for a quantile.
        covers: what the interval covers.
        scale: the noise scale where it is public, exact; else None.
        mechanism: the mechanism and its parameters, as its `repr` shows them.
        kind: what the values are by nature: ``"integer"``, ``"rational"`` (even if all of them
            happen to be whole) or ``"text"``. None finds it from the types.
        form: which draws it is made of, so that one can compute with it; None where that is not
            known, or is no weighted sum and no quotient of two.
    """

    name: str
    values: tuple[Any, ...]
    low: tuple[Number, ...] | None = None
    high: tuple[Number, ...] | None = None
    margin: Fraction | None = None
    covers: str = NOISE_ONLY
    scale: Fraction | None = None
    mechanism: str = ""
    kind: Kind | None = None
    form: Form | None = field(default=None, metadata={LATER: True})

    def __post_init__(self) -> None:
        """Check the parts and bring every number into its one form."""
        check_name(self.name, "a measure")
        if self.kind not in {"integer", "rational", "text"}:
            object.__setattr__(self, "kind", _kind(self.values))
        for column in ENDS:
            given = getattr(self, column)
            if self.kind == "integer" and _is_whole(given):
                self._put(column, _kept(given))
            elif given is not None or column == "values":
                object.__setattr__(self, column, self._held(given))
        for name in ("margin", "scale"):
            if (given := getattr(self, name)) is not None:
                object.__setattr__(self, name, nonnegative(given, name))
        for text in (self.covers, self.mechanism):
            if not isinstance(text, str) or not is_unicode(text):
                raise InputError("covers and mechanism of a measure are text.")
        if self.form is not None and (not isinstance(self.form, Form) or self.kind == "text"):
            raise InputError("form= says of which draws a measure of numbers is made: a Form.")
        self._check_interval()

    @classmethod
    def of(
        cls,
        name: str,
        values: object,
        error: Error | None,
        *,
        confidence: Fraction,
        mechanism: str,
        scale: Exactable | None = None,
        form: Form | None = None,
    ) -> Measure:
        """Attach to each value the interval that `error` gives at `confidence`.

        Args:
            name: what was measured.
            values: one value or an array: ints, Fractions or Decimals, never floats; text or any
                number where it is a choice among public candidates.
            error: the law of the error; None, or one that covers nothing, where no interval is
                public.
            confidence: the probability with which each interval holds.
            mechanism: the mechanism's `repr`.
            scale: the noise scale, where it does not depend on the data.
            form: which draws it is made of.
        """
        covers = _NOTHING if error is None else error.covers
        held: Any = cells(values).ravel()
        kind: Kind = "integer"
        if not _is_whole(held):
            held, kind = _exact_cells(held, choice=quantity(covers) == "score")
        low: Any = None
        high: Any = None
        margin = None
        if error is not None and covers != _NOTHING:
            width = nonnegative(error.halfwidth(confidence), "halfwidth")
            if quantity(covers):
                margin = width
            elif kind == "integer":
                reach = ceil(width)  # outward: it still holds with the stated confidence
                low, high = _moved(held, -reach), _moved(held, reach)
            elif kind == "rational":
                low, high = _moved(held, -width), _moved(held, width)
        return cls(
            name,
            held,
            low,
            high,
            margin,
            covers,
            None if scale is None else exact(scale, "scale"),
            mechanism,
            kind,
            form,
        )

    def __len__(self) -> int:
        """Count the values."""
        return len(self.held("values"))

    def held(self, column: str) -> Any:
        """Return values, low or high as they are held: an array of 64 bits, or a tuple, or None."""
        return self._arrays[column] if column in self._arrays else getattr(self, column)

    def replaced(self, **changes: Any) -> Measure:
        """Return the same with other parts; as `dataclasses.replace`, but arrays stay arrays."""
        return type(self)(**{f.name: self.held(f.name) for f in fields(self)} | changes)

    @property
    def has_interval(self) -> bool:
        """Whether anything is known about the error."""
        return self.held("low") is not None or self.margin is not None

    @property
    def noise(self) -> tuple[Fraction | None, Fraction]:
        """The scale of its noise, where it is public, and what a step of noise is in its unit."""
        return self.scale, Fraction(1) if self.form is None else self.form.step

    @property
    def names(self) -> list[str]:
        """The names of its columns: the values, then interval or margin."""
        if self.held("low") is not None:
            return [self.name, f"{self.name}_low", f"{self.name}_high"]
        margin = [] if self.margin is None else [f"{self.name}_{quantity(self.covers)}_error"]
        return [self.name, *margin]

    def columns(self) -> Iterator[tuple[str, tuple[Any, ...], Kind]]:
        """Yield name, cells and kind of each column: the values, then interval or margin.

        An end that is open is infinite.
        """
        kind: Kind = self.kind or "rational"
        name, *more = self.names
        yield name, self.values, kind
        if self.low is not None and self.high is not None:
            yield more[0], self._shown("low"), kind
            yield more[1], self._shown("high"), kind
        elif self.margin is not None:
            yield more[0], (self.margin,) * len(self), "rational"

    def _shown(self, end: str) -> tuple[Any, ...]:
        ends: tuple[Any, ...] = getattr(self, end)
        if end in self._arrays:  # of 64 bits: no end of these is open
            return ends
        law = self.noise
        return tuple(shown_end(e, v, *law) for e, v in zip(ends, self.values, strict=True))

    def _held(self, given: Iterable[Any]) -> tuple[Any, ...]:
        given = tuple(given)
        if self.kind == "text":
            if not all(isinstance(text, str) and is_unicode(text) for text in given):
                raise DataError(f"measure {self.name!r} is declared as text, but is not all text.")
            return given
        if set(map(type, given)) <= {int if self.kind == "integer" else Fraction}:
            return given
        rationals = tuple(exact(number, self.name) for number in given)
        if self.kind == "rational":
            return rationals
        if any(number.denominator != 1 for number in rationals):
            raise DataError(f"measure {self.name!r} is declared as integer, but has fractions.")
        return tuple(number.numerator for number in rationals)

    def _check_interval(self) -> None:
        values, low, high = (self.held(column) for column in ENDS)
        if (low is None) != (high is None):
            raise InputError("an interval has two ends. Pass low= and high=, or neither.")
        if self.margin is not None and not quantity(self.covers):
            raise InputError(
                f"margin= counts in ranks or scores, and covers={self.covers!r} does not say so. "
                f"Pass low= and high= for an interval in the unit of the values."
            )
        if low is None or high is None:
            return
        if self.kind == "text":
            raise InputError("a text has no interval. Pass neither low= nor high=.")
        most: Callable[[Any, Any], bool] = le if self.kind == "integer" else _at_most
        if not len(low) == len(values) == len(high) or not (
            _all(most, low, values) and _all(most, values, high)
        ):
            raise InputError(
                f"the intervals of {self.name!r} do not hold its values: each value needs a low "
                f"end at or below it and a high end at or above it."
            )


def check_name(name: object, owner: str) -> None:
    """Refuse what cannot name a column: not text, empty, with a NUL in it, or not Unicode."""
    if not isinstance(name, str) or not name or "\0" in name or not is_unicode(name):
        raise InputError(f"{owner} needs a name: a text that is not empty and is valid Unicode.")


def is_unicode(text: str) -> bool:
    """Say whether `text` can be written at all: lone surrogates cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def cells(values: object) -> np.ndarray[Any, Any]:
    """Return what was measured as an array, of the shape it came in."""
    return values if isinstance(values, np.ndarray) else np.array(values, dtype=object)


def fits(number: Number) -> bool:
    """Say whether an integer fits 64 bits."""
    return -_INT64 <= number < _INT64


def view(values: Iterable[Any], kind: Kind) -> np.ndarray[Any, Any]:
    """Return an array for computing with: int64 for integers that fit, float64, or text."""
    if _is_whole(values) and kind == "integer":
        return values.copy()
    values = tuple(values)
    if kind == "text":
        return np.array(values, dtype=np.str_)
    if kind == "integer":
        try:
            return np.array(values, dtype=np.int64)
        except OverflowError:  # one does not fit
            pass
    return np.array([approximate(number) for number in values], dtype=np.float64)


def _is_whole(column: object) -> TypeGuard[NDArray[np.int64]]:
    return isinstance(column, np.ndarray) and column.dtype == np.int64 and column.ndim == 1


def _kept(column: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a column that nobody else can change."""
    base = column.base
    if column.flags.writeable or not isinstance(base, np.ndarray) or base.flags.writeable:
        column = column.copy()
        column.flags.writeable = False
        return column.view()  # of which nobody can make it writable again
    return column


def _moved(column: Any, by: Number) -> Any:
    """Return all numbers moved: of an array an array, if they stay within 64 bits."""
    if not _is_whole(column):
        return tuple(number + by for number in column)
    ends = (int(column.min()), int(column.max())) if column.size else (0, 0)
    if fits(min(ends) + by) and fits(max(ends) + by) and fits(by):
        return column + int(by)
    return tuple(number + by for number in column.tolist())


def _all(holds: Callable[[Any, Any], bool], a: Any, b: Any) -> bool:
    """Say whether something holds of all pairs."""
    if _is_whole(a) and _is_whole(b):
        return bool(np.all(holds(a, b)))
    return all(map(holds, *(each.tolist() if _is_whole(each) else each for each in (a, b))))


def _at_most(a: Number, b: Number) -> bool:
    """Compare two exact numbers; several times faster than Fraction's own way."""
    return a.numerator * b.denominator <= b.numerator * a.denominator


def on_grid(
    low: NDArray[np.float64], values: NDArray[np.float64], high: NDArray[np.float64]
) -> tuple[tuple[Fraction, ...], ...]:
    """Return what was computed in floats as exact numbers on a grid; no interval gets narrower."""

    def rounded(column: NDArray[np.float64], cut: Callable[[float], int]) -> tuple[Fraction, ...]:
        return tuple(Fraction(cut(value * _FINE), _FINE) for value in column.ravel().tolist())

    return rounded(low, floor), rounded(values, round), rounded(high, ceil)


def _exact_cells(array: np.ndarray[Any, Any], *, choice: bool) -> tuple[tuple[Any, ...], Kind]:
    """Flatten to exact values and say what they are by type."""
    flat = array.ravel().tolist()
    if set(map(type, flat)) <= {int}:
        return tuple(flat), "integer"
    if not choice and any(isinstance(value, float | np.floating) for value in flat):
        raise DataError(
            "a released value must be exact, and a float is not: its last digits can tell what the "
            "noise was meant to hide. Release integers, or Fractions on a public grid."
        )
    flat = [int(value) if isinstance(value, bool | np.bool_) else value for value in flat]
    kind = _kind(flat)
    if kind == "text":
        return tuple(flat), kind
    return tuple(exact(value, "value") for value in flat), kind


def _kind(values: Iterable[object]) -> Kind:
    values = tuple(values)
    if values and all(isinstance(value, str) for value in values):
        return "text"
    if all(isinstance(value, int | np.integer) for value in values):
        return "integer"
    if all(isinstance(value, int | float | Fraction | Decimal | np.number) for value in values):
        return "rational"
    raise DataError(
        "a release holds numbers, or text where it is a choice; these values are something else."
    )
