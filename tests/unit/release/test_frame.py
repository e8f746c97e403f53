import os
import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from math import inf

import pyarrow as pa
import pytest
from pyarrow import parquet

import sfumato as sf
from sfumato.cli.grid import cells
from sfumato.cli.listing import as_csv, as_text
from sfumato.core.errors import InputError, MissingExtra
from sfumato.ledger import Ledger
from sfumato.release import Release
from sfumato.release.measure import Measure
from sfumato.release.tabular import Tabular


def test_arrow_has_integers_where_there_are_integers(by_zone):
    table = by_zone.to_arrow()
    assert table.column_names == ["zone", "n", "n_low", "n_high"]
    assert table.schema.types == [pa.string(), pa.int64(), pa.int64(), pa.int64()]
    assert table.column("n_low").to_pylist() == [1139, 760, 312]


def test_arrow_has_floats_for_a_grid_even_if_all_values_are_whole(make):
    table = make([Fraction(1), Fraction(2)]).to_arrow()
    assert table.schema.field("n").type == pa.float64()


def test_arrow_has_floats_for_integers_beyond_64_bits(make):
    table = make([2**63, 0]).to_arrow()
    assert table.schema.field("n").type == pa.float64()
    assert table.column("n").to_pylist() == [2.0**63, 0.0]


def test_arrow_keys_keep_their_kind(make):
    keys = {"flag": [True, None], "edge": [Fraction(1, 2), 1], "rank": [1, Fraction(2)]}
    keys |= {"none": [None, None], "huge": [2**63, 1]}
    types = make([1, 2], keys=keys).to_arrow().schema.types
    assert types[:5] == [pa.bool_(), pa.float64(), pa.int64(), pa.string(), pa.float64()]


def test_arrow_of_a_quantile_has_its_rank_error(make):
    table = make(41, "rank, noise only").to_arrow()
    assert table.to_pylist() == [{"n": 41, "n_rank_error": 95.0}]


def test_arrow_of_a_choice_is_text(make):
    table = make(["kale"], "score, noise only").to_arrow()
    assert table.to_pylist() == [{"index": 0, "n": "kale", "n_score_error": 95.0}]


def test_pandas_and_polars_hold_the_same_table(by_zone):
    expected = by_zone.to_arrow().to_pylist()
    assert by_zone.to_pandas().to_dict("records") == expected
    assert by_zone.to_polars().to_dicts() == expected


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_missing_package_is_named_with_the_line_to_install_it(by_zone, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"pip install 'sfumato\[{package}\]'.*E107"):
        getattr(by_zone, f"to_{package}")()


def test_parquet_carries_the_release(by_zone, tmp_path):
    path = tmp_path / "trips.parquet"
    by_zone.to_parquet(path)
    table = parquet.read_table(path)
    assert table.to_pylist() == by_zone.to_arrow().to_pylist()
    assert Release.from_json(table.schema.metadata[b"sfumato.release"]) == by_zone


@pytest.mark.parametrize(
    ("kind", "low", "high"), [("integer", [None, 1], [None, 9]), ("rational", [-inf, 1], [inf, 9])]
)
@pytest.mark.parametrize("steps", [1, 10**400], ids=["far", "beyond floats"])
def test_open_ends_are_missing_or_infinite(by_zone, kind, low, high, steps):
    far = 2**127 if kind == "integer" else Fraction(2**127 * steps, 100)
    measure = Measure("n", (5, 5), (-far, 1), (far, 9), kind=kind)
    release = replace(by_zone, keys=(("zone", ("A", "B")),), measures=(measure,), noisy=())
    table = release.to_arrow()
    assert table["n"].to_pylist() == [5, 5]
    assert table["n_low"].to_pylist() == low
    assert table["n_high"].to_pylist() == high
    assert Release.from_json(release.to_json()) == release


@pytest.mark.parametrize("path", [3, ["a.parquet"], ""])
@pytest.mark.parametrize("form", ["parquet", "html"])
def test_file_without_a_path_is_refused(by_zone, tmp_path, monkeypatch, form, path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="path"):
        getattr(by_zone, f"to_{form}")(path)
    with pytest.raises(InputError, match="path"):
        by_zone.to_parquet(None)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("form", ["parquet", "html"])
def test_ledger_is_not_written_over(by_zone, tmp_path, form):
    path = tmp_path / "trips.ledger"
    Ledger.create(path, sf.Budget(1), sf.Unit.row()).close()
    before = path.read_bytes()
    with pytest.raises(InputError, match="ledger"):
        getattr(by_zone, f"to_{form}")(path)
    assert path.read_bytes() == before


def test_log_of_a_ledger_is_not_written_over(by_zone, tmp_path):
    path = tmp_path / "trips.ledger"
    ledger = Ledger.create(path, sf.Budget(1), sf.Unit.row())
    ledger.refresh("trips", "2")
    for end in ("wal", "shm"):
        (tmp_path / end).symlink_to(f"trips.ledger-{end}")
        for name in (f"trips.ledger-{end}", end):
            with pytest.raises(InputError, match="ledger"):
                by_zone.to_html(tmp_path / name)
    assert ledger.version("trips") == "2"
    ledger.close()


def test_ledger_that_was_looked_at_stays_locked(by_zone, tmp_path):
    path, log = tmp_path / "trips.ledger", tmp_path / "trips.ledger-wal"
    with closing(Ledger.create(path, sf.Budget(1), sf.Unit.row())) as ledger:
        ledger.refresh("trips", "2")
        for _ in range(2):
            with pytest.raises(InputError, match="ledger"):
                by_zone.to_html(path)
        # Whoever closes a ledger last removes its log. Another process that looks into this one is
        # not the last, and what is recorded afterwards is on record for all.
        look = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('SELECT * FROM events')"
        subprocess.run([sys.executable, "-c", look, path], check=True)
        assert log.exists()
        ledger.refresh("trips", "3")
        with closing(Ledger.open(path, read_only=True)) as again:
            assert again.version("trips") == "3"


class Unmade(Tabular):
    """A table that nobody has made yet."""

    def to_arrow(self):
        raise AssertionError


@pytest.mark.parametrize("place", [".", "none/found", "a/" * 3000, "circle"])
def test_place_that_cannot_be_written_is_refused_before_the_work(
    by_zone, place, tmp_path, monkeypatch
):
    (tmp_path / "circle").symlink_to("circle")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sfumato.release.frame.to_arrow", None)
    monkeypatch.setattr("sfumato.release.report.report", None)
    for write in (by_zone.to_parquet, by_zone.to_html, Unmade().to_csv, Unmade().to_parquet):
        with pytest.raises(InputError, match=r"cannot be written: .* Choose a file"):
            write(place)
    assert [each.name for each in tmp_path.iterdir()] == ["circle"]


def test_what_waits_for_a_writer_is_written_to(by_zone, tmp_path):
    pipe, seen = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: seen.append(pipe.read_text()))
    reader.start()
    by_zone.to_html(pipe)
    reader.join()
    assert seen == [by_zone.to_html()]


@pytest.mark.parametrize("kind", ["integer", "rational"])
def test_open_ends_are_shown_as_infinite(by_zone, kind):
    measure = Measure("n", (5, 5), (-(2**127), 1), (2**127, 9), kind=kind)
    shown = replace(by_zone, keys=(("zone", ("A", "B")),), measures=(measure,))
    assert "-∞" in str(shown)
    assert "e+38" not in str(shown)
    assert "[-∞, ∞]" in repr(shown["n"])
    assert "-∞" in as_text(shown)
    assert ",5,-inf,inf" in as_csv(shown)
    assert "∞" in shown.to_html()


def test_open_ends_are_told_by_the_noise_whatever_the_unit(by_zone):
    tiny = Fraction(1, 10**12)
    ends = {"low": (4 * tiny, -(2**127) * tiny), "high": (6 * tiny, 2**127 * tiny)}
    measure = Measure("n", (5 * tiny, 0), **ends, kind="rational", scale=tiny)
    shown = replace(by_zone, keys=(("zone", ("A", "B")),), measures=(measure,))
    assert shown.to_arrow()["n_high"].to_pylist() == [pytest.approx(6e-12), float("inf")]
    assert str(shown).count("∞") == 2
    assert "± ∞" in cells(shown)[2]


def test_far_numbers_and_names_of_groups_are_no_open_ends(by_zone):
    far, scale = 10**41, Fraction(10**37)
    measure = Measure(
        "n", (far, far), (far // 2, -far), (2 * far, far), scale=scale, kind="rational"
    )
    shown = replace(by_zone, keys=(("zone", (far, 2 * far)),), measures=(measure,))
    for text in (str(shown), repr(shown["n"]), as_text(shown), as_csv(shown), shown.to_html()):
        assert "∞" not in text
        assert "inf" not in text
    assert shown.to_arrow()["n_low"].to_pylist() == [5e40, -1e41]


@pytest.mark.parametrize("form", ["parquet", "html"])
def test_data_of_an_open_session_is_not_written_over(by_zone, tmp_path, form):
    path, link = tmp_path / "rows.csv", tmp_path / "link.csv"
    path.write_text("n\n1\n")
    link.symlink_to(path)
    facts = {"unit": sf.Unit.row(), "schema": sf.Schema(n=sf.Integer(0, 9)), "budget": sf.Budget(1)}
    with sf.Session(path, **facts):
        for place in (path, link):
            with pytest.raises(InputError, match="is data"):
                getattr(by_zone, f"to_{form}")(place)
        assert path.read_text() == "n\n1\n"
    getattr(by_zone, f"to_{form}")(path)  # closed: nobody needs it
    assert path.read_text(errors="replace") != "n\n1\n"


def test_contract_of_an_open_session_is_not_written_over(by_zone, tmp_path):
    (tmp_path / "rows.csv").write_text("n\n1\n")
    contract = tmp_path / "rows.toml"
    contract.write_text(
        '[budget]\nepsilon = "1"\nledger = "rows.ledger"\n[tables.rows]\nsource = "rows.csv"\n'
        'version = "1"\nunit = "row"\n[tables.rows.columns]\n'
        'n = { type = "integer", low = 0, high = 9 }\n'
    )
    before = contract.read_text()
    with sf.connect(contract), pytest.raises(InputError, match="contract"):
        by_zone.to_html(contract)
    assert contract.read_text() == before
