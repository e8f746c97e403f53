"""Values that nobody could have made up, planted in tables, and a search for them in any bytes."""

import base64
import html
import json
import struct
import urllib.parse
from decimal import Decimal
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import sfumato as sf

# Of each place where something can be planted, what is planted there.
TEXTS = {
    "text": "kestrelvane-7f",
    "quoted text": 'Öland "quill" <fathom>',
    "category": "unlisted-moorhen",
    "unit": "rider-bittern-42",
    "undeclared": "undeclared-dotterel",
}
WHOLE = 31_415_926_535_897_932  # 17 digits
FARE = "8675309.77"
DAY = "1987-03-19"
MOMENT = "2026-03-19T04:17:33"
ROWS = 401  # few enough that no sum is cut at 64 bits

SCHEMA = sf.Schema(
    zone=sf.Category(["north", "south"]),
    fare=sf.Real(0, 10**9, step="0.01", nullable=True),
    big=sf.Integer(0, 32 * 10**15),
    day=sf.Date("1980-01-01", "2030-12-31"),
    at=sf.Timestamp("2026-01-01T00:00:00", "2027-01-01T00:00:00", step=1),
    name=sf.Text(),
    member=sf.Boolean(),
)
UNIT = sf.Unit.by("rider", max_rows=3)


def columns():
    """Return the table: a few planted rows, and many whose sums are as distinctive."""
    fares = [FARE, *(f"{70_000_000 + 7_919 * i}.{i % 90 + 10}" for i in range(1, ROWS))]
    return {
        "rider": [TEXTS["unit"], *(f"r{i}" for i in range(1, ROWS))],
        "zone": [TEXTS["category"], *("north" if i % 3 else "south" for i in range(1, ROWS))],
        "fare": fares,
        "big": [str(WHOLE), *(str(10**12 + 99_991 * i) for i in range(1, ROWS))],
        "day": [DAY, *(["2020-06-15"] * (ROWS - 1))],
        "at": [MOMENT, *(["2026-06-15T00:00:00"] * (ROWS - 1))],
        "name": [TEXTS["text"], TEXTS["quoted text"], *(["someone"] * (ROWS - 2))],
        "member": ["true" if i % 5 else "false" for i in range(ROWS)],
        "secret": [TEXTS["undeclared"]] * ROWS,
    }


def _arrow():
    table = pa.table(columns())
    kinds = {"fare": pa.float64(), "big": pa.int64(), "day": pa.date32(), "member": pa.bool_()}
    fields = [pa.field(name, kinds.get(name, pa.string())) for name in table.column_names]
    return table.cast(pa.schema(fields))


def _csv(folder):
    import csv

    held = columns()
    with (folder / "trips.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(held)
        writer.writerows(zip(*held.values(), strict=True))
    return folder / "trips.csv"


def _parquet(folder):
    pq.write_table(_arrow(), folder / "trips.parquet")
    return folder / "trips.parquet"


def _database(folder):
    with duckdb.connect(str(folder / "trips.duckdb")) as db:
        held = _arrow()
        db.register("held", held)
        db.execute("CREATE TABLE trips AS FROM held")
    return folder / "trips.duckdb"


def _connection(_):
    db = duckdb.connect()
    held = _arrow()
    db.register("held", held)
    db.execute("CREATE TABLE trips AS FROM held")
    return db


SOURCES = {
    "csv": _csv,
    "parquet": _parquet,
    "duckdb": _database,
    "connection": _connection,
    "pandas": lambda _: pd.DataFrame(_arrow().to_pydict()),
    "polars": lambda _: pl.from_arrow(_arrow()),
    "arrow": lambda _: _arrow(),
}


# ---- the search ----------------------------------------------------------------------------------


def text_forms(text):
    """Return the bytes as which a text may turn up."""
    plain = text.encode()
    forms = {
        "utf-8": plain,
        "utf-16 le": text.encode("utf-16-le"),
        "utf-16 be": text.encode("utf-16-be"),
        "latin-1": text.encode("latin-1"),
        "hex": plain.hex().encode(),
        "upper hex": plain.hex().upper().encode(),
        "repr": repr(text)[1:-1].encode(),
        "ascii": ascii(text)[1:-1].encode(),
        "json": json.dumps(text)[1:-1].encode(),
        "html": html.escape(text).encode(),
        "url": urllib.parse.quote(text).encode(),
    }
    for skipped in range(3):  # base64 has three phases; the ends depend on the neighbors
        coded = base64.b64encode(b"\0" * skipped + plain)
        forms[f"base64 {skipped}"] = coded[4 if skipped else 0 : len(coded) // 4 * 4 - 4]
    return forms


def number_forms(number):
    """Return the bytes as which a number may turn up; digits apart from a sign."""
    exact = Decimal(str(number))
    if exact < 0:
        return number_forms(-exact)
    separators = ("", ",", "_", " ", "'", ".", "\xa0", "\u2009", "\u202f")
    digits = {f"{exact:,f}".replace(",", separator) for separator in separators}
    digits |= {f"{exact:E}".split("E")[0]} if len(exact.as_tuple().digits) > 8 else set()
    forms = {f"{i} {text}": text.encode() for i, text in enumerate(sorted(digits))}
    forms |= {f"utf-16 {text}": text.encode("utf-16-le") for text in digits}
    if exact == int(exact) and 2**40 <= exact < 2**63:
        whole = int(exact)
        forms["64 bits"] = struct.pack("<q", whole)[: (whole.bit_length() + 7) // 8]
        forms["64 bits, big"] = struct.pack(">q", whole)
        forms["hex number"] = f"{whole:x}".encode()
    forms["double"] = struct.pack("<d", float(exact))
    forms["double, big"] = struct.pack(">d", float(exact))
    return {name: form for name, form in forms.items() if len(form) >= 6}


def planted(exact=()):
    """Return every form of everything that must not come out.

    Args:
        exact: exact answers, which must not come out either; short ones could occur by chance.
    """
    found = {}
    for place, text in TEXTS.items():
        found |= {f"{place}, {form}": data for form, data in text_forms(text).items()}
    numbers = {
        "whole": WHOLE,
        "fare": FARE,
        "fare in steps": int(Decimal(FARE) * 100),
        **{f"answer {value}": value for value in exact if abs(value) >= 10**8},
    }
    for place, number in numbers.items():
        found |= {f"{place}, {form}": data for form, data in number_forms(number).items()}
    for place, text in (("day", DAY), ("moment", MOMENT), ("moment", MOMENT.replace("T", " "))):
        found |= {f"{place} {text}, {form}": data for form, data in text_forms(text).items()}
    return found


class Net:
    """Everything that came out, and whatever was found in it."""

    def __init__(self, needles):
        self.needles, self.artifacts, self._seen = needles, {}, set()

    def take(self, name, *things):
        """Keep texts and bytes; a path is kept with all that is below it."""
        for thing in things:
            if isinstance(thing, Path):
                for file in [thing, *sorted(thing.rglob("*"))]:
                    self.artifacts[f"{name}: {file.name}, name"] = str(file.name).encode()
                    if file.is_file():
                        self._keep(f"{name}: {file.name}", file.read_bytes())
            else:
                data = thing if isinstance(thing, bytes) else str(thing).encode(errors="replace")
                self._keep(name, data)

    def _keep(self, name, data):
        if (name, data) in self._seen:  # many views of one thing are the same
            return
        self._seen.add((name, data))
        self.artifacts[name] = self.artifacts.get(name, b"") + b"\n" + data

    @property
    def hits(self):
        """What was found, and where."""
        return [
            f"{needle} in {name}"
            for name, data in self.artifacts.items()
            for needle, form in self.needles.items()
            if form in data
        ]
