"""Packs of rules: how a rules file names one, what the order of versions is, and that the rest of a file stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.classifier.rules import packs
from analyzer.classifier.rules.loading import BUILT_IN, pack_in, ruleset_for
from analyzer.config_files import toml
from analyzer.errors import RulesError
from tests import named
from tests.classifier.rules.test_user_rules import DISABLE, NEW, OVERRIDE

PACK = f'version = "2"\ndate = "2026-11"\nsources = ["a gateway"]\n{NEW}'


def test_the_built_in_rules_are_a_pack():
    """They say their version, date and sources, as every pack does."""
    found = pack_in(Path(BUILT_IN).read_bytes(), BUILT_IN)
    assert found.rules == len(ruleset_for(None).rules)
    assert found.sources


def test_own_rules_stand_above_the_pack_and_the_pack_above_the_built_in_ones(tmp_path):
    """An own rule replaces or disables one of the pack as it would a built-in one."""
    (tmp_path / "mine.pack-2.toml").write_text(PACK + OVERRIDE, "utf-8")
    mine = tmp_path / "mine.toml"
    mine.write_text('pack = "mine.pack-2.toml"\n' + NEW.replace("house_quota", "own_quota"), "utf-8")
    assert [rule.id for rule in ruleset_for(mine).rules[:2]] == ["own_quota", "house_quota"]
    assert next(rule for rule in ruleset_for(mine).rules if rule.id == "server_status").reason == "unknown"
    mine.write_text('pack = "mine.pack-2.toml"\n' + DISABLE.replace("server_status", "house_quota"), "utf-8")
    assert "house_quota" not in {rule.id for rule in ruleset_for(mine).rules}


def test_a_pack_that_stands_alone_takes_the_place_of_the_built_in_rules(tmp_path):
    """Nothing but its rules and the own ones is left."""
    (tmp_path / "mine.pack-2.toml").write_text("alone = true\n" + PACK, "utf-8")
    mine = tmp_path / "mine.toml"
    mine.write_text('pack = "mine.pack-2.toml"\n', "utf-8")
    assert [rule.id for rule in ruleset_for(mine).rules] == ["house_quota"]


def test_a_missing_pack_is_named(tmp_path):
    """Its path stands in the error, whoever asks for the rules."""
    mine = tmp_path / "mine.toml"
    mine.write_text('pack = "mine.pack-2.toml"\n', "utf-8")
    with pytest.raises(RulesError, match=r"mine\.pack-2\.toml"):
        ruleset_for(mine)


@pytest.mark.parametrize(
    ("mine", "pack", "says"),
    named(
        {
            "elsewhere": ('pack = "../mine.pack-2.toml"\n', PACK, "no name of a file beside"),
            "alone": ('alone = true\npack = "mine.pack-2.toml"\n', PACK, "`alone` and `pack`"),
            "half": ('pack = "mine.pack-2.toml"\n' + DISABLE + "weak = true\n", PACK, "disabled and still"),
            "no-rule": ('pack = "mine.pack-2.toml"\n' + DISABLE.replace("r_status", "s"), PACK, "unknown"),
        }
    ),
)
def test_a_file_that_misuses_its_pack_is_refused(tmp_path, mine, pack, says):
    """The error says what is wrong with the file that names the pack."""
    (tmp_path / "mine.pack-2.toml").write_text(pack, "utf-8")
    (tmp_path / "mine.toml").write_text(mine, "utf-8")
    with pytest.raises(RulesError, match=says):
        ruleset_for(tmp_path / "mine.toml")


@pytest.mark.parametrize(
    ("content", "says"),
    named(
        {
            "on-a-pack": ('pack = "other.toml"\n' + PACK, "not on another pack"),
            "no-date": (PACK.replace("date", "# date"), "says no date"),
            "no-rules": (PACK.removesuffix(NEW), "no rules"),
        }
    ),
)
def test_what_is_no_pack_is_refused(content, says):
    """A pack says what it is, holds rules and stands on the built-in ones."""
    with pytest.raises(RulesError, match=says):
        pack_in(content.encode(), "mine.pack-2.toml")


@pytest.mark.parametrize(("lower", "higher"), [("1", "2"), ("1.9", "1.10"), ("1", "1.0.1"), ("2026.11", "2027")])
def test_versions_are_ordered_by_their_numbers(lower, higher):
    """Not by their letters; what is before a version is the highest below it."""
    one, two = (pack_in(PACK.replace('"2"', f'"{each}"').encode(), "x") for each in (lower, higher))
    assert one.order < two.order
    assert pack_in(PACK.replace('"2"', f'"{lower}.0"').encode(), "x").order == one.order


@pytest.mark.parametrize(
    "text",
    [
        "",
        NEW,
        f'# mine\nversion = "3"\npack = "old.toml"\n{NEW}',
        f"prose_patterns = [\n  'x = y',\n]\n{NEW}",
        f'\n\n  pack="old.toml" # here\n{NEW}',
    ],
)
def test_a_line_is_written_and_the_rest_stays(text):
    """Comments, order and rules are as they were."""
    done = packs.naming(text, "mine.pack-2.toml")
    assert toml(done.encode()) == {**toml(text.encode()), "pack": "mine.pack-2.toml"}
    assert done.endswith(NEW) or not text
    counted = packs.counted_up(done, "2026-11-25", "here")
    assert toml(counted.encode())["version"] == ("4" if "version" in text else "1")
    assert toml(counted.encode())["sources"] == ["here"]


def test_a_line_that_cannot_be_written_is_asked_for():
    """A key in quotes is legal, and not looked for; who wrote it is told what to write."""
    with pytest.raises(RulesError, match="cannot be written into the rules file") as refused:
        packs.naming('"pack" = "old.toml"\n' + NEW, "new.toml")
    assert 'pack = "new.toml"' in refused.value.hint
