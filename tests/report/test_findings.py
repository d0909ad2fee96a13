"""The first sentence of the page, for every kind of answer and in the words of the model."""

import pytest

import rumflow as rf
from rumflow.report.findings import find, find_verdict

ATTRACTION = {("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 60, "b": 20, "c": 20}}
LINEAR = rf.LinearUtility({"a": 1.0, "b": 2.0, "c": 3.0}, [1])


@pytest.mark.parametrize(
    ("counts", "model", "n_boot", "kind", "words"),
    [
        ({("a", "b"): {"a": 3, "b": 7}}, None, 0, "", "Nothing can be tested"),
        ({("a", "b"): {"a": 3, "b": 7}}, LINEAR, 0, "", "the nearest population of people whose utility is linear in"),
        ({("a", "b"): {"a": 0, "b": 7}}, LINEAR, 0, "good", "Yes: a population of people whose utility is linear in"),
        (ATTRACTION, None, 0, "", "Not exactly: the nearest random utility model is at a distance of"),
        (ATTRACTION, None, 19, "bad", "No: no population of utility maximisers makes choices like these"),
        (ATTRACTION, LINEAR, 19, "bad", "No: no population of people whose utility is linear in attribute 0 makes"),
    ],
)
def test_verdicts(counts, model, n_boot, kind, words):
    found = find(rf.ChoiceData.from_counts(counts), model, n_boot, 0, "auto", False)
    verdict = find_verdict(found, True)
    assert verdict["kind"] == kind
    assert words in verdict["text"]
    assert found.doubtful == (kind == "bad" or (not found.fit.inside and n_boot == 0))


def test_chance_and_unknown_numbers_of_choices():
    near = {("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 32, "b": 40, "c": 28}}
    found = find(rf.ChoiceData.from_counts(near), None, 19, 0, "auto", False)
    assert find_verdict(found, True)["text"].startswith(
        "They may be: the shares are not exactly those of any population"
    )
    assert not found.doubtful
    assert "The number of choices is not known." in find_verdict(found._replace(test=None), False)["text"]
