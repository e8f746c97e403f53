"""Every planted bug is seen by the means that should see it; no means flags a correct twin.

On every push the means run that need no luck: the contract suite, with laws written down, and
record and play. The deep run adds the black box, with fresh randomness; there a mistake has
probability 1/1000 at most for each bug that it is said to miss and for each twin.
"""

import runpy
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from broken import BLACK_BOX, BUGS, CONTRACT, FAMILIES, MEANS, REPLAY, TWINS, examine

sys.path.pop(0)

FAST = (CONTRACT, REPLAY)
ROOT = Path(__file__).parents[2]


def seen(found):
    return {means for means, what in found.items() if what is not None}


@pytest.mark.parametrize("bug", [b for b in BUGS if set(b.means) & set(FAST)], ids=repr)
def test_planted_bug_is_caught_without_luck(bug):
    found = examine(bug, FAST)
    assert seen(found) == set(bug.caught) & set(FAST), found


@pytest.mark.parametrize("twin", TWINS, ids=repr)
def test_correct_twin_passes_without_luck(twin):
    assert not seen(examine(twin, FAST))


@pytest.mark.deep
@pytest.mark.parametrize("place", range(len(BUGS)), ids=lambda place: BUGS[place].name)
def test_planted_bug_is_caught_by_the_means_named(place, sightings):
    bug = BUGS[place]
    found = examine(bug, MEANS)
    sightings.add(place, len(BUGS), line(bug, found))
    assert seen(found) == set(bug.caught), found


@pytest.mark.deep
@pytest.mark.parametrize("twin", TWINS, ids=repr)
def test_correct_twin_is_flagged_by_nothing(twin):
    assert not seen(found := examine(twin, MEANS)), found


def line(bug, found):
    marks = ["" if m not in found else "caught" if found[m] else "missed" for m in MEANS]
    return f"{bug.name:<46}" + "".join(f"{mark:>10}" for mark in marks)


def test_every_bug_is_caught_by_something_and_told_apart_by_name():
    assert [bug for bug in BUGS if not bug.caught] == []
    assert [twin for twin in TWINS if twin.caught] == []
    names = [bug.name for bug in BUGS + TWINS]
    assert len(set(names)) == len(names)
    assert len(BUGS) >= 44


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_a_correct_twin(family):
    assert FAMILIES[family].TWINS


def test_every_means_catches_what_the_others_miss():
    alone = {bug.caught[0] for bug in BUGS if len(bug.caught) == 1}
    assert alone == {CONTRACT, REPLAY, BLACK_BOX}


def test_page_of_planted_bugs_is_rendered_from_the_bugs():
    tool = runpy.run_path(str(ROOT / "tools" / "planted_bugs.py"))
    assert tool["PAGE"].read_text(encoding="utf-8") == tool["render"](), "run tools/planted_bugs.py"
