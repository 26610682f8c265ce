"""`analyzer classify` says which reason an error has: one from the argument, or many as JSON lines."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from analyzer.cli.error_input import described, stated_time, time_option
from analyzer.cli.options import rules_option
from analyzer.cli.output import write

if TYPE_CHECKING:
    from analyzer.classifier import Ruleset


@click.command("classify")
@click.argument("text", required=False)
@click.option("--status", type=int, help="HTTP status, beside TEXT.")
@click.option("--exit-code", type=int, help="Exit code of the command that printed TEXT.")
@rules_option
@click.option("--at", metavar="TIME", help="When it happened (ISO 8601); relative reset times count from there.")
def command(
    text: str | None, status: int | None, exit_code: int | None, rules_path: str | None, at: str | None
) -> None:
    """Say which reason an error has: one line of JSON for TEXT, or one for each line on stdin with -.

    Lines on stdin are JSON objects with any of: status, code, type, message, body, headers, exit_code, stdout, stderr,
    exception_class, failure_reason, provider, cause, response, timestamp. A line that is no JSON is classified as text.

    \b
      analyzer classify "prompt is too long: 210000 tokens > 200000 maximum"
      analyzer classify --status 529 Overloaded
      echo '{"status": 429, "message": "slow down"}' | analyzer classify -
    """
    from analyzer.classifier.rules.loading import ruleset_for
    from analyzer.cli.settings import rules_in_use
    from analyzer.errors import AnalyzerError

    if text is None:
        raise AnalyzerError("nothing to classify", "give a TEXT, or - for JSON lines on stdin")
    moment = time_option(at)
    ruleset = ruleset_for(rules_in_use(rules_path))
    if text != "-":
        write(_line(described(text, status, exit_code), moment, ruleset), None)
        return
    for raw in sys.stdin.buffer:
        write(_line(_parsed(raw), moment, ruleset), None)


def _parsed(raw: bytes) -> object:
    line = raw.decode("utf-8", "replace").strip()
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return line


def _line(error: object, at: datetime | None, ruleset: Ruleset) -> str:
    from analyzer.classifier import classify
    from analyzer.report.escape import json_text

    if isinstance(error, Mapping) and at is None:
        at = stated_time(error.get("timestamp"))
    verdict = classify(error, at=at.replace(tzinfo=UTC) if at else None, rules=ruleset)
    return json_text(verdict.to_dict())
