"""The ledger: an append-only, hash-chained record of every charge, in one SQLite file.

`Ledger` reserves before data is read, remembers what happened to every request and returns stored
answers for repeated ones. `verify` replays a file from its first entry and says what is wrong.
"""

from sfumato.ledger.branch import Branch
from sfumato.ledger.event import Event, LedgerHeader
from sfumato.ledger.order import Reservation
from sfumato.ledger.scope import Scope
from sfumato.ledger.store import Ledger
from sfumato.ledger.tally import Tally
from sfumato.ledger.verify import Verification, verify

__all__ = [
    "Branch",
    "Event",
    "Ledger",
    "LedgerHeader",
    "Reservation",
    "Scope",
    "Tally",
    "Verification",
    "verify",
]
