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


_ROO = "rooveterinaryinc.roo-cline"
_KILO = "kilocode.kilo-code"
_CLINE = "saoudrizwan.claude-dev"
_TASKS = ("*/ui_messages.json",)
_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_REGISTRY = (
    "$CRUSH_GLOBAL_DATA/projects.json",
    "$XDG_DATA_HOME/crush/projects.json",
    "~/.local/share/crush/projects.json",
)
"""Crush's list of its projects, each with the folder of its data."""
_CRUSH = ("crush.db", "logs/crush.log")
_WARP = "Library/Group Containers/2BBY89MBSN.dev.warp/Library/Application Support/dev.warp.Warp-Stable"
_MOST_PROJECTS = 10_000
_MOST_REGISTRY = 16 * 1024 * 1024

HOMES = (
    Home(
        "Claude Code",
        ("claude_code",),
        ("$CLAUDE_CONFIG_DIR/projects", "~/.claude/projects", "~/.config/claude/projects"),
        ("**/*.jsonl",),
    ),
    Home(
        "Codex",
        ("codex",),
        ("$CODEX_HOME", "~/.codex"),
        ("sessions/**/rollout-*.json*", "archived_sessions/**/rollout-*.json*"),
    ),
    Home(
        "Claude Code",
        ("otlp",),
        ("$ANALYZER_HOOKS", "$XDG_DATA_HOME/analyzer/hooks", "~/.local/share/analyzer/hooks"),
        ("*.jsonl",),
    ),
    Home(
        "TraeX", ("codex",), ("~/.trae/cli",), ("sessions/**/rollout-*.json*", "archived_sessions/**/rollout-*.json*")
    ),
    Home(
        "Claude Cowork",
        ("claude_code",),
        tuple(f"~/{data}/Claude/local-agent-mode-sessions" for data in (".config", "Library/Application Support")),
        ("*/*/local_*/.claude/projects/**/*.jsonl",),
    ),
    Home(
        "OpenClaude",
        ("claude_code",),
        ("$OPENCLAUDE_CONFIG_DIR/projects", "~/.openclaude/projects"),
        ("**/*.jsonl",),
    ),
    Home(
        "Gemini CLI",
        ("gemini_chat",),
        ("$GEMINI_CLI_HOME/.gemini/tmp", "~/.gemini/tmp"),
        ("*/chats/**/*.json", "*/chats/**/*.jsonl"),
    ),
    Home(
        "Gemini CLI",
        ("gemini_telemetry",),
        ("$GEMINI_TELEMETRY_OUTFILE", "$GEMINI_CLI_HOME/.gemini/telemetry.log", "~/.gemini/telemetry.log"),
    ),
    Home(
        "Qwen Code",
        ("qwen",),
        ("$QWEN_RUNTIME_DIR/projects", "$QWEN_HOME/projects", "~/.qwen/projects"),
        ("*/chats/**/*.jsonl",),
    ),
    Home(
        "opencode",
        ("opencode_db", "opencode"),
        ("$XDG_DATA_HOME/opencode", "~/.local/share/opencode"),
        ("opencode*.db", "storage/session/**/*.json", "storage/message/**/*.json", "storage/part/**/*.json"),
    ),
    Home("opencode", ("opencode_db",), ("$OPENCODE_DB",)),
    Home("Crush", ("crush", "crush_db"), ("./.crush",), _CRUSH),
    Home("Cline", ("cline",), ("$CLINE_DATA_DIR/tasks", "$CLINE_DIR/data/tasks", "~/.cline/data/tasks"), _TASKS),
    Home("Cline", ("cline",), (f"{{editor}}/User/globalStorage/{_CLINE}/tasks",), _TASKS),
    Home("Roo Code", ("cline",), (f"{{editor}}/User/globalStorage/{_ROO}/tasks",), _TASKS),
    Home("Kilo Code", ("cline",), (f"{{editor}}/User/globalStorage/{_KILO}/tasks",), _TASKS),
    Home(
        "IBM Bob",
        ("cline",),
        tuple(
            f"{data}/{name}/User/globalStorage/ibm.bob-code/tasks"
            for data in ("$XDG_CONFIG_HOME", "~/.config", "~/Library/Application Support")
            for name in ("IBM Bob", "Bob-IDE")
        ),
        _TASKS,
    ),
    Home("Kilo CLI", ("opencode_db",), ("$XDG_DATA_HOME/kilo", "~/.local/share/kilo"), ("kilo*.db",)),
    Home("Kilo CLI", ("opencode_db",), ("$KILO_DB",)),
    Home("MiMoCode", ("opencode_db",), ("$XDG_DATA_HOME/mimocode", "~/.local/share/mimocode"), ("mimocode*.db",)),
    Home("MiMoCode", ("opencode_db",), ("$MIMOCODE_DB",)),
    Home("IcodeMate", ("opencode_db",), ("$XDG_DATA_HOME/icodemate", "~/.local/share/icodemate"), ("icodemate*.db",)),
    Home(
        "Copilot CLI",
        ("copilot",),
        ("$COPILOT_HOME", "~/.copilot"),
        ("session-state/*/events.jsonl", "session-state/*.jsonl", "history-session-state/*.json"),
    ),
    Home("Copilot CLI", ("otlp",), ("$COPILOT_OTEL_FILE_EXPORTER_PATH",)),
    Home(
        "Copilot Chat",
        ("copilot_chat",),
        ("{editor}/User",),
        ("workspaceStorage/*/chatSessions/*.json*", "globalStorage/emptyWindowChatSessions/*.json*"),
    ),
    Home(
        "Copilot Chat", ("copilot_spans",), ("{editor}/User/globalStorage/github.copilot-chat",), ("agent-traces.db",)
    ),
    Home("Cursor", ("cursor",), ("~/.cursor/projects",), ("*/agent-transcripts/**/*.jsonl",)),
    Home(
        "OpenHands",
        ("openhands",),
        (
            "$OPENHANDS_CONVERSATIONS_DIR",
            "$OPENHANDS_PERSISTENCE_DIR/conversations",
            "~/.openhands/conversations",
            "~/.openhands/sessions",
        ),
        ("*/events/*.json",),
    ),
    Home(
        "goose",
        ("goose_db", "goose"),
        ("$GOOSE_PATH_ROOT/data/sessions", "$XDG_DATA_HOME/goose/sessions", "~/.local/share/goose/sessions"),
        ("sessions.db", "*.jsonl"),
    ),
    Home("pi", ("pi",), ("$PI_CODING_AGENT_DIR/sessions", "~/.pi/agent/sessions"), ("**/*.jsonl",)),
    Home("OpenClaw", ("pi",), ("~/.openclaw/agents", "~/.kimi_openclaw/agents"), ("*/sessions/*.jsonl",)),
    Home("Prime Agent", ("pi",), ("~/.prime/agent/sessions",), ("**/*.jsonl",)),
    Home("QClaw", ("pi",), ("~/.qclaw/agents",), ("*/sessions/*.jsonl",)),
    Home("oh-my-pi", ("pi",), ("~/.omp/agent/sessions",), ("**/*.jsonl",)),
    Home("iFlow CLI", ("claude_code",), ("~/.iflow/projects",), ("*/session-*.jsonl",)),
    Home("Qoder", ("claude_code",), ("~/.qoder/projects", "~/.qoderwork/projects"), ("**/*.jsonl",)),
    Home("Kimi Code", ("kimi",), ("$KIMI_CODE_HOME/sessions", "~/.kimi-code/sessions"), ("*/*/agents/*/wire.jsonl",)),
    Home(
        "Kimi Work",
        ("kimi",),
        tuple(f"{data}/kimi-desktop" for data in ("~/.config", "~/.local/share", "~/Library/Application Support")),
        ("daimon-share/daimon/runtime/kimi-code/home/sessions/*/conv-*/agents/*/wire.jsonl",),
    ),
    Home(
        "Hermes",
        ("hermes_db", "hermes_log"),
        ("$HERMES_HOME", "~/.hermes"),
        ("state.db", "logs/agent.log*", "logs/errors.log*"),
    ),
    Home(
        "Mistral Vibe",
        ("vibe",),
        ("$VIBE_HOME/logs/session", "~/.vibe/logs/session"),
        ("*/messages.jsonl",),
    ),
    Home(
        "Cline CLI",
        ("cline_cli",),
        ("$CLINE_DATA_DIR/sessions", "$CLINE_DIR/data/sessions", "~/.cline/data/sessions"),
        ("*/*.messages.json",),
    ),
    Home("Continue", ("continue",), ("$CONTINUE_GLOBAL_DIR/sessions", "~/.continue/sessions"), ("*.json",)),
    Home("Kiro CLI", ("kiro",), ("~/.kiro/sessions/cli",), ("*.jsonl", "*.json")),
    Home(
        "Antigravity",
        ("antigravity",),
        ("~/.gemini/antigravity-cli/brain",),
        ("*/.system_generated/logs/transcript.jsonl",),
    ),
    Home(
        "Letta Code",
        ("letta",),
        ("$LETTA_LOCAL_BACKEND_DIR/conversations", "~/.letta/lc-local-backend/conversations"),
        ("*/messages.jsonl",),
    ),
    Home("Junie", ("junie",), ("~/.junie/sessions",), ("*/events.jsonl",)),
    Home("Grok Build", ("grok",), ("$GROK_HOME/sessions", "~/.grok/sessions"), ("*/*/updates.jsonl",)),
    Home(
        "Droid",
        ("droid",),
        ("$FACTORY_HOME_OVERRIDE/.factory/sessions", "~/.factory/sessions"),
        ("*/*.jsonl", "*.jsonl"),
    ),
    Home("Auggie", ("auggie",), ("~/.augment/sessions",), ("*.json",)),
    Home("Amp", ("amp",), ("$XDG_DATA_HOME/amp/threads", "~/.local/share/amp/threads"), ("T-*.json",)),
    Home(
        "Kiro CLI",
        ("kiro_db",),
        ("$XDG_DATA_HOME/kiro-cli", "~/.local/share/kiro-cli", "~/Library/Application Support/kiro-cli"),
        ("data.sqlite3",),
    ),
    Home(
        "Amazon Q",
        ("amazon_q",),
        ("$XDG_DATA_HOME/amazon-q", "~/.local/share/amazon-q", "~/Library/Application Support/amazon-q"),
        ("data.sqlite3",),
    ),
    Home(
        "Zed",
        ("zed",),
        ("$XDG_DATA_HOME/zed/threads", "~/.local/share/zed/threads", "~/Library/Application Support/Zed/threads"),
        ("threads.db",),
    ),
    Home(
        "Warp",
        ("warp",),
        ("$XDG_STATE_HOME/warp-terminal", "~/.local/state/warp-terminal", f"~/{_WARP}"),
        ("warp.sqlite", "tui/warp.sqlite"),
    ),
    Home("grok-cli", ("grok_cli",), ("~/.grok",), ("grok.db",)),
    Home("trae-agent", ("trae_agent",), ("./trajectories",), ("trajectory_*.json",)),
    Home("aider", ("aider",), ("$AIDER_CHAT_HISTORY_FILE", "./.aider.chat.history.md")),
    Home("analyzer run", ("analyzer",), (f"./{OWN_LOG}",), ("*.jsonl",)),
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
            found.setdefault((folder, _CRUSH), LogPlace("Crush", ("crush", "crush_db"), folder, _CRUSH))
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
