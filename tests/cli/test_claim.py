"""What `analyzer claim` hands to a provider's support: its own failures with their ids, and nothing of the work."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from analyzer.cli import cli
from analyzer.errors import AnalyzerError

Native = Callable[..., bytes]
PLANTED = ("ada", "orchard", "write a poem", "sk-ant-api03-" + "Zq9" * 20, "feature/x", "s-secret")


def _store(folder: Path, native: Native) -> str:
    """A store with four failures of the provider in three sessions, others' failures, a limit, and planted values."""
    work = {"cwd": "/home/ada/orchard", "project": "orchard", "branch": "feature/x", "caller": "bot@orchard"}
    provider = {"provider": "anthropic", "model": "large-5", **work}
    server = {"reason": "network_transient", "detail": "server_error", **provider}
    words = f"Internal error in '/home/ada/orchard/a.py' of \"write a poem\" key {PLANTED[3]}"
    spent = {**provider, "request": "r", "input_tokens": 1_000, "output_tokens": 10, "cost_usd": 0.25, "region": "us"}

    def error(number: int, session: str, **fields: Any) -> bytes:
        return native(f"e{number}", at=f"2026-11-02T08:0{number}:00", session=session, **fields)

    lines = [
        error(1, "s-secret", facts={"type": "api_error", "message": words}, request_id="req_one", **server),
        native("u1", "usage.recorded", "2026-11-02T08:01:00", session="s-secret", **spent),
        error(2, "s-2", facts={"status": 529, "headers": {"request-id": "req_two"}}, **server),
        native("u2", "usage.recorded", "2026-11-02T08:02:00", session="s-2", **{**spent, "request": "r2"}),
        error(3, "s-3", facts={"status": 503, "message": 'Overloaded for "write a poem"'}, **server),
        error(7, "s-2", facts={"status": 503, "message": 'Overloaded for "write a song"'}, **server),
        error(4, "s-2", reason="rate_limited", facts={"status": 429}, **provider),
        error(5, "s-2", reason="validation", facts={"status": 400}, **provider),
        error(6, "s-2", **{**server, "provider": "openai"}, facts={"status": 500}),
    ]
    limit = {"agent": "claude-code", "reset_at": "2026-11-02T10:00:00Z", **provider}
    lines += [
        native("x1", "agent.exhausted", "2026-11-02T09:00:00", **limit),
        native("x2", "agent.exhausted", "2026-11-02T12:00:00", **{**limit, "reset_at": None}),
        native("u3", "usage.recorded", "2026-11-02T13:30:00", **{**spent, "request": "r3", "agent": "claude-code"}),
    ]
    (folder / "log.jsonl").write_bytes(b"".join(lines))
    store = str(folder / "a.duckdb")
    CliRunner().invoke(cli, ["ingest", str(folder / "log.jsonl"), "--store", store], catch_exceptions=False)
    return store


def test_a_claim_counts_only_what_is_the_providers(tmp_path: Path, native: Native) -> None:
    """Status errors cost nothing; the account, the request and other providers are left out."""
    page = {"incidents": [{"name": "Errors", "impact": "major", "created_at": "2026-11-02T08:02:00Z"}]}
    page["incidents"].append(
        {"name": "Old", "created_at": "2026-11-01T08:00:00Z", "resolved_at": "2026-11-01T09:00:00Z"}
    )
    (tmp_path / "status.json").write_text(json.dumps(page))
    options = ["--store", _store(tmp_path, native), "--status", str(tmp_path / "status.json"), "--json"]
    answer = json.loads(CliRunner().invoke(cli, ["claim", "anthropic", *options], catch_exceptions=False).stdout)
    names = ("request_id", "status", "message", "tokens", "cost_usd", "region")
    assert [tuple(row[name] for name in names) for row in answer["failures"]] == [
        ("req_one", None, None, 1_010, 0.25, "us"),
        ("req_two", 529, None, 1_010, None, "us"),
        *[(None, 503, "Overloaded for <*>", None, None, None)] * 2,
    ]
    assert (answer["cost_usd"], answer["without_id"]) == (0.25, 2)
    assert [(row["failures"], row["sessions"], row["hours"]) for row in answer["outages"]] == [(4, 3, 0.1)]
    assert [(row["refused_at"], row["hours_late"]) for row in answer["resets"]] == [("2026-11-02T12:00:00.000Z", 3.5)]
    assert [(row["name"], row["failures"]) for row in answer["incidents"]] == [("Errors", 3)]


def test_a_claim_takes_a_provider_of_the_store_in_any_case(tmp_path: Path, native: Native) -> None:
    """Others are refused with a list, and the page has the window, the rate, and how long an outage lasted."""
    asked = ["--store", _store(tmp_path, native)]
    done = CliRunner().invoke(cli, ["claim", "nobody", *asked])
    assert isinstance(done.exception, AnalyzerError)
    assert (done.exception.message, done.exception.hint) == ("unknown provider 'nobody'", "known: anthropic, openai")
    done = CliRunner().invoke(cli, ["claim", "Anthropic", "--since", "2026-11-02", *asked], catch_exceptions=False)
    text = " ".join(done.stdout.split())
    assert text.startswith("Claim to anthropic Window: from 2026-11-02 00:00 UTC on.")
    assert "In sessions whose log counts all requests, 3 of 6 requests (50.0%) failed so." in text
    assert " 6 min 0 s" in text


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("claude-opus-4-5", "anthropic"),
        (None, "anthropic"),
        ("us.anthropic.claude-opus-4-5-v1:0", "aws"),
        ("claude-opus-4-5@20251101", "google"),
        ("glm-4.6", None),
    ],
)
def test_an_error_of_claude_code_without_a_provider_counts_by_its_model(
    tmp_path: Path, native: Native, model: str | None, provider: str | None
) -> None:
    """Three errors of one moment are an outage of one moment; the model of another maker is nobody's."""
    at = "2026-11-02T08:00:00"
    facts = {"reason": "network_transient", "detail": "server_error", "agent": "claude-code", "facts": {"status": 529}}
    lines = [native(f"e{number}", at=at, session=f"s{number}", model=model, **facts) for number in range(3)]
    lines.append(native("o", at=at, session="o", provider="openai", agent="codex", facts={"status": 500}))
    (tmp_path / "log.jsonl").write_bytes(b"".join(lines))
    store = ["--store", str(tmp_path / "a.duckdb")]
    CliRunner().invoke(cli, ["ingest", str(tmp_path / "log.jsonl"), *store], catch_exceptions=False)
    for name in ("anthropic", "aws", "google"):
        done = CliRunner().invoke(cli, ["claim", name, "--format", "markdown", *store])
        assert isinstance(done.exception, AnalyzerError) == (name != provider)
        if name == provider:
            assert "| one moment |" in done.stdout
            assert "Of the failures, 3 name no provider: they are of Claude Code" in done.stdout


def test_a_claim_holds_nothing_of_the_work(tmp_path: Path, native: Native) -> None:
    """No file of it names a session, a project, a path, a branch, a prompt or a secret."""
    path = tmp_path / "claim.zip"
    options = ["--store", _store(tmp_path, native), "--output", str(path)]
    CliRunner().invoke(cli, ["claim", "anthropic", *options], catch_exceptions=False)
    with zipfile.ZipFile(path) as packed:
        texts = {name: packed.read(name).decode() for name in packed.namelist()}
    assert sorted(texts) == ["claim.html", "claim.md", "failures.csv", "incidents.csv", "outages.csv", "resets.csv"]
    assert [(name, value) for name, text in texts.items() for value in PLANTED if value in text] == []
    assert all("req_one" in texts[name].replace("\\", "") for name in ("claim.html", "claim.md", "failures.csv"))
