"""Where a source can be changed: every mutant of a file, each with a name that lasts."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import Any

from tools.mutation.change import OPERATORS, Change, Function, Surroundings, called

PACKAGES = {
    "noise": ("noise/*.py",),
    "accounting": ("accounting/*.py", "accounting/pld/*.py"),
    "mechanisms": ("mechanisms/*.py",),
    "relation": ("relation/*.py",),
    "ledger": ("ledger/*.py",),
    "kernel": ("session/kernel.py",),
}
# Words, pictures, and figures that others published.
UNTOUCHED = {
    "accounting/deployment.py",
    "accounting/meaning.py",
    "accounting/portrait.py",
    "ledger/refusal.py",
}
# Functions for people to read, and calls that write messages.
DISPLAY = {
    "__repr__",
    "__str__",
    "_refusal",
    "_repr_html_",
    "_shown",
    "_text",
    "_told",
    "chart",
    "notes",
    "said",
    "show",
    "show_above",
    "show_down",
    "show_up",
    "shown",
    "to_html",
    "to_svg",
    "told",
}
TYPES = {"cast", "TypeVar", "NewType", "ParamSpec"}
WRONG = ("Error", "Exceeded", "Closed", "Failed", "Warning")


@dataclass(frozen=True)
class Mutant:
    """One change of one place.

    Attributes:
        key: names the mutant as long as neither the change nor the function's name differs.
        file: the source, below ``src/sfumato``.
        function: the qualified name of the function around it; empty outside of functions.
        operator: the kind of change.
        before: what stands there.
        after: what stands there instead.
        line: the number of the line.
        context: the line.
        start: where the replaced text begins in the file, in characters.
        end: where it ends.
        text: what is written there.
    """

    key: str
    file: str
    function: str
    operator: str
    before: str
    after: str
    line: int
    context: str
    start: int
    end: int
    text: str

    def applied(self, source: str) -> str:
        """Return the source with the change in it."""
        return source[: self.start] + self.text + source[self.end :]


@dataclass(frozen=True)
class _Place:
    node: ast.AST
    function: str
    around: Surroundings


def files(root: Path, package: str) -> list[Path]:
    """Return the sources of a package that are mutated."""
    source = root / "src" / "sfumato"
    found = [path for pattern in PACKAGES[package] for path in sorted(source.glob(pattern))]
    return [
        path
        for path in found
        if path.name != "__init__.py" and path.relative_to(source).as_posix() not in UNTOUCHED
    ]


def mutants(root: Path, package: str) -> list[Mutant]:
    """Return every mutant of a package."""
    source = root / "src" / "sfumato"
    required = frozenset(
        pair
        for path in sorted(source.rglob("*.py"))
        for pair in _required(ast.parse(path.read_text(encoding="utf-8")))
    )
    return [
        mutant
        for path in files(root, package)
        for mutant in of_source(
            path.read_text(encoding="utf-8"), path.relative_to(source).as_posix(), required
        )
    ]


def sample(every: Iterable[Mutant], size: int, seed: str) -> list[Mutant]:
    """Return a sample that depends on the seed alone; a larger one contains a smaller one.

    The operators take turns: half of all mutants change a constant, and few turn a rounding around.
    """
    order = sorted(every, key=lambda m: sha256(f"{seed}:{m.key}".encode()).digest())
    turn: Counter[str] = Counter()
    ranked = []
    for place, mutant in enumerate(order):
        turn[mutant.operator] += 1
        ranked.append((turn[mutant.operator], place, mutant))
    return [mutant for _, _, mutant in sorted(ranked, key=lambda r: r[:2])[:size]]


def of_source(
    source: str, file: str, required: frozenset[tuple[str, str]] = frozenset()
) -> list[Mutant]:
    """Return every mutant of one source."""
    tree = ast.parse(source)
    lines = source.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]

    def offset(line: int, column: int) -> int:  # columns are counted in bytes
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    found: dict[tuple[int, int, str], Mutant] = {}
    seen: Counter[str] = Counter()
    for place in _places(tree, "", Surroundings(_names(tree), required)):
        node: Any = place.node
        start = offset(node.lineno, node.col_offset)
        end = offset(node.end_lineno, node.end_col_offset)
        here = replace(place.around, text=source[start:end])
        for operator, changes in OPERATORS.items():
            for change in changes(node, here):
                text, before, after = _written(node, change, here.text)
                if before == after or (start, end, text) in found:
                    continue
                what = (file, place.function, operator, before, after)
                seen["|".join(what)] += 1
                name = f"{'|'.join(what)}|{seen['|'.join(what)]}"
                key = sha256(name.encode()).hexdigest()[:10]
                line = lines[node.lineno - 1].strip()
                found[start, end, text] = Mutant(key, *what, node.lineno, line, start, end, text)
    return list(found.values())


def _written(node: ast.AST, change: Change, text: str) -> tuple[str, str, str]:
    """Return what is written, and before and after as one reads them."""
    if isinstance(change, str):
        if change.startswith("return\n"):
            return change, _line(text), f"return; {_line(text)}"
        return change, _line(text), _line(change)
    after = ast.unparse(ast.fix_missing_locations(change))
    simple = isinstance(change, ast.Constant | ast.Name | ast.Attribute | ast.Call | ast.stmt)
    return after if simple else f"({after})", _line(ast.unparse(node)), _line(after)


def _line(text: str) -> str:
    return " ".join(text.split())


def _places(node: ast.AST, function: str, around: Surroundings) -> Iterator[_Place]:
    """Walk over what may be changed."""
    if _is_closed(node):
        return
    if hasattr(node, "lineno") and not isinstance(node, ast.keyword | ast.arg):
        yield _Place(node, function, around)
    if isinstance(node, ast.Raise | ast.JoinedStr):  # all that is inside are words
        return
    around = replace(around, tested=False)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        around = replace(around, function=node, bound=_bound(node))
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        function = f"{function}.{node.name}".removeprefix(".")
    for child in _children(node):
        branches = isinstance(node, ast.If | ast.IfExp) and child is node.test
        yield from _places(child, function, replace(around, tested=branches))


def _is_closed(node: ast.AST) -> bool:
    """Say whether nothing is changed in a node: words, types, what is for display."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return node.name in DISPLAY
        case ast.Call():
            return called(node) in DISPLAY | TYPES or called(node).endswith(WRONG)
        case ast.AnnAssign():
            return node.value is None or ast.unparse(node.annotation) == "TypeAlias"
        case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.Expr(value=ast.Constant()):
            return True
    return isinstance(node, ast.Import | ast.ImportFrom)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is below a node, without decorators and annotations."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from filter(None, [*node.args.defaults, *node.args.kw_defaults])
        yield from node.body
    elif isinstance(node, ast.ClassDef):
        yield from node.body
    elif isinstance(node, ast.AnnAssign):
        yield from filter(None, [node.value])
    else:
        yield from ast.iter_child_nodes(node)


def _bound(function: Function) -> dict[str, int]:
    """Return the names that have a value in a function, and the line where each gets its first."""
    every = function.args
    found = {
        each.arg: function.lineno for each in [*every.posonlyargs, *every.args, *every.kwonlyargs]
    }
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.id] = min(found.get(node.id, node.lineno), node.lineno)
    return found


def _names(tree: ast.Module) -> frozenset[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom | ast.Import):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
    return frozenset(found)


def _required(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the arguments without default, each with the function or the class that needs it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            positional = [*node.args.posonlyargs, *node.args.args]
            for each in positional[: len(positional) - len(node.args.defaults)]:
                yield node.name, each.arg
            for each, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
                if default is None:
                    yield node.name, each.arg
        elif isinstance(node, ast.ClassDef):
            for field in node.body:
                if isinstance(field, ast.AnnAssign) and field.value is None:
                    yield node.name, getattr(field.target, "id", "")
