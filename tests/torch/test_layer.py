"""What the layer returns: feasible at every scale, in every shape and dtype, with and without menus and weights."""

import os
import subprocess
import sys

import numpy as np
import pytest

import rumflow as rf

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the layer is not tested")

from rumflow.core.transforms import moebius  # noqa: E402
from rumflow.torch import AxiomLayer, MenuSoftmax, RUMLayer, project_cells  # noqa: E402


def assert_rational(y: torch.Tensor, flow: torch.Tensor, n: int, tolerance: float = 1e-12) -> None:
    """Menu sums, signs, and that the flow is the one of the probabilities."""
    lattice = rf.Lattice(n)
    menus = torch.zeros(*y.shape[:-1], lattice.n_menus, dtype=y.dtype)
    menus.index_add_(-1, torch.tensor(lattice.cells[:, 0]), y)
    assert float((menus[..., 1:] - 1).abs().max()) <= tolerance
    assert float(flow.min()) >= 0
    rows = lattice.cells_to_internal(y.reshape(-1, lattice.n_cells).numpy())
    again = np.array([moebius(row) for row in rows])
    assert np.abs(lattice.internal_to_cells(again) - flow.reshape(-1, lattice.n_cells).numpy()).max() <= tolerance


@pytest.mark.slow
def test_outputs_are_rational_at_every_scale() -> None:
    # RUMFLOW_SLOW=1: ten thousand inputs.
    count = 10_000 if os.environ.get("RUMFLOW_SLOW") else 200
    rng = np.random.default_rng(0)
    layer = RUMLayer(8, return_flow=True)
    scale = torch.tensor(10 ** rng.uniform(-3, 3, (count, 1)))
    z = torch.tensor(rng.normal(size=(count, 1024))) * scale
    with torch.no_grad():
        for part in z.split(1000):
            y, flow = layer(part)
            assert_rational(y, flow, 8)
        y, flow = layer(z[:1])
        assert_rational(y, flow, 8)
        assert layer(z[:0])[0].shape == (0, 1024)


def test_it_is_the_projection() -> None:
    rng = np.random.default_rng(1)
    z = rng.normal(0.2, 0.5, (20, 192))
    many = rf.project_many(z, tol=1e-12)
    np.testing.assert_allclose(RUMLayer(6)(torch.tensor(z)).numpy(), many.rho, atol=1e-11)
    assert torch.equal(project_cells(torch.tensor(z), 6), RUMLayer(6)(torch.tensor(z)))


def test_a_batch_is_as_accurate_as_its_members() -> None:
    z = torch.randn(30, 80, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    layer = RUMLayer(5)
    alone = torch.stack([layer(row) for row in z])
    assert torch.equal(layer(z), alone)
    assert torch.equal(RUMLayer(5, threads=1)(z), alone)


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 2), (2, 0, 3), (2, 1, 2)])
@pytest.mark.parametrize("smoothing", [0.0, 1e-2])
def test_shapes(shape: tuple[int, ...], smoothing: float) -> None:
    layer = RUMLayer(3, smoothing=smoothing, return_distance=True, return_flow=True)
    z = torch.rand(*shape, 12, dtype=torch.float64).requires_grad_()
    y, distance, flow = layer(z)
    assert y.shape == flow.shape == (*shape, 12)
    assert distance.shape == shape
    (y.sum() + distance.sum() + flow.sum()).backward()
    assert z.grad is not None
    assert z.grad.shape == z.shape


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_dtypes(dtype: torch.dtype) -> None:
    z = torch.randn(4, 32, generator=torch.Generator().manual_seed(3)).to(dtype).requires_grad_()
    y = RUMLayer(4)(z)
    y.square().sum().backward()
    assert y.dtype == dtype
    assert z.grad is not None
    assert z.grad.dtype == dtype
    assert torch.equal(y, RUMLayer(4)(z.double()).to(dtype))


def test_noncontiguous_input_is_not_touched() -> None:
    z = torch.randn(32, 6, dtype=torch.float64).T
    before = z.clone()
    assert torch.equal(RUMLayer(4)(z), RUMLayer(4)(z.contiguous()))
    assert torch.equal(z, before)


@pytest.mark.parametrize("smoothing", [0.0, 1e-3])
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_is_not_finite_is_named(bad: float, smoothing: float) -> None:
    z = torch.zeros(3, 2, 12)
    z[1, 0, 11] = bad
    with pytest.raises(rf.InputError, match=r"sample \(1, 0\): menu \(0, 1, 2\) \(mask 7\), item 2 is"):
        RUMLayer(3, smoothing=smoothing)(z)
    with pytest.raises(rf.InputError, match="sample 1"):
        RUMLayer(3, smoothing=smoothing)(z[:, 0])
    with pytest.raises(rf.InputError, match="the sample:"):
        RUMLayer(3, smoothing=smoothing)(z[1, 0])


@pytest.mark.parametrize("smoothing", [0.0, 1e-3])
def test_a_bad_row_may_become_nan(smoothing: float) -> None:
    layer = RUMLayer(3, smoothing=smoothing, nonfinite="nan", return_distance=True, return_flow=True)
    z = torch.randn(4, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(12))
    bad = z.clone()
    bad[1, 11], bad[2, 0], bad[2, 1] = float("nan"), float("-inf"), 1e200
    alone, point = z[[0, 3]].clone().requires_grad_(), bad.requires_grad_()
    for part, expected in zip(layer(point), layer(alone), strict=True):
        assert part[1:3].isnan().all()
        assert torch.equal(part[[0, 3]], expected)
    layer(point)[0].nansum().backward()
    layer(point)[0][[0, 3]].square().sum().backward()
    layer(alone)[0].square().sum().backward()
    assert not point.grad[1:3].any()
    assert torch.allclose(point.grad[[0, 3]], alone.grad, atol=1e-12)  # menus add up to 1: nansum has no gradient
    with pytest.raises(rf.InputError, match="nonfinite='skip'"):
        RUMLayer(3, nonfinite="skip")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_inputs_may_have_float32_outputs(dtype: torch.dtype) -> None:
    z = torch.randn(8, 32, generator=torch.Generator().manual_seed(13)).to(dtype).requires_grad_()
    half, single = RUMLayer(4)(z), RUMLayer(4, out_dtype=torch.float32)(z)
    assert single.dtype == torch.float32
    cells = rf.Lattice(4).cells

    def worst(y: torch.Tensor) -> float:
        sums = torch.zeros(8, 16, dtype=torch.float64)
        return float((sums.index_add(1, torch.tensor(cells[:, 0]), y.detach().double())[:, 1:] - 1).abs().max())

    assert worst(single) < 4e-7
    assert 1e-4 < worst(half) < 1e-2
    (gradient,) = torch.autograd.grad(single.square().sum(), z)
    assert gradient.dtype == dtype
    assert torch.allclose(
        gradient.double(), torch.func.grad(lambda z: RUMLayer(4)(z).square().sum())(z.double()), atol=2e-2
    )
    with torch.autocast("cpu", torch.bfloat16):
        assert (
            torch.nn.Sequential(torch.nn.Linear(3, 32), RUMLayer(4, out_dtype=torch.float32))(torch.zeros(2, 3)).dtype
            == torch.float32
        )
    with pytest.raises(rf.InputError, match="out_dtype"):
        RUMLayer(4, out_dtype=torch.int64)


@pytest.mark.parametrize("scale", [1e8, 1e12, 1e100])
def test_large_inputs_are_right(scale: float) -> None:
    """So far away the projection is the best ranking (one vertex), which stays the same from there on."""
    z = torch.randn(5, 32, dtype=torch.float64, generator=torch.Generator().manual_seed(14))
    y, flow = RUMLayer(4, return_flow=True)(scale * z)
    assert_rational(y, flow, 4)
    assert torch.equal(y, y.round())
    assert torch.equal(y, RUMLayer(4)(1e4 * z).round())


def test_wrong_input_is_refused() -> None:
    layer = RUMLayer(3)
    with pytest.raises(rf.InputError, match="12 cells"):
        layer(torch.zeros(4, 11))
    with pytest.raises(rf.InputError, match="floating"):
        layer(torch.zeros(12, dtype=torch.int64))
    with pytest.raises(rf.InputError, match="index"):
        layer(torch.zeros(4, 12), index=torch.arange(3))
    with pytest.raises(rf.InputError, match="index: a tensor of whole numbers"):
        layer(torch.zeros(4, 12), index=torch.ones(4, dtype=torch.bool))
    for options, message in (
        ({"menus": [0]}, "mask"),
        ({"menus": [9]}, "mask"),
        ({"menus": [[0, 5]]}, "item 5"),
        ({"menus": [[]]}, "at least one item"),
        ({"menus": []}, "at least one menu"),
        ({"menus": [3, [1, 0]]}, "twice"),
        ({"weights": np.ones(11)}, "12 cells"),
        ({"weights": -np.ones(12)}, "finite and 0 or more"),
        ({"weights": np.zeros(12)}, "every weight is 0"),
        ({"smoothing": -1.0}, "smoothing"),
        ({"smoothing": float("nan")}, "smoothing"),
        ({"tol": 0.0}, "tol"),
    ):
        with pytest.raises(rf.InputError, match=message):
            RUMLayer(3, **options)


def test_menus_and_weights_give_the_weighted_projection() -> None:
    rng = np.random.default_rng(4)
    menus = [[0, 1, 2], [2, 3], 0b1111, [1, 3]]
    layer = RUMLayer(4, menus=menus, all_menus=True)
    assert layer.cells.tolist()[:5] == [[7, 0], [7, 1], [7, 2], [12, 2], [12, 3]]
    z = rng.normal(0.3, 0.3, (5, len(layer.cells)))
    w = np.zeros((16, 4))
    full = np.zeros((5, 16, 4))
    w[layer.cells[:, 0], layer.cells[:, 1]] = 1.0
    full[:, layer.cells[:, 0], layer.cells[:, 1]] = z
    many = rf.project_many(full, w, tol=1e-12)
    y = layer(torch.tensor(z)).numpy()
    read = w[layer.output_cells[:, 0], layer.output_cells[:, 1]] > 0
    expected = many.rho[:, layer.output_cells[:, 0], layer.output_cells[:, 1]]
    np.testing.assert_allclose(y[:, read], expected[:, read], atol=1e-10)
    small = RUMLayer(4, menus=menus)(torch.tensor(z)).numpy()
    order = [layer.output_cells.tolist().index(cell) for cell in layer.cells.tolist()]
    np.testing.assert_allclose(small, y[:, order], atol=1e-14)
    assert RUMLayer(4, menus=menus, weights=w).extra_repr() == "n=4, cells=11, weighted"


def test_more_than_eight_items() -> None:
    z = torch.randn(2, 9 << 8, dtype=torch.float64, generator=torch.Generator().manual_seed(7)).requires_grad_()
    layer = RUMLayer(9, return_flow=True, warm_start=True)
    y, flow = layer(z)
    assert_rational(y.detach(), flow.detach(), 9)
    g = torch.randn(y.shape, dtype=y.dtype, generator=torch.Generator().manual_seed(8))
    (gradient,) = torch.autograd.grad(y, z, g)
    many = rf.project_many(z.detach().numpy(), tol=1e-12)
    np.testing.assert_allclose(gradient.numpy(), many.vjp(g.numpy()), atol=1e-10)
    assert torch.allclose(layer(z)[0], y, atol=1e-11)


def test_derivatives_where_the_interior_point_method_stopped() -> None:
    """A nearly rational sample: the face has more than a thousand rankings, and the interior point method is quicker."""
    rng = np.random.default_rng(0)
    lattice = rf.Lattice(9)
    utility = rng.normal(size=9)[lattice.cells[:, 1]] + 3e-3 * rng.normal(size=lattice.n_cells)
    z = MenuSoftmax(9)(torch.tensor(utility)).requires_grad_()

    def table_of(values):
        table = np.zeros(lattice.shape)
        table[tuple(lattice.cells.T)] = values
        return table

    fit = rf.project(table_of(z.detach().numpy()), method="rankings", tol=1e-12)
    many = rf.project_many(z.detach().numpy()[None], tol=1e-12)
    assert many[0].method == "ipm"
    g = rng.normal(size=lattice.n_cells)
    y = RUMLayer(9)(z)
    (gradient,) = torch.autograd.grad(y, z, torch.tensor(g))
    expected = fit.vjp(table_of(g))[tuple(lattice.cells.T)]
    assert gradient.numpy() == pytest.approx(expected, abs=1e-6)
    assert many.vjp(g[None])[0] == pytest.approx(expected, abs=1e-6)
    assert np.linalg.norm(expected) < 0.9 * np.linalg.norm(g - g.mean())  # not all directions


def test_rumflow_does_not_need_torch() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import rumflow\n"
        "try:\n    import rumflow.torch\nexcept ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "rumflow[torch]"' in done.stdout


def test_huge_inputs_of_the_layer():
    torch = pytest.importorskip("torch")
    from rumflow.torch import RUMLayer

    z = torch.randn(4, 80, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    layer = RUMLayer(5)
    for scale in (1e9, 1e12, 1e15):
        assert torch.allclose(layer(scale * z), layer(1e6 * z), atol=1e-6)
    # Thirty items with small menus take a graph, and the lattice only where it is asked for, with a clear error.
    few = RUMLayer(30, menus=[3, 12, 48])
    assert torch.allclose(
        few(torch.tensor([1.0, 0.0, 0.5, 0.5, 2.0, 1.0])), torch.tensor([1.0, 0.0, 0.5, 0.5, 1.0, 0.0])
    )
    with pytest.raises(rf.InputError, match="30"):
        RUMLayer(30)


def test_layers_want_tensors():
    pytest.importorskip("torch")
    from rumflow.torch import RUMLayer

    with pytest.raises(rf.InputError, match="tensor of PyTorch is needed"):
        RUMLayer(3)(np.ones((2, 12)))


@pytest.mark.parametrize(
    "make",
    [
        lambda eps: RUMLayer(3, support=eps),
        lambda eps: RUMLayer(4, [[1, 2], [0, 3], [2], [0, 1, 2]], support=eps, return_distance=True),
        lambda eps: RUMLayer(3, [7, 3], all_menus=True, support=eps),
        lambda eps: AxiomLayer(rf.SinglePeaked(range(4)), [[1, 2], [2], [0, 3], [0, 1, 2]], support=eps),
    ],
)
def test_support_keeps_probabilities_in_the_model_and_away_from_zero(make):
    plain, mixed = make(0.0), make(0.1)
    z = torch.zeros(1, len(plain.cells), dtype=torch.float64)
    z[0, 0] = 3.0
    first, second = (out[0] if isinstance(out, tuple) else out for out in (plain(z), mixed(z)))
    inner = (second - 0.9 * first) / 0.1
    assert float(second.min()) > 0
    sums = mixed.to_table(second).sum(-1)
    assert torch.allclose(sums[sums > 0], torch.ones_like(sums[sums > 0]))
    # The inner point is of the model: projecting it changes nothing.
    if mixed.cells.shape == mixed.output_cells.shape:
        again = plain(inner)
        assert torch.allclose(again[0] if isinstance(again, tuple) else again, inner, atol=1e-9)
    assert "support=0.1" in repr(mixed)
    with pytest.raises(rf.InputError, match="support"):
        make(1.0)
