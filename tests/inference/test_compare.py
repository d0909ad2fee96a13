"""Models side by side: nested ones in order, tables, errors."""

from itertools import pairwise

import numpy as np
import pytest

import rumflow as rf
from rumflow import simulate
from rumflow.core.patience import OutOfTimeError
from rumflow.inference import compare
from rumflow.inference.likelihood import maximise_likelihood
from tests.reference.examples import DECOY


def test_nested_models_and_their_table():
    data = simulate.random_menus(9, 25, 4, seed=1)
    pairs = [(0, 1), (2, 3), (4, 5)]
    models = {f"{k} pairs": rf.RandomUtility(above=pairs[:k]) for k in range(4)}
    found = rf.compare_models(data, models, "counts")
    table = found.to_frame("dict")
    assert list(table) == ["model", "distance", "loglik", "gap", "types", "nodes", "seconds", "status"]
    assert table["model"] == list(models)
    assert (np.diff(table["distance"]) >= -1e-9).all()
    assert (np.diff(table["nodes"]) <= 0).all()
    assert all(b <= a + 1e-6 for a, b in pairwise(table["loglik"]))
    assert "loglik" not in rf.compare_models(data, models, likelihood=False).table
    for name, model in models.items():
        fit = rf.project(data, "counts", model=model)
        assert found.fits[name].objective == pytest.approx(fit.objective, rel=1e-9)
        assert len(fit.types) == table["types"][table["model"].index(name)]
    text = found.summary()
    assert "4 models (9 items, 25 menus, weighted)" in text
    assert all(name in text for name in models)
    assert len(found.to_frame()) == 4


def test_a_choice_that_no_type_makes_has_likelihood_0():
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 10}, ("b", "c"): {"b": 5, "c": 15}})
    found = rf.compare_models(data, {"all": None, "a first": rf.RandomUtility(above=[("a", "b")])})
    shares = np.log([30 / 40, 10 / 40, 5 / 20, 15 / 20])
    assert found.table["loglik"] == pytest.approx([shares @ [30, 10, 5, 15], -np.inf], abs=1e-5)
    assert "log-likelihood" in found.summary()


def test_a_likelihood_that_is_not_found_leaves_one_cell_empty(monkeypatch):
    """All else of the comparison is kept, and nothing is advised that cannot be done."""
    found = maximise_likelihood

    def short(data, model=None, *rest):
        return found(data, model, *rest, **({} if model is None else {"most": 0}))

    monkeypatch.setattr("rumflow.inference.compare.maximise_likelihood", short)
    comparison = rf.compare_models(DECOY, {"all": None, "axis": rf.SinglePeaked(["a", "b", "c"])}, n_boot=9)
    assert list(comparison.fits) == list(comparison.tests) == ["all", "axis"]
    assert comparison.table["loglik"] == [pytest.approx(rf.fit_likelihood(DECOY).loglik), None]
    assert "Log-likelihood left empty: not found to a certified 1e-6 for axis." in comparison.summary()
    assert "tol" not in comparison.summary()


def test_every_model_is_tested():
    data = simulate.random_menus(9, 20, 4, draws=50, seed=1)
    models = {"all": rf.RandomUtility(), "axis": rf.SinglePeaked(range(9))}
    found = rf.compare_models(data, models, n_boot=49, seed=3)
    expected = [rf.rum_test(data, 49, seed=3, model=model).pvalue for model in models.values()]
    assert found.table["pvalue"] == expected
    assert expected[1] == 0.02  # nobody's preferences are single-peaked here
    assert "p-value" in found.summary()
    with pytest.raises(rf.InputError, match="needs ChoiceData"):
        rf.compare_models(simulate.dirichlet(4, seed=0), {"all": None}, n_boot=9)
    with pytest.raises(rf.InputError, match="n_boot=-1"):
        rf.compare_models(data, {"all": None}, n_boot=-1)


def test_a_small_lattice_and_time_limits():
    array = simulate.dirichlet(4, seed=0)
    found = rf.compare_models(array, {"RUM": None, "axis": rf.SinglePeaked(range(4))})
    assert found.table["nodes"] == [16, 11]
    assert found.fits["RUM"].distance <= found.fits["axis"].distance
    early = rf.compare_models(simulate.random_menus(18, 40, 9, seed=2), {"RUM": rf.RandomUtility()}, max_seconds=1e-6)
    assert early.table["status"] == ["max_seconds"]


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ({}, "a mapping of names to models"),
        ([rf.RandomUtility()], "a mapping of names to models"),
        ({"RUM": "rum"}, "'RUM' is a str"),
        ({"axis": rf.SinglePeaked([0, 1])}, "model 'axis': axis: item 2 of the data is missing"),
    ],
)
def test_errors(models, message):
    with pytest.raises(rf.InputError, match=message):
        rf.compare_models(simulate.random_menus(9, 10, 3, seed=0), models)


def test_choices_of_a_subject_may_be_kept_together():
    table = {"menu": ["a,b", "a,b,c", "b,c"] * 20, "choice": ["a", "b", "c"] * 20, "subject": np.repeat(range(30), 2)}
    data = rf.ChoiceData.from_frame(table)
    found = rf.compare_models(data, {"RUM": None}, n_boot=19, seed=1, cluster=True, likelihood=False)
    assert found.tests["RUM"].resample == "subject"
    assert found.tests["RUM"].pvalue == rf.rum_test(data, 19, cluster=True, seed=1).pvalue


def test_choices_that_no_type_makes():
    """Everybody prefers a to b, and b was taken from both: the likelihood is 0."""
    models = {"known": rf.RandomUtility([("a", "b")]), "every": None}
    found = rf.compare_models(DECOY, models)
    assert found.logliks["known"] == -np.inf
    assert found.logliks["every"] > -np.inf
    words = " Log-likelihood -inf: a choice was made that no type of the model makes."
    assert found.as_table().note.endswith(words)
    assert words not in rf.compare_models(DECOY, {"every": None}).as_table().note


def test_an_interrupt_keeps_the_models_that_were_compared(monkeypatch):
    models = {"all": None, "axis": rf.SinglePeaked(["a", "b", "c"])}
    whole = rf.compare_models(DECOY, models)
    plain, calls = compare.maximise_likelihood, []

    def maximise(*given):
        calls.append(given)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return plain(*given)

    monkeypatch.setattr(compare, "maximise_likelihood", maximise)
    found = rf.compare_models(DECOY, models)
    assert (found.interrupted, whole.interrupted) == (True, False)
    assert list(found.fits) == ["all", "axis"]
    assert found.logliks == {"all": whole.logliks["all"]}

    def stop(*given, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(compare, "find_or_stop", stop)
    with pytest.raises(KeyboardInterrupt, match="interrupted before the first projection"):
        rf.compare_models(DECOY, models)


def test_a_time_limit_leaves_the_likelihood_empty(monkeypatch):
    def late(*given):
        raise OutOfTimeError("the time is up")

    monkeypatch.setattr(compare, "maximise_likelihood", late)
    found = rf.compare_models(DECOY, {"all": None}, max_seconds=60)
    assert found.logliks == {"all": None}
    assert "Log-likelihood left empty" in found.summary()


def test_a_model_that_explains_everything_has_distance_zero():
    """What rounding leaves of its distance is not shown, nor does its gap count as a part of it."""
    inside = {("a", "b"): {"a": 6, "b": 4}, ("a", "b", "c"): {"a": 5, "b": 3, "c": 2}}
    data = rf.ChoiceData.from_counts(inside)
    only = rf.compare_models(data, {"all": None}, likelihood=False).as_table()
    assert only.rows[0][1] == 0.0
    assert "Certified" not in only.note
    both = rf.compare_models(data, {"all": None, "axis": rf.SinglePeaked(["b", "a", "c"])}, likelihood=False).as_table()
    assert [row[1] > 0 for row in both.rows] == [False, True]
    assert "Certified" in both.note
