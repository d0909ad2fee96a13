"""The section of the page on transitivity."""

import rumflow as rf
from rumflow.report import make_report
from rumflow.report.pairs import is_pairs
from tests.inference.test_transitivity import CYCLE


def test_pairs_have_a_section_and_other_menus_do_not(tmp_path):
    path = tmp_path / "page.html"
    make_report(CYCLE, path, n_boot=19)
    page = path.read_text(encoding="utf-8")
    assert "How transitive are they?" in page
    assert "1 significant at the 5 % level after Holm&#39;s correction" in page
    assert 'id="transitivity"' in page
    larger = rf.ChoiceData.from_counts(CYCLE | {("a", "b", "c"): {"a": 5, "b": 5}})
    assert is_pairs(rf.ChoiceData.from_counts(CYCLE))
    assert not is_pairs(larger)
    assert not is_pairs(rf.ChoiceData.from_counts({("a", "b"): {"a": 1, "b": 2}}))
    make_report(larger, path, n_boot=0)
    assert 'id="transitivity"' not in path.read_text(encoding="utf-8")
