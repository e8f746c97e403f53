"""Accuracy first: the price is found, and the noise is as small as was wished."""

from fractions import Fraction
from math import exp

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.errors import SfumatoError
from sfumato.mechanisms import DiscreteGaussian, DiscreteLaplace

SCHEMA = sf.Schema(
    zone=sf.Category(["A", "B", "C"]),
    age=sf.Integer(0, 99),
    fare=sf.Real(0, 50, step="0.25"),
    member=sf.Boolean(),
    name=sf.Text(),
)
UNIT = sf.Unit.by("id", max_rows=4, max_groups=2)


@pytest.fixture(scope="module")
def session():
    size = 300
    data = pa.table(
        {
            "id": list(range(size)),
            "zone": ["A"] * size,
            "age": [30] * size,
            "fare": [2.5] * size,
            "member": [True] * size,
            "name": ["x"] * size,
        }
    )
    with sf.Session(data, unit=UNIT, schema=SCHEMA, budget=sf.Budget(10**6, "1e-3")) as made:
        yield made


def outside(mechanism, width):
    """Return the probability of noise beyond a width, in steps, by summing the law."""
    scale = float(mechanism.noise_scale)
    if isinstance(mechanism, DiscreteLaplace):
        return 2 * exp(-(int(width) + 1) / scale) / (1 + exp(-1 / scale))
    weights = [exp(-(k * k) / (2 * scale * scale)) for k in range(int(20 * scale) + 20)]
    total = weights[0] + 2 * sum(weights[1:])
    return 2 * sum(weights[int(width) + 1 :]) / total


QUESTIONS = {
    "count": lambda t: t.count(),
    "by zone": lambda t: t.group_by("zone").count(),
    "known": lambda t: t.count("fare"),
    "sum": lambda t: t.sum("age"),
    "sum of steps": lambda t: t.group_by("zone").sum("fare"),
    "share": lambda t: t.sum("member"),
    "units": lambda t: t.count_distinct("id"),
    "values": lambda t: t.group_by("zone").count_distinct("age"),
}
STEPS = {"sum of steps": Fraction(1, 4)}


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("width", [1, 7, 400, "99.9"])
@pytest.mark.parametrize("confidence", [0.5, 0.95, "0.999"])
@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_noise_is_within_what_was_wished(session, name, width, confidence, delta):
    plan = QUESTIONS[name](session.table()).explain(
        accuracy=sf.within(width, confidence), delta=delta
    )
    [part] = plan.parts
    steps = Fraction(width) / STEPS.get(name, 1)
    assert outside(part.mechanism, steps) <= 1 - float(Fraction(confidence)) + 1e-12
    # and not much smaller than it could be
    larger = type(part.mechanism)(part.mechanism.noise_scale * Fraction(13, 10) + 1)
    assert outside(larger, steps) > 1 - float(Fraction(confidence))
    assert all(each.halfwidth <= Fraction(width) for each in plan.expected)
    assert plan.target.delta == Fraction(delta)


def test_several_wishes_are_all_granted(session):
    wishes = {"n": sf.within(10), "total": sf.within(500, 0.9), "u": sf.within(5)}
    question = session.table().agg(n=sf.count(), total=sf.sum("fare"), u=sf.count_distinct("id"))
    for delta in (0, "1e-6"):
        plan = question.explain(accuracy=wishes, delta=delta)
        steps = {"n": 10, "total": 2000, "u": 5}
        parts = {recipe.wanted.name: recipe.used[0] for recipe in plan.recipes}
        assert len({id(part) for part in parts.values()}) == 3
        for name, wish in wishes.items():
            assert outside(parts[name].mechanism, steps[name]) <= 1 - float(wish.confidence)


def test_shared_part_grants_the_stricter_wish(session):
    question = session.table().agg(a=sf.count(), b=sf.count())
    plan = question.explain(accuracy={"a": sf.within(100, 0.5), "b": sf.within(10, 0.99)})
    [part] = plan.parts
    assert outside(part.mechanism, 10) <= 0.01 + 1e-12


def test_more_accuracy_costs_more(session):
    question = session.table().group_by("zone").sum("fare")
    prices = [question.explain(accuracy=sf.within(w)).target.epsilon for w in (10, 50, 500)]
    assert prices == sorted(prices, reverse=True)
    assert len(set(prices)) == 3


def test_delta_allows_gaussian_noise_where_it_is_cheaper(session):
    cells = (
        session.table().group_by("zone").agg(**{f"x{i}": sf.sum(f"age + {i}") for i in range(40)})
    )
    pure = cells.explain(accuracy=sf.within(2000))
    joint = cells.explain(accuracy=sf.within(2000), delta="1e-6")
    assert {type(part.mechanism) for part in pure.parts} == {DiscreteLaplace}
    assert {type(part.mechanism) for part in joint.parts} == {DiscreteGaussian}
    assert joint.target.epsilon < pure.target.epsilon


def test_found_price_is_what_is_charged(session):
    had = session.remaining.epsilon
    plan = session.table().group_by("zone").count().explain(accuracy=sf.within(33))
    answer = plan.release()
    assert had - session.remaining.epsilon == plan.target.epsilon
    low, high = (answer.to_arrow()[f"n_{end}"].to_pylist() for end in ("low", "high"))
    assert all(b - a <= 66 for a, b in zip(low, high, strict=True))
    again = session.table().group_by("zone").count().release(accuracy=sf.within(33))
    assert again.to_arrow().equals(answer.to_arrow())
    assert had - session.remaining.epsilon == plan.target.epsilon


REFUSED = [
    (lambda t: t.mean("fare"), {"accuracy": sf.within(5)}),
    (lambda t: t.std("fare"), {"accuracy": sf.within(5)}),
    (lambda t: t.median("fare"), {"accuracy": sf.within(5)}),
    (lambda t: t.count(), {"accuracy": 5}),
    (lambda t: t.count(), {"accuracy": {"m": sf.within(5)}}),
    (lambda t: t.count(), {"accuracy": {}}),
    (lambda t: t.count(), {"accuracy": {"n": 5}}),
    (lambda t: t.count(), {"accuracy": sf.within(5), "epsilon": 1}),
    (lambda t: t.count(), {"accuracy": sf.within(5), "rho": 1}),
    (lambda t: t.count(), {"accuracy": sf.within("0.5")}),
    (lambda t: t.count(), {"accuracy": sf.within(5), "delta": 1}),
    (lambda t: t.sum("fare"), {"accuracy": sf.within("0.1")}),
    (lambda t: t.sum(sf.bounds("fare")), {"accuracy": sf.within(5)}),
    (
        lambda t: t.group_by("name", keys=sf.bought()).count(),
        {"accuracy": sf.within(5), "delta": "1e-6"},
    ),
]


@pytest.mark.parametrize(("ask", "cost"), REFUSED, ids=range(len(REFUSED)))
def test_refusal_reads_and_spends_nothing(session, ask, cost):
    before = session.remaining, len(session.ledger.history())
    with pytest.raises(SfumatoError):
        ask(session.table()).release(**cost)
    assert (session.remaining, len(session.ledger.history())) == before


@pytest.mark.parametrize("bad", [0, -1, "x", None, float("nan"), float("inf"), True])
def test_half_width_is_a_positive_number(bad):
    with pytest.raises(SfumatoError):
        sf.within(bad)


@pytest.mark.parametrize("bad", [0, 1, -1, 2, "x", None, float("nan")])
def test_confidence_lies_between_none_and_all(bad):
    with pytest.raises(SfumatoError):
        sf.within(5, bad)


def test_declared_number_needs_no_accuracy():
    data = pa.table({"age": [1, 2, 3]})
    session = sf.Session(
        data,
        unit=sf.Unit.row("replace"),
        schema=sf.Schema(age=sf.Integer(0, 9)),
        budget=sf.Budget(1),
        rows=3,
    )
    with pytest.raises(sf.errors.CostError):
        session.table().count().explain(accuracy=sf.within(5))
    both = session.table().agg(n=sf.count(), total=sf.sum("age"))
    plan = both.explain(accuracy=sf.within(50))
    assert [each.halfwidth == 0 for each in plan.expected] == [True, False]
