"""The canonical codec: one value, one text, and nothing else is read."""

import math
from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from hashlib import sha256

import numpy as np
import pytest

from sfumato.core.budget import Budget
from sfumato.core.codec import canonical, decode, digest, encode
from sfumato.core.errors import CodecError
from sfumato.core.loss import Pure
from sfumato.core.schema import Category, Schema, Text
from sfumato.core.unit import Neighbors, Unit


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (0, "0"),
        (-(2**53) + 1, "-9007199254740991"),
        (2**53 - 1, "9007199254740991"),
        (2**53, '{"$q":"9007199254740992/1"}'),
        (-(2**53), '{"$q":"-9007199254740992/1"}'),
        (Fraction(1, 3), '{"$q":"1/3"}'),
        (Fraction(5), '{"$q":"5/1"}'),
        (1.5, '{"$f":"0x1.8000000000000p+0"}'),
        (-0.0, '{"$f":"-0x0.0p+0"}'),
        (math.inf, '{"$f":"inf"}'),
        (-math.inf, '{"$f":"-inf"}'),
        (math.nan, '{"$f":"nan"}'),
        (5e-324, '{"$f":"0x0.0000000000001p-1022"}'),
        ("größe\n\U0001f600", '"gr\\u00f6\\u00dfe\\n\\ud83d\\ude00"'),
        (b"\x00\xff", '{"$b":"00ff"}'),
        ((1, "a"), '{"$t":[1,"a"]}'),
        ([], "[]"),
        ((), '{"$t":[]}'),
        ({"b": 1, "a": [None]}, '{"a":[null],"b":1}'),
        (Neighbors.REPLACE, '"replace"'),
        (
            Budget(epsilon=4),
            '{"$":"Budget","delta":{"$q":"0/1"},"epsilon":{"$q":"4/1"},"rho":null}',
        ),
        (
            Unit.by("größe", max_rows=2),
            '{"$":"Unit","column":"gr\\u00f6\\u00dfe","max_groups":null,"max_rows":2,'
            '"max_rows_per_group":null,"neighbors":"add_remove"}',
        ),
    ],
    ids=repr,
)
def test_encoding_is_fixed(value, text):
    assert encode(value) == text.encode("ascii")
    again = decode(text.encode("ascii"))
    assert again == value or text == '{"$f":"nan"}'
    assert repr(again) == repr(value) or isinstance(value, dict | Enum)


@pytest.mark.parametrize(
    "items",
    [
        [],
        ["a", '\u2028"\\'],
        ["\ud800"],
        ["", ""],
        ['a","b', "c"],
        ['"', '"'],
        ["a\\", "b"],
        ["a\n", "b"],
        ["\x7f", "~"],
        [None, True, "a"],
        [1, True],
        [1, None],
        [1, 2**53 - 1, 1 - 2**53],
        [1, 2**53],
        [-(2**53), 1],
        [10**300],
        [1.5, 1],
        ["a", ("b",)],
        [np.str_("a"), "b"],
    ],
    ids=repr,
)
def test_column_is_written_item_by_item(items):
    """However it is done: as each item would be alone."""
    text = b",".join(map(encode, items))
    assert encode(items) == b"[" + text + b"]"
    assert encode(tuple(items)) == b'{"$t":[' + text + b"]}"
    assert decode(encode(tuple(items))) == tuple(items)
    assert encode(decode(encode(items))) == encode(items)


def test_digest_is_the_hash_of_the_text():
    assert digest([1]) == sha256(b"[1]").hexdigest()


@pytest.mark.parametrize("number", [2**53 - 1, 2**53, 2**53 + 1, 2**64, 10**1000])
def test_integers_stay_integers(number):
    for signed in (number, -number):
        again = decode(encode(signed))
        assert again == signed
        assert type(again) is int


def test_equal_numbers_beyond_a_double_share_a_text():
    assert encode(Fraction(2**53)) == encode(2**53)
    assert encode(Fraction(5)) != encode(5)


Pair = namedtuple("Pair", "a b")


class Color(Enum):
    RED = 1


@dataclass(frozen=True)
class Stranger:
    a: int


@pytest.mark.parametrize(
    "value",
    [
        Decimal(1),
        1j,
        {1, 2},
        object(),
        Color.RED,
        Stranger(1),
        Stranger,
        np.int64(1),
        np.bool_(True),
        np.arange(3),
        {1: 2},
        {"$": "Pure"},
        {"$q": "1/2"},
        {"$x": 1},
        [{"a": (Decimal(1),)}],
    ],
    ids=lambda value: type(value).__name__,
)
def test_encode_refuses_what_has_no_canonical_form(value):
    with pytest.raises(CodecError, match="canonical form"):
        encode(value)


def test_encode_refuses_an_impostor_of_a_registered_class():
    @dataclass(frozen=True)
    class Pure:
        epsilon: int

    with pytest.raises(CodecError, match="Pure has no canonical form"):
        encode(Pure(1))


def test_encode_refuses_numbers_that_python_does_not_write():
    for number in (10**5000, Fraction(1, 10**5000)):
        with pytest.raises(CodecError, match="digits"):
            encode({"a": number})


@pytest.mark.parametrize(
    "wrapped", [lambda v: [v], lambda v: (v,), lambda v: {"a": v}], ids=["list", "tuple", "dict"]
)
def test_encode_takes_two_calls_for_each_level(wrapped):
    """As deep as plans may be, from wherever they are asked."""
    value = None
    for _ in range(400):
        value = wrapped(value)
    assert encode(value).count(b"null") == 1


def test_encode_refuses_bottomless_nesting():
    value = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(CodecError, match="nested"):
        encode(value)
    loop = []
    loop.append(loop)
    with pytest.raises(CodecError, match="nested"):
        encode(loop)


@pytest.mark.parametrize("depth", [*range(100, 1000, 9), 100_000])
@pytest.mark.parametrize("shape", [(b"[", b"]"), (b'{"$t":[', b"]}"), (b'{"a":', b"}")])
def test_decode_reads_nested_text_or_refuses_it(shape, depth):
    text = shape[0] * depth + b"1" + shape[1] * depth
    try:
        assert encode(decode(text)) == text
    except CodecError as problem:
        assert depth > 200, problem


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b" ",
        b"1 ",
        b" 1",
        b"\n1",
        b"\xef\xbb\xbf1",
        b"1\x00",
        b"[1, 2]",
        b"[1,]",
        b'{"b":1,"a":2}',
        b'{"a":1,"a":1}',
        b'{"a":1,"a":2}',
        b"01",
        b"-0",
        b"+1",
        b"1.0",
        b"1e3",
        b"NaN",
        b"Infinity",
        b"-Infinity",
        b"9007199254740992",
        b"-9007199254740992",
        b"9" * 5000,
        b'"\xc3\xb6"',
        "ö".encode("utf-16"),
        b'"\\u0061"',
        b'"\\u00F6"',
        b'"\\/"',
        b"'a'",
        b"True",
        b"None",
        b"undefined",
        b'{"$q":"2/4"}',
        b'{"$q":"1/-2"}',
        b'{"$q":"+1/2"}',
        b'{"$q":"01/2"}',
        b'{"$q":"-0/1"}',
        b'{"$q":"1/0"}',
        b'{"$q":"0/0"}',
        b'{"$q":"1"}',
        b'{"$q":" 1/2"}',
        b'{"$q":"1_0/3"}',
        b'{"$q":1}',
        b'{"$q":null}',
        b'{"$q":["1/2"]}',
        '{"$q":"\u0661/2"}'.encode(),
        b'{"$q":"\\u0661/2"}',
        b'{"$q":"1/' + b"3" * 5000 + b'"}',
        b'{"$q":"1/3","a":1}',
        b'{"$f":"1.5"}',
        b'{"$f":"0x1.8p+0"}',
        b'{"$f":"0X1.8000000000000P+0"}',
        b'{"$f":"0x1p99999"}',
        b'{"$f":"infinity"}',
        b'{"$f":"+inf"}',
        b'{"$f":"-nan"}',
        b'{"$f":1}',
        b'{"$f":"x"}',
        b'{"$b":"0"}',
        b'{"$b":"0F"}',
        b'{"$b":"00 ff"}',
        b'{"$b":"zz"}',
        b'{"$b":[]}',
        b'{"$t":"ab"}',
        b'{"$t":{"a":1}}',
        b'{"$t":5}',
        b'{"$t":null}',
        b'{"$t":[],"$q":"1/2"}',
        b'{"$x":1}',
        b'{"$":null}',
        b'{"$":[]}',
        b'{"$":{}}',
        b'{"$":5}',
        b'{"$":"Pure"}',
        b'{"$":"Pure","epsilon":1,"neighbors":"add_remove"}',
        b'{"$":"Pure","epsilon":{"$q":"-1/1"},"neighbors":"add_remove"}',
        b'{"$":"Pure","epsilon":{"$q":"1/1"}}',
        b'{"$":"Pure","epsilon":{"$q":"1/1"},"neighbors":"bounded"}',
        b'{"$":"Pure","epsilon":{"$q":"1/1"},"neighbors":"add_remove","x":1}',
        b'{"$":"Pure","$x":1,"epsilon":{"$q":"1/1"},"neighbors":"add_remove"}',
        b'{"$":"Category","nullable":false,"values":["A"]}',
        b'{"$":"Category","nullable":0,"values":{"$t":["A"]}}',
        b'{"$":"Schema","columns":5}',
        b'{"$":"Schema","columns":{"$t":[1,2]}}',
        b'{"$":"Schema","columns":{"$t":[{"$t":["a",1]}]}}',
        b'{"$":"Loss","neighbors":"add_remove"}',
        b'{"$":"object"}',
        b'{"$":"int"}',
    ],
    ids=lambda text: repr(text[:50]),
)
def test_decode_refuses_every_other_text(text):
    with pytest.raises(CodecError):
        decode(text)


@pytest.mark.parametrize("data", ["1", None, 5, [b"1"]])
def test_decode_refuses_what_is_not_bytes(data):
    with pytest.raises(CodecError):
        decode(data)


def test_decode_takes_any_bytes():
    assert decode(bytearray(b"[1]")) == decode(memoryview(b"[1]")) == [1]


def test_decode_says_that_a_type_is_not_known():
    with pytest.raises(CodecError, match="type 'Teapot' is not known here"):
        decode(b'{"$":"Teapot"}')


def test_refusal_to_decode_quotes_none_of_the_bytes():
    for text in (b'"4711', b'{"$q":"4711"}', b"4711.0", b"[4711, 1]"):
        with pytest.raises(CodecError) as caught:
            decode(text)
        assert "4711" not in str(caught.value)


def test_values_of_numpy_and_names_that_are_their_python_kind_pass():
    assert encode(np.float64(1.5)) == encode(1.5)
    assert encode(np.str_("a")) == encode("a")
    assert decode(encode(Pair(1, 2))) == (1, 2)


def test_lone_surrogates_survive():
    assert decode(encode("\ud800")) == "\ud800"


def test_schema_survives_with_any_names():
    schema = Schema({"columns": Text(), "$": Text(), "größe": Category(["ä", "\u2028", 3])})
    assert decode(encode(schema)) == schema


def test_a_name_in_the_format_cannot_be_taken_over():
    with pytest.raises(CodecError, match=r"'Pure' already means sfumato\.core\.loss\.Pure"):
        canonical(type("Pure", (), {}))
    assert decode(encode(Pure(1))) == Pure(1)


def test_a_class_may_be_registered_again_when_its_module_is_loaded_again():
    again = type("Budget", (), {"__module__": Budget.__module__})
    try:
        assert canonical(again) is again
    finally:
        canonical(Budget)
    assert decode(encode(Budget(epsilon=1))) == Budget(epsilon=1)
