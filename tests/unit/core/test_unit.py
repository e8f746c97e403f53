"""The privacy unit: what makes sense, what is refused, and a repr that can be typed."""

from fractions import Fraction

import numpy as np
import pytest

from sfumato.core.errors import UnitError
from sfumato.core.unit import Neighbors, Unit


def test_row_and_rows_cap_the_rows():
    assert Unit.row() == Unit.rows(1)
    assert (Unit.row().column, Unit.row().max_rows) == (None, 1)
    assert Unit.rows(7).max_rows == 7
    assert Unit.rows(7, neighbors="replace").neighbors is Neighbors.REPLACE
    assert Unit.row(neighbors="replace").neighbors is Neighbors.REPLACE


def test_by_keeps_every_cap():
    unit = Unit.by("u", max_rows=20, max_groups=5, max_rows_per_group=4, neighbors="replace")
    assert (unit.column, unit.max_rows, unit.max_groups) == ("u", 20, 5)
    assert (unit.max_rows_per_group, unit.neighbors) == (4, "replace")


def test_two_caps_together_bound_the_rows():
    assert Unit.by("u", max_groups=5, max_rows_per_group=4).max_rows is None
    assert Unit.by("u", max_groups="auto", max_rows_per_group=4).max_groups == "auto"


@pytest.mark.parametrize(
    "caps",
    [{}, {"max_groups": 5}, {"max_rows_per_group": 4}],
    ids=lambda caps: "+".join(caps) or "none",
)
def test_by_refuses_a_unit_without_limit(caps):
    with pytest.raises(UnitError, match="without limit"):
        Unit.by("u", **caps)


@pytest.mark.parametrize("value", [1, 2**31 - 1, "20", 20.0, Fraction(20), np.int8(20)])
def test_cap_takes_whole_numbers_and_holds_an_int(value):
    unit = Unit.by("u", max_rows=value, max_groups=value, max_rows_per_group=value)
    for cap in (unit.max_rows, unit.max_groups, unit.max_rows_per_group, Unit.rows(value).max_rows):
        assert type(cap) is int
        assert cap == int(value)


@pytest.mark.parametrize("value", [0, -1, 2**31, 1.5, "1/2", True, "many", [3], np.array([1, 2])])
@pytest.mark.parametrize("cap", ["max_rows", "max_groups", "max_rows_per_group"])
def test_cap_refuses_everything_else(cap, value):
    with pytest.raises(UnitError, match=f"^{cap} = .* is not a (cap|finite, exact number)"):
        Unit.by("u", **{"max_rows": 3, cap: value})


def test_cap_that_can_be_bought_says_so():
    for cap in ("max_rows", "max_groups"):
        with pytest.raises(UnitError, match='Or pass "auto"'):
            Unit.by("u", **{"max_rows": 3, cap: "atuo"})
    for make in (
        lambda: Unit.by("u", max_rows=3, max_rows_per_group="atuo"),
        lambda: Unit.rows("atuo"),
    ):
        with pytest.raises(UnitError) as caught:
            make()
        assert '"auto"' not in str(caught.value)


def test_cap_of_a_million_digits_is_refused_in_a_line():
    with pytest.raises(UnitError) as caught:
        Unit.rows(10**1_000_000)
    assert len(str(caught.value)) < 300


def test_auto_caps_are_bought_for_rows_and_groups_only():
    assert Unit.by("u", max_rows="auto", max_groups="auto").max_rows == "auto"
    with pytest.raises(UnitError, match="max_rows_per_group = 'auto'"):
        Unit.by("u", max_rows=3, max_rows_per_group="auto")


@pytest.mark.parametrize("value", ["auto", None])
def test_rows_need_a_number(value):
    with pytest.raises(UnitError, match="max_rows"):
        Unit.rows(value)


@pytest.mark.parametrize("caps", [{"max_groups": 2}, {"max_rows_per_group": 2}])
def test_row_unit_refuses_caps_that_need_a_column(caps):
    with pytest.raises(UnitError, match="column"):
        Unit(None, 1, **caps)


@pytest.mark.parametrize("column", ["", None, 3, b"u", ["u"]])
def test_by_refuses_what_names_no_column(column):
    with pytest.raises(UnitError, match="name of a column"):
        Unit.by(column, max_rows=3)


@pytest.mark.parametrize("name", ["bounded", "", None, "ADD_REMOVE", ["replace"], 1])
def test_neighbors_refuses_other_names_and_lists_those_that_exist(name):
    for make in (
        Neighbors.parse,
        lambda n: Unit.row(neighbors=n),
        lambda n: Unit.rows(2, neighbors=n),
        lambda n: Unit.by("u", max_rows=1, neighbors=n),
        lambda n: Unit("u", 1, neighbors=n),
    ):
        with pytest.raises(UnitError, match=r"'add_remove' .* or 'replace'"):
            make(name)


def test_unit_is_a_value():
    assert Unit.by("u", max_rows="3") == Unit.by("u", max_rows=3)
    assert hash(Unit.by("u", max_rows="3")) == hash(Unit.by("u", max_rows=3))
    with pytest.raises(AttributeError):
        Unit.row().max_rows = 2


@pytest.mark.parametrize(
    ("unit", "text"),
    [
        (Unit.row(), "Unit.row()"),
        (Unit.row(neighbors="replace"), "Unit.row(neighbors='replace')"),
        (Unit.rows(3), "Unit.rows(3)"),
        (Unit.rows(3, neighbors="replace"), "Unit.rows(3, neighbors='replace')"),
        (Unit.by("rider's id", max_rows="auto"), "Unit.by(\"rider's id\", max_rows='auto')"),
        (
            Unit.by("u", max_groups=5, max_rows_per_group=4, neighbors="replace"),
            "Unit.by('u', max_groups=5, max_rows_per_group=4, neighbors='replace')",
        ),
    ],
)
def test_repr_can_be_typed(unit, text):
    assert repr(unit) == text
    assert eval(text, {"Unit": Unit}) == unit  # noqa: S307 (a text from the table above)
