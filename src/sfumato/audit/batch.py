"""Many outputs of one side, as columns that can be counted.

What a column says about one run depends on that run alone: otherwise runs would not be independent,
and no bound from counts would hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.audit.output import atom, numbers, parts

Column: TypeAlias = NDArray[np.int64] | NDArray[np.float64]

TIME = "run time"
_MOST_NAMES = 64
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Batch:
    """Outputs of independent runs.

    Attributes:
        size: how many runs.
        atoms: views of the outputs that have no order, as 64-bit hashes.
        names: the numbers that are found in the outputs, the most frequent first.
        column: returns the number of that name in each run; NaN where a run has none.
        show: the output of one run, for people.
    """

    size: int
    atoms: Mapping[str, NDArray[np.uint64]]
    names: tuple[str, ...]
    column: Callable[[str], Column]
    show: Callable[[int], str]

    @classmethod
    def of_array(cls, drawn: NDArray[Any]) -> Batch:
        """Take outputs that are numbers, one run a row."""
        drawn = drawn.astype(np.float64 if drawn.dtype.kind == "f" else np.int64)
        rows = drawn.reshape(len(drawn), -1)
        names = ["value"] if drawn.ndim == 1 else [f"value[{i}]" for i in range(rows.shape[1])]
        place = {name: i for i, name in enumerate(names)}

        @cache
        def column(name: str) -> Column:
            if name not in place:
                return np.full(len(rows), np.nan)
            return np.ascontiguousarray(rows[:, place[name]])

        return cls(len(rows), {"output": _row_atoms(rows)}, tuple(names), column, _shower(drawn))

    @classmethod
    def of_outputs(
        cls, outputs: Sequence[Any], seconds: NDArray[np.float64] | None = None
    ) -> Batch:
        """Take outputs of any kind, and perhaps the time that each took."""
        size = len(outputs)
        atoms: dict[str, NDArray[np.uint64]] = {}
        for i, output in enumerate(outputs):
            for name, part in parts(output):
                if name not in atoms:
                    atoms[name] = np.zeros(size, np.uint64)
                atoms[name][i] = atom(part)
        found = [dict(numbers(output)) for output in outputs]
        frequent = Counter(name for run in found for name in run).most_common(_MOST_NAMES)

        @cache
        def column(name: str) -> Column:
            if name == TIME and seconds is not None:
                return seconds
            return np.array([run.get(name, np.nan) for run in found], np.float64)

        names = [*([] if seconds is None else [TIME]), *(name for name, _ in frequent)]
        return cls(size, atoms, tuple(names), column, _shower(outputs))

    def atoms_of(self, name: str) -> NDArray[np.uint64]:
        """Return a view; zeros where a run has none of it."""
        return self.atoms[name] if name in self.atoms else np.zeros(self.size, np.uint64)

    def halves(self) -> tuple[Batch, Batch]:
        """Split into the earlier and the later runs."""
        middle = self.size // 2
        return self._part(0, middle), self._part(middle, self.size)

    def _part(self, start: int, stop: int) -> Batch:
        return Batch(
            stop - start,
            {name: atoms[start:stop] for name, atoms in self.atoms.items()},
            self.names,
            lambda name: self.column(name)[start:stop],
            lambda i: self.show(start + i),
        )


def _row_atoms(rows: NDArray[Any]) -> NDArray[np.uint64]:
    """Hash each row; a single number is its own hash."""
    bits = np.ascontiguousarray(rows).view(np.uint64)
    mixed = bits[:, 0].copy()
    for i in range(1, bits.shape[1]):
        mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)  # odd, so that nothing is lost
        mixed ^= bits[:, i]
    return mixed


def _shower(outputs: Any) -> Callable[[int], str]:
    def show(i: int) -> str:
        text = repr(outputs[i].tolist() if isinstance(outputs, np.ndarray) else outputs[i])
        return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."

    return show
