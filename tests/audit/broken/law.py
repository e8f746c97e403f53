"""Laws that the planted mechanisms have, or should have, written down by hand."""

from math import exp


def normalized(weights):
    total = sum(weights.values())
    return {x: w / total for x, w in weights.items()}


def laplace(scale, center=0):
    reach = int(32 * scale) + 5
    return normalized({center + x: exp(-abs(x) / scale) for x in range(-reach, reach + 1)})


def gaussian(sigma, center=0):
    reach = int(9 * sigma) + 5
    return normalized(
        {center + x: exp(-x * x / (2 * sigma * sigma)) for x in range(-reach, reach + 1)}
    )


def cells(one, exact):
    """Independent noise on two cells."""
    first, second = (one(int(c)) for c in exact)
    return {(x, y): p * q for x, p in first.items() for y, q in second.items() if p * q > 1e-15}


def moved(law, center):
    """The law of a noise around an exact value."""
    return {center + x: p for x, p in law.items()}
