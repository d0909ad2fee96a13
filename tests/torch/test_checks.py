"""Errors name what is wrong with a tensor, and stay out of the way where there are no values."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the layer is not tested")

import rumflow as rf  # noqa: E402
from rumflow.torch.checks import refuse, require_floating  # noqa: E402


@pytest.mark.parametrize(
    ("given", "kind"),
    [(torch.zeros(2, dtype=torch.bool), "torch.bool"), ([0.5], "list"), (torch.zeros(1).cfloat(), "complex")],
)
def test_only_floating_point_tensors_are_taken(given, kind) -> None:
    with pytest.raises(rf.InputError, match=f"scores: a floating point tensor of PyTorch is needed, not .*{kind}"):
        require_floating("scores", given)
    require_floating("scores", torch.zeros(1, dtype=torch.bfloat16))


def test_the_first_wrong_sample_is_named() -> None:
    with pytest.raises(rf.InputError, match="sample 4"):
        refuse(torch.tensor([[False, False, False], [False, True, True]]), lambda i: f"sample {i}")
    for fine in (torch.zeros(3, dtype=torch.bool), torch.ones(3, dtype=torch.bool, device="meta")):
        refuse(fine, lambda i: f"sample {i}")
    torch.func.vmap(lambda wrong: (refuse(wrong, lambda i: f"sample {i}"), wrong)[1])(torch.ones(3, dtype=torch.bool))
