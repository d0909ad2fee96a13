"""Choice data are made by every door alike: the class that asks is made, and numbers beyond double precision are refused."""

import pytest

import rumflow as rf
from rumflow.data.choices import ChoiceData
from rumflow.data.constructors import Constructors
from tests.reference.shops import same_shop


def test_the_class_that_is_asked_is_made(tmp_path):
    class Mine(ChoiceData):
        pass

    table = {"menu": ["a,b", "a,b", "a,b"], "choice": ["a", "b", "a"]}
    (tmp_path / "c.csv").write_text('menu,choice\n"a,b",a\n"a,b",b\n"a,b",a\n', encoding="utf-8")
    (tmp_path / "o.soc").write_text(
        "# FILE NAME: o.soc\n# NUMBER ALTERNATIVES: 2\n# NUMBER VOTERS: 3\n# NUMBER UNIQUE ORDERS: 2\n"
        "# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n2: 1, 2\n1: 2, 1\n",
        encoding="utf-8",
    )
    made = [
        Mine.from_counts({("a", "b"): {"a": 2, "b": 1}}),
        Mine.from_matrix([[0, 0], [0, 0], [0, 0], [2, 1]], items=["a", "b"]),
        Mine.from_frame(table),
        Mine.from_csv(tmp_path / "c.csv"),
        Mine.from_csv(tmp_path / "o.soc"),
        Mine.from_pairs([("a", ["b"]), ("b", ["a"]), ("a", ["b"])]),
        Mine.from_rankings([["a", "b"], ["b", "a"]], counts=[2, 1]),
    ]
    for data in made:
        assert type(data) is Mine
        assert data.counts.tolist() == [[2, 1]], data.understood
    assert made[4].understood.source == str(tmp_path / "o.soc")


def test_the_door_alone_makes_nothing():
    with pytest.raises(TypeError, match="abstract"):
        Constructors()


def test_counts(large_shop):
    table = {menu: {x: c for x, c in zip(large_shop.items, row, strict=True) if c > 0}
             for menu, row in zip(large_shop.menus, large_shop.counts, strict=True)}  # fmt: skip
    same_shop(ChoiceData.from_counts(table, items=large_shop.items), large_shop)


@pytest.mark.parametrize(
    "value", [1e308, 2.0**63, float("inf"), 2.0**53 + 2, 10**400], ids=lambda v: f"{len(str(v))} digits"
)
def test_counts_beyond_double_precision(value):
    for make in (
        lambda: ChoiceData.from_counts({("a", "b"): {"a": value, "b": 1}}),
        lambda: ChoiceData.from_matrix([[1, 0], [0, 1], [value, 2]]),
        lambda: ChoiceData.from_frame({"menu": ["a,b", "a,b"], "item": ["a", "b"], "count": [value, 1]}),
        lambda: ChoiceData.from_frame(
            {"menu": ["a,b", "a,b"], "choice": ["a", "b"], "weight": [value, 1]}, weight="weight"
        ),
    ):
        with pytest.raises(rf.InputError, match=r"2\^53 = 9007199254740992|not a number|is needed"):
            make()
    half = {("a", "b"): {"a": 2.0**52, "b": 2.0**52}}
    assert ChoiceData.from_counts(half).n_observations == 2.0**53
    with pytest.raises(rf.InputError, match=r"menu \{a, b\}: its total is .* 2\^53 = 9007199254740992"):
        ChoiceData.from_counts({("a", "b"): {"a": 2.0**53, "b": 2.0**53}})


def test_numbers_of_thousands_of_digits():
    long = 7 * 10**6000
    with pytest.raises(rf.InputError, match="bits cannot be a label"):
        ChoiceData.from_frame({"menu": [[1, long], [1, long]], "choice": [1, 1]})
    digits = "7" * 6000
    data = ChoiceData.from_frame({"menu": [f"1,{digits}", f"1,{digits}9"], "choice": ["1", f"{digits}9"]})
    assert data.items == ("1", digits, digits + "9")
