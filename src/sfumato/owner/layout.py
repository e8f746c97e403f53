"""How the text of a contract is laid out: its entries, its comments, its open questions.

Whoever edits a contract wants comments kept, and a draft asks its questions in comments; a parser
of TOML drops both. What is read here was parsed before, so that it is known to be TOML.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.session.section import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

QUESTION = "#?"  # what begins an open question, within a comment or as one

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_PART = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'""")
_DOT = re.compile(r"[ \t]*\.[ \t]*")
_OPENING = re.compile(r"[\[ \t]+")
_EQUALS = re.compile(r"[ \t]*=[ \t]*")
_STRING = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*"{3,5}'
    r"|'''(?:[^']|'(?!''))*'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A key with a value.

    Attributes:
        name: the full name, through the sections: ``("budget", "epsilon")``.
        start: where in the text the value begins.
        stop: where it ends.
    """

    name: tuple[str, ...]
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Remark:
    """A comment.

    Attributes:
        line: its number, from 1.
        name: the full name of the entry, or else the section, that it stands at.
        text: what follows the first mark.
    """

    line: int
    name: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """Something that a draft asks its owner and that nobody answered yet.

    Attributes:
        line: its number, from 1.
        place: the dotted name of what is asked about.
        text: the question.
    """

    line: int
    place: str
    text: str


def layout(text: str) -> tuple[list[Entry], list[Remark]]:
    """Return the entries and the comments of a contract, in order."""
    entries: list[Entry] = []
    remarks: list[Remark] = []
    section: tuple[str, ...] = ()
    here: tuple[str, ...] = ()
    at = 0
    while at < len(text):
        if text[at] == "\n":
            here, at = section, at + 1
        elif text[at].isspace() or text[at] == "]":
            at += 1
        elif text[at] == "#":
            at = _remark(text, at, here, remarks)
        elif text[at] == "[":
            section, at = _name(text, next(_OPENING.finditer(text, at)).end())
            here = section
        else:
            name, at = _name(text, at)
            here = (*section, *name)
            sign = _EQUALS.match(text, at)
            if sign is None:  # no TOML; the line is skipped
                at = _end(text, at)
                continue
            stop = _value(text, sign.end(), here, remarks)
            entries.append(Entry(here, sign.end(), stop))
            at = stop
    return entries, remarks


def open_questions(text: str) -> list[OpenQuestion]:
    """Return what a draft still asks: every comment with ``#?`` in it.

    Example:
        >>> open_questions('epsilon = 1  #? is this enough?')
        [OpenQuestion(line=1, place='epsilon', text='is this enough?')]
    """
    return [
        OpenQuestion(remark.line, dotted(_about(remark)), _asked(remark))
        for remark in layout(text)[1]
        if QUESTION in f"#{remark.text}"
    ]


def dotted(name: tuple[str, ...]) -> str:
    """Write a full name for people."""
    return ".".join(map(quoted, name))


def key(name: str) -> str:
    """Write a key for TOML: bare if it can be."""
    return name if _BARE.fullmatch(name) else string(name)


def string(text: str) -> str:
    r"""Write a text for TOML, in one line, whatever is in it.

    What cannot be seen or would turn the direction of writing is escaped, and so is what looks like
    a question.

    Example:
        >>> print(string('a "b"\n#? c'))
        "a \"b\"\u000A\u0023? c"
    """
    return '"' + "".join(map(_escaped, text)).replace(QUESTION, "\\u0023?") + '"'


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return "\\" + letter
    if letter.isprintable():
        return letter
    code = ord(letter)
    return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"


def _asked(remark: Remark) -> str:
    return f"#{remark.text}".rpartition(QUESTION)[2].strip()


def _about(remark: Remark) -> tuple[str, ...]:
    """Return what a comment is about: an entry that is commented out, or where it stands."""
    out = remark.text.lstrip(" \t")
    name, at = _name(out, 0)
    if name and _EQUALS.match(out, at):
        return (*remark.name, *name)
    return remark.name


def _name(text: str, at: int) -> tuple[tuple[str, ...], int]:
    """Read a dotted key."""
    parts: list[str] = []
    for part in _parts(text, at):
        written = part.group()
        parts.append(tomllib.loads(f"k = {written}")["k"] if written[0] in "\"'" else written)
        at = part.end()
    return tuple(parts), at


def _parts(text: str, at: int) -> Iterator[re.Match[str]]:
    while (part := _PART.match(text, at)) is not None:
        yield part
        dot = _DOT.match(text, part.end())
        if dot is None:
            return
        at = dot.end()


def _value(text: str, at: int, name: tuple[str, ...], remarks: list[Remark]) -> int:
    """Return where a value ends; comments within a list are noted on the way."""
    depth, stop = 0, at
    while at < len(text):
        letter = text[at]
        if letter in "\"'" and (found := _STRING.match(text, at)):
            at = stop = found.end()
            continue
        if letter in "#\n" and depth == 0:
            break
        if letter == "#":
            at = _remark(text, at, name, remarks)
            continue
        depth += (letter in "[{") - (letter in "]}")
        at += 1
        stop = stop if letter.isspace() else at
    return stop


def _remark(text: str, at: int, name: tuple[str, ...], remarks: list[Remark]) -> int:
    stop = _end(text, at)
    remarks.append(Remark(text.count("\n", 0, at) + 1, name, text[at + 1 : stop]))
    return stop


def _end(text: str, at: int) -> int:
    stop = text.find("\n", at)
    return len(text) if stop < 0 else stop
