"""What is done in pieces, counted and kept, by hand; and what is assumed where nothing is said."""

import inspect
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.graph_cells import Cells
from rumflow.core.paths import paths_from_orders
from rumflow.inference import jobs
from rumflow.inference.assortment_task import Line
from rumflow.inference.places import find_place
from rumflow.output.progress import Counter
from tests.reference.examples import DECOY, FIRST, FITS, SECOND


def defaults(function):
    """The numbers and switches that a function assumes."""
    given = {name: one.default for name, one in inspect.signature(function).parameters.items()}
    return {name: value for name, value in given.items() if isinstance(value, bool | int | float)}


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (rf.rum_test, (None,), {"n_boot": 999, "n_jobs": 1, "progress": False, "tol": 1e-9}),
        (rf.rum_test_many, (None,), {"n_boot": 999, "cluster": False, "n_jobs": 1, "progress": False, "tol": 1e-9}),
        (rf.compare_groups, (None,), {"n_boot": 999, "cluster": False, "n_jobs": 1, "progress": False}),
        (rf.bounds, (DECOY,), {"n_boot": 199, "progress": False}),
        (rf.explain, (DECOY, 7), {"level": 0.05, "n_boot": 199, "most": 3, "halves": 20, "cluster": False, "seed": 0,
                                  "progress": False}),
        (rf.next_menu, (DECOY, [("z",)]), {"most": 60, "seed": 0, "progress": False}),
        (rf.best_assortment, (DECOY, {}), {"n_boot": 999, "seed": 0, "progress": False}),
        (rf.fit_likelihood, (None,), {"tol": 1e-6, "max_iterations": 200, "throw": True}),
        (rf.compare_models, (DECOY, {}), {"tol": 1e-9, "progress": False, "n_boot": 0, "seed": 0, "likelihood": True}),
    ],
)  # fmt: skip
def test_what_is_assumed_where_nothing_is_said(function, arguments, expected):
    assert defaults(function) == expected
    with pytest.raises(rf.InputError):
        function(*arguments)


# What is counted --------------------------------------------------------------------------------------------------------------


def last_line(capsys):
    return capsys.readouterr().err.strip().split("\r")[-1].strip()


def test_what_is_counted_while_it_runs(capsys):
    rf.rum_test(DECOY, 7, 0.1, seed=0, progress=True)
    assert last_line(capsys) == "rumflow: 7 of 7 replicates, 0 s to go"
    rf.rum_test_many([DECOY, FITS], 7, 0.1, seed=0, progress=True)
    assert last_line(capsys) == "rumflow: 14 of 14 replicates, 0 s to go"
    rf.fit_likelihood(DECOY).lr_test(3, 0, progress=True)
    assert last_line(capsys) == "rumflow: 3 of 3 replicates, 0 s to go"
    rf.explain(DECOY, n_boot=19, halves=2, progress=True)
    text = capsys.readouterr().err
    assert "rumflow: 2 of 2 menus left out, 0 s to go" in text
    assert "rumflow: 2 of 2 half-samples, 0 s to go" in text
    rf.explain(DECOY, n_boot=19, halves=2)
    rf.rum_test(DECOY, 7, 0.1, seed=0)
    rf.bounds(FITS, ["a", "c"], confidence=None)
    assert capsys.readouterr().err == ""


@pytest.fixture
def counters(monkeypatch):
    """What was to be counted, and what was: [shown, total, words, pieces, ...] of every counter."""
    found = []

    class Counting(Counter):
        def __init__(self, show, total, what):
            super().__init__(show, total, what)
            self._list = [show, total, what]
            found.append(self._list)

        def add(self, count):
            self._list.append(count)
            super().add(count)

    for name in ("bounds", "sharp", "jobs", "explain", "likelihood", "next_menu"):
        monkeypatch.setattr(import_module(f"rumflow.inference.{name}"), "Counter", Counting)
    return found


def test_everything_is_counted_once(counters):
    rf.next_menu(FITS)
    assert counters.pop() == [False, 2, "menus", 1, 1]
    rf.fit_likelihood(DECOY).lr_test(3, 0)
    assert counters.pop() == [False, 3, "replicates", 1, 1, 1]
    rf.rum_test(DECOY, 107, 0.1, seed=0, threads=1)
    assert counters.pop() == [False, 107, "replicates", 0, 100, 7]


def test_linear_programmes_are_counted_once(counters):
    rf.bounds(FITS, ["a", "c"], confidence=None)
    assert counters == [[False, 4, "linear programmes", 1, 1, 1, 1]]


def test_values_of_an_interval_are_counted(counters):
    """At most 27 for each: three inside, and for both ends four steps and eight halvings."""
    rf.bounds(FITS, ["a", "c"], n_boot=19, seed=1)
    assert counters[1][:3] == [False, 54, "values tested at most"]


def test_menus_left_out_and_half_samples_are_counted(counters):
    rf.explain(DECOY, n_boot=19, halves=2)
    assert counters[0][:3] == [False, None, "sets of menus tried"]
    assert counters[1:] == [[False, 2, "menus left out", 1, 1], [False, 2, "half-samples", 1, 1]]


def test_the_line_of_a_search(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("rumflow.inference.assortment_task.clock", lambda: now[0])
    line = Line(True)
    for seconds in (0.1, 0.2, 0.21, 0.4, 0.42):
        now[0] = seconds
        line.show(3, 1.5, 2.0)
    line.end()
    assert capsys.readouterr().err == 2 * "\rrumflow: 3 sets of menus, best 1.5, none above 2   " + "\n"
    quiet = Line(False)
    now[0] = 9.0
    quiet.show(3, 1.5, 2.0)
    quiet.end()
    assert capsys.readouterr().err == ""


# Jobs -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "rows"), [(1, 100), (1 << 14, 100), (30_000, 69), (1 << 18, 8), (1 << 30, 4)])
def test_replicates_in_a_piece(size, rows):
    replicator = SimpleNamespace(sample=SimpleNamespace(projector=SimpleNamespace(size=size)))
    assert jobs._piece_size(replicator) == rows


def test_memory_of_a_test_is_asked_for(monkeypatch):
    asked = []
    monkeypatch.setattr(jobs, "require_memory", lambda needed, what, *_: asked.append((needed, what)))
    rf.rum_test(FIRST, 5, tau=[0.1, 0.2], seed=0, threads=1, route="lattice")
    assert asked[0] == (5 * (9 * 2 + 8), "keeping 5 replicates of 1 tests")
    assert asked[1:] == [(jobs.test_bytes(3, 2, 5, 1), "the test for n = 3 items")]
    asked.clear()
    rf.rum_test(FIRST, 5, tau=0.1, seed=0, threads=1, route="graph")
    assert asked == [(5 * (9 + 8), "keeping 5 replicates of 1 tests")]


def collected(count, value=0.0):
    return jobs.Collected(np.full((2, count), value), np.zeros((2, count), bool), np.zeros(count, np.int64))


def test_a_checkpoint_is_written_every_ten_seconds(tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(jobs, "time", SimpleNamespace(monotonic=lambda: now[0]))
    store = jobs._Checkpoint(tmp_path / "file.npz", "mark", now[0])
    for seconds, written in ((100.0, False), (110.0, False), (110.1, True)):
        now[0] = seconds
        store.save([collected(3)])
        assert store.path.exists() == written
    store.path.unlink()
    now[0] = 120.0
    store.save([collected(3)])
    assert not store.path.exists()
    store.save([collected(3)], force=True)
    assert store.path.exists()
    jobs._Checkpoint(None, "").save([collected(3)], force=True)


def test_a_checkpoint_gives_back_what_was_done(tmp_path):
    store = jobs._Checkpoint(tmp_path / "file.npz", "mark")
    done = collected(3, 7.0)
    done.statistic[:, 2] = np.nan
    done.certified[0, 1], done.vanished[1] = True, 4
    store.save([done, collected(3, 1.0)], force=True)
    for count in (2, 3, 5):
        into = [collected(count, np.nan), collected(count, np.nan)]
        store.load(into)
        assert into[0].done.tolist() == [True, True, False, False, False][:count]
        assert into[1].done.tolist() == [True, True, True, False, False][:count]
        assert into[0].statistic[1, :2].tolist() == [7.0, 7.0]
        assert into[0].certified[:, :2].tolist() == [[False, True], [False, False]]
        assert into[0].vanished[:2].tolist() == [0, 4]
    with pytest.raises(rf.InputError, match="belongs to another test"):
        jobs._Checkpoint(store.path, "other").load([collected(3)])
    store.path.write_text("no checkpoint")
    with pytest.raises(rf.InputError, match="not a checkpoint file of rumflow, or a damaged one"):
        store.load([collected(3)])


@pytest.mark.parametrize("n_jobs", [0, 1.5, None])
def test_numbers_of_workers(n_jobs):
    with pytest.raises(rf.InputError, match="n_jobs="):
        rf.rum_test(FIRST, 3, 0.1, n_jobs=n_jobs)


# Places of the likelihood -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("route", ["lattice", "graph"])
def test_places_by_hand(route):
    """FIRST has {a}, {a, b} and {b, c}; 60 % rank a, b, c and 40 % c, b, a."""
    place = find_place(FIRST, None, route)
    orders = np.array([[0, 1, 2], [2, 1, 0]])
    mixture = (
        paths_from_orders(orders) if route == "lattice" else Cells(FIRST.membership[1:]).types_of_orders(orders),
        np.array([0.6, 0.4]),
    )
    point = place.point(mixture)
    expected = [[1.0, np.nan, np.nan], [0.6, 0.4, np.nan], [np.nan, 0.6, 0.4]]
    np.testing.assert_allclose(place.gather(place.rho(point)), expected, atol=1e-15)
    uniform = [[1.0, np.nan, np.nan], [0.5, 0.5, np.nan], [np.nan, 0.5, 0.5]]
    np.testing.assert_allclose(place.gather(place.rho(place.middle())), uniform, atol=1e-15)
    quarter = place.mix(point, place.middle(), 0.25)
    np.testing.assert_allclose(place.gather(place.rho(quarter))[1, 0], 0.75 * 0.6 + 0.25 * 0.5, atol=1e-15)
    values = place.spread(FIRST.counts, np.zeros(3))
    assert values.sum() == 12.0  # the nine of {a} leave no choice
    cost = place.spread(np.where(FIRST.membership, [[9, 9, 9], [1, 2, 9], [9, 5, 3]], np.nan), np.zeros(3))
    assert place.cheapest(cost) == 4.0  # a from {a, b} and c from {b, c}
    assert (
        place.cheapest(place.spread(np.where(FIRST.membership, [[0, 0, 0], [1, 2, 0], [0, 3, 8]], np.nan), np.zeros(3)))
        == 4.0
    )
    ranked, weights = place.rankings(point)
    assert weights.sum() == pytest.approx(1.0)
    assert (weights @ (np.argsort(ranked, axis=1)[:, 0] < np.argsort(ranked, axis=1)[:, 1])) == pytest.approx(0.6)
    found, _ = place.project(
        place.spread(np.where(FIRST.membership, 1.0, np.nan), np.zeros(3)), place.rho(point), 1e-12, None
    )
    np.testing.assert_allclose(place.gather(place.rho(found)), expected, atol=1e-5)
    again = place.fresh()
    np.testing.assert_allclose(again.gather(again.rho(again.middle())), uniform, atol=1e-15)
    inside = place.mixture(quarter)
    np.testing.assert_allclose(
        place.gather(place.rho(place.point(inside))), place.gather(place.rho(quarter)), atol=1e-6
    )
    assert place.flow(point).shape == (3, 4)


def test_remainders_have_a_place_on_the_graph_only():
    place = find_place(SECOND, None, None)
    table = place.spread(SECOND.counts, np.array([0.0, 4.0]))
    assert table.tolist() == [[5.0, 15.0, 0.0], [4.0, 2.0, 4.0]]
    with pytest.raises(rf.InputError, match="but no cell on the lattice"):
        find_place(SECOND, None, "lattice")
    # Every way through the graph is as likely: at first a, b or c, then what is left.
    np.testing.assert_allclose(place.rho(place.middle()), [[0.5, 0.5, 0.0], [1 / 3, 1 / 3, 1 / 3]], atol=1e-15)
