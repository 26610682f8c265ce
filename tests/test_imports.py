"""Modules import each other in one direction."""

from __future__ import annotations

from graphlib import TopologicalSorter

import grimp


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Each module can be read after those that it imports, those for types alone and within functions too."""
    graph = grimp.build_graph("analyzer", cache_dir=None)
    imports = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    TopologicalSorter(imports).prepare()
