"""Folders import downward only, no module imports itself in a circle (imports inside functions count), signatures are short."""

import ast
from graphlib import TopologicalSorter

from benchmarks.stale import SOURCE, imports

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


#: Functions that users call keep their arguments; the other folders are held to eight.
PUBLIC = {
    "from_shares", "best_assortment", "bounds", "compare_models", "explain", "rum_test", "rum_test_many", "compare_groups",
    "next_menu", "make_report",
}  # fmt: skip
KERNELS = {"kernel", "leaf", "inlined", "fused", "reduction"}
HELD = ("check.py", "core", "output", "data", "models", "inference", "layers", "jax", "sklearn", "report", "cli")


def test_functions_take_at_most_eight_arguments():
    wrong = []
    for path in (path for name in HELD for path in (SOURCE / name, *(SOURCE / name).rglob("*.py")) if path.suffix):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef) or node.name in PUBLIC:
                continue
            marks = {
                getattr(mark.func if isinstance(mark, ast.Call) else mark, "id", "") for mark in node.decorator_list
            }
            own = node.args
            count = len(own.posonlyargs) + len(own.args) + len(own.kwonlyargs) + bool(own.vararg) + bool(own.kwarg)
            count -= [one.arg for one in own.args[:1]] in (["self"], ["cls"])
            if count > 8 and not marks & KERNELS:
                wrong.append(f"{path}: {node.name} takes {count}")
    assert not wrong, "\n".join(wrong)
