"""The report becomes JSON for machines: the overview's own data, nothing more and nothing less."""

from __future__ import annotations

from analyzer.analysis import Overview
from analyzer.report.escape import json_text
from analyzer.report.rows import plain


def render_json(overview: Overview) -> str:
    """One JSON object, schema `analyzer.report/1`, with a newline at its end; no NaN anywhere."""
    return json_text(plain(overview.to_dict()), indent=2) + "\n"
