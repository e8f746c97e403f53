"""The curator for tests keeps the contract of every curator: charge first, then read."""

import inspect

import pytest

import sfumato as sf
from sfumato.core.errors import BudgetExceeded, InputError, SensitivityError
from sfumato.mechanisms import DiscreteGaussian, DiscreteLaplace
from sfumato.relation.query import Query, Shape
from sfumato.release.release import Release
from sfumato.session.curator import Curator
from sfumato.testing import FakeCurator, FakeQuery, SeededRng

ROWS = [{"zone": "a", "age": 30}, {"zone": "b", "age": 41}, {"zone": "b", "age": 52}]
ONE = sf.Sensitivity(l1=1)
COUNT = FakeQuery("n", len, ONE)
SURE = DiscreteLaplace("1/100")  # ε = 100: the noise is 0 but for one draw in 10^43
NARROW = sf.Budget(epsilon=1)


def spent(curator):
    return curator.budget.epsilon - curator.remaining.epsilon


class Unread(FakeQuery):
    """A question that must not be answered."""

    def __init__(self):
        super().__init__("n", self._fail, ONE)

    def _fail(self, rows):
        pytest.fail("the rows were read")


def members(protocol):
    return {name: value for name, value in vars(protocol).items() if not name.startswith("_")}


def test_fake_curator_has_every_member_of_the_protocol():
    assert set(members(Curator)) == {"schema", "unit", "remaining", "measure", "scope"} | {
        "partition",
        "open",
    }
    curator = FakeCurator(ROWS)
    for name, member in members(Curator).items():
        mine = getattr(curator, name)
        if inspect.isfunction(member):
            wanted = list(inspect.signature(member).parameters)[1:]
            assert list(inspect.signature(mine).parameters) == wanted, name


def test_fake_query_has_every_member_of_the_protocol():
    for name in members(Query):
        assert hasattr(COUNT, name)
    assert COUNT.shape == Shape("cells", (), 1)
    assert COUNT.sensitivity(sf.Unit.row()) is ONE


def test_fake_query_has_no_sql():
    with pytest.raises(InputError, match="no SQL"):
        COUNT.lower("duckdb")


def test_measure_answers_with_a_release_and_charges_its_loss():
    curator = FakeCurator(ROWS)
    answer = curator.measure(COUNT, SURE)
    assert isinstance(answer, Release)
    assert answer.columns == ("n", "n_low", "n_high")
    assert int(answer.to_arrow()["n"][0].as_py()) == 3
    assert answer.cost == SURE.loss(ONE)
    assert spent(curator) == 100


def test_measure_refuses_what_does_not_fit_and_reads_nothing():
    curator = FakeCurator(ROWS, budget=NARROW)
    curator.measure(COUNT, DiscreteLaplace(2))
    before = curator.remaining
    with pytest.raises(BudgetExceeded):
        curator.measure(Unread(), DiscreteLaplace(1))
    assert curator.remaining == before
    curator.measure(COUNT, DiscreteLaplace(2))
    assert curator.remaining.epsilon == 0


def test_measure_charges_before_it_reads():
    def failing(rows):
        raise ZeroDivisionError

    curator = FakeCurator(ROWS)
    with pytest.raises(ZeroDivisionError):
        curator.measure(FakeQuery("n", failing, ONE), DiscreteLaplace(1))
    assert spent(curator) == 1


def test_batch_is_one_charge_and_answers_in_order():
    curator = FakeCurator(ROWS)
    ages = FakeQuery("ages", lambda rows: sum(row["age"] for row in rows), ONE)
    first, second = curator.measure([(COUNT, SURE), (ages, SURE)])
    assert (first.columns[0], second.columns[0]) == ("n", "ages")
    assert int(second.to_arrow()["ages"][0].as_py()) == 123
    assert spent(curator) == 200


def test_batch_that_does_not_fit_is_refused_whole():
    curator = FakeCurator(ROWS, budget=NARROW)
    before = curator.remaining
    with pytest.raises(BudgetExceeded):
        curator.measure([(Unread(), DiscreteLaplace(1)), (Unread(), DiscreteLaplace(1))])
    assert curator.remaining == before


def test_scope_limits_what_is_spent_inside_and_counts_outside():
    curator = FakeCurator(ROWS, budget=sf.Budget(epsilon=3))
    with curator.scope(NARROW) as inner:
        inner.measure(COUNT, DiscreteLaplace(1))
        with pytest.raises(BudgetExceeded):
            inner.measure(Unread(), DiscreteLaplace(1))
        assert inner.remaining.epsilon == 0
    assert curator.remaining.epsilon == 2


def test_scope_that_is_wider_than_the_budget_is_refused_on_entry():
    curator = FakeCurator(ROWS, budget=NARROW)
    with pytest.raises(BudgetExceeded), curator.scope(sf.Budget(epsilon=5)):
        pytest.fail("it went in")
    assert curator.remaining.epsilon == 1


def test_scope_is_limited_by_what_was_spent_outside_meanwhile():
    curator = FakeCurator(ROWS, budget=NARROW)
    with curator.scope(NARROW) as inner:
        curator.measure(COUNT, DiscreteLaplace(1))
        with pytest.raises(BudgetExceeded):
            inner.measure(Unread(), DiscreteLaplace(1))
        assert inner.remaining.epsilon == 1
    assert curator.remaining.epsilon == 0


def test_scopes_within_scopes_count_in_all():
    curator = FakeCurator(ROWS, budget=sf.Budget(epsilon=3))
    with curator.scope(sf.Budget(epsilon=2)) as outer:
        with outer.scope(NARROW) as inner:
            inner.measure(COUNT, DiscreteLaplace(1))
        assert outer.remaining.epsilon == 1
    assert curator.remaining.epsilon == 2


def test_partition_splits_the_rows_and_shares_the_purse():
    curator = FakeCurator(ROWS)
    parts = curator.partition("zone", ["a", "b", "c"])
    counts = [int(p.measure(COUNT, SURE).to_arrow()["n"][0].as_py()) for p in parts.values()]
    assert list(parts) == ["a", "b", "c"]
    assert counts == [1, 2, 0]
    assert spent(curator) == 300
    assert all(part.remaining == curator.remaining for part in parts.values())


def test_parts_of_a_scope_are_within_the_scope():
    curator = FakeCurator(ROWS, budget=sf.Budget(epsilon=3))
    with curator.scope(NARROW) as inner:
        part = inner.partition("zone", ["b"])["b"]
        with pytest.raises(BudgetExceeded):
            part.measure(Unread(), DiscreteLaplace("1/2"))
        part.measure(COUNT, DiscreteLaplace(1))
    assert curator.remaining.epsilon == 2


class Ticker:
    """A continual mechanism that counts its own answers."""

    def loss(self, sensitivity):
        return DiscreteLaplace(1).loss(sensitivity)

    def start(self, rng):
        return Ticks()


class Ticks:
    def __init__(self):
        self.seen = []

    def push(self, value):
        self.seen.append(value)
        return len(self.seen), value


def test_open_charges_once_and_answers_questions():
    curator = FakeCurator(ROWS, budget=NARROW)
    stream = curator.open(COUNT, Ticker())
    assert stream.push(COUNT) == (1, 3)
    old = FakeQuery("old", lambda rows: sum(row["age"] > 40 for row in rows), ONE)
    assert stream.push(old) == (2, 2)
    with pytest.raises(SensitivityError, match="charged for 1"):
        stream.push(FakeQuery("twice", len, sf.Sensitivity(l1=2)))
    assert spent(curator) == 1
    with pytest.raises(BudgetExceeded):
        curator.open(COUNT, Ticker())
    assert spent(curator) == 1


def test_gaussian_noise_is_charged_in_rho():
    curator = FakeCurator(ROWS, budget=sf.Budget(rho=1))
    curator.measure(FakeQuery("n", len, sf.Sensitivity(l0=1, linf=1)), DiscreteGaussian(1))
    assert curator.remaining.rho == sf.Budget(rho="1/2").rho


def test_noise_repeats_with_a_seeded_generator_and_not_without():
    def draws(rng):
        curator = FakeCurator(ROWS, rng=rng)
        return [curator.measure(COUNT, DiscreteLaplace(1000)).to_json() for _ in range(3)]

    assert draws(SeededRng(1)) == draws(SeededRng(1))
    assert draws(SeededRng(1)) != draws(SeededRng(2))
    assert draws(None) != draws(None)


def test_public_facts_are_those_passed_in():
    unit, schema = sf.Unit.by("id", max_rows=3), sf.Schema(age=sf.Integer(0, 120))
    curator = FakeCurator(ROWS, unit=unit, schema=schema, budget=NARROW)
    [part] = curator.partition("zone", ["a"]).values()
    for handle in (curator, part):
        assert (handle.unit, handle.schema, handle.budget) == (unit, schema, NARROW)
    assert FakeCurator(ROWS).unit == sf.Unit.row()
    assert FakeCurator(ROWS).remaining.epsilon == 1000
