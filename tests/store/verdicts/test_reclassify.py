"""Replay: history under other rules, recorded reasons beside new ones."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from analyzer.classifier.rules.loading import ruleset_for
from analyzer.store import Reclassification, Store, open_store
from analyzer.store.verdicts import rulesets
from tests.store.upkeep.test_rebuild import RULES as OVERLOADED


@pytest.fixture
def rules(tmp_path: Path) -> str:
    """A file with one more rule."""
    path = tmp_path / "rules.toml"
    path.write_text(OVERLOADED, "utf-8")
    return str(path)


@pytest.fixture
def path(tmp_path: Path, native: Callable[..., bytes]) -> str:
    """Seven errors: four with a new wording, one known, one that its caller only records, one without facts."""

    def error(event_id: str, message: str | None, reason: str, action: str, **known: object) -> bytes:
        facts = {"facts": {"message": message}} if message else {}
        return native(
            event_id, caller="c", reason=reason, action=action, retryable=False, ruleset="old", **facts, **known
        )

    lines = [
        error(f"u{number}", f"snapshot is being rehydrated, wait {number} s", "unknown", "surface")
        for number in range(4)
    ]
    lines.append(error("k", "Overloaded", "network_transient", "retry", detail="overloaded"))
    lines.append(error("r", "snapshot is being rehydrated, wait 0 s", "unknown", "record"))
    lines.append(error("n", None, "rate_limited", "wait_then_retry"))
    (tmp_path / "log.jsonl").write_bytes(b"".join(lines))
    with open_store(tmp_path / "s.duckdb", writable=True) as store:
        store.ingest([str(tmp_path / "log.jsonl")])
    return str(tmp_path / "s.duckdb")


def replay(path: str, rules: str | None = None, *, apply: bool = False) -> Reclassification:
    """Open, reclassify, close."""
    with open_store(path, writable=apply) as store:
        return store.reclassify(rules, apply=apply)


def reasons(path: str) -> dict[str, tuple[str, str]]:
    """Recorded and current reason by event."""
    with open_store(path) as store:
        return {row[0]: row[1:] for row in store.sql("select event_id, recorded_reason, reason from errors").rows()}


def test_a_dry_run_shows_what_would_change_and_changes_nothing(path: str, rules: str) -> None:
    """Cells with samples, actions, shares; the store is not even opened for writing."""
    before = Path(path).read_bytes()
    result = replay(path, rules)
    assert (result.examined, result.without_facts, result.changed, result.applied) == (6, 1, 5, False)
    changed = [cell for cell in result.matrix if cell.before != cell.after]
    assert [(cell.before, cell.after, cell.count) for cell in changed] == [("unknown", "network_transient", 5)]
    assert len(changed[0].samples) == 1
    assert changed[0].samples[0].startswith("snapshot is being rehydrated, wait ")
    assert [(cell.before, cell.after, cell.count) for cell in result.actions] == [("surface", "retry", 4)]
    assert (result.unknown_before, result.unknown_after) == (pytest.approx(5 / 7), 0)
    assert Path(path).read_bytes() == before


def test_applied_verdicts_stand_beside_the_recorded_ones(path: str, rules: str) -> None:
    """`reason` follows the active ruleset, `recorded_reason` never moves, and what has no facts keeps its reason."""
    result = replay(path, rules, apply=True)
    assert result.applied
    assert result.judged == 5
    now = reasons(path)
    assert now["u1"] == ("unknown", "network_transient")
    assert now["n"] == ("rate_limited", "rate_limited")
    with open_store(path) as store:
        row = store.sql(
            "select detail, action, retryable, rule, ruleset, counts_as_unknown from errors where event_id = 'u1'"
        )
        assert row.rows() == [("overloaded", "retry", True, "user.rehydration", result.ruleset, False)]
        assert store.sql("select action from errors where event_id = 'r'").item() == "record"
        assert store.sql("select count(*) from verdicts where not recorded").item() == 6
        assert store.sql("select count(*) from verdicts where recorded").item() == 7
        assert store.query("unknown-messages").height == 0


def test_the_decision_is_in_the_journal(path: str, rules: str, tmp_path: Path) -> None:
    """`ruleset.applied`, once, with what was active before."""
    first = replay(path, rules, apply=True)
    replay(path, rules, apply=True)
    second = replay(path, apply=True)
    lines = [
        json.loads(line)
        for file in (tmp_path / "s.journal").glob("*.jsonl")
        for line in file.read_text("utf-8").splitlines()
    ]
    applied = [line["payload"] for line in lines if line["type"] == "ruleset.applied"]
    assert applied == [{"ruleset": first.ruleset}, {"ruleset": second.ruleset, "previous": first.ruleset}]


def test_a_repeated_replay_judges_nothing_again(path: str, rules: str) -> None:
    """Facts that this ruleset has judged are left alone."""
    assert replay(path, rules, apply=True).judged == 5
    again = replay(path, rules, apply=True)
    assert (again.judged, again.changed) == (0, 5)


def test_an_interrupted_replay_goes_on_where_it_stopped(path: str, rules: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are kept as they are made; the ruleset becomes active at the end alone."""
    monkeypatch.setattr(rulesets, "CHUNK", 2)

    def stop(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with open_store(path, writable=True) as store, pytest.raises(KeyboardInterrupt):
        store.reclassify(rules, apply=True, progress=stop)
    assert reasons(path)["u1"] == ("unknown", "unknown")
    assert replay(path, rules, apply=True).judged == 3


def test_judging_history_takes_bounded_memory_and_gives_it_back(path: str, rules: str) -> None:
    """The database keeps within 500 MB meanwhile, and has its own limit afterwards, also where judging broke off."""
    asked = "select current_setting('memory_limit')"
    seen = []
    with open_store(path, writable=True) as store:
        before = store.sql(asked).item()

        def look(*_: int) -> None:
            seen.append(store.sql(asked).item())
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            store.reclassify(rules, progress=look)
        assert seen == ["476.8 MiB"]
        assert store.sql(asked).item() == before != seen[0]


def test_the_rules_that_judged_an_error_change_nothing(memory: Store, samples: Path) -> None:
    """Imported errors were classified by the rules of today: replaying them finds no change among foreign logs."""
    memory.ingest([str(samples / "claude-transcript.jsonl"), str(samples / "wave-run.ndjson")])
    result = memory.reclassify()
    assert result.examined > 0
    assert result.changed == 0
    assert result.rulesets == (result.ruleset,)


def test_errors_that_come_after_a_ruleset_was_applied_are_judged_by_it(
    path: str, native: Callable[..., bytes], tmp_path: Path
) -> None:
    """A night's new events show the active verdict without another replay."""
    replay(path, apply=True)
    line = native("late", caller="c", reason="unknown", facts={"status": 429, "message": "slow down"})
    (tmp_path / "late.jsonl").write_bytes(line)
    with open_store(path, writable=True) as store:
        store.ingest([str(tmp_path / "late.jsonl")])
    assert reasons(path)["late"] == ("unknown", "rate_limited")


def test_a_rules_file_that_has_changed_since_does_no_harm(
    path: str, rules: str, native: Callable[..., bytes], tmp_path: Path
) -> None:
    """Later events are judged by the rules as they were applied, which are kept beside the journal."""
    digest = replay(path, rules, apply=True).ruleset
    Path(rules).write_text("[[rule]]", "utf-8")
    (tmp_path / "late.jsonl").write_bytes(
        native("late", caller="c", reason="unknown", facts={"message": "snapshot is being rehydrated, 7 left"})
    )
    with open_store(path, writable=True) as store:
        assert store.ingest([str(tmp_path / "late.jsonl")]).unjudged == 0
    assert reasons(path)["late"] == ("unknown", "network_transient")
    assert ruleset_for(tmp_path / "s.journal" / "rulesets" / f"{digest}.toml").digest == digest


def test_rules_that_are_nowhere_any_more_are_told(
    path: str, rules: str, native: Callable[..., bytes], tmp_path: Path
) -> None:
    """Nothing is judged by rules other than the applied ones."""
    replay(path, rules, apply=True)
    Path(rules).write_text(OVERLOADED.replace("overloaded", "timeout"), "utf-8")
    shutil.rmtree(tmp_path / "s.journal" / "rulesets")
    (tmp_path / "late.jsonl").write_bytes(native("late", caller="c", reason="unknown", facts={"status": 429}))
    with open_store(path, writable=True) as store:
        assert store.ingest([str(tmp_path / "late.jsonl")]).unjudged == 1
    assert reasons(path)["late"] == ("unknown", "unknown")


def test_many_facts_are_judged_in_parts_with_the_same_result(
    path: str, rules: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By pages and chunks of a few facts, in whatever order they come, the verdicts are the same."""
    alone = replay(path, rules)
    monkeypatch.setattr(rulesets, "PAGE", 3)
    assert replay(path, rules) == alone
    monkeypatch.setattr(rulesets, "_ALL", rulesets._ALL + " order by place desc")
    assert replay(path, rules) == alone
    monkeypatch.setattr(rulesets, "CHUNK", 2)
    assert replay(path, rules) == alone


def test_a_loaded_ruleset_serves_as_well_as_its_file(
    path: str, rules: str, native: Callable[..., bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same verdicts, also after its file has gone; once applied it judges later events."""
    monkeypatch.setattr(rulesets, "CHUNK", 2)
    from_file, loaded = replay(path, rules), ruleset_for(rules)
    Path(rules).unlink()
    with open_store(path, writable=True) as store:
        assert store.reclassify(loaded) == from_file
        assert set(store.verdicts(loaded)["rule"]) > {"user.rehydration"}
        store.reclassify(loaded, apply=True)
        assert store.judge_history() == loaded.digest
        line = native("late", caller="c", reason="unknown", facts={"message": "snapshot is being rehydrated"})
        (tmp_path / "late.jsonl").write_bytes(line)
        assert store.ingest([str(tmp_path / "late.jsonl")]).unjudged == 0
    assert reasons(path)["late"] == ("unknown", "network_transient")


def test_rules_that_move_are_found_where_they_are_applied_from(
    path: str, rules: str, native: Callable[..., bytes], tmp_path: Path
) -> None:
    """The same rules under another path: later events are judged again."""
    replay(path, rules, apply=True)
    moved = tmp_path / "moved.toml"
    Path(rules).rename(moved)
    replay(path, str(moved), apply=True)
    line = native("late", caller="c", reason="unknown", facts={"message": "snapshot is being rehydrated"})
    (tmp_path / "late.jsonl").write_bytes(line)
    with open_store(path, writable=True) as store:
        assert store.ingest([str(tmp_path / "late.jsonl")]).unjudged == 0
    assert reasons(path)["late"] == ("unknown", "network_transient")


def test_an_error_without_a_reason_counts_as_unknown_until_it_is_judged(
    memory: Store, native: Callable[..., bytes], tmp_path: Path
) -> None:
    """Nobody said why: that is what unknown means."""
    (tmp_path / "log.jsonl").write_bytes(native("a", caller="c", facts={"status": 429}))
    memory.ingest([str(tmp_path / "log.jsonl")])
    query = "select recorded_reason, reason, counts_as_unknown from errors"
    assert memory.sql(query).rows() == [(None, "unknown", True)]
    result = memory.reclassify(apply=True)
    assert [(cell.before, cell.after, cell.count) for cell in result.matrix] == [("(none)", "rate_limited", 1)]
    assert result.changed == 1
    assert memory.sql(query).rows() == [(None, "rate_limited", False)]
