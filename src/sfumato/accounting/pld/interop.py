"""The same composition in the words of dp_accounting, to compare with and to go on from there."""

from __future__ import annotations

import importlib
import warnings
from fractions import Fraction
from typing import Any

from sfumato.accounting.pld.gaussian import DiscreteGaussian, Gaussian
from sfumato.accounting.pld.leaf import DiscreteLaplace, Laplace, Leaf, Response, Sampled
from sfumato.accounting.pld.pairs import pairs
from sfumato.core.errors import LossError, MissingExtra
from sfumato.core.loss import Loss


def to_dp_accounting(loss: Loss, *, interval: float = 1e-4) -> Any:
    """Return the privacy loss distribution of `loss` as an object of dp_accounting.

    Nothing of sfumato rests on it. Its floats have no allowance for rounding.

    Args:
        loss: what happened.
        interval: of the grid of losses.

    Returns:
        A ``dp_accounting.pld.privacy_loss_distribution.PrivacyLossDistribution``.

    Raises:
        MissingExtra: dp_accounting is not installed.
        LossError: a part that has no distribution, or none in dp_accounting.
    """
    choices = pairs(loss)
    if choices is None or len(choices) != 1:
        raise LossError(
            "this loss has a part without a privacy loss distribution (concentrated or Rényi "
            "losses, vectors of Gaussian noise, worst cases), so there is none to hand over. "
            "Compose the other parts only."
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its own dependencies
            common = importlib.import_module("dp_accounting.pld.common")
            theirs = importlib.import_module("dp_accounting.pld.privacy_loss_distribution")
    except ImportError:
        raise MissingExtra(
            "dp_accounting is not installed, and this function speaks its language. "
            "Run: pip install 'sfumato[oracles]'."
        ) from None
    options = {"value_discretization_interval": interval}

    def one(leaf: Leaf, rate: Fraction = Fraction(1)) -> Any:
        sampled = {"sampling_prob": float(rate)}
        match leaf:
            case Sampled(inner, share) if rate == 1 and not isinstance(inner, Response | Sampled):
                return one(inner, share)
            case Response(epsilon, delta):
                parameters = common.DifferentialPrivacyParameters(float(epsilon), float(delta))
                return theirs.from_privacy_parameters(parameters, interval)
            case Laplace(epsilon):
                return theirs.from_laplace_mechanism(float(1 / epsilon), **options, **sampled)
            case Gaussian(square):
                deviation = float(1 / square) ** 0.5
                return theirs.from_gaussian_mechanism(deviation, **options, **sampled)
            case DiscreteLaplace(scale, shift):
                return theirs.from_discrete_laplace_mechanism(
                    float(1 / scale), sensitivity=shift, **options, **sampled
                )
            case DiscreteGaussian(sigma, shift):
                return theirs.from_discrete_gaussian_mechanism(
                    float(sigma), sensitivity=shift, **options, **sampled
                )
        raise LossError(
            "dp_accounting has no distribution for a sample of a mechanism of which only ε is "
            "known. Pass the loss of the mechanism itself, such as LaplaceTradeoff."
        )

    whole = theirs.identity(interval)
    for leaf, count in choices[0].parts:
        whole = whole.compose(one(leaf).self_compose(count))
    return whole
