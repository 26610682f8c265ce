"""The built-in rules as they were read before are those of `rules.toml`, or are not taken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analyzer.classifier.rules import loading
from analyzer.classifier.rules.loading import READ_BEFORE, read_before
from tests import reference

TOML = Path(loading.BUILT_IN).read_bytes()


def test_rules_json_is_current():
    """`python -m tests.reference` would change nothing."""
    assert Path(READ_BEFORE).read_text("utf-8") == reference.built_in_rules()


def test_both_ways_give_one_ruleset():
    """Rules, places, shared patterns, digest and texts of patterns are those that the TOML gives."""
    kept, anew = read_before(TOML), loading.read_anew(TOML)
    assert kept is not None
    assert kept.digest == anew.digest
    assert [str(rule) for rule in kept.rules] == [str(rule) for rule in anew.rules]
    assert kept.places == anew.places
    assert (kept.status_patterns, kept.prose_patterns) == (anew.status_patterns, anew.prose_patterns)
    assert [(p.uses, p.text) for p in kept.compiled.patterns] == [(p.uses, p.text) for p in anew.compiled.patterns]


@pytest.mark.no_cover  # it reads all rules again
def test_another_toml_is_read_itself(tmp_path, monkeypatch):
    """A rule that somebody has changed in `rules.toml` counts, whatever was read before."""
    changed = TOML.replace(b"ERR_HTTP2_STREAM_ERROR", b"ERR_HTTP3_STREAM_ERROR", 1)
    assert read_before(changed) is None
    (tmp_path / "rules.toml").write_bytes(changed)
    monkeypatch.setattr(loading, "BUILT_IN", str(tmp_path / "rules.toml"))
    found = loading.default_ruleset.__wrapped__()
    assert found.digest == loading.read_anew(changed).digest != loading.read_anew(TOML).digest


@pytest.mark.no_cover  # it reads all rules again
def test_a_missing_or_broken_file_is_no_obstacle(tmp_path, monkeypatch):
    """Without the file, and with one that breaks off, the TOML is read."""
    for content in (None, b"", json.dumps({"toml": "1-00000000"}).encode()):
        place = tmp_path / "rules.json"
        if content is not None:
            place.write_bytes(content)
        monkeypatch.setattr(loading, "READ_BEFORE", str(place))
        assert read_before(TOML) is None
        assert loading.default_ruleset.__wrapped__().digest == loading.read_anew(TOML).digest
