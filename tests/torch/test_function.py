"""Gradients of the layer against finite differences, and against what is known of the Jacobian."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the layer is not tested")

import rumflow as rf  # noqa: E402
from rumflow.core.paths import decompose, flow_from_paths, paths_from_orders  # noqa: E402
from rumflow.core.problem import Stop  # noqa: E402
from rumflow.core.transforms import moebius, moebius_adjoint, zeta  # noqa: E402
from rumflow.solvers.geometry import NO_FACTOR, Keep, SolveOptions  # noqa: E402
from rumflow.solvers.lattice import LatticeGeometry  # noqa: E402
from rumflow.torch import RUMLayer, function, project_cells  # noqa: E402


def cells(array: np.ndarray) -> torch.Tensor:
    lattice = rf.Lattice(array.shape[1])
    return torch.tensor(array[lattice.cells[:, 0], lattice.cells[:, 1]])


def inside(n: int, seed: int) -> torch.Tensor:
    """A point well inside RUM, off by a constant in some menus."""
    rng = np.random.default_rng(seed)
    point = cells(0.3 * rf.simulate.mixed_logit(n, seed=rng) + 0.7 * rf.simulate.mixed_logit(n, 40, seed=rng))
    shift = torch.tensor(rng.normal(0, 0.1, 1 << n)[rf.Lattice(n).cells[:, 0]])
    return point + shift


def on_face(n: int, seed: int, rankings: int) -> torch.Tensor:
    """A point outside whose projection mixes a few rankings, with a positive multiplier on every edge they do not use.

    That is strict complementarity: the projection is differentiable there, along the face that holds the mixture.
    """
    rng = np.random.default_rng(seed)
    orders = rng.permuted(np.tile(np.arange(n), (rankings, 1)), axis=1)
    flow = flow_from_paths(paths_from_orders(orders), rng.dirichlet(5 * np.ones(rankings)))
    normal = moebius_adjoint(np.where(flow > 0, 0.0, rng.uniform(0.01, 0.1, flow.shape)))
    lattice = rf.Lattice(n)
    return torch.tensor(lattice.internal_to_cells(zeta(flow) - normal))


def far(n: int, seed: int) -> torch.Tensor:
    return torch.tensor(np.random.default_rng(seed).normal(0.3, 0.5, rf.Lattice(n).n_cells))


def facet(n: int) -> torch.Tensor:
    """A point outside one facet: a single Block-Marschak polynomial is negative."""
    rows = rf.Lattice(n).to_internal(rf.simulate.mixed_logit(n, 40, seed=8))
    flow = moebius(rows.copy())
    paths, weights = decompose(flow)
    uses = paths[:, 0] == flow[0].argmin()
    edge = flow_from_paths(paths[~uses], weights[~uses] / weights[~uses].sum())
    normal = np.zeros_like(flow)
    normal[0, flow[0].argmin()] = 0.05
    return torch.tensor(rf.Lattice(n).internal_to_cells(zeta(edge) - moebius_adjoint(normal)))


POINTS = {
    "inside": lambda n: inside(n, 1),
    "vertex": lambda n: on_face(n, 2, 1),
    "edge": lambda n: on_face(n, 3, 2),
    "face": lambda n: on_face(n, 4, 2 * n),
    "facet": facet,
    "far": lambda n: far(n, 5),
    "near": lambda n: inside(n, 6) + 0.1 * far(n, 6),
}


@pytest.mark.parametrize("n", [3, 4, 5])
@pytest.mark.parametrize("point", POINTS)
def test_gradcheck(n: int, point: str) -> None:
    z = torch.stack([POINTS[point](n), POINTS[point](n).flip(0)]).requires_grad_()
    assert torch.autograd.gradcheck(RUMLayer(n), (z,), eps=1e-7, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("n", [3, 4, 5])
@pytest.mark.parametrize("kind", ["menus", "menus, all", "weights", "weights 0", "smoothing", "smoothing, menus"])
def test_gradcheck_options(n: int, kind: str) -> None:
    rng = np.random.default_rng(n)
    lattice = rf.Lattice(n)
    seen = [int(m) for m in np.flatnonzero(rf.simulate.observed_menus(n, 0.5, seed=7).any(axis=1))]
    options: dict[str, object] = {}
    if "menus" in kind:
        options["menus"] = seen
    if "all" in kind:
        options["all_menus"] = True
    if "weights" in kind:
        options["weights"] = rng.uniform(0.5, 3.0, lattice.n_cells) * (
            rng.random(lattice.n_cells) > ("0" in kind) * 0.3
        )
    if "smoothing" in kind:
        options["smoothing"] = 1e-3
    layer = RUMLayer(n, **options)
    keep = np.isin(lattice.cells[:, 0], seen) if "menus" in kind else slice(None)
    # Cells that are not read are not unique near RUM and may jump: there only what is read is compared.
    read = torch.tensor((options.get("weights", np.ones(lattice.n_cells)) > 0)[keep])
    for z in (far(n, 11), far(n, 13)) if "all" in kind else (far(n, 11), inside(n, 12), far(n, 13)):
        point = z[keep].clone().requires_grad_()
        check = layer if "all" in kind else lambda v: layer(v)[..., read]
        assert torch.autograd.gradcheck(check, (point,), eps=1e-7, atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize("smoothing", [0.0, 1e-3])
def test_gradcheck_of_flow_and_distance(smoothing: float) -> None:
    layer = RUMLayer(4, smoothing=smoothing, return_distance=True, return_flow=True)
    for z in (far(4, 1), inside(4, 2), on_face(4, 3, 3)):
        assert torch.autograd.gradcheck(layer, (z.clone().requires_grad_(),), eps=1e-7, atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize("kind", ["dirichlet", "noisy", "normal", "weights", "smoothing"])
def test_central_differences_at_six_items(kind: str) -> None:
    rng = np.random.default_rng(3)
    lattice = rf.Lattice(6)
    z = {
        "dirichlet": cells(rf.simulate.dirichlet(6, seed=1)),
        "noisy": cells(rf.simulate.noisy_rankings(6, seed=2)),
    }.get(kind, far(6, 3))
    weights = rng.uniform(0.2, 5.0, lattice.n_cells) if kind == "weights" else None
    layer = RUMLayer(6, weights=weights, smoothing=1e-3 if kind == "smoothing" else 0.0)
    g = torch.tensor(rng.normal(size=lattice.n_cells))
    point = z.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(layer(point), point, g)
    step = 1e-6
    moves = step * torch.eye(lattice.n_cells, dtype=torch.float64)
    with torch.no_grad():
        difference = (layer(z + moves) - layer(z - moves)) @ g / (2 * step)
    assert float((gradient - difference).abs().max()) < 1e-6


def test_the_jacobian_inside_restores_menu_sums() -> None:
    layer, z = RUMLayer(4), inside(4, 9)
    jacobian = torch.func.jacrev(layer)(z)
    mask = torch.tensor(rf.Lattice(4).cells[:, 0])
    same = (mask[:, None] == mask[None, :]).double()
    projector = torch.eye(32, dtype=torch.float64) - same / same.sum(1, keepdim=True)
    assert torch.allclose(jacobian, projector, atol=1e-13)


def test_the_jacobian_is_a_projector_and_zero_at_a_vertex() -> None:
    layer = RUMLayer(5)
    jacobian = torch.func.jacrev(layer)(far(5, 1))
    assert torch.allclose(jacobian @ jacobian, jacobian, atol=1e-12)
    assert torch.allclose(jacobian, jacobian.T, atol=1e-12)
    assert float(torch.func.jacrev(layer)(on_face(5, 2, 1)).abs().max()) < 1e-13


def test_the_gradient_of_the_distance_is_the_residual() -> None:
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 32)
    layer = RUMLayer(4, weights=weights, return_distance=True)
    z = far(4, 3).requires_grad_()
    y, distance = layer(z)
    (gradient,) = torch.autograd.grad(distance, z)
    assert torch.allclose(gradient, 2 * torch.tensor(weights) * (z - y).detach(), atol=1e-13)
    lattice = rf.Lattice(4)
    rows = np.zeros(lattice.shape)
    rows[lattice.cells[:, 0], lattice.cells[:, 1]] = weights
    many = rf.project_many(z.detach().numpy()[None], rows)
    assert abs(distance.item() - 2 * many.objective[0]) < 1e-12


def test_smoothing_tends_to_the_projection_and_has_full_rank() -> None:
    z = far(4, 8)
    exact = RUMLayer(4)(z)
    errors = [float((RUMLayer(4, smoothing=mu)(z) - exact).norm()) for mu in (1e-2, 1e-4, 1e-6, 1e-8)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-4
    rank = torch.linalg.matrix_rank(torch.func.jacrev(RUMLayer(4, smoothing=1e-3))(z), rtol=1e-9)
    assert int(rank) == 32 - 15  # every direction with menu sums of 0
    assert int(torch.linalg.matrix_rank(torch.func.jacrev(RUMLayer(4))(z), rtol=1e-9)) < 17


def test_the_factor_may_be_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    rows = rng.normal(0.2, 0.4, (5, 6, 32))
    geometry = LatticeGeometry(6)
    result = geometry.solve(rows, Stop(1e-12), options=SolveOptions(keep=Keep.FACES))
    kept = result.faces
    monkeypatch.setattr("rumflow.solvers.geometry._FACTOR_BYTES", 0)
    del result.faces
    bare = result.faces
    assert (len(bare.factor), set(bare.counts[:, 3])) == (0, {NO_FACTOR})
    g = rng.normal(size=rows.shape)
    one, two = (geometry.tangent(faces, g.copy(), forward=False) for faces in (kept, bare))
    np.testing.assert_allclose(one, two, atol=1e-11)


def test_a_version_that_does_not_say_whether_derivatives_are_forward(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then all is kept that they might need, and nothing else changes."""
    z = far(4, 2)
    expected = torch.func.jvp(RUMLayer(4), (z,), (z,))
    monkeypatch.setattr(function, "forward_ad", object())
    assert function.may_be_forward()
    found = torch.func.jvp(RUMLayer(4), (z,), (z,))
    assert all((a == b).all() for a, b in zip(found, expected, strict=True))
    assert (RUMLayer(4)(z) == expected[0]).all()


@pytest.mark.parametrize("menus", [None, [3, 5, 6]])
def test_a_smoothed_gradient_does_not_depend_on_the_company(menus):
    # Lanes without a sample run beside the others: whatever is in them, the last of three rows on two threads is as if alone.
    for seed in range(40, 60):
        generator = torch.Generator().manual_seed(seed)
        layer = RUMLayer(3, menus=menus, smoothing=1e-3, threads=2)
        z, c = (torch.randn(3, len(layer.cells), dtype=torch.float64, generator=generator) for _ in range(2))

        def gradient(z, c, layer=layer):
            z = z.clone().requires_grad_()
            return torch.autograd.grad((layer(z) * c).sum(), z)[0]

        assert torch.allclose(gradient(z, c)[-1:], gradient(z[-1:], c[-1:]), rtol=1e-6, atol=1e-9)


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

    with pytest.raises(rf.InputError, match=words):
        project_cells(torch.rand(2, 12, dtype=torch.float64), 3, **options)


@pytest.mark.parametrize("smoothing", [0.0, 1e-2])
def test_with_and_without_operators_the_bits_are_the_same(smoothing, monkeypatch):
    layer = RUMLayer(4, smoothing=smoothing, weights=np.linspace(0.5, 2.0, 32), return_flow=True, return_distance=True)
    z = torch.randn(3, 32, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    direction = torch.randn(3, 32, dtype=torch.float64, generator=torch.Generator().manual_seed(1))

    def results():
        y, distance, flow = layer(z)
        (grad,) = torch.autograd.grad((y**3).sum() + distance.sum() + flow.sum(), z, create_graph=True)
        (second,) = torch.autograd.grad((grad * direction).sum(), z)
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(z.detach(), direction)
            forward = torch.autograd.forward_ad.unpack_dual(layer(dual)[0]).tangent
        with torch.no_grad():
            alone = layer(z)[0]
        return [part.detach() for part in (y, distance, flow, grad, second, forward, alone)]

    seen = []
    with monkeypatch.context() as patch:
        patch.setattr(function, "_looked_on", lambda tensor: True)
        patch.setattr(function, "project_rows", None)  # the operator has its own reference
        expected = results()
    with monkeypatch.context() as patch:
        patch.setattr(function.Project, "forward", staticmethod(lambda *args: seen.append(args)))
        found = results()
    assert not seen
    for own, other in zip(found, expected, strict=True):
        assert torch.equal(own, other)


def test_several_gradients_at_once():
    z = torch.rand(3, 12, dtype=torch.float64, requires_grad=True)
    y = RUMLayer(3)(z)
    g = torch.randn(2, 3, 12, dtype=torch.float64)
    (both,) = torch.autograd.grad(y, z, g, is_grads_batched=True, retain_graph=True)
    for own, alone in zip(g, both, strict=True):
        assert torch.allclose(torch.autograd.grad(y, z, own, retain_graph=True)[0], alone, atol=1e-14)


def test_a_version_that_does_not_say_what_looks_on(monkeypatch):
    z = torch.rand(2, 12, dtype=torch.float64)
    expected = RUMLayer(3)(z)
    monkeypatch.delattr(torch._C, "_len_torch_dispatch_stack")
    assert function._looked_on(z)
    assert torch.equal(RUMLayer(3)(z), expected)
