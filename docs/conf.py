"""Sphinx: the guide in Markdown, the reference from docstrings. `make docs` builds it; warnings are errors."""

import argparse
import os
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.utils.math.latex2mathml import tex2mathml

import dpfast
from dpfast import cli

project = "dpfast"
author = "the dpfast developers"
release = version = dpfast.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
html_math_renderer = "mathml"
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "dpfast"
html_static_path: list[str] = []
html_show_copyright = False
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


def inline_formula(writer: Any, node: nodes.math) -> None:
    """A formula in MathML, which browsers draw by themselves: nothing is fetched from anywhere."""
    writer.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def display_formula(writer: Any, node: nodes.math_block) -> None:
    """The same on lines of its own."""
    formula = tex2mathml(node.astext(), as_block=True)
    writer.body.append(formula.replace("<math", '<math style="padding: 0.5em 0"', 1))
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Tell Sphinx of the directive and of the formulas."""
    app.add_directive("dpfast-verbs", Verbs)
    app.add_html_math_renderer("mathml", (inline_formula, None), (display_formula, None))
