"""The algebra of questions. So far its contract: what a query is."""

from sfumato.relation.query import Query, Shape

__all__ = ["Query", "Shape"]
