"""What several families have in common: errors that they count and show, commands, and words."""

from __future__ import annotations

import re

import polars as pl

from analyzer.analysis.kinds.finding import Evidence, Finding, ShownErrors, its_days
from analyzer.analysis.observations import Observations

UNKNOWN_ERRORS = Evidence(reason=lambda _finding: "unknown")


def _unknown_errors(finding: Finding, _seen: Observations) -> pl.Expr:
    errors = pl.col("reason") == "unknown"
    return errors if finding.scope.template is None else errors & (pl.col("template") == finding.scope.template)


UNKNOWN_SHOWN = ShownErrors(
    "Unknown errors",
    _unknown_errors,
    lambda finding, last: (finding.onset, finding.resolved_on or last),
    unknown=True,
)


def _of_reason(finding: Finding, _seen: Observations) -> pl.Expr:
    reason = finding.scope.reason
    return pl.lit(True) if reason is None else pl.col("reason") == reason


EVERY = ShownErrors("Errors", _of_reason, its_days)


WITH_MESSAGE = ShownErrors(
    "Errors with the message", lambda finding, _seen: pl.col("template") == finding.scope.template, its_days
)


BY_OUTCOME = ("query", "errors-by-reason-caller-outcome")
DRAFT_RULES = ("unknowns", "--suggest")
WRITE_A_RULE = "write a rule for them; the command drafts one"


def noted_part(finding: Finding, pattern: re.Pattern[str]) -> str | None:
    """Return what a pattern matches in the note of its latest day.

    The note is all of a test's result that a night writes down beside the figures.
    """
    match = pattern.search(finding.latest.note or "")
    return match[1] if match else None
