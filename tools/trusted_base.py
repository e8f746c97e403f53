"""Count the lines of code that a privacy guarantee rests on; docstrings and comments are not code.

Usage: ``python tools/trusted_base.py LIMIT FILE...``; fails above the limit.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path


def code_lines(source: str) -> int:
    """Count the lines that hold code."""
    tree = ast.parse(source)
    documented = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    return sum(
        number not in documented and bool(text.split("#")[0].strip())
        for number, text in enumerate(source.splitlines(), start=1)
    )


def main(limit: int, paths: list[str]) -> int:
    """Print the total and return the exit code."""
    total = sum(code_lines(Path(path).read_text(encoding="utf-8")) for path in paths)
    sys.stdout.write(f"trusted base: {total} of {limit} lines of code\n")
    return int(total > limit)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
