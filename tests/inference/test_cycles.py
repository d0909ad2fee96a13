"""Cycles that bind: against enumeration, planted ones, prices by differences, and words."""

import json

import numpy as np
import pytest

import rumflow as rf
from rumflow.inference import BindingCycle, CycleExplanation
from tests.reference.commands import run

MODEL = rf.TriangleInequalities()
PLANTED = {("a", "b"): 18, ("b", "c"): 17, ("a", "c"): 2, ("c", "d"): 12, ("a", "d"): 14, ("b", "d"): 13}


def counted(wins, draws=20):
    """Wins of the first items."""
    return rf.ChoiceData.from_counts({(a, b): {a: k, b: draws - k} for (a, b), k in wins.items()})


def test_a_planted_cycle_is_named_with_its_shares():
    found = rf.explain(counted(PLANTED), n_boot=99, seed=1, model=MODEL)
    assert isinstance(found, CycleExplanation)
    first = found.cycles[0]
    assert first.items == ("a", "b", "c")
    assert first.shares == pytest.approx((0.9, 0.85, 0.9))
    assert sum(first.fitted) == pytest.approx(first.bound) == 2
    assert first.violated > 0.99
    assert not first.tied
    assert found.pvalue <= 0.05
    assert "is rejected" in found.verdict
    assert "a over b 0.9, b over c 0.85, c over a 0.9: together 2.65" in found.summary()
    fit = rf.project(counted(PLANTED), "counts", model=MODEL)
    assert found.distance == pytest.approx(fit.distance)


def test_exact_shares_need_no_test():
    found = rf.explain(counted(PLANTED), None, model=MODEL)
    assert found.pvalue is None
    assert found.cycles[0].violated is None
    assert found.distance == pytest.approx(rf.project(counted(PLANTED), model=MODEL).distance)
    assert "Violated in" not in found.summary()
    fine = rf.explain(counted({("a", "b"): 12, ("b", "c"): 12}), None, model=MODEL)
    assert fine.distance == 0
    assert fine.cycles == ()
    assert "No cycle" in fine.verdict


def test_the_price_is_the_rate_at_which_the_squared_distance_falls():
    """Shares moved along the cycle by less than it lacks: the squared distance falls as the price says."""
    data = counted({("a", "b"): 18, ("b", "c"): 17, ("a", "c"): 2})
    found = rf.explain(data, None, model=MODEL)
    lack, price = found.cycles[0].total - 2, found.cycles[0].price
    # With three equal weights of 2 the squared distance is lack^2 * 2 / 3.
    assert found.distance**2 == pytest.approx(2 * lack**2 / 3)
    assert price == pytest.approx(4 * lack / 3)


def test_chance_alone_is_tied():
    rng = np.random.default_rng(0)
    names = [f"i{k:02d}" for k in range(20)]
    wins = {
        (a, b): int(rng.binomial(5, 0.5)) for i, a in enumerate(names) for b in names[i + 1 :] if rng.random() < 0.4
    }
    found = rf.explain(counted(wins, 5), n_boot=39, seed=2, model=MODEL, most=5)
    assert found.pvalue > 0.05
    assert len(found.cycles) == 5 < found.n_cycles
    assert [one.price for one in found.cycles] == sorted((one.price for one in found.cycles), reverse=True)
    assert any(one.tied for one in found.cycles)
    assert "statistically tied" in found.summary()
    assert f"{found.n_cycles - 5} more cycles bind" in found.summary()
    frame = found.to_frame("dict")
    assert frame["price"] == [one.price for one in found.cycles]
    assert frame["cycle"][0].split(" > ")[0] == frame["cycle"][0].split(" > ")[-1]
    assert json.loads(json.dumps(found.to_dict()))["n_cycles"] == found.n_cycles
    same = rf.explain(counted(wins, 5), n_boot=39, seed=2, model=MODEL, most=5, threads=2)
    assert same.cycles == found.cycles


def test_a_share_of_one_item_is_enough():
    whole = counted({("a", "b"): 9, ("b", "c"): 9, ("a", "c"): 1}, 10)
    counts = whole.counts.copy()
    counts[[0, 1], [1, 0]] = np.nan
    data = rf.ChoiceData(whole.items, whole.membership, counts, whole.totals)
    found = rf.explain(data, None, model=MODEL)
    assert found.cycles[0].shares == pytest.approx((0.9, 0.9, 0.9))
    assert found.distance < rf.explain(whole, None, model=MODEL).distance


def test_words_of_a_cycle():
    one = BindingCycle(("x", "y", "z"), (0.9, 0.8, 0.7), (0.7, 0.7, 0.6), 2, 0.1)
    assert one.text == "x over y 0.9, y over z 0.8, z over x 0.7: together 2.4, where no population has more than 2."
    assert not one.tied


def test_the_command(capsys, tmp_path):
    counted(PLANTED).to_csv(tmp_path / "pairs.csv")
    code, out, _ = run(capsys, "explain", tmp_path / "pairs.csv", "--triangle", "--n-boot", 39, "-q", "--seed", 1)
    assert code == 0
    assert "Cycle 1" in out
    code, out, _ = run(capsys, "explain", tmp_path / "pairs.csv", "--triangle", "--n-boot", 39, "--seed", 1, "--json")
    assert json.loads(out)["shares"][0]["items"] == ["a", "b", "c"]


def test_with_ties_paths_are_named(capsys, tmp_path):
    counts = {("a", "b"): (2, 1, 17), ("b", "c"): (1, 2, 17), ("a", "c"): (18, 0, 2)}
    data = rf.ChoiceData.from_counts({(*m, rf.TIE): dict(zip((*m, rf.TIE), c, strict=True)) for m, c in counts.items()})
    found = rf.explain(data, n_boot=39, seed=1, model=MODEL)
    first = found.cycles[0]
    assert first.items == ("a", "b", "c")
    assert first.shares == pytest.approx((0.1, 0.05, 0.9))
    assert first.total == pytest.approx(0.75)
    assert first.fitted[-1] == pytest.approx(sum(first.fitted[:-1]), abs=1e-7)
    assert first.bound == 0
    assert first.path
    assert first.violated == 1.0
    assert first.text.startswith(
        "a over c 0.9, but a over b 0.1, b over c 0.05: together 0.15, and in no population less than a over c."
    )
    assert found.to_frame("dict")["cycle"][0] == "a > b > c"
    counts["a", "b"], counts["b", "c"] = (2, 4, 14), (1, 4, 15)  # no other path binds
    exact = rf.explain(
        rf.ChoiceData.from_counts({(*m, rf.TIE): dict(zip((*m, rf.TIE), c, strict=True)) for m, c in counts.items()}),
        None,
        model=MODEL,
    )
    assert exact.n_cycles == 1
    assert exact.distance**2 == pytest.approx(0.75**2 / 2)  # S H^-1 S' = 3 * 2/3
    assert exact.cycles[0].price == pytest.approx(0.75)
    data.to_csv(tmp_path / "tied.csv")
    code, out, _ = run(capsys, "explain", tmp_path / "tied.csv", "--triangle", "--n-boot", 39, "-q", "--seed", 1)
    assert code == 0
    assert "a over c 0.9, but" in out
    code, out, _ = run(capsys, "test", tmp_path / "tied.csv", "--weak-orders", "--n-boot", 19, "-q", "--seed", 1)
    assert "is rejected" in out
    code, out, _ = run(capsys, "compare", tmp_path / "tied.csv", "--weak-orders", "--triangle", "-q", "--json")
    assert [row["model"] for row in json.loads(out)["models"]] == ["triangle inequalities", "weak orders"]
    code, _, err = run(capsys, "compare", tmp_path / "tied.csv", "-q")
    assert code == 1
    assert "--triangle or --weak-orders" in err


def test_ties_are_no_items_and_one_path_binds():
    pairs = {("a", "b", rf.TIE): (2, 4, 14), ("b", "c", rf.TIE): (1, 4, 15), ("a", "c", rf.TIE): (18, 0, 2)}
    data = rf.ChoiceData.from_counts({menu: dict(zip(menu, own, strict=True)) for menu, own in pairs.items()})
    text = rf.explain(data, n_boot=19, seed=1, model=rf.TriangleInequalities()).summary()
    assert "(3 items, 3 pairs)" in text
    assert "1 path of pairs binds." in text
    assert "Path 1 (price" in text
    assert "(3 items, 3 menus" in rf.explain(data, n_boot=19, seed=1, model=rf.WeakOrders()).summary()
    assert "3 items, 3 menus" in rf.rum_test(data, n_boot=19, seed=1, model=rf.WeakOrders()).summary()
    assert repr(data).startswith("ChoiceData(3 items,")
    assert "Items: a, b, c\n" in data.summary()
