"""The command line as people meet it."""

import os
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import sfumato
from sfumato.cli import chapter, main
from sfumato.cli.demo import CODE
from sfumato.cli.story import ask, tell
from sfumato.cli.survey import DISTRICTS, OLDEST, YOUNGEST, Survey
from sfumato.cli.town import CLINICS, DEAREST, RICHEST, Town
from sfumato.core.errors import BudgetExceeded
from sfumato.core.sensitivity import Sensitivity
from sfumato.ledger import Ledger, verify
from sfumato.session import Contract

SOURCE = Path(sfumato.__file__).parents[1]
TOWN = (
    (5047, 3989, 3259, 4620, 3493, 2842),
    [10, 17, 16, 92, 58],
    [4128, 3408, 10080],
)  # people by district; the first ages and costs


def run(*arguments):
    return CliRunner().invoke(main, list(map(str, arguments)))


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Run the demonstration once; return the result and the page. The town is kept beside it."""
    page = tmp_path_factory.mktemp("demo") / "kale.html"
    result = run("demo", "--out", page, "--people", 5000, "--keep", page.parent / "town")
    assert result.exit_code == 0, result.output
    return result, page


def test_version_is_that_of_the_package():
    result = run("--version")
    assert result.exit_code == 0
    assert result.stdout.split()[-1] == sfumato.__version__


@pytest.mark.parametrize("ask", ["--help", "-h"])
def test_help_lists_the_commands(ask):
    result = run(ask)
    assert result.exit_code == 0
    for command in ("audit", "demo", "ledger", "query", "report"):
        assert command in result.stdout


def test_demo_refuses_a_ledger_before_anybody_waits(tmp_path, monkeypatch):
    other = tmp_path / "other.html"
    Ledger.create(other, sfumato.Budget(1), sfumato.Unit.row()).close()
    monkeypatch.setattr("sfumato.cli.demo.tell", None)
    result = run("demo", "--out", other)
    assert result.exit_code == 2
    assert "is a ledger" in result.stderr


def test_demo_tells_the_story_in_a_screen_or_two(demo):
    result, page = demo
    lines = result.stdout.splitlines()
    assert 60 <= len(lines) <= 90
    assert lines[-1].endswith(str(page))
    assert all(line == line.rstrip() for line in lines)
    for part in ("5,000 people, all made up", "Nicole", "median age", "coin"):
        assert part in result.stdout


def test_demo_tells_of_the_town_and_its_budget(demo):
    said = " ".join(demo[0].stdout.split())
    for part in (
        "23,250 people in a CSV file, 76,760 visits",
        "people by district cost ε = 0.5, ρ = 0.1225 and err by ±6",
        "Lakeside",
        "Children",
        "this release costs ε = 1; 0.5 of 2.5 remains",
        "the same answer, free. Left: ε = 0.5.",
        "12 entries, all in order",
    ):
        assert part in said


def test_demo_keeps_the_town_for_whoever_wants_to_ask_it(demo):
    folder = demo[1].parent / "town"
    assert sorted(file.name for file in folder.iterdir() if "-" not in file.name) == [
        "people.csv",
        "town.ledger",
        "town.toml",
        "visits.parquet",
    ]
    assert verify(folder / "town.ledger").ok
    first = ("query", folder / "town.toml", "--table", "people", "--group-by", "district")
    assert run(*first, "--count", "--epsilon", "0.6").exit_code == 2  # only 0.5 is left


def test_demo_refuses_to_keep_a_town_where_there_is_something(tmp_path):
    (tmp_path / "mine").write_text("do not touch", encoding="utf-8")
    result = run("demo", "--out", tmp_path / "page.html", "--people", 100, "--keep", tmp_path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--keep" in result.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["mine"]


def test_demo_page_is_complete_and_fetches_nothing(demo):
    html = demo[1].read_text(encoding="utf-8")
    assert html.count("<svg") == 10
    assert html.count("<section>") == html.count("</section>") == 19
    for part in ("Who likes kale?", "Nobody in them is real", "Lakeside", "[tables.visits]"):
        assert part in html
    assert "<script" not in html
    assert re.findall(r"https?://", html) == []


def test_demo_ends_in_the_report_of_the_town(demo):
    html = demo[1].read_text(encoding="utf-8")
    titles = re.findall(r"<h2>(.*?)</h2>", html)
    assert titles[-7:] == [
        "What the town may publish",
        "Contract",
        "Answer 1: people by district",
        "Answer 2: income by district",
        "Answer 3: cost by clinic",
        "Ledger",
        "Certificate",
    ]
    report = html[html.index("<h2>What the town may publish</h2>") :]
    assert "Truth" not in report
    assert report.count("<svg") == 3
    assert verify(demo[1].parent / "town" / "town.ledger").head in report


def test_demo_page_shows_the_numbers_of_the_console(demo):
    result, page = demo
    html = page.read_text(encoding="utf-8")
    row = r"^  (?:Monday|Tuesday|University|Heart) +([\d,.]+) +[\d,.]+ to"
    released = re.findall(row, result.stdout, re.MULTILINE)
    assert len(released) == 5
    assert all(f">{number}<" in html for number in released)


@pytest.mark.parametrize("people", [100, 100_000])
def test_demo_works_for_few_and_for_many(people, tmp_path):
    result = run("demo", "--out", tmp_path / "page.html", "--people", people)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "page.html").stat().st_size > 20_000


@pytest.mark.parametrize("people", ["99", "1000001", "many"])
def test_demo_refuses_a_survey_it_cannot_make(people, tmp_path):
    result = run("demo", "--out", tmp_path / "page.html", "--people", people)
    assert result.exit_code == 2
    assert "--people" in result.stderr
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("where", [".", "no/such/folder/page.html"])
def test_demo_says_when_the_page_cannot_be_written(where, tmp_path):
    result = run("demo", "--out", tmp_path / where, "--people", 100)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: cannot write ")
    assert "--out" in result.stderr
    assert "Traceback" not in result.output
    assert result.stdout == ""


def test_error_of_sfumato_becomes_one_line(monkeypatch):
    def refuse(*_):
        raise BudgetExceeded("this costs too much. Ask for less.")

    monkeypatch.setattr("sfumato.cli.demo.run", refuse)
    result = run("demo")
    assert result.exit_code == 2
    assert result.stderr == "error: this costs too much. Ask for less. [E401]\n"
    assert result.stdout == ""


def test_what_nobody_foresaw_becomes_one_message_without_a_traceback(monkeypatch):
    def broken(*_):
        raise RecursionError("somebody's data")

    monkeypatch.setattr("sfumato.cli.demo.run", broken)
    result = run("demo")
    assert result.exit_code == 4
    assert result.stderr.startswith("error: something failed inside of sfumato")
    assert result.stderr.endswith("[E600]\n")
    assert "somebody" not in result.output


def test_interrupt_of_what_costs_nothing_is_one_word(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("sfumato.cli.demo.run", interrupt)
    result = run("demo")
    assert (result.exit_code, result.stderr, result.stdout) == (130, "interrupted\n", "")


def test_package_runs_as_a_module():
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        [sys.executable, "-m", "sfumato", "--version"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("sfumato ")


def test_command_starts_without_heavy_libraries():
    code = (
        "import sys; from sfumato.cli import main; "
        "heavy = {'altair', 'pandas', 'polars', 'pyarrow', 'rich', 'scipy', 'vl_convert'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_survey_is_the_same_for_everyone():
    survey = Survey.of(1000)
    assert survey.age[:5].tolist() == [34, 62, 49, 91, 27]
    assert survey.district[:5].tolist() == [1, 4, 1, 3, 5]
    assert int(survey.likes_kale.sum()) == 295


def test_larger_survey_begins_with_the_same_people():
    small, large = Survey.of(200), Survey.of(5000)
    for column in ("age", "district", "likes_kale"):
        assert np.array_equal(getattr(small, column)[:-1], getattr(large, column)[:199])
        assert getattr(small, column)[-1] == getattr(large, column)[-1]


def test_survey_looks_like_a_town():
    survey = Survey.of(100_000)
    assert (survey.age.min(), survey.age.max()) == (YOUNGEST, OLDEST)
    assert 0.25 < survey.likes_kale.mean() < 0.35
    assert np.bincount(survey.district, minlength=len(DISTRICTS)).min() > 10_000
    assert survey.likes_by_district().sum() == survey.likes_kale.sum()


def test_code_on_the_page_runs():
    names = {"likes_kale": Survey.of(100).likes_kale}
    exec(CODE, names)  # noqa: S102 (it is what the page tells people to type)
    assert names["answer"].columns == ("likes kale", "likes kale_low", "likes kale_high")


def test_code_about_the_town_runs_after_the_demonstration(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("demo", "--people", 100, "--keep", "town").exit_code == 0
    names = {}
    exec(chapter.CODE, names)  # noqa: S102
    assert names["session"].remaining.epsilon == Fraction(1, 5)  # 0.5 less 0.1 and 0.2
    assert names["session"].ledger.verify().ok
    names["session"].close()
    for line in chapter.COMMANDS.strip().splitlines():
        program, *arguments = line.split()
        assert program == "sfumato"
        result = run(*arguments)
        assert result.exit_code == 0, result.output
    assert "ε = 0.1" in result.stdout


def test_story_counts_nicole_on_tuesday_only():
    made_up = Survey.of(100)
    likes = np.arange(100) >= 90
    story = tell(Survey(made_up.district, made_up.age, likes), Sensitivity(l0=1, linf=1))
    assert (story.true_monday, story.true_tuesday) == (9, 10)


def test_story_is_close_to_the_truth_and_priced():
    one = Sensitivity(l0=1, linf=1)
    survey = Survey.of(5000)
    story, again = tell(survey, one), tell(survey, one)
    counts = story.districts["likes kale"]
    # Noise of scale 2 passes 80 with probability below 1e-17.
    assert np.abs(counts.value - story.true_districts).max() < 80
    assert sum(story.true_districts) == story.true_tuesday == story.true_monday
    assert story.spent == 4 * Fraction(1, 2)
    assert all(composed <= added for _, added, composed in story.later)
    assert story.later[-1][2] < story.later[-1][1] / 2
    assert story.true_age == int(np.sort(survey.age)[2499])
    assert abs(story.coin.value - story.true_tuesday / 5000) < 0.15
    # Fresh noise: two runs agree in all eight counts about once in ten million.
    noisy = [(s.monday, s.tuesday, s.districts) for s in (story, again)]
    assert noisy[0] != noisy[1]


def test_town_is_the_same_for_everyone():
    town = Town.of()
    assert (town.age.size, town.visitor.size, len(town)) == (23_250, 76_760, 100_010)
    assert (town.true_counts, town.age[:5].tolist(), town.cents[:3].tolist()) == TOWN
    assert Town.of(100).income.tolist() == town.income[:100].tolist()


def test_town_is_what_its_contract_declares(tmp_path):
    town = Town.of(2000)
    contract = Contract.read(town.write(tmp_path))
    people, visits = contract.tables["people"].schema, contract.tables["visits"].schema
    assert people["district"].values == DISTRICTS
    assert visits["clinic"].values == CLINICS
    assert 0 <= town.age.min() <= town.age.max() <= people["age"].high
    assert -1 == town.income.min() < town.income.max() < people["income"].high == RICHEST
    assert 0 < town.cents.min() < town.cents.max() < 100 * DEAREST == 100 * visits["cost"].high
    assert 8 <= town.hour.min() <= town.hour.max() <= 19
    often = np.bincount(town.visitor, minlength=2000)
    assert (np.median(often), often.max()) == (2, 60)
    assert 0.05 < (town.income < 0).mean() < 0.12
    assert 0.45 < town.sex.mean() < 0.55


def test_answers_about_the_town_are_close_to_its_truth_and_charged(tmp_path):
    town = Town.of()
    answers = ask(town.write(tmp_path))
    # Noise of scale 2 passes 80 with probability below 1e-17.
    assert np.abs(answers.counts["people"].value - town.true_counts).max() < 80
    # Means of thousands: forty times the interval's half-width is out of reach of the noise.
    for release, truth in ((answers.income, town.true_incomes), (answers.cost, town.true_costs)):
        (name,) = release
        estimate = release[name]
        assert (np.abs(estimate.value - truth) < 20 * (estimate.high - estimate.low)).all()
    assert answers.left == ("ε = 2.5", "ε = 2", "ε = 1.5", "ε = 0.5", "ε = 0.5")
    assert answers.again == answers.counts
    assert "Ask for epsilon <= 0.5" in answers.refusal
    assert answers.counts.durable
    assert answers.cost.notes[0].startswith("at most 5 rows of one person_id count; ")
    assert verify(tmp_path / "town.ledger").entries == 12


def test_demo_draws_a_map(demo):
    page = demo[1].read_text(encoding="utf-8")
    assert "A map without addresses" in page
    assert "people for each square kilometer" in page
