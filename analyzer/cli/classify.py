"""`analyzer classify`: one error from the argument, or many as JSON lines."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import UTC, datetime

import click

from analyzer.cli.output import write


@click.command("classify")
@click.argument("text", required=False)
@click.option("--status", type=int, help="HTTP status, beside TEXT.")
@click.option("--exit-code", type=int, help="Exit code of the command that printed TEXT.")
@click.option("--at", metavar="TIME", help="When it happened (ISO 8601); relative reset times count from there.")
def command(text: str | None, status: int | None, exit_code: int | None, at: str | None) -> None:
    """Say which reason an error has: one line of JSON for TEXT, or one for each line on stdin with -.

    Lines on stdin are JSON objects with any of: status, code, type, message, body, headers, exit_code, stdout, stderr,
    exception_class, provider, cause, response, timestamp. A line that is no JSON is classified as text.

    \b
      analyzer classify "prompt is too long: 210000 tokens > 200000 maximum"
      analyzer classify --status 529 Overloaded
      echo '{"status": 429, "message": "slow down"}' | analyzer classify -
    """
    from analyzer.errors import AnalyzerError
    from analyzer.events.times import parse_time

    if text is None:
        raise AnalyzerError("nothing to classify", "give a TEXT, or - for JSON lines on stdin")
    try:
        moment = parse_time(at)
    except ValueError:
        moment = None
    if at is not None and moment is None:
        raise AnalyzerError(f"--at is no ISO 8601 time: {at!r}", "write 2026-11-21T08:15:30Z")
    if text != "-":
        given: dict[str, object] = {"message": text} if exit_code is None else {"stdout": text, "exit_code": exit_code}
        if status is not None:
            given["status"] = status
        write(_line(given, moment), None)
        return
    for raw in sys.stdin.buffer:
        write(_line(_parsed(raw), moment), None)


def _parsed(raw: bytes) -> object:
    line = raw.decode("utf-8", "replace").strip()
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return line


def _line(error: object, at: datetime | None) -> str:
    from analyzer.classifier import classify
    from analyzer.events.times import parse_time

    if isinstance(error, Mapping) and at is None:
        try:
            at = parse_time(error.get("timestamp"))
        except ValueError:
            at = None
    verdict = classify(error, at=at.replace(tzinfo=UTC) if at else None)
    return json.dumps(verdict.to_dict(), ensure_ascii=False, allow_nan=False)
