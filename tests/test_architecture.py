"""Folders import downward only, and no module imports itself in a circle; imports inside functions count as well."""

from graphlib import TopologicalSorter

from benchmarks.stale import imports

LEVELS = (
    "errors version",
    "check",
    "core",
    "output",
    "data",
    "models",
    "solvers",
    "projection",
    "inference",
    "layers",
    "torch jax sklearn",
    "report",
)
LEVELS += ("cli", "__init__ __main__")
LEVEL = {folder: level for level, folders in enumerate(LEVELS) for folder in folders.split()}


def test_folders_import_downward_only():
    wrong = [
        f"{name} imports {other}"
        for name, others in imports().items()
        for other in others
        if LEVEL[other.split(".")[0]] > LEVEL[name.split(".")[0]]
    ]
    assert not wrong, "\n".join(wrong)


def test_no_module_imports_itself_in_a_circle():
    TopologicalSorter(imports()).prepare()
