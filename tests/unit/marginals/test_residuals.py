"""Planning, integer residuals and reconstruction, against dense linear algebra on tiny domains."""

from fractions import Fraction
from functools import reduce
from itertools import chain, combinations

import numpy as np
import pytest

import sfumato as sf
from sfumato.marginals.basis import basis, lift
from sfumato.marginals.closure import Closure
from sfumato.marginals.domain import domain_of
from sfumato.marginals.fit import Fit
from sfumato.marginals.reading import Reading
from sfumato.marginals.tail import laplace_reach
from sfumato.relation.matrix import Blocks, Kronecker
from sfumato.release import law
from sfumato.release.error import Noise

ADULT = (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)


def lab_of(sizes, rows=200, seed=5, **more):
    rng = np.random.default_rng(seed)
    domain = {f"c{i}": n for i, n in enumerate(sizes)}
    data = {name: rng.integers(0, n, rows) for name, n in domain.items()}
    return sf.lab.table(data, domain, **more), data


def exact(data, names, sizes):
    counts = np.zeros(sizes)
    np.add.at(counts, tuple(data[name] for name in names), 1)
    return counts


def dense(step, sizes):
    """Write the integer matrix of a measurement down, over the cells of the whole table."""
    factors = []
    for i, n in enumerate(sizes):
        if i not in step.places:
            factors.append(np.ones((1, n)))
        elif step.kind == "marginal":
            factors.append(np.eye(n))
        else:
            factors.append(basis(n, "values").apply(np.eye(n, dtype=np.int64)))
    return reduce(np.kron, factors)


def summing(places, sizes):
    factors = [np.eye(n) if i in places else np.ones((1, n)) for i, n in enumerate(sizes)]
    return reduce(np.kron, factors)


def least_squares(plan, answer, sizes):
    """Return generalized least squares of all readings, and its covariance, by dense algebra."""
    rows = [dense(step, sizes) for step in plan.steps]
    if plan.method == "residuals":
        noise = [float(s.mechanism.sigma) ** 2 for s in plan.steps]
    else:
        p = [np.exp(-1 / float(s.mechanism.scale)) for s in plan.steps]
        noise = [2 * each / (1 - each) ** 2 for each in p]
    inverse = [np.full(len(r), 1 / v) for r, v in zip(rows, noise, strict=True)]
    A, weight = np.concatenate(rows), np.concatenate(inverse)
    y = np.concatenate([r.numbers for r in answer.readings]).astype(float)
    information = np.linalg.pinv(A.T @ (weight[:, None] * A), hermitian=True)
    return information @ (A.T @ (weight * y)), information


@pytest.mark.parametrize("price", [{"rho": 1}, {"epsilon": 2}, {"epsilon": 2, "method": "counts"}])
@pytest.mark.parametrize("sizes", [(3, 2, 4), (2, 2, 2, 2), (5, 1, 3)])
def test_any_marginal_is_the_least_squares_solution(sizes, price):
    lab, _ = lab_of(sizes)
    plan = sf.marginals.explain(lab, workload=sf.marginals.all(2), **price)
    answer = plan.release()
    solved, covariance = least_squares(plan, answer, sizes)
    for places in chain.from_iterable(combinations(range(len(sizes)), k) for k in range(3)):
        S = summing(places, sizes)
        table = answer.table(*(f"c{i}" for i in places))
        assert np.allclose(table.value.ravel(), S @ solved, atol=1e-9)
        # the bound of a discrete Gaussian's variance is sigma², as in the dense computation
        assert np.allclose(table.std.ravel() ** 2, np.diag(S @ covariance @ S.T), rtol=1e-10)


@pytest.mark.parametrize(
    ("ways", "rmse"), [((1,), 3.047), ((2,), 6.359), ((3,), 10.515), ((0, 1, 2, 3), 10.665)]
)
def test_adult_errs_as_published(ways, rmse):
    lab = sf.lab.table({f"c{i}": [0] for i in range(14)}, {f"c{i}": n for i, n in enumerate(ADULT)})
    plan = sf.marginals.explain(lab, workload=sf.marginals.all(*ways), rho="0.5")
    assert round(plan.overall, 3) == rmse


def test_errors_scale_to_epsilon_and_delta():
    lab = sf.lab.table({f"c{i}": [0] for i in range(14)}, {f"c{i}": n for i, n in enumerate(ADULT)})
    plan = sf.marginals.explain(lab, workload=sf.marginals.all(2), epsilon=1, delta="1e-9")
    # 34.9 with continuous noise and its exact δ; discrete noise on vectors is priced by its ρ
    assert 34.9 < plan.overall < 37
    assert plan.price.epsilon <= 1
    assert plan.price.epsilon > Fraction(999, 1000)


@pytest.mark.parametrize("sizes", [(3, 2, 4), (2, 2, 2), (6, 5)])
def test_plan_is_no_worse_than_any_other_split(sizes):
    lab, _ = lab_of(sizes)
    domain = domain_of(lab, sf.marginals.all(2))
    closure = Closure.of(domain, sf.marginals.all(2).marginals(domain.names))
    costs = np.array(
        [float(domain.residual(p).sensitivity(lab.unit).l2_squared) for p in closure.parts]
    )
    plan = sf.marginals.explain(lab, workload=sf.marginals.all(2), rho="0.5")
    rng = np.random.default_rng(3)
    for _ in range(200):
        other = plan.spread * np.exp(rng.normal(0, 0.3, plan.spread.size))
        other *= (costs / other).sum()  # costs as much
        total = (closure.variances(other) * closure.questions).sum()
        assert total >= (plan.rmse**2 * closure.questions).sum() * (1 - 1e-6)


def test_cost_is_what_was_asked_for_and_hardly_less():
    lab, _ = lab_of((7, 3, 2, 5))
    plan = sf.marginals.explain(lab, workload=sf.marginals.all(1, 3), rho="0.37")
    assert Fraction(37, 100) * (1 - Fraction(1, 10**9)) < sf.accounting.rho(plan.cost)
    assert sf.accounting.rho(plan.cost) <= Fraction(37, 100)
    pure = sf.marginals.explain(lab, workload=sf.marginals.all(2), epsilon="0.7")
    assert sf.accounting.epsilon(pure.cost, 0) <= Fraction(7, 10)
    assert sf.accounting.epsilon(pure.cost, 0) > Fraction(699, 1000)


@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
@pytest.mark.parametrize("rows", [1, 3])
def test_measured_integers_move_no_further_than_claimed(neighbors, rows):
    rng = np.random.default_rng(11)
    unit = sf.Unit.rows(rows, neighbors=neighbors) if rows > 1 else sf.Unit.row(neighbors=neighbors)
    for _ in range(15):
        sizes = tuple(rng.integers(2, 6, 3))
        lab, _ = lab_of(sizes, unit=unit)
        domain = domain_of(lab, sf.marginals.all(2, prefix="c0", ranges="c1"))
        for places in [(), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]:
            for query in (domain.residual(places), domain.marginal(places)):
                claimed = query.sensitivity(unit)
                for _ in range(10):
                    change = np.zeros(sizes, np.int64)
                    for _ in range(rows):
                        change[tuple(rng.integers(0, n) for n in sizes)] += 1
                        if neighbors == "replace":
                            change[tuple(rng.integers(0, n) for n in sizes)] -= 1
                    moved = applied(query, change, sizes)
                    assert np.abs(moved).sum() <= claimed.l1
                    assert (moved**2).sum() <= claimed.l2_squared
                    assert np.abs(moved).max() <= claimed.linf


def applied(query, change, sizes):
    histogram = getattr(query, "histogram", query)
    kept = [int(name[1:]) for name in histogram.columns]
    counts = change.sum(axis=tuple(i for i in range(len(sizes)) if i not in kept))
    if hasattr(query, "matrix"):
        return query.matrix.apply(counts.ravel())
    return counts.ravel()


@pytest.mark.parametrize("asked", ["values", "prefix", "ranges"])
@pytest.mark.parametrize("size", [2, 3, 9, 40])
def test_basis_says_nothing_of_the_total_and_all_of_the_rest(size, asked):
    matrix = basis(size, asked)
    array = matrix.apply(np.eye(size, dtype=np.int64))
    assert not array.sum(axis=1).any()
    assert np.linalg.matrix_rank(array) == size - 1
    back = lift(matrix).apply(array.astype(float), 0)
    assert np.allclose(back, np.eye(size) - 1 / size, atol=1e-9)
    squares, sizes = lift(matrix).weights(None)
    inverse = np.linalg.pinv(array.astype(float))
    assert np.allclose(squares, (inverse**2).sum(axis=1))
    assert np.allclose(sizes, np.abs(inverse).sum(axis=1))


def test_marginals_add_up():
    lab, _ = lab_of((4, 3, 2, 5))
    answer = sf.marginals.release(lab, workload=sf.marginals.all(3), rho=1)
    three = answer.table("c3", "c0", "c2")
    assert three.value.shape == (5, 4, 2)
    assert np.allclose(three.value.sum(axis=1), answer.table("c3", "c2").value, atol=1e-9)
    assert np.allclose(three.value.sum(axis=(0, 2)), answer.table("c0").value, atol=1e-9)
    assert np.isclose(three.value.sum(), answer.table().estimate.value, atol=1e-9)


def test_without_noise_to_speak_of_the_counts_come_back():
    lab, data = lab_of((4, 3, 2), budget=sf.Budget(rho=10**9))
    answer = sf.marginals.release(lab, workload=sf.marginals.all(2), rho=10**6)
    for names in (("c0", "c1"), ("c2", "c0"), ("c1",)):
        sizes = [len(v) for v in answer.table(*names).values]
        assert np.abs(answer.table(*names).value - exact(data, names, sizes)).max() < 0.1


def test_sum_of_a_range_has_the_interval_of_the_sum():
    lab, _ = lab_of((8, 3))
    answer = sf.marginals.release(lab, workload=sf.marginals.all(2), rho="0.1")
    table = answer.table("c0", "c1")
    part = answer.count({"c0": (2, 5), "c1": [0, 2]})
    assert np.isclose(part.value, table.value[2:6][:, [0, 2]].sum())
    cells = (table.high - table.value)[2:6][:, [0, 2]].sum()
    assert part.high - part.value < cells / 2
    everything = answer.count({"c0": (0, 7), "c1": (0, 2)})
    total = answer.count()
    assert np.isclose(everything.value, total.value)
    assert np.isclose(everything.high - everything.value, total.high - total.value)


def test_total_alone_can_be_asked():
    lab, _ = lab_of((3, 2))
    answer = sf.marginals.release(lab, workload=sf.marginals.all(0), epsilon=1)
    assert abs(answer.table().estimate.value - 200) < 40
    assert answer.table().estimate.low < answer.table().estimate.high


def test_prefix_basis_errs_less_on_prefixes_than_the_plain_one():
    lab, _ = lab_of((64, 3))
    wanted = sf.marginals.all(2, prefix="c0")
    planned = sf.marginals.explain(lab, workload=wanted, rho="0.5")
    plain = sf.marginals.explain(lab, workload=sf.marginals.all(2), rho="0.5").release()
    better = planned.release()
    rows = {0: np.tril(np.ones((64, 64))), 1: np.eye(3)}
    new, old = (np.mean(r.fit.variance((0, 1), rows)) for r in (better, plain))
    assert np.isclose(new, planned.overall**2, rtol=1e-6)
    assert new < old / 3


def test_largest_variance_is_least_with_max():
    lab, _ = lab_of((12, 2, 5, 3))
    wanted = sf.marginals.all(1, 2)
    total = sf.marginals.explain(lab, workload=wanted, rho="0.5")
    worst = sf.marginals.explain(lab, workload=wanted, rho="0.5", objective="max")
    assert worst.rmse.max() < total.rmse.max() * 0.99
    assert worst.overall > total.overall
    assert sf.accounting.rho(worst.cost) <= Fraction(1, 2)


def test_readings_of_one_effect_are_averaged_by_precision():
    lab, _ = lab_of((3, 2))
    attributes = domain_of(lab, sf.marginals.all(1)).attributes
    fine = Reading((), "marginal", Noise("laplace", 10), (100,))
    rough = Reading((), "marginal", Noise("laplace", 1000), (2000,))
    value = Fit(attributes, [fine, rough]).marginal(())
    assert 100 < value < 101


def test_several_readings_of_one_effect_are_least_squares_too():
    sizes = (4, 3, 2)
    lab, _ = lab_of(sizes)
    attributes = domain_of(lab, sf.marginals.all(2)).attributes
    rng = np.random.default_rng(2)
    given = [((0, 1), 3), ((1, 2), 5), ((0, 2), 2), ((0,), 4), ((), 7), ((2,), 1)]
    readings, rows, weights = [], [], []
    for places, scale in given:
        cells = int(np.prod([sizes[i] for i in places]))
        noise = Noise("laplace", scale)
        readings.append(Reading(places, "marginal", noise, rng.integers(-9, 99, cells)))
        rows.append(summing(places, sizes))
        weights.append(np.full(cells, 1 / law.variance(noise)))
    A, w = np.concatenate(rows), np.concatenate(weights)
    y = np.concatenate([r.numbers for r in readings])
    covariance = np.linalg.pinv(A.T @ (w[:, None] * A), hermitian=True)
    fit = Fit(attributes, readings)
    for places in [(), (0,), (2,), (0, 1), (1, 2)]:
        S = summing(places, sizes)
        assert np.allclose(fit.marginal(places).ravel(), S @ covariance @ A.T @ (w * y), atol=1e-9)
        shape = [sizes[i] for i in places]
        variance = np.broadcast_to(fit.variance(places), shape).ravel()
        assert np.allclose(variance, np.diag(S @ covariance @ S.T), rtol=1e-10)
        # The interval is that of the very weights of a cell.
        cell = (S @ covariance @ A.T * w)[0]
        ends = np.cumsum([0, *(len(r) for r in readings)])
        parts = [
            (reading.noise, cell[a:b], 1)
            for reading, a, b in zip(readings, ends, ends[1:], strict=False)
        ]
        width = fit.halfwidth(places, 0.05)
        assert np.allclose(width, laplace_reach(parts, 0.05), rtol=1e-6)
    chosen = {0: rng.random((1, 4)), 1: rng.random((1, 3))}
    S = reduce(np.kron, [chosen[0], chosen[1], np.ones((1, 2))])
    assert np.allclose(fit.variance((0, 1), chosen), S @ covariance @ S.T)
    assert np.allclose(fit.asked(chosen), S @ covariance @ A.T @ (w * y))
    cell = (S @ covariance @ A.T * w)[0]
    parts = [(r.noise, cell[a:b], 1) for r, a, b in zip(readings, ends, ends[1:], strict=False)]
    assert np.allclose(fit.halfwidth((0, 1), 0.05, chosen), laplace_reach(parts, 0.05), rtol=1e-6)


def test_factor_of_a_column_of_two_values_is_one_row():
    assert Kronecker((basis(2, "values"),)).rows == 1
    assert Blocks(5, 5).rows == 1
