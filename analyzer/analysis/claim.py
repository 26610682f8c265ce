"""Collect what a provider's support asks for: failures that are the provider's, outages, and stated resets."""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from analyzer.agent_stream import mapping, text
from analyzer.analysis.tables import Window, json_ready, json_rows
from analyzer.errors import AnalyzerError, InputError
from analyzer.events.times import parse_time
from analyzer.frozen import frozen
from analyzer.store import Store

TABLES = ("failures", "outages", "resets")
_TIMES = ("began_at", "ended_at")


@frozen
class Claim:
    """What is claimed from a provider, and nothing about the work that met it."""

    provider: str
    window: Window
    """The window that was asked."""
    failures: pl.DataFrame
    outages: pl.DataFrame
    resets: pl.DataFrame
    incidents: pl.DataFrame
    """Incidents of the status page during which a failure happened, with the number of these failures."""

    requests: int
    """Requests of sessions whose log states the usage of single requests; 0 without such a session."""
    failed_requests: int
    """Of these, the ones that failed by the provider's fault."""

    @property
    def inferred(self) -> int:
        """Return the failures whose log names no provider: those of Claude Code, by the name of its model."""
        return self.failures.filter(pl.col("provider_basis") == "inferred").height

    @property
    def failure_rate(self) -> float | None:
        """Return failed_requests / requests, 0..1; None if no log counts requests."""
        return self.failed_requests / self.requests if self.requests else None

    @property
    def without_id(self) -> int:
        """Return the failures by which the provider finds no request."""
        return self.failures["request_id"].null_count()

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        tables = {name: json_rows(getattr(self, name)) for name in (*TABLES, "incidents")}
        figures = {"cost_usd": round(float(self.failures["cost_usd"].sum()), 6), "without_id": self.without_id}
        figures |= {"requests": self.requests, "failed_requests": self.failed_requests, "inferred": self.inferred}
        head = {"schema": "analyzer.claim/1", "provider": self.provider, "window": json_ready(self.window)}
        return {**head, **figures, "failure_rate": self.failure_rate, **tables}


def claim(store: Store, provider: str, status: bytes | None = None, window: Window | None = None) -> Claim:
    """Collect a claim from the failures of a window; `status` is a Statuspage's JSON of incidents.

    Raises:
        AnalyzerError: the store has no request to such a provider.
        InputError: the status page has no incidents that can be read.
    """
    chosen = window or Window()
    names = {name.lower(): name for name in store.query("claim-requests")["provider"]}
    if not names:
        raise AnalyzerError(
            f"unknown provider {provider!r}: no log of this store names a provider", "read logs: analyzer ingest PATH"
        )
    if provider.lower() not in names:
        raise AnalyzerError.unknown_value("provider", provider, names.values())
    provider = names[provider.lower()]
    ends = {"since": chosen.since, "until": chosen.until}
    counted = store.query("claim-requests", **ends).filter(pl.col("provider") == provider).to_dicts()
    totals = counted[0] if counted else {"requests": 0, "failures": 0}
    values = {**ends, "provider": provider}
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
    return Claim(
        provider,
        chosen,
        **frames,
        incidents=pl.DataFrame(rows, schema=schema),
        requests=totals["requests"],
        failed_requests=totals["failures"],
    )


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
