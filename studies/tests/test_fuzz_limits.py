"""The rounds of the fuzzer about size and time notice what breaks a limit."""

import time

import numpy as np
import pytest

import rumflow as rf
from studies.experiments import fuzz_limits


def test_menus_of_all_kinds():
    rng = np.random.default_rng(0)
    made = [fuzz_limits.make_menus(rng, 3000, 3000) for _ in range(40)]
    assert max(data.n for data in made) > 500
    assert max(len(data.totals) for data in made) > 500
    for data in made:
        assert (data.n_observations / len(data.totals)) in (1, 20)


def test_all_pairs_of_hundreds_of_items_have_the_triangle_inequalities():
    """Other data now and then have known preferences."""
    rng = np.random.default_rng(0)
    drawn = [fuzz_limits.make_menus(rng, 1e5, 3000) for _ in range(60)]
    models = [fuzz_limits.make_model(rng, data) for data in drawn]
    triangle = rf.TriangleInequalities()
    whole = [len(data.totals) == data.n * (data.n - 1) // 2 for data in drawn]
    assert max(data.n for data, every in zip(drawn, whole, strict=True) if every) > 300
    assert all(model == triangle for model, every in zip(models, whole, strict=True) if every)
    assert None in models
    chains = [(data, model) for data, model in zip(drawn, models, strict=True) if model not in (None, triangle)]
    assert max(data.n for data, _ in chains) > 300
    assert {x for data, model in chains[:1] for pair in model.above for x in pair} <= set(chains[0][0].items)


def test_what_takes_too_long_is_noticed(monkeypatch):
    data = rf.simulate.random_menus(12, 9, 3, seed=0)
    rng = np.random.default_rng(0)
    assert fuzz_limits.estimate(data, None, "nine menus") == "estimate: graph"
    assert fuzz_limits.limit(rng, data, None, "nine menus") == "limit: graph, optimal"
    assert fuzz_limits.interrupt(rng, data, None, "nine menus").startswith("interrupt: ")

    def slow(*_, **__):
        end = time.process_time() + 2.7
        while time.process_time() < end:
            pass
        return rf.Status.OPTIMAL

    monkeypatch.setattr(rf, "estimate_cost", slow)
    with pytest.raises(fuzz_limits.LimitBroken, match="the estimate of nine menus took"):
        fuzz_limits.estimate(data, None, "nine menus")


def test_structured_menus_are_searched():
    kinds = set()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        kinds.add(fuzz_limits.make_structure(rng, 30)[0])
    assert kinds == {"blocks", "nested", "pairs", "giant"}
    end = fuzz_limits.search_menus(np.random.default_rng(1), "assortment", 8)
    assert end.startswith("assortment: ")
