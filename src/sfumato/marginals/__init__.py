"""Marginals: counts by every few columns of a table, from one charge, all consistent.

>>> import sfumato as sf
>>> people = sf.lab.table({"age": [0, 1, 2, 2], "sex": [0, 1, 1, 0]}, {"age": 3, "sex": 2})
>>> answer = sf.marginals.release(people, workload=sf.marginals.all(2), rho=400)
>>> answer.table("sex").value.round().tolist()
[2.0, 2.0]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.core.errors import CostError
from sfumato.core.number import Exactable
from sfumato.marginals.marginal import Marginal
from sfumato.marginals.plan import Method, Plan, planned
from sfumato.marginals.planner import Objective
from sfumato.marginals.release import Marginals
from sfumato.marginals.workload import Workload, all, of
from sfumato.session.target import target

__all__ = ["Marginal", "Marginals", "Plan", "Workload", "all", "explain", "of", "release"]


def explain(  # noqa: PLR0913 - every choice is named by its keyword
    curator: Any,
    *unnamed: object,
    workload: Any,
    epsilon: Exactable | None = None,
    delta: Exactable = 0,
    rho: Exactable | None = None,
    method: Method = "auto",
    objective: Objective = "sum",
    columns: Sequence[str] | None = None,
    confidence: Exactable = "0.95",
) -> Plan:
    """Say what a release of marginals would measure, cost and err. Free; reads nothing.

    Args:
        curator: a private table, or a laboratory.
        unnamed: nothing; workload and cost are named.
        workload: ``all(2)``, or a list of marginals by the names of their columns.
        epsilon: the price in ε; with `delta` in (ε, δ).
        delta: the δ, which allows Gaussian noise; 0 unless passed.
        rho: the price in ρ, instead.
        method: ``"residuals"`` (ResidualPlanner, with Gaussian noise), ``"counts"`` (the marginals
            themselves, with Laplace noise), ``"barak"`` (signs of columns with two values, with
            Laplace noise), or ``"auto"`` for whichever errs least.
        objective: the least ``"sum"`` of the variances of all cells, or the least ``"max"``.
        columns: the columns to count by; all, if not given.
        confidence: the probability with which each interval holds.

    Raises:
        CostError: no price, or prices of two families.
        KeysError: a column without a public list of values, or with too many.
    """
    if unnamed:
        raise CostError(
            "workload and cost are named, so that nobody mistakes them: pass workload=all(2), "
            "epsilon=1."
        )
    return planned(
        curator,
        workload,
        target=target(epsilon, delta, rho),
        method=method,
        objective=objective,
        columns=columns,
        confidence=confidence,
    )


def release(curator: Any, *unnamed: object, workload: Any, **price: Any) -> Marginals:
    """Pay once, and return what answers every marginal of the workload, and those below them.

    The arguments are those of `explain`.

    Raises:
        BudgetExceeded: it costs more than is left; nothing was read.
        InputError: it would not fit into memory; nothing was read.
    """
    return explain(curator, *unnamed, workload=workload, **price).release()
