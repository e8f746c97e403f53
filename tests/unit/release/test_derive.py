from dataclasses import replace
from fractions import Fraction

import pytest

from sfumato.core.errors import ExpressionError, InputError, KeysError, RangeError, UnknownName
from sfumato.core.loss import Composed, Pure
from sfumato.release import Measure, Release
from sfumato.release.language import Call, Literal, Name, names, parse


def columns(release, name):
    m = release.measure(name)
    return m.values, m.low, m.high


def test_columns_are_added_with_intervals(town):
    answer = town().derive(per_trip="fare / n", change="n - 100", again="per_trip * n - fare")
    assert answer.columns[-9:] == tuple(
        f"{name}{end}" for name in ("per_trip", "change", "again") for end in ("", "_low", "_high")
    )
    assert columns(answer, "change") == ((400, 300, 200), (388, 288, 188), (412, 312, 212))
    assert columns(answer, "again") == ((0, 0, 0),) * 3
    assert answer.measure("again").covers == "exact"
    values, low, high = columns(answer, "per_trip")
    assert values == (100, 75, 67)
    assert all(a < b < c for a, b, c in zip(low, values, high, strict=True))


def test_same_price_same_receipt_and_a_note(town):
    answer = town()
    derived = answer.derive(x="fare / n")
    assert (derived.cost, derived.price, derived.receipt) == (
        answer.cost,
        answer.price,
        answer.receipt,
    )
    assert derived.notes == ("x = fare / n; computed, free",)
    assert Release.from_json(derived.to_json()) == derived
    assert Release.from_json(derived.to_json()).derive(y="x * n").measure("y").values == (
        50_000,
        30_000,
        20_100,
    )


def test_estimates_are_added_too_and_pay_once_each(town):
    answer, before = town(), town(entry="8", cost=Pure(2), price=Price_(2))
    derived = answer.derive(change=answer["n"] - before["n"], twice=2 * before["n"])
    assert derived.cost == Composed.of([Pure(1), Pure(2)])
    assert (derived.price.epsilon, derived.price.rho) == (3, None)
    assert derived.receipt == "receipt 7, receipt 8"
    again = derived.derive(more=before["fare"] - answer["fare"])
    assert again.cost == derived.cost
    assert len(again.origins) == 2
    assert "receipt 7" in str(again.card())


def Price_(epsilon):  # noqa: N802
    from sfumato.release.price import Price

    return Price(epsilon)


def test_single_number_fills_its_column(town):
    answer = town()
    assert answer.derive(all=answer.total("n")["n"]).measure("all").values == (1200,) * 3
    assert answer.total("n").derive(half="n / 2").measure("half").values == (600,)


def test_names_of_any_script_and_with_spaces(town):
    answer = town()
    named = [
        replace(m, name=n)
        for m, n in zip(answer.measures, ("рейсы", "fare paid", "m"), strict=True)
    ]
    answer = replace(answer, measures=tuple(named))
    found = answer.derive(средняя='"fare paid" / рейсы', **{"per cent": "100 * средняя"})
    assert found.measure("per cent").values == (10_000, 7500, 6700)


@pytest.mark.parametrize(
    "wrong",
    [
        *("", " ", "n +", "n n", "(n", "n)", "n ** 2", "1 < n", "n; n", "f(n)", "n.x", "'a'", 3),
        *("not n", "n" * 2001, "(" * 150 + "n" + ")" * 150, "--" * 80 + "n", "n = n", "n and n"),
        *("\0", "§"),
    ],
)
def test_what_is_no_expression_is_refused(town, wrong):
    with pytest.raises(ExpressionError):
        town().derive(x=wrong)


@pytest.mark.parametrize("wrong", ["m", "nan", "inf * n", "zone", "n_low"])
def test_names_that_are_no_measure_are_refused(town, wrong):
    with pytest.raises(UnknownName, match="there are: n, fare, mean"):
        town().derive(x=wrong)


def test_other_refusals(town, make):
    answer = town()
    with pytest.raises(InputError, match="say what to derive"):
        answer.derive()
    with pytest.raises(InputError, match="would be called 'n'"):
        answer.derive(n="n + 1")
    with pytest.raises(RangeError, match="divided by 0"):
        answer.derive(x="n / 0")
    with pytest.raises(InputError, match="in 1 of 3 cells of 'x' the denominator may be 0"):
        town(counts=(500, 400, 3)).derive(x="fare / n")
    with pytest.raises(KeysError):
        answer.derive(x=town(counts=(1,), sums=(1,), entry="9")["n"])
    unknown = make([3, 5], keys={"zone": ["A", "B"]})
    with pytest.raises(InputError, match="'n' does not say"):
        unknown.derive(x="n + n")
    assert unknown.derive(x="2 * n + 1").measure("x").values == (7, 11)
    with pytest.raises(InputError, match="in its own answer only"):
        answer.derive(x=2 * unknown["n"])


def test_public_range_closes_an_open_quotient(town):
    answer = town(counts=(500, 400, 3))
    found = answer.derive(x=(answer["fare"] / answer["n"]).within(0, 200))
    assert columns(found, "x")[1][2] == 0
    assert columns(found, "x")[2][2] == 200


def test_numbers_without_noise_are_exact(town):
    answer = town(measures=(Measure("n", (5, 6, 7), form=None),), noisy=())
    assert answer["n"].low is None
    derived = town().derive(x="n - n + 7")
    assert columns(derived, "x") == ((7, 7, 7),) * 3


def test_rows_are_kept_by_values_and_then_say_so(town):
    kept = town().where("n > 350 and not mean > 1 or zone = 'C'")
    assert kept.keys == (("zone", ("A", "B", "C")),)
    kept = town().where("n / 2 >= 200")
    assert kept.keys == (("zone", ("A", "B")),)
    assert kept.measure("n").covers == "noise only, before selection"
    assert kept.where("n > 450").measure("n").covers == "noise only, before selection"
    assert town().where("zone <> 'A'").measure("n").covers == "noise only"
    assert len(town().where("n > 10000")) == 0
    assert (kept["n"] - town()["n"].value[0] * 0).value.tolist() == [500, 400]
    assert kept.derive(x="fare / n").measure("x").values == (100, 75)


def test_kept_rows_hold_their_own_cells_only(town):
    one = town().where("zone = 'C'")
    assert [draw.cells for draw in one.noisy] == [(2,), (2,)]
    assert (one["n"] - one["n"]).value.tolist() == [0]
    assert one.total("n")["n"] == town().where("zone = 'C'").total("n")["n"]


@pytest.mark.parametrize("wrong", ["n", "n + 1", "zone > 3", "1", "n > 1 and n", "'a'", "not n"])
def test_what_is_no_condition_is_refused(town, wrong):
    with pytest.raises(ExpressionError):
        town().where(wrong)


def test_condition_names_columns_that_exist(town):
    with pytest.raises(UnknownName, match="there are: zone, n, fare, mean"):
        town().where("x > 1")


def test_single_number_has_no_rows(town):
    with pytest.raises(InputError, match="no rows"):
        town().total("n").where("n > 3")


def test_selected_measures(town):
    assert list(town().select("fare", "n")) == ["fare", "n"]
    assert [draw.id for draw in town().select("n").noisy] == ["7/n"]
    with pytest.raises(UnknownName):
        town().select("x")


def test_expression_is_read_by_precedence():
    assert parse("1 - 2 - 3 * -x") == Call(
        "-",
        (
            Call("-", (Literal(Fraction(1)), Literal(Fraction(2)))),
            Call("*", (Literal(Fraction(3)), Call("-", (Name("x"),)))),
        ),
    )
    assert parse("a = 1 or not b <> .5e1 and c") == Call(
        "or",
        (
            Call("==", (Name("a"), Literal(Fraction(1)))),
            Call("and", (Call("not", (Call("!=", (Name("b"), Literal(Fraction(5)))),)), Name("c"))),
        ),
    )
    assert names(parse('x + "y z" * x')) == ["x", "y z"]
