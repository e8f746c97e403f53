"""What holds for all numbers, units, schemas, sensitivities, losses and texts."""

import json
import string
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from math import factorial, isqrt
from operator import add, mul, sub, truediv

import pytest
from hypothesis import assume, given, note
from hypothesis import strategies as st

from sfumato.core import codec
from sfumato.core.budget import Budget
from sfumato.core.codec import decode, digest, encode
from sfumato.core.errors import CodecError, NeighborsError, SfumatoError
from sfumato.core.interval import Interval
from sfumato.core.loss import (
    Approximate,
    BoundedRange,
    Composed,
    Concentrated,
    GaussianShift,
    GaussianTradeoff,
    LaplaceShift,
    LaplaceTradeoff,
    PoissonSampled,
    Pure,
    Renyi,
    Worst,
)
from sfumato.core.number import exact, show
from sfumato.core.schema import Boolean, Category, Date, Integer, Real, Schema, Text, Timestamp
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Unit

# Values.

NEIGHBORS = st.sampled_from(["add_remove", "replace"])
NAMES = st.text(min_size=1, max_size=8)
RATIONALS = st.builds(Fraction, st.integers(0, 10**15), st.integers(1, 10**9))
POSITIVE = st.builds(Fraction, st.integers(1, 10**15), st.integers(1, 10**9))
PROBABILITIES = st.builds(Fraction, st.integers(0, 10**9), st.integers(10**9 + 1, 10**10))
COUNTS = st.integers(1, 2**31 - 1)
NULLABLE = st.booleans()


@st.composite
def budgets(draw):
    if draw(st.booleans()):
        return Budget(rho=draw(POSITIVE))
    return Budget(epsilon=draw(POSITIVE), delta=draw(PROBABILITIES))


@st.composite
def units(draw):
    neighbors = draw(NEIGHBORS)
    kind = draw(st.sampled_from(["row", "rows", "rows of a column", "groups of a column"]))
    if kind == "row":
        return Unit.row(neighbors=neighbors)
    if kind == "rows":
        return Unit.rows(draw(COUNTS), neighbors=neighbors)
    bought = COUNTS | st.just("auto")
    if kind == "rows of a column":
        caps = {
            "max_rows": draw(bought),
            "max_groups": draw(bought | st.none()),
            "max_rows_per_group": draw(COUNTS | st.none()),
        }
    else:
        caps = {"max_groups": draw(bought), "max_rows_per_group": draw(COUNTS)}
    return Unit.by(draw(NAMES), neighbors=neighbors, **caps)


def ordered(bounds):
    return st.tuples(bounds, bounds).map(sorted).filter(lambda b: b[0] != b[1])


@st.composite
def reals(draw):
    step = draw(POSITIVE)
    low, high = draw(ordered(st.integers(-(2**62), 2**62)))
    return Real(low * step, high * step, step, nullable=draw(NULLABLE))


COLUMNS = {
    Integer: st.builds(
        lambda b, n: Integer(*b, nullable=n), ordered(st.integers(-(2**62), 2**62)), NULLABLE
    ),
    Real: reals(),
    Category: st.builds(
        lambda v, n: Category(v, nullable=n),
        st.lists(st.text(max_size=5) | st.integers(), min_size=1, max_size=5, unique=True),
        NULLABLE,
    ),
    Boolean: st.builds(Boolean, nullable=NULLABLE),
    Date: st.builds(lambda b, n: Date(*b, nullable=n), ordered(st.dates()), NULLABLE),
    Timestamp: st.builds(
        lambda b, n: Timestamp(*b, step=Fraction(1, 10**6), nullable=n),
        ordered(st.datetimes()),
        NULLABLE,
    ),
    Text: st.builds(Text, nullable=NULLABLE),
}
SCHEMAS = st.dictionaries(NAMES, st.one_of(*COLUMNS.values()), max_size=5).map(Schema)


@st.composite
def sensitivities(draw):
    norms = {
        "l0": draw(st.none() | st.integers(0, 1000)),
        "l1": draw(st.none() | RATIONALS),
        "l2_squared": draw(st.none() | RATIONALS),
        "linf": draw(st.none() | RATIONALS),
    }
    assume(any(norms[name] is not None for name in ("l1", "l2_squared", "linf")))
    return Sensitivity(**norms, neighbors=draw(NEIGHBORS))


CURVES = st.dictionaries(POSITIVE.map(lambda order: order + 1), RATIONALS, min_size=1).map(
    lambda curve: tuple(sorted(curve.items()))
)


def simple_losses(neighbors):
    here = {"neighbors": st.just(neighbors)}
    shifts = st.integers(1, 1000)
    return {
        Pure: st.builds(Pure, RATIONALS, **here),
        Approximate: st.builds(Approximate, RATIONALS, PROBABILITIES, **here),
        Concentrated: st.builds(Concentrated, RATIONALS, **here),
        BoundedRange: st.builds(BoundedRange, RATIONALS, **here),
        LaplaceShift: st.builds(LaplaceShift, POSITIVE, shifts, shifts, **here),
        GaussianShift: st.builds(GaussianShift, POSITIVE, RATIONALS, st.booleans(), **here),
        LaplaceTradeoff: st.builds(LaplaceTradeoff, RATIONALS, **here),
        GaussianTradeoff: st.builds(GaussianTradeoff, RATIONALS, **here),
        Renyi: st.builds(Renyi, CURVES, **here),
    }


def losses(neighbors="add_remove", *, nothing=True):
    """Few different ones, so that parts meet their equals; compositions of compositions too."""
    leaves = st.one_of(*simple_losses(neighbors).values()) | st.sampled_from(
        [Pure(1, neighbors=neighbors), Concentrated(Fraction(1, 2), neighbors=neighbors)]
    )

    def larger(inner):
        few = st.lists(inner, min_size=0 if nothing else 1, max_size=4)
        return st.builds(
            lambda parts, times: Composed.of(parts, times=times),
            few,
            st.integers(0 if nothing else 1, 3),
        ) | st.builds(
            lambda parts, touched: Worst.of(parts, touched=touched), few, st.integers(1, 3)
        )

    return st.recursive(leaves, larger, max_leaves=8)


def of_class(kind, strategy):
    return strategy.filter(lambda value: type(value) is kind)


REGISTERED = {
    Budget: budgets(),
    Unit: units(),
    **COLUMNS,
    Schema: SCHEMAS,
    Sensitivity: sensitivities(),
    **simple_losses("replace"),
    PoissonSampled: st.builds(PoissonSampled, losses(nothing=False), PROBABILITIES),
    Composed: of_class(Composed, losses("replace", nothing=False)),
    Worst: of_class(
        Worst,
        st.builds(
            lambda parts, touched: Worst.of(parts, touched=touched),
            st.lists(losses(nothing=False), min_size=2, max_size=5),
            st.integers(1, 4),
        ),
    ),
}
OBJECTS = st.one_of(*REGISTERED.values())
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(2**53 - 2, 2**53 + 2)
    | st.integers(-(2**53) - 2, -(2**53) + 2)
    | st.fractions()
    | st.floats()
    | st.text(max_size=10)
    | st.binary(max_size=10)
    | OBJECTS
)
PLAIN_KEYS = st.text(max_size=5).filter(lambda key: not key.startswith("$"))
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(PLAIN_KEYS, inner, max_size=4)
    ),
    max_leaves=12,
)


# Codec.


def test_every_class_of_the_core_has_a_strategy():
    core = {c for c in codec._registry.values() if c.__module__.startswith("sfumato.core.")}
    assert core == set(REGISTERED)


@pytest.mark.parametrize("kind", REGISTERED, ids=lambda kind: kind.__name__)
def test_codec_brings_back_every_object(kind):
    @given(REGISTERED[kind])
    def comes_back(value):
        assert type(value) is kind
        again = decode(encode(value))
        assert again == value
        assert type(again) is kind
        assert hash(again) == hash(value)
        assert digest(again) == digest(value)

    comes_back()


@given(VALUES)
def test_codec_brings_back_every_value(value):
    text = encode(value)
    again = decode(text)
    assert encode(again) == text
    assert type(again) is type(value) or isinstance(value, Fraction)
    if b'{"$f":"nan"}' not in text:
        assert again == value


@given(st.lists(st.text(st.sampled_from('a ",\\\n\x7fé')), min_size=1) | st.lists(st.integers()))
def test_columns_are_compact_json(items):
    if all(isinstance(item, str) or abs(item) < 2**53 for item in items):
        assert encode(items).decode("ascii") == json.dumps(items, separators=(",", ":"))


@given(st.dictionaries(PLAIN_KEYS, st.integers(), min_size=2, max_size=6), st.randoms())
def test_codec_writes_one_text_whatever_the_order_of_a_dictionary(value, random):
    keys = list(value)
    random.shuffle(keys)
    assert encode({key: value[key] for key in keys}) == encode(value)


def read_or_refused(text, value):
    """Check that a text other than `value`'s is refused, or is the one text of another value."""
    try:
        other = decode(text)
    except CodecError:
        return
    note(text)
    assert encode(other) == text
    assert other != value


@given(OBJECTS, st.data())
def test_codec_refuses_changed_bytes_or_reads_another_value(value, data):
    text = bytearray(encode(value))
    place = data.draw(st.integers(0, len(text) - 1))
    change = data.draw(st.sampled_from(["flip", "cut", "insert", "double", "end", "swap"]))
    if change == "flip":
        text[place] ^= 1 << data.draw(st.integers(0, 7))
    elif change == "cut":
        del text[place]
    elif change == "insert":
        text[place:place] = data.draw(st.sampled_from(string.printable)).encode()
    elif change == "double":
        text[place:place] = text[place : place + data.draw(st.integers(1, 40))]
    elif change == "end":
        del text[place:]
    else:
        text[place], text[-place - 1] = text[-place - 1], text[place]
    assume(bytes(text) != encode(value))
    read_or_refused(bytes(text), value)


def scalars(node, path=()):
    """Yield the path of every node that holds no other."""
    if isinstance(node, dict | list):
        for key in node if isinstance(node, dict) else range(len(node)):
            yield from scalars(node[key], (*path, key))
    else:
        yield path


@given(OBJECTS, st.data())
def test_codec_refuses_a_changed_field_or_reads_another_value(value, data):
    tree = json.loads(encode(value))
    *way, last = data.draw(st.sampled_from(sorted(scalars(tree), key=repr)))
    node = reduce(lambda inner, key: inner[key], way, tree)
    junk = (
        st.none()
        | st.booleans()
        | st.integers(-3, 3)
        | st.sampled_from(["", "add_remove", "replace", "Pure", "Budget", "1/1", "0/1", "2/2"])
        | st.sampled_from(
            [{"$q": "1/1"}, {"$q": "-1/1"}, {"$t": []}, {"$t": [1]}, [], {}, {"a": 1}]
        )
        | st.sampled_from([{"$f": "nan"}, {"$f": "0x1.0000000000000p+0"}, {"$b": "00"}])
    )
    node[last] = data.draw(junk)
    text = json.dumps(tree, sort_keys=True, separators=(",", ":")).encode()
    assume(text != encode(value))
    read_or_refused(text, value)


@given(OBJECTS, st.data())
def test_codec_refuses_missing_and_additional_fields(value, data):
    tree = json.loads(encode(value))
    if data.draw(st.booleans()):
        del tree[data.draw(st.sampled_from(sorted(tree.keys() - {"$"})))]
    else:
        tree[data.draw(NAMES.filter(lambda name: name not in tree))] = data.draw(st.integers())
    with pytest.raises(CodecError):
        decode(json.dumps(tree, sort_keys=True, separators=(",", ":")).encode())


@given(st.binary(max_size=60) | st.text(string.printable, max_size=60).map(str.encode))
def test_codec_never_fails_otherwise(data):
    with suppress(CodecError):
        assert encode(decode(data)) == data


# Numbers.


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_means_its_shortest_literal(number):
    meant = exact(number)
    assert float(meant) == number
    assert meant == Fraction(repr(number))


@given(st.fractions())
def test_a_written_rational_is_that_rational(number):
    assert exact(f"{number.numerator}/{number.denominator}") == number
    assert exact(number) == number


@given(st.decimals(allow_nan=False, allow_infinity=False, places=20))
def test_a_decimal_is_itself(number):
    assert exact(number) == exact(str(number)) == Fraction(number)


@given(st.text(max_size=12) | st.text("0123456789+-./eE_ ", max_size=12))
def test_a_text_is_read_as_python_reads_it_or_refused(text):
    try:
        number = exact(text)
    except SfumatoError:
        return
    assert number == Fraction(text)
    assert set(text) <= set("0123456789+-./eE ")


@given(
    st.fractions()
    | st.builds(mul, st.fractions(), st.integers(-1000, 1000).map(lambda e: Fraction(10) ** e))
)
def test_show_is_close_and_short(number):
    text = show(number)
    assert len(text) <= 20
    if text.startswith("about "):
        sign, _, power = text.removeprefix("about ").partition("10^")
        assert Fraction(1, 10) < abs(number) / Fraction(10) ** int(power) < 10
        assert (sign == "-") == (number < 0)
    else:
        assert abs(exact(text) - number) <= abs(number) * Fraction(1, 10**5)


# Units.


@given(units())
def test_repr_of_a_unit_can_be_typed(unit):
    assert eval(repr(unit), {"Unit": Unit}) == unit  # noqa: S307 (our own repr)


@given(SCHEMAS)
def test_repr_of_a_schema_can_be_typed(schema):
    names = {kind.__name__: kind for kind in (*COLUMNS, Schema, Fraction)}
    assert eval(repr(schema), names) == schema  # noqa: S307 (our own repr)


# Sensitivities.

CHANGES = st.lists(st.integers(-20, 20) | st.integers(-(2**31), 2**31), min_size=1, max_size=8)
SLACK = st.just(Fraction(1)) | st.fractions(1, 3, max_denominator=8)


def true_norms(change):
    sizes = [abs(Fraction(c)) for c in change]
    return {
        "l0": Fraction(sum(1 for s in sizes if s)),
        "l1": sum(sizes),
        "l2_squared": sum(s * s for s in sizes),
        "linf": max(sizes),
    }


@given(CHANGES, st.integers(1, 10**40), st.data())
def test_completed_norms_bound_every_change_that_the_given_ones_bound(change, divisor, data):
    true = true_norms([Fraction(c, divisor) for c in change])
    names = data.draw(st.sets(st.sampled_from(sorted(true)), min_size=1))
    assume(names != {"l0"})
    slack = {name: data.draw(SLACK) for name in names}
    told = {name: true[name] * slack[name] for name in names}
    if "l0" in told:
        told["l0"] = -(-told["l0"] // 1)
    if "l2_squared" in told and data.draw(st.booleans()):
        root = isqrt(int(-(-told.pop("l2_squared") * 10**90 // 1))) + 1
        told["l2"] = Fraction(root, 10**45)
    completed = Sensitivity(**told)
    for name, bound in true.items():
        assert getattr(completed, name) is None or getattr(completed, name) >= bound
    for name, bound in told.items():
        if name != "l2":
            assert getattr(completed, name) <= bound


@given(sensitivities())
def test_completing_twice_changes_nothing(s):
    again = Sensitivity(
        l0=s.l0, l1=s.l1, l2_squared=s.l2_squared, linf=s.linf, neighbors=s.neighbors
    )
    assert again == s


@given(
    st.fractions(0, 1000, max_denominator=10**6),
    st.integers(1, 10**60),
    st.integers(1, 100),
)
def test_completing_twice_changes_nothing_however_small_the_norms(square, divisor, l0):
    s = Sensitivity(l0=l0, l2_squared=square / divisor)
    again = Sensitivity(l0=s.l0, l1=s.l1, l2_squared=s.l2_squared, linf=s.linf)
    assert again == s
    assert s.linf <= s.l1


@given(sensitivities(), st.fractions(1, 5, max_denominator=7))
def test_larger_norms_never_complete_to_smaller_ones(s, factor):
    larger = Sensitivity(
        l0=s.l0,
        l1=None if s.l1 is None else s.l1 * factor,
        l2_squared=None if s.l2_squared is None else s.l2_squared * factor**2,
        linf=s.linf * factor,
    )
    for name in ("l0", "l1", "l2_squared", "linf"):
        if getattr(s, name) is not None:
            assert getattr(larger, name) >= getattr(s, name)


# Intervals.

NUMBERS = st.fractions(-(10**6), 10**6, max_denominator=10**6) | st.fractions()
DIGITS = st.integers(3, 60)


def ends(interval):
    return Fraction(interval.low), Fraction(interval.high)


def encloses(interval, number):
    low, high = ends(interval)
    return low <= number <= high


@given(NUMBERS, NUMBERS, DIGITS, st.sampled_from([add, sub, mul, truediv]))
def test_arithmetic_encloses_the_exact_result(a, b, digits, operation):
    assume(operation is not truediv or b)
    result = operation(Interval.of(a, digits), Interval.of(b, digits))
    assert encloses(result, operation(a, b))
    assert encloses(operation(Interval.of(a, digits), b), operation(a, b))
    assert encloses(operation(a, Interval.of(b, digits)), operation(a, b))
    assert encloses(-Interval.of(a, digits), -a)


@given(NUMBERS, st.fractions(0, 10), NUMBERS, st.fractions(0, 10), DIGITS, st.data())
def test_arithmetic_encloses_all_that_wide_intervals_hold(a, wa, b, wb, digits, data):
    left = Interval(Interval.of(a, digits).low, Interval.of(a + wa, digits).high, digits)
    right = Interval(Interval.of(b, digits).low, Interval.of(b + wb, digits).high, digits)
    x = a + wa * data.draw(st.fractions(0, 1, max_denominator=8))
    y = b + wb * data.draw(st.fractions(0, 1, max_denominator=8))
    for operation in (add, sub, mul):
        assert encloses(operation(left, right), operation(x, y))
    if not right.low <= 0 <= right.high:
        assert encloses(left / right, x / y)


def exponential(x, terms):
    """Enclose e^x in rationals by its series; the rest is less than twice the next term."""
    total = sum(x**k / Fraction(factorial(k)) for k in range(terms))
    rest = 2 * abs(x) ** terms / Fraction(factorial(terms))
    assert terms > 2 * abs(x)
    return total - rest, total + rest


@given(st.fractions(-20, 20, max_denominator=50), st.integers(5, 40))
def test_exponential_encloses_its_series(x, digits):
    low, high = ends(Interval.of(x, digits).exp())
    series_low, series_high = exponential(x, 140)
    assert low <= series_low
    assert series_high <= high
    assert high - low <= high * Fraction(1, 10 ** (digits - 4))  # and not by much


@given(st.fractions(Fraction(1, 1000), 1000, max_denominator=1000), st.integers(5, 30))
def test_logarithm_encloses_the_inverse_of_the_series(x, digits):
    low, high = ends(Interval.of(x, digits).log())
    assert exponential(low, 70)[0] <= x
    assert exponential(high, 70)[1] >= x
    assert high - low <= Fraction(1, 10 ** (digits - 5))


@given(st.fractions(0, 10**9) | st.fractions(0, Fraction(1, 10**9)), DIGITS)
def test_square_root_encloses(x, digits):
    low, high = ends(Interval.of(x, digits).sqrt())
    assert low >= 0
    assert low**2 <= x <= high**2
    assert high - low <= high * Fraction(1, 10 ** (digits - 3))


@given(st.fractions(-300, 300), st.integers(3, 25))
def test_more_digits_lie_within_fewer(x, digits):
    functions = [Interval.exp, lambda i: i * i / 3] + [Interval.log, Interval.sqrt] * (x > 0)
    for function in functions:
        # Both enclose, and the coarse one rounds what the fine one knows.
        coarse, fine = function(Interval.of(x, digits)), function(Interval.of(x, digits + 30))
        assert ends(coarse)[0] <= ends(fine)[0]
        assert ends(fine)[1] <= ends(coarse)[1]
        assert fine.high - fine.low <= coarse.high - coarse.low


@given(st.fractions(-50, 50), st.fractions(0, 5), st.fractions(0, 5), st.integers(3, 25))
def test_wider_in_is_wider_out(x, below, above, digits):
    narrow = Interval.of(x, digits)
    wide = Interval(Interval.of(x - below, digits).low, Interval.of(x + above, digits).high, digits)
    functions = [Interval.exp, lambda i: i * i, lambda i: 1 - i, lambda i: i * Fraction(-1, 3)]
    functions += [Interval.log, Interval.sqrt, lambda i: 1 / i] * (x - below > 0)
    for function in functions:
        assert function(wide).low <= function(narrow).low
        assert function(narrow).high <= function(wide).high


@given(st.fractions(-1000, 1000), st.integers(0, 80), DIGITS)
def test_fixed_point_encloses(x, bits, digits):
    interval = Interval.of(x, digits).exp() if x < 100 else Interval.of(x, digits)
    low, high = ends(interval)
    assert interval.floor_fixed(bits) == low * 2**bits // 1
    assert interval.ceil_fixed(bits) == -(-high * 2**bits // 1)


# Losses.


@given(st.lists(losses(), max_size=6), st.randoms())
def test_composition_is_free_of_order(parts, random):
    shuffled = parts.copy()
    random.shuffle(shuffled)
    one, other = Composed.of(parts), Composed.of(shuffled)
    assert one == other
    assert hash(one) == hash(other)
    assert encode(one) == encode(other)
    assert digest(one) == digest(other)


@given(losses(), losses(), losses())
def test_composition_is_associative_and_commutative(a, b, c):
    assert (a + b) + c == a + (b + c) == Composed.of([a, b, c])
    assert a + b == b + a
    assert digest((a + b) + c) == digest(c + (b + a))


@given(losses(), st.integers(0, 4), st.integers(0, 4))
def test_composition_with_itself_counts(loss, m, n):
    assert loss * (m + n) == loss * m + loss * n
    assert loss * (m * n) == (loss * m) * n == (loss * n) * m
    assert loss * m == Composed.of([loss] * m) if m else (loss * m).parts == ()
    assert loss * 1 == loss == loss + loss * 0


@given(losses(), losses(), st.integers(0, 4))
def test_composition_distributes(a, b, n):
    assert (a + b) * n == a * n + b * n


@given(losses("add_remove", nothing=False), losses("replace", nothing=False))
def test_composition_never_mixes_relations(a, b):
    for compose in (
        lambda: a + b,
        lambda: b + a,
        lambda: Composed.of([a, b], times=0),
        lambda: Worst.of([a, b, a], touched=2),
    ):
        with pytest.raises(NeighborsError):
            compose()


@given(losses("replace", nothing=False), losses("replace", nothing=False))
def test_composition_keeps_the_relation(a, b):
    assert (a + b).neighbors == (a * 0).neighbors == "replace"
    assert Worst.of([a, b], touched=1).neighbors == "replace"


@given(st.lists(losses(), min_size=1, max_size=6), st.integers(1, 7), st.randoms())
def test_worst_is_free_of_order_and_all_when_all_are_touched(parts, touched, random):
    shuffled = parts.copy()
    random.shuffle(shuffled)
    worst = Worst.of(parts, touched=touched)
    assert worst == Worst.of(shuffled, touched=touched)
    assert digest(worst) == digest(Worst.of(shuffled, touched=touched))
    if touched >= len(parts):
        assert worst == Composed.of(parts)
    else:
        assert sum(count for _, count in worst.parts) == len(parts)


@given(st.lists(losses(), min_size=1, max_size=4), st.lists(losses(), min_size=1, max_size=4))
def test_compositions_are_equal_if_and_only_if_their_digests_are(some, others):
    one, other = Composed.of(some), Composed.of(others)
    assert (one == other) == (digest(one) == digest(other))


@given(st.fractions(0, 1), st.integers(1, 40))
def test_decimal_ends_are_exact_rationals(x, digits):
    interval = Interval.of(x, digits)
    assert isinstance(interval.low, Decimal)
    assert Fraction(interval.low) <= x <= Fraction(interval.high)
