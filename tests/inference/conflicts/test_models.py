"""Conflicts with other models: against linear programmes over all of their types, in words."""

from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.optimize import linprog

import rumflow as rf
from rumflow.data.menus import membership_of

ORDERS = list(permutations(range(4)))


def is_single_peaked(order):
    """On the axis 0, 1, 2, 3: the best k items are always an interval."""
    return all(max(order[:k]) - min(order[:k]) == k - 1 for k in range(1, 5))


def graph_of(rows):
    """The types as the paths of a graph, one node each."""
    k = len(rows)
    arcs = [(0, 1 + t, [(j, item) for j, item in enumerate(row)]) for t, row in enumerate(rows)]
    return rf.ChoiceGraph(k + 2, arcs + [(1 + t, k + 1, []) for t in range(k)])


def make(kind, menus):
    """A model on these menus, and what its types take from them."""
    above = [(3, 1), (0, 2)]
    kept = {
        "single-peaked": [o for o in ORDERS if is_single_peaked(o)],
        "known": [o for o in ORDERS if all(o.index(a) < o.index(b) for a, b in above)],
        "types": ORDERS[::5],
        "graph": ORDERS[1::4],
    }[kind]
    taken = [[min(menu, key=order.index) for menu in menus] for order in kept]
    models = {"single-peaked": rf.SinglePeaked(range(4)), "known": rf.RandomUtility(above=above)}
    return models.get(kind) or (rf.Types(taken) if kind == "types" else graph_of(taken)), np.array(taken)


def irreducible_sets(data, taken):
    """All irreducible conflicts, by a linear programme for every set of menus."""
    m, found = len(data.menus), []
    for size in range(1, m + 1):
        for rows in combinations(range(m), size):
            if any(set(other) < set(rows) for other in found):
                continue
            matrix = np.concatenate([(taken[:, [row]] == np.array(data.menus[row])).T for row in rows]).astype(float)
            shares = np.concatenate([data.frequencies[row][list(data.menus[row])] for row in rows])
            if linprog(np.zeros(len(taken)), A_eq=matrix, b_eq=shares).status == 2:
                found.append(rows)
    return found


@pytest.mark.parametrize("kind", ["single-peaked", "known", "types", "graph"])
@pytest.mark.parametrize("seed", range(4))
def test_all_irreducible_conflicts_against_a_linear_programme(kind, seed):
    rng = np.random.default_rng(seed)
    masks = np.sort(rng.choice([k for k in range(16) if k.bit_count() >= 2], 5, replace=False))
    inside = membership_of(masks, 4)
    menus = [tuple(np.flatnonzero(row).tolist()) for row in inside]
    model, taken = make(kind, menus)
    lam = rng.dirichlet(np.full(len(taken), 0.5))
    shares = np.array([np.bincount(taken[:, j], lam, 4) for j in range(5)])
    noise = np.where(inside, rng.exponential(size=inside.shape), 0.0)
    off = rng.choice(5, 2, replace=False)  # two menus are off; types that never take something may be, too
    shares[off] = 0.7 * shares[off] + 0.3 * noise[off] / noise[off].sum(axis=1, keepdims=True)
    data = rf.ChoiceData(tuple(range(4)), inside, np.where(inside, shares, np.nan), np.ones(5))
    expected = irreducible_sets(data, taken)
    found = rf.explain(data, most=20, model=model)
    named = [tuple(data.menus.index(menu) for menu in one.menus) for one in found.conflicts]
    assert found.complete
    assert sorted(named) == sorted(expected)
    assert [len(rows) for rows in named] == sorted(map(len, expected))
    for rows, one in zip(named, found.conflicts, strict=True):
        assert one.irreducible
        c = [{x: one.inequality.coefficients.get((menu, x), 0.0) for x in menu} for menu in one.menus]
        most = max(sum(own[row[j]] for own, j in zip(c, rows, strict=True)) for row in taken)
        assert most == pytest.approx(one.inequality.bound, abs=1e-9)
        assert one.inequality.value > one.inequality.bound + 1e-6


def test_a_sample_is_explained_and_halves_that_lose_a_menu_are_no_trouble():
    rng = np.random.default_rng(0)
    rows = [(person, "a,b,c", rng.choice(list("abc"), p=[0.45, 0.1, 0.45])) for person in range(150)]
    rows += [(person, "a,b", rng.choice(list("ab"), p=[0.75, 0.25])) for person in range(150)] + [(0, "a,c", "a")]
    columns = dict(zip(("subject", "menu", "choice"), map(list, zip(*rows, strict=True)), strict=True))
    data = rf.ChoiceData.from_frame(columns)
    assert rf.explain(data, n_boot=39, halves=0).conflict == ()
    always = rf.Types([["a" for _ in data.menus]])
    for model in (rf.SinglePeaked("abc"), rf.RandomUtility(above=[("a", "b")]), always):
        found = rf.explain(data, n_boot=39, halves=4, cluster=True, model=model)
        assert found.conflicts
        assert found.pvalue <= 0.05
        assert found.halves == 4
        assert found.pattern is None  # nothing that no ranking does


def test_known_preferences_are_named_up_to_three():
    for count, end in ((3, "a over b, b over c, c over d"), (4, "a over b, b over c, c over d, ...")):
        model = rf.RandomUtility(above=[("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")][:count])
        assert model.words().name == f"Random utility with {end}"


def test_words():
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 80, "b": 20}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    found = rf.explain(data, None, model=rf.RandomUtility(above=[("a", "b")]))
    assert found.verdict.startswith("No population of utility maximisers who all prefer a over b has the shares")
    assert "Conflict 1: one menu" in found.summary()
    assert "Nobody with a ranking that has a over b takes b from {a, b}, so that its share is at most 0; it is 0.2" in (
        found.summary()
    )
    peaked = rf.explain(data, None, model=rf.SinglePeaked("abc"))
    assert "nobody with a single-peaked ranking makes more than 1" in peaked.inequality.text
    assert (
        "Single-peaked choice is rejected"
        in rf.explain(data, n_boot=39, halves=0, model=rf.SinglePeaked("abc")).verdict
    )
    same = rf.explain(data, None, model=rf.RandomUtility())
    assert same.verdict == rf.explain(data, None).verdict


def test_budgets():
    """Two budgets that cross: nobody rational takes the part below the other from both."""
    from rumflow.models.budgets import model_of_budgets

    prices = np.array([[1.0, 2.0], [2.0, 1.0]])
    below, above = [[0.1, 0.45]] * 60, [[0.9, 0.05]] * 40
    mirrored = [[y, x] for x, y in [*below, *above]]
    data = rf.BudgetData.from_quantities(prices, [0] * 100 + [1] * 100, [*below, *above, *mirrored], degree=0)
    found = rf.explain(data, None)
    assert len(found.conflict) == 2
    assert rf.project(data).distance > 1e-3
    assert (found.inequality.bound, found.inequality.value) == pytest.approx((1.0, 1.2))
    assert "nobody who chooses rationally" in found.inequality.text
    assert found.pattern is None
    same = rf.explain(data.choices, None, model=model_of_budgets(data))
    assert same.conflict == found.conflict
    rng = np.random.default_rng(0)
    bought = np.array([*below, *above, *mirrored]) * rng.uniform(0.8, 1.2, (200, 1))
    smoothed = rf.BudgetData.from_quantities(prices, [0] * 100 + [1] * 100, bought, degree=1)
    assert smoothed.is_smoothed
    with pytest.raises(rf.InputError, match=r"degree=0 \(--degree 0\)"):
        rf.explain(smoothed)
    assert rf.explain(smoothed, None).conflict
    with pytest.raises(rf.InputError, match="budgets determine the model"):
        rf.explain(data, model=rf.RandomUtility())
