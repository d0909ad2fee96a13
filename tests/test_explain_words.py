"""What explanations say: patterns by their definitions, the command, the page."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import rumflow as rf
from rumflow.cli.main import main
from rumflow.report import make_report
from rumflow.report.explanation import explain_data, explanation_content

CYCLE = {("a", "b"): {"a": 80, "b": 20}, ("b", "c"): {"b": 80, "c": 20}, ("a", "c"): {"c": 80, "a": 20}}

#: Shares in per cent, the menus of the first conflict, its pattern and the items in it.
PATTERNS = [
    # The added item is taken least of all.
    ({"xy": (40, 60), "xyz": (55, 40, 5)}, "attraction", {"target": "x", "decoy": "z"}),
    # The same, with x gaining from y as well.
    ({"xy": (40, 60), "xyz": (55, 40, 5), "xz": (50, 50)}, "compromise", {"target": "x", "added": "z"}),
    # The same, but x does not gain from y.
    ({"xy": (40, 60), "xyz": (55, 40, 5), "xz": (90, 10)}, "attraction", {"target": "x", "decoy": "z"}),
    # The added item has taken the place of y.
    ({"xy": (40, 60), "xyz": (50, 20, 30)}, "similarity", {"target": "x", "added": "z", "rival": "y"}),
    # Ties: not less than every other, so no decoy; y lost more than z won.
    ({"xy": (40, 60), "xyz": (50, 25, 25)}, "similarity", {"target": "x", "added": "z", "rival": "y"}),
    # z is neither least, nor at least as much as one who lost more than it won.
    ({"xyv": (30, 60, 10), "xyvz": (40, 45, 5, 10)}, "regularity", {"target": "x"}),
    # Two items were added.
    ({"xy": (40, 60), "xyzv": (55, 35, 5, 5)}, "regularity", {"target": "x"}),
    # Neither menu is inside the other.
    ({"xyz": (80, 10, 10), "xyv": (10, 80, 10)}, "reversal", {"first": ("x",), "second": ("y",)}),
    # Circles of three and of four pairs.
    ({"xy": (80, 20), "yz": (80, 20), "xz": (20, 80)}, "cycle", {"circle": ("x", "y", "z")}),
    ({"xy": (80, 20), "yz": (80, 20), "zv": (80, 20), "xv": (20, 80)}, "cycle", {"circle": ("x", "y", "z", "v")}),
    # Pairs and a triple: no classic pattern.
    ({"xy": (80, 20), "yz": (80, 20), "xyzv": (5, 40, 50, 5)}, None, None),
]


@pytest.mark.parametrize(("shares", "pattern", "items"), PATTERNS)
def test_patterns_are_named_where_their_definition_holds(shares, pattern, items):
    counts = {tuple(menu): dict(zip(menu, own, strict=True)) for menu, own in shares.items()}
    found = rf.explain(rf.ChoiceData.from_counts(counts, items=list("xyzv")), level=None)
    assert found.conflict
    first = found.conflicts[0]
    if pattern is None:
        assert all(one.pattern is None or one.pattern.name == "regularity" for one in found.conflicts)
        return
    assert found.pattern == pattern
    assert first.pattern.items == items
    assert first.inequality.value > first.inequality.bound


def test_few_added_items_are_named_and_many_counted():
    for more, words in (("zvwu", "z, v, w and u are on offer"), ("zvwut", "5 more items are on offer")):
        menu = tuple("xy" + more)
        large = dict.fromkeys(menu, 1) | {"x": 60}
        data = rf.ChoiceData.from_counts({("x", "y"): {"x": 40, "y": 60}, menu: large})
        assert words in rf.explain(data, level=None).conflicts[0].pattern.text


def test_the_verdict_on_samples():
    found = rf.explain(rf.ChoiceData.from_counts(CYCLE), n_boot=39, halves=4, seed=1)
    rejected = "Random utility is rejected (p = 0.025, at most 39 replicates), "
    assert found.verdict == rejected + "and so it is for these menus alone."
    assert (found.rejected, found.halves) == (4, 4)  # it is far beyond chance in half of the choices, too
    twice = replace(found, conflicts=found.conflicts * 2)
    assert twice.verdict == rejected + "and so it is for each of these 2 sets of menus alone."
    cut = replace(found, conflicts=(), interrupted=True)
    assert cut.verdict == rejected + "but the search was interrupted before it found the menus in conflict."
    unknown = replace(cut, pvalue=None)
    assert unknown.verdict == "The search was interrupted before the data were tested."
    fine = replace(cut, pvalue=0.5)
    assert fine.verdict.startswith("There is no conflict that sampling error could not explain (p = 0.5")


@pytest.mark.parametrize(("named", "rejected", "words"), [
    (0.5, 8, None), (0.75, 8, None), (0.4, 8, "8 of 10 half-samples are rejected, but most of them name other menus"),
    (0.4, 5, "5 of 10 half-samples are rejected, but"), (0.4, 4, "Half of the choices are not enough to see it: only 4 of 10"),
])  # fmt: skip
def test_conflicts_that_half_of_the_choices_do_not_name(named, rejected, words):
    found = rf.explain(rf.ChoiceData.from_counts(CYCLE), n_boot=39, halves=0, seed=1)
    influence = found.influence | {"named": [0.1, named, 0.2]}
    notes = " ".join(replace(found, halves=10, rejected=rejected, influence=influence).notes)
    assert ("Treat it as a lead" in notes) == (words is not None)
    assert words is None or words in notes


@pytest.mark.parametrize(("complete", "count", "words"), [
    (True, 1, "It is the only conflict: without any one of its menus the rest fits exactly."),
    (True, 2, "There is no other conflict: without some menu of each the rest fits exactly."),
    (False, 1, "There may be more conflicts than those listed."),
])  # fmt: skip
def test_whether_there_are_more_conflicts(complete, count, words):
    found = rf.explain(rf.ChoiceData.from_counts(CYCLE), level=None)
    assert replace(found, complete=complete, conflicts=found.conflicts * count).notes == [words]


def test_the_table_says_how_much_it_leaves_out():
    found = rf.explain(rf.ChoiceData.from_counts(CYCLE), level=None)
    assert found.as_table().note == ""
    long = {name: column * 20 for name, column in found.influence.items()}
    table = replace(found, influence=long).as_table()
    assert table.note == f"{60 - len(table.rows)} more menus in `influence` (in the file of --out)."
    assert 0 < len(table.rows) < 60


def test_words_of_an_inequality():
    found = rf.explain(rf.ChoiceData.from_counts(CYCLE), level=None)
    assert found.inequality.text == (
        "Of these 3 choices nobody with a ranking makes more than 2: a from {a, b}; c from {a, c}; b from {b, c}. Their shares "
        "can therefore add up to at most 2; they add up to 2.4."
    )
    assert len(found.conflicts[0].cells) == 3
    assert sum(value for _, value in found.inequality.terms) == pytest.approx(found.inequality.value)


def test_standard_errors_of_an_inequality():
    counts = {menu: {x: 10_000 * k for x, k in own.items()} for menu, own in CYCLE.items()}
    found = rf.explain(rf.ChoiceData.from_counts(counts), n_boot=39, halves=0, most=1)
    assert found.inequality.error == pytest.approx(np.sqrt(3 * 0.8 * 0.2 / 1e6), rel=1e-3)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("explain") / "choices.csv"
    rf.ChoiceData.from_counts(CYCLE | {("a", "b", "d"): {"a": 60, "b": 20, "d": 20}}).to_csv(path)
    return str(path)


def test_the_command(file, tmp_path, capsys):
    out = tmp_path / "influence.csv"
    options = ["--n-boot", "39", "--halves", "2", "--seed", "4"]
    assert main(["explain", file, *options, "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert "Preferences go round in a circle" in text
    assert "Influence of the menus" in text
    assert out.read_text().startswith("menu,choices,share,distance_without,pvalue_without,named,conflicts")
    assert main(["explain", file, *options, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["conflicts"][0]["pattern"]["name"] == "cycle"
    assert found["seed"] == 4
    assert len(found["influence"]) == 4
    assert main(["explain", file, "--level", "none", "-q"]) == 0
    assert "No population of utility maximisers" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--level", "much"], "--level='much'"),
        (["--level", "0.9"], "level=0.9"),
        (["--n-boot", "3"], "take 19 or more"),
        (["--cluster"], "subject"),
    ],
)
def test_wrong_options_are_named(file, options, words, capsys):
    assert main(["explain", file, "-q", *options]) == 1
    assert words in capsys.readouterr().err


def test_the_page_explains(tmp_path):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    data = rf.ChoiceData.from_counts(CYCLE | {("a", "<d>"): {"a": 50, "<d>": 50}})
    answer = make_report(data, tmp_path / "a.html", n_boot=19)
    assert sorted(map(tuple, answer["conflict"])) == sorted(CYCLE)
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    section = re.search(r'<section[^>]*id="explanation">.*?</section>', text, re.DOTALL).group()
    assert text.index('id="verdict"') < text.index('id="explanation"') < text.index('id="data"')
    assert "Preferences that go round in a circle" in section
    assert "What to do" in section
    assert 'style="left: 83.33%"' in section  # 2 of 2.4
    assert "(any one of them is enough) the rest of the data is not rejected" in section


def test_words_of_the_page_without_a_test_and_without_a_conflict():
    exact = explanation_content(explain_data(rf.ChoiceData.from_counts(CYCLE), 0, 0, False, False))
    assert "the rest of the data has no contradiction" in exact["advice"][-1]
    assert "p-value without" not in exact["influence"].columns
    rational = rf.ChoiceData.from_counts({("a", "b"): {"a": 6, "b": 4}, ("b", "c"): {"b": 6, "c": 4}})
    assert explanation_content(explain_data(rational, 19, 0, False, False))["lead"].startswith(
        "Nothing that sampling error"
    )
    assert explanation_content(explain_data(rational, 0, 0, False, False))["lead"].startswith(
        "Nothing: some population"
    )


def test_the_page_leaves_long_searches_out(tmp_path, monkeypatch):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("rumflow.report.explanation.MOST_ARCS", 3)
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 6, "b": 4}, ("b", "c"): {"b": 6, "c": 4}})
    answer = make_report(data, tmp_path / "a.html", n_boot=0)
    assert answer["conflict"] is None
    assert "takes long for data of this size" in (tmp_path / "a.html").read_text(encoding="utf-8")
