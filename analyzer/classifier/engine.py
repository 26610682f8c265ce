"""Facts into a classification: the first rule that holds, its meaning for the next call, and when to come back.

Invariant: total and deterministic. The same facts, ruleset and `at` give an equal classification, live or replayed.
"""

from datetime import UTC, datetime
from typing import NamedTuple

from analyzer.classifier.reading.extract import described, extract
from analyzer.classifier.reading.facts import MESSAGE_CHARS, Facts
from analyzer.classifier.reading.flattening import flat
from analyzer.classifier.reading.reset_times import NOTHING, credible, read, resolve
from analyzer.classifier.reading.tokens import token_counts
from analyzer.classifier.recovery_table import party
from analyzer.classifier.rules.deciding import Basis, chain, doubts, evidence, judge
from analyzer.classifier.rules.index import NO_RULE, Index, index_of
from analyzer.classifier.rules.loading import Rules, default_ruleset, ruleset_for
from analyzer.classifier.rules.text_evidence import timed_texts
from analyzer.redaction.automata import kept_until_fork

__all__ = ["NO_RULE", "Classification", "classify", "classify_facts"]


class Classification(NamedTuple):
    """The reason of an error and what to do about it."""

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
    """The seconds to wait, if the input names a duration."""
    reset_at: datetime | None
    """The moment of the reset, if the input names one; aware, UTC."""
    current_tokens: int | None
    max_tokens: int | None
    provider: str | None
    model: str | None
    facts: Facts
    remediation: str
    """The remediation of the reason in the recovery table."""
    confidence: str | None = None
    """`strong`, or `weak` if a bare status, an exit code or weak words decided;
    None if no rule held.
    """
    basis: Basis | str | None = None
    """The inputs of the decision; in copies, the text that matched.
    It follows from facts and ruleset.
    """

    @property
    def matched(self) -> str | None:
        """Return a short text that names the evidence of the rule.

        It is computed on demand: few callers ask.
        """
        return evidence(*self.basis) if isinstance(self.basis, tuple) else self.basis

    @property
    def party(self) -> str:
        """Return who caused the error: one of `PARTIES`."""
        return party(self.reason, self.detail, self.facts.status)

    @property
    def evidence(self) -> str | None:
        """Return the kind of evidence that decided: `code`, `type`,
        `name`, `text`, `status` and the like.
        """
        return None if self.matched is None else self.matched.split(" ", 1)[0]

    @property
    def objections(self) -> tuple[str | None, bool]:
        """Return what speaks against another try: a rule, and true if weak words do.

        The rule is the id of one with strong evidence, or None. Copies do not carry the ruleset
        that this asks, and have none.
        """
        return doubts(*self.basis) if isinstance(self.basis, tuple) else (None, False)

    def __reduce__(self) -> tuple["type[Classification]", tuple[object, ...]]:
        """Copy and pickle the text that matched instead of the ruleset that matched it."""
        return Classification, (*self[:-1], self.matched)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Classification) and self[:-1] == other[:-1]

    def __hash__(self) -> int:
        return hash(self[:-1])

    def __repr__(self) -> str:
        pairs = zip(self._fields[:-1], self, strict=False)
        return f"Classification({', '.join(f'{name}={value!r}' for name, value in pairs)})"

    def to_dict(self) -> dict[str, object]:
        """Return the keys that `analyzer classify` prints; `reset_at` is ISO 8601 with a Z."""
        return {
            "reason": self.reason,
            "detail": self.detail,
            "retryable": self.retryable,
            "action": self.action,
            "party": self.party,
            "rule": self.rule,
            "ruleset": self.ruleset,
            "confidence": self.confidence,
            "retry_after_seconds": self.retry_after_seconds,
            "reset_at": _iso(self.reset_at),
            "current_tokens": self.current_tokens,
            "max_tokens": self.max_tokens,
            "provider": self.provider,
            "model": self.model,
        }


def classify(
    error: object,
    *,
    status: int | None = None,
    exit_code: int | None = None,
    at: datetime | None = None,
    rules: Rules = None,
) -> Classification:
    """Classify an error: an exception, a mapping, facts, a text, a status with its body.

    Relative reset texts resolve against `at`, and a reset more than 35 days after it is not believed. `status` and
    `exit_code` add to the error; with an exit code a text is the output of the command.

    Any input gets a classification. `rules` is a file, a ruleset, or None for the built-in rules.

    Raises:
        RulesError: the rules cannot be used.
    """
    if status is not None or exit_code is not None:
        error = described(error, status, exit_code)
    return classify_facts(extract(error), at=at, rules=rules)


def classify_facts(facts: Facts, *, at: datetime | None = None, rules: Rules = None) -> Classification:
    """Classify facts, as live or as stored in an event; `at` is the event's own time."""
    index = _built_in() if rules is None else index_of(ruleset_for(rules))
    decision, level, timely, confidence = judge(facts, index)
    reason, detail, retryable, action, rule = decision.answer
    seconds = reset_at = current = most = None
    if decision.timed and (timely or facts.headers):
        levels = (facts,) if facts.cause is None else chain(facts)
        reset = read(levels, lambda level: timed_texts(level, index), limited=decision.limited)
        if reset is not NOTHING:
            seconds, reset_at = reset.seconds, reset.moment
            if reset_at is None and reset.clock is not None and at is not None:
                reset_at = resolve(reset.clock, at)
            if reset_at is not None and at is not None:
                reset_at = credible(reset_at, at)
    elif decision.counted:
        levels = (facts,) if facts.cause is None else chain(facts)
        messages = (level.message[:MESSAGE_CHARS] for level in levels if level.message)
        current, most = token_counts(*(flat(message).decode("utf-8", "replace") for message in messages))
    return Classification(
        reason,
        detail,
        retryable,
        action,
        rule,
        index.ruleset.digest,
        seconds,
        reset_at,
        current,
        most,
        facts.provider,
        facts.model,
        facts,
        decision.remediation,
        confidence,
        None if decision.rule is None else (index, decision, level),
    )


@kept_until_fork
def _built_in() -> Index:
    """Return the index of the built-in rules, found once per process."""
    return index_of(default_ruleset())


def _iso(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds" if moment.microsecond else "seconds")
    return text.replace("+00:00", "Z")
