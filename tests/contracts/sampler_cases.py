"""Mechanisms that rest on samplers: clamped noise, reports, sparse histograms, samples."""

from fractions import Fraction
from itertools import product
from math import comb, exp

import numpy as np

import sfumato as sf
from sfumato.testing import Contract

M, S = sf.mechanisms, sf.Sensitivity


def _noise(scale):
    """P(x) and P(X >= x), x >= 0, of discrete Laplace noise."""
    a = exp(-1 / scale)
    return lambda x: (1 - a) / (1 + a) * a ** abs(x), lambda x: a**x / (1 + a)


def _truncated(scale, low, high):
    at, beyond = _noise(scale)

    def law(exact):
        x = int(exact)
        inner = {y: at(y - x) for y in range(low + 1, high)}
        return {low: beyond(x - low), **inner, high: beyond(high - x)}

    return law


def truncated_cases():
    for scale, low, high, shift, relation, pairs in [
        ("2", 0, 5, 1, "add_remove", [(2, 3), (0, 1), (5, 6), (-1, 0), (4, 5)]),
        ("1/2", -3, 3, 3, "replace", [(0, 3), (-3, 0), (-5, -2), (2, 4)]),
        ("3", 0, 2, 9, "add_remove", [(0, 9), (1, -8), (-4, 5)]),  # wider than the range
    ]:
        inside = [pair for pair in pairs if low <= pair[0] <= high]
        yield Contract(
            M.TruncatedGeometric(Fraction(scale), low, high),
            S(l0=1, l1=shift, neighbors=relation),
            pairs=[*inside, *(pair for pair in pairs if pair not in inside)],
            law=_truncated(float(Fraction(scale)), low, high),
            truth=lambda values, drawn: abs(float(drawn) - values),
            name=f"TruncatedGeometric({scale}) in {low} to {high}, at {shift}",
        )
    one = _truncated(1.0, 0, 3)
    yield Contract(
        M.TruncatedGeometric(1, 0, 3),
        S(l0=2, linf=1),
        pairs=[([0, 3], [1, 2]), ([1, 1], [2, 2])],
        law=lambda exact: {
            (x, y): p * q
            for (x, p), (y, q) in product(one(exact[0]).items(), one(exact[1]).items())
        },
        name="TruncatedGeometric on two cells",
    )


def category_cases():
    for many, epsilon, answers in [(2, "1", 1), (3, "1/2", 1), (5, "2", 1), (3, "1", 2)]:
        names = tuple("abcde"[:many])
        truth = exp(float(Fraction(epsilon)))

        def law(exact, many=many, truth=truth):
            places = np.ravel(exact).tolist()
            table = {}
            for report in product(range(many), repeat=len(places)):
                odds = [truth if r == x else 1.0 for r, x in zip(report, places, strict=True)]
                key = report[0] if np.ndim(exact) == 0 else report
                table[key] = float(np.prod(odds)) / (truth + many - 1) ** len(places)
            return table

        pairs = [("a", "b"), ("b", names[-1])] if answers == 1 else [(["a", "b"], ["c", "a"])]
        yield Contract(
            M.CategoryResponse(names, Fraction(epsilon)),
            S(l0=answers, linf=many, neighbors="replace"),
            pairs=[pair for pair in pairs if pair[0] != pair[1]],
            law=law,
            truth=(lambda values, drawn: float("abcde"[int(drawn)] != values))
            if answers == 1
            else None,
            name=f"CategoryResponse of {many}, ε = {epsilon}, {answers} answers",
        )


def _dense(scale, threshold, domain, two_sided=False):
    """The law of noise on every single cell, then the threshold: nothing sparse in it."""
    at, _ = _noise(scale)
    reach = int(32 * scale) + 3

    def cell(count):
        values = range(count - reach, count + reach + 1)
        shown = {
            y: at(y - count) for y in values if y >= threshold or (two_sided and y <= -threshold)
        }
        return {None: 1 - sum(shown.values()), **shown}

    def law(exact):
        counts, table = dict(exact), {(): 1.0}
        for place in range(domain):
            table = {
                known if value is None else (*known, (place, value)): p * q
                for (known, p), (value, q) in product(
                    table.items(), cell(counts.get(place, 0)).items()
                )
                if p * q > 1e-15
            }
        return table

    return law


def sparse_cases():
    for scale, threshold, domain, two_sided, s, pairs in [
        ("1", 2, 3, False, S(l0=1, linf=1), [({0: 40}, {0: 41}), ({}, {1: 1}), ({2: 1}, {})]),
        ("1/2", 1, 4, False, S(l0=1, linf=1), [({1: 2}, {1: 1}), ({0: 1, 3: 1}, {0: 1})]),
        ("1/2", 1, 3, True, S(l0=1, linf=2), [({}, {0: 2}), ({1: -1}, {1: 1})]),
        ("2", 1, 2, False, S(l1=2, linf=1, neighbors="replace"), [({0: 1}, {1: 1})]),
    ]:
        yield Contract(
            M.SparseHistogram(Fraction(scale), threshold, domain, two_sided),
            s,
            pairs=pairs,
            law=_dense(float(Fraction(scale)), threshold, domain, two_sided),
            truth=(lambda values, drawn: abs(dict(drawn)[0] - values[0]))
            if 40 in pairs[0][0].values()
            else None,
            name=f"SparseHistogram({scale}) from {threshold} on, {domain} cells",
        )


def _mixture(noise, rate):
    def one(count):
        kept = [comb(count, k) * rate**k * (1 - rate) ** (count - k) for k in range(count + 1)]
        table = {}
        for k, p in enumerate(kept):
            for x, q in noise.items():
                table[k + x] = table.get(k + x, 0.0) + p * q
        # Up to where every sample reaches: at the ends of the noise some would be missing.
        reach = max(noise) - 10
        return {y: mass for y, mass in table.items() if abs(y) <= reach}

    def law(exact):
        if np.ndim(exact) == 0:
            return one(int(exact))
        first, second = (one(int(count)) for count in exact)
        return {
            (x, y): p * q
            for (x, p), (y, q) in product(first.items(), second.items())
            if p * q > 1e-15
        }

    return law


def _centered(weight, reach):
    weights = {x: weight(x) for x in range(-reach, reach + 1)}
    return {x: w / sum(weights.values()) for x, w in weights.items()}


def sampled_cases():
    laplace = _centered(lambda x: exp(-abs(x)), 45)
    gaussian = _centered(lambda x: exp(-x * x / 8), 30)
    one, rows = S(l0=1, linf=1), S(l0=1, linf=2)
    moved = S(l1=2, linf=1, neighbors="replace")
    for inner, noise, rate, s, pairs in [
        (M.DiscreteLaplace(1), laplace, "1/2", one, [(0, 1), (3, 4)]),
        (M.DiscreteLaplace(1), laplace, "1/10", one, [(6, 5), ([2, 1], [2, 2])]),
        (M.DiscreteGaussian(2), gaussian, "1/4", one, [(0, 1), (5, 6)]),
        (M.DiscreteLaplace(1), laplace, "9/10", rows, [(0, 2), (4, 3)]),
        (M.DiscreteLaplace(1), laplace, "1/3", moved, [([1, 0], [0, 1]), ([2, 2], [1, 3])]),
    ]:
        yield Contract(
            M.Sampled(inner, rate),
            s,
            pairs=pairs,
            law=_mixture(noise, float(Fraction(rate))),
            name=f"Sampled at {rate}, {type(inner).__name__}, {s}",
        )


def sampler_cases():
    yield from truncated_cases()
    yield from category_cases()
    yield from sparse_cases()
    yield from sampled_cases()
