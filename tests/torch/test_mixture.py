"""Mixtures of logits: against the sum written out, with masks, NaN and huge utilities."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the layer is not tested")

import rumflow as rf  # noqa: E402
from rumflow.torch import MixtureRUM  # noqa: E402


def random_inputs(samples=5, parts=3, n=4, seed=0):
    own = torch.Generator().manual_seed(seed)
    utilities = torch.randn(samples, parts, n, generator=own, dtype=torch.float64)
    shares = torch.randn(samples, parts, generator=own, dtype=torch.float64)
    mask = torch.rand(samples, n, generator=own) < 0.5
    mask[:, 0] = True
    return utilities, shares, mask


def test_the_sum_written_out() -> None:
    utilities, shares, mask = random_inputs()
    logp = MixtureRUM(3)(utilities, shares, mask)
    for i in range(5):
        s = np.exp(shares[i].numpy()) / np.exp(shares[i].numpy()).sum()
        for x in range(4):
            if not mask[i, x]:
                assert logp[i, x] == -torch.inf
                continue
            e = np.exp(utilities[i].numpy())
            value = sum(s[k] * e[k, x] / e[k, mask[i].numpy()].sum() for k in range(3))
            assert logp[i, x].exp().item() == pytest.approx(value, abs=1e-14)
    assert torch.allclose(MixtureRUM(3)(utilities, shares), MixtureRUM(3)(utilities, shares, torch.ones(5, 4) > 0))


def test_one_population_for_all_menus_is_a_random_utility_model() -> None:
    utilities, shares, _ = random_inputs(1)
    masks = torch.tensor([[bool(menu >> x & 1) for x in range(4)] for menu in range(1, 16)])
    rho = MixtureRUM(3)(utilities, shares, masks).exp().numpy()
    assert rf.is_rum(np.vstack([np.zeros(4), rho]), tol=1e-14)


def test_a_menu_of_one_item_is_certain_and_absent_items_are_not_read() -> None:
    utilities, shares, _ = random_inputs()
    mask = torch.tensor([[False, True, False, False]]).expand(5, 4)
    broken = torch.where(mask[:, None], utilities, torch.nan).requires_grad_()
    shares.requires_grad_()
    logp = MixtureRUM(3)(broken, shares, mask)
    assert torch.allclose(logp[:, 1], torch.zeros(5, dtype=torch.float64), atol=1e-15)
    for gradient in torch.autograd.grad(logp[:, 1].sum(), (broken, shares)):
        assert torch.isfinite(gradient).all()
        assert gradient.abs().max() < 1e-14


@pytest.mark.parametrize("scale", [1e4, -1e4])
def test_gradients_are_finite_at_huge_utilities(scale) -> None:
    utilities, shares, mask = random_inputs()
    utilities, shares = (scale * utilities).requires_grad_(), shares.requires_grad_()
    logp = MixtureRUM(3)(utilities, shares, mask)
    for gradient in torch.autograd.grad(logp[mask].sum(), (utilities, shares)):
        assert torch.isfinite(gradient).all()
        assert (gradient.abs() <= 20).all()


def test_derivatives_and_transforms() -> None:
    utilities, shares, mask = random_inputs(2)
    layer = MixtureRUM(3)
    own = (utilities.requires_grad_(), shares.requires_grad_())
    assert torch.autograd.gradcheck(lambda u, s: layer(u, s, mask)[mask], own)
    mapped = torch.func.vmap(layer)(utilities.detach(), shares.detach(), mask)
    assert torch.equal(mapped, layer(utilities, shares, mask))
    assert layer.to("meta")(utilities.to("meta"), shares.to("meta"), mask.to("meta")).shape == (2, 4)
    assert repr(layer) == "MixtureRUM(parts=3)"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda u, s, m: (u[:, :2], s, m), "utilities: the last two axes must run over the 3 parts"),
        (lambda u, s, m: (u, s[:, :2], m), "shares: the last axis must run over the 3 parts"),
        (lambda u, s, m: (u, s, m[:, :2]), "mask: the last axis must run over the 4 items"),
        (lambda u, s, m: (u, s, m.double()), "mask: a tensor of bool"),
        (lambda u, s, m: (u.long(), s, m), "utilities: a floating point tensor"),
        (lambda u, s, m: (u, s, m & (torch.arange(5) != 3)[:, None]), "mask: sample 3 has no item available"),
    ],
)
def test_what_is_not_accepted(change, message) -> None:
    with pytest.raises(rf.InputError, match=message):
        MixtureRUM(3)(*change(*random_inputs()))
    with pytest.raises(rf.InputError, match="parts"):
        MixtureRUM(0)
