"""One row per alternative."""

from rumflow.data.choices import ChoiceData
from tests.reference.choice_tables import ITEMS, choices, expected, same_counts
from tests.reference.layouts import MENUS_SEEN, PICKS, both, counted, read, same_data


def test_one_row_an_alternative():
    menus, picks = choices()
    table = {"id": [], "alt": [], "choice": []}
    for k, (menu, pick) in enumerate(zip(menus, picks, strict=True)):
        for item in menu:
            table["id"].append(k)
            table["alt"].append(item)
            table["choice"].append(int(item == pick))
    data = ChoiceData.from_frame(table, items=ITEMS)
    same_counts(data, expected(menus, picks))
    assert "one row per alternative" in str(data.understood)


@both
def test_a_row_per_alternative_beside_its_menu(tmp_path, kind):
    table = {"menu": [], "item": [], "chosen": []}
    for menu, pick in zip(MENUS_SEEN, PICKS, strict=True):
        for item in menu:
            table["menu"].append("|".join(menu))
            table["item"].append(item)
            table["chosen"].append(int(item == pick))
    same_data(read(table, tmp_path, kind, items=ITEMS), counted())
