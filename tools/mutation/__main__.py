"""Run a mutation round in parts: note the calls, run a sample of mutants, render the page."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path

from tools.mutation import page
from tools.mutation.mutant import PACKAGES, Mutant, mutants, sample
from tools.mutation.trial import Copy, Known

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "build" / "mutation"


def main(given: list[str] | None = None) -> int:
    """Do one part of a round."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutation", description=__doc__)
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "mutation")
    parts = parser.add_subparsers(required=True, metavar="PART")
    noting = parts.add_parser("calls", help="note which tests call which function; goes on")
    noting.add_argument("tests", nargs="*", help="files of tests; all, if none is given")
    noting.add_argument("--limit", type=float, default=1800.0, help="seconds for one file")
    noting.set_defaults(do=_calls)
    trying = parts.add_parser("run", help="try a sample of mutants; goes on where it stopped")
    trying.add_argument(
        "--package", choices=PACKAGES, action="append", help="all, if none is given"
    )
    trying.add_argument("--sample", type=int, default=40, help="how many mutants of each")
    trying.add_argument("--seed", default="1")
    trying.add_argument("--out", type=Path, default=RESULTS / "results.json")
    trying.add_argument("--quick", type=float, default=30.0, help="seconds for the tests near by")
    trying.add_argument("--slow", type=float, default=240.0, help="seconds for others, or 0")
    trying.add_argument("--again", action="store_true", help="try those that survived once more")
    trying.set_defaults(do=_run)
    telling = parts.add_parser("page", help="render docs/theory/mutation.md")
    telling.add_argument("results", type=Path, nargs="*", default=[RESULTS / "results.json"])
    telling.set_defaults(do=_page)
    arguments = parser.parse_args(given)
    return int(arguments.do(arguments) or 0)


def _calls(arguments: argparse.Namespace) -> None:
    copy, noted = Copy(ROOT, arguments.work), arguments.work / "calls.jsonl"
    done_file = arguments.work / "calls.done"
    done = set(done_file.read_text(encoding="utf-8").split("\n")) if done_file.exists() else set()
    for file in arguments.tests or copy.test_files():
        mark = f"{file} {sha256((copy.root / file).read_bytes()).hexdigest()[:10]}"
        if mark not in done:  # a file that has changed is noted anew
            _say(f"{file}: {copy.record(file, noted, arguments.limit)}")
            with done_file.open("a", encoding="utf-8") as out:
                out.write(f"{mark}\n")


def _run(arguments: argparse.Namespace) -> None:
    copy, known = Copy(ROOT, arguments.work), Known(arguments.work / "calls.jsonl")
    found: dict[str, dict[str, object]] = {}
    if arguments.out.exists():
        found = json.loads(arguments.out.read_text(encoding="utf-8"))
    for package in arguments.package or PACKAGES:
        every = mutants(copy.root, package)
        for mutant in sample(every, arguments.sample, arguments.seed):
            if mutant.key in found and (found[mutant.key]["killed"] or not arguments.again):
                continue
            stages = known.stages(mutant, arguments.quick, arguments.slow)
            outcome = copy.trial(mutant, stages)
            found[mutant.key] = {
                "package": package,
                "of": len(every),
                "first": outcome.killed and mutant.key not in found,
                **_described(mutant),
                **asdict(outcome),
            }
            arguments.out.parent.mkdir(parents=True, exist_ok=True)
            fresh = arguments.out.with_suffix(".new")
            fresh.write_text(json.dumps(found, indent=1, ensure_ascii=False), encoding="utf-8")
            fresh.replace(arguments.out)
            verdict = f"killed by {outcome.killer}" if outcome.killed else "SURVIVES"
            _say(f"{mutant.key} {mutant.file}:{mutant.line} {mutant.operator}: {verdict}")


def _described(mutant: Mutant) -> dict[str, object]:
    held = asdict(mutant)
    return {name: held[name] for name in held if name not in {"key", "start", "end", "text"}}


def _page(arguments: argparse.Namespace) -> int:
    results: dict[str, dict[str, object]] = {}
    for file in arguments.results:
        results |= json.loads(file.read_text(encoding="utf-8"))
    unexplained = page.write(results)
    for line in unexplained:
        _say(line)
    return int(bool(unexplained))


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    # So that an end ordered from outside ends the tests as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    sys.exit(main())
