"""The command `sfumato map`, from a contract file to a map."""

import json

import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli import main
from sfumato.ledger import Ledger

CONTRACT = """
[budget]
epsilon = "30"
ledger = "rides.ledger"
[unit]
neighbors = "add_remove"
[tables.rides]
source = "rides.csv"
version = "1"
unit = "row"
[tables.rides.columns]
lon = { type = "real", low = 0, high = 10, step = "0.01" }
lat = { type = "real", low = 0, high = 10, step = "0.01" }
zone = { type = "category", values = ["A"] }
"""
SQUARE = {
    "type": "Feature",
    "properties": {"name": "Old Town"},
    "geometry": {"type": "Polygon", "coordinates": [[[0, 0], [5, 0], [5, 5], [0, 5], [0, 0]]]},
}


@pytest.fixture
def contract(tmp_path):
    rows = "".join(f"{i % 50 / 10},{i % 40 / 10},A\n" for i in range(2000))
    (tmp_path / "rides.csv").write_text(f"lon,lat,zone\n{rows}")
    path = tmp_path / "rides.toml"
    path.write_text(CONTRACT)
    return path


def run(contract, *words):
    place = ["--x", "lon", "--y", "lat", *map(str, words)]
    return CliRunner().invoke(main, ["map", str(contract), *place])


def test_map_is_counted_written_and_drawn(contract, tmp_path):
    (tmp_path / "areas.geojson").write_text(json.dumps(SQUARE))
    found = run(
        contract,
        *("--epsilon", 10, "--count", "0,0,10,10", "--areas", tmp_path / "areas.geojson"),
        *("--out", tmp_path / "map.geojson", "--png", tmp_path / "map.svg", "--bins", 64),
        *("--format", "json"),
    )
    assert found.exit_code == 0, found.output
    rows = {row["area"]: row for row in json.loads(found.stdout)}
    assert abs(rows["0,0,10,10"]["n"] - 2000) < 50
    assert abs(rows["Old Town"]["n"] - 2000) < 50
    assert "paid: ε = 10" in found.stderr or "paid: ε = 9.9" in found.stderr
    assert json.loads((tmp_path / "map.geojson").read_text())["features"]
    assert (tmp_path / "map.svg").read_text().startswith("<svg")


def test_price_is_asked_for_in_options(contract):
    found = run(contract, "--explain")
    assert found.exit_code == 2
    assert "--epsilon 1, or --rho" in found.stderr


def test_number_of_points_that_is_expected_lets_all_methods_be_compared(contract):
    plain, told = (
        json.loads(run(contract, "--epsilon", 1, "--explain", "--format", "json", *more).stdout)
        for more in ([], ["--expected", 2000])
    )
    known = [sum(each["rmse"] is not None for each in plan["methods"]) for plan in (plain, told)]
    assert known[0] < known[1] == len(told["methods"])


def test_explaining_is_free_and_leaves_nothing_behind(contract, tmp_path):
    found = run(contract, "--epsilon", 1, "--explain", "--area", "0.01")
    assert found.exit_code == 0, found.output
    assert "quadtree" in found.stdout
    assert "with --expected, to foresee" in found.stdout
    assert not (tmp_path / "rides.ledger").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--box", "0,0,0,5"], "area"),
        (["--box", "1,2,3"], "four numbers"),
        (["--count", "5,5,1,1"], "turned around"),
        (["--count", "0,0,1e400,1"], "beyond"),
        (["--count", "0,0,5,5", "--count", "20,0,21,1"], "20,0,21,1: this lies beside the map"),
        (["--explain", "--area", 5], "--area is"),
        (["--bins", 0], "--bins is"),
        (["--count", "0,0,1e-400,1"], "no area"),
        (["--out", "map.docx"], "--out writes"),
        (["--png", "map.bmp"], "--png writes"),
        (["--out", "nowhere/at/all/map.geojson"], "folder"),
        (["--method", "voronoi"], "method"),
        (["--areas", "missing.geojson"], "cannot be read"),
        (["--y", "zone"], "coordinates are numbers"),
        (["--epsilon", "0"], "epsilon"),
    ],
)
def test_bad_words_are_refused_before_any_charge(contract, tmp_path, words, said):
    found = run(contract, "--epsilon", 1, *words)
    assert found.exit_code != 0
    assert said in found.output
    assert "paid" not in found.output


def test_areas_that_cross_themselves_are_refused_before_any_charge(contract, tmp_path):
    bow = [[0, 0], [2, 2], [2, 0], [0, 2], [0, 0]]
    area = {**SQUARE, "geometry": {"type": "Polygon", "coordinates": [bow]}}
    (tmp_path / "bow.geojson").write_text(json.dumps(area))
    found = run(contract, "--epsilon", 1, "--areas", tmp_path / "bow.geojson")
    assert found.exit_code != 0
    assert "crosses" in found.output
    assert "paid" not in found.output


@pytest.mark.parametrize(
    ("option", "name"), [("--out", "rides.csv"), ("--out", "areas.json"), ("--png", "linked.svg")]
)
def test_no_map_is_written_over_what_it_reads(contract, tmp_path, option, name):
    (tmp_path / "areas.json").write_text(json.dumps(SQUARE))
    (tmp_path / "linked.svg").symlink_to(contract)
    before = (tmp_path / name).read_bytes()
    words = ("--areas", tmp_path / "areas.json", option, tmp_path / name)
    found = run(contract, "--epsilon", 1, *words)
    assert found.exit_code == 2
    assert f"Pass {option} with another file" in found.stderr
    assert (tmp_path / name).read_bytes() == before
    assert not (tmp_path / "rides.ledger").exists()


@pytest.mark.parametrize(
    ("option", "name"), [("--out", "map.json"), ("--out", "map.csv"), ("--png", "map.svg")]
)
def test_ledger_of_another_contract_is_not_written_over(contract, tmp_path, option, name):
    other = tmp_path / name
    Ledger.create(other, sf.Budget(1), sf.Unit.row()).close()
    before = other.read_bytes()
    found = run(contract, "--epsilon", 1, option, other)
    assert found.exit_code == 2
    assert f"would destroy it. Pass {option} with another file" in found.stderr
    assert other.read_bytes() == before
    assert not (tmp_path / "rides.ledger").exists()


@pytest.mark.parametrize(("option", "name"), [("--png", "map.png"), ("--out", "map.csv")])
def test_folder_in_the_place_of_a_file_costs_nothing(contract, tmp_path, option, name):
    (tmp_path / name).mkdir()
    found = run(contract, "--epsilon", 1, option, tmp_path / name)
    assert found.exit_code == 2
    assert f"Pass {option} with a file" in found.stderr
    assert "Nothing was charged" in found.stderr
    assert not (tmp_path / "rides.ledger").exists()


@pytest.mark.parametrize(
    ("option", "name", "writer"), [("--png", "map.png", "to_png"), ("--out", "map.csv", "to_csv")]
)
def test_map_that_could_not_be_written_can_be_had_again(
    contract, tmp_path, monkeypatch, option, name, writer
):
    def full(self, path):
        raise OSError

    monkeypatch.setattr(f"sfumato.spatial.MapRelease.{writer}", full)
    found = run(contract, "--epsilon", 1, option, tmp_path / name)
    assert found.exit_code == 2
    assert f"Pass {option} with a file" in found.stderr
    assert "to ask the same again is free" in found.stderr


def test_both_intervals_are_shown_where_a_border_cuts_cells(contract):
    words = ("--epsilon", 1, "--bins", 4, "--method", "grid", "--count")
    cut = run(contract, *words, "0,0,4,4")
    assert "if points lie evenly in the cells that a border cuts); [" in cut.stdout
    assert "wherever they lie" in cut.stdout
    whole = run(contract, *words, "0,0,11,11")
    assert "(95 %)\n" in whole.stdout
    [row] = json.loads(run(contract, *words, "0,0,4,4", "--format", "json").stdout)
    assert row["anywhere_low"] < row["low"] < row["n"] < row["high"] < row["anywhere_high"]
    lines = run(contract, *words, "0,0,4,4", "--format", "csv").stdout.splitlines()
    assert lines[0] == "area,n,low,high,anywhere_low,anywhere_high"
