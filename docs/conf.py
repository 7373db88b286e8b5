"""Sphinx: the guide in Markdown, the reference from docstrings. `make docs` builds it; warnings are errors."""

import dpfast

project = "dpfast"
author = "the dpfast developers"
release = version = dpfast.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "sphinx.ext.mathjax"]
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
default_role = "code"
exclude_patterns = ["_build"]
nitpicky = False
