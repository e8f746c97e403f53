"""What a question computes from its numbers once they are released: formulas over their names."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from sqlglot import exp

from sfumato.core.errors import ExpressionError
from sfumato.relation.expr import Constant
from sfumato.relation.kind import Day, Instant, Kind, Truth
from sfumato.sql.aggregate import is_aggregate
from sfumato.sql.place import piece, pointing
from sfumato.sql.select import flat, whole_number
from sfumato.sql.translation import translated

_SIGNS: dict[type, str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/"}
_COMPARED: dict[type, str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.And: "and",
    exp.Or: "or",
}
_WHOLE = ("INT", "BIGINT", "HUGEINT", "INT128", "SMALLINT", "TINYINT")
_REAL = ("DOUBLE", "FLOAT")
_MOMENTS: dict[type, type[date]] = {Day: date, Instant: datetime}
MOST_DIGITS = 18  # behind the point, or before it, that an answer is rounded to


class Formulas:
    """Writes formulas over released columns.

    Args:
        text: the question.
        named: returns the name of the released column that a node is: an aggregate, a key, or
            something selected; None if it is none of them.
        keys: the names of the columns of groups.
        kind: returns the kind of such a name, where it has one: of keys, and of ranks.
    """

    def __init__(
        self,
        text: str,
        named: Callable[[Any], str | None],
        keys: Collection[str],
        kind: Callable[[str], Kind | None],
    ) -> None:
        """Keep what names mean."""
        self.text, self.named, self.keys, self.kind = text, named, keys, kind

    def number(self, node: Any, *, compared: bool = False) -> str:
        """Write a number computed from numbers.

        Args:
            node: the expression.
            compared: whether it is one side of a comparison, where keys may stand too.

        Raises:
            ExpressionError: something that cannot be computed from what is released.
        """
        with pointing(node, self.text):
            if isinstance(node, exp.Literal) and not node.is_string:
                number = str(node.this)  # of a parameter it may be 1/2
                return f"({number})" if "/" in number else number
            if isinstance(node, exp.Paren):
                return f"({self.number(node.this, compared=compared)})"
            if isinstance(node, exp.Neg):
                return f"(-{self.number(node.this)})"
            if type(node) in _SIGNS:
                sign = _SIGNS[type(node)]
                return f"({self.number(node.this)} {sign} {self.number(node.expression)})"
            if cast_to(node) in _REAL:
                return self.number(node.this)
            if isinstance(node, exp.Coalesce) and is_aggregate(node.this):
                return self.number(node.this)  # an answer is never NULL
            if isinstance(node, exp.Nullif) and _is_zero(node.expression):
                return self.number(node.this)  # a quotient knows what is unknown
            name = self.named(node)
            if name is not None and name in self.keys and not compared:
                raise ExpressionError(
                    f"{piece(node, self.text)} names groups, and one computes with numbers alone. "
                    f"Put it into the aggregate: SUM({name} * x)."
                )
            if name is not None:
                return quoted(name)
            if isinstance(node, exp.Round | exp.Cast):
                raise ExpressionError(
                    f"an answer is rounded as a whole, by ROUND(AVG(fare), 2) or CAST(AVG(fare) AS "
                    f"DECIMAL(9, 2)), to {MOST_DIGITS} digits at most, and not so: "
                    f"{piece(node, self.text)}."
                )
            raise ExpressionError(
                f"{piece(node, self.text)} is neither grouped by nor in an aggregate, and from "
                f"answers one computes with + - * / alone. Put it into the aggregate, or group by "
                f"it."
            )

    def condition(self, node: Any) -> str:
        """Write a condition on released columns."""
        with pointing(node, self.text):
            if isinstance(node, exp.Paren):
                return f"({self.condition(node.this)})"
            if isinstance(node, exp.Not):
                return f"(not ({self.condition(node.this)}))"
            if isinstance(node, exp.And | exp.Or):
                kind = type(node)
                parts = [self.condition(part) for part in flat(node, kind)]
                return f"({f' {_COMPARED[kind]} '.join(parts)})"
            if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
                return f"({self._key(node.this)} is null)"
            if isinstance(node, exp.Between) and not node.args.get("symmetric"):
                low = self._compared(">=", node.this, node.args["low"])
                return f"({low} and {self._compared('<=', node.this, node.args['high'])})"
            if isinstance(node, exp.In) and node.expressions:
                each = [self._compared("=", node.this, value) for value in node.expressions]
                return f"({' or '.join(each)})"
            if type(node) in _COMPARED:
                return self._compared(_COMPARED[type(node)], node.this, node.expression)
            if isinstance(self._kind_of(node), Truth):
                return f"{self.number(node, compared=True)} = 1"
            raise ExpressionError(
                f"HAVING compares what is released, and this does not: {piece(node, self.text)}. "
                f"Write HAVING COUNT(*) > 100."
            )

    def _key(self, node: Any) -> str:
        """Write a column of groups: NULL there stands for all of them."""
        name = self.named(node)
        if name is None or name not in self.keys:
            raise ExpressionError(
                f"{piece(node, self.text)} is never NULL: an answer has a number for each group. "
                f"Leave the condition out."
            )
        return quoted(name)

    def _compared(self, sign: str, left: Any, right: Any) -> str:
        """Write a comparison; what is compared with keys is written as they are released."""
        kind = self._kind_of(left) or self._kind_of(right)
        return f"{self._side(left, kind)} {sign} {self._side(right, kind)}"

    def _kind_of(self, node: Any) -> Kind | None:
        """Return the kind of what a side holds, where it is a key or a rank."""
        if isinstance(node, exp.Paren):
            return self._kind_of(node.this)
        if not is_aggregate(node) and not isinstance(node, exp.Column):
            return None
        name = self.named(node)
        return None if name is None else self.kind(name)

    def _side(self, node: Any, kind: Kind | None) -> str:
        if isinstance(kind, Truth) and isinstance(node, exp.Boolean):
            return "1" if node.this else "0"
        text = self._text(node)
        if text is None:
            return self.number(node, compared=True)
        with pointing(node, self.text):
            if type(kind) in _MOMENTS:
                text = _written(text, _MOMENTS[type(kind)])
            if "'" in text:
                raise ExpressionError(
                    "a text with a quote in it cannot be compared with what is released. Use WHERE."
                )
            return f"'{text}'"

    def _text(self, node: Any) -> str | None:
        """Return the text that a literal is, or a date; None if it is neither."""
        if isinstance(node, exp.Literal) and node.is_string:
            return str(node.this)
        if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal):
            found = translated(node, self.text)
            return str(found.value) if isinstance(found, Constant) else None
        return None


def _written(text: str, moment: type[date]) -> str:
    """Write a date or a timestamp as answers hold it."""
    try:
        found = moment.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or getattr(found, "tzinfo", None) is not None:
        example = "2026-01-31 12:00:00" if moment is datetime else "2026-01-31"
        raise ExpressionError(f"this is compared with dates, and is none. Write '{example}'.")
    return found.isoformat()


def rounding(node: Any) -> tuple[Any, Fraction | None]:
    """Return what is rounded and to which step; the node itself and None where nothing is."""
    while isinstance(node, exp.Paren):
        node = node.this
    to = cast_to(node)
    if to in _WHOLE:
        return node.this, Fraction(1)
    if to == "DECIMAL":
        sizes = [each.this for each in node.to.expressions]
        scale = whole_number(sizes[1], MOST_DIGITS) if len(sizes) > 1 else 0
        return (node, None) if scale is None else (node.this, Fraction(1, 10**scale))
    if not isinstance(node, exp.Round):
        return node, None
    digits = node.args.get("decimals")
    sign = 1
    if isinstance(digits, exp.Neg):
        sign, digits = -1, digits.this
    if digits is None:
        return node.this, Fraction(1)
    places = whole_number(digits, MOST_DIGITS)
    return (node, None) if places is None else (node.this, Fraction(10) ** (-sign * places))


def cast_to(node: Any) -> str:
    """Return the name of the type that a number is cast to; an empty text if it is no cast.

    Of the parser's casts some have a type of their own making.
    """
    if type(node) not in (exp.Cast, exp.TryCast) or not isinstance(node.to.this, exp.DType):
        return ""
    return str(node.to.this.name)


def quoted(name: str) -> str:
    """Write a name as released columns are called in formulas."""
    if '"' in name:
        raise ExpressionError(
            f"the name {name!r} has a quote in it, and cannot be computed with. Choose another."
        )
    return f'"{name}"'


def _is_zero(node: Any) -> bool:
    return isinstance(node, exp.Literal) and str(node.this) == "0"
