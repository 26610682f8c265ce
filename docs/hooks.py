"""Files outside of `docs/` that pages link to become pages of the site, so that a link works there and on a forge.

A link such as `../../queries/errors/facts.sql` leads to `repository/queries/errors/facts.sql.md` of the site: Markdown
as it is, a notebook as its cells, anything else as one block of code.
"""

from __future__ import annotations

import json
import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

REPOSITORY = Path(__file__).resolve().parents[1]
BROUGHT_IN = "repository/"
LINK = re.compile(r"^```.*?^```$|(?<=\]\()(?P<target>[^)\s#]+)(?=[)#])", re.MULTILINE | re.DOTALL)
"""A block of code, which is left alone, or where a link leads to."""
LANGUAGES = {".py": "python"}
"""By suffix, where a block of code is not called like it."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each file that a page links to, and for those that these link to in turn."""
    waiting = [f"docs/{file.src_uri}" for file in files.documentation_pages()]
    while waiting:
        here = waiting.pop()
        for there in _linked(here):
            if not there.startswith("docs/") and (uri := _uri(there)) not in files.src_uris:
                files.append(File.generated(config, uri, content=_shown(there)))
                waiting += [there] if there.endswith(".md") else []
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Turn a page's links into ones within the site."""
    uri = page.file.src_uri
    here = uri.removeprefix(BROUGHT_IN).removesuffix(".md") if uri.startswith(BROUGHT_IN) else f"docs/{uri}"

    def within(link: re.Match[str]) -> str:
        there = _leads_to(here, link["target"])
        return link[0] if there is None else posixpath.relpath(_uri(there), posixpath.dirname(uri))

    return LINK.sub(within, markdown)


def _linked(here: str) -> list[str]:
    targets = [link["target"] for link in LINK.finditer((REPOSITORY / here).read_text("utf-8"))]
    return [there for target in targets if (there := _leads_to(here, target)) is not None]


def _leads_to(here: str, target: str | None) -> str | None:
    """The file of the repository that a link of another one leads to, by its path in there."""
    if target is None or re.match(r"\w+:", target):
        return None
    there = posixpath.normpath(posixpath.join(posixpath.dirname(here), target))
    candidates = (there, f"{there}/README.md")
    return next((path for path in candidates if (REPOSITORY / path).is_file()), None)


def _uri(there: str) -> str:
    return there.removeprefix("docs/") if there.startswith("docs/") else f"{BROUGHT_IN}{there}.md"


def _shown(there: str) -> str:
    text = (REPOSITORY / there).read_text("utf-8")
    suffix = Path(there).suffix
    if suffix == ".md":
        return text
    if suffix == ".ipynb":
        cells = [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(text)["cells"]]
        return "\n\n".join(source if kind == "markdown" else _block("python", source) for kind, source in cells)
    return f"# {there}\n\n{_block(LANGUAGES.get(suffix, suffix[1:]), text)}"


def _block(language: str, text: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```\n"
