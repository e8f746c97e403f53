from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.backends.frame import text_of

CASES = [
    (None, None),
    ("é", "é"),
    ("\ud800", "?"),
    ("", ""),
    (True, "true"),
    (np.bool_(False), "false"),
    (7, "7"),
    (np.int8(-7), "-7"),
    (10**2000, "inf"),
    (-(10**2000), "-inf"),
    (7.0, "7"),
    (-0.0, "0"),
    (0.1, "0.1"),
    (np.float32(0.5), "0.5"),
    (2.0**60, "1.152921504606847e+18"),
    (float("nan"), None),
    (float("-inf"), "-inf"),
    (Decimal("7.00"), "7"),
    (Decimal("7.10"), "7.10"),
    (Decimal("NaN"), None),
    (Decimal("sNaN"), None),
    (b"ab", "ab"),
    (b"\xff", None),
    (date(2020, 1, 2), "2020-01-02"),
    (datetime(2020, 1, 2, 3, 4, 5, 6), "2020-01-02T03:04:05.000006"),
    (datetime(2020, 1, 2, tzinfo=timezone(timedelta(hours=2))), "2020-01-02T00:00:00+02:00"),
    (pd.Timestamp("2020-01-02"), "2020-01-02T00:00:00"),
    (np.datetime64("2020-01-02"), "2020-01-02"),
    (np.datetime64("NaT"), None),
    (pd.NaT, None),
    (pd.NA, None),
    (UUID(int=7), "00000000-0000-0000-0000-000000000007"),
    ([1], None),
    (object(), None),
    (1j, None),
    (np.complex128(1), None),
]


@pytest.mark.parametrize(("value", "text"), CASES, ids=[str(i) for i in range(len(CASES))])
def test_text_of_a_value_is_its_own(value, text):
    assert text_of(value) == text


class Hostile:
    def __str__(self):
        raise ValueError("canary")

    __repr__ = __eq__ = __hash__ = __bool__ = __float__ = __str__


def test_text_of_a_hostile_object_is_missing():
    assert text_of(Hostile()) is None


@given(st.floats(allow_nan=False))
def test_text_of_a_float_means_the_same_float(value):
    assert float(text_of(value)) == value
