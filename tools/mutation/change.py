"""Small changes of the kind that break a guarantee: of a comparison, a rounding, a check.

Each operator looks at one node and yields what could stand in its place, as a tree or as text.
Words, types and what is for display are not changed: see `mutant`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

Change: TypeAlias = "ast.AST | str"
Operator: TypeAlias = Callable[[ast.AST, "Surroundings"], Iterator[Change]]
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Surroundings:
    """What a change must know to be worth a trial: one that cannot run shows nothing.

    Attributes:
        names: what the module imports, defines or assigns.
        required: pairs of a function and an argument that has no default there.
        function: the innermost function around the node.
        text: the source of the node.
        tested: whether a branch is taken by it.
        bound: the names of the function's arguments and variables, and where each gets a value.
    """

    names: frozenset[str] = frozenset()
    required: frozenset[tuple[str, str]] = frozenset()
    function: Function | None = None
    text: str = ""
    tested: bool = False
    bound: dict[str, int] = field(default_factory=dict)


COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
EXTREMES = {"min": "max", "minimum": "maximum"}
DIRECTIONS = {
    "units_up": "units_down",
    "ceil": "floor",
    "ceil_fixed": "floor_fixed",
    "index_above": "index_below",
    "ROUND_CEILING": "ROUND_FLOOR",
    "ROUND_UP": "ROUND_DOWN",
    "_half_coth_up": "_half_coth_down",
    "_ceil": "_floor",
    "_up": "_down",
    "high": "low",
    "right": "left",
}
QUANTIFIERS = {"any": "all"}
# Arguments whose default is as right, only slower or less strict with our own code.
IDLE = {"strict", "maxsize", "encoding", "stacklevel", "copy", "slots", "repr"}
IN_SQL = (
    (r"(?<= )<=(?= )", "<"),
    (r"(?<= )<(?= )", "<="),
    (r"(?<= )>(?= )", ">="),
    (r"\bAND\b", "OR"),
    (r"\bIS NOT NULL\b", "IS NULL"),
    (r"\bDISTINCT ", ""),
    (r"\bUNION ALL\b", "UNION"),
    (r"\bleast\(", "greatest("),
    (r"\bgreatest\(", "least("),
    (r"\bmax\(", "min("),
    (r"(?<= )\+(?= )", "-"),
    (r"(?<= )-(?= )", "+"),
    (r" DESC\b", ""),
)
_SQL = re.compile(
    r"\b(SELECT|FROM|WHERE|WHEN|QUALIFY|CASE|CAST|GROUP BY|IS NOT NULL|coalesce|least|greatest)\b"
)


def _both_ways(pairs: dict[str, str]) -> dict[str, str]:
    return pairs | {second: first for first, second in pairs.items()}


def is_text(node: ast.AST) -> bool:
    """Say whether a node is made of words, as a message is."""
    return any(
        isinstance(each, ast.JoinedStr)
        or (isinstance(each, ast.Constant) and isinstance(each.value, str))
        for each in ast.walk(node)
    )


def called(node: ast.AST) -> str:
    """Return the last part of the name that a call calls; empty for what has no name."""
    function = node.func if isinstance(node, ast.Call) else None
    return getattr(function, "attr", getattr(function, "id", ""))


def comparison(node: ast.AST, _: Surroundings) -> Iterator[Change]:
    """Move the boundary of a comparison, or turn it around."""
    if isinstance(node, ast.Compare):
        for i, operator in enumerate(node.ops):
            for other in COMPARED[type(operator)]:
                yield ast.Compare(
                    node.left, [*node.ops[:i], other(), *node.ops[i + 1 :]], node.comparators
                )


def arithmetic(node: ast.AST, _: Surroundings) -> Iterator[Change]:
    """Compute something else of the same two numbers, or drop a sign."""
    if isinstance(node, ast.BinOp | ast.AugAssign) and not is_text(node):
        other = COMPUTED.get(type(node.op))
        if other is not None and isinstance(node, ast.BinOp):
            yield ast.BinOp(node.left, other(), node.right)
        elif other is not None and isinstance(node, ast.AugAssign):
            yield ast.AugAssign(node.target, other(), node.value)
    if (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
        and not isinstance(node.operand, ast.Constant)
        and _divides_up(node) is None
    ):
        yield node.operand


def constant(node: ast.AST, _: Surroundings) -> Iterator[Change]:
    """Take the next number, the double or half of it."""
    if not isinstance(node, ast.Constant):
        return
    number = node.value
    if type(number) is int:
        for other in sorted({number + 1, number - 1, number * 2, number // 2} - {number}):
            if other >= 0:
                yield ast.Constant(other)
    elif type(number) is float and number:
        yield ast.Constant(number * 2)
        yield ast.Constant(number / 2)


def truth(node: ast.AST, _: Surroundings) -> Iterator[Change]:
    """Say True for False."""
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)


def logic(node: ast.AST, _: Surroundings) -> Iterator[Change]:
    """Drop or add a `not`, or take `or` for `and`, any for all."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield ast.BoolOp(other, node.values)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        other_name = _both_ways(QUANTIFIERS).get(node.func.id)
        if other_name:
            yield ast.Call(ast.Name(other_name), node.args, node.keywords)


def condition(node: ast.AST, around: Surroundings) -> Iterator[Change]:
    """Take the other branch, where no comparison decides."""
    if around.tested and isinstance(node, ast.Name | ast.Attribute | ast.Call):
        yield ast.UnaryOp(ast.Not(), node)


def extreme(node: ast.AST, _: Surroundings) -> Iterator[Change]:
    """Take the largest for the least."""
    if isinstance(node, ast.Call) and (other := _both_ways(EXTREMES).get(called(node))):
        yield ast.Call(_renamed(node.func, other), node.args, node.keywords)


def rounding(node: ast.AST, around: Surroundings) -> Iterator[Change]:
    """Round to the other side."""
    if (negated := _divides_up(node)) is not None:
        yield ast.BinOp(_without_sign(negated.left), ast.FloorDiv(), negated.right)
    elif (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.FloorDiv)
        and _without_sign(node.left) is node.left  # else it is half of a division that rounds up
    ):
        up = ast.BinOp(ast.UnaryOp(ast.USub(), node.left), ast.FloorDiv(), node.right)
        yield ast.UnaryOp(ast.USub(), up)
    elif isinstance(node, ast.Attribute) and (other := _both_ways(DIRECTIONS).get(node.attr)):
        yield _renamed(node, other)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        name = node.func.id
        other = _both_ways(DIRECTIONS).get(name)
        if other in around.names:
            yield ast.Call(ast.Name(other), node.args, node.keywords)
        elif other:  # what would stand there rounds to a number that is one less, or one more
            less_or_more = ast.Sub() if name in DIRECTIONS else ast.Add()
            yield ast.BinOp(node, less_or_more, ast.Constant(1))


def absolute(node: ast.AST, _: Surroundings) -> Iterator[Change]:
    """Forget that a number may be negative."""
    if isinstance(node, ast.Call) and called(node) == "abs" and len(node.args) == 1:
        yield node.args[0]


def part(node: ast.AST, _: Surroundings) -> Iterator[Change]:
    """Take more of a sequence than is asked for."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        low, high = node.slice.lower, node.slice.upper
        if high is not None:
            yield ast.Subscript(node.value, ast.Slice(low, None, node.slice.step))
        if low is not None:
            yield ast.Subscript(node.value, ast.Slice(None, high, node.slice.step))


def argument(node: ast.AST, around: Surroundings) -> Iterator[Change]:
    """Forget a keyword argument that has a default."""
    if isinstance(node, ast.Call):
        for i, keyword in enumerate(node.keywords):
            if keyword.arg is None or keyword.arg in IDLE:
                continue
            if (called(node), keyword.arg) not in around.required:
                rest = [*node.keywords[:i], *node.keywords[i + 1 :]]
                yield ast.Call(node.func, node.args, rest)


def deletion(node: ast.AST, around: Surroundings) -> Iterator[Change]:
    """Forget a statement: a refusal, a check, an assignment to what has a value already."""
    called_alone = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    if called_alone or isinstance(node, ast.Raise | ast.AugAssign | ast.Break | ast.Continue):
        yield "pass"
    elif isinstance(node, ast.Assign | ast.AnnAssign) and around.function is not None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if getattr(node, "value", None) is not None and all(
            isinstance(target, ast.Attribute | ast.Subscript)
            or (isinstance(target, ast.Name) and around.bound.get(target.id, 10**9) < node.lineno)
            for target in targets
        ):
            yield "pass"


def early_return(node: ast.AST, around: Surroundings) -> Iterator[Change]:
    """Answer before looking: yes, no, or nothing at all."""
    returns = around.function.returns if around.function else None
    if isinstance(node, ast.Return) and isinstance(returns, ast.Name) and returns.id == "bool":
        if not isinstance(node.value, ast.Constant):
            yield "return True"
            yield "return False"
    elif (
        isinstance(node, ast.stmt)
        and around.function is not None
        and not isinstance(node, Function)
    ):
        body = around.function.body
        documented = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
        quiet = isinstance(returns, ast.Constant) and returns.value is None
        first = body[1:2] if documented else body[:1]
        if quiet and around.function.name != "__init__" and first == [node] != body[-1:]:
            yield "return\n" + " " * node.col_offset + around.text


def query(node: ast.AST, around: Surroundings) -> Iterator[Change]:
    """Ask the database something else."""
    if isinstance(node, ast.Constant | ast.JoinedStr) and _SQL.search(around.text):
        for pattern, other in IN_SQL:
            for found in re.finditer(pattern, around.text):
                yield around.text[: found.start()] + other + around.text[found.end() :]


def _divides_up(node: ast.AST) -> ast.BinOp | None:
    """Return ``-a // b`` of ``-(-a // b)``, and None of anything else."""
    if not (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)):
        return None
    inner = node.operand
    if not (isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.FloorDiv)):
        return None
    return inner if _without_sign(inner.left) is not inner.left else None


def _without_sign(node: ast.expr) -> ast.expr:
    """Return a product without the minus it begins with; the product itself if there is none."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return node.operand
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        first = _without_sign(node.left)
        return node if first is node.left else ast.BinOp(first, node.op, node.right)
    return node


def _renamed(node: ast.expr, name: str) -> ast.expr:
    return ast.Attribute(node.value, name) if isinstance(node, ast.Attribute) else ast.Name(name)


OPERATORS: dict[str, Operator] = {
    "comparison": comparison,
    "arithmetic": arithmetic,
    "constant": constant,
    "truth value": truth,
    "logic": logic,
    "other branch": condition,
    "min and max": extreme,
    "rounding": rounding,
    "absolute value": absolute,
    "slice": part,
    "argument dropped": argument,
    "statement deleted": deletion,
    "early return": early_return,
    "SQL": query,
}
