"""Show a store and its results in a notebook: one line or a small table of facts, and the views."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from analyzer.readable import terminal_safe
from analyzer.store.db.engine import Connection, duckdb, execute
from analyzer.store.db.tables.schema import setting, views

if TYPE_CHECKING:
    import polars as pl

_FACTS = """
select count(*), min(occurred_at), max(occurred_at), (select count(*) from internal.source_v1) from internal.event_v1
"""


class Shown:
    """An object shown by a title and facts: on one line, and in a notebook as an escaped table."""

    __slots__ = ()

    def _shown(self) -> tuple[str, Mapping[str, str]]:
        """Return the title, with texts from logs and files as their `repr`, and the named facts."""
        raise NotImplementedError

    def __repr__(self) -> str:
        title, facts = self._shown()
        return f"<{title}: {', '.join(f'{name} {value}' for name, value in facts.items())}>"

    def _repr_html_(self) -> str:
        title, facts = self._shown()
        rows = "".join(f"<tr><th>{_text(name)}</th><td>{_text(value)}</td></tr>" for name, value in facts.items())
        return f"<table><caption>{_text(title)}</caption><tbody>{rows}</tbody></table>"


class ShownRows(Shown):
    """A result that consists of rows: a notebook shows these."""

    __slots__ = ()

    def to_polars(self) -> pl.DataFrame:
        """Return the rows as a frame."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return self.to_polars()._repr_html_()


def store_facts(connection: Connection, mode: str, frames: Iterable[str]) -> dict[str, str]:
    """Return the number of events and sources, the time they cover, and what the store is open for."""
    try:
        ((events, first, last, sources),) = execute(connection, _FACTS)
    except duckdb.ConnectionException:
        return {"open for": "nothing any more"}
    span = {"from": f"{first:%Y-%m-%d %H:%M}", "to": f"{last:%Y-%m-%d %H:%M} UTC"} if events else {}
    part = {"only": sentence} if (sentence := setting(connection, "slice")) else {}
    own = {"registered": names} if (names := " ".join(frames)) else {}
    return {"events": f"{events:,}", **span, "sources": f"{sources:,}", **part, "open for": mode, **own}


def views_frame() -> pl.DataFrame:
    """List the views: `view` as it follows `from`, `description`, and the names of its `columns`."""
    import polars as pl

    rows = [
        {
            "view": f"{name}({', '.join(param.name for param in header.params)})" if header.params else name,
            "description": header.description,
            "columns": [column.name for column in header.columns],
        }
        for name, header in sorted(views().items())
    ]
    return pl.DataFrame(rows)


def _text(value: str) -> str:
    import html

    return html.escape(terminal_safe(value))
