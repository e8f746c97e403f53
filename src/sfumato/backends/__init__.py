"""Engines that hold private tables and run lowered SQL on them.

A backend reads every declared column into its one meaning (`sfumato.backends.reader`), so that what
a plan assumes of a value holds for every value. Nothing here imports an engine until one is opened.
"""

from sfumato.backends.base import Backend

__all__ = ["Backend"]
