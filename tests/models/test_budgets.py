"""The model of budgets: its graph has the types that a trial of all finds."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.arrangement import find_patches
from rumflow.core.graph import cheapest_type
from rumflow.core.graph_cells import Cells
from rumflow.core.rational_types import count_types
from rumflow.models.budgets import Budgets
from tests.reference.budgets import matrix_of, random_prices, rational_types


def cells_of(patches):
    return Cells(patches.budget == np.arange(patches.signs.shape[1])[:, None])


def test_cheapest_path_count_and_mean_are_those_of_all_types(rng):
    """1,000 random sets of budgets: their types listed, against the graph and the formula."""
    cases = largest = 0
    while cases < 1000:
        n, goods = int(rng.integers(2, 7)), int(rng.integers(2, 5))
        # Budgets of different size cross less, so that six of them can be listed.
        found = find_patches(random_prices(rng, n, goods) * rng.uniform(0.2, 5.0, (n, 1)) ** int(rng.integers(2)))
        if np.prod(np.bincount(found.budget).astype(float)) > 2000:
            continue
        cases += 1
        largest += (n, goods) == (6, 4)
        types = rational_types(found.signs)
        counted = count_types(found.signs, found.budget)
        assert counted.number == len(types)
        a = matrix_of(types, len(found.signs))
        assert counted.mean == pytest.approx(a.mean(axis=1), abs=1e-14)
        price = rng.normal(size=len(found.signs))
        cells = cells_of(found)
        graph = Budgets(found.signs).geometry(cells)
        cost = cells.to_table(np.where(cells.membership, price, 0.0))
        cheapest, row = cheapest_type(graph, cost)
        assert cheapest == pytest.approx((price @ a).min(), abs=1e-12)
        taken = cells.items_of_types(row[None])[0]
        assert (types == taken).all(axis=1).any()
    assert largest > 5


def test_patches_that_share_a_cell_and_budgets_without_one(rng):
    found = find_patches(random_prices(rng, 4, 3))
    # Items: the patches of budget 0 in pairs; budget 3 is not among the menus.
    item = np.where(found.budget == 0, np.arange(len(found.budget)) // 2, 100 + np.arange(len(found.budget)))
    seen = found.budget < 3
    labels = list(dict.fromkeys(item[seen].tolist()))
    everything = [*labels, *item[~seen].tolist()]
    membership = np.array([[x in item[found.budget == j].tolist() for x in everything] for j in range(3)])
    cells = Cells(membership, None, everything)
    graph = Budgets(found.signs, item.tolist()).geometry(cells)
    price = dict(zip(everything, rng.normal(size=len(everything)), strict=True))
    cost = cells.to_table([[price[x] for x in everything]] * 3)
    by_patch = np.where(seen, [price[x] for x in item.tolist()], 0.0)
    types = rational_types(found.signs)
    assert cheapest_type(graph, cost)[0] == pytest.approx(by_patch[types].sum(axis=1).min(), abs=1e-12)


def test_what_does_not_fit_is_refused(rng):
    found = find_patches(random_prices(rng, 11, 4))
    from rumflow.core.graph import GraphTooLargeError
    from rumflow.models.open_menus import Limit

    with pytest.raises(GraphTooLargeError, match="11 budgets"):
        Budgets(found.signs).geometry(cells_of(found), Limit(nodes=100))
    with pytest.raises(GraphTooLargeError, match="could not be built in the time that is left of max_seconds") as late:
        Budgets(found.signs).geometry(cells_of(found), Limit(deadline=0.0))
    assert late.value.late
    with pytest.raises(rf.InputError, match="take fewer budgets"):
        count_types(found.signs, found.budget, most_terms=1000)
    with pytest.raises(rf.InputError, match="too many patches"):
        find_patches(random_prices(rng, 60, 4))
