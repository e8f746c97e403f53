"""The command `sfumato report`, as owners meet it: no data, no cost, no secret."""

import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli import main
from sfumato.ledger import Ledger, verify

CONTRACT = """
[budget]
epsilon = 4
ledger = "spent.ledger"
[analysts.ana]
epsilon = 1
[analysts.bob]
epsilon = 3
[tables.people]
source = "duckdb:secret-password.duckdb#people"
version = "2026-11"
unit = "row"
[tables.people.columns]
zone = { type = "category", values = ["A", "B"] }
"""


def run(*arguments):
    return CliRunner().invoke(main, list(map(str, arguments)))


@pytest.fixture
def contract(tmp_path):
    """A contract with a ledger and two answers; the data has never been there."""
    import pyarrow as pa

    file = tmp_path / "people.toml"
    file.write_text(CONTRACT, encoding="utf-8")
    shares = {"ana": sf.Budget(epsilon=1), "bob": sf.Budget(epsilon=3)}
    book = Ledger.create(
        tmp_path / "spent.ledger", sf.Budget(epsilon=4), sf.Unit.row(), analysts=shares
    )
    for who, epsilon in (("ana", "0.5"), ("bob", "0.125")):
        with sf.Session(
            pa.table({"zone": ["A", "B", "A"]}),
            unit=sf.Unit.row(),
            schema=sf.Schema(zone=sf.Category(["A", "B"])),
            budget=sf.Budget(epsilon=4),
            ledger=book,
            name="people",
            version="2026-11",
            analyst=who,
        ) as session:
            session.table().group_by("zone").count().release(epsilon=epsilon)
    book.close()
    return file


def test_report_is_made_without_the_data(contract, tmp_path):
    head = verify(tmp_path / "spent.ledger").head
    out = tmp_path / "out" / "page.html"
    out.parent.mkdir()
    result = run("report", contract, "--out", out, "--title", "Zones & people")
    assert (result.exit_code, result.stdout) == (0, f"the report: {out}\n"), result.output
    html = out.read_text(encoding="utf-8")
    for part in (
        "<h1>Zones &amp; people</h1>",
        "Table people, version 2026-11",
        "Share of ana",
        "Answer 2: value by zone",
        "DiscreteLaplace(scale=8)",
        head,
    ):
        assert part in html, part
    assert html.count("<svg") == 2
    assert verify(tmp_path / "spent.ledger").head == head


def test_report_shows_neither_source_nor_folder_nor_key(contract, tmp_path):
    out = tmp_path / "page.html"
    assert run("report", contract, "--out", out).exit_code == 0
    html = out.read_text(encoding="utf-8")
    assert "secret-password" not in html
    assert str(tmp_path) not in html
    book = Ledger.open(tmp_path / "spent.ledger", read_only=True)
    assert book.truncation_key.hex() not in html
    assert "http" not in html.replace("http-equiv", "")
    book.close()


def test_report_for_one_analyst_leaves_the_others_out(contract, tmp_path):
    out = tmp_path / "page.html"
    assert run("report", contract, "--out", out, "--analyst", "ana").exit_code == 0
    html = out.read_text(encoding="utf-8")
    assert "bob" not in html
    assert "DiscreteLaplace(scale=2)" in html
    assert "DiscreteLaplace(scale=8)" not in html


def test_report_takes_the_ledger_itself(contract, tmp_path):
    out = tmp_path / "page.html"
    assert run("report", tmp_path / "spent.ledger", "--out", out).exit_code == 0
    assert "Answer 2: value by zone" in out.read_text(encoding="utf-8")


def test_report_is_refused_without_a_ledger(tmp_path):
    file = tmp_path / "people.toml"
    file.write_text(CONTRACT, encoding="utf-8")
    result = run("report", file, "--out", tmp_path / "page.html")
    assert result.exit_code == 2
    assert "does not exist yet" in result.stderr
    assert not (tmp_path / "page.html").exists()


def test_report_is_refused_for_a_stranger(contract, tmp_path):
    result = run("report", contract, "--out", tmp_path / "page.html", "--analyst", "eve")
    assert result.exit_code == 2
    assert "nobody called 'eve'" in result.stderr
    assert not (tmp_path / "page.html").exists()


def test_ledger_of_another_contract_is_not_written_over(contract, tmp_path):
    other = tmp_path / "other.html"
    Ledger.create(other, sf.Budget(1), sf.Unit.row()).close()
    before = other.read_bytes()
    result = run("report", contract, "--out", other)
    assert result.exit_code == 2
    assert "would destroy it. Pass --out" in result.stderr
    assert other.read_bytes() == before


@pytest.mark.parametrize("where", [".", "no/such/page.html"])
def test_report_says_when_it_cannot_be_written(contract, where, tmp_path):
    result = run("report", contract, "--out", tmp_path / where)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: cannot write ")
