"""README, CONTRIBUTING and docs: examples run, links lead somewhere, versions agree, and what is named in the code is there."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

import rumflow as rf
from rumflow.cli.main import main
from rumflow.cli.parser import COMMANDS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(
        path
        for name in ("docs", "studies")
        for path in sorted((ROOT / name).rglob("*.md"))
        if "_build" not in path.parts
    ),
]
LINKED = [*PAGES, ROOT / "CHANGELOG.md", ROOT / "examples" / "README.md", *sorted((ROOT / ".github").rglob("*.md"))]
PACKAGE = ROOT / "src" / "rumflow"


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL))
def test_examples_run(block, capsys):
    if "torch" in block:
        pytest.importorskip("torch")
    exec(compile(block, "README.md", "exec"), {})


def test_extras_exist():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = set(re.findall(r"\.\[(\w+)\]", TEXT))
    assert named
    assert named <= set(extras)


def test_versions_agree():
    assert f"\nversion: {rf.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    newest = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1]
    assert newest.startswith(f"{rf.__version__} ")


def headings(page):
    """The anchors of a page, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", LINKED, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        if target.startswith("https://"):
            continue  # another site
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), target
        assert not anchor or anchor in headings(file), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_exist(page):
    text = page.read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for name in re.findall(r"(?:^|`)make ([\w-]+)", text, re.MULTILINE):
        assert f"\n{name}:" in makefile
    for name in re.findall(r"`rumflow ([a-z]+)", text):
        assert name in COMMANDS
    for name in re.findall(r"(?:studies|tests)/[\w/]+\.py", text):
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_options_exist(page, capsys):
    """Those of commands within sentences, too, which are not run."""
    for command, words in re.findall(
        r"(?:^|`)rumflow ([a-z]+)\b([^`\n]*)", page.read_text(encoding="utf-8"), re.MULTILINE
    ):
        if command in COMMANDS:
            assert main([command, "--help"]) == 0
            known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
            assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", words)) <= known, command


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_files_and_functions_exist(page):
    text = page.read_text(encoding="utf-8")
    folders = "|".join(path.name for path in PACKAGE.iterdir() if path.is_dir())
    for file, names in re.findall(rf"`((?:{folders})/[a-z_/]+\.py)(?:: ([\w., ]+))?`", text):
        assert (PACKAGE / file).exists(), file
        defined = {
            getattr(node, "name", getattr(node, "id", ""))
            for node in ast.walk(ast.parse((PACKAGE / file).read_text(encoding="utf-8")))
        }
        for name in filter(None, names.split(", ")):
            assert set(name.split(".")) <= defined, f"{file}: {name}"
    for module in re.findall(r"`rumflow\.([a-z_.]+?)(?:\.[A-Z]\w*)?`", text):
        path = PACKAGE / module.replace(".", "/")
        assert path.exists() or path.with_suffix(".py").exists(), module
    if page.name == "architecture.md":
        rows = re.findall(r"^\| (`[\w/.`, ]+`) \| [^|]+ \| ([^|]*) \|$", text, re.MULTILINE)
        assert len(rows) > 8
        for folder, files in rows:
            for name in re.findall(r"`([\w/]+)`", files):
                inside = any((PACKAGE / f / f"{name}.py").exists() for f in re.findall(r"`(\w+)/`", folder))
                assert inside or (PACKAGE / f"{name}.py").exists(), (folder, name)


def test_citation_and_changelog_agree():
    root = Path(__file__).parents[2]
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {rf.__version__}\n" in citation
    heading = re.search(
        rf"^## {re.escape(rf.__version__)} \((.*)\)$", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    released = re.search(r"^date-released: (.*)$", citation, re.MULTILINE)
    assert (heading.group(1) == "unreleased") == (released is None)
    assert released is None or released.group(1) == heading.group(1)
