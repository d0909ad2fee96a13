"""The layer among the other parts of PyTorch: compiled graphs, transforms of functions, copies, several processes."""

from __future__ import annotations

import copy
import io
import pickle
import socket
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the layer is not tested")

from torch import nn  # noqa: E402

import rumflow as rf  # noqa: E402
from rumflow.core.transforms import moebius  # noqa: E402
from rumflow.torch import ChoiceLikelihood, ConflictMonitor, MenuSoftmax, RUMLayer  # noqa: E402
from rumflow.torch.cells import Cells  # noqa: E402

LAYERS = {
    "exact": {},
    "menus": {"menus": [3, 5, 7, 15], "all_menus": True},
    "weights": {"weights": [0.5 + x % 3 for x in range(32)]},
    "warm": {"warm_start": True},
    "smooth": {"smoothing": 1e-2},
}


def network(kind: str = "exact") -> nn.Module:
    torch.manual_seed(0)
    options = LAYERS[kind]
    layer = RUMLayer(4, **options)
    return nn.Sequential(nn.Linear(5, len(layer.cells)), MenuSoftmax(4, menus=options.get("menus")), layer)


def gradients(model: nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
    model.zero_grad()
    model(x).square().sum().backward()
    return [p.grad.clone() for p in model.parameters()]


def assert_close(a: list[torch.Tensor], b: list[torch.Tensor], tolerance: float = 1e-5) -> None:
    assert len(a) == len(b)
    for one, other in zip(a, b, strict=True):
        assert float((one - other).abs().max()) <= tolerance


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["exact", "warm", "smooth"])
def test_compile_without_graph_break(kind: str) -> None:
    model = network(kind)
    x = torch.randn(7, 5, generator=torch.Generator().manual_seed(1))
    expected = gradients(model, x)
    torch._dynamo.reset()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    assert_close(gradients(compiled, x), expected)
    x = torch.randn(9, 5, generator=torch.Generator().manual_seed(2))
    assert_close(gradients(compiled, x), gradients(model, x))
    with torch.no_grad():
        assert torch.allclose(compiled(x), model(x), atol=1e-6)


@pytest.mark.slow
def test_the_likelihood_compiles_without_graph_break() -> None:
    layer = RUMLayer(4)
    loss = ChoiceLikelihood(layer)
    z = torch.rand(6, 32, generator=torch.Generator().manual_seed(1), requires_grad=True)
    menu, choice = torch.tensor([3, 7, 15, 5, 9, 8]), torch.tensor([0, 2, 3, 2, 0, 3])
    mask = ((menu[:, None] >> torch.arange(4)) & 1).bool()
    torch._dynamo.reset()
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    for inputs in ({"menu": menu}, {"available": mask}):
        own, other = (f(z, choice=choice, **inputs) for f in (compiled, loss))
        assert torch.allclose(own, other)
        assert_close(torch.autograd.grad(own, z), torch.autograd.grad(other, z))


@pytest.mark.parametrize(
    "options", [{}, {"weights": [0.5] * 32}, {"smoothing": 1e-2}, {"menus": [3, 7], "all_menus": True}]
)
def test_exported_programs_are_saved(options) -> None:
    layer = RUMLayer(4, **options)
    z = torch.rand(3, len(layer.cells), dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    stored = io.BytesIO()
    torch.export.save(torch.export.export(layer, (z,)), stored)
    stored.seek(0)
    assert torch.equal(torch.export.load(stored).module()(z), layer(z))


def test_shapes_are_computed_with_fake_tensors() -> None:
    """Also without an environment of shapes, where the size of the state cannot be unknown."""
    layer = RUMLayer(3)
    with torch._subclasses.FakeTensorMode(allow_non_fake_inputs=True):
        z = torch.rand(2, 12, requires_grad=True)
        y = layer(z)
        y.sum().backward()
    assert y.shape == z.grad.shape == (2, 12)


@pytest.mark.parametrize("kind", LAYERS)
def test_shapes_are_computed_on_the_meta_device(kind: str) -> None:
    options = LAYERS[kind]
    layer = RUMLayer(4, return_distance=True, return_flow=True, support=0.1, **options)
    z = torch.empty(2, 3, len(layer.cells), device="meta", requires_grad=True)
    y, distance, flow = layer(z)
    assert [part.device.type for part in (y, distance, flow)] == ["meta"] * 3
    assert (y.shape, distance.shape, flow.shape) == ((2, 3, 32), (2, 3), (2, 3, 32)), kind
    (y.sum() + distance.sum() + flow.sum()).backward()
    assert z.grad.shape == z.shape
    loss = ChoiceLikelihood(RUMLayer(4))
    here = torch.zeros(5, dtype=torch.int64, device="meta")
    assert loss(torch.empty(5, 32, device="meta"), menu=here, choice=here).device.type == "meta"


@pytest.mark.parametrize("kind", LAYERS)
def test_vmap(kind: str) -> None:
    layer = RUMLayer(4, **LAYERS[kind])
    z = torch.randn(3, 2, len(layer.cells), dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    direct = layer(z)
    assert torch.allclose(torch.func.vmap(layer)(z), direct, atol=1e-12)
    assert torch.allclose(torch.func.vmap(torch.func.vmap(layer))(z), direct, atol=1e-12)
    assert torch.allclose(torch.func.vmap(layer, in_dims=1, out_dims=1)(z), direct, atol=1e-12)

    def loss(row: torch.Tensor) -> torch.Tensor:
        return layer(row).square().sum()

    single = torch.func.vmap(torch.func.vmap(torch.func.grad(loss)))(z)
    point = z.clone().requires_grad_()
    loss(point).backward()
    assert torch.allclose(single, point.grad, atol=1e-9)
    # As many directions as samples: the two kinds of batch must not be mixed up.
    jacobians = torch.func.vmap(torch.func.jacrev(lambda row: layer(row)[:3]))(z[:, 0])
    for i in range(3):
        assert torch.allclose(jacobians[i], torch.func.jacrev(lambda row: layer(row)[:3])(z[i, 0]), atol=1e-9)


@pytest.mark.parametrize("kind", ["exact", "smooth", "graph"])
def test_operators_are_registered_as_they_behave(kind: str) -> None:
    cells = Cells.of_model(rf.SinglePeaked(range(3)), [[0, 1], [1, 2], [0, 2]]) if kind == "graph" else Cells(3)
    z = torch.randn(2, cells.n_cells, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    keys = torch.empty(0, dtype=torch.int64)
    operator, mu = torch.ops.rumflow.project, 1e-2 if kind == "smooth" else 0.0
    n_flow = 0 if kind == "graph" else 12
    args = (z, cells.problem, cells.weight, keys, cells.n_outputs, n_flow, mu, 1e-12, 0.0, 0.0, 0, 0, True)
    utilities = ("test_schema", "test_faketensor")
    torch.library.opcheck(operator.default, args, test_utils=utilities)
    rho, flow, *state = operator(*args)
    args = (rho, flow, *state, flow, cells.problem, cells.weight, mu, 0, True)
    torch.library.opcheck(torch.ops.rumflow.tangent.default, args, test_utils=utilities)


@pytest.mark.parametrize("kind", LAYERS)
def test_copies_and_saved_states(kind: str) -> None:
    model = network(kind)
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(5))
    y = model(x)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert torch.allclose(other(x), y, atol=1e-6)
        if kind == "warm":
            assert other[2].warm is not model[2].warm
            assert len(other[2].warm) == 4
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    other = network(kind)
    nn.init.zeros_(other[0].weight)
    other.load_state_dict(torch.load(file, weights_only=True))
    assert torch.allclose(other(x), y, atol=1e-6)
    assert not RUMLayer(3).state_dict()


def test_halving_a_model_does_not_halve_the_weights() -> None:
    weights = torch.rand(32, dtype=torch.float64, generator=torch.Generator().manual_seed(6)) + 0.5
    z = torch.randn(3, 32, generator=torch.Generator().manual_seed(7)).half()
    assert torch.equal(RUMLayer(4, weights=weights).half()(z), RUMLayer(4, weights=weights)(z))


def test_nothing_is_saved_when_no_gradient_is_needed() -> None:
    layer = RUMLayer(4)
    z = torch.randn(3, 32, dtype=torch.float64, generator=torch.Generator().manual_seed(8))
    saved: list[torch.Tensor] = []

    def note(tensor: torch.Tensor) -> torch.Tensor:
        saved.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        assert layer(z).grad_fn is None
        with torch.no_grad():
            layer(z.clone().requires_grad_())
        assert not saved
        layer(z.clone().requires_grad_())
        assert saved


def test_checkpointing() -> None:
    model = network()
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(9))
    expected = gradients(model, x)
    model.zero_grad()
    torch.utils.checkpoint.checkpoint(model, x, use_reentrant=False).square().sum().backward()
    assert_close([p.grad for p in model.parameters()], expected)


def test_training_stays_finite() -> None:
    # A network with nothing to learn from, driven hard: outputs of other layers turn NaN here.
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(3, 80), RUMLayer(5, warm_start=True))
    optimiser = torch.optim.Adam(model.parameters(), lr=1.0)
    x, y = torch.randn(16, 3), torch.rand(16, 80)
    for _ in range(60):
        optimiser.zero_grad()
        loss = (model(x) - y).square().sum()
        loss.backward()
        optimiser.step()
        assert torch.isfinite(loss)
        assert all(torch.isfinite(p.grad).all() for p in model.parameters())


README = """
import torch
from torch import nn
import rumflow as rf
from rumflow.torch import MenuSoftmax, RUMLayer

n = 5                                       # items; every menu of them: N = n 2^(n-1) = 80 (menu, item) cells
net = nn.Sequential(
    nn.Linear(7, 64), nn.ReLU(), nn.Linear(64, n << (n - 1)),
    MenuSoftmax(n),                         # probabilities in every menu ...
    RUMLayer(n, warm_start=True),           # ... of the nearest random utility model
)
menu, item = rf.Lattice(n).cells.T          # what the last axis runs over
truth = torch.tensor([rf.simulate.mixed_logit(n, seed=i)[menu, item].tolist() for i in range(32)])
x = torch.randn(32, 7)
optimiser = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(50):
    optimiser.zero_grad()
    loss = (net(x) - truth).square().mean()
    loss.backward()
    optimiser.step()
"""


def test_the_example_of_the_readme() -> None:
    torch.manual_seed(0)
    names: dict[str, object] = {}
    exec(README, names)
    net, x, loss = names["net"], names["x"], names["loss"]
    assert float(loss.detach()) < 5e-3
    y = net.double()(x.double()).detach().numpy()
    rows = rf.Lattice(5).cells_to_internal(y)
    assert min(moebius(row).min() for row in rows) > -1e-14


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _worker(rank: int, port: int, folder: str) -> None:
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    model = nn.parallel.DistributedDataParallel(network("warm"))
    x = torch.randn(8, 5, generator=torch.Generator().manual_seed(10))
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimiser.zero_grad()
        model(x[4 * rank : 4 * rank + 4]).square().sum().backward()
        optimiser.step()
    torch.save([p.detach() for p in model.parameters()], f"{folder}/{rank}.pt")
    monitor = ConflictMonitor(warmup=4, threshold=3.0)
    monitor(x[4 * rank : 4 * rank + 4, 0].square())
    monitor(x[4 * rank : 4 * rank + 4, 1].square() + 50.0 * rank)
    torch.save(monitor.state_dict(), f"{folder}/monitor{rank}.pt")
    torch.distributed.destroy_process_group()


@pytest.mark.slow
def test_distributed_data_parallel(tmp_path: Path) -> None:
    torch.multiprocessing.spawn(_worker, (_free_port(), str(tmp_path)), nprocs=2)
    parts = [torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in range(2)]
    assert_close(*parts, tolerance=0.0)
    known = [torch.load(tmp_path / f"monitor{rank}.pt", weights_only=True) for rank in range(2)]
    assert known[0] == known[1]
    x = torch.randn(8, 5, generator=torch.Generator().manual_seed(10))
    baseline = torch.cat([x[:, 0], x[:4, 1]]).abs().double()
    assert int(known[0]["count"]) == 12
    assert int(known[0]["flagged"]) == 4
    assert float(known[0]["mean"]) == pytest.approx(float(baseline.mean()), rel=1e-6)
    assert float(known[0]["square"]) == pytest.approx(float(baseline.var(correction=0)), rel=1e-6)
    model = network("warm")
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(8, 5, generator=torch.Generator().manual_seed(10))
    for _ in range(3):
        optimiser.zero_grad()
        (model(x).square().sum() / 2).backward()  # the mean over the processes
        optimiser.step()
    assert_close(parts[0], [p.detach() for p in model.parameters()])
