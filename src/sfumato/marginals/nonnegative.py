"""Local non-negativity: marginals of which no cell is below 0, as near to the estimates as can be.

Effects are moved as little as their precision allows, until every cell of every marginal that was
planned for is 0 or above; as effects they stay consistent. The dual has one multiplier for each
cell, a gradient that is the marginals themselves, and a known curvature, so that plain accelerated
steps solve it. Theory: docs/theory/residuals.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from sfumato.core.errors import InputError
from sfumato.marginals.basis import Floats
from sfumato.marginals.closure import subsets
from sfumato.marginals.domain import Attribute, Places
from sfumato.marginals.fit import Fit

MOST_CELLS = 5_000_000  # of all marginals together: each is visited hundreds of times
_ROUNDS = 1000
_GAP = 0.001  # between the distance reached and the least possible, relative
_LEAST = 1e-300  # of a slope: the total alone cannot be moved
_MARGIN = 0.002  # of a cell's standard deviation, that every cell is to have at least,
_SHARE = 0.02  # or of its even share of the total, if that is less


class NonNegative:
    """Effects whose marginals are 0 or above, from those of a fit."""

    def __init__(
        self, attributes: Sequence[Attribute], fit: Fit, workload: Sequence[Places]
    ) -> None:
        """Solve for all marginals of the workload at once.

        Raises:
            InputError: they have too many cells.
        """
        self._sizes = [attribute.size for attribute in attributes]
        # A marginal below another is 0 or above with it.
        self._tops = _tops([tuple(i for i in m if self._sizes[i] > 1) for m in workload])
        check(self._sizes, workload)
        parts = {part for top in self._tops for part in subsets(top)}
        self._effects = {part: fit.effect(part) for part in parts}
        # The total stays: otherwise many cells that are cut off at 0 would let it grow.
        self._spread = {part: fit.evenness(part) if part else 0.0 for part in parts}
        self._effects[()] = np.maximum(self._effects[()], 0)
        self._noise = {top: float(np.sqrt(fit.variance(top).mean())) for top in self._tops}
        self._solve()

    def marginal(self, places: Places) -> Floats:
        """Return the counts of a marginal below those of the workload."""
        free = tuple(i for i in places if self._sizes[i] > 1)
        return np.maximum(self._table(free, self._effects), 0).reshape(
            [self._sizes[i] for i in places]
        )

    def _solve(self) -> None:
        """Take accelerated steps, of a length for each table; begin anew if one overshoots.

        What is aimed at is above 0 by far less than the noise of a cell, so that the search can end
        once all cells are there. If it does not, those are taken that come nearest to it.
        """
        start = self._effects
        total = float(start[()])
        margin = {
            top: min(_SHARE * total / self._cells(top), _MARGIN * self._noise[top])
            for top in self._tops
        }
        steps = self._steps()
        held = {top: np.zeros([self._sizes[i] for i in top]) for top in self._tops}
        ahead, momentum = dict(held), 1.0
        best, closest = -np.inf, start
        for _ in range(_ROUNDS):
            self._effects = self._moved(start, ahead)
            tables = {top: self._table(top, self._effects) for top in self._tops}
            lowest = min(float(table.min()) for table in tables.values())
            if lowest >= 0 and self._is_nearest(
                start, ahead, {top: table - margin[top] for top, table in tables.items()}
            ):
                return
            if lowest > best:
                best, closest = lowest, self._effects
            new = {
                top: np.maximum(ahead[top] - steps[top] * (table - margin[top]), 0)
                for top, table in tables.items()
            }
            turned = sum(
                float(((ahead[top] - new[top]) * (new[top] - held[top])).sum()) / steps[top]
                for top in new
            )
            following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
            speed = 0.0 if turned > 0 else (momentum - 1) / following
            ahead = {top: new[top] + speed * (new[top] - held[top]) for top in new}
            held, momentum = new, (1.0 if turned > 0 else following)
        self._effects = closest
        self._shrink()

    def _is_nearest(
        self,
        start: dict[Places, Floats],
        push: dict[Places, Floats],
        above: dict[Places, Floats],
    ) -> bool:
        """Say whether no other marginals are nearer by more than a little: the duality gap.

        Cells below the margin take from the gap what others add, so each counts by its size.
        """
        gap = sum(float(np.abs(push[top] * above[top]).sum()) for top in push)
        moved = sum(
            float(((effect - start[part]) ** 2).sum()) / self._spread[part]
            for part, effect in self._effects.items()
            if self._spread[part]
        )
        return gap <= _GAP * moved / 2

    def _steps(self) -> dict[Places, float]:
        """Return how far to go along the gradient of each table.

        A part couples the tables above it by a matrix of rank one, with entries a·a'; that is at
        most the diagonal matrix with entries a·Σa'.
        """
        above: dict[Places, list[Places]] = {}
        for top in self._tops:
            for part in subsets(top):
                above.setdefault(part, []).append(top)
        reach = {
            part: sum(self._rest(top, part) ** -0.5 for top in tops) for part, tops in above.items()
        }
        steep = {
            top: [
                self._spread[part] * reach[part] * self._rest(top, part) ** -0.5 for part in parts
            ]
            for top, parts in ((top, subsets(top)) for top in self._tops)
        }
        return {top: 1 / max(*each, _LEAST) for top, each in steep.items()}

    def _moved(
        self, start: dict[Places, Floats], push: dict[Places, Floats]
    ) -> dict[Places, Floats]:
        """Return the effects that multipliers lead to: each pushes all effects below its table."""
        made = {}
        for part, effect in start.items():
            force = np.zeros(effect.shape)
            for top, multipliers in push.items():
                if set(part) <= set(top):
                    others = tuple(k for k, i in enumerate(top) if i not in part)
                    force = force + multipliers.sum(axis=others) / self._rest(top, part)
            for axis in range(len(part)):
                force = force - force.mean(axis=axis, keepdims=True)
            made[part] = effect + self._spread[part] * force
        return made

    def _shrink(self) -> None:
        """Draw all effects towards an even table, so far that no cell is below 0."""
        total = max(float(self._effects[()]), 0.0)
        keep = 1.0
        for top in self._tops:
            even = total / self._cells(top)
            lowest = float(self._table(top, self._effects).min())
            if lowest < 0:
                keep = min(keep, even / (even - lowest))
        for part, effect in self._effects.items():
            self._effects[part] = effect * keep if part else np.array(total)

    def _table(self, places: Places, effects: dict[Places, Floats]) -> Floats:
        made = np.zeros([self._sizes[i] for i in places])
        for part in subsets(places):
            others = tuple(k for k, i in enumerate(places) if i not in part)
            made += np.expand_dims(effects[part] / self._rest(places, part), others)
        return made

    def _rest(self, top: Places, part: Places) -> int:
        return prod(self._sizes[i] for i in top if i not in part)

    def _cells(self, places: Places) -> int:
        return prod(self._sizes[i] for i in places)


def check(sizes: Sequence[int], workload: Sequence[Places]) -> None:
    """Refuse marginals with too many cells; asked before they are paid for, too.

    Raises:
        InputError: they have more than are made non-negative at once.
    """
    tops = _tops([tuple(i for i in m if sizes[i] > 1) for m in workload])
    cells = sum(prod(sizes[i] for i in top) for top in tops)
    if cells > MOST_CELLS:
        raise InputError(
            f"these marginals have {cells:,} cells together, more than the {MOST_CELLS:,} that "
            f"are made non-negative at once. Release marginals of fewer columns."
        )


def _tops(marginals: Sequence[Places]) -> list[Places]:
    """Return the marginals that are below no other."""
    found: list[Places] = []
    below: set[Places] = set()
    for marginal in sorted(dict.fromkeys(marginals), key=len, reverse=True):
        if marginal not in below:
            found.append(marginal)
            below.update(subsets(marginal))
    return found
