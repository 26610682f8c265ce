"""The notebook runs from top to bottom on the samples, in a kernel of the interpreter that runs the tests."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

REPOSITORY = Path(__file__).resolve().parents[1]
NOTEBOOK = REPOSITORY / "notebooks" / "explore.ipynb"
FIGURE = "application/vnd.plotly.v1+json"


class _ThisInterpreter(AsyncKernelManager):
    """A kernel of `sys.executable`, whatever kernels the machine has registered under the name python3."""

    @property
    def kernel_spec(self) -> KernelSpec:
        return KernelSpec(
            argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
            display_name="Python 3",
            language="python",
        )


def _read() -> Any:
    return nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]


def _outputs(cell: Any) -> str:
    return "\n".join(str(part) for output in cell.get("outputs", []) for part in output.get("data", {}).values())


@pytest.fixture(scope="module")
def executed() -> Any:
    """The notebook with its outputs, run in its own folder."""
    notebook = _read()
    client = NotebookClient(
        notebook,
        timeout=120,
        kernel_manager_class=_ThisInterpreter,
        resources={"metadata": {"path": str(NOTEBOOK.parent)}},
    )
    client.execute()
    return notebook


def test_no_output_is_committed() -> None:
    """The file holds neither outputs nor execution counts, and a kernel that everybody has."""
    notebook = _read()
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    assert notebook.metadata.kernelspec.name == "python3"


def test_cell_ids_are_names() -> None:
    """Ids were given by hand and are unique, so that a change of one cell is a change of one cell."""
    ids = [cell.id for cell in _read().cells]
    assert len(set(ids)) == len(ids)
    assert all(name.replace("-", "").isalpha() for name in ids)


@pytest.mark.slow
def test_the_notebook_runs_and_names_the_spiking_caller(executed: Any) -> None:
    """The table of rises shows figma-probe and nobody else."""
    by_id = {cell.id: cell for cell in executed.cells}
    assert "figma-probe" in _outputs(by_id["spikes"])
    assert "shape: (1, 18)" in _outputs(by_id["spikes"])


@pytest.mark.slow
def test_the_notebook_draws_its_figures(executed: Any) -> None:
    """All of them reach the notebook as plotly figures, with something drawn."""
    drawn = [
        cell.id
        for cell in executed.cells
        if any(FIGURE in output.get("data", {}) for output in cell.get("outputs", []))
    ]
    assert drawn == ["retries-figure", "spikes-figure", "relays-figure"]
    by_id = {cell.id: cell for cell in executed.cells}
    assert all(output["data"][FIGURE]["data"] for name in drawn for output in by_id[name].outputs)


@pytest.mark.slow
def test_results_show_themselves_as_tables(executed: Any) -> None:
    """The overview and the views, as HTML; own data is joined."""
    by_id = {cell.id: cell for cell in executed.cells}
    assert "<caption>Overview warning" in _outputs(by_id["overview"])
    assert "One row a classified error." in _outputs(by_id["views"])
    assert "design" in _outputs(by_id["frames"])


@pytest.mark.slow
def test_no_cell_writes_to_stderr(executed: Any) -> None:
    """No warning clutters what a reader sees."""
    streams = [
        (cell.id, output.text)
        for cell in executed.cells
        for output in cell.get("outputs", [])
        if output.get("name") == "stderr"
    ]
    assert streams == []
