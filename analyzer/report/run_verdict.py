"""Documents and files about the verdict on one run: a job's summary, outputs and mark, JUnit."""

from __future__ import annotations

import html

from analyzer.analysis.verdict.answer import MEANINGS, RunVerdict
from analyzer.events.times import format_time
from analyzer.report.document import Document, Heading, Items, TableBlock
from analyzer.report.escape import one_line

_WARNINGS = frozenset({"retry", "wait"})
"""The answers that nobody has to act on."""
_FAILURES = frozenset({"failed", "hollow"})
"""The answers about the work itself, which JUnit keeps apart from errors."""
_NO_FILES = frozenset({"-", "stdout", "stderr"})
_NOT_IN_XML = dict.fromkeys((0xFFFE, 0xFFFF), "\ufffd")


def verdict_document(verdict: RunVerdict) -> Document:
    """Return the sentence of a verdict, and the lines of the log that it rests on."""
    return [Items(_places(verdict), verdict.sentence)]


def _places(verdict: RunVerdict) -> list[str]:
    return [f"{source.file}:{source.line}" for source in verdict.evidence if source.line]


def verdict_summary(verdict: RunVerdict) -> Document:
    """Return the summary of a job: the sentence of the verdict, and a table of its fields."""
    rows = {
        "means": MEANINGS[verdict.verdict],
        "agent": verdict.agent,
        "reason": " / ".join(filter(None, (verdict.reason, verdict.detail))),
        "rule": f"{verdict.rule} ({verdict.confidence})",
        "caused by": verdict.party,
        "resets": format_time(verdict.reset_at) if verdict.reset_at else None,
        "try again in": f"{verdict.retry_after_seconds:.0f} s" if verdict.retry_after_seconds is not None else None,
        "exit code": verdict.exit_code,
        "tokens": ", ".join(
            f"{count:,} {name.removesuffix('_tokens')}" for name, count in (verdict.tokens or {}).items()
        ),
        "model": verdict.model,
        "cost": f"${verdict.cost_usd:.4f}" if verdict.cost_usd is not None else None,
        "evidence": "; ".join(_places(verdict)),
    }
    filled = [(name, str(value)) for name, value in rows.items() if value not in (None, "")]
    return [Heading(verdict.sentence, 4), TableBlock((), filled)]


def workflow_outputs(verdict: RunVerdict) -> str:
    """Write the outputs of a step, one a line; a field without a value is empty."""
    fields = verdict.to_dict()
    names = ("verdict", "reason", "rule", "party", "reset_at", "retry_after_seconds", "sentence", "model", "cost_usd")
    return "".join(f"{name}={one_line(str(fields[name])) if fields[name] is not None else ''}\n" for name in names)


def workflow_annotation(verdict: RunVerdict) -> str:
    """Write the command that marks a job with the verdict; empty for a run that passed."""
    if verdict.verdict == "passed":
        return ""
    level = "warning" if verdict.verdict in _WARNINGS else "error"
    place = next((source for source in verdict.evidence if source.line and source.file not in _NO_FILES), None)
    file = _escaped(one_line(place.file)).replace(":", "%3A").replace(",", "%2C") if place else ""
    where = f",file={file},line={place.line}" if place else ""
    return f"::{level} title=agent run: {verdict.verdict}{where}::{_escaped(one_line(verdict.sentence))}\n"


def render_junit(verdict: RunVerdict) -> str:
    """Write a run as a test case of JUnit.

    It passed, failed (also if it did nothing), or met an error around the work.
    """
    failed = verdict.verdict in _FAILURES
    error = not failed and verdict.verdict != "passed"
    inner = ""
    if failed or error:
        kind = "/".join(filter(None, (verdict.verdict, verdict.reason, verdict.detail)))
        lines = (f"{one_line(source.file)}:{source.line or ''} {one_line(source.text)}" for source in verdict.evidence)
        attributes = {"type": kind, "message": one_line(verdict.sentence)}
        inner = _element("failure" if failed else "error", attributes, html.escape("\n".join(lines)))
    case = _element("testcase", {"classname": one_line(verdict.agent or "agent"), "name": "run"}, inner)
    counts = {"tests": "1", "failures": str(int(failed)), "errors": str(int(error))}
    document = _element("testsuite", {"name": "analyzer verdict", **counts}, case).translate(_NOT_IN_XML)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{document}\n'


def _element(name: str, attributes: dict[str, str], inner: str) -> str:
    """Write an element of XML; `inner` is XML already."""
    written = "".join(f' {key}="{html.escape(value)}"' for key, value in attributes.items())
    return f"<{name}{written}>{inner}</{name}>"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
