"""Side channels: the number is private, and something beside it is not."""

from collections import Counter
from fractions import Fraction

import sfumato as sf
from broken.bug import BLACK_BOX, REPLAY, Bug
from broken.composition import Desk
from sfumato.testing import FakeQuery

Laplacian, ONE = sf.mechanisms.DiscreteLaplace, sf.Sensitivity(l1=1)
COUNT, ZONES = FakeQuery("n", len, ONE), ("a", "b", "c")


def error_quotes_a_row(rows):
    try:
        return Laplacian(1)(sum(0 <= int(row) < 120 for row in rows))
    except ValueError as problem:
        raise ValueError(f"cannot read the table: {problem}") from None


def error_if_a_row_is_there(rows):
    shares = [1 / (row - 13) for row in rows]
    return Laplacian(1)(sum(share > 0 for share in shares))


def total_shares(rows):
    shares = [1 / (row - 13) if row != 13 else 0.0 for row in rows]
    return Laplacian(1)(sum(share > 0 for share in shares))


def nothing_for_nobody(rows):
    if not rows:
        return 0
    return Laplacian(1)(len(rows))


def order_of_arrival(rows):
    counts = Counter(row for row in rows if row in ZONES)
    noisy = dict(zip(ZONES, Laplacian(1)([counts[zone] for zone in ZONES]).tolist(), strict=True))
    return {zone: noisy[zone] for zone in dict.fromkeys([*rows, *ZONES])}


def order_of_the_schema(rows):
    counts = Counter(row for row in rows if row in ZONES)
    noisy = Laplacian(1)([counts[zone] for zone in ZONES]).tolist()
    return dict(zip(ZONES, noisy, strict=True))


def one_draw_for_each_row(rows):
    return sum(Laplacian(1)(int(row)) for row in rows)


def having_on_exact_counts(rows):
    counts = Counter(rows)
    noisy = Laplacian(1)([counts[zone] for zone in ZONES]).tolist()
    return {zone: n for zone, n in zip(ZONES, noisy, strict=True) if counts[zone] >= 3}


def having_on_noisy_counts(rows):
    return {zone: n for zone, n in order_of_the_schema(rows).items() if n >= 3}


def note_on_clamping(rows):
    clamped = sum(row > 10 for row in rows)
    answer = Laplacian(10)(sum(min(row, 10) for row in rows))
    return {"sum": answer, "note": f"{clamped} values above 10 count as 10"}


def note_that_is_static(rows):
    answer = Laplacian(10)(sum(min(row, 10) for row in rows))
    return {"sum": answer, "note": "values above 10 count as 10"}


def rows_scanned(rows):
    return {"mean age": Laplacian(1)(int(sum(rows) > 50)), "rows scanned": len(rows)}


def truth_in_the_debug_field(rows):
    exact = len(rows)
    noisy = Laplacian(1)(exact)
    return {"n": noisy, "debug": f"noise {noisy - exact:+d}"}


class PaysByTheRow(Desk):
    def price(self, query, mechanism):
        return Fraction(len(self.rows), 100) * super().price(query, mechanism)


def reads_the_price(desk):
    return desk.measure(COUNT, Laplacian(1)), desk.remaining.epsilon


def slow_on_one_row(rows):
    for row in rows:
        if row == 13:
            sum(range(100_000))
    return Laplacian(1)(len(rows))


def program(name, story, wrong, a, b, **more):
    more = {"claim": 1, "sensitivity": ONE, "caught": (REPLAY, BLACK_BOX), "trials": 1_000} | more
    return Bug(name=name, story=story, program=wrong, pair=(a, b), **more)


BUGS = [
    program(
        "error that quotes a row",
        "Passes on the message of a failed cast, with the value in it.",
        error_quotes_a_row,
        ["31", "4o"],
        ["31", "5o"],
    ),
    program(
        "error if a row is there",
        "Divides by zero for one value, so that an error means that somebody has it.",
        error_if_a_row_is_there,
        [12, 13],
        [12],
    ),
    program(
        "nothing for nobody",
        "Returns 0 at once when there is no row, and noise when there is one.",
        nothing_for_nobody,
        [],
        [1],
    ),
    program(
        "keys in order of arrival",
        "Lists public groups in the order in which the rows came.",
        order_of_arrival,
        ["b", "a", "c"],
        ["a", "c"],
    ),
    program(
        "one draw for each row",
        "Adds noise to each row of a sum, so that the number of draws is the number of rows.",
        one_draw_for_each_row,
        [],
        [0],
    ),
    program(
        "having on exact counts",
        "Shows the groups whose exact count is at least three.",
        having_on_exact_counts,
        ["a"] * 3,
        ["a"] * 2,
    ),
    program(
        "note on clamping",
        "Says beside the answer how many values were clamped.",
        note_on_clamping,
        [3, 500],
        [3],
        sensitivity=sf.Sensitivity(l1=10),
    ),
    program(
        "rows scanned",
        "Returns the number of rows among the statistics of the run.",
        rows_scanned,
        [40, 50],
        [40, 50, 60],
    ),
    program(
        "truth in the debug field",
        "Tells the noise beside the noisy answer.",
        truth_in_the_debug_field,
        [1, 2],
        [1, 2, 3],
    ),
    program(
        "price by the row",
        "Charges by the number of rows that were read.",
        reads_the_price,
        [1] * 5,
        [1] * 6,
        curator=PaysByTheRow,
    ),
    program(
        "slow on one row",
        "Works longer if a certain row is there.",
        slow_on_one_row,
        [1, 13],
        [1, 2],
        timing=True,
        trials=300,
        caught=(BLACK_BOX,),
    ),
]

TWINS = [
    program(
        "division that is total",
        "Every row has a share, by definition.",
        total_shares,
        [12, 13],
        [12],
        caught=(),
    ),
    program(
        "keys in order of the schema",
        "The order is public.",
        order_of_the_schema,
        ["b", "a", "c"],
        ["a", "c"],
        caught=(),
    ),
    program(
        "having on noisy counts",
        "What is shown is chosen by what is released.",
        having_on_noisy_counts,
        ["a"] * 3,
        ["a"] * 2,
        caught=(),
    ),
    program(
        "note that is static",
        "Says what is done, not how often.",
        note_that_is_static,
        [3, 500],
        [3],
        sensitivity=sf.Sensitivity(l1=10),
        caught=(),
    ),
]
