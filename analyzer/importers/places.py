"""The table of places where agents keep their logs on Linux and macOS.

Invariant: a place names the files that are read, so that no other file, such as an agent's tokens,
is ever opened.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache

from analyzer.frozen import frozen

OWN_LOG = "telemetry"
"""The log folder of `analyzer run` and `analyzer emit`, in the working directory."""


@frozen
class Home:
    """The places where one agent keeps logs of some formats."""

    agent: str
    formats: tuple[str, ...]
    roots: tuple[str, ...]
    """Folders; if a variable that a root begins with is set, only such roots count.

    `~` is the home directory, `.` the working directory and those above it. `{editor}` stands for
    the folders of `_EDITORS`.
    """
    files: tuple[str, ...] = ()
    """Patterns of files below a root; empty: the root is a file.

    `*` stands for a part of a name, `**/` for any number of folders.
    """


def _home(agent: str, formats: str, roots: str, files: str = "") -> Home:
    """Make a row of the table from lists with commas between their items.

    `{data}/` stands for both places of programs' data on Linux, `{mac}` for the place on macOS.
    """
    roots = re.sub(r"\{data\}/([^,]+)", r"$XDG_DATA_HOME/\1, ~/.local/share/\1", roots)
    roots = roots.replace("{mac}", "~/Library/Application Support")
    lists = (tuple(items.split(", ")) if items else () for items in (formats, roots, files))
    return Home(agent, *lists)


_DEEP, _TASKS = "**/*.jsonl", "*/ui_messages.json"
_ROLLOUTS = "sessions/**/rollout-*.json*, archived_sessions/**/rollout-*.json*"
_SESSIONS = "*/sessions/*.jsonl"
_OPENCLAW = f"{_SESSIONS}, {_SESSIONS}.reset.*, {_SESSIONS}.deleted.*, */agent/openclaw-agent.sqlite"
_CRUSH = "crush.db, logs/crush.log"
_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_REGISTRY = (
    "$CRUSH_GLOBAL_DATA/projects.json",
    "$XDG_DATA_HOME/crush/projects.json",
    "~/.local/share/crush/projects.json",
)
"""Crush's lists of its projects with the folders of their data."""
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
    _home("OpenClaw", "pi, openclaw_db", "~/.openclaw/agents, ~/.kimi_openclaw/agents", _OPENCLAW),
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
    _home("DeepSeek Harness", "dsh", "$DSH_HOME/sessions, ~/.dsh/sessions", "*/*/session.jsonl*"),
    _home("kimi-cli", "kimi_cli", "~/.kimi/sessions", "*/*/wire.jsonl"),
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
"""By agent, the most used first. Formats without a row have no fixed place."""
VARIABLES = frozenset(
    root.partition("/")[0][1:] for row in HOMES for root in (*row.roots, *_REGISTRY) if root.startswith("$")
)
"""The variables of the environment that set agents' places."""


@frozen
class LogPlace:
    """A folder, which may not exist, and the patterns of an agent's logs in it."""

    agent: str
    formats: tuple[str, ...]
    folder: str
    """An absolute path."""
    files: tuple[str, ...]

    @property
    def path(self) -> str:
        """Return the path of the folder, or of the file if there is only one and no pattern."""
        is_file = len(self.files) == 1 and not set("*/") & set(self.files[0])
        return os.path.join(self.folder, self.files[0]) if is_file else self.folder

    def holds(self, name: str) -> bool:
        """Tell whether a file is a log, by its path below the folder."""
        return _pattern_of(self.files).fullmatch(name) is not None

    def leads_on(self, name: str) -> bool:
        """Tell whether an inner folder may have logs in it, by its path below the folder."""
        return any(_leads_to(pattern, name) for pattern in self.files)

    def names_in(self, name: str) -> frozenset[str] | None:
        """Return the names of logs and of folders with logs in an inner folder.

        An empty `name` is this folder. None means that the folder has to be listed. A home
        directory may hold millions of files beside the log.
        """
        depth = name.count("/") + 1 if name else 0
        patterns = (pattern for pattern in self.files if not name or _leads_to(pattern, name))
        ways = [pattern.split("/") for pattern in patterns]
        open_ended = any("**" in parts[: depth + 1] or "*" in parts[depth] for parts in ways)
        return None if open_ended else frozenset(parts[depth] for parts in ways)


@cache
def _pattern_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Compile patterns of paths of files into one expression; `**` is any number of folders."""
    expressions = []
    for pattern in patterns:
        parts = (
            r"(?:[^/]+/)*" if part == "**" else re.escape(part).replace(r"\*", "[^/]*") + "/"
            for part in pattern.split("/")
        )
        expressions.append("".join(parts).removesuffix("/"))
    return re.compile("|".join(expressions), re.DOTALL)


def places(environment: Mapping[str, str], *, home: str | None, working: str, system: str) -> list[LogPlace]:
    """Return all places of all agents once, in the order of the table.

    `home` is None if it is unknown, `working` is the working directory, `system` is as in
    `sys.platform`.
    """
    home = None if home is None else home.rstrip("/")
    unique: dict[tuple[str, tuple[str, ...]], LogPlace] = {}
    for row in HOMES:
        for root in _roots(row.roots, environment, home, working, system):
            folder, name = (root, "") if row.files else os.path.split(root)
            place = LogPlace(row.agent, row.formats, folder, row.files or (name,))
            unique.setdefault((folder, place.files), place)
    for registry in _roots(_REGISTRY, environment, home, working, system):
        for folder in _projects(registry):
            place = LogPlace("Crush", ("crush", "crush_db"), folder, tuple(_CRUSH.split(", ")))
            unique.setdefault((folder, place.files), place)
    return list(unique.values())


def _roots(
    roots: Iterable[str], environment: Mapping[str, str], home: str | None, working: str, system: str
) -> Iterator[str]:
    """Yield the absolute paths of the roots of a row."""
    variable: str | None = None
    for root in roots:
        start, slash, rest = root.partition("/")
        if start.startswith("$"):
            if environment.get(start[1:]) and variable in (None, start):
                variable = start
                yield os.path.normpath(os.path.join(working, os.path.expanduser(environment[start[1:]]), rest))
        elif start == ".":
            if variable is None:
                yield from (os.path.join(folder, rest) for folder in _upwards(working, home))
        elif home is not None and variable is None:
            if start == "{editor}":
                yield from (f"{folder}/{rest}" for folder in _editors(environment, home, system))
            else:
                yield os.path.normpath(home + slash + rest)


def _editors(environment: Mapping[str, str], home: str, system: str) -> Iterator[str]:
    """Yield the folders of data of VS Code and of editors made of it, also of remote ones."""
    settings = environment.get("XDG_CONFIG_HOME") or f"{home}/.config"
    base = f"{home}/Library/Application Support" if system == "darwin" else settings
    yield from (f"{base}/{name}" for name in _EDITORS)
    yield from (f"{home}/.{name}-server/data" for name in ("vscode", "cursor"))


def _upwards(working: str, home: str | None) -> Iterator[str]:
    """Yield the working directory and those above it that are below the home directory.

    Folders below the home directory are its owner's.
    """
    yield working
    while home and (above := os.path.dirname(working)).startswith(f"{home}/"):
        yield above
        working = above


def _projects(registry: str) -> Iterator[str]:
    """Yield the folders of data in Crush's list of projects; none if the list cannot be read."""
    try:
        with open(registry, "rb") as handle:
            projects = json.loads(handle.read(_MOST_REGISTRY))["projects"][:_MOST_PROJECTS]
        folders = [(project["path"], project.get("data_dir") or ".crush") for project in projects]
        for path, data in folders:
            if os.path.isabs(path):
                yield os.path.normpath(os.path.join(path, data))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return


def _leads_to(pattern: str, name: str) -> bool:
    """Tell whether a folder of this path is on the way to files of a pattern."""
    parts, names = pattern.split("/")[:-1], name.split("/")
    if "**" in parts:
        parts = parts[: parts.index("**")]
        names = names[: len(parts)]
    return len(names) <= len(parts) and all(map(_fits, parts, names))


def _fits(pattern: str, name: str) -> bool:
    """Tell whether a part of a path matches a part of a pattern."""
    return fnmatchcase(name, pattern) if "*" in pattern else name == pattern
