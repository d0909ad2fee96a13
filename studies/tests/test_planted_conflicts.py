"""Planted conflicts are named exactly: in the shares themselves, and in large samples."""

from functools import cache

import numpy as np
import pytest

import rumflow as rf
from rumflow.inference.conflicts.search import Search
from rumflow.inference.conflicts.subsets import Sampling, Subsets
from studies.experiments.explain import DESIGNS, draw, exact_data, make_design

planted_design = cache(make_design)


@pytest.fixture
def rng():
    return np.random.default_rng(12345)


def labels(data, rows):
    return tuple(data.menus[row] for row in sorted(rows))


def part_of(data, menus):
    """Some menus of the data, by their labels."""
    rows = [row for row, menu in enumerate(data.menus) if menu in menus]
    return rf.ChoiceData(data.items, data.membership[rows], data.counts[rows], data.totals[rows])


@pytest.mark.parametrize("kind", ["cycle", "decoy"])
@pytest.mark.parametrize("n", list(DESIGNS))
def test_planted_conflicts_are_named_exactly(n, kind):
    design = planted_design(n, kind)
    data = exact_data(design)
    found = rf.explain(data)
    planted = labels(data, design.planted)
    assert found.conflict == planted
    assert found.complete
    assert len(found.conflicts) == 1
    assert found.conflicts[0].irreducible
    assert found.pattern == {"cycle": "cycle", "decoy": "attraction"}[kind]
    assert found.inequality.bound == {"cycle": 2, "decoy": 1}[kind]
    assert found.inequality.value == pytest.approx({"cycle": 2.25, "decoy": 1.15}[kind])
    # Irreducible by the public projection, not by the search itself.
    assert rf.project(part_of(data, planted)).distance > 0.05
    for menu in planted:
        assert rf.project(part_of(data, set(planted) - {menu})).distance < 1e-6
        assert rf.project(part_of(data, set(data.menus) - {menu})).distance < 1e-6
    carried = dict(zip(found.influence["menu"], found.influence["share"], strict=True))
    assert sum(carried[menu] for menu in planted) > 0.8


@pytest.mark.parametrize(("n", "kind"), [(5, "decoy"), (8, "cycle"), (12, "decoy"), (40, "cycle")])
def test_planted_conflicts_are_named_exactly_in_large_samples(n, kind, rng):
    design = planted_design(n, kind)
    data = draw(design, 3000, rng)
    found = Search(Subsets(data, None, Sampling(0.05, 39, 0, False), 1)).first()
    assert set(found) == design.planted
    menus = labels(data, found)
    assert rf.rum_test(part_of(data, menus), n_boot=59, seed=5).pvalue <= 0.05
    for menu in menus:
        assert rf.rum_test(part_of(data, set(menus) - {menu}), n_boot=59, seed=5).pvalue > 0.05


def test_a_sample_is_explained_from_end_to_end(rng):
    design = planted_design(5, "cycle")
    data = draw(design, 1000, rng)
    found = rf.explain(data, n_boot=39, halves=6)
    assert found.conflict == labels(data, design.planted)
    assert found.complete
    assert found.pvalue <= 0.05
    named = dict(zip(found.influence["menu"], found.influence["named"], strict=True))
    assert all(named[menu] > 0.5 for menu in found.conflict)
    assert sum(named.values()) < 4
    p = dict(zip(found.influence["menu"], found.influence["pvalue_without"], strict=True))
    assert all(p[menu] > 0.05 for menu in found.conflict)
