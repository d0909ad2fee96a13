"""Do the tests notice when the code is wrong? Small changes to `core` and `inference`, one at a time.

    python .ci/mutants.py map             once: which test runs which line, with kernels as plain Python (about 20 minutes)
    python .ci/mutants.py run             a random sample of 200 mutants; goes on where it stopped
    python .ci/mutants.py report          how many were killed, and the survivors

After tests were added: `map --part inference --tests inference/test_explain.py inference/conflicts` for what has changed,
then `run --again`. The sample depends on the code: stored line numbers are those of the day. `--seed 1` draws another sample,
into a file of its own.

A mutant is made by an import hook, in a forked process; no file is touched. It meets the tests that run its line, and is *killed*
where one of them fails, where they take many times as long as before, or where they run out of memory. Kernels are plain Python
(NUMBA_DISABLE_JIT=1) for mutants of `core`: compiled, each would take minutes to build. `inference` has hardly a kernel and calls
many, which are left compiled. `strict=` of `zip` is left alone: it asks for lists of one length, which they have wherever the
code is right. Only quick tests take part, so a mutant that only slow ones would notice counts as a survivor.
"""

from __future__ import annotations

import argparse
import ast
import copy
import csv
import importlib.abc
import importlib.util
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
LEFT_OUT = {"rumflow/core/compile.py"}  # how kernels are compiled: not in use here
CACHE = ROOT / ".cache" / "mutants"
RESULTS = ROOT / "studies" / "results"
COLUMNS = ("file", "line", "column", "kind", "before", "after", "result", "tests", "seconds")

CHILD = "RUMFLOW_MUTANTS"  # set in the process of a part, whose kernels run as it asks for

NOT_PLANTED = 9  # exit code where a module was loaded without its change

SLOW = 2  # CPU seconds that a test may take to be on the map
MOST = 10.0  # CPU seconds of tests for one mutant


class Part(NamedTuple):
    """A folder of the package, how its kernels run, and the tests that are about it."""

    folder: str
    plain: bool
    tests: str


PARTS = {
    "core": Part(
        "rumflow/core",
        True,
        "core models data/test_simulate.py data/test_budgets.py solvers/test_graph.py solvers/test_small.py "
        "solvers/test_span.py solvers/active_set/test_factor.py projection laws/test_projection.py "
        "inference/test_likelihood.py laws/test_operators.py",
    ),
    "inference": Part(
        "rumflow/inference",
        False,
        "inference golden projection/test_projector.py",
    ),
}


def part_of(file: str) -> str:
    """The part that a file belongs to."""
    return file.split("/")[1]


class Mutant(NamedTuple):
    """One change: the number of the node in its file, which of its changes, and what to tell about it."""

    file: str
    node: int
    change: int
    line: int
    column: int
    statement: tuple[int, int]
    kind: str
    before: str
    after: str


# What is changed ----------------------------------------------------------------------------------------------------------------

_COMPARE = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitAnd, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift, ast.MatMult: ast.Mult,
}  # fmt: skip


def changes(node: ast.AST) -> list[tuple[str, ast.AST]]:
    """The mutants of one node, each with its kind."""
    found: list[tuple[str, ast.AST]] = []
    if isinstance(node, ast.Compare):
        new = copy.deepcopy(node)
        new.ops[0] = _COMPARE[type(node.ops[0])]()
        found.append(("comparison", new))
    elif isinstance(node, ast.BinOp | ast.AugAssign):
        new = copy.deepcopy(node)
        new.op = _ARITHMETIC[type(node.op)]()
        found.append(("arithmetic", new))
    elif isinstance(node, ast.BoolOp):
        new = copy.deepcopy(node)
        new.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        found.append(("boolean", new))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        found.append(("boolean" if isinstance(node.op, ast.Not) else "arithmetic", copy.deepcopy(node.operand)))
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        new = copy.deepcopy(node)
        new.test = ast.UnaryOp(ast.Not(), new.test)
        found.append(("condition", new))
    elif isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        found.append(("return", ast.Return(ast.Constant(None))))
    elif isinstance(node, ast.Constant):
        value = node.value
        if isinstance(value, bool):
            found.append(("constant", ast.Constant(not value)))
        elif isinstance(value, int):
            found.append(("constant", ast.Constant(value + 1)))
        elif isinstance(value, float):
            found.append(("constant", ast.Constant(2 * value if value else 1.0)))
    return [(kind, ast.copy_location(new, node)) for kind, new in found]


def nodes(tree: ast.Module) -> Iterator[tuple[int, ast.AST, ast.stmt]]:
    """Numbered nodes that may change, with their statements. Annotations, messages and decorators are left alone."""
    count = 0

    def walk(node: ast.AST, statement: ast.stmt | None) -> Iterator[tuple[int, ast.AST, ast.stmt]]:
        nonlocal count
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "type_comment", "bases"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if not isinstance(child, ast.AST) or isinstance(
                    child, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom
                ):
                    continue
                if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                    continue
                if isinstance(child, ast.keyword) and child.arg == "strict":
                    continue
                own = child if isinstance(child, ast.stmt) else statement
                if own is not None and hasattr(child, "lineno"):
                    count += 1
                    yield count, child, own
                yield from walk(child, own)

    yield from walk(tree, None)


def all_mutants() -> list[Mutant]:
    """Every mutant of the folders, in a fixed order."""
    found = []
    for path in sorted(path for part in PARTS.values() for path in (SOURCE / part.folder).rglob("*.py")):
        file = path.relative_to(SOURCE).as_posix()
        if file in LEFT_OUT:
            continue
        for number, node, statement in nodes(ast.parse(path.read_text())):
            for which, (kind, new) in enumerate(changes(node)):
                if isinstance(node, ast.If | ast.While):
                    before, after = ast.unparse(node.test), ast.unparse(new.test)  # type: ignore[attr-defined]
                else:
                    before, after = ast.unparse(node), ast.unparse(new)
                if before == after:
                    continue
                header = isinstance(statement, ast.If | ast.While | ast.For | ast.With)
                end = statement.body[0].lineno - 1 if header else statement.end_lineno  # type: ignore[attr-defined]
                lines = (statement.lineno, max(end or 0, statement.lineno))
                found.append(
                    Mutant(file, number, which, node.lineno, node.col_offset, lines, kind, before, after)  # type: ignore[attr-defined]
                )
    return found


class Hook(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module with its change."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant
        self.name = mutant.file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")

    def find_spec(self, name, path=None, target=None):
        """The module is ours, all others are not."""
        if name != self.name:
            return None
        file = SOURCE / self.mutant.file
        package = [str(file.parent)] if file.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(name, file, loader=self, submodule_search_locations=package)

    def exec_module(self, module):
        """Compile the changed tree."""
        file = SOURCE / self.mutant.file
        tree = ast.parse(file.read_text())
        wanted = next(node for number, node, _ in nodes(tree) if number == self.mutant.node)
        new = changes(wanted)[self.mutant.change][1]

        class Change(ast.NodeTransformer):
            def visit(self, node):
                return new if node is wanted else self.generic_visit(node)

        exec(compile(ast.fix_missing_locations(Change().visit(tree)), str(file), "exec"), module.__dict__)


class Plant:
    """A plugin of pytest that sets up the hook: after pytest's own, which would load files that are named for their doctests."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self):
        """Before anything of the package is imported, by a conftest or a test."""
        sys.meta_path.insert(0, Hook(self.mutant))

    def pytest_configure(self, config):
        """What was loaded without its change would survive every test: that is no result."""
        loaded = sys.modules.get(Hook(self.mutant).name)
        if loaded is not None and not isinstance(loaded.__loader__, Hook):
            os._exit(NOT_PLANTED)


# Which test runs which line -----------------------------------------------------------------------------------------------------


def wait_for(child: int, seconds: float) -> int | None:
    """The status of a process when it ends; None where it had to be killed after so many seconds on the clock."""
    end = time.monotonic() + seconds
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(0.01)


class Mapper:
    """A plugin of pytest: every test in a process of its own, which ends where it takes too long and notes what it runs."""

    def __init__(self, folder: str) -> None:
        self.folder, self.seconds, self.lines = folder, {}, {}

    def pytest_runtest_protocol(self, item, nextitem):
        """In place of pytest's own."""
        from _pytest.runner import runtestprotocol

        CACHE.mkdir(parents=True, exist_ok=True)
        path = CACHE / "one.json"
        path.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            try:
                import coverage

                resource.setrlimit(resource.RLIMIT_CPU, (SLOW, SLOW + 1))
                measured = coverage.Coverage(data_file=None, source=[str(SOURCE / self.folder)])
                begin = time.process_time()
                measured.start()
                reports = runtestprotocol(item, log=False, nextitem=None)
                measured.stop()
                data = measured.get_data()
                ran = {Path(file).relative_to(SOURCE).as_posix(): data.lines(file) for file in data.measured_files()}
                passed = all(report.passed for report in reports)
                path.write_text(json.dumps([passed, time.process_time() - begin, ran]))
            finally:
                os._exit(0)
        wait_for(child, 60.0)
        passed, seconds, ran = json.loads(path.read_text()) if path.exists() else (False, 0.0, {})
        sys.stdout.write("." if passed else "-")
        sys.stdout.flush()
        if passed:
            self.seconds[item.nodeid] = seconds
            for file, lines in ran.items():
                for line in lines:
                    self.lines.setdefault(file, {}).setdefault(line, []).append(item.nodeid)
        return True


def make_map(name: str, only: list[str]) -> None:
    """Run the tests of a part once, under coverage; `only` these files, where the rest of the map is as it was."""
    import rumflow as rf

    if not PARTS[name].plain:  # load what is compiled before the forks
        data = rf.simulate.random_menus(5, 6, 3, seed=0)
        for call in (rf.rum_test, rf.fit_likelihood, rf.rationalizable_share):
            call(data)
        rf.bounds(data, [0, 1], n_boot=19, confidence=0.9, seed=0)
    part = PARTS[name]
    mapper = Mapper(part.folder)
    tests = [f"tests/{test}" for test in only or part.tests.split()]
    doctests = [] if only else [f"src/{part.folder}"]
    path = CACHE / f"{name}.json"
    if only:
        known = json.loads(path.read_text())
        files = {test: test.partition("::")[0] for test in known["seconds"]}
        kept = {test for test, file in files.items() if not _among(file, tests) and (ROOT / file).exists()}
        mapper.seconds = {test: seconds for test, seconds in known["seconds"].items() if test in kept}
        for file, lines in known["lines"].items():
            mapper.lines[file] = {int(line): [test for test in own if test in kept] for line, own in lines.items()}
    pytest.main([*tests, *doctests, "-q", "-s", "-p", "no:cacheprovider", "--tb=no"], plugins=[mapper])
    path.write_text(json.dumps({"seconds": mapper.seconds, "lines": mapper.lines}))
    print(f"{len(mapper.seconds)} tests, {sum(mapper.seconds.values()):.0f} CPU seconds, in {path}")


def _among(file: str, tests: list[str]) -> bool:
    """Whether a file is one of these, or in a folder among them."""
    return any(file == test or file.startswith(f"{test}/") for test in tests)


def covering(mutant: Mutant, known: dict) -> list[str]:
    """The tests that run the statement, quick ones first, up to `MOST` seconds."""
    lines = known["lines"].get(mutant.file, {})
    first, last = mutant.statement
    tests = {test for line in range(first, last + 1) for test in lines.get(str(line), [])}
    if not tests:  # run at import: whatever uses the module
        tests = {test for some in lines.values() for test in some}
    chosen, total = [], 0.0
    for test in sorted(tests, key=lambda test: known["seconds"][test]):
        total += known["seconds"][test]
        if chosen and total > MOST:
            break
        chosen.append(test)
    return chosen


LIMIT = 15  # CPU seconds that any mutant may take, to load and to compile


# The mutants --------------------------------------------------------------------------------------------------------------------


def try_mutant(mutant: Mutant, tests: list[str], seconds: float) -> str:
    """Run tests in a forked process: "killed" or "survived"."""
    child = os.fork()
    if child == 0:
        try:
            limit = int(LIMIT + 2 * seconds)
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
            resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 1)
            os.dup2(silent, 2)
            code = pytest.main([*tests, "-x", "-q", "-p", "no:cacheprovider", "--tb=no"], plugins=[Plant(mutant)])
            os._exit(0 if code == 0 else 1)
        except BaseException:
            os._exit(1)
    # A sleeping process uses no CPU time: the clock ends it.
    status = wait_for(child, 20 * (LIMIT + 2 * seconds))
    if status is not None and os.waitstatus_to_exitcode(status) == NOT_PLANTED:
        raise RuntimeError(f"{mutant.file} was imported before it could be changed")
    return "survived" if status == 0 else "killed"


def run(name: str, count: int, seed: int, minutes: float, again: bool) -> None:
    """Those mutants of a sample that belong to a part, one after the other; `again`: the survivors among them."""
    known = json.loads((CACHE / f"{name}.json").read_text())
    import hypothesis  # noqa: F401  (loaded once, before the forks)
    import numba  # noqa: F401
    import scipy.optimize
    import scipy.sparse  # noqa: F401

    sample, path = random.Random(seed).sample(all_mutants(), count), results_of(seed)
    done = {_key(row) for row in _rows(path) if not (again and row["result"] != "killed")}
    end = time.monotonic() + 60 * minutes
    for mutant in sample:
        about = (mutant.file, mutant.line, mutant.column, mutant.kind, mutant.before, mutant.after)
        if part_of(mutant.file) != name or tuple(map(str, about)) in done:
            continue
        if time.monotonic() > end:
            break
        tests, begin = covering(mutant, known), time.monotonic()
        seconds = sum(known["seconds"][test] for test in tests)
        result = try_mutant(mutant, tests, seconds) if tests else "not covered"
        new = not path.exists()
        with path.open("a", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            if new:
                writer.writerow(COLUMNS)
            writer.writerow([*about, result, len(tests), round(time.monotonic() - begin, 1)])
        print(result, *about[:4], "|", mutant.before[:60], "->", mutant.after[:60], flush=True)


def results_of(seed: int) -> Path:
    """The file of a sample."""
    return RESULTS / (f"mutants_{seed}.csv" if seed else "mutants.csv")


def _rows(path: Path, first: bool = False) -> list[dict[str, str]]:
    """What was last found about each mutant, or what was found first: before tests were added for survivors."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        found = list(csv.DictReader(file))
    return list({_key(row): row for row in (reversed(found) if first else found)}.values())


def _key(row: dict[str, str]) -> tuple[str, ...]:
    return tuple(row[name] for name in COLUMNS[:6])


def report(path: Path) -> None:
    """Say how many were killed."""
    found = _rows(path)
    for row in found:
        if row["result"] != "killed":
            print(
                f"{row['result']}: {row['file']}:{row['line']} {row['kind']}: {row['before'][:70]} -> {row['after'][:70]}"
            )
    for name in (*PARTS, ""):
        own, before = (
            [row["result"] == "killed" for row in rows if part_of(row["file"]).startswith(name)]
            for rows in (found, _rows(path, first=True))
        )
        killed = f"{sum(own)} of {len(own)} mutants killed ({sum(own) / max(len(own), 1):.1%})"
        print(f"{name or 'together'}: {killed}, {sum(before)} ({sum(before) / max(len(own), 1):.1%}) when first tried")


def main() -> None:
    """What the command line names."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("what", choices=["map", "run", "report"])
    options.add_argument("--part", choices=list(PARTS), help="this folder only")
    options.add_argument(
        "--tests", nargs="+", default=[], help="map: these files and folders of tests/ only, after tests were added"
    )
    options.add_argument("--count", type=int, default=200)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--again", action="store_true", help="try survivors once more, after the tests have changed")
    options.add_argument("--minutes", type=float, default=1e9, help="stop after so long; the next run goes on")
    given = options.parse_args()
    os.chdir(ROOT)
    if given.what == "report":
        report(results_of(given.seed))
    elif CHILD not in os.environ:
        for name in PARTS if given.part is None else [given.part]:
            plain = {"NUMBA_DISABLE_JIT": "1"} if PARTS[name].plain else {}
            subprocess.run(
                [sys.executable, *sys.argv, "--part", name],
                env={**os.environ, CHILD: name, "RUMFLOW_THREADS": "1", **plain},
                check=True,
            )
        if given.what == "run":
            report(results_of(given.seed))
    elif given.what == "map":
        make_map(given.part, given.tests)
    else:
        run(given.part, given.count, given.seed, given.minutes, given.again)


if __name__ == "__main__":
    main()
