"""Layers over choice graphs, and derivatives of all layers in both directions, against enumeration of all types."""

from __future__ import annotations

import copy
import pickle
from itertools import permutations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the layer is not tested")

import rumflow as rf  # noqa: E402
from rumflow.core.graph_cells import Cells as GraphCells  # noqa: E402
from rumflow.layers.engines import graph_cells  # noqa: E402
from rumflow.models.budgets import Budgets  # noqa: E402
from rumflow.models.random_utility import RandomUtility  # noqa: E402
from rumflow.torch import AxiomLayer, MenuSoftmax, RUMLayer  # noqa: E402
from tests.reference.graphs import projection, types_of  # noqa: E402

MENUS = [[0, 1, 2], [3, 1], [2, 3, 4], [4, 0], [1, 2, 3, 4]]


def by_hand() -> rf.ChoiceGraph:
    """Two stages: the first three menus are decided together, then the last two."""
    first = [[(0, 0), (1, 1), (2, 2)], [(0, 1), (1, 3), (2, 3)], [(0, 2), (1, 3), (2, 4)], [(0, 2), (1, 1), (2, 2)]]
    last = [[(3, 4), (4, 1)], [(3, 0), (4, 2)], [(3, 0), (4, 4)]]
    return rf.ChoiceGraph(3, [*((0, 1, cells) for cells in first), *((1, 2, cells) for cells in last)])


# On each of three budgets the patches below or above each of the others.
PATCHES = [np.insert(signs, own, 0) for own in range(3) for signs in ([-1, -1], [-1, 1], [1, -1], [1, 1])]
MODELS = {
    "random utility": (RandomUtility(), MENUS, 9),
    "apart": (RandomUtility(), [[0, 1], [2, 3, 4], [3, 4, 5], [6, 7]], 9),
    "known preference": (RandomUtility([(1, 3), (0, 4)]), MENUS, 5),
    "single-peaked": (rf.SinglePeaked([2, 0, 1, 4, 3]), MENUS, 5),
    "types": (
        rf.Types([[0, 1, 2, 4, 1], [1, 3, 3, 0, 2], [2, 3, 4, 0, 4], [2, 1, 2, 4, 2], [0, 3, 3, 4, 3]]),
        MENUS,
        5,
    ),
    "graph": (by_hand(), MENUS, 5),
    "budgets": (Budgets(PATCHES), [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]], 12),
}


class Case:
    """A layer, all its types, and its projection and Jacobian by enumeration."""

    def __init__(self, layer, types, weights):
        self.layer, self.types, self.w = layer, types.astype(float), weights

    def jacobian(self, z, y):
        """J = V (V^T W V)^+ V^T W, V the differences of all types that are cheapest at the gradient."""
        price = self.types @ (self.w * (y - z))
        face = self.types[price <= price.min() + 1e-8]
        v = (face - face[0]).T
        return v @ np.linalg.pinv(v.T @ (self.w[:, None] * v), rcond=1e-10) @ v.T * self.w

    def on_face(self, rng):
        """A point whose projection is the mean of all types that are cheapest at random prices with many ties."""
        price = rng.integers(0, 3, len(self.w)) * (rng.random(len(self.w)) < 0.5) * (self.w > 0)
        cost = self.types @ price
        y = self.types[cost == cost.min()].mean(axis=0)
        return y - np.divide(0.2 * price, self.w, out=np.zeros_like(y), where=self.w > 0), y


def weigh(kind, size, rng):
    if kind == "plain":
        return None
    weights = rng.uniform(0.5, 3.0, size)
    if kind == "some 0":
        weights[rng.random(size) < 0.25] = 0.0
    return 10 ** rng.uniform(-3, 3, size) if kind == "far apart" else weights


def of_model(name, kind="plain", seed=0, **options):
    model, menus, n = MODELS[name]
    rng = np.random.default_rng(seed)
    weights = weigh(kind, sum(map(len, menus)), rng)
    layer = AxiomLayer(model, menus, n, weights, **options)
    assert layer._cells.graph is not None
    graph = model.geometry(graph_cells([sorted(menu) for menu in menus], range(n)))
    rows = np.array(sorted(types_of(graph)))
    sizes = np.array([len(menu) for menu in menus])
    table = np.zeros((len(rows), sizes.sum()))
    for j, first in enumerate(np.cumsum(sizes) - sizes):
        table[np.arange(len(rows)), first + rows[:, j]] = 1.0
    return Case(layer, table, np.ones(sizes.sum()) if weights is None else weights)


def on_lattice(n, menus, kind="plain", seed=0, **options):
    """The same for `RUMLayer` with few items, which is projected on the lattice."""
    rng = np.random.default_rng(seed)
    size = n << (n - 1) if menus is None else sum(map(int.bit_count, menus))
    weights = weigh(kind, size, rng)
    layer = RUMLayer(n, menus, weights, **options)
    assert layer._cells.graph is None
    table = [
        [next(x for x in order if mask >> x & 1) == item for mask, item in layer.cells.tolist()]
        for order in permutations(range(n))
    ]
    return Case(layer, np.unique(table, axis=0), np.ones(size) if weights is None else weights)


LATTICES = {
    "complete": (4, None, "plain"),
    "weighted": (4, None, "weights"),
    "not observed": (4, None, "some 0"),
    "menus": (5, [7, 26, 24, 17, 30, 1, 31], "plain"),
    "pairs": (5, [3, 12, 24, 17], "weights"),
    "menus, some 0": (5, [7, 26, 24, 17, 30, 31], "some 0"),
    "far apart": (5, [7, 26, 24, 17, 30], "far apart"),  # too far for the solver for few items
}
CASES = [*((name, kind) for name in MODELS for kind in ("plain", "weights", "some 0")), *((k, "") for k in LATTICES)]


@pytest.fixture(params=CASES, ids=" ".join)
def case(request):
    name, kind = request.param
    if name in LATTICES:
        n, menus, kind = LATTICES[name]
        return on_lattice(n, menus, kind)
    return of_model(name, kind)


def test_the_jacobian_on_random_faces(case, rng):
    """Rank and value, backward and forward: all types of the face span it, not only the active ones."""
    read = case.w > 0
    for _ in range(6):
        z, y = case.on_face(rng)
        point = torch.tensor(z)
        found = case.layer(point).numpy()
        assert found[read] == pytest.approx(y[read], abs=1e-7)
        expected = case.jacobian(z, y)
        back, ahead = torch.func.jacrev(case.layer)(point).numpy(), torch.func.jacfwd(case.layer)(point).numpy()
        for jacobian in (back, ahead):
            assert jacobian[read] == pytest.approx(expected[read], abs=1e-6)
            assert not jacobian[:, ~read].any()
        assert back == pytest.approx(ahead, abs=1e-10)


def test_it_is_the_projection(case, rng):
    for scale in (0.1, 1.0, 100.0):
        z = scale * rng.normal(size=(3, len(case.w)))
        y = case.layer(torch.tensor(z)).numpy()
        assert torch.equal(torch.tensor(y[1]), case.layer(torch.tensor(z[1])))
        # No type is cheaper than the mixture at the gradient, and the menu sums are exact.
        price = case.w * (y - z)
        gap = (price * y).sum(axis=1) - (price @ case.types.T).min(axis=1)
        assert (gap <= 1e-9 * np.abs(price).sum(axis=1)).all()
        menu = case.layer.cells[:, 0]
        assert np.array([y[:, menu == j].sum(axis=1) for j in np.unique(menu)]) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("name", [*MODELS, "menus"])
def test_gradients_both_ways(name, rng):
    case = on_lattice(*LATTICES[name][:2], "weights") if name in LATTICES else of_model(name, "weights")
    z = torch.tensor(rng.normal(0.3, 0.4, (2, len(case.w)))).requires_grad_()
    assert torch.autograd.gradcheck(case.layer, (z,), eps=1e-7, atol=1e-6, rtol=1e-5, check_forward_ad=True)
    # Of the second order random directions are enough: there is nothing to be found but 0 by z, and J by the gradient.
    assert torch.autograd.gradgradcheck(case.layer, (z,), eps=1e-6, atol=1e-5, check_fwd_over_rev=True, fast_mode=True)


def distance_of(name):
    if name == "graph":
        return of_model("single-peaked", "weights", return_distance=True).layer
    options = {"return_distance": True, "return_flow": True, "smoothing": 1e-2 if "smoothed" in name else 0.0}
    return RUMLayer(3, [3, 5, 7] if "menus" in name else None, all_menus="menus" in name, **options)


@pytest.mark.parametrize("name", ["exact", "menus", "graph", "smoothed", "smoothed, menus"])
def test_hessians(name, rng):
    """Second derivatives of a loss of everything a layer returns, in all four ways, against differences of gradients."""
    layer = distance_of(name)
    z = torch.tensor(rng.normal(0.3, 0.4, len(layer.cells)))
    factors = [torch.tensor(rng.normal(size=out.shape)) for out in layer(z)]

    def loss(point):
        return sum((c * (out + out**2)).sum() for c, out in zip(factors, layer(point), strict=True))

    gradient, step = torch.func.jacrev(loss), 1e-5
    moves = step * torch.eye(len(z), dtype=torch.float64)
    expected = torch.stack([(gradient(z + move) - gradient(z - move)) / (2 * step) for move in moves])
    for outer in (torch.func.jacrev, torch.func.jacfwd):
        for inner in (torch.func.jacrev, torch.func.jacfwd):
            assert outer(inner(loss))(z).numpy() == pytest.approx(expected.numpy(), abs=1e-6)
    direction = torch.tensor(rng.normal(size=len(z)))
    product = torch.autograd.functional.hvp(loss, z, direction)[1]
    assert product.numpy() == pytest.approx((expected @ direction).numpy(), abs=1e-5)
    change = torch.autograd.functional.jvp(loss, z, direction)[1]
    assert float(change) == pytest.approx(float(gradient(z) @ direction), abs=1e-9)


def test_third_derivatives_of_the_smoothed_layer(rng):
    layer = RUMLayer(3, smoothing=1e-2)
    z = torch.tensor(rng.normal(0.3, 0.4, 12))
    hessian = torch.func.jacrev(torch.func.jacrev(lambda point: layer(point)[5]))
    third, step = torch.func.jacrev(hessian)(z), 1e-4
    moves = step * torch.eye(12, dtype=torch.float64)
    expected = torch.stack([(hessian(z + move) - hessian(z - move)) / (2 * step) for move in moves], -1)
    assert float(expected.abs().max()) > 0.1
    assert third.numpy() == pytest.approx(expected.numpy(), abs=1e-4 * float(expected.abs().max()))


def test_all_pairs_move_where_they_fit():
    """Three pairs fit and the fourth does not: the Jacobian has rank 3, on the lattice and on the graph."""
    z = torch.tensor([0.5, 0.5] * 3 + [1.3, -0.3], dtype=torch.float64)
    pair = torch.tensor([[0.5, -0.5], [-0.5, 0.5]], dtype=torch.float64)
    expected = torch.block_diag(pair, pair, pair, torch.zeros(2, 2))
    masks = [3, 12, 48, 192]
    for layer in (RUMLayer(8, masks), RUMLayer(9, masks), RUMLayer(8, masks, 2 * np.ones(8))):
        assert torch.allclose(torch.func.jacrev(layer)(z), expected, atol=1e-12)
        assert torch.allclose(torch.func.jacfwd(layer)(z), expected, atol=1e-12)
    data = np.full((256, 8), np.nan)
    for mask, (a, b) in zip(masks, z.reshape(4, 2).tolist(), strict=True):
        low, high = (x for x in range(8) if mask >> x & 1)
        data[mask, low], data[mask, high] = a, b
    t = np.zeros((256, 8))
    t[3, 0], t[48, 4] = 1.0, 1.0
    change = rf.project_many(np.nan_to_num(data)[None], np.isfinite(data) * 1.0).jvp(t[None])[0]
    assert [change[3, 0], change[12, 2], change[48, 5], change[192, 7]] == pytest.approx([0.5, 0.0, -0.5, 0.0])


@pytest.mark.parametrize("kind", ["plain", "weights"])
def test_lattice_and_graph_agree(kind, rng):
    masks = [7, 26, 24, 17, 30, 1, 99, 224]
    weights = weigh(kind, sum(map(int.bit_count, masks)), rng)
    lattice, graph = RUMLayer(8, masks, weights), RUMLayer(9, masks, weights)
    assert lattice._cells.graph is None
    assert graph._cells.graph is not None
    assert (lattice.cells == graph.cells).all()
    z = torch.tensor(rng.normal(0.3, 0.3, (5, len(lattice.cells)))).requires_grad_()
    g = torch.tensor(rng.normal(size=z.shape))
    y, other = lattice(z), graph(z)
    assert torch.allclose(y, other, atol=1e-10)
    (one,), (two,) = torch.autograd.grad(y, z, g), torch.autograd.grad(other, z, g)
    assert torch.allclose(one, two, atol=1e-8)


def test_thirty_items_and_a_hundred_menus(rng):
    menus = sorted({tuple(sorted((10 * (i % 3) + rng.choice(10, 8, replace=False)).tolist())) for i in range(150)})[
        :100
    ]
    layer, head = RUMLayer(30, menus, warm_start=True), MenuSoftmax(30, menus)
    net = torch.nn.Sequential(torch.nn.Linear(4, len(layer.cells)), head, layer)
    x, y = torch.randn(6, 4, generator=torch.Generator().manual_seed(0)), torch.rand(6, len(layer.cells))
    optimiser = torch.optim.Adam(net.parameters(), lr=0.1)
    losses = []
    for _ in range(4):
        optimiser.zero_grad()
        loss = (net(x) - y).square().mean()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0]
    assert (layer.cells[:, 0] == [sum(1 << x for x in menu) for menu in menus for _ in menu]).all()
    assert 6 <= len(layer.warm) <= 24  # steps as large as these make new samples of old ones
    labels = [f"item {x}" for x in range(30)]
    named = AxiomLayer(RandomUtility(), [[labels[x] for x in menu] for menu in menus], labels)
    assert torch.allclose(named(y.double()), layer(y.double()), atol=1e-9)
    assert RUMLayer(70, [[0, 69], [3, 5, 69]]).cells.tolist()[1] == [(1 << 69) + 1, 69]


@pytest.mark.parametrize("name", MODELS)
def test_warm_starts_change_nothing_but_time(name, rng):
    warm, cold = of_model(name, warm_start=True).layer, of_model(name).layer
    z = torch.tensor(rng.normal(0.3, 0.3, (8, len(cold.cells))))
    for _ in range(3):
        z = z + 0.02 * torch.tensor(rng.normal(size=z.shape))
        order = torch.tensor(rng.permutation(8))
        a, b = z[order].clone().requires_grad_(), z[order].clone().requires_grad_()
        y, expected = warm(a, index=order), cold(b)
        assert torch.allclose(y, expected, atol=1e-9)
        y.square().sum().backward()
        expected.square().sum().backward()
        assert torch.allclose(a.grad, b.grad, atol=1e-7)
    assert len(warm.warm) == 8
    assert 0 < warm.warm.bytes < 1 << 20
    assert torch.equal(AxiomLayer(*MODELS[name], threads=1)(z), AxiomLayer(*MODELS[name], threads=2)(z))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_dtypes_and_shapes(dtype):
    layer = AxiomLayer(*MODELS["single-peaked"], return_distance=True)
    for shape in ((), (0,), (3,), (2, 1, 3)):
        z = torch.rand(*shape, len(layer.cells), generator=torch.Generator().manual_seed(0)).to(dtype).requires_grad_()
        y, distance = layer(z)
        (y.square().sum() + distance.sum()).backward()
        assert y.shape == z.shape
        assert distance.shape == shape
        assert y.dtype == distance.dtype == z.grad.dtype == dtype
        assert torch.equal(y, layer(z.double())[0].to(dtype))


class Mine(rf.Model):
    """A model of the user's own: everybody ranks by number, or the other way round."""

    def geometry(self, cells, limit=None):
        rows = [[cells.items[np.flatnonzero(row)[end]] for row in cells.membership] for end in (0, -1)]
        return rf.Types(rows).geometry(cells)


def make(name):
    return AxiomLayer(Mine(), MENUS) if name == "own" else of_model(name).layer


@pytest.mark.parametrize("name", [*MODELS, "own"])
def test_copies(name):
    layer = make(name)
    z = torch.rand(3, len(layer.cells), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    y = layer(z)
    text = pickle.dumps(layer)
    assert len(text) < 20_000
    for other in (copy.deepcopy(layer), pickle.loads(text)):
        assert torch.equal(other(z), y)
    assert not layer.state_dict()
    assert repr(layer) == repr(pickle.loads(text)) or name == "own"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["random utility", "own"])
def test_compiled_and_exported(name):
    torch._dynamo.reset()
    layer = make(name)
    net = torch.nn.Sequential(torch.nn.Linear(3, len(layer.cells)), layer)
    x = torch.randn(5, 3, generator=torch.Generator().manual_seed(2))

    def gradients(model):
        net.zero_grad()
        model(x).square().sum().backward()
        return torch.cat([p.grad.reshape(-1) for p in net.parameters()])

    expected = gradients(net)
    assert torch.allclose(gradients(torch.compile(net, fullgraph=True, backend="aot_eager")), expected, atol=1e-6)
    with torch.no_grad():
        program = torch.export.export(net, (x,))
        assert torch.allclose(program.module()(x), net(x), atol=1e-6)


@pytest.mark.parametrize("name", ["known preference", "lattice", "smoothed", "all menus"])
def test_batches_of_samples_and_directions(name):
    """More samples and more directions are both batches, and are not mixed up, in any order of the two."""
    options = {"smoothed": {"smoothing": 1e-2}, "all menus": {"menus": [3, 5, 7], "all_menus": True}}.get(name, {})
    layer = of_model(name, "weights").layer if name in MODELS else RUMLayer(3, **options)
    z = torch.rand(3, 2, len(layer.cells), generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    assert torch.allclose(torch.func.vmap(layer, in_dims=1, out_dims=1)(z), layer(z), atol=1e-12)
    expected = torch.stack([torch.stack([torch.func.jacrev(layer)(z[i, j]) for j in range(2)]) for i in range(3)])
    for jacobian in (torch.func.jacrev(layer), torch.func.jacfwd(layer)):
        assert torch.allclose(torch.func.vmap(torch.func.vmap(jacobian))(z), expected, atol=1e-10)
        moved = torch.func.vmap(torch.func.vmap(jacobian, in_dims=1), in_dims=1)(z.permute(2, 0, 1))
        assert torch.allclose(moved, expected, atol=1e-10)
        whole, half = jacobian(z), torch.func.vmap(jacobian)(z)
        for i in range(3):
            for j in range(2):
                assert torch.allclose(whole[i, j, :, i, j], expected[i, j], atol=1e-10)
                assert torch.allclose(half[i, j, :, j], expected[i, j], atol=1e-10)
        assert float(half[:, 0, :, 1].abs().max()) == 0.0


def test_inside_the_model_every_direction_of_it_is_passed_on(rng):
    """The Jacobian is the projector onto the affine hull, which for few types is smaller than menu sums allow."""
    for name in ("types", "graph", "single-peaked", "random utility", "apart"):
        case = of_model(name)
        z = case.types.T @ rng.dirichlet(np.ones(len(case.types)))
        spread = (case.types - case.types[0]).T
        expected = spread @ np.linalg.pinv(spread, rcond=1e-10)
        assert torch.func.jacrev(case.layer)(torch.tensor(z)).numpy() == pytest.approx(expected, abs=1e-9)


def test_factors_may_be_computed_again(monkeypatch, rng):
    case = of_model("single-peaked", "weights")
    z = torch.tensor(rng.normal(0.3, 0.3, (4, len(case.w)))).requires_grad_()
    expected = torch.autograd.grad(case.layer(z).square().sum(), z)[0]
    monkeypatch.setattr("rumflow.solvers.geometry._FACTOR_BYTES", 0)
    assert torch.allclose(torch.autograd.grad(case.layer(z).square().sum(), z)[0], expected, atol=1e-12)


def test_menus_of_one_item_are_certain(rng):
    layer = AxiomLayer(rf.SinglePeaked("abc"), [["b"], ["a", "c"], ["a", "b", "c"]], "abc")
    assert layer.cells.tolist() == [[0, 1], [1, 0], [1, 2], [2, 0], [2, 1], [2, 2]]
    z = torch.tensor(rng.normal(size=6)).requires_grad_()
    y = layer(z)
    assert y[0] == 1.0
    assert torch.func.jacrev(layer)(z.detach())[0].abs().sum() == 0
    target, weights = np.zeros((2, 3)), np.array([[1, 1, 0], [1, 1, 1]])
    target[0, :2], target[1] = z.tolist()[1:3], z.tolist()[3:]
    fitted, _ = projection([(0, 0), (0, 1), (1, 1), (1, 2)], (2, 3), target, weights)
    assert y.tolist()[1:3] == pytest.approx(fitted[0, :2], abs=1e-9)


def test_wrong_arguments_are_named():
    model = rf.SinglePeaked("abc")
    for menus, items, options, message in (
        ([], "abc", {}, "at least one menu"),
        ([["a", "d"]], "abc", {}, "item 'd' is unknown"),
        ([["a", "b"], []], "abc", {}, "at least one item is needed"),
        (["ab"], "abc", {}, "a list of items is needed"),
        ([["a", "a"]], "abc", {}, "twice"),
        ([["a", "b"], ["b", "a"]], "abc", {}, "appears twice"),
        ([["a", "b"]], "aabc", {}, "'a' appears twice"),
        ([["a", "b"]], None, {}, "items"),
        ([["a"]], "abc", {}, "two items or more"),
        ([["a", "b"]], "abc", {"weights": [1.0]}, "2 cells"),
        ([["a", "b"]], "abc", {"weights": [1.0, -1.0]}, "menu 0, item 'b'"),
        ([["a", "b"]], "abc", {"weights": torch.ones(2, requires_grad=True)}, r"weights\.detach"),
        ([["a", "b"]], "abc", {"tol": 2.0}, "tol"),
    ):
        with pytest.raises(rf.InputError, match=message):
            AxiomLayer(model, menus, items, **options)
    with pytest.raises(rf.InputError, match="24 items"):
        RUMLayer(30, [[0, 1]], smoothing=0.1)
    with pytest.raises(rf.InputError, match=r"weights\.detach"):
        RUMLayer(3, weights=torch.ones(12, requires_grad=True))
    layer = AxiomLayer(model, [["a", "b"], ["b", "c"]], "abc")
    with pytest.raises(rf.InputError, match=r"sample 1: menu 1 \('b', 'c'\), item 'c' is nan"):
        layer(torch.tensor([[0.0] * 4, [0, 0, 0, float("nan")]]))
    with pytest.raises(rf.InputError, match="4 cells"):
        layer(torch.zeros(3))


def test_cells_of_the_graph_are_those_of_the_layer():
    cells = graph_cells([[0, 1], [2], [1, 2]], range(3))
    assert cells.same(GraphCells([[True, True, False], [False, True, True]], None, range(3)))


def test_directions_forward_and_twice_backward_agree_inside(rng):
    """Data that fit, with menus that are not read but written: what stands there depends on the side it is asked from."""
    layer = RUMLayer(4, [3, 13, 14], all_menus=True, return_flow=True)
    whole = rf.simulate.mixed_logit(4, seed=3)
    z = torch.tensor(whole[layer.cells[:, 0], layer.cells[:, 1]])
    t = torch.tensor(rng.normal(size=len(z)))
    ahead = torch.func.jvp(layer, (z,), (t,))[1]
    twice = torch.autograd.functional.jvp(layer, z, t)[1]
    back = [jacobian @ t for jacobian in torch.func.jacrev(layer)(z)]
    for one, two, three in zip(ahead, twice, back, strict=True):
        assert torch.allclose(one, two, atol=1e-10)
        assert torch.allclose(one, three, atol=1e-10)
        assert float(one.abs().max()) > 0.1
