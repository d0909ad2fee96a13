"""Flows in JAX are those of PyTorch, under jit, vmap, grad and jvp."""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed: the function is not tested")
torch = pytest.importorskip("torch", reason="PyTorch is not installed: the layer is not tested")

import jax.numpy as jnp  # noqa: E402

import rumflow as rf  # noqa: E402
from rumflow import torch as other  # noqa: E402
from rumflow.jax import FlowRUM  # noqa: E402

MENUS = [(0, 1, 2), (0, 1), (1, 2, 3), (2,), (0, 3)]
LISTED = rf.Types([[0, 1], [0, 0], [2, 1]]), [(0, 1, 2), (0, 1)]


def pairs():
    for n in (1, 2, 3, 6):
        yield FlowRUM(n), other.FlowRUM(n)
    for model, menus in ((None, MENUS), (rf.SinglePeaked(range(4)), MENUS), LISTED):
        yield FlowRUM.of(model, menus), other.FlowRUM.of(model, menus)


@pytest.mark.parametrize(("own", "twin"), list(pairs()), ids=lambda layer: type(layer).__module__)
def test_the_same_numbers_as_pytorch(own, twin) -> None:
    rng = np.random.default_rng(0)
    z, u = rng.normal(size=(2, len(own.arcs))), rng.normal(size=(2, own.n))
    for given in ((z,), (u,), (u, z)):
        values = own(*(jnp.asarray(a, jnp.float32) for a in given))
        assert np.allclose(values, twin(*map(torch.from_numpy, given)), atol=2e-6)


@pytest.mark.parametrize("layer", [FlowRUM(3), FlowRUM.of(None, MENUS)], ids=["all", "some"])
def test_transforms(layer) -> None:
    z = jnp.asarray(np.random.default_rng(1).normal(size=(2, len(layer.arcs))), jnp.float32)
    plain = layer(z)
    assert jnp.allclose(jax.jit(layer)(z), plain, atol=1e-6)
    assert jnp.allclose(jax.jit(jax.vmap(layer))(z), plain, atol=1e-6)
    backward, forward = (jax.jit(jacobian(layer))(z[0]) for jacobian in (jax.jacrev, jax.jacfwd))
    assert jnp.allclose(backward, forward, atol=1e-6)
    step = 1e-2
    along = (layer(z[0] + step) - layer(z[0] - step)) / (2 * step)  # the same for all arcs: nothing moves
    assert jnp.abs(along).max() < 1e-4
    assert jax.jit(jax.hessian(lambda t: layer(t)[0]))(z[0]).shape == (len(layer.arcs),) * 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((jnp.zeros(5),), "3 items, or over the 12 scores"),
        ((jnp.zeros(12, jnp.int32),), "int32"),
        ((jnp.zeros(3), jnp.zeros(5)), "12 arcs"),
    ],
)
def test_what_is_not_accepted(given, message) -> None:
    with pytest.raises(rf.InputError, match=message):
        FlowRUM(3)(*given)
