"""What is measured after a first answer, and because of it: planned before, paid for at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from sfumato import accounting
from sfumato.accounting.pure import own_delta
from sfumato.core.errors import InternalError
from sfumato.core.loss import Loss
from sfumato.core.number import failure_probability

if TYPE_CHECKING:
    from sfumato.release.release import Release
    from sfumato.session.part import Part


class Sequel(Protocol):
    """Parts that are known only after the first ones were answered.

    A range for clamping is bought first, and the sum is measured within it. What the later parts
    may give away is promised, and charged, before anything is read.
    """

    @property
    def promised(self) -> Loss:
        """What the later parts give away at most, whatever the first answers are."""

    def written(self) -> Any:
        """Return all that fixes the later parts, given the first answers, for a digest."""

    def parts(self, answers: Sequence[Release]) -> Sequence[Part]:
        """Return the later parts; none if the first answers leave nothing to ask.

        It is a function of the answers alone: it sees no data.
        """


def keep_promise(parts: Sequence[Part], promised: Loss, delta: Any) -> None:
    """Refuse parts that would give away more than was promised for them.

    A promise in ε, or (ε, δ), holds for whatever is (ε, δ)-DP, and its ρ follows from that; one in
    ρ holds for whatever is ρ-concentrated.

    Theorem:   docs/theory/sensitivity.md
    """
    if not parts:
        return
    failure = max(failure_probability(delta), own_delta(promised))
    asked = accounting.charge(accounting.compose([part.loss for part in parts]), failure)
    paid = accounting.charge(promised, failure)
    cost, limit = asked.epsilon, paid.epsilon
    if limit is None:
        cost, limit = asked.rho, paid.rho
    if cost is None or limit is None or cost > limit or asked.delta > paid.delta:
        raise InternalError("later parts cost more than was promised for them.")
