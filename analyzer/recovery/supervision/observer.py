"""What the output of an agent shows of its run: session, result, tokens, and the words that it failed with.

Lines are found by byte search and parsed one a piece at most, so that a stream of any size costs next to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from analyzer.agent_stream.result import run_tokens
from analyzer.agent_stream.values import count, mapping, text
from analyzer.recovery.process.streams import Lines, Tail, last_lines, line_at

# Inside a JSON string these quotes would be escaped, so an unescaped match is structure, never somebody's prose.
_RESULT, _USAGE, _SESSION = b'"result"', b'"usage"', b'"session_id"'
_IS_RESULT = re.compile(rb'"type": ?"result"')
_SUBAGENT = re.compile(rb'"parent_tool_use_id": ?"')
_VERSION = re.compile(rb'"claude_code_version": ?"([0-9][0-9A-Za-z.+-]{0,30})"')
_TRIES = 8
"""Lines looked at in one piece for one that matters."""
_SESSION_CHARS = 200
"""The longest name that is taken for a session."""


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of a run, as far as its stream says."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    context_tokens: int | None = None
    """What the context held at the last reply: input, cached input and output together."""
    context_window: int | None = None


@dataclass(frozen=True, slots=True)
class Observed:
    """What a run has shown by its end."""

    session: str | None = None
    agent_version: str | None = None
    result: Mapping[str, Any] = field(default_factory=dict)
    """The last result record; empty where there was none."""
    usage: TokenUsage = TokenUsage()
    stdout: str = ""
    """The end of stdout, without its JSON records."""
    stdout_end: str = ""
    """Of that, what stands behind the last record."""
    stderr: str = ""
    """The end of stderr."""


class Observer:
    """Watches the two streams of one start of a command; each stream from one thread."""

    def __init__(self, follow: Callable[[bytes], None] | None = None) -> None:
        self._follow = follow
        self._lines = Lines()
        self._tails = Tail(), Tail()
        self._session = b""
        self._version: str | None = None
        self._result = self._reply = b""
        self.ends_whole = True
        """Whether stdout ends with a whole line, or is empty."""

    def stdout(self, data: bytes) -> None:
        """Take the next piece of stdout."""
        self._tails[0].feed(data)
        self.ends_whole = data.endswith(b"\n")
        for region, start, end in self._lines.feed(data):
            self._search(region, start, end)

    def stderr(self, data: bytes) -> None:
        """Take the next piece of stderr."""
        self._tails[1].feed(data)

    def observed(self) -> Observed:
        """What the streams showed. Call it once they have ended."""
        rest = self._lines.rest()
        self._search(rest, 0, len(rest))
        result, reply = parse(self._result), parse(self._reply)
        lines = self._tails[0].text().splitlines()
        ends = max((place for place, line in enumerate(lines, 1) if _is_record(line)), default=0)
        return Observed(
            session=_session(result) or self.session(),
            agent_version=self._version,
            result=result,
            usage=_usage(result, reply),
            stdout=_plain(lines),
            stdout_end=_plain(lines[ends:]),
            stderr=self._tails[1].text(),
        )

    def session(self) -> str | None:
        """The session, while the command still runs."""
        return _session(parse(self._session))

    def _search(self, region: bytes, start: int, end: int) -> None:
        if not self._session:
            place = region.find(_SESSION, start, end)
            if place >= 0:
                self._session = line_at(region, place, start, end)
                version = _VERSION.search(self._session)
                self._version = version[1].decode() if version else None
        for line, _ in zip(last_lines(region, start, end, _RESULT), range(_TRIES), strict=False):
            if _IS_RESULT.search(line):
                self._result = line
                break
        for line, _ in zip(last_lines(region, start, end, _USAGE), range(_TRIES), strict=False):
            if b'"assistant"' in line and not _SUBAGENT.search(line):
                self._reply = line
                break
        if self._follow is not None:
            self._follow(region[start:end])


def _is_record(line: str) -> bool:
    return line.lstrip().startswith("{")


def _plain(lines: list[str]) -> str:
    return "\n".join(line for line in lines if not _is_record(line))


def parse(line: bytes) -> Mapping[str, Any]:
    """The object on a line; an empty one where there is none."""
    if not line:
        return {}
    import msgspec  # a command should not have to wait for it

    from analyzer.events.codec import parsed

    try:
        found = parsed(line)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return {}
    return mapping(found)


def context_tokens(reply: Mapping[str, Any]) -> int | None:
    """Tokens in the context after a reply: what went in, cached or not, and what came out."""
    usage = mapping(mapping(reply.get("message")).get("usage"))
    parts = (
        count(usage.get(key))
        for key in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    )
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def context_window(result: Mapping[str, Any]) -> int | None:
    """The largest context window among the models of a result record."""
    models = mapping(result.get("modelUsage")).values()
    return max(filter(None, (count(mapping(model).get("contextWindow")) for model in models)), default=None)


def _session(record: Mapping[str, Any]) -> str | None:
    name = text(record.get("session_id"))
    return name if name is not None and len(name) <= _SESSION_CHARS else None


def _usage(result: Mapping[str, Any], reply: Mapping[str, Any]) -> TokenUsage:
    of_run = result if mapping(result.get("usage")) else mapping(reply.get("message"))
    return TokenUsage(*run_tokens(of_run), context_tokens(reply), context_window(result))
