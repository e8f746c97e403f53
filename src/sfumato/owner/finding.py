"""One thing that an owner should look at."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from sfumato.core.errors import SfumatoError

Level: TypeAlias = Literal["error", "warning", "note"]
LEVELS: tuple[Level, ...] = ("error", "warning", "note")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to look at.

    Attributes:
        level: ``error``, ``warning`` or ``note``.
        rule: a name for this kind of finding, which never changes.
        place: the dotted name of what it is about.
        what: what was found.
        why: why it matters.
        mend: what to do.
    """

    level: Level
    rule: str
    place: str
    what: str
    why: str
    mend: str

    def to_dict(self) -> dict[str, str]:
        """Return the fields, for JSON."""
        return asdict(self)

    @classmethod
    def of(cls, rule: str, place: str, problem: SfumatoError) -> Finding:
        """Return a refusal as an error: what it says, and last how to mend it."""
        said, _, mend = problem.message.removesuffix(".").rpartition(". ")
        mend += "" if mend.endswith("?") else "."
        return cls("error", rule, place, f"{said}." if said else mend, "", mend if said else "")
