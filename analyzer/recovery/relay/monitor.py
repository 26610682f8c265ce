"""Relay: watches the size of an agent's context, and hands its work to a fresh instance by a checkpoint.

Invariant: a relay ends in `resumed`, `skipped` or `halted`, and a step that relays without progress halts.

The agent's stream of records shows the size of the context, and when the agent may be paused.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from analyzer.agent_stream import mapping, text
from analyzer.errors import AnalyzerError
from analyzer.events import EventLog
from analyzer.events.model import new_id, present
from analyzer.events.payloads import RelayPayload
from analyzer.recovery.process.step_error import RelayHaltedError, context_tokens, context_window, parse
from analyzer.recovery.process.streams import CHUNK_BYTES, Lines, last_lines, write_all
from analyzer.recovery.relay import checkpoint as documents
from analyzer.recovery.relay import summarizers
from analyzer.recovery.relay.checkpoint import Checkpoint, SummarizerLimitError, Transcript, tool_calls
from analyzer.recovery.relay.config import DEFAULT_CONTEXT_WINDOW, RelaySettings
from analyzer.recovery.relay.summarizers import CommandSummarizer, prompt_of

OFTEN = 3
"""The number of relays of one step from which it should be split."""
MOST = 50
"""The most relays of one step, which then makes no progress."""
PUT_OFF_PERCENT = 5.0
"""After a skipped relay, the next one is due when the context is fuller by this many percent."""

Summarizer = Callable[[Transcript, int], str]
"""A function from a session and the most tokens of its checkpoint to the text of the checkpoint. It raises
`SummarizerLimitError` if it cannot hold the session, any other `AnalyzerError` for other failures."""


class RelayMonitor:
    """The size of one context.

    Each step, and each worker of a matrix step, has a monitor of its own.
    """

    def __init__(self, settings: RelaySettings, *, step_id: str | None = None, worker_id: str | None = None) -> None:
        self.settings = settings
        self.step_id = step_id
        self.worker_id = worker_id
        self.relay_count = 0
        """Hand-offs of this step so far."""
        self.tokens: int | None = None
        """Tokens in the context now; None before the first reply of an instance."""
        self.context_window = settings.context_window or DEFAULT_CONTEXT_WINDOW
        self.due_percent = settings.threshold_percent

    def observe(self, tokens: int) -> bool:
        """Record the tokens in the context; return true if a relay is due."""
        self.tokens = tokens
        return self.due

    def observe_window(self, tokens: int) -> None:
        """Record the tokens that the model's context holds; a value in the settings has priority."""
        self.context_window = self.settings.context_window or tokens

    def observe_model(self, name: str) -> None:
        """Record the model's name; `[1m]` in it means a context of a million tokens."""
        if "[1m]" in name.lower():
            self.observe_window(1_000_000)

    @property
    def usage_percent(self) -> float:
        """Return the used share of the context in percent; it may exceed 100."""
        return round(100 * (self.tokens or 0) / self.context_window, 1)

    @property
    def due(self) -> bool:
        """Return true if the context is so full that the work should be handed off."""
        return 100 * (self.tokens or 0) >= self.due_percent * self.context_window

    @property
    def advice(self) -> str | None:
        """Return advice for a step that hands off often; None for any other."""
        if self.relay_count < OFTEN:
            return None
        return f"{self.step_id or 'this step'} has handed off {self.relay_count} times: split it into smaller steps"

    def handed_off(self) -> None:
        """Record that a fresh instance begins."""
        self.relay_count += 1
        self.tokens = None
        self.due_percent = self.settings.threshold_percent

    def put_off(self) -> None:
        """Record that the relay was skipped and the same context goes on."""
        self.due_percent = self.usage_percent + PUT_OFF_PERCENT


class Relay:
    """The hand-offs of one step: checkpoints are made, checked, written and counted, with their events.

    A program with its own conversation calls `monitor.observe(tokens)` after each reply. If that returns true,
    `hand_off(make)` returns the checkpoint to begin a fresh conversation with, or None to go on with this one. After
    the first reply of the fresh one it calls `resumed(tokens)`.
    """

    def __init__(
        self,
        monitor: RelayMonitor,
        folder: str | os.PathLike[str],
        *,
        summarizer: Summarizer | None = None,
        log: EventLog | None = None,
        caller: str = "agent",
        session: Callable[[], str | None] = lambda: None,
    ) -> None:
        self.monitor = monitor
        self.checkpoint: Checkpoint | None = None
        """The newest checkpoint; a fresh instance gets only this one."""
        self.path: Path | None = None
        """The file of the newest checkpoint."""
        self.skipped: str | None = None
        """The reason why the last hand-off was skipped."""
        self._folder = Path(folder)
        self._summarizer = summarizer or summarizer_of(monitor.settings)
        self._log = log
        self._caller = caller
        self._session = session
        self._identity: RelayPayload = {}
        self._began = 0.0

    @property
    def resuming(self) -> bool:
        """Return true if a fresh instance has begun and not answered yet."""
        return bool(self._identity)

    def hand_off(self, make: Callable[[], Transcript]) -> Checkpoint | None:
        """Summarize the session that `make` returns.

        None after a failure: the agent goes on with its context.

        Raises:
            RelayHaltedError: the session or its checkpoint is too large, or the step relays without end.
        """
        monitor = self.monitor
        cap = monitor.settings.checkpoint_token_cap
        self._began = time.monotonic()
        self._identity = {"relay": new_id(), "caller": self._caller, "relay_count": monitor.relay_count + 1}
        self._identity |= {"step_id": monitor.step_id, "worker_id": monitor.worker_id}
        self._event(
            "relay.triggered",
            token_usage_percent=monitor.usage_percent,
            threshold_percent=monitor.settings.threshold_percent,
            pre_tokens=monitor.tokens,
            strategy=monitor.settings.strategy,
            trigger="auto",
        )
        try:
            if monitor.relay_count >= MOST:
                raise SummarizerLimitError(f"{MOST} hand-offs, and no end of the step")
            checkpoint = self._summarized(make(), cap)
            name = "-".join(filter(None, (monitor.step_id, monitor.worker_id, self._identity["relay"])))
            self.path = documents.write(checkpoint, self._folder, name)
        except SummarizerLimitError as error:
            raise self.halt(str(error)) from error
        except AnalyzerError as error:
            self.skipped = error.message
            self._event("relay.skipped", cause=error.message)
            self._identity = {}
            monitor.put_off()
            return None
        self.checkpoint = checkpoint
        monitor.handed_off()
        self._event("relay.checkpointed", checkpoint_tokens=checkpoint.tokens)
        return checkpoint

    def resumed(self, tokens: int | None = None) -> None:
        """Record that the fresh instance has answered, and the tokens in its context.

        Raises:
            RelayHaltedError: a relay is due again already, and the next one would be no better.
        """
        if not self._identity:
            return
        if tokens is not None and self.monitor.observe(tokens):
            raise self.halt(
                f"the task and the checkpoint by themselves fill {self.monitor.usage_percent:g}% of the context", tokens
            )
        self._event(
            "relay.resumed",
            post_tokens=tokens,
            duration_seconds=round(time.monotonic() - self._began, 3),
            advice=self.monitor.advice,
        )
        self._identity = {}

    def halt(self, cause: str, tokens: int | None = None) -> RelayHaltedError:
        """Log `relay.halted`, and return the error to raise."""
        self._event("relay.halted", cause=cause, post_tokens=tokens)
        self._identity = {}
        return RelayHaltedError(
            f"relay halted: {cause}",
            "split the step into smaller ones, give it less to read, or raise the caps in [relay] of analyzer.toml",
        )

    def _summarized(self, transcript: Transcript, token_cap: int) -> Checkpoint:
        most = self.monitor.settings.summarizer_token_cap
        if transcript.tokens > most:
            raise SummarizerLimitError(f"the session has more than the summarizer's {most:,} tokens")
        checkpoint = documents.parse(self._summarizer(transcript, token_cap))
        if checkpoint.tokens > token_cap:
            raise SummarizerLimitError(f"the checkpoint has {checkpoint.tokens:,} tokens, more than {token_cap:,}")
        return checkpoint

    def _event(self, kind: str, **payload: Any) -> None:
        if self._log is not None:
            self._log.append(kind, present({**self._identity, **payload}), session=self._session())


def summarizer_of(settings: RelaySettings) -> Summarizer:
    """Return the summarizer of the settings.

    Raises:
        AnalyzerError: the command line or the prompt file cannot be read, or there is a prompt without a command.
    """
    path = settings.summarizer_prompt_file
    if settings.summarizer is None:
        if path is not None:
            raise AnalyzerError(f"nobody reads the prompt {path}", "name a summarizer beside it, or leave it out")
        return summarizers.summarize
    return CommandSummarizer(
        settings.summarizer, limits=settings.summarizer_limits, prompt=prompt_of(path) if path is not None else ""
    )


_WINDOW, _USAGE = b'"contextWindow"', b'"usage"'
_TRIES = 8
"""Lines of subagents that are skipped in the search for a reply."""
_RELEVANT = re.compile(rb'"type": ?"(?:assistant|user|result)"')


class RelayStream:
    """The records of one instance, read in the thread that hands its output on."""

    def __init__(
        self, monitor: RelayMonitor, *, at_safe_point: Callable[[], None], first_reply: Callable[[int], None]
    ) -> None:
        self._monitor = monitor
        self._at_safe_point = at_safe_point
        self._first_reply = first_reply
        self._kept = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as this object
        self._pending: set[str] = set()
        self._replied = False
        self._paused = False

    def follow(self, lines: bytes) -> None:
        """Read the next whole lines of stdout."""
        write_all(self._kept.fileno(), lines)
        if self._replied and not self._monitor.due:
            if not self._matters(lines):
                return
            # Tool calls of earlier replies are answered before the reply that makes a relay due.
            self._pending = set()
        for line in lines.splitlines():
            if _RELEVANT.search(line):
                self._record(parse(line))

    def _matters(self, lines: bytes) -> bool:
        """Return true if lines below the threshold must be read one by one.

        Their last reply decides.
        """
        if _WINDOW in lines:
            return True
        for line, tries in zip(last_lines(lines, 0, len(lines), _USAGE), range(_TRIES + 1), strict=False):
            if tries == _TRIES:
                return True
            record = parse(line)
            if record.get("type") == "assistant" and not record.get("parent_tool_use_id"):
                tokens = context_tokens(record)
                return tokens is not None and self._monitor.observe(tokens)
        return False

    def _record(self, record: Mapping[str, Any]) -> None:
        kind = record.get("type")
        if kind == "result":
            window = context_window(record)
            if window:
                self._monitor.observe_window(window)
        if kind not in ("assistant", "user") or record.get("parent_tool_use_id"):
            return
        called, answered = tool_calls(record)
        self._pending = (self._pending | called) - answered
        if kind == "assistant":
            self._reply(record)
        elif self._monitor.due and not self._pending and not self._paused:
            self._paused = True
            self._at_safe_point()

    def go_on(self) -> None:
        """Record that the agent goes on; its next safe point counts again."""
        self._paused = False

    def records(self) -> Iterator[Mapping[str, Any]]:
        """Yield the records of the instance so far."""
        lines, offset = Lines(), 0
        while data := os.pread(self._kept.fileno(), CHUNK_BYTES, offset):  # the position of the writer stays
            offset += len(data)
            for region, start, end in lines.feed(data):
                yield from map(parse, region[start:end].splitlines())

    def close(self) -> None:
        """Delete the records that were kept."""
        self._kept.close()

    def _reply(self, record: Mapping[str, Any]) -> None:
        model = text(mapping(record.get("message")).get("model"))
        if model == "<synthetic>":
            return
        if model is not None:
            self._monitor.observe_model(model)
        tokens = context_tokens(record)
        if tokens is not None:
            self._monitor.observe(tokens)
            if not self._replied:
                self._replied = True
                self._first_reply(tokens)
