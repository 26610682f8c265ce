"""The progress of a conversation after an attempt to make it smaller.

Invariant: progress is new messages after the ones that stayed, while removed messages stay out. Anything else that a
host does with the result (ignores it, sends its full history again, marks it anew, cuts, reorders) is no progress.

The limit in an error is read by the classifier; the classes at the end describe the state of a session.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from analyzer.classifier import Classification, classify
from analyzer.frozen import frozen
from analyzer.recovery.context.conversation import (
    Message,
    Messages,
    answers_a_call,
    calls_made,
    is_system,
    role_of,
    text_of,
)


@frozen
class TokenLimit:
    """The limit that an error of a conversation that does not fit names."""

    current_tokens: int | None = None
    max_tokens: int | None = None
    provider: str | None = None
    model: str | None = None
    raw_error: object = field(default=None, compare=False, repr=False)
    """The error as it was passed in, secrets included:
    for the program that caught it, not for a log.
    """


def parse_token_limit_error(error: object) -> TokenLimit | None:
    """Return the limit that an error names; None for any other error.

    Takes any input of `classify`.
    """
    verdict = error if isinstance(error, Classification) else classify(error)
    if verdict.reason != "context_overflow":
        return None
    return TokenLimit(verdict.current_tokens, verdict.max_tokens, verdict.provider, verdict.model, error)


def is_token_limit_error(error: object) -> bool:
    """Return true if an error says that a conversation does not fit. Takes any input of `classify`."""
    return parse_token_limit_error(error) is not None


LASTING_ANSWERS = 3
"""The number of the model's answers after a recovery that show that the session went on."""
_MOST_AGAIN = 0.25
"""The most of the remains, as a share, that may be repeated; more is a history sent again."""
_LONG = 16
"""The least words of a text that is compared by runs of five words;
a shorter one is compared by pairs.
"""
_SAMPLED = 256
"""The least words of a text of which only an eighth of the runs is compared."""


@frozen
class Remains:
    """The words that an attempt left of a conversation,
    and those that it removed, without instructions.

    Words are compared in runs, so that a time or an id that a host puts into a message leaves most
    of them as they were, and counted, so that a repeated text is not the same message.


    """

    kept: Counter[int] = field(default_factory=Counter)
    """Run of words → characters of it that were left."""
    added: Counter[int] = field(default_factory=Counter)
    """The part of `kept` that the attempt wrote: notes in cut outputs, summaries of turns."""
    gone: Counter[int] = field(default_factory=Counter)
    """Run of words → characters of it that were removed; of tool outputs if nothing else was."""

    @classmethod
    def of(cls, before: Messages, after: Messages) -> Remains:
        """Compare a conversation before an attempt with what the attempt left of it."""
        kept = _runs_of(after)
        added, texts, outputs = Counter(kept), Counter[int](), Counter[int]()
        for message in _without_instructions(before):
            (outputs if answers_a_call(message) else texts).update(_take(added, _runs(message)))
        # A tool may print the same again at its next call, but nobody repeats all texts of a conversation.
        return cls(kept, +added, texts or outputs)

    def followed_by(self, messages: Messages) -> Remains:
        """Add messages to those that were left, so that progress is what comes after them, too."""
        return replace(self, kept=self.kept + _runs_of(messages))

    def compared(self, messages: Messages) -> tuple[bool, list[Message]]:
        """Compare a later conversation with these remains.

        Returns true if it stayed smaller, and the new messages after the last one that was left. It stayed smaller if
        it holds at least half of `kept` and of `added`, of `gone` at most half of the share of `kept` that it holds,
        and little of `kept` twice.
        """
        missing, new, texts = Counter(self.kept), Counter[int](), Counter[int]()
        newer: list[Message] = []
        for message in _without_instructions(messages):
            runs = _runs(message)
            fresh = _take(missing, runs)
            new.update(fresh)
            if not answers_a_call(message):
                texts.update(fresh)
            if 2 * fresh.total() >= runs.total():
                newer.append(message)
            else:
                newer.clear()
        answers = [_runs(message).keys() for message in newer if role_of(message) == "assistant"]
        old = self.kept.keys() | self.gone.keys()
        if sum(2 * len(runs & old) > len(runs) for runs in answers) > 1:
            newer = []  # One turn may be repeated in the same words; two answers in old words are the history.
        missing = +missing
        present = 1 - _share(missing, self.kept)
        lost, back, again = _share(missing, self.added), _share(new, self.gone), _share(texts, self.kept)
        return present >= 0.5 >= lost and 2 * back <= present and again <= _MOST_AGAIN, newer


def _take(left: Counter[int], runs: Counter[int]) -> Counter[int]:
    """Take the runs of a message off those that are left,
    and return the runs that were not among them.
    """
    others = runs - left
    left.subtract(runs - others)
    return others


def _share(runs: Counter[int], of: Counter[int]) -> float:
    """Return the share of the runs `of` that `runs` hold, however often:
    a long question may be asked twice.
    """
    return len(runs.keys() & of.keys()) / max(1, len(of))


def went_on(newer: Messages) -> bool:
    """Return true if new messages show that a session went on: an answer and a later question, or three answers.

    An answer is the model's: a message about a token limit, which some agents write in its name, is none.
    """
    answers = 0
    for message in newer:
        role = role_of(message)
        if role == "assistant":
            answers += not is_token_limit_error(text_of(message))
        asked = role == "user" and not answers_a_call(message)
        if answers >= LASTING_ANSWERS or (answers and asked):
            return True
    return False


def _without_instructions(messages: Messages) -> list[Message]:
    return [message for message in messages if not is_system(message)]


def _runs_of(messages: Messages) -> Counter[int]:
    runs = Counter[int]()
    for message in _without_instructions(messages):
        runs.update(_runs(message))
    return runs


def _runs(message: Message) -> Counter[int]:
    """Return the runs of words in a message, each with the characters of its last word."""
    words = " ".join([text_of(message), *calls_made(message)]).split()
    length = min(5 if len(words) >= _LONG else 2, len(words))
    runs = Counter[int]()
    for end in range(length, len(words) + 1) if words else ():
        run = hash(tuple(words[end - length : end]))
        if len(words) < _SAMPLED or not run % 8:
            runs[run] += len(words[end - 1])
    return runs


@frozen
class TruncateState:
    """The tool outputs that the last recovery with cuts has cut.

    A message is named by its own `id`; without one by its position in the conversation, as `#12`.
    """

    truncated_messages: tuple[str, ...] = ()
    original_sizes: Mapping[str, int] = field(default_factory=dict)
    """Characters of text before, by message."""
    truncated_sizes: Mapping[str, int] = field(default_factory=dict)
    """Characters of text after, by message."""


@frozen
class PruneState:
    """The messages that the last recovery with removals has removed."""

    enabled: bool
    """True if `prune` is among the strategies."""
    target_ratio: float
    """The share of the context that may be filled afterwards, 0..1."""
    pruned_tokens: int = 0
    """Tokens of the removed messages, less those of a summary that replaces them."""


@frozen
class RetryState:
    """Recoveries of one session, since the last one that lasted."""

    attempts: int
    max_attempts: int
    last_attempt_at: datetime | None
    strategy: str | None
    """The strategy of the last recovery; several are joined by `+`."""


@dataclass(slots=True)
class SessionState:
    """The state of context recovery for one session."""

    retry: RetryState
    prune: PruneState
    truncate: TruncateState = field(default_factory=TruncateState)
    error: TokenLimit | None = None
    """The limit of the error that asked for the pending recovery."""
    in_progress: bool = False
    """True while a recovery runs."""
    remains: Remains = field(default_factory=Remains, repr=False)
    """The part of the conversation that the last attempt left."""
    recovered_at: float | None = None
    """When the last attempt succeeded, by the monotonic clock; None if it did not."""

    @property
    def pending(self) -> bool:
        """Return true if a recovery waits for the session to become idle."""
        return self.error is not None
