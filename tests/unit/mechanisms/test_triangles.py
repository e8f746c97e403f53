"""Graphs: counts of triangles, what one edge does to them, and cut degrees."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato import accounting
from sfumato.core import errors
from sfumato.mechanisms import graph
from sfumato.testing import SeededRng

M, S = sf.mechanisms, sf.Sensitivity
FIVE = list(combinations(range(5), 2))
edge_lists = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=40)


def brute(edges, nodes):
    near = {v: {b for e in edges for b in e if v in e and b != v} for v in range(nodes)}
    count = sum(
        b in near[a] and c in near[a] and c in near[b] for a, b, c in combinations(range(nodes), 3)
    )
    return count, max(len(near[a] & near[b]) for a, b in combinations(range(nodes), 2))


def cut(edges, degree):
    edges = sorted(edges)
    first = {v: [e for e in edges if v in e][:degree] for v in range(9)}
    return [e for e in edges if e in first[e[0]] and e in first[e[1]]]


def pairs(codes, nodes):
    return [divmod(int(code), nodes) for code in codes]


@given(edge_lists)
def test_counts_are_those_of_all_triples(listed):
    edges = {tuple(sorted(e)) for e in listed if e[0] != e[1]}
    read = graph.edges(listed, 9)
    assert pairs(read, 9) == sorted(edges)
    assert graph.triangles(read, 9) == brute(edges, 9)


def test_large_graphs_are_counted_a_few_nodes_at_a_time():
    rng = np.random.default_rng(3)
    inner = rng.integers(0, 200, (2000, 2))
    small = graph.edges(inner.tolist(), 200)
    spread = graph.edges((inner * 4).tolist(), 800)  # the same graph, through the other code
    assert graph.triangles(spread, 800) == graph.triangles(small, 200)
    assert graph.triangles(graph.edges([], 800), 800) == (0, 0)
    assert graph.triangles(graph.edges([], 5), 5) == (0, 0)


def test_what_is_no_edge_does_not_count():
    listed = [(0, 1), (1, 0), (2, 2), (0, 9), (-1, 3), (2**70, 1), np.array([3, 1])]
    assert pairs(graph.edges(listed, 5), 5) == [(0, 1), (1, 3)]
    assert graph.edges(np.array([[0, 1], [1, 2]]), 5).tolist() == [1, 7]


@pytest.mark.parametrize("values", [5, [1, 2], [(1, 2, 3)], [("a", "b")], [(0.5, 1)], [(True, 2)]])
def test_other_things_are_refused(values):
    with pytest.raises(errors.DataError, match="pair"):
        graph.edges(values, 5)


@given(edge_lists, st.tuples(st.integers(0, 8), st.integers(0, 8)))
def test_one_edge_moves_counts_by_the_common_neighbors_and_those_by_one(listed, edge):
    before, after = (graph.triangles(graph.edges(x, 9), 9) for x in (listed, [*listed, edge]))
    assert after[0] - before[0] <= min(before[1], after[1])
    assert abs(after[1] - before[1]) <= 1


@given(edge_lists, st.integers(2, 8))
def test_cut_degrees_are_those_of_the_first_edges(listed, degree):
    read = graph.edges(listed, 9)
    kept = pairs(graph.bounded_degree(read, 9, degree), 9)
    assert kept == cut(pairs(read, 9), degree)
    assert all(sum(v in e for e in kept) <= degree for v in range(9))
    if all(sum(v in e for e in pairs(read, 9)) <= degree for v in range(9)):
        assert kept == pairs(read, 9)


@pytest.mark.parametrize("degree", [2, 3, 4])
def test_no_graph_of_five_nodes_moves_further_than_charged(degree):
    counts, nodes = {}, 5
    for mask in range(1 << len(FIVE)):
        edges = [e for i, e in enumerate(FIVE) if mask >> i & 1]
        codes = graph.edges(edges, nodes)
        counts[mask] = graph.triangles(graph.bounded_degree(codes, nodes, degree), nodes)[0]
    one = max(abs(counts[m] - counts[m ^ (1 << i)]) for m in counts for i in range(len(FIVE)))
    both = max(
        abs(counts[m ^ (1 << i)] - counts[m ^ (1 << j)])
        for m in counts
        for i in range(len(FIVE))
        for j in range(i)
        if m >> i & 1 and m >> j & 1  # equally many edges: one was replaced
    )
    mechanism = M.RestrictedTriangles(nodes, degree, 1)
    assert one <= mechanism.loss(S(l1=1)).l1 == 2 * (degree - 1)
    assert both <= mechanism.loss(S(l1=1, neighbors="replace")).l1 == 3 * (degree - 1)
    assert one > 0


@pytest.mark.parametrize("degree", [2, 3, 5])
def test_what_is_charged_is_reached(degree):
    # Everybody in three cliques has as many edges as count. One between the first two comes before
    # theirs and pushes out an edge at each of its ends, with all its triangles.
    groups = [[start, *range(3 + start * degree, 3 + (start + 1) * degree)] for start in range(3)]
    edges = [e for group in groups for e in combinations(group, 2)]
    nodes = 3 + 3 * degree

    def counted(listed):
        kept = graph.bounded_degree(graph.edges(listed, nodes), nodes, degree)
        return graph.triangles(kept, nodes)[0]

    mechanism = M.RestrictedTriangles(nodes, degree, 1)
    moved = counted(edges) - counted([(0, 1), *edges])
    assert moved == mechanism.loss(S(l1=1)).l1
    moved = counted(edges) - counted([(0, 1), *edges[:-1]])
    assert moved == mechanism.loss(S(l1=1, neighbors="replace")).l1


@pytest.mark.parametrize(("relation", "steps"), [("add_remove", 1), ("replace", 2)])
def test_a_replaced_edge_is_two_steps(relation, steps):
    loss = M.TriangleCount(9, 2, 30, 4).loss(S(l1=3, neighbors=relation))
    assert loss.epsilon == 3 * steps * Fraction(3, 4)
    made = M.TriangleCount.calibrate(
        S(l1=3, neighbors=relation), nodes=9, epsilon=1, delta="1e-6", share="1/4"
    )
    assert made.loss(S(l1=3, neighbors=relation)).epsilon == 1
    assert made.loss(S(l1=3, neighbors=relation)).delta <= Fraction(1, 10**6)
    assert made.scale == 12 * steps


def test_triangles_are_counted_with_noise_to_match():
    edges = [(a, b) for a, b in combinations(range(300), 2) if (a - b) % 300 in (1, 2, 298, 299)]
    made = M.TriangleCount.calibrate(S(l1=1), nodes=300, epsilon=2, delta="1e-6")
    read = made.exact(edges)
    drawn = np.array([made.sample(read, SeededRng(i)) for i in range(200)])
    assert np.abs(drawn[:, 0] - 300).mean() == pytest.approx(drawn[:, 1].mean(), rel=0.4)
    measure = made.release(edges, S(l1=1), name="triangles").measures[0]
    assert measure.scale <= 298
    assert measure.low[0] < measure.values[0] < measure.high[0]
    assert made.error(S(l1=1)).halfwidth(Fraction(1, 2)) > 100


def test_restricted_counts_are_right_where_degrees_are_small():
    edges = [(i, j) for i in range(0, 99, 3) for i, j in combinations((i, i + 1, i + 2), 2)]
    made = M.RestrictedTriangles(100, 2, "1/100")
    assert made(edges) == 33
    assert made([(0, v) for v in range(1, 100)] + [(1, 2), (3, 4)]) == 1
    measure = made.release(edges, S(l1=1), name="triangles").measures[0]
    assert measure.covers == "noise only, where no node has more than 2 edges"
    assert measure.scale == Fraction(1, 100)


@pytest.mark.parametrize("cost", [{"epsilon": "0.5"}, {"rho": "0.1"}])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_restricted_noise_is_calibrated(relation, cost):
    s = S(l1=2, neighbors=relation)
    made = M.RestrictedTriangles.calibrate(s, nodes=50, degree=4, **cost)
    if "rho" in cost:
        assert Fraction("0.09") < accounting.rho(made.loss(s)) <= Fraction("0.1")
    else:
        assert accounting.epsilon(made.loss(s)) == Fraction("0.5")


@pytest.mark.parametrize(
    "make",
    [
        lambda: M.TriangleCount(2, 1, 1, 1),
        lambda: M.TriangleCount(2**20 + 1, 1, 1, 1),
        lambda: M.TriangleCount("7/2", 1, 1, 1),
        lambda: M.TriangleCount(9, 0, 1, 1),
        lambda: M.TriangleCount(9, 1, -1, 1),
        lambda: M.RestrictedTriangles(9, 1, 1),
        lambda: M.RestrictedTriangles(9, 9, 1),
        lambda: M.RestrictedTriangles(9, "5/2", 1),
        lambda: M.RestrictedTriangles(9, 3, 0),
    ],
)
def test_bad_parameters_are_refused(make):
    with pytest.raises(errors.RangeError):
        make()
