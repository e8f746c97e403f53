"""From text to questions: what an analyst types becomes a plan, or is refused with the fix."""

from sfumato.sql.expression import parse

__all__ = ["parse"]
