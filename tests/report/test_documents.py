"""The report as Markdown and as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace

import polars as pl

from analyzer.analysis import Overview
from analyzer.analysis.summary.overview import TABLES
from analyzer.report import render_json, render_markdown

Report = Callable[..., Overview]


def test_markdown_has_the_verdict_and_all_tables(report: Report) -> None:
    """The verdict is the title, callers have their table, and each table its query."""
    text = render_markdown(report())
    assert text.startswith("# CRITICAL: Unknown errors spiked: figma-probe, 08:15 on 21 November.\n")
    assert [name for name in TABLES if f"analyzer query {name}" not in text] == []
    assert re.search(r"^\| lint-hook \| +40", text, re.MULTILINE)


def test_markdown_tables_keep_their_shape(report: Report) -> None:
    """Hostile cells add neither columns nor rows, and no markup."""
    hostile = "a|b\n\n# x <img src=x> [l](http://evil.example) `c`"
    text = render_markdown(
        report(spiking=hostile, others=(f"o{hostile}",), message=hostile, step=hostile, broken=hostile)
    )
    tables = [block.splitlines() for block in text.split("\n\n") if block.startswith("| ")]
    widths = [{len(re.findall(r"(?<!\\)\|", line)) for line in table} for table in tables]
    assert len(widths) > 10
    assert all(len(width) == 1 for width in widths)
    assert "<img" not in text
    assert re.search(r"(?<!\\)\]\(", text) is None
    assert "http://" not in text


def test_json_is_the_overview(report: Report) -> None:
    """Schema, verdict, totals and all tables, with counts as numbers."""
    found = json.loads(render_json(report()))
    assert found["schema"] == "analyzer.report/1"
    assert found["verdict"]["level"] == "critical"
    # Twelve that were called unknown, and one that no one gave a reason.
    assert found["totals"]["unknown_errors"] == 13
    assert found["totals"]["first_at"] == "2026-11-01T08:15:00.000Z"
    assert set(found["tables"]) == set(TABLES)
    row = next(row for row in found["tables"]["errors-by-reason"]["rows"] if row["reason"] == "unknown")
    assert isinstance(row["errors"], int)


def test_json_has_no_nan(report: Report) -> None:
    """A NaN in a table becomes null."""
    found = report()
    table = found.tables["relays-by-day"]
    broken = table.frame.with_columns(pl.lit(float("nan")).alias("mean_pre_tokens"))
    text = render_json(replace(found, tables={**found.tables, "relays-by-day": replace(table, frame=broken)}))
    assert json.loads(text)["tables"]["relays-by-day"]["rows"][0]["mean_pre_tokens"] is None
    assert "NaN" not in text


def test_nothing_renders(nothing: Overview) -> None:
    """An empty store gives documents too."""
    assert "# EMPTY" in render_markdown(nothing)
    assert json.loads(render_json(nothing))["verdict"]["level"] == "empty"
