"""Constant tables survive whatever is done to the state of a module."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the layers are not tested")

from torch import nn  # noqa: E402

from rumflow.torch import FlowRUM, MenuSoftmax, RUMLayer  # noqa: E402

HEADS = {
    "softmax": lambda: nn.Sequential(nn.Linear(4, 12), MenuSoftmax(3)),
    "projection": lambda: nn.Sequential(nn.Linear(4, 12), MenuSoftmax(3), RUMLayer(3, support=0.1)),
    "flow": lambda: nn.Sequential(nn.Linear(4, 12), FlowRUM(3)),
    "graph": lambda: nn.Sequential(nn.Linear(4, 3), FlowRUM.of(None, [(0, 1), (0, 1, 2), (2,)])),
}


def fill(model, checkpoint, how):
    """As those who load checkpoints into modules of the meta device do."""
    if how == "assigned":
        model.load_state_dict(checkpoint, assign=True)
    else:
        model.to_empty(device="cpu").load_state_dict(checkpoint)
        # Buffers that a checkpoint does not have are left as they happen to be, or are replaced by whatever memory holds.
        for module in model.modules():
            for name in module._non_persistent_buffers_set:
                setattr(module, name, torch.full_like(getattr(module, name), -1))
    return model


@pytest.mark.parametrize("how", ["assigned", "emptied"])
@pytest.mark.parametrize("kind", HEADS)
def test_modules_made_on_the_meta_device_and_loaded(kind, how) -> None:
    torch.manual_seed(0)
    model, x = HEADS[kind](), torch.randn(5, 4)
    with torch.device("meta"):
        empty = HEADS[kind]()
    assert torch.equal(fill(empty, model.state_dict(), how)(x), model(x))


def test_tables_follow_the_module_and_its_input() -> None:
    head = MenuSoftmax(3).to("meta")
    assert head._table("gather", torch.zeros(1)).device.type == "cpu"  # a module can come back from the meta device
    assert head(torch.zeros(2, 12, device="meta")).shape == (2, 12)
    assert not MenuSoftmax(3).state_dict()
    assert torch.equal(head.half()(torch.zeros(12)), MenuSoftmax(3)(torch.zeros(12)))
