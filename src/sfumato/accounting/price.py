"""The figures that go with a release: what its loss comes to."""

from __future__ import annotations

from fractions import Fraction

from sfumato.accounting.curve import epsilon
from sfumato.accounting.pure import basic_epsilon, own_delta
from sfumato.accounting.zcdp import rho
from sfumato.core.loss import Loss
from sfumato.release.price import Price

_USUAL = Fraction(1, 10**6)  # shown for noise that has no ε without a δ


def price(loss: Loss, delta: Fraction = Fraction(0)) -> Price:
    """Return ε, δ and ρ of a loss, for people to read.

    ε is given at `delta` if that is above 0. Else it is given at δ = 0 where there is such an ε, at
    the loss's own δ where parts of it are
    approximate, and at δ = 10^-6 for Gaussian noise, which has none otherwise.

    Guarantee: each figure is an upper bound.
    Theorem:   docs/theory/zcdp.md
    Exactness: rounded up, as by `epsilon` and `rho`

    Example:
        >>> from sfumato.core.loss import Pure
        >>> price(Pure("0.5")).epsilon
        Fraction(1, 2)
    """
    own = own_delta(loss)
    failure = max(delta, own)
    if not delta and basic_epsilon(loss) is None:
        failure = own + _USUAL
    return Price(epsilon(loss, failure), failure, None if own else rho(loss))
