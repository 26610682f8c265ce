"""Answer for one run of an agent, from what its output and its exit code say.

The last failure that no work followed decides; prose never does. A success is believed only if something was done:
a reply, a call of a tool, a sub-agent that came back with work.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from analyzer.agent_stream import hollow
from analyzer.analysis.verdict.output import Fault, RunOutput, deciding_words, is_error, read_output
from analyzer.classifier import Rules, classify
from analyzer.errors import BLOCKED, FAILED, HOLLOW, OK, RETRY, WAIT, InputError
from analyzer.events.times import format_time, now
from analyzer.frozen import frozen
from analyzer.importers.acts import ENDS, SAYS_WORK
from analyzer.readable import counted, cut
from analyzer.recovery.process.step_error import STDOUT_CHARS
from analyzer.recovery.retry.policy import Backoff
from analyzer.redaction import redact

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
"""Answers, gravest first: the gravest answer of a run's files is the run's."""
MEANINGS: Mapping[str, str] = {
    "passed": "the run did its work",
    "failed": "the work itself failed",
    "retry": "try again, after some seconds",
    "wait": "a usage limit or a quota is reached: try again once it resets",
    "blocked": "a person has to act: key, bill, access, model, installation",
    "hollow": "it says success and did nothing",
}
HELD_SECONDS = 900.0
"""The longest wait that a job should sit through; for a longer one the answer is `wait`, not `retry`."""
PAUSE_SECONDS = Backoff().cap_seconds
"""The wait before another try if nothing tells how long to wait."""
_EXCERPT_CHARS = 300
_ANSWERS: Mapping[str, Answer] = {
    "rate_limited": "retry",
    "network_transient": "retry",
    "auth_error": "blocked",
    "network_permanent": "blocked",
    "tool_not_found": "blocked",
}
"""The answer to a failure by its reason; for every other reason the work itself has failed."""
_ANSWERS_OF_DETAILS: Mapping[str, Answer] = {"usage_limit": "wait", "long_context_tier": "blocked"}


@frozen
class RunEvidence:
    """A line that decided the answer."""

    file: str
    line: int | None
    """1-based; in a JSON document, the number of the record. None if a text as a whole says it."""
    text: str
    """Its words, redacted, cut after 300 characters."""


@frozen
class RunVerdict:
    """The answer for one run."""

    verdict: Answer
    sentence: str
    """One sentence for a person."""
    rule: str
    """Id of the classifier's rule; if no error decides: `success`, `reply`, `exit_code`, `no_answer`, `no_end`,
    `unreadable`, `no_output`, `dead_subagents`, `denied_tools`, `aborted` or `end_record`."""
    confidence: str
    """`strong`, or `weak` if a bare exit code, weak words or the lack of an error decided."""
    reason: str | None = None
    detail: str | None = None
    party: str | None = None
    """Who caused the failure: one of the classifier's parties."""
    reset_at: datetime | None = None
    """When a limit resets (naive UTC)."""
    retry_after_seconds: float | None = None
    """Seconds from now until another try may help; None if none does, or nothing tells."""
    evidence: tuple[RunEvidence, ...] = ()
    tokens: Mapping[str, int] | None = None
    """`input_tokens` and `output_tokens` of the run; None if its output does not count them."""
    cost_usd: float | None = None
    """US dollars, if the output tells them."""
    model: str | None = None
    """The model that answered last; None if the output names none."""
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


def run_verdict(
    paths: Sequence[str],
    *,
    exit_code: int | None = None,
    agent: str | None = None,
    rules: Rules = None,
    at: datetime | None = None,
) -> RunVerdict:
    """Return the answer for one run, whose output is in these files (`-` is standard input).

    `exit_code` is the command's own. `agent` names the program that printed a plain text; a text beside records is
    read as other output of the same run. `at` is now (naive UTC): resets are compared with it.

    Raises:
        InputError: a file cannot be read, is of no agent's format, or is a text without an `agent`.
    """
    outputs = [read_output(path, rules) for path in paths]
    if agent is None and outputs and not any(output.format in SAYS_WORK or output.agent for output in outputs):
        texts = [output.file for output in outputs if output.format in ("text", "empty")]
        if len(texts) == len(outputs) and any(output.format == "text" for output in outputs):
            raise InputError(f"{texts[0]}: plain text of no agent that is named", "say who printed it: --agent claude")
    return judge(outputs, exit_code=exit_code, agent=agent, rules=rules, at=at or now())


def judge(
    outputs: Sequence[RunOutput], *, exit_code: int | None, agent: str | None, rules: Rules, at: datetime
) -> RunVerdict:
    """Return the answer that follows from all outputs of the run and its command's exit code."""
    texts = [output for output in outputs if output.text.strip()]
    logs = [output for output in outputs if output.format not in ("text", "empty")]
    # Some formats tell only failures: their silence is an answer only if nothing else is the run's output.
    telling = [output for output in logs if output.format in SAYS_WORK or output.run.ended or output.run.fault]
    logs = telling if telling or outputs[0].format == "text" else logs
    answers = [_answer_of_output(output, exit_code, at) for output in logs]
    answer = min(answers, key=lambda verdict: GRAVEST.index(verdict.verdict), default=None)
    failed = exit_code not in (None, 0)
    if (
        answer is None
        or (answer.rule in ("no_end", "no_answer", "end_record") and failed)
        or answer.verdict == "passed"
    ):
        trusted = answer is not None and answer.rule == "success"
        answer = _answer_of_texts(texts, exit_code, rules, at, trusted=trusted) or answer or _silent(outputs)
    unread = next((output for output in outputs if output.unread), None)
    if unread is not None and answer.verdict == "passed":
        words = "a line could not be read that may tell how the run ended"
        answer = _undecided("unreadable", words, exit_code, (RunEvidence(unread.file, unread.unread, ""),))
    counting = next((run for run in (output.run for output in logs) if run.tokens or run.cost_usd is not None), None)
    name = next((output.agent for output in logs if output.agent), None) or agent
    return replace(
        answer,
        exit_code=exit_code,
        agent=name,
        tokens=counting.tokens if counting else None,
        cost_usd=counting.cost_usd if counting else None,
        model=next((output.run.model for output in logs if output.run.model), None),
    )


def _answer_of_output(output: RunOutput, exit_code: int | None, at: datetime) -> RunVerdict:
    run = output.run
    place = (RunEvidence(output.file, run.end_line, _shown(run.last_reply or "")),) if run.end_line else ()
    if run.fault is not None:
        return of_fault(run.fault, output.file, at)
    if run.ended == "aborted":
        return _plain("failed", "aborted", "somebody or something stopped the run", evidence=place, party="user")
    if run.ended == "failed":
        return _plain("failed", "end_record", "the run's last record says that it failed, not why", evidence=place)
    no_end = _undecided("no_end", "the output breaks off before the end of the run", exit_code, place)
    if not run.has_ended and (run.needs_end or output.format in ENDS):
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
        shown = (RunEvidence(output.file, dead.line, _shown(dead.words)),)
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
    """Return the answer for a run whose end was not read: `hollow` if its exit code says success."""
    return _plain("hollow" if exit_code == 0 else "failed", rule, words, evidence=evidence)


def _answer_of_texts(
    texts: Sequence[RunOutput], exit_code: int | None, rules: Rules, at: datetime, *, trusted: bool
) -> RunVerdict | None:
    """Return the answer of plain text and the exit code; None if they add nothing.

    If the command failed, the whole output may tell why; else only the last paragraph, which has to be an error as a
    whole. `trusted`: the run's records end well, so that its texts are not searched.
    """
    failed = exit_code not in (None, 0)
    for output in reversed(texts):
        if trusted:
            break
        for shown in (_last_paragraph(output.text), output.text) if failed else (_last_paragraph(output.text),):
            facts = {"exit_code": exit_code if failed else 1, "stdout": redact(shown)[-STDOUT_CHARS:]}
            verdict = classify(facts, at=at.replace(tzinfo=UTC), rules=rules)
            if verdict.reason != "unknown" and (failed or is_error(shown, verdict)):
                break
        else:
            continue
        lines = output.text.splitlines()
        deciding = deciding_words(verdict)
        line = next((n for n in range(len(lines), 0, -1) if deciding and deciding in lines[n - 1]), None)
        words = lines[line - 1] if line else shown.strip().splitlines()[-1]
        place = line + output.text_line - 1 if line else None
        return of_fault(Fault(verdict, words, place), output.file, at)
    if failed:
        words = next(
            (line for output in reversed(texts) for line in reversed(output.text.splitlines()) if line.strip()), ""
        )
        shown_ = (RunEvidence(texts[-1].file, None, _shown(words)),) if words else ()
        tail = f": {_shown(words)}" if words else ""
        return _plain(
            "failed", "exit_code", f"the command ended with exit code {exit_code}{tail}", "weak", evidence=shown_
        )
    return None


def _silent(outputs: Sequence[RunOutput]) -> RunVerdict:
    """Return the answer for texts that tell no error: hollow if the first one is empty."""
    output = outputs[0]  # the others, such as stderr, are no answer
    if not re.search(r"[^\W_]", output.text):
        return _plain("hollow", "no_output", "the run printed no answer")
    shown = (RunEvidence(output.file, None, _shown(output.text.strip().splitlines()[-1])),)
    return _plain("passed", "reply", "it printed an answer, and no error at its end", "weak", evidence=shown)


def _last_paragraph(words: str) -> str:
    """Return the last paragraph that holds a word, so that a bare prompt of a shell is skipped."""
    paragraphs = re.split(r"\n\s*\n", words.strip())
    return next((paragraph for paragraph in reversed(paragraphs) if re.search(r"\w", paragraph)), "")


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
    return cut(first, _EXCERPT_CHARS)
