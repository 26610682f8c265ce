"""The rule that decides: by the evidence of one level of facts, then along the chain of causes.

Invariant: a pure function of facts and ruleset; live, batch and explanation all use it.
"""

from __future__ import annotations

import re
from typing import NamedTuple, TypeVar

from analyzer.classifier.reading.facts import Facts
from analyzer.classifier.rules.index import Decision, Index
from analyzer.classifier.rules.ruleset import LINE, SIGNAL, TEXT, normal_name
from analyzer.classifier.rules.text_evidence import (
    WRAPPED,
    Message,
    Passage,
    leading_name,
    match_message,
    match_texts,
    succeeded,
    worded_texts,
)

_MAX_LEVELS = 8
_MOST_KINDS = 4_096
_WORDS = (LINE, SIGNAL, TEXT)
_BEYOND_ASCII = re.compile(r"[^\x00-\xbf]")
STRONG, WEAK = "strong", "weak"
"""The confidence of a verdict. It is strong if a machine says both what failed and that it did: by a code, a type, a
name or whole lines, or by the rule's own words beside a field of the error or in a text that a program marked as a
report. It is weak by own words in a text without such a mark, by a bare status or exit code, and by weak words. Own
words of a user's rule are strong anywhere: they are those of the user's own programs."""
_EMPTY_FAILURE_REASONS = (None, "general_error", "unknown")
"""Failure reasons that no rule could be made of."""


_Value = TypeVar("_Value")

Basis = tuple[Index, Decision, Facts]
"""The ruleset, the decision and the facts that it fell on: enough to name the evidence later."""


def chain(facts: Facts) -> list[Facts]:
    """Return the facts and their causes, outermost first, at most `_MAX_LEVELS`."""
    levels = [facts]
    while levels[-1].cause is not None and len(levels) < _MAX_LEVELS:
        levels.append(levels[-1].cause)
    return levels


def judge(facts: Facts, index: Index) -> tuple[Decision, Facts, bool, str | None]:
    """Return `(decision, level, timely, confidence)` of facts.

    `level` is the facts in the chain of causes that decided, `timely` is true if any text may name a time, and the
    confidence is `strong`, `weak`, or None if no rule held.

    The outermost level that a rule explains decides. A symptom gives way to its cause, but not to an abort: a timeout
    cancels what it waits for, so it caused a cancellation below it. Errors with the same evidence are judged once.
    """
    if facts.cause is not None or facts.stdout or facts.stderr:
        return _judge(facts, index, holding(facts, index))
    message = match_message(facts, index)
    key = (
        None if message is None else (*message.numbers, message.loose, *message[3:]),
        *(facts.status, facts.code, facts.type, facts.exception_class, facts.provider, facts.is_error, facts.exit_code),
        *(facts.subtype, facts.terminal_reason, facts.failure_reason),
    )
    held = index.held.get(key)
    if held is None:
        held = _keep(index.held, key, _holding(facts, index, None, message))
    worded = key, _words(facts, index, held, message)
    verdict = index.judged.get(worded)
    if verdict is None:
        decision, _, timely, confidence = _judge(facts, index, _with_words(facts, index, held, worded[1]))
        verdict = _keep(index.judged, worded, (decision, timely, confidence))
    decision, timely, confidence = verdict
    return decision, facts, timely, confidence


def _keep(kept: dict[object, _Value], key: object, value: _Value) -> _Value:
    if len(kept) >= _MOST_KINDS:
        kept.clear()
    kept[key] = value
    return value


def _judge(facts: Facts, index: Index, held: Held) -> tuple[Decision, Facts, bool, str | None]:
    rules, text_mask, _, _, strong = held
    decision = index.decisions[(rules & -rules).bit_length() - 1] if rules else None
    level = facts
    if facts.cause is not None:
        text_mask |= index.timely
        if decision is None or decision.symptom:
            decision, level, strong = _judge_causes(facts, index, decision, strong)
    timely = text_mask & index.timely != 0
    if decision is None:
        return index.silent if _is_empty(facts) else index.nothing, level, timely, None
    return decision, level, timely, STRONG if strong >> decision.number & 1 else WEAK


def _judge_causes(
    facts: Facts, index: Index, decision: Decision | None, strong: int
) -> tuple[Decision | None, Facts, int]:
    level = facts
    for cause in chain(facts)[1:]:
        held = holding(cause, index)
        if held.rules:
            deeper = index.decisions[(held.rules & -held.rules).bit_length() - 1]
            if decision is None or deeper.answer[0] != "unknown":
                decision, level, strong = deeper, cause, held.strong
                if not deeper.symptom:
                    break
    return decision, level, strong


class Held(NamedTuple):
    """The evidence on one level of facts."""

    rules: int
    """The mask of the rules that hold."""
    texts: int
    """The bits of its texts (`Index`)."""
    status: int | None
    """The status as given, or as stated by a text."""
    own: int
    """The mask of the rules with more evidence than a status, an exit code or weak words."""
    strong: int
    """Those of them whose verdict is strong."""


def holding(facts: Facts, index: Index, passages: list[Passage] | None = None, message: Message | None = None) -> Held:
    """Match one level of facts, without its causes."""
    held = _holding(facts, index, passages, message)
    return _with_words(facts, index, held, _words(facts, index, held, message))


def _words(facts: Facts, index: Index, held: Held, message: Message | None) -> tuple[int, ...]:
    """Return the rules whose words the texts of an error have, sentence by sentence, if nothing better decides.

    Words are better than a bare status and than what a wrapper says, except in English, where they are better than
    nothing, and than a 5xx to which no strong evidence objects: English words are those of other trades, too.
    """
    winner = held.rules & -held.rules
    if winner & held.own and winner < index.last_worded:
        return ()
    is_wrapped = held.status is not None and held.status >= WRAPPED and not held.own and not winner & index.unsure
    if winner and not is_wrapped and not _is_foreign(facts, message):
        return ()
    return tuple(mask for text in worded_texts(facts, index, message) for mask in index.worded.rules_in(text))


def _is_foreign(facts: Facts, message: Message | None) -> bool:
    """Return true if the texts of an error have letters beyond ASCII."""
    texts = ("" if message is None else message.text.decode("utf-8", "replace"), facts.stderr or "", facts.stdout or "")
    return any(not text.isascii() and any(map(str.isalpha, _BEYOND_ASCII.findall(text))) for text in texts)


def _with_words(facts: Facts, index: Index, held: Held, masks: tuple[int, ...]) -> Held:
    """Add the rules of the first sentence whose words decide."""
    for mask in masks:
        if mask := _unguarded(facts, index, mask, held.texts, held.status):
            return held._replace(rules=held.rules | mask)
    return held


def _unguarded(facts: Facts, index: Index, rules: int, text_mask: int, status: int | None) -> int:
    """Return those of the rules to which none of their guards objects."""
    missing = index.only_text & ~(text_mask >> 3 * index.width)
    rules &= index.full & ~(index.ruled_out(status) | missing | text_mask >> 4 * index.width)
    if rules & index.provided:
        rules &= ~index.provided | index.by_provider.get((facts.provider or "").lower(), 0)
    return rules


def _holding(facts: Facts, index: Index, passages: list[Passage] | None = None, message: Message | None = None) -> Held:
    """Match one level of facts without words of languages."""
    if succeeded(facts):
        text_mask, status, rules = index.timely, facts.status, _of_names(facts, index)
    else:
        text_mask, status, rules = match_texts(facts, index, passages, message)
    width = index.width
    # Three segments are evidence, two are guards; see Index.
    worded = text_mask | text_mask >> width | text_mask >> 2 * width
    if facts.subtype is not None:
        rules |= index.by_subtype.get(facts.subtype, 0)
    if facts.terminal_reason is not None:
        rules |= index.by_terminal_reason.get(facts.terminal_reason, 0)
    if facts.failure_reason is not None:
        rules |= index.by_failure_reason.get(facts.failure_reason, 0)
    happened = text_mask & index.report or _is_reported(facts)
    # The first segment is that of whole lines.
    strong = (rules | (worded if happened else text_mask | worded & index.house)) & ~index.unsure
    rules |= worded
    own = rules & ~index.unsure
    if status is not None:
        rules |= index.by_status.get(status, 0)
    if facts.exit_code is not None:
        rules |= index.by_exit_code.get(facts.exit_code, 0)
    rules &= index.full
    return Held(_unguarded(facts, index, rules, text_mask, status) if rules else 0, text_mask, status, own, strong)


def _is_reported(facts: Facts) -> bool:
    """Return true if a field says that something failed, so that a text beside it is no talk of errors."""
    if facts.is_error or facts.exit_code or (facts.status or 0) >= 400:
        return True
    return any(
        (facts.code, facts.type, facts.exception_class, facts.subtype, facts.terminal_reason, facts.failure_reason)
    )


def _of_names(facts: Facts, index: Index) -> int:
    """Return the mask of the rules that know the names of a run whose texts do not count."""
    mask = 0
    for name in (facts.code, facts.type):
        if name:
            mask |= index.named(name, facts.provider) or 0
    if facts.exception_class:
        mask |= index.by_name.get(normal_name(facts.exception_class), 0)
    return mask


def doubts(index: Index, decision: Decision, facts: Facts) -> tuple[str | None, bool]:
    """Return what speaks against another try: the id of a rule of strong evidence, and true if weak words do.

    The rule (or None) is one whose own words, code or type are there and whose errors are not tried again, and which
    only its position or the status kept from deciding.
    """
    rules, text_mask, _, own, _ = holding(facts, index)
    unguarded = text_mask >> 3 * index.width | ~index.only_text
    against = own & index.final_errors & unguarded & ~(text_mask >> 4 * index.width) & index.full
    against &= ~(1 << decision.number)
    worded = text_mask | text_mask >> index.width | text_mask >> 2 * index.width
    name = index.ruleset.rules[(against & -against).bit_length() - 1].id if against else None
    return name, bool(rules & worded & index.unsure & index.final_errors)


def evidence(index: Index, decision: Decision, facts: Facts) -> str:
    """Name the strongest evidence of a rule that held:
    `type overloaded_error`, `status 429`, `text …`.
    """
    number = decision.number
    rule = index.ruleset.rules[number]
    passages: list[Passage] = []
    status = holding(facts, index, passages)[2]
    wanted = index.ruleset.compiled.wanted[number]
    for name in ("code", "type", "exception_class"):
        value = getattr(facts, name)
        if value and normal_name(value) in wanted:
            return f"{name} {value[:80]}"
    if facts.subtype in rule.subtypes:
        return f"subtype {facts.subtype}"
    if facts.terminal_reason in rule.terminal_reasons:
        return f"terminal_reason {facts.terminal_reason}"
    if facts.failure_reason in rule.failure_reasons:
        return f"failure_reason {facts.failure_reason}"
    for passage in passages:
        for position in passage.numbers:
            pattern = index.patterns[position]
            is_own = any(rule == number and kind in _WORDS for kind, rule in pattern.uses)
            if is_own and index.weights[position] & passage.counting:
                match = pattern.regex.search(passage.text)
                words = match.group().decode("utf-8", "replace").strip() if match is not None else ""
                return f"text {words[:80]!r}"
    if rule.subjects:
        words = (index.worded.words_of(number, text) for text in worded_texts(facts, index, None))
        return f"text {next(filter(None, words), '')[:80]!r}"
    if facts.message and leading_name(facts.message) in wanted:
        return f"name {facts.message[:80].split(':', 1)[0]!r}"
    if status in rule.statuses:
        return f"status {status}"
    return f"exit_code {facts.exit_code}"


def _is_empty(facts: Facts) -> bool:
    if succeeded(facts):
        return True
    if facts.failure_reason not in _EMPTY_FAILURE_REASONS:
        return False
    values = (facts.status, facts.code, facts.type, facts.subtype, facts.terminal_reason, facts.message)
    return all(value is None for value in (*values, facts.exception_class, facts.stdout, facts.stderr, facts.cause))
