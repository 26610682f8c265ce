"""The queries of the catalogue for a terminal: what each answers, its parameters, and of one alone its columns."""

from __future__ import annotations

from analyzer.store import catalogue, find


def render_catalogue(name: str | None = None) -> str:
    """All queries, or one of them with its columns.

    Raises:
        AnalyzerError: there is no query of this name.
    """
    chosen = [find(name)] if name else list(catalogue().values())
    lines: list[str] = []
    inner = False
    for query in chosen:
        if not name and query.inner and not inner:
            inner = True
            lines += ["What checks and reports ask for themselves:", ""]
        header = query.header
        lines += [query.name, f"    {header.title}. {header.description}"]
        given = [f"-p {item.name}={item.default}" for item in header.params]
        wide = max(map(len, given), default=0)
        lines += [f"    {shown:{wide}}  {item.description}" for shown, item in zip(given, header.params, strict=True)]
        if name:
            width = max(len(item.name) for item in header.columns)
            lines += ["", *(f"    {item.name:{width}}  {item.type:9}  {item.description}" for item in header.columns)]
        lines.append("")
    return "\n".join(lines).rstrip()
