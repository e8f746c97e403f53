"""Every cell with noise of its own: the best for single cells, and for short ranges."""

from __future__ import annotations

from sfumato.ranges.plan import Plan
from sfumato.ranges.weights import PARTS
from sfumato.ranges.workload import Workload
from sfumato.relation.matrix import Blocks

NAME = "identity"


def plan(workload: Workload, *, pure: bool) -> Plan:
    """Measure the cells themselves."""
    del pure
    return Plan(NAME, (Blocks(workload.cells, 1),), (PARTS,), "each cell by itself")
