"""What is asked of a ledger, and what it grants."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from sfumato.accounting.filter import charge as price_of
from sfumato.accounting.sums import Charge
from sfumato.core.codec import encode
from sfumato.core.errors import InputError, LossError, NeighborsError
from sfumato.core.loss import Loss
from sfumato.core.unit import Neighbors
from sfumato.ledger.branch import Branch
from sfumato.ledger.chain import write_head
from sfumato.ledger.scope import Scope

LONGEST = 1000


@dataclass(frozen=True, slots=True)
class Order:
    """A request, checked and written down once, before the ledger is locked."""

    request: str
    analyst: str
    dataset: str
    version: str
    plan: str
    loss: bytes
    price: Charge
    charge: bytes
    branch: Branch | None
    scope: Scope | None

    @classmethod
    def of(
        cls,
        names: dict[str, str | None],
        loss: Loss,
        charge: Charge | None,
        part: Branch | None,
        scope: Scope | None = None,
    ) -> Order:
        """Check names, price, part and scope.

        Raises:
            InputError: a name that is empty, too long, or no text; no branch, or no scope.
            LossError: an unknown loss, or a charge below it.
            NeighborsError: loss and charge hold under different relations.
        """
        price = checked_price(loss, charge)
        if not (isinstance(part, Branch | None) and isinstance(scope, Scope | None)):
            raise InputError(
                "a part is a Branch of its family, and a scope is what open_scope returned: the "
                "ledger counts by them. Pass those, or leave part= and scope= out."
            )
        analyst = names.pop("analyst")
        return cls(
            analyst="" if analyst is None else checked_name("analyst", analyst),
            **{name: checked_name(name, value) for name, value in names.items()},
            loss=encode(loss),
            price=price,
            charge=encode(price),
            branch=part,
            scope=scope,
        )

    @property
    def part(self) -> bytes | None:
        """The part of the data, as an entry keeps it."""
        return None if self.branch is None else encode(self.branch)

    @property
    def body(self) -> bytes:
        """The hash of what is asked and at which price, whoever asks."""
        asked = (self.dataset, self.version, self.plan, self.loss, self.charge, self.part)
        return hashlib.sha256(encode(asked)).digest()


@dataclass(frozen=True, slots=True)
class Reservation:
    """A charge that was granted, or the answer of an earlier one.

    Attributes:
        request_id: the id under which it was asked.
        analyst: who asked; empty if nobody is named.
        entry: the number of the ledger's entry.
        hash: the hash of that entry.
        charge: what was, or once had been, charged.
        durable: whether the entry survives the process.
        answer: the stored answer if the request was settled before: nothing needs to be read.
    """

    request_id: str
    analyst: str
    entry: int
    hash: bytes = field(repr=False)
    charge: Charge
    durable: bool
    answer: bytes | None = field(default=None, repr=False)

    @property
    def receipt(self) -> str:
        """The entry's number and hash, which a release carries as its proof of payment."""
        return write_head(self.entry, self.hash)


def checked_name(name: str, value: object) -> str:
    """Return a name that can be stored and compared as it is.

    Raises:
        InputError: it cannot.
    """
    if isinstance(value, str) and 0 < len(value) <= LONGEST and "\0" not in value:
        try:
            value.encode()
        except UnicodeEncodeError:
            pass
        else:
            return value
    raise InputError(
        f"{name} must be text of 1 to {LONGEST} characters, because the ledger compares it "
        f"letter by letter. Pass a string."
    )


def checked_price(loss: Loss, charge: Charge | None) -> Charge:
    """Return the charge of a loss; one that was passed must not be below it.

    A charge may have a smaller ε than the sum if it pays for that with a δ: batches do.

    Raises:
        LossError: no loss, an unknown one, or a charge below it.
        NeighborsError: loss and charge hold under different relations.
    """
    least = price_of(loss)
    if charge is None:
        return least
    if not isinstance(charge, Charge):
        raise LossError("a ledger is charged with a Charge. Pass accounting.charge(loss).")
    check_relation(charge, loss.neighbors)
    if (
        charge.delta < least.delta
        or _below(charge.rho, least.rho)
        or (charge.delta == least.delta and _below(charge.epsilon, least.epsilon))
    ):
        raise LossError(
            "this charge is below what its loss costs, so the ledger would record less than was "
            "given away. Pass accounting.charge(loss), or leave charge= out."
        )
    return charge


def check_relation(charge: Charge, neighbors: Neighbors) -> None:
    """Refuse a charge under another neighbor relation.

    Raises:
        NeighborsError: it is another one.
    """
    if charge.neighbors is not neighbors:
        raise NeighborsError(
            f"a charge under {str(charge.neighbors)!r} neighbors does not count where everything "
            f"holds under {str(neighbors)!r} neighbors. State the sensitivity under the one "
            f"relation of the unit."
        )


def _below(claimed: int | None, least: int | None) -> bool:
    """Say whether a figure claims less than is known; to claim nothing is always allowed."""
    return claimed is not None and (least is None or claimed < least)
