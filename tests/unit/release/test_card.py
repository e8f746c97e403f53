import json
from dataclasses import replace
from fractions import Fraction

import pytest

from sfumato.core.errors import InputError
from sfumato.core.loss import (
    Approximate,
    BoundedRange,
    Composed,
    Concentrated,
    GaussianShift,
    LaplaceShift,
    Loss,
    Pure,
    Worst,
)
from sfumato.core.unit import Unit
from sfumato.release import Measure, Release
from sfumato.release.price import Price
from sfumato.release.record import Figures, Record
from sfumato.release.wording import describe


def words(card):
    return " ".join(str(card).split())


def test_card_of_the_laboratory_says_that_nothing_was_charged(make):
    said = words(make().card())
    assert "No ledger took part, so nothing was charged" in said
    assert "Not durable" in said
    assert "stated by the caller" in said
    assert "With and without the data of any one unit" in said


def test_card_of_a_session_names_unit_and_receipt(make):
    parts = {"unit": Unit.by("rider_id", max_rows=20), "receipt": "r-7"}
    release = Release((), (Measure("n", (1,)),), "0.95", Pure(1), **parts)
    said = words(release.card())
    assert "share one value of rider_id" in said
    assert "rows: 20" in said
    assert "Receipt: r-7; not durable" in said
    assert "To verify" not in said  # there is nothing left that could be
    assert "declared by the owner" in said
    durable = Release((), (Measure("n", (1,)),), "0.95", Pure(1), **parts, durable=True)
    assert "not durable" not in words(durable.card()).lower()
    assert "sfumato ledger verify CONTRACT --head r-7" in words(durable.card())


@pytest.mark.parametrize(
    ("unit", "said"),
    [(Unit.row(), "One row of the table"), (Unit.rows(3), "Any 3 rows of the table")],
)
def test_card_describes_units_of_rows(make, unit, said):
    assert said in words(make(unit=unit).card())


def test_card_under_replace_says_that_the_number_is_public(make):
    said = words(make(cost=Pure(1, neighbors="replace")).card())
    assert "the number of units is public" in said


def test_card_lists_mechanism_scale_confidence_and_notes(make):
    said = words(make(notes=["values above 200 count as 200"]).card())
    assert "DiscreteLaplace(scale=2); noise scale 2" in said
    assert "own 95 % interval, covering: noise only" in said
    assert "values above 200 count as 200" in said


def test_card_of_a_quantile_counts_in_ranks(make):
    assert "at most 95 with 95 % confidence, counted as: rank" in words(
        make(41, "rank, noise only").card()
    )


def priced(make, *figures):
    return words(replace(make(), price=Price(*figures)).card())


def test_card_shows_the_numbers_that_were_computed(make):
    said = priced(make, "0.5", "1e-6")
    assert "ε = 0.5 at δ = 1e-06" in said
    assert "more than 1.65 times as likely, apart from events of probability 1e-06" in said
    assert "ε = 0.5 with no exception (δ = 0)" in priced(make, "0.5")
    assert "concentrated differential privacy, ρ = 0.125: D(M(x)" in priced(make, None, 0, "1/8")
    assert "No figure was computed" in words(make().card())


def test_card_states_the_definition_that_applies(make):
    pure, both = priced(make, "0.5", 0, "1/8"), priced(make, "0.5", "1e-6", "1/8")
    assert "Definition: pure differential privacy, ε = 0.5" in pure
    assert "Also: concentrated, ρ = 0.125" in pure
    assert "P[M(x) ∈ S] ≤ exp(ε) · P[M(y) ∈ S], for all" in pure
    assert "Definition: concentrated differential privacy" in both  # it has no exception
    assert "Also: approximate differential privacy" in both
    assert "P[M(y) ∈ S] + δ, for all" in both


def test_card_says_what_delta_is_for(make):
    assert "δ: 0: the factor holds for every answer" in priced(make, "0.5")
    said = priced(make, "0.5", "1e-6")
    assert "may give a unit away" in said
    assert "far below one over the number of units" in said


def test_card_says_what_is_not_promised(make):
    said = words(make().card())
    for limit in ("Time:", "The machine:", "Hardware:", "Other budgets:", "Facts about everybody:"):
        assert limit in said


def test_card_of_a_declared_number_says_that_nothing_was_measured():
    declared = Measure("n", (9,), (9,), (9,), covers="exact", mechanism="declared")
    said = words(Release((), (declared,), "0.95", Pure(0), unit=Unit.row()).card())
    assert "the owner declared as public" in said
    assert "stated by the caller" not in said


def record(**parts):
    some = Figures("ε = 1", Fraction(1), Fraction(1, 3), Fraction(0))
    told = dict.fromkeys(("charge", "budget", "spent", "remaining"), some)
    named = {"table": "trips", "version": "v", "analyst": "", "time": "now", "head": "2:ff"}
    return Record(**(told | named | {"answers": 2} | parts))


def test_card_with_a_record_knows_table_version_and_the_sum_of_all():
    release = Release((), (Measure("n", (1,)),), "0.95", Pure(1), receipt="1:aa", durable=True)
    said = words(release.card(record()))
    assert "Table: trips, version v of its data" in said
    assert "One of 2 answers from this ledger" in said
    assert "stays within ε = 1" in said
    assert "Spent by ana: ε = 1" in words(release.card(record(holder="ana")))
    assert "The only answer so far" in words(release.card(record(answers=1)))


@pytest.mark.parametrize("wrong", [5, "x", {}, [None], False], ids=repr)
def test_card_refuses_what_is_no_record(make, wrong):
    with pytest.raises(InputError, match=r"a Record.*session\.certificate"):
        make().card(wrong)


def test_card_as_json_holds_every_number_exactly():
    release = Release((), (Measure("n", (1,)),), "0.95", Pure(1), receipt="1:aa")
    release = replace(release, price=Price("1/3", "1e-9", "0.1"))
    content = json.loads(release.card(record()).to_json())
    assert [Fraction(content[name]) for name in ("epsilon", "delta", "rho", "confidence")] == [
        Fraction(1, 3),
        Fraction(1, 10**9),
        Fraction(1, 10),
        Fraction(19, 20),
    ]
    assert content["ledger"]["charge"] == {"epsilon": "1", "delta": "0", "rho": "1/3"}
    assert content["ledger"]["durable"] is False
    assert content["loss"] == {"kind": "Pure", "epsilon": "1"}


def test_card_never_understates_the_factor(make):
    assert "more than 2.72 times" in priced(make, 1)  # e = 2.7182...
    assert "more than 1 times" in priced(make, 0)
    assert "No protection" in priced(make, 1000)


def test_card_compares_what_the_relation_compares(make):
    replaced = replace(make(cost=Pure(1, neighbors="replace")), price=Price(1))
    assert "other data in its place, no event becomes" in words(replaced.card())


@pytest.mark.parametrize("figures", [(-1,), (1, 2), (None, 0, -1)])
def test_price_refuses_numbers_that_cannot_be(figures):
    with pytest.raises(InputError):
        Price(*figures)


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        (Pure(Fraction(1, 2)), "ε = 0.5 (pure"),
        (Approximate(1, Fraction(1, 1000)), "ε = 1 and δ = 0.001"),
        (Concentrated(Fraction(1, 8)), "ρ = 0.125"),
        (BoundedRange(1), "span at most 1"),
        (LaplaceShift(3, 2, 1), "scale 3, where one unit moves all cells together by at most 2"),
        (
            GaussianShift(3, 2),
            "σ = 3, where one unit moves the cells by a squared length of at most 2",
        ),
        (GaussianShift(3, 1, scalar=True), "only one cell, with a squared shift of at most 1"),
        (Composed.of([]), "nothing was given away"),
    ],
    ids=str,
)
def test_loss_is_described_in_words(loss, said):
    (sentence,) = describe(loss)
    assert said in sentence


def test_composed_loss_is_described_part_by_part():
    said = describe(Composed.of([Pure(1), Pure(1), Concentrated(2)]))
    assert sorted(said) == [
        "2 times: ε = 1 (pure differential privacy)",
        "ρ = 2 (zero-concentrated differential privacy)",
    ]


def test_loss_of_separate_parts_says_how_many_one_unit_touches():
    (said,) = describe(Worst.of([Pure(1)] * 3 + [Pure(2)], touched=2))
    assert said.startswith("separate parts of the data, 2 at most for one unit: 3 × (ε = 1 ")
    assert "1 × (ε = 2 " in said


def test_every_loss_class_has_words():
    nameless = [
        kind.__name__
        for kind in Loss.__subclasses__()
        if kind.__module__ == "sfumato.core.loss" and kind.__name__ not in describe.__globals__
    ]
    assert nameless == []


def test_card_as_json_names_the_release(make):
    content = json.loads(make().card().to_json())
    assert content["release"] == make().digest
    assert content["format"] == "sfumato-certificate-1"
    assert content["sections"][0]["title"] == "What was released"
    assert content["sections"][0]["facts"][0] == {"label": "Shape", "text": "A single number"}


def test_card_as_page_is_escaped(make, tmp_path):
    release = make([1], name="<b>", keys={"<script>": ["<i>"]}, notes=["<u>"], mechanism="<s>")
    release.card().to_html(tmp_path / "card.html")
    html = (tmp_path / "card.html").read_text("utf-8")
    assert (tmp_path / "card.html").read_text("utf-8") == html
    for tag in ("<script", "<b>", "<i>", "<u>", "<s>"):
        assert tag not in html
