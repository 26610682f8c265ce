"""`analyzer sources` lists where agents keep their logs on this machine, and what of it is new."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import click

from analyzer.cli.machine import home_folder, look, store_to_fill
from analyzer.cli.options import json_option, store_option
from analyzer.cli.output import report_problems, rows_width, write
from analyzer.errors import UNREADABLE, InputError, system_text
from analyzer.readable import counted, terminal_safe


@click.command("sources")
@store_option(" What is new is new to it.", store_to_fill)
@click.option(
    "--unknown",
    "unknown",
    metavar="FILE",
    help="Print the keys and types of this file, and no value of it, to be attached to an issue.",
)
@json_option
def command(store_path: str, unknown: str | None, as_json: bool) -> int:
    """List where agents keep their logs on this machine: files, sizes, formats, and what is new since the last ingest.

    Nothing is opened but the store. These are the places that analyzer ingest and analyzer report read where no PATH is
    named. Variables by which agents are told another place, such as $CODEX_HOME, are followed.

    \b
      analyzer sources
      analyzer sources --store fleet.duckdb --json
      analyzer sources --unknown strange.jsonl
    """
    if unknown is not None:
        return _skeleton(unknown, as_json)
    from analyzer.command_lines import Asking
    from analyzer.report.store_work import render_sources

    found = look(store_path)
    report_problems(found.problems)
    if as_json:
        write({"schema": "analyzer.sources/1", "store": store_path, **found.to_dict()}, None)
    else:
        usual = os.environ.get("ANALYZER_STORE") or store_to_fill()
        asking = Asking(None if store_path == usual else store_path)
        write(render_sources(found, store_path, home_folder(), rows_width("table", None), asking), None)
    return UNREADABLE if found.problems else 0


def _skeleton(path: str, as_json: bool) -> int:
    """Print the shape of a file, and which format it is told to be."""
    import sqlite3

    from analyzer.importers.formats import detect, newer
    from analyzer.importers.heads import HEAD_BYTES, head_of
    from analyzer.importers.shapes.skeleton import skeleton

    try:
        with open(path, "rb") as handle:
            head = head_of(handle.read(HEAD_BYTES))
        shapes = skeleton(head, path)
    except (OSError, sqlite3.Error) as error:
        said = system_text(error) if isinstance(error, OSError) else str(error)
        raise InputError(f"{terminal_safe(path)}: cannot be read: {said}", "name a file: --unknown FILE") from None
    kind = detect(head)
    later = newer(head, kind)
    found = {
        "schema": "analyzer.skeleton/1",
        "format": kind.name,
        "title": kind.title,
        "newer": later,
        "shapes": shapes,
    }
    if as_json:
        write(found, None)
        return 0
    above = f", version {later}: newer than what was looked at" if later else ""
    lines = [f"{kind.title} ({kind.name}){above}", *map(_shown, shapes)]
    write("\n".join(lines), None)
    return 0


def _shown(found: Mapping[str, Any]) -> str:
    """One shape on one line."""
    named = found.get("table") or counted(found["count"], "record")
    return terminal_safe(f"{named}: {json.dumps(found['shape'], ensure_ascii=False)}")
