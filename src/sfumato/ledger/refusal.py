"""Why a ledger says no; each reason is one constant text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.errors import AnalystError, BudgetExceeded, DataClosed, RequestError

if TYPE_CHECKING:
    from sfumato.accounting.sums import Charge, Remaining
    from sfumato.ledger.scope import Scope


def abandoned() -> RequestError:
    """Return the one answer that an abandoned request ever gets."""
    return RequestError(
        "this request failed after data had been touched. Its charge stands, because a failure "
        "can tell something too. Ask again under a new request id, which is charged again."
    )


def other_body() -> RequestError:
    """Return the error for an id that means something else."""
    return RequestError(
        "this request id was used for another question or another price, and an id means one "
        "thing for ever. Ask under a new request id."
    )


def under_way() -> RequestError:
    """Return the error for a request that somebody is at, or was when a process died."""
    return RequestError(
        "this request is under way, or was when a process died; it is charged once and answered "
        "at most once. Ask again later with the same id. If that never ends, its process died: the "
        "owner abandons it (sfumato ledger free), and it is asked under a new id."
    )


def wrong_state() -> RequestError:
    """Return the error for a step that does not follow from where the request stands."""
    return RequestError(
        "this step does not follow from where the request stands: a request is reserved, touched, "
        "then settled or abandoned, each once. Drop what was computed, and reserve again."
    )


def used_version() -> RequestError:
    """Return the error for a label that is not new."""
    return RequestError(
        "this version label was used before for this dataset, and its stored answers are about "
        "other data. Choose a label that is new."
    )


def other_width() -> RequestError:
    """Return the error for a family of parts whose width has changed."""
    return RequestError(
        "this family of parts was charged before as one of another width, with which its sums mean "
        "something else. Let the family's digest cover all that fixes its parts, also the caps."
    )


def other_scope() -> RequestError:
    """Return the error for a scope that cannot be used."""
    return RequestError(
        "this scope was closed, belongs to another analyst, or is of another ledger, so that "
        "nothing is set aside in it. Open a new one, or ask without a scope."
    )


def outside_scope(price: Charge, left: Remaining, scope: Scope, entry: int) -> BudgetExceeded:
    """Return the refusal of a charge that the scope's envelope does not cover."""
    gaussian = price.epsilon is None and scope.budget.epsilon is not None
    needs = not scope.budget.delta and bool(price.delta or gaussian)
    without = " This needs a δ, and the scope has none." if needs else ""
    return BudgetExceeded(
        f"this release costs {price}; of the scope's {scope.budget!r} there remains {left}, and "
        f"what is asked inside must keep within it.{without} Nothing was charged (after ledger "
        f"entry {entry}). Ask for less, or close the scope and ask without it.",
        asked=price,
        left=left,
        limit=scope.budget,
    )


def not_listed(analyst: str) -> AnalystError:
    """Return the error for an analyst without a share."""
    return AnalystError(
        f"this ledger gives every analyst a share of the budget, and {analyst or None!r} has "
        "none. Name an analyst who is listed, or let the owner add a share."
    )


def closed() -> DataClosed:
    """Return the error for data that a fault has closed."""
    return DataClosed(
        "a release failed after data had been touched, so the data is closed until its owner has "
        "looked. Nothing was read. To open it: sfumato ledger acknowledge, or ledger.acknowledge()."
    )


def standing(request: str) -> str:
    """Say of a step that failed that the one before it did not; the id may be nobody's choice."""
    return (
        f" It was charged before that, under the request id {request!r}: asked again under that "
        f"id, it is not charged twice."
    )


def hidden(price: Charge, entry: int, what: str) -> BudgetExceeded:
    """Return the refusal of the total, which does not tell an analyst what others spent."""
    return BudgetExceeded(
        f"this {what} fits your own share, but not what all analysts together have left. Nothing "
        f"was charged (after ledger entry {entry}). Ask for less, or let the owner raise the "
        f"budget.",
        asked=price,
    )
