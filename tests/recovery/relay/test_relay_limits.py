"""A summarizer only reads: a known agent is held to it, a manifest's names are understood, and both are told."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import json
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

from analyzer.errors import AnalyzerError
from analyzer.recovery import Backoff, ContextSettings, Limits, Policy, RelaySettings
from analyzer.recovery.relay.config import _PERSONA, Manifest, manifest
from analyzer.recovery.relay.summarizer_limits import PRESETS, limited
from tests import REPOSITORY, each_row


@each_row(
    "command, runs",
    [
        ("claude -p", "claude --tools=Read --strict-mcp-config -p"),
        ("claude -p 'Be brief'", "claude --tools=Read --strict-mcp-config -p 'Be brief'"),
        ("/opt/bin/claude -p --model haiku", "/opt/bin/claude --tools=Read --strict-mcp-config -p --model haiku"),
        ("claude -p --tools ''", "claude --strict-mcp-config -p --tools ''"),
        ("claude -p --tools Read,Grep --strict-mcp-config", "claude -p --tools Read,Grep --strict-mcp-config"),
        ("claude -p -- --yolo", "claude --tools=Read --strict-mcp-config -p -- --yolo"),
        ("env A=1 npx -y @anthropic-ai/claude-code@2 -p", None),
        ("codex exec -m small", "codex exec --sandbox read-only -m small"),
        ("codex -m small exec -", "codex -m small exec --sandbox read-only -"),
        ("codex exec -s read-only", "codex exec -s read-only"),
        ("codex exec -sread-only", "codex exec -sread-only"),
        ("gemini -m flash", "gemini --approval-mode plan -m flash"),
        ("copilot -s", "copilot --deny-tool=shell --deny-tool=write -s"),
        ("opencode run", "opencode run --agent checkpoint-summarizer"),
        ("llm -m small", "llm -o temperature 0 -m small"),
        ("llm -o max_tokens 500", "llm -o temperature 0 -o max_tokens 500"),
        ("llm -o temperature 0.0", "llm -o temperature 0.0"),
    ],
)
def test_a_known_agent_gets_its_limits(command: str, runs: str | None) -> None:
    """What holds a known agent to reading is added before its other words, unless it stands there already."""
    held = limited(command)
    expected = runs or "env A=1 npx -y @anthropic-ai/claude-code@2 --tools=Read --strict-mcp-config -p"
    assert list(held.words) == shlex.split(expected)
    assert held.note is not None and "only read" in held.note


@each_row(
    "command",
    [
        "claude -p --tools Read Bash",
        "claude -p --tools=default",
        "claude -p --tools Read --tools Write",
        "claude -p --dangerously-skip-permissions",
        "claude -p --mcp-config=servers.json",
        "codex exec --sandbox workspace-write",
        "codex exec -s=danger-full-access",
        "codex exec -sdanger-full-access",
        "codex exec --yolo",
        "gemini --approval-mode=yolo",
        "gemini -y",
        "copilot --allow-all",
        "opencode run --agent build",
        "opencode run --auto",
        "llm -o temperature 0.7",
        "llm -T run_shell",
    ],
)
def test_an_agent_that_asks_for_more_is_refused(command: str) -> None:
    """A command that contradicts its limits is refused with the setting that takes it as it is written."""
    with pytest.raises(AnalyzerError, match="more than reading") as caught:
        limited(command)
    assert 'summarizer_limits = "none"' in caught.value.hint
    written = limited(command, "none")
    assert (list(written.words), dict(written.environment), written.note) == (shlex.split(command), {}, None)


def test_temperature_0_where_an_agent_has_it() -> None:
    """opencode gets an agent of its own with temperature 0 and no tool but read; others are told to have no option."""
    held = limited("opencode run")
    (agent,) = json.loads(held.environment["OPENCODE_CONFIG_CONTENT"])["agent"].values()
    assert (agent["temperature"], agent["permission"]) == (0, {"*": "deny", "read": "allow"})
    assert held.note is not None and "at temperature 0" in held.note
    assert "no option" in (limited("claude -p").note or "")


def test_nothing_is_promised_of_an_unknown_command() -> None:
    """Another command runs as it is written, and that nothing is known of it is told."""
    held = limited("./brief.sh --short")
    assert (held.words, dict(held.environment)) == (("./brief.sh", "--short"), {})
    assert "'brief.sh'" in (held.note or "")


@pytest.mark.parametrize("command", ["claude -p 'open", "   "])
def test_a_command_line_that_cannot_be_read(command: str) -> None:
    """Quotes that stay open and nothing at all are refused, whatever the limits."""
    for limits in ("preset", "none"):
        with pytest.raises(AnalyzerError):
            limited(command, limits)


def test_every_preset_passes_its_own_check() -> None:
    """The command of each preset, once limited, needs nothing more."""
    for preset in PRESETS.values():
        once = shlex.join(limited(preset.command).words)
        again = limited(once).words
        assert [word for word in again if "deny-tool" not in word] == [
            word for word in shlex.split(once) if "deny-tool" not in word
        ]


def read(text: str) -> Manifest:
    """What a file says of hand-offs, which it does."""
    found = manifest(tomllib.loads(text))
    assert found is not None
    return found


MANIFEST = """
[runtime]
default_timeout_minutes = 30
[runtime.relay]
token_threshold_percent = 80
strategy = "summarize_to_checkpoint"
[[steps]]
id = "navigate"
[[steps]]
id = "implement"
[steps.handover.compaction]
trigger = "token_limit_60%"
persona = "summarizer"
[personas.summarizer]
adapter = "claude"
system_prompt_file = "prompts/summarizer.md"
temperature = 0.0
[personas.summarizer.permissions]
allowed_tools = ["Read"]
deny = ["Write(*)", "Bash(*)"]
"""


def test_a_manifest_is_read_with_notes() -> None:
    """Threshold, strategy, trigger and persona count under a manifest's names, and each is told by ours."""
    found = read(MANIFEST)
    assert found.config.settings.threshold_percent == 80
    step = found.config.of_step("implement")
    assert (step.threshold_percent, step.summarizer, step.summarizer_limits) == (60, "claude -p", "preset")
    assert step.summarizer_prompt_file == "prompts/summarizer.md"
    assert (found.config.of_step("navigate"), found.everywhere) == (found.config.settings, True)
    said = "\n".join(found.notes)
    assert "token_threshold_percent is read as [relay] threshold_percent" in said
    assert "[steps.implement.handover.compaction] is read as [relay.steps.implement]" in said
    assert "[personas.summarizer] system_prompt_file is read as summarizer_prompt_file" in said


PERSONA_KEYS = {
    "adapter": '"llm"',
    "model": '"small"',
    "permissions": '{ deny = ["Read"] }',
    "temperature": "0.7",
    "system_prompt_file": '"other.md"',
}
"""Each key of a persona that says what it does, with a value that asks for something else."""


@pytest.mark.parametrize("key", sorted({*_PERSONA} - {"description"}))
def test_every_key_of_a_persona_is_followed_or_refused(key: str) -> None:
    """Another value gives another summarizer, or an error with the reason; nothing is taken and left aside."""
    tables = '[[steps]]\nid = "a"\n[steps.handover.compaction]\npersona = "p"\n[personas.p]\nadapter = "claude"\n'
    text = tables.replace('adapter = "claude"\n', "" if key == "adapter" else 'adapter = "claude"\n')
    try:
        found = read(f"{text}{key} = {PERSONA_KEYS[key]}\n")
    except AnalyzerError as refused:
        assert refused.hint
        return
    assert found.config.of_step("a") != read(tables).config.of_step("a")


@pytest.mark.parametrize("settings", [RelaySettings, ContextSettings, Policy, Backoff, Limits])
def test_every_setting_is_read(settings: type[Any]) -> None:
    """Each field of what can be set about recovery is looked at outside of the class that declares it."""
    folder = REPOSITORY / "analyzer" / "recovery"
    own = importlib.import_module(settings.__module__).__file__
    trees = [ast.parse(path.read_text("utf-8")) for path in folder.rglob("*.py") if str(path) != own]
    trees += [
        node for node in ast.walk(ast.parse(Path(str(own)).read_text("utf-8"))) if isinstance(node, ast.FunctionDef)
    ]
    looked_at = {
        node.attr
        for tree in trees
        if getattr(tree, "name", "") != "__post_init__"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    }
    assert {each.name for each in dataclasses.fields(settings)} <= looked_at


@pytest.mark.parametrize(("name", "model"), [("claude", "claude -p --model small"), ("llm", "llm -m small")])
def test_a_personas_model_is_its_agents_option(name: str, model: str) -> None:
    """The model that a persona names is asked for by the option of its agent."""
    text = MANIFEST.replace('adapter = "claude"', f'adapter = "{name}"\nmodel = "small"')
    assert read(text).config.of_step("implement").summarizer == model


def test_our_own_table_stands_above_a_manifest() -> None:
    """What [relay] says counts where a manifest says something else; what it leaves open comes from there."""
    found = read(MANIFEST + "[relay]\nthreshold_percent = 50\n[relay.steps.implement]\nthreshold_percent = 40\n")
    assert found.config.of_step("navigate").threshold_percent == 50
    assert (found.config.of_step("implement").threshold_percent, found.config.of_step("implement").summarizer) == (
        40,
        "claude -p",
    )


def test_the_manifests_name_of_the_threshold_counts_in_our_table_too() -> None:
    """[relay] token_threshold_percent is read with a note; two thresholds in one table are refused."""
    found = read('[relay]\ntoken_threshold_percent = "80%"\n')
    assert (found.config.settings.threshold_percent, len(found.notes)) == (80, 1)
    with pytest.raises(AnalyzerError, match="twice"):
        read("[relay]\ntoken_threshold_percent = 80\nthreshold_percent = 70\n")


@each_row(
    "old, new, says",
    [
        ("token_threshold_percent = 80", "token_threshold_percent = 800", "no threshold"),
        ("token_threshold_percent = 80", "token_treshold_percent = 80", "[runtime.relay]"),
        ('"summarize_to_checkpoint"', '"forget"', "summarize_to_checkpoint"),
        ("token_limit_60%", "soon", "no threshold"),
        ("trigger =", "triger =", "trigger"),
        ('persona = "summarizer"', 'persona = "sumarizer"', "summarizer"),
        ('adapter = "claude"', 'adapter = "clod"', "claude"),
        ("temperature = 0.0", "temperature = 0.7", "temperature"),
        ('["Read"]', '["Read", "Bash(git:*)"]', "a summarizer reads"),
        ("deny =", "denied =", "deny"),
        ('deny = ["Write(*)"', 'deny = ["Read(*)"', "a summarizer may read"),
        ('"prompts/summarizer.md"', "7", "no path"),
        ('adapter = "claude"', 'adapter = "claude"\nmodel = "--yolo"', "model"),
        ("system_prompt_file", "system_prompt_fil", "system_prompt_file"),
        ('id = "implement"', "number = 2", "no id"),
    ],
)
def test_what_a_manifest_says_wrong_is_refused(old: str, new: str, says: str) -> None:
    """Nothing of a manifest is dropped in silence: what cannot be followed is refused, with what would do."""
    with pytest.raises(AnalyzerError) as caught:
        read(MANIFEST.replace(old, new))
    assert says in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize("tables", [{"relay": 7}, {"runtime": {"relay": 7}}, {"steps": {"a": 1}}, {"steps": [1]}])
def test_tables_of_another_shape_are_refused(tables: dict[str, Any]) -> None:
    """A value where a table should be is an error with the form to write."""
    with pytest.raises(AnalyzerError):
        manifest(tables)
