"""`analyzer claim`: what a provider's support asks for, in one file."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING

import click

from analyzer.cli.options import chosen_window, result_options, store_option, window_options
from analyzer.cli.output import Out, write
from analyzer.cli.stores import NamedStore
from analyzer.errors import AnalyzerError, InputError, system_text

if TYPE_CHECKING:
    from analyzer.analysis import WindowWords


@click.command("claim")
@click.argument("provider")
@click.option("--status", metavar="FILE", help="The provider's status page, saved from /api/v2/incidents.json.")
@store_option
@window_options
@result_options("table", "json", "markdown")
def command(provider: str, status: str | None, store: NamedStore, words: WindowWords, out: Out) -> None:
    """Collect the failures that are a provider's fault, for its support.

    \b
      analyzer claim anthropic --last 7d
      analyzer claim anthropic --last 7d --output claim.zip
      analyzer claim openai --since 2026-11-01 --status incidents.json --json

    An --output that ends with .zip gets a page as Markdown and HTML, and a CSV file a table. No session, project or
    path is in it. A message may repeat words of a prompt: read it before you send it. The sum counts only what the log
    shows to be the provider's fault. If the log of an error names no provider, only errors of Claude Code count, by the
    name of the model.
    """
    from analyzer.analysis.claim import TABLES, claim
    from analyzer.report.store_work import claim_document

    content = None
    if status is not None:
        try:
            with open(status, "rb") as file:
                content = file.read()
        except OSError as error:
            raise InputError(f"{status} cannot be read: {system_text(error)}", "name a file") from None
    chosen = chosen_window(**words)
    with store.open_for_queries() as opened:
        made = claim(opened, provider, content, chosen)
    if out.path is None or not out.path.endswith(".zip"):
        out.answer(made, lambda: claim_document(made))
        return
    if out.form != "table":
        raise AnalyzerError("a .zip has its own formats", "leave --format out")
    from analyzer.report.rows import render_rows
    from analyzer.report.writers.html import to_html
    from analyzer.report.writers.markdown import to_markdown

    document = claim_document(made)
    files = {"claim.md": to_markdown(document), "claim.html": to_html(document, f"Claim to {made.provider}")}
    files |= {f"{name}.csv": str(render_rows(getattr(made, name), "csv")) for name in (*TABLES, "incidents")}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            # Of one moment, so that the same claim is the same file.
            archive.writestr(zipfile.ZipInfo(name), text)
    write(packed.getvalue(), out.path)
    out.narrate(f"{made.failures.height:,} failures → {out.path}")
