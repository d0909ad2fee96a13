"""Inputs and moments at which answers used to be wrong, lost or late."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.solvers import dispatch
from rumflow.solvers.active_set import solve as active_set


def test_an_array_that_can_be_read_in_two_ways_is_asked_about():
    rho = rf.simulate.dirichlet(4, 0)
    with pytest.raises(rf.InputError, match=r"either one problem of 4 items or a stack of 16 problems of 2 items"):
        rf.project_many(rho)
    assert rf.project_many(rho[None]).rho[0] == pytest.approx(rf.project(rho).rho)
    assert rf.project_many(rho, n=2).rho.shape == (16, 4)
    with pytest.raises(rf.InputError, match="n=3"):
        rf.project_many(rho, n=3)
    with pytest.raises(rf.InputError, match=r"project\(\)"):
        rf.project_many(rf.simulate.dirichlet(3, 0))


def test_masked_entries_are_not_observed():
    rho = rf.simulate.noisy_rankings(4, seed=0)
    hidden = np.where(np.arange(16)[:, None] == 15, np.nan, rho)
    masked = np.ma.masked_invalid(hidden)
    masked.data[15] = 0.25  # what lies under the mask must not count
    assert rf.project(masked).objective == rf.project(hidden).objective
    with pytest.raises(rf.InputError, match="finite"):
        rf.project_many(masked[None])


def test_block_marschak_of_choice_data():
    rho = rf.simulate.noisy_rankings(3, seed=1)
    data = rf.ChoiceData.from_matrix(100 * rho)
    assert rf.block_marschak(data) == pytest.approx(rf.block_marschak(rho))
    with pytest.raises(rf.InputError, match="every menu"):
        rf.block_marschak(rf.ChoiceData.from_counts({("a", "b"): {"a": 1}, ("a", "c"): {"c": 1}}))


def test_counts_beyond_double_precision_are_refused_by_name():
    data = rf.ChoiceData.from_counts(
        {("a", "b"): {"a": 1, "b": 2}, ("a", "c"): {"a": 2e15, "c": 3e15}, ("b", "c"): {"b": 1, "c": 4}}
    )
    with pytest.raises(rf.InputError, match=r"menu \{a, c\}.* and menu \{a, b\}.* 1e\+12"):
        rf.project(data, weights="counts")
    assert rf.project(data).status is rf.Status.OPTIMAL


@pytest.mark.parametrize("n", [4, 7])
def test_weights_far_apart_are_certified_or_said_not_to_be(n, rng):
    inside = rf.Lattice(n).membership
    for seed in range(4):
        weights = 10 ** rng.uniform(-6, 6, (1 << n, 1)) * inside
        rho = rf.simulate.noisy_rankings(n, seed=seed)
        one, many = rf.project(rho, weights, throw=False), rf.project_many(rho[None], weights, throw=False)
        assert one.status is many.status[0]
        if one.status is rf.Status.OPTIMAL:
            least = weights[inside].min()
            assert one.gap <= max(1e-9 * one.objective, 1e-6 * least)
    with pytest.raises(rf.InputError, match=r"differ by a factor of 1e\+12"):
        rf.project(rho, 10 ** rng.uniform(-12, 12, (1 << n, 1)) * inside)


def test_huge_inputs_of_the_layer():
    torch = pytest.importorskip("torch")
    from rumflow.torch import RUMLayer

    z = torch.randn(4, 80, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    layer = RUMLayer(5)
    for scale in (1e9, 1e12, 1e15):
        assert torch.allclose(layer(scale * z), layer(1e6 * z), atol=1e-6)
    # Thirty items with small menus take a graph, and the lattice only where it is asked for, with a clear error.
    few = RUMLayer(30, menus=[3, 12, 48])
    assert torch.allclose(
        few(torch.tensor([1.0, 0.0, 0.5, 0.5, 2.0, 1.0])), torch.tensor([1.0, 0.0, 0.5, 0.5, 1.0, 0.0])
    )
    with pytest.raises(rf.InputError, match="30"):
        RUMLayer(30)


class Interrupted:
    """The active set, interrupted in one of its passes."""

    def __init__(self, monkeypatch, at):
        self.calls, self.at = 0, at
        self.plain = active_set.kernels.measure
        monkeypatch.setattr(active_set.kernels, "measure", self)

    def __call__(self, *arguments):
        self.calls += 1
        if self.calls == self.at:
            raise KeyboardInterrupt
        return self.plain(*arguments)


def test_an_interrupt_ends_a_stack_and_keeps_what_is_done(monkeypatch):
    stack = np.stack([rf.simulate.noisy_rankings(9, seed=s) for s in range(4)])
    whole = rf.project_many(stack, threads=1)
    Interrupted(monkeypatch, int(whole.iterations[0]) + 3)
    found = rf.project_many(stack, threads=1, throw=False)
    assert found.status == [rf.Status.OPTIMAL, *[rf.Status.INTERRUPTED] * 3]
    assert (found.rho[0] == whole.rho[0]).all()
    assert (found.gap[1:] > 0.1).all()
    Interrupted(monkeypatch, 2)
    with pytest.raises(rf.NotConvergedError, match="interrupted"):
        rf.project_many(stack, threads=1)


def test_an_interrupt_ends_a_test_with_what_is_done(monkeypatch):
    data = rf.ChoiceData.from_matrix(np.round(100 * rf.simulate.noisy_rankings(9, seed=0)))
    options = {"seed": 0, "threads": 1, "tau": 0.1, "tol": 1e-3}
    counted = Interrupted(monkeypatch, 0)
    first = rf.rum_test(data, n_boot=100, **options)  # a piece of work
    Interrupted(monkeypatch, counted.calls + 20)
    found = rf.rum_test(data, n_boot=250, **options)
    assert found.interrupted
    assert found.n_boot == 100
    assert found.failed == 0
    assert (found.null_distribution == first.null_distribution).all()


def test_an_interrupt_of_one_projection_keeps_its_point(monkeypatch):
    Interrupted(monkeypatch, 5)
    fit = rf.project(rf.simulate.noisy_rankings(9, seed=0), throw=False)
    assert fit.status is rf.Status.INTERRUPTED
    assert fit.rho.sum(axis=1)[1:] == pytest.approx(1)


def test_every_caller_recovers_alike(monkeypatch):
    """Where the solver for few items gives up, all go on with the same chain."""
    plain = dispatch.solve_few_items
    monkeypatch.setattr(dispatch, "solve_few_items", lambda *a, **k: plain(*a, **{**k, "tol": 0.5}))
    rho = rf.simulate.dirichlet(6, 0)
    fit = rf.project(rho)
    assert fit.status is rf.Status.OPTIMAL
    assert fit.gap <= 1e-9 * fit.objective


@pytest.mark.parametrize("ask", [rf.project, rf.estimate_cost, rf.rum_test, rf.fit_likelihood])
def test_what_is_no_model_is_named(ask):
    data = rf.simulate.random_menus(9, 12, 3, seed=0)
    with pytest.raises(rf.InputError, match="a model such as RandomUtility"):
        ask(data, model="rum")
    with pytest.raises(rf.InputError, match="RandomUtility is a class"):
        ask(data, model=rf.RandomUtility)


def test_a_likelihood_that_rises_is_not_given_up():
    # Its gap is small by chance in the fourth round, and ten thousand times larger for many rounds after it.
    sales = rf.simulate.stock_outs(40, 30, missing=0.1, draws=200, seed=1)
    assert rf.fit_likelihood(sales).gap <= 1e-6


def test_damaged_files_within_a_wrong_encoding(tmp_path):
    import gzip

    path = tmp_path / "data.csv.gz"
    whole = bytearray(gzip.compress("menu,choice\n".encode("utf-16") + b"\xff" * 50))
    whole[-6] ^= 1  # the check sum
    path.write_bytes(bytes(whole))
    with pytest.raises(rf.InputError, match=r"data.csv.gz.*(damaged|not utf-8|gzip)"):
        rf.ChoiceData.from_csv(path)


def test_parquet_damage_in_a_page(tmp_path, monkeypatch):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "data.parquet"
    parquet.write_table(arrow.table({"menu": ["a,b"] * 3, "choice": ["a", "b", "a"]}), path)

    class Broken:
        def __init__(self, *arguments, **options):
            real = parquet_file(*arguments, **options)
            self.schema_arrow, self.metadata = real.schema_arrow, real.metadata

        def iter_batches(self, **options):
            raise arrow.lib.ArrowInvalid("Output buffer size (14) must be 24 or larger.")

    parquet_file = parquet.ParquetFile
    monkeypatch.setattr(parquet, "ParquetFile", Broken)
    with pytest.raises(rf.InputError, match=r"data\.parquet, row 0: the file is damaged: Output buffer"):
        rf.ChoiceData.from_csv(path)


def test_layers_want_tensors():
    pytest.importorskip("torch")
    from rumflow.torch import RUMLayer

    with pytest.raises(rf.InputError, match="a tensor of PyTorch is needed"):
        RUMLayer(3)(np.ones((2, 12)))
