"""`analyzer classify`: say the reason of an error, or of many errors as JSON lines."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from analyzer.cli.inputs import ruleset_in_use, stated_time, time_option
from analyzer.cli.options import json_option, rules_option
from analyzer.cli.output import Out, is_terminal, terminal_width, write
from analyzer.errors import AnalyzerError

if TYPE_CHECKING:
    from analyzer.classifier import Classification, Ruleset


@click.command("classify")
@click.argument("text", required=False)
@click.option("--status", type=int, help="HTTP status.")
@click.option("--exit-code", type=int, help="Exit code of the command.")
@rules_option
@click.option("--at", metavar="TIME", help="When it happened (ISO 8601).")
@json_option
def command(
    text: str | None, status: int | None, exit_code: int | None, rules_path: str | None, at: str | None, out: Out
) -> None:
    """Tell why an error happened, and what to do next.

    \b
      analyzer classify "prompt is too long: 210000 tokens > 200000 maximum"
      analyzer classify --status 529 Overloaded
      echo '{"status": 429, "message": "slow down"}' | analyzer classify -

    With - it reads one error a line from stdin: a text, or a JSON object with any of status, code, type, message,
    body, headers, exit_code, stdout, stderr, exception_class, failure_reason, provider, cause, response,
    timestamp. A terminal gets words; a pipe gets one line of JSON an error.
    """
    from analyzer.classifier.reading.extract import described

    if text is None:
        raise AnalyzerError("nothing to classify", "give a TEXT, or - for JSON lines on stdin")
    moment = time_option(at)
    ruleset = ruleset_in_use(rules_path)
    errors = [described(text, status, exit_code)] if text != "-" else map(_parsed, sys.stdin.buffer)
    render = _json_line if out.form == "json" or not is_terminal(sys.stdout) else _words
    for error in errors:
        write(render(_classified(error, moment, ruleset)), None)


def _parsed(raw: bytes) -> object:
    line = raw.decode("utf-8", "replace").strip()
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return line


def _classified(error: object, at: datetime | None, ruleset: Ruleset) -> Classification:
    from analyzer.classifier import classify
    from analyzer.classifier.reading.reset_times import credible

    if isinstance(error, Mapping) and at is None:
        at = stated_time(error.get("timestamp"))
    if at is not None:
        return classify(error, at=at.replace(tzinfo=UTC), rules=ruleset)
    verdict = classify(error, rules=ruleset)
    # The error has no time; it hardly happened after now.
    return verdict._replace(reset_at=verdict.reset_at and credible(verdict.reset_at, datetime.now(UTC)))


def _json_line(verdict: Classification) -> str:
    from analyzer.report.escape import json_text

    return json_text(verdict.to_dict())


def _words(verdict: Classification) -> str:
    from analyzer.report.rules import verdict_document
    from analyzer.report.writers.text import to_text

    return to_text(verdict_document(verdict), terminal_width())
