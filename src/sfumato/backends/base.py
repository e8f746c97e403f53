"""What every engine can do, and what every answer of an engine must look like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol, TypeVar

from sfumato.core.errors import InternalError
from sfumato.relation.link import KEY
from sfumato.relation.source import HIDDEN

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
Answer = TypeVar("Answer", "pa.Table", "pa.RecordBatchReader")


class Backend(Protocol):
    """One version of some private tables, and an engine that answers lowered SQL about them.

    Attributes:
        dialect: the SQL that it understands, a name that `Query.lower` takes.
    """

    dialect: str

    def run(
        self,
        sql: str,
        parameters: Mapping[str, object],
        tables: Mapping[str, pa.Table] | None = None,
    ) -> pa.Table:
        """Run one lowered SELECT.

        Args:
            sql: a statement that reads tables by the names of their sources.
            parameters: values for ``$name`` in it; those that it does not name are left out.
            tables: further tables that the statement reads, by name; none is named as a source.

        Returns:
            Rows in no particular order, every column whole numbers, truth values or texts.

        Raises:
            InternalError: the statement failed, or returned anything else. The text is constant.
        """

    def stream(
        self,
        read: Callable[[pa.RecordBatchReader], T],
        sql: str,
        parameters: Mapping[str, object],
        tables: Mapping[str, pa.Table] | None = None,
    ) -> T:
        """Run one lowered SELECT as `run` does, but hand its rows over piece by piece.

        Args:
            read: gets the pieces; if it does not want all of them, the statement is stopped.
            sql: as for `run`.
            parameters: as for `run`.
            tables: as for `run`.

        Returns:
            What `read` returns.
        """

    def close(self) -> None:
        """Give the tables back; every later call is refused."""


def failure() -> InternalError:
    """Return the error for a statement that failed.

    Its text is constant, since the engine's own may quote a value. Raise it outside of the
    ``except`` clause: inside, the engine's error would hang on it as its context.
    """
    return InternalError(
        "the engine could not run a statement that should run on any data. The answer is lost and "
        "its charge stands. Look at the machine first: memory, disk, a file that was moved."
    )


def whole(answer: Answer) -> Answer:
    """Return the answer of an engine if it can be measured: no fraction and no float in it.

    Raises:
        InternalError: a column of another type. Only integers are measured, so the statement was
            lowered wrongly.
    """
    from pyarrow import types

    allowed = (types.is_integer, types.is_boolean, types.is_string, types.is_large_string)
    for field in answer.schema:
        # Whose a row is, and which rows belong together, whatever names them, is never measured.
        if field.name == HIDDEN or field.name.startswith(KEY):
            continue
        if not any(check(field.type) for check in allowed):
            raise InternalError(
                f"a lowered statement returned {field.type} where only whole numbers, truth values "
                f"and texts may be. This is a fault of sfumato."
            )
    return answer
