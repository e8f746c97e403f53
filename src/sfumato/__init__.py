"""Differential privacy for tables: exact, fast, honest about error.

>>> import sfumato as sf
>>> laplace = sf.mechanisms.DiscreteLaplace(scale=10)
>>> cost = laplace.loss(sf.Sensitivity(l1=1))
>>> float(sf.accounting.epsilon(cost))
0.1
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from sfumato import errors
from sfumato.core.budget import Budget
from sfumato.core.loss import Loss
from sfumato.core.schema import (
    Boolean,
    Category,
    Date,
    Integer,
    Real,
    Schema,
    Text,
    Timestamp,
)
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Unit

if TYPE_CHECKING:
    from sfumato import accounting, audit, marginals, mechanisms, ranges, spatial
    from sfumato.relation.bought import bought
    from sfumato.release.estimate import Estimate
    from sfumato.release.release import Release
    from sfumato.session.bounds import bounds
    from sfumato.session.lab import lab
    from sfumato.session.output import (
        count,
        count_distinct,
        max,
        mean,
        median,
        min,
        quantile,
        std,
        sum,
        variance,
    )
    from sfumato.session.session import Session, connect
    from sfumato.session.within import within

# What needs more than the core is loaded when it is first asked for.
_LAZY = {
    "Estimate": "sfumato.release.estimate",
    "Release": "sfumato.release.release",
    "Session": "sfumato.session.session",
    "accounting": "sfumato.accounting",
    "audit": "sfumato.audit",
    "bought": "sfumato.relation.bought",
    "bounds": "sfumato.session.bounds",
    "connect": "sfumato.session.session",
    "count": "sfumato.session.output",
    "count_distinct": "sfumato.session.output",
    "lab": "sfumato.session.lab",
    "marginals": "sfumato.marginals",
    "max": "sfumato.session.output",
    "mean": "sfumato.session.output",
    "mechanisms": "sfumato.mechanisms",
    "median": "sfumato.session.output",
    "min": "sfumato.session.output",
    "quantile": "sfumato.session.output",
    "ranges": "sfumato.ranges",
    "spatial": "sfumato.spatial",
    "std": "sfumato.session.output",
    "sum": "sfumato.session.output",
    "variance": "sfumato.session.output",
    "within": "sfumato.session.within",
}
_MODULES = {"accounting", "audit", "marginals", "mechanisms", "ranges", "spatial"}

__version__ = "0.1.0"

__all__ = [
    "Boolean",
    "Budget",
    "Category",
    "Date",
    "Estimate",
    "Integer",
    "Loss",
    "Real",
    "Release",
    "Schema",
    "Sensitivity",
    "Session",
    "Text",
    "Timestamp",
    "Unit",
    "accounting",
    "audit",
    "bought",
    "bounds",
    "connect",
    "count",
    "count_distinct",
    "errors",
    "lab",
    "marginals",
    "max",
    "mean",
    "mechanisms",
    "median",
    "min",
    "quantile",
    "ranges",
    "spatial",
    "std",
    "sum",
    "variance",
    "within",
]


def __getattr__(name: str) -> Any:
    """Load a part of the package on first use."""
    if name not in _LAZY:
        known = getattr(errors, name, None)
        is_error = isinstance(known, type) and issubclass(known, errors.SfumatoError)
        hint = f"; it is sfumato.errors.{name}" if is_error else ""
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}{hint}")
    module = importlib.import_module(_LAZY[name])
    value = module if name in _MODULES else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted(__all__)
