"""Randomness: noise that repeats, that somebody else knows, or that is off by one."""

import hashlib
from fractions import Fraction
from math import exp, log

import numpy as np

import sfumato as sf
from broken.bug import BLACK_BOX, CONTRACT, REPLAY, Bug, Own
from broken.law import cells, laplace
from broken.noise import noise, pure
from sfumato.core.loss import Pure
from sfumato.noise import Laplace
from sfumato.noise.bernoulli import flip
from sfumato.noise.uniform import integer
from sfumato.testing import Contract, RecordedRng, SeededRng

Laplacian, S = sf.mechanisms.DiscreteLaplace, sf.Sensitivity
ONE, ANSWER = S(l0=1, l1=1), S(l1=1, neighbors="replace")
UNIT = Laplace(Fraction(1))
WEATHER = ("sun", "rain", "snow", "hail")
UP = Fraction(1, 10**9)  # logarithms are rounded up


def one_draw_for_all_cells(rows):
    drawn = Laplacian(1)(0)
    return [rows.count(zone) + drawn for zone in "ab"]


def a_draw_for_each_cell(rows):
    return Laplacian(1)([rows.count(zone) for zone in "ab"]).tolist()


def noise_kept_by_scale(rows):
    kept = {}

    def noisy(value, scale=1):
        if scale not in kept:
            kept[scale] = Laplacian(scale)(0)
        return value + kept[scale]

    return noisy(len(rows)), noisy(rows.count("a"))


def fixed_seed(exact, rng):
    return exact + noise(UNIT, exact, SeededRng(0))


def seed_from_the_data(exact, rng):
    digest = hashlib.sha256(exact.tobytes()).digest()  # same question, same answer
    return exact + noise(UNIT, exact, SeededRng(int.from_bytes(digest[:8], "big")))


def another_generator(exact, rng):
    other = np.random.default_rng()
    sizes = other.geometric(1 - exp(-1), (2, *exact.shape))
    return exact + sizes[0] - sizes[1]


def generator_copied(exact, rng):
    state = int(rng.words(1)[0])  # two workers start from the state of their parent
    first, second = (noise(UNIT, cell, SeededRng(state)) for cell in exact)
    return exact + np.array([first, second])


def noise_for_each(exact, rng):
    return exact + noise(UNIT, exact, rng)


def coin_off_by_one(exact, rng):
    byte = int(rng.words(1)[0]) % 256
    truthful = byte <= 192  # three out of four
    return bool(exact) == truthful


def coin(exact, rng):
    byte = int(rng.words(1)[0]) % 256
    truthful = byte < 192
    return bool(exact) == truthful


def law_of_every_byte(sampler):
    """The law of a coin that reads one byte, from all its values."""

    def law(exact):
        reports = [sampler(exact, RecordedRng([byte])) for byte in range(256)]
        return {answer: reports.count(answer) / 256 for answer in (False, True)}

    return law


def lies_that_are_true(exact, rng):
    if flip(rng, Fraction(1, 2)):
        return str(exact)
    return WEATHER[integer(rng, len(WEATHER))]


def lies_that_are_lies(exact, rng):
    if flip(rng, Fraction(1, 2)):
        return str(exact)
    others = [option for option in WEATHER if option != str(exact)]
    return others[integer(rng, len(others))]


def weather_law(exact):
    """Half of the reports are true, the rest are spread over the other three."""
    return {option: 1 / 2 if option == str(exact) else 1 / 6 for option in WEATHER}


def log_three(s):
    return Pure((Fraction(log(3)) + UP) * s.l1, neighbors=s.neighbors)


def mechanism(name, story, drawn, law, **more):
    more = {"caught": (CONTRACT, BLACK_BOX), "trials": 1_000} | more
    contract = Contract(
        Own(drawn, more.pop("claimed", pure(1))),
        more.pop("sensitivity", ONE),
        [more.pop("inputs", (3, 4))],
        law,
        name=name,
    )
    return Bug(name=name, story=story, contract=contract, **more)


def survey(name, story, drawn, law, inputs, **more):
    more = {"sensitivity": ANSWER, "claimed": log_three, "inputs": inputs} | more
    return mechanism(name, story, drawn, law, **more)


def program(name, story, wrong, a, b, **more):
    more = {"claim": 1, "sensitivity": S(l1=1), "caught": (REPLAY, BLACK_BOX)} | more
    return Bug(name=name, story=story, program=wrong, pair=(a, b), **more)


def count_law(exact):
    return laplace(1.0, int(exact))


def pair_law(exact):
    return cells(lambda center: laplace(1.0, center), exact)


BUGS = [
    program(
        "one draw for all cells",
        "Draws once and adds it to every cell, so that differences are exact.",
        one_draw_for_all_cells,
        list("aab"),
        list("aa"),
    ),
    program(
        "noise kept by scale",
        "Keeps the draw of each scale to save time, and uses it for two questions.",
        noise_kept_by_scale,
        list("aab"),
        list("aa"),
        claim=2,
    ),
    mechanism(
        "fixed seed",
        "Starts the generator from 0 in every call, for tests, and is shipped.",
        fixed_seed,
        count_law,
    ),
    mechanism(
        "seed from the data",
        "Derives the seed from the input to give the same answer twice; whoever guesses the input "
        "can check the guess.",
        seed_from_the_data,
        count_law,
    ),
    mechanism(
        "another generator",
        "Draws the right law from a generator that is made for simulations.",
        another_generator,
        count_law,
        caught=(CONTRACT,),  # the law is right; who recovers the state is not modeled
        cellwise=True,
    ),
    mechanism(
        "generator copied",
        "Gives two workers the same generator state, as a fork does.",
        generator_copied,
        pair_law,
        inputs=([3, 1], [4, 1]),
    ),
    survey(
        "coin off by one",
        "Compares a random byte with at most where below is meant: 193 of 256 in place of 192.",
        coin_off_by_one,
        law_of_every_byte(coin_off_by_one),
        (True, False),
        caught=(CONTRACT,),  # 2 % of ε: millions of trials
    ),
    survey(
        "lies that may be true",
        "Draws the lie among all options, the truth included.",
        lies_that_are_true,
        weather_law,
        ("sun", "rain"),
        trials=5_000,
    ),
]

TWINS = [
    program(
        "a draw for each cell",
        "Independent noise.",
        a_draw_for_each_cell,
        list("aab"),
        list("aa"),
        caught=(),
    ),
    mechanism(
        "noise for each worker",
        "Independent noise from the generator that was passed in.",
        noise_for_each,
        pair_law,
        inputs=([3, 1], [4, 1]),
        caught=(),
        trials=20_000,
        cellwise=True,
    ),
    survey(
        "coin",
        "Three out of four.",
        coin,
        law_of_every_byte(coin),
        (True, False),
        caught=(),
        trials=5_000,
    ),
    survey(
        "lies that are lies",
        "Draws the lie among the other options.",
        lies_that_are_lies,
        weather_law,
        ("sun", "rain"),
        caught=(),
        trials=5_000,
    ),
]
