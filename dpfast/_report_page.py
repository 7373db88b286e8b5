"""A page of HTML that needs nothing but itself: text, tables and pictures; no script, no address, nothing to load."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from dpfast._plot_axes import svg

__all__ = ["Page"]

_STYLE: Final = """
body { font: 16px/1.5 "Segoe UI", "DejaVu Sans", Arial, sans-serif; color: #1a1a1a; background: #fff; max-width: 60rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; } h2 { font-size: 1.25rem; margin-top: 2.2rem; border-bottom: 1px solid #ccc; }
h3 { font-size: 1.05rem; margin-top: 1.6rem; }
table { border-collapse: collapse; margin: 0.8rem 0; font-size: 0.9rem; }
th, td { text-align: left; padding: 0.25rem 0.7rem; border-bottom: 1px solid #ddd; vertical-align: top; }
td.figure, th.figure { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
caption, figcaption { text-align: left; color: #555; font-size: 0.85rem; padding: 0.3rem 0; }
figure { margin: 0.8rem 0; } svg { max-width: 100%; height: auto; }
.good { border-left: 0.4rem solid #00734f; } .bad { border-left: 0.4rem solid #b3261e; }
.note { border-left: 0.4rem solid #8c7a00; }
.good, .bad, .note { background: #f6f6f6; padding: 0.5rem 1rem; margin: 0.8rem 0; }
code { background: #f0f0f0; padding: 0 0.2rem; }
@media print { body { margin: 0; max-width: none; } figure, table { break-inside: avoid; } }
"""
# Whoever opens the page need not trust it: a browser then refuses all that would load or run.
_NOTHING_ELSE: Final = "default-src 'none'; style-src 'unsafe-inline'"


class Page:
    """Parts of a page, in their order. Every text is escaped; markup comes from here alone."""

    def __init__(self, title: str) -> None:
        self._title = _text(title)
        self._parts = [f"<h1>{self._title}</h1>"]
        self._pictures = 0

    def heading(self, text: str, *, level: int = 2) -> None:
        self._parts.append(f"<h{level}>{_text(text)}</h{level}>")

    def paragraph(self, text: str) -> None:
        """A paragraph; what stands in backquotes is shown as code."""
        self._parts.append(f"<p>{_marked(text)}</p>")

    def box(self, kind: str, text: str) -> None:
        """A paragraph that stands out: "good", "bad" or "note"."""
        self._parts.append(f'<p class="{kind}">{_marked(text)}</p>')

    def points(self, texts: Iterable[str]) -> None:
        self._parts.append("<ul>" + "".join(f"<li>{_marked(text)}</li>" for text in texts) + "</ul>")

    def table(self, heads: Sequence[str], rows: Iterable[Sequence[str]], *, labels: int = 1, caption: str = "") -> None:
        """A table: the first `labels` columns are text, the others figures."""

        def line(cells: Sequence[str], tag: str) -> str:
            kinds = ["" if place < labels else ' class="figure"' for place in range(len(cells))]
            parts = (f"<{tag}{kind}>{_marked(cell)}</{tag}>" for kind, cell in zip(kinds, cells, strict=True))
            return f"<tr>{''.join(parts)}</tr>"

        title = f"<caption>{_marked(caption)}</caption>" if caption else ""
        body = "\n".join(line(row, "td") for row in rows)
        self._parts.append(f"<table>{title}<thead>{line(heads, 'th')}</thead><tbody>\n{body}\n</tbody></table>")

    def picture(self, axes: Any, *, says: str) -> None:
        """A picture in the page itself; `says` is its caption, and what is read out in its place."""
        self._pictures += 1
        drawn = re.sub(r'\sxmlns(:xlink)?="[^"]*"', "", svg(axes))  # HTML knows them
        # Names are unique within a picture only.
        drawn = re.sub(r'(\bid="|href="#|url\(#)', rf"\1picture{self._pictures}-", drawn)
        label = html.escape(says, quote=True)
        drawn = drawn.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
        self._parts.append(f"<figure>{drawn}<figcaption>{_text(says)}</figcaption></figure>")

    def html(self) -> str:
        """The whole page."""
        body = "\n".join(self._parts)
        return (
            '<!DOCTYPE html>\n<html lang="en-GB">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{_NOTHING_ELSE}">\n'
            '<meta name="viewport" content="width=device-width">\n'
            f"<title>{self._title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
        )


def _text(text: str) -> str:
    return html.escape(text, quote=False)


def _marked(text: str) -> str:
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", _text(text))
