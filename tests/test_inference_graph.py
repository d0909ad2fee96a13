"""The test on choice graphs: equal to the lattice for equal draws, any number of items, any model."""

import pickle
from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import nnls

import rumflow as rf
from rumflow.errors import InputError
from rumflow.inference import Convention, compare_groups, rum_test, rum_test_many
from rumflow.inference.replicate import tightened_centre
from rumflow.inference.sample import build_sample, inverse_variance
from rumflow.projection import cells
from rumflow.projection.cells import CellProjector


def incomplete(n, seed, draws=60, share=0.2, partly=0.0):
    """Noisy choices from some of the menus; some cells of some menus unrecorded."""
    rng = np.random.default_rng(seed)
    masks = np.flatnonzero(np.bitwise_count(np.arange(1 << n)) >= 2)
    masks = np.sort(rng.choice(masks, max(3, int(share * min(len(masks), 120))), replace=False))
    membership = (masks[:, None] >> np.arange(n) & 1).astype(bool)
    counts = np.full(membership.shape, np.nan)
    for row, inside in zip(counts, membership, strict=True):
        row[inside] = rng.multinomial(draws, rng.dirichlet(np.ones(inside.sum())))
        if rng.random() < partly:
            row[rng.choice(np.flatnonzero(inside))] = np.nan
    return rf.ChoiceData(tuple("abcdefghijklm"[:n]), membership, counts, np.full(len(masks), float(draws)))


@pytest.mark.parametrize("seed", range(20))
def test_equal_draws_give_equal_p_values_on_both_routes(seed):
    n = 3 + seed % 7
    data = incomplete(n, seed, partly=0.3 * (seed % 3 == 0))
    options = {"n_boot": 19, "tau": ["auto", 0.0], "seed": seed, "resample": "row" if seed % 4 == 1 else "menu"}
    options["weights"] = (None, "counts", "inverse-variance")[seed % 3]
    options["convention"] = ("default", "kitamura-stoye", "abkk", "default")[seed % 4]
    a, b = (rum_test(data, route=route, **options) for route in ("lattice", "graph"))
    assert a.sample.projector.graph is None
    assert b.sample.projector.graph is not None
    assert b.statistic == pytest.approx(a.statistic, rel=1e-6, abs=1e-9)
    assert b.null_distributions == pytest.approx(a.null_distributions, rel=1e-6, abs=1e-6 * max(a.statistic, 1e-3))
    assert (a.pvalues == b.pvalues).all()
    counts = np.zeros(a.fitted.shape, bool)  # cells without weight are not unique
    counts[a.sample.unit_menu[a.sample.unit], a.sample.item] = a.sample.weights > 0
    assert b.fitted[counts] == pytest.approx(a.fitted[counts], abs=1e-5)
    assert b.failed == 0


def test_several_groups_on_both_routes():
    groups = {"x": incomplete(6, 1), "y": incomplete(6, 2)}
    a, b = (compare_groups(groups, 19, seed=3, route=route) for route in ("lattice", "graph"))
    assert a.together.pvalue == b.together.pvalue
    assert (a.each.pvalues == b.each.pvalues).all()


def test_menus_that_vanish():
    data = incomplete(6, 5, draws=2)
    a, b = (rum_test(data, 30, resample="row", seed=1, route=route) for route in ("lattice", "graph"))
    assert a.vanished == b.vanished > 0
    assert a.pvalue == b.pvalue
    assert b.null_distribution == pytest.approx(a.null_distribution, rel=1e-6, abs=1e-6)


def test_many_items():
    data = rf.simulate.random_menus(70, 12, 30, seed=2)
    result = rum_test(data, 9, seed=0)
    assert result.fitted.shape == (12, 70)
    assert np.nansum(result.fitted, axis=1) == pytest.approx(1)
    assert result.misfits(1)
    assert "70 items" in result.summary()
    for what in ("rho", "flow"):
        with pytest.raises(InputError, match="take fitted"):
            getattr(result, what)
    with pytest.raises(InputError, match="take fitted"):
        result.binding()
    assert rum_test(data, 9, seed=0, weights=np.where(data.membership, 1.0, 0.0)).pvalue == result.pvalue
    with pytest.raises(InputError, match=r"shape \(12, 70\)"):
        rum_test(data, 9, weights=np.ones((3, 3)))


def test_probabilities_over_all_menus_on_a_graph():
    data = incomplete(6, 4)
    a, b = (rum_test(data, 9, seed=0, route=route) for route in ("lattice", "graph"))
    assert rf.is_rum(b.rho)
    seen = data.masks
    assert b.rho[seen] == pytest.approx(a.rho[seen], abs=1e-6)
    assert b.flow.min() >= 0


def test_subjects_on_a_graph():
    rng = np.random.default_rng(0)
    frame = {"menu": [], "choice": [], "subject": []}
    menus = [(0, 1, 2), (1, 2, 3, 4), (0, 3, 5), (2, 4, 5, 6)]
    for person in range(30):
        for menu in menus:
            frame["menu"].append(",".join(map(str, menu)))
            frame["choice"].append(str(rng.choice(menu)))
            frame["subject"].append(person)
    data = rf.ChoiceData.from_frame(frame)
    a, b = (rum_test(data, 29, cluster=True, seed=0, route=route) for route in ("lattice", "graph"))
    assert a.pvalue == b.pvalue


def above_types(data, above):
    """What the rankings that respect `above` take from the cells of a sample, by enumeration."""
    place = {label: x for x, label in enumerate(data.items)}
    menu, item = np.nonzero(data.membership)
    types = set()
    for order in permutations(range(data.n)):
        rank = np.argsort(order)
        if all(rank[place[a]] < rank[place[b]] for a, b in above):
            best = [min(np.flatnonzero(row), key=lambda x: rank[x]) for row in data.membership]
            types.add(tuple(float(best[j] == x) for j, x in zip(menu, item, strict=True)))
    return np.array(sorted(types)).T


@pytest.mark.parametrize("seed", range(3))
def test_known_preferences_against_enumeration(seed):
    data = incomplete(5, seed)
    above = [("a", "b"), ("c", "d")]
    model = rf.RandomUtility(above=above)
    result = rum_test(data, 19, seed=0, model=model)
    types = above_types(data, above)
    heavy = np.vstack([types, np.full((1, types.shape[1]), 1e4)])
    sample = result.sample
    distance = nnls(heavy, np.append(sample.frequency, 1e4))[1]
    assert result.statistic == pytest.approx(60 * distance**2, rel=1e-5)
    # The inner point is a mixture of the types, and so is the centre of the replicates.
    for point in (sample.centre[sample.column], tightened_centre(sample, 0.3, 1e-9)[0]):
        assert nnls(heavy, np.append(point, 1e4))[1] == pytest.approx(0, abs=1e-6)
    assert result.statistic >= rum_test(data, 9, seed=0).statistic - 1e-9
    with pytest.raises(InputError, match="route='lattice'"):
        rum_test(data, 9, model=model, route="lattice")


def test_other_models():
    data = incomplete(6, 3)
    by_axis = rum_test(data, 9, seed=0, model=rf.SinglePeaked("abcdef"))
    assert by_axis.statistic > rum_test(data, 9, seed=0).statistic
    with pytest.raises(InputError, match="take fitted"):
        by_axis.rho  # noqa: B018
    with pytest.raises(InputError, match="route='graf'"):
        rum_test(data, 9, route="graf")


def test_a_graph_is_built_once_per_worker(monkeypatch):
    built = []
    monkeypatch.setattr(cells, "find_route", lambda *a, old=cells.find_route, **k: built.append(1) or old(*a, **k))
    sample = build_sample(incomplete(6, 1), None, Convention(), route="graph")
    assert sample.projector.graph is not None
    text = pickle.dumps(sample)
    assert len(text) < 20_000
    cells._rebuilt.clear()
    first, second = pickle.loads(text), pickle.loads(text)
    assert first.projector is second.projector
    assert first.projector.graph is second.projector.graph
    assert len(built) == 2  # here, and once for the two that came by pickle


def test_workers_of_joblib():
    pytest.importorskip("joblib")
    data = rf.simulate.random_menus(24, 8, 6, seed=2)
    a, b = (rum_test_many([data, data], 12, seed=0, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert (a.pvalues == b.pvalues).all()
    assert (a.tests[0].null_distribution == b.tests[0].null_distribution).all()


def test_one_more_cell():
    data = incomplete(5, 1)
    sample = build_sample(data, None, Convention())
    own = sample.projector
    for members, item in ((data.membership[1], int(data.membership[1].argmax())), (np.arange(5) < 2, 1)):
        more = own.with_cells(members[None], (np.arange(5) == item)[None])
        assert {
            (tuple(row), x) for row, x in zip(more.cells.membership[more.menu].tolist(), more.item, strict=True)
        } == {
            *((tuple(row), x) for row, x in zip(own.cells.membership[own.menu].tolist(), own.item, strict=True)),
            (tuple(members.tolist()), item),
        }
    assert isinstance(more, CellProjector)


def test_weights_for_project_have_the_form_of_its_route():
    data = rf.simulate.random_menus(9, 6, 4, seed=1)
    a, b = (
        rf.project(data, inverse_variance(data, route=route), route=route).objective for route in ("lattice", "graph")
    )
    assert a == pytest.approx(b, rel=1e-6)


def test_a_cone_whose_nearest_point_is_0():
    data = rf.ChoiceData.from_counts({("a", "b"): {"b": 29}, ("b", "c"): {"c": 20}})
    for route in ("graph", "lattice"):
        assert rf.rum_test(data, 19, seed=1, convention="abkk", route=route).pvalue == 1
    assert rf.rum_test(data, 19, seed=1, convention="abkk", model=rf.SinglePeaked(["a", "b", "c"])).pvalue == 1


def test_items_in_no_menu_change_nothing():
    counts = {
        ("a", "z"): {"a": 20, "z": 20},
        ("b", "z"): {"b": 20, "z": 20},
        ("a", "b", "z"): {"a": 14, "b": 14, "z": 22},
        ("b", "c", "z"): {"b": 8, "c": 9, "z": 26},
    }
    found = [
        rf.rum_test(rf.ChoiceData.from_counts(counts, items=items), 49, seed=1, convention="abkk").pvalues
        for items in (list("abcz"), list("abczuvw"))
    ]
    assert list(found[0]) == list(found[1])


def test_menus_without_a_recorded_cell_and_taus_in_arrays():
    member = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1]], bool)
    counts = np.array([[3, np.nan, np.nan], [np.nan, np.nan, 5], [np.nan, 4, np.nan], [np.nan] * 3])
    totals = np.array([8.0, 9.0, 8.0, 10.0])
    data = rf.ChoiceData(("a", "b", "c"), member, counts, totals)
    fewer = rf.ChoiceData(("a", "b", "c"), member[:3], counts[:3], totals[:3])
    how = {"weights": "inverse-variance", "seed": 1, "tau": np.array([0.1, 0.2])}
    assert list(rf.rum_test(data, 19, **how).pvalues) == list(rf.rum_test(fewer, 19, **how).pvalues)
