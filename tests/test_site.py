"""The site of docs/: every link leads somewhere, every page has its place, and nothing is loaded from a network."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import REPOSITORY

LOADED = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//""", re.IGNORECASE)
STYLED = re.compile(r"""(?:@import|url\()\s*["']?(?:https?:)?//""", re.IGNORECASE)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site. A dead link, or a page outside of the navigation, makes the strict build fail."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=REPOSITORY,
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_of_the_documentation_is_in_the_site(site: Path) -> None:
    """Each Markdown file of docs/ has its page."""
    docs = REPOSITORY / "docs"
    for page in docs.rglob("*.md"):
        path = page.relative_to(docs)
        built = path.parent if path.name == "README.md" else path.with_suffix("")
        assert (site / built / "index.html").is_file(), path


def test_what_pages_link_to_outside_of_docs_is_in_the_site(site: Path) -> None:
    """A query is shown with its SQL, the notebook with its cells, the README with links into the site."""
    query = (site / "repository" / "queries" / "errors" / "facts.sql" / "index.html").read_text("utf-8")
    assert "json_extract" in query
    notebook = (site / "repository" / "notebooks" / "explore.ipynb" / "index.html").read_text("utf-8")
    assert "The sample logs, explored" in notebook
    assert "open_store" in notebook
    readme = (site / "repository" / "README.md" / "index.html").read_text("utf-8")
    assert 'href="../../how-to/run/"' in readme
    assert 'src="../../report.png"' in readme


def test_the_site_loads_nothing_from_a_network(site: Path) -> None:
    """No page has a script, style, font, frame or picture of another host, and no style sheet asks for one."""
    pages, sheets = list(site.rglob("*.html")), list(site.rglob("*.css"))
    assert len(pages) > 30
    assert sheets
    assert [path for path in pages if LOADED.search(path.read_text("utf-8"))] == []
    assert [path for path in sheets if STYLED.search(path.read_text("utf-8"))] == []


def test_the_search_is_local(site: Path) -> None:
    """The index of the search lies in the site and knows the glossary."""
    index = (site / "search" / "search_index.json").read_text("utf-8")
    assert "reference/glossary/" in index
