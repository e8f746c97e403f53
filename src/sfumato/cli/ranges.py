"""The command `sfumato ranges`: counts of ranges of one column, for one charge."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.asked import admit, check_writable, free, unwritable
from sfumato.cli.wording import options
from sfumato.core.errors import CostError, InputError, SfumatoError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sfumato.ranges import RangeRelease
    from sfumato.release.estimate import Estimate
    from sfumato.session import Contract, Session
    from sfumato.session.column import Column

FORMATS = ("table", "csv", "json")
_ENDINGS = {"": "table", ".txt": "table", ".csv": "csv", ".json": "json"}  # and what they hold
_PICTURES = (".png", ".svg", ".html")
# What this command cannot do, and the one that can.
_ELSEWHERE = (
    (r"\bgroup_by\('([^']*)'\)\.count\(\)", r"`sfumato query CONTRACT --group-by \1 --count`"),
    (
        r"\bwith_columns\(day='(date\([^']*\))'\)\.values\('day'\)",
        r'`sfumato query CONTRACT --group-by "day=\1" --count`',
    ),
)
_BINS = 20  # rows that are shown where nothing is asked for


@click.command()
@click.argument("contract", type=click.Path(path_type=Path))
@click.argument("column")
@click.option("--table", metavar="NAME", help="The table; may be left out if there is only one.")
@click.option("--where", multiple=True, metavar="CONDITION", help="Only rows for which it is true.")
@click.option("--epsilon", metavar="NUMBER", help="The price in ε.")
@click.option("--delta", default="0", show_default=True, metavar="NUMBER", help="The δ beside it.")
@click.option("--rho", metavar="NUMBER", help="The price in ρ, instead.")
@click.option(
    "--workload",
    default="ranges",
    show_default=True,
    metavar="ranges|prefix|counts",
    help="What is to be answered best: all ranges, all from the lowest value, or the --count ones.",
)
@click.option("--method", default="auto", show_default=True, metavar="NAME", help="How.")
@click.option("--bins", type=int, metavar="N", help="Cut the column into about so many cells.")
@click.option(
    "--count",
    "counts",
    multiple=True,
    metavar="LOW:HIGH",
    help="Count the rows from low to high, both included. May be repeated.",
)
@click.option(
    "--quantile", "quantiles", multiple=True, metavar="Q", help="A quantile. May be repeated."
)
@click.option("--confidence", show_default="0.95", metavar="NUMBER", help="That of each interval.")
@click.option("--explain", is_flag=True, help="Only compare what the methods err by; free.")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    show_default="by the ending of --out, else table",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write it there; a chart to .png, .svg or .html.",
)
@click.option("--analyst", metavar="NAME", help="Who asks, where the contract gives shares.")
def ranges(**given: Any) -> None:
    """Count ranges of COLUMN in a table of CONTRACT; one charge, however many ranges.

    Example: sfumato ranges clinic.toml age --epsilon 0.5 --count 0:17 --count 65:120
    """
    out = given["out"]
    if given["form"] is None:
        given["form"] = _ENDINGS.get("" if out is None else out.suffix.lower(), "table")
    with options(), _elsewhere():
        _check_options(given)
        _run(given)


@contextmanager
def _elsewhere() -> Iterator[None]:
    """Name the command to type, where the API is told about calls that this one does not have."""
    try:
        yield
    except SfumatoError as problem:
        for said, typed in _ELSEWHERE:
            problem.message = re.sub(said, typed, problem.message)
        raise


def _check_options(given: dict[str, Any]) -> None:
    """Refuse what makes no sense, before anything is opened."""
    if (given["epsilon"] is None) == (given["rho"] is None):
        raise CostError(
            "a release has a price, and you set it: --epsilon 0.5, with --delta 1e-9 if you like, "
            f"or --rho 0.1; one of the two. {free(explained=given['explain'])}"
        )
    if given["explain"] and given["form"] == "csv":
        raise InputError(
            "an explanation is no table, so that it cannot be written as csv. Pass --format table, "
            "or --format json."
        )
    out = given["out"]
    if out is None:
        return
    if out.suffix.lower() not in (*_ENDINGS, *_PICTURES):
        endings = ", ".join((*filter(None, _ENDINGS), *_PICTURES))
        raise InputError(f"--out writes {endings}, and not {out.suffix!r:.20}.")
    if _is_picture(out) and (given["explain"] or given["method"] == "sketch"):
        what = "an explanation" if given["explain"] else "a sketch"
        raise InputError(f"{what} is not drawn. Pass --out with a file that ends in .json.")
    check_writable(out)


def _is_picture(out: Path | None) -> bool:
    return out is not None and out.suffix.lower() in _PICTURES


def _run(given: dict[str, Any]) -> None:
    from sfumato import ranges as program
    from sfumato.cli.file import check, precious
    from sfumato.session import Contract, connect

    pairs = [_pair(text) for text in given["counts"]]
    price = {name: given[name] for name in ("epsilon", "rho") if given[name] is not None}
    price["delta"] = given["delta"]
    contract = Contract.read(given["contract"])
    _check_contract(given, contract)
    if given["out"] is not None:
        check(given["out"], precious(contract, given["contract"]))
    if given["explain"] and contract.ledger is not None and not contract.ledger.exists():
        contract = replace(contract, ledger=None)  # what is free leaves nothing behind
    with connect(contract, analyst=given["analyst"]) as session:
        values = _values(given, session)
        workload = _workload(given["workload"], pairs)
        _check(values, pairs, given["quantiles"])
        if given["method"] == "sketch" and not given["explain"]:
            _check_sketch(values, pairs, given["quantiles"], given["form"])
        if given["explain"]:
            found = program.explain(values, workload=workload, **price)
            _put(given, _json(found.to_dict()) if given["form"] == "json" else repr(found))
            return
        before = session.remaining
        if given["confidence"] is not None:
            price["confidence"] = given["confidence"]
        release = program.release(values, workload=workload, method=given["method"], **price)
        left = session.remaining
    rows = [(_name(low, high), release.count(low, high)) for low, high in pairs]
    rows += [(f"quantile {q}", release.quantile(q)) for q in given["quantiles"]]
    out = given["out"]
    if _is_picture(out):
        _draw(release, out)
    if rows or not _is_picture(out):
        _put(given, _written(release, rows, given["form"]))
    for note in release.notes:
        click.echo(f"note: {note}", err=True)
    paid = "nothing more: answered before" if left == before else f"{release.price.said}, once"
    click.echo(f"paid: {paid}; left: {left}", err=True)


def _check_contract(given: dict[str, Any], contract: Contract) -> None:
    admit(contract, given["analyst"], free=given["explain"])
    if given["table"] is None and len(contract.tables) > 1:
        raise InputError(
            f"the contract has several tables: {', '.join(contract.tables)}. Pass --table with one "
            f"of them."
        )


def _values(given: dict[str, Any], session: Session) -> Column:
    """Return the column of the rows that were asked for."""
    table = session.table() if given["table"] is None else session.table(given["table"])
    if given["where"]:
        table = table.filter(*given["where"])
    return table.values(given["column"], bins=given["bins"])


def _put(given: dict[str, Any], text: str) -> None:
    """Print it, or write the file; what is asked for beside a picture is printed."""
    if given["out"] is None or _is_picture(given["out"]):
        click.echo(text)
        return
    try:
        given["out"].write_text(f"{text}\n", encoding="utf-8", newline="\n")
    except OSError:
        raise unwritable(given["out"]) from None


def _draw(release: RangeRelease, out: Path) -> None:
    """Draw counts of bins, or write a page of them."""
    from sfumato.release.chart import to_png, to_svg

    try:
        if out.suffix.lower() == ".html":
            release.to_html(out)
        elif out.suffix.lower() == ".png":
            out.write_bytes(to_png(release.chart()))
        else:
            out.write_text(to_svg(release.chart()), encoding="utf-8", newline="\n")
    except OSError:
        raise unwritable(out) from None


def _pair(text: str) -> tuple[Any, Any]:
    """Read LOW:HIGH, or LOW..HIGH where there are colons in the values."""
    low, sign, high = text.partition("..") if ".." in text else text.partition(":")
    if not sign or not low.strip() or not high.strip() or (":" in high and ".." not in text):
        raise InputError(
            f"--count takes LOW:HIGH, such as 18:64, or LOW..HIGH for timestamps, and not {text!r}."
        )
    return _value(low.strip()), _value(high.strip())


def _check(values: Column, pairs: list[tuple[Any, Any]], quantiles: tuple[str, ...]) -> None:
    """Refuse what could not be answered, before anything is paid for."""
    from sfumato.core.number import exact
    from sfumato.ranges.line import Line

    line = Line.of(values)
    for low, high in pairs:
        start, stop = line.within(low, high)
        if start[0] == stop[0]:
            raise InputError(
                f"--count {_name(low, high)} holds no value that {values.name!r} can have, by its "
                f"declaration: it would show 0, for a price. Leave it out."
            )
    if any(not 0 <= exact(q, "--quantile") <= 1 for q in quantiles):
        raise InputError("--quantile takes a share of the rows, from 0 to 1.")


def _check_sketch(
    values: Column, pairs: list[tuple[Any, Any]], quantiles: tuple[str, ...], form: str
) -> None:
    """Refuse what a sketch does not answer, before it is paid for."""
    from sfumato.ranges.line import Line

    line = Line.of(values)
    wide = [pair for pair in pairs if _cells(line.within(*pair)) != 1]
    if quantiles or wide or (not pairs and form != "json"):
        raise InputError(
            "a sketch counts single values: name them with --count 17:17, or take all of it with "
            "--format json. For ranges and quantiles take another method, and --bins where there "
            "are too many values."
        )


def _cells(ends: tuple[Any, Any]) -> int:
    """Count the cells between two ends."""
    return int(ends[1][0] - ends[0][0])


def _value(text: str) -> Any:
    """Read a number; what is none is a date or a timestamp."""
    from fractions import Fraction

    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return text


def _workload(name: str, pairs: list[tuple[Any, Any]]) -> Any:
    if name != "counts":
        return name
    if not pairs:
        raise InputError("--workload counts is about the ranges of --count. Pass at least one.")
    return pairs


def _name(low: Any, high: Any) -> str:
    from sfumato.cli.listing import decimal

    return ":".join(end if isinstance(end, str) else decimal(end) for end in (low, high))


def _written(release: RangeRelease, rows: list[tuple[str, Estimate]], form: str) -> str:
    if not rows:
        return _whole(release, form)
    table = [(name, found.value, found.low, found.high) for name, found in rows]
    if form == "json":
        names = ("range", "n", "low", "high")
        return _json([dict(zip(names, row, strict=True)) for row in table])
    if form == "csv":
        return "\n".join(["range,n,low,high", *(",".join(map(str, row)) for row in table)])
    width = max(len(name) for name, *_ in table)
    return "\n".join(f"{name:<{width}}  {found!r}" for name, found in rows)


def _whole(release: RangeRelease, form: str) -> str:
    """Write all cells, or a few bins to look at."""
    from sfumato.cli.listing import as_csv

    if form == "json":
        return release.to_json()
    if form == "csv":
        return as_csv(release.table()).rstrip("\n")
    size = release.line.size
    cells = range(0, size, max(1, -(-size // _BINS)))
    edges = [release.line.value(cell) for cell in cells] + [release.line.last(size - 1)]
    return repr(release.histogram(list(dict.fromkeys(edges))) if size > 1 else release)


def _json(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, indent=2)
