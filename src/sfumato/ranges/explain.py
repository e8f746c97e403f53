"""What each method would err by, for a workload and a price. Free; reads nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import InputError
from sfumato.core.number import Exactable
from sfumato.ranges.method import candidates, planned
from sfumato.ranges.plan import Plan
from sfumato.ranges.spending import Spending
from sfumato.ranges.workload import Workload
from sfumato.session.column import Column

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True, slots=True)
class Expected:
    """One method and its error.

    Attributes:
        method: its name.
        rmse: the root of the mean squared error of the workload; None where it depends on data.
        noise: ``"laplace"`` or ``"gaussian"``.
        said: what it measures, in words.
    """

    method: str
    rmse: float | None
    noise: str
    said: str


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """The methods, best first.

    Attributes:
        workload: what is to be answered.
        expected: the methods.
    """

    workload: Workload
    expected: tuple[Expected, ...]

    @property
    def best(self) -> Expected:
        """The method with the least error among those whose error is known beforehand."""
        return self.expected[0]

    def __getitem__(self, method: str) -> Expected:
        """Return one method."""
        for each in self.expected:
            if each.method == method:
                return each
        raise InputError(f"{method!r} was not compared. There are: {', '.join(self)}.")

    def __iter__(self) -> Any:
        """Iterate over the names."""
        return (each.method for each in self.expected)

    def to_arrow(self) -> pyarrow.Table:
        """Return an Arrow table."""
        import pyarrow as pa

        names = ("method", "rmse", "noise", "said")
        return pa.table({name: [getattr(e, name) for e in self.expected] for name in names})

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        rows = [
            {"method": e.method, "rmse": e.rmse, "noise": e.noise, "said": e.said}
            for e in self.expected
        ]
        return {"workload": self.workload.name, "cells": self.workload.cells, "methods": rows}

    def __repr__(self) -> str:
        """Show a small table."""
        lines = [
            f"{len(self.workload):,} sums ({self.workload.name}) of {self.workload.cells:,} cells"
        ]
        for e in self.expected:
            error = "by the data" if e.rmse is None else f"{e.rmse:,.4g}"
            lines.append(f"{e.method:<14} {error:>12}  {e.noise:<8}  {e.said}")
        return "\n".join(
            [lines[0], f"{'method':<14} {'rmse':>12}  {'noise':<8}  measures", *lines[1:]]
        )


def compared(
    column: Column,
    workload: Workload,
    *,
    epsilon: Exactable | None,
    delta: Exactable,
    rho: Exactable | None,
) -> list[tuple[Expected, Plan, Spending]]:
    """Return all methods whose error is known beforehand, with their plans, best first."""
    out, left = [], column.remaining
    pures = [True, False] if epsilon is not None and delta else [epsilon is not None]
    for pure in pures:
        spending = Spending.of(epsilon, delta, rho, pure=pure, left=left)
        for name in candidates(workload, pure=pure):
            plan = planned(name, workload, pure=pure)
            error = plan.error(column, spending, workload)
            kind = "laplace" if spending.pure else "gaussian"
            out.append((Expected(name, error, kind, plan.said), plan, spending))
    return sorted(out, key=lambda each: each[0].rmse or 0.0)
