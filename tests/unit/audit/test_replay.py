"""Record and play finds every difference that only the data can explain, and no other."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.audit.replay import Replay, replay
from sfumato.core.loss import Pure
from sfumato.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    GridLaplace,
    Quantile,
    RandomizedResponse,
)
from sfumato.noise import system
from sfumato.testing import FakeCurator, FakeQuery

S = sf.Sensitivity
ONE = S(l1=1)
COUNT = FakeQuery("n", len, ONE)
ROWS, FEWER = [{"zone": "a"}, {"zone": "b"}], [{"zone": "a"}]


def findings(program, a, b, **options):
    return list(replay(program, a, b, **options).findings)


def test_replay_of_a_sound_program_finds_nothing():
    found = replay(lambda rows: DiscreteLaplace(1)(len(rows)), ROWS, FEWER, sensitivity=ONE)
    assert found == Replay((), calls=1, unjudged=0)
    assert not found.flagged
    assert repr(found) == "Replay: no difference in 1 noise calls; not a proof"


def test_replay_counts_calls_without_a_declared_sensitivity():
    found = replay(lambda rows: DiscreteLaplace(1)(len(rows)), ROWS, FEWER)
    assert found.unjudged == 1
    assert "1 without a declared sensitivity" in repr(found)


def test_replay_lists_its_findings():
    found = replay(len, ROWS, FEWER)
    assert found.flagged
    assert repr(found).splitlines()[0] == "Replay: FLAGGED"
    assert repr(found).count("\n- ") == len(found.findings) == 1


def test_replay_sees_another_number_of_calls():
    found = findings(lambda rows: [DiscreteLaplace(1)(0) for _ in rows], ROWS, FEWER)
    assert "2 noise calls on one neighbor, 1 on the other" in found
    assert any("1 noise calls on one" in f for f in findings(_loop, FEWER, ROWS))


def _loop(rows):
    return sum(DiscreteLaplace(1)(0) for _ in rows)


def test_replay_sees_another_scale():
    [found] = findings(lambda rows: DiscreteLaplace(len(rows))(0), ROWS, FEWER)
    assert found.startswith("call 1: DiscreteLaplace(scale=2) on one neighbor")


def test_replay_sees_parameters_that_look_the_same():
    # A repr shows six digits of a number and sixty characters of a list.
    def large(rows):
        return DiscreteLaplace(10**9 + Fraction(len(rows), 3))(0)

    [found] = findings(large, ROWS, FEWER)
    assert found.endswith("depend on the data")
    names = [f"candidate {i}" for i in range(20)]

    def choose(rows):
        return Exponential([*names, len(rows)], rate=1)([0] * 20 + [-1000])

    [found] = findings(choose, ROWS, FEWER)
    assert found.endswith("depend on the data")


def test_replay_sees_a_declared_sensitivity_that_depends_on_the_data():
    def release(rows):
        return DiscreteLaplace(1).release(0, S(l1=len(rows))).to_json()[:0]

    assert findings(release, ROWS, FEWER) == [
        "call 1: the declared sensitivity depends on the data"
    ]


@pytest.mark.parametrize(
    ("declared", "norms"),
    [
        (S(l0=2, linf=3), "l1, l2_squared, linf"),
        (S(l0=1, linf=5), "l0, l1, l2_squared"),
        (S(l0=2, l1=5), "l1, l2_squared"),
        (S(l2=5), "l2_squared"),
    ],
)
def test_replay_names_the_norms_that_are_exceeded(declared, norms):
    found = findings(DiscreteLaplace(1), [0, 0], [5, 2], sensitivity=declared)
    assert found == [f"call 1: exact inputs differ by more than the declared {norms}"]


@pytest.mark.parametrize("declared", [S(l0=2, linf=5), S(l1=7), S(l0=2, l1=7, linf=5)])
def test_replay_accepts_what_is_within_the_norms(declared):
    assert findings(DiscreteLaplace(1), [0, 0], [5, 2], sensitivity=declared) == []


def test_replay_judges_what_a_call_declares_before_the_fallback():
    def release(rows):
        return DiscreteLaplace(1).release(len(rows), ONE).columns

    assert findings(release, [1] * 5, [1] * 9, sensitivity=S(l1=9)) != []


def test_replay_allows_for_rounding_to_a_grid():
    grid = GridLaplace(scale=1, step="1/4")
    one_cell = S(l0=1, l1="3/10")  # rounds to two steps
    assert findings(grid, 0.1, 0.4, sensitivity=one_cell) == []
    assert findings(grid, 0.1, 0.9, sensitivity=one_cell) != []


def test_replay_allows_for_floored_scores():
    pick = Exponential(["a", "b"], rate=1, step="1/2")
    declared = S(linf="3/4")  # floors to two steps
    assert findings(pick, [0.4, 0.0], [1.1, 0.0], sensitivity=declared) == []
    assert findings(pick, [0.4, 0.0], [1.6, 0.0], sensitivity=declared) != []


@pytest.mark.parametrize(
    ("relation", "a", "b", "fine"),
    [
        ("add_remove", [1, 2, 3], [1, 2], True),
        ("add_remove", [3, 2, 1], [1, 2, 3], True),
        ("add_remove", [1, 2, 3], [1, 2, 9], False),
        ("replace", [1, 2, 3], [1, 2, 9], True),
        ("replace", [1, 2, 3], [1, 8, 9], False),
        ("add_remove", [1, 2, 3], [1], False),
    ],
)
def test_replay_compares_bags_by_their_rows(relation, a, b, fine):
    median = Quantile("1/2", 0, 10, 1, 1)
    found = findings(median, a, b, sensitivity=S(l1=1, neighbors=relation))
    assert (found == []) == fine


def test_replay_sees_another_shape():
    found = findings(lambda rows: len(DiscreteLaplace(1)(rows)) * 0, [1, 2], [1, 2, 3])
    assert found == ["call 1: (2,) cells on one neighbor, (3,) on the other"]


def test_replay_sees_what_passes_by_the_noise():
    told = "the result of the program differs although every noisy answer was the same"
    assert findings(lambda rows: DiscreteLaplace(1)(0) + len(rows), ROWS, FEWER) == [told]


def test_replay_sees_the_order_of_keys():
    def program(rows):
        noisy = DiscreteLaplace(1)([0, 0])
        return {key: noisy["ab".index(key)] for key in rows}

    assert len(findings(program, ["a", "b"], ["b", "a"])) == 1


def test_replay_sees_errors_and_their_text():
    def program(rows):
        raise ValueError(f"{len(rows)} rows")

    def sometimes(rows):
        return 1 / (len(rows) - 1)

    told = "the error of the program differs although every noisy answer was the same"
    assert findings(program, ROWS, FEWER) == [told]
    assert findings(sometimes, ROWS, FEWER) == [
        "one neighbor ends in a result, the other in an error"
    ]


def test_replay_lets_a_program_work_on_its_answers_in_place():
    def program(rows):
        noisy = DiscreteLaplace(1)([len(rows), 0])
        noisy += 5
        np.maximum(noisy, 0, out=noisy)
        return noisy

    assert findings(program, ROWS, FEWER, sensitivity=ONE) == []


def test_replay_keeps_exact_inputs_that_the_program_changes_later():
    def program(rows):
        exact = np.array([len(rows)])
        DiscreteLaplace(1).sample(exact, system())
        exact[:] = 0

    assert findings(program, [1] * 9, [1], sensitivity=ONE) != []


def test_replay_reports_randomness_of_its_own():
    rng = np.random.default_rng()
    found = findings(lambda rows: rng.random(), ROWS, FEWER)
    assert len(found) == 1
    assert "does not repeat itself" in found[0]


def test_replay_adds_up_what_calls_cost_on_these_neighbors():
    def thrice(rows):
        return [DiscreteLaplace(2)(len(rows)) for _ in range(3)]

    assert findings(thrice, ROWS, FEWER, claim="3/2") == []
    told = ["the noise calls cost ε = 1.5 on these neighbors, claimed is ε = 1.4"]
    assert findings(thrice, ROWS, FEWER, claim="1.4") == told


def test_replay_charges_disjoint_parts_once():
    def parts(rows):
        return [DiscreteLaplace(1)(rows.count(zone)) for zone in "abc"]

    assert findings(parts, "aab", "aa", sensitivity=ONE, claim=1) == []
    replaced = S(l1=1, neighbors="replace")
    assert findings(parts, "aab", "aac", sensitivity=replaced, claim=1) != []
    assert findings(parts, "aab", "aac", sensitivity=replaced, claim=2) == []


def test_replay_charges_a_grid_for_rounding_once():
    grid, cells = GridLaplace(scale=1, step="1/4"), S(l0=2, l1="1/2", linf="1/4")
    cost = sf.accounting.epsilon(grid.loss(cells))
    assert findings(grid, [0.12, 0.12], [0.13, 0.13], sensitivity=cells, claim=cost) == []


@pytest.mark.parametrize(
    ("claim", "fine"),
    [
        (sf.Budget(rho="1/18"), True),
        (sf.Budget(rho="1/40"), False),
        (sf.Budget(epsilon=2, delta="1e-6"), True),
        (sf.Budget(epsilon=1, delta="1e-6"), False),
        (DiscreteGaussian(3).loss(S(l0=1, linf=1)), True),
        (DiscreteGaussian(4).loss(S(l0=1, linf=1)), False),
        (5, False),
    ],
)
def test_replay_compares_gaussian_calls_with_every_kind_of_claim(claim, fine):
    found = findings(lambda rows: DiscreteGaussian(3)(len(rows)), ROWS, FEWER, claim=claim)
    assert (found == []) == fine


def test_replay_says_that_no_epsilon_bounds_gaussian_calls():
    [found] = findings(lambda rows: DiscreteGaussian(3)(len(rows)), ROWS, FEWER, claim=5)
    assert found == "no ε bounds the noise calls, claimed is ε = 5"


def test_replay_costs_nothing_where_inputs_agree():
    assert findings(lambda rows: DiscreteLaplace("1/9")(0), ROWS, FEWER, claim=0) == []


def test_replay_leaves_calls_out_whose_cost_is_not_known():
    # Without a declared relation there is no guarantee to ask for.
    coin = RandomizedResponse(1)
    assert findings(coin, [True, False], [False, False], claim=0) == []
    declared = S(l1=1, neighbors="replace")
    assert findings(coin, [True], [False], sensitivity=declared, claim="1/2") != []


def test_replay_sees_calls_under_different_relations():
    def program(rows):
        for relation in ("add_remove", "replace"):
            DiscreteLaplace(1).release(len(rows), S(l1=1, neighbors=relation))

    [found] = findings(program, ROWS, FEWER)
    assert "different neighbor relations" in found


def test_replay_leaves_the_mechanisms_as_they_were():
    before = {kind: (kind.sample, kind.loss) for kind in (DiscreteLaplace, Quantile)}

    def fails(rows):
        raise RuntimeError

    replay(fails, ROWS, FEWER)
    assert before == {kind: (kind.sample, kind.loss) for kind in before}


def curators(rows=ROWS, fewer=FEWER, kind=FakeCurator):
    return kind(rows), kind(fewer)


def test_replay_of_a_curator_notes_every_measurement_once():
    def program(curator):
        curator.measure(COUNT, DiscreteLaplace(1))
        curator.measure([(COUNT, DiscreteLaplace(2)), (COUNT, DiscreteLaplace(3))])
        with curator.scope(sf.Budget(epsilon=1)) as inner:
            inner.measure(COUNT, DiscreteLaplace(4))
        return curator.partition("zone", ["a", "b"])["b"].measure(COUNT, DiscreteLaplace(5))

    found = replay(program, *curators())
    assert found == Replay((), calls=5, unjudged=0)


def test_replay_of_a_curator_judges_the_claim_of_the_query():
    wide = FakeQuery("n", lambda rows: 10 * len(rows), ONE)
    found = findings(lambda c: c.measure(wide, DiscreteLaplace(1)), *curators())
    assert found == ["call 1: exact inputs differ by more than the declared l1, l2_squared, linf"]


def test_replay_shows_a_program_the_facts_of_its_curator():
    assert findings(lambda c: (c.unit, c.budget, c.schema.columns), *curators()) == []


class Stingy(FakeCurator):
    """Charges for nothing."""

    def measure(self, query, mechanism=None):
        sensitivity = query.sensitivity(self.unit)
        return self._answer(query, mechanism, sensitivity, mechanism.loss(sensitivity)).columns


class Peeking(FakeCurator):
    """Charges by the row."""

    def measure(self, query, mechanism=None):
        for _ in self._rows:
            super().measure(query, DiscreteLaplace(100))
        return super().measure(query, mechanism).columns


def test_replay_sees_that_a_curator_charged_too_little():
    found = findings(lambda c: c.measure(COUNT, DiscreteLaplace(1)), *curators(kind=Stingy))
    assert found == ["the noise calls cost more than was charged for them"]


def test_replay_sees_a_charge_that_depends_on_the_data():
    found = findings(lambda c: c.measure(COUNT, DiscreteLaplace(1)), *curators(kind=Peeking))
    assert "the remaining budget differs: the charge depends on the data" in found


@dataclass(frozen=True)
class Plain:
    """A mechanism that is not ours, and takes whatever it gets."""

    def loss(self, sensitivity):
        return Pure(Fraction(1), neighbors=sensitivity.neighbors)

    def exact(self, values):
        return values

    def sample(self, exact, rng):
        return 7

    def error(self, sensitivity):
        return DiscreteLaplace(1).error(sensitivity)

    def grid(self, drawn):
        return drawn


def test_replay_compares_inputs_that_are_not_numbers():
    odd = FakeQuery("n", lambda rows: float("nan") if len(rows) > 1 else 1.0, ONE)
    found = findings(lambda c: c.measure(odd, Plain()), *curators())
    assert found == ["call 1: exact inputs differ by something that is not a number"]
    assert findings(lambda c: c.measure(odd, Plain()), *curators(ROWS, ROWS * 2)) == []
