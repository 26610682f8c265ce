"""Where each agent keeps its logs on Linux and macOS: the one list of places, as data.

Invariant: a place names the files that are read, so that none beside them, such as an agent's tokens, is ever opened.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache

OWN_LOG = "telemetry"
"""The log folder of `analyzer run` and `analyzer emit`, in the working directory."""


@dataclass(frozen=True, slots=True)
class Home:
    """Where one agent keeps logs of some formats."""

    agent: str
    formats: tuple[str, ...]
    roots: tuple[str, ...]
    """Folders. One that begins with a variable counts where that is set, and then alone; others always do. `~` is the
    home directory, `.` the working directory and those above it. `{editor}` stands for the folders of `_EDITORS`.
    """
    files: tuple[str, ...] = ()
    """What is read below a root: `*` stands for a part of a name, `**/` for folders; nothing: the root is the file."""


def _home(agent: str, formats: str, roots: str, files: str = "") -> Home:
    """A row of the table, in which a comma stands between several of a kind.

    `{data}/` stands for both places of data of programs, `{mac}` for that of macOS.
    """
    roots = re.sub(r"\{data\}/([^,]+)", r"$XDG_DATA_HOME/\1, ~/.local/share/\1", roots)
    roots = roots.replace("{mac}", "~/Library/Application Support")
    return Home(agent, *(tuple(found.split(", ") if found else ()) for found in (formats, roots, files)))


_DEEP, _TASKS = "**/*.jsonl", "*/ui_messages.json"
_ROLLOUTS = "sessions/**/rollout-*.json*, archived_sessions/**/rollout-*.json*"
_CRUSH = "crush.db, logs/crush.log"
_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_REGISTRY = (
    "$CRUSH_GLOBAL_DATA/projects.json",
    "$XDG_DATA_HOME/crush/projects.json",
    "~/.local/share/crush/projects.json",
)
"""Crush's list of its projects, each with the folder of its data."""
_WARP = "Library/Group Containers/2BBY89MBSN.dev.warp/Library/Application Support/dev.warp.Warp-Stable"
_MOST_PROJECTS = 10_000
_MOST_REGISTRY = 16 * 1024 * 1024

HOMES = (
    _home(
        "Claude Code",
        "claude_code",
        "$CLAUDE_CONFIG_DIR/projects, ~/.claude/projects, ~/.config/claude/projects",
        _DEEP,
    ),
    _home("Codex", "codex", "$CODEX_HOME, ~/.codex", _ROLLOUTS),
    _home("Claude Code", "otlp", "$ANALYZER_HOOKS, {data}/analyzer/hooks", "*.jsonl"),
    _home("TraeX", "codex", "~/.trae/cli", _ROLLOUTS),
    _home(
        "Claude Cowork",
        "claude_code",
        "~/.config/Claude/local-agent-mode-sessions, {mac}/Claude/local-agent-mode-sessions",
        "*/*/local_*/.claude/projects/**/*.jsonl",
    ),
    _home("OpenClaude", "claude_code", "$OPENCLAUDE_CONFIG_DIR/projects, ~/.openclaude/projects", _DEEP),
    _home(
        "Gemini CLI",
        "gemini_chat",
        "$GEMINI_CLI_HOME/.gemini/tmp, ~/.gemini/tmp",
        "*/chats/**/*.json, */chats/**/*.jsonl",
    ),
    _home(
        "Gemini CLI",
        "gemini_telemetry",
        "$GEMINI_TELEMETRY_OUTFILE, $GEMINI_CLI_HOME/.gemini/telemetry.log, ~/.gemini/telemetry.log",
    ),
    _home(
        "Qwen Code", "qwen", "$QWEN_RUNTIME_DIR/projects, $QWEN_HOME/projects, ~/.qwen/projects", "*/chats/**/*.jsonl"
    ),
    _home(
        "opencode",
        "opencode_db, opencode",
        "{data}/opencode",
        "opencode*.db, storage/session/**/*.json, storage/message/**/*.json, storage/part/**/*.json",
    ),
    _home("opencode", "opencode_db", "$OPENCODE_DB"),
    _home("Crush", "crush, crush_db", "./.crush", _CRUSH),
    _home("Cline", "cline", "$CLINE_DATA_DIR/tasks, $CLINE_DIR/data/tasks, ~/.cline/data/tasks", _TASKS),
    _home("Cline", "cline", "{editor}/User/globalStorage/saoudrizwan.claude-dev/tasks", _TASKS),
    _home("Roo Code", "cline", "{editor}/User/globalStorage/rooveterinaryinc.roo-cline/tasks", _TASKS),
    _home("Kilo Code", "cline", "{editor}/User/globalStorage/kilocode.kilo-code/tasks", _TASKS),
    _home(
        "IBM Bob",
        "cline",
        ", ".join(
            f"{data}/{name}/User/globalStorage/ibm.bob-code/tasks"
            for data in ("$XDG_CONFIG_HOME", "~/.config", "~/Library/Application Support")
            for name in ("IBM Bob", "Bob-IDE")
        ),
        _TASKS,
    ),
    _home("Kilo CLI", "opencode_db", "{data}/kilo", "kilo*.db"),
    _home("Kilo CLI", "opencode_db", "$KILO_DB"),
    _home("MiMoCode", "opencode_db", "{data}/mimocode", "mimocode*.db"),
    _home("MiMoCode", "opencode_db", "$MIMOCODE_DB"),
    _home("IcodeMate", "opencode_db", "{data}/icodemate", "icodemate*.db"),
    _home(
        "Copilot CLI",
        "copilot",
        "$COPILOT_HOME, ~/.copilot",
        "session-state/*/events.jsonl, session-state/*.jsonl, history-session-state/*.json",
    ),
    _home("Copilot CLI", "otlp", "$COPILOT_OTEL_FILE_EXPORTER_PATH"),
    _home(
        "Copilot Chat",
        "copilot_chat",
        "{editor}/User",
        "workspaceStorage/*/chatSessions/*.json*, globalStorage/emptyWindowChatSessions/*.json*",
    ),
    _home("Copilot Chat", "copilot_spans", "{editor}/User/globalStorage/github.copilot-chat", "agent-traces.db"),
    _home("Cursor", "cursor", "~/.cursor/projects", "*/agent-transcripts/**/*.jsonl"),
    _home(
        "OpenHands",
        "openhands",
        "$OPENHANDS_CONVERSATIONS_DIR, $OPENHANDS_PERSISTENCE_DIR/conversations, ~/.openhands/conversations, "
        "~/.openhands/sessions",
        "*/events/*.json",
    ),
    _home("goose", "goose_db, goose", "$GOOSE_PATH_ROOT/data/sessions, {data}/goose/sessions", "sessions.db, *.jsonl"),
    _home("pi", "pi", "$PI_CODING_AGENT_DIR/sessions, ~/.pi/agent/sessions", _DEEP),
    _home("OpenClaw", "pi", "~/.openclaw/agents, ~/.kimi_openclaw/agents", "*/sessions/*.jsonl"),
    _home("Prime Agent", "pi", "~/.prime/agent/sessions", _DEEP),
    _home("QClaw", "pi", "~/.qclaw/agents", "*/sessions/*.jsonl"),
    _home("oh-my-pi", "pi", "~/.omp/agent/sessions", _DEEP),
    _home("iFlow CLI", "claude_code", "~/.iflow/projects", "*/session-*.jsonl"),
    _home("Qoder", "claude_code", "~/.qoder/projects, ~/.qoderwork/projects", _DEEP),
    _home("Kimi Code", "kimi", "$KIMI_CODE_HOME/sessions, ~/.kimi-code/sessions", "*/*/agents/*/wire.jsonl"),
    _home(
        "Kimi Work",
        "kimi",
        "~/.config/kimi-desktop, ~/.local/share/kimi-desktop, {mac}/kimi-desktop",
        "daimon-share/daimon/runtime/kimi-code/home/sessions/*/conv-*/agents/*/wire.jsonl",
    ),
    _home("Hermes", "hermes_db, hermes_log", "$HERMES_HOME, ~/.hermes", "state.db, logs/agent.log*, logs/errors.log*"),
    _home("Mistral Vibe", "vibe", "$VIBE_HOME/logs/session, ~/.vibe/logs/session", "*/messages.jsonl"),
    _home(
        "Cline CLI",
        "cline_cli",
        "$CLINE_DATA_DIR/sessions, $CLINE_DIR/data/sessions, ~/.cline/data/sessions",
        "*/*.messages.json",
    ),
    _home("Continue", "continue", "$CONTINUE_GLOBAL_DIR/sessions, ~/.continue/sessions", "*.json"),
    _home("Kiro CLI", "kiro", "~/.kiro/sessions/cli", "*.jsonl, *.json"),
    _home("Antigravity", "antigravity", "~/.gemini/antigravity-cli/brain", "*/.system_generated/logs/transcript.jsonl"),
    _home(
        "Letta Code",
        "letta",
        "$LETTA_LOCAL_BACKEND_DIR/conversations, ~/.letta/lc-local-backend/conversations",
        "*/messages.jsonl",
    ),
    _home("Junie", "junie", "~/.junie/sessions", "*/events.jsonl"),
    _home("Grok Build", "grok", "$GROK_HOME/sessions, ~/.grok/sessions", "*/*/updates.jsonl"),
    _home("Droid", "droid", "$FACTORY_HOME_OVERRIDE/.factory/sessions, ~/.factory/sessions", "*/*.jsonl, *.jsonl"),
    _home("Auggie", "auggie", "~/.augment/sessions", "*.json"),
    _home("Amp", "amp", "{data}/amp/threads", "T-*.json"),
    _home("Kiro CLI", "kiro_db", "{data}/kiro-cli, {mac}/kiro-cli", "data.sqlite3"),
    _home("Amazon Q", "amazon_q", "{data}/amazon-q, {mac}/amazon-q", "data.sqlite3"),
    _home("Zed", "zed", "{data}/zed/threads, {mac}/Zed/threads", "threads.db"),
    _home(
        "Warp",
        "warp",
        f"$XDG_STATE_HOME/warp-terminal, ~/.local/state/warp-terminal, ~/{_WARP}",
        "warp.sqlite, tui/warp.sqlite",
    ),
    _home("grok-cli", "grok_cli", "~/.grok", "grok.db"),
    _home("trae-agent", "trae_agent", "./trajectories", "trajectory_*.json"),
    _home("aider", "aider", "$AIDER_CHAT_HISTORY_FILE, ./.aider.chat.history.md"),
    _home("analyzer run", "analyzer", f"./{OWN_LOG}", "*.jsonl"),
)
"""By agent, the most used first. Formats without a row are written wherever somebody sends them."""
VARIABLES = frozenset(
    root.partition("/")[0][1:] for row in HOMES for root in (*row.roots, *_REGISTRY) if root.startswith("$")
)
"""The variables of the environment that agents are told their places by."""


@dataclass(frozen=True, slots=True)
class LogPlace:
    """A folder in which an agent may keep logs, and which of its files they are. It need not be there."""

    agent: str
    formats: tuple[str, ...]
    folder: str
    """Absolute."""
    files: tuple[str, ...]

    @property
    def path(self) -> str:
        """The folder, or the one file that is meant."""
        alone = len(self.files) == 1 and not set("*/") & set(self.files[0])
        return os.path.join(self.folder, self.files[0]) if alone else self.folder

    def holds(self, name: str) -> bool:
        """Whether the file of this path below the folder is a log."""
        return _held(self.files).fullmatch(name) is not None

    def leads_on(self, name: str) -> bool:
        """Whether a log may lie below the folder of this path below the folder."""
        return any(_leads(pattern, name) for pattern in self.files)

    def names_in(self, name: str) -> frozenset[str] | None:
        """All that can be of use in the folder of this path below the folder (empty: itself); None: a listing tells.

        A home directory may hold millions of files beside the one that is meant.
        """
        depth = name.count("/") + 1 if name else 0
        ways = [pattern.split("/") for pattern in self.files if not name or _leads(pattern, name)]
        open_ended = any("**" in parts[: depth + 1] or "*" in parts[depth] for parts in ways)
        return None if open_ended else frozenset(parts[depth] for parts in ways)


@cache
def _held(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """What matches the path of a file that one of the patterns means; `**` stands for any number of folders."""
    ways = (
        [r"(?:[^/]+/)*" if part == "**" else re.escape(part).replace(r"\*", "[^/]*") + "/" for part in way.split("/")]
        for way in patterns
    )
    return re.compile("|".join("".join(way).removesuffix("/") for way in ways), re.DOTALL)


def places(environment: Mapping[str, str], *, home: str | None, working: str, system: str) -> list[LogPlace]:
    """Every place of every agent, in the order of the table, each once.

    `home` is None where nobody knows it, `working` the working directory, `system` as `sys.platform` has it.
    """
    home = None if home is None else home.rstrip("/")
    found: dict[tuple[str, tuple[str, ...]], LogPlace] = {}
    for row in HOMES:
        for root in _roots(row.roots, environment, home, working, system):
            folder, name = (root, "") if row.files else os.path.split(root)
            place = LogPlace(row.agent, row.formats, folder, row.files or (name,))
            found.setdefault((folder, place.files), place)
    for registry in _roots(_REGISTRY, environment, home, working, system):
        for folder in _projects(registry):
            place = LogPlace("Crush", ("crush", "crush_db"), folder, tuple(_CRUSH.split(", ")))
            found.setdefault((folder, place.files), place)
    return list(found.values())


def _roots(
    roots: Iterable[str], environment: Mapping[str, str], home: str | None, working: str, system: str
) -> Iterator[str]:
    """The folders that a row of the table means here, absolute."""
    named: str | None = None
    for root in roots:
        start, slash, rest = root.partition("/")
        if start.startswith("$"):
            if environment.get(start[1:]) and named in (None, start):
                named = start
                yield os.path.normpath(os.path.join(working, os.path.expanduser(environment[start[1:]]), rest))
        elif start == ".":
            if named is None:
                yield from (os.path.join(folder, rest) for folder in _upwards(working, home))
        elif home is not None and named is None:
            if start == "{editor}":
                yield from (f"{folder}/{rest}" for folder in _editors(environment, home, system))
            else:
                yield os.path.normpath(home + slash + rest)


def _editors(environment: Mapping[str, str], home: str, system: str) -> Iterator[str]:
    """Where VS Code and editors made of it keep their data, remote ones too."""
    settings = environment.get("XDG_CONFIG_HOME") or f"{home}/.config"
    base = f"{home}/Library/Application Support" if system == "darwin" else settings
    yield from (f"{base}/{name}" for name in _EDITORS)
    yield from (f"{home}/.{name}-server/data" for name in ("vscode", "cursor"))


def _upwards(working: str, home: str | None) -> Iterator[str]:
    """The working directory, and those above it that are below the home directory: what lies there is its owner's."""
    yield working
    while home and (above := os.path.dirname(working)).startswith(f"{home}/"):
        yield above
        working = above


def _projects(registry: str) -> Iterator[str]:
    """The folders of data that Crush's list of projects names; none where it is missing or something else."""
    try:
        with open(registry, "rb") as handle:
            listed = json.loads(handle.read(_MOST_REGISTRY))["projects"]
        known = [(item["path"], item.get("data_dir") or ".crush") for item in listed[:_MOST_PROJECTS]]
        yield from (os.path.normpath(os.path.join(path, data)) for path, data in known if os.path.isabs(path))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return


def _leads(pattern: str, name: str) -> bool:
    """Whether a folder of this path is on the way to files of the pattern."""
    parts, names = pattern.split("/")[:-1], name.split("/")
    if "**" in parts:
        parts = parts[: parts.index("**")]
        names = names[: len(parts)]
    return len(names) <= len(parts) and all(map(_fits, parts, names))


def _fits(pattern: str, name: str) -> bool:
    """Whether a part of a path is what a part of a pattern says."""
    return fnmatchcase(name, pattern) if "*" in pattern else name == pattern
