"""`analyzer unknowns` and `rules backtest --store` as commands: from an unknown error to a rule that is tried."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run


def test_groups_are_shown_with_the_verdict_first(run: Run, store: str) -> None:
    """Eighty columns where there is no terminal; the store's name is short, since a hint is never broken in two."""
    done = run("unknowns", "--store", Path(store).name)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("3 of 6 templates make 82.4% of 17 unknown errors.")
    assert "Canvas shard <*> is parked, <*> readers ahead of you" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_json_is_the_contracts(run: Run, store: str) -> None:
    """One object; groups carry what the contract promises."""
    content = json.loads(run("unknowns", "--store", store, "--json", "--limit", "2").stdout)
    assert content["schema"] == "analyzer.unknowns/1"
    assert [group["count"] for group in content["groups"]] == [8, 4]
    assert content["groups"][0]["suggestion"] is None


def test_a_group_can_be_named(run: Run, store: str) -> None:
    """Only it is shown; a name that is none is told with what there is."""
    name = json.loads(run("unknowns", "--store", store, "--json").stdout)["groups"][1]["fingerprint"]
    assert run("unknowns", name, "--store", store).stdout.count("Canvas shard <*>") == 1
    assert "Design file" not in run("unknowns", name, "--store", store, "--suggest").stdout.partition("\n\n")[2]
    done = run("unknowns", "1-abc", "--store", store)
    assert (done.returncode, done.stdout) == (2, "")
    assert "unknown group '1-abc'" in done.stderr


def test_from_an_unknown_error_to_a_rule(run: Run, store: str, tmp_path: Path) -> None:
    """Draft, choose a reason, test, try on history: the template is recovered."""
    done = run("unknowns", "--store", store, "--suggest", "--output", "draft.toml")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("draft.toml: rules for 0 of 6 groups")
    refused = run("rules", "test", "--rules", "draft.toml")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "no rules in the file" in refused.stderr
    text = (tmp_path / "draft.toml").read_text("utf-8")
    entry = next(block for block in text.split("\n\n") if 'id = "canvas_shard' in block).partition("# [[rule]]")[2]
    chosen = "[[rule]]" + entry.replace("\n# ", "\n").replace('reason = ""', 'reason = "network_transient"')
    (tmp_path / "draft.toml").write_text(chosen, "utf-8")
    assert run("rules", "test", "--rules", "draft.toml").returncode == 0
    tried = run("rules", "backtest", "--rules", "draft.toml", "--store", store)
    assert tried.returncode == 0
    assert tried.stdout.startswith("1 template recovered, 0 templates regressed, 0 templates moved under ruleset")
    content = json.loads(run("rules", "backtest", "--rules", "draft.toml", "--store", store, "--json").stdout)
    assert content["schema"] == "analyzer.rules-churn/1"
    assert content["recovered"][0]["events"] == 4


@pytest.mark.parametrize("arguments", [(), ("--labels", "x.jsonl", "--store", "x.duckdb")], ids=["neither", "both"])
def test_a_backtest_needs_labels_or_a_store(run: Run, arguments: tuple[str, ...]) -> None:
    """One of them, not both."""
    done = run("rules", "backtest", *arguments)
    assert done.returncode == 2
    assert "give either --labels FILE or --store FILE" in done.stderr


def test_a_draft_with_evidence_is_ready_as_it_is(
    run: Run, jsonl: Callable[..., Path], native: Any, tmp_path: Path
) -> None:
    """A near known error speaks for the reason, and the file works without a touch."""
    lines = [
        native(
            str(n),
            session=f"s{n}",
            caller="c",
            reason=reason,
            rule="r",
            facts={"message": f"Canvas shard {n} is {what}"},
        )
        for n, (reason, what) in enumerate(
            [("unknown", "parked for readers")] * 3 + [("network_transient", "parked for writers")] * 3
        )
    ]
    path = jsonl("log.jsonl", *(line.decode().strip() for line in lines))
    run("ingest", str(path), "--store", "y.duckdb")
    done = run("unknowns", "--store", "y.duckdb", "--suggest", "--output", "draft.toml")
    assert done.stderr.startswith("draft.toml: rules for 1 of 1 groups")
    assert run("rules", "test", "--rules", "draft.toml").returncode == 0
    assert "1 template recovered" in run("rules", "backtest", "--rules", "draft.toml", "--store", "y.duckdb").stdout
    assert "COLLIDES" not in (tmp_path / "draft.toml").read_text("utf-8")
