"""Bought groups through a session: which appear, what is said of them, whatever they are called."""

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.errors import CostError, KeysError, SfumatoError

EACH = 80  # units of a group that nobody overlooks at the prices here
PRICE = {"epsilon": 40, "delta": "1e-6"}
SCHEMA = sf.Schema(
    name=sf.Text(nullable=True),
    zone=sf.Category(["A", "B", "C"]),
    age=sf.Integer(-5, 99),
    fare=sf.Real(0, 2, step="0.25"),
    day=sf.Date("2026-01-01", "2026-12-31"),
    at=sf.Timestamp("2026-01-01T00:00", "2026-01-02T00:00", step=60),
    ok=sf.Boolean(),
)
PERSON = sf.Unit.by("id", max_rows=1)


def people(names, each=EACH, **columns):
    """So many units for each name."""
    size = len(names) * each
    made = {
        "id": list(range(size)),
        "name": pa.array([name for name in names for _ in range(each)], pa.string()),
        "zone": ["A"] * size,
        "age": [30] * size,
        "fare": [0.5] * size,
        "day": ["2026-01-02"] * size,
        "at": ["2026-01-01T00:30:00"] * size,
        "ok": [True] * size,
    }
    return pa.table({**made, **columns})


def opened(data, unit=PERSON, **options):
    budget = options.pop("budget", sf.Budget(10**6, "0.5"))
    return sf.Session(
        data, unit=unit, schema=options.pop("schema", SCHEMA), budget=budget, **options
    )


def listed(answer, name):
    return answer.to_arrow()[name].to_pylist()


def test_groups_with_enough_units_appear_and_small_ones_do_not():
    data = pa.concat_tables([people(["a", "b"]), people(["rare"], 1, id=[10**6])])
    answer = opened(data).table().group_by("name", keys=sf.bought()).count().release(**PRICE)
    assert listed(answer, "name") == ["a", "b"]  # a single unit appears one time in a million
    assert all(abs(n - EACH) <= 30 for n in listed(answer, "n"))


HOSTILE = [
    *("", " ", "\0", "a\0b", "a", "A", "é", "e\u0301", "\u202eabc", "😀", "\x7f", "\n", "'\"\\"),
    *("None", "NULL", "NaN", "x" * 20_000, "\ufffd", "?", "\U0010fffd", "$b0", "ß", "ss"),
]


def test_groups_may_be_called_anything():
    """No two of them become one, none closes the data, and each can be stored and shown."""
    session = opened(people(HOSTILE))
    question = session.table().group_by("name", keys=sf.bought())
    answer = question.agg(n=sf.count(), q=sf.median("age"), m=sf.mean("age")).release(**PRICE)
    assert listed(answer, "name") == sorted(HOSTILE)
    assert listed(answer, "q") == [30] * len(HOSTILE)
    again = question.agg(n=sf.count(), q=sf.median("age"), m=sf.mean("age")).release(**PRICE)
    assert again.to_arrow().equals(answer.to_arrow())
    assert answer.to_html() is None or "<script" not in answer.to_html()
    assert repr(answer)


def test_order_of_groups_is_that_of_their_keys_and_not_of_the_table():
    names = ["b", "c", "a"]
    there, back = (
        opened(people(order)).table().group_by("name", keys=sf.bought()).count().release(**PRICE)
        for order in (names, names[::-1])
    )
    assert listed(there, "name") == listed(back, "name") == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        ("ok", True),
        ("age", 30),
        ("fare", 0.5),
        ("day", "2026-01-02"),
        ("at", "2026-01-01T00:30:00"),
        ("zone", "A"),
    ],
)
def test_groups_of_every_kind_of_column(column, shown):
    table = opened(people(["x"])).table()
    groups = table.group_by(column, keys=sf.bought(other=True))
    answer = groups.agg(n=sf.count(), m=sf.sum("age")).release(**PRICE)
    assert listed(answer, column) == [shown, None]
    assert abs(listed(answer, "n")[1]) <= 30
    ranked = table.group_by(column, keys=sf.bought()).agg(q=sf.median("age + 1")).release(**PRICE)
    assert (listed(ranked, column), listed(ranked, "q")) == ([shown], [31])


def test_groups_of_two_columns_and_of_listed_values():
    names = [*"ab"] * 3
    zones = pa.array([z for z in "AABBCC" for _ in range(EACH)])
    table = opened(people(names, zone=zones)).table()
    both = table.group_by("name", "zone", keys=sf.bought()).count().release(**PRICE)
    assert list(zip(listed(both, "name"), listed(both, "zone"), strict=True)) == [
        (name, zone) for name in "ab" for zone in "ABC"
    ]
    keys = {"name": sf.bought(), "zone": ["C", "A"]}
    some = table.group_by("name", "zone", keys=keys).agg(q=sf.median("age")).release(**PRICE)
    assert sorted(set(listed(some, "zone"))) == ["A", "C"]
    assert len(listed(some, "q")) == 4


def test_rows_without_a_key_are_in_no_group():
    data = people(["a", None])
    answer = opened(data).table().group_by("name", keys=sf.bought()).count().release(**PRICE)
    assert listed(answer, "name") == ["a"]
    rest = opened(data).table().group_by("name", keys=sf.bought(other=True)).count()
    assert abs(listed(rest.release(**PRICE), "n")[-1]) <= 30  # nor in the rest


def test_rest_is_all_that_does_not_appear():
    few = [f"name {i}" for i in range(200)]
    data = pa.concat_tables([people(["a"]), people(few, 1, id=list(range(1000, 1200)))])
    price = {"epsilon": 40, "delta": "1e-12"}
    table = opened(data).table()
    groups = table.group_by("name", keys=sf.bought(other=True))
    answer = groups.agg(n=sf.count(), m=sf.mean("age"))
    found = answer.release(**price)
    shown = len(listed(found, "name")) - 2
    assert abs(listed(found, "n")[-1] - 200 + shown) <= 30
    assert abs(listed(found, "m")[-1] - 30) <= 8
    with pytest.raises(KeysError):  # who is in two of them would count twice
        groups.count_distinct("id")


@pytest.mark.parametrize("rows", [0, 1])
def test_no_group_at_all_is_an_answer(rows):
    table = opened(people(["a"] * rows, 1)).table()
    outputs = {
        "n": sf.count(),
        "u": sf.count_distinct("id"),
        "m": sf.mean("age"),
        "v": sf.variance("age"),
    }
    ranks = {"q": sf.quantile("age", [0.2, 0.8], interval=True), "e": sf.max("day")}
    price = {"epsilon": 1, "delta": "1e-12"}
    answer = table.group_by("name", keys=sf.bought()).agg(**outputs, **ranks).release(**price)
    assert answer.to_arrow().num_rows == 0
    two = table.group_by("name", "zone", keys=sf.bought()).agg(**outputs, **ranks).release(**price)
    assert two.to_arrow().num_rows == 0
    del outputs["u"]
    rest = table.group_by("name", keys=sf.bought(other=True)).agg(**outputs).release(**price)
    assert listed(rest, "name") == [None]
    assert table.top("name", 3).release(**price).to_arrow().num_rows == 0


def test_unit_in_many_groups_counts_in_a_few():
    size = 500
    table = pa.table({"id": [1] * size, "name": [f"n{i}" for i in range(size)]})
    schema = sf.Schema(name=sf.Text())
    session = opened(table, sf.Unit.by("id", max_groups=3, max_rows_per_group=1), schema=schema)
    groups = session.table().group_by("name", keys=sf.bought())
    price = {"epsilon": 1, "delta": "1e-9"}
    assert groups.count().release(**price).to_arrow().num_rows == 0


def test_number_of_units_is_that_of_units():
    data = people(["a"], 40)
    data = pa.concat_tables([data] * 5)  # each of them five times
    table = opened(data, sf.Unit.by("id", max_rows=5)).table()
    for ask in (table, table.group_by("zone"), table.group_by("name", keys=sf.bought())):
        answer = ask.agg(u=sf.count_distinct("id"), n=sf.count()).release(**PRICE)
        assert abs(listed(answer, "u")[0] - 40) <= 10
        assert abs(listed(answer, "n")[0] - 200) <= 40


def test_number_of_different_values_in_listed_groups():
    data = people(["a", "b", "c"])
    table = opened(data).table()
    answer = table.group_by("zone").agg(k=sf.count_distinct("name")).release(epsilon=40)
    assert [abs(k - true) <= 3 for k, true in zip(listed(answer, "k"), (3, 0, 0), strict=True)]
    with pytest.raises(KeysError):
        table.group_by("name", keys=sf.bought()).count_distinct("age")


@pytest.mark.parametrize(
    ("ask", "cost", "error"),
    [
        (lambda t: t.group_by("name", keys=sf.bought()).count(), {"epsilon": 1}, CostError),
        (lambda t: t.group_by("name", keys=sf.bought()).count(), {"rho": 1}, CostError),
        (lambda t: t.top("name", 2), {"epsilon": 1}, CostError),
        (lambda t: t.group_by("name").count(), PRICE, KeysError),
        (lambda t: t.group_by("name", keys={"zone": sf.bought()}).count(), PRICE, KeysError),
        (lambda t: t.group_by("name", keys=[sf.bought()]).count(), PRICE, SfumatoError),
        (lambda t: t.group_by("name", keys=sf.bought(other=1)).count(), PRICE, SfumatoError),
        (lambda t: t.group_by("id", keys=sf.bought()).count(), PRICE, SfumatoError),
        (lambda t: t.group_by("name", keys=sf.bought()).histogram("age", 3), PRICE, SfumatoError),
        (
            lambda t: t.group_by("name", keys=sf.bought()).count(),
            {"accuracy": sf.within(5), "delta": "1e-6"},
            CostError,
        ),
    ],
    ids=range(10),
)
def test_refusal_reads_and_spends_nothing(ask, cost, error):
    session = opened(people(["a"]))
    with pytest.raises(error):
        ask(session.table()).release(**cost)
    assert session.ledger.history() == []


def test_explain_says_how_many_it_takes_and_reads_nothing():
    session = opened(people(["a"]))
    plan = session.table().group_by("name", keys=sf.bought()).count().explain(**PRICE)
    assert any("to appear" in line for line in plan.notes)
    assert "the groups that appear" in repr(plan)
    assert plan.to_dict()["groups"] is None
    assert session.ledger.history() == []


@pytest.mark.parametrize("cost", [PRICE, {"epsilon": "0.01", "delta": "1e-9"}], ids=str)
@pytest.mark.parametrize("other", [True, False])
def test_price_is_what_was_set(cost, other):
    unit = sf.Unit.by("id", max_rows=20, max_groups=5)
    table = opened(people(["a"]), unit).table()
    groups = table.group_by("name", keys=sf.bought(other=other))
    for question in (groups.count(), groups.agg(m=sf.mean("age"), v=sf.std("fare"))):
        plan = question.explain(**cost)
        charge = sf.accounting.charge(plan.cost, plan.charge_delta)
        assert charge.epsilon <= 10**18 * sf.Budget(**cost).epsilon
        assert charge.delta <= 10**18 * sf.Budget(**cost).delta


def test_bought_groups_of_parts_and_envelopes():
    session = opened(people(["a", "b"]), budget=sf.Budget(100, "1e-3"))
    parts = session.table().partition("zone")
    had = session.remaining
    for part in parts.values():
        part.group_by("name", keys=sf.bought()).count().release(epsilon=3, delta="1e-6")
    assert had.epsilon - session.remaining.epsilon == 3
    with session.table().scope(sf.Budget(2, "1e-6")) as inside:
        groups = inside.group_by("name", keys=sf.bought()).agg(q=sf.median("age"))
        groups.release(epsilon=2, delta="1e-6")
        with pytest.raises(sf.errors.BudgetExceeded):
            groups.release(epsilon=1, delta="1e-6")


def test_two_analysts_share_the_answer_and_not_the_price(tmp_path):
    contract = tmp_path / "town.toml"
    import pyarrow.parquet as pq

    pq.write_table(people(["a", "b"]).select(["id", "name", "age"]), tmp_path / "town.parquet")
    contract.write_text(
        '[budget]\nepsilon = "10"\ndelta = "1e-3"\nledger = "town.ledger"\n'
        '[analysts.ana]\nepsilon = "6"\ndelta = "1e-4"\n'
        '[analysts.bob]\nepsilon = "6"\ndelta = "1e-4"\n'
        '[unit]\nneighbors = "add_remove"\n'
        '[tables.town]\nsource = "town.parquet"\nversion = "1"\nunit = "id"\nmax_rows = 1\n'
        '[tables.town.columns]\nname = { type = "text" }\n'
        'age = { type = "integer", low = 0, high = 99 }\n'
    )
    price, found = {"epsilon": 4, "delta": "1e-6"}, []
    for analyst in ("ana", "bob"):
        with sf.connect(contract, analyst=analyst) as session:
            groups = session.table().group_by("name", keys=sf.bought())
            found.append(groups.agg(n=sf.count(), q=sf.median("age")).release(**price).to_arrow())
            assert session.remaining.epsilon == 2
    assert found[0].equals(found[1])


def test_a_hundred_thousand_groups():
    size = 10**5
    ids = pa.array(range(3 * size))
    names = pa.array([f"name {i // 3}" for i in range(3 * size)])
    schema = sf.Schema(name=sf.Text())
    session = opened(pa.table({"id": ids, "name": names}), schema=schema)
    groups = session.table().group_by("name", keys=sf.bought(other=True))
    answer = groups.count().release(epsilon=1, delta="1e-9").to_arrow()
    shown = answer.num_rows - 1
    assert shown <= 100  # of three units, with a probability of about 2e-8 each
    assert abs(answer["n"].to_pylist()[-1] - 3 * (size - shown)) <= 200


# ---- trees made by hand --------------------------------------------------------------------------


def by_hand(other, *, filtered):
    """Measure what no question of an analyst plans, but any algorithm may ask."""
    from sfumato.mechanisms import PartitionSelection, Quantiles
    from sfumato.relation import Name, Occurrence, Values, bounded
    from sfumato.relation.bought import keys_of
    from sfumato.relation.bound import truncated
    from sfumato.relation.node import scope

    session = opened(people(["a", None], 300))
    table = session.table()
    keys = keys_of(scope(table._node), ["name"], sf.bought(other=other))
    if filtered:
        node = bounded(table._node, keys, (Name("age"),))
    else:
        node = truncated(table._node, ("name",))
    batch = [(Occurrence(node, keys), PartitionSelection(1, "1e-6"))]
    if filtered:
        search = Quantiles(["1/2"], low=-5, high=99, step=1, rate=1)
        batch.append((Values(node, keys, Name("age")), search))
    return session, lambda: table.measure(batch)


def test_missing_key_in_a_tree_made_by_hand_does_not_close_the_data():
    session, measure = by_hand(other=False, filtered=False)
    (chosen,) = measure()
    assert chosen.to_arrow()["name"].to_pylist() == ["a"]
    assert not session.ledger.closed


def test_values_of_the_rest_are_refused_before_anything_is_read():
    with pytest.raises(KeysError):  # when the question is made
        by_hand(other=True, filtered=True)


def test_selection_is_measured_once_and_with_what_rests_on_it():
    from sfumato.mechanisms import DiscreteLaplace, PartitionSelection
    from sfumato.relation import Aggregate, Occurrence, Rows, bounded
    from sfumato.relation.bought import keys_of
    from sfumato.relation.node import scope

    session = opened(people(["a"]))
    table = session.table()
    keys = keys_of(scope(table._node), ["name"], sf.bought())
    node = bounded(table._node, keys, ())
    select = (Occurrence(node, keys), PartitionSelection(1, "1e-6"))
    count = (Aggregate(node, keys, Rows()), DiscreteLaplace(1))
    for batch in ([count], [select, select, count]):
        with pytest.raises(SfumatoError):
            table.measure(batch)
    assert session.ledger.history() == []
    chosen, counted = table.measure([select, count])
    assert counted.to_arrow()["name"].to_pylist() == ["a"]
    assert chosen.to_arrow()["name"].to_pylist() == ["a"]
