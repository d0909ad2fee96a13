"""Flows are random utility models whatever the scores; every model is reached; every transform works."""

import io
import pickle
from itertools import permutations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the layer is not tested")

import rumflow as rf  # noqa: E402
from rumflow.layers.engines import graph_cells  # noqa: E402
from rumflow.torch import FlowRUM, MenuSoftmax  # noqa: E402
from tests.reference.graphs import arcs_of  # noqa: E402

MENUS = [(0, 1, 2), (0, 1), (1, 2, 3), (2,), (0, 3)]


def scores_of(layer, seed=0, samples=3, scale=1.0):
    own = torch.Generator().manual_seed(seed)
    return scale * torch.randn(samples, len(layer.arcs), generator=own, dtype=torch.float64)


def paths(arcs, sink, node=0):
    """All paths from a node to the sink, as lists of the given arcs."""
    if node == sink:
        yield []
    for arc in arcs:
        if arc[0] == node:
            yield from ([arc, *rest] for rest in paths(arcs, sink, arc[1]))


def as_array(n, cells, values):
    array = np.zeros((1 << n, n))
    array[cells[:, 0], cells[:, 1]] = values.detach().numpy()
    return array


@pytest.mark.parametrize("n", range(1, 9))
@pytest.mark.parametrize("scale", [1.0, 1e3, 0.0])
def test_flows_are_random_utility_models(n, scale) -> None:
    layer = FlowRUM(n)
    rho = as_array(n, layer.cells, layer(scores_of(layer, n, 1, scale))[0])
    assert rf.is_rum(rho, tol=1e-14)
    assert rf.project(rho).distance < 1e-14


@pytest.mark.slow
@pytest.mark.parametrize("n", [10, 12])
def test_flows_of_many_items_are_random_utility_models(n) -> None:
    layer = FlowRUM(n)
    rho = as_array(n, layer.cells, layer(scores_of(layer, n, 1))[0])
    assert rf.is_rum(rho, tol=1e-14)


def test_single_precision() -> None:
    layer = FlowRUM(6)
    z = scores_of(layer)
    assert layer(z.float()).dtype == torch.float32
    assert (layer(z.float()) - layer(z)).abs().max() < 1e-6


@pytest.mark.parametrize("n", [2, 3, 4])
def test_flows_are_the_mixture_of_rankings_that_the_softmaxes_make(n) -> None:
    layer = FlowRUM(n)
    z = scores_of(layer, 5, 1)[0]
    choose = MenuSoftmax(n)(z)
    place = {tuple(cell): i for i, cell in enumerate(layer.cells.tolist())}
    rho = torch.zeros(len(layer.cells), dtype=torch.float64)
    for order in permutations(range(n)):
        left, weight = (1 << n) - 1, 1.0
        for x in order:
            weight = weight * choose[place[left, x]]
            left ^= 1 << x
        for i, (menu, item) in enumerate(layer.cells.tolist()):
            if next(x for x in order if menu >> x & 1) == item:
                rho[i] += weight
    assert torch.allclose(layer(z), rho, rtol=0, atol=1e-15)


@pytest.mark.parametrize("n", [1, 3, 6])
def test_utilities_of_items_give_the_logit(n) -> None:
    layer = FlowRUM(n)
    utilities = torch.randn(4, n, generator=torch.Generator().manual_seed(n), dtype=torch.float64)
    logit = MenuSoftmax(n)(utilities[:, np.array(layer.cells[:, 1])])
    assert torch.allclose(layer(utilities), logit, rtol=0, atol=1e-14)
    residuals = scores_of(layer, 1, 4)
    both = layer(utilities, residuals)
    assert torch.equal(both, layer(utilities[:, np.array(layer.arcs[:, 1])] + residuals))
    some = FlowRUM.of(None, [menu for menu in MENUS if max(menu) < n] or [(0, 1)], max(n, 2))
    u = torch.randn(some.n, generator=torch.Generator().manual_seed(n), dtype=torch.float64)
    for menu in set(some.cells[:, 0].tolist()):
        own = some.cells[:, 0] == menu
        assert torch.allclose(some(u)[own], u[some.cells[own, 1]].softmax(0))


@pytest.mark.parametrize("seed", range(5))
def test_every_model_is_reached(seed) -> None:
    """Scores log(flow) give back the flow; where it is 0, the limit of small ones does."""
    known = rf.simulate.known_projection(5, seed=seed)
    layer = FlowRUM(5)
    flow = rf.block_marschak(known.answer)[layer.cells[:, 0], layer.cells[:, 1]]
    rho = layer(torch.from_numpy(np.log(np.maximum(flow, 0.0) + 1e-9)))
    answer = known.answer[layer.cells[:, 0], layer.cells[:, 1]]
    assert np.abs(rho.numpy() - answer).max() < 1e-6


def test_interior_models_are_reached_by_optimisation() -> None:
    rng = np.random.default_rng(0)
    orders = np.array(list(permutations(range(4))))
    weights = rng.dirichlet(np.ones(len(orders)))
    layer = FlowRUM(4)
    first = np.array([[order[np.argmax((menu >> order) & 1)] for order in orders] for menu, _ in layer.cells.tolist()])
    goal = torch.from_numpy((first == layer.cells[:, 1:]) @ weights)
    z = torch.zeros(len(layer.arcs), dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([z], max_iter=500, tolerance_grad=1e-12, line_search_fn="strong_wolfe")

    def loss():
        optimiser.zero_grad()
        value = (layer(z) - goal).square().sum()
        value.backward()
        return value

    optimiser.step(loss)
    assert (layer(z) - goal).abs().max() < 1e-4


@pytest.mark.parametrize("model", [None, rf.SinglePeaked(range(4)), rf.RandomUtility(above=[(0, 2)])])
def test_graphs_against_their_paths(model) -> None:
    layer = FlowRUM.of(model, MENUS)
    z = scores_of(layer, 3, 1)[0]
    graph = (model or rf.RandomUtility()).geometry(graph_cells(MENUS, range(4)))
    arcs = arcs_of(graph)
    tails = layer.arcs[:, 0]
    share = np.empty(len(z))
    for node in set(tails.tolist()):
        share[tails == node] = z[tails == node].softmax(0)
    several = [j for j, menu in enumerate(MENUS) if len(menu) > 1]
    rho = np.zeros((len(MENUS), 4))
    rho[3, 2] = 1.0  # the menu of one item
    number = {id(arc): a for a, arc in enumerate(arcs)}
    for path in paths(arcs, graph.n_nodes - 1):
        weight = np.prod([share[number[id(arc)]] for arc in path])
        for _, _, filled in path:
            for j, column in filled.items():
                rho[several[j], sorted(MENUS[several[j]])[column]] += weight
    assert np.allclose(layer(z).numpy(), rho[layer.cells[:, 0], layer.cells[:, 1]], rtol=0, atol=1e-14)


def test_arcs_that_take_several_items_get_the_mean_of_their_utilities() -> None:
    layer = FlowRUM.of(rf.Types([[0, 1], [0, 0], [2, 1]]), [(0, 1, 2), (0, 1)])
    u = torch.tensor([0.3, -0.2, 0.9], dtype=torch.float64)
    assert torch.isfinite(layer(u)).all()
    assert torch.allclose(layer(u), layer(u, torch.zeros(len(layer.arcs), dtype=torch.float64)))
    assert layer(u)[0] > layer(-u)[0] or layer(u)[2] > layer(-u)[2]


@pytest.mark.parametrize("make", [lambda: FlowRUM(3), lambda: FlowRUM.of(rf.SinglePeaked(range(4)), MENUS)])
def test_derivatives_and_transforms(make) -> None:
    layer = make()
    z = scores_of(layer, 2, 2).requires_grad_()
    assert torch.autograd.gradcheck(layer, z)
    assert torch.autograd.gradgradcheck(layer, z[:1].detach().requires_grad_())
    assert torch.autograd.gradcheck(layer, z, check_forward_ad=True)
    plain = layer(z.detach())
    assert torch.allclose(torch.func.vmap(layer)(z.detach()), plain)
    rows = torch.func.jacrev(layer)(z[0].detach())
    assert torch.allclose(rows, torch.func.jacfwd(layer)(z[0].detach()))
    assert layer(z.detach().reshape(2, 1, -1)).shape == (2, 1, len(layer.cells))
    copied = pickle.loads(pickle.dumps(layer))
    assert torch.equal(copied(z.detach()), plain)
    assert not layer.state_dict()
    assert "arcs=" in repr(layer)


@pytest.mark.slow
@pytest.mark.parametrize("make", [lambda: FlowRUM(3), lambda: FlowRUM.of(None, MENUS)])
def test_compile_and_export(make) -> None:
    layer = make()
    z = scores_of(layer).requires_grad_()
    compiled = torch.compile(
        layer, fullgraph=True, backend="aot_eager"
    )  # traced in full; generating code is torch's own task
    assert torch.allclose(compiled(z), layer(z))
    own, other = (torch.autograd.grad(f(z).square().sum(), z)[0] for f in (compiled, layer))
    assert torch.allclose(own, other)
    program = torch.export.export(layer, (z.detach(),), dynamic_shapes=({0: torch.export.Dim("samples", min=2)},))
    stored = io.BytesIO()
    torch.export.save(program, stored)
    stored.seek(0)
    assert torch.allclose(torch.export.load(stored).module()(z.detach()[:2]), layer(z)[:2])


def test_layers_are_made_in_full_on_the_meta_device() -> None:
    with torch.device("meta"):
        layer = FlowRUM(3)
    assert torch.allclose(layer(torch.zeros(12)), FlowRUM(3)(torch.zeros(12)))
    assert layer.to("meta")(torch.zeros(2, 12, device="meta")).shape == (2, 12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: FlowRUM(40), "1 to 30"),
        (lambda: FlowRUM(25), r"FlowRUM\.of"),
        (lambda: FlowRUM.of(None, [(0,), (1,)]), "two items or more"),
        (lambda: FlowRUM.of("logit", MENUS), "model"),
        (lambda: FlowRUM(3)(torch.zeros(5)), "3 items, or over the 12 scores"),
        (lambda: FlowRUM(3)([0.0] * 12), "tensor"),
        (lambda: FlowRUM(3)(torch.zeros(12, dtype=torch.int64)), "int64"),
        (lambda: FlowRUM(3)(torch.zeros(3), torch.zeros(5)), "12 arcs"),
        (lambda: FlowRUM(3)(torch.zeros(12), torch.zeros(12)), "utilities of 3 items;"),
    ],
)
def test_what_is_not_accepted(call, message) -> None:
    with pytest.raises(rf.InputError, match=message):
        call()


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_no_samples(n) -> None:
    layer = FlowRUM(n)
    for shape in ((0,), (2, 0)):
        z = torch.zeros(*shape, len(layer.arcs), requires_grad=True)
        layer(z).sum().backward()
        assert layer(z).shape == z.grad.shape == z.shape
