"""Samples that are nearly rational, with an error that is accepted: within it, in the model, and with a derivative."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the layers are not tested")

import rumflow as rf  # noqa: E402
from rumflow.layers import engines, hand_over  # noqa: E402
from rumflow.solvers.batch.kernels import PATH  # noqa: E402
from rumflow.torch import MenuSoftmax, RUMLayer, project_cells  # noqa: E402

ATOL = 1e-3


def nearly_rational(n, scale, seed=0):
    """(samples, N): logits with noise of these scales."""
    rng = np.random.default_rng(seed)
    cells = rf.Lattice(n).cells
    utility = rng.normal(size=(len(scale), n))[:, cells[:, 1]]
    return MenuSoftmax(n)(torch.tensor(utility + np.array(scale)[:, None] * rng.normal(size=utility.shape)))


def handed_over(layer, z):
    """Which samples were left by the active set."""
    engine = engines.find_engine(layer._cells.text, layer._cells.weights.tobytes(), 0.0, 1)
    stop = engines.Stop(layer.tol, layer.atol**2)
    return engine.solve(z.numpy(), None, stop, True, False).state[0][:, 0] == PATH


@pytest.mark.parametrize("weighted", [False, True])
def test_the_error_is_within_what_is_accepted(weighted):
    z = nearly_rational(8, [1.0, 1e-3, 0.3, 1e-4])
    weights = np.random.default_rng(1).uniform(0.5, 2.0, z.shape[1]) if weighted else np.ones(z.shape[1])
    options = {"weights": weights if weighted else None, "threads": 1, "return_flow": True, "return_distance": True}
    layer = RUMLayer(8, atol=ATOL, **options)
    y, distance, flow = layer(z)
    exact, least, _ = RUMLayer(8, **options)(z)
    assert handed_over(layer, z).tolist() == [False, True, False, True]
    error = (torch.tensor(weights) * (y - exact) ** 2).sum(-1).sqrt()
    assert float(error.max()) <= ATOL
    assert float(error[1]) > 1e-9  # another point than the projection
    assert bool((distance >= least * (1 - 1e-9)).all())
    assert float(flow.min()) >= 0
    for table in layer.to_table(y).numpy():
        assert rf.is_rum(table, tol=1e-12)
    for one in range(4):  # whatever else is in the batch
        assert torch.equal(layer(z[one : one + 1])[0][0], y[one])


def test_the_derivative_is_that_of_the_smoothed_problem():
    z = nearly_rational(8, [1e-3, 1.0, 1e-2]).requires_grad_()
    g = torch.randn(z.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    layer = RUMLayer(8, atol=ATOL, threads=1)
    own, directions = {}, torch.stack([g, 2 * g])
    for name, made in {
        "own": layer,
        "smoothed": RUMLayer(8, smoothing=0.9 * ATOL**2 / 1024, threads=1),
        "exact": RUMLayer(8, threads=1),
    }.items():
        (own[name],) = torch.autograd.grad(made(z), z, g)
    handed = handed_over(layer, z.detach())
    assert handed.tolist() == [True, False, True]
    for i, left in enumerate(handed):
        other = own["smoothed" if left else "exact"][i]
        assert float((own["own"][i] - other).norm() / other.norm()) < 1e-4
    y = layer(z)
    several = torch.autograd.grad(y, z, directions, is_grads_batched=True)[0]
    assert torch.allclose(several[1], 2 * own["own"], atol=1e-4)
    with torch.no_grad():
        assert torch.equal(layer(z), y)


@pytest.mark.slow
def test_many_items_and_missing_menus():
    z = nearly_rational(9, [1e-3, 0.3])
    layer = RUMLayer(9, atol=ATOL, threads=1)
    assert handed_over(layer, z).tolist() == [True, False]
    assert float((layer(z) - RUMLayer(9, threads=1)(z)).norm(dim=-1).max()) <= ATOL
    # Two thirds of the menus, on the lattice.
    rng = np.random.default_rng(0)
    weights = np.where(rng.random(256)[rf.Lattice(8).cells[:, 0]] < 0.67, 1.0, 0.0)
    z = nearly_rational(8, [1e-4]).requires_grad_()
    layer = RUMLayer(8, weights=weights, atol=ATOL, threads=1)
    y, exact = layer(z), RUMLayer(8, weights=weights, threads=1)(z)
    assert float((torch.tensor(weights) * (y - exact).detach() ** 2).sum().sqrt()) <= ATOL
    y.sum().backward()
    assert bool(torch.isfinite(z.grad).all())


def test_what_misses_the_gap_is_left_to_the_active_set(monkeypatch):
    z = nearly_rational(8, [1e-2, 1.0, 1e-2]).requires_grad_()
    handed = hand_over.project_smoothed

    def miss(*args):
        found = handed(*args)
        return found._replace(good=np.array([False, True]))

    monkeypatch.setattr(hand_over, "project_smoothed", miss)
    layer = RUMLayer(8, atol=ATOL, threads=1, return_flow=True)
    y, flow = layer(z)
    exact, exact_flow = RUMLayer(8, tol=1e-12, threads=1, return_flow=True)(z)
    assert float((y - exact).detach()[0].norm()) <= ATOL
    assert float((flow - exact_flow).detach()[0].abs().max()) <= 10 * ATOL
    (own,) = torch.autograd.grad(y.square().sum(), z)
    assert bool(torch.isfinite(own).all())


def test_nothing_is_handed_over_when_the_time_is_up(monkeypatch):
    z = nearly_rational(8, [1e-2, 1.0]).requires_grad_()
    monkeypatch.setattr(hand_over, "clock", lambda: 1e300)
    layer = RUMLayer(8, atol=ATOL, threads=1, max_seconds=1e6)
    with pytest.warns(RuntimeWarning, match="max_seconds: 1 of 2 different samples ended early"):
        y = layer(z)
    assert float((y - RUMLayer(8, threads=1)(z)).detach()[1].norm()) < 1e-9
    for table in layer.to_table(y).detach().numpy():
        assert rf.is_rum(table, tol=1e-12)
    (gradient,) = torch.autograd.grad(y.square().sum(), z)
    assert bool(torch.isfinite(gradient).all())
    assert float(gradient[0].abs().max()) > 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_seconds": 1.0, "smoothing": 0.1}, "omit one|Omit one"),
        ({"atol": 1e-9}, "atol=1e-09"),
        ({"atol": 2.0}, "atol"),
        ({"atol": 1e-3, "smoothing": 0.1}, "omit one"),
    ],
)
def test_what_is_not_accepted(options, words):
    with pytest.raises(rf.InputError, match=words):
        RUMLayer(3, **options)
    with pytest.raises(rf.InputError, match=words):
        project_cells(torch.zeros(12), 3, **options)


def test_starts_and_graphs():
    z = nearly_rational(8, [1e-3, 0.3])
    layer = RUMLayer(8, atol=ATOL, threads=1, warm_start=True)
    first = layer(z)
    assert len(layer.warm) == 1  # the sample that was handed over has no active set
    assert float((layer(z) - first).norm(dim=-1).max()) <= 2 * ATOL
    menus = [(0, 1, 2), (1, 2, 3), (0, 3)]
    z = torch.rand(3, 8, dtype=torch.float64)
    graph = RUMLayer(30, menus=menus, atol=ATOL)
    assert float((graph(z) - RUMLayer(30, menus=menus)(z)).norm(dim=-1).max()) <= ATOL
