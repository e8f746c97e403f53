"""Pure functions from losses to numbers, and the filter that enforces a budget.

A loss says what happened; the functions here say how it is bounded: `epsilon`, `delta`
and `rho`. Losses come together by `compose` and `parallel`. A ledger admits
releases by `charge` and `spend`; a planner finds the least noise by `calibrate`.
All results are rationals, rounded to the safe side.
"""

from sfumato.accounting import pld
from sfumato.accounting.advanced import advanced_epsilon
from sfumato.accounting.best import Comparison, compare, delta, epsilon
from sfumato.accounting.calibrate import calibrate
from sfumato.accounting.choose import Choice, choose, reachable
from sfumato.accounting.composition import compose, parallel
from sfumato.accounting.convert import rho_within, zcdp_delta, zcdp_epsilon
from sfumato.accounting.explain import Explanation, explain
from sfumato.accounting.filter import charge, fits, remaining, spend
from sfumato.accounting.gaussian_dp import gaussian_dp_delta, gaussian_dp_epsilon, mu
from sfumato.accounting.graph import Conversion, conversions, convert
from sfumato.accounting.group import group
from sfumato.accounting.optimal import optimal_delta, optimal_epsilon
from sfumato.accounting.participation import (
    Participation,
    cheapest_study,
    feasible_studies,
    participation,
)
from sfumato.accounting.price import price
from sfumato.accounting.reference import gaussian_reference_epsilon, gaussian_reference_sigma
from sfumato.accounting.renyi import renyi, renyi_delta, renyi_epsilon
from sfumato.accounting.risk import (
    advantage,
    gaussian_advantage,
    gaussian_tpr,
    posterior,
    roc,
    surprise,
    tpr,
)
from sfumato.accounting.sampling import amplify, sampled_epsilon
from sfumato.accounting.sums import Charge, Limits, Remaining, Sums
from sfumato.accounting.target import Target
from sfumato.accounting.tradeoff import Tradeoff, tradeoff
from sfumato.accounting.zcdp import rho

__all__ = [
    "Charge",
    "Choice",
    "Comparison",
    "Conversion",
    "Explanation",
    "Limits",
    "Participation",
    "Remaining",
    "Sums",
    "Target",
    "Tradeoff",
    "advanced_epsilon",
    "advantage",
    "amplify",
    "calibrate",
    "charge",
    "cheapest_study",
    "choose",
    "compare",
    "compose",
    "conversions",
    "convert",
    "delta",
    "epsilon",
    "explain",
    "feasible_studies",
    "fits",
    "gaussian_advantage",
    "gaussian_dp_delta",
    "gaussian_dp_epsilon",
    "gaussian_reference_epsilon",
    "gaussian_reference_sigma",
    "gaussian_tpr",
    "group",
    "mu",
    "optimal_delta",
    "optimal_epsilon",
    "parallel",
    "participation",
    "pld",
    "posterior",
    "price",
    "reachable",
    "remaining",
    "renyi",
    "renyi_delta",
    "renyi_epsilon",
    "rho",
    "rho_within",
    "roc",
    "sampled_epsilon",
    "spend",
    "surprise",
    "tpr",
    "tradeoff",
    "zcdp_delta",
    "zcdp_epsilon",
]
