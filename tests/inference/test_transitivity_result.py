"""The result of `rf.transitivity` as words, tables and plain values."""

import rumflow as rf
from tests.inference.test_transitivity import CYCLE


def test_results_have_all_forms():
    found = rf.transitivity(CYCLE, n_boot=9, seed=0)
    assert found.to_dict()["triangles"][0]["items"] == ["a", "b", "c"]
    assert found.to_frame("dict")["condition"] == ["triangle", "weak", "moderate", "strong"]
    assert found.to_frame("dict")["pvalue"][1] == found.weak_pvalue
    assert "weak transitivity" in found._repr_html_()
    assert repr(found).startswith("Transitivity(3 items, 3 pairs, distance=0.489898")
