"""Formulas in MathML, which browsers draw by themselves: the guide fetches nothing from anywhere."""

from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def inline(writer: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    writer.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def display(writer: Any, node: nodes.math_block) -> None:
    """Write a formula on a line of its own; the room is for what stands above and below the line."""
    formula = tex2mathml(node.astext(), as_block=True)
    writer.body.append(formula.replace("<math", '<math style="padding: 0.5em 0"', 1))
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx of them."""
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
