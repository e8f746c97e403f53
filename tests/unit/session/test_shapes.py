"""Selections are asked of answers of a shape that they take, or refused before anything is read."""

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.errors import InputError
from sfumato.relation import Linear
from sfumato.relation.matrix import Buckets, Explicit, Toeplitz, Waves


@pytest.fixture
def session():
    table = pa.table({"age": [1, 2, 3] * 10, "sex": ["f", "m", "f"] * 10})
    schema = sf.Schema(age=sf.Integer(0, 7), sex=sf.Category(["f", "m"]))
    with sf.Session(table, unit=sf.Unit.row(), schema=schema, budget=sf.Budget(100)) as made:
        yield made


def refused(session, query, mechanism):
    head = session.ledger.head
    with pytest.raises(InputError) as caught:
        session.table().measure(query, mechanism)
    assert session.ledger.head == head
    return str(caught.value)


def test_partition_is_of_a_line(session):
    cut = sf.mechanisms.BucketPartition(rate=1)
    [total] = session.table().count().queries
    assert "listed beforehand" in refused(session, total, cut)
    [ages] = session.table().group_by("age").count().queries
    edges = session.table().measure(ages, cut).measure("value").values
    assert (edges[0], edges[-1]) == (0, 8)


def test_cut_of_a_spectrum_has_a_coefficient_for_each_price(session):
    [ages] = session.table().group_by("age").count().queries
    waves = Linear(ages, Waves(8, 4, 1024))
    many = sf.mechanisms.SpectralCut(prices=[1] * 5, rate="0.01")
    assert "5 prices for 4 coefficients" in refused(session, waves, many)
    few = sf.mechanisms.SpectralCut(prices=[1] * 4, rate="0.0001")
    assert 1 <= session.table().measure(waves, few).measure("value").values[0] <= 4


def test_noise_beyond_64_bits_leaves_a_partition(session):
    [ages] = session.table().group_by("age").count().queries
    cut = sf.mechanisms.BucketPartition(rate="1e-17")
    edges = session.table().measure(ages, cut).measure("value").values
    assert list(edges) == sorted(set(edges))


def left_by(lab, query, mechanism):
    """Return what a refusal of the laboratory says; it costs nothing."""
    before = lab.remaining
    with pytest.raises(InputError) as caught:
        lab.measure(query, mechanism)
    assert lab.remaining == before
    return str(caught.value)


def test_laboratory_refuses_other_shapes_before_it_is_paid():
    cut = sf.mechanisms.BucketPartition(rate=1)
    square = sf.lab([[1, 2], [3, 4]])
    assert "of a line" in left_by(square, square.histogram(), cut)
    line = sf.lab([1, 2, 3, 4])
    edges = line.measure(line.histogram(), cut).measure("value").values
    assert (edges[0], edges[-1]) == (0, 4)
    waves = line.histogram().weighted(Waves(4, 2, 4))
    many = sf.mechanisms.SpectralCut([0, 1, 2], rate=1)
    assert "3 prices for 2 coefficients" in left_by(line, waves, many)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Buckets((0, 4.0, 8)),
        lambda: Toeplitz((1.9, 0, 0, 0, 0, 0, 0, 0.0)),
        lambda: Explicit.of(np.full((2, 8), 2**62)),
        lambda: Explicit.of(np.full((2, 8), 0.5)),
    ],
)
def test_a_bad_matrix_leaves_the_data_open(session, make):
    [ages] = session.table().group_by("age").count().queries
    head = session.ledger.head
    with pytest.raises(InputError):
        session.table().measure(Linear(ages, make()), sf.mechanisms.DiscreteLaplace(1))
    assert session.ledger.head == head
    assert len(session.table().count().release(epsilon=1)) == 1


def test_a_release_says_up_to_where_its_sums_are_exact(session):
    [ages] = session.table().group_by("age").count().queries
    large = Linear(ages, Explicit.of(np.full((1, 8), 2**36)))
    answer = session.table().measure(large, sf.mechanisms.DiscreteLaplace(2**40))
    assert any("up to 67,108,864 rows" in note for note in answer.notes)
    small = Linear(ages, Explicit.of(np.full((1, 8), 2**20)))
    answer = session.table().measure(small, sf.mechanisms.DiscreteLaplace(2**40))
    assert not any("2^62" in note for note in answer.notes)
