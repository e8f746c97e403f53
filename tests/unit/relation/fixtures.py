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
    "memo": Words(),
    "city": Label(("Oslo", "oslo ", "Łódź", "100%")),
    "code": Label(("1", "2.5", "x", "2020-02-29", "yes")),
    "my column": Number(0, 5),
    "born": Day(day_number("1900-01-01"), day_number("2030-12-31")),
    "seen": Day(day_number("2020-01-01"), day_number("2021-12-31")),
    "at": Instant("2020-02-28T22:30:00", 10**6, Fraction(60)),
    "until": Instant("2020-02-28T22:30:30", 10**6, Fraction(1, 2)),
}
T, F, N = True, False, None
CENT = Fraction(1, 100)
HALF = Fraction(1, 2)
LONG = "ab" * 50_000
FLAT = "a" * 100_000
SMILE, ACUTE = "😀", "e\u0301"  # one character, and two that look like one
LEAP, EVE = date(2020, 2, 29), date(1969, 12, 31)

FIXTURES = {
    "+": [
        ("x + y", [(3, -4, -1), (10, 4, 14), (-10, -4, -14), (N, 1, N), (1, N, N)]),
        ("born + 1", [(EVE, date(1970, 1, 1)), (LEAP, date(2020, 3, 1)), (N, N)]),
        ("-2 + born", [(LEAP, date(2020, 2, 27))]),
        ("money + 0.005", [(CENT, Fraction("0.015")), (-20, Fraction("-19.995")), (N, N)]),
    ],
    "-": [
        ("x - y", [(-10, 4, -14), (0, 0, 0), (N, 0, N)]),
        ("seen - born", [(LEAP, EVE, 18322), (LEAP, LEAP, 0), (N, EVE, N), (LEAP, N, N)]),
        ("born - DATE '1970-01-01'", [(EVE, -1), (N, N)]),
        ("born - 60", [(LEAP, date(2019, 12, 31)), (N, N)]),
        ("-x", [(-10, 10), (0, 0), (7, -7), (N, N)]),
        ("huge - 0", [(EDGE, EDGE), (-EDGE, -EDGE)]),
    ],
    "*": [
        ("x * y", [(-10, -4, 40), (10, -4, -40), (0, 4, 0), (N, 0, N)]),
        ("money * 1.1", [(200, 220), (CENT, Fraction("0.011")), (-20, -22)]),
        ("-2.5 * x", [(10, -25), (-1, Fraction(5, 2)), (0, 0), (N, N)]),
        ("x * 0", [(10, 0), (N, N)]),
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
        ("CAST('12' AS INTEGER) + x", [(1, 13)]),
        (
            "note::int",
            [
                *(("12", 12), (" -7 ", -7), ("+0012", 12), ("2.5", 3), ("-2.5", -3), ("2.4999", 2)),
                *(("2147483647", 2**31 - 1), ("2147483648", N), ("-2147483648", -(2**31))),
                *(("-2147483649", N), ("0" * 5_000 + "7", 7), ("9" * 5_000, N), (N, N)),
                *(
                    (bad, N)
                    for bad in ("", " ", "1e3", "1_0", "0x1", "٣", "1 2", "1.", ".5", "--1")
                ),
                *((bad, N) for bad in ("NaN", "12\n", "\t1", "1,5", LONG)),
            ],
        ),
        ("TRY_CAST(code AS INTEGER)", [("1", 1), ("2.5", 3), ("x", N), (N, N)]),
        ("CAST(grade AS INTEGER)", [(30, 30), (1, 1), (N, N)]),
    ],
    "tinyint": [("CAST(note AS TINYINT)", [("127", 127), ("128", N), ("-128", -128), ("-129", N)])],
    "smallint": [
        ("CAST(note AS SMALLINT)", [("32767", 32767), ("32768", N), ("-32768", -32768), (N, N)]),
        ("CAST(money AS SMALLINT)", [(HALF, 1), (200, 200)]),
    ],
    "bigint": [
        (
            "CAST(note AS BIGINT)",
            [("9" * 18, 10**18 - 1), ("1" + "0" * 18, N), ("-" + "9" * 18, 1 - 10**18), ("x", N)],
        ),
    ],
    "decimal": [
        (
            "CAST(money AS DECIMAL(10, 1))",
            [(25 * CENT, 30 * CENT), (-25 * CENT, -30 * CENT), (N, N)],
        ),
        ("CAST(flag AS DECIMAL(3, 1))", [(T, 1), (F, 0)]),
        (
            "CAST(note AS DECIMAL(5, 2))",
            [
                *(
                    ("999.99", Fraction("999.99")),
                    ("999.995", N),
                    ("-0.005", -CENT),
                    ("-0.0049", 0),
                ),
                *(("1000", N), ("0.1" + "9" * 5_000, Fraction("0.2")), ("x", N), (N, N), ("{}", N)),
            ],
        ),
        ("CAST(code AS DECIMAL(4, 1))", [("2.5", Fraction("2.5")), ("x", N), ("1", 1)]),
        ("CAST(note AS NUMERIC)", [("1.0005", Fraction("1.001")), ("", N)]),
    ],
    "double": [
        ("CAST(money AS DOUBLE)", [(CENT, CENT), (N, N)]),
        ("CAST(flag AS REAL) + x", [(T, 1, 2)]),
    ],
    "boolean": [
        ("CAST(x AS BOOLEAN)", [(0, F), (-3, T), (N, N)]),
        ("flag::boolean", [(T, T), (N, N)]),
        (
            "CAST(note AS BOOLEAN)",
            [
                *((yes, T) for yes in ("true", "T", "Yes", "1")),
                *((no, F) for no in ("FALSE", "f", "no", "0")),
                *((bad, N) for bad in ("", "on", " t", None)),
            ],
        ),
        ("CAST(code AS BOOLEAN)", [("yes", T), ("1", T), ("x", N), (N, N)]),
    ],
    "varchar": [
        ("CAST(x AS VARCHAR)", [(-10, "-10"), (0, "0"), (7, "7"), (N, N)]),
        ("CAST(huge AS TEXT)", [(-EDGE, str(-EDGE)), (0, "0"), (N, N)]),
        ("CAST(floor(x, 5) AS VARCHAR)", [(-1, "-5"), (9, "5")]),
        ("CAST(floor(money * 1e4, 7) AS VARCHAR)", [(0, "0"), (-CENT, "-105"), (CENT, "98")]),
        ("CAST(grade AS VARCHAR)", [(30, "30"), (N, N)]),
        ("CAST(city AS VARCHAR)", [("Łódź", "Łódź"), (N, N)]),
        ("note::text", [("a", "a"), ("", ""), (N, N)]),
        ("flag::varchar", [(T, "true"), (F, "false"), (N, N)]),
        ("CAST(seen AS VARCHAR)", [(LEAP, "2020-02-29"), (N, N)]),
        ("CAST(born AS VARCHAR)", [(EVE, "1969-12-31"), (N, N)]),
        ("CAST(12 AS VARCHAR) || note", [("a", "12a")]),
    ],
    "power": [
        ("power(x, 2)", [(-10, 100), (0, 0), (3, 9), (N, N)]),
        ("x ^ 3", [(-10, -1000), (2, 8)]),
        ("money ** 2", [(CENT, CENT**2), (-HALF, Fraction(1, 4))]),
        ("pow(1.5, 2) + x", [(0, Fraction(9, 4))]),
    ],
    "sign": [
        ("sign(x)", [(-10, -1), (0, 0), (3, 1), (N, N)]),
        ("sign(-0.5) * x", [(3, -3)]),
    ],
    "root": [
        ("root(x, 1)", [(9, 3), (8, 2), (0, 0), (-1, N), (N, N)]),
        (
            "root(money, 0.01)",
            [(2, Fraction("1.41")), (200, Fraction("14.14")), (4, 2), (-CENT, N)],
        ),
        ("root(abs(x) * 1e12, 1)", [(9, 3 * 10**6), (2, 1_414_213), (-5, 2_236_067)]),
        ("root(2, 0.1) + x", [(0, Fraction("1.4"))]),
    ],
    "lower": [
        (
            "lower(note)",
            [
                ("ÀÉß", "àéß"),
                ("İI", "ii"),
                ("ΣΑΣ", "σασ"),
                ("ǅ", "ǆ"),
                ("", ""),
                (SMILE, SMILE),
                (N, N),
            ],
        ),
        ("lower(city)", [("Oslo", "oslo"), ("Łódź", "łódź"), (N, N)]),
        ("lower('AB') = note", [("ab", T)]),
    ],
    "upper": [
        ("upper(note)", [("àéß", "ÀÉẞ"), ("ŉ", "ŉ"), ("ﬁ", "ﬁ"), (ACUTE, "E\u0301"), (N, N)]),
        ("upper(trim(city))", [("Oslo", "OSLO"), ("oslo ", "OSLO"), (N, N)]),
    ],
    "trim": [
        (
            "trim(note)",
            [("  a b ", "a b"), ("\ta ", "\ta"), ("\u00a0a", "\u00a0a"), ("   ", ""), (N, N)],
        ),
        ("TRIM(BOTH 'xy' FROM note)", [("xyaxbyx", "axb"), ("", "")]),
        ("trim(city)", [("oslo ", "oslo"), (N, N)]),
    ],
    "ltrim": [
        ("ltrim(note)", [("  a ", "a "), (N, N)]),
        ("TRIM(LEADING 'é' FROM note)", [("ééaé", "aé")]),
    ],
    "rtrim": [
        ("rtrim(note)", [("  a ", "  a"), (N, N)]),
        ("rtrim(city, 'o ')", [("oslo ", "osl"), ("Oslo", "Osl")]),
    ],
    "length": [
        ("length(note)", [("", 0), (SMILE, 1), (ACUTE, 2), ("a\nb", 3), (LONG, 10_000), (N, N)]),
        ("char_length(city)", [("oslo ", 5), ("Łódź", 4), (N, N)]),
        ("length('abc') + x", [(1, 4)]),
    ],
    "left": [
        (
            "left(note, 2)",
            [("abc", "ab"), (SMILE + "ab", SMILE + "a"), ("", ""), ("a", "a"), (N, N)],
        ),
        ("left(note, 0)", [("abc", "")]),
        ("left(city, 1)", [("Oslo", "O"), ("oslo ", "o"), ("Łódź", "Ł"), (N, N)]),
        ("left(note, x)", [("abc", -3, ""), ("abc", 2, "ab"), ("abc", N, N), (N, 1, N)]),
        ("left(note, strpos(note, '@') - 1)", [("ann@a.org", "ann"), ("ann", ""), (N, N)]),
        ("left(note, huge)", [("abc", EDGE, "abc"), ("abc", -EDGE, "")]),
    ],
    "right": [
        ("right(note, 2)", [("abc", "bc"), (ACUTE, ACUTE), ("", ""), ("a", "a"), (N, N)]),
        ("right(note, 0)", [("abc", "")]),
        ("right(city, 1)", [("Oslo", "o"), ("100%", "%"), (N, N)]),
        ("right(note, huge)", [("abc", EDGE, "abc"), ("abc", -EDGE, ""), ("abc", N, N)]),
    ],
    "substr": [
        ("substr(note, 2)", [("abc", "bc"), ("a", ""), ("", ""), (N, N)]),
        ("SUBSTRING(note FROM 2 FOR 3)", [("abcdef", "bcd"), (f"{SMILE}é😀b", "é😀b"), (N, N)]),
        ("substr(note, 0, 2)", [("abc", "a")]),
        ("substring(city, 2, 2)", [("Oslo", "sl"), ("Łódź", "ód"), (N, N)]),
        (
            "substr(note, x, 3)",
            [("abc", -1, "a"), ("abc", 2, "bc"), ("abc", -9, ""), ("abc", N, N)],
        ),
        ("substr(note, strpos(note, '@') + 1)", [("ann@a.org", "a.org"), ("ann", "ann"), (N, N)]),
        ("substr(note, abs(huge))", [("abc", EDGE, ""), ("abc", -2, "bc"), ("abc", N, N)]),
        (
            "substr(note, clamp(huge, -1e15, 1e15), y)",
            [("abc", EDGE, 4, ""), ("abc", -EDGE, 4, ""), ("abc", 2, 1, "b"), ("abc", 2, -3, "")],
        ),
    ],
    "split_part": [
        (
            "split_part(note, '@', 2)",
            [("ann@a.org", "a.org"), ("ann", ""), ("a@b@c", "b"), ("", ""), (LONG, ""), (N, N)],
        ),
        ("split_part(note, '{}', 1)", [("a{}b", "a"), ("{", "{")]),
        ("split_part(city, 'l', 1)", [("Oslo", "Os"), ("Łódź", "Łódź"), (N, N)]),
    ],
    "replace": [
        ("replace(note, 'ab', 'x')", [("aababb", "axxb"), ("", ""), ("{ab}", "{x}"), (N, N)]),
        ("replace(note, '%', '')", [("100%", "100"), ("_", "_")]),
        ("replace(note, 'a', 'a long word')", [(FLAT, ("a long word" * 10_000)[:10_000])]),
        ("replace(city, 'O', 'o')", [("Oslo", "oslo"), ("oslo ", "oslo "), (N, N)]),
    ],
    "||": [
        ("note || memo", [("a", "b", "ab"), ("", "", ""), (N, "b", N), ("a", N, N)]),
        ("note || '-' || zone", [("a", "B", "a-B"), (N, "B", N), ("a", N, N)]),
        ("zone || city", [("A", "Oslo", "AOslo"), (N, "Oslo", N), ("C", "100%", "C100%")]),
        ("zone || zone || ''", [("B", "BB"), (N, N)]),
        ("note || memo || note", [(LONG, "x", LONG[:10_000])]),
        ("left('abc', 2) || note", [("!", "ab!")]),
    ],
    "concat": [
        ("concat(note, memo)", [("a", "b", "ab"), (N, "b", "b"), ("a", N, "a"), (N, N, "")]),
        ("concat(zone, '-', city)", [("A", "Oslo", "A-Oslo"), (N, "Oslo", "-Oslo"), (N, N, "-")]),
        ("concat(zone, zone)", [("A", "AA"), (N, "")]),
    ],
    "starts_with": [
        ("starts_with(note, 'a%')", [("a%b", T), ("ab", F), ("", F), (N, N)]),
        ("prefix(note, memo)", [("abc", "ab", T), ("ab", "abc", F), ("a", "", T), ("a", N, N)]),
        ("starts_with(city, 'O')", [("Oslo", T), ("oslo ", F), (N, N)]),
        ("starts_with(note, zone)", [("Ax", "A", T), ("Ax", "B", F), ("A", N, N)]),
    ],
    "ends_with": [
        ("ends_with(note, 'c')", [("abc", T), ("", F), (N, N)]),
        ("suffix(city, ' ')", [("oslo ", T), ("Oslo", F), (N, N)]),
        ("ends_with(note, '')", [("", T), (N, N)]),
    ],
    "contains": [
        ("contains(note, '_')", [("a_b", T), ("ab", F), (LONG + "_", T), (N, N)]),
        ("contains(city, 'slo')", [("Oslo", T), ("Łódź", F), (N, N)]),
    ],
    "strpos": [
        ("strpos(note, 'b')", [("abc", 2), (SMILE + "b", 2), (ACUTE + "b", 3), ("", 0), (N, N)]),
        ("POSITION('ó' IN city)", [("Łódź", 2), ("Oslo", 0), (N, N)]),
        ("strpos(note, 'c')", [(LONG[:9_999] + "c", 10_000), (LONG + "c", 0), (LONG, 0)]),
        ("strpos(note, '')", [("", 1), ("a", 1)]),
    ],
    "like": [
        ("note LIKE 'a%'", [("a", T), ("abc", T), ("ba", F), ("", F), (N, N)]),
        ("note LIKE '%a'", [("a", T), ("ba", T), ("ab", F)]),
        ("note LIKE '%a_c%'", [("xabcx", T), (f"a{SMILE}c", T), ("ac", F), ("a\nc", T), (N, N)]),
        ("note LIKE '_'", [(SMILE, T), ("é", T), (ACUTE, F), ("", F), ("\n", T)]),
        ("note NOT LIKE '%b%'", [("abc", F), ("", T), (N, N)]),
        ("note LIKE '100!%' ESCAPE '!'", [("100%", T), ("100x", F)]),
        ("note LIKE '%!_!!%' ESCAPE '!'", [("a_!b", T), ("ab!", F), ("_!", T)]),
        ("note NOT LIKE 'a\\%' ESCAPE '\\'", [("a%", F), ("ab", T)]),
        ("note LIKE 'a\\%'", [("a\\b", T), ("a%", F)]),
        ("note LIKE '.*[a]+_(b)?$'", [(".*[a]+x(b)?$", T), ("aaa", F)]),
        ("note LIKE ''", [("", T), ("a", F), (N, N)]),
        ("note LIKE '%'", [("", T), ("a\n", T), (N, N)]),
        ("note LIKE '%a%a%a%a_a%b'", [(FLAT, F), (FLAT + "b", T)]),
        ("note LIKE '%it''s%'", [("it's", T), ("its", F)]),
        ("city LIKE '_sl%'", [("Oslo", T), ("oslo ", T), ("Łódź", F), (N, N)]),
        ("city LIKE 'Z%'", [("Oslo", F), (N, N)]),
        ("city LIKE '%!%' ESCAPE '!'", [("100%", T), ("Oslo", F), (N, N)]),
        ("'abc' LIKE '%b%' AND flag", [(T, T), (F, F)]),
    ],
    "ilike": [
        ("note ILIKE 'É%'", [("éa", T), ("ÉA", T), ("e", F), (N, N)]),
        ("note NOT ILIKE '%STRASSE'", [("Straße", T), ("strasse", F)]),
        ("city ILIKE 'OSLO%'", [("Oslo", T), ("oslo ", T), ("Łódź", F), (N, N)]),
        ("note ILIKE 'A!%' ESCAPE '!'", [("a%", T), ("ab", F)]),
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
        ("zone < 'B'", [("A", T), ("B", F), ("C", F), (N, N)]),
        ("'B' < zone", [("A", F), ("B", F), ("C", T), (N, N)]),
        ("grade < 2.5", [(1, T), (2, T), (30, F), (N, N)]),
        ("note < 'b'", [("a", T), ("B", T), ("", T), ("é", F), (SMILE, F), (N, N)]),
        ("note < memo", [("\uffff", SMILE, T), ("a", "a", F), ("a", "ab", T), (N, "a", N)]),
        (
            "born < DATE '1998-12-01' - INTERVAL '90' DAY",
            [(date(1998, 9, 1), T), (date(1998, 9, 2), F)],
        ),
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
        ("zone > 'AZ'", [("A", F), ("B", T), (N, N)]),
        (
            "date_trunc('month', seen) > DATE '2020-05-15'",
            [(date(2020, 5, 31), F), (date(2020, 6, 1), T), (N, N)],
        ),
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
        ("flag IS TRUE", [(T, T), (F, F), (N, F)]),
        ("flag IS FALSE", [(T, F), (F, T), (N, F)]),
        ("flag IS NOT TRUE", [(T, F), (F, T), (N, T)]),
        ("(x > 0) IS NOT FALSE", [(1, T), (0, F), (N, T)]),
        ("x IS NOT DISTINCT FROM y", [(1, 1, T), (1, 2, F), (N, 1, F), (1, N, F), (N, N, T)]),
        ("zone IS DISTINCT FROM 'A'", [("A", F), ("B", T), (N, T)]),
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
    "week": [
        (
            "week(born)",
            [(date(2021, 1, 3), 53), (date(2021, 1, 4), 1), (date(2018, 12, 31), 1), (N, N)],
        ),
        ("EXTRACT(week FROM at)", [("2020-03-01T00:00:00", 9)]),
    ],
    "dayofyear": [("dayofyear(born)", [(EVE, 365), (LEAP, 60), (date(2020, 12, 31), 366), (N, N)])],
    "dayofweek": [
        ("dayofweek(born)", [(date(2024, 9, 1), 0), (date(2024, 8, 31), 6), (N, N)]),
        ("EXTRACT(dow FROM at)", [("2020-03-01T00:00:00", 0)]),
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
    "second": [
        ("second(until)", [("2020-02-28T22:59:59.500000", 59), ("2020-02-28T23:00:00", 0), (N, N)]),
    ],
    "timestamp": [
        ("CAST(born AS TIMESTAMP) = at", [(LEAP, "2020-02-29T00:00:00", T), (EVE, N, N)]),
        ("CAST(at AS TIMESTAMP) = at", [("2020-02-29T00:00:00", T)]),
        (
            "CAST(note AS TIMESTAMP) = TIMESTAMP '2020-02-29 12:30:00'",
            [
                *(("2020-02-29 12:30", T), ("2020-02-29T12:30:00.000000", T), ("2020-02-29", F)),
                *(("2020-02-30 12:30", N), ("2020-02-29 24:00", N), ("2020-02-29 12:30+02", N)),
                *(("2020-02-29  12:30", N), ("", N), ("0000-01-01", N), ("now", N), (N, N)),
            ],
        ),
        ("hour(CAST(note AS TIMESTAMP))", [("9999-12-31T23:59:59.999999", 23), ("x", N)]),
        ("year(CAST(code AS TIMESTAMP))", [("2020-02-29", 2020), ("x", N), (N, N)]),
    ],
    "date_trunc": [
        ("date_trunc('day', at)", [("2020-02-28T22:30:00", date(2020, 2, 28)), (N, N)]),
        (
            "date_trunc('week', seen)",
            [(date(2020, 3, 1), "2020-02-24"), (LEAP, "2020-02-24"), (N, N)],
        ),
        (
            "date_trunc('month', seen)",
            [(LEAP, "2020-02-01"), (date(2021, 12, 31), "2021-12-01"), (N, N)],
        ),
        ("date_trunc('quarter', born)", [(EVE, "1969-10-01"), (date(2020, 3, 31), "2020-01-01")]),
        ("date_trunc('YEAR', at)", [("2020-03-01T00:00:00", "2020-01-01"), (N, N)]),
        (
            "date_trunc('hour', until) = TIMESTAMP '2020-02-28 23:00:00'",
            [("2020-02-28T23:59:59.500000", T), ("2020-02-29T00:00:00", F), (N, N)],
        ),
        ("minute(date_trunc('minute', until))", [("2020-02-28T22:31:30", 31)]),
        ("year(date_trunc('quarter', seen)::date)", [(LEAP, 2020), (N, N)]),
    ],
    "date_diff": [
        ("date_diff('day', born, seen)", [(EVE, LEAP, 18322), (LEAP, LEAP, 0), (N, LEAP, N)]),
        (
            "date_diff('week', DATE '2020-03-01', seen)",
            [(date(2020, 3, 2), 1), (date(2020, 2, 23), -1)],
        ),
        (
            "date_diff('month', born, seen)",
            [(date(2020, 1, 31), date(2020, 2, 1), 1), (EVE, LEAP, 602)],
        ),
        ("date_diff('quarter', born, seen)", [(EVE, LEAP, 201)]),
        ("datediff('year', born, at)", [(EVE, "2020-03-01T00:00:00", 51)]),
        (
            "date_diff('hour', at, until)",
            [("2020-02-28T22:30:00", "2020-02-28T23:00:00", 1), (N, "2020-02-28T23:00:00", N)],
        ),
        (
            "date_diff('minute', until, TIMESTAMP '1969-12-31 23:59:00')",
            [("2020-02-28T22:31:00", -26382152)],
        ),
        (
            "date_diff('second', at, until)",
            [("2020-02-28T22:31:00", "2020-02-28T22:30:30.500000", -30)],
        ),
    ],
    "date_add": [
        ("born + INTERVAL 1 MONTH", [(date(2020, 1, 31), LEAP), (EVE, date(1970, 1, 31)), (N, N)]),
        (
            "born - INTERVAL '4' YEARS",
            [(LEAP, date(2016, 2, 29)), (date(2021, 2, 28), date(2017, 2, 28))],
        ),
        ("born - INTERVAL 1 YEAR", [(LEAP, date(2019, 2, 28))]),
        ("INTERVAL 2 WEEK + born", [(LEAP, date(2020, 3, 14))]),
        ("born + INTERVAL '1 quarter'", [(date(2019, 11, 30), LEAP)]),
        ("date_add(born, INTERVAL (-1) DAY)", [(date(2020, 3, 1), LEAP)]),
        (
            "at + INTERVAL 90 MINUTE = TIMESTAMP '2020-02-29 00:00:00'",
            [("2020-02-28T22:30:00", T), (N, N)],
        ),
        (
            "at > DATE '2020-02-28' + INTERVAL 23 HOUR",
            [("2020-02-28T23:00:00", F), ("2020-02-28T23:01:00", T)],
        ),
    ],
    "date": [
        (
            "CAST(note AS DATE)",
            [
                *(("2020-02-29", LEAP), ("0001-01-01", date.min), ("9999-12-31", date.max), (N, N)),
                *(
                    (bad, N)
                    for bad in (
                        "2021-02-29",
                        "0000-01-01",
                        "2020-2-9",
                        "",
                        " 2020-02-29",
                        "20200229",
                    )
                ),
                *(
                    (bad, N)
                    for bad in ("2020-02-29 10:00", "infinity", "2020-02-29\n", "٢٠٢٠-01-01")
                ),
            ],
        ),
        ("TRY_CAST(code AS DATE)", [("2020-02-29", LEAP), ("x", N), (N, N)]),
        ("CAST(born AS DATE)", [(EVE, EVE)]),
        ("date(at)", [("2020-02-28T22:30:00", date(2020, 2, 28)), ("2020-02-29T00:00:00", LEAP)]),
        ("CAST(at AS DATE)", [("2020-03-01T00:00:00", date(2020, 3, 1)), (N, N)]),
    ],
}
