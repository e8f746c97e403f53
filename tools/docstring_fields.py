"""Render the fields of our docstrings (Guarantee, Theorem, Exactness, Error) as a list.

The documentation generator takes a word with a colon and an indented line below it for a titled
box, and `Example:` for another one. This extension of it rewrites them before they are parsed.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_FIELD = re.compile(r"^(Guarantee|Theorem|Exactness|Error):[ ]+", re.MULTILINE)
_CONTINUED = re.compile(r"\n[ ]{4}(?=\S)")


class DocstringFields(griffe.Extension):
    """Rewrites docstrings as they are read."""

    def on_object(self, *, obj: griffe.Object, **_options: Any) -> None:
        """Rewrite one docstring, if there is one."""
        if obj.docstring is not None:
            obj.docstring.value = rewritten(obj.docstring.value)


def rewritten(text: str) -> str:
    """Return a docstring with its fields as list items and its example as examples."""
    text = re.sub(r"^Example:$", "Examples:", text, flags=re.MULTILINE)
    paragraphs = text.split("\n\n")
    for i, paragraph in enumerate(paragraphs):
        if _FIELD.match(paragraph):
            joined = _CONTINUED.sub(" ", paragraph)
            paragraphs[i] = _FIELD.sub(lambda match: f"- **{match[1]}.** ", joined)
    return "\n\n".join(paragraphs)
