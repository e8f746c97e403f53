"""What is a path, and what only has a text."""

import os

import pytest

from sfumato.core.errors import InputError
from sfumato.core.path import path_of


def test_paths_of_every_kind(tmp_path):
    file = tmp_path / "é.csv"
    file.touch()
    [entry] = os.scandir(tmp_path)
    assert path_of(file) == path_of(str(file)) == path_of(entry) == file
    assert path_of("a" * 255).name == "a" * 255


class Numbered(os.PathLike):
    """A path that has no text behind it."""

    def __fspath__(self):
        return 3


@pytest.mark.parametrize(
    "given",
    [None, 3, ["a"], b"a", "", "a\0b", "a\ud800", "a" * 256, "é" * 128 + "/b", Numbered()],
)
def test_what_is_none(given):
    with pytest.raises(InputError, match="path"):
        path_of(given)
