"""Pure functions from losses to numbers, and the filter that enforces a budget.

A loss says what happened; the functions here say how it is bounded: `epsilon`, `delta`
and `rho`. Losses come together by `compose` and `parallel`. A ledger admits
releases by `charge` and `spend`; a planner finds the least noise by `calibrate`.
All results are rationals, rounded to the safe side.
"""

from sfumato.accounting.calibrate import calibrate
from sfumato.accounting.composition import compose, parallel
from sfumato.accounting.convert import rho_within, zcdp_delta, zcdp_epsilon
from sfumato.accounting.curve import delta, epsilon
from sfumato.accounting.filter import charge, fits, remaining, spend
from sfumato.accounting.gaussian import gaussian_reference_epsilon, gaussian_reference_sigma
from sfumato.accounting.price import price
from sfumato.accounting.sums import Charge, Limits, Remaining, Sums
from sfumato.accounting.zcdp import rho

__all__ = [
    "Charge",
    "Limits",
    "Remaining",
    "Sums",
    "calibrate",
    "charge",
    "compose",
    "delta",
    "epsilon",
    "fits",
    "gaussian_reference_epsilon",
    "gaussian_reference_sigma",
    "parallel",
    "price",
    "remaining",
    "rho",
    "rho_within",
    "spend",
    "zcdp_delta",
    "zcdp_epsilon",
]
