"""Every function of data takes what data are read from, and gives the same answer."""

from pathlib import Path

import numpy as np
import pytest

import rumflow as rf
from rumflow.data.accept import as_data
from rumflow.report import make_report

COUNTS = {("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}}
DATA = rf.ChoiceData.from_counts(COUNTS)


@pytest.fixture
def forms(tmp_path):
    """The same data in every form."""
    path = tmp_path / "choices.csv"
    DATA.to_csv(path)
    table = DATA.to_frame(backend="dict")
    found = {"path as text": str(path), "path": Path(path), "columns": table, "counts": COUNTS, "data": DATA}
    for backend in ("pandas", "polars", "pyarrow"):
        try:
            found[backend] = DATA.to_frame(backend=backend)
        except rf.InputError:
            continue
    if "polars" in found:
        found["lazy"] = found["polars"].lazy()
    return found


def test_read_the_same(forms):
    for name, form in forms.items():
        assert as_data(form).equals(DATA), name


CALLS = {
    "project": lambda data: rf.project(data).distance,
    "project_many": lambda data: rf.project_many(data).distance.tolist(),
    "estimate_cost": lambda data: rf.estimate_cost(data).route,
    "is_rum": rf.is_rum,
    "rum_test": lambda data: rf.rum_test(data, n_boot=19, seed=0).pvalue,
    "rum_test_many": lambda data: [t.pvalue for t in rf.rum_test_many([data, data], n_boot=19, seed=0).tests],
    "compare_groups": lambda data: rf.compare_groups({"x": data, "y": data}, n_boot=19, seed=0).together.pvalue,
    "compare_models": lambda data: rf.compare_models(data, {"RUM": None}, n_boot=0).fits["RUM"].distance,
    "fit_likelihood": lambda data: rf.fit_likelihood(data).loglik,
    "explain": lambda data: rf.explain(data, level=None).conflict,
    "bounds": lambda data: rf.bounds(data, ["a", "c"]).lower.tolist(),
    "rationalizable_share": lambda data: rf.rationalizable_share(data).share,
    "diversion": lambda data: rf.diversion(data, "a").menu,
    "best_assortment": lambda data: rf.best_assortment(data, {"a": 1, "b": 2}, outside_option="c").menu,
    "next_menu": lambda data: rf.next_menu(data).menus,
}


@pytest.mark.parametrize("name", CALLS)
def test_the_same_answers(forms, name):
    want = CALLS[name](DATA)
    for form in ("path", "columns", "counts", *{"pandas", "polars"} & set(forms)):
        assert CALLS[name](forms[form]) == want, form


def test_reports_and_polynomials(forms, tmp_path):
    pytest.importorskip("jinja2")
    make_report(forms["path"], tmp_path / "x.html", n_boot=0)
    assert (tmp_path / "x.html").exists()
    every = rf.ChoiceData.from_matrix(rf.simulate.dirichlet(3, seed=0))
    every.to_csv(tmp_path / "every.csv")
    assert rf.block_marschak(tmp_path / "every.csv") == pytest.approx(rf.block_marschak(every), abs=1e-12)


def test_what_stays_as_it_is():
    array = rf.simulate.dirichlet(3, seed=0)
    budgets = rf.datasets.load("households")
    fit = rf.project(DATA)
    for data in (DATA, array, array.tolist(), budgets, fit, None, 3, {}, [DATA, DATA], {"x": DATA}):
        found = as_data(data)
        assert found is data or found == data


def test_several_data_sets(forms):
    assert [one.equals(DATA) for one in as_data([forms["path"], COUNTS, DATA])] == [True] * 3
    assert {k: v.equals(DATA) for k, v in as_data({"x": forms["path as text"], "y": COUNTS}).items()} == {
        "x": True,
        "y": True,
    }


def test_data_sets_by_name():
    assert as_data("datasets:decoy").equals(rf.datasets.load("decoy"))
    assert isinstance(as_data("datasets:households"), rf.BudgetData)
    with pytest.raises(rf.InputError, match="there is no data set 'x'"):
        rf.project("datasets:x")


def test_errors_are_those_of_reading():
    with pytest.raises(rf.InputError, match=r"none\.csv: there is no such file"):
        rf.rum_test("none.csv")
    with pytest.raises(rf.InputError, match="the count 'x' is not a number"):
        rf.project({("a", "b"): {"a": "x"}})
    with pytest.raises(rf.InputError, match="there is no group"):
        rf.rum_test({})
    with pytest.raises(rf.InputError, match="an array of real numbers is needed"):
        rf.project(np.array(["x"]))
