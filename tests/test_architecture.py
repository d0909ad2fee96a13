"""Folders import downward only, no module imports itself in a circle, models are asked by what they say of themselves, and every
public module has a test file of its name: `core/paths.py` is tested in `tests/core/test_paths.py`. Signatures are short.

Imports inside functions count as well.
"""

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "src" / "rumflow"

LEVELS = (
    "errors renamed text version",
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
    "app",
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
    "data/mappings.py": ("data/test_choices.py", "`ChoiceData.from_counts`"),
    "data/parts.py": ("data/test_choices.py", "`ChoiceData.split` and `without`"),
    "inference/plan.py": ("test_check.py", "which options are accepted"),
    "inference/source.py": ("inference/test_test.py", "the steps of a test that its data decide"),
    "inference/words.py": ("golden/test_summaries.py", "summaries word for word"),
    "jax/primitives.py": ("jax/test_function.py", "primitives are reached through the function"),
    "layers/cells.py": ("torch/test_layer.py", "cells of layers, tried in the layers"),
    "layers/checks.py": ("torch/test_layer.py", "arguments of layers, tried in the layers"),
    "output/budget_plots.py": ("report/test_budgets.py", "pictures of budgets, drawn there from the same data"),
    "output/names.py": ("output/test_plots.py", "labels of pictures; the rest are doctests"),
    "output/plot_style.py": ("output/test_plots.py", "what every picture shares"),
    "projection/pack.py": ("projection/test_save.py", "fits are written and read again"),
    "report/render.py": ("report/test_page.py", "the template of the page"),
    "solvers/active_set/on_lattice.py": (
        "solvers/active_set/test_kernels.py",
        "prices of the lattice against enumeration",
    ),
    "solvers/active_set/state.py": ("solvers/active_set/test_kernels.py", "the arrays that the kernels change"),
    "solvers/batch/result.py": ("projection/test_batch.py", "results of stacks against those of their members"),
    "solvers/graph_faces.py": ("torch/test_graphs.py", "derivatives on graphs"),
    "solvers/graph_fits.py": ("solvers/test_graph.py", "fits of groups of menus, and together"),
    "solvers/interior/lanes.py": ("solvers/interior/test_smoothed.py", "kernels of the smoothed projection"),
    "solvers/interior/smoothed_path.py": ("solvers/interior/test_smoothed.py", "kernels of the smoothed projection"),
    "torch/operators.py": ("torch/test_function.py", "operators are reached through the function"),
    "torch/functional.py": ("torch/test_layer.py", "the function of the layers, compared with them"),
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


def test_only_the_shared_helpers_are_a_package():
    """A package tests/torch would hide torch from whoever runs pytest inside tests/."""
    assert sorted(path.parent for path in TESTS.rglob("__init__.py")) == [TESTS, TESTS / "reference"]


#: Functions that users call keep their arguments; the other folders are held to eight.
PUBLIC = {
    "from_shares", "best_assortment", "bounds", "compare_models", "explain", "rum_test", "rum_test_many", "compare_groups",
    "next_menu", "make_report", "project", "project_many", "project_cells",
}  # fmt: skip
#: Classes that users make, and operators of PyTorch, which take tensors and numbers only.
PUBLIC_FILES = {"torch/layer.py", "torch/function.py", "torch/operators.py"}
KERNELS = {"kernel", "leaf", "inlined", "fused", "reduction"}
HELD = (
    "check.py", "core", "output", "data", "models", "solvers", "projection", "inference", "layers", "torch", "jax", "sklearn",
    "report", "cli",
)  # fmt: skip


def test_functions_take_at_most_eight_arguments():
    wrong = []
    for path in (path for name in HELD for path in (PACKAGE / name, *(PACKAGE / name).rglob("*.py")) if path.suffix):
        if path.relative_to(PACKAGE).as_posix() in PUBLIC_FILES:
            continue
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


#: What users call; commands, pages and the estimator do as well, the rest of the package works with projectors.
ENTRY = {
    "project", "project_many", "estimate_cost", "rum_test", "rum_test_many", "compare_groups", "compare_models", "explain",
    "bounds", "diversion", "next_menu", "best_assortment", "fit_likelihood", "rationalizable_share",
}  # fmt: skip
USERS = {"app", "cli", "report", "sklearn"}


def called_entries(text, module):
    """Lines that call a public entry function, in a module that imports it or defines it."""
    tree = ast.parse(text)
    known = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rumflow") and "torch" not in node.module
        for alias in node.names
        if alias.name in ENTRY
    }
    known |= {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in ENTRY}
    return [
        f"{module}:{node.lineno} calls {node.func.id}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in known
    ]


def test_the_package_does_not_call_its_public_functions():
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        module = path.relative_to(PACKAGE)
        if module.parts[0] not in USERS | {"torch", "jax"}:
            wrong += called_entries(path.read_text(encoding="utf-8"), module)
    assert not wrong, "\n".join(wrong)


def test_a_call_of_a_public_function_is_noticed():
    assert called_entries("from rumflow.projection.single import project\nproject(1)", "x") == ["x:2 calls project"]
    assert called_entries("def bounds(): ...\nbounds()", "x") == ["x:2 calls bounds"]
    assert called_entries("def f(project):\n    project(1)", "x") == []


def test_every_text_file_is_opened_as_utf_8_and_signals_of_unix_are_marked():
    """Windows would take another encoding, and has neither named pipes nor SIGKILL."""
    wrong = []
    for path in [*TESTS.rglob("*.py"), *PACKAGE.rglob("*.py"), *(TESTS.parent / "studies").rglob("*.py")]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("read_text", "write_text"):
                positional = 1 if node.func.attr == "write_text" else 0
                if len(node.args) <= positional and "encoding" not in {keyword.arg for keyword in node.keywords}:
                    wrong.append(f"{path}:{node.lineno}: {node.func.attr} without an encoding")
        for test in tree.body if path.name.startswith("test_") else ():
            names = {getattr(node, "attr", "") for node in ast.walk(test)}
            marked = isinstance(test, ast.FunctionDef) and {"not_on_windows", "without_signals"} & {
                getattr(mark, "id", "") for mark in test.decorator_list
            }
            if names & {"mkfifo", "SIGKILL", "SIGHUP", "symlink_to", "flock", "send_signal"} and not marked:
                wrong.append(f"{path}:{test.lineno}: not for Windows, and not marked so")
    assert not wrong, "\n".join(wrong)
