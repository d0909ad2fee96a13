"""Twenty layouts of public files: read at once, read with named roles, or refused with a remedy; never misread."""

import csv
import json

import numpy as np
import pytest

import rumflow as rf
from rumflow.data.choices import ChoiceData
from tests.reference.commands import run
from tests.reference.public_layouts import LAYOUTS

by_layout = pytest.mark.parametrize("layout", LAYOUTS, ids=[layout.name for layout in LAYOUTS])


def write(layout, path):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=layout.delimiter)
        writer.writerow(layout.table)
        writer.writerows(zip(*layout.table.values(), strict=True))
    return path


def same(data, counts):
    found = {}
    for menu, item, count in zip(*map(np.ndarray.tolist, data.cells), strict=True):
        own = found.setdefault(frozenset(map(str, data.menus[menu])), {})
        if count:
            own[str(data.items[item])] = count
    assert found == {frozenset(map(str, m)): {str(x): float(c) for x, c in own.items()} for m, own in counts.items()}


def words(options):
    """Options as they are written in the shell."""
    found = []
    for name, value in options.items():
        found += [f"--{name}", ",".join(value) if isinstance(value, list) else value]
    return found


def test_there_are_twenty():
    assert len(LAYOUTS) >= 20
    kinds = [("read" if x.at_once else "named" if x.options else "refused") for x in LAYOUTS]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {"read": 14, "named": 5, "refused": 2}


@by_layout
def test_at_once(tmp_path, layout):
    path = write(layout, tmp_path / "a.csv")
    for read in (lambda: ChoiceData.from_csv(path), lambda: ChoiceData.from_frame(layout.table)):
        if layout.at_once:
            data = read()
            same(data, layout.counts)
            assert all(text in str(data.understood) for text in layout.told), str(data.understood)
            used = {c for own in data.understood.roles.values() for c in ([own] if isinstance(own, str) else own)}
            assert len(used) + len(data.understood.unused) == len(layout.table)
        else:
            with pytest.raises(rf.InputError) as caught:
                read()
            assert layout.words in str(caught.value)


@by_layout
def test_with_named_roles(tmp_path, layout, capsys):
    path = write(layout, tmp_path / "a.csv")
    if layout.options is None:
        code, _, err = run(capsys, "project", path)
        assert code == 1
        assert "Traceback" not in err
        return
    for data in (ChoiceData.from_csv(path, **layout.options), ChoiceData.from_frame(layout.table, **layout.options)):
        same(data, layout.counts)
        named = {name: own for name, own in layout.options.items() if name != "missing"}
        known = {role: list(own) if isinstance(own, tuple) else own for role, own in data.understood.roles.items()}
        if "available" in named and isinstance(named["available"], str):
            known["available"] = known["available"][0]
        if "alternative" in named and "observation" not in named:
            known["alternative"] = known.pop("choice")
        assert named.items() <= known.items()
    code, printed, err = run(capsys, "project", path, *words(layout.options), "--json")
    assert code == 0, err
    answer = json.loads(printed)
    assert answer["choices"] == sum(sum(own.values()) for own in layout.counts.values())
    assert answer["understood"] == ChoiceData.from_csv(path, **layout.options).understood.to_dict()
