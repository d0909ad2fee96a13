"""What all models refuse, and how they name it."""

import pytest

from rumflow.core.graph_cells import Cells
from rumflow.errors import InputError
from rumflow.models.choice_graph import ChoiceGraph
from rumflow.models.random_utility import RandomUtility
from rumflow.models.single_peaked import SinglePeaked
from rumflow.models.types import Types


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RandomUtility(above=["ab"]), "'ab' is not a pair"),
        (lambda: RandomUtility(above=[("a", "b", "c")]), "is not a pair"),
        (lambda: RandomUtility(above=[("a", "x")]).geometry(CELLS), "'x' is not among the items"),
        (lambda: RandomUtility(above=[("a", "b"), ("b", "c"), ("c", "a")]).geometry(CELLS), "circle among a, b, c"),
        (lambda: SinglePeaked("aba"), "item 'a' stands twice"),
        (lambda: SinglePeaked("ab").geometry(CELLS), "item 'c' of the data is missing"),
        (lambda: SinglePeaked("abcd").geometry(CELLS), "'d' is not among the items"),
        (lambda: Types(["a"]), "one row per type"),
        (lambda: Types([["a"]]).geometry(CELLS), "2 columns are needed"),
        (
            lambda: Types([["a", "a"]]).geometry(CELLS),
            r"type 0 takes 'a' from menu 1 \{b, c\}, which does not offer it",
        ),
        (lambda: ChoiceGraph(2, []).orders(CELLS, None), "no rankings"),
    ],
)
def test_what_models_refuse(make, message):
    with pytest.raises(InputError, match=message):
        make()


CELLS = Cells([[True, True, False], [False, True, True]], items=("a", "b", "c"))
