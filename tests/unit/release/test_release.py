import pickle
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from sfumato.core.errors import CodecError, InputError, LossError, NeighborsError
from sfumato.core.loss import Concentrated, LaplaceShift, Pure
from sfumato.core.unit import Unit
from sfumato.release import Estimate, Measure, Release
from sfumato.release.error import Noise
from sfumato.release.form import Form
from sfumato.release.noisy import Noisy
from sfumato.release.price import Price

COST = LaplaceShift(2, 1, 1)


def test_scalar_has_no_keys_and_an_exact_estimate(make):
    release = make(1234)
    assert (release.keys, len(release), list(release)) == ((), 1, ["n"])
    assert release["n"] == Estimate(1234, 1139, 1329)
    assert type(release["n"].value) is int


def test_confidence_widens_the_interval(make):
    assert make(0)["n"].high == 95
    assert make(0, confidence=0.99)["n"] == Estimate(0, -99, 99, "0.99")


def test_table_has_an_estimate_of_arrays(by_zone):
    estimate = by_zone["n"]
    assert estimate.value.tolist() == [1234, 855, 407]
    assert estimate.low.dtype == np.int64
    assert estimate.high.tolist() == [1329, 950, 502]


def test_grid_values_are_viewed_as_floats(make):
    release = make([Fraction(1, 4), Fraction(3)])
    assert release["n"].value.dtype == np.float64
    assert release["n"].value.tolist() == [0.25, 3.0]


def test_array_without_keys_is_named_by_position(make):
    assert make([5]).keys == (("index", (0,)),)
    assert make(np.array([[1, 2], [3, 4]])).keys == (
        ("index_0", (0, 0, 1, 1)),
        ("index_1", (0, 1, 0, 1)),
    )


def test_release_without_rows_is_possible(make):
    release = make([], keys={"zone": []})
    assert len(release) == 0
    assert release.to_arrow().num_rows == 0
    assert Release.from_json(release.to_json()) == release


def test_unknown_measure_lists_those_that_exist(make):
    with pytest.raises(KeyError, match="there are: n"):
        make()["fare"]


def test_json_is_golden():
    release = Release((), (Measure("n", (7,), (1,), (9,)),), Fraction(9, 10), COST, version="1.2.3")
    text = release.to_json()
    assert text == (
        '{"$":"Release","confidence":{"$q":"9/10"},"cost":{"$":"LaplaceShift","l1":{"$q":"1/1"},'
        '"linf":{"$q":"1/1"},"neighbors":"add_remove","scale":{"$q":"2/1"}},"durable":false,'
        '"keys":{"$t":[]},"measures":{"$t":[{"$":"Measure","covers":"noise only","high":{"$t":[9]},'
        '"kind":"integer","low":{"$t":[1]},"margin":null,"mechanism":"","name":"n","scale":null,'
        '"values":{"$t":[7]}}]},"notes":{"$t":[]},"price":null,"receipt":null,"unit":null,"version":"1.2.3"}'
    )
    assert Release.from_json(text) == release
    assert Release.from_json(text.encode()).digest == release.digest


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[1]", '{"$":"Pure","epsilon":{"$q":"1/1"},"neighbors":"add_remove"}', "é", b"\xff"],
)
def test_other_text_is_not_a_release(text):
    with pytest.raises(CodecError):
        Release.from_json(text)


def test_edited_text_is_refused(by_zone):
    text = by_zone.to_json()
    with pytest.raises(CodecError):
        Release.from_json(text.replace("1234", "9999"))  # no longer inside its interval
    with pytest.raises(CodecError):
        Release.from_json(text.replace(",", ", "))


def test_releases_are_equal_when_their_bytes_are(make):
    assert make(5) == make(5)
    assert hash(make(5)) == hash(make(5))
    assert make(5) != make(6)
    assert make([1], keys={"k": [1]}) != make([1], keys={"k": [True]})
    assert make(5) != "5"


def test_release_cannot_be_changed(make):
    with pytest.raises(AttributeError):
        make().receipt = "paid"


def test_pickle_keeps_the_release(by_zone):
    assert pickle.loads(pickle.dumps(by_zone)) == by_zone  # noqa: S301


def test_keys_are_kept_by_kind(make):
    release = make(
        [1, 2], keys={"a": np.array([3, 4]), "b": [True, None], "c": [Fraction(1, 2), 1]}
    )
    assert release.keys == (("a", (3, 4)), ("b", (True, None)), ("c", (Fraction(1, 2), 1)))
    assert [type(v) for v in release.keys[2][1]] == [Fraction, Fraction]


@pytest.mark.parametrize(
    "keys",
    [
        {"k": [1]},
        {"k": [1, 2], "n": [1, 2]},
        {"n_low": [1, 2]},
        {"k": ["a", 1]},
        {"k": [0.5, 1.5]},
        {"k": ["\ud800", "b"]},
        {"": [1, 2]},
        {"k": "ab"},
        {},
    ],
    ids=str,
)
def test_keys_that_do_not_fit_are_refused(make, keys):
    with pytest.raises(InputError):
        make([1, 2], keys=keys)


def test_parts_that_do_not_belong_together_are_refused():
    one, two = Measure("n", (1,)), Measure("m", (1, 2))
    keys = (("k", ("A",)),)
    for wrong in (
        {"measures": ()},
        {"measures": (one, two)},
        {"measures": (one, one)},
        {"durable": True},
        {"notes": (3,)},
        {"notes": ("\ud800",)},
        {"receipt": 5},
        {"confidence": 95},
    ):
        parts = {"keys": keys, "measures": (one,), "confidence": "0.95", "cost": COST} | wrong
        with pytest.raises(InputError):
            Release(**parts)


def test_cost_must_be_a_loss_under_the_relation_of_the_unit(make):
    with pytest.raises(LossError):
        make(cost=0.5)
    with pytest.raises(NeighborsError):
        make(unit=Unit.row("replace"))
    assert make(unit=Unit.row("replace"), cost=Pure(1, neighbors="replace")).neighbors == "replace"


def test_several_measures_share_the_keys():
    measures = (Measure("n", (1, 2), (0, 1), (2, 3)), Measure("fare", (Fraction(1, 2), 3)))
    release = Release((("zone", ("A", "B")),), measures, "0.95", Concentrated(1))
    assert release.columns == ("zone", "n", "n_low", "n_high", "fare")
    assert release["fare"].value.tolist() == [0.5, 3.0]


def test_repr_is_a_small_table(by_zone):
    assert repr(by_zone).splitlines() == [
        "zone     n  n_low  n_high",
        "A     1234   1139    1329",
        "B      855    760     950",
        "C      407    312     502",
        "intervals at 95 % each (noise only); nothing was charged: no ledger",
    ]


def test_repr_of_a_scalar_is_one_line_and_the_footer(make):
    assert repr(make(5)).splitlines()[0] == "n = 5 [-90, 100] (95 %)"


def test_repr_shows_twenty_rows_at_most(make):
    lines = repr(make(range(25))).splitlines()
    assert len(lines) == 23
    assert lines[21] == "… and 5 more rows"
    assert "more row" not in repr(make(range(20)))


def test_repr_does_not_steer_the_terminal(make):
    shown = repr(make([1], keys={"z\n": ["\x1b[31mred\u202e"]}))
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert len(shown.splitlines()) == 3


def test_footer_names_the_receipt_and_whether_it_is_durable():
    parts = ((), (Measure("n", (1,)),), Fraction(9, 10), COST)
    assert repr(Release(*parts, receipt="r-1")).endswith("receipt r-1, not durable")
    assert repr(Release(*parts, receipt="r-1", durable=True)).endswith("receipt r-1")


def test_price_is_the_last_line(town):
    assert repr(town()).splitlines()[-1] == "price: ε = 1, ρ = 0.5"
    assert repr(town().derive(x="n + 1")).splitlines()[-1] == "price: ε = 1, ρ = 0.5"
    bare = town(price=Price(None, "1e-6"))
    assert repr(bare).splitlines()[-1].startswith("intervals at")
    assert repr(town(price=Price("1/3", "1e-6"))).endswith("price: ε = 0.333334, δ = 1e-06")


def test_text_without_the_newer_fields_still_reads(town):
    old = Release((), (Measure("n", (7,), (1,), (9,)),), Fraction(9, 10), COST)
    newer = {"noisy", "sampled", "origins", "question", "form"}
    assert not newer & set(re.findall(r'"(\w+)":', old.to_json()))
    assert (old.noisy, old.sampled, old.origins) == ((), False, ())
    answer = town(sampled=True)
    text = answer.to_json()
    assert '"sampled":true' in text
    with pytest.raises(CodecError, match="canonical form"):  # one value, one text
        Release.from_json(text.replace('"sampled":true', '"sampled":false'))


def test_name_of_a_question_stays_with_its_answer_and_not_with_several(town):
    answer = replace(town(), question="morning")
    assert Release.from_json(answer.to_json()).question == "morning"
    assert answer.sort("n").head(2).question == "morning"
    other = replace(town(), question="evening", receipt="8:ff")
    assert answer.derive(x=answer["n"] + answer["n"]).question == "morning"
    assert answer.derive(x=answer["n"] - other["n"]).question == ""
    for wrong in (5, None, "\ud800"):
        with pytest.raises(InputError):
            replace(answer, question=wrong)


def test_new_answers_and_what_is_computed_from_them_read_back(town):
    answer = town().derive(x="fare / n").share("n").sort("n").head(2)
    again = Release.from_json(answer.to_json())
    assert again == answer
    assert again["x"] * again["n"] == answer["x"] * answer["n"]
    assert pickle.loads(pickle.dumps(answer)) == answer  # noqa: S301


def test_draws_of_a_release_belong_to_it(town):
    answer = town()
    for wrong in (
        {"noisy": ()},
        {"noisy": answer.noisy[:1]},
        {"noisy": (*answer.noisy, answer.noisy[0])},
        {"noisy": ("7/n",)},
        {"sampled": 1},
        {"origins": ("receipt",)},
    ):
        with pytest.raises(InputError):
            replace(answer, **wrong)
    with pytest.raises(InputError, match="form="):
        Measure("n", (1,), form="7/n")
    with pytest.raises(InputError, match="form="):
        Measure("n", ("a",), form=Form.linear({"a": 1}))


def test_release_of_a_draw_can_be_computed_with(make):
    noise = Noise("laplace", 2)
    answer = make([5, 7], keys={"k": ["a", "b"]}, noise=noise, draw="0f3a")
    assert (answer["n"] - answer["n"]).value.tolist() == [0, 0]
    assert answer.noisy == (Noisy("0f3a", noise, (5, 7)),)
    for half in ({"noise": noise}, {"draw": "0f3a"}):
        with pytest.raises(InputError, match="go together"):
            make([5], keys={"k": [1]}, **half)


def test_footer_says_when_there_is_no_interval(make):
    assert repr(make(5, error=None)).splitlines()[0] == "n = 5 (no interval)"
    assert repr(make(5, error=None)).endswith("no interval; nothing was charged: no ledger")


def test_notebook_view_is_escaped_and_short(make):
    html = make(range(25), keys={"<b>": [f"<script>{i}" for i in range(25)]})._repr_html_()
    assert "<script" not in html
    assert "<b>" not in html
    assert html.count("<tr>") == 21
    assert "5 more rows" in html


@pytest.mark.parametrize("part", ["unit", "price"])
def test_release_refuses_parts_of_another_kind(part):
    with pytest.raises(InputError, match=f"the {part} of a release"):
        Release((), (Measure("n", (7,)),), Fraction(9, 10), COST, **{part: {}})
