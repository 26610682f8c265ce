"""What a ruleset would change in history, and the daily counts under it."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.analysis.churn import churn, mcnemar
from analyzer.analysis.observations import counts, templates
from analyzer.store import Store

RULES = """
[[rule]]
id = "parked"
reason = "rate_limited"
text = ['is parked, \\d+ readers']
source = "a test"
examples = ["Canvas shard 4 is parked, 5 readers", "Canvas shard 5 is parked, 6 readers"]
counter_examples = ["parked"]

[[rule]]
id = "ledger"
reason = "auth_error"
text = ['^invalid ledger page$']
source = "a test"
examples = ["Invalid ledger page", "invalid ledger page"]
counter_examples = ["ledger"]

[[rule]]
id = "overloaded_text"
disabled = true
"""


@pytest.fixture
def rules(tmp_path: Path) -> str:
    """A file that recovers one template, moves one and loses another."""
    path = tmp_path / "rules.toml"
    path.write_text(RULES, "utf-8")
    return str(path)


def test_templates_change_sides(history: Store, rules: str) -> None:
    """Recovered, regressed and moved, each with its rule and its counts; nothing of it is kept."""
    found = churn(history, rules)
    assert [(each.template, each.after, each.rule, each.events, each.sessions) for each in found.recovered] == [
        ("Canvas shard <*> is parked, <*> readers ahead of you", "rate_limited", "parked", 6, 4)
    ]
    assert [(each.before, each.after, each.rule) for each in found.moved] == [("validation", "auth_error", "ledger")]
    assert [(each.before, each.events) for each in found.regressed] == [("network_transient", 3)]
    assert found.recovered[0].samples
    assert (found.events.changed, found.events.total) == (10, 16)
    assert history.sql("select count(*) from verdicts where not recorded").item() == 0


def test_the_store_itself_changes_nothing_where_the_rules_are_its_own(history: Store, rules: str) -> None:
    """After the ruleset was applied, the same rules change nothing."""
    history.reclassify(rules, apply=True)
    found = churn(history, rules)
    assert (found.events.changed, found.p_value) == (0, 1.0)
    assert found.to_polars().is_empty()


def test_the_churn_is_json_and_a_frame(history: Store, rules: str) -> None:
    """One row a change; the counts stand beside the lists."""
    found = churn(history, rules)
    assert found.to_polars()["kind"].to_list() == ["recovered", "regressed", "moved"]
    content = found.to_dict()
    assert content["events"] == {"changed": 10, "total": 16, "share": 0.625}
    assert content["mcnemar"]["freed"] == found.sessions_freed


@pytest.mark.parametrize(
    ("freed", "spoiled", "p_value"),
    [(0, 0, 1.0), (1, 0, 1.0), (5, 0, 0.0625), (8, 2, 0.109375), (4, 4, 1.0), (3_000, 2_000, 2.6e-45)],
)
def test_mcnemar_is_exact(freed: int, spoiled: int, p_value: float) -> None:
    """Twice the tail of a fair coin, at most one, for any number of sessions."""
    assert mcnemar(freed, spoiled) == pytest.approx(p_value, rel=0.02)
    assert mcnemar(spoiled, freed) == mcnemar(freed, spoiled)


def test_daily_counts_count_groups_not_repeats(history: Store) -> None:
    """A session that repeats one error is one group; aborts are in no column."""
    frame = counts(history)
    assert frame["events"].sum() == 15
    assert frame["unknown_events"].sum() == frame["unknown_events_replayed"].sum() == 11
    auditor = frame.filter(caller="auditor")
    assert auditor["unknown_groups"].to_list() == [1] * auditor.height
    assert auditor["unknown_events"].sum() == 4
    assert frame.columns == [
        *("day", "caller", "sessions", "groups", "events", "unknown_sessions", "unknown_groups", "unknown_events"),
        *("unknown_sessions_replayed", "unknown_groups_replayed", "unknown_events_replayed"),
    ]


def test_replayed_columns_follow_the_rules_and_recorded_ones_do_not(history: Store, rules: str) -> None:
    """By verdicts that were handed over, and just so once the ruleset is the active one."""
    tried = counts(history, verdicts=churn(history, rules).verdicts)
    assert tried["unknown_events"].sum() == 11
    assert tried["unknown_events_replayed"].sum() == 8
    history.reclassify(rules, apply=True)
    assert counts(history).equals(tried)


def test_templates_by_day_count_sessions(history: Store, rules: str) -> None:
    """One row a day, caller and unknown template, under the rules that are asked for."""
    frame = templates(history)
    assert set(frame["template"]) == {
        "Canvas shard <*> is parked, <*> readers ahead of you",
        "Ledger page <*> is sealed until the audit",
        "Reply <*> belongs to no open call",
    }
    assert set(frame.filter(caller="auditor")["sessions"]) == {1}
    tried = templates(history, verdicts=churn(history, rules).verdicts)
    assert "Canvas shard <*> is overloaded, try again" in set(tried["template"])


def test_a_window_narrows_the_counts(history: Store) -> None:
    """Half open, by day."""
    assert counts(history, since="2026-11-03", until="2026-11-04")["day"].n_unique() == 1
    assert templates(history, "2026-11-03", "2026-11-04")["day"].n_unique() == 1
