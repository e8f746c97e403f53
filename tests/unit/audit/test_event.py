"""Events are found where they are planted, and concern each run by itself."""

import numpy as np
import pytest

from sfumato.audit.batch import TIME, Batch
from sfumato.audit.claim import Claim
from sfumato.audit.event import prospects
from sfumato.audit.feature import Support, features

RNG = np.random.default_rng(5)


def normal(center, shape):
    """Normal numbers on a grid, so that their low bits say nothing."""
    return np.rint(RNG.normal(0, 100, shape) + 100 * np.asarray(center))


def best(a, b, claim=1, support=None, by="epsilon"):
    """The most promising event between two batches."""
    (learn_a, score_a), (learn_b, score_b) = a.halves(), b.halves()
    found = [
        prospect
        for feature in features(learn_a, learn_b, support)
        for prospect in prospects(
            feature, (learn_a, learn_b), (score_a, score_b), Claim.of(claim), 3.7
        )
    ]
    return max(found, key=lambda prospect: getattr(prospect, by)).event


def shares(event, a, b):
    return event.happens(a).mean(), event.happens(b).mean()


def settled(event, a, b):
    """Whether the event happens on one side, and not on the other, but for one run in a hundred."""
    low, high = sorted(shares(event, a, b))
    return low <= 0.01 and high >= 0.99


def test_a_tail_is_found_on_the_side_where_it_is():
    a, b = (Batch.of_array(normal(center, 20_000)) for center in (0, 2))
    event = best(a, b)
    p, q = shares(event, a, b)
    assert (p > q) == (event.likelier == "a")
    assert max(p, q) > 20 * min(p, q)


def test_a_set_in_the_middle_is_found():
    a = Batch.of_array(RNG.integers(0, 10, 20_000))
    b = Batch.of_array(np.where(RNG.random(20_000) < 0.3, 5, RNG.integers(0, 10, 20_000)))
    event = best(a, b)
    assert event.likelier == "b"
    assert event.cut.edges[np.flatnonzero(event.inside)].tolist() == [5]


@pytest.mark.parametrize("planted", ["order", "keys", "type", "length"])
def test_views_of_mappings_and_texts_are_looked_at(planted):
    a = [{"x": RNG.random(), "y": RNG.random()} for _ in range(400)]
    b = {
        "order": [{"y": RNG.random(), "x": RNG.random()} for _ in range(400)],
        "keys": [{"x": RNG.random(), "z": RNG.random()} for _ in range(400)],
        "type": [(RNG.random(), RNG.random()) for _ in range(400)],
        "length": [{"x": RNG.random(), "y": RNG.random(), "z": 0.1} for _ in range(400)],
    }[planted]
    first, second = Batch.of_outputs(a), Batch.of_outputs(b)
    event = best(first, second)
    assert settled(event, first, second)


def test_joint_features_find_what_no_number_shows_alone():
    sign = RNG.choice([-1, 1], 20_000)
    together = normal(np.column_stack([sign, sign]), (20_000, 2))
    apart = normal(np.column_stack([sign, -sign]), (20_000, 2))
    a, b = Batch.of_array(together), Batch.of_array(apart)
    event = best(a, b)
    p, q = shares(event, a, b)
    assert max(p, q) > 5 * min(p, q)
    assert event.feature.name in ("sum", "largest")


def test_a_learned_projection_beats_single_columns():
    a = Batch.of_array(normal(0, (20_000, 8)))
    b = Batch.of_array(normal(np.resize([0.5, -0.5], 8), (20_000, 8)))
    assert best(a, b, by="mu").feature.name in ("learned projection", "learned likelihood")


def test_the_place_of_the_largest_is_looked_at():
    def scores(top):
        rows = RNG.normal(0, 1e-3, (5_000, 4)) + RNG.normal(0, 50, (5_000, 1))
        rows[:, top] += 1
        return Batch.of_array(rows)

    a, b = scores(0), scores(3)
    assert settled(best(a, b), a, b)


def test_textbook_support_is_looked_at_where_it_is_known():
    a, b = (Batch.of_array(RNG.laplace(center, 1, 20_000)) for center in (10.0, 11.0))
    without, with_support = best(a, b), best(a, b, support=Support(10.0, 11.0, 1.0))
    assert "textbook" not in without.feature.name
    assert with_support.feature.name in ("textbook support of value", without.feature.name)
    names = [feature.name for feature in features(a, b, Support(10.0, 11.0, 1.0))]
    assert "textbook support of value" in names


def test_what_an_event_says_of_a_run_depends_on_that_run_alone():
    outputs = [{f"k{RNG.integers(200)}": RNG.random(), "n": RNG.integers(5)} for _ in range(600)]
    others = [{"n": RNG.integers(9)} for _ in range(600)]
    event = best(Batch.of_outputs(outputs), Batch.of_outputs(others))
    whole = event.happens(Batch.of_outputs(outputs))
    one_by_one = [event.happens(Batch.of_outputs([output])).item() for output in outputs]
    assert whole.tolist() == one_by_one


def test_time_is_a_column_like_any_other():
    outputs = [0] * 400
    quick, slow = (Batch.of_outputs(outputs, RNG.random(400) + late) for late in (0, 5))
    event = best(quick, slow)
    assert event.feature.name == TIME
    assert settled(event, quick, slow)


def test_nan_and_infinity_do_not_disturb_the_search():
    rows = RNG.normal(0, 1, (400, 3))
    wild = rows.copy()
    wild[:, 1] = np.resize([np.nan, np.inf, -np.inf, 1e308], 400)
    a, b = Batch.of_array(rows), Batch.of_array(wild)
    assert settled(best(a, b), a, b)


def test_events_are_described():
    a, b = (Batch.of_array(normal(center, 2_000)) for center in (0, 3))
    (learn_a, score_a), (learn_b, score_b) = a.halves(), b.halves()
    value = next(f for f in features(learn_a, learn_b) if f.name == "value")
    said = {
        prospect.event.said.rpartition(" ")[0]
        for prospect in prospects(value, (learn_a, learn_b), (score_a, score_b), Claim.of(1), 3.7)
    }
    assert {"value at most", "value above"} <= said
