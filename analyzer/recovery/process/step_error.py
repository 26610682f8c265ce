"""The failure of a run: one of four words, its cost, and the remediation.

The stream's own result record has priority over exit codes; agents have no exit code for a full context.

An observer reads session, result, tokens and the last words of a run from the output of its agent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from analyzer.agent_stream import (
    GENERAL_ERROR,
    TIMEOUT,
    UNKNOWN,
    count,
    error_facts,
    failure_reason,
    mapping,
    run_tokens,
    says_error,
    text,
    turn_limit_advice,
    turns_at_limit,
)
from analyzer.errors import HALTED, AnalyzerError
from analyzer.frozen import frozen
from analyzer.recovery.process.streams import Lines, Tail, last_lines, line_at

if TYPE_CHECKING:
    from analyzer.classifier import Classification, Rules


# Inside a JSON string these quotes would be escaped, so an unescaped match is structure, never somebody's prose.
_RESULT, _USAGE, _SESSION = b'"result"', b'"usage"', b'"session_id"'
_IS_RESULT = re.compile(rb'"type": ?"result"')
_SUBAGENT = re.compile(rb'"parent_tool_use_id": ?"')
_VERSION = re.compile(rb'"claude_code_version": ?"([0-9][0-9A-Za-z.+-]{0,30})"')
_TRIES = 8
"""Lines of one piece that are searched for a relevant one."""
_SESSION_CHARS = 200
"""The longest name of a session."""


@frozen
class TokenUsage:
    """Tokens of a run, as far as its stream names them."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    context_tokens: int | None = None
    """Tokens in the context at the last reply: input, cached input and output together."""
    context_window: int | None = None


@frozen
class Observed:
    """The evidence of a run at its end."""

    session: str | None = None
    agent_version: str | None = None
    result: Mapping[str, Any] = field(default_factory=dict)
    """The last result record; empty if there was none."""
    usage: TokenUsage = TokenUsage()
    stdout: str = ""
    """The end of stdout, without its JSON records."""
    stdout_end: str = ""
    """The part of `stdout` after the last record."""
    stderr: str = ""
    """The end of stderr."""


class Observer:
    """An observer of the two streams of one start of a command; each stream is fed from one thread."""

    def __init__(self, follow: Callable[[bytes], None] | None = None) -> None:
        self._follow = follow
        self._lines = Lines()
        self._tails = Tail(), Tail()
        self._session = b""
        self._version: str | None = None
        self._result = self._reply = b""
        self.ends_whole = True
        """True if stdout ends with a whole line, or is empty."""

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
        """Return the evidence of the run. Call it once the streams have ended."""
        rest = self._lines.rest()
        self._search(rest, 0, len(rest))
        result, reply = parse(self._result), parse(self._reply)
        lines = self._tails[0].text().splitlines()
        ends = max((number for number, line in enumerate(lines, 1) if _is_record(line)), default=0)
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
        """Return the session, while the command still runs."""
        return _session(parse(self._session))

    def _search(self, region: bytes, start: int, end: int) -> None:
        if not self._session:
            position = region.find(_SESSION, start, end)
            if position >= 0:
                self._session = line_at(region, position, start, end)
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
    """Decode the object on a line; empty if there is none."""
    if not line:
        return {}
    from analyzer.events.codec import parsed  # not at the top: a command should not have to wait for it

    return mapping(parsed(line))


def context_tokens(reply: Mapping[str, Any]) -> int | None:
    """Return the tokens in the context after a reply: input, cached or not, and output."""
    usage = mapping(mapping(reply.get("message")).get("usage"))
    parts = (
        count(usage.get(key))
        for key in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    )
    counts = [part for part in parts if part is not None]
    return sum(counts) if counts else None


def context_window(result: Mapping[str, Any]) -> int | None:
    """Return the largest context window among the models of a result record."""
    models = mapping(result.get("modelUsage")).values()
    return max(filter(None, (count(mapping(model).get("contextWindow")) for model in models)), default=None)


def _session(record: Mapping[str, Any]) -> str | None:
    name = text(record.get("session_id"))
    return name if name is not None and len(name) <= _SESSION_CHARS else None


def _usage(result: Mapping[str, Any], reply: Mapping[str, Any]) -> TokenUsage:
    of_run = result if mapping(result.get("usage")) else mapping(reply.get("message"))
    return TokenUsage(*run_tokens(of_run), context_tokens(reply), context_window(result))


_LINE_CHARS = 300
STDOUT_CHARS = 3_900
"""Characters at the end of stdout that the classifier keeps whole."""


class StepError(AnalyzerError):
    """A supervised run that failed.

    `exit_code` is the command's, `hint` tells a person what happened and what to do.
    """

    def __init__(
        self,
        message: str,
        remediation: str,
        *,
        failure_reason: str,
        classification: Classification,
        usage: TokenUsage,
        exit_code: int,
    ) -> None:
        super().__init__(message, remediation)
        self.failure_reason = failure_reason
        """`timeout`, `context_exhaustion`, `general_error` or `unknown`."""
        self.classification = classification
        self.usage = usage
        self.exit_code = exit_code

    @property
    def remediation(self) -> str:
        """Return what to do now."""
        return self.hint


class RelayHaltedError(AnalyzerError):
    """A step that was stopped, because it can be handed off no further."""

    exit_code = HALTED


def step_error(
    observed: Observed,
    exit_code: int,
    *,
    timed_out_after: float | None = None,
    at: datetime | None = None,
    rules: Rules = None,
    provider: str | None = None,
    agent: str | None = None,
) -> StepError | None:
    """Return the failure of a run; None for one that went well.

    A run failed if its exit code or its result record says so. `timed_out_after` are the seconds after which it was
    stopped; its last words count all the same. `at` (aware) resolves texts such as "resets 4pm". A refused credential
    is that of `provider`, else of the provider that the error or the name of the `agent` implies.
    """
    flagged = says_error(observed.result)
    if exit_code == 0 and not flagged and timed_out_after is None:
        return None
    from analyzer.classifier import classify  # not at the top: only a failure loads it

    facts = _facts(observed, exit_code, flagged)
    verdict = classify(facts, at=at, rules=rules)
    if verdict.detail == "usage_limit":
        # A line before further records did not end the run, and an agent that reports success did not hit its limit.
        end = "" if observed.result and not flagged else observed.stdout_end
        if end != observed.stdout:
            verdict = classify({**facts, "stdout": _end_of(end)}, at=at, rules=rules)
    decided = verdict.reason == "context_overflow" or verdict.detail == "usage_limit"
    if timed_out_after is not None and not decided:
        # A command that ends well on SIGTERM was stopped all the same.
        timeout = {"message": f"the command timed out after {timed_out_after:g} s", "exit_code": exit_code or 1}
        verdict = classify({**timeout, "stderr": observed.stderr}, at=at, rules=rules)
        reason = TIMEOUT
    else:
        reason = failure_reason(observed.result, verdict.reason, verdict.detail)
    turns = turns_at_limit(observed.result, verdict.detail)
    if reason == TIMEOUT and timed_out_after is not None:
        hint = (
            f"The command took longer than {timed_out_after:g} s and was stopped: give it more with --timeout, or "
            "split the step into smaller ones."
        )
    elif verdict.reason == "auth_error":
        from analyzer.recovery.retry.policy import auth_advice, provider_of

        whose = provider_of(provider) or provider or verdict.provider or provider_of(agent)
        hint = f"{auth_advice(verdict, whose)}."
    elif turns:
        hint = turn_limit_advice(turns)
    else:
        from analyzer.classifier.recovery_table import advice

        hint = advice(verdict.reason, verdict.detail)
    return StepError(
        _failure_line(reason, verdict, exit_code, turns),
        f"{hint} {cost}" if (cost := _cost(observed.usage, verdict)) else hint,
        failure_reason=reason,
        classification=verdict,
        usage=observed.usage,
        exit_code=exit_code,
    )


def start_error(error: AnalyzerError, rules: Rules = None) -> StepError:
    """Make the error of a command that could not be started."""
    from analyzer.classifier import classify

    return StepError(
        error.message,
        error.hint,
        failure_reason=UNKNOWN,
        classification=classify({"exit_code": error.exit_code, "stderr": error.message}, rules=rules),
        usage=TokenUsage(),
        exit_code=error.exit_code,
    )


def _end_of(stdout: str) -> str:
    from analyzer.redaction import redact

    # Redact before the cut, which may fall between a name and its value.
    return redact(stdout)[-STDOUT_CHARS:]


def _facts(observed: Observed, exit_code: int, flagged: bool) -> dict[str, Any]:
    stdout = _end_of(observed.stdout)
    facts: dict[str, Any] = {"exit_code": exit_code, "stdout": stdout, "stderr": observed.stderr}
    return facts | error_facts(observed.result) if flagged else facts


def _failure_line(reason: str, verdict: Classification, exit_code: int, turns: int | None = None) -> str:
    """Return one line about a failed step: what failed, then the first line of its output."""
    facts = verdict.facts
    line = next(iter(_lines(facts.message, facts.stderr, facts.stdout)), "")
    words = reason.replace("_", " ")
    if reason == UNKNOWN or (reason == GENERAL_ERROR and verdict.reason != "unknown"):  # the verdict says more
        words = f"{verdict.reason}, exit code {exit_code}"
    if verdict.detail == "max_turns" and reason != TIMEOUT:
        words = f"turn limit reached{f' after {turns} turns' if turns else ''}, exit code {exit_code}"
    return f"{words}: {line[:_LINE_CHARS]}" if line else words


def _lines(message: str | None, *streams: str | None) -> list[str]:
    """Return the first line of a message, then the last line of each stream."""
    lines = [line for line in (message or "").splitlines() if line.strip()][:1]
    for stream in streams:
        lines += [line.strip() for line in (stream or "").splitlines() if line.strip()][-1:]
    return lines


def _cost(usage: TokenUsage, verdict: Classification) -> str:
    held = verdict.current_tokens or usage.context_tokens
    window = verdict.max_tokens or usage.context_window
    parts = []
    if held is not None:
        parts.append(f"the context held {held:,}{f' of {window:,}' if window else ''} tokens")
    if usage.input_tokens is not None or usage.output_tokens is not None:
        parts.append(f"the run used {usage.input_tokens or 0:,} input and {usage.output_tokens or 0:,} output tokens")
    return f"({'; '.join(parts)})" if parts else ""
