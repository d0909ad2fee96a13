"""What the layer returns: feasible at every scale, in every shape and dtype, with and without menus and weights."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the layer is not tested")

import rumflow as rf  # noqa: E402
from rumflow.core.transforms import moebius  # noqa: E402
from rumflow.torch import ConflictMonitor, MenuSoftmax, RUMLayer, WarmStarts, project_cells  # noqa: E402
from rumflow.torch.cells import Cells  # noqa: E402


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


def test_warm_start_changes_nothing_but_time() -> None:
    generator = torch.Generator().manual_seed(5)
    for smoothing in (0.0, 1e-3):
        layer, cold = RUMLayer(6, smoothing=smoothing, warm_start=True), RUMLayer(6, smoothing=smoothing)
        z = torch.randn(10, 192, dtype=torch.float64, generator=generator)
        assert layer.warm is not None
        for _ in range(4):
            z += 1e-2 * torch.randn(z.shape, dtype=z.dtype, generator=generator)
            order = torch.randperm(10, generator=generator)
            a, b = z[order].clone().requires_grad_(), z[order].clone().requires_grad_()
            y, expected = layer(a, index=order), cold(b)
            assert torch.allclose(y, expected, atol=1e-10)
            y.square().sum().backward()
            expected.square().sum().backward()
            assert torch.allclose(a.grad, b.grad, atol=1e-8)
        assert len(layer.warm) == 10
        assert 0 < layer.warm.bytes < 10 * 100_000
        layer.warm.clear()
        layer.eval()
        layer(z)  # by position only in training
        assert len(layer.warm) == 0


def test_samples_without_numbers_are_found_again() -> None:
    """In shuffled batches within an nn.Sequential: the same sample a little further is known, another one is not."""
    generator = torch.Generator().manual_seed(21)
    layer = RUMLayer(6, warm_start=True)
    model = torch.nn.Sequential(torch.nn.Identity(), layer)
    warm = layer.warm
    assert warm is not None
    z = torch.randn(40, 192, dtype=torch.float64, generator=generator)
    found = []
    original = warm.find
    warm.find = lambda rows, keys: found.append(original(rows, keys)) or found[-1]  # type: ignore[method-assign]
    for part in z.split(10):
        model(part)
    assert all(start is None for _, starts, _ in found for start in starts)
    assert len(warm) == 40
    names = [name for own, _, _ in found for name in own]
    found.clear()
    order = torch.randperm(40, generator=generator)
    moved = z + 1e-2 * torch.randn(z.shape, dtype=z.dtype, generator=generator)
    for part in moved[order].split(10):
        assert torch.allclose(model(part), RUMLayer(6)(part), atol=1e-10)
    again = [name for own, _, _ in found for name in own]
    assert again == [names[i] for i in order.tolist()]
    assert all(start is not None for _, starts, _ in found for start in starts)
    assert len(warm) == 40
    # Two alike in one batch are not taken for one; with numbers a sample that has moved far starts anew.
    found.clear()
    model(moved[:1].expand(2, -1))
    assert len(set(found[0][0])) == 2
    layer(z[:1], index=torch.tensor([7]))
    layer(z[1:2], index=torch.tensor([7]))
    assert found[-1][1] == [None]
    layer(1e149 * z[:1])  # squares overflow: no start, no warning


def test_warm_starts_are_bounded() -> None:
    layer = RUMLayer(5, warm_start=True, warm_bytes=20_000)
    layer(torch.randn(50, 80, dtype=torch.float64, generator=torch.Generator().manual_seed(6)))
    assert layer.warm is not None
    assert 0 < len(layer.warm) < 50
    assert layer.warm.bytes <= 20_000
    with pytest.raises(rf.InputError, match="max_bytes"):
        WarmStarts(0)


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


def test_the_head_is_a_softmax_in_every_menu() -> None:
    head = MenuSoftmax(4)
    logits = torch.randn(3, 32, generator=torch.Generator().manual_seed(9))
    p = head(logits)
    lattice = rf.Lattice(4)
    for mask in range(1, 16):
        own = torch.tensor(lattice.cells[:, 0] == mask)
        assert torch.allclose(p[:, own], logits[:, own].softmax(-1))
    some = MenuSoftmax(4, menus=[[1, 2], [0, 1, 2, 3]])
    assert torch.allclose(some(logits[:, :6])[:, :2], logits[:, :2].softmax(-1))
    assert head(logits.half()).dtype == torch.float16
    with pytest.raises(rf.InputError, match="32 cells"):
        head(logits[:, 1:])
    assert torch.isfinite(head(1e4 * logits)).all()


def test_the_monitor_flags_what_is_far_off() -> None:
    generator = torch.Generator().manual_seed(10)
    monitor = ConflictMonitor(threshold=5.0, warmup=100)
    squares = torch.rand(10, 50, generator=generator) + 1.0
    for row in squares:
        report = monitor(row)
        assert not report.outlier.any()
    distance = squares.reshape(-1).double().sqrt()
    assert abs(report.mean - float(distance.mean())) < 1e-7
    assert abs(report.std - float(distance.std(correction=0))) < 1e-7
    report = monitor(torch.tensor([1.5, 100.0, float("nan")]))
    assert report.outlier.tolist() == [False, True, True]
    assert int(monitor.flagged) == 2
    again = ConflictMonitor(threshold=5.0, warmup=100)
    again.load_state_dict(monitor.state_dict())
    assert int(again.count) == 501
    again.reset()
    assert int(again.count) == 0
    moving = ConflictMonitor(momentum=0.5)
    moving(torch.ones(4))
    assert moving(torch.full((4,), 4.0)).mean == 1.5
    assert "seen=8" in repr(moving)
    for options in ({"threshold": 0.0}, {"momentum": 2.0}):
        with pytest.raises(rf.InputError):
            ConflictMonitor(**options)


def test_a_lasting_shift_does_not_silence_the_monitor() -> None:
    generator = torch.Generator().manual_seed(11)
    monitor = ConflictMonitor(threshold=5.0, warmup=100)
    monitor(torch.rand(200, generator=generator) + 1.0)
    mean, std = float(monitor.mean), float(monitor.std)
    for _ in range(50):
        report = monitor(torch.rand(40, generator=generator) + 100.0)
        assert report.outlier.all()
    assert (report.mean, report.std) == (mean, std)
    assert int(monitor.flagged) == 2000
    assert float(monitor.largest) > 10
    monitor.eval()
    before = {name: value.clone() for name, value in monitor.state_dict().items()}
    assert monitor(torch.tensor([1.5, 400.0])).outlier.tolist() == [False, True]
    assert all(torch.equal(value, before[name]) for name, value in monitor.state_dict().items())


def test_the_monitor_keeps_its_precision_and_writes_json() -> None:
    monitor = ConflictMonitor(warmup=1).half()
    monitor(torch.full((3,), 1e-4, dtype=torch.float16))
    assert monitor.mean.dtype == torch.float64
    assert float(monitor.mean) == pytest.approx(1e-2, rel=1e-3)
    report = monitor(torch.tensor([1e-4, float("inf")]))
    told = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert told["distance"][1] is None
    assert told["outlier"] == [False, True]
    assert set(told) == {"distance", "score", "outlier", "mean", "std"}


def test_cells_need_no_layer() -> None:
    cells = Cells(3, [[0, 1], [0, 1, 2]], None)
    y, distance = project_cells(torch.tensor([0.9, 0.1, 0.2, 0.7, 0.1]), cells, return_distance=True)
    assert y.shape == (5,)
    assert float(distance) > 0


def test_rumflow_does_not_need_torch() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import rumflow\n"
        "try:\n    import rumflow.torch\nexcept ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "rumflow[torch]"' in done.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tol": 5.0}, "tol=5.0"),
        ({"tol": float("nan")}, "tol=nan"),
        ({"smoothing": -0.1}, "smoothing=-0.1"),
        ({"smoothing": float("nan")}, "smoothing=nan"),
        ({"nonfinite": "nna"}, "nonfinite='nna'"),
        ({"out_dtype": torch.int64}, "out_dtype"),
        ({"index": torch.tensor([0.5, 0.7])}, "whole numbers"),
        ({"index": [0, 1]}, "whole numbers"),
    ],
)
def test_options_of_the_function_are_checked(options, words):
    from rumflow.torch import project_cells

    with pytest.raises(rf.InputError, match=words):
        project_cells(torch.rand(2, 12, dtype=torch.float64), 3, **options)
