"""Where released numbers come from, and what numbers of several origins cost together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from sfumato.core.codec import canonical
from sfumato.core.errors import InputError, NeighborsError
from sfumato.core.loss import Composed, Loss
from sfumato.core.unit import Unit
from sfumato.release.price import Price


@canonical
@dataclass(frozen=True, slots=True)
class Origin:
    """One paid answer, which counts once however often its numbers are used.

    Attributes:
        id: the receipt or, without a ledger, the fingerprint of the release.
        cost: the privacy loss.
        price: the loss in numbers, where somebody computed them.
        unit: who is protected, where that was declared.
        receipt: the ledger entry that paid for it.
        durable: whether that entry survives its process.
    """

    id: str
    cost: Loss
    price: Price | None = None
    unit: Unit | None = None
    receipt: str | None = None
    durable: bool = False

    def __post_init__(self) -> None:
        """Check the parts."""
        if not isinstance(self.id, str) or not isinstance(self.cost, Loss):
            raise InputError("an origin is a text that names it, and a loss.")


def united(*groups: Iterable[Origin]) -> tuple[Origin, ...]:
    """Return the origins of all groups, each once, in the order in which they came.

    Raises:
        NeighborsError: they protect different units, or hold under different relations.
    """
    found: dict[str, Origin] = {}
    for group in groups:
        for origin in group:
            found.setdefault(origin.id, origin)
    units = {origin.unit for origin in found.values()}
    relations = {origin.cost.neighbors for origin in found.values()}
    if len(relations) > 1 or len(units) > 1:
        raise NeighborsError(
            "these answers protect different units, or hold under different neighbor relations, so "
            "nothing could be said of who is protected by both. Combine answers of one contract."
        )
    return tuple(found.values())


def cost(origins: Iterable[Origin]) -> Loss:
    """Compose the losses: each origin happened once."""
    return Composed.of([origin.cost for origin in origins])


def price(origins: Iterable[Origin]) -> Price | None:
    """Add up the figures, which basic composition allows; None where some are not known.

    Example:
        >>> from sfumato.core.loss import Pure
        >>> price([Origin("a", Pure(1), Price(1)), Origin("b", Pure(2), Price(2, "1e-6"))])
        Price(epsilon=Fraction(3, 1), delta=Fraction(1, 1000000), rho=None)
    """
    figures = [origin.price for origin in origins]
    if len(figures) == 1:
        return figures[0]
    known = [figure for figure in figures if figure is not None]
    if len(known) < len(figures) or not known:
        return None
    epsilons = [figure.epsilon for figure in known]
    rhos = [figure.rho for figure in known]
    delta = sum((figure.delta for figure in known), Fraction(0))
    if delta >= 1:
        return None
    return Price(
        None if None in epsilons else sum(filter(None, epsilons), Fraction(0)),
        delta,
        None if None in rhos else sum(filter(None, rhos), Fraction(0)),
    )
