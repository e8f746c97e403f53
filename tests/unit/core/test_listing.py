"""Lists that users pass: what can be gone through is one, a text or a number is none."""

import numpy as np
import pytest

from sfumato.core.listing import listed


@pytest.mark.parametrize(
    "given", [["a", "b"], ("a", "b"), {"a": 1, "b": 2}.keys(), np.array(["a", "b"]), iter("ab")]
)
def test_what_holds_things_is_a_list(given):
    assert listed(given) == ("a", "b")


@pytest.mark.parametrize("given", ["ab", b"ab", 3, None, {"a": 1}, np.array("ab"), np.float64(3)])
def test_one_thing_is_no_list(given):
    assert listed(given) is None


def test_errors_of_what_is_gone_through_are_its_own():
    with pytest.raises(TypeError, match="len"):
        listed(len(each) for each in [3])
