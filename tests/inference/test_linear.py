"""The test of Fang, Santos, Shaikh and Torgovitsky by name."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.inference.notes import ASSUMPTION
from rumflow.inference.resample import generators
from tests.reference.listed_rankings import farkas, listed


def choices(rng, n=4, share=1.0, false=False):
    """Choices from menus of unequal size, of a population of three rankings, or of nobody rational."""
    orders = [rng.permutation(n) for _ in range(3)]
    counts = {}
    for mask in range(1, 1 << n):
        menu = tuple(x for x in range(n) if mask >> x & 1)
        if len(menu) > 1 and (share == 1 or rng.random() < share):
            p = np.zeros(len(menu))
            for order in orders:
                p[menu.index(next(x for x in order if x in menu))] += 1 / 3
            if false:
                p = rng.dirichlet(np.full(len(menu), 0.5))
            counts[menu] = dict(zip(menu, rng.multinomial(int(rng.choice([3, 40, 150])), p).tolist(), strict=True))
    return rf.ChoiceData.from_counts(counts)


@pytest.mark.parametrize(("n", "share", "false"), [(3, 1.0, True), (4, 1.0, False), (4, 1.0, True), (5, 0.3, True)])
def test_statistic_and_p_value_by_all_rankings_listed(rng, n, share, false):
    data = choices(rng, n, share, false)
    test = rf.rum_test(data, n_boot=29, seed=3, statistic="fsst")
    sample = test.sample
    fit = test._fits.fitted[0][sample.column]
    a = listed(sample.menus)[sample.column]
    sizes = sample.sizes[sample.unit]
    scales = np.sqrt(np.maximum(fit * (1 - fit), 0.01) / sizes)
    assert test.statistic == pytest.approx(farkas(a, scales, sample.frequency), rel=1e-6, abs=1e-9)
    slack = 1 / np.sqrt(np.log(len(fit)) * np.log(max(np.log(sample.sizes.mean()), np.e)))
    null = []
    from rumflow.inference.resample import CellSampler

    for drawn in CellSampler(sample, "menu", "null").draw(generators(3, (), range(29)), fit):
        null.append(farkas(a, scales, drawn - fit + slack * fit))
    assert test.null_distribution == pytest.approx(null, rel=1e-6, abs=1e-9)
    assert test.pvalue == (1 + sum(value >= test.statistic * (1 - 1e-7) - 1e-9 for value in null)) / 30


def test_verdicts_and_words(rng):
    rejected = rf.rum_test(choices(rng, 4, false=True), n_boot=99, seed=1, statistic="fsst")
    assert rejected.rejects()
    text = rejected.summary()
    assert "Fang, Santos, Shaikh and Torgovitsky 2023" in text
    assert "Random utility is rejected at the 5 % level." in text
    assert "tau" not in text
    rational = rf.ChoiceData.from_counts({("a", "b"): {"a": 50, "b": 50}, ("a", "b", "c"): {"a": 30, "b": 40, "c": 30}})
    inside = rf.rum_test(rational, n_boot=9, seed=1, statistic="fsst")
    assert (inside.statistic, inside.pvalue) == (0.0, 1.0)
    assert "are those of a random utility model themselves" in inside.summary()
    assert repr(inside) == "LinearTest(statistic=0, pvalue=1, n_boot=9)"


def test_its_summary_says_what_that_of_the_distance_says(rng):
    rejected = rf.rum_test(choices(rng, 4, false=True), n_boot=99, seed=1, statistic="fsst")
    lines = rejected.summary().splitlines()
    place = lines.index("Random utility is rejected at the 5 % level.")
    assert lines[place + 1] == ASSUMPTION
    assert lines[place + 2] == "No replicate was as large: the p-value is the smallest that 99 replicates can give."
    assert any("menus have fewer than 5 choices: " in line for line in lines[place + 3 :])
    assert not any(
        "unequal" in line or "count by their size" in line for line in lines
    )  # it has no weights, and does not thin
    alone = rf.rum_test(rf.ChoiceData.from_counts({("a", "b"): {"a": 3, "b": 1}}), 19, seed=1, statistic="fsst")
    assert "Nothing can be tested: there is only one menu" in alone.summary()
    rows = [(s, menu, menu[(s + k) % len(menu)]) for s in range(8) for k, menu in enumerate(("ab", "bc", "ac", "abc"))]
    subject, menu, choice = zip(*rows, strict=True)
    panel = rf.ChoiceData.from_frame({"subject": subject, "menu": [",".join(m) for m in menu], "choice": choice})
    few = rf.rum_test(panel, n_boot=19, seed=1, statistic="fsst")
    assert "There are 8 subjects: with fewer than 30 the p-value is rough." in few.summary()


def test_plain_values_have_neither_tau_nor_weights(rng):
    found = rf.rum_test(choices(rng, 3), n_boot=19, seed=1, statistic="fsst")
    plain = found.to_dict()
    assert [plain[name] for name in ("tau", "taus", "weights", "depends_on_tau")] == [None] * 4
    assert list(found.table) == ["statistic", "pvalue", "critical_value", "n_boot"]
    assert plain["tests"] == [{name: column[0] for name, column in found.table.items()}]


def test_eight_items_and_the_same_result_by_workers(rng):
    data = choices(rng, 8, 0.06, false=True)
    test = rf.rum_test(data, n_boot=5, seed=1, statistic="fsst")
    again = rf.rum_test(data, n_boot=5, seed=1, statistic="fsst", n_jobs=2)
    assert test.statistic > 0
    assert test.null_distribution.tolist() == again.null_distribution.tolist()


def test_groups_and_subjects(rng, subject_choices):
    one = choices(rng, 3, false=True)
    both = rf.rum_test([one, one], n_boot=9, seed=1, statistic="fsst")
    assert both.statistic >= rf.rum_test(one, n_boot=1, seed=1, statistic="fsst").statistic - 1e-9
    assert rf.rum_test(subject_choices, n_boot=9, seed=1, statistic="fsst").resample == "subject"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"statistic": "lp"}, "statistic='lp': accepted are 'distance' and 'fsst'"),
        ({"tau": 0.1}, "tau: statistic='fsst' has none"),
        ({"weights": None}, "weights: statistic='fsst' has none"),
        ({"convention": "abkk"}, "is a convention of its own"),
        ({"draws": "empirical"}, "is a convention of its own"),
        ({"resample": "row"}, "resample='row'"),
        ({"model": rf.SinglePeaked(["a", "b", "c"])}, "is for all rankings"),
        ({"route": "bounded"}, "route='bounded'"),
    ],
)
def test_what_it_does_not_have_is_refused(options, words):
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 3, "b": 7}, ("a", "b", "c"): {"a": 5, "b": 3, "c": 2}})
    with pytest.raises(rf.InputError, match=words):
        rf.rum_test(data, n_boot=9, **{"statistic": "fsst"} | options)


def test_budgets_are_refused():
    budgets = rf.BudgetData.from_shares([[1, 2], [2, 1]], [0, 1], [[0.5, 0.5]] * 2)
    with pytest.raises(rf.InputError, match="it is for choices from menus"):
        rf.rum_test(budgets, statistic="fsst")
