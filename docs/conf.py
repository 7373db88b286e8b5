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
html_static_path: list[str] = []
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
        parser = cli._parser()
        (verbs,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
        found: list[nodes.Node] = []
        for name, verb in sorted(verbs.choices.items()):
            section = nodes.section(ids=[f"dpfast-{name}"])
            section += nodes.title(text=f"dpfast {name}")
            text = verb.format_help()
            section += nodes.literal_block(text, text, language="text")
            found.append(section)
        return found


def setup(app: Any) -> None:
    """Tell Sphinx of the directive."""
    app.add_directive("dpfast-verbs", Verbs)
