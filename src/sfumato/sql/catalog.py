"""What a question in SQL may ask about: the tables of a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from sfumato.relation.expr import Expr, Scope
from sfumato.relation.node import Node
from sfumato.relation.public import PublicTable
from sfumato.relation.source import Source


class Catalog(Protocol):
    """The tables that a question may name."""

    @property
    def private(self) -> Mapping[str, Source]:
        """The private tables by name."""

    @property
    def public(self) -> Sequence[str]:
        """The names of the public tables."""

    def columns(self, name: str) -> Sequence[str]:
        """Return the columns of a public table."""

    def together(
        self,
        first: Node,
        second: Node,
        on: Mapping[str, str],
        how: Literal["inner", "left"],
    ) -> Node:
        """Join two private relations.

        Args:
            first: the rows.
            second: what is put beside them.
            on: for each column of the first that of the second which must be equal.
            how: whether rows that meet nobody are kept.
        """

    def snapshot(
        self,
        name: str,
        on: Mapping[str, str],
        private: Scope,
        conditions: Sequence[Expr] = (),
    ) -> PublicTable:
        """Return a public table as it is joined.

        Args:
            name: its name.
            on: for each private column the public one that it is compared with.
            private: the columns of the private side.
            conditions: what the rows of the public table have to meet.
        """
