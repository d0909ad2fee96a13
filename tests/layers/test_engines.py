"""Layers refuse models of which there are only bounds."""

import pytest

import rumflow as rf
from rumflow.models.open_menus import Limit
from rumflow.solvers import routes


def test_layers_refuse(monkeypatch):
    pytest.importorskip("torch")
    from rumflow.torch import AxiomLayer

    monkeypatch.setattr(routes, "DEFAULT_LIMIT", Limit(nodes=1000))
    menus = rf.simulate.random_menus(26, 60, 2, seed=0).menus
    with pytest.raises(rf.InputError, match="larger than 1,000 nodes"):
        AxiomLayer(rf.RandomUtility(), menus, 26)
