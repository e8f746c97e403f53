"""Mechanisms: exact values in, noisy value out, each with its theorem. One file each."""

from sfumato.mechanisms.exponential import Exponential
from sfumato.mechanisms.gaussian import DiscreteGaussian
from sfumato.mechanisms.grid import GridLaplace
from sfumato.mechanisms.laplace import DiscreteLaplace
from sfumato.mechanisms.mechanism import Laboratory, Mechanism
from sfumato.mechanisms.quantile import Quantile
from sfumato.mechanisms.response import RandomizedResponse

# The name of the lectures and of many papers for the same law.
Geometric = DiscreteLaplace

__all__ = [
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Exponential",
    "Geometric",
    "GridLaplace",
    "Laboratory",
    "Mechanism",
    "Quantile",
    "RandomizedResponse",
]
