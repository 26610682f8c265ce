"""The notebooks run from top to bottom on the samples, in a kernel of the interpreter that runs the tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.notebooks import FIGURE, NOTEBOOKS, PICTURE, executed, read, said
from tests.report.svg_pictures import parsed

EXPLORE, INCIDENT = NOTEBOOKS
MIMES = {FIGURE, PICTURE, "text/plain", "text/html"}
MOST_BYTES = 200_000


@pytest.fixture(scope="module")
def explored() -> Any:
    """The first notebook with its outputs, run in its own folder."""
    return executed(EXPLORE)


@pytest.fixture(scope="module")
def told() -> Any:
    """The same of the story of an incident."""
    return executed(INCIDENT)


def _outputs(cell: Any) -> str:
    return "\n".join(str(part) for output in cell.get("outputs", []) for part in output.get("data", {}).values())


def _by_id(notebook: Any) -> dict[str, Any]:
    return {cell.id: cell for cell in notebook.cells}


def _kept_fresh(path: Path, run: Any) -> None:
    """A cell at a time, so that a difference names its cell."""
    kept, now = said(read(path)), said(run)
    assert [name for name, _ in kept] == [name for name, _ in now]
    for (name, text), (_, made) in zip(kept, now, strict=True):
        assert text == made, f"python -m tests.notebooks writes the outputs of {path.name} again: {name}"
    errors = [cell.id for cell in run.cells for output in cell.get("outputs", []) if output.get("name") == "stderr"]
    assert errors == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_committed_and_light(path: Path) -> None:
    """Every cell that says something has its output, a figure has a picture beside it, and none carries plotly.js."""
    notebook = read(path)
    nbformat.validate(notebook)
    assert path.stat().st_size < MOST_BYTES
    data = [output.data for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]
    assert data
    assert set().union(*data) == MIMES
    assert all((FIGURE in each) == (PICTURE in each) for each in data)
    assert notebook.metadata.kernelspec.name == "python3"
    assert not any(word in path.read_text("utf-8") for word in ("/tmp", "/home/", "/work/", "site-packages"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_pictures_stand_alone(path: Path) -> None:
    """They are whole SVG files with a size, and ask a page neither for colours nor for a style."""
    outputs = [output for cell in read(path).cells for output in cell.get("outputs", [])]
    pictures = [output.data[PICTURE] for output in outputs if PICTURE in output.get("data", {})]
    assert pictures
    for each in pictures:
        root = parsed(each)
        assert float(root.get("width") or 0) > float(root.get("height") or 0) > 200
        assert "var(" not in each
        assert len([text for text in root.iter("text") if text.text]) > 5


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_cell_ids_are_names(path: Path) -> None:
    """Ids were given by hand and are unique, so that a change of one cell is a change of one cell."""
    ids = [cell.id for cell in read(path).cells]
    assert len(set(ids)) == len(ids)
    assert all(name.replace("-", "").isalpha() for name in ids)


@pytest.mark.slow
def test_the_committed_outputs_are_those_of_a_run(explored: Any) -> None:
    """Texts and pictures; nothing is written to stderr."""
    _kept_fresh(EXPLORE, explored)


@pytest.mark.slow
def test_the_story_that_is_committed_is_that_of_a_run(told: Any) -> None:
    """Texts and pictures; nothing is written to stderr."""
    _kept_fresh(INCIDENT, told)


@pytest.mark.slow
def test_the_notebook_runs_and_names_the_spiking_caller(explored: Any) -> None:
    """The table of rises shows figma-probe and nobody else."""
    by_id = _by_id(explored)
    assert "figma-probe" in _outputs(by_id["spikes"])
    assert "shape: (1, 21)" in _outputs(by_id["spikes"])


@pytest.mark.slow
def test_the_notebook_draws_its_figures(explored: Any) -> None:
    """All of them reach the notebook as plotly figures, with something drawn."""
    drawn = [
        cell.id
        for cell in explored.cells
        if any(FIGURE in output.get("data", {}) for output in cell.get("outputs", []))
    ]
    assert drawn == ["retries-figure", "spikes-figure", "relays-figure"]
    by_id = _by_id(explored)
    assert all(output["data"][FIGURE]["data"] for name in drawn for output in by_id[name].outputs)


@pytest.mark.slow
def test_results_show_themselves_as_tables(explored: Any) -> None:
    """The overview and the views, as HTML; own data is joined."""
    by_id = _by_id(explored)
    assert "<caption>Overview warning" in _outputs(by_id["overview"])
    assert "One row a classified error." in _outputs(by_id["views"])
    assert "design" in _outputs(by_id["frames"])


@pytest.mark.slow
def test_the_story_goes_from_the_alarm_to_a_finding_that_is_over(told: Any) -> None:
    """A quiet night, an alarm with exit code 1, rules that hold, and the next night tells that it is resolved."""
    text = dict(said(told))
    assert text["quiet-night"].endswith("(exit code 0)\n")
    assert "WARNING  new  Unknown errors spiked: figma-probe" in text["alarm"]
    assert text["alarm"].endswith("(exit code 1)\n")
    assert '# reason = ""' in text["draft"]
    assert "No findings in" in text["rules-test"]
    assert "1 vanished, 0 appeared, 0 stayed" in text["backtest"]
    assert "A dry run" in text["dry-run"]
    assert "Applied" in text["apply"]
    assert "RESOLVED  Unknown errors spiked: figma-probe" in text["next-night"]
    assert all(text[name].endswith("(exit code 0)\n") for name in ("rules-test", "dry-run", "apply", "next-night"))
    assert "resolved" in text["resolved"]
