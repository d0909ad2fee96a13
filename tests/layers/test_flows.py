"""Tables for flows: levels, groups and heads, against the graph they come from."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.layers.engines import graph_cells
from rumflow.layers.flows import FlowTables, arrange, lattice_flows
from tests.reference.graphs import arcs_of


def push(flows, share):
    """The flow where arc a of the user takes `share[a]` of what arrives, one level at a time by plain loops."""
    arriving = {0: 1.0}  # by node, counted from the first of the level
    flow = np.empty(len(share))
    at = 0
    for level in flows.levels:
        coming = {}
        node = 0
        for count, size in level.groups:
            for _ in range(count):
                for _ in range(size):
                    flow[flows.order[at]] = arriving.get(node, 0.0) * share[flows.order[at]]
                    head = flows.heads[at]
                    coming[head] = coming.get(head, 0.0) + flow[flows.order[at]]
                    at += 1
                node += 1
        assert node == level.nodes
        for later, mass in arriving.items():
            if later >= level.nodes:
                coming[later - level.nodes] = coming.get(later - level.nodes, 0.0) + mass
        ended = coming.pop(level.reach, 0.0)
        assert level.ends or ended == 0.0
        assert all(0 <= head < level.reach for head in coming)
        arriving = coming
    assert at == len(share)
    return flow


def plain_flow(tail, head, share, n_nodes):
    mass = np.zeros(n_nodes)
    mass[0] = 1.0
    flow = np.empty(len(tail))
    for a in range(len(tail)):
        flow[a] = mass[tail[a]] * share[a]
        mass[head[a]] += flow[a]
    return flow


@pytest.mark.parametrize("seed", range(20))
def test_levels_give_the_flow_of_any_graph(seed) -> None:
    rng = np.random.default_rng(seed)
    nodes = int(rng.integers(2, 12))
    pairs = [(u, v) for u in range(nodes) for v in range(u + 1, nodes) if v == u + 1 or rng.random() < 0.4]
    pairs += [pairs[0]]  # two arcs between the same nodes
    tail, head = np.array(sorted(pairs)).T
    share = rng.random(len(tail))
    flows = arrange(tail, head, nodes)
    assert sorted(flows.order.tolist()) == list(range(len(tail)))
    assert np.allclose(push(flows, share), plain_flow(tail, head, share, nodes))


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_the_lattice_has_a_level_for_every_size_of_menu(n) -> None:
    flows = lattice_flows(n)
    assert [(level.nodes, level.groups[0][1]) for level in flows.levels] == [
        (len([m for m in range(1 << n) if m.bit_count() == size]), size) for size in range(n, 0, -1)
    ]
    cells = rf.Lattice(n).cells
    flow = push(flows, 1.0 / np.array([int(menu).bit_count() for menu in cells[:, 0]]))
    # Every ranking with the same weight: the items taken before are any of those that are not left.
    for (menu, _), value in zip(cells.tolist(), flow, strict=True):
        left = menu.bit_count()
        assert value == pytest.approx(1.0 / left / len([m for m in range(1 << n) if m.bit_count() == left]))


@pytest.mark.parametrize("seed", range(6))
def test_arcs_of_a_graph_know_their_cells_and_items(seed) -> None:
    rng = np.random.default_rng(seed)
    menus = [(3,), *{tuple(sorted(rng.permutation(4)[: rng.integers(2, 5)].tolist())) for _ in range(4)}]
    model = rf.RandomUtility() if seed % 2 else rf.SinglePeaked(range(4))
    found = FlowTables.of_model(model, menus, 4)
    arrays = found.arrays
    graph = model.geometry(graph_cells(menus, range(4)))
    listed = arcs_of(graph)
    assert len(found.arcs) == len(listed)
    assert found.cells[arrays["single"]].tolist() == [[0, 3]]
    position = np.argsort(arrays["order"])
    for a, (tail, _, filled) in enumerate(listed):
        own = found.cells[arrays["entry_cell"][arrays["entry_arc"] == position[a]]]
        assert sorted(own.tolist()) == sorted([menu + 1, menus[menu + 1][column]] for menu, column in filled.items())
        items = set(own[:, 1].tolist())
        assert set(arrays["items"][arrays["item_arc"] == a].tolist()) == items
        assert arrays["share"][arrays["item_arc"] == a].tolist() == [1 / len(items) for _ in items]
        assert found.arcs[a].tolist() == [tail, items.pop() if len(items) == 1 else -1]
