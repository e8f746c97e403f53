"""Groups that nobody can list beforehand: what all selections of them have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting.grid import dyadic, index_below, least, shorten_up
from sfumato.accounting.price import price
from sfumato.accounting.zcdp import pure_rho
from sfumato.core.budget import Budget
from sfumato.core.errors import CostError, DataError, SensitivityError
from sfumato.core.interval import DIGITS, Interval
from sfumato.core.loss import Approximate, Composed, Loss, Pure
from sfumato.core.number import Exactable, failure_probability, is_integer, open_unit
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Neighbors, Unit
from sfumato.mechanisms.mechanism import check_unit, whole
from sfumato.mechanisms.occurrence import Groups
from sfumato.noise.rng import Rng, system
from sfumato.release.error import Error
from sfumato.release.key import check_cells
from sfumato.release.release import Release

Key: TypeAlias = str | int
Cells: TypeAlias = tuple[tuple[Key, int], ...]
Chosen: TypeAlias = tuple[NDArray[np.intp], NDArray[np.int64] | None]

_MOST = 2**62


class Unlisted(ABC):
    """A selection of groups by their numbers of units; mixed into the mechanisms."""

    __slots__ = ()
    takes_cells: ClassVar[bool] = False

    if TYPE_CHECKING:  # a mechanism has both

        def loss(self, sensitivity: Sensitivity) -> Loss: ...  # noqa: D102
        def error(self, sensitivity: Sensitivity) -> Error: ...  # noqa: D102

    @abstractmethod
    def choose(self, counts: NDArray[np.int64], rng: Rng) -> Chosen:
        """Draw which groups are released.

        Args:
            counts: the number of units of each group; from 0 down a group does not exist.
            rng: the randomness.

        Returns:
            The positions of the groups that are released, ascending, and their noisy counts, or
            None where names are all that is released.
        """

    @abstractmethod
    def enough(self, confidence: Exactable = Fraction(95, 100)) -> int:
        """Return how many units a group needs to be released with this probability."""

    @property
    def said(self) -> str:
        """What a reader should know before paying; static."""
        return f"a group needs about {self.enough()} units to appear in 95 of 100 releases"

    @property
    def noise_scale(self) -> Fraction | None:
        """The scale of the noise in released counts; None where there are none."""
        return None

    def exact(self, values: Any) -> Cells | Groups:
        """Take a mapping from groups to numbers of units, or the groups of a table."""
        return values if isinstance(values, Groups) else occupied(values)

    def sample(self, exact: Cells | Groups, rng: Rng) -> Any:
        """Return the groups that are released, in the order of their keys.

        Each with its noisy count, or the keys alone where no counts are released; of a table, as
        `sfumato.mechanisms.occurrence.Chosen`.
        """
        if isinstance(exact, Groups):
            return exact.chosen(*self.choose(exact.counts, rng))
        units = np.fromiter((count for _, count in exact), np.int64, len(exact))
        places, counts = self.choose(units, rng)
        keys = [exact[place][0] for place in places.tolist()]
        return tuple(keys) if counts is None else tuple(zip(keys, counts.tolist(), strict=True))

    def _released(
        self,
        values: Any,
        sensitivity: Sensitivity,
        *,
        name: str,
        column: str | None,
        keys: Mapping[str, Iterable[Any]] | None,
        confidence: Any,
        unit: Unit | None,
    ) -> Release:
        """Draw once; with a column the release holds counts by group, else the groups alone."""
        if keys is not None:
            raise DataError("which groups there are is what is released. Leave out keys=.")
        cost, exact = self.loss(sensitivity), self.exact(values)
        sure = open_unit(confidence, "confidence")
        check_cells(name, None if column is None else {column: ()}, (0,))
        check_unit(unit, cost)
        said = (f"{self.said}.",)
        drawn = self.sample(exact, system())
        if column is None:
            found: Any = np.array(shown(drawn), np.object_)
        else:
            found = np.array([count for _, count in drawn], np.int64)
        return Release.of(
            values=found,
            error=None if column is None else self.error(sensitivity),
            cost=cost,
            mechanism=repr(self),
            scale=self.noise_scale,
            name=name,
            keys=None if column is None else {column: shown(key for key, _ in drawn)},
            confidence=sure,
            notes=said,
            unit=unit,
            price=price(cost),
        )


class Move(NamedTuple):
    """How far one unit can move the counts of groups, in whole numbers.

    Attributes:
        groups: how many groups it can change.
        most: by how much one of them, at most.
        total: by how much all together, at most; from `most` to groups·most.
        square: the sum of the squares, at most.
    """

    groups: int
    most: int
    total: int
    square: int

    @property
    def full(self) -> bool:
        """Whether all groups can move by the most at once, so that each counts for itself."""
        return self.total == self.groups * self.most

    @property
    def parts(self) -> tuple[int, int]:
        """How many losses of how many counts each bound one of all: each group, or all at once."""
        return (self.groups, self.most) if self.full else (1, self.total)

    @property
    def times(self) -> Fraction:
        """How many groups could move by the most."""
        return Fraction(self.total, self.most)


def moved(sensitivity: Sensitivity) -> Move:
    """Return how far one unit can move the counts."""
    most = int(whole(sensitivity.linf))
    if sensitivity.l1 is None:
        raise SensitivityError(
            "one unit could be in any number of groups, so no δ covers them. Pass l0= with linf=, "
            "or l1=: in how many groups one unit may count."
        )
    total = int(whole(sensitivity.l1))
    groups = total if sensitivity.l0 is None else min(int(sensitivity.l0), total)
    total = min(total, groups * most)
    # Squares are convex: they add up to most where as many groups as can move by the most.
    times, rest = divmod(total, most)
    square = times * most**2 + rest**2
    if sensitivity.l2_squared is not None:
        square = min(square, max(int(whole(sensitivity.l2_squared)), most**2))
    return Move(groups, most, total, square)


def joint(failure: Fraction, times: Fraction | int) -> Fraction:
    """Return 1 - (1 - δ)^times, rounded up, and at most times·δ; for 0 times or 1 and more."""
    if times <= 1 or failure >= 1:
        return failure * bool(times)
    none = ((1 - Interval.of(failure)).log() * times).exp()
    return min(shorten_up(times * failure), shorten_up(Fraction((1 - none).high)), Fraction(1))


def single(failure: Fraction, times: Fraction | int) -> Fraction:
    """Return 1 - (1 - δ)^(1/times), about: what each of so many may fail with."""
    if times <= 1:
        return failure
    digits = DIGITS + failure.denominator.bit_length() * 31 // 100
    none = ((1 - Interval.of(failure, digits)).log() / times).exp()
    return 1 - Fraction(none.high)


def within(target: Budget, move: Move) -> Fraction:
    """Return the largest ε of one count by one, or slightly less, that a target has room for."""
    if target.rho is None:
        return (target.epsilon or Fraction(0)) / move.total
    many, counts = move.parts
    share = target.rho / many
    # ε·tanh(ε/2) <= ε²/2, so that the root fits; twice that, or 2ρ, is beyond it.
    root = Fraction(Interval.of(2 * share).sqrt().low)
    low, high = index_below(root), index_below(2 * max(root, share)) + 1
    return dyadic(least(lambda i: pure_rho(dyadic(i)) > share, low, high) - 1) / counts


def counted(one: Fraction, move: Move, failure: Fraction, neighbors: Neighbors) -> Loss:
    """Return the loss of counts that have an ε each, outside failures of that probability.

    Args:
        one: ε of one count that moves by one.
        move: how far one unit can move the counts.
        failure: the probability of all failures together.
        neighbors: the relation.
    """
    many, counts = move.parts
    loss = counts * one
    others = Pure(loss, neighbors=neighbors) * (many - 1)
    return Composed.of([others, Approximate(loss, failure, neighbors=neighbors)])


def with_delta(target: Budget) -> Budget:
    """Refuse a target without δ: a group of one unit must appear at times, or none ever does."""
    if target.epsilon is None or not target.delta:
        raise _no_delta()
    return target


def with_failures(
    epsilon: Exactable | None, delta: Exactable, rho: Exactable | None
) -> tuple[Budget, Fraction]:
    """Return a target in ε or in ρ, and the δ beside it, without which there is none."""
    target, failure = Budget(epsilon, rho=rho), failure_probability(delta)
    if not failure:
        raise _no_delta()
    return target, failure


def _no_delta() -> CostError:
    return CostError(
        "a group that nobody listed shows that somebody is in it, which has no ε and no ρ by "
        "itself: it needs a δ. Pass epsilon=1, delta='1e-6', or list the groups."
    )


def occupied(values: Any) -> Cells:
    """Return the groups with a count above 0, in the order of their keys: numbers, then text.

    The order is one of the keys alone: that of a dictionary would tell who came first.
    """
    if not isinstance(values, Mapping):
        raise DataError(
            "groups come as a mapping of keys to counts, such as {'A': 3, 'B': 5}; of a pandas "
            "Series pass counts.to_dict()."
        )
    cells: list[tuple[Key, int]] = []
    for key, count in values.items():
        name = key.item() if isinstance(key, np.generic) else key
        text = isinstance(name, str)
        if not (text or is_integer(name)) or not is_integer(count):
            raise DataError(
                "keys of groups are text or whole numbers, and their counts are whole numbers. "
                "Write other keys as text, and count before asking."
            )
        if int(count) > 0:  # an empty group is none
            cells.append((str(name) if text else int(name), min(int(count), _MOST)))
    return tuple(sorted(cells, key=lambda cell: (isinstance(cell[0], str), cell[0])))


def shown(keys: Iterable[Key]) -> list[Key]:
    """Return released keys as a column can hold them: of one kind, and valid Unicode."""
    plain: list[Key] = list(keys)
    if not any(isinstance(key, str) for key in plain):
        return plain
    return [str(key).encode("utf-8", "replace").decode() for key in plain]
