"""`analyzer emit` appends one event from a shell or a hook, or many from a file of JSON lines."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from analyzer.cli.inputs import stated_time
from analyzer.cli.options import DEFAULT_LOG
from analyzer.cli.output import narrate, write
from analyzer.errors import PARTIAL, AnalyzerError, InputError, StoreError

if TYPE_CHECKING:
    from analyzer.cli.inputs import JsonLine

FACTS = frozenset(
    {
        "status",
        "code",
        "type",
        "subtype",
        "message",
        "body",
        "headers",
        "exit_code",
        "stdout",
        "stderr",
        "exception_class",
    }
)
"""Keys that are raw material for the classifier."""

TOLD = frozenset({"failure_reason"})
"""Keys that the classifier sees too, and that stay keys of the event."""


@click.command("emit")
@click.argument("event_type", metavar="[TYPE]", required=False)
@click.argument("pairs", nargs=-1, metavar="[KEY=VALUE]...")
@click.option(
    "--from", "source", metavar="FILE", help="Append the events of a file of JSON lines; - is standard input."
)
@click.option("--log", "folder", default=DEFAULT_LOG, metavar="DIR", help=f"The log folder. Default {DEFAULT_LOG}/.")
@click.option("--session", metavar="ID", help="The agent's session; for lines that name none.")
@click.option("--strict", is_flag=True, help="Exit with 4 when a line of --from is no event.")
def command(
    event_type: str | None,
    pairs: tuple[str, ...],
    source: str | None,
    folder: str,
    session: str | None,
    strict: bool,
) -> int:
    """Append one event to a log, and print its id. A VALUE that is JSON is taken as such, else as text.

    An error.classified without a reason is classified here, from the KEYs that an error has: status, code, type,
    message, body, headers, exit_code, stdout, stderr. Secrets are taken out before anything is written.

    With --from FILE, or - for TYPE, many events are appended: each line is a JSON object with type and, if need be,
    payload, session and timestamp. A line that is no event is told with its number and left out.

    \b
      analyzer emit relay.triggered step_id=implement token_usage_percent=82
      analyzer emit error.classified caller=figma-probe status=429 message=slow
      analyzer emit --from events.jsonl --log telemetry --strict
      analyzer emit - < events.jsonl
    """
    if source is None and event_type == "-":
        source, event_type = "-", None
    if (source is None) == (event_type is None) or (source is not None and pairs):
        raise click.UsageError("give either a TYPE with KEY=VALUE pairs, or --from FILE")
    if source is not None:
        return _append_lines(source, folder, session, strict)
    assert event_type is not None  # of the two, one is given
    _append_one(event_type, dict(_pair(item) for item in pairs), folder, session)
    return 0


def _append_one(event_type: str, payload: dict[str, Any], folder: str, session: str | None) -> None:
    from analyzer.events import EventLog

    _tell_unknown(event_type)
    with EventLog(folder) as log:
        written = log.append(event_type, _judged(event_type, payload), session=session)
    if written is None:
        raise StoreError(f"the event could not be written to {folder}", "check the folder and its permissions")
    write(written, None)


def _append_lines(source: str, folder: str, session: str | None, strict: bool) -> int:
    """The events of a file, one after another; what is none is told and left out."""
    from analyzer.cli.inputs import read_lines
    from analyzer.events import EventLog

    written = bad = 0
    told: set[str] = set()
    with EventLog(folder) as log:
        for line in read_lines(source):
            try:
                event_type, payload, own, at = _event(line)
            except AnalyzerError as error:
                bad += 1
                narrate(f"{source}:{line.number}: {error.message}; {error.hint}")
                continue
            if event_type not in told:
                told.add(event_type)
                _tell_unknown(event_type)
            event_id = log.append(event_type, _judged(event_type, payload), session=own or session, at=at)
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
    """Type, payload, session and time of a line.

    Raises:
        AnalyzerError: it is no event.
    """
    if line.why is not None:
        raise AnalyzerError(line.why, _SHAPE)
    found = line.value
    if not isinstance(found, dict):
        raise AnalyzerError("no JSON object", _SHAPE)
    event_type, payload = found.get("type"), found.get("payload")
    if not isinstance(event_type, str) or not event_type:
        raise AnalyzerError("it has no type", _SHAPE)
    if payload is not None and not isinstance(payload, dict):
        raise AnalyzerError("its payload is no object", _SHAPE)
    session = found.get("session", found.get("sessionId"))
    if session is not None and not isinstance(session, str):
        raise AnalyzerError("its session is no text", _SHAPE)
    stated = found.get("timestamp")
    at = stated_time(stated)
    if stated is not None and at is None:
        raise AnalyzerError("its timestamp is no ISO 8601 time", "write 2026-11-21T08:15:30Z")
    return event_type, dict(payload or {}), session, None if at is None else at.replace(tzinfo=UTC)


def _tell_unknown(event_type: str) -> None:
    from analyzer.events.payloads import EVENT_TYPES

    if event_type not in EVENT_TYPES:
        unknown = AnalyzerError.unknown_value("event type", event_type, EVENT_TYPES)
        narrate(f"note: {unknown.message}; it is written all the same ({unknown.hint})")


def _judged(event_type: str, payload: dict[str, Any]) -> dict[str, Any]:
    """The payload; that of an error without a reason, with the classifier's verdict."""
    if event_type != "error.classified" or "reason" in payload:
        return payload
    from analyzer.classifier import classify
    from analyzer.cli.settings import rules_in_use
    from analyzer.events import error_payload

    raw = {key: payload.pop(key) for key in list(payload) if key in FACTS}
    raw |= {key: payload[key] for key in TOLD if key in payload}
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
