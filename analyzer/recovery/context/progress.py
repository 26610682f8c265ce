"""Whether a conversation grew from what an attempt to make it smaller left of it.

Invariant: progress is new messages behind the ones that stayed, and what was taken out stayed out. Whatever else a host
does with the result (ignores it, sends its full history again, cuts, reorders) is none.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from hashlib import blake2b

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
from analyzer.recovery.context.token_limit import is_token_limit_error

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
                behind = []
                continue
            if digest in self.kept:
                again[digest] = estimated_tokens(message)
            elif _taken(gone, digest):
                pending += estimated_tokens(message)
                back.add(digest)
            behind.append(message)
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
