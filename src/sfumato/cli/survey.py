"""A made-up survey: who likes kale. The same people every time, from a hash and not from noise.

Nobody real is in it, so the demonstration may show the truth beside the noisy answers.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Name, share of the people and share of kale lovers, both in percent.
_TOWN: Final = (
    ("Old Town", 22, 27),
    ("Harbor", 17, 19),
    ("Hillside", 14, 33),
    ("Mills", 20, 23),
    ("University", 15, 46),
    ("Lakeside", 12, 38),
)
DISTRICTS: Final = tuple(name for name, _, _ in _TOWN)
YOUNGEST: Final = 18
OLDEST: Final = 95

_STREAM: Final = b"sfumato survey of kale, first edition"
_WORDS: Final = 4  # random 32-bit words a person


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """One row a person, in the order in which they answered.

    Attributes:
        district: where they live, as a position in `DISTRICTS`.
        age: in years.
        likes_kale: what they answered.
    """

    district: NDArray[np.int64]
    age: NDArray[np.int64]
    likes_kale: NDArray[np.bool_]

    @classmethod
    def of(cls, people: int) -> Survey:
        """Make up `people` answers; the last is Nicole, who is new in town and hates kale.

        Apart from her, a larger survey begins with the same people.
        """
        stream = hashlib.shake_256(_STREAM).digest(4 * _WORDS * people)
        words = np.frombuffer(stream, "<u4").reshape(people, _WORDS).astype(np.int64)
        percent = words[:, 0] * 100 >> 32
        edges = np.cumsum([share for _, share, _ in _TOWN])
        district = np.searchsorted(edges, percent, side="right")
        # Leans to the young, as towns do: one uniform word and the lesser of two.
        span = OLDEST - YOUNGEST + 1
        age = YOUNGEST + ((words[:, 1] + words[:, 1:3].min(axis=1)) * span >> 33)
        liking = np.array([liked for _, _, liked in _TOWN])[district] + np.where(age < 40, 5, -3)
        likes = words[:, 3] * 100 >> 32 < liking
        district[-1], age[-1], likes[-1] = DISTRICTS.index("University"), 27, False
        return cls(district, age, likes)

    def __len__(self) -> int:
        """Count the people."""
        return self.age.size

    def likes_by_district(self) -> NDArray[np.int64]:
        """Count the people who like kale, in each district."""
        return np.bincount(self.district[self.likes_kale], minlength=len(DISTRICTS))
