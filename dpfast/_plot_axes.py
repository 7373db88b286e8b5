"""Axes to draw into, what all pictures have in common, and their text as SVG: all that needs matplotlib itself."""

from __future__ import annotations

import io
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dpfast._text import printable
from dpfast.errors import ArgumentTypeError, MissingPackageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["COLOURS", "GREY", "cycle", "legend", "new_axes", "svg"]

# The Okabe-Ito palette, made for every colour vision: its yellow darkened, so that lines of it show on white, and black last.
COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C7A00", "#000000")
GREY: Final = "#777777"


def svg(picture: Any, path: str | os.PathLike[str] | None = None) -> str:
    """Return a picture as SVG, the same text for the same picture; and write it to a file.

    Parameters
    ----------
    picture : matplotlib Axes or Figure
        What a function of this module returned.
    path : path, optional
        A file to write.

    Returns
    -------
    str
        One ``<svg>`` element without time, random names or references to elsewhere. Text stays text.

    Raises
    ------
    ArgumentTypeError
        It is no picture.
    MissingPackageError
        matplotlib is not installed.

    Examples
    --------
    >>> from dpfast import Policy, RandomisedResponse, plots
    >>> axes = plots.privacy_error(Policy({"smoker": RandomisedResponse(["no", "yes"], epsilon=1.0)}), 10_000)
    >>> text = plots.svg(axes)
    >>> text[:4], text == plots.svg(axes)
    ('<svg', True)
    """
    matplotlib = _matplotlib()
    figure = getattr(picture, "figure", picture)
    if not callable(getattr(figure, "savefig", None)):
        raise ArgumentTypeError("picture must be matplotlib's Axes or Figure")
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "dpfast", "svg.fonttype": "none"}), warnings.catch_warnings():
        # Whoever shows the text has fonts of his own.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(buffer, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")), bbox_inches="tight")
    text = buffer.getvalue()
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise MissingPackageError("pictures need matplotlib: pip install 'dpfast[plot]'") from None
    return matplotlib


def new_axes(ax: Any, *, height: float = 3.6) -> Axes:
    """The Axes to draw into: those given, or new ones that no window knows."""
    _matplotlib()
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(6.0, height)).add_subplot() if ax is None else ax
    if not isinstance(drawn, Axes):
        raise ArgumentTypeError("ax must be matplotlib's Axes")
    drawn.spines[["top", "right"]].set_visible(False)
    return drawn


def cycle() -> Iterator[str]:
    """The colours, again and again."""
    while True:
        yield from COLOURS


def legend(ax: Axes, parts: Sequence[Any], names: Sequence[Any], *, below: float | None = None) -> None:
    """A legend of names as they are: no formulas in dollars, no names hidden; `below` the axes, by so many of their heights."""
    shown = [f" {name}" if name.startswith("_") else name for name in map(printable, names)]
    place: dict[str, Any] = {} if below is None else {"loc": "upper center", "bbox_to_anchor": (0.5, -below), "ncols": 2}
    for text in ax.legend(list(parts), shown, frameon=False, fontsize="small", **place).get_texts():
        text.set_parse_math(False)
