"""One fixture or more for every function: expressions, rows and what comes out, written by hand.

A row lists the columns in the order in which the expression first names them, as values; None is
NULL. What comes out is a number, a truth value, a text or a date.
"""

from datetime import date
from fractions import Fraction

from sfumato.relation.kind import Day, Instant, Label, Number, Truth, Words, day_number

EDGE = 2**62
SCOPE = {
    "x": Number(-10, 10),
    "y": Number(-4, 4),
    "money": Number(-2_000, 20_000, Fraction(1, 100)),
    "huge": Number(-EDGE, EDGE),
    "flag": Truth(),
    "other": Truth(),
    "zone": Label(("A", "B", "C")),
    "grade": Label((1, 2, 30)),
    "note": Words(),
    "my column": Number(0, 5),
    "born": Day(day_number("1900-01-01"), day_number("2030-12-31")),
    "seen": Day(day_number("2020-01-01"), day_number("2021-12-31")),
    "at": Instant("2020-02-28T22:30:00", 10**6, Fraction(60)),
    "until": Instant("2020-02-28T22:30:30", 10**6, Fraction(1, 2)),
}
T, F, N = True, False, None
CENT = Fraction(1, 100)
HALF = Fraction(1, 2)
LEAP, EVE = date(2020, 2, 29), date(1969, 12, 31)

FIXTURES = {
    "+": [
        ("x + y", [(3, -4, -1), (10, 4, 14), (-10, -4, -14), (N, 1, N), (1, N, N)]),
        ("money + 0.005", [(CENT, Fraction("0.015")), (-20, Fraction("-19.995")), (N, N)]),
    ],
    "-": [
        ("x - y", [(-10, 4, -14), (0, 0, 0), (N, 0, N)]),
        ("-x", [(-10, 10), (0, 0), (7, -7), (N, N)]),
        ("huge - 0", [(EDGE, EDGE), (-EDGE, -EDGE)]),
    ],
    "*": [
        ("x * y", [(-10, -4, 40), (10, -4, -40), (0, 4, 0), (N, 0, N)]),
        ("money * 1.1", [(200, 220), (CENT, Fraction("0.011")), (-20, -22)]),
    ],
    "/": [
        ("x / 4", [(10, Fraction(5, 2)), (-1, Fraction(-1, 4)), (0, 0), (N, N)]),
        ("x / -3", [(10, Fraction(-10, 3)), (-9, 3)]),
        ("huge / 7", [(EDGE, Fraction(EDGE, 7))]),
    ],
    "divide": [
        ("divide(x, y, 1)", [(7, 2, 4), (-7, 2, -4), (7, -2, -4), (5, 4, 1), (6, 0, N), (0, 3, 0)]),
        ("divide(x, y, 0.1)", [(1, 3, Fraction("0.3")), (2, -3, Fraction("-0.7")), (N, 1, N)]),
        ("divide(money, y, 5)", [(Fraction("7.49"), 1, 5), (Fraction("7.5"), 1, 10), (1, N, N)]),
        ("divide(money, 0.01, 1)", [(200, 20_000), (-20, -2_000)]),
    ],
    "//": [
        ("x // 3", [(7, 2), (-7, -3), (-9, -3), (0, 0), (-10, -4), (10, 3), (N, N)]),
        ("money // 0.5", [(Fraction("1.49"), 2), (Fraction("-0.01"), -1), (200, 400)]),
        ("x // 0.5", [(3, 6), (-1, -2)]),
        ("7 // 2 + x", [(0, 3)]),
    ],
    "%": [
        ("x % 3", [(7, 1), (-7, 2), (-9, 0), (0, 0), (N, N)]),
        (
            "money % 1",
            [(Fraction("1.49"), Fraction("0.49")), (Fraction("-0.01"), Fraction("0.99"))],
        ),
        ("x % 100", [(-1, 99), (10, 10)]),
        ("mod(-7, 4) + x", [(0, 1)]),
    ],
    "abs": [
        ("abs(x)", [(-10, 10), (0, 0), (10, 10), (N, N)]),
        ("abs(huge)", [(-EDGE, EDGE)]),
    ],
    "floor": [
        ("floor(money)", [(Fraction("1.99"), 1), (Fraction("-0.01"), -1), (-20, -20), (N, N)]),
        ("floor(x, 4)", [(-10, -12), (-4, -4), (10, 8), (0, 0)]),
        ("floor(x / 3, 0.5)", [(-1, -HALF), (5, Fraction(3, 2))]),
    ],
    "ceil": [
        ("ceil(money)", [(Fraction("1.01"), 2), (Fraction("-0.99"), 0), (200, 200), (N, N)]),
        ("ceiling(x, 4)", [(-10, -8), (-4, -4), (10, 12), (1, 4)]),
    ],
    "round": [
        ("round(money)", [(Fraction("0.5"), 1), (Fraction("-0.5"), -1), (Fraction("-0.49"), 0)]),
        (
            "round(money, 1)",
            [(25 * CENT, 30 * CENT), (-25 * CENT, -30 * CENT)],
        ),
        ("round(x, -1)", [(5, 10), (4, 0), (-5, -10), (-4, 0), (N, N)]),
        ("round(x, 3)", [(5, 5)]),
        ("round(abs(x) / 4)", [(2, 1), (-6, 2), (1, 0)]),
    ],
    "least": [
        ("least(x, y)", [(3, -4, -4), (-10, 4, -10), (N, 1, N), (1, N, N)]),
        ("least(x, y, 0.5)", [(1, 1, HALF), (1, N, N)]),
    ],
    "greatest": [
        ("greatest(x, y)", [(3, -4, 3), (-10, 4, 4), (N, 1, N), (1, N, N)]),
        ("greatest(x, 2, 3)", [(1, 3), (9, 9), (N, N)]),
    ],
    "clamp": [
        ("clamp(x, -2, 3)", [(-10, -2), (10, 3), (1, 1), (N, N)]),
        ("clamp(x, 0.5, 0.5)", [(10, HALF), (N, N)]),
        ("clamp(x, 20, 30)", [(10, 20)]),
        ("clamp(huge, 0, 5) * 2", [(EDGE, 10), (-EDGE, 0)]),
    ],
    "magnitude": [
        ("magnitude(x)", [(0, 0), (7, 7), (8, 8), (9, 8), (10, 9), (-10, -9), (-7, -7), (N, N)]),
        ("magnitude(money, 0.01)", [(CENT, 1), (10, 35), (-10, -35), (200, 52), (N, N)]),
        ("magnitude(money)", [(Fraction("0.99"), 0), (Fraction("-15.99"), -11), (16, 12)]),
        ("magnitude(money, 2.5)", [(Fraction("2.49"), 0), (-5, -2), (200, 21)]),
        ("magnitude(huge)", [(EDGE, 244), (EDGE - 1, 243), (-EDGE, -244), (2**54 - 1, 211)]),
        ("magnitude(x, 0.25)", [(2, 8), (-3, -10)]),
        ("magnitude(1000) + x", [(0, 35)]),
    ],
    "integer": [
        ("integer(x > 0)", [(1, 1), (0, 0), (N, N)]),
        ("CAST(money AS INTEGER)", [(HALF, 1), (-HALF, -1), (Fraction("1.49"), 1)]),
        ("integer(TRUE) + x", [(1, 2)]),
    ],
    "=": [
        ("x = y", [(1, 1, T), (1, 2, F), (N, 1, N)]),
        ("money = 0.5", [(HALF, T), (1, F)]),
        ("zone = 'B'", [("B", T), ("A", F), (N, N)]),
        ("grade = 30", [(30, T), (1, F)]),
        ("note = 'it''s'", [("it's", T), ("", F), (N, N)]),
        ("flag = TRUE", [(T, T), (F, F), (N, N)]),
        ("'2020-02-29' = born", [(LEAP, T), (EVE, F)]),
        ("at = until", [("2020-02-28T22:31:00", "2020-02-28T22:31:00", T)]),
    ],
    "<>": [
        ("x != y", [(1, 1, F), (1, 2, T), (N, 1, N)]),
        ("zone <> 'A'", [("A", F), ("C", T), (N, N)]),
    ],
    "<": [
        ("x < y", [(1, 2, T), (2, 2, F), (N, 1, N)]),
        ("born < '1066-10-14'", [(date(1900, 1, 1), F), (N, N)]),
        ("born < seen", [(EVE, LEAP, T), (LEAP, LEAP, F)]),
        ("at < until", [("2020-02-28T22:30:00", "2020-02-28T22:30:30", T)]),
        (
            "at < '2020-02-28T22:30:00.25'",
            [("2020-02-28T22:30:00", T), ("2020-02-28T22:31:00", F)],
        ),
        ("huge < 3", [(EDGE, F), (-EDGE, T)]),
    ],
    "<=": [
        ("x <= 2.5", [(2, T), (3, F), (N, N)]),
        ("at <= TIMESTAMP '2020-02-28 22:30:00.25'", [("2020-02-28T22:30:00", T)]),
    ],
    ">": [
        ("x > y", [(2, 1, T), (1, 1, F), (N, 1, N)]),
        ("at > '2031-01-01'", [("2020-03-01T00:00:00", F), (N, N)]),
    ],
    ">=": [
        ("born >= DATE '1969-12-31'", [(EVE, T), (date(1969, 12, 30), F), (N, N)]),
        ("x BETWEEN 1 AND 3", [(1, T), (3, T), (4, F), (N, N)]),
    ],
    "in": [
        ("x IN (1, 2.5, 3)", [(3, T), (2, F), (N, N)]),
        ("zone NOT IN ('A', 'C')", [("B", T), ("A", F), (N, N)]),
        ("x IN (y, 3)", [(3, N, T), (2, N, N), (2, 2, T), (2, 1, F)]),
    ],
    "and": [
        ("flag AND other", [(T, T, T), (T, F, F), (N, F, F), (F, N, F), (N, T, N), (N, N, N)]),
    ],
    "or": [
        ("flag OR other", [(F, F, F), (T, F, T), (N, T, T), (T, N, T), (N, F, N), (N, N, N)]),
    ],
    "not": [("NOT flag", [(T, F), (F, T), (N, N)])],
    "is_null": [
        ("x IS NULL", [(0, F), (N, T)]),
        ("zone IS NOT NULL", [("A", T), (N, F)]),
    ],
    "case": [
        (
            "CASE WHEN flag THEN x WHEN other THEN 0.5 ELSE -1 END",
            [
                (T, 3, F, 3),
                (F, 3, T, HALF),
                (N, 3, N, -1),
                (T, N, T, N),
            ],
        ),
        (
            "CASE x WHEN 1 THEN 'one' WHEN 2 THEN 'two' END",
            [(1, "one"), (2, "two"), (3, N), (N, N)],
        ),
        ("IF(flag, zone, 'elsewhere')", [(T, "B", "B"), (F, "B", "elsewhere"), (T, N, N)]),
        ("IF(flag, DATE '2099-01-01', born)", [(T, EVE, date(2099, 1, 1)), (F, EVE, EVE)]),
        ("CASE WHEN flag THEN x END", [(T, 2, 2), (N, 2, N)]),
    ],
    "coalesce": [
        ("coalesce(x, y, 7.5)", [(1, 2, 1), (N, 2, 2), (N, N, Fraction(15, 2))]),
        ("coalesce(zone, 'unknown')", [("C", "C"), (N, "unknown")]),
        ("coalesce(flag, FALSE)", [(T, T), (N, F)]),
        ("coalesce(note, '')", [("a", "a"), (N, "")]),
        (
            "coalesce(NULL, at, until) = until",
            [("2020-02-28T22:31:00", "2020-02-28T22:31:30", F), (N, "2020-02-28T22:31:30", T)],
        ),
    ],
    "nullif": [
        ("nullif(x, y)", [(1, 1, N), (1, 2, 1), (N, 2, N), (1, N, 1)]),
        ("nullif(zone, 'A')", [("A", N), ("B", "B"), (N, N)]),
        ("nullif(5, x)", [(5, N), (4, 5), (N, 5)]),
    ],
    "year": [
        ("year(born)", [(EVE, 1969), (LEAP, 2020), (N, N)]),
        ("EXTRACT(year FROM at)", [("2020-03-01T00:00:00", 2020)]),
    ],
    "quarter": [("quarter(born)", [(EVE, 4), (LEAP, 1), (date(2021, 4, 1), 2), (N, N)])],
    "month": [
        ("month(born)", [(EVE, 12), (LEAP, 2), (N, N)]),
        ("date_part('month', at)", [("2020-02-29T23:59:00", 2), ("2020-03-01T00:00:00", 3)]),
    ],
    "day": [("day(born)", [(EVE, 31), (LEAP, 29), (date(1900, 1, 1), 1), (N, N)])],
    "weekday": [
        ("weekday(born)", [(EVE, 3), (LEAP, 6), (date(2024, 9, 1), 7), (date(1900, 1, 1), 1)]),
    ],
    "hour": [
        ("hour(at)", [("2020-02-28T22:30:00", 22), ("2020-02-29T00:00:00", 0), (N, N)]),
        ("hour(until)", [("2020-02-28T22:59:59.500000", 22), ("2020-02-28T23:00:00", 23)]),
    ],
    "minute": [("minute(at)", [("2020-02-28T22:30:00", 30), ("2020-02-28T23:00:00", 0), (N, N)])],
    "date": [
        ("date(at)", [("2020-02-28T22:30:00", date(2020, 2, 28)), ("2020-02-29T00:00:00", LEAP)]),
        ("CAST(at AS DATE)", [("2020-03-01T00:00:00", date(2020, 3, 1)), (N, N)]),
    ],
}
