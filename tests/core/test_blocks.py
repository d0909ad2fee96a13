"""Blocks of menus against the definition: two joined items are in one block when no single item separates them."""

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rumflow.core.blocks import blocks_of, find_blocks
from rumflow.core.menus import Menus


def menus_of(sets, n):
    return Menus.from_table([[x in own for x in range(n)] for own in sets])[0]


def pieces(nodes, edges):
    """Which nodes hang together, by plain search."""
    found = {}
    for v in nodes:
        if v in found:
            continue
        found[v], todo = v, [v]
        while todo:
            u = todo.pop()
            for w in nodes:
                if w not in found and frozenset((u, w)) in edges:
                    found[w] = v
                    todo.append(w)
    return found


def plain_blocks(sets, n):
    """Two edges are in one block unless some item separates them: a relation of edges, closed."""
    edges = {frozenset(pair) for own in sets for pair in combinations(sorted(own), 2)}
    apart = set()
    for cut in range(n):
        others = [x for x in range(n) if x != cut]
        where = pieces(others, {e for e in edges if cut not in e})
        for e, f in combinations(edges, 2):
            if where[min(e - {cut})] != where[min(f - {cut})]:
                apart.add(frozenset((e, f)))
    names = []
    for k, own in enumerate(sets):
        if len(own) < 2:
            names.append(("alone", k))
            continue
        edge = frozenset(sorted(own)[:2])
        names.append(frozenset(f for f in edges if frozenset((edge, f)) not in apart))
    return names


def same_partition(a, b):
    return all((a[i] == a[j]) == (b[i] == b[j]) for i, j in combinations(range(len(a)), 2))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sets(st.integers(0, 6), min_size=1, max_size=4), min_size=1, max_size=9))
def test_blocks_are_those_of_the_definition(sets):
    menus = menus_of(sets, 7)
    assert same_partition(blocks_of(menus).tolist(), plain_blocks(sets, 7))


def test_pairs_of_a_circle_are_one_block_and_those_of_a_tree_many():
    circle = menus_of([{0, 1}, {1, 2}, {2, 3}, {3, 0}], 4)
    assert len(set(blocks_of(circle).tolist())) == 1
    tree = menus_of([{0, 1}, {1, 2}, {1, 3}, {3, 4}], 5)
    assert len(set(blocks_of(tree).tolist())) == 4


def test_menus_that_share_two_items_are_one_block_and_those_that_share_one_are_not():
    assert len(set(blocks_of(menus_of([{0, 1, 2}, {1, 2, 3}], 4)).tolist())) == 1
    assert len(set(blocks_of(menus_of([{0, 1, 2}, {2, 3, 4}], 5)).tolist())) == 2


def test_long_chains_and_thousands_of_items():
    n = 20_000
    chain = Menus(
        np.arange(0, 2 * n, 2), np.stack([np.arange(n - 1), np.arange(1, n)], 1).reshape(-1).astype(np.int32), n
    )
    assert len(np.unique(blocks_of(chain))) == n - 1
    item = np.append(chain.item, np.array([0, n - 1], np.int32))
    closed = Menus(np.append(chain.start, len(item)), item, n)
    assert (blocks_of(closed) == 0).all()


def test_the_kernel_as_plain_python():
    sets = [{0, 1, 2}, {2, 3}, {3, 4, 5}, {4, 5}, {2, 5}, {6}]
    menus = menus_of(sets, 7)
    order = np.argsort(menus.item, kind="stable")
    first = np.searchsorted(menus.item[order], np.arange(8)).astype(np.int64)
    block = np.empty(len(menus), np.int64)
    count = find_blocks.py_func(menus.start, menus.item, first, menus.menu[order], block)
    assert count == len(set(block.tolist())) == 3
    assert same_partition(block.tolist(), plain_blocks(sets, 7))
