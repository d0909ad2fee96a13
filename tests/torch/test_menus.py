"""Probabilities by masks: the cell of every choice, rows of menus, tables; for few and for many items."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the layer is not tested")

import rumflow as rf  # noqa: E402
from rumflow.torch import AxiomLayer, ChoiceLikelihood, FlowRUM, RUMLayer  # noqa: E402

MANY = [(0, 70), (3, 5, 66), (66, 70), (0, 3)]
LAYERS = {
    "all menus": lambda: RUMLayer(3),
    "menus": lambda: RUMLayer(4, [[1, 2], [0, 3], [0, 1, 2]]),
    "written in full": lambda: RUMLayer(3, [7, 3], all_menus=True),
    "model": lambda: AxiomLayer(rf.SinglePeaked(range(4)), [[1, 2], [0, 3], [0, 1, 2]]),
    "flow": lambda: FlowRUM(3),
    "flow of menus": lambda: FlowRUM.of(None, [[1, 2], [0, 3], [0, 1, 2]], 4),
    "many items": lambda: RUMLayer(71, MANY),
}


def written(layer):
    """Menus as tuples of items, and the number of the cell of each item, from the list of cells."""
    cells = layer.output_cells if hasattr(layer, "output_cells") else layer.cells
    menus = {}
    for i, (menu, item) in enumerate(cells.tolist()):
        menus.setdefault(menu, {})[item] = i
    return menus


@pytest.mark.parametrize("name", LAYERS)
def test_at_and_to_table_against_the_list_of_cells(name) -> None:
    layer = LAYERS[name]()
    menus = written(layer)
    rng = np.random.default_rng(0)
    y = torch.tensor(rng.random((2, sum(map(len, menus.values())))))
    table = layer.to_table(y)
    all_menus = name in ("all menus", "written in full", "flow")
    assert table.shape == (2, 2**layer.n if all_menus else len(menus), layer.n)
    kept = np.zeros(table.shape, bool)
    for row, (menu, items) in enumerate(menus.items()):
        available = torch.zeros(2, layer.n, dtype=torch.bool)
        available[:, list(items)] = True
        own = layer.at(y, available)
        for item, cell in items.items():
            choice = torch.tensor([item, item])
            assert torch.equal(layer.at(y, available=available, choice=choice), y[:, cell])
            assert torch.equal(own[:, item], y[:, cell])
            place = (slice(None), menu if all_menus else row, item)
            assert torch.equal(table[place], y[:, cell])
            kept[place] = True
        assert float(own[~available].abs().sum()) == 0
    assert float(table[torch.from_numpy(~kept)].abs().sum()) == 0
    # A menu per sample, with gradients.
    y.requires_grad_()
    first, *_, last = menus.values()
    available = torch.zeros(2, layer.n, dtype=torch.bool)
    available[0, list(first)], available[1, list(last)] = True, True
    chosen = layer.at(y, available, torch.tensor([min(first), max(last)]))
    gradient = torch.autograd.grad(chosen.sum(), y)[0]
    assert gradient.nonzero().tolist() == [[0, first[min(first)]], [1, last[max(last)]]]


@pytest.mark.parametrize("name", ["all menus", "menus", "model"])
def test_the_likelihood_takes_masks(name, rng) -> None:
    layer = LAYERS[name]()
    likelihood = ChoiceLikelihood(layer)
    number, _, _ = layer._cells.menu_numbers()
    cell = rng.integers(len(layer.cells), size=6)
    available = torch.zeros(6, layer.n, dtype=torch.bool)
    for i, c in enumerate(cell):
        available[i, layer.cells[number == number[c], 1].astype(np.int64)] = True
    z = torch.tensor(rng.normal(0.4, 0.5, (6, len(layer.cells))))
    choice = torch.tensor(layer.cells[cell, 1].astype(np.int64))
    by_number = likelihood(z, torch.tensor(number[cell]), choice)
    assert torch.equal(likelihood(z, available=available, choice=choice), by_number)
    low = likelihood(z.float(), available=available, choice=choice)
    assert low.dtype == torch.float32
    assert low == pytest.approx(float(by_number), abs=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda layer, y, m, c: layer.at(y, m.double(), c), "tensor of bool with 4 items"),
        (lambda layer, y, m, c: layer.at(y, m[:, :3], c), "tensor of bool with 4 items"),
        (lambda layer, y, m, c: layer.at(y, m[:1], c), "a row and a number for each of"),
        (lambda layer, y, m, c: layer.at(y, ~m, c), r"the menu \(1, 3\) of sample 0 is none"),
        (lambda layer, y, m, c: layer.at(y, m, c + 2), "choice 1: item 4"),
        (lambda layer, y, m, c: layer.to_table(y[:, 1:]), "7 cells"),
        (lambda layer, y, m, c: ChoiceLikelihood(layer)(y, choice=c), "one of the two is needed"),
        (lambda layer, y, m, c: ChoiceLikelihood(layer)(y, c, c, available=m), "one of the two is needed"),
        (lambda layer, y, m, c: ChoiceLikelihood(layer)(y, available=m), "choice: a tensor"),
    ],
)
def test_what_is_not_accepted(call, message) -> None:
    layer = RUMLayer(4, [[1, 2], [0, 2], [0, 1, 3]])
    available = torch.tensor([[True, False, True, False], [False, True, True, False]])
    y = torch.full((2, 7), 0.5, dtype=torch.float64)
    with pytest.raises(rf.InputError, match=message):
        call(layer, y, available, torch.tensor([0, 2]))
