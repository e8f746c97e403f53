"""What a release would measure, cost and err: made from public facts, before anything is paid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from sfumato import accounting
from sfumato.core.budget import Budget
from sfumato.core.errors import CostError, InputError, LossError
from sfumato.core.loss import GaussianShift, Loss
from sfumato.core.sensitivity import Sensitivity
from sfumato.marginals import counts, planner
from sfumato.marginals.basis import Floats
from sfumato.marginals.closure import Closure
from sfumato.marginals.domain import Domain, Places, domain_of
from sfumato.marginals.planner import Objective
from sfumato.marginals.reading import Kind
from sfumato.marginals.workload import workload_of
from sfumato.mechanisms import DiscreteGaussian, DiscreteLaplace
from sfumato.release import law
from sfumato.release.error import Noise
from sfumato.release.inversion import confident
from sfumato.release.price import Price

if TYPE_CHECKING:
    from sfumato.marginals.release import Marginals

Method: TypeAlias = Literal["auto", "residuals", "counts", "barak"]

_BYTES = 24  # that a number takes while it is drawn and stored: itself, and both ends
_FEW = 64  # measurements up to which both kinds of noise are compared
_LEAST = 1e-200  # of a variance: at a huge price there is no noise to speak of
_SHOWN = 12  # marginals that `repr` shows
_SMALLER = (
    "Ask for marginals of fewer columns, name columns=, or make coarser bins with "
    "floor(column, width)."
)


@dataclass(frozen=True, slots=True)
class Step:
    """One set of columns, how it is asked, and with which noise.

    Attributes:
        places: the columns.
        kind: whether its counts are measured, or what they tell beyond smaller marginals.
        query: the question.
        sensitivity: how far one unit moves the answer.
        mechanism: the noise.
    """

    places: Places
    kind: Kind
    query: Any
    sensitivity: Sensitivity
    mechanism: DiscreteGaussian | DiscreteLaplace


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """A plan for a release of marginals. Free; it reads nothing until `release`.

    Attributes:
        curator: what is measured.
        domain: the columns.
        closure: the marginals that are wanted, and what they are made of.
        method: ``residuals`` with Gaussian noise, ``counts`` or ``barak`` with Laplace noise.
        target: the price that was set.
        steps: what is measured, in one charge.
        confidence: the probability with which each interval will hold.
        spread: the variance of each part of the closure, in each direction.
    """

    curator: Any
    domain: Domain
    closure: Closure
    method: Method
    target: Budget
    steps: tuple[Step, ...]
    confidence: Fraction
    spread: Floats

    @cached_property
    def cost(self) -> Loss:
        """What the release will give away: the losses of all steps."""
        return accounting.compose([s.mechanism.loss(s.sensitivity) for s in self.steps])

    @cached_property
    def price(self) -> Price:
        """The cost in numbers."""
        return accounting.price(self.cost, self.charge_delta)

    @property
    def charge_delta(self) -> Fraction:
        """The δ to charge: of what was set, what the budget can be charged, for Gaussian noise."""
        if self.method != "residuals":
            return Fraction(0)
        return _chargeable(self.curator, self.target)

    @property
    def cells(self) -> int:
        """How many numbers are measured."""
        return sum(int(step.query.shape.cells) for step in self.steps)

    @property
    def memory(self) -> int:
        """How many bytes they take, about."""
        return self.cells * _BYTES

    @cached_property
    def rmse(self) -> Floats:
        """The root of the mean variance of each marginal that is wanted, in their order."""
        return np.sqrt(self.closure.variances(self.spread))

    @property
    def overall(self) -> float:
        """The root of the mean variance over the questions of all marginals."""
        questions = self.closure.questions
        return float(np.sqrt((self.rmse**2 * questions).sum() / questions.sum()))

    def check(self) -> None:
        """Refuse what would not fit into memory, or into its price.

        Raises:
            InputError: too many cells.
        """
        if self.cells > self.domain.most:
            raise InputError(
                f"this release would measure {self.cells:,} numbers, about "
                f"{self.memory / 2**30:,.1f} GiB, more than the {self.domain.most:,} that one "
                f"release may have. {_SMALLER}"
            )
        limit = self.target
        price = accounting.price(self.cost, limit.delta)
        over = limit.epsilon is not None and (price.epsilon or 0) > limit.epsilon
        if over or (limit.rho is not None and (price.rho or 0) > limit.rho):
            raise LossError("this plan costs more than it was made for, and is not carried out.")

    def release(self) -> Marginals:
        """Pay once, measure everything, and return what answers every marginal afterwards.

        Raises:
            BudgetExceeded: it costs more than is left; nothing was read.
            InputError: it would not fit into memory; nothing was read.
        """
        from sfumato.marginals.release import measured

        self.check()
        return measured(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values, for JSON."""
        return {
            "method": self.method,
            "price": self.price.said,
            "measurements": len(self.steps),
            "numbers": self.cells,
            "bytes": self.memory,
            "fits": self.cells <= self.domain.most,
            "rmse": self.overall,
            "marginals": [
                {"columns": list(names), "cells": self.domain.size(places), "rmse": float(error)}
                for places, names, error in self._rows()
            ],
        }

    def _rows(self) -> list[tuple[Places, tuple[str, ...], float]]:
        names = self.domain.names
        return [
            (places, tuple(names[i] for i in places), error)
            for places, error in zip(self.closure.workload, self.rmse.tolist(), strict=True)
        ]

    def __repr__(self) -> str:
        """Show what it costs and how far it errs."""
        rows = self._rows()
        noise = "Gaussian" if self.method == "residuals" else "Laplace"
        steps = f"{len(self.steps):,} measurement{'s' * (len(self.steps) != 1)}"
        lines = [
            f"plan: {len(rows):,} marginals of {len(self.domain.attributes)} columns, by "
            f"{self.method} with {noise} noise",
            f"price: {self.price.said}; one charge for {steps} of "
            f"{self.cells:,} numbers, about {self.memory / 2**20:,.1f} MiB",
            f"root mean squared error of a cell: {self.overall:,.3f} over all of them",
        ]
        for places, names, error in rows[:_SHOWN]:
            what = ", ".join(names) or "the total"
            lines.append(
                f"  {what}: {self.domain.size(places):,} cells, standard deviation {error:,.2f}"
            )
        if len(rows) > _SHOWN:
            lines.append(f"  … and {len(rows) - _SHOWN:,} more")
        if self.cells > self.domain.most:
            lines.append(
                f"too large to be released: at most {self.domain.most:,} numbers. {_SMALLER}"
            )
        return "\n".join(lines)


def planned(
    curator: Any,
    workload: Any,
    *,
    target: Budget,
    method: Method = "auto",
    objective: Objective = "sum",
    columns: Sequence[str] | None = None,
    confidence: object = Fraction(95, 100),
) -> Plan:
    """Make a plan; see `explain`."""
    if objective not in ("sum", "max"):
        raise InputError("objective= is 'sum', for all variances, or 'max', for the largest.")
    if method not in ("auto", "residuals", "counts", "barak"):
        raise InputError("method= is 'auto', 'residuals', 'counts' or 'barak'.")
    sure = confident(confidence)
    wanted = workload_of(workload)
    domain = domain_of(curator, wanted, columns)
    marginals = wanted.marginals(domain.names)
    concentrated = target.rho is not None or bool(target.delta)
    if method == "residuals" and not concentrated:
        raise CostError(
            "residuals are measured with Gaussian noise, which gives no guarantee in epsilon "
            "alone. Pass delta= as well, or rho= instead; or method='counts'."
        )
    if method in ("counts", "barak") and target.epsilon is None:
        raise CostError(f"{method} is measured with Laplace noise, priced in ε. Pass epsilon=.")
    if objective == "max" and (method in ("counts", "barak") or not concentrated):
        raise InputError(
            "the largest variance is planned for with Gaussian noise. Pass delta= or rho=, or "
            "leave objective= out."
        )
    made = []
    if method in ("auto", "residuals") and concentrated:
        made.append(_residuals(curator, domain, marginals, target, objective, sure))
    gaussian_only = target.epsilon is None or objective == "max"
    # Laplace noise can be the better one where few tables are measured.
    few = not made or len(made[0].steps) <= _FEW
    if method in ("counts", "barak") or (method == "auto" and few and not gaussian_only):
        signs = method == "barak"
        made.append(_counts(curator, domain, marginals, target, sure, signs=signs))
    return min(made, key=lambda plan: plan.overall)


def _residuals(
    curator: Any,
    domain: Domain,
    marginals: Sequence[Places],
    target: Budget,
    objective: Objective,
    confidence: Fraction,
) -> Plan:
    closure = Closure.of(domain, marginals)
    queries = [domain.residual(part) for part in closure.parts]
    moved = [query.sensitivity(domain.unit) for query in queries]
    squares = [_square(s) for s in moved]
    parts = planner.variances(closure, np.array([float(s) for s in squares]), objective)
    rho = target.rho
    if rho is None:
        rho = accounting.rho_within(target.epsilon or 0, _chargeable(curator, target))
    sigmas = planner.scales(parts, squares, rho)
    steps = tuple(
        Step(part, "residual" if part else "marginal", query, s, DiscreteGaussian(sigma))
        for part, query, s, sigma in zip(closure.parts, queries, moved, sigmas, strict=True)
    )
    spread = np.array([float(sigma) ** 2 for sigma in sigmas])
    return Plan(curator, domain, closure, "residuals", target, steps, confidence, spread)


def _chargeable(curator: Any, target: Budget) -> Fraction:
    left: accounting.Remaining = curator.remaining
    return left.chargeable(target.delta)


def _square(moved: Sensitivity) -> Fraction:
    """Return the squared shift that Gaussian noise is charged for, by its own word."""
    loss = DiscreteGaussian(1).loss(moved)
    if not isinstance(loss, GaussianShift):
        raise LossError("no unit can move this answer, so that it needs no noise.")
    return loss.l2_squared


def _counts(
    curator: Any,
    domain: Domain,
    marginals: Sequence[Places],
    target: Budget,
    confidence: Fraction,
    *,
    signs: bool,
) -> Plan:
    if signs and (wide := [a.name for a in domain.attributes if a.size > 2]):
        raise InputError(
            f"barak measures signs of columns with two values, and {wide[0]!r} has more. Take "
            f"columns of two values, or method='counts'."
        )
    closure = Closure.of(domain, marginals, even=True)
    asked: dict[tuple[Places, Kind], Any] = {}

    def moved(places: Places, kind: Kind) -> Fraction:
        make = domain.marginal if kind == "marginal" else domain.residual
        asked[places, kind] = query = make(places)
        return query.sensitivity(domain.unit).l1 or Fraction(1)

    tables = counts.candidates(closure, moved, signs=signs)
    found, _ = counts.shares(closure, tables)
    epsilon = target.epsilon or Fraction(1)
    steps = []
    precisions = []  # with the variance of noise on whole numbers, which is less than 2·scale²
    exact = counts.rounded(found)
    for table, share in zip(tables, exact, strict=True):
        precision = 0.0
        if share:
            query = asked[table.places, table.kind]
            noise = DiscreteLaplace(table.moved / (epsilon * share))
            sensitivity = query.sensitivity(domain.unit)
            steps.append(Step(table.places, table.kind, query, sensitivity, noise))
            variance = max(law.variance(Noise("laplace", noise.scale)), _LEAST)
            precision = 2 * float(table.moved) ** 2 / variance
        precisions.append(precision)
    telling, _ = counts.telling(closure, tables)
    spread = 1 / (telling @ np.array(precisions))
    method: Method = "barak" if signs else "counts"
    made = (curator, domain, closure, method, target, tuple(steps), confidence, spread)
    return Plan(*made)
