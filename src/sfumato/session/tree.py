"""The plan of a question as data: each step, and how much of it one unit can change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.relation.bound import reach
from sfumato.relation.node import Node, children, unit_of
from sfumato.session.part import Asked
from sfumato.session.proof import step, title


def trees(queries: Sequence[Asked]) -> list[dict[str, Any]]:
    """Return what is measured, and the steps below it, for programs: one tree for each relation.

    Each step has what it does, in words; how many rows, groups and rows in one group of it one unit
    can change, None where nothing bounds it yet; and the steps that it rests on.
    """
    found = []
    for node in dict.fromkeys(query.node for query in queries):
        same = dict.fromkeys(query for query in queries if query.node == node)
        found.append({"asks": [_asked(query) for query in same], "from": _steps(node)})
    return found


def _asked(query: Asked) -> dict[str, Any]:
    moved = query.sensitivity(unit_of(query.node))
    norms = {
        "l0": moved.l0,
        "l1": moved.l1,
        "l2_squared": moved.l2_squared,
        "linf": moved.linf,
    }
    shown = {name: None if norm is None else str(norm) for name, norm in norms.items()}
    return {"what": title(query), "sensitivity": shown}


def _steps(node: Node) -> dict[str, Any]:
    found = reach(node)
    return {
        "step": step(node),
        "rows_of_one_unit": found.rows,
        "groups_of_one_unit": found.groups,
        "rows_in_one_group": found.rows_per_group,
        "from": [_steps(child) for child in children(node)],
    }
