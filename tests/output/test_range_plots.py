"""Pictures of bounds, intervals, menus to ask and assortments."""

import pytest

import rumflow as rf
from rumflow.output.range_plots import Interval, plot_ranges
from tests.reference.pictures import LONG, assert_texts_apart

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")
Text = pytest.importorskip("matplotlib.text").Text
plots = pytest.importorskip("rumflow.output.plots")


@pytest.mark.parametrize("n", range(3, 9))
def test_bounds(n):
    one = {LONG[k]: (k / n, (k + 1) / n) for k in range(n)}
    assert_texts_apart(plots.plot_bounds(one))
    several = {(tuple(LONG[: n - k % 2]), LONG[k % (n - 1)]): (0.5, 0.5 + k / n / 2) for k in range(n)}
    assert_texts_apart(plots.plot_bounds(several))
    with pytest.raises(rf.InputError, match="no bounds"):
        plots.plot_bounds({})


def test_bounds_as_they_are_computed():
    data = rf.ChoiceData.from_counts({("tea", "milk"): {"tea": 30, "milk": 10}, ("tea", "gin"): {"tea": 20, "gin": 20}})
    ax = plots.plot_bounds(rf.bounds(data, ("tea", "milk", "gin"), confidence=None))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["tea", "milk", "gin"]


def test_bounds_show_their_intervals():
    data = rf.ChoiceData.from_counts({("tea", "milk"): {"tea": 30, "milk": 10}, ("tea", "gin"): {"tea": 20, "gin": 20}})
    found = rf.bounds(data, ("tea", "milk", "gin"), confidence=0.9, n_boot=19)
    ax = plots.plot_bounds(found)
    drawn = {tuple(line.get_xdata()) for line in ax.get_lines()}
    assert set(zip(found.confidence_lower, found.confidence_upper, strict=True)) <= drawn
    assert "90 % interval" in [text.get_text() for text in ax.get_legend().get_texts()]
    assert_texts_apart(ax)


def test_what_to_ask_next_is_drawn_as_widths():
    data = rf.ChoiceData.from_counts({("tea", "milk"): {"tea": 30, "milk": 10}, ("tea", "gin"): {"tea": 20, "gin": 20}})
    found = rf.next_menu(data)
    ax = found.plot()
    assert [text.get_text() for text in ax.texts] == [f"{width:.4g}" for width in found.width]
    assert ax.get_legend() is None
    low, high = sorted(ax.get_ylim())
    assert low < -0.4  # the first bar and the last are whole
    assert high > len(found.menus) - 0.6


def test_assortments_with_long_names_are_told_apart():
    names = ["none", *(f"a room with a name that is long, number {k}" for k in range(4))]
    data = rf.simulate.random_menus(5, 6, 3, seed=0)
    counts = {tuple(names[x] for x in menu): None for menu in data.menus}
    counts = {(names[0], *(x for x in menu if x != names[0])): {} for menu in counts}
    counts = {menu: {x: 10 for x in menu} for menu in counts}
    best = rf.best_assortment(rf.ChoiceData.from_counts(counts, items=names), dict.fromkeys(names[1:], 1.0), "none")
    labels = [label.get_text() for label in best.plot().get_yticklabels()]
    assert len(set(labels)) == len(labels)
    assert all(name.split(":")[0] in best.table["assortment"] for name in labels)


def test_ranges_are_written_beside_their_intervals():
    ax = plot_ranges(["a", "b"], ([0.2, 0.5], [0.4, 0.5]), Interval([0.1, float("nan")], [0.6, float("nan")]))
    written = [text.get_text() for text in ax.texts]
    assert written == ["0.2 to 0.4  (0.1 to 0.6)", "0.5"]
