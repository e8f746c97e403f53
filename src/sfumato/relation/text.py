"""Functions of texts. A character is a code point of Unicode, whatever it looks like.

Each function is said twice: once in Python, for constants and for the public values of a category,
and once in SQL, for texts that only the engine sees. The tests hold one against the other.

No function makes a long text of a short one without end: what is joined or replaced is cut to
`LONGEST` characters on the way in and on the way out, so no row decides whether there is memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod

from sfumato.core.errors import ExpressionError
from sfumato.relation.category import MOST_VALUES, each, looked_up, mapped, texts
from sfumato.relation.expr import Rule, Typed, constant
from sfumato.relation.kind import Kind, Number, Truth, Words
from sfumato.relation.operand import number, numeric, wide
from sfumato.relation.rule import Mismatch, rule

LONGEST = 10_000  # characters of a text that is put together; a length or a place counts to here
_GROWTH = 16  # characters by which a replacement may be longer
_FAR = 2**31 - 1  # a place behind the end of any text
_TEXTS = "It takes texts; a number becomes one with CAST(x AS VARCHAR)."
_CONSTANTS = "It takes a text and constants: texts in quotes, whole numbers from 0 up."
_COUNT = "It takes a text and how many characters: a whole number."

# The letters whose other case Python gives otherwise than one for one.
_SMALL, _CAPITAL = {"İ": "i"}, {"ß": "ẞ"}


def lower(text: str) -> str:
    """Return a text in small letters: each letter becomes one."""
    return "".join(_SMALL.get(c) or _one(c.lower(), c) for c in text)


def upper(text: str) -> str:
    """Return a text in capital letters: each letter becomes one, ß the capital ẞ."""
    return "".join(_CAPITAL.get(c) or _one(c.upper(), _one(c.title(), c)) for c in text)


def _one(found: str, otherwise: str) -> str:
    return found if len(found) == 1 else otherwise


_WORDS = Words()


@dataclass(frozen=True, slots=True)
class _Form:
    """A function of texts: in Python, in SQL with a place for each argument, and what comes out."""

    python: Callable[..., str | int | bool]
    sql: str
    gives: Kind = _WORDS


_PLACE = Number(0, LONGEST)
_ONE = {
    "lower": _Form(lower, "lower({})"),
    "upper": _Form(upper, "upper({})"),
    "length": _Form(lambda x: min(len(x), LONGEST), f"length(left({{}}, {LONGEST}))", _PLACE),
}
_TWO = {
    "starts_with": _Form(str.startswith, "starts_with({}, {})", Truth()),
    "ends_with": _Form(str.endswith, "suffix({}, {})", Truth()),
    "contains": _Form(str.__contains__, "contains({}, {})", Truth()),
    "strpos": _Form(
        lambda x, y: x[:LONGEST].find(y) + 1, f"strpos(left({{}}, {LONGEST}), {{}})", _PLACE
    ),
}
_TRIMS = {
    "trim": _Form(str.strip, "trim({}, {})"),
    "ltrim": _Form(str.lstrip, "ltrim({}, {})"),
    "rtrim": _Form(str.rstrip, "rtrim({}, {})"),
}


def applied(form: _Form, given: Sequence[Typed]) -> Typed:
    """Apply a function to texts: to constants and categories now, to other texts in the engine."""
    first, *rest = given
    more = [said(t) for t in rest]
    if None not in more:
        mine = said(first)
        if mine is not None:
            return constant(form.python(mine, *more))
        found = each(first, lambda text: form.python(text, *more))
        if found is not None:
            return found
    return Typed(form.gives, form.sql.format(*(words(t) for t in given)))


def words(t: Typed) -> str:
    """Return the SQL of a text; of a category, that of its values."""
    listed = texts(t)
    if listed is not None:
        return looked_up(t.sql, listed)
    if not isinstance(t.kind, Words):
        raise Mismatch
    return t.sql


def said(t: Typed) -> str | None:
    """Return the value of a constant text; None for anything else, a constant date too."""
    return t.constant if isinstance(t.kind, Words) and isinstance(t.constant, str) else None


def text(t: Typed) -> str:
    """Return the value of a constant text."""
    found = said(t)
    if found is None:
        raise Mismatch
    return found


def _plain(form: _Form) -> Rule:
    return lambda given: applied(form, given)


def _trimmed(form: _Form) -> Rule:
    """Cut off plain blanks, or the characters of a constant."""
    return lambda given: applied(
        form, [given[0], constant(text(given[1]) if len(given) > 1 else " ")]
    )


for _name, _form in _ONE.items():
    rule(_name, takes=1, hint=_TEXTS)(_plain(_form))
for _name, _form in _TWO.items():
    rule(_name, takes=2, hint=_TEXTS)(_plain(_form))
for _name, _form in _TRIMS.items():
    rule(_name, takes=(1, 2), hint=_CONSTANTS)(_trimmed(_form))


@rule("substr", takes=(2, 3), hint=f"{_COUNT} The first character is 1.")
def _substr(given: Sequence[Typed]) -> Typed:
    """Return the characters from a place on, or so many from there; none where there are none."""
    start, count = given[1], given[2] if len(given) > 2 else None
    places = [start] if count is None else [start, count]
    if all(t.constant is not None for t in places):
        first, *size = (_whole(t) for t in places)
        begin = max(first, 1) - 1
        end = max(first + size[0] - 1, begin) if size else None
        form = _Form(
            lambda x: x[begin:end],
            f"substring({{}}, {begin + 1}{'' if end is None else f', {end - begin}'})",
        )
        return applied(form, given[:1])
    low, high = (sum(bounds) for bounds in zip(*(_range(t) for t in places), strict=True))
    Number(low, high)  # refuses what could overflow
    begin_sql = f"least(greatest({wide(start)}, 1), {_FAR})"
    if count is None:
        return Typed(Words(), _unless_null(places, f"substring({words(given[0])}, {begin_sql})"))
    size_sql = f"least(greatest({wide(start)} + {wide(count)} - {begin_sql}, 0), {_FAR})"
    sql = f"substring({words(given[0])}, {begin_sql}, {size_sql})"
    return Typed(Words(), _unless_null(places, sql))


@rule("left", takes=2, hint=_COUNT)
def _left(given: Sequence[Typed]) -> Typed:
    return _end(given, "left", lambda x, size: x[:size])


@rule("right", takes=2, hint=_COUNT)
def _right(given: Sequence[Typed]) -> Typed:
    return _end(given, "right", lambda x, size: x[max(len(x) - size, 0) :])


def _end(given: Sequence[Typed], word: str, cut: Callable[[str, int], str]) -> Typed:
    """Return so many characters at one end; none for a number below 0."""
    count = given[1]
    if count.constant is not None:
        size = _whole(count)
        return applied(_Form(lambda x: cut(x, size), f"{word}({{}}, {size})"), given[:1])
    _range(count)
    sql = f"{word}({words(given[0])}, least(greatest({wide(count)}, 0), {_FAR}))"
    return Typed(Words(), _unless_null([count], sql))


@rule(
    "split_part",
    takes=3,
    hint="It takes a text, a separator and which part: split_part(x, '@', 2).",
)
def _split_part(given: Sequence[Typed]) -> Typed:
    """Return the part between two separators, counted from 1; an empty text if there is none."""
    between, place = text(given[1]), _whole(given[2])
    if not between or not 1 <= place <= LONGEST:
        raise Mismatch
    form = _Form(
        lambda x, _: [*x.split(between), *[""] * place][place - 1],
        f"split_part({{}}, {{}}, {place})",
    )
    return applied(form, given[:2])


@rule("replace", takes=3, hint=f"{_CONSTANTS} What is replaced is not empty.")
def _replace(given: Sequence[Typed]) -> Typed:
    """Put one constant text in the place of another, wherever it stands."""
    old, new = text(given[1]), text(given[2])
    if not old:
        raise Mismatch
    if len(new) > len(old) + _GROWTH:
        raise ExpressionError(
            f"a replacement may be longer than what it replaces by {_GROWTH} characters at most: a "
            f"text that grows too much could take all memory. Use a shorter one."
        )
    form = _Form(
        lambda x, *_: x[:LONGEST].replace(old, new)[:LONGEST],
        _cut(f"replace({_cut('{}')}, {{}}, {{}})"),
    )
    return applied(form, given)


@rule("||", takes=(2, 20), hint=_TEXTS)
def _join(given: Sequence[Typed]) -> Typed:
    """Put texts one behind the other; NULL if any is."""
    return _joined(given, skip=False)


@rule("concat", takes=(1, 20), hint=_TEXTS)
def _concat(given: Sequence[Typed]) -> Typed:
    """Put texts one behind the other; what is NULL is left out."""
    return _joined(given, skip=True)


def _joined(given: Sequence[Typed], *, skip: bool) -> Typed:
    written = [words(t) for t in given]  # refuses what is no text, constants too
    lists = [(t.constant,) if isinstance(t.constant, str) else texts(t) for t in given]
    known = [listed for listed in lists if listed is not None]
    sizes = (len(listed) + (t.constant is None) for t, listed in zip(given, known, strict=False))
    if len(known) < len(lists) or prod(sizes) > MOST_VALUES:
        pairs = zip(given, written, strict=True)
        parts = [sql if t.constant is not None else _cut(sql) for t, sql in pairs]
        if skip:
            parts = [f"coalesce({part}, '')" for part in parts]
        return Typed(Words(), _cut(f"({' || '.join(parts)})"))
    code = ""
    for at, t in enumerate(given):
        if t.constant is not None:
            continue
        held = f"coalesce({t.sql}, {len(known[at])})" if skip else t.sql
        known[at] = (*known[at], "") if skip else known[at]  # the last stands for NULL
        # Every combination has one position, as in a number whose digits are the codes.
        code = f"({code} * {len(known[at])} + {held})" if code else f"CAST({held} AS BIGINT)"
    made = ["".join(parts)[:LONGEST] for parts in product(*known)]
    return mapped(Typed(None, code), made) if code else constant(made[0])


def _cut(sql: str) -> str:
    return f"left({sql}, {LONGEST})"


def _whole(t: Typed) -> int:
    """Return a constant from 0 up to where no text reaches."""
    value = number(t)
    if value.denominator != 1 or not 0 <= value <= _FAR:
        raise Mismatch
    return int(value)


def _range(t: Typed) -> tuple[int, int]:
    """Return the bounds of a whole number."""
    kind = numeric(t)
    if kind.step != Fraction(1):
        raise Mismatch
    return kind.low, kind.high


def _unless_null(places: Sequence[Typed], sql: str) -> str:
    """Return NULL where a place is: least and greatest skip it."""
    present = " AND ".join(f"{t.sql} IS NOT NULL" for t in places if t.constant is None)
    return f"(CASE WHEN {present} THEN {sql} END)"
