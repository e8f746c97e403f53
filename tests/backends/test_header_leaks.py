"""What an owner's file says about itself must not be a row of it."""

import duckdb
import pytest

import sfumato as sf

DECLARED = {
    "unit": sf.Unit.row(),
    "schema": sf.Schema(age=sf.Integer(0, 120)),
    "budget": sf.Budget(1),
}


def refusal(source):
    with pytest.raises(sf.errors.SfumatoError) as caught:
        sf.Session(source, **DECLARED)
    return str(caught.value)


@pytest.mark.parametrize("quote", ['"name', 'name,"age', '"'], ids=range(3))
def test_quote_left_open_in_the_header_shows_no_row(tmp_path, quote):
    (tmp_path / "p.csv").write_text(f'{quote}\nMallory Canary,31\n"Eve",45\n')
    message = refusal(tmp_path / "p.csv")
    assert "Canary" not in message
    assert "header line" in message


def test_values_of_an_enum_are_not_shown(tmp_path):
    file = tmp_path / "p.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE p (age ENUM('Canary', 'Eve')[])")
    assert "Canary" not in refusal(f"duckdb:{file}#p")


def test_home_of_nobody_is_a_file_that_does_not_exist():
    assert "no file" in refusal("~nobody-of-that-name/p.csv")
