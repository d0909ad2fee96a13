"""Folders import downward only, no module imports itself in a circle, models are asked by what they say of themselves, and every
public module has a test file of its name: `core/paths.py` is tested in `tests/core/test_paths.py`.

Imports inside functions count as well.
"""

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "src" / "rumflow"

LEVELS = (
    "errors version",
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


@cache
def imports():
    """The modules that each module imports, as dotted names below `rumflow`."""
    files = {".".join(path.relative_to(PACKAGE).with_suffix("").parts): path for path in PACKAGE.rglob("*.py")}
    found = {name.removesuffix(".__init__"): set() for name in files}
    for name, path in files.items():
        named = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                named |= {f"{node.module}", *(f"{node.module}.{alias.name}" for alias in node.names)}
            elif isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
        module = name.removesuffix(".__init__")
        found[module] = {other for other in found if f"rumflow.{other}" in named and other != module}
    return found


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


def model_classes():
    """The classes of `models/`, by name, with the module that each is imported from."""
    return {
        node.name: f"rumflow.models.{path.stem}"
        for path in (PACKAGE / "models").glob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and (node.name == "Model" or "Model" in map(ast.unparse, node.bases))
    }


def asked_for_classes(text, models):
    """Lines that ask whether something is of a model's class, in a module that has the class from `models/`."""
    tree = ast.parse(text)
    names = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if models.get(alias.name) == node.module or (node.module == "rumflow" and alias.name in models)
    }
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("isinstance", "issubclass")
        and any(
            (isinstance(part, ast.Name) and part.id in names)
            or (isinstance(part, ast.Attribute) and part.attr in models)
            for part in ast.walk(node.args[1])
        )
    ]


def test_models_are_not_asked_for_their_class():
    models = model_classes()
    assert {"Model", "RandomUtility", "SinglePeaked", "Types", "ChoiceGraph", "Budgets"} <= set(models)
    wrong = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.parent.name != "models"
        for line in asked_for_classes(path.read_text(encoding="utf-8"), models)
    ]
    assert not wrong, "ask the model by an attribute of rumflow.models.model.Model:\n" + "\n".join(wrong)


def test_a_question_for_the_class_is_noticed():
    models = model_classes()
    given = "from rumflow.models.types import Types\nfrom rumflow.models.budgets import Budgets as B\n"
    assert asked_for_classes(given + "isinstance(model, Types)", models) == [3]
    assert asked_for_classes(given + "x = 1 if isinstance(model, int | B) else 2", models) == [3]
    assert asked_for_classes("import rumflow as rf\nisinstance(model, (int, rf.SinglePeaked))", models) == [2]
    assert asked_for_classes("class Types: ...\nisinstance(start, Types)", models) == []


#: Modules that are tested in the file of another one, and why.
ELSEWHERE = {
    "data/readers/roles.py": ("data/readers/test_columns.py", "which column has which role is decided there"),
    "jax/primitives.py": ("jax/test_function.py", "primitives are reached through the function"),
    "layers/cells.py": ("torch/test_layer.py", "cells of layers, tried in the layers"),
    "layers/checks.py": ("torch/test_layer.py", "arguments of layers, tried in the layers"),
    "output/archive.py": ("projection/test_save.py", "files of fits, whole and damaged"),
    "output/budget_plots.py": ("report/test_budgets.py", "pictures of budgets, drawn there from the same data"),
    "output/names.py": ("output/test_plots.py", "labels of pictures; the rest are doctests"),
    "output/plot_style.py": ("output/test_plots.py", "what every picture shares"),
    "report/render.py": ("report/test_page.py", "the template of the page"),
    "solvers/active_set/on_lattice.py": (
        "solvers/active_set/test_kernels.py",
        "prices of the lattice against enumeration",
    ),
    "solvers/active_set/state.py": ("solvers/active_set/test_kernels.py", "the arrays that the kernels change"),
    "solvers/batch/result.py": ("projection/test_batch.py", "results of stacks against those of their members"),
    "solvers/interior/lanes.py": ("solvers/interior/test_smoothed.py", "kernels of the smoothed projection"),
    "solvers/interior/smoothed_path.py": ("solvers/interior/test_smoothed.py", "kernels of the smoothed projection"),
    "solvers/resources.py": ("solvers/test_graph.py", "threads, deadlines and reports, tried in the solvers"),
}


def test_every_public_module_has_a_test_file_of_its_name():
    """In the folder of its name; the modules of a solver package may share one file, `tests/solvers/test_small.py`."""
    missing = []
    for path in sorted(PACKAGE.rglob("*.py")):
        module = path.relative_to(PACKAGE)
        if path.name.startswith("_") or module.as_posix() == "version.py" or module.as_posix() in ELSEWHERE:
            continue
        own, package = (
            TESTS / module.with_name(f"test_{path.name}"),
            TESTS / (module.parent.parent / f"test_{module.parent.name}.py"),
        )
        if not own.exists() and not (module.parts[0] == "solvers" and len(module.parts) == 3 and package.exists()):
            missing.append(f"{module}: no {own.relative_to(TESTS.parent)}")
    assert not missing, "\n".join(missing)


def test_modules_that_are_tested_elsewhere_are_there_and_have_no_file_of_their_own():
    for module, (file, _) in ELSEWHERE.items():
        assert (PACKAGE / module).exists(), module
        assert (TESTS / file).exists(), file
        assert not (TESTS / module).with_name(f"test_{Path(module).name}").exists(), module
