"""What a run of `analyzer nightly` did, step by step, for a terminal, as JSON and as Markdown.

Invariant: a step that failed is told with its reason and its hint, and the exit code is that of the gravest step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from analyzer.analysis.nightly.night import Night
from analyzer.command_lines import HERE, Asking
from analyzer.errors import FINDINGS, OK, PARTIAL, UNREADABLE, USAGE
from analyzer.report.documents.night_markdown import render_night_markdown
from analyzer.report.escape import markdown_text, terminal_safe
from analyzer.report.terminal.monospace import columns, fold
from analyzer.report.terminal.night import render_night_text

SCHEMA = "analyzer.nightly/1"
_GRAVEST = (UNREADABLE, USAGE, PARTIAL, FINDINGS, OK)
_WORDS = {OK: "ok", FINDINGS: "findings", PARTIAL: "partial"}


@dataclass(frozen=True, slots=True)
class JobStep:
    """One step of the night's job."""

    name: str
    """`ingest`, `check`, `report`, `prune`, `prometheus` or `webhook`."""
    exit_code: int
    """The code that the single command would have ended with."""
    said: str
    """What came of it, or why nothing did."""
    hint: str = ""
    """What to do about a failure."""


def gravest_code(steps: Sequence[JobStep]) -> int:
    """The one exit code of all steps: unreadable before usage, partial, findings, fine; any other code comes first."""
    codes = {step.exit_code for step in steps}
    other = codes - set(_GRAVEST)
    return max(other) if other else next((code for code in _GRAVEST if code in codes), OK)


def job_dict(steps: Sequence[JobStep], night: Night | None, store: str) -> dict[str, Any]:
    """JSON-ready: the steps in order, and the night as `analyzer.check/1`, null where it could not be judged."""
    return {
        "schema": SCHEMA,
        "store": store,
        "exit_code": gravest_code(steps),
        "steps": [
            {"step": step.name, "exit_code": step.exit_code, "said": step.said, "hint": step.hint or None}
            for step in steps
        ],
        "night": night.to_dict() if night else None,
    }


def render_job_text(
    steps: Sequence[JobStep], night: Night | None, width: int = 80, *, colour: bool = False, asking: Asking = HERE
) -> str:
    """A line a step, and below them the night where it has findings or remarks."""
    names = columns([(step.name, _WORDS.get(step.exit_code, "FAILED")) for step in steps], [False, False])
    lines = []
    for name, step in zip(names, steps, strict=True):
        widest = max(len(each) for each in names)
        first, *more = fold(terminal_safe(step.said), max(width - widest - 2, 20)) or [""]
        lines.append(f"{name:{widest}}  {first}".rstrip())
        lines += [f"{'':{widest}}  {each}" for each in more]
    if night and (night.findings or night.remarks):
        # Its headline stands with the step.
        lines += ["", render_night_text(night, width, colour=colour, asking=asking).partition("\n\n")[2].rstrip("\n")]
    return "\n".join(lines) + "\n"


def render_job_markdown(steps: Sequence[JobStep], night: Night | None) -> str:
    """A table of the steps, with the hints of those that failed, and below it the night."""
    rows = ["| Step | Exit code | What came of it |", "|---|--:|---|"]
    for step in steps:
        said = "; ".join(markdown_text(text) for text in (step.said, step.hint) if text)
        rows.append(f"| {step.name} | {step.exit_code} | {said} |")
    blocks = ["\n".join(rows), *([render_night_markdown(night).rstrip("\n")] if night else [])]
    return "\n\n".join(blocks) + "\n"
