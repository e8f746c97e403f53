"""Noisy answers: values, intervals, price and origin; tables, charts, cards and pages of them."""

from sfumato.release.error import NOISE_ONLY, RANK, Error
from sfumato.release.estimate import Estimate
from sfumato.release.measure import Measure
from sfumato.release.release import Release

__all__ = ["NOISE_ONLY", "RANK", "Error", "Estimate", "Measure", "Release"]
