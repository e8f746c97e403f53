"""A race for how much of one unit counts: levels, noise, shifts, what is said, what is refused."""

from contextlib import contextmanager
from fractions import Fraction
from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli import main
from sfumato.core.errors import (
    CostError,
    ExpressionError,
    InputError,
    KeysError,
    SfumatoError,
    UnitError,
)
from sfumato.relation.node import unit_of
from sfumato.release.saturation import FARTHEST
from sfumato.session.output import Output
from sfumato.session.race import COVERS, RATIO, ROWS, STEPS, levels

SCHEMA = sf.Schema(
    zone=sf.Category(["A", "B", "C"]),
    fare=sf.Real(0, 50, step="0.5", nullable=True),
    tip=sf.Integer(10, 99),
    change=sf.Integer(-5, 5),
    income=sf.Integer(),
    name=sf.Text(),
)
AUTO = sf.Unit.by("id", max_rows="auto")


def rides(size=60, seed=0):
    """Riders with one ride to forty, in some zones; a few fares are missing."""
    rng = np.random.default_rng(seed)
    rider = np.repeat(np.arange(size), np.minimum(rng.geometric(0.15, size), 40))
    count = rider.size
    fares = rng.integers(0, 100, count) / 2
    return pa.table(
        {
            "id": rider,
            "zone": rng.choice(["A", "B", "C", "D"], count),
            "fare": pa.array(fares, mask=rng.random(count) < 0.1),
            "tip": rng.integers(10, 100, count),
            "change": rng.integers(-5, 6, count),
            "income": rng.integers(0, 10**6, count),
            "name": ["x"] * count,
        }
    )


def opened(data=None, unit=AUTO, **options):
    budget = options.pop("budget", sf.Budget(10**6, "1e-3"))
    data = rides() if data is None else data
    schema = dict.fromkeys(data, SCHEMA) if isinstance(data, dict) else SCHEMA
    return sf.Session(data, unit=unit, schema=schema, budget=budget, **options)


@contextmanager
def silent():
    """Add no noise: what is measured is then exact."""

    def nothing(law, size, rng):
        return np.zeros(size, np.int64)

    with (
        patch("sfumato.mechanisms.laplace.draw", nothing),
        patch("sfumato.mechanisms.gaussian.draw", nothing),
    ):
        yield


def totals(data, column, ends, zone=None):
    """Return the exact total of each level, computed row by row."""
    adds = {}
    for rider, place, value in zip(
        *(data[name].to_pylist() for name in ("id", "zone", column or "tip")), strict=True
    ):
        if value is not None and zone in (None, place):
            adds[rider] = adds.get(rider, 0) + (Fraction(value) if column else 1)
    return [sum((min(each, end) for each in adds.values()), Fraction(0)) for end in ends]


# ---- levels --------------------------------------------------------------------------------------


@pytest.mark.parametrize("least", [1, 2, 7])
def test_levels_are_a_quarter_of_each_other_at_least(least):
    for most in [*range(1, 300), 2**20, 2**20 + 1, 10**9]:
        found = levels(most, least)
        assert found[-1] == most
        assert list(found) == sorted(set(found))
        assert found[0] <= max(RATIO * least, most if most < least else 0)
        assert all(RATIO * (low + 1) > high for low, high in pairwise(found))
        number = next(k for k in range(1, 99) if least * RATIO**k >= most)
        assert len(found) == number


@pytest.mark.parametrize(
    ("unit", "output", "grouped", "ends"),
    [
        (AUTO, sf.count(per_unit="auto"), False, levels(ROWS)),
        (AUTO, sf.count(per_unit="auto", most=20), False, (2, 5, 20)),
        (sf.Unit.by("id", max_rows=64), sf.count(per_unit="auto"), False, (4, 16, 64)),
        (
            sf.Unit.by("id", max_groups=3, max_rows_per_group=4),
            sf.count(per_unit="auto"),
            False,
            (3, 12),
        ),
        (
            sf.Unit.by("id", max_groups=3, max_rows_per_group=4),
            sf.count(per_unit="auto"),
            True,
            (4,),
        ),
        (sf.Unit.by("id", max_rows=64), sf.count(per_unit="auto"), True, (4, 16, 64)),
        (AUTO, sf.sum("fare", per_unit="auto", most=32), False, (2, 8, 32)),
        (
            sf.Unit.by("id", max_rows=2),
            sf.sum("tip", per_unit="auto"),
            False,
            (13, 50, 198),  # no unit that counts adds less than 10
        ),
        (AUTO, sf.sum("clamp(income, 0, 1e15)", per_unit="auto"), False, levels(STEPS)),
    ],
)
def test_race_ends_where_caps_and_bounds_say(unit, output, grouped, ends):
    table = opened(unit=unit).table()
    asked = (table.group_by("zone") if grouped else table).agg(x=output)
    [recipe] = asked.explain(epsilon=1).recipes
    assert recipe.ends == tuple(map(Fraction, ends))


def test_levels_are_totals_of_the_same_rows():
    for asked in (
        opened().table().count(per_unit="auto"),
        opened().table().filter("tip > 20").sum("fare", per_unit="auto"),
        opened(unit=sf.Unit.by("id", max_rows=9)).table().group_by("zone").count(per_unit="auto"),
    ):
        plan = asked.explain(epsilon=1)
        assert len(plan.parts) > 1
        assert len({(part.query.node, part.query.keys) for part in plan.parts}) == 1
        assert plan.sql.count(";") == 0  # one statement
        assert plan.sql.count('FROM "table"') == 1


# ---- what is paid, and for how much noise --------------------------------------------------------

COSTS = [{"epsilon": "0.8"}, {"epsilon": "0.8", "delta": "1e-6"}, {"rho": "0.02"}]
GROUPED = sf.Unit.by("id", max_rows="auto", max_groups=2)


@pytest.mark.parametrize("cost", COSTS, ids=str)
@pytest.mark.parametrize("grouped", [True, False])
def test_price_is_that_of_all_levels_together(cost, grouped):
    table = opened(unit=GROUPED).table()
    plan = (table.group_by("zone") if grouped else table).count(per_unit="auto").explain(**cost)
    assert len(plan.parts) == 10
    charge = sf.accounting.charge(plan.cost, plan.charge_delta)
    wanted = Fraction(cost.get("epsilon", cost.get("rho"))) * 10**18
    paid = charge.rho if "rho" in cost else charge.epsilon
    assert 0.99 * wanted < paid <= wanted
    for part in plan.parts:
        end, groups = part.query.extent[1], 1 + grouped
        moved = part.query.sensitivity(unit_of(part.query.node))
        assert (moved.l0, moved.l1, moved.linf) == (groups, groups * end, end)
        if "delta" not in cost and "rho" not in cost:
            assert part.mechanism.scale == 10 * groups * end / Fraction("0.8")
    if "epsilon" in cost and "delta" in cost:  # levels add up in ρ, by the root of their number
        assert "Gaussian" in plan.expected[0].mechanism


@pytest.mark.parametrize("cost", COSTS[::2], ids=str)
def test_levels_divide_the_share_of_their_output(cost):
    table = opened(unit=sf.Unit.by("id", max_rows=64)).table()
    asked = table.agg(n=sf.count(per_unit="auto"), m=sf.count(), fare=sf.sum("fare"))
    plan = asked.explain(**cost)
    recipes = {recipe.wanted.name: recipe for recipe in plan.recipes}
    losses = {
        name: [sf.accounting.charge(part.loss) for part in recipe.used]
        for name, recipe in recipes.items()
    }
    paid = {
        name: sum(each.epsilon if "epsilon" in cost else each.rho for each in charges)
        for name, charges in losses.items()
    }
    assert len(losses["n"]) == 3
    assert max(paid.values()) - min(paid.values()) <= max(paid.values()) // 50


def test_batch_gives_each_question_its_weight():
    session = opened(unit=sf.Unit.by("id", max_rows=64))
    table = session.table()
    batch = session.batch(
        {"raced": table.count(per_unit="auto"), "capped": table.count()},
        weights={"raced": 3, "capped": 1},
    )
    plan = batch.explain(epsilon=1)
    charges = {
        name: sum(sf.accounting.charge(part.loss).epsilon for part in plan[name].parts)
        for name in ("raced", "capped")
    }
    assert charges == {"raced": 3 * 10**18 // 4, "capped": 10**18 // 4}
    with silent():
        found = batch.release(epsilon=1)
    level = plan["raced"].expected[0].levels
    exact = totals(rides(), None, [each.end for each in level])
    shown = max(max(t - each.shift, 0) for t, each in zip(exact, level, strict=True))
    assert found["raced"]["n"].value == shown


def test_many_levels_with_a_delta_need_less_noise_than_without():
    asked = opened().table().count(per_unit="auto")
    pure = asked.explain(epsilon=1).expected[0].levels
    both = asked.explain(epsilon=1, delta="1e-6").expected[0].levels
    assert all(b.below < a.below for a, b in zip(pure, both, strict=True))


# ---- the answer ----------------------------------------------------------------------------------


@pytest.mark.parametrize("cost", COSTS, ids=str)
@pytest.mark.parametrize("column", [None, "fare", "tip"])
@pytest.mark.parametrize("confidence", ["0.95", "0.5", "0.2"])
def test_without_noise_it_is_the_largest_total_less_its_shift(cost, column, confidence):
    data = rides(4000, seed=1)
    table = opened(data).table()
    output = sf.count(per_unit="auto") if column is None else sf.sum(column, per_unit="auto")
    plan = table.agg(x=output).explain(**cost, confidence=confidence)
    with silent():
        answer = plan.release()
    level = plan.expected[0].levels
    exact = totals(data, column, [each.end for each in level])
    lowered = [t - each.shift for t, each in zip(exact, level, strict=True)]
    [value], [low], [high] = (getattr(answer.measures[0], end) for end in ("values", "low", "high"))
    assert value == low == max(*lowered, 0)
    assert value > 0
    step = Fraction(1, 2) if column == "fare" else 1
    assert high == FARTHEST * step
    assert answer.measures[0].covers == COVERS
    [note] = [note for note in answer.notes if "of one unit" in note and "counts at most" in note]
    won = level[lowered.index(max(lowered))].end
    assert f"x counts at most {float(won):g}{'' if column else ' rows'} of one unit" == note
    assert any(note.startswith("x is not above the exact number at ") for note in answer.notes)


def test_shift_is_what_noise_exceeds_that_rarely():
    """P(noise > shift) is at most what a level may fail with, and with one step less it is not."""
    for cost in COSTS:
        plan = opened().table().count(per_unit="auto", most=64).explain(**cost)
        fails = (0.05 / 2, 0.05 / 4, 0.05 / 4)
        for part, level, fail in zip(plan.parts, plan.expected[0].levels, fails, strict=True):
            k = np.arange(int(level.shift), int(level.shift) + 100 * int(level.shift))
            scale = float(part.mechanism.noise_scale)
            if "Laplace" in level.mechanism:
                mass = np.exp(-k / scale) * np.tanh(0.5 / scale)
            else:
                whole = np.exp(-0.5 * (np.arange(-40 * int(scale), 40 * int(scale)) / scale) ** 2)
                mass = np.exp(-0.5 * (k / scale) ** 2) / whole.sum()
            beyond, before = mass[1:].sum(), mass.sum()
            assert beyond <= fail
            assert before > fail * (1 if "Laplace" in level.mechanism else 0.99)


def test_groups_have_races_of_their_own():
    data = rides(3000, seed=2)
    table = opened(data, sf.Unit.by("id", max_rows="auto", max_groups=3)).table()
    plan = table.group_by("zone", keys=["A", "C"]).sum("fare", per_unit="auto").explain(epsilon=4)
    with silent():
        answer = plan.release()
    level = plan.expected[0].levels
    for zone, value in zip(["A", "C"], answer.measures[0].values, strict=True):
        exact = totals(data, "fare", [each.end for each in level], zone)
        assert value == max(t - each.shift for t, each in zip(exact, level, strict=True))
    assert any("of one unit in 2 of 2 groups" in note for note in answer.notes)
    assert "at most 3 groups of one id count; intervals" in " ".join(answer.notes)


def test_nothing_above_noise_shows_zero_and_says_so():
    for rows in (0, 3):
        with silent():
            answer = opened(rides(rows)).table().count(per_unit="auto").release(epsilon="0.1")
        assert answer["n"].value == 0
        assert "no total of n is above what noise may reach, and it shows 0" in answer.notes


def test_totals_beyond_what_is_computed_are_lower_and_not_wrong():
    data = pa.table({"id": list(range(32)), "x": [2**59] * 32})
    schema, budget = sf.Schema(x=sf.Integer(0, 2**59)), sf.Budget(10**6)
    with sf.Session(data, unit=AUTO, schema=schema, budget=budget) as session:
        found = session.table().sum("x", per_unit="auto", most=2**59).release(epsilon=5000)
    assert 2**62 < found["x"].value < 2**63 < 32 * 2**59
    assert found["x"].high == FARTHEST


def test_answer_is_stored_and_another_confidence_is_free():
    session = opened()
    asked = session.table().count(per_unit="auto")
    first, left = asked.release(epsilon=50), session.remaining
    assert asked.release(epsilon=50).to_arrow().equals(first.to_arrow())
    surer = asked.release(epsilon=50, confidence="0.999")
    assert session.remaining == left
    assert surer["n"].value <= first["n"].value
    assert sf.Release.from_json(first.to_json()) == first


def test_one_can_compute_with_it_as_far_as_that_is_right():
    answer = opened().table().agg(n=sf.count(per_unit="auto")).release(epsilon=50)
    n = answer["n"]
    assert answer.measures[0].form is None
    double = 2 * n + 1
    assert (double.value, double.low) == (2 * n.value + 1, 2 * n.value + 1)
    turned = -n
    assert turned.high == -n.value
    assert turned.low == -FARTHEST
    for wrong in (lambda: n - n, lambda: n.at("0.9"), lambda: answer.at("0.9")):
        with pytest.raises(InputError, match="does not say of which noisy numbers"):
            wrong()


def test_explain_says_levels_noise_and_how_far_below():
    session = opened()
    plan = session.table().count(per_unit="auto", most=64).explain(epsilon=1)
    shown = repr(plan)
    for level in plan.expected[0].levels:
        assert f"level     {level.end} rows: {level.mechanism}, lowered by {level.shift}" in shown
        assert f"{level.below}" in str(plan.expected[0])
    assert "too low if no unit has more than 4 rows" in shown
    assert [each["end"] for each in plan.to_dict()["expected"][0]["levels"]] == [4, 16, 64]
    assert not any("counts as" in note for note in plan.notes)
    assert session.ledger.history() == []
    assert "with rows capped instead" not in shown  # which depends on what is bought
    capped = opened(unit=sf.Unit.by("id", max_rows=64)).table()
    assert "with rows capped instead" in repr(capped.count(per_unit="auto").explain(epsilon=1))


def test_caps_that_a_race_does_not_need_are_not_bought():
    table = opened().table()
    assert table.count(per_unit="auto").purchases == ()
    assert [one.title for one in table.group_by("zone").count(per_unit="auto").purchases] == [
        "max_rows"
    ]
    answer = table.group_by("zone").count(per_unit="auto").release(epsilon=300)
    assert any("max_rows was bought" in note for note in answer.notes)


def test_replaced_units_move_levels_no_more_than_is_said():
    unit = sf.Unit.by("id", max_rows="auto", neighbors="replace")
    plan = opened(unit=unit).table().count(per_unit="auto", most=16).explain(epsilon=1)
    assert [part.sensitivity.l1 for part in plan.parts] == [4, 16]


# ---- how far one unit moves the levels -----------------------------------------------------------


def moved_apart(one, two):
    """Return l0, l1, l2 squared and linf of a difference."""
    moves = [abs(int(a) - int(b)) for a, b in zip(one, two, strict=True)]
    return {
        "l0": sum(map(bool, moves)),
        "l1": sum(moves),
        "l2_squared": sum(move**2 for move in moves),
        "linf": max(moves),
    }


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
def test_one_unit_moves_every_level_by_no_more_than_is_charged(seed, neighbors):
    rng = np.random.default_rng(seed)
    data = rides(12, seed)
    gone = int(rng.integers(12))
    kept = data.filter(pa.array(np.asarray(data["id"]) != gone))
    other = rides(12, seed + 100)
    mine = other.filter(pa.array(np.asarray(other["id"]) == gone))
    neighbor = pa.concat_tables([kept, mine]) if neighbors == "replace" else kept
    unit = sf.Unit.by("id", max_rows="auto", max_groups=2, neighbors=neighbors)
    outputs = {
        "n": sf.count(per_unit="auto", most=int(rng.integers(1, 50))),
        "k": sf.count("fare", per_unit="auto", most=int(rng.integers(1, 50))),
        "s": sf.sum("fare", per_unit="auto", most=int(rng.integers(1, 500))),
    }
    # Two tables of one session are truncated with the same key.
    session = opened({"one": data, "two": neighbor}, unit)
    for grouped in (True, False):
        found = []
        for name in ("one", "two"):
            table = session.table(name)
            asked = (table.group_by("zone") if grouped else table).agg(**outputs)
            plan = asked.explain(epsilon=1)
            with silent():
                found.append(plan.release().noisy)
        for part, one, two in zip(plan.parts, *found, strict=True):
            for norm, by in moved_apart(one.values, two.values).items():
                assert by <= getattr(part.sensitivity, norm)


# ---- what is refused -----------------------------------------------------------------------------

REFUSED = [
    (lambda t: t.sum("change", per_unit="auto"), ExpressionError, "may be negative"),
    (lambda t: t.sum("income", per_unit="auto"), ExpressionError, "may be negative"),
    (lambda t: t.sum("name", per_unit="auto"), ExpressionError, "needs a number"),
    (lambda t: t.sum("fare", per_unit="auto", most="0.7"), ExpressionError, "whole number"),
    (lambda t: t.count(per_unit="auto", most="2.5"), ExpressionError, "whole number of rows"),
    (lambda t: t.count(per_unit="auto", most=0), SfumatoError, "most"),
    (lambda t: t.count(per_unit="auto", most=2**63), SfumatoError, "2\\^62"),
    (lambda t: t.count(per_unit=(0, 3)), InputError, "no other word"),
    (lambda t: t.sum("fare", per_unit="best"), InputError, "no other word"),
    (lambda t: t.count(most=3), InputError, "there is none"),
    (lambda t: t.sum("fare", per_unit=(0, 3), most=3), InputError, "there is none"),
    (lambda t: t.sum(sf.bounds("fare"), per_unit="auto"), InputError, "Leave out sf.bounds"),
    (
        lambda t: t.group_by("name", keys=sf.bought()).count(per_unit="auto"),
        KeysError,
        "groups that are listed",
    ),
    (lambda t: t.agg(x=Output("sum", None, per_unit=("auto", None))), ExpressionError, "number"),
]


@pytest.mark.parametrize(("ask", "kind", "text"), REFUSED, ids=range(len(REFUSED)))
def test_refusal_says_why(ask, kind, text):
    with pytest.raises(kind, match=text):
        ask(opened().table())


def test_rows_have_no_units_to_clamp():
    with pytest.raises(UnitError, match="only a unit that a column names"):
        opened(unit=sf.Unit.row()).table().count(per_unit="auto")


def test_wish_for_accuracy_is_refused():
    with pytest.raises(CostError, match="which nobody knows"):
        opened().table().count(per_unit="auto").explain(accuracy=sf.within(50))


# ---- on the command line -------------------------------------------------------------------------

CONTRACT = """
[budget]
epsilon = 1000000
ledger = "rides.ledger"
[tables.rides]
source = "rides.csv"
version = "1"
unit = "id"
max_rows = "auto"
[tables.rides.columns]
fare = { type = "real", low = 0, high = 50, step = "0.5" }
"""


@pytest.fixture
def ask(tmp_path):
    """Run `sfumato query` on three riders with two rides each, in this process."""
    rides_ = "".join(f"{rider},2.5\n" for rider in (1, 2, 3) for _ in range(2))
    (tmp_path / "rides.csv").write_text("id,fare\n" + rides_, encoding="utf-8")
    (tmp_path / "rides.toml").write_text(CONTRACT, encoding="utf-8")

    def asked(*options):
        command = ["query", str(tmp_path / "rides.toml"), *options, "--epsilon", "9000"]
        return CliRunner().invoke(main, [*command, "--format", "csv"])

    return asked


@pytest.mark.parametrize(
    ("options", "row"),
    [
        (["--count", "--per-unit", "auto"], "6,6,"),
        (["--count", "--per-unit", "auto, 64"], "6,6,"),
        (["--sum", "fare", "--per-unit", "auto,32"], "15,15,"),
        (["--count", "--sum", "fare", "--per-unit", "auto"], "6,6,"),
    ],
    ids=str,
)
def test_command_asks_for_a_race(ask, options, row):
    found = ask(*options)
    assert found.exit_code == 0, found.output
    assert found.stdout.splitlines()[1].startswith(row)
    assert "is not above the exact number at 95 %" in found.stderr


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--count", "--per-unit", "0,3"], "no sum is asked for"),
        (["--count", "--sum", "fare", "--per-unit", "auto,9"], "both are asked for"),
        (["--count", "--per-unit", "auto,2.5"], "MOST of --per-unit auto,MOST is where"),
        (["--sum", "fare - 3", "--per-unit", "auto"], "as in --per-unit=-300,300"),
        (["--sum", "fare", "--per-unit", "auto,"], "most"),
        (["--sum", "fare", "--per-unit", "automatic"], "is no range"),
    ],
    ids=str,
)
def test_command_refuses_what_is_no_race(ask, options, text):
    found = ask(*options)
    assert found.exit_code != 0
    assert text in " ".join(found.output.split())
