"""Public cells of private rows, as algorithms that measure sums of them see them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, Self, cast

from sfumato.core.errors import UnitError
from sfumato.relation.aggregate import Aggregate
from sfumato.relation.bound import automatic
from sfumato.relation.linear import Linear, Strategy

if TYPE_CHECKING:
    from sfumato.accounting import Remaining
    from sfumato.core.budget import Budget
    from sfumato.core.unit import Unit


class Measuring(Protocol):
    """What cells need of a table or a laboratory."""

    @property
    def unit(self) -> Unit:
        """Who is protected."""

    @property
    def remaining(self) -> Remaining:
        """What may still be spent."""

    def measure(self, query: Any, mechanism: Any = None, *, delta: Any = 0) -> Any:
        """Charge, read, draw and return."""

    def scope(self, budget: Budget) -> AbstractContextManager[Any]:
        """Set part of the budget aside."""


class Cells:
    """Cells that can be asked about; a frozen dataclass that says which they are has the rest.

    Attributes:
        curator: who measures.
        counts: makes the question how many rows each cell has.
    """

    __slots__ = ()

    if TYPE_CHECKING:
        curator: Measuring
        counts: Callable[[Any], Any]

    @property
    def unit(self) -> Unit:
        """Who is protected."""
        return self.curator.unit

    @property
    def remaining(self) -> Remaining:
        """What may still be spent."""
        return self.curator.remaining

    def question(self, matrix: Strategy | None = None) -> Any:
        """Return the question for weighted sums of the cells; without a matrix, for the cells.

        Args:
            matrix: whole numbers, with a column for each cell.

        Raises:
            UnitError: how much of one unit counts is to be bought.
        """
        asked = self.counts(self.curator)
        need_caps(asked)
        if matrix is None:
            return asked
        return Linear(asked, matrix) if isinstance(asked, Aggregate) else asked.weighted(matrix)

    def measure(self, query: Any, mechanism: Any = None, *, delta: Any = 0) -> Any:
        """Charge, read, draw and return; a batch in one scan and with one charge."""
        return self.curator.measure(query, mechanism, delta=delta)

    @contextmanager
    def scope(self, budget: Budget) -> Iterator[Self]:
        """Set part of the budget aside; what is not spent inside returns."""
        with self.curator.scope(budget) as inside:
            yield cast(Self, replace(cast(Any, self), curator=inside))


def need_caps(asked: Any) -> None:
    """Refuse cells of which nobody has said how much of one unit counts.

    Questions buy such caps. What measures cells does not, and would count one row of each unit.

    Args:
        asked: a question for cells, or for sums of them.

    Raises:
        UnitError: a cap is to be bought; nothing was charged.
    """
    counted = asked.counts if isinstance(asked, Linear) else asked
    missing = automatic(counted.node) if isinstance(counted, Aggregate) else ()
    if not missing:
        return
    caps = " and ".join(missing)
    mend = ", ".join(f"{cap} = 20" for cap in missing)
    buys = (
        " To find one, table.count().release(epsilon='0.1') buys it and names it in its notes, as "
        "`sfumato query CONTRACT --count --epsilon 0.1` does."
        if "max_rows" in missing
        else " Or declare max_rows = 20 in place of it."
    )
    raise UnitError(
        f"how much of one unit counts is to be bought ({caps} = 'auto'), and ranges and maps "
        f"buy no caps. Declare a number with the unit, such as {mend}.{buys} Nothing was charged."
    )
