"""A release of ranges or marginals for a whole (ε, δ) budget fits it, and keeps both sums known."""

from fractions import Fraction

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato import accounting
from sfumato.core.errors import BudgetExceeded
from sfumato.mechanisms import DiscreteGaussian
from sfumato.session.target import target
from sfumato.testing import FakeCurator

FRAME = pa.table({"who": [i % 50 for i in range(300)], "a": [1, 2, 3] * 100, "b": [0, 1] * 150})
SCHEMA = sf.Schema(a=sf.Integer(0, 15), b=sf.Integer(0, 1))
UNIT = sf.Unit.by("who", max_rows=10, max_groups=10, max_rows_per_group=1)
PRICES = [("1", "1e-6"), ("0.1", "1e-9"), ("5", "0.01"), ("0.37", "1e-5")]


def session(epsilon, delta):
    return sf.Session(FRAME, unit=UNIT, schema=SCHEMA, budget=sf.Budget(epsilon, delta))


def ranges(table, method, epsilon, delta):
    more = {"width": 8} if method == "sketch" else {}
    values = table.values("a")
    return sf.ranges.release(values, method=method, epsilon=epsilon, delta=delta, **more)


def marginals(table, epsilon, delta, method="residuals"):
    workload = sf.marginals.all(2)
    return sf.marginals.release(
        table, workload=workload, method=method, epsilon=epsilon, delta=delta
    )


@pytest.mark.parametrize(("epsilon", "delta"), PRICES)
@pytest.mark.parametrize("method", ["hierarchical", "identity", "wavelet", "sketch", "auto"])
def test_ranges_for_the_whole_budget_fit_it(method, epsilon, delta):
    held = session(epsilon, delta)
    answer = ranges(held.table(), method, epsilon, delta)
    limit = sf.Budget(epsilon, delta)
    assert answer.price.epsilon <= limit.epsilon
    assert answer.price.delta <= limit.delta
    left = held.remaining
    assert left.epsilon is not None  # the sum of ε is still known
    assert 0 <= left.epsilon < limit.epsilon / 1000


@pytest.mark.parametrize(("epsilon", "delta"), PRICES)
def test_marginals_for_the_whole_budget_fit_it(epsilon, delta):
    held = session(epsilon, delta)
    answer = marginals(held.table(), epsilon, delta)
    limit = sf.Budget(epsilon, delta)
    assert answer.price.epsilon <= limit.epsilon
    assert answer.price.delta <= limit.delta
    left = held.remaining
    assert left.epsilon is not None
    assert 0 <= left.epsilon < limit.epsilon / 1000


def test_a_whole_budget_is_spent_once_and_repeats_for_nothing():
    held = session("1", "1e-6")
    first, again = (ranges(held.table(), "identity", 1, "1e-6") for _ in range(2))
    assert first.measured == again.measured  # the stored answer
    with pytest.raises(BudgetExceeded, match=r"costs ρ = 0\.02294; .* of 0\.02293"):
        ranges(held.table(), "hierarchical", 1, "1e-6")


def test_half_by_epsilon_alone_leaves_the_other_half_for_gaussian_noise():
    held = session("2", "1e-6")
    held.table().count().release(epsilon=1)  # its ρ is beyond what δ is worth
    assert held.remaining.rho < accounting.rho_within(1, Fraction("5e-7"))
    marginals(held.table(), 1, "1e-6")
    assert 0 <= held.remaining.epsilon < Fraction(1, 1000)


def test_where_no_delta_is_left_it_is_charged_in_rho_alone():
    held = session("4", "1e-6")
    ranges(held.table(), "identity", 1, "1e-6")
    assert held.remaining.delta == 0
    before = held.remaining.rho
    marginals(held.table(), 1, "1e-6")
    assert held.remaining.epsilon is None  # no ε is known without a δ
    cost = accounting.rho_within(1, Fraction("5e-7"))
    assert before - held.remaining.rho == pytest.approx(cost, rel=1e-6)


def test_noise_is_for_all_of_delta_where_the_budget_allows_it():
    small, ample = session("1", "1e-6"), session("1", "1e-3")
    here, there = (
        sf.marginals.explain(
            s.table(), workload=sf.marginals.all(2), method="residuals", epsilon=1, delta="1e-6"
        )
        for s in (small, ample)
    )
    assert here.charge_delta == Fraction("5e-7")
    assert there.charge_delta == Fraction("1e-6")
    assert there.overall < here.overall < there.overall * 1.05
    marginals(ample.table(), "0.5", "1e-6")
    later = sf.marginals.explain(
        ample.table(), workload=sf.marginals.all(2), method="residuals", epsilon=1, delta="1e-6"
    )
    assert later.overall == there.overall  # what was spent does not change the noise


def test_a_pure_budget_says_that_gaussian_noise_has_no_epsilon():
    held = sf.Session(FRAME, unit=UNIT, schema=SCHEMA, budget=sf.Budget(1))
    with pytest.raises(BudgetExceeded, match="no ε, as with Gaussian noise"):
        marginals(held.table(), "0.5", "1e-6")
    assert len(held.ledger.history()) == 0


def test_a_budget_in_rho_takes_a_price_in_epsilon_and_delta():
    held = sf.Session(FRAME, unit=UNIT, schema=SCHEMA, budget=sf.Budget(rho="0.1"))
    answer = marginals(held.table(), 1, "1e-6")
    assert answer.price.epsilon <= 1
    assert held.remaining.rho > Fraction("0.07")


def test_the_laboratory_keeps_to_a_whole_budget_too():
    lab = sf.lab([5, 6, 7, 8] * 4, budget=sf.Budget(1, "1e-6"))
    sf.ranges.release(lab, method="identity", epsilon=1, delta="1e-6")
    assert 0 <= lab.remaining.epsilon < Fraction(1, 10)  # by the exact law of one cell
    with pytest.raises(BudgetExceeded):
        sf.ranges.release(lab, method="identity", epsilon=1, delta="1e-6")


def test_measure_takes_a_request_that_is_the_same_for_ever():
    held = session("1", "1e-3")
    query = held.table().group_by("a").count().queries[0]
    one, two = (
        held.table().measure(query, DiscreteGaussian(40), delta="1e-6", request="mine")
        for _ in range(2)
    )
    assert one.to_json() == two.to_json()
    spent = held.ledger.spent()
    assert spent.delta == 10**12
    assert spent.epsilon is not None


@pytest.mark.parametrize(
    "budget", [sf.Budget(2), sf.Budget("0.9", "1e-6"), sf.Budget(rho=1)], ids=repr
)
def test_scopes_that_cannot_fit_are_refused_on_entry(budget):
    given = sf.Budget("0.5", "1e-6")
    curators = [
        sf.lab([5, 6], budget=given),
        FakeCurator([{"a": 1}], budget=given),
        sf.Session(FRAME, unit=UNIT, schema=SCHEMA, budget=given).table(),
    ]
    for curator in curators:
        with pytest.raises(BudgetExceeded), curator.scope(budget):
            pytest.fail("it went in")


def test_a_scope_inside_a_scope_must_fit_both():
    lab = sf.lab([5, 6], budget=sf.Budget(4))
    with lab.scope(sf.Budget(1)) as inside:
        with inside.scope(sf.Budget(1)) as innermost:
            assert innermost.remaining.epsilon == 1
        with pytest.raises(BudgetExceeded), inside.scope(sf.Budget(2)):
            pytest.fail("it went in")


WIDE = sf.Unit.by("who", max_rows=16, max_groups=16, max_rows_per_group=1)


def wide(epsilon, delta=0):
    return sf.Session(FRAME, unit=WIDE, schema=SCHEMA, budget=sf.Budget(epsilon, delta))


@pytest.mark.parametrize(("epsilon", "delta"), PRICES)
def test_a_question_for_the_whole_budget_fits_it(epsilon, delta):
    held = wide(epsilon, delta)
    question = held.table().group_by("a").count()
    plan = question.explain(epsilon=epsilon, delta=delta)
    assert isinstance(plan.parts[0].mechanism, DiscreteGaussian)
    answer = plan.release()
    assert answer.price.delta <= Fraction(delta) / 2
    assert 0 <= held.remaining.epsilon < Fraction(epsilon) / 20
    assert question.release(epsilon=epsilon, delta=delta).to_json() == answer.to_json()


def test_a_batch_and_bought_keys_for_the_whole_budget_fit_it():
    held = wide(1, "1e-6")
    counts = held.table().group_by("a").count()
    held.batch([counts, held.table().count()]).release(epsilon=1, delta="1e-6")
    held = wide(1, "1e-6")
    held.table().group_by("a", keys=sf.bought()).count().release(epsilon=1, delta="1e-6")
    assert held.remaining.epsilon >= 0
    held = wide(1, "1e-6")
    wish = sf.within(100)
    counts = held.table().group_by("a").count()
    assert counts.explain(accuracy=wish, delta="1e-6").release().price.delta <= Fraction("5e-7")


SPENDERS = {
    "count": lambda s, **price: s.table().count().release(**price),
    "groups": lambda s, **price: (
        s.table().group_by("a").agg(n=sf.count(), m=sf.mean("b")).release(**price)
    ),
    "batch": lambda s, **price: s.batch([s.table().count()]).release(**price),
    "ranges": lambda s, **price: sf.ranges.release(s.table().values("a"), **price),
    "marginals": lambda s, **price: sf.marginals.release(
        s.table(), workload=sf.marginals.all(1), **price
    ),
    "map": lambda s, **price: sf.spatial.release(
        s.table().points("a", "b"), method="quadtree", **price
    ),
}
PURE = {
    "partition": lambda s, **price: sf.ranges.release(
        s.table().values("a"), method="dawa", **price
    ),
}
THIRDS = [Fraction(1, 3), Fraction(2, 7), Fraction(100, 7), 1e-5 / 3]


@pytest.mark.parametrize("epsilon", THIRDS)
@pytest.mark.parametrize("spender", [*SPENDERS, *PURE])
def test_a_price_between_two_points_of_the_grid_is_within_a_budget_of_as_much(spender, epsilon):
    held = wide(epsilon)
    {**SPENDERS, **PURE}[spender](held, epsilon=epsilon)
    exact = sf.Budget(epsilon).epsilon
    assert 0 <= held.remaining.epsilon < exact / 1000
    spent = Fraction(held.ledger.spent().epsilon, 10**18)
    assert exact * Fraction(999, 1000) < spent <= exact


@pytest.mark.parametrize("spender", SPENDERS)
def test_so_is_one_in_rho_and_one_with_a_delta(spender):
    third = Fraction(1, 3)
    held = sf.Session(FRAME, unit=WIDE, schema=SCHEMA, budget=sf.Budget(rho=third))
    SPENDERS[spender](held, rho=third)
    assert held.remaining.rho >= 0
    held = wide(third, third / 10**6)
    SPENDERS[spender](held, epsilon=third, delta=third / 10**6)
    assert held.remaining.epsilon >= 0


def test_a_price_below_the_grid_stays_as_it_is():
    assert target("1e-19").epsilon == Fraction("1e-19")
    assert target(1, "1e-30").delta == Fraction("1e-30")
    assert target(None, rho=Fraction(2, 3)).rho == Fraction(2 * 10**18 // 3, 10**18)
    assert target(1, "1e-6", left=lambda: wide(1, "1e-6").remaining).delta == Fraction("5e-7")
