"""The documentation site: `make docs` builds it from these pages, runs their notebooks, and fails on any warning."""

from __future__ import annotations

import argparse
import logging
import os
import re
import sys
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

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
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
logging.getLogger("traitlets").setLevel(logging.WARNING)
# What notebooks say to Python goes through a port of this machine: encrypted, where that is known; new kernels warn otherwise.
if hasattr(AsyncKernelManager, "transport_encryption"):
    AsyncKernelManager.transport_encryption.default_value = "auto"

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # those of arrays fill half a page; the docstrings say what is accepted
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_ivar = True  # attributes as a list in the docstring of their class
napoleon_use_rtype = False


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


def _command_sections():
    from rumflow.cli.parser import COMMANDS, make_parser

    os.environ["COLUMNS"] = "92"  # as wide as the blocks of the page
    (subparsers,) = (action for action in make_parser()._actions if isinstance(action, argparse._SubParsersAction))
    for command, text in COMMANDS.items():
        yield f"\n## {command}\n\n{text[0].upper()}{text[1:]}{'.' * (not text.endswith('?'))}\n"
        yield f"```text\n{subparsers.choices[command].format_help().strip()}\n```"


def setup(app):
    """What is done to pages on the way."""
    app.connect("autodoc-process-docstring", _plain_docstring, priority=400)  # before napoleon reads the sections
    app.connect("autodoc-skip-member", _skip_fields)
    app.connect("source-read", _link_studies)
    app.connect("source-read", _commands)
    app.connect("doctree-read", _formulas)
