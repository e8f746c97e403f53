"""Values that break engines, and what every reading of them must be: in range, or missing."""

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

import sfumato as sf
from sfumato.backends.physical import PhysicalColumn
from sfumato.backends.reader import read
from sfumato.core.errors import ColumnError

# Declared columns, each with the codes that it may take.
DECLARED = {
    "integer": (sf.Integer(-5, 100), range(-5, 101)),
    "wide integer": (sf.Integer(-(2**62), 2**62 - 1), range(-(2**62), 2**62)),
    "real": (sf.Real(-1, 200, step="0.01"), range(-100, 20_001)),
    "fine real": (sf.Real("-1e-9", "1e-9", step="1e-27"), range(-(10**18), 10**18 + 1)),
    "coarse real": (sf.Real("-3e100", "3e100", step="1e99"), range(-30, 31)),
    "odd real": (sf.Real(0, 21, step="0.7"), range(31)),
    "category": (sf.Category(["A", "it's", "", "7", "zürich", "true"]), range(6)),
    "number category": (sf.Category([7, 8, 9]), range(3)),
    "mixed category": (sf.Category(["7", 7, -1, "x", 10**30]), range(5)),
    "boolean": (sf.Boolean(), (False, True)),
    "date": (sf.Date("1900-01-01", "2100-12-31"), range(-25_567, 47_847)),
    "every date": (sf.Date("0001-01-01", "9999-12-31"), range(-719_162, 2_932_897)),
    "timestamp": (sf.Timestamp("1969-12-31T23:00:00", "2030-01-01", step=60), range(31_557_661)),
    "fine timestamp": (
        sf.Timestamp("2020-01-01", "2020-01-02", step="1e-9"),
        range(86_400 * 10**9 + 1),
    ),
    "every timestamp": (
        sf.Timestamp("0001-01-01", "9999-12-31T23:59:59", step=1),
        range(315_537_897_600),
    ),
    "text": (sf.Text(), None),
}

TEXTS = [
    *(
        "",
        " ",
        "abc",
        "zürich",
        "日本",
        "\U0001f600",
        "A",
        "a",
        " A",
        "it's",
        "7",
        "07",
        "7.0",
        " 7 ",
    ),
    *("1e400", "-1e400", "1e-400", "0x10", "0b11", "1_000", "1,5", "nan", "NaN", "-nan", "inf"),
    *("-Infinity", "infinity", "4.9e-324", "1e308", "-0.0", "2.5", "-2.5", "9" * 400, "1e", "+"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "9007199254740993"),
    *("0000-00-00", "0000-01-01", "0001-01-01", "9999-12-31", "10000-01-01", "2020-02-30"),
    *("2020-01-01T00:00:00+14:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"),
    *("2020-01-01 24:00:00", "2020-01-01T23:59:60", "2020-01-01T12:00:00.999999999Z", "epoch"),
    *(
        "2020-01-01T00:00:00+99:99",
        "TRUE",
        "tRuE",
        "no",
        "NULL",
        "null",
        "None",
        "'; DROP",
        "\\",
        "%",
    ),
    *("1" * 5000, "İ", "ﬀ", "\t7\n", "a\nb", 'q"q'),
]
FLOATS = [
    *(float("nan"), float("inf"), float("-inf"), None, -0.0, 0.0, 1e308, -1e308, 5e-324, -5e-324),
    *(
        2.0**53,
        2.0**62,
        2.0**63,
        -(2.0**63),
        2.0**64,
        0.5,
        1.5,
        2.5,
        -0.5,
        -2.5,
        7.0,
        1.005,
        200.01,
    ),
    *(1.7976931348623157e308, 2.2250738585072014e-308, 1e22, -1.0, 99.5, 100.5),
]
NATURALS = [None, 0, 1, 7, 8, 100, 127]
WHOLES = [*NATURALS, -1, -5, -128]


@dataclass(frozen=True)
class Holder:
    """A physical type of DuckDB, and values of it as SQL."""

    type: str
    values: tuple[str, ...]


def _numbers(kind, *values):
    return Holder(kind, tuple("NULL" if v is None else f"CAST('{v}' AS {kind})" for v in values))


def _signed(kind, bits):
    return _numbers(kind, *WHOLES, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _unsigned(kind, bits):
    return _numbers(kind, *NATURALS, 2**bits - 1)


def _decimal(digits, scale):
    top = "9" * (digits - scale) + ("." + "9" * scale if scale else "")
    small = ["0", "0.5", "-0.5"] if scale else ["0"]
    return _numbers(f"DECIMAL({digits},{scale})", None, *small, top or "0", f"-{top}")


ZONED = "TIMESTAMP WITH TIME ZONE"
HOLDERS = {
    "tinyint": _signed("TINYINT", 8),
    "smallint": _signed("SMALLINT", 16),
    "integer": _signed("INTEGER", 32),
    "bigint": _signed("BIGINT", 64),
    "hugeint": _signed("HUGEINT", 128),
    "utinyint": _unsigned("UTINYINT", 8),
    "usmallint": _unsigned("USMALLINT", 16),
    "uinteger": _unsigned("UINTEGER", 32),
    "ubigint": _unsigned("UBIGINT", 64),
    "uhugeint": _unsigned("UHUGEINT", 128),
    "decimal 4": _decimal(4, 2),
    "decimal 18": _decimal(18, 3),
    "decimal 38": _decimal(38, 10),
    "decimal whole": _decimal(38, 0),
    "decimal fraction": _decimal(38, 38),
    "float": _numbers("FLOAT", *(v for v in FLOATS if v is None or abs(v) < 1e38 or v * 0 != 0)),
    "double": _numbers("DOUBLE", *FLOATS),
    "boolean": Holder("BOOLEAN", ("TRUE", "FALSE", "NULL")),
    "varchar": Holder(
        "VARCHAR", (*tuple("'" + t.replace("'", "''") + "'" for t in TEXTS), "NULL", "chr(0)")
    ),
    "enum": Holder(
        "ENUM('A', '7', '', '2020-01-01')", ("'A'", "'7'", "''", "'2020-01-01'", "NULL")
    ),
    "uuid": Holder("UUID", ("'00000000-0000-0000-0000-000000000007'", "NULL")),
    "date": Holder(
        "DATE",
        (
            *tuple(
                f"DATE '{d}'"
                for d in ("infinity", "-infinity", "1970-01-01", "0001-01-01", "9999-12-31")
            ),
            "DATE '5877642-06-25 (BC)'",
            "DATE '5881580-07-10'",
            "NULL",
        ),
    ),
    **{
        kind.lower(): Holder(
            kind,
            (
                *tuple(
                    f"CAST('{t}' AS {kind})"
                    for t in (
                        "infinity",
                        "-infinity",
                        "1969-12-31 23:59:59.999999",
                        "2020-01-01",
                        "1677-09-22",
                        "2262-04-11",
                    )
                ),
                "NULL",
            ),
        )
        for kind in ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", ZONED)
    },
    "far timestamp": Holder(
        "TIMESTAMP",
        ("TIMESTAMP '290309-12-22 (BC) 00:00:00'", "TIMESTAMP '294247-01-10 04:00:54.775806'"),
    ),
    "far timestamptz": Holder(
        ZONED,
        ("TIMESTAMPTZ '290309-12-23 (BC) 00:00:00+00'", "TIMESTAMPTZ '294247-01-10 04:00:54+00'"),
    ),
    "blob": Holder("BLOB", ("'\\xFF'::BLOB", "''::BLOB", "NULL")),
    "time": Holder("TIME", ("TIME '10:00'", "NULL")),
    "timetz": Holder("TIMETZ", ("'10:00:00+01'::TIMETZ", "NULL")),
    "interval": Holder("INTERVAL", ("INTERVAL 1 MONTH", "NULL")),
    "bit": Holder("BIT", ("'101'::BIT", "NULL")),
    "list": Holder("INTEGER[]", ("[1]", "NULL")),
    "array": Holder("INTEGER[2]", ("[1, 2]::INTEGER[2]", "NULL")),
    "struct": Holder("STRUCT(a INTEGER)", ("{'a': 1}", "NULL")),
    "map": Holder("MAP(INTEGER, INTEGER)", ("MAP {1: 2}", "NULL")),
    "union": Holder("UNION(a INTEGER)", ("union_value(a := 1)",)),
    "json": Holder("JSON", ("'{}'::JSON", "NULL")),
    "bignum": Holder("BIGNUM", ("1::BIGNUM", "NULL")),
    "list of text": Holder("VARCHAR[]", ("['a']",)),
    "list of enum": Holder("ENUM('A')[]", ("['A']",)),
}

OBJECTS = [
    *(
        None,
        float("nan"),
        float("inf"),
        7,
        7.0,
        -0.0,
        True,
        False,
        "A",
        "",
        "2020-01-01",
        b"A",
        b"\xff",
    ),
    *(10**30, -(10**5000), Decimal("7.00"), Decimal("NaN"), Decimal("sNaN"), Decimal("1e999999")),
    *(
        date(2020, 1, 1),
        datetime(2020, 1, 1, 12),
        [1],
        {"a": 1},
        object(),
        1 + 2j,
        "\ud800",
        "a\0b",
    ),
    *(Decimal("Infinity"), date.max, datetime.min, range(3), ..., frozenset()),
]


def readable(kind):
    """Return the declarations that read a physical type, by name."""
    found = {}
    for name, (column, _) in DECLARED.items():
        try:
            read(column, PhysicalColumn("x", "x", kind), "t", "x")
        except ColumnError:
            continue
        found[name] = column
    return found


def check(answer, rows):
    """Every column of an answer, named for a declaration, holds legal codes or nothing."""
    assert len(answer) == rows
    for name, column in zip(answer.column_names, answer.columns, strict=True):
        legal = DECLARED[name][1]
        for value in column.to_pylist():
            if legal is None:
                assert value is None or isinstance(value, str)
            else:
                assert value is None or value in legal, name
