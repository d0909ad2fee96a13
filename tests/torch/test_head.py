"""The head is a softmax in every menu."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the layer is not tested")

import rumflow as rf  # noqa: E402
from rumflow.torch import MenuSoftmax  # noqa: E402


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


def test_the_head_is_made_in_full_on_the_meta_device() -> None:
    with torch.device("meta"):
        head = MenuSoftmax(3, menus=[(0, 1), (0, 1, 2)])
    assert torch.allclose(head(torch.zeros(5)), torch.tensor([1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 3]))


def test_whole_numbers_are_refused() -> None:
    with pytest.raises(rf.InputError, match=r"logits: a floating point tensor of PyTorch is needed, not torch\.int64"):
        MenuSoftmax(2)(torch.zeros(4, dtype=torch.int64))
