# ruff: noqa: S608 - what is written here is never run
"""Questions that are nearly valid, and some that are nothing of the kind: for finding crashes.

>>> from sfumato.testing.town import Dice
>>> spoiled("SELECT COUNT(*) FROM trips", Dice(1).below)
'SELECT COUNT(*) FROM  EXTRACT '
"""

from __future__ import annotations

import re

from sqlglot import exp

from sfumato.testing.town import Below

# A text in quotes is one word.
_WORD = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|\w+(?:\.\d+)?|[<>=!|/]{2}|\s+|.", re.DOTALL)
_CLAUSES = """
SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET DISTINCT UNION ALL JOIN ON USING AS IN AND OR
NOT NULL IS LIKE BETWEEN CASE WHEN THEN ELSE END CAST WITH OVER FILTER QUALIFY VALUES EXISTS ANY
LATERAL PIVOT WINDOW ROLLUP CUBE GROUPING SETS INTERVAL DATE EXTRACT RECURSIVE RETURNING INTO FOR
TABLESAMPLE EPSILON DELTA ERROR ESCAPE NATURAL CROSS FULL EXCEPT INTERSECT RANGE ROWS AT
"""
_SIGNS = r"""
( ) [ ] { } , ; . * + - / // % = <> < > || :: ? $1 :x @ # ! ~ ^ & | \ ` ' " -- /* */
"""
_NAMES = """
COUNT SUM AVG MEDIAN MODE ARG_MAX rider zone fare trips zones stops payments x NULL 0 1 -1 1e99 0.5
99999999999999999999 'A' '' "zone" "" sfumato_unit sfumato_kept_0 information_schema.tables $key
read_csv('x') root divide magnitude TRUE current_date E'a' $$a$$ x'00' U&'a' :: INTEGER
"""
_LOOKALIKES = (
    *("\u037e", "\uff1b", "\u200b", "\u202e", "\u0430", "\ufeff", "é", "\u00a0", "\x00", "😀"),
)
_DIGITS = ("9" * 30, "9" * 5000, f"0.{'1' * 5000}", f"1e{'9' * 400}", "²", "٣")
_ARGUMENTS = ("fare", "1", "x", "'a'", "*", "NULL", "DATE '2026-01-01'", "hour > 1", *_DIGITS)
_PARSERS = sorted(exp.FUNCTION_BY_NAME)
STRAY = (*_CLAUSES.split(), *_SIGNS.split(), *_NAMES.split(), *_LOOKALIKES)


def spoiled(text: str, below: Below) -> str:
    """Return a question with a few words dropped, doubled, exchanged or replaced by others."""
    words = _WORD.findall(text)
    for _ in range(1 + below(3)):
        solid = [place for place, word in enumerate(words) if not word.isspace()]
        if not solid:
            break
        place, how = solid[below(len(solid))], below(6)
        if how == 0:
            del words[place]
        elif how == 1:
            words.insert(place, f"{words[place]} ")
        elif how == 2:
            other = solid[below(len(solid))]
            words[place], words[other] = words[other], words[place]
        elif how == 3:
            words[place] = words[solid[below(len(solid))]]
        else:
            stray = f" {STRAY[below(len(STRAY))]} "
            words[place : place + (how == 4)] = [stray]
    return "".join(words)


def odd(below: Below) -> str:
    """Return a question with a function that the parser knows, and arguments that it may not."""
    name = _PARSERS[below(len(_PARSERS))]
    given = ", ".join(_ARGUMENTS[below(len(_ARGUMENTS))] for _ in range(below(4)))
    call = f"{name}({given})"
    return (
        f"SELECT {call} FROM trips",
        f"SELECT SUM({call}) FROM trips",
        f"SELECT COUNT(*) FROM trips WHERE {call} > 1",
        f"SELECT zone, COUNT(*) FROM trips GROUP BY zone HAVING {call} > 1",
        f"SELECT zone, COUNT(*) FROM trips GROUP BY zone, {call}",
        f"SELECT zone, COUNT(*) FROM trips GROUP BY zone ORDER BY {call}",
        f"SELECT AVG(x) FROM (SELECT rider, {call} AS x FROM trips GROUP BY rider)",
        f"SELECT CAST(COUNT(*) AS DECIMAL({given or 'x'})) FROM trips",
        f"SELECT ROUND(COUNT(*), {given or call}) FROM trips",
        f"SELECT COUNT(*) FROM trips LIMIT {given or call}",
    )[below(10)]


def soup(below: Below) -> str:
    """Return words in no order at all."""
    return " ".join(STRAY[below(len(STRAY))] for _ in range(1 + below(30)))


def deep(below: Below) -> str:
    """Return a question that goes far down, or on for long."""
    size = (3, 20, 20, 70, 70, 70, 70, 400)[below(8)]
    long = (3, 70, 400, 900, 1500)[below(5)]
    return (
        f"SELECT SUM({'(' * size}fare{')' * size}) FROM trips",
        f"SELECT SUM({'abs(' * size}fare{')' * size}) FROM trips",
        f"SELECT SUM({'fare + ' * size}fare) FROM trips",
        f"SELECT COUNT(*) FROM trips WHERE {'NOT ' * size}vip",
        f"SELECT COUNT(*) FROM trips WHERE hour IN ({', '.join(['1'] * size * 10)})",
        f"SELECT COUNT(*) FROM trips WHERE {' AND '.join(['hour < 9'] * size)}",
        f"SELECT {', '.join(['COUNT(*)'] * size)} FROM trips",
        f"SELECT {'COUNT(*) + ' * size}1 FROM trips",
        f"SELECT COUNT(*) FROM {'(SELECT * FROM ' * size}trips{')' * size}",
        f"SELECT COUNT(*) FROM trips GROUP BY {', '.join(['zone'] * size)}",
        f"SELECT SUM({'CASE WHEN vip THEN ' * size}fare{' END' * size}) FROM trips",
        f"SELECT COUNT(*) FROM trips{' JOIN stops USING (zone)' * size}",
        f"SELECT COUNT(*) FROM ({' UNION ALL '.join(['SELECT * FROM trips'] * min(size, 70))})",
        f"SELECT SUM({'-' * size}fare) FROM trips",
        f"SELECT SUM({'- ' * size}fare) FROM trips",
        f"WITH {', '.join(f't{i} AS (SELECT * FROM trips)' for i in range(size))} "
        f"SELECT COUNT(*) FROM t{size - 1}",
        f"SELECT COUNT(*) FROM trips WHERE {' AND '.join(['hour < 9'] * long)}",
        f"SELECT zone, COUNT(*) FROM trips WHERE {' AND '.join(['vip'] * long)} GROUP BY ROLLUP "
        f"(zone)",
        f"SELECT COUNT(*) FROM trips JOIN zones ON {' OR '.join(['zone = id'] * long)}",
        f"SELECT COUNT(*){' + 1' * long} FROM trips",
        f"SELECT COUNT(*) FROM trips GROUP BY zone HAVING {' OR '.join(['COUNT(*) > 1'] * long)}",
        f"SELECT COUNT(*) FROM trips LIMIT {'9' * long * 4}",
    )[below(22)]
