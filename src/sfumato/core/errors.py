"""Every error a user can meet, in one tree.

::

    SfumatoError
    ├── InputError            E1xx  a value that cannot be used (also a ValueError)
    │   ├── NumberError       E101  not a finite, exact number
    │   ├── RangeError        E102  a number outside its legal range
    │   ├── CandidateError    E103  nothing, or nothing usable, to choose from
    │   ├── ScoreError        E104  scores that are not finite numbers
    │   ├── CostError         E105  no cost, or costs of two families, in one call
    │   ├── DataError         E106  data that a mechanism cannot take
    │   └── MissingExtra      E107  an optional package is not installed
    ├── SchemaError           E2xx  public facts that do not suffice
    │   ├── ColumnError       E201  a column declaration that makes no sense
    │   ├── UnitError         E202  a privacy unit that makes no sense
    │   ├── SensitivityError  E203  a sensitivity that is missing, too large or useless
    │   ├── UnknownName       E204  no column or measure of that name (also a KeyError)
    │   └── ContractError     E205  a contract that cannot be read or contradicts itself
    ├── QueryError            E3xx  a question that cannot be asked of private data
    │   ├── ExpressionError   E301  an expression that cannot be computed
    │   └── KeysError         E302  groups that are not public, or not usable
    ├── BudgetError           E4xx  the price and the limit
    │   ├── BudgetExceeded    E401  the release costs more than what is left
    │   ├── LossError         E402  a loss that the accountant does not know
    │   ├── NeighborsError    E403  losses under different neighbor relations
    │   ├── LedgerError       E404  a ledger that cannot be used or written
    │   │   ├── LedgerBusy    E405  others keep the ledger locked
    │   │   └── LedgerCorrupt E406  a ledger that is damaged, changed or rolled back
    │   ├── RequestError      E407  a request id, or a step, that does not follow
    │   ├── AnalystError      E408  an analyst without a share of the budget
    │   └── DataClosed        E409  a fault that the owner has not yet seen
    ├── NothingFound          E5xx  what was to be bought was not found; an answer, and paid for
    └── InternalError         E6xx  sfumato or its machine is at fault
        ├── EntropyError      E601  no randomness to be had
        ├── CodecError        E602  bytes that are not a canonical encoding
        └── ReleaseFailed     E603  a failure after data was touched

A message says what was refused, why, and how to mend it; it may quote the question, the schema and
the budget, never a value from the data.
"""

from __future__ import annotations

from typing import ClassVar


class SfumatoError(Exception):
    """Root of every error that sfumato raises on purpose."""

    code: ClassVar[str] = "E000"

    def __init__(self, message: str) -> None:
        """Keep the message for people; the code goes behind it."""
        super().__init__(message)
        self.message = message
        self.where = ""

    def __str__(self) -> str:
        """Render the message with its code, which is an anchor in ``docs/errors.md``.

        Where the question is a text, the line that is meant stands below, underlined.
        """
        return f"{self.message} [{self.code}]{self.where}"


class InputError(SfumatoError, ValueError):
    """A value that cannot be used."""

    code = "E100"


class NumberError(InputError):
    """Not a finite, exact number."""

    code = "E101"


class RangeError(InputError):
    """A number outside its legal range."""

    code = "E102"


class CandidateError(InputError):
    """Nothing, or nothing usable, to choose from."""

    code = "E103"


class ScoreError(InputError):
    """Scores that are not finite numbers."""

    code = "E104"


class CostError(InputError):
    """No cost, or costs of two families, in one call."""

    code = "E105"


class DataError(InputError):
    """Data that a mechanism cannot take."""

    code = "E106"


class MissingExtra(InputError):
    """An optional package is not installed."""

    code = "E107"


class SchemaError(SfumatoError, ValueError):
    """Public facts that do not suffice."""

    code = "E200"


class ColumnError(SchemaError):
    """A column declaration that makes no sense."""

    code = "E201"


class UnitError(SchemaError):
    """A privacy unit that makes no sense."""

    code = "E202"


class SensitivityError(SchemaError):
    """A sensitivity that is missing, too large or useless."""

    code = "E203"


class UnknownName(SchemaError, KeyError):
    """No column or measure of that name."""

    code = "E204"


class ContractError(SchemaError):
    """A contract that cannot be read or contradicts itself."""

    code = "E205"


class QueryError(SfumatoError, ValueError):
    """A question that cannot be asked of private data."""

    code = "E300"


class ExpressionError(QueryError):
    """An expression that cannot be computed."""

    code = "E301"


class KeysError(QueryError):
    """Groups that are not public, or not usable."""

    code = "E302"


class BudgetError(SfumatoError):
    """The price and the limit."""

    code = "E400"


class BudgetExceeded(BudgetError):
    """The release costs more than what is left.

    Attributes:
        asked: the charge that was refused.
        left: what remains of the limit.
        limit: the limit.
    """

    code = "E401"

    def __init__(
        self, message: str, *, asked: object = None, left: object = None, limit: object = None
    ) -> None:
        """Keep the objects beside the message."""
        super().__init__(message)
        self.asked, self.left, self.limit = asked, left, limit


class LossError(BudgetError, TypeError):
    """A loss that the accountant does not know, or cannot express as asked."""

    code = "E402"


class NeighborsError(BudgetError, ValueError):
    """Losses under different neighbor relations."""

    code = "E403"


class LedgerError(BudgetError):
    """A ledger that cannot be used or written."""

    code = "E404"


class LedgerBusy(LedgerError):
    """Others keep the ledger locked."""

    code = "E405"


class LedgerCorrupt(LedgerError):
    """A ledger that is damaged, changed or rolled back."""

    code = "E406"


class RequestError(BudgetError):
    """A request id, or a step, that does not follow from what the ledger holds."""

    code = "E407"


class AnalystError(BudgetError):
    """An analyst without a share of the budget."""

    code = "E408"


class DataClosed(BudgetError):
    """A fault that the owner has not yet seen."""

    code = "E409"


class NothingFound(SfumatoError):
    """What was to be bought was not found: an ordinary answer, paid for like any other."""

    code = "E500"


class InternalError(SfumatoError):
    """Sfumato or its machine is at fault."""

    code = "E600"


class EntropyError(InternalError):
    """No randomness to be had."""

    code = "E601"


class CodecError(InternalError, ValueError):
    """Bytes that are not a canonical encoding."""

    code = "E602"


class ReleaseFailed(InternalError):
    """A failure after data was touched; the message never says which."""

    code = "E603"
