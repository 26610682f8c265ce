"""Whether a conversation grew from what an attempt to make it smaller left of it.

Invariant: progress is new messages behind the ones that stayed, and what was taken out stayed out. Whatever else a host
does with the result (ignores it, sends its full history again, marks it anew, cuts, reorders) is none.

What an error says about the limit is the classifier's verdict; the state of a session is kept for whoever wants to
know.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from analyzer.classifier import Classification, classify
from analyzer.recovery.context.conversation import (
    Message,
    Messages,
    answers_a_call,
    calls_made,
    is_system,
    role_of,
    text_of,
)


@dataclass(frozen=True, slots=True)
class TokenLimit:
    """What an error says about a conversation that does not fit."""

    current_tokens: int | None = None
    max_tokens: int | None = None
    provider: str | None = None
    model: str | None = None
    raw_error: object = field(default=None, compare=False, repr=False)
    """The error as it was given, secrets included: for the program that caught it, not for a log."""


def parse_token_limit_error(error: object) -> TokenLimit | None:
    """The limit that an error speaks of; None for any other error. Takes whatever `classify` takes."""
    verdict = error if isinstance(error, Classification) else classify(error)
    if verdict.reason != "context_overflow":
        return None
    return TokenLimit(verdict.current_tokens, verdict.max_tokens, verdict.provider, verdict.model, error)


def is_token_limit_error(error: object) -> bool:
    """Whether an error says that a conversation does not fit. Takes whatever `classify` takes."""
    return parse_token_limit_error(error) is not None


LASTING_ANSWERS = 3
"""So many answers of the model behind a recovery, and the session went on."""
_MOST_AGAIN = 0.25
"""The share of what was left that may be said again; more of it is a history sent again."""
_LONG = 16
"""Words of a text that is compared by runs of five words; a shorter one is compared by pairs."""
_SAMPLED = 256
"""Words of a text of which an eighth of the runs is looked at."""


@dataclass(frozen=True, slots=True)
class Remains:
    """The words that an attempt left of a conversation, and those that it took out. Instructions count as neither.

    Words are compared in runs, so that a time or an id that a host puts into a message leaves most of them as they
    were, and counted, so that the same words said twice are not the same message.
    """

    kept: Counter[int] = field(default_factory=Counter)
    """Run of words → characters that were left of it."""
    added: Counter[int] = field(default_factory=Counter)
    """Of these, what the attempt wrote: what stands for an output that was cut, or for turns that were summed up."""
    gone: Counter[int] = field(default_factory=Counter)
    """Run of words → characters of it that were taken out; of tool outputs where nothing else was."""

    @classmethod
    def of(cls, before: Messages, after: Messages) -> Remains:
        """Compare a conversation before an attempt with what the attempt left of it."""
        kept = _runs_of(after)
        added, said, outputs = Counter(kept), Counter[int](), Counter[int]()
        for message in _spoken(before):
            (outputs if answers_a_call(message) else said).update(_beyond(added, _runs(message)))
        # A tool that is called again may well print what it did before, while nobody says all of it again.
        return cls(kept, +added, said or outputs)

    def followed_by(self, messages: Messages) -> Remains:
        """Add messages to those that were left: progress is what comes behind them, too."""
        return replace(self, kept=self.kept + _runs_of(messages))

    def compared(self, messages: Messages) -> tuple[bool, list[Message]]:
        """Compare a conversation of later with these remains.

        Returns whether it stayed smaller, and the new messages behind the last one that was left. It stayed smaller
        where half of what was left and of what was added is there, of what was taken out half of that share at most,
        and little of what was left stands there twice.
        """
        missing, new, said = Counter(self.kept), Counter[int](), Counter[int]()
        behind: list[Message] = []
        for message in _spoken(messages):
            runs = _runs(message)
            fresh = _beyond(missing, runs)
            new.update(fresh)
            if not answers_a_call(message):
                said.update(fresh)
            if 2 * fresh.total() >= runs.total():
                behind.append(message)
            else:
                behind.clear()
        answers = [_runs(message).keys() for message in behind if role_of(message) == "assistant"]
        old = self.kept.keys() | self.gone.keys()
        if sum(2 * len(runs & old) > len(runs) for runs in answers) > 1:
            behind = []  # A turn may be said again in the same words; two answers in old words are the history.
        missing = +missing
        there = 1 - _share(missing, self.kept)
        lost, back, again = _share(missing, self.added), _share(new, self.gone), _share(said, self.kept)
        return there >= 0.5 >= lost and 2 * back <= there and again <= _MOST_AGAIN, behind


def _beyond(left: Counter[int], runs: Counter[int]) -> Counter[int]:
    """Take the runs of a message off those that are left, and return what they have beyond these."""
    beyond = runs - left
    left.subtract(runs - beyond)
    return beyond


def _share(runs: Counter[int], of: Counter[int]) -> float:
    """Return the share of some runs that others have, however often: a long question may be asked twice."""
    return len(runs.keys() & of.keys()) / max(1, len(of))


def went_on(behind: Messages) -> bool:
    """Whether new messages show that a session went on: an answer and a new question behind it, or three answers.

    An answer is the model's: a message in its name that tells of a token limit, as some agents write one, is none.
    """
    answers = 0
    for message in behind:
        role = role_of(message)
        if role == "assistant":
            answers += not is_token_limit_error(text_of(message))
        asked = role == "user" and not answers_a_call(message)
        if answers >= LASTING_ANSWERS or (answers and asked):
            return True
    return False


def _spoken(messages: Messages) -> list[Message]:
    return [message for message in messages if not is_system(message)]


def _runs_of(messages: Messages) -> Counter[int]:
    runs = Counter[int]()
    for message in _spoken(messages):
        runs.update(_runs(message))
    return runs


def _runs(message: Message) -> Counter[int]:
    """The runs of words in a message, each with the characters of its last word."""
    words = " ".join([text_of(message), *calls_made(message)]).split()
    length = min(5 if len(words) >= _LONG else 2, len(words))
    runs = Counter[int]()
    for end in range(length, len(words) + 1) if words else ():
        run = hash(tuple(words[end - length : end]))
        if len(words) < _SAMPLED or not run % 8:
            runs[run] += len(words[end - 1])
    return runs


@dataclass(frozen=True, slots=True)
class TruncateState:
    """The tool outputs that were cut, by the last recovery that cut any.

    A message is named by its own `id`, and by its position in the conversation, as `#12`, where it has none.
    """

    truncated_messages: tuple[str, ...] = ()
    original_sizes: Mapping[str, int] = field(default_factory=dict)
    """Characters of text before, by message."""
    truncated_sizes: Mapping[str, int] = field(default_factory=dict)
    """Characters of text after, by message."""


@dataclass(frozen=True, slots=True)
class PruneState:
    """The messages that were removed, by the last recovery that removed any."""

    enabled: bool
    """Whether `prune` is among the strategies."""
    target_ratio: float
    """How full the context may be afterwards, 0..1."""
    pruned_tokens: int = 0
    """Tokens of the messages that are gone, less those of a summary in their place."""


@dataclass(frozen=True, slots=True)
class RetryState:
    """Recoveries of one session, since the last one that lasted."""

    attempts: int
    max_attempts: int
    last_attempt_at: datetime | None
    strategy: str | None
    """What the last recovery did; several strategies are joined by `+`."""


@dataclass(frozen=True, slots=True)
class SessionState:
    """What context recovery knows of one session."""

    pending: bool
    """Whether a recovery waits for the session to become idle."""
    in_progress: bool
    """Whether a recovery is under way."""
    error: TokenLimit | None
    """What asked for the recovery that is pending."""
    retry: RetryState
    truncate: TruncateState
    prune: PruneState
