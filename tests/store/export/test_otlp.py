"""What went wrong as OpenTelemetry logs: to a file, to a collector on the loopback, and read back as events."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import analyzer
from analyzer.analysis import check
from analyzer.cli import call
from analyzer.importers.telemetry.otlp import attributes_of
from analyzer.store import Store
from analyzer.store.export.otlp import RECORDS, requests
from tests import REPOSITORY


@pytest.fixture(scope="module")
def name(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store of the samples, one night judged."""
    name = str(tmp_path_factory.mktemp("otlp") / "s.duckdb")
    with analyzer.open_store(name, writable=True) as store:
        store.ingest([str(REPOSITORY / "sample_events")])
        check(store, until="2026-11-10")
    return name


class Collector(ThreadingHTTPServer):
    """Keeps what is sent to it, and answers as it is told to."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.taken: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.answer: tuple[int, bytes] = (200, b"{}")
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.taken.append((self.path, {key.lower(): value for key, value in self.headers.items()}, body))
        status, answer = self.server.answer
        self.send_response(status)
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        """Nothing on stderr."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    """A collector on the loopback."""
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def records(request: dict[str, Any]) -> list[dict[str, Any]]:
    """The log records of a request, their attributes as a mapping."""
    return [
        {
            **record,
            "attributes": attributes_of(record["attributes"]),
            "resource": attributes_of(held["resource"]["attributes"]),
        }
        for held in request["resourceLogs"]
        for scope in held["scopeLogs"]
        for record in scope["logRecords"]
    ]


def exported(name: str, folder: Path, *more: str) -> list[dict[str, Any]]:
    """The records that a file has."""
    assert call(["export", "--otlp", str(folder / "o.jsonl"), "--store", name, "--quiet", *more]) == 0
    return [
        record for line in (folder / "o.jsonl").read_text("utf-8").splitlines() for record in records(json.loads(line))
    ]


def test_every_error_chain_hand_off_and_finding_is_a_record(name: str, tmp_path: Path) -> None:
    """As many as the views have, in order of time, with ids of which none comes twice."""
    found = exported(name, tmp_path)
    with analyzer.open_store(name) as store:
        (expected,) = store.sql(
            "select (select count(*) from errors) as errors, (select count(ended_at) from retries) as retries,"
            " (select count(*) from relays) as relays, (select count(*) from findings) as findings"
        ).rows()
    counts = Counter(record["eventName"] for record in found)
    events = ("gen_ai.client.operation.exception", "agent_error.retry", "agent_error.relay", "agent_error.finding")
    assert tuple(counts[each] for each in events) == expected
    assert [int(each["timeUnixNano"]) for each in found] == sorted(int(each["timeUnixNano"]) for each in found)
    assert len({each["attributes"]["log.record.uid"] for each in found}) == len(found)


def test_an_attempt_has_the_names_of_the_conventions(name: str, tmp_path: Path) -> None:
    """Type, message, status, provider, session and caller of a refusal; its chain shares a trace id."""
    found = exported(name, tmp_path)
    refused = next(each for each in found if each["attributes"].get("agent_error.operation") == "figma-probe-1102-1")
    assert refused["attributes"] == {
        "event.name": "gen_ai.client.operation.exception",
        "error.type": "429",
        "exception.message": "Rate limit exceeded",
        "http.response.status_code": 429,
        "gen_ai.provider.name": "figma",
        "gen_ai.conversation.id": "s-01",
        "session.id": "s-01",
        "gen_ai.agent.name": "figma-probe",
        "log.record.uid": refused["attributes"]["log.record.uid"],
        "agent_error.attempt": 1,
        "agent_error.fingerprint": refused["attributes"]["agent_error.fingerprint"],
        "agent_error.operation": "figma-probe-1102-1",
        "agent_error.outcome": "recovered",
        "agent_error.party": "account",
        "agent_error.reason": "rate_limited",
        "agent_error.retry_after_seconds": 30.0,
    }
    assert (refused["severityNumber"], refused["severityText"]) == (13, "WARN")
    chain = [each for each in found if each.get("traceId") == refused["traceId"]]
    assert [each["eventName"] for each in chain] == ["gen_ai.client.operation.exception", "agent_error.retry"]
    assert len(bytes.fromhex(refused["traceId"])) == 16


def test_a_window_is_sent_alone(name: str, tmp_path: Path) -> None:
    """Windows that follow each other give each record once."""
    parts = [exported(name, tmp_path, "--until", "2026-11-05"), exported(name, tmp_path, "--since", "2026-11-05")]
    ids = [each["attributes"]["log.record.uid"] for part in parts for each in part]
    whole = [each["attributes"]["log.record.uid"] for each in exported(name, tmp_path)]
    assert all(parts) and sorted(ids) == sorted(whole)


def by_caller(store: Store) -> list[tuple[Any, ...]]:
    """Errors by caller, session and chain, and ends of chains."""
    return [
        *store.sql("select caller, session_id, operation, attempt, occurred_at from errors order by all").rows(),
        *store.sql(
            "select operation, caller, reason, outcome, attempts from retries where ended_at is not null order by all"
        ).rows(),
    ]


def test_what_was_written_is_read_back(name: str, tmp_path: Path) -> None:
    """A store of the export has the same errors and chains, and reads the export again without an event more."""
    exported(name, tmp_path)
    with analyzer.open_store(name) as store, analyzer.open_store(":memory:") as again:
        first = again.ingest([str(tmp_path / "o.jsonl")]).total
        assert (first.quarantined, first.skipped) == (0, 0)
        assert by_caller(again) == by_caller(store)
        # Hand-offs and findings are sent to be shown.
        assert again.sql("select (select count(*) from relays), (select count(*) from findings)").row(0) == (0, 0)
        same = "select session_id, occurred_at, message, reason from errors where message is not null order by all"
        ours, theirs = store.sql(same).rows(), again.sql(same).rows()
    assert [row[:3] for row in ours] == [row[:3] for row in theirs]
    assert (
        sum(one == other for one, other in zip(ours, theirs, strict=True)) >= len(ours) - 3
    )  # judged by their exit code


def test_errors_of_every_agent_come_back(tmp_path: Path) -> None:
    """Also those of Gemini CLI, whose own records of this name are twins of others; its provider is named as before."""
    log = analyzer.EventLog(tmp_path / "log")
    error = {"status": 429, "message": "Too many requests"}
    log.error_classified(
        error, caller="gemini-cli", session="s", agent="gemini-cli", provider="google", outcome="surfaced"
    )
    for folder in ("log", "o.jsonl"):
        name = f"{tmp_path / folder}.duckdb"
        with analyzer.open_store(name, writable=True) as store:
            store.ingest([str(tmp_path / folder)])
            assert store.sql("select agent, provider, outcome from errors").rows() == [
                ("gemini-cli", "google", "surfaced")
            ]
        (record,) = exported(name, tmp_path)
        assert record["attributes"]["gen_ai.provider.name"] == "gcp.gemini"


def test_secrets_stay_out(tmp_path: Path) -> None:
    """What the log took out is not in the export."""
    log = analyzer.EventLog(tmp_path / "log")
    log.error_classified({"status": 401, "message": "bad key sk-ant-api03-" + "a" * 93}, caller="planner")
    name = str(tmp_path / "s.duckdb")
    with analyzer.open_store(name, writable=True) as store:
        store.ingest([log.folder])
    (record,) = exported(name, tmp_path)
    assert "REDACTED" in record["body"]["stringValue"] and "sk-ant-api03-" not in json.dumps(record)


def test_a_collector_takes_them(
    name: str, collector: Collector, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They arrive at /v1/logs with the headers of OpenTelemetry's variable; the address is shown without its path."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b,x-tenant=t")
    assert call(["export", "--otlp", collector.url, "--store", name]) == 0
    ((path, headers, body),) = collector.taken
    assert (path, headers["content-type"], headers["api-key"]) == ("/v1/logs", "application/json", "a b")
    assert len(records(body)) == 179
    assert capsys.readouterr().err == "121 errors, 2 findings, 14 hand-offs, 42 retry chains → 127.0.0.1\n"
    assert call(["export", "--otlp", f"{collector.url}/secret/v1/logs", "--store", name, "--json"]) == 0
    assert collector.taken[-1][0] == "/secret/v1/logs"
    assert json.loads(capsys.readouterr().out)["otlp"] == {"error": 121, "finding": 2, "relay": 14, "retry": 42}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((400, b"no"), "HTTP 400"),
        ((200, b'{"partialSuccess":{"rejectedLogRecords":"3","errorMessage":"too old"}}'), "3 refused: too old"),
    ],
)
def test_a_collector_that_refuses_is_told(
    answer: tuple[int, bytes], said: str, name: str, collector: Collector, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 3, with what it said; an answer that takes a part alone is a refusal too."""
    collector.answer = answer
    assert call(["export", "--otlp", collector.url, "--store", name]) == 3
    assert said in capsys.readouterr().err


def test_large_exports_are_several_requests() -> None:
    """A request has at most so many records, and every record is in one of them."""
    row = dict.fromkeys(
        ("session_id", "caller", "agent", "agent_version", "project", "branch", "host", "provider", "model")
    )
    row |= dict.fromkeys(("reason", "outcome", "operation", "fingerprint", "said", "attempts", "seconds"))
    rows = [
        {**row, "kind": "retry", "severity": "info", "id": str(number), "occurred_at": datetime(2026, 11, 2)}
        for number in range(RECORDS + 1)
    ]
    assert [len(records(request)) for request in requests(rows, "1")] == [RECORDS, 1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["errors", "--otlp", "x"], "leave out VIEWs and --format"),
        (["--otlp", "grpc://x"], "no target of this kind: grpc"),
        (["--otlp", "x", "--to", "y"], "give either --to or --otlp"),
    ],
)
def test_what_cannot_be_meant_is_said(
    arguments: list[str], said: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 and a line that says what to write."""
    assert call(["export", *arguments, "--store", name]) == 2
    assert said in capsys.readouterr().err
