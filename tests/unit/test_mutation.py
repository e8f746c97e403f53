"""The tool that changes the source to see whether a test notices: tools/mutation."""

import shutil
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))
from tools.mutation.change import OPERATORS
from tools.mutation.mutant import mutants, of_source, sample
from tools.mutation.page import render
from tools.mutation.trial import Copy, Known, Stage

sys.path.pop(0)

ROOT = Path(__file__).parents[2]
TINY = '''"""A package of one module."""


def fits(spent: int, cost: int, limit: int) -> bool:
    """Say whether a cost fits."""
    return spent + cost <= limit
'''
TESTS = """
import pytest
from sfumato.tiny import fits

@pytest.mark.parametrize("limit", [5, 9])
def test_cost_fits(limit):
    assert fits(1, 2, limit)

def test_cost_does_not_fit():
    assert not fits(4, 2, 5)

def test_says_nothing():
    assert True

def test_fails_always():
    assert fits(9, 9, 9)

def test_fails_once(pytestconfig):
    mark = pytestconfig.rootpath / "mark"
    assert fits(1, 1, 2) or mark.exists() or mark.write_text("met") == 0
"""


def changed(source, operator):
    """Return what an operator makes of a source: the texts that stand there instead."""
    return {m.after for m in of_source(source, "a.py") if m.operator == operator}


@pytest.mark.parametrize(
    ("operator", "source", "after"),
    [
        ("comparison", "a < b", {"a <= b", "a >= b"}),
        ("comparison", "0 <= a <= 1", {"0 < a <= 1", "0 > a <= 1", "0 <= a < 1", "0 <= a > 1"}),
        ("comparison", "a is None", {"a is not None"}),
        ("arithmetic", "a + b", {"a - b"}),
        ("arithmetic", "a * b", {"a // b"}),
        ("arithmetic", "f(-a)", {"a"}),
        ("arithmetic", "a += b", {"a -= b"}),
        ("arithmetic", "'a' + b", set()),
        ("constant", "a = 8", {"7", "9", "4", "16"}),
        ("constant", "a = 0", {"1"}),
        ("constant", "a = True", set()),
        ("truth value", "a = True", {"False"}),
        ("logic", "not a", {"a"}),
        ("logic", "a and b and c", {"a or b or c"}),
        ("logic", "any(a)", {"all(a)"}),
        ("other branch", "b if a else c", {"not a"}),
        ("min and max", "np.minimum(a, b)", {"np.maximum(a, b)"}),
        ("rounding", "-(-a // b)", {"a // b"}),
        ("rounding", "-(-a * c // b)", {"a * c // b"}),
        ("rounding", "a // b", {"-(-a // b)"}),
        ("rounding", "a.ceil_fixed(3)", {"a.floor_fixed"}),
        ("rounding", "from m import units_up, units_down\nunits_up(a)", {"units_down(a)"}),
        ("rounding", "from m import units_up\nunits_up(a)", {"units_up(a) - 1"}),
        ("absolute value", "abs(a)", {"a"}),
        ("slice", "a[1:n]", {"a[1:]", "a[:n]"}),
        ("argument dropped", "f(a, b=1, strict=True)", {"f(a, strict=True)"}),
        ("argument dropped", "def f(a): ...\nf(a=1)", {"f()"}),
        ("statement deleted", "def f(a):\n    a = g(a)\n    b = a\n    return b", {"pass"}),
        ("statement deleted", "if a:\n    raise ValueError('a')", {"pass"}),
        ("statement deleted", "a = 1", set()),
        ("early return", "def f() -> bool:\n    return g()", {"return True", "return False"}),
        ("early return", "def f() -> None:\n    g()\n    h()", {"return; g()"}),
        ("early return", "def f() -> None:\n    g()", set()),
        ("SQL", "f'SELECT {a} WHERE n <= {b}'", {"f'SELECT {a} WHERE n < {b}'"}),
        ("SQL", "'this AND that'", set()),
    ],
)
def test_operator_changes(operator, source, after):
    assert changed(source, operator) == after


def test_argument_that_a_function_needs_is_not_dropped():
    found = of_source("f(a=1, b=2)", "a.py", frozenset({("f", "a")}))
    assert [m.after for m in found if m.operator == "argument dropped"] == ["f(a=1)"]


@pytest.mark.parametrize(
    "source",
    [
        '"""Words, 1 < 2."""',
        "from m import a",
        "if TYPE_CHECKING:\n    import a\n    b = 1",
        "def f(a: Literal[1]) -> Literal[2]: ...",
        "A: TypeAlias = tuple[1, 2]",
        "class A:\n    def __repr__(self):\n        return str(1 + 2)",
        "b = show(a, 3)",
        "f'{a + 1} is wrong'",
        "wrong = RangeError(f'{a + 1} is wrong', 3)",
    ],
)
def test_words_types_and_display_are_left_alone(source):
    assert of_source(source, "a.py") == []


def test_message_of_a_refusal_is_left_alone_and_the_refusal_is_not():
    (mutant,) = of_source("raise RangeError('at most ' + str(2 * a))", "a.py")
    assert mutant.after == "pass"


def test_mutants_of_a_package_are_valid_different_and_of_every_kind():
    found = mutants(ROOT, "ledger")
    assert {m.operator for m in found} >= set(OPERATORS) - {"absolute value", "min and max"}
    assert len({m.key for m in found}) == len(found)
    for mutant in sample(found, 60, "any"):
        source = (ROOT / "src" / "sfumato" / mutant.file).read_text(encoding="utf-8")
        changed_source = mutant.applied(source)
        assert changed_source != source
        compile(changed_source, mutant.file, "exec", dont_inherit=True)


def test_key_does_not_depend_on_the_lines_above():
    moved = "# é\nA = 'ü'\n" + TINY
    keys = [{m.key: m.before for m in of_source(s, "tiny.py")} for s in (TINY, moved)]
    assert keys[0] == keys[1]
    assert all(m.applied(moved).startswith("# é\nA = 'ü'\n") for m in of_source(moved, "tiny.py"))


def test_letters_of_several_bytes_do_not_move_the_place():
    source = "f('ü', a < b, 'é')"
    found = {m.applied(source) for m in of_source(source, "a.py") if m.operator == "comparison"}
    assert found == {"f('ü', (a <= b), 'é')", "f('ü', (a >= b), 'é')"}


def test_larger_sample_contains_the_smaller_and_operators_take_turns():
    every = mutants(ROOT, "noise")
    small, large = sample(every, 26, "1"), sample(every, 60, "1")
    assert large[:26] == small
    assert sample(every, 26, "2") != small
    assert max(Counter(m.operator for m in small).values()) <= 3


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A project of one function, copied, with its calls noted."""
    root, work = tmp_path_factory.mktemp("tiny"), tmp_path_factory.mktemp("work")
    for path, text in {
        "src/sfumato/__init__.py": "",
        "src/sfumato/tiny.py": TINY,
        "tests/unit/test_tiny.py": TESTS,
        "pyproject.toml": "[tool.pytest.ini_options]\nmarkers = ['deep']\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    shutil.copytree(ROOT / "tools" / "mutation", root / "tools" / "mutation")
    copy = Copy(root, work)
    assert copy.record("tests/unit/test_tiny.py", work / "calls.jsonl", 60) == "exit code 1"
    return root, copy, Known(work / "calls.jsonl")


def test_calls_are_noted_of_tests_that_pass(tiny):
    _, copy, known = tiny
    assert copy.test_files() == ["tests/unit/test_tiny.py"]
    assert {name.split("::")[1] for name in known.seconds} == {
        "test_cost_fits[5]",
        "test_cost_fits[9]",
        "test_cost_does_not_fit",
        "test_says_nothing",
        "test_fails_once",
    }
    (mutant, *_) = of_source(TINY, "tiny.py")
    near, far, elsewhere = known.stages(mutant, 10.0, 10.0)
    assert {name.split("::")[1] for name in near.tests} == {
        "test_cost_fits[5]",
        "test_cost_fits[9]",
        "test_cost_does_not_fit",
        "test_fails_once",
    }
    assert (far.tests, elsewhere.tests) == ((), ())
    assert known.stages(mutant, 0.0, 0.0)[0].tests == ()


def test_mutant_that_a_test_notices_is_killed_and_the_tree_is_left_alone(tiny):
    root, copy, known = tiny
    found = {m.after: m for m in of_source(TINY, "tiny.py")}
    killed = copy.trial(found["return True"], known.stages(found["return True"], 10.0, 10.0))
    assert (killed.killed, killed.stage) == (True, 1)
    assert killed.killer == "tests/unit/test_tiny.py::test_cost_does_not_fit"
    edge = found["spent + cost < limit"]  # no test looks at the boundary
    assert not copy.trial(edge, known.stages(edge, 10.0, 10.0)).killed
    assert (root / "src" / "sfumato" / "tiny.py").read_text(encoding="utf-8") == TINY
    assert (copy.root / "src" / "sfumato" / "tiny.py").read_text(encoding="utf-8") == TINY


@pytest.mark.deep
def test_test_that_fails_anyway_kills_nothing(tiny):
    _, copy, known = tiny
    edge = next(m for m in of_source(TINY, "tiny.py") if m.after == "spent + cost < limit")
    near, *_ = known.stages(edge, 10.0, 10.0)
    broken = "tests/unit/test_tiny.py::test_fails_always"
    assert not copy.trial(edge, [replace(near, tests=(broken, *near.tests))]).killed
    assert not copy.trial(edge, [replace(near, tests=("tests/unit/test_tiny.py",))]).killed


@pytest.mark.deep
def test_test_that_fails_only_once_kills_nothing(tiny):
    _, copy, known = tiny
    edge = next(m for m in of_source(TINY, "tiny.py") if m.after == "spent + cost < limit")
    (copy.root / "mark").unlink(missing_ok=True)
    assert not copy.trial(edge, known.stages(edge, 10.0, 10.0)).killed
    assert (copy.root / "mark").exists()


@pytest.mark.deep
def test_mutant_that_hangs_is_killed(tiny):
    _, copy, known = tiny
    edge = next(m for m in of_source(TINY, "tiny.py") if m.after == "spent + cost < limit")
    endless = replace(edge, text="[0 for _ in iter(int, 1)]")
    near, *_ = known.stages(edge, 10.0, 10.0)
    outcome = copy.trial(endless, [Stage(near.tests, -7.0)])  # a limit of twelve seconds
    assert (outcome.killed, outcome.killer) == (True, "out of time")


def result(package, killed, first=False):
    return {
        "package": package,
        "of": 100,
        "file": f"{package}/a.py",
        "line": 7,
        "context": "if a < b:",
        "function": "f",
        "operator": "comparison",
        "before": "a < b",
        "after": "a <= b",
        "killed": killed,
        "first": first,
    }


def test_page_counts_what_nobody_explained_as_a_hole():
    results = {
        "a": result("noise", True, first=True),
        "b": result("noise", True),
        "c": result("noise", False),
        "d": result("ledger", False),
    }
    why = {"d": {"kind": "speed", "why": "Only slower."}}
    page = render(results, why)
    assert "| noise | 100 | 3 | 2 | 0 | 1 | 66.6 % | 33.3 % |" in page
    assert "| ledger | 100 | 1 | 0 | 1 | 0 | – | – |" in page
    assert "the tests kill **66.6 %** of those that matter, and killed **33.3 %**" in page
    assert "in `if a < b:`: `a < b` became `a <= b`. **hole**: Nobody has looked at it yet." in page
    assert "**speed**: Only slower." in page


def test_page_shows_of_a_long_change_what_differs():
    long = {**result("noise", False), "before": "x" * 300 + "a < b" + "y" * 300}
    page = render({"a": {**long, "after": long["before"].replace("<", "<=")}}, {})
    assert f"`… {'x' * 37}a < b{'y' * 38} …` became `… {'x' * 37}a <= b{'y' * 38} …`" in page
