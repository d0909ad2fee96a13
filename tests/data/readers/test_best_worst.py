"""Best and worst choices: one of them at a time."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.data.choices import ChoiceData
from tests.reference.layouts import both, read

ORDERS = [["w", "x", "y", "z"], ["z", "y", "x", "w"], ["x", "w", "z", "y"]]
MENUS = [("x", "y", "z"), ("w", "y", "z"), ("w", "x", "z")]
PEOPLE = [(order, menu) for order in ORDERS for menu in MENUS]
TABLE = {f"i{k + 1}": [menu[k] for _, menu in PEOPLE] for k in range(3)} | {
    "best": [next(x for x in order if x in menu) for order, menu in PEOPLE],
    "worst": [next(x for x in reversed(order) if x in menu) for order, menu in PEOPLE],
}


@both
@pytest.mark.parametrize("what", ["best", "worst"])
def test_one_of_them(tmp_path, kind, what):
    orders = ORDERS if what == "best" else [order[::-1] for order in ORDERS]
    want = ChoiceData.from_rankings(orders, MENUS)
    data = read(TABLE, tmp_path, kind, what=what, menu=["i1", "i2", "i3"])
    assert data.menus == want.menus
    np.testing.assert_array_equal(data.counts, want.counts)
    assert ("reversed rankings" in str(data.understood)) is (what == "worst")
    assert data.understood.unused == ({"best": "worst", "worst": "best"}[what],)


@both
def test_both_are_refused(tmp_path, kind):
    with pytest.raises(
        rf.InputError, match="both from one ranking and so not independent; say what='best' or what='worst'"
    ):
        read(TABLE, tmp_path, kind, menu=["i1", "i2", "i3"])


def test_columns_by_name():
    named = ChoiceData.from_frame(TABLE, menu=["i1", "i2", "i3"], choice="worst", what="worst")
    assert named.equals(ChoiceData.from_frame(TABLE, menu=["i1", "i2", "i3"], what="worst"))
    with pytest.raises(rf.InputError, match="what='worst': no column is called worst, least, worst_choice"):
        ChoiceData.from_frame({"menu": ["a,b"], "choice": ["a"]}, what="worst")
    with pytest.raises(rf.InputError, match="what='x': accepted are None, 'best' and 'worst'"):
        ChoiceData.from_frame(TABLE, what="x")
