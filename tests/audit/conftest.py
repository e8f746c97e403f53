"""Collects what every means saw of every planted bug, and prints it when the session ends."""

import sys

import pytest

_WIDTH = 96


@pytest.fixture(scope="session")
def sightings(request, tmp_path_factory):
    """Take a line for each planted bug; the worker that finishes last prints them all."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if hasattr(request.config, "workerinput") else base) / "sightings"
    folder.mkdir(exist_ok=True)
    lines = Sightings(folder)
    yield lines
    if lines.complete:
        with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            sys.stderr.write(lines.table())


class Sightings:
    """One file for each bug, since workers share nothing else."""

    def __init__(self, folder):
        self._folder, self._expected = folder, 0

    def add(self, place, many, line):
        """Keep the line of bug number `place` of `many`."""
        self._expected = many
        (self._folder / f"{place:03d}").write_text(line, encoding="utf-8")

    @property
    def complete(self):
        """Whether every bug was seen to, and nobody has said so yet."""
        if not self._expected or len(list(self._folder.glob("[0-9]*"))) < self._expected:
            return False
        try:
            (self._folder / "printed").mkdir()
        except FileExistsError:
            return False
        return True

    def table(self):
        rows = [path.read_text(encoding="utf-8") for path in sorted(self._folder.glob("[0-9]*"))]
        title = " which means caught what "
        return "\n".join(["", f"{title:=^{_WIDTH}}", *rows, "=" * _WIDTH, ""])
