"""Pairs of laws on a few points, written by hand, to hold the accountant against."""

import math

import numpy as np


def response(cost):
    """Return the two laws of randomized response."""
    p = np.array([1.0, math.exp(-cost)]) / (1 + math.exp(-cost))
    return p, p[::-1]


def laplace(scale, shift, reach=60):
    """Return discrete Laplace laws that lie `shift` apart."""
    x = np.arange(-math.ceil(reach * scale), math.ceil(reach * scale) + shift + 1)
    base = math.tanh(0.5 / scale)
    return base * np.exp(-abs(x) / scale), base * np.exp(-abs(x - shift) / scale)


def gaussian(sigma, shift, reach=14):
    """Return discrete Gaussian laws that lie `shift` apart."""
    x = np.arange(-math.ceil(reach * sigma), math.ceil(reach * sigma) + shift + 1)
    whole = np.exp(-(np.arange(-200, 201) ** 2) / (2 * sigma**2)).sum()
    return (
        np.exp(-(x**2) / (2 * sigma**2)) / whole,
        np.exp(-((x - shift) ** 2) / (2 * sigma**2)) / whole,
    )


def exponential(cost, share):
    """Return two laws on two points whose log-ratios span exactly `cost`."""
    q = np.array([share, 1 - share])
    p = q * np.array([math.exp(cost), 1.0])
    return p / p.sum(), q


def sampled(pair, rate):
    """Return the laws of a mechanism on a Poisson sample: with the unit, and without."""
    present, absent = pair
    return (1 - rate) * absent + rate * present, absent


def together(*pairs):
    """Return the laws of independent releases side by side."""
    p, q = pairs[0]
    for a, b in pairs[1:]:
        p, q = np.outer(p, a).ravel(), np.outer(q, b).ravel()
    return p, q


def hockey_stick(pair, cost):
    """Return the least δ at this ε, in the worse direction."""
    grown = math.exp(cost)
    return max(math.fsum(np.maximum(p - grown * q, 0)) for p, q in (pair, pair[::-1]))


def divergence(pair, order):
    """Return the Rényi divergence, in the worse direction."""
    return max(
        math.log(math.fsum((p[p > 0] / q[p > 0]) ** (order - 1) * p[p > 0])) / (order - 1)
        for p, q in (pair, pair[::-1])
    )


def misses(pair, alpha):
    """Return the least miss rate of a test of Q against P whose false alarm rate is `alpha`."""
    p, q = pair
    order = np.argsort(-(p / q))
    false, true = np.cumsum(q[order]), np.cumsum(p[order])
    return 1 - np.interp(alpha, np.concatenate([[0], false]), np.concatenate([[0], true]))
