"""What came of the trials, as docs/theory/mutation.md. Survivors are explained by hand."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeAlias

from tools.mutation.change import OPERATORS
from tools.mutation.mutant import PACKAGES

Result: TypeAlias = Mapping[str, Any]  # a mutant and its outcome
Why: TypeAlias = Mapping[str, Mapping[str, str]]  # by key: the kind of survivor, and the reason

PAGE = Path(__file__).parents[2] / "docs" / "theory" / "mutation.md"
SURVIVORS = Path(__file__).with_name("survivors.toml")

# Survivors that put nobody's privacy at risk; all others count against the tests.
HARMLESS = {
    "equivalent": "nobody can tell it from the original",
    "stricter": "more noise, a higher charge or more refusals",
    "speed": "the same answers, at another speed",
    "message": "other words or another error, and the same decision",
}
HOLE = "hole"
_LONG = 120  # characters that are shown whole
_AROUND = 40  # characters that are shown beside a change in a longer text

HEAD = """\
# Mutation rounds

<!-- Rendered by `python -m tools.mutation page`; reasons are in tools/mutation/survivors.toml. -->

[Planted bugs](planted-bugs.md) are the mistakes that somebody thought of. A mutation round makes
those that nobody did: it changes the source in one small place, runs the tests that call the
function in question, and asks whether one of them fails. A mutant that no test notices is a
sentence of the program that could be false, and nobody would know.

The changes are of the kind that breaks a guarantee: a comparison off by one or turned around, a
plus for a minus, a constant that is one more, one less, double or half, a `not` that is dropped,
`or` for `and`, the largest for the least, rounding to the other side, a check, a refusal or an
assignment that is deleted, an argument left at its default, a check that answers before it looks, a
slice that takes too much, an absolute value forgotten, another comparison in SQL. Words, types and
what is for display are left alone. Mutants are drawn by a seed, package by package, and the kinds
of change take turns, so that rare ones such as rounding are among them.

A mutant is killed if a test of every push fails, or hangs, with it and passes without it. Those
that survive are read one by one. Some cannot be killed, because they change nothing that anybody
could see, or only the speed; some err on the safe side. All others are holes, and each hole is
either mended by a new test, after which the mutant dies, or stands below. A sample that tests were
written for says little about those that were not drawn: what was killed at the first trial does,
and the next seed.

{summary}

## By package

| package | mutants | tried | killed | harmless | holes | killed of those that matter | at first |
|---|---|---|---|---|---|---|---|
{packages}

## By kind of change

| change | tried | killed | harmless | holes |
|---|---|---|---|---|
{operators}

## Survivors

{kinds}
"""


def write(results: Mapping[str, Result]) -> list[str]:
    """Write the page; return a line for every survivor that nobody has explained."""
    why = tomllib.loads(SURVIVORS.read_text(encoding="utf-8"))
    PAGE.write_text(render(results, why), encoding="utf-8")
    return [
        f"{key} {result['file']}:{result['line']}: {result['before']} → {result['after']}"
        for key, result in results.items()
        if not result["killed"] and key not in why
    ]


def render(results: Mapping[str, Result], why: Why) -> str:
    """Return the page for results and reasons."""
    killed, harmless, holes = _counted(results, why, results)
    share, first = _figures(results, why, list(results))[-2:]
    packages = [
        _row(name, str(of), *_figures(results, why, mine))
        for name in PACKAGES
        if (mine := [key for key, each in results.items() if each["package"] == name])
        for of in [results[mine[0]]["of"]]
    ]
    operators = [
        _row(name, *_figures(results, why, mine)[:-2])
        for name in OPERATORS
        if (mine := [key for key, each in results.items() if each["operator"] == name])
    ]
    summary = (
        f"Of {len(results)} mutants {killed} were killed, {harmless} are harmless and {holes} are\n"
        f"holes: the tests kill **{share}** of those that matter, and killed **{first}**\n"
        f"at the first trial. The aim is 95 %."
    )
    kinds = [f"- **{kind}**: {meaning}." for kind, meaning in HARMLESS.items()]
    kinds.append(f"- **{HOLE}**: a test is missing.")
    page = HEAD.format(
        summary=summary,
        packages="\n".join(packages),
        operators="\n".join(operators),
        kinds="\n".join(kinds),
    )
    return "\n".join([page, *_survivors(results, why)])


def _counted(results: Mapping[str, Result], why: Why, keys: Iterable[str]) -> tuple[int, int, int]:
    """Return how many mutants were killed, are harmless, and are holes."""
    killed = harmless = holes = 0
    for key in keys:
        if results[key]["killed"]:
            killed += 1
        elif why.get(key, {}).get("kind") in HARMLESS:
            harmless += 1
        else:
            holes += 1
    return killed, harmless, holes


def _figures(results: Mapping[str, Result], why: Why, keys: list[str]) -> list[str]:
    killed, harmless, holes = _counted(results, why, keys)
    first = sum(bool(results[key]["first"]) for key in keys)
    shares = [_share(number, killed + holes) for number in (killed, first)]
    return [*map(str, (len(keys), killed, harmless, holes)), *shares]


def _share(killed: int, matter: int) -> str:
    """Return the share of mutants that matter and were killed, rounded down."""
    return f"{1000 * killed // matter / 10} %" if matter else "–"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _survivors(results: Mapping[str, Result], why: Why) -> list[str]:
    lines = []
    for package in PACKAGES:
        left = sorted(
            (each["file"], each["line"], key)
            for key, each in results.items()
            if each["package"] == package and not each["killed"]
        )
        if left:
            lines += [f"### {package}", ""]
            lines += [_survivor(results[key], why.get(key)) for _, _, key in left]
            lines.append("")
    return lines


def _survivor(result: Result, why: Mapping[str, str] | None) -> str:
    told = why or {"kind": HOLE, "why": "Nobody has looked at it yet."}
    place = f"`{result['file']}:{result['line']}`"
    if result["function"]:
        place += f" in `{result['function']}`"
    if len(result["before"]) < 20:  # too little to be recognized
        place += f", in {_code(result['context'])}"
    before, after = _apart(result["before"], result["after"])
    change = f"{_code(before)} became {_code(after)}"
    return f"- {place}: {change}. **{told['kind']}**: {told['why']}"


def _apart(before: str, after: str) -> tuple[str, str]:
    """Return two texts without most of what they share, where they are long."""
    if max(len(before), len(after)) <= _LONG:
        return before, after
    start = _shared(before, after)
    end = _shared(before[start:][::-1], after[start:][::-1])
    first = max(start - _AROUND, 0)
    found = []
    for text in (before, after):
        last = min(len(text) - end + _AROUND, len(text))
        found.append(f"{'… ' * (first > 0)}{text[first:last]}{' …' * (last < len(text))}")
    return found[0], found[1]


def _shared(a: str, b: str) -> int:
    """Return with how many equal characters two texts begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


def _code(text: str) -> str:
    fence = "``" if "`" in text else "`"
    return f"{fence}{text.strip()}{fence}"
