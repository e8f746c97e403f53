"""Text files: nothing is guessed, and no line makes the reader fail."""
# ruff: noqa: S311 - a seed that repeats is what is wanted

import gzip
import random

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.errors import InputError, UnknownName
from sfumato.relation.source import Source

SOURCE = Source("t", sf.Schema(a=sf.Text(), b=sf.Text(), n=sf.Integer(0, 9)), sf.Unit.row())
HEADER = b"a,b,n\n"


@pytest.fixture
def rows(tmp_path, opened):
    """Return the rows of a file with the given bytes."""

    def read(content, name="t.csv", source=SOURCE, **options):
        path = tmp_path / name
        path.write_bytes(content)
        answer = opened({source: path}, **options).run('SELECT * FROM "t"', {})
        return [tuple(row.values()) for row in answer.to_pylist()]

    return read


LINES = {
    "plain": (b"x,y,3\n", [("x", "y", 3)]),
    "no newline at the end": (b"x,y,3", [("x", "y", 3)]),
    "header only": (b"", []),
    "missing fields": (b"x\nx,y\n", [("x", None, None), ("x", "y", None)]),
    "too many fields": (b"x,y,3,4,5\n", [("x", "y", 3)]),
    "quotes": (b'"x,""q""","y\nz",3\n', [('x,"q"', "y\nz", 3)]),
    "empty fields": (b',"",\n', [(None, None, None)]),
    "blanks": (b" x ,y,\t3 \n", [(" x ", "y", 3)]),
    "invalid UTF-8 drops the line": (b"x,\xff,3\ny,z,4\n", [("y", "z", 4)]),
    "a line too long is dropped": (b"x," + b"y" * 5_000_000 + b",3\ny,z,4\n", [("y", "z", 4)]),
    "a character 0": (b"x,\0,3\n", [("x", "\0", 3)]),
    "no comments": (b"#x,y,3\n", [("#x", "y", 3)]),
    "words that others take for missing": (b"NULL,NA,NaN\n", [("NULL", "NA", None)]),
}


@pytest.mark.parametrize("case", LINES)
def test_lines_are_read_as_documented(case, rows):
    content, expected = LINES[case]
    assert rows(HEADER + content) == expected


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_line_ends_of_every_system_are_read(end, rows):
    assert rows(end.join([b"a,b,n", b"x,y,3", b"z,,4", b""])) == [("x", "y", 3), ("z", None, 4)]


def test_headers_are_read_with_their_quotes_and_mark(rows):
    source = Source("t", sf.Schema({"a,1": sf.Text(), 'q"q': sf.Integer(0, 9)}), sf.Unit.row())
    assert rows(b'\xef\xbb\xbf"a,1","q""q"\nx,3\n', source=source) == [("x", 3)]


def test_empty_field_is_missing_unless_it_is_listed(rows, opened):
    declared = sf.Schema(a=sf.Text(), b=sf.Category(["", "y"]), n=sf.Integer(0, 9))
    source = Source("t", declared, sf.Unit.row())
    content = b'a\tb\tn\n\t\t2\n" "\ty\t3\n""\t""\t4\n'
    expected = [(None, 0, 2), (" ", 1, 3), (None, 0, 4)]
    assert rows(content, "t.tsv", source=source) == expected
    frame = {"a": ["", None], "b": ["", "y"], "n": [1, 2]}
    held = opened({source: pa.table(frame)}).run('SELECT a FROM "t"', {})
    assert held.to_pylist() == [{"a": ""}, {"a": None}]  # elsewhere missing is something else


def test_compressed_and_tabbed_files_are_read(rows):
    assert rows(gzip.compress(HEADER + b"x,y,3\n"), "t.csv.gz") == [("x", "y", 3)]
    assert rows(b"a\tb\tn\nx,y\tz\t3\n", "t.tsv") == [("x,y", "z", 3)]
    assert rows(gzip.compress(b"a\tb\tn\nx\ty\t3\n"), "t.tsv.gz") == [("x", "y", 3)]


@pytest.mark.parametrize("content", [b"", b"\n\na,b,n\n", b"\xef\xbb\xbf"])
def test_file_without_a_header_is_refused(content, rows):
    with pytest.raises(InputError, match="no header line"):
        rows(content)


def test_damaged_compression_is_refused(rows):
    with pytest.raises(InputError, match="no header line"):
        rows(b"not compressed", "t.csv.gz")


def test_files_with_other_headers_are_refused(tmp_path, opened):
    (tmp_path / "1.csv").write_bytes(HEADER)
    (tmp_path / "2.csv").write_bytes(b"b,a,n\n")
    with pytest.raises(InputError, match="same header line"):
        opened({SOURCE: f"{tmp_path}/*.csv"})


def test_columns_named_twice_are_refused_only_if_declared(rows):
    assert rows(b"a,b,n,z,z\nx,y,3,4,5\n") == [("x", "y", 3)]
    with pytest.raises(UnknownName, match="2 columns"):
        rows(b"a,a,b,n\n")


PIECES = [b'"', b'""', b",", b"\n", b"\r", b"\r\n", b"a", b"1", b"\xff", b"\xc3\xa9", b"\0", b"\\"]


@pytest.mark.parametrize("seed", range(15))
def test_no_sequence_of_bytes_makes_the_reader_fail(seed, rows):
    rng = random.Random(seed)
    content = HEADER + b"".join(rng.choice(PIECES) for _ in range(rng.choice([20, 200, 20_000])))
    answers = [rows(content, threads=threads) for threads in (1, 4)]
    assert answers[0] == answers[1]
    assert all(n is None or 0 <= n <= 9 for _, _, n in answers[0])


def test_large_file_with_broken_quotes_is_the_same_for_any_number_of_threads(rows):
    content = HEADER + b"x,y,3\n" * 300_000 + b'x,"y\nz",3\nx,"y,3\n' + b"x,y,4\n" * 10_000
    source = Source("t", sf.Schema(n=sf.Integer(0, 9)), sf.Unit.row())
    answers = [rows(content, source=source, threads=threads) for threads in (1, 4)]
    assert answers[0] == answers[1]
    assert len(answers[0]) >= 300_001
