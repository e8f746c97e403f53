"""The contract of a mechanism, as checks that anyone can run on their own.

A `Contract` names a mechanism, a sensitivity, pairs of exact inputs that differ by no more
than that sensitivity, and, where it can be written down, the exact law of the output. Each check
raises AssertionError with what it found::

    contract = Contract(MyMechanism(...), Sensitivity(l1=1), pairs=[(3, 4)], law=my_law)
    contract.verify()
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from fractions import Fraction
from math import exp, inf, log, sqrt
from typing import Any

import numpy as np

from sfumato import accounting
from sfumato.accounting.pure import own_delta
from sfumato.core.errors import LossError, SfumatoError
from sfumato.core.loss import Loss
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Neighbors
from sfumato.testing.rng import SeededRng

# Output -> probability; what is missing to one was left out as too unlikely to matter.
Law = Mapping[Hashable, float]

_ROUNDING = 1e-9  # of the laws, which are floats
_LEFT_OUT = 1e-12
_PROVABLE = 600.0  # exp of more is beyond a float, and no ε of that size is worth a check
_ADDS_UP = 1e-6
_EPSILONS = ("0.01", "0.1", "0.5", "1", "2", "4", "8")
_SLIGHT = Fraction(1, 10**6)  # a δ at which every loss has an ε
_ORDERS = (1.001, 1.5, 2.0, 4.0, 16.0, 64.0)
_DRAWS = 5000
_FEWER = 300  # at every other input, where only gross errors are looked for
_OTHERS = 3
_SOME = 20
_REPEATS = 2000  # of interval checks
_ALARM = 5.2  # standard deviations: a false alarm once in 10^7 checks


@dataclass(frozen=True)
class Contract:
    """A mechanism with what is claimed of it.

    Attributes:
        mechanism: a frozen mechanism.
        sensitivity: how far the two inputs of a pair lie apart at most.
        pairs: exact inputs, as `mechanism.exact` takes them, of neighbors.
        law: the exact law of a draw from one input; None where it cannot be written down.
        truth: what the mechanism's error is measured from, given input and output; None where the
            error has no such form.
        name: for test ids.
        draws: how many draws from the first input are compared with the law: 5,000 tell a noise
            scale from its half, 100,000 from one that is a tenth smaller.
    """

    mechanism: Any
    sensitivity: Sensitivity
    pairs: Sequence[tuple[Any, Any]]
    law: Callable[[Any], Law] | None = None
    truth: Callable[[Any, Any], float] | None = None
    name: str = ""
    draws: int = _DRAWS

    def __repr__(self) -> str:
        """Name the case."""
        return self.name or repr(self.mechanism)

    @property
    def loss(self) -> Loss:
        """What the mechanism says it gives away."""
        loss = self.mechanism.loss(self.sensitivity)
        assert isinstance(loss, Loss)
        return loss

    @property
    def inputs(self) -> list[Any]:
        """All inputs of the pairs, as the mechanism samples from them."""
        return [self.mechanism.exact(values) for pair in self.pairs for values in pair]

    def verify(self) -> None:
        """Run every check."""
        for check in CHECKS:
            check(self)


def check_loss_names_its_relation(case: Contract) -> None:
    """The loss holds under the relation of the sensitivity."""
    assert case.loss.neighbors is case.sensitivity.neighbors


def check_every_input_is_answered(case: Contract) -> None:
    """An error tells inputs apart: on none of them may a draw raise one."""
    for exact in case.inputs:
        rng = SeededRng(3)
        for _ in range(_SOME):
            case.mechanism.sample(exact, rng)


def check_floats_are_listed(case: Contract) -> None:
    """No draw is a float, unless the law lists it: bits of a float tell what noise was added to."""
    for exact in case.inputs:
        rng, listed = SeededRng(7), {} if case.law is None else case.law(exact)
        for _ in range(_SOME):
            key = _key(case.mechanism.sample(exact, rng))
            floats = any(isinstance(x, float) for x in (key if isinstance(key, tuple) else (key,)))
            assert not floats or key in listed, f"{key!r} is a float that no law lists"


def check_input_is_left_alone(case: Contract) -> None:
    """A draw changes nothing that was passed in: the next one would start from noise."""
    for exact in case.inputs:
        before = deepcopy(exact)
        case.mechanism.sample(exact, SeededRng(3))
        assert np.array_equal(np.asarray(before), np.asarray(exact)), "a draw changed its input"


def check_law_adds_up(case: Contract) -> None:
    """The probabilities of a law add up to one, but for what was left out."""
    if case.law is None:
        return
    for exact in case.inputs:
        total = sum(case.law(exact).values())
        assert abs(total - 1) <= _ADDS_UP, f"the law adds up to {total}"


def check_hockey_stick(case: Contract) -> None:
    """No event is likelier on one neighbor than exp(ε) times the other plus the δ claimed for ε."""
    claims = [
        (float(e), float(accounting.delta(case.loss, e)))
        for e in _epsilons(case.loss)
        if e < _PROVABLE
    ]
    for p, q in _laws(case):
        for epsilon, delta in claims:
            found = sum(max(0.0, p[x] - exp(epsilon) * q.get(x, 0.0)) for x in p)
            assert found <= delta + _ROUNDING, f"δ({epsilon:.4g}) = {found}, claimed {delta}"


def check_renyi(case: Contract) -> None:
    """The Rényi divergence of every order stays below ρ times the order, if ρ is claimed."""
    try:
        rho = float(accounting.rho(case.loss))
    except LossError:
        return
    for p, q in _laws(case):
        lost = sum(mass for x, mass in p.items() if not q.get(x, 0.0))
        assert lost <= _ROUNDING, f"D is infinite: {lost} cannot happen on the neighbor"
        for order in _ORDERS:
            common = [x for x in p if p[x] > 0 and q.get(x, 0.0) > 0]
            logs = [order * log(p[x]) + (1 - order) * log(q[x]) for x in common]
            top = max(logs)
            found = (top + log(sum(exp(value - top) for value in logs))) / (order - 1)
            assert found <= rho * order * (1 + 1e-6) + 1e-6, f"D_{order} = {found}, ρ = {rho}"


def check_support(case: Contract) -> None:
    """What is possible on one neighbor is possible on the other, if pure ε is claimed."""
    bound = _claimed_epsilon(case.loss)
    for p, q in _laws(case):
        for x, mass in p.items():
            if bound < _PROVABLE and mass > _LEFT_OUT * exp(bound):
                assert mass <= exp(bound) * q.get(x, 0.0) * (1 + 1e-6), f"{x!r} gives itself away"


def check_draws_follow_the_law(case: Contract) -> None:
    """Draws under a fixed seed follow the law that was written down (chi-square)."""
    if case.law is None:
        return
    first, *others = case.inputs
    _compare_draws(case, first, case.law(first), case.draws)
    for exact in others[:_OTHERS]:
        _compare_draws(case, exact, case.law(exact), _FEWER)


def _compare_draws(case: Contract, exact: Any, law: Law, draws: int) -> None:
    seen: dict[Hashable, int] = {}
    rng = SeededRng(11)
    for _ in range(draws):
        key = _key(case.mechanism.sample(exact, rng))
        seen[key] = seen.get(key, 0) + 1
    assert seen.keys() <= law.keys(), f"outputs outside the law: {seen.keys() - law.keys()}"
    common = [x for x in law if law[x] * draws >= 20]
    observed = np.array([seen.get(x, 0) for x in common] + [0.0])
    expected = np.array([law[x] * draws for x in common] + [0.0])
    observed[-1], expected[-1] = draws - observed.sum(), max(draws - expected.sum(), 1e-9)
    if expected[-1] < 20 and len(common) > 1:
        observed, expected = observed[:-1], expected[:-1]
    statistic = float(((observed - expected) ** 2 / expected).sum())
    assert _normal_score(statistic, max(len(observed) - 1, 1)) < _ALARM, f"chi-square {statistic}"


def check_zero_sensitivity_costs_nothing(case: Contract) -> None:
    """An answer that nobody can move gives nothing away, whoever is a neighbor."""
    for neighbors in Neighbors:
        still = Sensitivity(l0=0, linf=0, neighbors=neighbors)
        try:
            loss = case.mechanism.loss(still)
        except SfumatoError:  # what hides no presence refuses neighbors that differ in it
            assert neighbors != case.sensitivity.neighbors
            continue
        assert accounting.epsilon(loss) == 0
        assert loss.neighbors == neighbors


def check_loss_grows_with_sensitivity(case: Contract) -> None:
    """Twice the sensitivity costs at least as much."""
    s = case.sensitivity
    twice = Sensitivity(
        l0=None if s.l0 is None else s.l0,
        l1=None if s.l1 is None else 2 * s.l1,
        l2_squared=None if s.l2_squared is None else 4 * s.l2_squared,
        linf=None if s.linf is None else 2 * s.linf,
        neighbors=s.neighbors,
    )
    losses = [case.mechanism.loss(x) for x in (s, twice)]
    # At one δ for both: beyond a larger failure of its own, a loss may have a smaller ε.
    at = max(map(own_delta, losses)) + _SLIGHT
    once, again = (_figures(loss, at) for loss in losses)
    assert once[0] <= again[0], "ε falls"
    assert once[1] <= again[1], "ρ falls"
    assert once[2] <= again[2], "δ falls"


def check_replay_is_deterministic(case: Contract) -> None:
    """The same words give the same draw: no other randomness, no state, no data-dependent call."""
    exact, runs = case.inputs[0], []
    for _ in range(2):
        rng = SeededRng(5)
        runs.append([_key(case.mechanism.sample(exact, rng)) for _ in range(_SOME)])
    assert runs[0] == runs[1], "the same words gave another draw"


def check_interval_covers(case: Contract) -> None:
    """The interval holds the truth at least as often as it says (within the sampling error)."""
    if case.truth is None:
        return
    rng, exact = SeededRng(17), case.mechanism.exact(case.pairs[0][0])
    error = case.mechanism.error(case.sensitivity)
    for confidence in (Fraction(1, 2), Fraction(95, 100)):
        width = float(error.halfwidth(confidence)) + 1e-12
        far = sum(
            case.truth(case.pairs[0][0], case.mechanism.sample(exact, rng)) > width
            for _ in range(_REPEATS)
        )
        allowed = _REPEATS * float(1 - confidence)
        assert far <= allowed + 5 * sqrt(allowed) + 5, f"{far} of {_REPEATS} beyond {width}"


def check_documentation(case: Contract) -> None:
    """The docstring states guarantee, theorem, exactness and error."""
    text = type(case.mechanism).__doc__ or ""
    missing = [
        part for part in ("Guarantee:", "Theorem:", "Exactness:", "Error:") if part not in text
    ]
    assert not missing, f"the docstring lacks {missing}"


CHECKS: tuple[Callable[[Contract], None], ...] = (
    check_loss_names_its_relation,
    check_every_input_is_answered,
    check_floats_are_listed,
    check_input_is_left_alone,
    check_law_adds_up,
    check_hockey_stick,
    check_renyi,
    check_support,
    check_draws_follow_the_law,
    check_zero_sensitivity_costs_nothing,
    check_loss_grows_with_sensitivity,
    check_replay_is_deterministic,
    check_interval_covers,
    check_documentation,
)


def _normal_score(statistic: float, freedom: int) -> float:
    """Return a chi-square statistic as a normal score, by Wilson and Hilferty's cube root."""
    spread = 2 / (9 * freedom)
    return float(((statistic / freedom) ** (1 / 3) - (1 - spread)) / sqrt(spread))


def _laws(case: Contract) -> list[tuple[Law, Law]]:
    """Return the laws of both neighbors, in both directions, for every pair."""
    if case.law is None:
        return []
    both = [tuple(case.law(case.mechanism.exact(x)) for x in pair) for pair in case.pairs]
    return [(p, q) for p, q in both] + [(q, p) for p, q in both]


def _epsilons(loss: Loss) -> Iterator[Fraction]:
    """Yield where to compare: a few points, and where the claim itself is."""
    yield from map(Fraction, _EPSILONS)
    try:
        yield accounting.epsilon(loss, own_delta(loss))
    except LossError:
        return


def _figures(loss: Loss, at: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """Return ε at a δ, ρ, and the δ of its own, of a loss for comparison."""
    try:
        rho = accounting.rho(loss)
    except LossError:
        rho = Fraction(0)
    return accounting.epsilon(loss, at), rho, own_delta(loss)


def _claimed_epsilon(loss: Loss) -> float:
    try:
        return float(accounting.epsilon(loss))
    except LossError:
        return inf


def _key(drawn: Any) -> Hashable:
    """Return a draw as something that can be counted."""
    if isinstance(drawn, np.ndarray) and drawn.ndim:
        return tuple(drawn.ravel().tolist())
    key: Hashable = drawn.item() if isinstance(drawn, np.ndarray | np.generic) else drawn
    return key
