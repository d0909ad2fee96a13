"""Ctrl-C while a projection is at its optimum already: what is made of the projection does not go on as if nothing had been."""

import pytest

import rumflow as rf
from rumflow.report.findings import find
from rumflow.solvers import graph
from rumflow.solvers.inequalities import geometry as inequalities

SOME = rf.simulate.random_menus(16, 14, 3, 9, 30, seed=1)
PAIRS = rf.simulate.random_menus(8, 20, 2, 9, 30, seed=1)
SHARES = rf.ChoiceData.from_counts(
    {("a", "b"): {"a": 0.8, "b": 0.2}, ("b", "c"): {"b": 0.8, "c": 0.2}, ("a", "c"): {"a": 0.1, "c": 0.9}}
)  # without counts there is no test that would hear it first
MENU = list(SOME.items[:4])


@pytest.fixture
def at_the_optimum(monkeypatch):
    """Solvers hear Ctrl-C in their last round."""
    for module, name in ((graph, "solve_graph"), (inequalities, "solve_cuts")):
        plain = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda *given, plain=plain, **named: plain(*given, **named)._replace(reason="interrupted")
        )


@pytest.mark.parametrize(("data", "model"), [(SOME, None), (PAIRS, rf.TriangleInequalities())], ids=["menus", "pairs"])
def test_the_projection_itself_is_kept(at_the_optimum, data, model):
    fit = rf.project(data, model=model, throw=False)
    assert fit.status is rf.Status.OPTIMAL
    assert fit.interrupted


def test_a_file_remembers_it(at_the_optimum, tmp_path):
    fit = rf.project(SOME, throw=False)
    fit.save(tmp_path / "fit.npz")
    loaded = rf.load(tmp_path / "fit.npz")
    assert loaded.interrupted
    assert loaded.status is rf.Status.OPTIMAL
    assert loaded.to_dict()["interrupted"] is True


def test_a_loop_of_projections_does_not_go_on(at_the_optimum):
    with pytest.raises(rf.NotConvergedError, match="interrupted, at the optimum already") as error:
        rf.project(SOME)
    assert error.value.interrupted
    assert error.value.fit.status is rf.Status.OPTIMAL
    with pytest.raises(rf.NotConvergedError, match="interrupted, at the optimum already") as error:
        rf.project_many([SOME, SOME])
    assert error.value.interrupted
    assert rf.project_many([SOME, SOME], throw=False).interrupted


def test_other_projections_were_not_interrupted():
    assert not rf.project(SOME).interrupted
    assert not rf.project(PAIRS, model=rf.TriangleInequalities()).interrupted
    assert not rf.project_many([SOME, SOME]).interrupted


@pytest.mark.parametrize(
    "call",
    [
        lambda: rf.next_menu(SOME),
        lambda: rf.bounds(SOME, MENU),
        lambda: rf.diversion(SOME, MENU[0], MENU),
        lambda: rf.best_assortment(SOME, dict.fromkeys(SOME.items, 1.0), SOME.items[0]),
        lambda: rf.rationalizable_share(SOME),
        lambda: rf.is_rum(SOME),
        lambda: rf.transitivity(SHARES),
        lambda: find(SOME, None, 0, 0, False, False),
    ],
    ids=["next_menu", "bounds", "diversion", "best_assortment", "share", "is_rum", "transitivity", "report"],
)
def test_what_is_made_of_it_ends(at_the_optimum, call):
    with pytest.raises(KeyboardInterrupt):
        call()


def test_further_models_are_not_compared(at_the_optimum):
    found = rf.compare_models(SOME, {"all": None, "axis": rf.SinglePeaked(SOME.items)})
    assert found.interrupted
    assert list(found.fits) == ["all"]
