"""The programs that write logs: who wrote a log, in which folder, and how to resume a session.

A program that writes the format of another agent is one row: the format, and the marks of its
records.

Invariant: a mark is a key or a value that only this program writes, never words of a prompt. The
name of a folder decides only if no record does.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from analyzer.agent_stream import mapping
from analyzer.events.codec import parsed
from analyzer.frozen import frozen
from analyzer.importers.conditions import Record, has
from analyzer.readable import terminal_safe
from analyzer.redaction.walk import without_home


@frozen
class Fork:
    """A program that writes the format of another program."""

    formats: tuple[str, ...]
    title: str
    """Its name for people."""
    agent: str
    """Its name in events, callers and filters."""
    mark: Callable[[Record], bool] = lambda _record: False
    """Tells whether only this program writes such a record."""
    place: str = ""
    """A pattern of the paths of its logs; empty if the records are enough."""


def _by_folder(formats: tuple[str, ...], title: str, agent: str, folder: str) -> Fork:
    """Make the row of a program that only its folder tells from the agent of the format."""
    place = r"[/\\]" + re.escape(folder).replace("/", r"[/\\]") + r"[/\\]"
    return Fork(formats, title, agent, place=place)


def _request_has(*keys: str) -> Callable[[Record], bool]:
    """Return a test of rows of Cline's format: a request with one of these keys."""

    def holds(record: Record) -> bool:
        request = record.get("text")
        if record.get("say") != "api_req_started" or not isinstance(request, str):
            return False
        # Texts without the keys are not parsed.
        if not any(key in request for key in keys):
            return False
        return any(key in mapping(parsed(request)) for key in keys)

    return holds


def _by_records(format_name: str, title: str, agent: str, *ways: str) -> Fork:
    """Make the row of a program that is recognised by its records; `ways` are as in `has`."""
    return Fork((format_name,), title, agent, has(*ways))


_has_protocol = _request_has("apiProtocol")
_is_roo_row = has("say=api_req_retry_delayed,condense_context")


FORKS = (
    # Recognised only by their folders, since the records are the same. The folders are those of the
    # sources of agentsview, August 2026 (kenn-io/agentsview, internal/parser/types.go), of
    # XiaomiMiMo/MiMo-Code, and of codeburn of that month (getagentseal/codeburn,
    # src/providers/ibm-bob.ts).
    _by_folder(("claude_code",), "Claude Cowork", "claude-cowork", "local-agent-mode-sessions"),
    _by_folder(("cline",), "IBM Bob", "ibm-bob", "ibm.bob-code"),
    _by_folder(("pi",), "Prime Agent", "prime-agent", ".prime/agent"),
    _by_folder(("claude_code",), "OpenClaude", "openclaude", ".openclaude/projects"),
    _by_folder(("codex",), "TraeX", "traex", ".trae/cli"),
    _by_folder(("kimi",), "Kimi Work", "kimi-work", "kimi-desktop"),
    _by_folder(("opencode", "opencode_db"), "MiMoCode", "mimocode", "mimocode"),
    _by_folder(("opencode", "opencode_db"), "IcodeMate", "icodemate", "icodemate"),
    _by_folder(("pi",), "QClaw", "qclaw", ".qclaw/agents"),
    _by_records("claude_code", "iFlow CLI", "iflow", "sessionId^session-"),
    _by_records("claude_code", "Qoder", "qoder", "type=workspace-directories", "qodercli_version"),
    _by_records("claude_print", "Qoder", "qoder", "qodercli_version", "type=workspace-directories"),
    _by_records("claude_print", "Qwen Code", "qwen-code", "qwen_code_version"),
    # Claude Code lists its tools as a run begins, and counts its turns as it ends; Cursor does neither.
    _by_records(
        "claude_print",
        "Cursor CLI",
        "cursor-cli",
        "type=system apiKeySource !tools",
        "type=result request_id !num_turns",
    ),
    _by_records(
        "pi", "OpenClaw", "openclaw", "customType=model-snapshot", "customType^openclaw:", "customType^openclaw."
    ),
    _by_records("pi", "oh-my-pi", "omp", "type=model_change model !modelId"),
    Fork(
        ("cline",),
        "Kilo Code",
        "kilo",
        # Older versions have neither.
        _request_has("inferenceProvider", "usageMissing"),
        r"[/\\]kilocode\.kilo-code[/\\]",
    ),
    Fork(
        ("cline",),
        "Roo Code",
        "roo",
        lambda record: _is_roo_row(record) or _has_protocol(record),
        r"roo-cline",
    ),
    Fork(
        ("opencode", "opencode_db"),
        "Kilo CLI",
        "kilo",
        place=r"[/\\]kilo[/\\](?:kilo[^/\\]*\.db$|storage[/\\])",
    ),
)
"""Of one format, programs that also write the mark of another one stand before it."""


class Author:
    """The program that writes a log: the agent of the format, until a fork is recognised."""

    def __init__(self, format_name: str, path: str, fork: str | None) -> None:
        """Take the `fork` that an earlier part of the log has shown, else the one of the path."""
        self._rows = rows = _of_format(format_name)
        by_path = (row.agent for row in rows if row.place and re.search(row.place, path))
        self.fork = fork or next(by_path, None)
        """The fork's name in events; None: no fork was recognised."""

    def recognise(self, record: Record) -> bool:
        """Take the fork that a record shows; tell whether that is another program than before."""
        for row in self._rows:
            if row.agent == self.fork:
                return False
            if row.mark(record):
                self.fork = row.agent
                return True
        return False

    @property
    def may_change(self) -> bool:
        """Tell whether another record can still show a fork."""
        return bool(self._rows) and self._rows[0].agent != self.fork


@cache
def _of_format(name: str) -> tuple[Fork, ...]:
    return tuple(row for row in FORKS if name in row.formats)


DIMENSIONS = ("agent", "agent_version", "provider", "model", "project", "cwd", "branch", "effort", "service_tier")
"""The facts about a session; an event has those for which its type has fields."""
_SEPARATORS = re.compile(r"[/\\]+")
_BESIDE = (".worktrees", "-worktrees")
"""Endings of a folder of worktrees beside the repository, after the name of the project."""
_LONGEST = 1_000
"""Characters of a path that are kept."""


def place_of(folder: object) -> dict[str, str]:
    """Return a working directory as `cwd`, and its last name as `project`.

    The home directory is left out. The project of a worktree is that of its repository. The result
    is empty if there is no name.
    """
    if not isinstance(folder, str):
        return {}
    cwd = without_home(folder[:_LONGEST].rstrip("/\\"))
    parts = cwd.replace("\\", "/").split("/")
    name = _project_of_worktree(parts) or _SEPARATORS.split(cwd)[-1]
    return {"cwd": cwd, "project": name} if name else {}


def _project_of_worktree(parts: Sequence[str]) -> str:
    """Return the project that a worktree was made of, by the parts of its path; empty if it is none.

    Worktrees are in `NAME/.worktrees/`, `NAME/.AGENT/worktrees/`, `NAME.worktrees/`, `NAME-worktrees/`,
    `~/.cursor/worktrees/NAME/` or `~/.claude-worktrees/NAME/`.
    """
    for home in (["~", ".cursor", "worktrees"], ["~", ".claude-worktrees"]):
        if list(parts[: len(home)]) == home:
            return parts[len(home)] if len(parts) > len(home) + 1 else ""
    for place in range(len(parts) - 2, 0, -1):
        part, before = parts[place], parts[place - 1]
        if part in {".worktrees", ".worktree"} and before != "~":
            return before
        if part in {"worktrees", "worktree"} and before[:1] == "." and place > 1 and parts[place - 2] != "~":
            return parts[place - 2]
        if part.endswith(_BESIDE) and part not in _BESIDE:
            return part[: -len(_BESIDE[0])]
    return ""


def caller_of(program: str, facts: Mapping[str, Any], role: str | None = None) -> str:
    """Name the caller of an interactive agent, as in `codex@shop/subagent`.

    It has the program, the `project` of the facts about its session, and its role.
    """
    project = facts.get("project")
    return f"{program}{f'@{project}' if project else ''}{f'/{role}' if role else ''}"


_COMMANDS = {
    "claude-code": "claude --resume {}",
    "codex": "codex resume {}",
    "codex exec": "codex resume {}",
    "copilot": "copilot --resume {}",
    "opencode": "opencode --session {}",
    "traex": "traex resume {}",
}
"""By the name in events: a fork cannot resume the sessions of the agent of its format."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


def resuming(agent: str | None, session: str, cwd: str | None) -> str:
    """Return the shell command that resumes a session; empty if there is none.

    It changes to the folder of the session if the log names it.
    """
    command = _COMMANDS.get(agent or "")
    if command is None or not _ID.fullmatch(session):
        return ""
    resume = command.format(session)
    if not cwd or terminal_safe(cwd) != cwd:
        return resume
    home, slash, rest = cwd.partition("~/")
    folder = f"~/{shlex.quote(rest)}" if slash and not home else shlex.quote(cwd)
    return f"cd {folder} && {resume}"
