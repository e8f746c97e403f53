"""Refusals in the words of the command line: options where the API has keywords."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sfumato.core.errors import SfumatoError

if TYPE_CHECKING:
    from collections.abc import Iterator

# What the API calls it, and what is typed. Most special first.
_WORDS = (
    (r"^((?:min|max)\(.*) Buy a range .*?; or state one", r"\1 State one"),  # it buys none
    (r"\w+\(sf\.bounds\((?P<q>['\"])(?P<t>.*?)(?P=q)\)\)", r"bounds(\g<t>)"),
    (r"\w+\('(clamp\([^']*\))'\)", r"\1"),
    (r"\bsf\.bounds\b", "bounds(...)"),
    (r"with_columns\((\w+)='([^']*)'\)\.group_by\('\w+'\)", r"--group-by '\1=\2'"),
    (r"\bgroup_by\('([^']*)'\)\.count\(\)", r"--group-by \1 --count"),
    (r"\bgroup_by\b(?!\()", "--group-by"),
    (r"\bhistogram\('[^']*', \[0, 10, 50, 200\]\)", "--bins 0,10,50,200"),
    (r"\bkeys=sf\.bought\(\)", "--bought"),
    (r"\bkeys=\[[^\]]*\]", "--keys COLUMN=A,B"),
    (r"\bagg\(total=sf\.count\(\)\)", "--sum 'total=fare'"),
    (r"\.sum\('fare'\) or \.agg\(n=count\(\)\)", "--sum fare or --count"),
    (r"\bBudget\(epsilon=\.\.\., delta=\.\.\.\)", "--epsilon and --delta"),
    (r"\bepsilon=1, delta='1e-6'", "--epsilon 1 --delta 1e-6"),
    (r"\bdelta='1e-6'", "--delta 1e-6"),
    (r"\b(interval|other)=True\b", r"--\1"),
    (r"\b(keys|epsilon|delta|rho|accuracy)=(?![\w'\"\[{(])", r"--\1"),
)


@contextmanager
def options() -> Iterator[None]:
    """Reword what is refused inside."""
    try:
        yield
    except SfumatoError as problem:
        problem.message = in_options(problem.message)
        raise


def in_options(message: str) -> str:
    """Write options where a message of the API has keywords.

    Example:
        >>> in_options("Leave out epsilon=, or pass keys=sf.bought().")
        'Leave out --epsilon, or pass --bought.'
    """
    for said, typed in _WORDS:
        message = re.sub(said, typed, message)
    return message
