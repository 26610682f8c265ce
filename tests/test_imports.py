"""Modules import each other in one direction."""

from __future__ import annotations

from graphlib import TopologicalSorter

import grimp

_APART = "analyzer.lake."
"""A lake of an earlier version is made anew by the batch that its newest version writes."""


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Each module can be read after those that it imports, those for types alone and within functions too."""
    graph = grimp.build_graph("analyzer", cache_dir=None)
    imports = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    both = {name for name in graph.modules if name.startswith(_APART)}
    TopologicalSorter({name: known - both if name in both else known for name, known in imports.items()}).prepare()
