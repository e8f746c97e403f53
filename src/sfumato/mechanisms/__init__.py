"""Mechanisms: exact values in, noisy value out, each with its theorem. One file each."""

from sfumato.mechanisms.aggregate import SampleAggregate
from sfumato.mechanisms.bag import Bag
from sfumato.mechanisms.bounded import BoundedLocal
from sfumato.mechanisms.buckets import BucketPartition
from sfumato.mechanisms.category_response import CategoryResponse
from sfumato.mechanisms.exponential import Exponential
from sfumato.mechanisms.flip import PermuteAndFlip
from sfumato.mechanisms.gaussian import DiscreteGaussian
from sfumato.mechanisms.grid import GridLaplace
from sfumato.mechanisms.kd_splits import KdSplits
from sfumato.mechanisms.laplace import DiscreteLaplace
from sfumato.mechanisms.mechanism import Laboratory, Mechanism
from sfumato.mechanisms.noisy_max import NoisyMax
from sfumato.mechanisms.partition import PartitionSelection
from sfumato.mechanisms.privtree import PrivTree
from sfumato.mechanisms.propose import ProposeTestRelease
from sfumato.mechanisms.quantile import Quantile
from sfumato.mechanisms.quantiles import Quantiles
from sfumato.mechanisms.response import RandomizedResponse
from sfumato.mechanisms.restricted import RestrictedTriangles
from sfumato.mechanisms.sampled import Sampled
from sfumato.mechanisms.smooth import SmoothMedian
from sfumato.mechanisms.sparse import SparseHistogram
from sfumato.mechanisms.sparse_vector import SparseVector
from sfumato.mechanisms.spectrum import SpectralCut
from sfumato.mechanisms.stability import StabilityHistogram
from sfumato.mechanisms.top import TopK
from sfumato.mechanisms.triangles import TriangleCount
from sfumato.mechanisms.truncated import TruncatedGeometric

# The name of the lectures and of many papers for the same law.
Geometric = DiscreteLaplace
# The textbook's name for the run that ends with its first hit, which is the default.
AboveThreshold = SparseVector

__all__ = [
    "AboveThreshold",
    "Bag",
    "BoundedLocal",
    "BucketPartition",
    "CategoryResponse",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Exponential",
    "Geometric",
    "GridLaplace",
    "KdSplits",
    "Laboratory",
    "Mechanism",
    "NoisyMax",
    "PartitionSelection",
    "PermuteAndFlip",
    "PrivTree",
    "ProposeTestRelease",
    "Quantile",
    "Quantiles",
    "RandomizedResponse",
    "RestrictedTriangles",
    "SampleAggregate",
    "Sampled",
    "SmoothMedian",
    "SparseHistogram",
    "SparseVector",
    "SpectralCut",
    "StabilityHistogram",
    "TopK",
    "TriangleCount",
    "TruncatedGeometric",
]
