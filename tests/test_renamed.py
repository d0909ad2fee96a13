"""Names of earlier versions answer, with a warning that says what to write instead."""

import copy
import importlib
import pickle
import warnings

import pytest

import rumflow as rf
from rumflow.renamed import warn_renamed

DATA = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})


@pytest.mark.parametrize("name", ["LatticeProjection", "GraphProjection"])
def test_classes_of_fits(name):
    with pytest.warns(DeprecationWarning, match=f"rumflow.{name} is called rumflow.Projection now") as told:
        assert getattr(rf, name) is rf.Projection
    assert told[0].filename == __file__


@pytest.mark.parametrize(
    ("name", "now"),
    [
        ("plots", "rumflow.output.plots"),
        ("interop", "rumflow.data.interop"),
        ("estimator", "rumflow.sklearn.estimator"),
    ],
)
def test_modules(name, now):
    if name == "estimator":
        pytest.importorskip("sklearn")
    with pytest.warns(DeprecationWarning, match=f"rumflow.{name} is called {now} now"):
        assert getattr(rf, name) is importlib.import_module(now)


@pytest.mark.parametrize("route", ["lattice", "graph"])
def test_attributes_of_fits(route):
    fit = rf.project(DATA, route=route)
    with pytest.warns(DeprecationWarning, match=r"fit.projector is called fit.geometry now") as told:
        assert fit.projector is fit.geometry
    assert told[0].filename == __file__
    with pytest.warns(DeprecationWarning, match=r"fit.lattice is called rf.Lattice\(fit.n\) now"):
        assert fit.lattice.n == 3


def test_silence_where_no_old_name_is_used():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = rf.project(DATA)
        fit.summary()
        fit.to_dict()
        copy.copy(fit)
        pickle.loads(pickle.dumps(fit))
    assert not {"plots", "LatticeProjection"} & set(dir(rf))
    with pytest.raises(AttributeError, match="no attribute 'projector'"):
        rf.projector  # noqa: B018


def test_the_words():
    with pytest.warns(
        DeprecationWarning, match="^old is called new now; the old name will go in the next minor version$"
    ):
        warn_renamed("old", "new")
