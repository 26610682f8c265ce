"""`analyzer sources` lists where agents keep their logs on this machine, and what of it is new."""

from __future__ import annotations

import os

import click

from analyzer.cli.machine import home_folder, look, store_to_fill
from analyzer.cli.options import json_option, store_option
from analyzer.cli.output import report_problems, rows_width, write
from analyzer.errors import UNREADABLE


@click.command("sources")
@store_option(" What is new is new to it.", store_to_fill)
@json_option
def command(store_path: str, as_json: bool) -> int:
    """List where agents keep their logs on this machine: files, sizes, formats, and what is new since the last ingest.

    Nothing is opened but the store. These are the places that analyzer ingest and analyzer report read where no PATH is
    named. Variables by which agents are told another place, such as $CODEX_HOME, are followed.

    \b
      analyzer sources
      analyzer sources --store fleet.duckdb --json
    """
    from analyzer.command_lines import Asking
    from analyzer.report.escape import json_text
    from analyzer.report.store_work import render_sources

    found = look(store_path)
    report_problems(found.problems)
    if as_json:
        write(json_text({"schema": "analyzer.sources/1", "store": store_path, **found.to_dict()}), None)
    else:
        usual = os.environ.get("ANALYZER_STORE") or store_to_fill()
        asking = Asking(None if store_path == usual else store_path)
        write(render_sources(found, store_path, home_folder(), rows_width("table", None), asking), None)
    return UNREADABLE if found.problems else 0
