"""The public surface as a type checker sees it. Nothing here runs: `python -m mypy` reads it, with warnings for what is
ignored without need, so that a wrong use which passes is an error as well.

The examples of the documentation are checked in the same way, by `tests/test_docs.py`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import assert_type

import plotly.graph_objects as go
import polars as pl

import analyzer
from analyzer import analysis, recovery
from analyzer.analysis import charts
from analyzer.classifier import Ruleset, ruleset_for
from analyzer.report import render_html, render_markdown, render_text


def classifying(error: Exception, rules: Ruleset) -> None:
    """Anything is classified, by rules in any form."""
    verdict = analyzer.classify(error, at=datetime.now(UTC), rules=rules)
    assert_type(verdict, analyzer.Classification)
    assert_type(verdict.reason, str)
    assert_type(verdict.detail, str | None)
    assert_type(verdict.retryable, bool)
    assert_type(verdict.retry_after_seconds, float | None)
    assert_type(verdict.to_dict(), dict[str, object])
    analyzer.classify({"status": 429}, rules="my-rules.toml")
    analyzer.classify("Overloaded", rules=Path("my-rules.toml"))
    analyzer.classify(None, rules=None)
    analyzer.classify("slow", status=429, exit_code=1)
    analyzer.classify("Overloaded", rules=5)  # type: ignore[arg-type]
    analyzer.classify("Overloaded", ruleset=rules)  # type: ignore[call-arg]
    assert_type(ruleset_for("my-rules.toml"), Ruleset)


def logging(folder: os.PathLike[str], verdict: analyzer.Classification) -> None:
    """Every type of event has a method whose keywords are known."""
    log = analyzer.EventLog(folder, durability="event")
    assert_type(log.append("relay.triggered", {"step_id": "implement"}, session="s-42"), str | None)
    assert_type(log.error_classified(verdict, caller="planner", session="s-42"), str | None)
    log.retry_scheduled(operation="o", reason="rate_limited", attempt=1, delay_seconds=0.5)
    log.relay_triggered(step_id="implement", token_usage_percent=82)
    log.relay_triggered(step="implement")  # type: ignore[call-arg]
    analyzer.EventLog(folder, durability="never")  # type: ignore[arg-type]


def retrying(log: analyzer.EventLog) -> None:
    """A decorator keeps the signature of what it decorates, a call its result."""
    guard = analyzer.RateGuard("limits/")
    context = analyzer.ContextRecovery(summarizer=recovery.outline)
    assert_type(analyzer.observe(context, "planner", log=log, session=lambda: "s-42"), analyzer.ContextRecovery)
    retry = analyzer.Retry(
        "planner",
        provider="example",
        log=log,
        guard=guard,
        compress=context.compress,
        policy=recovery.Policy(backoff=recovery.Backoff(base_seconds=0.2), max_attempts={"network_transient": 5}),
        budget=recovery.IterationBudget(50),
    )

    @retry
    def ask(question: str, *, tokens: int = 1) -> int:
        return len(question) + tokens

    @retry
    async def ask_async(question: str) -> int:
        return len(question)

    assert_type(ask("why?", tokens=5), int)
    ask(5)  # type: ignore[arg-type]
    assert_type(retry.call(ask, "why?"), int)
    for attempt in retry.attempts("why?"):
        with attempt:
            ask("why?")
    assert_type(guard.state("example").ready, bool)
    assert_type(guard.block_until_ready("example"), float)
    assert_type(context.fit([{"role": "user", "content": "x"}]), recovery.Fitted)

    async def asking() -> None:
        assert_type(await ask_async("why?"), int)
        assert_type(await retry.call_async(ask_async, "why?"), int)


def supervising(pool: recovery.AgentPool, rules: Ruleset) -> None:
    """A run says how it ended."""
    limits = recovery.Limits(retries=2, timeout_seconds=60)
    run = analyzer.supervise(["echo", "hi"], agent="echo", limits=limits, pool=pool, rules=rules)
    assert_type(run, recovery.Run)
    assert_type(run.exit_code, int)
    assert_type(run.error, analyzer.AnalyzerError | None)
    assert_type(pool.choose(["claude", "codex"]), str | None)
    analyzer.supervise("echo hi", retries=2)  # type: ignore[call-arg]


def storing(path: os.PathLike[str], teams: pl.DataFrame) -> None:
    """Frames come out; values and own frames go in."""
    with analyzer.open_store(path, writable=True) as store:
        assert_type(store, analyzer.Store)
        result = store.ingest(["telemetry/"])
        assert_type(result.total.events, int)
    assert_type(store.views, pl.DataFrame)
    assert_type(store.query("errors-by-reason", since="7d", until=datetime(2026, 11, 8)), pl.DataFrame)
    assert_type(store.sql("from errors"), pl.DataFrame)
    store.sql("from errors where caller = ?", ["planner"])
    store.sql("from errors where caller = $caller", {"caller": "planner"})
    store.sql("from errors where caller = ?", 5)  # type: ignore[arg-type]
    store.register("teams", teams)
    store.register("teams", "teams.csv")  # type: ignore[arg-type]
    store.register("teams", teams.lazy())
    store.register("teams", {"caller": ["planner"]})
    store.register("teams", [{"caller": "planner"}])
    store.reclassify("my-rules.toml", apply=True)
    store.reclassify(ruleset_for("my-rules.toml"))


def analyzing(store: analyzer.Store, rules: Ruleset) -> None:
    """Windows are texts or windows, rules are files or rulesets, everywhere."""
    window = analysis.window("2026-11-01", "2026-11-08", timezone="Europe/Berlin")
    assert_type(window, analysis.Window)
    assert_type(analyzer.overview(store), analysis.Overview)
    assert_type(analyzer.spikes(store, "7d", rules="my-rules.toml"), analysis.Spikes)
    assert_type(analyzer.unknowns(store, window, suggest=True, rules=rules), analysis.Unknowns)
    assert_type(analyzer.check(store, until="2026-11-10", rules=Path("my-rules.toml")), analysis.Night)
    assert_type(analysis.each_night(store, "2026-11-01..2026-11-08", rules=rules), list[analysis.Night])
    assert_type(analysis.churn(store, rules, window), analysis.Churn)
    assert_type(analysis.alarm_changes(analysis.churn(store, "draft.toml").verdicts), analysis.AlarmChanges)
    assert_type(analysis.group(["session opened", "session closed"]), list[str])
    assert_type(analysis.table(store, "errors-by-reason", "7d").frame, pl.DataFrame)
    analyzer.overview(store, 7)  # type: ignore[arg-type]
    analyzer.spikes(store, last="7d")
    analyzer.overview(store, since="2026-11-01", until=datetime(2026, 11, 8), timezone="Europe/Berlin")
    analyzer.unknowns(store, lats="7d")  # type: ignore[call-arg]


def reading(overview: analysis.Overview, night: analysis.Night, unknown: analysis.Unknowns) -> None:
    """What results are made of."""
    assert_type(overview.verdict.headline, str)
    assert_type(overview.totals.unknown_share, float | None)
    assert_type(overview.tables["retries-outcomes"].to_polars(), pl.DataFrame)
    for case in overview.cases:
        assert_type(case.finding, analysis.Finding)
        assert_type(case.templates, pl.DataFrame)
        print(case.days)  # type: ignore[attr-defined]
    assert_type(night.day, date)
    assert_type(night.headline, str)
    assert_type(night.worst(), str | None)
    assert_type(night.fails("warning"), bool)
    assert_type(night.to_polars(), pl.DataFrame)
    assert_type(night.findings[0].scope, analysis.Scope)
    assert_type(unknown.headline, str)
    assert_type([group.suggestion for group in unknown.groups], list[analysis.RuleDraft | None])
    assert_type((render_html(overview), render_markdown(overview), render_text(overview)), tuple[str, str, str])


def drawing(store: analyzer.Store, overview: analysis.Overview, found: analysis.Spikes) -> list[go.Figure]:
    """Charts take what a store answers, or the report's tables."""
    charts.retries_chart(5)  # type: ignore[arg-type]
    return [
        found.plot(),
        charts.retries_chart(store.query("retries-outcomes")),
        charts.retries_chart(overview.tables["retries-outcomes"]),
        charts.unknown_share_chart(found),
        charts.unknown_share_chart(store.query("unknown-share")),
        charts.rules_chart(overview.drifts),
        *(charts.finding_chart(case) for case in overview.cases),
    ]


def failing() -> Mapping[str, object]:
    """Expected failures are of one kind."""
    try:
        analyzer.open_store("none.duckdb")
    except analyzer.AnalyzerError as error:
        return {"message": assert_type(error.message, str), "exit_code": assert_type(error.exit_code, int)}
    return {}
