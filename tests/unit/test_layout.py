"""The shape of the source that reviewers rely on and no linter checks."""

import ast
from pathlib import Path, PurePosixPath

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "sfumato"
MODULES = {
    path.relative_to(SOURCE).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted(SOURCE.rglob("*.py"))
}

# A sensitivity is computed from a query. Elsewhere it would be a claim.
MAKERS_OF_SENSITIVITY = (
    "core/sensitivity.py",
    "core/codec.py",
    "relation/*.py",
    "session/histogram.py",  # the questions of the laboratory
    "testing/*.py",
    "audit/neighbor.py",  # an auditor states what it tests against
    "cli/demo.py",  # plays in the laboratory
)
CATCHERS_OF_EVERYTHING = (
    "audit/output.py",  # to an auditor the error of a program is an output, whatever it is
    "cli/fault.py",  # nobody at a console is shown a traceback, which may hold data
    "mechanisms/aggregate.py",  # a block's program may fail in any way, and all of them look alike
    "sql/tree.py",  # a parser of others fails on odd text in ways that nobody listed
    "session/kernel.py",  # once data was touched every failure is the same failure
)
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "manager", "misc", "zoo"}
BROAD = {"Exception", "BaseException"}
KERNEL = "session/kernel.py"


def name_of(node):
    """Return the last part of a dotted name: `core.Sensitivity` is `Sensitivity`."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)


def makes_sensitivity(node):
    """Say whether a call is `Sensitivity(...)` or one of its constructors."""
    function = node.func
    if name_of(function) == "Sensitivity":
        return True
    return isinstance(function, ast.Attribute) and name_of(function.value) == "Sensitivity"


def is_broad(handler):
    """Say whether an except clause would catch what it does not know."""
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return handler.type is None or any(name_of(kind) in BROAD for kind in caught)


@pytest.mark.parametrize("module", MODULES)
def test_module_is_small_and_named_for_what_it_holds(module):
    assert MODULES[module].count("\n") < 600
    assert FORBIDDEN_NAMES.isdisjoint(PurePosixPath(module).with_suffix("").parts)


@pytest.mark.parametrize("module", [m for m in MODULES if m not in CATCHERS_OF_EVERYTHING])
def test_module_catches_only_what_it_names(module):
    handlers = [n for n in ast.walk(ast.parse(MODULES[module])) if isinstance(n, ast.ExceptHandler)]
    assert [handler.lineno for handler in handlers if is_broad(handler)] == []


@pytest.mark.parametrize(
    "module",
    [m for m in MODULES if not any(PurePosixPath(m).match(p) for p in MAKERS_OF_SENSITIVITY)],
)
def test_module_does_not_claim_a_sensitivity(module):
    calls = [node for node in ast.walk(ast.parse(MODULES[module])) if isinstance(node, ast.Call)]
    assert [call.lineno for call in calls if makes_sensitivity(call)] == []


def test_kernel_fits_on_two_screens():
    assert MODULES.get(KERNEL, "").count("\n") <= 150
