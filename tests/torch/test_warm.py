"""Warm starts change nothing but time."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the layer is not tested")

import rumflow as rf  # noqa: E402
from rumflow.torch import RUMLayer, WarmStarts  # noqa: E402


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
