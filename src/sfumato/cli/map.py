"""The command `sfumato map`: a private map of two columns, as GeoJSON and as a picture."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from sfumato.cli.asked import check_writable, unwritable
from sfumato.cli.file import check, precious
from sfumato.cli.wording import in_options, options
from sfumato.core.errors import CostError, InputError, RangeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sfumato.release.estimate import Estimate
    from sfumato.session import Contract
    from sfumato.spatial import MapRelease
    from sfumato.spatial.frame import MapFrame

    # An area, its count as if points lay evenly in cells, and the count wherever they lie.
    _Row: TypeAlias = tuple[str, Estimate, Estimate]

FORMATS = ("table", "csv", "json")
_WRITERS = {
    ".geojson": "to_geojson",
    ".parquet": "to_parquet",
    ".csv": "to_csv",
    ".html": "to_html",
}
_PICTURES = (".png", ".svg")
_COLUMNS = ("area", "n", "low", "high", "anywhere_low", "anywhere_high")


@click.command("map")
@click.argument("contract", type=click.Path(path_type=Path))
@click.option("--x", required=True, metavar="COLUMN", help="The coordinate across, such as lon.")
@click.option("--y", required=True, metavar="COLUMN", help="The coordinate up, such as lat.")
@click.option("--table", metavar="NAME", help="The table; may be left out if there is only one.")
@click.option("--box", metavar="X0,Y0,X1,Y1", help="The box; all that is declared, if left out.")
@click.option("--epsilon", metavar="NUMBER", help="The price in ε.")
@click.option("--delta", default="0", show_default=True, metavar="NUMBER", help="The δ beside it.")
@click.option("--rho", metavar="NUMBER", help="The price in ρ, instead.")
@click.option("--method", default="auto", show_default=True, metavar="NAME", help="How.")
@click.option("--bins", type=int, metavar="N", help="Cells of the lattice along each side.")
@click.option(
    "--outside",
    type=click.Choice(["drop", "clamp"]),
    default="drop",
    show_default=True,
    help="What becomes of points outside of the box.",
)
@click.option(
    "--count",
    "counts",
    multiple=True,
    metavar="X0,Y0,X1,Y1",
    help="Count the points in a box. May be repeated.",
)
@click.option("--areas", type=click.Path(path_type=Path), help="Count in areas of a GeoJSON file.")
@click.option("--out", type=click.Path(path_type=Path), help="Write .geojson, .parquet, .csv …")
@click.option("--png", type=click.Path(path_type=Path), help="Draw a picture: .png or .svg.")
@click.option("--explain", is_flag=True, help="Only compare the noise of the methods; free.")
@click.option(
    "--area", default="0.1", show_default=True, help="For --explain: the share that a box covers."
)
@click.option(
    "--expected", metavar="NUMBER", help="For --explain: about how many points there are."
)
@click.option("--format", "form", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option("--analyst", metavar="NAME", help="Who asks, where the contract gives shares.")
def map_(**given: Any) -> None:
    """Draw a private map of two columns of a table of CONTRACT.

    Example: sfumato map taxis.toml --x lon --y lat --epsilon 1 --out map.geojson --png map.png
    """
    with options():
        _check_price(given)
        _run(given)


def _check_price(given: dict[str, Any]) -> None:
    if (given["epsilon"] is None) == (given["rho"] is None):
        raise CostError(
            "a map has a price, and you set it: --epsilon 1, or --rho 0.1; one of the two. With "
            "--explain it is compared for free what each method would err by."
        )


def _run(given: dict[str, Any]) -> None:
    from sfumato import spatial
    from sfumato.session import Contract, connect
    from sfumato.spatial.frame import MapFrame

    asked = [(text, _box(text, "--count")) for text in given["counts"]]
    box = None if given["box"] is None else _box(given["box"], "--box")
    _check_files(given)
    asked += _areas(given["areas"])
    lattice = {"bins": given["bins"], "outside": given["outside"]}
    price = {name: given[name] for name in ("epsilon", "rho") if given[name] is not None}
    price["delta"] = given["delta"]
    contract = Contract.read(given["contract"])
    _spare(given, contract)
    if given["explain"] and contract.ledger is not None and not contract.ledger.exists():
        contract = replace(contract, ledger=None)  # what is free leaves nothing behind
    with connect(contract, analyst=given["analyst"]) as session:
        table = session.table() if given["table"] is None else session.table(given["table"])
        points = table.points(given["x"], given["y"])
        if given["explain"]:
            supposed = {"area": given["area"], "expected": given["expected"]}
            plan = spatial.explain(points, box=box, **supposed, **lattice, **price)
            click.echo(_json(plan.to_dict()) if given["form"] == "json" else in_options(repr(plan)))
            return
        frame = MapFrame.of(points.plane(box, **lattice))
        for name, where in asked:
            _check_place(frame, name, where)
        before = session.remaining
        found = spatial.release(points, box=box, method=given["method"], **lattice, **price)
        left = session.remaining
    rows = [(name, found.count(where), found.count(where, even=False)) for name, where in asked]
    _write(found, rows, given)
    for note in found.notes:
        click.echo(f"note: {note}", err=True)
    said = "" if found.price is None else found.price.said
    paid = "nothing more: answered before" if left == before else f"{said}, once"
    click.echo(f"paid: {paid}; left: {left}", err=True)


def _check_place(frame: MapFrame, name: str, where: Any) -> None:
    """Refuse what lies beside the map, before anything is paid for."""
    try:
        frame.check_meets(where)
    except RangeError as problem:
        problem.message = f"{name:.80}: {problem.message}"
        raise


def _box(text: str, option: str) -> tuple[Any, ...]:
    """Read four numbers, and refuse what is no box before anything is paid for."""
    from sfumato.session.points import ends_of
    from sfumato.spatial.box import boxes

    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 4:
        raise InputError(f"{option} takes four numbers, X0,Y0,X1,Y1, and not {text!r:.80}.")
    ends = ends_of(parts)
    return ends if option == "--box" else tuple(boxes(list(ends))[0].tolist())


def _areas(path: Path | None) -> list[tuple[str, Any]]:
    from sfumato.release.format import printable
    from sfumato.spatial import geojson

    if path is None:
        return []
    found = geojson.read(path)
    names = [str(area.properties.get("name", f"area {i}")) for i, area in enumerate(found)]
    return [(printable(name), area.polygon) for name, area in zip(names, found, strict=True)]


def _check_files(given: dict[str, Any]) -> None:
    """Refuse what could not be written, before anything is paid for."""
    for option, endings in (("out", (*_WRITERS, ".json")), ("png", _PICTURES)):
        path = given[option]
        if path is None:
            continue
        if path.suffix.lower() not in endings:
            raise InputError(
                f"--{option} writes {', '.join(endings)}, and not {path.suffix!r:.20}."
            )
        check_writable(path, f"--{option}")


def _spare(given: dict[str, Any], contract: Contract) -> None:
    """Refuse to write over the owner's files, or over the areas that are counted."""
    kept = precious(contract, given["contract"])
    if given["areas"] is not None:
        kept.append(given["areas"])
    for option in ("out", "png"):
        if given[option] is not None:
            check(given[option], kept, f"--{option}")


@contextmanager
def _writing(path: Path, option: str) -> Iterator[None]:
    """Say of a map that is paid for, and cannot be written, that it can be had again."""
    try:
        yield
    except OSError:
        raise unwritable(path, option) from None


def _write(found: MapRelease, rows: list[_Row], given: dict[str, Any]) -> None:
    out, png = given["out"], given["png"]
    if out is not None:
        with _writing(out, "--out"):
            if out.suffix.lower() == ".json":
                out.write_text(found.to_json(), encoding="ascii")
            else:
                getattr(found, _WRITERS[out.suffix.lower()])(out)
    if png is not None:
        with _writing(png, "--png"):
            found.to_png(png)
    table = [
        (name, even.value, even.low, even.high, anywhere.low, anywhere.high)
        for name, even, anywhere in rows
    ]
    if given["form"] == "json":
        click.echo(_json([dict(zip(_COLUMNS, row, strict=True)) for row in table]))
    elif given["form"] == "csv":
        import csv
        import io

        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([_COLUMNS, *table])
        click.echo(text.getvalue(), nl=False)
    elif rows:
        width = max(len(name) for name, *_ in rows)
        for name, even, anywhere in rows:
            click.echo(f"{name:<{width}}  {_told(even, anywhere)}")
    else:
        click.echo(f"{len(found):,} cells, {found.method}; total {found.total()!r}")


def _told(even: Estimate, anywhere: Estimate) -> str:
    """Return a count with its interval, and the one that takes nothing for granted beside it."""
    from sfumato.release.format import plain

    if even.covers == anywhere.covers:  # no border cuts a cell
        return repr(even)
    return f"{even!r}; [{plain(anywhere.low)}, {plain(anywhere.high)}] wherever they lie in these"


def _json(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, indent=2)
