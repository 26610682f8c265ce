"""Whether a conversation grew from what an attempt to make it smaller left of it.

Invariant: progress is new messages behind the ones that stayed, and what was taken out stayed out. Whatever else a host
does with the result (ignores it, sends its full history again, cuts, reorders) is none.

What an error says about the limit is the classifier's verdict; the state of a session is kept for whoever wants to
know.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import blake2b

from analyzer.classifier import Classification, classify
from analyzer.recovery.context.conversation import (
    Message,
    Messages,
    answers_a_call,
    calls_of,
    estimated_tokens,
    is_system,
    results_of,
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


_MOST_AGAIN = 6
"""Old messages whose words may stand among new ones, such as "go on"; more of them are a history sent again."""


@dataclass(frozen=True, slots=True)
class Remains:
    """What an attempt left of a conversation, and what it took out. Instructions count as neither."""

    kept: Counter[bytes] = field(default_factory=Counter)
    kept_tokens: int = 0
    """What the messages in `kept` weigh, as estimated."""
    gone: Counter[bytes] = field(default_factory=Counter)
    gone_tokens: int = 0
    last: bytes | None = None
    """The last message that was left."""

    @classmethod
    def of(cls, before: Messages, after: Messages) -> Remains:
        """Compare a conversation before an attempt with what the attempt left of it."""
        left = cls().followed_by(after)
        missing, gone, gone_tokens = Counter(left.kept), Counter[bytes](), 0
        for message in _spoken(before):
            if not _taken(missing, digest := _digest(message)):
                gone[digest] += 1
                gone_tokens += estimated_tokens(message)
        return replace(left, gone=gone, gone_tokens=gone_tokens)

    def followed_by(self, messages: Messages) -> Remains:
        """Add messages to those that were left: progress is what comes behind them, too."""
        added = _spoken(messages)
        if not added:
            return self
        digests = [_digest(message) for message in added]
        tokens = self.kept_tokens + sum(map(estimated_tokens, added))
        return replace(self, kept=self.kept + Counter(digests), kept_tokens=tokens, last=digests[-1])

    def compared(self, messages: Messages) -> tuple[bool, list[Message]]:
        """Compare a conversation of later with these remains.

        Returns whether it stayed smaller, with most of what was taken out still out and nothing sent again; and the new
        messages behind the last one that was left: none where that one is not there.
        """
        kept, gone = Counter(self.kept), Counter(self.gone)
        behind: list[Message] = []
        old_answers: set[bytes] = set()
        found = False
        returned = pending = 0
        again: dict[bytes, int] = {}
        back: set[bytes] = set()
        for message in _spoken(messages):
            digest = _digest(message)
            if digest in self.kept:
                # What stands before something old is old; at the end, the same words may well be new ones.
                returned, pending = returned + pending, 0
            if _taken(kept, digest):
                found |= digest == self.last
                behind, old_answers = [], set()
                continue
            if digest in self.kept:
                again[digest] = estimated_tokens(message)
            elif _taken(gone, digest):
                pending += estimated_tokens(message)
                back.add(digest)
            if role_of(message) == "assistant" and (digest in self.kept or digest in self.gone):
                old_answers.add(digest)
            behind.append(message)
        if len(old_answers) > 1:
            # A turn may be said again in the same words; two answers in old words are a piece of the history.
            behind = []
        returned += 0 if found else pending
        sent_again = len(again) + len(back) > _MOST_AGAIN or 2 * sum(again.values()) > self.kept_tokens
        return 2 * returned <= self.gone_tokens and not sent_again, behind if found else []


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


def _digest(message: Message) -> bytes:
    """A message by what it says, whatever it is made of: hosts add marks and counts, and turn mappings into objects."""
    said = (role_of(message), text_of(message), calls_of(message), results_of(message))
    return blake2b(repr(said).encode("utf-8", "replace"), digest_size=8).digest()


def _taken(counts: Counter[bytes], digest: bytes) -> bool:
    """Whether one is left of it, which is then counted off."""
    left = counts[digest] > 0
    counts[digest] -= left
    return left


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
