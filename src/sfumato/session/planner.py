"""From what is asked to what is measured: the questions that outputs share."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import Any

from sfumato.core.errors import ExpressionError, KeysError
from sfumato.relation import (
    Aggregate,
    AnyKeys,
    BoughtKeys,
    Call,
    Constant,
    Distinct,
    Expr,
    Filter,
    Keys,
    Name,
    Node,
    Occurrence,
    PerUnit,
    Project,
    Quantity,
    Rows,
    Summary,
    Total,
    Truncate,
    Units,
    Values,
    bounded,
    reach,
)
from sfumato.relation.bound import Caps, caps, truncated
from sfumato.relation.kind import Number
from sfumato.relation.node import carries, need_unit, scope, sources, unit_columns
from sfumato.relation.source import unused
from sfumato.session.assignment import Share
from sfumato.session.output import Output
from sfumato.session.part import Asked
from sfumato.session.race import race
from sfumato.session.ranks import Ranks, sought_by, together
from sfumato.session.wanted import SPREADS, Wanted


@dataclass(frozen=True, slots=True)
class Questions:
    """What has to be measured for some outputs.

    Attributes:
        node: the relation that most of it is about: filtered, truncated.
        asked: the questions, each once.
        served: quantities that are wanted, and that the selection of groups counts anyway.
        alone: the questions of outputs that share none with others; of a race, one for each level.
    """

    node: Node
    asked: tuple[Aggregate | Occurrence | Ranks, ...]
    served: tuple[Quantity, ...] = ()
    alone: tuple[tuple[Wanted, tuple[Aggregate, ...]], ...] = ()

    @property
    def queries(self) -> tuple[Asked, ...]:
        """The questions as a table is asked them."""
        return tuple(each.bag if isinstance(each, Ranks) else each for each in self.asked)

    @property
    def shares(self) -> tuple[Share, ...]:
        """The questions, each with an even share of the price; levels of a race divide one."""
        levels, counted = [self.levels(each) for each in self.asked], bool(self.served)
        whole = sum((Fraction(1, number) for number in levels), Fraction(0))
        return tuple(
            Share(each, 1 / (number * whole), counted=counted, levels=number)
            for each, number in zip(self.asked, levels, strict=True)
        )

    def levels(self, asked: object) -> int:
        """Return among how many levels of a race a question is one; 1 if it is in none."""
        races = [queries for w, queries in self.alone if w.is_race and asked in queries]
        return min(map(len, races), default=1)

    def only(self, wanted: Sequence[Wanted]) -> Questions:
        """Return what is measured for some of the outputs alone."""
        kept: set[Any] = {each for each in self.asked if isinstance(each, Occurrence)}
        kept |= {query for w in wanted if w.stands_alone for query in self.own(w)}
        for w in (w for w in wanted if w.is_rank):
            sought = set(sought_by(w.output))
            for each in self.asked:
                if isinstance(each, Ranks) and each.bag.expr == w.expr:
                    kept |= {each} if sought & set(each.sought) else set()
        added = {
            each.quantity: each
            for each in self.asked
            if isinstance(each, Aggregate) and each.node == self.node
        }
        for w in wanted:
            if not w.is_rank and not w.stands_alone:
                kept |= {added[q] for q in _made_of(w, {*added, *self.served}) if q in added}
        return replace(self, asked=tuple(each for each in self.asked if each in kept))

    def own(self, wanted: Wanted) -> tuple[Aggregate, ...]:
        """Return the questions of an output that shares none."""
        return dict(self.alone)[wanted]

    def answers(self, query: Aggregate, wanted: Wanted) -> bool:
        """Say whether a question is one that a count or a sum is made of."""
        if wanted.stands_alone:
            return query in self.own(wanted)
        if query.node != self.node:
            return False
        if wanted.function == "sum":
            return isinstance(query.quantity, Total) and query.quantity.expr == wanted.expr
        return query.quantity == wanted.count


def questions(
    wanted: Sequence[Wanted],
    node: Node,
    keys: AnyKeys,
    allowed: Caps | None = None,
    *,
    centered: bool = True,
) -> Questions:
    """Return one question for each quantity, and one for each bag of values.

    Args:
        wanted: the outputs.
        node: the relation.
        keys: its groups.
        allowed: what may count of one unit, where it was bought.
        centered: whether a sum is measured from the middle of its range where that errs less.
    """
    values = tuple(w.expr for w in wanted if w.expr is not None and not w.stands_alone)
    if carries(node) and counts_units(wanted, keys):
        rows, groups, _ = allowed or caps(node)
        # One row of a unit in a group is as good as all: only groups are left out.
        ends = (None, _groups(rows, groups), 1) if keys.columns else (1, None, None)
        relation = bounded(node, keys, values, ends)
    else:
        relation = bounded(node, keys, values, allowed)
    asked: list[Aggregate | Occurrence | Ranks] = []
    served: tuple[Quantity, ...] = ()
    counted = quantities(wanted, centered=centered)
    if isinstance(keys, BoughtKeys):
        asked.append(Occurrence(relation, keys))
        served = tuple(q for q in _same(relation, keys) if q in counted)
    asked += [Aggregate(relation, keys, q) for q in counted if q not in served]
    bags: dict[Expr, list[Output]] = {}
    alone = {w: _alone(w, node, keys, allowed) for w in wanted if w.stands_alone}
    for w in wanted:
        if w.is_rank and w.expr is not None:
            bags.setdefault(w.expr, []).append(w.output)
    asked += dict.fromkeys(query for queries in alone.values() for query in queries)
    for expr, outputs in bags.items():
        asked += together(Values(relation, keys, expr), outputs)
    return Questions(relation, tuple(asked), served, tuple(alone.items()))


def needed(wanted: Sequence[Wanted], node: Node, keys: AnyKeys) -> tuple[str, ...]:
    """Return the caps that the questions for some outputs use, by name.

    A sum that is clamped unit by unit and a count of units let all rows of a unit count: of them
    only the number of groups is capped, by rows where no number of groups is declared.

    Args:
        wanted: the outputs.
        node: the relation.
        keys: its groups.
    """
    grouped = bool(keys.columns)
    alone = [w for w in wanted if w.stands_alone]
    others = [w for w in wanted if not w.stands_alone]
    if any(w.output.per_unit is None for w in alone) or (others and not counts_units(others, keys)):
        return ("max_rows", "max_groups") if grouped else ("max_rows",)
    if not grouped:
        return ()
    declared = all(source.unit.max_groups is not None for source in sources(node))
    return ("max_groups",) if declared else ("max_rows",)


def counts_units(wanted: Sequence[Wanted], keys: AnyKeys) -> bool:
    """Say whether what outputs share is the number of units alone, in groups that are listed."""
    shared = [w for w in wanted if not w.stands_alone]
    return (
        not isinstance(keys, BoughtKeys)
        and bool(shared)
        and all(w.function == "count_distinct" for w in shared)
    )


def _groups(rows: int | None, groups: int | None) -> int | None:
    """Return in how many groups a unit may count: no more than its rows, where all count."""
    return min((cap for cap in (rows, groups) if cap is not None), default=None)


def quantities(wanted: Sequence[Wanted], *, centered: bool = True) -> dict[Quantity, None]:
    """List what has to be measured for all outputs together, each once.

    A mean needs a sum and a count of the same rows, a variance a sum of squares as well; a sum
    beside such a count shares both, and is then measured from the middle of its range, which needs
    less noise.
    """
    found: dict[Quantity, None] = {}
    added = [w for w in wanted if not w.is_rank and not w.stands_alone]
    for w in added:
        if w.function != "sum":
            found[w.count] = None
    for w in added:
        if w.function not in ("count", "count_distinct"):
            found[w.total(counted=centered and w.count in found)] = None
        if w.function in SPREADS:
            found[w.squares] = None
    return found


def _made_of(wanted: Wanted, measured: Collection[Quantity]) -> set[Quantity]:
    """Return the quantities that an output is made of, of those that are measured."""
    if wanted.function in ("count", "count_distinct"):
        return {wanted.count}
    centered = {wanted.total(counted=True), wanted.count}
    if wanted.function == "sum":
        return centered if centered <= {*measured} else {wanted.total(counted=False)}
    return {*centered, wanted.squares} if wanted.function in SPREADS else centered


def _alone(
    wanted: Wanted, node: Node, keys: AnyKeys, allowed: Caps | None
) -> tuple[Aggregate, ...]:
    """Return the questions of an output that shares none with others."""
    if wanted.is_race:
        rows, groups, _ = allowed or caps(node)
        return race(wanted, node, keys, _groups(rows, groups))
    made = distinct if wanted.output.per_unit is None else unit_sum
    return (made(wanted, node, keys, allowed),)


def distinct(wanted: Wanted, node: Node, keys: AnyKeys, allowed: Caps | None = None) -> Aggregate:
    """Return the question how many different values an expression has in each group.

    A unit has each value once, and as many of them as its caps allow; then equal values of
    different units become one.
    """
    if isinstance(keys, BoughtKeys):
        raise KeysError(
            "different values are counted in groups that are listed: after equal values of "
            "different units became one, nobody can say how many units are in a group. Pass the "
            "groups with keys=[...]."
        )
    found, _ = _with_value("value", wanted.summed, node, keys)
    if carries(found):
        found = truncated(Distinct(found, within_unit=True), keys.columns, allowed=allowed)
    return Aggregate(Distinct(found, within_unit=False), keys, Rows())


def unit_sum(wanted: Wanted, node: Node, keys: AnyKeys, allowed: Caps | None = None) -> Aggregate:
    """Return the question for a sum in which that of each unit and group is clamped.

    No row of a unit is left out; in how many groups it counts is capped as ever.
    """
    if isinstance(keys, BoughtKeys):
        raise KeysError(
            "a sum that is clamped unit by unit is asked in groups that are listed. Pass the "
            "groups with keys=[...], or leave out per_unit=."
        )
    found, name = _with_value(f"{wanted.output.text} of one unit", wanted.summed, node, keys)
    need_unit(found, "clamped")
    kind = scope(found)[name]
    low, high = wanted.output.ends or (Fraction(0), Fraction(0))
    if not isinstance(kind, Number) or any(end % kind.step for end in (low, high)):
        raise ExpressionError(
            f"per_unit= has ends that are no whole steps of {wanted.output.text!r}. Round them."
        )
    ends = ((high, kind.high), (-low, -kind.low))
    # So many rows reach both ends, where rows can reach them at all.
    enough = max([1, *(ceil(end / kind.step / row) for end, row in ends if end > 0 and row > 0)])
    summed = PerUnit(found, keys.columns, ((name, Summary("sum", Name(name), enough)),))
    range_ = Constant(low), Constant(high)
    same = tuple((key, Name(key)) for key in keys.columns)
    clamped = Project(summed, (*same, (name, Call("clamp", (Name(name), *range_)))))
    rows, groups, _ = allowed or caps(node)
    if not keys.columns:
        relation: Node = clamped
    else:
        relation = Truncate(clamped, keys.columns, 1, _groups(rows, groups), None)
    return Aggregate(relation, keys, Total(Name(name)))


def _with_value(name: str, expr: Expr, node: Node, keys: Keys) -> tuple[Node, str]:
    """Return the rows in some group that have a value, with that value as a column of its own."""
    name = unused(name, [*keys.columns, *unit_columns(node)])
    condition = keys.condition()
    inside = node if condition is None else Filter(node, condition)
    columns = (*((key, Name(key)) for key in keys.columns), (name, expr))
    known = Call("not", (Call("is_null", (Name(name),)),))
    return Filter(Project(inside, columns), known), name


def _same(relation: Node, keys: BoughtKeys) -> tuple[Quantity, ...]:
    """Return the quantities that are the same as the number of units in a group."""
    if keys.other:
        return ()  # a selection says nothing of the groups that do not appear
    if not carries(relation):
        return (Rows(),)
    _, _, each = reach(relation).by(keys.columns)
    return (Units(), Rows()) if each == 1 else (Units(),)
