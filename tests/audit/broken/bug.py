"""What a planted bug is: wrong code, what is claimed of it, and the means that must see it."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.core.loss import Pure
from sfumato.testing import Contract

CONTRACT, REPLAY, BLACK_BOX = MEANS = ("contract", "replay", "black box")


@dataclass(frozen=True)
class Own:
    """A mechanism of somebody's own, out of a sampler and a claim.

    Guarantee: what `claimed` says of it, for the neighbor relation of the sensitivity.
    Theorem:   its author has one in mind.
    Exactness: that of the sampler.
    Error:     not stated.
    """

    drawn: Callable[[Any, Any], Any]
    claimed: Callable[[Any], Any]

    def loss(self, sensitivity):
        if sensitivity.is_zero:
            return Pure(Fraction(0), neighbors=sensitivity.neighbors)
        return self.claimed(sensitivity)

    def exact(self, values):
        return np.asarray(values)

    def sample(self, exact, rng):
        return self.drawn(exact, rng)


@dataclass(frozen=True, kw_only=True)
class Bug:
    """One planted bug, or with nothing in `caught` its correct twin, which nothing may flag.

    Attributes:
        name: in a few words.
        story: what a reader should know, in one sentence.
        caught: the means that must see it, of MEANS.
        contract: the wrong mechanism with its pairs and its claim, if it is one.
        program: the wrong program, if it is one.
        pair: the neighbors that it runs on; for a mechanism those of its contract, unless the
            black box needs larger ones.
        claim: what is claimed of the program.
        sensitivity: what is declared for its noise calls.
        curator: makes a curator of an input, for programs that take one.
        trials: releases that the black box takes per side.
        timing: whether the time counts as an output.
        cellwise: whether the mechanism treats every cell of an array by itself, so that many
            releases can be drawn at once.
    """

    name: str
    story: str
    caught: tuple[str, ...] = ()
    contract: Contract | None = None
    program: Callable[[Any], Any] | None = None
    pair: tuple[Any, Any] | None = None
    claim: Any = None
    sensitivity: Any = None
    curator: Callable[[Any], Any] | None = None
    trials: int = 2_000
    timing: bool = False
    cellwise: bool = False

    def __post_init__(self):
        assert set(self.caught) <= set(MEANS)
        assert (self.contract is None) != (self.program is None)
        assert self.program is None or (self.pair is not None and self.claim is not None)

    def __repr__(self):
        return self.name

    @property
    def means(self):
        """The means that apply."""
        return (CONTRACT, BLACK_BOX) if self.program is None else (REPLAY, BLACK_BOX)
