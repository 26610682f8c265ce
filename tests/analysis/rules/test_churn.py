"""What a ruleset would change in history, and the daily counts under it."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.analysis import check, each_night, overview, spikes, unknowns
from analyzer.analysis.rules.ruleset_changes import churn, mcnemar
from analyzer.classifier import ruleset_for
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


def test_rules_are_a_file_or_a_loaded_ruleset(history: Store, rules: str) -> None:
    """Every analysis takes either, and says the same of both."""
    loaded = ruleset_for(rules)
    assert churn(history, loaded).to_dict() == churn(history, Path(rules)).to_dict()
    assert unknowns(history, suggest=True, rules=loaded) == unknowns(history, suggest=True, rules=rules)
    assert spikes(history, rules=loaded).to_dict() == spikes(history, rules=rules).to_dict()
    for given in (loaded, rules):
        assert overview(history, rules=given).drifts.ruleset == loaded.digest
        assert check(history, until="2026-11-05", rules=given, again=True).ruleset == loaded.digest
        assert {night.ruleset for night in each_night(history, "..2026-11-05", rules=given)} == {loaded.digest}


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
