"""What a mechanism is, and what every mechanism of ours can do in the laboratory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting.calibrate import calibrate
from sfumato.accounting.price import price
from sfumato.core.budget import Budget
from sfumato.core.errors import DataError, NeighborsError, RangeError, SensitivityError
from sfumato.core.loss import Loss
from sfumato.core.number import open_unit, show
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Unit
from sfumato.noise.law import LARGEST, SMALLEST
from sfumato.noise.rng import Rng, system
from sfumato.release.error import Error, Noise
from sfumato.release.key import check_cells
from sfumato.release.release import Release

Out_co = TypeVar("Out_co", covariant=True)


class Mechanism(Protocol[Out_co]):
    """Exact values in, noisy value out. A frozen value: parameters only, never data or state."""

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return what one draw gives away, for answers that one unit can move that far."""

    def sample(self, exact: Any, rng: Rng) -> Out_co:
        """Draw: the only method that sees exact values."""

    def error(self, sensitivity: Sensitivity) -> Error:
        """Return how far the draw may lie from the exact value; known before reading anything."""


class Laboratory(ABC):
    """A mechanism that can be called directly, for researchers and teachers.

    Nothing here touches a ledger: the caller holds the exact values and answers for them.
    """

    __slots__ = ()
    registry: ClassVar[dict[str, type[Laboratory]]] = {}
    takes_bag: ClassVar[bool] = False  # whether `sample` takes rows, of which the number is private
    takes_cells: ClassVar[bool] = True  # whether it takes counts of public cells, or scores

    def __init_subclass__(cls, **options: Any) -> None:
        """Register the mechanism: the contract suite and the documentation go through the list."""
        super().__init_subclass__(**options)
        # A dataclass with slots is made twice; the second class replaces the first.
        Laboratory.registry[cls.__name__] = cls

    @abstractmethod
    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return what one draw gives away, for answers that one unit can move that far."""

    @abstractmethod
    def error(self, sensitivity: Sensitivity) -> Error:
        """Return how far the draw may lie from the exact value; known before reading anything."""

    @abstractmethod
    def sample(self, exact: Any, rng: Rng) -> Any:
        """Draw from checked, exact values."""

    def reach(self, sensitivity: Sensitivity) -> dict[str, Fraction | None]:
        """Return how far apart, by norm, the inputs of `sample` can lie for neighbors.

        The same as the sensitivity, unless `exact` changes the unit.
        """
        return {name: getattr(sensitivity, name) for name in ("l0", "l1", "l2_squared", "linf")}

    @abstractmethod
    def exact(self, values: Any) -> Any:
        """Check values from outside and bring them into the form that `sample` takes."""

    def cells(self, exact: Any) -> tuple[int, ...]:
        """Return the shape of the answer: that of the input, unless it is one choice."""
        return np.shape(exact)

    def view(self, drawn: Any) -> Any:
        """Return a draw in the form that people compute with; post-processing."""
        return drawn.item() if isinstance(drawn, np.ndarray) and drawn.ndim == 0 else drawn

    def grid(self, drawn: Any) -> Any:
        """Return a draw as exact numbers, for a release."""
        return drawn

    def __call__(self, values: Any) -> Any:
        """Draw with the system's own randomness."""
        return self.view(self.sample(self.exact(values), system()))

    def release(
        self,
        values: Any,
        sensitivity: Sensitivity,
        *,
        name: str = "value",
        keys: Mapping[str, Iterable[Any]] | None = None,
        confidence: Any = Fraction(95, 100),
        unit: Unit | None = None,
    ) -> Release:
        """Draw once and return the answer with its interval and its cost.

        Cost and interval are computed before anything is drawn, so a refusal costs nothing.

        Args:
            values: the exact values.
            sensitivity: how far one unit can move them.
            name: what was measured.
            keys: names of the cells, as {column: values}.
            confidence: the probability with which each interval holds.
            unit: who is protected, for the card; the laboratory takes your word for it.
        """
        if keys is not None:
            refuse_labels(values, "[counts[name] for name in names]")
        cost, error, exact = self.loss(sensitivity), self.error(sensitivity), self.exact(values)
        error.halfwidth(open_unit(confidence, "confidence"))
        check_cells(name, keys, self.cells(exact))
        check_unit(unit, cost)
        noise = self.law
        drawn = self.grid(self.sample(exact, system()))
        return Release.of(
            values=drawn,
            error=error,
            cost=cost,
            mechanism=repr(self),
            scale=self.noise_scale,
            name=name,
            keys=keys,
            confidence=confidence,
            unit=unit,
            price=price(cost),
            noise=noise,
            draw=None if noise is None else system().words(2).tobytes().hex(),
        )

    @property
    def law(self) -> Noise | None:
        """The law of the noise, where that is all that is done to whole numbers."""
        return None

    @property
    def noise_scale(self) -> Fraction | None:
        """The scale of the noise in the unit of the answer, where there is one."""
        return None

    def __repr__(self) -> str:
        """Show the parameters as one would type them."""
        shown = ", ".join(
            f"{name}={_shown(value)}"
            for name in (f.name for f in fields(self))  # type: ignore[arg-type]
            if (value := getattr(self, name)) is not None
        )
        return f"{type(self).__name__}({shown})"


def _shown(value: Any) -> str:
    if isinstance(value, Fraction):
        return show(value)
    if callable(value):  # its repr could show what it holds
        return str(getattr(value, "__qualname__", type(value).__qualname__))
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def need(norm: Fraction | None, name: str, mechanism: str) -> Fraction:
    """Return a norm that the mechanism's guarantee rests on, or say that it is missing."""
    if norm is None:
        example = "Sensitivity(l0=1, l1=...) for one number" if name == "l0" else f"{name}=..."
        raise SensitivityError(
            f"{mechanism} needs the {name} sensitivity, and nothing is known about it. "
            f"Pass {example}, or l0= together with linf=."
        )
    return norm


def need_movable(sensitivity: Sensitivity) -> None:
    """Refuse to calibrate noise for an answer that no unit can move."""
    if not isinstance(sensitivity, Sensitivity):
        raise SensitivityError(
            f"{type(sensitivity).__name__} is not a sensitivity. "
            f"For a count pass Sensitivity(l1=1)."
        )
    if sensitivity.is_zero:
        raise SensitivityError(
            "the sensitivity is 0: no unit can move this answer, so there is no noise to "
            "calibrate. If that is true the answer is public and needs no mechanism; if not, state "
            "how far one unit can move it."
        )


def check_unit(unit: Unit | None, cost: Loss) -> None:
    """Refuse a unit that a release of this cost could not carry, before it is drawn."""
    if unit is not None and (not isinstance(unit, Unit) or unit.neighbors is not cost.neighbors):
        raise NeighborsError(
            "unit= is not a Unit under the neighbor relation of the sensitivity. State both under "
            "one relation, such as Unit.row(neighbors='replace')."
        )


def least_noise(loss_of: Callable[[Fraction], Loss], target: Budget) -> Fraction:
    """Return the least noise scale, of those that can be drawn, whose loss fits the target."""
    try:
        return calibrate(
            loss_of,
            epsilon=target.epsilon,
            delta=target.delta,
            rho=target.rho,
            low=SMALLEST,
            high=LARGEST,
        )
    except RangeError:
        raise RangeError(
            "no noise up to a scale of 2^60 brings the loss within the target. Ask for less "
            "privacy, or measure in a coarser step."
        ) from None


def whole(norm: Fraction) -> Fraction:
    """Round a norm of an integer answer up to a whole number."""
    return Fraction(-(-norm // 1))


def one_by_one(values: Any) -> NDArray[Any]:
    """Return values from outside as an array in which none changes how the others are read.

    A list becomes an array of objects: numpy would find one type for all of them, and a single
    float or huge integer would then round every other row.
    """
    return np.asarray(values) if hasattr(values, "dtype") else np.array(values, dtype=np.object_)


def refuse_labels(values: Any, example: str) -> None:
    """Refuse what is labeled where values are taken in the order of public names.

    A pandas Series from ``value_counts`` is in an order of its own, and a mapping has none.
    """
    index = getattr(values, "index", None)
    labeled = hasattr(values, "to_numpy") and type(index).__name__ not in ("RangeIndex", "NoneType")
    if labeled or isinstance(values, Mapping):
        raise DataError(
            f"these values carry labels of their own, and they are taken in the order of the "
            f"public names. Put them into that order: {example}."
        )


def rational(value: Any) -> Fraction | None:
    """Return a value from outside as the rational that it is, or None if it is not a number.

    A float is taken for the double that it is: here it is data, not a literal.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return Fraction(value) if isfinite(value) else None
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        return Fraction(value)
    if isinstance(value, Decimal) and value.is_finite():
        return Fraction(value)
    return None


def integers(values: Any) -> NDArray[np.int64]:
    """Read whole numbers from outside.

    Raises:
        DataError: something is not a whole number of 64 bits; no value is quoted.
    """
    try:
        array = one_by_one(values)
        if array.dtype.kind in "Ou":
            flat = [int(v) if isinstance(v, int | np.integer) else None for v in array.ravel()]
            if None in flat or any(isinstance(v, bool) for v in array.ravel()):
                raise TypeError
            array = np.array(flat, np.int64).reshape(array.shape)
        if array.size == 0 and array.dtype.kind == "f":
            array = array.astype(np.int64)
        if array.dtype.kind != "i":
            raise TypeError
    except (TypeError, ValueError, OverflowError):
        raise DataError(
            f"this mechanism adds integer noise to whole numbers of at most 64 bits, and got "
            f"{_kind(values)}. Count, or convert with .astype(int) if they are whole; for real "
            f"values use GridLaplace."
        ) from None
    return array.astype(np.int64)


def _kind(values: Any) -> str:
    """Name what was passed by its type, never by its value."""
    kind = getattr(values, "dtype", None)
    if kind is not None:
        return f"an array of {kind}"
    name = type(values).__name__
    return (
        f"a {name} with something else in it" if isinstance(values, list | tuple) else f"a {name}"
    )
