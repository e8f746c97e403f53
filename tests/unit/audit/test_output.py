"""Outputs of any kind have a canonical form, and their numbers are found."""

from collections import deque
from dataclasses import dataclass
from math import isnan, nan

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.audit.output import Raised, atom, canonical, numbers, parts

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.binary() | st.fractions(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def same(a, b):
    """Equality that knows True from 1."""
    if type(a) is not type(b):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return a == b


@given(PLAIN, PLAIN)
def test_canonical_form_is_equal_for_equal_outputs_only(a, b):
    assert (canonical(a) == canonical(b)) == same(a, b)


@given(PLAIN)
def test_canonical_form_of_a_copy_is_the_same(a):
    assert canonical([a, a]) == canonical([a] * 2)
    assert atom(a) == atom(a)
    assert 0 <= atom(a) < 2**64


def test_canonical_form_knows_the_floats_that_equality_does_not():
    assert canonical(nan) == canonical(float("nan"))
    assert canonical(0.0) != canonical(-0.0)
    assert canonical(1) != canonical(1.0)


def test_canonical_form_ignores_the_order_of_keys_but_parts_do_not():
    one, other = {"a": 1, "b": 2}, {"b": 2, "a": 1}
    assert canonical(one) == canonical(other)
    assert dict(parts(one))["set of keys"] == dict(parts(other))["set of keys"]
    assert dict(parts(one))["order of keys"] != dict(parts(other))["order of keys"]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_canonical_form_of_a_table_sees_every_row(make):
    rows = list(range(500))  # the middle of a long table is left out of its repr
    changed = [*rows[:250], -1, *rows[251:]]
    assert canonical(make({"n": rows})) == canonical(make({"n": rows}))
    assert canonical(make({"n": rows})) != canonical(make({"n": changed}))
    assert dict(numbers(make({"n": [7]})))["n[0]"] == 7


def test_canonical_form_of_arrays_sees_dtype_and_shape():
    flat = np.arange(4)
    assert canonical(flat) == canonical(flat.copy())
    assert canonical(flat) != canonical(flat.reshape(2, 2))
    assert canonical(flat) != canonical(flat.astype(np.float64))
    assert canonical(np.float64(0.5)) == canonical(0.5)
    assert canonical(np.array([None, "a"], object)) == canonical([None, "a"])


def test_addresses_are_not_outputs():
    assert canonical(object()) == canonical(object())
    assert Raised.of(ValueError(f"bad {object()}")) == Raised.of(ValueError(f"bad {object()}"))


def test_an_error_is_its_type_and_its_text():
    assert canonical(Raised.of(KeyError("bob"))) == canonical(Raised("KeyError", "'bob'"))
    assert canonical(Raised("KeyError", "'bob'")) != canonical(Raised("KeyError", "'al'"))
    assert dict(parts(Raised("KeyError", "x")))["type"] == "KeyError"
    assert repr(Raised("KeyError", "'bob'")) == "KeyError: 'bob'"


@dataclass
class Point:
    x: float
    y: object


def test_numbers_are_found_inside_anything():
    assert dict(numbers(3)) == {"value": 3}
    assert dict(numbers(np.int64(3))) == {"value": 3}
    assert dict(numbers([1, 2])) == {"length": 2, "value[0]": 1, "value[1]": 2}
    assert dict(numbers(deque([5]))) == {"length": 1, "value[0]": 5}
    assert dict(numbers(Point(1.5, "ab"))) == {"x": 1.5, "y.length": 2}
    assert dict(numbers({"a": {"b": [True]}}))["a.b[0]"] == 1
    assert dict(numbers("text")) == {"length": 4}
    assert dict(numbers(None)) == {}
    assert dict(numbers({1, 2})) == {"length": 2}


def test_numbers_that_no_float_holds_are_infinite():
    assert dict(numbers(10**400)) == {"value": float("inf")}
    assert dict(numbers(-(10**400))) == {"value": -float("inf")}
    assert isnan(dict(numbers(nan))["value"])


def test_numbers_are_limited():
    assert len(list(numbers(list(range(10_000))))) == 64


def test_numbers_of_a_release_are_found():
    release = sf.mechanisms.DiscreteLaplace(scale=1).release(5, sf.Sensitivity(l1=1))
    assert any(name.startswith("measures") for name, _ in numbers(release))
