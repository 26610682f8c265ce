"""The programs that leave logs: whose a log is, where a session was at work, its caller, and how it is taken up again.

A program that writes the format of another agent is one row: which format, and what tells its records apart.

Invariant: a mark is a key or a value that only this program writes, never words of a prompt. Names of folders decide
where no record does, and then alone.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from analyzer.agent_stream import mapping
from analyzer.events.codec import parsed
from analyzer.importers.conditions import Record, described, has
from analyzer.readable import terminal_safe
from analyzer.redaction.walk import without_home


@dataclass(frozen=True, slots=True)
class Fork:
    """A program that writes another one's format."""

    formats: tuple[str, ...]
    title: str
    """Its name for a person."""
    agent: str
    """Its name in events, callers and filters."""
    told_by: str
    """What tells it apart, for the reference page."""
    mark: Callable[[Record], bool] = lambda _record: False
    """Whether this program alone writes such a record."""
    place: str = ""
    """A pattern of the paths of its logs; empty where a path tells nothing that the records do not."""


def _same(formats: tuple[str, ...], title: str, agent: str, folder: str) -> Fork:
    """A program whose records are those of the agent that the format is named for."""
    place = r"[/\\]" + re.escape(folder).replace("/", r"[/\\]") + r"[/\\]"
    return Fork(formats, title, agent, f"the folder `{folder}` alone: the records are the same", place=place)


def _request_has(*keys: str) -> Callable[[Record], bool]:
    """Whether a row of Cline's kind is a request that says one of these of itself."""

    def has(record: Record) -> bool:
        said = record.get("text")
        if record.get("say") != "api_req_started" or not isinstance(said, str) or not any(key in said for key in keys):
            return False
        return any(key in mapping(parsed(said)) for key in keys)

    return has


def _marked(formats: str, title: str, agent: str, *ways: str) -> Fork:
    """A program that alone writes records which hold this, as in `has`."""
    return Fork((formats,), title, agent, described(*ways), has(*ways))


_says_protocol = _request_has("apiProtocol")
_delays = has("say=api_req_retry_delayed,condense_context")


FORKS = (
    # Told by their folders alone, since the records are the same; the folders are those of the sources of agentsview,
    # August 2026 (kenn-io/agentsview, internal/parser/types.go), of XiaomiMiMo/MiMo-Code, and of codeburn of that month
    # (getagentseal/codeburn, src/providers/ibm-bob.ts).
    _same(("claude_code",), "Claude Cowork", "claude-cowork", "local-agent-mode-sessions"),
    _same(("cline",), "IBM Bob", "ibm-bob", "ibm.bob-code"),
    _same(("pi",), "Prime Agent", "prime-agent", ".prime/agent"),
    _same(("claude_code",), "OpenClaude", "openclaude", ".openclaude/projects"),
    _same(("codex",), "TraeX", "traex", ".trae/cli"),
    _same(("kimi",), "Kimi Work", "kimi-work", "kimi-desktop"),
    _same(("opencode", "opencode_db"), "MiMoCode", "mimocode", "mimocode"),
    _same(("opencode", "opencode_db"), "IcodeMate", "icodemate", "icodemate"),
    _same(("pi",), "QClaw", "qclaw", ".qclaw/agents"),
    _marked("claude_code", "iFlow CLI", "iflow", "sessionId^session-"),
    _marked("claude_code", "Qoder", "qoder", "type=workspace-directories", "qodercli_version"),
    _marked("claude_print", "Qoder", "qoder", "qodercli_version", "type=workspace-directories"),
    _marked("claude_print", "Qwen Code", "qwen-code", "qwen_code_version"),
    # Claude Code lists its tools as a run begins, and counts its turns as it ends; Cursor does neither.
    _marked(
        "claude_print",
        "Cursor CLI",
        "cursor-cli",
        "type=system apiKeySource !tools",
        "type=result request_id !num_turns",
    ),
    _marked("pi", "OpenClaw", "openclaw", "customType=model-snapshot", "customType^openclaw:", "customType^openclaw."),
    _marked("pi", "oh-my-pi", "omp", "type=model_change model !modelId"),
    Fork(
        ("cline",),
        "Kilo Code",
        "kilo",
        "requests with `inferenceProvider` or `usageMissing`; the folder `kilocode.kilo-code` of versions without them",
        _request_has("inferenceProvider", "usageMissing"),
        r"[/\\]kilocode\.kilo-code[/\\]",
    ),
    Fork(
        ("cline",),
        "Roo Code",
        "roo",
        "requests with `apiProtocol`, rows `api_req_retry_delayed` and `condense_context`; the folder "
        "`rooveterinaryinc.roo-cline` of versions without them",
        lambda record: _delays(record) or _says_protocol(record),
        r"roo-cline",
    ),
    Fork(
        ("opencode", "opencode_db"),
        "Kilo CLI",
        "kilo",
        "the folder `kilo` alone, where `opencode` is expected: the records are the same",
        place=r"[/\\]kilo[/\\](?:kilo[^/\\]*\.db$|storage[/\\])",
    ),
)
"""Of one format, those first that also write what marks a later one."""


class Author:
    """Who writes a log: the program that the format is named for, until a record or the path says another one."""

    def __init__(self, format_name: str, path: str, known: str | None) -> None:
        """`known` is the fork that an earlier part of the log has shown."""
        self._rows = rows = _of_format(format_name)
        self.fork = known or next((row.agent for row in rows if row.place and re.search(row.place, path)), None)
        """The fork's name in events; None: it is no fork, as far as is known."""

    def told_by(self, record: Record) -> bool:
        """Whether a record says that it is another program than was known."""
        for row in self._rows:
            if row.agent == self.fork:
                return False
            if row.mark(record):
                self.fork = row.agent
                return True
        return False

    @property
    def may_change(self) -> bool:
        """Whether any record could still tell more."""
        return bool(self._rows) and self._rows[0].agent != self.fork


@cache
def _of_format(name: str) -> tuple[Fork, ...]:
    return tuple(row for row in FORKS if name in row.formats)


DIMENSIONS = ("agent", "agent_version", "provider", "model", "project", "cwd", "branch")
"""What a record may know of its session, and what an event says where its payload has a field for it."""
_SEPARATORS = re.compile(r"[/\\]+")
_LONGEST = 1_000
"""Characters of a path; longer ones are cut."""


def place_of(folder: object) -> dict[str, str]:
    """A working directory as `cwd`, without a home, and its last name as `project`; empty where it has none."""
    if not isinstance(folder, str):
        return {}
    kept = without_home(folder[:_LONGEST].rstrip("/\\"))
    name = _SEPARATORS.split(kept)[-1]
    return {"cwd": kept, "project": name} if name else {}


def caller_of(program: str, known: Mapping[str, Any], role: str | None = None) -> str:
    """The caller that an interactive agent is: the program, the project that it is at work in, and its role there."""
    project = known.get("project")
    return f"{program}{f'@{project}' if project else ''}{f'/{role}' if role else ''}"


_COMMANDS = {
    "claude-code": "claude --resume {}",
    "codex": "codex resume {}",
    "codex exec": "codex resume {}",
    "copilot": "copilot --resume {}",
    "opencode": "opencode --session {}",
    "traex": "traex resume {}",
}
"""By the agent's name in events: a fork knows nothing of the sessions of the agent whose format it writes."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


def resuming(agent: str | None, session: str, cwd: str | None) -> str:
    """The command, in the folder of the session where the log names it; empty where there is none."""
    command = _COMMANDS.get(agent or "")
    if command is None or not _ID.fullmatch(session):
        return ""
    said = command.format(session)
    if not cwd or terminal_safe(cwd) != cwd:
        return said
    home, slash, rest = cwd.partition("~/")
    folder = f"~/{shlex.quote(rest)}" if slash and not home else shlex.quote(cwd)
    return f"cd {folder} && {said}"
