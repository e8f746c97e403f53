"""The report of a session: complete, well-formed, and nothing on it that is not public."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pyarrow as pa
import pytest
from pyarrow import csv

import sfumato as sf
from sfumato.core.codec import encode
from sfumato.core.errors import InputError
from sfumato.ledger import Ledger
from sfumato.relation.source import Source
from sfumato.session.columns import described
from sfumato.session.report import Report

VOID = {"meta", "path", "line", "rect", "circle"}
HOSTILE = "<script>alert(1)</script>"
SCHEMA = sf.Schema(zone=sf.Category(["north", "south"]), age=sf.Integer(0, 99, nullable=True))
CANARIES = (77_031, 88_417, 99_522)  # ages that nobody may declare, and that no noise hits


class Reader(HTMLParser):
    """Collects headings, text and addresses; fails on tags that do not close one another."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.text, self.addresses = [], [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.addresses += [v for name, v in attrs if name in {"href", "src", "action"}]
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    @property
    def said(self):
        return " ".join(" ".join(self.text).replace("\xa0", " ").split())


@pytest.fixture
def data(tmp_path):
    """Write a file whose folder and values nobody may see."""
    folder = tmp_path / "canary-folder"
    folder.mkdir()
    ages = [30, 41, *CANARIES, 60]
    csv.write_csv(pa.table({"zone": ["north", "south"] * 3, "age": ages}), folder / "c.csv")
    return folder / "c.csv"


@pytest.fixture
def session(data, tmp_path):
    with sf.Session(
        data,
        unit=sf.Unit.row(),
        schema=SCHEMA,
        budget=sf.Budget(epsilon=3, delta="1e-6"),
        ledger=tmp_path / "c.ledger",
        name="people",
        version="2026-11",
    ) as opened:
        yield opened


def asked(session):
    by_zone = session.table().group_by("zone")
    return [
        by_zone.agg(people=sf.count()).release(epsilon="0.5"),
        by_zone.agg(age=sf.mean("age")).release(epsilon=1),
    ]


def test_report_tells_contract_answers_ledger_and_promise(session):
    releases = asked(session)
    page = Reader(session.report(releases=releases, title="The zones"))
    said = page.said
    for part in (
        "The zones",
        "Table people, version 2026-11",
        "One row of the table",
        "one of: north, south",
        "whole numbers from 0 to 99",
        "ε = 3 with δ = 1e-06",
        "Answer 1: people by zone",
        "Answer 2: age by zone",
        "people_low",
        releases[0].receipt,
        session.ledger.head,
        f"sfumato ledger verify CONTRACT --head {session.ledger.head}",
        "approximate differential privacy, ε = 3 at δ = 1e-06",
        "Caches, speculation",
        "2 stored, 2 on this page",
        str(session.remaining),
    ):
        assert part in said, part
    assert page.tags.count("svg") == 2
    for number in releases[0]["people"].value:
        assert f"{number:,}" in said


def test_answer_carries_what_was_asked(session):
    table = session.table().with_columns(old="age >= 60").filter("age < 90", "not old")
    answer = table.group_by("zone").agg(x=sf.mean("age"), n=sf.count()).release(epsilon=1)
    said = Reader(session.report(releases=[answer])).said
    assert "x is mean('age')" in said
    assert "n is count()" in said
    assert "asked of people; with old = age >= 60; where age < 90; where not old" in said
    assert "null" not in said  # that groups are not NULL is told in other words


def test_report_tells_stored_parts_apart():
    ledger = Ledger.create(None, sf.Budget(epsilon=9), sf.Unit.row())
    one = sf.Sensitivity(l1=1)
    drawn = [sf.mechanisms.DiscreteLaplace(2).release(5, one) for _ in range(2)]
    granted = ledger.reserve("r", None, "t", "1", "p", drawn[0].cost + drawn[1].cost)
    ledger.touch(granted)
    parts = tuple(
        replace(part, receipt=granted.receipt, notes=(note, "both"))
        for part, note in zip(drawn, "ab", strict=True)
    )
    ledger.settle(granted, encode(parts))
    said = Reader(Report(ledger=ledger, tables={}).page().html()).said
    assert "Note both Note part 1: a Note part 2: b" in said
    assert "pure, ε = 1 with no exception" in said


def test_report_runs_nothing_and_names_no_address(session):
    html = session.report(releases=asked(session))
    page = Reader(html)
    assert not {"script", "link", "img", "iframe", "object", "embed"}.intersection(page.tags)
    assert page.addresses == []
    assert not re.search(r"https?:|//[a-z]|@import|url\((?!#)", html)


def test_report_holds_neither_path_nor_key_nor_data(session, data, tmp_path):
    releases = asked(session)
    for html in (session.report(), session.report(releases=releases)):
        assert "canary-folder" not in html
        assert str(tmp_path) not in html
        assert "c.csv" not in html
        key = session.ledger.truncation_key
        assert key.hex() not in html
        assert repr(key)[2:-1] not in html
        for value in CANARIES:
            assert str(value) not in html.replace(",", "")


def test_report_of_a_ledger_needs_no_data(session, data, tmp_path):
    first, _ = asked(session)
    session.close()
    data.unlink()
    with_only = Ledger.open(tmp_path / "c.ledger", read_only=True)
    page = Report(ledger=with_only, tables={Source("people", SCHEMA, sf.Unit.row()): "2026-11"})
    said = Reader(page.page().html()).said
    assert "Answer 1: value by zone" in said
    assert "Answer 2: part 1, part 2 by zone" in said  # a mean is made of these two
    assert "As the ledger stores it" in said
    for number in first["people"].value:
        assert f"{number:,}" in said
    assert first.receipt in said


def test_report_costs_nothing(session):
    asked(session)
    head, left = session.ledger.head, session.remaining
    session.report()
    assert (session.ledger.head, session.remaining) == (head, left)


def test_report_is_written_to_a_file(session, tmp_path):
    assert session.report(tmp_path / "r.html") is None
    assert (tmp_path / "r.html").read_text("utf-8") == session.report()


@pytest.mark.parametrize("place", [".", "no/such/page.html", "c.ledger"])
def test_report_that_cannot_be_written_is_refused_before_the_work(
    session, tmp_path, place, monkeypatch
):
    monkeypatch.setattr("sfumato.session.report.Report", None)
    before = (tmp_path / "c.ledger").read_bytes()
    with pytest.raises(InputError, match=r"Choose|Pass another file"):
        session.report(tmp_path / place)
    assert (tmp_path / "c.ledger").read_bytes() == before


def test_report_refuses_an_answer_of_another_ledger(session, town):
    other = town().table().count().release(epsilon=1)
    with pytest.raises(InputError, match="not paid from this ledger"):
        session.report(releases=[other])
    with pytest.raises(InputError, match="not paid from this ledger"):
        session.certificate(other)
    free = sf.mechanisms.DiscreteLaplace(1).release(1, sf.Sensitivity(l1=1))
    with pytest.raises(InputError, match="not paid from this ledger"):
        session.report(releases=[free])


@pytest.mark.parametrize("where", ["title", "table", "column", "output", "version"])
def test_report_escapes_every_name(where):
    names = dict.fromkeys(("title", "table", "column", "output", "version"), "plain")
    names |= {"output": "n", where: HOSTILE}
    column = names["column"]
    with sf.Session(
        pa.table({column: [HOSTILE]}),
        unit=sf.Unit.row(),
        schema=sf.Schema({column: sf.Category([HOSTILE, "b\u202e", "漢字 ü"])}),
        budget=sf.Budget(epsilon=3),
        name=names["table"],
        version=names["version"],
    ) as hostile:
        asked = hostile.table().group_by(column).agg(**{names["output"]: sf.count()})
        answer = asked.release(epsilon=1)
        pages = [
            hostile.report(title=names["title"], releases=releases) for releases in (None, [answer])
        ]
        pages += [hostile.certificate(answer).to_html(), answer.to_html(), answer._repr_html_()]
    for html in pages:
        assert "<script" not in html
        assert "\u202e" not in html
    for html in pages[:2]:
        assert HOSTILE in Reader(html).said
        assert "漢字 ü" in html


def test_report_of_many_answers_shows_the_newest(session, monkeypatch):
    monkeypatch.setattr("sfumato.session.report.MOST_ANSWERS", 1)
    asked(session)
    said = Reader(session.report()).said
    assert "2 stored, 1 on this page" in said
    assert "part 1, part 2" in said


def test_report_of_a_long_table_says_what_it_leaves_out(session, monkeypatch):
    monkeypatch.setattr("sfumato.session.report.MOST_ROWS", 1)
    said = Reader(session.report(releases=asked(session)[:1])).said
    assert "1 more rows are not shown" in said
    assert re.search(r"The last 1 of [2-9]\.", said)


def shared(**options):
    ledger = Ledger.create(
        None,
        sf.Budget(epsilon=3),
        sf.Unit.row(),
        analysts={"ana": sf.Budget(epsilon=1), "bob": sf.Budget(epsilon=2)},
    )
    data = pa.table({"zone": ["north"], "age": [3]})
    facts = {"unit": sf.Unit.row(), "schema": SCHEMA, "budget": sf.Budget(epsilon=3)}
    for who, epsilon in (("ana", "0.25"), ("bob", "1.5")):
        session = sf.Session(data, ledger=ledger, name="people", analyst=who, version="1", **facts)
        yield session, session.table().count().release(epsilon=epsilon)


def test_report_for_an_analyst_says_nothing_of_the_others():
    (ana, mine), (bob, theirs) = shared()
    said = Reader(ana.report()).said
    assert "bob" not in said
    assert theirs.receipt not in said
    assert "ε = 0.75" in said  # of a share of 1
    assert "ε = 1.5" not in said
    assert "1 stored, 1 on this page" in said
    whole = Reader(Report(ledger=bob.ledger, tables={}).page().html()).said
    assert "ana" in whole.split("Ledger", 1)[1]
    assert mine.receipt in whole
    assert theirs.receipt in whole


def test_certificate_for_an_analyst_counts_their_own():
    (ana, mine), (bob, _) = shared()
    content = json.loads(ana.certificate(mine).to_json())["ledger"]
    assert (content["holder"], content["answers"]) == ("ana", 1)
    assert (content["spent"]["epsilon"], content["remaining"]["epsilon"]) == ("0.25", "0.75")
    assert content["budget"]["epsilon"] == "3"
    assert json.loads(bob.certificate(mine).to_json())["ledger"]["analyst"] is None


def bought_again():
    """Let ana ask twice, and bob after her: the first question from the ledger, one of his own."""
    (ana, _), (bob, own) = shared()
    hers = ana.table().filter("age > 5").count().release(epsilon="0.5")
    theirs = bob.table().filter("age > 5").count().release(epsilon="0.5")
    assert theirs == hers  # to the last byte, with the receipt of ana's charge
    return ana, bob, theirs, own


def test_certificate_of_a_stored_answer_tells_the_charge_of_who_was_given_it():
    ana, bob, given, _ = bought_again()
    entry = bob.ledger.history()[-1]
    assert (entry.kind, entry.analyst) == ("given", "bob")
    card = bob.certificate(given)
    content = json.loads(card.to_json())["ledger"]
    assert (content["analyst"], content["holder"], content["answers"]) == ("bob", "bob", 2)
    assert (content["charge"]["epsilon"], content["spent"]["epsilon"]) == ("0.5", "2")
    assert content["given"].startswith(f"{entry.seq}:")
    assert bob.ledger.verify(content["given"]).ok
    said = " ".join(str(card).split())
    assert f"to bob, {entry.moment:%Y-%m-%d %H:%M:%S} UTC, in ledger entry {entry.seq}" in said
    assert "One of 2 answers that bob has from this ledger" in said
    assert not re.search(r"\bana\b", said)
    hers = json.loads(ana.certificate(given).to_json())["ledger"]
    assert (hers["analyst"], hers["answers"], hers["given"]) == ("ana", 2, None)


def test_certificate_of_an_answer_asked_again_tells_the_charge_and_not_the_repetition():
    _, bob, given, _ = bought_again()
    first = json.loads(bob.certificate(given).to_json())["ledger"]
    bob.table().filter("age > 5").count().release(epsilon="0.5")  # theirs by now, and free
    again = json.loads(bob.certificate(given).to_json())["ledger"]
    del first["head"], again["head"]
    assert again == first


def test_certificate_of_an_answer_that_others_paid_for_says_so():
    (_, hers), (bob, _) = shared()
    card = bob.certificate(hers)
    content = json.loads(card.to_json())["ledger"]
    assert (content["analyst"], content["answers"], content["given"]) == (None, 1, None)
    said = " ".join(str(card).split())
    assert "to another analyst" in said
    assert "bob has 1 answer from this ledger, and this is another one" in said


def test_report_of_an_analyst_shows_stored_answers_that_were_given_to_them():
    _, bob, given, own = bought_again()
    for releases in (None, [own, given]):
        said = Reader(bob.report(releases=releases)).said
        assert "2 stored, 2 on this page" in said
        assert given.receipt in said
        assert own.receipt in said
        assert "Charged ε = 0.5" in said
        assert "to bob" in said
        assert not re.search(r"\bana\b", said)
    entry = bob.ledger.history()[-1]
    assert re.search(rf" {entry.seq} [-0-9: ]+ UTC stored answer bob", said)
    bob.table().filter("age > 5").count().release(epsilon="0.5")
    said = Reader(bob.report()).said
    assert "2 stored, 2 on this page" in said  # to ask again makes no other answer of it
    assert "UTC given again bob" in said


def test_certificate_of_a_session_names_table_version_and_total(session):
    first, second = asked(session)
    content = json.loads(session.certificate(first).to_json())["ledger"]
    assert (content["table"], content["version"]) == ("people", "2026-11")
    assert content["receipt"] == first.receipt
    assert content["answers"] == 2
    assert content["charge"]["epsilon"] == "0.5"
    assert content["spent"]["epsilon"] == "1.5"
    assert content["budget"] == {"epsilon": "3", "delta": "0.000001", "rho": None}
    assert content["head"] == session.ledger.head
    assert session.ledger.verify(second.receipt).ok


def test_report_tells_what_became_of_a_request():
    ledger = Ledger.create(None, sf.Budget(epsilon=9), sf.Unit.row())

    def ask(name):
        return ledger.reserve(
            name, None, "t", "1", name, sf.mechanisms.DiscreteLaplace(1).loss(sf.Sensitivity(l1=1))
        )

    for name, end in (("a", ledger.abandon), ("b", ledger.fault)):
        granted = ask(name)
        ledger.touch(granted)
        end(granted)
        if end == ledger.fault:
            ledger.acknowledge()
    ledger.release_untouched(ask("c"))
    ask("d")
    granted = ask("e")
    ledger.touch(granted)
    ledger.settle(granted, b"of another program")
    ledger.refresh("t", "2")
    ledger.raise_budget(sf.Budget(epsilon=10))
    said = Reader(Report(ledger=ledger, tables={}).page().html()).said
    for part in (
        "given up; the charge stands",
        "failed; the charge stands",
        "given back, nothing was read",
        "under way",
        "answered",
        "new version of the data",
        "budget raised",
        "fault acknowledged",
        "not durable",
        "1 stored, 0 on this page",
    ):
        assert part in said, part
    assert said.count("ε = 1, ρ =") == 4  # what was given back cost nothing


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (sf.Integer(-5, 12_000), "whole numbers from -5 to 12,000"),
        (sf.Real(0, 50, step="0.01"), "numbers from 0 to 50 in steps of 0.01"),
        (sf.Category(["a", 7]), "one of: a, 7"),
        (sf.Category(range(25)), " 19 and 5 more"),
        (sf.Boolean(), "true or false"),
        (sf.Date("2026-01-01", "2026-12-31"), "days from 2026-01-01 to 2026-12-31"),
        (
            sf.Timestamp("2026-01-01T00:00:00", "2026-01-01T01:00:00", 60),
            "moments from 2026-01-01T00:00:00 to 2026-01-01T01:00:00 in steps of 60 seconds",
        ),
        (sf.Text(), "any text"),
    ],
    ids=str,
)
def test_column_is_described_in_words(column, said):
    assert said in described(column)


def test_entries_are_read_once_however_many_answers_there_are(monkeypatch):
    session = sf.Session(
        pa.table({"age": [30, 40]}),
        unit=sf.Unit.row(),
        schema=sf.Schema(age=sf.Integer(0, 99)),
        budget=sf.Budget(epsilon=100),
    )
    counts = [session.table().filter(f"age > {i}").count().release(epsilon=1) for i in range(4)]
    read, history = [], Ledger.history
    monkeypatch.setattr(Ledger, "history", lambda ledger: read.append(ledger) or history(ledger))
    times = []
    for shown in (counts[:1], counts):
        read.clear()
        Report(ledger=session.ledger, tables={}, releases=shown).page()
        times.append(len(read))
    assert times[0] == times[1]


def named(session, **options):
    """Ask a batch with names: two groupings, a filter, a mean and a median."""
    table = session.table()
    questions = {
        "old people": table.filter("age > 60").count(),
        "young people": table.filter("age < 7").count(),
        "everybody": table.count(),
        "age of a zone": table.group_by("zone").mean("age"),
        "middle": table.median("age"),
    }
    return session.batch(questions).release(epsilon=1, **options)


def test_report_of_a_named_batch_shows_the_names(session):
    answers = named(session)
    assert [answer.question for answer in answers.values()] == list(answers)
    for releases in (answers, list(answers.values())):
        said = Reader(session.report(releases=releases)).said
        assert "Answer 1: old people (n)" in said
        assert "Answer 4: age of a zone (age by zone)" in said
        assert "1 stored, 1 on this page, passed as 5 answers" in said
    said = Reader(session.report(releases={"mine": answers["everybody"]})).said
    assert "Answer 1: mine (n)" in said  # who passes a name has the last word


def test_report_of_a_stored_batch_is_one_charge_with_its_parts_in_order(session):
    named(session)
    html = session.report()
    said = Reader(html).said
    assert "Answer 1: one charge of 6 measured parts" in said
    assert "1 stored, 1 on this page, in 6 measured parts" in said
    assert "computed from these parts" in said
    assert "session.report(releases=answers) shows the answers themselves" in said
    assert "Charged ε = 1, ρ = " in said
    assert said.count("Charged") == 1
    assert re.findall("<h3>(.*?)</h3>", html)[1:-1] == [  # between contract and certificate
        "The number of rows",
        "The number of rows, where age &lt; 7",
        "The number of rows, where age &gt; 60",
        "The values of age by quantile",
        "The number of rows with age; the sum of age - 49 by zone",
    ]


def test_parts_are_ordered_by_numbers_and_not_by_digits(session):
    table = session.table()
    session.batch([table.filter(f"age > {i}").count() for i in (70, 9, 10)]).release(epsilon=1)
    headings = re.findall("<h3>.*(age &gt; [0-9]+)</h3>", session.report())
    assert headings == ["age &gt; 9", "age &gt; 10", "age &gt; 70"]


def test_heading_of_a_part_is_cut_and_its_notes_are_not(session):
    table = session.table()
    longest = " or ".join(f"age = {i}" for i in range(20))
    session.batch([table.filter(longest).count(), table.count()]).release(epsilon=1)
    html = session.report()
    [heading] = re.findall("<h3>(The number of rows, where .*?)</h3>", html)
    assert heading.endswith("…")
    assert "age = 19" not in heading
    assert "age = 19" in html


def test_report_of_a_batch_with_too_many_parts_says_what_it_leaves_out(session, monkeypatch):
    monkeypatch.setattr("sfumato.session.report.MOST_ANSWERS", 2)
    table = session.table()
    session.batch([table.filter(f"age > {i}").count() for i in range(4)]).release(epsilon=1)
    html = session.report()
    assert "2 more are not shown" in html
    assert re.findall("<h3>.*(age &gt; [0-9]+)</h3>", html) == ["age &gt; 0", "age &gt; 1"]
    table.count().release(epsilon=1)
    said = Reader(session.report()).said
    assert "2 stored, 1 on this page" in said
    assert "one charge of" not in said


def test_report_takes_one_release(session):
    answer = asked(session)[0]
    assert session.report(releases=answer) == session.report(releases=[answer])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (5, "releases= is of type int"),
        ("x", "releases= is of type str"),
        ([None], "answer 1 in releases= is of type NoneType"),
        (["x"], "answer 1 in releases= is of type str"),
        ({"a": 5}, r"answer 1 \('a'\) in releases= is of type int"),
        ([("a", 5)], "answer 1 in releases= is of type tuple"),
        (object(), "releases= is of type object"),
    ],
    ids=["number", "text", "nothing", "texts", "mapping", "pairs", "object"],
)
def test_report_refuses_what_is_no_release(session, wrong, said):
    with pytest.raises(InputError, match=said) as refused:
        session.report(releases=wrong)
    assert "Pass what release() returned" in str(refused.value)


def test_report_refuses_questions_and_names_that_are_no_text(session):
    table = session.table()
    batch = session.batch([table.count(), table.mean("age")])
    for unasked in (batch, batch.explain(epsilon=1), table.count(), [table.count()]):
        with pytest.raises(InputError, match="a report shows releases"):
            session.report(releases=unasked)
    answers = asked(session)
    with pytest.raises(InputError, match="answer 1 in releases= has a name of type int"):
        session.report(releases={1: answers[0]})
    with pytest.raises(InputError, match="a report shows releases"):
        Report(ledger=session.ledger, tables={}, releases=7).page()


@pytest.mark.parametrize(
    "title", [None, 5, b"x", ["x"], pa.array([1, 2])], ids=lambda t: type(t).__name__
)
def test_report_refuses_a_title_that_is_no_text(session, title):
    with pytest.raises(InputError, match="title= of a report is a text"):
        session.report(title=title)
