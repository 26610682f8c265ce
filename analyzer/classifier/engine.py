"""Facts into a classification: the first rule that holds, what it means for the next call, and when to come back.

Invariant: total and deterministic. The same facts, ruleset and `at` give an equal classification, live or replayed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from analyzer.classifier.extract import extract
from analyzer.classifier.facts import Facts
from analyzer.classifier.hearing import Heard, leading_name, listen, succeeded
from analyzer.classifier.recovery import RECOVERY, decide
from analyzer.classifier.reset_times import NOTHING, Reset, read, resolve
from analyzer.classifier.rules import LINE, NOT, ONLY, SIGNAL, TEXT, Rule, Ruleset, default_ruleset, normal_name
from analyzer.classifier.tokens import token_counts

NO_RULE = "none"

_MAX_LEVELS = 8
# Reasons for which it matters when to come back; a spent quota names its reset too.
_WITH_TIMES = frozenset(("rate_limited", "network_transient", "auth_error"))


@dataclass(frozen=True, slots=True)
class Classification:
    """What an error is and what to do about it."""

    reason: str
    """One of `REASONS`."""
    detail: str | None
    retryable: bool
    action: str
    """`retry`, `wait_then_retry`, `compress_then_retry`, `surface` or `record`."""
    rule: str
    """Id of the rule that decided; `none` when no rule held."""
    ruleset: str
    """Digest of the rules."""
    retry_after_seconds: float | None
    """Where the input gives a duration."""
    reset_at: datetime | None
    """Where the input gives a moment; aware, UTC."""
    current_tokens: int | None
    max_tokens: int | None
    provider: str | None
    model: str | None
    facts: Facts
    remediation: str
    """The recovery table's line."""
    matched: str | None
    """What the rule matched on, short."""

    def to_dict(self) -> dict[str, object]:
        """The keys that `analyzer classify` prints; `reset_at` as ISO 8601 with a Z."""
        return {
            "reason": self.reason,
            "detail": self.detail,
            "retryable": self.retryable,
            "action": self.action,
            "rule": self.rule,
            "ruleset": self.ruleset,
            "retry_after_seconds": self.retry_after_seconds,
            "reset_at": _iso(self.reset_at),
            "current_tokens": self.current_tokens,
            "max_tokens": self.max_tokens,
            "provider": self.provider,
            "model": self.model,
        }


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """What the facts alone say, before the event's time is known."""

    rule: Rule | None
    reason: str
    detail: str | None
    matched: str | None
    reset: Reset = NOTHING
    current_tokens: int | None = None
    max_tokens: int | None = None


def classify(error: object, *, at: datetime | None = None, ruleset: Ruleset | None = None) -> Classification:
    """Classifies anything: an exception, a mapping, facts, a text. Relative reset texts resolve against `at`.

    Total: whatever comes in, a classification comes out.
    """
    return classify_facts(extract(error), at=at, ruleset=ruleset)


def classify_facts(facts: Facts, *, at: datetime | None = None, ruleset: Ruleset | None = None) -> Classification:
    """Classifies facts, as live or as stored in an event; `at` is the event's own time."""
    rules = default_ruleset() if ruleset is None else ruleset
    verdict = _judge(facts, rules)
    retryable, action = decide(verdict.reason, verdict.detail)
    reset_at = verdict.reset.moment
    if reset_at is None and verdict.reset.clock is not None and at is not None:
        reset_at = resolve(verdict.reset.clock, at)
    return Classification(
        reason=verdict.reason,
        detail=verdict.detail,
        retryable=retryable,
        action=action,
        rule=verdict.rule.id if verdict.rule is not None else NO_RULE,
        ruleset=rules.digest,
        retry_after_seconds=verdict.reset.seconds,
        reset_at=reset_at,
        current_tokens=verdict.current_tokens,
        max_tokens=verdict.max_tokens,
        provider=facts.provider,
        model=facts.model,
        facts=facts,
        remediation=RECOVERY[verdict.reason].remediation,
        matched=verdict.matched,
    )


def _levels(facts: Facts) -> list[Facts]:
    levels = [facts]
    while levels[-1].cause is not None and len(levels) < _MAX_LEVELS:
        levels.append(levels[-1].cause)
    return levels


@lru_cache(maxsize=1_024)
def _judge(facts: Facts, ruleset: Ruleset) -> Verdict:
    """The verdict of the deciding level, with the times and counts that the chain names."""
    levels = _levels(facts)
    found = _deciding_rule(levels, ruleset)
    if found is None:
        return Verdict(None, "unknown", "no_detail" if _says_nothing(facts) else None, None)
    rule, matched = found
    reset = NOTHING
    counts: tuple[int | None, int | None] = (None, None)
    if rule.reason in _WITH_TIMES:
        reset = read(levels, limited=rule.reason == "rate_limited")
    elif rule.reason == "context_overflow":
        counts = token_counts(*(level.message for level in levels))
    return Verdict(rule, rule.reason, rule.detail, matched, reset, *counts)


def _deciding_rule(levels: list[Facts], ruleset: Ruleset) -> tuple[Rule, str] | None:
    """The outermost level that a rule explains; a symptom gives way to what lies beneath it, but not to an abort.

    A timeout cancels what it waits for, so a cancellation beneath it is its own doing.
    """
    symptom: tuple[Rule, str] | None = None
    for level in levels:
        found = _first_rule(level, ruleset)
        if found is not None and (symptom is None or found[0].reason != "unknown"):
            symptom = found
            if not found[0].symptom:
                break
    return symptom


def _says_nothing(facts: Facts) -> bool:
    if succeeded(facts):
        return True
    spoken = (facts.status, facts.code, facts.type, facts.subtype, facts.terminal_reason, facts.message)
    return all(value is None for value in (*spoken, facts.exception_class, facts.stdout, facts.stderr, facts.cause))


def _first_rule(facts: Facts, ruleset: Ruleset) -> tuple[Rule, str] | None:
    compiled = ruleset.compiled
    patterns = compiled.patterns
    heard = listen(facts, ruleset)
    status = facts.status if facts.status is not None else heard.status
    names = {normal_name(name) for name in (facts.code, facts.type, facts.exception_class) if name}
    if facts.message and not succeeded(facts):
        names.add(leading_name(facts.message))
    candidates: set[int] = {
        patterns[index].rule for index in heard.hits if patterns[index].kind in (LINE, SIGNAL, TEXT)
    }
    for name in names:
        candidates.update(compiled.names.get(name, ()))
    for machine in filter(None, (facts.code, facts.type)):
        candidates.update(compiled.types.get(normal_name(machine), ()))
    if status is not None:
        candidates.update(compiled.statuses.get(status, ()))
    if facts.subtype is not None:
        candidates.update(compiled.subtypes.get(facts.subtype, ()))
    if facts.terminal_reason is not None:
        candidates.update(compiled.terminal_reasons.get(facts.terminal_reason, ()))
    if facts.exit_code is not None:
        candidates.update(compiled.exit_codes.get(facts.exit_code, ()))
    guards = {(patterns[number].rule, patterns[number].kind) for number in heard.hits}
    for index in sorted(candidates):
        rule = ruleset.rules[index]
        if _allowed(rule, index, status, facts.provider, guards):
            return rule, _evidence(rule, index, facts, status, heard, ruleset)
    return None


def _allowed(rule: Rule, index: int, status: int | None, provider: str | None, guards: set[tuple[int, str]]) -> bool:
    if rule.only_status and status not in rule.only_status:
        return False
    if rule.not_status and status in rule.not_status:
        return False
    if rule.only_text and (index, ONLY) not in guards:
        return False
    if rule.not_text and (index, NOT) in guards:
        return False
    return not rule.only_providers or (provider or "").lower() in rule.only_providers


def _evidence(
    rule: Rule,
    index: int,
    facts: Facts,
    status: int | None,
    heard: Heard,
    ruleset: Ruleset,
) -> str:
    """The strongest evidence of a rule that held, for people: `type overloaded_error`, `status 429`, `text …`."""
    wanted = ruleset.compiled.wanted[index]
    for field in ("code", "type", "exception_class"):
        name = getattr(facts, field)
        if name and normal_name(name) in wanted:
            return f"{field} {name[:80]}"
    if facts.subtype in rule.subtypes:
        return f"subtype {facts.subtype}"
    if facts.terminal_reason in rule.terminal_reasons:
        return f"terminal_reason {facts.terminal_reason}"
    for number, text in heard.hits.items():
        pattern = ruleset.compiled.patterns[number]
        if pattern.rule == index and pattern.kind in (LINE, SIGNAL, TEXT):
            match = pattern.regex.search(text)
            words = match.group().decode("utf-8", "replace").strip() if match is not None else ""
            return f"text {words[:80]!r}"
    if status in rule.statuses:
        return f"status {status}"
    if facts.exit_code in rule.exit_codes:
        return f"exit_code {facts.exit_code}"
    return f"name {(facts.message or '')[:80].split(':', 1)[0]!r}"


def _iso(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds" if moment.microsecond else "seconds")
    return text.replace("+00:00", "Z")
