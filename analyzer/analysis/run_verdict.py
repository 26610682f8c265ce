"""One run of an agent, one answer: what its output and its exit code say, read to the end.

What failed last and was not followed by work decides; prose never does. A success is believed where something was
done: a reply, a call of a tool, a sub-agent that lived.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any, Literal

from analyzer.agent_stream import SUBAGENTS, hollow, mapping
from analyzer.classifier import Classification, Facts, Rules, classify, classify_facts
from analyzer.classifier.reading.draft import without_colours
from analyzer.errors import BLOCKED, FAILED, HOLLOW, OK, RETRY, WAIT, InputError
from analyzer.events import Event
from analyzer.events.codec import parsed, repeated_key
from analyzer.events.times import format_time, now, parse_time
from analyzer.importers import HEAD_BYTES, Source, block_of, detect, head_of
from analyzer.importers.work import (
    ENDS,
    SAYS_WORK,
    Deed,
    deeds,
    is_broken_record,
    lines_work,
    names_failure,
    spread_record,
)
from analyzer.readable import counted, stand_in
from analyzer.recovery.process.step_error import STDOUT_CHARS
from analyzer.recovery.retry.policy import Backoff
from analyzer.redaction import redact
from analyzer.store.ingest.inputs import LONGEST_HEAD, Input

Answer = Literal["passed", "failed", "retry", "wait", "blocked", "hollow"]

EXIT_CODES: Mapping[str, int] = {
    "passed": OK,
    "failed": FAILED,
    "retry": RETRY,
    "wait": WAIT,
    "blocked": BLOCKED,
    "hollow": HOLLOW,
}
"""The exit code of each answer."""
GRAVEST = ("blocked", "failed", "wait", "retry", "hollow", "passed")
"""Of several files of one run, the first of these is its answer."""
MEANINGS: Mapping[str, str] = {
    "passed": "the run did its work",
    "failed": "the work itself failed",
    "retry": "try again, after some seconds",
    "wait": "a usage limit or a quota is reached: try again once it resets",
    "blocked": "a person has to act: key, bill, access, model, installation",
    "hollow": "it says success and did nothing",
}
HELD_SECONDS = 900.0
"""A longer wait is none that a job should sit through: the answer is `wait`."""
PAUSE_SECONDS = Backoff().cap_seconds
"""Before another try where nothing tells how long to wait."""
_EXCERPT_CHARS = 300
_TEXT_BYTES = 64 * 1024
_ANSWERS: Mapping[str, Answer] = {
    "rate_limited": "retry",
    "network_transient": "retry",
    "auth_error": "blocked",
    "network_permanent": "blocked",
    "tool_not_found": "blocked",
}
"""The answer to a failure, by its reason; the work itself has failed of every other one."""
_ANSWERS_OF_DETAILS: Mapping[str, Answer] = {"usage_limit": "wait", "long_context_tier": "blocked"}


@dataclass(frozen=True, slots=True)
class RunEvidence:
    """A line that the answer rests on."""

    file: str
    line: int | None
    """1-based; in a JSON document, the number of the record. None where a text as a whole says it."""
    text: str
    """What it says, with secrets taken out, cut after 300 characters."""


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """The answer to one run."""

    verdict: Answer
    sentence: str
    """One sentence for a person."""
    rule: str
    """Id of the classifier's rule; where no error decides: `success`, `reply`, `exit_code`, `no_answer`, `no_end`,
    `unreadable`, `no_output`, `dead_subagents`, `denied_tools`, `aborted` or `end_record`."""
    confidence: str
    """`strong`, or `weak` where a bare exit code, weak words or the lack of an error decided."""
    reason: str | None = None
    detail: str | None = None
    party: str | None = None
    """Who caused the failure: one of the classifier's parties."""
    reset_at: datetime | None = None
    """When a limit resets (naive UTC)."""
    retry_after_seconds: float | None = None
    """Seconds from now until another try may help; None where none does, or nobody tells."""
    evidence: tuple[RunEvidence, ...] = ()
    tokens: Mapping[str, int] | None = None
    """`input_tokens` and `output_tokens` of the run; None where its output does not count them."""
    cost_usd: float | None = None
    """US dollars, where the output tells them."""
    agent: str | None = None
    exit_code: int | None = None
    """The command's own."""

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as `analyzer.verdict/1`, ready for JSON."""
        return {
            "schema": "analyzer.verdict/1",
            **asdict(self),
            "reset_at": format_time(self.reset_at) if self.reset_at else None,
            "evidence": [asdict(place) for place in self.evidence],
            "tokens": dict(self.tokens) if self.tokens else None,
        }


@dataclass(frozen=True, slots=True)
class Fault:
    """A failure, and where it stands."""

    verdict: Classification
    words: str
    line: int | None
    reset_at: datetime | None = None


@dataclass(slots=True)
class JudgedRun:
    """The acts and the end of one run, in the order of its lines."""

    needs_end: bool = False
    """Whether a record began it, so that another one has to end it."""
    session: str | None = None
    fault: Fault | None = None
    """The last failure of the main conversation that no work followed."""
    ended: Literal["", "open", "replied", "ended", "failed", "aborted"] = ""
    """`replied` is the end of a run whose log has no other one."""
    end_line: int | None = None
    last_reply: str | None = None
    replies: int = 0
    calls: set[str | int] = field(default_factory=set)
    """Ids of the calls of tools; a number stands for a call without an id."""
    denied: tuple[str | None, ...] = ()
    launched: set[str] = field(default_factory=set)
    dead: dict[str, Fault] = field(default_factory=dict)
    """Sub-agents that came back with a failure, by their calls."""
    came_back: set[str] = field(default_factory=set)
    tokens: Mapping[str, int] | None = None
    cost_usd: float | None = None

    @property
    def has_ended(self) -> bool:
        """Return whether a record says that it is over, for better or worse."""
        return self.ended in ("ended", "failed", "aborted")

    def failed(self, fault: Fault) -> None:
        """Take a failure; the end of a run often tells one again, in fewer words than before."""
        if self.fault is None or fault.verdict.reason != "unknown":
            self.fault = fault

    def deed(self, deed: Deed, line: int, at: datetime, rules: Rules, *, failed_here: bool) -> None:
        """Take what the run did on a line; a reply on the line of a failure is the failure's own words."""
        if deed.kind == "error":
            self.ended = "open"
            verdict = classify({**(deed.facts or {}), "is_error": True}, at=at, rules=rules)
            if verdict.reason != "unknown" and not failed_here:
                self.failed(Fault(verdict, deed.words or "", line))
        elif deed.kind == "aborted":
            self.ended, self.end_line = "aborted", line
        elif deed.kind == "ended":
            self._end(deed, line, at, rules)
        elif not (failed_here and deed.kind in ("reply", "call")) and not (
            deed.kind == "reply" and _is_blank(deed.words)
        ):
            self._work(deed, line, at, rules)

    def _work(self, deed: Deed, line: int, at: datetime, rules: Rules) -> None:
        self.ended = "replied" if deed.kind == "reply" else "open"
        self.needs_end = self.needs_end or deed.kind == "step"
        if deed.kind == "result":
            self.result(deed, line, at, rules)
        elif deed.kind in ("reply", "call"):
            self.fault = None
            self.replies += deed.kind == "reply"
            self.last_reply = deed.words or self.last_reply
            if deed.kind == "call":
                self.calls.add(deed.call or len(self.calls))
            if deed.tool in SUBAGENTS and deed.call:
                self.launched.add(deed.call)

    def result(self, deed: Deed, line: int, at: datetime, rules: Rules) -> None:
        """Take what came back from a call, where that was a sub-agent."""
        if deed.call not in self.launched or deed.call is None:
            return
        self.came_back.add(deed.call)
        words = (deed.words or "").strip()
        verdict = classify({"message": words, "is_error": True}, at=at, rules=rules)
        if deed.failed or (_is_error(words, verdict) and "\n" not in words):
            self.dead[deed.call] = Fault(verdict, words, line)

    def _end(self, deed: Deed, line: int, at: datetime, rules: Rules) -> None:
        of_another = deed.session and self.session and deed.session != self.session
        if not deed.failed and (of_another or self.ended in ("failed", "aborted")):
            return
        self.ended, self.end_line = "failed" if deed.failed else "ended", line
        self.denied, self.tokens, self.cost_usd = deed.denied, deed.tokens, deed.cost_usd
        if deed.failed:
            return
        if deed.words is None:
            if self.replies:
                self.fault = None  # a failure would have been the end's own word
            return
        verdict = classify({"message": deed.words, "is_error": True}, at=at, rules=rules)
        written = (self.tokens or {}).get("output_tokens", self.replies)
        if self.fault is None and not written and _is_error(deed.words, verdict):
            self.fault = Fault(verdict, deed.words, line)  # no model wrote it, though it is said to be a success
        elif self.fault is None:  # what was said before a failure is no work that followed it
            self.replies += not self.replies and not _is_blank(deed.words)
            self.last_reply = deed.words


@dataclass(slots=True)
class Course:
    """The content of one output; of several runs in it, the last one that has begun decides."""

    file: str
    format: str
    agent: str | None = None
    run: JudgedRun = field(default_factory=JudgedRun)
    unread: int | None = None
    """The line after all work that could not be read, and may be how the run ended, or how another one began."""
    text_end: bytearray = field(default_factory=bytearray)
    """The end of what is no record: after the last one, or of a text."""
    text_line: int = 1
    """The line that it begins on."""

    @property
    def text(self) -> str:
        """Return what is no record, as a terminal shows it."""
        return _on_a_terminal(self.text_end.decode("utf-8", "replace"))

    def take_text(self, data: bytes, line: int) -> None:
        """Take more of what is no record, from a line on; of a long text its end is kept."""
        if not self.text_end:
            self.text_line = line
        self.text_end += data
        if (more := len(self.text_end) - 2 * _TEXT_BYTES) > 0:
            self.look_back()
            more += _TEXT_BYTES
            self.text_line += self.text_end.count(b"\n", 0, more)
            del self.text_end[:more]

    def look_back(self) -> None:
        """Doubt an end that a record over several lines follows."""
        if self.text_end and (at := spread_record(self.text)) is not None:
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
            return False  # the model gets it, and goes on
        reset_at = payload.get("reset_at")
        words = facts.message or facts.stdout or ""
        self.run.failed(Fault(verdict, words, line, parse_time(reset_at) if reset_at else None))
        return True

    def deed(self, deed: Deed, line: int, at: datetime, rules: Rules, *, failed_here: bool) -> None:
        """Take what was done on a line, by the run that goes on or by the next one."""
        if deed.side is not None:
            if deed.kind == "result":
                self.run.result(deed, line, at, rules)
            return
        self.unread = None
        if deed.kind == "began":
            self.run = JudgedRun(needs_end=True, session=deed.session)
        elif self.run.has_ended and not failed_here and deed.kind not in ("error", "aborted", "ended"):
            self.run = JudgedRun(needs_end=self.run.needs_end or self.run.ended == "ended")
        self.run.deed(deed, line, at, rules, failed_here=failed_here)

    def line(self, raw: bytes, number: int, at: datetime, rules: Rules, *, failed_here: bool, is_whole: bool) -> None:
        """Take a line; `is_whole` where it does not break off."""
        record = parsed(raw) if raw[:64].lstrip(b"\xef\xbb\xbf \t")[:1] == b"{" else None
        if self.format == "aider":
            done: Sequence[Deed] = tuple(lines_work(raw.decode("utf-8", "replace")))
        elif record is not None:
            self.look_back()
            self.text_end.clear()
            done = tuple(deeds(record))
        else:
            self.take_text(raw + b"\n", number)
            done = ()
        for deed in done:
            self.deed(deed, number, at, rules, failed_here=failed_here)
        if done:
            is_doubtful = done[-1].kind == "ended" and repeated_key(raw) is not None
        elif record is None:
            is_doubtful = is_broken_record(raw + b"\n" * is_whole)
        else:
            is_doubtful = names_failure(record)
        if is_doubtful:
            self.unread = number


def run_verdict(
    paths: Sequence[str],
    *,
    exit_code: int | None = None,
    agent: str | None = None,
    rules: Rules = None,
    at: datetime | None = None,
) -> RunVerdict:
    """Return the answer for one run, whose output is in these files; `-` is standard input.

    `exit_code` is the command's own. `agent` names who printed a plain text; beside records, a text is read as what
    the same run printed elsewhere. `at` (naive UTC) is now, for resets that have passed or are stated as a duration.

    Raises:
        InputError: a file cannot be read, is of no agent's format, or is a text without an `agent`.
    """
    courses = [read_course(path, rules) for path in paths]
    if agent is None and courses and not any(course.format in SAYS_WORK or course.agent for course in courses):
        texts = [course.file for course in courses if course.format in ("text", "empty")]
        if len(texts) == len(courses) and any(course.format == "text" for course in courses):
            raise InputError(f"{texts[0]}: plain text of no agent that is named", "say who printed it: --agent claude")
    return judge(courses, exit_code=exit_code, agent=agent, rules=rules, at=at or now())


def read_course(path: str, rules: Rules = None, name: str | None = None) -> Course:
    """Read an output; the answer calls it by `name`, else by its path.

    Raises:
        InputError: it cannot be read, or is of no agent's format.
    """
    with Input(path) as source:
        kind = detect(head_of(source.head(HEAD_BYTES)))
        if kind.name == "text" and (begins := _first_record(source)) is not None:
            later = detect(head_of(source.between(begins, begins + HEAD_BYTES)))
            kind = later if later.made_by else kind
        course = Course(name or source.path, kind.name)
        if kind.name == "empty":
            return course
        if kind.name in ("binary", "sqlite", "jsonl", "json") or kind.name.endswith("_db"):
            hint = "give what the run printed: JSON lines of an agent, or a text with --agent NAME"
            raise InputError(f"{path}: {kind.title}, not what a run of an agent printed", hint)
        if kind.reader is None:
            for chunk in source.chunks(0):
                course.take_text(chunk, 1)
            lines = bytes(course.text_end).split(b"\n")
            records = (n for n, line in enumerate(lines) if any(deeds(mapping(parsed(line)))))
            is_cut = source.damage is not None or b"\0" in course.text_end or is_broken_record(lines[-1])
            place = next(records, len(lines) - 1 if is_cut else None)
            course.unread = None if place is None else course.text_line + place
            return course
        at = source.file_time
        reader = kind.reader(Source(source.path, at), {})
        aware, done, rest = at.replace(tzinfo=UTC), 0, b""
        for chunk in chain(source.chunks(0), (b"",)):
            # After the last chunk comes the line that has no end.
            whole, newline, rest = (rest + chunk).rpartition(b"\n") if chunk else (rest, rest, b"")
            if len(rest) > LONGEST_HEAD:
                rest, course.unread = b"", done + 1
            if not newline:
                continue
            block = block_of(whole + b"\n")
            hits = {hit.offset: hit.events for hit in reader.read(block)}
            offset = 0
            for number, raw in enumerate(whole.split(b"\n"), done + 1):
                failed_here = False
                for event in hits.get(offset, ()):
                    failed_here = course.event(event, number, rules) or failed_here
                course.line(raw, number, aware, rules, failed_here=failed_here, is_whole=bool(chunk))
                offset += len(raw) + 1
            done += len(block.ends)
        course.look_back()
        for event in reader.finish():
            course.event(event, done, rules)
        course.unread = (done or 1) if source.damage else course.unread
    return course


def _first_record(source: Input) -> int | None:
    """Return the offset of the first line that looks like a record: what a job prints may stand before an agent's."""
    offset = 0
    for chunk in source.chunks(0):
        if record := re.search(rb'^\{"', chunk, re.MULTILINE):
            return offset + record.start()
        offset += len(chunk)
    return None


def judge(
    courses: Sequence[Course], *, exit_code: int | None, agent: str | None, rules: Rules, at: datetime
) -> RunVerdict:
    """Return the answer that follows from each output of the run and its command's exit code."""
    texts = [course for course in courses if course.text.strip()]
    logs = [course for course in courses if course.format not in ("text", "empty")]
    # A log of no agent's work tells failures; its silence is an answer only where nothing else is the run's output.
    telling = [course for course in logs if course.format in SAYS_WORK or course.run.ended or course.run.fault]
    logs = telling if telling or courses[0].format == "text" else logs
    answers = [_of_course(course, exit_code, at) for course in logs]
    answer = min(answers, key=lambda verdict: GRAVEST.index(verdict.verdict), default=None)
    failed = exit_code not in (None, 0)
    if (
        answer is None
        or (answer.rule in ("no_end", "no_answer", "end_record") and failed)
        or answer.verdict == "passed"
    ):
        trusted = answer is not None and answer.rule == "success"
        answer = _of_texts(texts, exit_code, rules, at, trusted=trusted) or answer or _silent(courses)
    unread = next((course for course in courses if course.unread), None)
    if unread is not None and answer.verdict == "passed":
        words = "a line could not be read that may tell how the run ended"
        answer = _undecided("unreadable", words, exit_code, (RunEvidence(unread.file, unread.unread, ""),))
    counting = next((run for run in (course.run for course in logs) if run.tokens or run.cost_usd is not None), None)
    name = next((course.agent for course in logs if course.agent), None) or agent
    return replace(
        answer,
        exit_code=exit_code,
        agent=name,
        tokens=counting.tokens if counting else None,
        cost_usd=counting.cost_usd if counting else None,
    )


def _of_course(course: Course, exit_code: int | None, at: datetime) -> RunVerdict:
    run = course.run
    place = (RunEvidence(course.file, run.end_line, _shown(run.last_reply or "")),) if run.end_line else ()
    if run.fault is not None:
        return of_fault(run.fault, course.file, at)
    if run.ended == "aborted":
        return _plain("failed", "aborted", "somebody or something stopped the run", evidence=place, party="user")
    if run.ended == "failed":
        return _plain("failed", "end_record", "the run's last record says that it failed, not why", evidence=place)
    no_end = _undecided("no_end", "the output breaks off before the end of the run", exit_code, place)
    if not run.has_ended and (run.needs_end or course.format in ENDS):
        return no_end
    why = hollow(
        replies=run.replies,
        calls=len(run.calls),
        launched=len(run.launched),
        returned=len(run.came_back),
        dead=len(run.dead),
    )
    if why == "no_answer":
        return _plain("hollow", "no_answer", "there is no answer and no call of a tool", evidence=place)
    if why == "dead_subagents":
        dead = next(iter(run.dead.values()))
        shown = (RunEvidence(course.file, dead.line, _shown(dead.words)),)
        words = f"{counted(len(run.dead), 'sub-agent')} failed, and none came back with work"
        return _plain("hollow", "dead_subagents", words, evidence=shown)
    if run.calls and run.calls <= set(run.denied):
        return _plain("hollow", "denied_tools", "every call of a tool was denied", evidence=place)
    if run.ended == "open":
        return no_end
    worked = f", after {counted(len(run.calls), 'call')} of tools" if run.calls else ""
    if run.ended == "ended":
        return _plain("passed", "success", f"the run says that it is done{worked}", evidence=place)
    return _plain("passed", "reply", f"nothing failed at its end{worked}", "weak", evidence=place)


def _undecided(rule: str, words: str, exit_code: int | None, evidence: tuple[RunEvidence, ...]) -> RunVerdict:
    """Return the answer for a run whose end was not read: it is hollow where its exit code says success."""
    return _plain("hollow" if exit_code == 0 else "failed", rule, words, evidence=evidence)


def _of_texts(
    texts: Sequence[Course], exit_code: int | None, rules: Rules, at: datetime, *, trusted: bool
) -> RunVerdict | None:
    """Return the answer of plain text and the exit code; None if they add nothing.

    If the command failed, the classifier is shown the output; else only the last paragraph, which
    has to be an error as a whole. A run whose records end well and whose command failed all the same failed elsewhere.
    """
    failed = exit_code not in (None, 0)
    for course in reversed(texts):
        if trusted:
            break
        for shown in (_last_paragraph(course.text), course.text) if failed else (_last_paragraph(course.text),):
            facts = {"exit_code": exit_code if failed else 1, "stdout": redact(shown)[-STDOUT_CHARS:]}
            verdict = classify(facts, at=at.replace(tzinfo=UTC), rules=rules)
            if verdict.reason != "unknown" and (failed or _is_error(shown, verdict)):
                break
        else:
            continue
        lines = course.text.splitlines()
        deciding = _deciding(verdict)
        line = next((n for n in range(len(lines), 0, -1) if deciding and deciding in lines[n - 1]), None)
        words = lines[line - 1] if line else shown.strip().splitlines()[-1]
        place = line + course.text_line - 1 if line else None
        return of_fault(Fault(verdict, words, place), course.file, at)
    if failed:
        words = next(
            (line for course in reversed(texts) for line in reversed(course.text.splitlines()) if line.strip()), ""
        )
        shown_ = (RunEvidence(texts[-1].file, None, _shown(words)),) if words else ()
        tail = f": {_shown(words)}" if words else ""
        return _plain(
            "failed", "exit_code", f"the command ended with exit code {exit_code}{tail}", "weak", evidence=shown_
        )
    return None


def _silent(courses: Sequence[Course]) -> RunVerdict:
    """Return the answer for texts without an error, or without anything."""
    output = courses[0]  # what follows it, such as stderr, is no answer
    if not re.search(r"[^\W_]", output.text):
        return _plain("hollow", "no_output", "the run printed no answer")
    shown = (RunEvidence(output.file, None, _shown(output.text.strip().splitlines()[-1])),)
    return _plain("passed", "reply", "it printed an answer, and no error at its end", "weak", evidence=shown)


_WIPED = re.compile(r"^[^\n]*(?:\x1b\[[12]K|\r\x1b\[0?K)", re.MULTILINE)
"""What stands on a line before a code that empties the line."""
_CUT_CODE = re.compile(r"\x9b[0-?]*[ -/]*[@-~]|\x1b[\[\]]?[ -?]*\Z")
"""A code of a terminal in its shorter form, or one that breaks off."""
_LEAD = re.compile(
    r"\A(?:\x1b\[[0-9;]*m|[\W_])*(?:(?:fatal|api|stream|unexpected|request|execution|litellm\.\w+)\b\W*)*"
    r"(?:errors?|failed|failure|exception|ran into this error|\w{0,40}(?:Error|Exception))\b\W*",
    re.IGNORECASE,
)


def _last_paragraph(words: str) -> str:
    """Return the last paragraph that holds a word; a bare prompt of a shell is none."""
    paragraphs = re.split(r"\n\s*\n", words.strip())
    return next((paragraph for paragraph in reversed(paragraphs) if re.search(r"\w", paragraph)), "")


def _on_a_terminal(words: str) -> str:
    """Return a text as a terminal shows it: without what takes no ink, is written over or is wiped out."""
    if words.isascii() and words.isprintable():
        return words
    shown = _CUT_CODE.sub("", without_colours(_WIPED.sub("", words))).replace("\r\n", "\n")
    shown = re.sub(r"^[^\n]*\r(?=[^\n\r])", "", shown, flags=re.MULTILINE)
    hidden = {ord(character): None for character in set(shown) - set("\n\t") if (stand_in(character) or " ") != " "}
    return shown.translate(hidden) if hidden else shown


def _is_blank(words: str | None) -> bool:
    """Tell whether words are there and a terminal shows nothing of them."""
    return words is not None and not _on_a_terminal(words).strip()


def _deciding(verdict: Classification) -> str:
    """Return the words of the text that decided; empty if others did."""
    quoted = re.fullmatch(r"text (['\"])(.*)\1", verdict.matched or "", re.DOTALL)
    return quoted[2] if quoted else ""


def _is_error(words: str, verdict: Classification) -> bool:
    """Return whether a short text is an error as a whole.

    Its first words say so, or are those that decided.
    """
    if verdict.reason == "unknown" or verdict.confidence != "strong" or words.count("\n") > 4:
        return False
    begins = words.lstrip()
    if begins[:1] in "`\"'“‘>|*-#":
        return False
    deciding = _deciding(verdict)
    return bool(_LEAD.match(begins)) or bool(deciding and 0 <= begins.find(deciding) <= 2)


def of_fault(fault: Fault, file: str, at: datetime) -> RunVerdict:
    """Return the answer to a failure; `at` (naive UTC) is now."""
    verdict = fault.verdict
    moment = verdict.reset_at.astimezone(UTC).replace(tzinfo=None) if verdict.reset_at else fault.reset_at
    seconds = verdict.retry_after_seconds
    answer = _ANSWERS_OF_DETAILS.get(verdict.detail or "") or _ANSWERS.get(verdict.reason, "failed")
    if answer == "retry" and not verdict.retryable:
        answer = "blocked"
    left = max(0.0, (moment - at).total_seconds()) if moment else seconds
    if answer == "retry" and left is not None and left > HELD_SECONDS:
        answer = "wait"
    if answer == "wait" and moment is None and seconds is not None:
        moment = at + timedelta(seconds=seconds)
    if answer == "retry":
        left = PAUSE_SECONDS if left is None else left
    if answer not in ("retry", "wait"):
        moment = left = None
    words = _shown(fault.words)
    name = verdict.reason + (f" ({verdict.detail})" if verdict.detail else "")
    lead = name
    if answer == "retry":
        lead = f"in {left:.0f} s: {name}"
    elif answer == "wait":
        lead = f"until {moment:%Y-%m-%d %H:%M} UTC: {name}" if moment else f"until the limit resets: {name}"
    elif answer == "blocked":
        lead = f"a person has to act: {name}"
    return RunVerdict(
        answer,
        f"{answer}: {lead}{f': {words}' if words else ''}",
        verdict.rule,
        verdict.confidence or "weak",
        verdict.reason,
        verdict.detail,
        verdict.party,
        moment,
        round(left, 3) if left is not None else None,
        (RunEvidence(file, fault.line, words),),
    )


def _plain(
    answer: Answer,
    rule: str,
    words: str,
    confidence: str = "strong",
    *,
    evidence: tuple[RunEvidence, ...] = (),
    party: str | None = None,
) -> RunVerdict:
    return RunVerdict(answer, f"{answer}: {words}", rule, confidence, party=party, evidence=evidence)


def _shown(words: str) -> str:
    first = next((line.strip() for line in redact(words[:20_000]).splitlines() if line.strip()), "")
    return first if len(first) <= _EXCERPT_CHARS else f"{first[: _EXCERPT_CHARS - 1]}…"
