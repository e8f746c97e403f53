"""What was typed behind `sfumato query`, and what makes no sense whatever the tables are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.core.errors import AnalystError, ContractError, CostError, InputError, KeysError

if TYPE_CHECKING:
    from sfumato.session import Contract
    from sfumato.sql.statement import Statement

# The options that say what to ask, of which rows and groups: in SQL the text does.
_WHAT = (
    *("table", "where", "group_by", "count", "sum", "per_unit", "mean", "variance", "std"),
    *("median", "quantile", "interval", "min", "max", "count_distinct", "histogram", "bins", "top"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was typed; numbers stay text, so that every digit counts."""

    contract: Path
    sql: str | None
    table: str | None
    where: tuple[str, ...]
    group_by: tuple[str, ...]
    keys: tuple[str, ...]
    bought: bool
    other: bool
    count: bool
    sum: tuple[str, ...]
    mean: tuple[str, ...]
    variance: tuple[str, ...]
    std: tuple[str, ...]
    median: tuple[str, ...]
    quantile: tuple[str, ...]
    interval: bool
    per_unit: str | None
    min: tuple[str, ...]
    max: tuple[str, ...]
    count_distinct: tuple[str, ...]
    histogram: str | None
    bins: str | None
    top: str | None
    epsilon: str | None
    delta: str | None
    rho: str | None
    accuracy: tuple[str, ...]
    confidence: str | None
    param: tuple[str, ...]
    explain: bool
    format: str
    out: Path | None
    analyst: str | None
    request: str | None

    @property
    def has_numbers(self) -> bool:
        """Whether a number other than the count of rows is asked for."""
        sums = self.sum or self.mean or self.variance or self.std
        return bool(sums or self.median or self.quantile or self.min or self.max) or bool(
            self.count_distinct
        )

    @property
    def is_race(self) -> bool:
        """Whether a race is to find how much of one unit counts: ``auto``, or ``auto,MOST``."""
        return self.per_unit is not None and self.per_unit.partition(",")[0].strip() == "auto"

    def check(self) -> Statement | None:
        """Refuse what makes no sense, before anything is opened; return the question in SQL."""
        if self.sql is not None:
            parsed = self._check_sql()
            self._check_form()
            return parsed
        if self.param:
            raise InputError(
                "--param is a value for a parameter of a question in SQL, and there is none. Write "
                "the question behind the contract, or leave --param out."
            )
        self._check_price()
        self._check_form()
        self._check_numbers()
        self._check_groups()
        return None

    def check_contract(self, contract: Contract) -> None:
        """Refuse a contract that cannot be asked in this way."""
        if self.out is not None:
            from sfumato.cli.file import check, precious

            check(self.out, precious(contract, self.contract))
        admit(contract, self.analyst, free=self.explain)
        if self.sql is None and self.table is None and len(contract.tables) > 1:
            raise InputError(
                f"the contract has several tables: {', '.join(contract.tables)}. Pass --table with "
                f"one of them."
            )

    def _check_sql(self) -> Statement:
        """Refuse options that say what the SQL says, and a text that is no question."""
        from sfumato.cli.statement import read

        said = next((name for name in _WHAT if getattr(self, name)), None)
        if said is not None:
            raise InputError(
                f"the question is written in SQL, and --{said.replace('_', '-')} says what to ask "
                f"as well. Write it into the SQL, or leave the SQL out."
            )
        if self.other and not self.bought:
            raise _other_alone()
        self._check_one_price()
        return read(self)

    def _check_one_price(self) -> None:
        if self.accuracy and (self.epsilon is not None or self.rho is not None):
            raise CostError(
                "--accuracy finds the price, so that none is set beside it. Leave out --epsilon "
                "and --rho; --delta may stay, and may make it cheaper."
            )
        if self.sql is not None and self.epsilon is not None and self.rho is not None:
            raise CostError("--epsilon and --rho are two prices for one answer. Keep one of them.")

    def _check_price(self) -> None:
        self._check_one_price()
        if not self.accuracy and (self.epsilon is None) == (self.rho is None):
            raise CostError(
                "an answer has a price, and you set it: --epsilon 0.5, with --delta 1e-6 if you "
                "like, or --rho 0.1; one of the two. Or say how far counts and sums may be off, "
                f"--accuracy 50, and the price is found. {free(explained=self.explain)}"
            )

    def _check_form(self) -> None:
        if self.format == "parquet" and self.out is None:
            raise InputError("Parquet is not text and cannot be printed. Pass --out FILE.")
        if self.explain and self.format not in ("table", "json"):
            raise InputError(
                f"an explanation is no table, so that it cannot be written as {self.format}. Pass "
                f"--format table, or --format json."
            )
        if self.out is not None:
            check_writable(self.out)

    def _check_numbers(self) -> None:
        if (self.histogram is None) != (self.bins is None):
            raise InputError(
                "a histogram needs a column and its bins: --histogram fare --bins 20, or --bins "
                "0,10,50,200 with the edges."
            )
        if self.histogram is not None and (self.has_numbers or self.top is not None):
            raise InputError(
                "a histogram counts rows and nothing else. Ask for the other numbers by "
                "themselves, or group by a column of bins: --group-by 'bin=floor(fare, 10)'."
            )
        if self.top is not None and (self.has_numbers or self.group_by):
            raise InputError(
                "--top counts rows by its own column and shows the largest counts, nothing else. "
                "Ask for the other numbers by themselves, or group by the column: --group-by zone."
            )
        if self.per_unit is not None and not self.sum and not (self.count and self.is_race):
            raise InputError(
                "--per-unit is the range of one unit's sum in one group, and no sum is asked for. "
                "Pass --sum fare --per-unit 0,300, or --per-unit auto beside --sum or --count; or "
                "leave it out."
            )
        if self.is_race and "," in (self.per_unit or "") and self.count and self.sum:
            raise InputError(
                "--per-unit auto ends at a number of rows for --count and at an amount for --sum, "
                "and both are asked for. Leave the number out, or ask for one of them by itself."
            )
        if self.interval and not (self.median or self.quantile):
            raise InputError(
                "--interval buys intervals for --median and --quantile, and neither is asked for. "
                "Leave it out: other numbers have theirs anyway."
            )
        if not (self.count or self.has_numbers or self.histogram or self.top):
            raise InputError(
                "there is nothing to ask for. Pass --count, or --sum, --mean, --variance, --std, "
                "--median, --quantile, --min, --max, --count-distinct, --histogram or --top with a "
                "column."
            )

    def _check_groups(self) -> None:
        if (self.keys or self.bought) and not self.group_by and self.top is None:
            option = "--keys lists" if self.keys else "--bought buys"
            raise KeysError(f"{option} the groups of a column. Pass --group-by COLUMN as well.")
        if self.other and not self.bought:
            raise _other_alone()
        if self.other and self.top is not None:
            raise KeysError(
                "all other groups together are none of the largest. Leave out --other, or group by "
                "the column: --group-by zone --bought --other --count."
            )
        if self.bought and self.histogram is not None:
            raise KeysError(
                "a histogram in groups needs groups that are listed. List them with --keys, or "
                "buy groups and bins together: --group-by zone --group-by 'bin=floor(fare, 10)' "
                "--bought --count."
            )


def admit(contract: Contract, analyst: str | None, *, free: bool = False) -> None:
    """Refuse a contract without a ledger, and somebody without a name where names are needed.

    Args:
        contract: the contract.
        analyst: who asks.
        free: whether nothing is paid; that takes no ledger.
    """
    if contract.ledger is None and not free:
        raise ContractError(
            "budget.ledger is missing: without a ledger every command would begin with the whole "
            "budget, and it would limit nothing. Write "
            'ledger = "spent.ledger" under [budget].'
        )
    if contract.analysts and analyst is None:
        raise AnalystError(
            "the contract gives every analyst a share of the budget, so that a question needs to "
            "say whose it is. Pass --analyst NAME."
        )


def free(*, explained: bool) -> str:
    """Return what to do for nothing where no price is set; with --explain, why one is needed."""
    if explained:
        return "--explain says for free what it buys, and needs it for that."
    return "Add --explain to see for free what it buys."


def announce(ledger: Path) -> None:
    """Say that a ledger is new, to whoever had one."""
    click.echo(
        f"note: a new ledger begins, {ledger.name}, with the whole budget. If there was one, put "
        f"it back: what it recorded is spent.",
        err=True,
    )


def _other_alone() -> KeysError:
    return KeysError(
        "--other counts together what --bought does not show. Pass --bought as well, or leave it "
        "out."
    )


def check_writable(path: Path, option: str = "--out") -> None:
    """Refuse a file that cannot be written, before anything is paid for.

    Raises:
        InputError: it is a folder, lies in none, or may not be written to.
    """
    from sfumato.release.path import is_writable

    if not is_writable(path):
        raise unwritable(path, option, paid=False)


def unwritable(path: Path, option: str = "--out", *, paid: bool = True) -> InputError:
    """Return the refusal of a file that cannot be written, before it was paid for or after."""
    ledger = "What was paid for is in the ledger: to ask the same again is free."
    return InputError(
        f"cannot write {str(path)!r}. Pass {option} with a file in a folder that exists and that "
        f"you may write to. {ledger if paid else 'Nothing was charged.'}"
    )
