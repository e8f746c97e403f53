"""The command `sfumato audit`: black-box audits from the console."""

from __future__ import annotations

from typing import Any

import click

from sfumato.core.errors import CostError

# Class, the parameters that set the loss, and what else the class needs to be built.
_KINDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "bounded-local": ("BoundedLocal", "spread scale=2 margin=25", {"most": 100}),
    "bucket-partition": ("BucketPartition", "rate", {}),
    "category-response": ("CategoryResponse", "epsilon", {"categories": ("a", "b", "c")}),
    "discrete-gaussian": ("DiscreteGaussian", "sigma", {}),
    "discrete-laplace": ("DiscreteLaplace", "scale", {}),
    "exponential": ("Exponential", "rate", {"candidates": ("a", "b", "c", "d")}),
    "grid-laplace": ("GridLaplace", "scale", {"step": "0.01"}),
    "kd-splits": ("KdSplits", "rate", {"shape": (4, 1), "height": 2}),
    "noisy-max": ("NoisyMax", "scale", {"candidates": ("a", "b", "c", "d")}),
    "partition-selection": ("PartitionSelection", "epsilon delta=1e-6", {}),
    "permute-and-flip": ("PermuteAndFlip", "rate", {"candidates": ("a", "b", "c", "d")}),
    "privtree": ("PrivTree", "scale decay=2", {"shape": (8, 1)}),
    "propose-test-release": (
        "ProposeTestRelease",
        "test threshold=25 scale=2",
        {"low": 0, "high": 100, "step": 1, "bound": 1},
    ),
    "quantile": ("Quantile", "rate", {"q": "0.5", "low": 0, "high": 100, "step": 1}),
    "quantiles": (
        "Quantiles",
        "rate",
        {"targets": ("0.25", "0.5", "0.75"), "low": 0, "high": 20, "step": 1},
    ),
    "randomized-response": ("RandomizedResponse", "epsilon", {}),
    "restricted-triangles": ("RestrictedTriangles", "scale", {"nodes": 8, "degree": 3}),
    "sample-aggregate": (
        "SampleAggregate",
        "epsilon",
        {"function": max, "blocks": 4, "low": 0, "high": 10, "step": 1},
    ),
    "sampled": ("Sampled", "inner", {"rate": "1/2"}),
    "smooth-median": ("SmoothMedian", "rate beta=0.2", {"low": 0, "high": 100, "step": 1}),
    "sparse-histogram": ("SparseHistogram", "scale", {"threshold": 3, "domain": 20}),
    "sparse-vector": (
        "SparseVector",
        "threshold_scale query_scale",
        {"threshold": 0},
    ),
    "spectral-cut": ("SpectralCut", "rate", {"prices": (0, 5, 10)}),
    "stability-histogram": ("StabilityHistogram", "scale threshold=14", {}),
    "top-k": ("TopK", "rate", {"candidates": ("a", "b", "c", "d"), "k": 2}),
    "triangle-count": ("TriangleCount", "spread scale=2 margin=25", {"nodes": 8}),
    "truncated-geometric": ("TruncatedGeometric", "scale", {"low": 0, "high": 10}),
}

_ONE_AT_A_TIME = {
    "bounded-local",
    "bucket-partition",
    "noisy-max",
    "partition-selection",
    "permute-and-flip",
    "propose-test-release",
    "quantiles",
    "restricted-triangles",
    "sample-aggregate",
    "smooth-median",
    "sparse-histogram",
    "stability-histogram",
    "top-k",
    "triangle-count",
}
_FEW, _MANY = 2_000, 200_000


@click.group()
def audit() -> None:
    """Look for releases that give away more than was claimed."""


@audit.command()
@click.argument("name", type=click.Choice(sorted(_KINDS)), metavar="NAME")
@click.option("--epsilon", help="Calibrate the mechanism to this ε; 1 unless --scale is given.")
@click.option("--delta", default="0", show_default=True, help="δ, for Gaussian noise and groups.")
@click.option("--scale", help="Take noise of this scale (σ for Gaussian noise) instead.")
@click.option("--sensitivity", default="1", show_default=True, help="How far one unit moves it.")
@click.option("--claim", help="Hold the mechanism to this ε, not to the loss that it states.")
@click.option(
    "--trials",
    type=click.IntRange(min=100),
    help="Releases per input, for the search and again for the proof; 200,000 unless given, and "
    "2,000 for mechanisms that draw one at a time, which take minutes for more.",
)
@click.option("--confidence", default="0.999", show_default=True)
def mechanism(
    name: str,
    epsilon: str | None,
    delta: str,
    scale: str | None,
    sensitivity: str,
    claim: str | None,
    trials: int | None,
    confidence: str,
) -> None:
    """Audit the mechanism NAME; exit with 1 if it gives away more than it claims.

    NAME is bounded-local, bucket-partition, category-response, discrete-gaussian, discrete-laplace,
    exponential, grid-laplace, noisy-max, partition-selection, permute-and-flip,
    propose-test-release, quantile, quantiles, randomized-response, restricted-triangles,
    sample-aggregate, sampled, smooth-median, sparse-histogram, sparse-vector, spectral-cut,
    stability-histogram, top-k, triangle-count or truncated-geometric.
    """
    from sfumato.audit import mechanism as audited
    from sfumato.audit.neighbor import sensitivity_of

    if epsilon is not None and scale is not None:
        raise CostError("the noise is set by --epsilon or by --scale, not by both. Pass one.")
    kind, parameter, others = _KINDS[name]
    subject = _build(kind, parameter, scale or "1", others)
    moved = sensitivity_of(subject, sensitivity)
    if scale is None:
        # Gaussian noise has no ε without a δ, and says so.
        subject = type(subject).calibrate(moved, **others, epsilon=epsilon or "1", delta=delta)
    elif parameter.split()[0] not in ("scale", "sigma"):
        raise CostError(f"{name} has no noise scale. Pass --epsilon instead of --scale.")
    many = trials or (_FEW if name in _ONE_AT_A_TIME else _MANY)
    verdict = audited(subject, moved, many, claim=claim, confidence=confidence)
    click.echo(str(verdict))
    click.get_current_context().exit(1 if verdict.flagged else 0)


def _build(kind: str, parameter: str, value: str, others: dict[str, Any]) -> Any:
    from sfumato import mechanisms

    given = (name.partition("=") for name in parameter.split())
    set_to = {name: fixed or value for name, _, fixed in given}
    return getattr(mechanisms, kind)(**others, **set_to)
