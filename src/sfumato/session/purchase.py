"""What is bought before the question itself: how much of a unit counts, and ranges for clamping.

Each costs a share of the price and is an answer of its own: noisy, public, in the notes. The
question is then planned with what was found, as if its owner had declared it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from sfumato.core.errors import InternalError
from sfumato.core.number import show
from sfumato.mechanisms import DiscreteGaussian, DiscreteLaplace, Quantiles
from sfumato.relation import (
    Aggregate,
    AnyKeys,
    Call,
    Distinct,
    Filter,
    Keys,
    Name,
    Node,
    PerUnit,
    Project,
    Rows,
    Summary,
    Values,
    bounded,
)
from sfumato.relation.expr import typed
from sfumato.relation.kind import Number
from sfumato.relation.magnitude import edges
from sfumato.relation.node import scope, unit_columns, unit_of
from sfumato.relation.source import unused
from sfumato.session.answer import noise_of
from sfumato.session.bounds import SHARE as RANGE_SHARE
from sfumato.session.bounds import found, loose, octave, octaves, said
from sfumato.session.part import Part
from sfumato.sql.expression import parse

if TYPE_CHECKING:
    from sfumato.core.budget import Budget
    from sfumato.release.release import Release

CAP_SHARE = Fraction(1, 5)  # of the price of a question
_SURE = Fraction(95, 100)
_LIKELY = Fraction(99, 100)
_MOST = 2**20  # rows or groups of one unit, beyond which nobody would let them count
_ONE = (1, 1, 1)  # of each unit one row: enough to see where values lie

Which: TypeAlias = Literal["max_rows", "max_groups"]
WHICH: tuple[Which, ...] = ("max_rows", "max_groups")


@dataclass(frozen=True, slots=True)
class Cap:
    """A cap on what counts of one unit, to be bought.

    It is taken so that about as many units lose something by it as the noise of an answer is worth:
    one more row of each unit that counts makes the noise of every cell larger, and serves only
    those units that have it.

    Attributes:
        which: the cap.
        node: the relation.
        keys: its groups.
    """

    which: Which
    node: Node
    keys: AnyKeys

    share: ClassVar[Fraction] = CAP_SHARE

    @property
    def bag(self) -> Values:
        """How many rows, or groups, each unit has, roughly."""
        condition = self.keys.condition()
        inside = self.node if condition is None else Filter(self.node, condition)
        if self.which == "max_groups":
            columns = tuple((key, Name(key)) for key in self.keys.columns)
            inside = Distinct(Project(inside, columns), within_unit=True)
        name = unused("n", unit_columns(inside))
        counted = PerUnit(inside, (), ((name, Summary("count", None, _MOST)),))
        return Values(counted, Keys(), Call("magnitude", (Name(name),)))

    def part(self, target: Budget, rest: Fraction) -> Part:
        """Return what is measured to find it.

        Args:
            target: what it may cost.
            rest: ε of the question itself, or about that.
        """
        bag = self.bag
        low, high = bag.extent
        moved = bag.sensitivity(unit_of(self.node))

        def search(above: Fraction) -> Quantiles:
            return Quantiles.calibrate(
                moved,
                targets=[(1, -above)],
                low=low,
                high=high,
                step=1,
                epsilon=target.epsilon,
                rho=target.rho,
            )

        # All that nobody reaches is equally far from the rank that is sought. So it is sought as
        # many ranks below as the search may be off, or else it would mostly end far above all.
        off = search(Fraction(1)).halfwidths(_LIKELY)[0]
        return Part.of(bag, search(ceil((self.keys.cells or 1) / rest) + off))

    def found(self, part: Part, answer: Release) -> int:  # noqa: ARG002 - as a range
        """Return the cap."""
        (code,) = answer.measures[0].values
        return max(1, min(edges(int(code))[1], _MOST))

    def told(self, part: Part, answer: Release) -> str:
        """Say what was found."""
        return f"{self.which} was bought: {self.found(part, answer):,}"

    @property
    def title(self) -> str:
        """What is bought."""
        return self.which

    def said(self, part: Part) -> str:
        """Say what a reader should know before paying."""
        what = "rows" if self.which == "max_rows" else "groups"
        rank = -part.mechanism.targets[0][1]
        off = part.mechanism.halfwidths(_SURE)[0]
        return (
            f"{self.which} is found so that about {show(rank)} units, give or take {show(off)}, "
            f"have more {what} than count"
        )


@dataclass(frozen=True, slots=True)
class Clamp:
    """A range into which values are clamped, to be bought.

    Attributes:
        text: the expression.
        node: the relation.
    """

    text: str
    node: Node

    share: ClassVar[Fraction] = RANGE_SHARE

    @property
    def kind(self) -> Number:
        """How a plan holds the values, before they are clamped."""
        kind = typed(parse(self.text), scope(self.node)).kind
        if not isinstance(kind, Number):
            raise InternalError("a range is bought of numbers.")  # refused when it was bound
        return kind

    @property
    def loose(self) -> tuple[bool, bool]:
        """Which ends of the kind are no declared bounds."""
        return loose(parse(self.text), self.node)

    @property
    def query(self) -> Aggregate:
        """How many units have a value in each octave; of each unit one row counts."""
        name = unused("octave", unit_columns(self.node))
        node = Project(self.node, ((name, octave(parse(self.text), self.kind)),))
        keys = Keys.of(scope(node), [name], list(octaves(self.kind, self.loose)))
        return Aggregate(bounded(node, keys, (), _ONE), keys, Rows())

    def part(self, target: Budget, rest: Fraction) -> Part:  # noqa: ARG002 - as a cap
        """Return what is measured to find it."""
        query = self.query
        moved = query.sensitivity(unit_of(self.node))
        if target.epsilon is not None:
            return Part.of(query, DiscreteLaplace.calibrate(moved, epsilon=target.epsilon))
        return Part.of(query, DiscreteGaussian.calibrate(moved, rho=target.rho))

    def found(self, part: Part, answer: Release) -> tuple[Fraction, Fraction] | None:
        """Return the range, in the unit of the values; None if there is none to be seen."""
        noisy = [int(count) for count in answer.measures[0].values]
        seen = found(noisy, noise_of(part), self.kind, loose=self.loose)
        return None if seen is None else (seen.low * self.kind.step, seen.high * self.kind.step)

    def told(self, part: Part, answer: Release) -> str:
        """Say what was found."""
        ends = self.found(part, answer)
        if ends is None:
            return f"no range of {self.text} was found"
        return f"the range of {self.text} was bought: {show(ends[0])} to {show(ends[1])}"

    @property
    def title(self) -> str:
        """What is bought."""
        return f"the range of {self.text}"

    def said(self, part: Part) -> str:
        """Say what a reader should know before paying."""
        return f"of {self.text} {said(noise_of(part), self.kind, loose=self.loose)}"
