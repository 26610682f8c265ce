"""`analyzer emit`: one event from a shell or a hook."""

from __future__ import annotations

import json
from typing import Any

import click

from analyzer.cli.options import DEFAULT_LOG
from analyzer.cli.output import narrate, write
from analyzer.errors import AnalyzerError, StoreError

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


@click.command("emit")
@click.argument("event_type", metavar="TYPE")
@click.argument("pairs", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--log", "folder", default=DEFAULT_LOG, metavar="DIR", help=f"The log folder. Default {DEFAULT_LOG}/.")
@click.option("--session", metavar="ID", help="The agent's session.")
def command(event_type: str, pairs: tuple[str, ...], folder: str, session: str | None) -> None:
    """Append one event to a log, and print its id. A VALUE that is JSON is taken as such, else as text.

    An error.classified without a reason is classified here, from the KEYs that an error has: status, code, type,
    message, body, headers, exit_code, stdout, stderr. Secrets are taken out before anything is written.

    \b
      analyzer emit relay.triggered step_id=implement token_usage_percent=82
      analyzer emit error.classified caller=figma-probe status=429 message=slow
    """
    from analyzer.events import EventLog, error_payload
    from analyzer.events.payloads import EVENT_TYPES

    payload = dict(_pair(item) for item in pairs)
    if event_type not in EVENT_TYPES:
        unknown = AnalyzerError.unknown_value("event type", event_type, EVENT_TYPES)
        narrate(f"note: {unknown.message}; it is written all the same ({unknown.hint})")
    with EventLog(folder) as log:
        if event_type == "error.classified" and "reason" not in payload:
            from analyzer.classifier import classify
            from analyzer.classifier.rules import ruleset_for
            from analyzer.cli.settings import rules_in_use

            raw = {key: payload.pop(key) for key in list(payload) if key in FACTS}
            verdict = classify(raw, ruleset=ruleset_for(rules_in_use(None)))
            payload = dict(error_payload(verdict, **payload))
        written = log.append(event_type, payload, session=session)
    if written is None:
        raise StoreError(f"the event could not be written to {folder}", "check the folder and its permissions")
    write(written, None)


def _pair(item: str) -> tuple[str, Any]:
    key, separator, value = item.partition("=")
    if not separator or not key:
        raise AnalyzerError(f"not KEY=VALUE: {item!r}", "write caller=figma-probe status=429")
    try:
        return key, json.loads(value)
    except (ValueError, RecursionError):
        return key, value
