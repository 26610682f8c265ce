"""Where things are on the report's page: expressions that a driven browser evaluates, and what it reads there."""

from __future__ import annotations

import json

from tests.report.driving import Browser


def table(title: str) -> str:
    """The expression of the table under a title."""
    wanted = f"each.closest('[aria-label]').ariaLabel === {json.dumps(title)}"
    return f"[...document.querySelectorAll('table.data')].find(each => {wanted})"


def select(name: str) -> str:
    """The expression of one of the filters."""
    return f"document.querySelector('select[aria-label=\"Only one {name}\"]')"


def tools(title: str) -> str:
    """The expression of the bar above a table."""
    return f"{table(title)}.closest('.scroll').previousElementSibling"


def button(title: str, label: str) -> str:
    """The expression of a button above a table."""
    return f"[...{tools(title)}.querySelectorAll('button')].find(each => each.textContent === {json.dumps(label)})"


def head(title: str, column: str) -> str:
    """The expression of the button that sorts by a column."""
    return f"{table(title)}.querySelector('th[data-column={column}] button')"


def unfold(page: Browser, title: str) -> None:
    """Click open what a table is folded into."""
    folded = f"{table(title)}.closest('details:not([open])')"
    while page.value(f"Boolean({folded})"):
        outer = "for (let up; up = e.parentElement.closest('details:not([open])');) e = up;"
        page.click(f"(e => {{ {outer} return e.querySelector('summary'); }})({folded})")


def rows(page: Browser, title: str) -> list[list[str]]:
    """The cells of the rows that are to be seen."""
    shown = f"[...{table(title)}.tBodies[0].rows].filter(row => row.offsetParent)"
    found: list[list[str]] = page.value(f"{shown}.map(row => [...row.cells].map(cell => cell.textContent.trim()))")
    return found


def column(page: Browser, title: str, name: str) -> list[str]:
    """One column of the rows that are to be seen."""
    place = page.value(f"[...{table(title)}.querySelectorAll('th')].findIndex(th => th.dataset.column === '{name}')")
    return [row[place] for row in rows(page, title)]
