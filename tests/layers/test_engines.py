"""Layers refuse models of which there are only bounds; engines live as long as the cells that need them."""

import gc

import numpy as np
import pytest

import rumflow as rf
from rumflow.layers import engines
from rumflow.layers.cells import Cells
from rumflow.layers.flows import FlowTables
from rumflow.models.open_menus import Limit
from rumflow.solvers import routes


def test_layers_refuse(monkeypatch):
    pytest.importorskip("torch")
    from rumflow.torch import AxiomLayer

    monkeypatch.setattr(routes, "DEFAULT_LIMIT", Limit(nodes=1000))
    menus = rf.simulate.random_menus(26, 60, 2, seed=0).menus
    with pytest.raises(rf.InputError, match=r"larger than 1,000 nodes.*the menus that occur.*MixtureRUM"):
        AxiomLayer(rf.RandomUtility(), menus, 26)


def test_flows_on_large_graphs_say_what_else_there_is(monkeypatch):
    model = rf.RandomUtility()
    geometry = type(model).geometry
    monkeypatch.setattr(type(model), "geometry", lambda own, cells: geometry(own, cells, Limit(nodes=1000)))
    with pytest.raises(rf.InputError, match=r"larger than 1,000 nodes.*MixtureRUM"):
        FlowTables.of_model(model, rf.simulate.random_menus(26, 60, 2, seed=0).menus, 26)


def test_engines_are_made_once_however_many_problems_there_are(monkeypatch):
    made = []
    make = engines._make_engine
    monkeypatch.setattr(engines, "_make_engine", lambda *args: made.append(args) or make(*args))
    rng = np.random.default_rng(0)
    held = [Cells(3, None, rng.uniform(0.5, 2.0, 12)) for _ in range(50)]
    for _ in range(2):
        for cells in held:
            engines.find_engine(cells.text, cells.weights.tobytes(), 0.0, 1)
    assert len(made) == 50
    again = Cells(3, None, held[0].weights)
    assert again.engines is held[0].engines
    first = cells.text, held[0].weights.tobytes()
    held.clear()
    gc.collect()
    engines.find_engine(*first, 0.0, 1)
    assert len(made) == 50  # `again` needs it
    del again, cells
    gc.collect()
    assert first not in engines._owned
    engines.find_engine(*first, 0.0, 1)
    engines.find_engine(*first, 0.0, 1)
    assert len(made) == 51  # the latest ones are kept without anybody who needs them
