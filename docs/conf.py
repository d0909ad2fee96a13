"""The documentation site: `make docs` builds it from these pages, runs their notebooks, and fails on any warning."""

from __future__ import annotations

import argparse
import logging
import os
import re
import sys
import zlib
from pathlib import Path

import latex2mathml.converter
from docutils import nodes
from jupyter_client.manager import AsyncKernelManager

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

from rumflow.version import __version__

project = "rumflow"
author = "The rumflow developers"
copyright = author
release = version = __version__
html_title = "rumflow"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.intersphinx", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["_build", "paper/*"]
default_role = "literal"

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_timeout = 180
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_output_stderr = "remove"  # on a machine where nothing has run before, kernels say that they are compiled
logging.getLogger("traitlets").setLevel(logging.WARNING)
# What notebooks say to Python goes through a port of this machine: encrypted, where that is known; new kernels warn otherwise.
if hasattr(AsyncKernelManager, "transport_encryption"):
    AsyncKernelManager.transport_encryption.default_value = "auto"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
autodoc_type_aliases = {name: name for name in ("Array", "Ints", "DataLike")}
python_maximum_signature_line_length = 88  # longer ones have a line for each parameter
napoleon_google_docstring = False
napoleon_use_ivar = True  # attributes as a list in the docstring of their class
napoleon_use_rtype = False

# Buttons copy what is typed, without prompts and answers.
copybutton_selector = "div:not(.output):not(.highlight-text) > div.highlight > pre"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

linkcheck_timeout = 20
linkcheck_anchors_ignore_for_url = [r"https://github\.com/"]  # theirs are made by a script

#: Types of other packages that signatures name, and where they are described. The lists of all their names that these sites offer
#: would have to be fetched for each build; with this one the site is the same with and without a network.
ELSEWHERE = {
    "python": (
        "https://docs.python.org/3",
        {
            "collections.abc.Callable": "library/collections.abc.html",
            "collections.abc.Hashable": "library/collections.abc.html",
            "collections.abc.Iterable": "library/collections.abc.html",
            "collections.abc.Mapping": "library/collections.abc.html",
            "collections.abc.Sequence": "library/collections.abc.html",
            "os.PathLike": "library/os.html",
            "pathlib.Path": "library/pathlib.html",
            "typing.Any": "library/typing.html",
            **dict.fromkeys(("bool", "float", "int"), "library/functions.html"),
            **dict.fromkeys(("dict", "list", "str", "tuple"), "library/stdtypes.html"),
        },
    ),
    "numpy": (
        "https://numpy.org/doc/stable",
        {
            "numpy.ndarray": "reference/generated/numpy.ndarray.html",
            "numpy.random.Generator": "reference/random/generator.html",
            "numpy.random.SeedSequence": "reference/random/bit_generators/generated/numpy.random.SeedSequence.html",
            "numpy.typing.ArrayLike": "reference/typing.html",
            "numpy.typing.NDArray": "reference/typing.html",
        },
    ),
    "torch": (
        "https://docs.pytorch.org/docs/stable",
        {
            "torch.Tensor": "tensors.html",
            "torch.nn.Module": "generated/torch.nn.Module.html",
        },
    ),
}


def _inventory(package, names):
    """A file of names and addresses in the form that intersphinx reads."""
    file = Path(__file__).parent / "_build" / "elsewhere" / f"{package}.inv"
    file.parent.mkdir(parents=True, exist_ok=True)
    head = f"# Sphinx inventory version 2\n# Project: {package}\n# Version: \n# The rest is compressed by zlib.\n"
    lines = "".join(f"{name} py:class 1 {page}#$ -\n" for name, page in names.items())
    file.write_bytes(head.encode() + zlib.compress(lines.encode()))
    return str(file)


intersphinx_mapping = {package: (site, _inventory(package, names)) for package, (site, names) in ELSEWHERE.items()}


def _plain_docstring(app, what, name, obj, options, lines):
    """Docstrings are numpydoc, without further markup: `|` and `*` are themselves, except in examples and literal blocks.

    Types of parameters are literal: as links, words such as "menus" would lead to whatever else has that name.
    """
    if what == "property" and re.match(r"\([^)]*\): \w", lines[0]):  # a shape, which napoleon shows as the type
        shape, text = lines[0].split(": ", 1)
        lines[0] = f"{shape}: {text[0].upper()}{text[1:]}"
    literal, indent = False, 0
    for i, line in enumerate(lines):
        if literal and line.strip() and not line.startswith(" " * indent):
            literal = False
        if not literal and not line.lstrip().startswith((">>>", "...")):
            lines[i] = re.sub(r"^(\w[\w, ]*) : (\S.*)$", r"\1 : ``\2``", line.replace("|", r"\|").replace("*", r"\*"))
        if line.rstrip().endswith("::"):
            literal, indent = True, len(line) - len(line.lstrip()) + 1


def _short_types(app, what, name, obj, options, signature, returned):
    """Names of arrays in place of what they stand for."""

    def short(text):
        text = re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text or "")
        array = r"~?numpy\.ndarray\[~?tuple\[~?typing\.Any, \.\.\.\], ~?numpy\.dtype\[~?([\w.]+)\]\]"
        return re.sub(array, r"~numpy.typing.NDArray[~\1]", text) or None

    return short(signature), short(returned)


def _skip_fields(app, what, name, obj, skip, options):
    """Fields of named tuples are listed in the docstring of their class, not one by one."""
    return True if (getattr(obj, "__doc__", None) or "").startswith("Alias for field number") else None


def _formulas(app, doctree):
    """Formulas as MathML, which browsers draw themselves: no script from elsewhere, so the site works offline."""
    for kind, display in ((nodes.math, "inline"), (nodes.math_block, "block")):
        for node in list(doctree.findall(kind)):
            node.replace_self(
                nodes.raw("", latex2mathml.converter.convert(node.astext(), display=display), format="html")
            )


def _link_studies(app, name, source):
    """Pages of the studies are no pages of the site: links to them lead to the files, as downloads."""
    source[0] = re.sub(r"\]\((\.\./studies/[^)]+\.md)\)", r"](path:\1)", source[0])


def _commands(app, name, source):
    """The page of the command line, from the parser itself."""
    if name == "commands":
        source[0] += "\n".join(_command_sections())


def _downloads(app, name, source):
    """A link on each notebook to what was run, with its results, as a file for Jupyter."""
    if name.startswith("notebooks/"):
        file = f"{name.removeprefix('notebooks/')}.ipynb"
        link = f"{{nb-download}}`{file}`: this page as a Jupyter notebook."
        source[0] = re.sub(r"(?m)^(# .*)$", rf"\1\n\n{link}", source[0], count=1)


def _command_sections():
    from rumflow.cli.parser import COMMANDS, make_parser

    os.environ["COLUMNS"] = "92"  # as wide as the blocks of the page
    yield "\n" + " | ".join(f"[{command}](#{command})" for command in COMMANDS)
    (subparsers,) = (action for action in make_parser()._actions if isinstance(action, argparse._SubParsersAction))
    for command, text in COMMANDS.items():
        yield f"\n## {command}\n\n{text[0].upper()}{text[1:]}{'.' * (not text.endswith('?'))}\n"
        yield f"```text\n{subparsers.choices[command].format_help().strip()}\n```"


def setup(app):
    """What is done to pages on the way."""
    app.connect("autodoc-process-docstring", _plain_docstring, priority=400)  # before napoleon reads the sections
    app.connect("autodoc-process-signature", _short_types)
    app.connect("autodoc-skip-member", _skip_fields)
    app.connect("source-read", _link_studies)
    app.connect("source-read", _commands)
    app.connect("source-read", _downloads)
    app.connect("doctree-read", _formulas)
