"""Layers refuse models of which there are only bounds; engines live as long as the cells that need them, and keep to a time."""

import gc

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.problem import Stop
from rumflow.layers import engines
from rumflow.layers.cells import Cells
from rumflow.layers.flows import FlowTables
from rumflow.models.open_menus import Limit
from rumflow.solvers import lattice, routes
from rumflow.solvers.active_set import solve as active_set


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


def test_the_state_is_as_large_as_its_samples_need(rng):
    """One sample with a large face does not make the others larger, and rows that are the same share theirs."""
    cells = Cells(6)
    engine = engines.find_engine(cells.text, b"", 0.0, 1)
    logit = rf.simulate.mixed_logit(6, draws=20_000, seed=1)[tuple(rf.Lattice(6).cells.T)]
    z = np.concatenate([rng.normal(size=(5, 192)), logit[None]])

    def size(rows):
        state = engines.solve_distinct(engine, rows, None, Stop(1e-12), True, False).state
        return sum(part.nbytes for part in state)

    alone = [size(row[None]) for row in z]
    assert alone[-1] > 5 * max(alone[:-1])
    assert size(z) == sum(alone)
    assert size(np.concatenate([z, z])) - size(z) == 6 * 4 * 8  # where to find them


def table_of(n, values):
    """(2^n, n): numbers of cells."""
    table = np.zeros((1 << n, n))
    table[tuple(rf.Lattice(n).cells.T)] = values
    return table


def late(monkeypatch, module, after):
    """From the call of this number on, the clock of a module says that the time is up."""
    calls = iter(range(10**9))
    monkeypatch.setattr(module, "clock", lambda: 100.0 if next(calls) >= after else 0.0)
    monkeypatch.setattr(engines, "clock", lambda: 0.0)


@pytest.mark.parametrize("weighted", [False, True])
def test_what_is_late_ends_in_the_model(weighted, monkeypatch, rng):
    cells = Cells(5, None, rng.uniform(0.5, 2.0, 80) if weighted else None)
    engine = engines.find_engine(cells.text, cells.weights.tobytes(), 0.0, 1)
    z = rng.normal(size=(6, 80))
    exact = engine.solve(z, None, Stop(1e-12), True, True)
    in_time = engine.solve(z, None, Stop(1e-12), True, True, 50.0)
    assert (in_time.rho == exact.rho).all()
    late(monkeypatch, lattice, 2)
    monkeypatch.setattr(lattice, "_BRIEF", 3)
    with pytest.warns(RuntimeWarning, match="max_seconds: 4 of 6 different samples ended early") as caught:
        found = engine.solve(z, None, Stop(1e-12), True, True, 50.0)
    assert (found.rho[:2] == exact.rho[:2]).all()
    assert (found.rho[2:] != exact.rho[2:]).any(axis=1).all()
    assert found.flow.min() >= 0
    for rho in found.rho:
        assert rf.is_rum(table_of(5, rho), tol=1e-12)
    w = cells.weights if weighted else 1.0
    error = np.sqrt((w * (found.rho - exact.rho) ** 2).sum(axis=1)).max()
    assert error <= float(str(caught[0].message).split("<= ")[1]) * 1.01
    product, _ = engine.tangent(z.copy(), None, found.state, np.empty((6, 0)), False)
    assert np.isfinite(product).all()
    assert np.abs(product[2:]).max() > 0


@pytest.mark.parametrize("route", ["lattice", "graph"])
def test_many_items_are_late_as_well(route, monkeypatch, rng):
    cells = Cells(9) if route == "lattice" else Cells(30, [(0, 1, 2), (1, 2, 3), (0, 2, 3)])
    engine = engines.find_engine(cells.text, b"", 0.0, 1)
    z = rng.normal(0.3, 0.3, (2, cells.n_cells))
    exact = engine.solve(z, None, Stop(1e-12), False, False).rho
    late(monkeypatch, active_set, 0)
    with pytest.warns(RuntimeWarning, match="2 of 2 different samples") as caught:
        found = engine.solve(z, None, Stop(1e-12), True, False, 50.0)
    error = np.linalg.norm(found.rho - exact, axis=1).max()
    assert 1e-9 < error <= float(str(caught[0].message).split("<= ")[1]) * 1.01
    product, _ = engine.tangent(z.copy(), None, found.state, np.empty((2, 0)), False)
    assert np.isfinite(product).all()
