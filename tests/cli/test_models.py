"""Models on the command line that are refused."""

import pytest

from tests.reference.commands import run


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--above", "a"), "--above 'a': give two items"),
        (("--above", "a>z"), "item 'z' is unknown"),
        (("--above", "a>b", "--above", "b>a"), "cycle"),
        (("--axis", "a,b"), "item 'c' of the data is missing"),
        (("--axis", "a,b", "--above", "a>b"), "two models"),
        (("--above", "a>b", "--route", "lattice"), "omit --route"),
        (("--route", "short"), "invalid choice"),
    ],
)
def test_models_that_are_refused(capsys, shop, options, message):
    code, out, err = run(capsys, "project", shop, "-q", *options)
    assert (code, out) == (1, "")
    assert message in err
