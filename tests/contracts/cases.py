"""One case or more for every registered mechanism, each with its law written down by hand."""

from fractions import Fraction
from functools import cache
from itertools import product
from math import exp

import numpy as np
from instance_cases import instance_cases
from line_cases import line_cases
from plane_cases import plane_cases
from quantiles_cases import quantiles_cases
from sampler_cases import sampler_cases
from selection_cases import selection_cases
from sparse_vector_cases import sparse_vector_cases

import sfumato as sf
from sfumato.testing import Contract

HALF = Fraction(1, 2)


def _laplace(scale, center):
    reach = int(30 * scale) + 5
    weights = {center + x: exp(-abs(x) / scale) for x in range(-reach, reach + 1)}
    return _normalized(weights)


def _gaussian(sigma, center):
    reach = int(9 * sigma) + 5
    weights = {center + x: exp(-x * x / (2 * sigma * sigma)) for x in range(-reach, reach + 1)}
    return _normalized(weights)


def _normalized(weights):
    total = sum(weights.values())
    return {x: w / total for x, w in weights.items()}


def _vector(one, exact):
    """The law of independent noise on a few cells."""
    laws = [list(one(c).items()) for c in exact.tolist()]
    return {
        tuple(x for x, _ in cells): float(np.prod([p for _, p in cells]))
        for cells in product(*laws)
        if np.prod([p for _, p in cells]) > 1e-15
    }


def laplace_cases():
    for scale, shift, relation in [
        ("1/2", 1, "add_remove"),
        ("2", 1, "replace"),
        ("5", 3, "add_remove"),
        ("7/3", 4, "replace"),
    ]:
        yield Contract(
            sf.mechanisms.DiscreteLaplace(Fraction(scale)),
            sf.Sensitivity(l1=shift, neighbors=relation),
            pairs=[(10, 10 + shift), (0, -shift), (10, 11)],
            law=lambda exact, t=float(Fraction(scale)): _laplace(t, int(exact)),
            truth=lambda values, drawn: abs(float(drawn) - values),
            name=f"DiscreteLaplace({scale}) at {shift}, {relation}",
        )
    yield Contract(
        sf.mechanisms.DiscreteLaplace(1),
        sf.Sensitivity(l0=2, linf=1),
        pairs=[([3, 1], [4, 2]), ([3, 1], [2, 2])],
        law=lambda exact: _vector(lambda c: _laplace(1.0, c), exact),
        name="DiscreteLaplace on two cells",
    )


def grid_cases():
    # Inputs next to the middle between grid points, where rounding adds most.
    yield Contract(
        sf.mechanisms.GridLaplace(scale=1, step="1/4"),
        sf.Sensitivity(l0=1, l1="3/10"),
        pairs=[(0.12, 0.42), (0.1249, 0.4249), (-0.13, 0.16), (5, 5.3)],
        law=lambda exact: _laplace(4.0, int(exact)),
        truth=lambda values, drawn: abs(float(drawn) / 4 - values),
        name="GridLaplace beside a rounding boundary",
    )
    yield Contract(
        sf.mechanisms.GridLaplace(scale="1/2", step="1/2"),
        sf.Sensitivity(l0=2, l1=1, neighbors="replace"),
        pairs=[([0.24, 0.24], [0.26, 1.22]), ([0.2, 0.3], [0.7, 0.8])],
        law=lambda exact: _vector(lambda c: _laplace(1.0, c), exact),
        name="GridLaplace on two cells",
    )


def gaussian_cases():
    for sigma, shift, relation in [
        ("1/2", 1, "add_remove"),
        ("3", 1, "replace"),
        ("10/3", 4, "add_remove"),
    ]:
        yield Contract(
            sf.mechanisms.DiscreteGaussian(Fraction(sigma)),
            sf.Sensitivity(l0=1, linf=shift, neighbors=relation),
            pairs=[(0, shift), (7, 7 - shift), (0, 1)],
            law=lambda exact, s=float(Fraction(sigma)): _gaussian(s, int(exact)),
            truth=lambda values, drawn: abs(float(drawn) - values),
            name=f"DiscreteGaussian({sigma}) at {shift}, {relation}",
        )
    yield Contract(
        sf.mechanisms.DiscreteGaussian(1),
        sf.Sensitivity(l0=2, linf=1),
        pairs=[([3, 1], [4, 2])],
        law=lambda exact: _vector(lambda c: _gaussian(1.0, c), exact),
        name="DiscreteGaussian on two cells",
    )


def _choice(candidates, rate, prior):
    def law(exact):
        weights = {
            c: w * exp(float(rate) * int(s))
            for c, w, s in zip(candidates, prior, exact, strict=True)
        }
        return _normalized(weights)

    return law


def exponential_cases():
    names = ("a", "b", "c")
    for relation, monotone, pairs in [
        (
            "add_remove",
            False,
            [([0, 5, 2], [1, 4, 2]), ([0, 0, 0], [1, -1, -1]), ([3, 0, 0], [4, 0, 0])],
        ),
        (
            "add_remove",
            True,
            [([0, 5, 2], [1, 6, 2]), ([0, 0, 0], [1, 0, 0]), ([0, 0, 0], [1, 1, 0])],
        ),
        ("replace", True, [([0, 5, 2], [1, 4, 2]), ([0, 0, 0], [1, -1, 0])]),
    ]:
        yield Contract(
            sf.mechanisms.Exponential(names, rate="3/4", monotone=monotone),
            sf.Sensitivity(linf=1, neighbors=relation),
            pairs=pairs,
            law=_choice(names, Fraction(3, 4), (1, 1, 1)),
            truth=lambda values, drawn: max(values) - values["abc".index(drawn)],
            name=f"Exponential, {relation}{', monotone' * monotone}",
        )
    yield Contract(
        sf.mechanisms.Exponential(names, rate=2, prior=["1/6", "1/3", "1/2"], step="1/2"),
        sf.Sensitivity(linf="3/4"),
        # Floored to halves, a change of 3/4 can become a whole one.
        pairs=[([0.4, 0.4, 0.6], [1.1, 1.1, 0]), ([0.5, 0, 0], [0, 0.7, 0.74])],
        law=_choice(names, Fraction(1), (1, 2, 3)),
        name="Exponential with prior and step",
    )


def _rank_law(q, rate, points):
    def law(exact):
        data = np.asarray(exact)
        return _normalized(
            {
                x: exp(
                    -float(rate)
                    * abs(float((1 - q) * int((data < x).sum()) - q * int((data > x).sum())))
                )
                for x in range(points)
            }
        )

    return law


def quantile_cases():
    base = [3, 4, 4, 9, 10, 15]
    for q, relation in [
        (HALF, "add_remove"),
        (HALF, "replace"),
        (Fraction(1, 5), "add_remove"),
        (Fraction(9, 10), "add_remove"),
        (Fraction(9, 10), "replace"),
    ]:
        if relation == "replace":
            pairs = [(base, [*base[:-1], other]) for other in (0, 4, 20)]
            pairs.append((base, [20, *base[1:]]))
        else:
            pairs = [(base, [*base, other]) for other in (0, 4, 9, 20)] + [([], [7])]
        mechanism = sf.mechanisms.Quantile(q, 0, 20, 1, Fraction(6, 5))
        yield Contract(
            mechanism,
            sf.Sensitivity(l1=1, neighbors=relation),
            pairs=pairs,
            law=_rank_law(q, Fraction(6, 5), 21),
            truth=_rank_error(q, 21),
            name=f"Quantile({q}), {relation}",
        )


def _rank_error(q, points):
    @cache
    def utilities(values):
        data = np.array(values)
        return [
            abs(float((1 - q) * int((data < x).sum()) - q * int((data > x).sum())))
            for x in range(points)
        ]

    def error(values, drawn):
        found = utilities(tuple(values))
        return found[drawn] - min(found)

    return error


def response_cases():
    for epsilon, answers in [("1/2", 1), ("2", 1), ("1", 2)]:
        lie = 1 / (1 + exp(float(Fraction(epsilon))))

        def law(exact, lie=lie):
            bits = [bool(b) for b in np.ravel(exact)]
            table = {}
            for report in product([False, True], repeat=len(bits)):
                odds = [lie if r != b else 1 - lie for r, b in zip(report, bits, strict=True)]
                table[report[0] if np.ndim(exact) == 0 else report] = float(np.prod(odds))
            return table

        pairs = [(True, False)] if answers == 1 else [([True, False], [False, True])]
        yield Contract(
            sf.mechanisms.RandomizedResponse(Fraction(epsilon)),
            sf.Sensitivity(l1=answers, neighbors="replace"),
            pairs=pairs,
            law=law,
            truth=(lambda values, drawn: float(bool(drawn) != values)) if answers == 1 else None,
            name=f"RandomizedResponse({epsilon}), {answers} answers",
        )


CASES = [
    *laplace_cases(),
    *grid_cases(),
    *gaussian_cases(),
    *exponential_cases(),
    *quantile_cases(),
    *quantiles_cases(),
    *response_cases(),
    *sparse_vector_cases(),
    *sampler_cases(),
    *selection_cases(),
    *instance_cases(),
    *line_cases(),
    *plane_cases(),
]
