"""Files that users name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sfumato.core.errors import InputError

_LONGEST = 255  # bytes of a name, on every disk of today


def path_of(given: Any) -> Path:
    """Return a path as it was given. Any thing has a text, and none but a path is a file by it.

    Raises:
        InputError: it is not a path, or no file can have it.

    Example:
        >>> path_of("answers/may.csv").name
        'may.csv'
    """
    try:
        text = os.fsdecode(given) if isinstance(given, str | os.PathLike) else ""
        held = os.fsencode(text)
    except (TypeError, UnicodeEncodeError):  # no text behind it; half of a character
        held = b""
    if not held or b"\0" in held or max(map(len, held.split(b"/"))) > _LONGEST:
        raise InputError(
            "a file is named by its path, such as 'answers/may.csv', in which no name has more "
            "than 255 bytes. This is none. Correct the path."
        )
    return Path(text)
