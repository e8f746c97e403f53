"""What is made of the rows of one unit, before anything is counted."""

import pytest

from sfumato.core.errors import ExpressionError
from sfumato.relation import Summary
from sfumato.relation.expr import Name
from sfumato.relation.kind import Number

X = {"x": Number(-3, 10)}


@pytest.mark.parametrize(
    ("function", "cap"),
    [("median", 3), ("count", 0), ("sum", -1), ("sum", True), ("mean", 2.0), ("max", None)],
)
def test_unknown_function_or_cap_is_refused(function, cap):
    with pytest.raises(ExpressionError, match="count, sum, mean, min and max"):
        Summary(function, Name("x"), cap)


@pytest.mark.parametrize("function", ["sum", "mean", "min", "max"])
def test_only_a_count_needs_no_column(function):
    assert Summary("count", None, 3).kind(X) == Number(1, 3)
    with pytest.raises(ExpressionError, match=f"{function} needs a column"):
        Summary(function, None, 3)


@pytest.mark.parametrize(
    ("function", "range_"),
    [("count", (0, 4)), ("sum", (-12, 40)), ("mean", (-3, 10)), ("min", (-3, 10))],
)
def test_range_covers_as_many_rows_as_the_cap(function, range_):
    assert Summary(function, Name("x"), 4).kind(X) == Number(*range_)
