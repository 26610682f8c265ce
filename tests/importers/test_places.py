"""Where agents keep their logs: which folders, told by what, and which of their files."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from analyzer.cli.options import DEFAULT_LOG
from analyzer.cli.stores import places_here
from analyzer.importers import BY_NAME, FORMATS
from analyzer.importers.places import HOMES, OWN_LOG, VARIABLES, LogPlace, places
from tests import each_row

ELSEWHERE = {
    *("claude_print", "codex_exec", "gdd", "wave", "gemini_stream", "litellm", "hermes", "atif", "swe_agent"),
    "droid_stream",
    *("langfuse", "langsmith", "mlflow", "weave", "openai_agents"),
}
"""Formats that are written wherever somebody sends them."""
LOGS = {
    "Claude Code": "~/.claude/projects/-x/s/subagents/agent-1.jsonl",
    "Codex": "~/.codex/sessions/2026/11/20/rollout-2026-11-20-a.jsonl",
    "Gemini CLI": "~/.gemini/tmp/shop/chats/session-1.json",
    "Qwen Code": "~/.qwen/projects/-x/chats/s.jsonl",
    "opencode": "~/.local/share/opencode/storage/message/ses_1/msg_1.json",
    "Crush": "~/work/shop/.crush/logs/crush.log",
    "Cline": "~/.config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/1/ui_messages.json",
    "Roo Code": "~/.config/Cursor/User/globalStorage/rooveterinaryinc.roo-cline/tasks/1/ui_messages.json",
    "Copilot CLI": "~/.copilot/session-state/s/events.jsonl",
    "Copilot Chat": "~/.config/Code/User/workspaceStorage/1f/chatSessions/s.jsonl",
    "Cursor": "~/.cursor/projects/home-me-shop/agent-transcripts/s/s.jsonl",
    "OpenHands": "~/.openhands/conversations/c/events/event-00001-a.json",
    "goose": "~/.local/share/goose/sessions/sessions.db",
    "pi": "~/.pi/agent/sessions/--x--/1_s.jsonl",
    "Kilo Code": "~/.config/Code/User/globalStorage/kilocode.kilo-code/tasks/1/ui_messages.json",
    "Kilo CLI": "~/.local/share/kilo/kilo.db",
    "TraeX": "~/.trae/cli/sessions/2026/11/20/rollout-2026-11-20-a.jsonl",
    "OpenClaude": "~/.openclaude/projects/-x/s.jsonl",
    "MiMoCode": "~/.local/share/mimocode/mimocode.db",
    "IcodeMate": "~/.local/share/icodemate/icodemate.db",
    "QClaw": "~/.qclaw/agents/main/sessions/s.jsonl",
    "Kimi Work": (
        "~/.local/share/kimi-desktop/daimon-share/daimon/runtime/kimi-code/home/sessions/wd_x/conv-1/agents/main/wire.jsonl"
    ),
    "OpenClaw": "~/.openclaw/agents/main/sessions/s.jsonl",
    "oh-my-pi": "~/.omp/agent/sessions/--x--/1_s.jsonl",
    "iFlow CLI": "~/.iflow/projects/-x/session-1.jsonl",
    "Qoder": "~/.qoder/projects/-x/s.jsonl",
    "Kimi Code": "~/.kimi-code/sessions/wd_x/s/agents/main/wire.jsonl",
    "Hermes": "~/.hermes/state.db",
    "Mistral Vibe": "~/.vibe/logs/session/session_1/messages.jsonl",
    "Cline CLI": "~/.cline/data/sessions/s/s.messages.json",
    "Continue": "~/.continue/sessions/s.json",
    "Kiro CLI": "~/.kiro/sessions/cli/s.jsonl",
    "Antigravity": "~/.gemini/antigravity-cli/brain/c/.system_generated/logs/transcript.jsonl",
    "Grok Build": "~/.grok/sessions/%2Fwork%2Fshop/s/updates.jsonl",
    "Droid": "~/.factory/sessions/-work-shop/s.jsonl",
    "Auggie": "~/.augment/sessions/s.json",
    "Amp": "~/.local/share/amp/threads/T-1.json",
    "Letta Code": "~/.letta/lc-local-backend/conversations/c/messages.jsonl",
    "Junie": "~/.junie/sessions/session-260305-100000-a/events.jsonl",
    "Claude Cowork": "~/.config/Claude/local-agent-mode-sessions/o/w/local_1/.claude/projects/-x/s.jsonl",
    "IBM Bob": "~/.config/IBM Bob/User/globalStorage/ibm.bob-code/tasks/1/ui_messages.json",
    "Prime Agent": "~/.prime/agent/sessions/1_s.jsonl",
    "Amazon Q": "~/.local/share/amazon-q/data.sqlite3",
    "Zed": "~/.local/share/zed/threads/threads.db",
    "Warp": "~/.local/state/warp-terminal/warp.sqlite",
    "grok-cli": "~/.grok/grok.db",
    "trae-agent": "~/work/shop/trajectories/trajectory_20260305_100000.json",
    "aider": "~/work/shop/.aider.chat.history.md",
    "analyzer run": "~/work/shop/telemetry/events-1.jsonl",
}
SECRETS = (
    "~/.codex/auth.json",
    "~/.claude/.credentials.json",
    "~/.claude/settings.json",
    "~/.gemini/oauth_creds.json",
    "~/.gemini/tmp/shop/logs.json",
    "~/.local/share/opencode/auth.json",
    "~/.copilot/config.json",
    "~/.cline/data/secrets.json",
    "~/.pi/agent/auth.json",
    "~/.openclaw/agents/main/agent/auth-profiles.json",
    "~/.openclaw/agents/main/sessions/sessions.json",
    "~/.omp/agent/history.db",
    "~/.iflow/oauth_creds.json",
    "~/.hermes/.env",
    "~/.hermes/auth.json",
    "~/.vibe/.env",
    "~/.kimi-code/credentials/kimi-code.json",
    "~/.config/Claude/local-agent-mode-sessions/o/w/local_1.json",
    "~/.letta/settings.json",
    "~/.grok/auth.json",
    "~/.grok/user-settings.json",
    "~/.local/share/amazon-q/settings.json",
    "~/.factory/auth.json",
    "~/.factory/sessions/-work-shop/s.settings.json",
    "~/.augment/session.json",
    "~/.local/share/amp/secrets.json",
    "~/work/shop/.env",
)


def _places(system: str = "linux", **environment: str) -> list[LogPlace]:
    return places(environment, home="/home/me", working="/home/me/work/shop", system=system)


def _on(system: str, log: str) -> str:
    """Where the same log lies on this system: editors keep their data elsewhere on macOS."""
    return log.replace("~/.config/", "~/Library/Application Support/") if system == "darwin" else log


def _files(place: LogPlace) -> list[str]:
    """The files of a place that are there."""
    folder = Path(place.folder)
    return [str(path) for path in folder.rglob("*") if path.is_file() and place.holds(str(path.relative_to(folder)))]


def _takers(path: str, found: list[LogPlace]) -> list[str]:
    """The agents that read this file, told as walking from a place's folder would."""
    full = Path(path.replace("~", "/home/me"))
    taken = []
    for place in found:
        if full.is_relative_to(place.folder):
            name = full.relative_to(place.folder).as_posix()
            above = [str(folder) for folder in Path(name).parents if str(folder) != "."]
            steps = zip(["", *reversed(above)], name.split("/"), strict=True)
            named = all((names := place.names_in(at)) is None or step in names for at, step in steps)
            if place.holds(name) and named and all(map(place.leads_on, above)):
                taken.append(place.agent)
    return taken


@each_row("agent", LOGS)
@each_row("system", ["linux", "darwin"])
def test_each_agents_logs_are_found(agent: str, system: str) -> None:
    """By the folder they lie in, on the way of which no step is left out."""
    assert _takers(_on(system, LOGS[agent]), _places(system)) == [agent]


@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_this_machines_places_are_those_of_its_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    """A log of each agent below a made-up home is found by its real place, and nothing else is."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", system)
    written = {_on(system, log).replace("~", str(tmp_path)): agent for agent, log in LOGS.items()}
    for log in written:
        Path(log).parent.mkdir(parents=True, exist_ok=True)
        Path(log).write_text("{}\n", "utf-8")
    monkeypatch.chdir(tmp_path / "work" / "shop")
    there = {place.agent for place in places_here() if any(path in written for path in _files(place))}
    assert there == set(LOGS)


@each_row("path", SECRETS)
def test_files_with_tokens_and_prompts_are_none_of_ours(path: str) -> None:
    """No place names them, whatever lies beside them."""
    assert _takers(path, _places()) == []


def test_every_format_that_is_read_has_a_place_or_is_sent_somewhere() -> None:
    """And the table names formats that are known; the log of our own commands is where they write it."""
    named = {name for row in HOMES for name in row.formats}
    assert named <= BY_NAME.keys()
    assert {kind.name for kind in FORMATS if kind.made_by} - named <= ELSEWHERE
    assert OWN_LOG == DEFAULT_LOG


def test_a_variable_stands_instead_of_the_usual_places() -> None:
    """The first one that is set; a relative one counts from the working directory."""

    def folders(agent: str, **environment: str) -> list[str]:
        return [place.path for place in _places(**environment) if place.agent == agent]

    assert folders("Codex") == ["/home/me/.codex"]
    assert folders("Codex", CODEX_HOME="/srv/codex/") == ["/srv/codex"]
    assert folders("Codex", CODEX_HOME="../c") == ["/home/me/work/c"]
    assert folders("Codex", CODEX_HOME="") == ["/home/me/.codex"]
    assert folders("Qwen Code", QWEN_HOME="/q", QWEN_RUNTIME_DIR="/r") == ["/r/projects"]
    assert folders("opencode", XDG_DATA_HOME="/d", OPENCODE_DB="/e/f.db") == ["/d/opencode", "/e/f.db"]
    assert len(folders("Claude Code")) == 3
    assert folders("Claude Code", CLAUDE_CONFIG_DIR="/c", ANALYZER_HOOKS="/h") == ["/c/projects", "/h"]


def test_editors_keep_their_data_elsewhere_on_macos() -> None:
    """In Application Support; the other places are the same."""
    mac, linux = ({place.path for place in _places(system)} for system in ("darwin", "linux"))
    assert len(mac) == len(linux)
    assert all("/Library/Application Support/" in path for path in mac - linux)
    assert all(path.startswith("/home/me/.config/") for path in linux - mac)


@pytest.mark.parametrize("home", ["", "/"])
def test_a_home_that_is_the_root_has_an_end(home: str) -> None:
    """Looking upwards stops there; without any home only the working directory and variables count."""
    assert "/.codex" in [place.path for place in places({}, home=home, working="/a/b", system="linux")]
    nowhere = places({"CODEX_HOME": "/c"}, home=None, working="/a/b", system="linux")
    assert {place.folder for place in nowhere} == {"/c", "/a/b", "/a/b/.crush", "/a/b/telemetry", "/a/b/trajectories"}


def test_crushs_list_of_projects_is_followed(tmp_path: Path) -> None:
    """Each project's folder of data, once; what is no such list says nothing."""
    listed = [{"path": "/p/a", "data_dir": ".crush"}, {"path": "/p/b", "data_dir": "/d"}, {"path": "rel"}]
    registry = tmp_path / "projects.json"

    def crush() -> list[str]:
        return [place.folder for place in _places(CRUSH_GLOBAL_DATA=str(tmp_path)) if place.agent == "Crush"]

    usual = crush()
    registry.write_text(json.dumps({"projects": [*listed, listed[0]]}))
    assert crush() == [*usual, "/p/a/.crush", "/d"]
    for broken in ("[1]", "{", '{"projects": [{"path": 1}]}', '{"projects": 5}', "[" * 100_000):
        registry.write_text(broken)
        assert crush() == usual
