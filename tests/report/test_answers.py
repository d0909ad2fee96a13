"""The words for people who do not know the theory, against the numbers of the results."""

import re

import pytest

import rumflow as rf
from rumflow.report.answers import answer

ODD = {("tea", "milk"): (24, 56), ("tea", "milk", "juice"): (48, 20, 12), ("milk", "juice"): (44, 36)}
GOOD = {("tea", "milk"): (50, 50), ("tea", "milk", "juice"): (40, 40, 20), ("milk", "juice"): (60, 40)}


def data_of(counts):
    return rf.ChoiceData.from_counts({menu: dict(zip(menu, own, strict=True)) for menu, own in counts.items()})


@pytest.fixture(scope="module")
def odd():
    return data_of(ODD)


def rows_of(found):
    return [[cell.text for cell in row] for row in found.tables[0].rows]


def test_a_distance_in_percentage_points(odd):
    fit = rf.project(odd)
    found = answer(fit)
    _, item, observed, fitted = fit.misfits(1)[0]
    assert f"{100 * observed:.1f} % took {item} from" in found.lead
    assert f"{100 * abs(observed - fitted):.1f} percentage points at most" in found.lead
    assert f"{100 * fit.distance / 7**0.5:.1f} percentage points from" in found.lead  # of seven shares
    assert rows_of(found)[0][1:3] == [item, f"{100 * observed:.1f} %"]
    assert answer(rf.project(data_of(GOOD))).lead.startswith("Not at all")


def test_chance(odd):
    no = rf.rum_test(odd, n_boot=99, seed=0)
    assert no.pvalue == 0.01
    assert answer(no).lead.startswith("Hardly: 10 in 1,000 samples")
    small = rf.rum_test(data_of({m: [n // 8 for n in own] for m, own in ODD.items()}), n_boot=9, seed=0)
    yes = answer(small)
    assert yes.lead.startswith(f"Yes: {100 * small.pvalue:.0f} in 100 samples")
    assert "take at least 19" in yes.text[0]
    assert answer(rf.rum_test(data_of(GOOD), n_boot=19, seed=0)).lead.startswith("There is nothing to explain")


def test_conflicts_are_those_of_the_report(odd):
    found = answer(rf.explain(odd, seed=0))
    assert found.conflicts["lead"] == found.lead
    assert "What to do" in found.html()


@pytest.mark.parametrize("confidence", [None, 0.95])
def test_ranges_of_a_menu_and_of_what_goes(odd, confidence):
    bounds = rf.bounds(odd, ["tea", "juice"], confidence=confidence, seed=0, n_boot=99)
    found = answer(bounds)
    low, high = bounds["tea"] if confidence is None else bounds.confidence_interval("tea")
    assert f"tea {100 * low:.1f} to {100 * high:.1f} %" in found.lead
    assert ("few choices from 3 of 3 menus" in " ".join(found.text)) == (confidence is None)
    assert len(rows_of(found)[0]) == (3 if confidence is None else 5)
    gone = rf.diversion(odd, "tea", confidence=confidence, seed=0, n_boot=99)
    told = answer(gone)
    assert told.lead.startswith(f"Without tea, which {100 * gone.share[0]:.1f} % take from tea, milk and juice: ")
    assert rows_of(told)[0][-1] == f"{100 * gone.ratio_upper[0]:.1f} %"


def test_wide_ranges_say_what_would_tell_more(odd):
    pairs = rf.ChoiceData.from_counts({("a", "b"): {"a": 5, "b": 5}, ("b", "c"): {"b": 5, "c": 5}})
    wide = answer(rf.bounds(pairs, ["a", "c"], confidence=None))
    assert "“Which menu should be offered next?” shows" in " ".join(wide.text)
    assert "say little" not in " ".join(answer(rf.bounds(odd, ["tea", "milk"], confidence=None)).text)
    gone = answer(rf.diversion(pairs, "a", ["a", "b", "c"], confidence=None))
    assert any(line.startswith("Each range holds by itself: what a loses is shared out") for line in gone.text)


def test_assortments(odd):
    best = rf.best_assortment(odd, {"tea": 3, "milk": 2}, "juice")
    found = answer(best)
    assert re.search(rf"a person brings (at least )?{best.lower:.4g} on average", found.lead)
    assert any("few choices" in line for line in found.text)
    assert rows_of(found)[0][0] == "safest"


def test_models_and_groups(odd):
    models = {"all rankings": rf.RandomUtility(), "single-peaked": rf.SinglePeaked(["tea", "milk", "juice"])}
    assert answer(rf.compare_models(odd, models, n_boot=0)).lead.startswith("Nearest to the data: ")
    tested = answer(rf.compare_models(odd, models, n_boot=99, seed=0))
    assert tested.lead == "The data contradict all of these models."
    good = answer(rf.compare_models(data_of(GOOD), models, n_boot=19, seed=0))
    assert "may be right" in rows_of(good)[0]
    other = data_of({menu: own[::-1] for menu, own in GOOD.items()} | {("tea", "milk"): (10, 90)})
    differ = answer(rf.compare_groups({"young": data_of(GOOD), "old": other}, n_boot=99, seed=0))
    assert re.match(r"Yes, the groups choose differently: \d+ in 1,000 samples", differ.lead)
    shares, each = differ.tables
    assert shares.columns == ["menu", "item", "old", "young"]
    assert [row[0].text for row in each.rows] == ["old", "young"]
    assert any(
        line.startswith("The largest difference: 50.0 % of young and 10.0 % of old took tea") for line in differ.text
    )
    opposite = data_of({("tea", "milk"): (10, 90), ("tea", "milk", "juice"): (8, 80, 12), ("milk", "juice"): (85, 15)})
    both = answer(rf.compare_groups({"young": data_of(GOOD), "old": opposite}, n_boot=99, seed=0))
    assert any(line.endswith("same tastes (p = 0.01); that does not make them irrational.") for line in both.text)
    alike = answer(rf.compare_groups({"young": odd, "old": odd}, n_boot=19, seed=0))
    assert alike.lead.startswith("No difference is shown")
    assert any(line.startswith("Together they are not one rational population (p = 0.05)") for line in alike.text)
    no = answer(rf.compare_groups({"young": odd, "old": odd}, n_boot=99, seed=0))
    assert "No rational population explains all groups together (p = 0.01)." in no.text
    same = answer(rf.compare_groups({"young": data_of(GOOD), "old": data_of(GOOD)}, n_boot=19, seed=0))
    assert "All groups may be one population with the same tastes (p = 1)." in same.text
    assert any("take at least 39" in line for line in alike.text)
    far = {(f"dark {a}", f"dark {b}"): {f"dark {a}": 3, f"dark {b}": 4} for a, b in ("xy", "yz", "xz")}
    apart = answer(rf.compare_groups({"young": odd, "old": rf.ChoiceData.from_counts(far)}, n_boot=19, seed=0))
    assert apart.lead.startswith("Whether the groups differ cannot be said")


def test_what_to_ask_next(odd):
    found = answer(rf.next_menu(odd))
    assert found.lead.startswith("Offer tea and juice: ")
    every = rf.ChoiceData.from_counts({("a", "b"): {"a": 5, "b": 5}})
    assert answer(rf.next_menu(every)).lead.startswith("Nothing is left to ask")


def test_options_in_other_words_and_labels_as_text(odd):
    page = answer(rf.bounds(odd, ["tea", "juice"], confidence=None)).html(
        lambda text: text.replace("confidence=0.95", "X")
    )
    assert "X (--confidence" in page
    evil = rf.ChoiceData.from_counts(
        {("<b>", "c"): {"<b>": 50, "c": 50}, ("<b>", "c", "d"): {"<b>": 80, "c": 10, "d": 10}}
    )
    assert "<b>" not in answer(rf.project(evil)).html().replace('<b style="', "")
    with pytest.raises(TypeError, match="no plain words for str"):
        answer("x")
