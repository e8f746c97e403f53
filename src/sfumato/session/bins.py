"""Public bins of a column: what a histogram counts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import islice, pairwise
from typing import Any, TypeAlias

from sfumato.core.errors import InputError, KeysError
from sfumato.core.number import exact, is_integer
from sfumato.relation.expr import Call, Constant, Expr, Name, Scope, known
from sfumato.relation.keys import Keys
from sfumato.relation.kind import NAMES, Day, Instant, Kind, Number, value

MOST = 1000  # bins of one histogram: each is a comparison in every row

Written: TypeAlias = int | Fraction | str


@dataclass(frozen=True, slots=True)
class Bins:
    """Bins between edges, in order: each holds its lower edge, the last one both.

    Attributes:
        column: the column that is cut into bins; the column of their labels is called so too.
        edges: the edges as they are written.
        bounds: the declared bounds of the column, to which its values are clamped.
    """

    column: str
    edges: tuple[Written, ...]
    bounds: tuple[Any, Any]

    @classmethod
    def of(cls, scope: Scope, column: str, edges: Any) -> Bins:
        """Check edges, or find them for a number of equal bins over the declared bounds.

        Raises:
            UnknownName: no such column.
            KeysError: a column without an order, or edges that make no bins.

        Example:
            >>> Bins.of({"age": Number(0, 99)}, "age", 4).labels
            ('[0, 25)', '[25, 50)', '[50, 75)', '[75, 99]')
        """
        kind = known(column, scope)
        if not isinstance(kind, Number | Day | Instant):
            raise KeysError(
                f"a histogram has bins of numbers, dates or timestamps, and {column!r} is "
                f"{NAMES[type(kind)]}. Count its values with group_by({column!r}).count()."
            )
        low = 0 if isinstance(kind, Instant) else kind.low
        bounds = _plain(value(kind, low)), _plain(value(kind, kind.high))
        if is_integer(edges):
            return cls(column, _equal(column, kind, int(edges)), bounds)
        try:
            listed = None if isinstance(edges, str | bytes) else list(islice(edges, MOST + 2))
        except TypeError:  # nothing to iterate over
            listed = None
        if listed is None:
            raise KeysError(
                "the bins of a histogram are a list of edges, such as [0, 10, 50, 200], or how "
                "many of equal width there are, such as 20. Pass the one or the other."
            )
        found = [_edge(kind, edge) for edge in listed]
        if not 2 <= len(found) <= MOST + 1 or any(not a < b for a, b in pairwise(found)):
            raise KeysError(
                f"a histogram has from 2 to {MOST + 1:,} edges, each above the one before, and "
                f"these are not so. Sort them and name each once."
            )
        return cls(column, tuple(_plain(edge) for edge in found), bounds)

    @property
    def labels(self) -> tuple[str, ...]:
        """What the bins are called: ``[0, 10)``, and ``[10, 20]`` for the last."""
        written = [_written(edge) for edge in self.edges]
        ends = [")"] * (len(written) - 2) + ["]"]
        return tuple(f"[{a}, {b}{end}" for (a, b), end in zip(pairwise(written), ends, strict=True))

    @property
    def expr(self) -> Expr:
        """The label of the bin that a row is in; NULL outside of all bins."""
        this, (first, *rest) = Name(self.column), map(Constant, self.edges)
        signs = ["<"] * (len(rest) - 1) + ["<="]
        arms: list[Expr] = [Call("<", (this, first)), Constant(None)]
        for sign, edge, label in zip(signs, rest, self.labels, strict=True):
            arms += [Call(sign, (this, edge)), Constant(label)]
        return Call("case", tuple(arms))

    @property
    def note(self) -> str:
        """What an answer says about values outside."""
        low, high = map(_written, self.bounds)
        outside = ["missing"]
        if self.edges[0] > self.bounds[0]:
            outside.append(f"below {_written(self.edges[0])}")
        if self.edges[-1] < self.bounds[1]:
            outside.append(f"above {_written(self.edges[-1])}")
        return (
            f"{self.column} below {low} counts as {low}, above {high} as {high}, and a row where "
            f"it is {' or '.join(outside)} is in no bin"
        )

    def within(self, keys: Keys, scope: Scope) -> Keys:
        """Return the bins in each of some groups.

        Args:
            keys: the groups; none for the whole table.
            scope: the columns, with that of the bins in the place of the column.
        """
        if self.column in keys.columns:
            raise KeysError(
                f"{self.column!r} is grouped by already. Make its bins from a copy of it: "
                f"with_columns(bin={self.column!r})."
            )
        listed = {
            name: [value(kind, held) for held in codes]
            for name, kind, codes in zip(keys.columns, keys.kinds, keys.codes, strict=True)
            if codes is not None
        }
        return Keys.of(scope, [*keys.columns, self.column], listed)


def _equal(column: str, kind: Number | Day | Instant, count: int) -> tuple[Written, ...]:
    """Return edges of bins of one width, a whole number of steps, rounded up; the last may be less.

    Bins whose widths differ by a step would look as if values came and went. Rounded up, there may
    be fewer than asked for.
    """
    low, high = (0, kind.high) if isinstance(kind, Instant) else (kind.low, kind.high)
    whole = isinstance(kind, Day) or (isinstance(kind, Number) and kind.step == 1)
    span = high - low
    if not 1 <= count <= min(MOST, span + whole):
        raise KeysError(
            f"a histogram has from 1 to {MOST:,} bins, no more than its column has values, and "
            f"{count:,} are too many or too few for {column!r}. Ask for another number, or list "
            f"the edges."
        )
    if span % count:
        span += whole  # where bounds do not divide, values do: 24 bins are 24 hours
    starts = range(low, low + span, -(-span // count))
    return tuple(_plain(value(kind, k)) for k in (*starts, high))


def _edge(kind: Kind, given: Any) -> Any:
    """Read one edge as something that can be compared."""
    if isinstance(kind, Number):
        return exact(given, "edge")
    text = given if isinstance(given, str) else getattr(given, "isoformat", str)()
    what = "a date, such as '2026-07-01'"
    try:
        if isinstance(kind, Day):
            return date.fromisoformat(text)
        what = "a timestamp without a zone, such as '2026-07-01 12:00'"
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            return moment
    except (ValueError, TypeError):
        pass  # not ISO
    raise InputError(f"{given!r} is no edge of a bin here. Pass {what}.")


def _plain(edge: Any) -> Written:
    """Return an edge as an expression writes it."""
    if isinstance(edge, date):
        return edge.isoformat()
    return int(edge) if isinstance(edge, Fraction) and edge.denominator == 1 else edge


def _written(edge: Written) -> str:
    """Write an edge with all its digits, so that different bins have different names."""
    if not isinstance(edge, Fraction):
        return str(edge)
    rest = edge.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest != 1:
        return str(edge)
    with localcontext(prec=5000):
        return f"{Decimal(edge.numerator) / Decimal(edge.denominator):f}"
