"""The canonical text of a release: written whole, and read back to the last bit."""

from __future__ import annotations

from typing import ClassVar, Self

from sfumato.core.codec import decode, encode
from sfumato.core.errors import CodecError


class CanonicalText:
    """What a release of any kind does with its text. Nothing is stored here.

    Attributes:
        called: what an error calls it.
    """

    __slots__ = ()

    called: ClassVar[str] = "a release"

    def to_json(self) -> str:
        """Write the canonical text, which `from_json` reads back exactly."""
        return encode(self).decode("ascii")

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read what `to_json` wrote.

        Raises:
            CodecError: the text was cut, edited, or is something else.
        """
        try:
            data = text.encode("ascii") if isinstance(text, str) else text
        except UnicodeEncodeError:
            raise CodecError("the canonical text of a release is ASCII; this was edited.") from None
        found = decode(data)
        if not isinstance(found, cls):
            raise CodecError(f"this is a {type(found).__name__}, not {cls.called}.")
        return found
