"""A ledger on a disk that says no: full, read-only, or protected.

Run as a program of its own, because it mounts, limits itself and gives up its rights:
``FOLDER DISK``, where the disks are those in `DISKS`, or ``FOLDER nearly full``. It prints one
line of JSON.
"""

import json
import os
import resource
import subprocess
import sys
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import sfumato as sf
from sfumato.core.errors import LedgerError
from sfumato.core.loss import Pure
from sfumato.ledger import Ledger, verify

NOBODY = 65534
ANSWER = b"public" * 1000


@contextmanager
def small_disk(folder):
    """Fill a file system of one megabyte, but for some space; needs a namespace of our own."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], check=True)
    filler = folder / "filler"

    def fill(free=0):
        with filler.open("wb", buffering=0) as file:
            for size in (4096, 1):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    pass
            file.truncate(file.tell() - free)

    yield fill, filler.unlink


@contextmanager
def short_files(folder):
    """Let no file of this process grow."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill():
        size = max((file.stat().st_size for file in folder.glob("*-wal")), default=0)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))

    yield fill, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def mounted_read_only(folder):
    """Mount a file system of our own for reading only; needs a mount namespace of our own."""
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], check=True)

    def change(mode):
        subprocess.run(["mount", "-o", f"remount,{mode}", folder], check=True)

    yield lambda: change("ro"), lambda: change("rw")


@contextmanager
def protected(folder, file_mode=0o444, folder_mode=0o555):
    """Take the right to write away, from a user whom modes of files bind."""
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
        os.seteuid(NOBODY)

    def change(file, directory):
        folder.chmod(0o700)
        for name in folder.glob("ledger*"):
            name.chmod(file)
        folder.chmod(directory)

    yield lambda: change(file_mode, folder_mode), lambda: change(0o600, 0o700)


DISKS = {
    "full": small_disk,
    "short": short_files,
    "mounted read-only": mounted_read_only,
    "read-only": protected,
    "read-only file": lambda folder: protected(folder, folder_mode=0o700),
    "read-only folder": lambda folder: protected(folder, file_mode=0o600),
}


STEPS = ("create", "reserve", "touch", "settle")
HARMLESS = {("create", "read-only file")}  # a file that is not there yet cannot be protected


class Story:
    """One request, step by step."""

    def __init__(self, path):
        self.path, self.ledger, self.granted = path, None, None

    def create(self):
        self.ledger = Ledger.create(self.path, sf.Budget(1), sf.Unit.row())

    def reserve(self):
        self.granted = self.ledger.reserve("q", None, "t", "1", "plan", Pure("0.25"))

    def touch(self):
        self.ledger.touch(self.granted)

    def settle(self):
        self.ledger.settle(self.granted, ANSWER)


def refuse(folder, disk):
    """Take every step while the disk says no, then again; return what it said, and what is wrong.

    Files that are open keep the rights with which they were opened, so the ledger is closed before.
    """
    said, wrong, story = {}, [], Story(folder / "ledger")
    with DISKS[disk](folder) as (forbid, allow):
        for step in STEPS:
            if (step, disk) in HARMLESS:
                getattr(story, step)()
                continue
            before = story.ledger and story.ledger.head
            if story.ledger and "read-only" in disk:
                story.ledger.close()
            forbid()
            try:
                getattr(story, step)()
                wrong.append(f"{step} succeeded")
            except LedgerError as problem:
                said[step] = str(problem)
            allow()
            if before and not (story.ledger.head == before and verify(story.path, before).ok):
                wrong.append(f"{step} was refused, and left something")
            if not before and list(folder.glob("ledger*")):
                wrong.append("no ledger was made, and there are files of it")
            getattr(story, step)()
        story.reserve()
        if story.granted.answer != ANSWER or not verify(story.path).ok:
            wrong.append("the ledger is not what it would have been")
        if story.ledger.remaining().epsilon != Fraction(3, 4):
            wrong.append("the charge is not what was asked")
        story.ledger.close()
    return {"said": said, "wrong": wrong}


def squeeze(folder, _):
    """Make a ledger in ever more space; return how often it was refused and made, and what failed.

    Between a disk on which it cannot be begun and one on which it fits it fails at every write.
    """
    said, made, wrong = set(), 0, []
    with small_disk(folder) as (forbid, allow):
        for free in range(0, 320 * 1024, 4096):
            forbid(free)
            path = folder / f"ledger {free}"
            try:
                Ledger.create(path, sf.Budget(1), sf.Unit.row()).close()
            except LedgerError as problem:
                said.add(str(problem))
                if list(folder.glob("ledger*")):
                    wrong.append(f"no ledger was made in {free} bytes, and there are files of it")
            else:
                made += 1
                if [each.name for each in folder.glob("ledger*")] != [path.name]:
                    wrong.append(f"a ledger was made in {free} bytes, and more")
            allow()
            if path.exists() and not verify(path).ok:
                wrong.append(f"what was made in {free} bytes is no ledger")
            for each in folder.glob("ledger*"):
                each.unlink()
    return {"said": sorted(said), "made": made, "wrong": wrong}


if __name__ == "__main__":
    command = squeeze if sys.argv[2] == "nearly full" else refuse
    print(json.dumps(command(Path(sys.argv[1]), sys.argv[2])))  # noqa: T201
