"""Looking codes up among listed cells and chosen groups, next to plain Python."""

from fractions import Fraction

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.relation.keys import Keys
from sfumato.relation.kind import Number, Words
from sfumato.session.scan import _found

ENDS = (-(2**63), 2**63 - 1)
WHOLE = Number(-(2**62), 2**62, Fraction(1))


def chunked(values, kind, cuts):
    """Return an Arrow column, cut into chunks at some places."""
    if cuts is None:
        return pa.array(values, kind)
    ends = sorted(cut % (len(values) + 1) for cut in cuts)
    pairs = zip([0, *ends], [*ends, len(values)], strict=True)
    return pa.chunked_array([pa.array(values[a:b], kind) for a, b in pairs], kind)


@st.composite
def listings(draw):
    """Draw how a key column lists its values: a range, numbers near or far apart, or texts."""
    match draw(st.sampled_from(["range", "near", "far", "texts"])):
        case "range":
            low = draw(st.sampled_from([-(2**62), -3, 0, 5]))
            size = draw(st.integers(1, 5))
            kind = Number(low, low + size - 1, Fraction(1))
            return kind, None, list(range(low, low + size))
        case "texts":
            listed = draw(st.lists(st.sampled_from(["", "a", "A", "é", "a "]), min_size=1))
            return Words(), tuple(dict.fromkeys(listed)), list(dict.fromkeys(listed))
        case how:
            far = 8 if how == "near" else 2**61
            listed = draw(st.lists(st.integers(-far, far), min_size=1, max_size=6, unique=True))
            return WHOLE, tuple(listed), listed


@settings(deadline=None)
@given(st.data())
def test_index_of_cells(data):
    columns = data.draw(st.lists(listings(), min_size=1, max_size=3))
    rows, found = data.draw(st.integers(0, 12)), []
    for kind, _, listed in columns:
        beside = ["b", None] if isinstance(kind, Words) else [listed[0] - 1, None, *ENDS]
        values = st.sampled_from([*listed, *beside])
        found.append(data.draw(st.lists(values, min_size=rows, max_size=rows)))
    keys = Keys(
        tuple(f"c{i}" for i in range(len(columns))),
        tuple(kind for kind, _, _ in columns),
        tuple(codes for _, codes, _ in columns),
    )
    expected = []
    for row in range(rows):
        cell = 0
        for (_, _, listed), values in zip(columns, found, strict=True):
            held = cell >= 0 and values[row] in listed
            cell = cell * len(listed) + listed.index(values[row]) if held else -1
        expected.append(cell)
    cuts = data.draw(st.none() | st.lists(st.integers(0, 12), max_size=3))
    arrays = [
        chunked(values, pa.string() if isinstance(kind, Words) else pa.int64(), cuts)
        for (kind, _, _), values in zip(columns, found, strict=True)
    ]
    assert keys.index(arrays).tolist() == expected


GROUPS = st.tuples(st.integers(-2, 2), st.sampled_from("abc"), st.sampled_from([0, 2**60]))


@settings(deadline=None)
@given(
    st.lists(GROUPS, unique=True, max_size=12),
    st.lists(GROUPS, unique=True, max_size=8),
    st.integers(1, 3),
    st.none() | st.lists(st.integers(0, 12), max_size=3),
)
def test_rows_of_chosen_groups(table, chosen, columns, cuts):
    rows = list(dict.fromkeys(group[:columns] for group in table))
    keys = list(dict.fromkeys(group[:columns] for group in chosen))
    kinds = (pa.int64(), pa.string(), pa.int64())
    arrays = [chunked([row[i] for row in rows], kinds[i], cuts) for i in range(columns)]
    expected = [rows.index(key) if key in rows else -1 for key in keys]
    sought = [[key[i] for key in keys] for i in range(columns)]
    assert _found(arrays, sought).tolist() == expected


def test_columns_called_as_the_statement_calls_its_own():
    data = pa.table({"c0": ["x"] * 400 + ["y"] * 400, "cell": list(range(800)), "v": [1] * 800})
    schema = sf.Schema(c0=sf.Text(), cell=sf.Integer(0, 800), v=sf.Integer(0, 1))
    budget = sf.Budget(1000, delta="1e-3")
    with sf.Session(data, unit=sf.Unit.row(), schema=schema, budget=budget) as session:
        groups = session.table().group_by("c0", keys=sf.bought())
        answer = groups.agg(m=sf.median("cell"), one=sf.median("v")).release(
            epsilon=100, delta="1e-6"
        )
    assert dict(answer.keys)["c0"] == ("x", "y")
    low, high = answer.measures[0].values
    assert abs(low - 200) < 20 and abs(high - 600) < 20
