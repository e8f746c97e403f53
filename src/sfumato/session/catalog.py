"""The tables of a session, as questions in SQL name them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from sfumato.relation.expr import Expr, Scope
    from sfumato.relation.node import Node
    from sfumato.relation.public import PublicTable
    from sfumato.relation.source import Source
    from sfumato.session.session import Session


class SessionCatalog:
    """The tables of a session, as a question in SQL names them."""

    def __init__(self, session: Session) -> None:
        """Keep the session."""
        self._session = session

    @property
    def private(self) -> Mapping[str, Source]:
        """The private tables by name."""
        return self._session._tables

    @property
    def public(self) -> Sequence[str]:
        """The names of the public tables."""
        return tuple(self._session._public)

    def columns(self, name: str) -> Sequence[str]:
        """Return the columns of a public table."""
        return tuple(self._session.public(name))

    def together(
        self, first: Node, second: Node, on: Mapping[str, str], how: Literal["inner", "left"]
    ) -> Node:
        """Join two private relations."""
        from sfumato.session.joint import joint

        return joint(first, second, on, how)

    def snapshot(
        self,
        name: str,
        on: Mapping[str, str],
        private: Scope,
        conditions: Sequence[Expr] = (),
    ) -> PublicTable:
        """Return a public table as it is joined."""
        from sfumato.session.public import filtered, snapshot

        data = filtered(name, self._session.public(name), conditions)
        return snapshot(name, data, on, private)
