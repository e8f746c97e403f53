"""Graphs over public nodes: edges as numbers, triangles, common neighbors, bounded degrees."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import DataError, RangeError
from sfumato.core.number import exact, is_integer, show

_MOST_NODES = 2**20  # then every count of triangles fits 64 bits
_ROWS = 256  # nodes at a time: memory is bounded by the public number of nodes

Edges = NDArray[np.int64]  # a·nodes + b with a < b, each once, in increasing order


def check_nodes(nodes: Any) -> int:
    """Return the public number of nodes."""
    number = exact(nodes, "nodes")
    if number.denominator != 1 or not 3 <= number <= _MOST_NODES:
        raise RangeError(
            f"nodes = {show(number)} must be a whole number from 3 to 2^20, and public: under edge "
            f"privacy it is known who is in the graph."
        )
    return int(number)


def edges(values: Any, nodes: int) -> Edges:
    """Read pairs of node numbers from 0 on; loops, repetitions and other ends do not count.

    Each pair is read by itself, so one edge more or less is one more or less here, or none.
    """
    try:
        pairs = [(a, b) for a, b in values]
    except (TypeError, ValueError):
        raise _no_pairs() from None
    if not all(is_integer(end) for pair in pairs for end in pair):
        raise _no_pairs()
    codes = {
        min(a, b) * nodes + max(a, b)
        for a, b in ((int(a), int(b)) for a, b in pairs)
        if a != b and min(a, b) >= 0 and max(a, b) < nodes
    }
    return np.array(sorted(codes), np.int64)


def triangles(found: Edges, nodes: int) -> tuple[int, int]:
    """Return the number of triangles, and the most common neighbors that two nodes have.

    The second is how far one edge, there or not, can move the first; and one edge moves it by at
    most one.
    """
    a, b = np.divmod(found, nodes)
    if nodes <= _ROWS:
        dense = np.zeros((nodes, nodes), np.int64)
        dense[a, b] = dense[b, a] = 1
        paths = dense @ dense
        total = int((paths * dense).sum())
        np.fill_diagonal(paths, 0)
        return total // 6, int(paths.max())
    from scipy.sparse import csr_array

    ends, others = np.concatenate([a, b]), np.concatenate([b, a])
    ones = np.ones(ends.size, np.int64)
    graph = csr_array((ones, (ends, others)), shape=(nodes, nodes))
    total, most = 0, 0
    for start in range(0, nodes, _ROWS):
        part = graph[start : start + _ROWS]
        common = part @ graph
        total += int(common.multiply(part).sum())
        common = common.tocoo()
        apart = common.row + start != common.col
        most = max(most, int(common.data[apart].max(initial=0)))
    return total // 6, most


def bounded_degree(found: Edges, nodes: int, degree: int) -> Edges:
    """Keep the edges that are among the first `degree` at both of their ends.

    A graph in which no degree is larger stays as it is. One edge more adds at most itself, and
    pushes out at most one edge at each of its ends: docs/theory/instance-noise.md.
    """
    a, b = np.divmod(found, nodes)
    edge = np.arange(found.size)
    node, which = np.concatenate([a, b]), np.concatenate([edge, edge])
    order = np.lexsort((which, node))  # by node, and there by the order of the edges
    place = np.empty(order.size, np.int64)
    place[order] = np.arange(order.size) - np.searchsorted(node[order], node[order])
    early = place < degree
    return found[early[: found.size] & early[found.size :]]


def _no_pairs() -> DataError:
    return DataError(
        "a graph is a list of edges, each a pair of node numbers from 0 on. Number the nodes, of "
        "which the list is public, and pass pairs of whole numbers."
    )
