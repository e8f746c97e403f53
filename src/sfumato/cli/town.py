"""A made-up town: its people, and their visits to clinics. The same for everyone, from a hash.

Nobody real is in it, so the demonstration may show the truth beside the noisy answers.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from sfumato.cli.survey import DISTRICTS

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

PEOPLE: Final = 23_250  # with their visits 100,000 rows
SEXES: Final = ("f", "m")
OLDEST: Final = 99
RICHEST: Final = 120_000  # what the owner declares as the largest income
DEAREST: Final = 300  # and as the dearest visit

# By district, as in `DISTRICTS`: share of the people in percent, and what they earn about.
_SHARES: Final = (22, 17, 14, 20, 15, 12)
_EARNED: Final = (31_000, 27_000, 52_000, 29_000, 24_000, 61_000)
# Name, share of the visits in percent, and what a visit costs about.
_CLINICS: Final = (
    ("General", 46, 48),
    ("Dental", 21, 115),
    ("Eyes", 12, 84),
    ("Children", 14, 55),
    ("Heart", 7, 190),
)
CLINICS: Final = tuple(name for name, _, _ in _CLINICS)
# How many visits a person makes in a year, and how many people in a thousand make so many.
_VISITS: Final = (
    (0, 200),
    (1, 250),
    (2, 180),
    (3, 120),
    (4, 80),
    (6, 70),
    (9, 50),
    (14, 30),
    (25, 15),
    (60, 5),
)

CONTRACT: Final = f"""\
[budget]
epsilon = "2.5"                        # for everything that is ever released
ledger = "town.ledger"

[unit]
name = "person"                        # id and person_id name the same: a person

[tables.people]
source = "people.csv"
version = "2026"
unit = "id"
max_rows = 1
[tables.people.columns]
age = {{ type = "integer", low = 0, high = {OLDEST} }}
district = {{ type = "category", values = {list(DISTRICTS)} }}
income = {{ type = "integer", low = 0, high = {RICHEST}, nullable = true }}
sex = {{ type = "category", values = {list(SEXES)} }}

[tables.visits]
source = "visits.parquet"
version = "2026"
unit = "person_id"
max_rows = 5                           # of a person who comes more often, five visits count
[tables.visits.columns]
day = {{ type = "date", low = 2026-01-01, high = 2026-12-31 }}
hour = {{ type = "integer", low = 0, high = 23 }}
clinic = {{ type = "category", values = {list(CLINICS)} }}
cost = {{ type = "real", low = 0, high = {DEAREST}, step = "0.01" }}
"""


@dataclass(frozen=True, slots=True, eq=False)
class Town:
    """Two tables: one row a person, and one row a visit.

    Attributes:
        age: of each person, in years.
        district: where they live, as a position in `DISTRICTS`.
        sex: as a position in `SEXES`.
        income: in a year; -1 where they did not say.
        visitor: whose visit it is, as a position among the people.
        day: of the year, from 0.
        hour: of the day.
        clinic: as a position in `CLINICS`.
        cents: what the visit cost.
    """

    age: Integers
    district: Integers
    sex: Integers
    income: Integers
    visitor: Integers
    day: Integers
    hour: Integers
    clinic: Integers
    cents: Integers

    @classmethod
    def of(cls, people: int = PEOPLE) -> Town:
        """Make the people up, and their visits."""
        words = _words(b"people", people, 7)
        district = _weighted(_SHARES, words[0])
        # Three quarters to five quarters of what the district earns, and more often the middle.
        spread = 75 + _between(0, 25, words[2]) + _between(0, 25, words[3])
        income = np.array(_EARNED)[district] * spread // 100
        income[_between(0, 99, words[4]) < 8] = -1
        often = np.array([visits for visits, _ in _VISITS])
        times = often[_weighted([share for _, share in _VISITS], words[6], 1000)]
        visitor = np.repeat(np.arange(people), times)
        more = _words(b"visits", visitor.size, 5)
        clinic = _weighted([share for _, share, _ in _CLINICS], more[2])
        cost = np.array([price for _, _, price in _CLINICS])[clinic]
        return cls(
            age=_between(0, OLDEST, np.minimum(words[1], words[5] * 2)),
            district=district,
            sex=words[5] % 2,
            income=income,
            visitor=visitor,
            day=_between(0, 364, more[0]),
            hour=_between(8, 19, more[1]),
            clinic=clinic,
            cents=cost * (50 + _between(0, 50, more[3]) + _between(0, 50, more[4])),
        )

    def __len__(self) -> int:
        """Count the rows of both tables."""
        return self.age.size + self.visitor.size

    @property
    def true_counts(self) -> tuple[int, ...]:
        """How many people live in each district."""
        return tuple(np.bincount(self.district, minlength=len(DISTRICTS)).tolist())

    @property
    def true_incomes(self) -> tuple[float, ...]:
        """The mean income of those who said it, in each district."""
        said = self.income >= 0
        return _means(self.district[said], self.income[said], len(DISTRICTS))

    @property
    def true_costs(self) -> tuple[float, ...]:
        """What a visit costs on average, in each clinic; all visits count."""
        return _means(self.clinic, self.cents / 100, len(CLINICS))

    def write(self, folder: Path) -> Path:
        """Write both tables and the contract about them; return the contract's path."""
        import pyarrow as pa
        from pyarrow import csv, parquet

        number = 1 + np.arange(self.age.size)
        people = pa.table(
            {
                "id": number,
                "age": self.age,
                "district": np.array(DISTRICTS)[self.district],
                "income": pa.array(self.income, mask=self.income < 0),
                "sex": np.array(SEXES)[self.sex],
            }
        )
        visits = pa.table(
            {
                "person_id": number[self.visitor],
                "day": np.datetime64("2026-01-01") + self.day,
                "hour": self.hour,
                "clinic": np.array(CLINICS)[self.clinic],
                "cost": self.cents / 100,
            }
        )
        csv.write_csv(people, str(folder / "people.csv"))
        parquet.write_table(visits, str(folder / "visits.parquet"))
        contract = folder / "town.toml"
        contract.write_text(CONTRACT, encoding="utf-8", newline="\n")
        return contract


def _words(name: bytes, rows: int, columns: int) -> Integers:
    """Return columns of numbers from 0 to 2^32 - 1 that look random and are always the same."""
    stream = hashlib.shake_256(b"sfumato town, first edition: " + name).digest(4 * columns * rows)
    return np.frombuffer(stream, "<u4").reshape(rows, columns).astype(np.int64).T


def _between(low: int, high: int, word: Integers) -> Integers:
    """Spread words evenly from `low` to `high`, both included."""
    return low + (np.minimum(word, 2**32 - 1) * (high - low + 1) >> 32)


def _weighted(shares: tuple[int, ...] | list[int], word: Integers, whole: int = 100) -> Integers:
    """Return positions, each as often as its share says."""
    found: Integers = np.searchsorted(np.cumsum(shares), word * whole >> 32, side="right")
    return found


def _means(group: Integers, values: NDArray[np.number], groups: int) -> tuple[float, ...]:
    sums = np.bincount(group, weights=values, minlength=groups)
    return tuple((sums / np.bincount(group, minlength=groups)).tolist())
