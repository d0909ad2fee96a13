"""What is assumed where nothing is said."""

import inspect

import pytest

import rumflow as rf
from tests.reference.examples import DECOY


def defaults(function):
    """The numbers and switches that a function assumes."""
    given = {name: one.default for name, one in inspect.signature(function).parameters.items()}
    return {name: value for name, value in given.items() if isinstance(value, bool | int | float)}


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (rf.rum_test, (None,), {"n_boot": 999, "n_jobs": 1, "progress": False, "tol": 1e-9}),
        (rf.rum_test_many, (None,), {"n_boot": 999, "n_jobs": 1, "progress": False, "tol": 1e-9}),
        (rf.compare_groups, (None,), {"n_boot": 999, "n_jobs": 1, "progress": False}),
        (rf.bounds, (DECOY,), {"n_boot": 199, "progress": False}),
        (rf.explain, (DECOY, 7), {"level": 0.05, "n_boot": 199, "most": 3, "halves": 20, "seed": 0,
                                  "progress": False}),
        (rf.next_menu, (DECOY, [("z",)]), {"most": 60, "seed": 0, "progress": False}),
        (rf.best_assortment, (DECOY, {}), {"n_boot": 999, "seed": 0, "progress": False}),
        (rf.fit_likelihood, (None,), {"tol": 1e-6, "max_iterations": 200, "throw": True, "progress": False}),
        (rf.compare_models, (DECOY, {}), {"tol": 1e-9, "progress": False, "n_boot": 0, "seed": 0, "likelihood": True}),
    ],
)  # fmt: skip
def test_what_is_assumed_where_nothing_is_said(function, arguments, expected):
    assert defaults(function) == expected
    with pytest.raises(rf.InputError):
        function(*arguments)


@pytest.mark.parametrize(
    "function",
    [rf.rum_test, rf.rum_test_many, rf.compare_groups, rf.compare_models, rf.bounds, rf.explain, rf.best_assortment],
)
def test_whole_subjects_are_resampled_where_they_chose_several_times(function):
    assert inspect.signature(function).parameters["cluster"].default == "auto"
