"""Sphinx: the guide in Markdown, the reference from docstrings. `make docs` builds it; warnings are errors."""

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive

import dpfast
from dpfast import cli

sys.path.append(str(Path(__file__).parent))  # for formulas

project = "dpfast"
author = "the dpfast developers"
release = version = dpfast.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "formulas"]
html_math_renderer = "mathml"
html_show_copyright = False
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "dpfast"
html_static_path = ["_static"]
html_css_files = ["guide.css"]
# Types stand in the numpydoc sections; signatures stay short.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
# It numbers the references of each docstring anew.
numpydoc_show_class_members = False
default_role = "py:obj"  # a link where it leads somewhere, else code
exclude_patterns = ["_build"]
nitpicky = False


class Verbs(Directive):
    """The help of every verb of the command, as it prints it."""

    def run(self) -> list[nodes.Node]:
        os.environ["COLUMNS"] = "110"
        _, verbs = cli._parser()
        return [self._section(verb) for verb in verbs.values()]

    def _section(self, verb: argparse.ArgumentParser) -> nodes.Node:
        section = nodes.section(ids=[verb.prog.replace(" ", "-")])
        section += nodes.title(text=verb.prog)
        text = verb.format_help()
        section += nodes.literal_block(text, text, language="text")
        for action in verb._actions:
            if isinstance(action, argparse._SubParsersAction):
                section += [self._section(inner) for inner in action.choices.values()]
        return section


def strip_code(app: Any, document: nodes.document) -> None:
    """Take away the blank line that ends a doctest: readers need none."""
    for block in document.findall(nodes.literal_block):
        block.replace_self(nodes.literal_block(block.rawsource.rstrip(), block.astext().rstrip(), **block.attributes))


def setup(app: Any) -> None:
    """Tell Sphinx of these."""
    app.add_directive("dpfast-verbs", Verbs)
    app.connect("doctree-read", strip_code)
