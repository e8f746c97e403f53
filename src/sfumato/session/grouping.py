"""Several groupings of one question: asked of the same rows, so that subtotals can add up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import log
from typing import TYPE_CHECKING, Any

from sfumato.relation import Aggregate, AnyKeys, BoughtKeys, Expr, Keys, Node, Values, bounded
from sfumato.relation.bound import automatic
from sfumato.relation.node import carries
from sfumato.release.hierarchy import Columns, Hierarchy
from sfumato.session.output import Output
from sfumato.session.planner import Questions, quantities, questions
from sfumato.session.question import Question
from sfumato.session.ranks import together
from sfumato.session.wanted import Wanted, bind

if TYPE_CHECKING:
    from sfumato.session.door import Door

ADDITIVE = ("count", "sum", "mean")
SAME_ROWS = (
    "all groupings are of the same rows: those that are in a group of every column; how much of "
    "one unit counts is capped once, in groups by all columns together"
)
BOUGHT = "subtotals need not add up to totals: groups that are bought may differ between groupings"
_LEAST = Fraction(1, 1024)  # the weight of a grouping that follows from others
_MORE = 0.01  # of the variance, what shares may cost a grouping: its interval gets no wider
_FEW = 12  # groupings up to which shares are compared; beyond, all are even


class Grouping(Question):
    """One grouping of several, asked of rows that were truncated for all of them.

    Attributes:
        finest: the groups by the columns of all groupings.
        kept: the rows, truncated in those groups: the same for the same outputs.
    """

    __slots__ = ("finest", "kept")

    finest: Keys
    kept: Node

    def __init__(
        self,
        session: Door,
        node: Node,
        finest: Keys,
        keys: AnyKeys,
        outputs: Mapping[str, Output],
        remarks: tuple[str, ...],
        **bought: Any,
    ) -> None:
        """Check it as any question.

        Args:
            session: through which it is asked.
            node: the relation.
            finest: the groups by the columns of all groupings.
            keys: the groups of this one.
            outputs: what is asked of each group, by name.
            remarks: what the answer says beside its notes.
            bought: what was bought, as for any question.
        """
        wanted = bind(outputs, node, bought.get("ranges"))
        values = tuple(w.expr for w in wanted if w.expr is not None and not w.stands_alone)
        object.__setattr__(self, "finest", finest)
        object.__setattr__(self, "kept", bounded(node, finest, values))
        Question.__init__(self, session, node, keys, outputs, remarks, **bought)

    def _like(self, outputs: Mapping[str, Output], **bought: Any) -> Question:
        return Grouping(
            self.session, self.relation, self.finest, self.keys, outputs, self.remarks, **bought
        )

    def beside(self, others: Sequence[Wanted], *, centered: bool = True) -> Questions:
        """Find what has to be measured, of the rows that all groupings share.

        They are truncated already, and nothing more is left out of them: what is kept of a unit
        must not depend on the grouping. What stands alone is asked as ever.
        """
        wanted = tuple(dict.fromkeys((*self.wanted, *others)))
        shared = [w for w in wanted if not w.stands_alone]
        asked: list[Any] = [
            Aggregate(self.kept, self.keys, quantity)
            for quantity in quantities(shared, centered=centered)
        ]
        bags: dict[Expr, list[Output]] = {}
        for w in shared:
            if w.is_rank and w.expr is not None:
                bags.setdefault(w.expr, []).append(w.output)
        for expr, outputs in bags.items():
            asked += together(Values(self.kept, self.keys, expr), outputs)
        found = Questions(self.kept, tuple(asked))
        if len(shared) == len(wanted):
            return found
        alone = [w for w in wanted if w.stands_alone]
        more = questions(alone, self.relation, self.keys, centered=centered)
        return replace(found, asked=(*found.asked, *more.asked), alone=more.alone)


def groupings(
    session: Door,
    node: Node,
    keys: Sequence[AnyKeys],
    outputs: Mapping[str, Output],
    remarks: tuple[str, ...] = (),
) -> list[Question]:
    """Return the questions of several groupings, about the same rows where something adds up.

    Args:
        session: through which they are asked.
        node: the relation.
        keys: the groups of each grouping; a column has the same values in all of them.
        outputs: what is asked of each group, by name.
        remarks: what the answers say beside their notes.

    Raises:
        InputError: the groupings have too much in common to be made to add up.
    """
    listed = [each for each in keys if isinstance(each, Keys)]
    adds = any(output.function in ADDITIVE for output in outputs.values())
    bought = any(isinstance(each, BoughtKeys) for each in keys)
    if bought or not adds or (automatic(node) and carries(node)):
        said = (*remarks, BOUGHT) if bought and adds else remarks
        return [Question(session, node, each, outputs, said) for each in keys]
    hierarchy_of(listed)  # refuses what could not be made to add up
    said, finest = (*remarks, SAME_ROWS), _finest(listed)
    return [Grouping(session, node, finest, each, outputs, said) for each in keys]


def weights(asked: Sequence[Question], cost: Mapping[str, Any]) -> list[Fraction] | None:
    """Return how much of the price each grouping takes; None for even shares.

    Where ρ adds up, even shares are about the best. Where ε does, noise grows with the square of
    the number of groupings, and what follows from a finer grouping need not be measured. Of some
    shares, those are taken for which the mean logarithm of the variance is least, among those with
    which no grouping errs more than if each were measured by itself for an even share.

    Args:
        asked: the questions of all groupings.
        cost: epsilon, delta and rho, as they were passed.
    """
    alike = all(
        isinstance(each, Grouping) and all(w.function in ADDITIVE for w in each.wanted)
        for each in asked
    )
    pure = cost.get("epsilon") is not None and not cost.get("delta")
    if not alike or not pure or not 1 < len(asked) <= _FEW:
        return None
    hierarchy, places = hierarchy_of([each.keys for each in asked])
    if len(hierarchy.sets) < len(asked):
        return None
    best = best_shares(hierarchy)
    return None if best is None else [best[place] for place in places]


def best_shares(hierarchy: Hierarchy) -> list[Fraction] | None:
    """Return weights with which groupings err least, where ε adds up; None for even ones."""
    count = len(hierarchy.sets)
    limit = log(count**2) + _MORE
    best, least = None, sum(_spread(hierarchy, [Fraction(1)] * count)) / count
    for size in (1, 2):
        for chosen in combinations(range(count), size):
            given = [Fraction(1) if place in chosen else _LEAST for place in range(count)]
            found = _spread(hierarchy, given)
            if max(found) <= limit and sum(found) / count < least - 1e-6:
                best, least = given, sum(found) / count
    return best


def _spread(hierarchy: Hierarchy, given: Sequence[Fraction]) -> list[float]:
    """Return the logarithm of each grouping's variance, in that of one for the whole price."""
    whole = sum(given)
    return [log(v) for v in hierarchy.variances([float(whole / each) ** 2 for each in given])]


def hierarchy_of(keys: Sequence[AnyKeys]) -> tuple[Hierarchy, list[int]]:
    """Return the different groupings as columns of one table, and which of them each is."""
    columns = list(dict.fromkeys(name for each in keys for name in each.columns))
    sizes = {
        name: size
        for each in keys
        if isinstance(each, Keys)
        for name, size in zip(each.columns, each.shape, strict=True)
    }
    sets: list[Columns] = [tuple(sorted(map(columns.index, each.columns))) for each in keys]
    different = tuple(dict.fromkeys(sets))
    hierarchy = Hierarchy(tuple(sizes[name] for name in columns), different)
    return hierarchy, [different.index(one) for one in sets]


def _finest(keys: Sequence[Keys]) -> Keys:
    """Return the groups by all columns together, which no answer need have."""
    found = {
        name: (kind, codes)
        for each in keys
        for name, kind, codes in zip(each.columns, each.kinds, each.codes, strict=True)
    }
    return Keys(
        tuple(found),
        tuple(kind for kind, _ in found.values()),
        tuple(codes for _, codes in found.values()),
    )
