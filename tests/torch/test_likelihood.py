"""The likelihood of single choices under a layer."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the layer is not tested")

import rumflow as rf  # noqa: E402
from rumflow.layers import engines  # noqa: E402
from rumflow.torch import AxiomLayer, ChoiceLikelihood, RUMLayer  # noqa: E402

LAYERS = {
    "all menus": lambda: RUMLayer(3),
    "menus": lambda: RUMLayer(4, [[1, 2], [0, 3], [0, 1, 2]], return_distance=True),
    "written in full": lambda: RUMLayer(3, [7, 3], all_menus=True),
    "model": lambda: AxiomLayer(rf.SinglePeaked(range(4)), [[1, 2], [0, 3], [0, 1, 2]]),
    "smoothed": lambda: RUMLayer(3, smoothing=1e-2),
}


def plain(likelihood, z, menu, choice):
    """The definition, one choice at a time."""
    layer, total = likelihood.layer, 0.0
    listed = layer.cells.tolist()
    menus = list(dict.fromkeys(cell[0] for cell in listed))
    for row, j, item in zip(z, menu.tolist(), choice.tolist(), strict=True):
        name = j if layer._cells.reads_all else menus[j]
        out = layer(row)
        y = (out[0] if isinstance(out, tuple) else out)[layer.output_cells.tolist().index([name, item])]
        own = [i for i, cell in enumerate(listed) if cell[0] == name]
        raw = float(row[listed.index([name, item])] - (row[own].sum() - 1) / len(own))
        raw = raw if raw <= 0.5 else 1 - 1 / (4 * raw)
        a = float(y) * (1 - likelihood.mix) + likelihood.mix * raw
        floor = likelihood.floor
        total += -math.log(a) if a > floor else -math.log(floor) + (floor - a) / floor
    return total / len(z)


def draw(layer, rng, count=12):
    cell = rng.integers(len(layer.cells), size=count)
    number, _, _ = layer._cells.menu_numbers()
    z = torch.tensor(rng.normal(0.4, 0.5, (count, len(layer.cells))))
    return z, torch.tensor(number[cell]), torch.tensor(layer.cells[cell, 1])


@pytest.mark.parametrize("name", LAYERS)
def test_it_is_the_mean_of_the_definition(name, rng):
    for mix in (0.0, 0.02, 0.5):
        likelihood = ChoiceLikelihood(LAYERS[name](), mix=mix)
        z, menu, choice = draw(likelihood.layer, rng)
        assert float(likelihood(z, menu, choice)) == pytest.approx(plain(likelihood, z, menu, choice), abs=1e-9)
        apart = likelihood(z.reshape(3, 4, -1), menu.reshape(3, 4), choice.reshape(3, 4))
        assert float(apart) == pytest.approx(float(likelihood(z, menu, choice)))
        for dtype in (torch.float32, torch.bfloat16):
            assert likelihood(z.to(dtype), menu, choice).dtype == dtype


@pytest.mark.parametrize("name", LAYERS)
def test_its_gradient(name, rng):
    likelihood = ChoiceLikelihood(LAYERS[name]())
    z, menu, choice = draw(likelihood.layer, rng, 2)
    assert torch.autograd.gradcheck(
        lambda point: likelihood(point, menu, choice), (z.requires_grad_(),), eps=1e-7, atol=1e-5, check_forward_ad=True
    )


def test_a_choice_the_projection_rules_out_is_learnt():
    """The loss is finite and its gradient leads out of the zero."""
    likelihood = ChoiceLikelihood(RUMLayer(3))
    z = torch.zeros(1, 12, dtype=torch.float64)
    z[0, [0, 1, 2, 4, 5, 6, 9]] = torch.tensor([1.0, 1.0, 3.0, 1.0, 3.0, 1.0, 3.0], dtype=torch.float64)
    z.requires_grad_()
    menu, choice = torch.tensor([7]), torch.tensor([2])
    at = rf.Lattice(3).cells.tolist().index([7, 2])
    assert float(likelihood.layer(z.detach())[0, at]) == 0.0
    first = likelihood(z, menu, choice)
    assert torch.isfinite(first)
    optimiser = torch.optim.SGD([z], lr=0.05)
    for _ in range(400):
        optimiser.zero_grad()
        loss = likelihood(z, menu, choice)
        loss.backward()
        assert torch.isfinite(loss)
        assert float(z.grad.abs().sum()) > 0
        optimiser.step()
    assert float(likelihood.layer(z.detach())[0, at]) > 0.1


def test_what_is_no_choice_is_named():
    layer = RUMLayer(3, [3, 7])
    likelihood = ChoiceLikelihood(layer)
    z = torch.zeros(2, 5)
    for menu, choice, message in (([0, 2], [0, 0], "choice 1: item 0 of menu 2"), ([0, 0], [2, 1], "choice 0: item 2"),
                                  ([1, 0], [0, 3], "choice 1: item 3"), ([0], [0], "one number for each")):  # fmt: skip
        with pytest.raises(rf.InputError, match=message):
            likelihood(z, torch.tensor(menu), torch.tensor(choice))
    for options in ({"mix": 1.0}, {"floor": 0.0}):
        with pytest.raises(rf.InputError):
            ChoiceLikelihood(layer, **options)
    assert "mix=0.02" in repr(likelihood)
    assert np.isfinite(float(likelihood(z.half(), torch.tensor([0, 1]), torch.tensor([0, 2]))))


@pytest.mark.parametrize("name", LAYERS)
def test_rows_that_are_the_same_are_projected_once(name, rng, monkeypatch):
    """With the same probabilities and gradients as one at a time, in every row."""
    layer = LAYERS[name]()
    seen = []
    for kind in (engines.ExactEngine, engines.SmoothedEngine):

        def solve(self, z, *rest, own=kind.solve):
            seen.append(len(z))
            return own(self, z, *rest)

        monkeypatch.setattr(kind, "solve", solve)
    few = torch.tensor(rng.normal(0.4, 0.5, (3, len(layer.cells))))
    rows = torch.tensor([2, 0, 0, 1, 2, 2])
    z = few[rows].requires_grad_()
    out = layer(z)
    y = out[0] if isinstance(out, tuple) else out
    assert seen == [3]
    g = torch.tensor(rng.normal(size=y.shape))
    (gradient,) = torch.autograd.grad(y, z, g)
    for i in range(len(rows)):
        one = few[rows[i]].requires_grad_()
        alone = layer(one)
        alone = alone[0] if isinstance(alone, tuple) else alone
        assert y[i].tolist() == pytest.approx(alone.tolist(), abs=1e-12)
        assert gradient[i].tolist() == pytest.approx(torch.autograd.grad(alone, one, g[i])[0].tolist(), abs=1e-9)


def test_rows_that_are_the_same_keep_a_start_each(rng):
    layer = RUMLayer(3, warm_start=True)
    z, index = torch.tensor(rng.normal(0.4, 0.5, (2, 12)))[[0, 1, 0]], torch.arange(3)
    first = layer(z, index)
    assert len(layer.warm) == 3
    assert layer(z, index).flatten().tolist() == pytest.approx(first.flatten().tolist(), abs=1e-12)


def test_what_is_no_layer_and_no_tensor_is_named():
    with pytest.raises(rf.InputError, match="an AxiomLayer or RUMLayer is needed, not Linear"):
        ChoiceLikelihood(torch.nn.Linear(3, 3))
    loss = ChoiceLikelihood(RUMLayer(3))
    z = torch.zeros(1, 12, dtype=torch.float64)
    with pytest.raises(rf.InputError, match="menu: a tensor of whole numbers is needed, not list"):
        loss(z, [3], torch.tensor([0]))
    with pytest.raises(rf.InputError, match=r"item 2 of menu 3 is no cell of the layer; a menu is its bit mask"):
        loss(z, torch.tensor([3]), torch.tensor([2]))
