"""Collect what a provider's support asks for: failures that are the provider's, outages, and stated resets."""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from analyzer.agent_stream import mapping, text
from analyzer.analysis.tables import json_rows
from analyzer.errors import InputError
from analyzer.events.times import parse_time
from analyzer.frozen import frozen
from analyzer.store import Store

TABLES = ("failures", "outages", "resets")
_TIMES = ("began_at", "ended_at")


@frozen
class Claim:
    """What is claimed from a provider, and nothing about the work that met it."""

    provider: str
    failures: pl.DataFrame
    outages: pl.DataFrame
    resets: pl.DataFrame
    incidents: pl.DataFrame
    """Incidents of the status page during which a failure happened, with the number of these failures."""

    @property
    def without_id(self) -> int:
        """Return the failures by which the provider finds no request."""
        return self.failures["request_id"].null_count()

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        tables = {name: json_rows(getattr(self, name)) for name in (*TABLES, "incidents")}
        figures = {"cost_usd": round(float(self.failures["cost_usd"].sum()), 6), "without_id": self.without_id}
        return {"schema": "analyzer.claim/1", "provider": self.provider, **figures, **tables}


def claim(store: Store, provider: str, status: bytes | None = None, **window: object) -> Claim:
    """Collect a claim from the failures of a window; `status` is a Statuspage's JSON of incidents.

    Raises:
        InputError: the status page has no incidents that can be read.
    """
    values = {**window, "provider": provider}
    frames = {name: store.query(f"claim-{name}", **values) for name in TABLES}
    moments = frames["failures"]["occurred_at"]
    rows = []
    for incident in incidents_in(status) if status is not None else ():
        began, ended = incident["began_at"], incident["ended_at"]
        during = moments.filter((moments >= began) & (moments <= ended if ended else True))
        if len(during):
            rows.append({**incident, "failures": len(during)})
    texts, times = dict.fromkeys(("name", "impact"), pl.String()), dict.fromkeys(_TIMES, pl.Datetime("us"))
    schema: dict[str, pl.DataType] = {**texts, **times, "failures": pl.Int64()}
    return Claim(provider, **frames, incidents=pl.DataFrame(rows, schema=schema))


def incidents_in(content: bytes) -> list[dict[str, Any]]:
    """Return the incidents of a Statuspage's JSON, as `/api/v2/incidents.json` has them.

    Raises:
        InputError: the content has none.
    """
    try:
        listed = mapping(json.loads(content)).get("incidents")
        return [
            {
                "name": text(incident["name"]),
                "impact": text(incident.get("impact")),
                "began_at": parse_time(incident.get("started_at") or incident["created_at"]),
                "ended_at": parse_time(incident["resolved_at"]) if incident.get("resolved_at") else None,
            }
            for incident in map(mapping, listed if isinstance(listed, list) else [{}])
        ]
    except (ValueError, KeyError, RecursionError):
        hint = "save the page's /api/v2/incidents.json"
        raise InputError("the status page holds no incidents that can be read", hint) from None
