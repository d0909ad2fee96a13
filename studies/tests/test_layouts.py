"""Known choices in every layout, beside misleading columns, are read as they were written or asked about."""

import csv

from studies.experiments.layouts import LAYOUTS, draw_choices, main, mislead, run


def test_no_case_is_misread(tmp_path):
    assert main(["--cases", "150", "--seed", "3", "--out", str(tmp_path / "layouts.csv")]) == 0
    with open(tmp_path / "layouts.csv", encoding="utf-8") as file:
        last = list(csv.DictReader(file))[-1]
    assert last["layout"] == "all"
    assert int(last["misread"]) == int(last["refused although named"]) == 0
    assert int(last["read"]) > 30


def test_a_wrong_table_is_noticed(monkeypatch):
    """What the cases compare with is the truth, not what was read."""
    import numpy as np

    from studies.experiments import layouts

    def wrong(rng, c):
        case = layouts.texts(rng, c)
        menu, choice = case.named["menu"], case.named["choice"]
        row = next(k for k, m in enumerate(c.menus) if len(m) > 1)
        other = next(x for x in c.menus[row] if x != c.picks[row])
        picks = [*case.table[choice]]
        picks[row] = other
        return case._replace(table={menu: case.table[menu], choice: picks})

    monkeypatch.setattr(layouts, "LAYOUTS", (wrong,))
    monkeypatch.setattr(layouts, "MISLEADING", ())
    found = run(20, 0)
    assert found["menu and choice", "misread"] > 10
    case = LAYOUTS[0](np.random.default_rng(0), draw_choices(np.random.default_rng(0)))
    assert mislead(np.random.default_rng(1), case).truth == case.truth
