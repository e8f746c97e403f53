"""What the name of a column suggests: names are public, and a hint is asked, never believed."""

from __future__ import annotations

import re
from enum import IntEnum

_PEOPLE = frozenset(
    (
        "account",
        "citizen",
        "client",
        "customer",
        "donor",
        "driver",
        "employee",
        "guest",
        "household",
        "individual",
        "inhabitant",
        "member",
        "owner",
        "participant",
        "passenger",
        "patient",
        "people",
        "person",
        "pupil",
        "resident",
        "respondent",
        "rider",
        "seller",
        "student",
        "subject",
        "subscriber",
        "taxpayer",
        "tenant",
        "user",
        "visitor",
        "voter",
        "worker",
    )
)
_DIRECT = frozenset(("email", "mail", "iban", "passport", "phone", "ssn"))
_KEYS = frozenset(("id", "uid", "uuid", "guid"))
_NUMBERS = frozenset(("nr", "no", "num", "number"))

# Bounds that a name alone makes likely, and the step where halves occur.
_BOUNDS: dict[str, tuple[int, int, str | None]] = {
    "age": (0, 120, None),
    "hour": (0, 23, None),
    "latitude": (-90, 90, "0.001"),
    "lat": (-90, 90, "0.001"),
    "longitude": (-180, 180, "0.001"),
    "lon": (-180, 180, "0.001"),
    "lng": (-180, 180, "0.001"),
    "minute": (0, 59, None),
    "month": (1, 12, None),
    "percent": (0, 100, "0.1"),
    "percentage": (0, 100, "0.1"),
    "pct": (0, 100, "0.1"),
    "quarter": (1, 4, None),
    "second": (0, 59, None),
    "week": (1, 53, None),
    "weekday": (0, 7, None),
    "year": (1900, 2100, None),
}


class Likeness(IntEnum):
    """How much a name looks like that of a unit's column; the first is the likeliest."""

    PERSON_ID = 0
    PERSON = 1
    DIRECT = 2
    KEY = 3
    OTHER_KEY = 4

    @property
    def of_people(self) -> bool:
        """Whether the name speaks of people, not of just anything that is numbered."""
        return self <= Likeness.DIRECT


def words(name: str) -> tuple[str, ...]:
    """Split a name into its words.

    Example:
        >>> words("customerID"), words("home zone"), words("e-mail_2")
        (('customer', 'id'), ('home', 'zone'), ('email', '2'))
    """
    name = re.sub(r"(?i)\be-mail", "email", name.replace("_", " "))
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return tuple(re.findall(r"\w+", name.casefold()))


def likeness(name: str) -> Likeness | None:
    """Say whether a name looks like that of a column which says whose a row is.

    Example:
        >>> likeness("rider_id").name, likeness("Customer").name, likeness("trip_id").name
        ('PERSON_ID', 'PERSON', 'OTHER_KEY')
        >>> likeness("fare") is None
        True
    """
    found = words(name)
    if not found:
        return None
    people = not _PEOPLE.isdisjoint(found)
    last = found[-1]
    if people and (last in _KEYS or last in _NUMBERS):
        return Likeness.PERSON_ID
    if any(last.endswith(k) and last.removesuffix(k) in _PEOPLE for k in _KEYS | _NUMBERS):
        return Likeness.PERSON_ID
    if last in _PEOPLE:
        return Likeness.PERSON
    if not _DIRECT.isdisjoint(found):
        return Likeness.DIRECT
    if last not in _KEYS:
        return None
    return Likeness.KEY if len(found) == 1 else Likeness.OTHER_KEY


def bounds(name: str) -> tuple[int, int, str | None] | None:
    """Return the bounds, and the step if not 1, that the last word of a name makes likely.

    Example:
        >>> bounds("pickup_hour"), bounds("fare")
        ((0, 23, None), None)
    """
    found = words(name)
    return _BOUNDS.get(found[-1]) if found else None


def same_unit(column: str, table: str, other: str) -> bool:
    """Say whether a key column of a table may be what another table calls ``other``.

    The ``id`` of ``customers`` is likely to be the ``customer_id`` of ``orders``.
    """
    if column.casefold() == other.casefold():
        return True
    if likeness(column) is not Likeness.KEY:
        return False
    singular = {word.removesuffix("s") for word in words(table)}
    return not singular.isdisjoint(set(words(other)) - _KEYS)
