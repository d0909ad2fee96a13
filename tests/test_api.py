"""The public names; everything public has an example that runs."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

import rumflow as rf

ROOT = Path(__file__).parents[1]


def public_names(module):
    """(name, object) of all that a module exports; a module among them stands for its own functions and classes."""
    for name in module.__all__:
        thing = getattr(module, name)
        if not inspect.ismodule(thing):
            yield name, thing
            continue
        for inner, value in vars(thing).items():
            if not inner.startswith("_") and getattr(value, "__module__", "") == thing.__name__:
                yield f"{name}.{inner}", value


def has_example(thing):
    """Is there one in its docstring, or (a class) in that of its methods?"""
    if ">>>" in (inspect.getdoc(thing) or ""):
        return True
    return inspect.isclass(thing) and any(
        ">>>" in (inspect.getdoc(part) or "") for name, part in vars(thing).items() if not name.startswith("_")
    )


@pytest.mark.parametrize("module", ["rumflow", "rumflow.torch", "rumflow.jax"])
def test_everything_has_an_example(module):
    pytest.importorskip("torch" if module == "rumflow.torch" else "numpy")
    found = dict(public_names(importlib.import_module(module)))
    for text in ("__version__", "TIE"):
        found.pop(text, None)
    assert len(found) > 1
    assert [name for name, thing in found.items() if not has_example(thing)] == []


def test_everything_in_the_reference_has_an_example():
    """Also what is not exported: classes of results, and the functions of modules that are listed as a whole."""
    pytest.importorskip("matplotlib")
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    bare = []
    for kind, name in re.findall(r"auto(class|function|module):: (rumflow\.[\w.]+)$", text, re.MULTILINE):
        if name in ("rumflow.torch", "rumflow.jax", "rumflow.errors") or ".sklearn." in name:
            continue  # the first two are tried above, errors are raised and not called, the estimator is an extra
        home, _, last = name.rpartition(".")
        thing = importlib.import_module(name) if kind == "module" else getattr(importlib.import_module(home), last)
        things = {last: thing} if kind != "module" else {k: v for k, v in vars(thing).items() if not k.startswith("_")}
        for inner, value in things.items():
            own = kind != "module" or getattr(value, "__module__", "") == name
            if own and callable(value) and not has_example(value):
                bare.append(f"{home}.{inner}")
    assert bare == []


def test_reference_lists_everything():
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    whole = re.findall(r"automodule:: ([\w.]+)", text)
    for name in rf.__all__:
        thing = getattr(rf, name)
        if name == "__version__" or (inspect.ismodule(thing) and thing.__name__ in whole):
            continue
        listed = re.search(rf"auto(?:class|function|data):: {name}$", text, re.MULTILINE)
        assert listed or getattr(thing, "__module__", "") in whole, name


def test_a_missing_example_is_noticed():
    def bare():
        """No example."""

    assert not has_example(bare)


def test_the_public_names():
    assert dir(rf) == sorted(rf.__all__)  # no helpers
    for name in ("project", "project_many", "ChoiceData", "Lattice", "block_marschak", "is_rum", "simulate"):
        assert name in rf.__all__


def test_convention_is_public():
    assert rf.Convention(set="cone").set == "cone"
    assert "Convention" in dir(rf)
    with pytest.raises(AttributeError, match="nothing"):
        _ = rf.nothing
