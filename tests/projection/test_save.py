"""Fits are saved and loaded: the same numbers, a certificate computed again, and files that are refused."""

import json
import pickle

import numpy as np
import pytest

import rumflow as rf
from rumflow import simulate
from rumflow.core.transforms import moebius
from rumflow.output.archive import read_archive, write_archive

PAIRS = {("a", "b"): {"a": 6, "b": 4}, ("a", "c"): {"a": 3, "c": 7}, ("b", "c"): {"b": 9, "c": 1}}


def labelled(n=10, seed=0):
    data = simulate.random_menus(n, 25, 4, seed=seed)
    return rf.ChoiceData(tuple(f"item {x}" for x in range(n)), data.membership, data.counts, data.totals)


def partly_recorded():
    data = simulate.random_menus(9, 20, 4, seed=1)
    counts = data.counts.copy()
    counts[np.arange(20), data.membership.argmax(axis=1)] = np.nan
    return rf.ChoiceData(data.items, data.membership, counts, data.totals)


FITS = {
    "complete array": lambda: rf.project(simulate.dirichlet(4, seed=0)),
    "weighted array": lambda: rf.project(simulate.dirichlet(4, seed=0), weights=np.full((16, 4), 2.5)),
    "inside": lambda: rf.project(simulate.rankings_mixture(4, 30, seed=0)),
    "data on the lattice": lambda: rf.project(rf.ChoiceData.from_counts(PAIRS), "counts"),
    "interior point": lambda: rf.project(simulate.noisy_rankings(6, draws=1000, seed=0), method="ipm", tol=1e-6),
    "hidden array": lambda: rf.project(
        simulate.hide(simulate.dirichlet(5, seed=0), simulate.observed_cells(5, 0.6, seed=1)), route="lattice"
    ),
    "graph": lambda: rf.project(labelled(), "counts", route="graph"),
    "partly recorded": lambda: rf.project(partly_recorded(), route="graph"),
    "array on a graph": lambda: rf.project(
        simulate.hide(simulate.dirichlet(5, seed=0), simulate.observed_cells(5, 0.6, seed=1)), route="graph"
    ),
    "70 items": lambda: rf.project(simulate.stock_outs(70, 30, seed=0)),
    "known preferences": lambda: rf.project(labelled(), model=rf.RandomUtility(above=[("item 3", "item 1")])),
    "single-peaked": lambda: rf.project(simulate.random_menus(9, 20, 4, seed=1), model=rf.SinglePeaked(range(9))),
    "types": lambda: rf.project(rf.ChoiceData.from_counts(PAIRS), model=rf.Types([["a", "a", "b"], ["b", "c", "c"]])),
    "linear": lambda: rf.project(
        rf.ChoiceData.from_counts(PAIRS), model=rf.LinearUtility({"a": (1, 2), "b": (2, 0.5), "c": (0, 1)}, [0, 1])
    ),
    "linear by menu": lambda: rf.project(
        rf.ChoiceData.from_counts(PAIRS),
        model=rf.LinearUtility({(menu, item): i + j for i, menu in enumerate(PAIRS) for j, item in enumerate(menu)}),
    ),
    "risk aversion": lambda: rf.project(
        rf.ChoiceData.from_counts(PAIRS),
        model=rf.UtilityFamily.crra({"a": [(1, 3)], "b": [(0.5, 1), (0.5, 6)], "c": [(0.9, 2), (0.1, 20)]}),
    ),
    "draws": lambda: rf.project(
        rf.ChoiceData.from_counts(PAIRS), model=rf.Types.from_utilities([[1, 2, 3], [3, 1, 2]], items="abc")
    ),
    "rules": lambda: rf.project(
        rf.ChoiceData.from_counts(PAIRS), model=rf.Satisficing("abc", {"a": 1, "b": 3, "c": 2})
    ),
    "own graph": lambda: rf.project(
        rf.ChoiceData.from_counts(PAIRS),
        model=rf.ChoiceGraph(
            2, [(0, 1, [(0, "a"), (("a", "c"), "a"), (2, "b")]), (0, 1, [(0, "b"), (1, "c"), (np.int64(2), "c")])]
        ),
    ),
    "inequalities": lambda: rf.project(
        simulate.random_menus(12, 40, 2, draws=4, seed=1), "counts", model=rf.TriangleInequalities()
    ),
    "inequalities with ties": lambda: rf.project(
        simulate.tied_pairs(6, draws=3, seed=1), "counts", model=rf.TriangleInequalities()
    ),
    "weak orders": lambda: rf.project(simulate.tied_pairs(4, draws=3, seed=1), model=rf.WeakOrders()),
    "not finished": lambda: rf.project(simulate.random_menus(18, 40, 9, seed=2), max_seconds=1e-6, throw=False),
}


@pytest.mark.parametrize("name", FITS)
def test_the_same_fit_comes_back(name, tmp_path):
    fit = FITS[name]()
    path = tmp_path / "fit.rumflow"
    fit.save(path)
    back = rf.load(path)
    assert type(back.geometry) is type(fit.geometry)
    assert back.geometry.route == fit.geometry.route
    assert type(back.fits) is type(fit.fits)
    for field in (
        "status",
        "method",
        "iterations",
        "seconds",
        "tol",
        "items",
        "inside",
        "complete",
        "weighted",
        "menus",
    ):
        assert getattr(back, field) == getattr(fit, field), field
    assert [type(item) for item in back.items] == [type(item) for item in fit.items]
    assert back.certificate == pytest.approx(fit.certificate, rel=1e-6, abs=fit.certificate.floor)
    assert np.array_equal(back.membership, fit.membership)
    assert np.array_equal(back.frequencies, fit.frequencies, equal_nan=True)
    assert np.nanmax(np.abs(back.fitted - fit.fitted)) < 1e-14
    if fit.model.types_are_rankings:
        assert np.array_equal(back.rankings.orders, fit.rankings.orders)
        assert np.array_equal(back.rankings.weights, fit.rankings.weights)
    t = np.random.default_rng(0).normal(size=fit.rho.shape if fit.geometry.has_all_menus else fit.membership.shape)
    if name == "interior point":
        with pytest.raises(rf.InputError, match="project the data again"):
            back.jvp(t)
    elif name != "not finished":
        assert np.nanmax(np.abs(back.jvp(t) - fit.jvp(t))) < 1e-9
    again = tmp_path / "again"
    back.save(again)
    assert rf.load(again).certificate == pytest.approx(back.certificate, rel=1e-9, abs=fit.certificate.floor)


def test_going_on_from_a_file(tmp_path):
    data = simulate.random_menus(18, 40, 9, seed=2)
    early = rf.project(data, max_seconds=0.02, throw=False)
    early.save(tmp_path / "early.npz")
    full = rf.project(data)
    fit = rf.project(data, start=rf.load(tmp_path / "early.npz"))
    assert fit.status is rf.Status.OPTIMAL
    assert fit.objective == pytest.approx(full.objective, rel=1e-9)
    full.save(tmp_path / "full.npz")
    assert rf.project(data, start=rf.load(tmp_path / "full.npz")).iterations < full.iterations
    types = rf.project(rf.ChoiceData.from_counts(PAIRS), model=rf.Types([["a", "a", "b"], ["b", "c", "c"]]))
    types.save(tmp_path / "types.npz")
    model = rf.Types([["a", "a", "b"], ["b", "c", "c"], ["a", "c", "b"]])
    wider = rf.project(rf.ChoiceData.from_counts(PAIRS), model=model, start=rf.load(tmp_path / "types.npz"))
    assert wider.objective < types.objective


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"multipliers": lambda lam: -lam}, "multipliers: numbers that are not finite, or below 0"),
        ({"multipliers": lambda lam: 2 * lam}, "certificate says gap"),
        ({"multipliers": lambda lam: lam[1:]}, "multipliers"),
        ({"cycle_arc": lambda arc: arc[::-1].copy()}, "follow each other"),
        ({"cycle_arc": lambda arc: arc + 1000}, "not compared"),
        ({"cycle_start": lambda start: start[::-1].copy()}, "damaged"),
        ({"x": lambda x: np.where(np.arange(len(x)) % 3, x, 1 - x)}, "violate a path inequality"),
        ({"x": lambda x: x + 1}, "below 0 or above 1"),
        ({"x": lambda x: 0.5 + 0.9 * (x - 0.5)}, "certificate says objective"),
        ({"menu_item": lambda item: item + 12}, "not in the list"),
        ({"menu_item": lambda item: item[::-1].copy()}, "damaged"),
        ({"menu_start": lambda start: start[:-1]}, "no lists of items"),
        ({"shares": lambda p: p * 0.9}, "certificate says objective"),
        ({"model": {"name": "RandomUtility"}}, "damaged"),
    ],
)
def test_damaged_files_of_inequalities(tmp_path, changes, message):
    path = tmp_path / "fit.npz"
    fit = FITS["inequalities"]()
    assert fit.distance > 0.1
    fit.save(path)
    change(path, **changes)
    with pytest.raises(rf.InputError, match=message):
        rf.load(path)


def change(path, **changes):
    """The file with some arrays or words replaced."""
    header, arrays = read_archive(path, "rumflow fit")
    for name, value in changes.items():
        if name in arrays:
            arrays[name] = value(arrays[name])
        else:
            header[name] = value
    write_archive(path, header, arrays)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 2}, "version 2 of the format"),
        ({"frequencies": lambda f: f[:, ::-1].copy()}, "damaged"),
        ({"frequencies": lambda f: f * 0.9}, "certificate says objective"),
        ({"shares": lambda s: s[::-1].copy()}, "certificate says objective"),
        ({"shares": lambda s: -s}, "shares: numbers that are not finite, or below 0"),
        ({"shares": lambda s: s / 2}, "positive numbers that add up to 1"),
        ({"shares": lambda s: s.astype(">f8")}, "not numbers in the usual order of bytes"),
        ({"shares": lambda s: s + 1j}, "not numbers in the usual order of bytes"),
        ({"shares": lambda s: s.astype(int)}, "where .* is needed"),
        ({"weights": lambda w: w * np.inf}, "weights: numbers that are not finite"),
        ({"weights": lambda w: np.full(w.shape, 1e300)}, "weights: numbers that are not finite"),
        ({"weights": lambda w: -w.astype(np.float32)}, "weights: numbers that are not finite, or below 0"),
        ({"weights": lambda w: -w}, "weights: numbers that are not finite, or below 0"),
        ({"frequencies": lambda f: f + np.inf}, "frequencies: numbers that are not finite"),
        ({"sizes": lambda s: s * np.nan}, "sizes: numbers that are not finite"),
        ({"tol": 2.0}, "tol=2.0"),
        ({"seconds": -1.0}, "seconds=-1"),
        ({"iterations": 2.5}, "iterations=2.5"),
        ({"tol": float("inf")}, "its header holds Infinity"),
        ({"certificate": [float("nan")] * 7}, "its header holds NaN"),
        ({"certificate": ["1"] * 7}, "certificate='1'"),
        ({"certificate": [0.0] * 7}, "certificate says objective 0, but its mixture and data give"),
        ({"certificate": [1e300, 0.0, 1e300, 0.0, 0.0, 1e300, 1e300]}, "certificate says objective 1e"),
        (
            {"model": {"name": "ChoiceGraph", "n_nodes": 10**14, "arcs": []}},
            "100,000,000,000,000 nodes, but only 0 arcs",
        ),
        ({"model": [[]] * 3}, "damaged"),
        ({"items": None}, "damaged"),
        ({"types": lambda t: t + 100}, "no menu offers"),
        ({"types": lambda t: np.zeros_like(t[:, 1:])}, "shape"),
        ({"types": lambda t: 3 - t}, "damaged"),
        ({"items": ["x"]}, "shape"),
        ({"status": "happy"}, "happy"),
        ({"model": {"name": "Other"}}, "'Other' is unknown"),
        ({"model": {"name": "RandomUtility", "above": [["item 0", "item 1"], ["item 2", "item 3"]]}}, "damaged"),
        ({"certificate": [1.0, 2.0]}, "damaged"),
    ],
)
def test_damaged_files(changes, message, tmp_path):
    path = tmp_path / "fit"
    FITS["graph"]().save(path)
    change(path, **changes)
    with pytest.raises(rf.InputError, match=message):
        rf.load(path)


@pytest.mark.parametrize("name", ["data on the lattice", "hidden array", "inside"])
def test_damaged_files_of_the_lattice(name, tmp_path):
    path = tmp_path / "fit"
    fit = FITS[name]()
    fit.save(path)
    arrays = read_archive(path, "rumflow fit")[1]
    damages = {
        "target": lambda a: a + 0.25,
        "cells": lambda a: a + 10**6,
        "masks": lambda a: a + 1000,
        "weights": lambda a: 0.0 * a,
        "orders": np.zeros_like,
        "flow": lambda a: a[1:],
    }
    for key in damages.keys() & arrays.keys():
        fit.save(path)
        change(path, **{key: damages[key]})
        with pytest.raises(rf.InputError, match="damaged"):
            rf.load(path)
    if "masks" in arrays:
        fit.save(path)
        change(path, masks=lambda a: np.repeat(a, 2))
        with pytest.raises(rf.InputError, match="one of its menus is there twice"):
            rf.load(path)


def old_file(fit, path):
    """As it was written before: with `inside`, and flow and probabilities of data that are those of a population."""
    fit.save(path)
    header, arrays = read_archive(path, "rumflow fit")
    if fit.method == "moebius":
        arrays |= {"flow": fit.fits.flow(0), "rho": fit.fits.rho_of(0)}
    write_archive(path, header | {"inside": fit.inside}, arrays)


@pytest.mark.parametrize("name", FITS)
def test_files_of_earlier_versions(name, tmp_path):
    fit, path = FITS[name](), tmp_path / "fit"
    old_file(fit, path)
    back = rf.load(path)
    assert (back.method, back.status, back.inside) == (fit.method, fit.status, fit.inside)
    assert back.certificate == pytest.approx(fit.certificate, rel=1e-6, abs=fit.certificate.floor)
    assert np.nanmax(np.abs(back.fitted - fit.fitted)) < 1e-14


def test_what_a_file_says_of_the_result_is_not_believed(tmp_path):
    path = tmp_path / "fit"
    rational, other = FITS["inside"](), FITS["complete array"]()
    old_file(rational, path)
    change(path, rho=np.zeros_like, inside=False)
    back = rf.load(path)
    assert back.inside
    assert np.abs(back.rho - rational.rho).max() < 1e-14
    other.save(path)
    change(path, inside=True)
    assert not rf.load(path).inside
    assert not rf.load(path).fits.inside[0]
    change(path, method="moebius")
    with pytest.raises(rf.InputError, match="those of a population, which they are not"):
        rf.load(path)
    change(path, method="guess")
    with pytest.raises(rf.InputError, match="method 'guess' is unknown"):
        rf.load(path)
    # A flow of the data themselves, whose objective is 0, but which is none of a population.
    header, arrays = read_archive(path, "rumflow fit")
    flow = moebius(arrays["target"].copy())
    del arrays["orders"], arrays["shares"]
    write_archive(path, header | {"method": "ipm", "certificate": [0.0] * 7}, arrays | {"flow": flow})
    with pytest.raises(rf.InputError, match="flow: numbers that are not finite, or below 0"):
        rf.load(path)
    write_archive(path, header | {"method": "ipm", "certificate": [0.0] * 7}, arrays | {"flow": np.zeros_like(flow)})
    with pytest.raises(rf.InputError, match="the probabilities of a menu miss 1"):
        rf.load(path)


def test_a_share_of_0_is_dropped(tmp_path):
    """Rounding can leave one; it is not written, and not read from older files."""
    path = tmp_path / "fit"
    for name, types in (("graph", "types"), ("data on the lattice", "orders")):
        fit = FITS[name]()
        fit.save(path)
        before = len(rf.load(path).mixture[1])
        header, arrays = read_archive(path, "rumflow fit")
        more = {types: np.vstack([arrays[types], arrays[types][:1]]), "shares": np.append(arrays["shares"], 0.0)}
        write_archive(path, header, arrays | more)
        assert len(rf.load(path).mixture[1]) == before
    fit = FITS["graph"]()
    own = fit.fits.mixtures[0]
    fit.fits.mixtures = [(np.vstack([own[0], own[0][:1]]), np.append(own[1], 0.0))]
    fit.save(path)
    assert (read_archive(path, "rumflow fit")[1]["shares"] > 0).all()


def test_a_bound_that_cannot_be_derived_is_not_believed(tmp_path):
    """The lower bound of a fit by bounds alone is computed again: never better than it is, never better than it was."""
    data = simulate.stock_outs(30, 20, seed=1)
    fit = rf.project(data, route="bounded", max_seconds=1, throw=False)
    path = tmp_path / "fit"
    fit.save(path)
    assert fit.gap * (1 - 1e-9) <= rf.load(path).gap <= fit.objective
    header, arrays = read_archive(path, "rumflow fit")
    write_archive(path, header | {"certificate": [fit.objective, 0.0, *header["certificate"][2:]]}, arrays)
    back = rf.load(path)
    best = rf.project(data, route="graph").objective
    assert back.objective - back.gap <= best
    assert back.gap > 0
    assert (back.status is rf.Status.OPTIMAL) <= (back.objective <= best * (1 + 1e-6))  # no better than it is


def test_foreign_files(tmp_path):
    path = tmp_path / "file"
    with pytest.raises(rf.InputError, match="no such file"):
        rf.load(path)
    FITS["graph"]().save(path)
    whole = path.read_bytes()
    contents = [b"", b"menu,choice\n", whole[: len(whole) // 2], pickle.dumps([1, 2]), json.dumps({"a": 1}).encode()]
    middle = bytearray(whole)
    middle[len(whole) // 2] ^= 255
    for content in [*contents, bytes(middle)]:
        path.write_bytes(content)
        with pytest.raises(rf.InputError, match="damaged"):
            rf.load(path)
    with open(path, "wb") as file:
        np.savez(file, header=np.array([{"kind": "rumflow fit"}], object))  # would need pickle
    with pytest.raises(rf.InputError, match="damaged"):
        rf.load(path)
    np.save(tmp_path / "plain.npy", np.zeros(3))
    with pytest.raises(rf.InputError, match="damaged"):
        rf.load(tmp_path / "plain.npy")
    with pytest.raises(rf.InputError, match="is not a rumflow fit"):
        rf.load(tmp_path)


def test_labels_that_no_text_has(tmp_path):
    """A lone surrogate has no code in UTF-8; JSON has an escape for it."""
    labels = ("a\ud800", "é", "c\x1b\n")
    data = rf.ChoiceData.from_counts({labels[:2]: {"é": 3, "a\ud800": 4}, labels: {"é": 3, "a\ud800": 5, labels[2]: 1}})
    rf.project(data).save(tmp_path / "fit")
    assert rf.load(tmp_path / "fit").items == rf.project(data).items
    pytest.importorskip("pyarrow")
    with pytest.raises(rf.InputError, match="holds a character that no text has"):
        data.to_parquet(tmp_path / "data.parquet")
