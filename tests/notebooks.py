"""The outputs that notebooks are committed with: `python -m tests.notebooks` runs them and writes these, and tests
assert that they are current.

A forge does not draw plotly's figures, so that each has its picture beside it: the one that the page shows.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

from analyzer.analysis.charts import Chart, figures
from analyzer.analysis.charts.chart import GRID, INK
from analyzer.report.charts.axes import RIGHT
from analyzer.report.charts.elements import SWATCH_WIDTH, Svg, element
from analyzer.report.charts.picture import Drawing, draw
from tests import REPOSITORY

NOTEBOOKS = sorted((REPOSITORY / "notebooks").glob("*.ipynb"))
FIGURE, PICTURE = "application/vnd.plotly.v1+json", "image/svg+xml"
_WIDTH, _MARGIN, _LINE, _LETTER = 860, 12, 20, 6.6
"""Pixels: of a picture, around it, of a line of its legend, and of a letter in that."""
_COLOURS = {"soft": INK, "line": GRID, "card": "white", "ink": "#1f2430", "said": INK}
"""What the page's own properties are on light paper."""
_PICTURED = (
    f"--IPKernelApp.exec_lines=import sys; sys.path.insert(0, {str(REPOSITORY)!r}); "
    "import tests.notebooks; tests.notebooks.give_pictures()"
)
"""What a kernel runs before a notebook."""
_NAME = "picture-of-a-cell"
"""What ids of a picture begin with, until it is known which cell shows it."""
_VARIES = ((r"(?<= by ada on )[\d-]+", "…"), (r"\b[0-9a-f]{12}\b", "…"))
"""What is another one on each day, or with each change of a rule: the day of a decision, and digests."""


class _ThisInterpreter(AsyncKernelManager):
    """A kernel of `sys.executable`, whatever kernels the machine has registered under the name python3."""

    @property
    def kernel_spec(self) -> KernelSpec:
        return KernelSpec(
            argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", _PICTURED],
            display_name="Python 3",
            language="python",
        )


def read(path: Path) -> Any:
    """The notebook as it is committed."""
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def executed(path: Path) -> Any:
    """The notebook with the outputs of a run in its own folder, and a picture beside each figure."""
    notebook = read(path)
    NotebookClient(
        notebook,
        timeout=120,
        # A slow machine sends what a cell prints in several pieces.
        coalesce_streams=True,
        kernel_manager_class=_ThisInterpreter,
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    for cell in notebook.cells:
        # When a cell ran is nobody's business, and would make every run another file.
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            if FIGURE in output.get("data", {}):
                output.data[PICTURE] = output.data[FIGURE]["layout"].pop("meta").replace(_NAME, cell.id)
    return notebook


def said(notebook: Any) -> list[tuple[str, str]]:
    """The texts and pictures of all cells, by the cell's id, without what is another one in each run."""
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            text = output.get("text") or data.get(PICTURE) or data.get("text/plain", "")
            for pattern, instead in _VARIES:
                text = re.sub(pattern, instead, text)
            found.append((cell.id, text))
    return found


def give_pictures() -> None:
    """Let every figure of this process bring the picture of its chart."""
    written = figures.figure_of
    figures.figure_of = lambda chart: written(chart).update_layout(meta=picture(chart, _NAME))


def picture(chart: Chart, name: str) -> str:
    """The chart as a file of its own, with title and legend, in the colours of light paper."""
    drawn = draw(chart, name)
    legend, below = _legend(drawn)
    head = [
        element("text", text, x=_MARGIN, y=place, font_size=size, fill=_COLOURS["ink"])
        for text, place, size in ((drawn.title, 22, 15), (drawn.note, 40, 12))
        if text
    ]
    match = re.search(r"--left:(\d+)px", drawn.picture)
    assert match is not None, "a picture says how much room its labels take"
    left = int(match[1]) + _MARGIN
    placed = f'<svg x="{left}" y="{below}" width="{_WIDTH - left - RIGHT - _MARGIN}" overflow="visible" '
    plot = Svg(drawn.picture.replace("<svg ", placed, 1))
    height = below + drawn.height + _MARGIN
    paper = element("rect", width=_WIDTH, height=height, fill="white")
    whole = element(
        "svg", paper, *head, *legend, plot, xmlns="http://www.w3.org/2000/svg", width=_WIDTH, height=height,
        viewBox=f"0 0 {_WIDTH} {height}", font_family="sans-serif", font_size=12, fill=INK,
    )  # fmt: skip
    coloured = re.sub(r"var\(--c-([0-9a-f]{6})\)", r"#\1", whole)
    return re.sub(r"var\(--(\w+)\)", lambda own: _COLOURS[own[1]], coloured)


def _legend(drawn: Drawing) -> tuple[list[Svg], int]:
    """The entries of the legend in as many lines as they need, and where these end."""
    parts: list[Svg] = []
    x, y = float(_MARGIN), 52 if drawn.note else 34
    for key in drawn.keys:
        room = SWATCH_WIDTH + 6 + _LETTER * len(key.name) + 14
        if x > _MARGIN and x + room > _WIDTH:
            x, y = float(_MARGIN), y + _LINE
        parts.append(element("g", key.swatch, transform=f"translate({x:.0f} {y})"))
        parts.append(element("text", key.name, x=x + SWATCH_WIDTH + 6, y=y + 10))
        x += room
    return parts, y + _LINE


def main() -> None:
    """Run every notebook, and write it with its outputs."""
    for path in NOTEBOOKS:
        nbformat.write(executed(path), path)  # type: ignore[no-untyped-call]
        print(path.relative_to(REPOSITORY))


if __name__ == "__main__":
    main()
