import subprocess
import sys

import pytest

from sfumato.backends.physical import Class, Physical, PhysicalColumn
from sfumato.core.errors import UnknownName

KINDS = {
    "BIGINT": Class.SMALL,
    "UBIGINT": Class.WIDE,
    "DOUBLE": Class.FLOAT,
    "DECIMAL(38,10)": Class.DECIMAL,
    "VARCHAR": Class.TEXT,
    "ENUM('a', ')', '[]')": Class.TEXT,
    "ENUM('a\nb')": Class.TEXT,
    "TIMESTAMP WITH TIME ZONE": Class.MOMENT,
    '"NULL"': Class.NOTHING,
    "VARCHAR[]": Class.OTHER,
    "ENUM('a')[]": Class.OTHER,
    "INTEGER[2]": Class.OTHER,
    "STRUCT(a INTEGER)": Class.OTHER,
    "TIME": Class.OTHER,
    "A TYPE OF TOMORROW": Class.OTHER,
}


@pytest.mark.parametrize("kind", KINDS)
def test_class_follows_from_the_type(kind):
    assert PhysicalColumn("x", "x", kind).kind is KINDS[kind]


def test_precision_is_read_or_assumed_largest():
    assert PhysicalColumn("x", "x", "DECIMAL(12,3)").precision == 12
    assert PhysicalColumn("x", "x", "DECIMAL").precision == 38


def table(*names):
    return Physical("t", tuple(PhysicalColumn(name, name, "BIGINT") for name in names))


def test_column_is_found_by_exact_name_then_by_case():
    assert table("A", "a").column("a", "t").name == "a"
    assert table("Straße").column("STRASSE", "t").name == "Straße"
    with pytest.raises(UnknownName, match="2 columns"):
        table("Ab", "AB").column("ab", "t")


def test_column_that_is_missing_is_refused_in_few_words():
    with pytest.raises(UnknownName, match=r"and 80 more\.") as caught:
        table(*(f"column {i}" for i in range(100))).column("zzz", "t")
    assert "Correct the declaration" in str(caught.value)


def test_importing_backends_loads_no_engine():
    code = (
        "import sys, sfumato.backends, sfumato.backends.duckdb; "
        "print([m for m in ('duckdb', 'pyarrow', 'pandas', 'polars') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
