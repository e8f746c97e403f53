"""What an owner does with a ledger: look after a fault, and record what is declared and raised."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.accounting.sums import Limits
from sfumato.core.codec import encode
from sfumato.core.errors import BudgetExceeded
from sfumato.core.path import path_of
from sfumato.ledger.order import checked_name
from sfumato.ledger.refusal import used_version
from sfumato.ledger.view import View

if TYPE_CHECKING:
    from sfumato.core.budget import Budget


class Steward(View):
    """The half of a ledger that its owner uses; `Ledger` adds what charges it."""

    def acknowledge(self) -> None:
        """Open the data again: the owner has seen what failed. Without a fault, nothing happens."""
        with self._journal() as journal:
            if journal.closed():
                journal.append("acknowledged", journal.tallies(""))

    def backup(self, path: str | Path) -> str:
        """Write a copy of the ledger as it is at one moment, while other processes charge it.

        The copy is one file, replayed before this returns. It is for the day on which the file is
        lost: whoever goes back to it forgets what was spent since, unless its head is the last one
        that anybody kept.

        Args:
            path: where the copy will be; nothing is written over.

        Returns:
            The head of the copy.

        Raises:
            LedgerError: there is a file already, or it cannot be written.
        """
        from sfumato.ledger.backup import check, new_file

        with new_file(path_of(path).absolute(), copy=True) as part:
            with self._journal(write=False) as journal:
                head = journal.copy(part)
            check(part, head)
        return head

    def refresh(self, dataset: str, version: str) -> None:
        """Record that a dataset has a new version. Nothing returns to the budget.

        Raises:
            RequestError: the label was used before; its stored answers are about other data.
        """
        dataset, version = checked_name("dataset", dataset), checked_name("version", version)
        with self._journal() as journal:
            if journal.has_version(dataset, version):
                raise used_version()
            tallies = journal.tallies("")
            journal.append("refreshed", tallies, dataset=dataset, version=version)

    def declare(self, dataset: str, declaration: Any) -> None:
        """Record what is publicly declared about a dataset; nothing if it was declared last.

        Args:
            dataset: the dataset.
            declaration: its schema, unit, caps: any value that has a canonical form.

        Raises:
            CodecError: the value has no canonical form.
        """
        dataset, detail = checked_name("dataset", dataset), encode(declaration)
        with self._journal() as journal:
            known = journal.about("declared", dataset)
            if not known or known[-1].detail != detail:
                journal.append("declared", journal.tallies(""), dataset=dataset, detail=detail)

    def raise_budget(self, budget: Budget, analyst: str | None = None) -> None:
        """Replace the budget, or one analyst's share; an analyst who has none is given one.

        Raises:
            BudgetExceeded: more than that has been spent.
        """
        limits = Limits.of(budget)
        name = "" if analyst is None else checked_name("analyst", analyst)
        with self._journal() as journal:
            total, own = journal.tallies(name)
            spent = (own if name else total).sums(self._header.neighbors)
            if not limits.admit(spent):
                raise BudgetExceeded(
                    "a budget cannot be set below what has been spent, because answers cannot be "
                    "taken back. Choose a larger one.",
                    limit=budget,
                )
            detail = encode((budget, limits))
            journal.append("raised", (total, own), analyst=name, detail=detail)
