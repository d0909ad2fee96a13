"""The projection inside JAX programs: values, derivatives both ways, transformations, training."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.optimize import nnls

jax = pytest.importorskip("jax", reason="JAX is not installed: its functions are not tested")

import jax.numpy as jnp  # noqa: E402

import rumflow as rf  # noqa: E402
from rumflow.jax import Cells, primitives, project_cells  # noqa: E402

# Nearly all of the time is XLA compiling programs that run once: let it not polish them.
jax.config.update("jax_disable_most_optimizations", True)

MENUS = [[0, 1, 2], [1, 2, 3], [0, 3], [0, 1, 2, 3], [2]]


@pytest.fixture(autouse=True)
def _double_precision():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def weights(size: int, zeros: bool = False) -> np.ndarray:
    rng = np.random.default_rng(size)
    return rng.uniform(0.5, 3.0, size) * (rng.random(size) > 0.3 * zeros)


CELLS = {
    "all menus": lambda: Cells(4),
    "weights of 0": lambda: Cells(4, None, weights(32, True)),
    "menus": lambda: Cells(4, MENUS),
    "menus, all written": lambda: Cells(4, MENUS, all_menus=True),
    "single peaks": lambda: Cells.of_model(rf.SinglePeaked([0, 1, 2, 3]), MENUS[:4], weights=weights(12)),
}


def points(cells: Cells, count: int, seed: int = 0) -> np.ndarray:
    """Arrays of NumPy: JAX compiles every operation on its own, also sums and differences that only serve a test."""
    return np.random.default_rng(seed).normal(0.3, 0.5, (count, cells.n_cells))


def test_it_is_the_projection() -> None:
    z = np.random.default_rng(1).normal(0.2, 0.5, (6, 192))
    expected = rf.project_many(z, tol=1e-12)
    y, distance, flow = project_cells(z, 6, return_distance=True, return_flow=True)
    np.testing.assert_allclose(y, expected.rho, atol=1e-11)
    np.testing.assert_allclose(distance, 2 * expected.objective, rtol=1e-9)
    assert float(flow.min()) >= 0


def test_it_is_the_projection_onto_another_model() -> None:
    """Against non-negative least squares over all single-peaked rankings."""
    orders = [order for order in itertools.permutations(range(4)) if all(is_peaked(order[: k + 1]) for k in range(4))]
    assert len(orders) == 8
    types = np.array([[x == min(menu, key=order.index) for menu in MENUS[:4] for x in menu] for order in orders]).T
    cells = CELLS["single peaks"]()
    z = np.asarray(points(cells, 1)[0])
    root, heavy = np.sqrt(cells.weights), 1e5
    mixture = nnls(np.vstack([root[:, None] * types, heavy * np.ones(8)]), np.append(root * z, heavy))[0]
    np.testing.assert_allclose(project_cells(z, cells), types @ mixture / mixture.sum(), atol=1e-7)


def is_peaked(best: tuple[int, ...]) -> bool:
    """The best items of a single-peaked ranking lie next to each other."""
    return max(best) - min(best) == len(best) - 1


@pytest.mark.parametrize(
    ("kind", "smoothing"), [*((kind, 0.0) for kind in CELLS), ("weights of 0", 1e-2), ("menus, all written", 1e-2)]
)
def test_derivatives_both_ways(kind: str, smoothing: float) -> None:
    cells = CELLS[kind]()
    read = slice(None) if len(cells.weights) == 0 else np.flatnonzero(cells.weights > 0)

    def f(z: jax.Array) -> jax.Array:
        return project_cells(z, cells, smoothing=smoothing)[..., read]

    def loss(z: jax.Array) -> jax.Array:
        return (f(z) ** 3).sum()

    @jax.jit
    def derivatives(z: jax.Array, t: jax.Array, g: jax.Array) -> tuple[jax.Array, ...]:
        y, forward = jax.jvp(f, (z,), (t,))
        gradient, product = jax.jvp(jax.grad(loss), (z,), (t,))
        twice = jax.grad(lambda z: (jax.grad(loss)(z) * t).sum())(z)
        return y, forward, jax.vjp(f, z)[1](g)[0], gradient, product, twice

    z = points(cells, 3, seed=2)
    rng = np.random.default_rng(3)
    t, step = rng.normal(size=z.shape), 1e-6
    g = rng.normal(size=np.asarray(f(z)).shape)
    y, forward, backward, _, product, twice = map(np.asarray, derivatives(z, t, g))
    (above, *_, up, _, _), (below, *_, down, _, _) = (
        map(np.asarray, derivatives(z + h * t, t, g)) for h in (step, -step)
    )
    np.testing.assert_allclose(y, f(z), atol=1e-14)
    np.testing.assert_allclose(forward, (above - below) / (2 * step), atol=1e-6)
    assert np.abs(forward).max() > 1e-2
    assert (backward * t).sum() == pytest.approx((g * forward).sum(), abs=1e-9)
    np.testing.assert_allclose(product, (up - down) / (2 * step), atol=1e-5)
    np.testing.assert_allclose(twice, product, atol=1e-9)


@pytest.mark.parametrize("smoothing", [0.0, 1e-2])
def test_derivatives_of_flow_and_distance(smoothing: float) -> None:
    def f(z: jax.Array) -> tuple[jax.Array, ...]:
        return project_cells(z, 4, smoothing=smoothing, return_distance=True, return_flow=True)

    z = points(Cells(4), 2, seed=4)
    t, step = points(Cells(4), 2, seed=5), 1e-6
    up, down, forward = f(z + step * t), f(z - step * t), jax.jvp(f, (z,), (t,))[1]
    for above, below, moved in zip(up, down, forward, strict=True):
        np.testing.assert_allclose(moved, (np.asarray(above) - np.asarray(below)) / (2 * step), atol=2e-6)
    second = jax.jit(jax.grad(lambda z: jax.grad(lambda z: f(z)[1].sum())(z)[0, 0]))(z)
    assert np.isfinite(second).all()


@pytest.mark.parametrize("smoothing", [0.0, 1e-2])
def test_transformations_of_transformations(smoothing: float) -> None:
    def f(z: jax.Array) -> jax.Array:
        return project_cells(z, 3, smoothing=smoothing)

    z = np.random.default_rng(6).normal(0.3, 0.5, (2, 3, 12))
    y = np.asarray(f(z))
    for other in (jax.jit(f), jax.vmap(f), jax.vmap(jax.vmap(f)), jax.jit(jax.vmap(f, in_axes=1, out_axes=1))):
        np.testing.assert_allclose(other(z), y, atol=1e-12)
    jacobian = jax.jit(jax.jacrev(f))
    alone = np.array([[jacobian(row) for row in rows] for rows in z])
    for jacobian in (jax.jacfwd, jax.jacrev):
        np.testing.assert_allclose(jax.jit(jax.vmap(jax.vmap(jacobian(f))))(z), alone, atol=1e-10)
        # Directions and samples in one: a Jacobian of the batch has the single ones on its diagonal.
        whole = np.asarray(jax.jit(jacobian(jax.vmap(f)))(z[0]))
        np.testing.assert_allclose(np.einsum("iaib->iab", whole), alone[0], atol=1e-10)
        assert np.abs(np.einsum("iajb->ijab", whole)[~np.eye(3, dtype=bool)]).max() == 0
    remembered = jax.jit(jax.grad(lambda z: (jax.checkpoint(f)(z) ** 2).sum()))(z)
    np.testing.assert_allclose(remembered, 2 * np.einsum("ija,ijab->ijb", y, alone), atol=1e-10)
    scanned = jax.lax.scan(lambda carry, row: (carry, f(row)), 0, z)[1]
    np.testing.assert_allclose(scanned, y, atol=1e-12)
    assert f(z[:0]).shape == (0, 3, 12)


def test_a_gradient_projects_once_and_again_where_its_state_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    from rumflow.layers.engines import ExactEngine

    calls = []
    solve = ExactEngine.solve
    monkeypatch.setattr(ExactEngine, "solve", lambda self, *args: calls.append(1) or solve(self, *args))
    gradient = jax.jit(jax.grad(lambda z: (project_cells(z, 5) ** 2).sum()))
    z = points(Cells(5), 4, seed=7)
    first = gradient(z)
    assert len(calls) == 1
    monkeypatch.setattr(primitives, "states", primitives.States(0))
    np.testing.assert_array_equal(gradient(z), first)
    assert len(calls) == 3


def test_states_are_bounded() -> None:
    kept = primitives.States(1000)
    job = primitives.Job(b"", b"", b"", 1, 0, 0.0, 1e-9, 0.0, 0.0, 1)
    for i in range(10):
        state = np.zeros((1, 10)), np.zeros((1, 10)), np.zeros((1, 10))
        kept.put(job, np.full((1, 3), float(i)), state, np.zeros((1, 0)))
        kept.put(job, np.full((1, 3), float(i)), state, np.zeros((1, 0)))
    assert kept._bytes == 960
    assert len(kept._known) == 4


@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16"])
def test_other_precisions(kind: str) -> None:
    z = jnp.asarray(points(Cells(4), 3, seed=8)).astype(kind)
    y = project_cells(z, 4)
    gradient = jax.grad(lambda z: project_cells(z, 4).astype("float32").sum())(z)
    assert y.dtype == gradient.dtype == z.dtype
    np.testing.assert_array_equal(y, project_cells(z.astype("float64"), 4).astype(kind))
    jax.config.update("jax_enable_x64", False)
    single = jax.jit(lambda z: project_cells(z, 4))(z)
    assert single.dtype == z.dtype
    np.testing.assert_allclose(single.astype("float32"), y.astype("float32"), atol=1e-6 if kind == "float32" else 1e-2)
    smooth = jax.jit(jax.jacrev(lambda z: project_cells(z, 4, smoothing=1e-2)))(z[0].astype("float32"))
    assert smooth.dtype == jnp.float32
    assert bool(jnp.isfinite(smooth).all())


def test_numbers_that_are_not_finite() -> None:
    z = points(Cells(3), 4, seed=9)
    bad = z.copy()
    bad[1, 11], bad[3, 0] = np.nan, np.inf
    with pytest.raises(rf.InputError, match=r"sample 1: menu \(0, 1, 2\) \(mask 7\), item 2 is nan"):
        project_cells(bad, 3)
    with pytest.raises(Exception, match="every number must be finite"):
        jax.block_until_ready(jax.jit(lambda z: project_cells(z, 3))(bad))

    def f(z: jax.Array) -> tuple[jax.Array, ...]:
        return project_cells(z, 3, nonfinite="nan", return_distance=True, return_flow=True)

    for part, expected in zip(jax.jit(f)(bad), f(z), strict=True):
        found, right = np.asarray(part), np.asarray(expected)
        assert np.isnan(found[1::2]).all()
        np.testing.assert_array_equal(found[::2], right[::2])
    gradient = jax.jit(jax.grad(lambda z: jnp.nansum(f(z)[0] ** 2)))
    of_bad, of_good = np.asarray(gradient(bad)), np.asarray(gradient(z))
    assert not of_bad[1::2].any()
    np.testing.assert_allclose(of_bad[::2], of_good[::2])


def test_wrong_input_is_refused() -> None:
    z = jnp.zeros((2, 12))
    for options, message in (
        ({"smoothing": -1.0}, "smoothing"),
        ({"tol": 0.0}, "tol"),
        ({"nonfinite": "skip"}, "nonfinite='skip'"),
    ):
        with pytest.raises(rf.InputError, match=message):
            project_cells(z, 3, **options)
    cells = CELLS["single peaks"]()
    with pytest.raises(rf.InputError, match="smoothing"):
        project_cells(points(cells, 1), cells, smoothing=0.1)
    with pytest.raises(rf.InputError, match="12 cells"):
        project_cells(z[:, 1:], 3)
    with pytest.raises(rf.InputError, match="int"):
        project_cells(z.astype(int), 3)


def test_a_network_learns_through_it() -> None:
    """Parameters are a tree of arrays and a step is one compiled function, as in Flax, Equinox and optax."""
    rng = np.random.default_rng(10)
    x = jnp.asarray(rng.normal(size=(32, 3)))
    target = project_cells(jnp.tanh(x @ rng.normal(size=(3, 32))), 4)
    parameters = {"hidden": jnp.asarray(rng.normal(0, 0.5, (3, 16))), "out": jnp.asarray(rng.normal(0, 0.2, (16, 32)))}

    def predict(parameters: dict[str, jax.Array], x: jax.Array) -> jax.Array:
        return project_cells(jnp.tanh(x @ parameters["hidden"]) @ parameters["out"], 4)

    def loss(parameters: dict[str, jax.Array]) -> jax.Array:
        return jnp.square(jax.vmap(lambda row: predict(parameters, row))(x) - target).mean()

    @jax.jit
    def step(parameters: dict[str, jax.Array]) -> tuple[dict[str, jax.Array], jax.Array]:
        value, gradient = jax.value_and_grad(loss)(parameters)
        return jax.tree.map(lambda p, g: p - 10.0 * g, parameters, gradient), value

    losses = []
    for _ in range(60):
        parameters, value = step(parameters)
        losses.append(float(value))
    assert losses[-1] < 0.3 * losses[0]
    assert rf.is_rum(as_matrix(predict(parameters, x)[0]), tol=1e-9)


def as_matrix(y: jax.Array) -> np.ndarray:
    rho = np.zeros((16, 4))
    cells = rf.Lattice(4).cells
    rho[cells[:, 0], cells[:, 1]] = y
    return rho


def test_rumflow_does_not_need_jax() -> None:
    code = (
        "import sys; sys.modules['jax'] = None\n"
        "import rumflow\n"
        "try:\n    import rumflow.jax\nexcept ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "rumflow[jax]"' in done.stdout


ON_A_MESH = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, PartitionSpec as P
from rumflow.jax import Cells, project_cells
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_disable_most_optimizations", True)
shard_map = getattr(jax, "shard_map", None)
if shard_map is None:
    from jax.experimental.shard_map import shard_map
mesh = Mesh(np.array(jax.devices()), ("d",))
z = jnp.asarray(np.random.default_rng(0).normal(0.3, 0.5, (4, 12)))
def sums(z, smoothing):
    y, distance = project_cells(z, Cells(3, None, np.linspace(0.5, 2, 12)), smoothing=smoothing, return_distance=True)
    return ((y**2).sum(-1) + distance).sum()
for smoothing in (0.0, 1e-2):
    own = jax.grad(lambda z: sums(z, smoothing))
    inside = shard_map(own, mesh=mesh, in_specs=P("d"), out_specs=P("d"))
    whole = shard_map(lambda z: jax.lax.psum(sums(z, smoothing), "d"), mesh=mesh, in_specs=P("d"), out_specs=P())
    expected = own(z)
    np.testing.assert_allclose(inside(z), expected, atol=1e-12)
    np.testing.assert_allclose(jax.grad(whole)(z), expected, atol=1e-12)
"""


@pytest.mark.slow
def test_gradients_on_a_mesh_of_devices() -> None:
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    subprocess.run([sys.executable, "-c", ON_A_MESH], env=environment, check=True)


LEFT_RUNNING = """
import jax, numpy as np
from rumflow.jax import project_cells
f = jax.jit(lambda z: project_cells(z, 7, threads=2))
z = np.random.default_rng(0).random((400, 448))
results = [f(z + i) for i in range(4)]
"""


@pytest.mark.slow
def test_python_waits_for_what_is_still_computed() -> None:
    done = subprocess.run([sys.executable, "-c", LEFT_RUNNING], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
