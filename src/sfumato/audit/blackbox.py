"""Black-box audits: only outputs are looked at, of a mechanism or of any program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np

from sfumato.audit.auditor import Pair, audit
from sfumato.audit.batch import Batch
from sfumato.audit.bulk import Draw, releases
from sfumato.audit.claim import Claim, Claimable
from sfumato.audit.feature import Support
from sfumato.audit.neighbor import inputs, sensitivity_of
from sfumato.audit.output import outcome
from sfumato.audit.verdict import Verdict
from sfumato.core.errors import InputError
from sfumato.core.number import Exactable, open_unit, show
from sfumato.core.sensitivity import Sensitivity

Textbook: TypeAlias = "tuple[float, float, float]"

_SHOWN = 60


def mechanism(
    mechanism: Any,
    sensitivity: Sensitivity | Exactable = 1,
    trials: int = 200_000,
    *,
    claim: Claimable | None = None,
    pairs: Sequence[tuple[Any, Any]] | None = None,
    draw: Draw | None = None,
    confidence: Exactable = Fraction(999, 1000),
) -> Verdict:
    """Look for outputs that give away more than a mechanism claims.

    Releases are drawn from pairs of neighboring inputs with the system's own randomness. Half of
    them serve to search for the event that tells the inputs apart best, the other half, drawn
    afterwards and used once, to prove how much it gives away. A mechanism with Gaussian noise is
    held to its μ as well, where errors show much sooner than in (ε, δ).

    Args:
        mechanism: one of ours, or anything with `loss` and `sample`.
        sensitivity: how far one unit can move the input; a number means one cell, or each score of
            a selection.
        trials: releases per input for the search, and as many for the proof.
        claim: what is claimed; unless passed, the mechanism's own loss at that sensitivity.
        pairs: neighboring inputs, as the mechanism takes them; for our mechanisms a few are known
            where mistakes show most.
        draw: a function of (exact input, size) that returns so many outputs, for a mechanism that
            is not ours and would be slow one by one.
        confidence: the probability with which the verdict is right.

    Raises:
        InputError: no pairs for a mechanism that is not ours.
        RangeError: too few trials.

    Example:
        >>> from sfumato.mechanisms import DiscreteLaplace
        >>> mechanism(DiscreteLaplace(scale=1), trials=2000).flagged
        False
    """
    moved = sensitivity_of(mechanism, sensitivity)
    claimed = Claim.of(mechanism.loss(moved) if claim is None else claim)
    chosen = inputs(mechanism, moved) if pairs is None else list(pairs)
    if not chosen:
        raise InputError("there is no pair of inputs to compare. Pass pairs=[(a, b), ...].")
    prepared = [_pair(mechanism, a, b, draw) for a, b in chosen]
    return audit(_brief(mechanism), prepared, claimed, trials, open_unit(confidence, "confidence"))


def program(
    f: Callable[[Any], Any],
    a: Any,
    b: Any,
    *,
    claim: Claimable,
    trials: int = 20_000,
    timing: bool = False,
    support: Textbook | None = None,
    confidence: Exactable = Fraction(999, 1000),
) -> Verdict:
    """Look for outputs of any program that give away more about its input than is claimed.

    Whatever `f` returns is looked at: numbers, arrays, dictionaries and their keys, text. An error
    that it raises is an output too. Runs must be independent: no cache, no fixed seed.

    Args:
        f: the program; called 4·trials times.
        a: an input.
        b: a neighboring one.
        claim: an ε, a budget, or a loss.
        trials: runs per input for the search, and as many for the proof.
        timing: whether the time that a run takes counts as an output; noisy, and off by default.
        support: (exact value from a, exact value from b, scale): looks for the gaps that textbook
            Laplace noise in floats leaves around them.
        confidence: the probability with which the verdict is right.

    Raises:
        RangeError: too few trials.

    Example:
        >>> program(lambda rows: "bob" in rows, ["bob"], [], claim=1, trials=200).flagged
        True
    """

    def draw(size: int) -> tuple[Batch, Batch]:
        outputs: tuple[list[Any], list[Any]] = ([], [])
        seconds = np.empty((2, size))
        for i in range(size):
            # In turn, so that neither side always runs first, warm or late.
            for side in (0, 1) if i % 2 else (1, 0):
                start = perf_counter()
                outputs[side].append(outcome(f, (a, b)[side]))
                seconds[side, i] = perf_counter() - start
        first, second = (
            Batch.of_outputs(outputs[side], seconds[side] if timing else None) for side in (0, 1)
        )
        return first, second

    pair = Pair((_brief(a), _brief(b)), draw, None if support is None else Support(*support))
    subject = getattr(f, "__qualname__", type(f).__name__)
    return audit(subject, [pair], Claim.of(claim), trials, open_unit(confidence, "confidence"))


def _pair(mechanism: Any, a: Any, b: Any, draw: Draw | None) -> Pair:
    def both(size: int) -> tuple[Batch, Batch]:
        return releases(mechanism, a, size, draw), releases(mechanism, b, size, draw)

    scale = getattr(mechanism, "noise_scale", None)
    plain = all(isinstance(x, int | float | Fraction) for x in (a, b))
    support = Support(float(a), float(b), float(scale)) if plain and scale is not None else None
    return Pair((_brief(a), _brief(b)), both, support)


def _brief(value: Any) -> str:
    if isinstance(value, Fraction):
        return show(value, 9)
    if isinstance(value, list | tuple):
        text = f"[{', '.join(map(_brief, value[:_SHOWN]))}]"
    else:
        text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
