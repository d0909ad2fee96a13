"""Folders import downward only, and no module imports itself in a circle; imports inside functions count as well."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1] / "src" / "rumflow"
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


def imports() -> dict[str, set[str]]:
    """The modules each module imports, as dotted names below `rumflow`."""
    files = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in ROOT.rglob("*.py")}
    found: dict[str, set[str]] = {name.removesuffix(".__init__"): set() for name in files}
    for name, path in files.items():
        for node in ast.walk(ast.parse(path.read_text())):
            names = (
                [node.module, *(f"{node.module}.{a.name}" for a in node.names)]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            own = {str(n).removeprefix("rumflow.") for n in names if str(n).startswith("rumflow.")}
            found[name.removesuffix(".__init__")] |= (own & found.keys()) - {name.removesuffix(".__init__")}
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
