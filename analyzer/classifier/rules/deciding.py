"""The rule that decides: over the evidence of one level of facts, then over the chain of causes.

Invariant: a pure function of facts and ruleset; live, batch and explanation all ask here.
"""

from __future__ import annotations

from analyzer.classifier.reading.facts import Facts
from analyzer.classifier.rules.index import Decision, Index
from analyzer.classifier.rules.ruleset import LINE, SIGNAL, TEXT, normal_name
from analyzer.classifier.rules.text_evidence import Message, Passage, heard_in, leading_name, listen, succeeded

_MAX_LEVELS = 8
_MOST_KINDS = 4_096
_WORDS = (LINE, SIGNAL, TEXT)
STRONG, WEAK = "strong", "weak"
"""What the verdict of a rule rests on: its own codes, types, names and texts; or weak evidence: a bare status or exit
code, which says that something failed and hardly what, or weak words."""
_SAYING_NOTHING = (None, "general_error", "unknown")
"""Failure reasons that no rule could be made of."""


Basis = tuple[Index, Decision, Facts]
"""Where a decision fell, and on which facts of the chain: enough to say later what it was based on."""


def chain(facts: Facts) -> list[Facts]:
    """The facts and their causes, outermost first."""
    levels = [facts]
    while levels[-1].cause is not None and len(levels) < _MAX_LEVELS:
        levels.append(levels[-1].cause)
    return levels


def judge(facts: Facts, index: Index) -> tuple[Decision, Facts, bool, str | None]:
    """The decision, the level of the chain of causes that it fell on, whether any text may name a time, and confidence.

    The confidence is `strong`, `weak`, or None where no rule held.

    It is the outermost level that a rule explains; a symptom gives way to what lies beneath it, but not to an abort: a
    timeout cancels what it waits for, so a cancellation beneath it is its own doing.

    Errors come in kinds: those of which the same is said are judged once.
    """
    if facts.cause is not None or facts.stdout or facts.stderr:
        return _judge(facts, index, None)
    message = heard_in(facts, index)
    key = (
        None if message is None else (*message.found, message.loose, message.stated, message.name),
        *(facts.status, facts.code, facts.type, facts.exception_class, facts.provider, facts.is_error, facts.exit_code),
        *(facts.subtype, facts.terminal_reason, facts.failure_reason),
    )
    known = index.judged.get(key)
    if known is None:
        decision, _, timely, confidence = _judge(facts, index, message)
        if len(index.judged) >= _MOST_KINDS:
            index.judged.clear()
        known = index.judged[key] = decision, timely, confidence
    decision, timely, confidence = known
    return decision, facts, timely, confidence


def _judge(facts: Facts, index: Index, message: Message | None) -> tuple[Decision, Facts, bool, str | None]:
    left, heard, _, strong = holding(facts, index, None, message)
    found = index.decisions[(left & -left).bit_length() - 1] if left else None
    level = facts
    if facts.cause is not None:
        heard |= index.timely
        if found is None or found.symptom:
            found, level, strong = _beneath(facts, index, found, strong)
    if found is None:
        return index.silent if _says_nothing(facts) else index.nothing, level, heard & index.timely != 0, None
    return found, level, heard & index.timely != 0, STRONG if strong >> found.number & 1 else WEAK


def _beneath(facts: Facts, index: Index, found: Decision | None, strong: int) -> tuple[Decision | None, Facts, int]:
    level = facts
    for beneath in chain(facts)[1:]:
        left, _, _, own = holding(beneath, index)
        if left:
            deeper = index.decisions[(left & -left).bit_length() - 1]
            if found is None or deeper.answer[0] != "unknown":
                found, level, strong = deeper, beneath, own
                if not deeper.symptom:
                    break
    return found, level, strong


def holding(
    facts: Facts, index: Index, passages: list[Passage] | None = None, message: Message | None = None
) -> tuple[int, int, int | None, int]:
    """One level, causes aside: mask of the rules that hold, what its texts say, and the status that the rules saw.

    The last is the mask of the rules that more than a status or an exit code speaks for.
    """
    if succeeded(facts):
        heard, status, speaking = index.timely, facts.status, _of_names(facts, index)
    else:
        heard, status, speaking = listen(facts, index, passages, message)
    width = index.width
    if heard:
        # Three segments are evidence, two are guards; see Index.
        speaking |= heard | heard >> width | heard >> 2 * width
    if facts.subtype is not None:
        speaking |= index.by_subtype.get(facts.subtype, 0)
    if facts.terminal_reason is not None:
        speaking |= index.by_terminal_reason.get(facts.terminal_reason, 0)
    if facts.failure_reason is not None:
        speaking |= index.by_failure_reason.get(facts.failure_reason, 0)
    strong = speaking & ~index.unsure
    if status is not None:
        speaking |= index.by_status.get(status, 0)
    if facts.exit_code is not None:
        speaking |= index.by_exit_code.get(facts.exit_code, 0)
    speaking &= index.full
    if speaking:
        missing = index.only_text & ~(heard >> 3 * width)
        speaking &= ~(index.ruled_out(status) | missing | heard >> 4 * width)
        if speaking & index.provided:
            speaking &= ~index.provided | index.by_provider.get((facts.provider or "").lower(), 0)
    return speaking, heard, status, strong


def _of_names(facts: Facts, index: Index) -> int:
    """The rules that know the names of a run whose words do not count."""
    mask = 0
    for name in (facts.code, facts.type):
        if name:
            mask |= index.named(name, facts.provider) or 0
    if facts.exception_class:
        mask |= index.by_name.get(normal_name(facts.exception_class), 0)
    return mask


def doubts(index: Index, decision: Decision, facts: Facts) -> tuple[str | None, bool]:
    """What speaks against another try beside what decided: a rule by strong evidence, and whether weak words do.

    The rule (its id, or None) is one whose own words, code or type are there and whose errors are not tried again, and
    which only its place or the status kept from deciding.
    """
    left, heard, _, strong = holding(facts, index)
    unguarded = heard >> 3 * index.width | ~index.only_text
    against = strong & index.final_errors & unguarded & ~(heard >> 4 * index.width) & index.full
    against &= ~(1 << decision.number)
    worded = heard | heard >> index.width | heard >> 2 * index.width
    name = index.ruleset.rules[(against & -against).bit_length() - 1].id if against else None
    return name, bool(left & worded & index.unsure & index.final_errors)


def evidence(index: Index, decision: Decision, facts: Facts) -> str:
    """The strongest evidence of a rule that held, for people: `type overloaded_error`, `status 429`, `text …`."""
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
        for found in passage.found:
            pattern = index.patterns[found]
            if pattern.rule == number and pattern.kind in _WORDS and index.weights[found] & passage.counting:
                match = pattern.regex.search(passage.text)
                words = match.group().decode("utf-8", "replace").strip() if match is not None else ""
                return f"text {words[:80]!r}"
    if facts.message and leading_name(facts.message) in wanted:
        return f"name {facts.message[:80].split(':', 1)[0]!r}"
    if status in rule.statuses:
        return f"status {status}"
    return f"exit_code {facts.exit_code}"


def _says_nothing(facts: Facts) -> bool:
    if succeeded(facts):
        return True
    if facts.failure_reason not in _SAYING_NOTHING:
        return False
    spoken = (facts.status, facts.code, facts.type, facts.subtype, facts.terminal_reason, facts.message)
    return all(value is None for value in (*spoken, facts.exception_class, facts.stdout, facts.stderr, facts.cause))
