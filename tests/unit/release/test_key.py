"""Key columns: their one form, checked once, and their order."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.core.codec import decode, encode
from sfumato.core.errors import InputError
from sfumato.core.loss import Pure
from sfumato.release import Release
from sfumato.release.key import Column, in_order, key_columns

# Few characters and lengths about seven bytes, where a comparison goes on to the next bytes.
TEXTS = st.text(st.sampled_from("\0ab\x7fé\uffff\U0001f600"), max_size=16) | st.sampled_from(
    ["a" * n for n in (6, 7, 8, 14, 15)] + ["a" * 7 + "\0", "a" * 6 + "\0", "a" * 14 + "\0"]
)
NUMBERS = st.sampled_from([-(2**63), -1, 0, 8, 24, 2**63 - 1])


@settings(deadline=None)
@given(st.data(), st.integers(0, 12), st.lists(st.booleans(), min_size=1, max_size=3))
def test_order_is_that_of_python(data, size, texts):
    cells = [
        data.draw(st.lists(TEXTS if text else NUMBERS, min_size=size, max_size=size))
        for text in texts
    ]
    kinds = [
        data.draw(st.sampled_from([pa.string(), pa.large_string()])) if text else pa.int64()
        for text in texts
    ]
    cut = data.draw(st.none() | st.integers(0, size))
    columns = [pa.array(column, kind) for column, kind in zip(cells, kinds, strict=True)]
    if cut is not None:
        columns = [pa.chunked_array([c[:cut], c[cut:]], c.type) for c in columns]
    order = in_order(columns).tolist()
    rows = list(zip(*cells, strict=True))
    assert sorted(order) == list(range(size))
    assert [rows[i] for i in order] == sorted(rows)


def test_order_of_part_of_a_column():
    whole = pa.array(["x", "c", "b", "a", "y"])
    assert in_order([whole[1:4]]).tolist() == [2, 1, 0]
    assert in_order([pa.chunked_array([], pa.string())]).tolist() == []


@pytest.mark.parametrize("prefix", ["", "key ", "https://example.org/", "é" * 9])
def test_order_of_many(prefix):
    names = [f"{prefix}{i}" for i in range(0, 3000, 7)][::-1]
    order = in_order([pa.array(names)])
    assert [names[i] for i in order] == sorted(names)


def test_keys_are_checked_once():
    [(_, column)] = key_columns({"word": ["a", None, "b"]})
    assert type(column) is Column
    assert column == ("a", None, "b")
    assert repr(column) == "('a', None, 'b')"
    [(_, again)] = key_columns((("word", column),))
    assert again is column
    assert type(column[:2]) is tuple  # what is made of it is checked again


@pytest.mark.parametrize(
    "keys",
    [["a", "\ud800"], ["\udfff"], ["\ud83d", "\ude00"], ["a", 1], [1, "a"], [True, 1], [1.5]],
)
def test_keys_that_do_not_go_together_are_refused(keys):
    with pytest.raises(InputError):
        key_columns({"word": keys})


@pytest.mark.parametrize("keys", [[], ["a"], ["a", None], [None], [1, 2**70], [True, None], [""]])
def test_keys_survive(keys):
    values = np.arange(len(keys))
    release = Release.of(values=values, error=None, cost=Pure(1), mechanism="M", keys={"k": keys})
    assert release.keys == (("k", tuple(keys)),)
    again = decode(encode(release))
    assert again == release
    assert again.keys == release.keys
    assert encode(again) == encode(release)
