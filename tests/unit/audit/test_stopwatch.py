from itertools import count, cycle

import pytest

from sfumato.audit import stopwatch
from sfumato.core.errors import InputError, RangeError
from sfumato.testing.rng import SeededRng


def runs(values, cost):
    """Return a program that yields values in turn, and a clock that it moves by their cost."""
    left, used = cycle(values), [0.0]

    def run():
        value = next(left)
        used[0] += cost(value)
        return value

    return run, lambda: used[0]


def test_time_that_grows_with_the_result_is_seen():
    run, clock = runs([1, -5, 2, 8, -3, 7], cost=abs)
    found = stopwatch(run, trials=200, clock=clock)
    assert found.flagged and found.epsilon_lower > 2
    assert found.pair[0] == "results up to 3"


def test_time_that_does_not_depend_on_the_result_is_not():
    run, clock = runs([1, -5, 2, 8, -3, 7], cost=lambda _: 3)
    found = stopwatch(run, trials=200, clock=clock)
    assert not found.flagged and found.epsilon_lower == 0


def test_two_results_are_told_apart_whichever_is_the_median():
    for values in ([0, 1, 1], [0, 0, 1]):
        run, clock = runs(values, cost=lambda value: value)
        assert stopwatch(run, trials=100, clock=clock).flagged


def test_a_result_of_one_size_is_refused():
    for value in (0, 7):
        with pytest.raises(InputError, match="same size"):
            stopwatch(lambda value=value: value, trials=100)
    steps = count()
    with pytest.raises(InputError, match="same size"):  # large ones come in the pilot only
        stopwatch(lambda: int(next(steps) < 20), trials=100)


def test_few_trials_are_refused():
    run, clock = runs([0, 1], cost=abs)
    with pytest.raises(RangeError, match="too few"):
        stopwatch(run, trials=10, clock=clock)


def test_machine_that_grows_slower_is_not_flagged():
    """Time that grows with the number of runs says nothing about what a run returns."""
    words, state = SeededRng(5), {"runs": 0, "now": 0.0}

    def f():
        state["runs"] += 1
        state["now"] += state["runs"] ** 2
        return int(words.words(1)[0] % 4)  # one in four is small

    assert not stopwatch(f, trials=1000, clock=lambda: state["now"]).flagged
