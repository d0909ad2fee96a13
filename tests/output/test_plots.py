"""Pictures of fits and tests: drawn for n = 3 to 8 with long labels, and no two texts overlap."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import rumflow as rf
from rumflow.data.choices import ChoiceData
from tests.reference.every_result import results
from tests.reference.pictures import LONG, assert_texts_apart

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")
Text = pytest.importorskip("matplotlib.text").Text
plots = pytest.importorskip("rumflow.output.plots")


def make_fit(n, labels=None, trace=None):
    counts = 60 * rf.simulate.noisy_rankings(n, draws=60, seed=n)
    data = ChoiceData.from_matrix(counts, LONG[:n] if labels is None else labels)
    return rf.project(data, progress=trace.append if trace is not None else False)


@pytest.mark.parametrize("n", range(3, 9))
def test_pictures_of_a_fit(n):
    trace = []
    fit = make_fit(n, trace=trace)
    for draw in (plots.plot_fit, plots.plot_block_marschak, plots.plot_lattice, plots.plot_rankings):
        assert_texts_apart(draw(fit))
    if trace:
        assert_texts_apart(plots.plot_trace(trace))


def test_short_labels_stand_for_themselves():
    fit = make_fit(4, ["tea", "milk", "juice", "cola"])
    ax = plots.plot_rankings(fit)
    assert_texts_apart(ax)
    assert "tea" in ax.get_yticklabels()[0].get_text()


@pytest.mark.parametrize("statistic", [1.0, 30.0, 300.0])
def test_null_distribution(statistic):
    null = np.random.default_rng(0).gamma(4, 10, 499)
    result = SimpleNamespace(taus=(0.16, 0.0), null_distributions=[null, null], statistic=statistic, pvalues=[0.2, 0.1])
    assert_texts_apart(plots.plot_null(result))
    assert_texts_apart(plots.plot_null(result, tau=0.0))


def test_they_take_an_axes():
    fit = make_fit(4)
    _, axes = plt.subplots(2, 2, layout="constrained")
    for ax, draw in zip(
        axes.flat, (plots.plot_fit, plots.plot_block_marschak, plots.plot_lattice, plots.plot_rankings), strict=True
    ):
        assert draw(fit, ax) is ax


def test_position_shares_are_those_of_the_rankings():
    fit = make_fit(6)
    shares = plots.position_shares(fit)
    np.testing.assert_allclose(shares.sum(axis=0), 1, atol=1e-9)
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-9)
    first = np.zeros(6)
    np.add.at(first, fit.rankings.orders[:, 0], fit.rankings.weights)
    np.testing.assert_allclose(shares[0], first, atol=1e-9)


def test_block_marschak_needs_every_menu():
    fit = rf.project(ChoiceData.from_counts({("a", "b"): {"a": 1}, ("b", "c"): {"b": 1}}))
    with pytest.raises(rf.InputError, match="incomplete"):
        plots.plot_block_marschak(fit)


def test_nothing_to_draw():
    fit = rf.project(ChoiceData.from_counts({("a",): {"a": 6}, ("b",): {"b": 4}}))
    with pytest.raises(rf.InputError, match="nothing to draw"):
        plots.plot_fit(fit)
    rho = rf.simulate.dirichlet(3, 0)
    rho[3] = np.nan
    for source in (rho, rf.project(rho)):
        with pytest.raises(rf.InputError, match="every menu"):
            plots.plot_block_marschak(source)
    with pytest.raises(rf.InputError, match="shape"):
        plots.plot_block_marschak(np.ones(5))


@pytest.mark.parametrize("labels", [None, [f"a product with a long name, number {x}" for x in range(100)]])
def test_pictures_of_a_hundred_items(labels):
    data = rf.simulate.stock_outs(100, 30, seed=0)
    if labels is not None:
        data = ChoiceData(tuple(labels), data.membership, data.counts, data.totals)
    fit = rf.project(data)
    for draw in (plots.plot_fit, plots.plot_rankings):
        assert_texts_apart(draw(fit))
    texts = [label.get_text() for label in plots.plot_rankings(fit).get_yticklabels()]
    assert all("the others" in text or "more" in text for text in texts)
    with pytest.raises(rf.InputError, match="at most 22 items"):
        plots.plot_lattice(fit)


def test_models_side_by_side():
    data = rf.simulate.random_menus(9, 20, 4, seed=0)
    models = {
        "all rankings": rf.RandomUtility(),
        "a name that is much too long for the picture": rf.SinglePeaked(range(9)),
    }
    ax = rf.compare_models(data, models).plot()
    assert_texts_apart(ax)
    assert [bar.get_width() for bar in ax.patches] == [rf.project(data, model=m).distance for m in models.values()]


def test_a_file_is_no_axes(tmp_path):
    """Every picture says how it is saved."""
    data = rf.ChoiceData.from_counts({("tea", "milk"): {"tea": 30, "milk": 10}, ("tea", "gin"): {"tea": 20, "gin": 20}})
    budgets = rf.BudgetData.from_shares([[1.0, 2.0], [2.0, 1.0]], [0, 1], [[0.5, 0.5]] * 2)
    drawn = [make_fit(3, ["a", "b", "c"]), rf.rum_test(data, 9, seed=0), rf.next_menu(data), budgets]
    drawn.append(rf.compare_models(data, {"every": None}, likelihood=False))
    for result in drawn:
        for file in ("a.png", tmp_path / "a.png"):
            with pytest.raises(rf.InputError) as caught:
                result.plot(file)
            assert str(caught.value).endswith(f'ax = result.plot(); ax.figure.savefig("{file}")')
            assert "matplotlib Axes are needed" in str(caught.value)
    with pytest.raises(rf.InputError, match=r"Axes are needed, or None for a new figure$"):
        drawn[0].plot(plt.figure())
    ax = plt.figure().add_subplot()
    assert drawn[0].plot(ax) is ax


ODD = ("$5_$9 wine", "a\x1b[31m\nb", "50% {x} $\\alpha$ & #1", "\ud800 out")


def odd_pictures():
    """Every picture, of data with odd labels."""
    for result in results(ODD).values():
        if hasattr(result, "plot"):
            yield result.plot
    fit = rf.project(rf.simulate.dirichlet(3, seed=0))
    whole = rf.ChoiceData.from_matrix(fit.observed, ODD[:3])
    for draw in (plots.plot_fit, plots.plot_rankings, plots.plot_lattice, plots.plot_block_marschak):
        yield partial(draw, rf.project(whole))
    yield partial(
        plots.plot_lattice, rf.project(rf.ChoiceData.from_matrix(rf.simulate.dirichlet(6, seed=0), [*ODD, "x", "y"]))
    )
    yield partial(plots.plot_bounds, rf.bounds(whole, ODD[:2], confidence=None))
    yield partial(plots.plot_bounds, {(ODD[:2], ODD[0]): (0.1, 0.2), (ODD[:3], ODD[0]): (0.1, 0.2)})
    for goods in (2, 3):
        prices = np.eye(goods) + 1
        bundles = np.repeat(np.eye(goods), goods, axis=0)
        budget = list(ODD[:goods]) * goods
        data = rf.BudgetData.from_quantities(prices, budget, bundles, degree=0, labels=ODD[:goods], goods=ODD[:goods])
        yield data.plot


def test_labels_are_never_tex_and_hold_nothing_unseen():
    """Whatever matplotlib is set to: a label between dollar signs is a label."""
    count = 0
    for draw in odd_pictures():
        with matplotlib.rc_context({"text.usetex": True}):  # nothing is drawn yet
            ax = draw()
        for text in ax.figure.findobj(Text):
            shown = text.get_text()
            assert not set(shown) & set("\x1b\ud800"), shown
            if any(sign in shown for sign in ("$5", "[31m", "{x}", "ud800")):
                count += 1
                assert not text.get_parse_math(), shown
                assert not text.get_usetex(), shown
                assert "a\nb" not in shown
        plt.close(ax.figure)
    assert count > 60
    for draw in odd_pictures():
        ax = draw()
        ax.figure.canvas.draw()
        plt.close(ax.figure)
