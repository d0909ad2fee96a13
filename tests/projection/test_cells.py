"""Projections of recorded cells: numbers of cells, graphs built once per worker."""

import pickle

import numpy as np
from rumflow.projection.cells import CellProjector, cell_numbers

import rumflow as rf
from rumflow.inference import Convention
from rumflow.inference.sample import build_sample
from rumflow.projection import cells
from tests.reference.samples import incomplete


def test_cell_numbers():
    lattice = rf.Lattice(5)
    mask, item = lattice.cells.T
    assert (cell_numbers(5, mask, item) == np.arange(lattice.n_cells)).all()


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
