"""Write logs: `analyzer emit` from shells and files, `hook` from agents, `receive` over HTTP."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from analyzer.cli.inputs import read_lines, rules_in_use, stated_time
from analyzer.cli.options import log_option, quiet_option
from analyzer.cli.output import narrate, write
from analyzer.errors import PARTIAL, AnalyzerError, InputError, StoreError

if TYPE_CHECKING:
    from analyzer.cli.inputs import JsonLine

TOKEN = "ANALYZER_RECEIVE_TOKEN"  # noqa: S105 - the name of the variable
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
FACTS = frozenset(
    ("status", "code", "type", "subtype", "message", "body", "headers", "exit_code", "stdout", "stderr",
     "exception_class")
)  # fmt: skip
"""Keys of a payload that the classifier reads and that its verdict replaces."""
KEPT_FACTS = frozenset({"failure_reason"})
"""Keys that the classifier reads, too, and that stay keys of the event."""


@click.command("hook")
@click.argument("what", type=click.Choice(["status", "stop", "codex", "gemini"]), required=False)
@click.argument("payload", metavar="[GIVEN]", required=False)
def hook_command(what: str | None, payload: str | None) -> int:
    """Log failures from an agent's hooks, or print a status line.

    \b
      analyzer hook < input.json
      analyzer hook status < input.json
      analyzer hook stop ~/.analyzer-stop < input.json
      analyzer hook codex '{"type": "agent-turn-complete", "thread-id": "t-1"}'
      analyzer watch ~/.local/share/analyzer/hooks

    It reads StopFailure, PostToolUseFailure and SessionEnd of Claude Code; with gemini, AfterTool and SessionEnd
    of Gemini CLI; with codex, the JSON of Codex's `notify`. It writes to $ANALYZER_HOOKS, default
    ~/.local/share/analyzer/hooks. With status it prints a status line for Claude Code: retries, their cause, and
    how full the limits are. With stop it ends the turn of Claude Code while the file of analyzer budget --stop is
    there. It always exits with 0.
    """
    from analyzer.recovery.hooks import run  # `analyzer.__main__` calls it without this package

    return run(what, payload)


@click.command("receive")
@click.option(
    "--listen",
    default="127.0.0.1:4318",
    metavar="HOST:PORT",
    show_default=True,
    help="The address; port 0 picks a free one.",
)
@log_option
@quiet_option
def receive_command(listen: str, folder: str, quiet: bool) -> None:
    """Accept logs, traces and metrics as OpenTelemetry over HTTP, and write them to a folder.

    \b
      analyzer receive --log telemetry
      export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318
      export OTEL_EXPORTER_OTLP_PROTOCOL=http/json OTEL_LOGS_EXPORTER=otlp
      CLAUDE_CODE_ENABLE_TELEMETRY=1 claude
      analyzer report telemetry

    Each request becomes a line of otlp-DAY.*.jsonl, without secrets, and is on disk before it is acknowledged. A
    full disk answers 503, too many requests 429. To listen on other addresses, set $ANALYZER_RECEIVE_TOKEN;
    senders pass it as Authorization: Bearer TOKEN. For protobuf: pip install 'agent-error-analyzer[receive]'.
    """
    from analyzer.cli.receiving import serve

    host, separator, port = listen.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not separator or not host or not (port.isascii() and port.isdigit()) or int(port) > 65_535:
        raise AnalyzerError(f"no address: {listen}", "write HOST:PORT, as in 127.0.0.1:4318")
    token = os.environ.get(TOKEN) or None
    if host not in _LOOPBACK and token is None:
        raise AnalyzerError(f"{host} can be reached from elsewhere", f"set ${TOKEN}, or listen on 127.0.0.1")

    def began(address: str) -> None:
        narrate(f"listening on {address}, writing to {folder}", quiet=quiet)

    serve(host, int(port), folder, token, began)


@click.command("emit")
@click.argument("event_type", metavar="[TYPE]", required=False)
@click.argument("pairs", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--from", "source", metavar="FILE", help="Append events from JSON lines; - is standard input.")
@log_option
@click.option("--session", metavar="ID", help="Session of events that name none.")
@click.option("--strict", is_flag=True, help="Exit with 4 if a line is no event.")
def emit_command(
    event_type: str | None, pairs: tuple[str, ...], source: str | None, folder: str, session: str | None, strict: bool
) -> int:
    """Append an event to a log, and print its ID.

    \b
      analyzer emit error.classified caller=figma-probe status=429 message=slow
      analyzer emit relay.triggered step_id=implement token_usage_percent=82
      analyzer emit --from events.jsonl --log telemetry --strict
      analyzer emit - < events.jsonl

    A VALUE may be JSON or text. An error.classified without a reason is classified here, from status, code, type,
    message, body, headers, exit_code, stdout and stderr. Secrets are removed first. --from reads many events,
    each a JSON object with type and optionally payload, session and timestamp; invalid lines are reported and
    skipped.
    """
    if source is None and event_type == "-":
        source, event_type = "-", None
    if (source is None) == (event_type is None) or (source is not None and pairs):
        raise click.UsageError("give either a TYPE with KEY=VALUE pairs, or --from FILE")
    if source is not None:
        return _append_lines(source, folder, session, strict)
    assert event_type is not None  # it is either a TYPE or --from
    _append_one(event_type, dict(_pair(item) for item in pairs), folder, session)
    return 0


def _append_one(event_type: str, payload: dict[str, Any], folder: str, session: str | None) -> None:
    from analyzer.events import EventLog

    _tell_unknown(event_type)
    with EventLog(folder) as log:
        written = log.append(event_type, _classified(event_type, payload), session=session)
    if written is None:
        raise StoreError(f"the event could not be written to {folder}", "check the folder and its permissions")
    write(written, None)


def _append_lines(source: str, folder: str, session: str | None, strict: bool) -> int:
    """Append the events of a file; a line that is no event is told on stderr and left out."""
    from analyzer.events import EventLog

    written = bad = 0
    event_types: set[str] = set()
    with EventLog(folder) as log:
        for line in read_lines(source):
            try:
                event_type, payload, own, at = _event(line)
            except AnalyzerError as error:
                bad += 1
                narrate(f"{source}:{line.number}: {error.message}; {error.hint}")
                continue
            if event_type not in event_types:
                event_types.add(event_type)
                _tell_unknown(event_type)
            event_id = log.append(event_type, _classified(event_type, payload), session=own or session, at=at)
            if event_id is None:
                raise StoreError(
                    f"{source}:{line.number}: the event could not be written to {folder}; {written} before it were",
                    "check the folder and its permissions",
                )
            written += 1
            write(event_id, None)
    if bad and not written:
        raise InputError(f"{source}: no line of {bad} is an event", _SHAPE)
    if bad:
        narrate(f"{source}: {written} events written, {bad} lines left out")
    return PARTIAL if bad and strict else 0


_SHAPE = 'write {"type": "relay.triggered", "payload": {"step_id": "plan"}, "session": "s-42"}'


def _event(line: JsonLine) -> tuple[str, dict[str, Any], str | None, datetime | None]:
    """Return type, payload, session and time of the event of a line.

    Raises:
        AnalyzerError: the line is no event.
    """
    if line.why is not None:
        raise AnalyzerError(line.why, _SHAPE)
    record = line.value
    if not isinstance(record, dict):
        raise AnalyzerError("no JSON object", _SHAPE)
    event_type, payload = record.get("type"), record.get("payload")
    if not isinstance(event_type, str) or not event_type:
        raise AnalyzerError("it has no type", _SHAPE)
    if payload is not None and not isinstance(payload, dict):
        raise AnalyzerError("its payload is no object", _SHAPE)
    session = record.get("session", record.get("sessionId"))
    if session is not None and not isinstance(session, str):
        raise AnalyzerError("its session is no text", _SHAPE)
    stated = record.get("timestamp")
    at = stated_time(stated)
    if stated is not None and at is None:
        raise AnalyzerError("its timestamp is no ISO 8601 time", "write 2026-11-21T08:15:30Z")
    return event_type, dict(payload or {}), session, None if at is None else at.replace(tzinfo=UTC)


def _tell_unknown(event_type: str) -> None:
    from analyzer.events.payloads import EVENT_TYPES

    if event_type not in EVENT_TYPES:
        unknown = AnalyzerError.unknown_value("event type", event_type, EVENT_TYPES)
        narrate(f"note: {unknown.message}; it is written anyway ({unknown.hint})")


def _classified(event_type: str, payload: dict[str, Any]) -> dict[str, Any]:
    """Return the payload, with the classifier's verdict if it is an error without a reason."""
    if event_type != "error.classified" or "reason" in payload:
        return payload
    from analyzer.classifier import classify
    from analyzer.events import error_payload

    raw = {key: payload.pop(key) for key in list(payload) if key in FACTS}
    raw |= {key: payload[key] for key in KEPT_FACTS if key in payload}
    verdict = error_payload(classify(raw, rules=rules_in_use(None)))
    return {**verdict, **{key: value for key, value in payload.items() if value is not None}}


def _pair(item: str) -> tuple[str, Any]:
    key, separator, value = item.partition("=")
    if not separator or not key:
        raise AnalyzerError(f"not KEY=VALUE: {item!r}", "write caller=figma-probe status=429")
    try:
        return key, json.loads(value)
    except (ValueError, RecursionError):
        return key, value
