"""The estimator of scikit-learn."""

import pickle

import numpy as np
import pytest

import rumflow as rf


def menus_and_choices(seed=0, rows=300, n=4):
    rng = np.random.default_rng(seed)
    offered = (rng.random((rows, n)) < 0.6).astype(float)
    offered[np.arange(rows), rng.integers(n, size=rows)] = 1
    utility = rng.gumbel(size=(rows, n)) + np.arange(n) / 2
    return offered, np.where(offered > 0, utility, -np.inf).argmax(axis=1)


def test_estimator():
    pytest.importorskip("sklearn")
    from sklearn.base import clone

    from rumflow.sklearn import RUMClassifier

    X, y = menus_and_choices()
    model = clone(RUMClassifier()).fit(X, y)
    share = model.predict_proba(X)
    np.testing.assert_allclose(share.sum(axis=1), 1, atol=1e-9)
    assert (share[X == 0] == 0).all()
    assert rf.is_rum(model.projection_.rho)
    assert model.score(X, y) > 0.4
    np.testing.assert_array_equal(model.predict_proba(X[:7]), share[:7])
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    labels = np.array(["w", "x", "y", "z"])
    named = RUMClassifier(items=["w", "x", "y", "z"]).fit(X, labels[y])
    np.testing.assert_array_equal(named.predict(X), labels[model.predict(X)])
    double = RUMClassifier().fit(np.vstack([X, X]), np.r_[y, y])
    weighted = RUMClassifier().fit(X, y, sample_weight=np.full(len(X), 2.0))
    np.testing.assert_allclose(double.predict_proba(X), weighted.predict_proba(X), atol=1e-9)
    with pytest.raises(rf.InputError, match=r"row 0: the choice .* is not on offer"):
        RUMClassifier().fit([[1, 0], [1, 1]], [1, 0])


@pytest.mark.filterwarnings("ignore")
def test_estimator_checks_that_apply():
    """scikit-learn's own checks feed features that are no menus: those may only end in our error that says so."""
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    from rumflow.sklearn import RUMClassifier

    not_a_menu = ("is not an item", "is not on offer", "offers no item")
    passed = 0
    for result in checks.check_estimator(RUMClassifier(), on_fail=None, on_skip=None):
        passed += result["status"] == "passed"
        if result["status"] == "failed":
            fault, chain = result["exception"], []
            while fault is not None:
                chain.append(str(fault))
                fault = fault.__cause__ or fault.__context__
            assert any(text in message for text in not_a_menu for message in chain), (result["check_name"], chain)
    assert passed >= 30


def test_estimator_of_a_hundred_columns(stock):
    pytest.importorskip("sklearn")
    from rumflow.sklearn import RUMClassifier

    row, item = np.nonzero(np.nan_to_num(stock.counts))
    X, y = stock.membership[row].astype(float), item
    model = RUMClassifier(items=stock.items).fit(X, np.array(stock.items)[y], sample_weight=stock.counts[row, item])
    assert model.projection_.method == "graph"
    assert model.projection_.distance == pytest.approx(rf.project(stock, "counts").distance, rel=1e-9)
    share = model.predict_proba(stock.membership.astype(float))
    np.testing.assert_allclose(share, np.nan_to_num(model.projection_.fitted), atol=1e-12)
    # Menus never seen, one of them of a single item: what the rankings of the fit take from them.
    unseen = np.random.default_rng(0).random((20, 100)) < 0.3
    unseen[0] = np.arange(100) == 7
    share = model.predict_proba(unseen.astype(float))
    rank = np.argsort(model.projection_.rankings.orders, axis=1)
    for menu, found in zip(unseen, share, strict=True):
        taken = np.where(menu, rank, 1000).argmin(axis=1)
        by_hand = np.bincount(taken, model.projection_.rankings.weights, 100)
        np.testing.assert_allclose(found, by_hand, atol=1e-12)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(unseen.astype(float)), share)


def test_an_interrupt_ends_a_cross_validation(monkeypatch):
    """What catches the errors of fits, and counts them as failed, must not catch this one."""
    pytest.importorskip("sklearn")
    from sklearn.model_selection import cross_validate

    from rumflow.sklearn import RUMClassifier
    from rumflow.solvers.lattice import LatticeGeometry

    X, y = menus_and_choices()
    solve = LatticeGeometry.solve
    fits = []

    def stopped(self, *given, **named):
        fits.append(1)
        found = solve(self, *given, **named)
        found.reasons[:] = ["interrupted"] * len(found.reasons)
        return found

    monkeypatch.setattr(LatticeGeometry, "solve", stopped)
    with pytest.raises(KeyboardInterrupt):
        cross_validate(RUMClassifier(), X, y, cv=4)
    assert len(fits) == 1
