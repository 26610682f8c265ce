"""Read what one run of an agent printed: what it did, how it ended, and the last failure that no work followed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from typing import Literal

from analyzer.agent_stream import SUBAGENTS, mapping
from analyzer.classifier import Classification, Facts, Rules, classify, classify_facts
from analyzer.classifier.reading.draft import without_colours
from analyzer.errors import InputError
from analyzer.events import Event
from analyzer.events.codec import parsed, repeated_key
from analyzer.events.times import parse_time
from analyzer.frozen import frozen
from analyzer.importers import HEAD_BYTES, Source, block_of, detect, head_of
from analyzer.importers.acts import (
    SYNTHETIC,
    Act,
    acts_in,
    acts_in_chat_line,
    is_broken_record,
    mentions_failure,
    multiline_record_start,
)
from analyzer.readable import stand_in
from analyzer.store.ingest.inputs import LONGEST_HEAD, Input

_TEXT_BYTES = 64 * 1024


@frozen
class Fault:
    """A failure, and the line that tells it."""

    verdict: Classification
    words: str
    line: int | None
    reset_at: datetime | None = None


@dataclass(slots=True)
class RunState:
    """What is known of one run, after the acts of its lines so far."""

    needs_end: bool = False
    """True if a record began the run, so that another record has to end it."""
    session: str | None = None
    fault: Fault | None = None
    """The last failure of the main conversation that no work followed."""
    ended: Literal["", "open", "replied", "ended", "failed", "aborted"] = ""
    """How the run stands; `replied`: its last act was a reply, which is the end in logs that tell no other."""
    end_line: int | None = None
    last_reply: str | None = None
    replies: int = 0
    calls: set[str | int] = field(default_factory=set)
    """Ids of the calls of tools; a call without an id has a number."""
    denied: tuple[str | None, ...] = ()
    launched: set[str] = field(default_factory=set)
    dead: dict[str, Fault] = field(default_factory=dict)
    """The failures that sub-agents came back with, by their calls."""
    came_back: set[str] = field(default_factory=set)
    tokens: Mapping[str, int] | None = None
    cost_usd: float | None = None
    model: str | None = None
    """The model that answered last in the main conversation."""

    @property
    def has_ended(self) -> bool:
        """Return whether a record says that the run is over, for better or worse."""
        return self.ended in ("ended", "failed", "aborted")

    def failed(self, fault: Fault) -> None:
        """Take a failure; one of unknown reason does not replace the last failure.

        The end of a run often repeats its failure in fewer words.
        """
        if self.fault is None or fault.verdict.reason != "unknown":
            self.fault = fault

    def act(self, act: Act, line: int, at: datetime, rules: Rules, *, failed_here: bool) -> None:
        """Take an act on a line.

        `failed_here`: a reader saw a failure on the line, so that a reply there is the failure's own words.
        """
        if act.kind == "error":
            self.ended = "open"
            verdict = classify({**(act.facts or {}), "is_error": True}, at=at, rules=rules)
            if verdict.reason != "unknown" and not failed_here:
                self.failed(Fault(verdict, act.words or "", line))
        elif act.kind == "aborted":
            self.ended, self.end_line = "aborted", line
        elif act.kind == "ended":
            self._end(act, line, at, rules)
        elif not (failed_here and act.kind in ("reply", "call")) and not (act.kind == "reply" and is_blank(act.words)):
            self._work(act, line, at, rules)

    def _work(self, act: Act, line: int, at: datetime, rules: Rules) -> None:
        self.ended = "replied" if act.kind == "reply" else "open"
        self.needs_end = self.needs_end or act.kind == "step"
        if act.kind == "result":
            self.result(act, line, at, rules)
        elif act.kind in ("reply", "call"):
            self.fault = None
            self.replies += act.kind == "reply"
            self.last_reply = act.words or self.last_reply
            if act.kind == "call":
                self.calls.add(act.call or len(self.calls))
            if act.tool in SUBAGENTS and act.call:
                self.launched.add(act.call)

    def result(self, act: Act, line: int, at: datetime, rules: Rules) -> None:
        """Take the result of a call, if the call launched a sub-agent."""
        if act.call not in self.launched or act.call is None:
            return
        self.came_back.add(act.call)
        words = (act.words or "").strip()
        verdict = classify({"message": words, "is_error": True}, at=at, rules=rules)
        if act.failed or (is_error(words, verdict) and "\n" not in words):
            self.dead[act.call] = Fault(verdict, words, line)

    def _end(self, act: Act, line: int, at: datetime, rules: Rules) -> None:
        of_another = act.session and self.session and act.session != self.session
        if not act.failed and (of_another or self.ended in ("failed", "aborted")):
            return
        self.ended, self.end_line = "failed" if act.failed else "ended", line
        self.denied, self.tokens, self.cost_usd = act.denied, act.tokens, act.cost_usd
        if act.failed:
            return
        if act.words is None:
            if self.replies:
                self.fault = None  # the end itself would name a failure
            return
        verdict = classify({"message": act.words, "is_error": True}, at=at, rules=rules)
        written = (self.tokens or {}).get("output_tokens", self.replies)
        if self.fault is None and not written and is_error(act.words, verdict):
            self.fault = Fault(verdict, act.words, line)  # the end says success, but no model wrote its words
        elif self.fault is None:  # replies before a failure do not count as work after it
            self.replies += not self.replies and not is_blank(act.words)
            self.last_reply = act.words


@dataclass(slots=True)
class RunOutput:
    """The content of one output; the last run that began in it decides."""

    file: str
    format: str
    agent: str | None = None
    run: RunState = field(default_factory=RunState)
    unread: int | None = None
    """A line after all acts that could not be read: it may tell how the run ended, or that another one began."""
    text_end: bytearray = field(default_factory=bytearray)
    """The end of the text that is no record: after the last record, or of a plain text."""
    text_line: int = 1
    """The line on which `text_end` begins."""

    @property
    def text(self) -> str:
        """Return the text that is no record, as a terminal shows it."""
        return shown_on_terminal(self.text_end.decode("utf-8", "replace"))

    def take_text(self, data: bytes, line: int) -> None:
        """Add text that is no record and begins on a line; only the end of a long text is kept."""
        if not self.text_end:
            self.text_line = line
        self.text_end += data
        if (more := len(self.text_end) - 2 * _TEXT_BYTES) > 0:
            self.look_back()
            more += _TEXT_BYTES
            self.text_line += self.text_end.count(b"\n", 0, more)
            del self.text_end[:more]

    def look_back(self) -> None:
        """Note a record over several lines in the text: it may tell another end."""
        if self.text_end and (at := multiline_record_start(self.text)) is not None:
            self.unread = self.text_line + self.text.count("\n", 0, at)

    def event(self, event: Event, line: int, rules: Rules) -> bool:
        """Take an event of a reader; return whether it is a failure of the main conversation."""
        payload = event.payload
        self.agent = payload.get("agent") or self.agent
        if event.type == "retry.settled" and payload.get("outcome") == "recovered":
            self.run.fault = None
        if event.type != "error.classified" or str(payload.get("caller") or "").endswith("/subagent"):
            return False
        facts = Facts.from_dict(payload.get("facts") or {})
        verdict = classify_facts(facts, at=event.occurred_at.replace(tzinfo=UTC), rules=rules)
        if verdict.reason == "tool_not_found" and "failure_reason" not in payload:
            return False  # the model is told, and goes on
        reset_at = payload.get("reset_at")
        words = facts.message or facts.stdout or ""
        self.run.failed(Fault(verdict, words, line, parse_time(reset_at) if reset_at else None))
        return True

    def act(self, act: Act, line: int, at: datetime, rules: Rules, *, failed_here: bool) -> None:
        """Take an act on a line, of the run in hand or of the next one, which it begins."""
        if act.side is not None:
            if act.kind == "result":
                self.run.result(act, line, at, rules)
            return
        self.unread = None
        if act.kind == "began":
            self.run = RunState(needs_end=True, session=act.session)
        elif self.run.has_ended and not failed_here and act.kind not in ("error", "aborted", "ended"):
            self.run = RunState(needs_end=self.run.needs_end or self.run.ended == "ended")
        self.run.act(act, line, at, rules, failed_here=failed_here)

    def line(self, raw: bytes, number: int, at: datetime, rules: Rules, *, failed_here: bool, is_whole: bool) -> None:
        """Take a line; `is_whole`: a newline ends it."""
        record = parsed(raw) if raw[:64].lstrip(b"\xef\xbb\xbf \t")[:1] == b"{" else None
        if self.format == "aider":
            done: Sequence[Act] = tuple(acts_in_chat_line(raw.decode("utf-8", "replace")))
        elif record is not None:
            self.look_back()
            self.text_end.clear()
            done = tuple(acts_in(record))
        else:
            self.take_text(raw + b"\n", number)
            done = ()
        for act in done:
            self.act(act, number, at, rules, failed_here=failed_here)
        if record is not None and not record.get("parent_tool_use_id"):
            own = record.get("model") or mapping(record.get("message")).get("model")
            self.run.model = own if isinstance(own, str) and own != SYNTHETIC else self.run.model
        if done:
            is_doubtful = done[-1].kind == "ended" and repeated_key(raw) is not None
        elif record is None:
            is_doubtful = is_broken_record(raw + b"\n" * is_whole)
        else:
            is_doubtful = mentions_failure(record)
        if is_doubtful:
            self.unread = number


def read_output(path: str, rules: Rules = None, name: str | None = None) -> RunOutput:
    """Read an output; the answer calls it `name`, or by its path.

    Raises:
        InputError: it cannot be read, or is of no agent's format.
    """
    with Input(path) as source:
        kind = detect(head_of(source.head(HEAD_BYTES)))
        if kind.name == "text" and (begins := _first_record(source)) is not None:
            later = detect(head_of(source.between(begins, begins + HEAD_BYTES)))
            kind = later if later.made_by else kind
        output = RunOutput(name or source.path, kind.name)
        if kind.name == "empty":
            return output
        if kind.name in ("binary", "sqlite", "jsonl", "json") or kind.name.endswith("_db"):
            hint = "give what the run printed: JSON lines of an agent, or a text with --agent NAME"
            raise InputError(f"{path}: {kind.title}, not what a run of an agent printed", hint)
        if kind.reader is None:
            for chunk in source.chunks(0):
                output.take_text(chunk, 1)
            lines = bytes(output.text_end).split(b"\n")
            records = (n for n, line in enumerate(lines) if any(acts_in(mapping(parsed(line)))))
            is_cut = source.damage is not None or b"\0" in output.text_end or is_broken_record(lines[-1])
            place = next(records, len(lines) - 1 if is_cut else None)
            output.unread = None if place is None else output.text_line + place
            return output
        at = source.file_time
        reader = kind.reader(Source(source.path, at), {})
        aware, done, rest = at.replace(tzinfo=UTC), 0, b""
        for chunk in chain(source.chunks(0), (b"",)):
            # The empty chunk stands for the line without a newline at the end.
            whole, newline, rest = (rest + chunk).rpartition(b"\n") if chunk else (rest, rest, b"")
            if len(rest) > LONGEST_HEAD:
                rest, output.unread = b"", done + 1
            if not newline:
                continue
            block = block_of(whole + b"\n")
            hits = {hit.offset: hit.events for hit in reader.read(block)}
            offset = 0
            for number, raw in enumerate(whole.split(b"\n"), done + 1):
                failed_here = False
                for event in hits.get(offset, ()):
                    failed_here = output.event(event, number, rules) or failed_here
                output.line(raw, number, aware, rules, failed_here=failed_here, is_whole=bool(chunk))
                offset += len(raw) + 1
            done += len(block.ends)
        output.look_back()
        for event in reader.finish():
            output.event(event, done, rules)
        output.unread = (done or 1) if source.damage else output.unread
    return output


def _first_record(source: Input) -> int | None:
    """Return the offset of the first line that looks like a record: a job may print text before its agent does."""
    offset = 0
    for chunk in source.chunks(0):
        if record := re.search(rb'^\{"', chunk, re.MULTILINE):
            return offset + record.start()
        offset += len(chunk)
    return None


_WIPED = re.compile(r"^[^\n]*(?:\x1b\[[12]K|\r\x1b\[0?K)", re.MULTILINE)
"""Matches the text on a line before a code that empties the line."""
_CUT_CODE = re.compile(r"\x9b[0-?]*[ -/]*[@-~]|\x1b[\[\]]?[ -?]*\Z")
"""Matches a code of a terminal in its shorter form, or one that breaks off."""
_LEAD = re.compile(
    r"\A(?:\x1b\[[0-9;]*m|[\W_])*(?:(?:fatal|api|stream|unexpected|request|execution|litellm\.\w+)\b\W*)*"
    r"(?:errors?|failed|failure|exception|ran into this error|\w{0,40}(?:Error|Exception))\b\W*",
    re.IGNORECASE,
)


def shown_on_terminal(words: str) -> str:
    """Return a text as a terminal shows it: without what is invisible, overwritten or wiped out."""
    if words.isascii() and words.isprintable():
        return words
    shown = _CUT_CODE.sub("", without_colours(_WIPED.sub("", words))).replace("\r\n", "\n")
    shown = re.sub(r"^[^\n]*\r(?=[^\n\r])", "", shown, flags=re.MULTILINE)
    hidden = {ord(character): None for character in set(shown) - set("\n\t") if (stand_in(character) or " ") != " "}
    return shown.translate(hidden) if hidden else shown


def is_blank(words: str | None) -> bool:
    """Tell whether there are words and a terminal shows nothing of them."""
    return words is not None and not shown_on_terminal(words).strip()


def deciding_words(verdict: Classification) -> str:
    """Return the words of the text by which the classifier decided; empty if it decided by other facts."""
    quoted = re.fullmatch(r"text (['\"])(.*)\1", verdict.matched or "", re.DOTALL)
    return quoted[2] if quoted else ""


def is_error(words: str, verdict: Classification) -> bool:
    """Return whether a short text is an error as a whole.

    Its first words say so, or are those that decided.
    """
    if verdict.reason == "unknown" or verdict.confidence != "strong" or words.count("\n") > 4:
        return False
    begins = words.lstrip()
    if begins[:1] in "`\"'“‘>|*-#":
        return False
    deciding = deciding_words(verdict)
    return bool(_LEAD.match(begins)) or bool(deciding and 0 <= begins.find(deciding) <= 2)
