"""Conversions to other libraries and back, the estimator, and tables of fits."""

import pickle

import numpy as np
import pytest

import rumflow as rf
from rumflow.data import interop
from rumflow.data.choices import ChoiceData


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    menus = [("a", "b"), ("b", "c"), ("a", "c"), ("a", "b", "c")]
    picked = [menus[k % 4] for k in range(120)]
    table = {
        "menu": picked,
        "choice": [m[rng.integers(len(m))] for m in picked],
        "subject": [k % 10 for k in range(120)],
    }
    return ChoiceData.from_frame(table, items=("a", "b", "c"))


def same(a, b):
    assert a.items == b.items
    np.testing.assert_array_equal(a.masks, b.masks)
    np.testing.assert_array_equal(a.counts, b.counts)


def test_choix(data):
    same(interop.from_choix(*interop.to_choix(data), items=data.items), data)
    pairwise = interop.from_choix(2, [(0, 1), (1, 0), (0, 1)])
    assert pairwise.counts.tolist() == [[2, 1]]
    with pytest.raises(rf.InputError, match="item 5 is not from 0 to 2"):
        interop.from_choix(3, [(5, (1,))])


def test_choix_itself(data):
    choix = pytest.importorskip("choix")
    n, choices = interop.to_choix(data)
    assert choix.ilsr_top1(n, choices).shape == (3,)


def test_xlogit(data):
    arrays = interop.to_xlogit(data)
    arrays.pop("X"), arrays.pop("varnames")
    again = interop.from_xlogit(**arrays, items=data.items)
    same(again, data)
    assert again.rows.subjects == data.rows.subjects
    with pytest.raises(rf.InputError, match="not available"):
        interop.from_xlogit([1, 0], ["a", "b"], [0, 0], avail=[0, 1])


def test_xlogit_itself(data):
    xlogit = pytest.importorskip("xlogit")
    arrays = interop.to_xlogit(data)
    model = xlogit.MultinomialLogit()
    model.fit(
        X=arrays["X"], y=arrays["y"], varnames=arrays["varnames"], alts=arrays["alts"], ids=arrays["ids"], avail=arrays["avail"],
        weights=arrays["weights"], verbose=0,
    )  # fmt: skip
    assert np.isfinite(model.coeff_).all()


def test_torch_choice(data):
    arrays = interop.to_torch_choice(data)
    again = interop.from_torch_choice(**arrays, items=data.items)
    same(again, data)
    whole = interop.from_torch_choice([0, 1, 1], [0, 0, 0])
    assert whole.counts.tolist() == [[1, 2]]
    weighted = ChoiceData.from_counts({("a", "b"): {"a": 2, "b": 3}})
    assert len(interop.to_torch_choice(weighted)["item_index"]) == 5
    with pytest.raises(rf.InputError, match="not a whole number"):
        interop.to_torch_choice(ChoiceData.from_counts({("a", "b"): {"a": 0.5, "b": 3}}))


def test_fit_table(data):
    fit = rf.project(data)
    table = fit.to_frame(data, backend="dict")
    assert len(table["menu"]) == 9
    assert sum(table["count"]) == 120
    np.testing.assert_allclose(table["observed"], np.array(table["count"]) / 30)
    frame = fit.to_frame(backend="dict", menus="observed")
    assert "count" not in frame
    pandas = pytest.importorskip("pandas")
    assert isinstance(fit.to_frame(), pandas.DataFrame)


def menus_and_choices(seed=0, rows=300, n=4):
    rng = np.random.default_rng(seed)
    offered = (rng.random((rows, n)) < 0.6).astype(float)
    offered[np.arange(rows), rng.integers(n, size=rows)] = 1
    utility = rng.gumbel(size=(rows, n)) + np.arange(n) / 2
    return offered, np.where(offered > 0, utility, -np.inf).argmax(axis=1)


def test_estimator():
    pytest.importorskip("sklearn")
    from sklearn.base import clone

    from rumflow.sklearn.estimator import RUMClassifier

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
    from rumflow.sklearn.estimator import RUMClassifier

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


@pytest.fixture(scope="module")
def shop():
    """A hundred items, of which some are sold out."""
    data = rf.simulate.stock_outs(100, 25, draws=40, seed=3)
    return ChoiceData(tuple(f"item {x}" for x in range(100)), data.membership, data.counts, data.totals)


def test_conversions_of_a_hundred_items(shop):
    def equal(again):
        assert again.items == shop.items
        np.testing.assert_array_equal(again.membership, shop.membership)
        np.testing.assert_array_equal(again.counts, shop.counts)

    equal(interop.from_choix(*interop.to_choix(shop), items=shop.items))
    arrays = interop.to_xlogit(shop, constants=False)
    arrays.pop("X", None), arrays.pop("varnames", None)
    equal(interop.from_xlogit(**arrays, items=shop.items))
    equal(interop.from_torch_choice(**interop.to_torch_choice(shop), items=shop.items))


def test_estimator_of_a_hundred_columns(shop):
    pytest.importorskip("sklearn")
    from rumflow.sklearn.estimator import RUMClassifier

    row, item = np.nonzero(np.nan_to_num(shop.counts))
    X, y = shop.membership[row].astype(float), item
    model = RUMClassifier(items=shop.items).fit(X, np.array(shop.items)[y], sample_weight=shop.counts[row, item])
    assert model.projection_.method == "graph"
    assert model.projection_.distance == pytest.approx(rf.project(shop, "counts").distance, rel=1e-9)
    share = model.predict_proba(shop.membership.astype(float))
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
