"""Render the planted bugs of tests/audit/broken as docs/theory/planted-bugs.md.

What the page says that each means catches is what the tests assert: contract and replay on every
push, the black box in `make test-deep`. With `--examine` every means is run now, and every
disagreement with the page is printed; it takes a few minutes.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "audit"))
from broken import BUGS, FAMILIES, MEANS, TWINS, Bug, examine

sys.path.pop(0)

PAGE = Path(__file__).parents[1] / "docs" / "theory" / "planted-bugs.md"

HEAD = """\
# Planted bugs

<!-- Rendered by tools/planted_bugs.py from tests/audit/broken. -->

A test that cannot fail says nothing, and neither does an audit that has never caught anything. So
{bugs} privacy bugs are planted in the tests, each a few lines of wrong code the way such code gets
written, with two neighboring inputs and a claim that it breaks. Three means look for them:

- **contract**: the suite of [`sfumato.testing`](../reference/testing.md): the laws of both
  neighbors, written down, against the claim; draws against the law; same words, same draw.
- **replay**: record and play: the program runs on both neighbors with the same noisy answers, and
  whatever else differs was caused by the data; what the noise calls cost is added up.
- **black box**: outputs alone: the event that tells the neighbors apart best, certified on fresh
  releases.

Every bug must be caught, by the means named here. Contract and replay need no luck and run on
every push; the black box runs in `make test-deep`, where the table is printed again as found. A
dash means that a means does not apply: the contract is for mechanisms, replay for programs.
Beside the bugs stand {twins} correct twins, which no means may flag.

| | contract | replay | black box |
|---|---|---|---|
{totals}
"""

FOOT = """\
## What each means misses

The black box cannot see what is rare, what is small against the noise, or what only shows to
someone with more than the outputs: a failure of probability below about nine over the number of
trials, a sum that is off by a hundred under noise of 2^54, a generator whose state can be
recovered. The contract believes the law that its author wrote down wherever draws are too few to
contradict it. Replay believes the mechanisms, and sees no clock. [How to audit a mechanism of your
own](../guides/audit-your-mechanism.md) uses all three.
"""


def render() -> str:
    """Return the page for the bugs as they are registered."""
    parts = [HEAD.format(bugs=len(BUGS), twins=len(TWINS), totals=_totals())]
    for title, family in FAMILIES.items():
        rows = "\n".join(_row(bug) for bug in family.BUGS)
        twins = "; ".join(twin.name for twin in family.TWINS)
        parts.append(
            f"## {title}\n\n| bug | what is wrong | contract | replay | black box |\n"
            f"|---|---|---|---|---|\n{rows}\n\nCorrect twins: {twins}.\n"
        )
    return "\n".join([*parts, FOOT])


def _row(bug: Bug) -> str:
    marks = " | ".join(_mark(bug, means) for means in MEANS)
    return f"| {bug.name} | {bug.story} | {marks} |"


def _mark(bug: Bug, means: str) -> str:
    if means not in bug.means:
        return "–"
    return "caught" if means in bug.caught else "missed"


def _totals() -> str:
    rows = []
    for label, counted in (("caught", True), ("missed", False)):
        counts = [sum(m in b.means and (m in b.caught) == counted for b in BUGS) for m in MEANS]
        rows.append(f"| {label} | " + " | ".join(map(str, counts)) + " |")
    return "\n".join(rows)


def _disagreements() -> list[str]:
    found = []
    for bug in [*BUGS, *TWINS]:
        seen = {means for means, what in examine(bug, MEANS).items() if what is not None}
        if seen != set(bug.caught):
            found.append(f"{bug.name}: caught by {sorted(seen)}, said is {sorted(bug.caught)}")
    return found


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
    if "--examine" in sys.argv[1:]:
        sys.exit("\n".join(_disagreements()) or 0)
