"""What is shown of released cells: tables, GeoJSON, pixels, charts, made-up points."""

import csv
import json
import struct
from fractions import Fraction

import numpy as np
import pytest
from pyarrow import parquet

from sfumato.core.errors import InputError, NumberError, RangeError
from sfumato.release.estimate import Estimate
from sfumato.spatial import geojson
from sfumato.spatial.heatmap import heatmap
from sfumato.spatial.picture import MOST_CELLS, chart, save
from sfumato.spatial.polygon import Polygon
from sfumato.spatial.pooled import pooled
from sfumato.spatial.sampling import sample
from sfumato.spatial.table import CellTable
from sfumato.testing import SeededRng

CELLS = [(0, 0, 2, 2), (2, 0, 4, 1), (2, 1, 4, 2), (0, 2, 4, 4)]
COUNTS = np.array([1234.56, -3.2, 40.04, 0.0])
HALF = np.array([12.3, 12.3, 0.0, 250.0])


def table(cells=CELLS, counts=COUNTS, half=HALF):
    counts = np.asarray(counts, np.float64)
    return CellTable(cells, Estimate(counts, counts - half, counts + half))


def grid(side, wide=4.0, high=2.0):
    x, y = (a.ravel() for a in np.meshgrid(np.arange(side), np.arange(side)))
    return np.column_stack(
        [x * wide / side, y * high / side, (x + 1) * wide / side, (y + 1) * high / side]
    )


def test_table_is_written_and_read_back(tmp_path):
    made = table()
    assert len(made) == 4
    assert made.areas.tolist() == [4, 2, 2, 8]
    assert made.density[0] == COUNTS[0] / 4
    assert list(made.box) == [0, 0, 4, 4]
    made.to_csv(tmp_path / "cells.csv")
    with (tmp_path / "cells.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["x_low", "y_low", "x_high", "y_high", "n", "n_low", "n_high"]
    assert [float(row["n"]) for row in rows] == COUNTS.tolist()
    high = np.array([float(row["n_high"]) for row in rows])
    assert ((high >= COUNTS + HALF) & (high <= COUNTS + 1.001 * HALF)).all()
    long = table(counts=COUNTS + 1 / 3)
    long.to_csv(tmp_path / "short.csv")
    with (tmp_path / "short.csv").open(encoding="utf-8") as file:
        first = next(csv.DictReader(file))
    assert (first["n"], first["n_low"], first["n_high"]) == ("1234.89", "1222.59", "1247.2")
    made.to_parquet(tmp_path / "cells.parquet")
    assert parquet.read_table(tmp_path / "cells.parquet").equals(made.to_arrow())
    assert made.to_pandas()["x_high"].tolist() == [2, 4, 4, 4]
    assert made.to_polars()["n"].to_list() == COUNTS.tolist()


@pytest.mark.parametrize(
    ("cells", "estimate", "error"),
    [
        (CELLS[:3], Estimate(COUNTS, COUNTS, COUNTS), InputError),
        (CELLS, Estimate(COUNTS), InputError),
        (CELLS[:1], Estimate(3.0, 2.0, 4.0), InputError),
        ([(0, 0, 0, 1)], Estimate(np.ones(1), np.ones(1), np.ones(1)), RangeError),
    ],
)
def test_table_refuses_what_does_not_belong_together(cells, estimate, error):
    with pytest.raises(error):
        CellTable(cells, estimate)


def test_table_refuses_counts_that_are_not_finite():
    far = np.array([np.inf])
    with pytest.raises(NumberError):
        CellTable([(0, 0, 1, 1)], Estimate(far, far, far))


def test_numbers_keep_the_digits_that_noise_leaves():
    rounded = list(table().rounded())
    assert rounded[0] == (1235, 1222, 1247, 308.6)
    assert rounded[1] == (-3, -16, 10, -1.6)
    assert rounded[2] == (40.04, 40.04, 40.04, 20.02)  # no noise
    assert rounded[3] == (0, -250, 250, 0)
    assert table(half=HALF * 1000)
    coarse = next(iter(table(half=np.full(4, 1230.0)).rounded()))
    assert coarse == (1200, 0, 2500, 310)


@pytest.mark.parametrize("seed", range(5))
def test_rounded_intervals_hold_what_they_held(seed):
    rng = np.random.default_rng(seed)
    counts = rng.normal(0, 10.0 ** rng.integers(-9, 9, 300))
    half = rng.exponential(10.0 ** rng.integers(-9, 9, 300))
    made = table(grid(20)[:300], counts, half)
    for (count, low, high, _), value, width in zip(made.rounded(), counts, half, strict=True):
        assert low <= value - width <= value + width <= high
        assert low <= count <= high
        bit = np.spacing(abs(value) + width)  # what a float can tell
        assert high - low <= 2.3 * width + 8 * bit
        assert abs(count - value) <= width / 10 + bit


def test_geojson_is_valid_and_comes_back(tmp_path):
    path = tmp_path / "map.geojson"
    made = table()
    geojson.write(path, made, {"price": "ε = 1"})
    found = json.loads(path.read_text("utf-8"), parse_constant=pytest.fail)
    assert found["type"] == "FeatureCollection"
    assert found["bbox"] == [0, 0, 4, 4]
    assert found["sfumato"] == {"confidence": 0.95, "covers": "noise only", "price": "ε = 1"}
    assert found["features"][0]["properties"] == {
        "cell": 0,
        "count": 1235,
        "low": 1222,
        "high": 1247,
        "density": 308.6,
    }
    areas = geojson.read(path)
    assert [area.properties["cell"] for area in areas] == [0, 1, 2, 3]
    assert [area.polygon.bounds.tolist() for area in areas] == [list(cell) for cell in CELLS]
    ring = np.array(found["features"][1]["geometry"]["coordinates"][0])
    assert (ring[0] == ring[-1]).all()
    turned = (ring[:-1, 0] * ring[1:, 1] - ring[:-1, 1] * ring[1:, 0]).sum()
    assert turned > 0  # counterclockwise, as the standard wants it


def test_geojson_has_no_number_that_json_has_not():
    small = [(0, 0, 1e-160, 1e-160)]  # the area is 0 as a float
    counts = np.array([5.0])
    made = CellTable(small, Estimate(counts, np.array([-np.inf]), np.array([np.inf])))
    found = json.loads("".join(geojson.lines(made)), parse_constant=pytest.fail)
    assert found["features"][0]["properties"] == {
        "cell": 0,
        "count": 5,
        "low": None,
        "high": None,
        "density": None,
    }
    with pytest.raises(InputError, match="plain text"):
        list(geojson.lines(made, {"price": float("nan")}))


SQUARE = {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]]}


def test_areas_are_read_from_every_kind_of_geojson(tmp_path):
    path = tmp_path / "parks.geojson"
    feature = {"type": "Feature", "properties": {"name": "Øster"}, "geometry": SQUARE}
    bare = {"type": "Feature", "properties": None, "geometry": SQUARE}
    for given, names in (
        (SQUARE, [{}]),
        (feature, [{"name": "Øster"}]),
        ({"type": "FeatureCollection", "features": [feature, bare]}, [{"name": "Øster"}, {}]),
    ):
        path.write_text(json.dumps(given, ensure_ascii=False), "utf-8-sig")
        found = geojson.read(path)
        assert [area.properties for area in found] == names
        assert all(isinstance(area.polygon, Polygon) for area in found)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "nested"),
        (b"[]", "not GeoJSON"),
        (b"{}", "Polygon"),
        (b'{"type": "FeatureCollection", "features": []}', "without features"),
        (b'{"type": "FeatureCollection", "features": [7]}', "feature 0 of areas"),
        (b'{"type": "Point", "coordinates": [0, 0]}', "'Point'"),
        (b'{"type": "Polygon", "coordinates": [[[0, 0], [1, NaN], [1, 1]]]}', "NaN"),
        (b'{"type": "Polygon", "coordinates": [[[0, 0], [1, 1e999], [1, 1]]]}', "finite"),
        (b'{"type": "Polygon", "coordinates": [[[0, 0], [1, 1], [1, 0], [0, 1]]]}', "itself"),
        (b'{"type": "Polygon", "coordinates": [[[0, 0], [1, ' + b"9" * 5000 + b"]]]}", "areas"),
    ],
)
def test_files_that_hold_no_areas_are_refused_by_name(tmp_path, content, word):
    path = tmp_path / "areas.geojson"
    path.write_bytes(content)
    with pytest.raises(InputError, match=word):
        geojson.read(path)


def test_files_that_are_not_there_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"none\.geojson cannot be read"):
        geojson.read(tmp_path / "none.geojson")
    with pytest.raises(InputError, match="cannot be read"):
        geojson.read(tmp_path)


@pytest.mark.parametrize("size", [(1, 1), (3, 7), (64, 32), (5, 400)])
def test_pixels_add_up_to_the_counts(size):
    rng = np.random.default_rng(1)
    cells = grid(37)
    counts = rng.normal(5, 20, len(cells))
    found = heatmap(cells, counts, (0, 0, 4, 2), *size)
    assert found.counts.shape == size[::-1]
    assert found.counts.sum() == pytest.approx(counts.sum())
    around = heatmap(cells, counts, (-1, -3, 9, 2.5), *size)
    assert around.counts.sum() == pytest.approx(counts.sum())


def test_pixels_hold_their_share_of_each_cell():
    found = heatmap(CELLS, [8, 4, 2, 16], (0, 0, 4, 4), 2, 4, variances=[4, 1, 0, 16])
    assert found.counts.tolist() == [[4, 4], [4, 4], [4, 2], [4, 4]]  # the first row is the highest
    assert found.std.tolist() == [[1, 1], [1, 1], [1, 0], [1, 1]]
    half = heatmap(CELLS, [8, 4, 2, 16], (1, 0, 3, 1), 1, 1, variances=[4, 1, 0, 16])
    assert half.counts[0, 0] == 8 / 4 + 4 / 2
    assert half.std[0, 0] == pytest.approx((4 / 16 + 1 / 4) ** 0.5)


def test_pixels_are_those_of_the_boxes():
    from sfumato.spatial.index import Index
    from sfumato.spatial.overlap import total

    cells = grid(13)
    counts = np.arange(len(cells))
    found = heatmap(cells, counts, (0.3, 0.1, 3.9, 1.7), 5, 4).counts
    x, y = np.linspace(0.3, 3.9, 6), np.linspace(0.1, 1.7, 5)
    wanted = [(x[i], y[j], x[i + 1], y[j + 1]) for j in reversed(range(4)) for i in range(5)]
    assert found.ravel() == pytest.approx(total(Index(cells), wanted, counts))


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"width": 0}, RangeError),
        ({"width": 2.5}, RangeError),
        ({"height": 2**30}, RangeError),
        ({"width": 2**20, "height": 2**20}, RangeError),
        ({"counts": [1, 2]}, InputError),
        ({"counts": [1, 2, 3, None]}, NumberError),
        ({"counts": ["a"] * 4}, InputError),
        ({"variances": [1, 1, 1, -1]}, RangeError),
        ({"box": (0, 0, 0, 1)}, RangeError),
    ],
)
def test_pixels_refuse_what_makes_no_picture(more, error):
    given = {"cells": CELLS, "counts": COUNTS, "box": (0, 0, 4, 4), "width": 2, "height": 2} | more
    with pytest.raises(error):
        heatmap(**given)


def spec(made):
    return json.loads(made.to_json())


def drawn(made):
    (text,) = spec(made)["datasets"].values()
    return list(csv.DictReader(text.splitlines()))


def test_chart_draws_every_cell_in_proportion():
    made = chart(table(), title="trips", said="ε = 1", names=("lon", "lat"))
    rows = drawn(made)
    assert [[float(row[name]) for name in "abcd"] for row in rows] == [list(c) for c in CELLS]
    assert [float(row["density"]) for row in rows] == pytest.approx(
        [1234.56 / 4 / (1274.6 / 16), 0, 40.04 / 2 / (1274.6 / 16), 0], rel=1e-5
    )
    found = spec(made)
    assert found["width"] == found["height"]
    assert spec(chart(table(), stretch=2))["height"] == 2 * spec(chart(table(), stretch=2))["width"]
    assert found["title"]["text"] == "trips"
    assert "4 cells" in found["title"]["subtitle"][0]
    assert "±12 at 95 %" in found["title"]["subtitle"][1]
    assert "50 % of cells are not clearly above it" in found["title"]["subtitle"][1]
    assert "about 1,270 points" in found["title"]["subtitle"][0]
    assert found["title"]["subtitle"][2] == "ε = 1"
    text = made.to_svg()
    assert text.count('aria-roledescription="rect mark"') == 4
    assert ">lon<" in text


def test_colors_follow_the_logarithm_where_counts_are_skewed():
    def scale(counts):
        made = chart(table(counts=counts, half=np.zeros(4)))
        return spec(made)["layer"][0]["encoding"]["color"]["scale"]

    assert "type" not in scale([4, 2, 2, 8])
    skewed = scale([4e5, 2, 2, 8])
    assert skewed["type"] == "symlog"
    assert skewed["domain"][1] / skewed["constant"] == pytest.approx(1e5, rel=1e-5)
    assert skewed["clamp"]
    assert scale([-4, -2, 0, 0])["domain"] == [0, 1]


def specks():
    """Make a map whose tiny empty cells have noise that is denser than its town."""
    cells = grid(8, 8, 8)
    inside = (np.abs((cells[:, :2] + cells[:, 2:]) / 2 - 4) < 2).all(axis=1)
    counts = np.where(inside, 1000.0, 20.0)
    tiny = grid(8, 1, 1)  # the lowest cell at the left, cut again
    noise = np.where(np.arange(64) % 2, 70.0, -70.0)
    return table(np.vstack([tiny, cells[1:]]), np.append(noise, counts[1:]), np.full(127, 100.0))


def test_noise_of_tiny_cells_is_not_the_brightest_place():
    made = specks()
    assert made.density[:64].max() > 4 * made.density[64:].max()
    found = chart(made)
    density = np.array([float(row["density"]) for row in drawn(found)])
    assert density[:64].max() < density[64:].max() / 10
    scale = spec(found)["layer"][0]["encoding"]["color"]["scale"]
    assert scale["domain"][1] == pytest.approx(density[64:].max(), rel=1e-5)


def test_the_scale_of_colors_ends_where_points_are():
    counts = np.full(64, 100.0)
    counts[0] = 190.0  # on a hundredth of the area of the others
    cells = grid(8, 8, 8)
    cells[0] = (0, 0, 0.1, 0.1)
    found = spec(chart(table(cells, counts, np.ones(64))))["layer"][0]["encoding"]["color"]
    assert found["scale"]["domain"][1] == pytest.approx(100 / counts.sum() * 64)
    assert "or more" in found["legend"]["labelExpr"]


def test_what_is_not_told_apart_is_spread_over_what_lies_around():
    cells = grid(4, 4, 4)
    counts = np.arange(16.0)
    made = pooled(table(cells, counts, np.full(16, 10.0)))
    assert not made.alone.any()
    assert made.counts.sum() == pytest.approx(counts.sum(), rel=0.02)
    upper = made.counts[[10, 11, 14, 15]]  # the quarter with the most
    assert upper == pytest.approx(np.full(4, 12.5))
    clear = pooled(table(cells, counts + 50, np.full(16, 10.0)))
    assert clear.alone.all()
    assert clear.counts.tolist() == (counts + 50).tolist()
    beside = np.where(np.arange(16) == 5, 14.0, 100.0)  # a cell that is left over among clear ones
    kept = pooled(table(cells, beside, np.full(16, 19.6))).counts[5]
    assert kept == pytest.approx(14.0)
    assert (pooled(table(cells, -counts, np.full(16, 10.0))).counts == 0).all()


@pytest.mark.parametrize("confidence", ["1e-17", "1e-400", "0.999999999999"])
@pytest.mark.parametrize("half", [0.0, 10.0])
def test_intervals_of_any_confidence_are_pooled(confidence, half):
    counts = np.arange(16.0)
    said = Estimate(counts, counts - half, counts + half, Fraction(confidence))
    made = pooled(CellTable(grid(4, 4, 4), said))  # warnings are errors
    assert np.isfinite(made.counts).all()
    if not half:  # no noise was told of
        assert made.counts.tolist() == counts.tolist()


def test_noise_of_many_cells_alone_is_drawn_as_nothing_special():
    noise = np.random.default_rng(2).normal(0, 1, 120**2)
    made = pooled(table(grid(120), noise, np.full(120**2, 1.96)))
    assert (noise > 3).sum() > 9
    assert made.alone.sum() <= 3


def test_chart_of_many_cells_is_of_pixels():
    side = 150
    cells = grid(side)
    assert len(cells) > MOST_CELLS
    counts = np.arange(len(cells), dtype=float)
    made = chart(table(cells, counts, np.ones(len(cells))))
    rows = drawn(made)
    assert 5_000 < len(rows) <= MOST_CELLS
    areas = [(float(r["c"]) - float(r["a"])) * (float(r["d"]) - float(r["b"])) for r in rows]
    held = sum(float(r["density"]) * area for r, area in zip(rows, areas, strict=True))
    assert held == pytest.approx(sum(areas), rel=1e-4)  # the mean is 1
    high = [float(r["density"]) for r in rows if float(r["b"]) > 1.8]
    low = [float(r["density"]) for r in rows if float(r["d"]) < 0.2]
    assert min(high) > max(low)  # counts grow upward, so it is not upside down
    assert f"{len(cells):,} cells, drawn as {len(rows):,} pixels" in str(spec(made)["title"])


def test_chart_is_saved_without_a_network(tmp_path):
    made = chart(table())
    save(made, tmp_path / "map.svg")
    assert (tmp_path / "map.svg").read_text("utf-8").startswith("<svg")
    save(made, tmp_path / "map.PNG")
    held = (tmp_path / "map.PNG").read_bytes()
    assert held[:8] == b"\x89PNG\r\n\x1a\n"
    wide, high = struct.unpack(">II", held[16:24])
    assert wide > 1000
    assert high > 1000
    with pytest.raises(InputError, match=r"\.svg or \.png"):
        save(made, tmp_path / "map.gif")


@pytest.mark.parametrize("stretch", [0, -1, float("nan"), float("inf"), "1"])
def test_chart_refuses_a_stretch_of_nothing(stretch):
    with pytest.raises(RangeError, match="stretch="):
        chart(table(), stretch=stretch)


def test_points_lie_where_the_counts_say():
    points = sample(CELLS, [300, -50, 100, 0], 40_000, rng=SeededRng(4))
    assert points.shape == (40_000, 2)
    inside = [
        ((points >= cell[:2]) & (points < cell[2:])).all(axis=1).sum()
        for cell in np.array(CELLS, np.float64)
    ]
    assert inside[1] == inside[3] == 0
    assert inside[0] + inside[2] == 40_000
    assert abs(inside[0] - 30_000) < 5 * (40_000 * 3 / 16) ** 0.5
    first = points[(points < 2).all(axis=1)]
    for axis in (0, 1):  # even within the cell: mean 1, variance 1/3
        assert abs(first[:, axis].mean() - 1) < 5 * (1 / 3 / len(first)) ** 0.5
        assert abs(first[:, axis].var() - 1 / 3) < 0.02
    assert abs(np.corrcoef(first.T)[0, 1]) < 5 / len(first) ** 0.5


def test_points_are_as_many_as_the_total():
    assert len(sample(CELLS, [30.2, -5, 10, 0.3])) == 36
    assert len(sample(CELLS, [-3, 1, 0, 0])) == 0
    assert sample(CELLS, [-3, -1, 0, 0], 0).shape == (0, 2)
    assert (
        sample(CELLS, COUNTS, rng=SeededRng(1)) == sample(CELLS, COUNTS, rng=SeededRng(1))
    ).all()


class Highest:
    """Words of ones only."""

    def words(self, count):
        return np.full(count, 2**64 - 1, np.uint64)


def test_points_stay_below_the_upper_ends():
    tight = [(0.1, 0.1, np.nextafter(0.1, 1), 0.3), (0.3, 0.3, 0.7, 1e17)]
    for counts in ([1, 0], [1e300, 1], [0.1, 0.2]):
        points = sample(tight, counts, 3, rng=Highest())
        chosen = np.array(tight[0 if counts[1] < counts[0] else 1])
        assert (points >= chosen[:2]).all()
        assert (points < chosen[2:]).all()


@pytest.mark.parametrize(
    ("counts", "size", "error"),
    [
        ([0, 0, 0, -1], 5, RangeError),
        ([1, 2, 3], 5, InputError),
        ([1, 2, 3, np.nan], 5, NumberError),
        (["a", 1, 1, 1], 5, InputError),
        ([1, 2, 3, 4], -1, RangeError),
        ([1, 2, 3, 4], 1.5, RangeError),
        ([1, 2, 3, 4], True, RangeError),
        ([1, 2, 3, 4], 10**9, RangeError),
        ([1e12, 2, 3, 4], None, RangeError),
    ],
)
def test_points_refuse_what_cannot_be_drawn(counts, size, error):
    with pytest.raises(error):
        sample(CELLS, counts, size)


def test_estimates_of_exact_numbers_are_shown_too():
    exact = np.array([Fraction(1, 3)] * 4, object)
    assert CellTable(CELLS, Estimate(exact, exact, exact)).value[0] == 1 / 3
