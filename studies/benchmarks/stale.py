"""Which stored results are older than the code they describe: `python -m studies.benchmarks.stale` (`make bench-stale`).

Every row of studies/results says at which commit it was measured. It is *older* than the code where a module that it describes,
or one that this module imports, has changed since then. Comments, docstrings, texts for people and layout do not count. Some
studies take days of a processor; of these, rows drawn at random are computed again (`python -m studies.experiments.again`). They
*differ* where such a row came out otherwise with the code of today, and are older where none was tried with it.

What is looked at is the package: a change to the script of a study, or one that was not committed when it was measured (a + after
the commit), is not noticed.

Not part of the tests: a change to a solver is no reason to measure for hours before it is kept. Look before a release.
"""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TypeGuard

from studies.benchmarks.record import RESULTS, ROOT
from studies.experiments.files import Row, markdown_table, read_csv

SOURCE = ROOT / "src" / "rumflow"

#: What no result depends on: pictures and tables, the reading of files, what is said beside a p-value.
NOT_MEASURED = ("output.", "data.readers.", "inference.notes")

#: By file of results: the modules that it describes. None: a record of one day, which describes no code of today.
DESCRIBES: dict[str, tuple[str, ...] | None] = {
    "again": None,
    "attributes": ("inference.test", "models.linear_utility", "models.utility_family"),
    "assortments": ("torch.layer", "torch.head", "torch.warm"),
    "bootstrap": ("inference.test", "data.simulate"),
    "bounded": ("projection.single", "data.simulate"),
    "budgets": ("inference.test", "data.budgets"),
    "budgets_endogenous": ("inference.test", "data.budgets"),
    "budgets_random": ("projection.single", "data.budgets"),
    "budgets_share": ("inference.share", "data.budgets"),
    "choices": ("torch.layer", "torch.head", "torch.likelihood"),
    "cluster": ("inference.test", "inference.groups", "data.simulate"),
    "compare": ("projection.single", "data.simulate"),
    "coverage": ("inference.bounds", "inference.restricted"),
    "coverage_shares": ("inference.restricted",),
    "exp1": ("solvers.interior.cg",),
    "exp2": ("solvers.interior.cg",),
    "exp3": ("torch.layer", "torch.head"),
    "explain": ("inference.explain",),
    "explain_hotel": ("inference.explain",),
    "before": ("core.compile", "projection.single", "inference.test"),
    "first_use": ("core.compile",),
    "fuzz": None,
    "graphs": ("projection.single", "data.simulate"),
    "homogeneity": ("inference.homogeneity",),
    "sweeps": ("core.graph", "models.open_menus", "data.simulate"),
    "transitive": ("inference.test", "inference.weak_order"),
    "hotel": ("projection.single", "inference.test", "inference.likelihood"),
    "hotel_1_bounds": ("inference.bounds",),
    "hotel_5_decisions": ("inference.diversion", "inference.next_menu", "inference.assortment"),
    "intervals": ("inference.bounds", "inference.restricted"),
    "large": ("projection.single", "data.simulate"),
    "layers": ("torch.layer", "jax.function"),
    "layers_softmax": ("torch.layer", "torch.head"),
    "layouts": None,
    "limits": (
        "inference.test",
        "inference.explain",
        "inference.assortment",
        "inference.diversion",
        "inference.compare",
    ),
    "flows": ("torch.layer", "torch.flow", "torch.head"),
    "calls": ("torch.layer",),
    "equal": ("torch.layer",),
    "state": ("torch.layer",),
    "training": ("torch.layer", "torch.likelihood", "torch.head", "torch.flow", "torch.mixture"),
    "nearly": ("torch.layer", "layers.hand_over"),
    "memory": ("inference.test", "inference.likelihood", "data.simulate"),
    "methods": ("projection.single", "data.simulate"),
    "mutants": None,
    "mutants_2": None,
    "mutants_3": None,
    "mutants_4": None,
    "pairs": ("solvers.inequalities.geometry", "solvers.bounded.geometry"),
    "reading": None,
    "triples": ("projection.single",),
    "oracle": ("projection.single", "projection.batch", "inference.test", "inference.explain", "inference.likelihood"),
    "oracles": ("inference.test",),
    "power": ("inference.test",),
    "robust_agree": None,
    "robust_cover": ("inference.assortment", "inference.plausible"),
    "robust_large": ("inference.assortment",),
    "robust_level": None,
    "robust_level_speed": ("inference.assortment", "inference.plausible"),
    "robust_speed": ("inference.assortment",),
    "scaling": ("projection.single", "projection.batch", "data.budgets", "data.simulate"),
    "size": ("inference.test", "inference.likelihood"),
    "uniform": ("inference.test",),
    "uniform_again": ("inference.test",),
    "validation": ("inference.test",),
}


def imports(source: Path = SOURCE) -> dict[str, set[str]]:
    """The modules that each module imports, also inside functions, as dotted names below `rumflow`."""
    files = {".".join(path.relative_to(source).with_suffix("").parts): path for path in source.rglob("*.py")}
    found: dict[str, set[str]] = {name.removesuffix(".__init__"): set() for name in files}
    for name, path in files.items():
        own = name.removesuffix(".__init__")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            below = {name.removeprefix("rumflow.") for name in names if name.startswith("rumflow.")}
            found[own] |= (below & found.keys()) - {own}
    return found


def reach(modules: Iterable[str]) -> set[str]:
    """The modules and all that they import, directly or not, but for those that no result depends on."""
    graph, found, waiting = imports(), set[str](), list(modules)
    while waiting:
        name = waiting.pop()
        if name not in found and not name.startswith(NOT_MEASURED):
            found.add(name)
            waiting += graph[name]
    return found


def same_code(old: str, new: str) -> bool:
    """Whether two sources differ in comments, docstrings, texts of more than one word and layout at most."""
    return _bare(old) == _bare(new)


def _bare(source: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        elif isinstance(node, ast.JoinedStr) and any(_is_sentence(part) for part in node.values):
            node.values = []
        elif _is_sentence(node):
            node.value = " "
    return ast.dump(tree)


def _is_sentence(node: ast.AST) -> TypeGuard[ast.Constant]:
    """A text for people, or a part of one: words that steer the code have no blanks."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value


@cache
def changed(commit: str) -> frozenset[str] | None:
    """Modules whose code is another than at this commit; None where the commit is not known here."""
    place = SOURCE.relative_to(ROOT).as_posix()
    listed = _git("diff", "--name-status", "--find-renames", commit.rstrip("+"), "--", place)
    if listed is None:
        return None
    found = set()
    for line in listed.splitlines():
        before, after = line.split("\t")[1], line.split("\t")[-1]  # of a file that was moved since: both names
        path = ROOT / after
        if path.suffix == ".py" and path.exists():
            old = _git("show", f"{commit.rstrip('+')}:{before}")
            if old is None or not same_code(old, path.read_text(encoding="utf-8")):
                module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
                found.add(module.removesuffix(".__init__"))
    return frozenset(found)


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def measured(name: str) -> list[Row]:
    """The rows of a file of results, or where they have no commit, those of them that were computed again.

    Rows of other tools describe other code.
    """
    rows = [row for row in read_csv(RESULTS / f"{name}.csv") if str(row.get("tool", "rumflow")).startswith("rumflow")]
    if rows and "commit" in rows[0]:
        return rows
    tried = RESULTS / "again.csv"
    return [row for row in read_csv(tried) if row["file"] == name] if tried.exists() else []


def judge(name: str) -> tuple[str, str]:
    """Whether a file of results is up to date, and why not."""
    modules = DESCRIBES[name]
    if modules is None:
        return "record", ""
    rows = measured(name)
    if not rows:
        return "unknown", "no row has a commit, and none was computed again"
    used = reach(modules)
    since = {commit: changed(commit) for commit in sorted({str(row["commit"]) for row in rows})}
    again = "apart" in rows[0]
    if again:  # one run with the code of today is enough
        since = {commit: found for commit, found in since.items() if found is not None and not found & used} or since
    unknown = [commit for commit, found in since.items() if found is None]
    if unknown:
        return "unknown", f"no commit {' '.join(unknown)} here"
    older = {module for found in since.values() for module in (found or set()) & used}
    if older:
        return "older", " ".join(sorted(older))
    differ = [str(row["row"]) for row in rows if again and str(row["commit"]) in since and row["apart"] > 0]
    return ("differs", "; ".join(differ)) if differ else ("current", "")


def main() -> None:
    """A table of all files; an error where one is not current."""
    judged = {name: judge(name) for name in DESCRIBES if (RESULTS / f"{name}.csv").exists()}
    print(markdown_table(("results", "state", "changed since"), ((name, *state) for name, state in judged.items())))
    wrong = [f"{name} ({state})" for name, (state, _) in judged.items() if state not in ("current", "record")]
    if wrong:
        raise SystemExit(f"not current: {', '.join(wrong)}; studies/README.md has the commands")


if __name__ == "__main__":
    main()
