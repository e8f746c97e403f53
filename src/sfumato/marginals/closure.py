"""All marginals below those of a workload, and what each part of them adds to the error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from sfumato.core.errors import InputError
from sfumato.marginals.basis import Floats, gram, lift, number
from sfumato.marginals.domain import Attribute, Domain, Places

MOST_SETS = 1_000_000  # parts that are planned for


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """The parts that a workload is made of: a residual for each set of columns below it.

    Attributes:
        domain: the columns.
        workload: the marginals that are wanted.
        parts: the sets of columns, the smallest first; columns of one value are in none.
        shares: how much the variance of a part adds to that of a marginal, summed over its
            questions; a sparse matrix with a row for each marginal and a column for each part.
        questions: how many questions each marginal has.
    """

    domain: Domain
    workload: tuple[Places, ...]
    parts: tuple[Places, ...]
    shares: Any
    questions: Floats

    @classmethod
    def of(cls, domain: Domain, workload: Sequence[Places], *, even: bool = False) -> Closure:
        """Find the parts.

        Args:
            domain: the columns.
            workload: the marginals.
            even: whether what is known of a part has noise that is alike in all directions, as that
                of counts, and not noise on the basis of each column.

        Raises:
            InputError: there are too many.
        """
        from scipy.sparse import csr_array

        several = [a.size > 1 for a in domain.attributes]
        inner = [_factors(a, even=even) for a in domain.attributes]
        place: dict[Places, int] = {}
        rows, columns, entries = [], [], []
        for row, marginal in enumerate(workload):
            free = [i for i in marginal if several[i]]
            whole = prod(inner[i][1] for i in marginal)
            if 2 ** len(free) + len(place) > MOST_SETS:
                raise InputError(
                    f"below these marginals there are more than {MOST_SETS:,} others, too many to "
                    f"plan for. Ask for marginals of fewer columns."
                )
            for part in subsets(free):
                rows.append(row)
                columns.append(place.setdefault(part, len(place)))
                entries.append(whole * prod(inner[i][0] / inner[i][1] for i in part))
        order = sorted(place, key=lambda part: (len(part), part))
        rank = np.empty(len(place), np.int64)
        rank[[place[part] for part in order]] = np.arange(len(order))
        shares = csr_array(
            (np.array(entries), (np.array(rows), rank[np.array(columns)])),
            shape=(len(workload), len(order)),
        )
        questions = [
            prod(number(domain.attributes[i].size, domain.attributes[i].asked) for i in marginal)
            for marginal in workload
        ]
        return cls(domain, tuple(workload), tuple(order), shares, np.array(questions, np.float64))

    def weights(self, each: Floats | None = None) -> Floats:
        """Return what the variance of each part adds to the sum over all questions.

        Args:
            each: how much each marginal counts; as much as it has questions, if not given.
        """
        return np.asarray(self.shares.T @ (np.ones(len(self.workload)) if each is None else each))

    def variances(self, parts: Floats) -> Floats:
        """Return the mean variance of the questions of each marginal."""
        return np.asarray(self.shares @ parts / self.questions)


def subsets(places: Iterable[int]) -> list[Places]:
    """Return all subsets, the smallest first."""
    held = tuple(places)
    return [chosen for size in range(len(held) + 1) for chosen in combinations(held, size)]


def _factors(attribute: Attribute, *, even: bool) -> tuple[float, float]:
    """Return what one column adds if it is in a part, and if it is averaged over.

    With questions W about the column these are the squares of W·M⁺ and of W·1/n, summed up; with
    even noise M is the projection itself.
    """
    size = attribute.size
    wanted = gram(size, attribute.asked) if attribute.asked != "values" else None
    mean = 1 / size if wanted is None else float(wanted.sum()) / size**2
    if attribute.matrix is None:
        return 0.0, mean
    if even:
        return (size - 1.0 if wanted is None else float(np.trace(wanted)) - mean), mean
    if wanted is None:
        return float(lift(attribute.matrix).weights(None)[0].sum()), mean
    through = lift(attribute.matrix).through(np.eye(size))
    return float(np.trace(through.T @ wanted @ through)), mean
